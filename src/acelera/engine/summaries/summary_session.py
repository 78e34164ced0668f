"""A running summary: batches in, rows of complete groups out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.machines.reachable import Reachable
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.session.incoming import Incoming
from acelera.engine.session.pages import Page
from acelera.engine.session.session import Session
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, fingerprint_of, pack
from acelera.engine.summaries.component_summarizer import ComponentSummarizer
from acelera.engine.summaries.rows import ResultRows
from acelera.engine.summaries.stretches import Slice, seed
from acelera.engine.summaries.summarizer import Groups
from acelera.engine.summaries.summary_choice import SummaryStrategy
from acelera.engine.summaries.summary_columns import times
from acelera.engine.ticks import FAR_PAST
from acelera.errors import DataError, SnapshotError
from acelera.language.checker import Checked
from acelera.language.order_errors import show
from acelera.tables import plain_values

Ints = npt.NDArray[Any]


class SummarySession(Session):
    """A summary over a stream that comes in batches, made by `Query.open`.

    >>> import acelera as ac
    >>> session = ac.query("SUMMARIZE count(*) MATCH A ; B BY end").open({"type": str})
    >>> session.push([{"type": "A"}, {"type": "A"}, {"type": "B"}]).to_pylist()
    [{'end': 3, 'count': 2}]
    >>> session.finish().to_pylist()
    []

    One that is `partial` gives rows that are to be merged with those of others.
    """

    def __init__(
        self,
        checked: Checked,
        strategy: SummaryStrategy,
        ties: str,
        fingerprint: str,
        given_tests: Sequence[int] = (),
        numbered: bool = True,
        partial: bool = False,
    ) -> None:
        assert checked.schema is not None and checked.summary is not None
        self._plan, self._bounds = strategy.plan, strategy.bounds
        self.incoming = Incoming(checked, strategy.plan, strategy.bounds, ties, given_tests, numbered)
        self.summarizer = strategy.summarizer(self.incoming.alphabet)
        self.summarizer.partial = partial
        self._spans = strategy.spans
        self._rows = strategy.partial_rows() if partial else ResultRows(checked.summary, strategy.spans)
        self._timed = checked.schema.time is not None
        self._one_clock = strategy.bounds.timed or not checked.clauses.partition_by
        self._now: int | None = None
        self._floor = int(FAR_PAST)
        self._given = 0
        self.told_of_many = False
        self._fingerprint = fingerprint
        self._finished = self._reading = self._changing = self._broken = False

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return self._rows.schema

    @property
    def matches(self) -> int:
        """How many rows were given."""
        return self._given

    @property
    def partial_matches(self) -> int:
        """How many partial matches are held, as the engine holds them; those of a key that can go on in the same ways
        are one.
        """
        return self.summarizer.partial_matches(len(self.incoming.partitions.keys))

    @property
    def settled(self) -> int:
        """Matches are added up, and never given."""
        return 0

    def table(self, pages: Sequence[Page]) -> pa.Table:
        """All rows of some pages, by window and keys."""
        rows = pa.Table.from_batches([page.rows for page in pages], schema=self.schema)
        return rows if len(pages) == 1 else self._rows.in_order(rows)  # those of a page are

    def finish(self, until: object = None) -> pa.Table:
        """Say that no more events come; the rows of all groups that were not complete."""
        self._ready()
        found = self.table(list(self.rest()))
        self._finished = True
        return found

    def advance(self, now: object) -> pa.Table:
        """Say that no event comes any more before a time, a datetime, a text or a number in the unit of the order
        column; the rows of groups that are then complete.
        """
        self._ready()
        time = self._tick(now)
        return self.table([*self.read_held(time), *self._settle(time)])

    def _settle(self, now: int) -> Iterator[Page]:
        """The rows of groups that are complete at a time."""
        self._now = now if self._now is None else max(now, self._now)
        yield from self._pages(self.summarizer.complete(self._now))

    def _due(self) -> int | None:
        """The time up to which nothing may come any more for the next groups to be complete; None if no time makes one
        complete.
        """
        return self.summarizer.due()

    def cut(self, part: Slice) -> None:
        """Say which part of a stream will be read."""
        self.summarizer.slice = part

    def begin_anywhere(self, reachable: Reachable) -> None:
        """Say that partial matches may come into what will be read."""
        summarizer, grouping = self.summarizer, self.summarizer.grouping
        assert isinstance(summarizer, ComponentSummarizer) and isinstance(summarizer.machine, TableMachine)
        assert grouping.row_at is not None
        seed(summarizer.arena, summarizer.machine, reachable, -1 - grouping.sources[grouping.row_at])

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Query.resume`; this session can go on as well."""
        self._ready()
        self.compact()
        with self._whole():
            self.summarizer.forget_numbers()
        state: dict[str, Section] = {
            **self.incoming.state(),
            "plan": fingerprint_of(repr(self._plan)),
            "floor": self._floor,
            "given": self._given,
            "now": self._now,
            "clock": self.summarizer.state(),
        }
        return pack(self._fingerprint, {"state": state, **self._dumped()})

    def _dumped(self) -> dict[str, Section]:
        return {**self.incoming.dump(), **self.summarizer.dump()}

    def restore(self, sections: Mapping[str, Any]) -> None:
        """Go on from the sections of a snapshot."""
        state = sections["state"]
        if state["plan"] != fingerprint_of(repr(self._plan)):
            raise SnapshotError(
                "the snapshot was made with another version of acelera, or with other aggregate functions, which "
                "compiles this query otherwise; read the stream again from its beginning"
            )
        self.incoming.load(sections)
        self.summarizer.load(sections, state["clock"])
        self.summarizer.check_numbers()
        self._floor, self._given, self._now = state["floor"], state["given"], state["now"]
        check.whole("state", self._floor, self._given, *([] if self._now is None else [self._now]))

    def _read(self, batch: pa.RecordBatch, numbers: Ints, starting_before: int | None) -> Iterator[Page]:
        arrived = self.incoming.check(batch, numbers)
        self._refuse_far_times(batch, numbers)
        self._changing = True
        frame = self.incoming.place(arrived)
        events = self.incoming.read(frame, arrived.partitions, self.summarizer.first_row)
        reachable = np.flatnonzero(events.floors <= events.ticks)  # others are in none of the windows
        if len(reachable) < len(events):
            events = events.only(reachable)
        self.summarizer.read(events, len(self.incoming.partitions.keys), self.incoming.events - len(frame))
        if self._timed:
            self._now = int(times(frame)[-1])
        if self._one_clock:
            self._floor = int(self._bounds.floors(self._bounds.ticks(frame)[-1:])[0])
        yield from self._pages(self.summarizer.complete(self._now))
        if self.incoming.partitions.wasteful or self.summarizer.wasteful:
            self.compact()

    def _refuse_far_times(self, batch: pa.RecordBatch, numbers: Ints) -> None:
        """Times of which windows would not have one; they are in order."""
        if self._spans is None or not self._spans.timed:
            return
        stream, name = self.incoming.stream, self.incoming.stream.order_by[0]
        for row in {0, batch.num_rows - 1}:
            time = batch.column(name).slice(row, 1)
            if self._spans.reach_too_far(time.cast(pa.int64())[0].as_py()):
                shown = show(stream, name, plain_values(time, stream.columns[name])[0])
                raise DataError(
                    f"{self.incoming.place_of(numbers[row])}{name} = {shown} is so close to the end of what "
                    f"{time.type} can hold that windows of OVER reach beyond it; leave out rows whose time is none, or "
                    "cast the column to timestamp[us], which reaches farther"
                )

    def _pages(self, groups: Groups | None) -> Iterator[Page]:
        """The rows of groups; their order is that in which they are given."""
        if groups is None:
            return
        rows = self._rows.rows(groups.windows, groups.keys, groups.totals)
        for batch in self._rows.in_order(pa.Table.from_batches([rows])).combine_chunks().to_batches():
            places = np.arange(self._given, self._given + batch.num_rows)
            self._given += batch.num_rows
            yield Page(batch, places, places)

    def rest(self, starting_before: int | None = None, until: int | None = None) -> Iterator[Page]:
        """The rows of all groups that were not complete, when all events have been read."""
        self._ready()
        yield from self.read_held()
        yield from self._pages(self.summarizer.rest())

    def compact(self) -> None:
        """Forget what no match can use any more."""
        with self._whole():
            self.summarizer.compact(self._floor)
            keys = self.incoming.partitions.keys
            if keys.columns:
                kept, _ = self.incoming.forget_idle(self.summarizer.busy_keys(len(keys)))
                if kept is not None:
                    self.summarizer.keep_keys(kept)
            if self.summarizer.wasteful_numbers:
                self.summarizer.forget_numbers()
