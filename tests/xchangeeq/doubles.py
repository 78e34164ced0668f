"""An engine that keeps all events and asks the judge at each step: slow, and right."""

from __future__ import annotations

import pickle
from collections.abc import Mapping

import pyarrow as pa

from acelera.algebra.names import END
from acelera.programs.inputs import Given
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
        self.clock: tuple[int, int] | None = None
        self.now: int | None = None

    def step(
        self, given: Mapping[str, pa.Table], now: int, clock: tuple[int, int] | None = None
    ) -> dict[str, pa.Table]:
        assert self.now is None or now >= self.now
        for table in given.values():
            assert all((self.now is None or end > self.now) and end <= now for end in table.column(END).to_pylist())
        assert self.clock is None or (clock is not None and clock[0] == self.clock[0] and clock[1] >= self.clock[1])
        events = [*self.events, *base_events(Given(given))]
        made = {each for each in self._derived(events, clock) if each.end <= now}
        settled = min(self.now, self.clock[1]) if self.now is not None and self.clock is not None else self.now
        assert all(settled is None or each.end > settled for each in made - self.told)
        self.events, self.now, self.clock = events, now, clock
        return self._tell(made)

    def finish(self) -> dict[str, pa.Table]:
        return self._tell(self._derived(self.events, self.clock))

    def _derived(self, events: list[Event], clock: tuple[int, int] | None) -> set[Event]:
        moments = [] if clock is None else base_events(Given({}, *clock))
        return set(derive(self.checked.program, [*events, *moments], self.aggregates, self.tick))

    def _tell(self, made: set[Event]) -> dict[str, pa.Table]:
        new = made - self.told
        self.told |= made
        return {
            label: table_of([each for each in new if each.label == label], shape)
            for label, shape in self.checked.outputs.items()
        }

    def snapshot(self) -> bytes:
        return pickle.dumps((self.events, self.told, self.clock, self.now))

    def kept(self) -> dict[str, int]:
        return {"events": len(self.events)}


class JudgingEngine:
    """What stands in the place of the module `acelera.xchangeeq.engine`."""

    opened = Judging

    @staticmethod
    def resumed(checked: Checked, tick: int, longest: Mapping[str, float], aggregates: str, data: bytes) -> Judging:
        found = Judging(checked, tick, longest, aggregates)
        found.events, found.told, found.clock, found.now = pickle.loads(data)
        return found

    @staticmethod
    def kept_for_ever(checked: Checked, tick: int, longest: Mapping[str, float]) -> list[str]:
        return []

    @staticmethod
    def explained(checked: Checked, tick: int, longest: Mapping[str, float]) -> list[str]:
        return [f"a tick is {tick} µs", f"longest: {dict(longest)}"]
