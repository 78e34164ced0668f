"""A running program: rows come in, and pass through the statements one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.session.description import described
from acelera.engine.session.session import Session
from acelera.engine.storage.snapshots import Section, pack, unpack, with_prefix, without_prefix
from acelera.errors import UsageError
from acelera.language.sorting import arranges
from acelera.streams.base_stream import BaseStream, one_table, sorted_table
from acelera.streams.event_order import Ints, Rows, in_order, joined
from acelera.streams.plan import Plan, Step
from acelera.streams.runner import BASE, Runner

Made = dict[str, pa.Table]


class StreamSession:
    """A program over a stream that comes in batches, made by `Program.open`.

    >>> import acelera as ac
    >>> p = ac.program('''
    ...     STREAM rise AS SELECT a.v MATCH A AS a : A AS b FILTER b.v > a.v;
    ...     STREAM twice AS SELECT r.a_v AS v MATCH rise AS r ; rise;
    ... ''')
    >>> session = p.open({"type": str, "v": int})
    >>> session.push([{"type": "A", "v": 1}, {"type": "A", "v": 2}])["rise"].to_pylist()
    [{'a_v': 1}]
    >>> session.push([{"type": "A", "v": 3}])["twice"].to_pylist()
    [{'v': 1}]
    >>> session.finish()["twice"].num_rows
    0
    """

    def __init__(
        self,
        plan: Plan,
        ties: str,
        fingerprint: str,
        numbered: bool = True,
        snapshot: Mapping[str, Any] | None = None,
    ) -> None:
        self.plan, self._fingerprint = plan, fingerprint
        self._base = BaseStream(plan.base, plan.names, ties, _checked_apart(plan), plan.keys, numbered)
        self._runners = []
        self._ties, self._finished, self._broken = ties, False, False
        for number, step in enumerate(plan.steps):
            sections = None if snapshot is None else without_prefix(f"statement{number}.", snapshot)
            session = _session(step, ties, numbered, sections)
            runner = Runner(step, session, _types(step, plan))
            if sections is not None:
                runner.load(sections)
            self._runners.append(runner)
        if snapshot is not None:
            self._base.load(snapshot)

    # --- what users call ------------------------------------------------------------------------------------------

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each stream that is made."""
        return self.plan.outputs

    @property
    def events(self) -> int:
        """How many rows came in."""
        return self._base.rows

    @property
    def tied(self) -> int:
        """How many of the rows that were read are equal under `order_by` to another before them of the key that all
        statements have in common; counted with `ties="any"` and `ties="drop"`.
        """
        return 0 if self._base.arranging is None else self._base.arranging.state.tied

    @property
    def dropped(self) -> int:
        """How many rows were dropped, with `ties="drop"`, since another was equal to them in all columns."""
        return 0 if self._base.arranging is None else self._base.arranging.state.dropped

    @property
    def partial_matches(self) -> int:
        """How many partial matches all statements hold, as the engine holds them."""
        return sum(runner.session.partial_matches for runner in self._runners)

    def push(self, batch: object, now: object = None) -> Made:
        """Read more rows; the events that are then known, for each stream that is made.

        The rows come in the order of `order_by`, and after those that were pushed before: as a table, or as a table for
        each event type. An event of a statement is known as soon as its match is. Where a statement reads events of
        others, it reads all that happen at one moment together: those that come in, then those that are made. So it
        reads them once a row of a later time has come, or once `now` says that all rows up to a time have come.
        """
        self._ready()
        table, unsorted = one_table(batch, self.plan.base)
        numbers = self._base.numbers(table)
        if unsorted:
            table, places = sorted_table(table, self.plan.base)
            numbers = numbers[places - 1]
        until = None if now is None else self._moment(now)
        return self.shown(self.take(table, numbers, until))

    def finish(self) -> Made:
        """Say that no more rows come; the events that were waiting for more of them."""
        self._ready()
        return self.shown(self.take_rest())

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Program.resume`; this session can go on as well."""
        self._ready()
        found: dict[str, Section] = {"stream": described(self.plan.base, self._ties), **self._base.dump()}
        columns = pa.schema([pa.field(name, kind.arrow) for name, kind in self.plan.base.columns.items()])
        found["columns"] = pa.RecordBatch.from_pylist([], schema=columns)
        for number, runner in enumerate(self._runners):
            found |= with_prefix(f"statement{number}.", runner.dump())
        return pack(self._fingerprint, found)

    def kept(self) -> dict[str, int]:
        """How many rows wait for each statement until nothing can come before them any more."""
        return {
            runner.step.name: sum(len(rows) for line in runner.lines.values() for rows in line.parts)
            for runner in self._runners
        }

    # --- steps ----------------------------------------------------------------------------------------------------

    def take(self, table: pa.Table, numbers: Ints, now: int | None = None) -> list[Rows]:
        """Read rows, which are in order; the events of each statement that are then known."""
        self._ready()
        rows, numbers = self._base.read(table, numbers, now)
        return self._flow(rows, numbers, now)

    def _flow(self, rows: Rows, numbers: Ints, now: int | None) -> list[Rows]:
        """Let rows pass through the statements."""
        self._broken = True  # what fails from here on leaves half of a batch behind
        complete = self._base.complete(now)
        found: list[Rows] = []
        for runner in self._runners:
            if not runner.lines:
                found.append(runner.feed(rows, numbers, complete))
                continue
            self._hand_over(runner, rows, found)
            settled = [self._runners[read].settled for read in runner.step.reads]
            by = min([*settled, *([] if complete is None else [complete])])
            found.append(runner.flow(by))
        self._broken = False
        return found

    def take_rest(self) -> list[Rows]:
        """Say that no more rows come; the events of each statement that were waiting."""
        self._ready()
        before = [] if self._base.arranging is None else [self._flow(*self._base.read_held(), None)]
        self._finished = True
        found: list[Rows] = []
        nothing, clock = Rows(pa.table({}), np.empty(0, np.int64)), self._base.clock
        for runner in self._runners:
            parts = []
            if runner.lines and clock is not None:
                self._hand_over(runner, nothing, found)
                parts.append(runner.flow(clock))
            parts.append(runner.rest(clock))
            found.append(joined(parts))
        return [joined(list(parts)) for parts in zip(*before, found, strict=True)]

    def shown(self, made: Sequence[Rows]) -> Made:
        """The events of each statement, in order."""
        return {runner.step.name: in_order(rows).table for runner, rows in zip(self._runners, made, strict=True)}

    def due(self) -> int | None:
        """The least time before which no row may come for more events to be known; None if no time lets any be."""
        times = (runner.session.due() for runner in self._runners)
        return min((time for time in times if time is not None), default=None)

    def compact(self) -> None:
        """Forget what no match can use any more."""
        for runner in self._runners:
            runner.session.compact()

    def _hand_over(self, runner: Runner, base: Rows, made: Sequence[Rows]) -> None:
        """What was read, or made by earlier statements, waits for a statement."""
        for read, line in runner.lines.items():
            line.add(base if read == BASE else made[read])

    def _moment(self, now: object) -> int:
        """A time that is given, in the unit of the order column."""
        time = self.plan.base.time
        if time is None:
            raise UsageError("now=… is a time, and the rows have none: order_by=… names the column that tells it")
        try:
            column: Any = pa.array([now]).cast(time.arrow)
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise UsageError(f"now={now!r} is no {time}, as the times of the rows are: {error}") from None
        moment = column.cast(pa.int64())[0].as_py()
        if moment is None:
            raise UsageError("now=… is NULL; leave it out")
        return int(moment)

    def _ready(self) -> None:
        if self._finished:
            raise UsageError("this session is finished; open another one")
        if self._broken:
            raise UsageError("an earlier batch was not read to its end; open another session, or resume a snapshot")


def _checked_apart(plan: Plan) -> list[tuple[str, ...]]:
    """The keys of statements that read several streams, where no other statement looks for ties within the same."""
    alone = {frozenset(step.keys) for step in plan.steps if step.base and not step.mixed}
    found = {frozenset(step.keys): step.keys for step in plan.steps if step.base and step.mixed}
    return [keys for key, keys in found.items() if key not in alone]


def _types(step: Step, plan: Plan) -> dict[int, str | None]:
    """The streams that a statement reads where it reads several or one that is made, and the types of their rows."""
    if not step.mixed:
        return {}
    base = plan.base
    found: dict[int, str | None] = {}
    if step.base:
        found[BASE] = next(iter(base.event_types or ())) if base.type_column is None else None
    return found | {read: plan.names[read] for read in step.reads}


def _session(step: Step, ties: str, numbered: bool, snapshot: Mapping[str, Any] | None) -> Session:
    """That of a statement. Rows of several streams are put in order before, so that none of them tie."""
    ties, numbered = "keep" if step.mixed or arranges(ties) else ties, numbered and not step.mixed
    if snapshot is None:
        return step.query.open(ties, numbered=numbered)
    return step.query.restored(unpack(snapshot["session"].tobytes(), step.query.fingerprint), ties, (), numbered)
