"""An engine that keeps all events and asks the judge at each step: slow, and right."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pyarrow as pa

from acelera.programs.inputs import Given
from acelera.programs.stepping import CLOCK
from acelera.programs.times import END
from acelera.xchangeeq.checker import Checked
from acelera.xchangeeq.judged import base_events, table_of
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event


class Judging:
    """Holds to what a session may expect, and expects what it may."""

    def __init__(self, checked: Checked, tick: int, longest: Mapping[str, float], aggregates: str) -> None:
        self.checked, self.tick, self.longest, self.aggregates = checked, tick, longest, aggregates
        self.events: list[Event] = []
        self.told: set[Event] = set()
        self.first: int | None = None
        self.now: int | None = None

    def step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        assert self.now is None or now >= self.now
        for table in given.values():
            assert all((self.now is None or end > self.now) and end <= now for end in table.column(END).to_pylist())
        if CLOCK in given:
            assert self.first is None
            (self.first,) = given[CLOCK].column(END).to_pylist()
        events = [*self.events, *base_events(Given({label: each for label, each in given.items() if label != CLOCK}))]
        made = {each for each in self._derived(events, now) if each.end <= now}
        assert all(self.now is None or each.end > self.now for each in made - self.told)
        self.events, self.now = events, now
        return self._tell(made)

    def finish(self) -> dict[str, pa.Table]:
        return self._tell(self._derived(self.events, self.now))

    def _derived(self, events: list[Event], now: int | None) -> set[Event]:
        clock = base_events(Given({}, self.first, now)) if self.first is not None else []
        return set(derive(self.checked.program, [*events, *clock], self.aggregates, self.tick))

    def _tell(self, made: set[Event]) -> dict[str, pa.Table]:
        new = made - self.told
        self.told |= made
        return {
            label: table_of([each for each in new if each.label == label], shape)
            for label, shape in self.checked.outputs.items()
        }

    def snapshot(self) -> bytes:
        return pickle.dumps((self.events, self.told, self.first, self.now))

    def kept(self) -> dict[str, int]:
        return {"events": len(self.events)}


class JudgingEngine:
    """What stands in the place of the module `acelera.xchangeeq.engine`."""

    opened = Judging

    @staticmethod
    def resumed(checked: Checked, tick: int, longest: Mapping[str, float], aggregates: str, data: bytes) -> Judging:
        found = Judging(checked, tick, longest, aggregates)
        found.events, found.told, found.first, found.now = pickle.loads(data)
        return found

    @staticmethod
    def explained(checked: Checked, tick: int, longest: Mapping[str, float]) -> list[str]:
        return [f"a tick is {tick} µs", f"longest: {dict(longest)}"]
