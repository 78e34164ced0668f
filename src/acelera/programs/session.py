"""A running program: batches of events in, derived events out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.storage.snapshots import pack
from acelera.errors import DataError, UsageError
from acelera.programs.announcement import Announced
from acelera.programs.descriptions import described
from acelera.programs.inputs import Counts, Due, Given, read
from acelera.programs.outputs import output_schema, shown
from acelera.programs.stepping import Stepping


class ProgramSession:
    """A program over a stream that comes in batches, made by `Program.open`.

    >>> import acelera as ac
    >>> p = ac.xchangeeq("DETECT twice { } ON and { event i: a {{ }}, event j: a {{ }} } where { i before j } END")
    >>> session = p.open({"a": {"t": int}}, time="t")
    >>> session.push({"a": [{"t": 1}]})["twice"].num_rows
    0
    >>> session.push({"a": [{"t": 5}]})["twice"].to_pylist()
    [{'begin': 1, 'end': 5}]
    >>> session.finish()["twice"].num_rows
    0
    """

    def __init__(
        self,
        engine: Stepping,
        announced: Announced,
        outputs: Mapping[str, pa.Schema],
        fingerprint: str,
    ) -> None:
        self.announced, self._engine, self._outputs = announced, engine, outputs
        self._fingerprint, self._finished = fingerprint, False
        self._now: int | None = None
        self._clock: tuple[int, int] | None = None
        self._rows: Counts = {}

    # --- what users call ------------------------------------------------------------------------------------------

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each output."""
        return {label: output_schema(each, self.announced.kind) for label, each in self._outputs.items()}

    def push(self, batch: object, now: object = None) -> dict[str, pa.Table]:
        """Take more events; what follows from all events so far and ends by now, for each label that rules make.

        The events end after all that were pushed before; within a batch they need no order. `now` is the greatest end
        among them, or a later moment that is given: no event that ends by then will come. So `push([], now=…)` moves
        time on without events, and relative timers happen; absolute and periodic ones happen once an event ends with
        them or later. What fails leaves the session as it was.
        """
        self._ready()
        until = None if now is None else self._moment(now)
        given = read(self.announced, batch, Due(self._now, until), self._rows)
        reached = given.last if until is None else until
        made = {} if reached is None else self.take(given, reached)
        return shown([made], self._outputs, self.announced.kind)

    def finish(self) -> dict[str, pa.Table]:
        """Say that no more events come; what was waiting for time to pass happens now."""
        return shown([self.take_rest()], self._outputs, self.announced.kind)

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Program.resume`; this session can go on as well."""
        self._ready()
        clock = None if self._clock is None else list(self._clock)
        state = {"now": self._now, "clock": clock, "rows": dict(self._rows)}
        engine = np.frombuffer(self._engine.snapshot(), np.uint8)
        return pack(self._fingerprint, {"session": state, "engine": engine, **described(self.announced)})

    def kept(self) -> dict[str, int]:
        """How many rows are kept, by what they are kept for."""
        return self._engine.kept()

    # --- steps ----------------------------------------------------------------------------------------------------

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._now, self._rows = state["now"], state["rows"]
        self._clock = None if state["clock"] is None else (state["clock"][0], state["clock"][1])

    def take(self, given: Given, now: int) -> dict[str, pa.Table]:
        """Take events that were read and end by now; what the engine makes of them."""
        clock = self._clock
        if given.first is not None and given.last is not None:
            clock = (given.first if clock is None else clock[0], min(given.last, now))
        made = self._engine.step(given.tables, now, clock)
        self._now, self._clock, self._rows = now, clock, given.rows
        return made

    def take_rest(self) -> dict[str, pa.Table]:
        """Say that no more events come; what the engine makes of that."""
        self._ready()
        made = self._engine.finish()
        self._finished = True
        return made

    def _moment(self, now: object) -> int:
        moment, kind = self.announced.kind.tick_of(now), self.announced.kind
        if self._now is not None and moment < self._now:
            raise DataError(
                f"time does not go back: now={kind.said(moment)}, and the stream has come to {kind.said(self._now)}"
            )
        return moment

    def _ready(self) -> None:
        if self._finished:
            raise UsageError("this session is finished; open another one")
