"""A running query: batches in, matches out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.machines.choice import Strategy
from acelera.engine.session.bounds import gathered, told_of_memory
from acelera.engine.session.incoming import Incoming, Pieces
from acelera.engine.session.matcher import Matcher
from acelera.engine.session.outgoing import Outgoing
from acelera.engine.session.pages import Page, in_order
from acelera.engine.session.stages import last_stage, stages_of
from acelera.engine.storage.snapshots import Section, pack, size_of
from acelera.engine.window import window_of
from acelera.errors import UsageError
from acelera.language.checker import Checked
from acelera.language.order_errors import refuse_early
from acelera.moments import tick_of

Ints = npt.NDArray[Any]

ROWS_AT_ONCE = 1 << 17


class Session:
    """A query over a stream that comes in batches, made by `Query.open`.

    >>> import acelera as ac
    >>> session = ac.query("SELECT A.v, B.v MATCH A ; B").open({"type": str, "v": int})
    >>> session.push([{"type": "A", "v": 1}, {"type": "B", "v": 2}]).to_pylist()
    [{'A_v': 1, 'B_v': 2}]
    >>> session.push([{"type": "B", "v": 3}]).to_pylist()
    [{'A_v': 1, 'B_v': 3}]
    >>> session.finish().num_rows
    0
    """

    def __init__(
        self,
        checked: Checked,
        strategy: Strategy,
        ties: str,
        fingerprint: str,
        given_tests: Sequence[int] = (),
        numbered: bool = True,
    ) -> None:
        assert checked.schema is not None
        plan, window = strategy.plan, window_of(checked.clauses.within, checked.schema)
        self.incoming = Incoming(checked, plan, window, ties, given_tests, numbered)
        self.matcher = Matcher(checked, strategy, window, self.incoming.alphabet)
        parts = (checked, self.incoming, self.matcher)
        stages = stages_of(*parts)
        self.outgoing = Outgoing(checked, plan, self.matcher, stages, last_stage(*parts, stages))
        self.told_of_many = False
        self._fingerprint = fingerprint
        self._finished = self._reading = self._changing = self._broken = False

    # --- what users call ------------------------------------------------------------------------------------------

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result."""
        return self.outgoing.schema

    @property
    def events(self) -> int:
        """How many events were read."""
        return self.incoming.events

    @property
    def matches(self) -> int:
        """How many matches were given."""
        return self.outgoing.matches

    @property
    def tied(self) -> int:
        """How many of the events that were read are equal under `order_by` to another of their partition before them;
        counted with `ties="any"` and `ties="drop"`.
        """
        arranging = self.incoming.arranging
        return 0 if arranging is None else arranging.state.tied

    @property
    def dropped(self) -> int:
        """How many rows were dropped, with `ties="drop"`, since another was equal to them in all columns."""
        arranging = self.incoming.arranging
        return 0 if arranging is None else arranging.state.dropped

    @property
    def partial_matches(self) -> int:
        """How many partial matches are held, as the engine holds them: those of a key that can go on in the same ways
        are one, however many they are.
        """
        return len(self.matcher.machine.open_matches()[0])

    @property
    def doubtful_times(self) -> str | None:
        """The column of times, if all events so far lie within one window of time."""
        return self.incoming.stream.order_by[0] if self.incoming.within_one_window else None

    @property
    def state_bytes(self) -> int:
        """How many bytes are held of the stream, about: those of a snapshot, which is not made for it."""
        return sum(map(size_of, self._dumped().values()))

    @property
    def settled(self) -> int:
        """So many of the first events have had all their matches given: those that end there.

        A match is given as soon as it is known, which is mostly when it ends; `explain()` says when it is not.
        """
        return self.outgoing.settled(self.events)

    def push(self, batch: object) -> pa.Table:
        """Read more events; the matches that are then known, by end and start: mostly those that they end.

        The events come in the order of `order_by`, and after those that were pushed before: as a pyarrow table or
        batch, a pandas or polars data frame, or a list of dicts.
        """
        before = self.events
        try:
            with told_of_memory(self):
                return self.table(gathered(self, self.pages(batch)))
        except BaseException:
            self._broken = self._broken or self.events > before  # matches were found that nobody was given
            raise

    def table(self, pages: Sequence[Page]) -> pa.Table:
        """All rows of some pages, in order."""
        return in_order(pages, self.schema)

    def stream(self, batch: object, starting_before: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read more events; the matches in batches of bounded size, as they are found, by end.

        Only those that start before a time, if one is given, in the unit of the order column.
        """
        for page in self.pages(batch, starting_before=starting_before):
            yield page.rows

    def finish(self, until: object = None) -> pa.Table:
        """Say that no more events come; the matches that were waiting for more of them, mostly none.

        The stream is complete up to the time `until` (a datetime, a text, or a number in the unit of the order column),
        or else to its last event: what UNLESS … FOR still waits for then is not told.
        """
        self._ready()
        complete = tick_of(until, self.incoming.stream)
        with told_of_memory(self):
            found = self.table(gathered(self, self.rest(until=complete)))
        self._finished = True
        return found

    def advance(self, now: object) -> pa.Table:
        """Say that no event comes any more before a time, a datetime, a text or a number in the unit of the order
        column; the matches that are then known.
        """
        self._ready()
        time = self._tick(now)
        with self._whole(), told_of_memory(self):
            return self.table(gathered(self, chain(self.read_held(time), self._settle(time))))

    def _settle(self, now: int) -> Iterator[Page]:
        """What can be given since no event comes any more before a time."""
        yield from self.outgoing.settle(now)

    def _tick(self, now: object) -> int:
        """A time in the unit of the order column."""
        found = now if isinstance(now, int) else tick_of(now, self.incoming.stream, "now")
        if found is None:
            raise UsageError("advance needs the time before which no event comes any more")
        return found

    def due(self) -> int | None:
        """The least time before which no event may come any more for further matches to be known; None if no time lets
        any be known.
        """
        arranging = self.incoming.arranging
        times = (self._due(), None if arranging is None else arranging.due)
        return min((time for time in times if time is not None), default=None)

    def _due(self) -> int | None:
        """The same for matches that wait; rows may be held back beside."""
        return self.outgoing.due()

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Query.resume`; this session can go on as well."""
        self._ready()
        self.compact()
        state = {**self.incoming.state(), **self.matcher.state(), **self.outgoing.state()}
        return pack(self._fingerprint, {"state": state, **self._dumped()})

    def _dumped(self) -> dict[str, Section]:
        return {**self.incoming.dump(), **self.matcher.dump(), **self.outgoing.dump()}

    def restore(self, sections: Mapping[str, Any]) -> None:
        """Go on from the sections of a snapshot."""
        self.matcher.refuse_other_plan(sections["state"])
        self.incoming.load(sections)
        self.matcher.load(sections, self.events)
        self.outgoing.load(sections, len(self.incoming.partitions.partitions))

    # --- reading --------------------------------------------------------------------------------------------------

    def conform(self, table: pa.Table) -> pa.Table:
        """The columns that are needed, of the types that were announced."""
        return self.incoming.conform(table)

    def types_not_seen(self) -> bool:
        """Whether the query asks for the type of an event in a way that no event has satisfied."""
        return self.incoming.types_not_seen()

    def pages(self, data: object, numbers: Ints | None = None, starting_before: int | None = None) -> Iterator[Page]:
        """Read more events; the matches that they end, some at a time. `numbers` are the rows' numbers for people."""
        self._ready()
        table = self.incoming.table(data)
        if numbers is None:
            numbers = np.arange(self.incoming.rows + 1, self.incoming.rows + table.num_rows + 1)
        self.incoming.refuse_bad_text(table, numbers)
        yield from self._taken(self.incoming.arranged(table, numbers), starting_before)

    def read_held(self, now: int | None = None, starting_before: int | None = None) -> Iterator[Page]:
        """Read the rows that were held back, if none that ties with them comes any more before a time, or at all."""
        yield from self._taken(self.incoming.let_go(now), starting_before)

    def _taken(self, arranged: Pieces, starting_before: int | None) -> Iterator[Page]:
        """Read rows some at a time, and note how far they have come."""
        pieces, state = arranged
        try:
            self._reading = True
            for table, numbers in pieces:
                for at in range(0, table.num_rows, ROWS_AT_ONCE):
                    rows = table.slice(at, ROWS_AT_ONCE).combine_chunks()
                    arrays = [_one_array(column) for column in rows.columns]
                    batch = pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
                    yield from self._read(batch, numbers[at : at + rows.num_rows], starting_before)
            self.incoming.move_on(state)
        except BaseException:  # also if whoever reads the matches goes away
            self._broken = self._changing  # what was refused before anything was changed leaves no trace
            raise
        finally:
            self._reading = self._changing = False

    def rest(self, starting_before: int | None = None, until: int | None = None) -> Iterator[Page]:
        """What is left to give when all events have been read: the matches that were waiting for more of them.

        Only those that start before a time, if one is given.
        """
        self._ready()
        refuse_early(until, self.incoming.last_time)
        with self._whole():
            yield from self.read_held(starting_before=starting_before)
            yield from self.outgoing.rest(starting_before, until)

    def _read(self, batch: pa.RecordBatch, numbers: Ints, starting_before: int | None) -> Iterator[Page]:
        arrived = self.incoming.check(batch, numbers)
        self._changing = True  # whatever fails from here on leaves half of a batch behind
        frame = self.incoming.place(arrived)
        first = self.matcher.keep(frame, self.events)
        events = self.incoming.read(frame, arrived.partitions, first)
        self.outgoing.read(events, len(self.incoming.partitions.keys))
        for _ in self.matcher.read(events, len(self.incoming.partitions.keys)):
            yield from self.outgoing.pages(arrived.partitions, first, starting_before)
        self.matcher.move_on(self.incoming.floor)
        yield from self.outgoing.settle(None, starting_before)
        if self.incoming.partitions.wasteful:
            self.compact()
        elif self.matcher.store.wasteful(beside=len(self.incoming.partitions.keys)):
            with self._whole():
                self._compact_matches()

    def _compact_matches(self) -> None:
        """Forget nodes and rows that no match can use any more."""
        self.matcher.compact()
        self.outgoing.compact()

    def compact(self) -> None:
        """Forget nodes, rows and keys that no match can use any more."""
        with self._whole():
            self._compact_matches()
            keys, machine = self.incoming.partitions.keys, self.matcher.machine
            if keys.columns:
                held = [each.hits.partition for each in self.outgoing.held]
                kept, partitions = self.incoming.forget_idle(machine.busy_keys(len(keys)), held)
                if kept is not None:
                    machine.keep_keys(kept)
                if partitions is not None:
                    self.outgoing.keep_partitions(partitions)

    def _ready(self) -> None:
        if self._finished:
            raise UsageError("this session is finished; open another one")
        if self._broken:
            raise UsageError(
                "an earlier batch was not read to its end: it failed, or its matches were not all taken; open another "
                "session, or resume a snapshot"
            )
        if self._reading:
            raise UsageError("the matches of the last batch have not all been taken; take them before going on")

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is done in here is done to its end, or the session goes on no more."""
        try:
            yield
        except BaseException:
            self._broken = True
            raise


def _one_array(column: pa.ChunkedArray) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
