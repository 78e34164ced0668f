"""A running query: batches in, matches out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Attr, Sql, Term
from acelera.engine.frames import Frame
from acelera.engine.machines.choice import machine_of
from acelera.engine.machines.table_machine import Events, Machine
from acelera.engine.nodes import kernels
from acelera.engine.plan import Plan
from acelera.engine.positions import absolute_positions_matter
from acelera.engine.predicates.letters import LETTER, Alphabet
from acelera.engine.results.needs import columns_kept, columns_read
from acelera.engine.results.presenter import Presenter
from acelera.engine.results.seen import unseen_actions
from acelera.engine.session.bounds import gathered, told_of_memory
from acelera.engine.session.description import described
from acelera.engine.session.keys import Keys
from acelera.engine.session.order import Order
from acelera.engine.session.pages import Page, in_order
from acelera.engine.session.store import Store
from acelera.engine.storage import validation as check
from acelera.engine.storage.columns import decoded, ordinary
from acelera.engine.storage.growing import grown, wasteful
from acelera.engine.storage.snapshots import Section, fingerprint_of, pack
from acelera.engine.window import Window, window_of
from acelera.errors import SchemaError, SnapshotError, UsageError, did_you_mean
from acelera.language.checker import Checked
from acelera.language.schema import refuse_repeated
from acelera.tables import refuse_bad_text, to_arrow

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
    >>> session.finish()
    """

    def __init__(
        self,
        checked: Checked,
        plan: Plan,
        ties: str,
        fingerprint: str,
        given_tests: Sequence[int] = (),
        numbered: bool = True,
    ) -> None:
        assert checked.schema is not None
        self._fingerprint = fingerprint
        self.schema, self._stream = checked.result.schema, checked.schema
        self.plan = plan
        self.window: Window = window_of(checked.clauses.within, checked.schema)
        self.alphabet = Alphabet(self.plan.tests, checked.schema, given_tests)
        self.machine: Machine = machine_of(self.plan, self.alphabet, checked.schema, unseen_actions(checked, plan))
        self._presenter = Presenter(checked, self.plan, self.machine)
        self.store = Store(columns_kept(checked, plan), checked.schema)
        partition_by = [key.name for key in checked.clauses.partition_by]
        self.partitions = Keys(partition_by, checked.schema)
        self.split = Keys(self.plan.split_by, checked.schema)
        self.keys = self.partitions
        if self.plan.split_by:
            self.keys = Keys([*partition_by, *self.plan.split_by], checked.schema)
        self._partition_of: Ints = np.zeros(1, np.int64)  # of each key, if keys are not the partitions
        self._keys_kept = 0
        self._counts_for_ever = absolute_positions_matter(checked, plan)
        self.order = Order(checked.schema, partition_by, ties, numbered)
        self.counts: Ints = np.zeros(1, np.int64)
        self._times, self._times_from = np.empty(0, np.int64), 0
        self.events = 0
        self.matches = 0
        self.told_of_many = False
        self.floor = int(kernels.FAR_PAST)
        self._finished = self._reading = self._changing = self._broken = False
        self._starting_before: int | None = None
        self._columns = columns_read(checked, plan, given_tests)
        self._given, self._numbered = bool(given_tests), numbered

    # --- what users call ------------------------------------------------------------------------------------------

    def push(self, batch: object) -> pa.Table:
        """Read more events; the matches that they end, by end and start.

        The events come in the order of `order_by`, and after those that were pushed before: as a pyarrow table or
        batch, a pandas or polars data frame, or a list of dicts.
        """
        before = self.events
        try:
            with told_of_memory(self):
                return in_order(gathered(self, self.pages(batch)), self.schema)
        except BaseException:
            self._broken = self._broken or self.events > before  # matches were found that nobody was given
            raise

    def stream(self, batch: object, starting_before: int | None = None) -> Iterator[pa.RecordBatch]:
        """Read more events; their matches in batches of bounded size, as they are found, by end.

        Only those that start before a time, if one is given, in the unit of the order column.
        """
        for page in self.pages(batch, starting_before=starting_before):
            yield page.rows

    def finish(self) -> None:
        """Say that no more events come. All matches have been given: a match is known as soon as it ends."""
        self._finished = True

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Query.resume`; this session can go on as well."""
        self._ready()
        self.compact()
        rows = self.store.frame()
        state: Section = {
            "events": self.events,
            "matches": self.matches,
            "floor": self.floor,
            "order": self.order.dump(),
            "stream": described(self._stream, self.order.ties),
            "plan": fingerprint_of(repr(self.plan)),
            "times_from": self._times_from,
        }
        columns = pa.schema([pa.field(name, kind.arrow) for name, kind in self._stream.columns.items()])
        return pack(
            self._fingerprint,
            {
                "state": state,
                "columns": pa.RecordBatch.from_pylist([], schema=columns),
                "counts": self.counts,
                "partition_of": self._partition_of,
                **self.partitions.dump("partitions"),
                **(self.keys.dump("keys") if self.keys is not self.partitions else {}),
                "times": self._times,
                "rows": rows.batch,
                "positions": rows.positions,
                "places": self.store.places,
                "ticks": self.store.ticks,
                **{f"machine.{name}": section for name, section in self.machine.dump().items()},
            },
        )

    def restore(self, sections: Mapping[str, Any]) -> None:
        """Go on from the sections of a snapshot."""
        state = sections["state"]
        if state["plan"] != fingerprint_of(repr(self.plan)):
            raise SnapshotError(
                "the snapshot was made with another version of acelera, or with other aggregate functions, which "
                "compiles this query otherwise; read the stream again from its beginning"
            )
        self.events, self.matches, self.floor = state["events"], state["matches"], state["floor"]
        self._times_from = state["times_from"]
        check.whole("state", self.events, self.matches, self.floor, self._times_from)
        self.order.load(state["order"])
        self.partitions.load("partitions", sections)
        if self.keys is not self.partitions:
            self.keys.load("keys", sections)
            self._partition_of = check.array(sections, "partition_of", np.int64)
            check.at_least("partition_of", self._partition_of, len(self.keys))
            check.in_range("partition_of", self._partition_of[: len(self.keys)], 0, len(self.partitions))
        self.counts, self._times = check.array(sections, "counts", np.int64), check.array(sections, "times", np.int64)
        check.at_least("counts", self.counts, len(self.partitions))
        check.in_range("counts", self.counts, 0, self.events + 1)
        check.ascending("times", self._times)
        self.store.load(sections)
        check.in_range("places", self.store.places, 0, self.events)
        prefix = "machine."
        self.machine.load({k.removeprefix(prefix): part for k, part in sections.items() if k.startswith(prefix)})
        arena = self.machine.arena
        actions = len(self.machine.actions)
        rows = arena.two[arena.marked_with(np.arange(2 * actions + 1) < actions)]
        check.in_range("two", rows, 0, self.store.rows)

    def types_not_seen(self) -> bool:
        """Whether the query asks for the type of an event in a way that no event has satisfied."""
        seen = frozenset().union(*self.alphabet.holding)
        asking = (number for number, test in enumerate(self.plan.tests) if _asks_for_type(test))
        return any(number not in seen for number in asking)

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

    # --- events in ------------------------------------------------------------------------------------------------

    def pages(self, data: object, numbers: Ints | None = None, starting_before: int | None = None) -> Iterator[Page]:
        """Read more events; the matches that they end, some at a time. `numbers` are the rows' numbers for people."""
        self._ready()
        self._starting_before = starting_before
        table = self.conform(to_arrow(data) if not _is_empty_list(data) else self._no_rows())
        if numbers is None:
            numbers = np.arange(self.events + 1, self.events + table.num_rows + 1)
        refuse_bad_text(table, numbers if self._numbered else None)
        try:
            self._reading = True
            for at in range(0, table.num_rows, ROWS_AT_ONCE):
                rows = table.slice(at, ROWS_AT_ONCE).combine_chunks()
                arrays = [_one_array(column) for column in rows.columns]
                batch = pa.RecordBatch.from_arrays(arrays, schema=rows.schema)
                yield from self._read(batch, numbers[at : at + rows.num_rows])
        except BaseException:  # also if whoever reads the matches goes away
            self._broken = self._changing  # what was refused before anything was changed leaves no trace
            raise
        finally:
            self._reading = self._changing = False

    def _read(self, batch: pa.RecordBatch, numbers: Ints) -> Iterator[Page]:
        size = batch.num_rows
        places = np.arange(self.events, self.events + size)
        unplaced = Frame(batch, places, self._stream)
        partitions = self.partitions.read(unplaced)  # a key that is known but has no events changes nothing
        if len(self.partitions) > len(self.counts):
            self.counts = grown(self.counts, max(len(self.partitions), 2 * len(self.counts)))
        standing = self.order.check(batch, partitions, numbers)
        self._changing = True  # whatever fails from here on leaves half of a batch behind
        self.order.standing = standing
        frame = Frame(batch, self._positions(partitions), self._stream)
        first = self.store.rows
        self.store.append(frame, places, self.window.ticks(frame))
        events = self._events(frame, partitions, first)
        self.events += size
        for _ in self.machine.read(events, len(self.keys)):
            yield from self._pages()
        if self.window.timed or not self.partitions.columns:  # time, or one count of positions, goes on for all keys
            self.floor = int(self.window.floors(self.window.ticks(frame)[-1:])[0])
        if self.store.wasteful or wasteful(len(self.keys), self._keys_kept):
            self.compact()

    def _positions(self, partitions: Ints) -> Ints:
        if not self.partitions.columns:
            first = int(self.counts[0])
            self.counts[0] += len(partitions)
            return np.arange(first + 1, first + len(partitions) + 1)
        positions = np.empty(len(partitions), np.int64)
        kernels.count_positions(partitions, self.counts, positions)
        return positions

    def _events(self, frame: Frame, partitions: Ints, first: int) -> Events:
        letters, ticks = self.alphabet.read(frame), self.window.ticks(frame)
        keys = partitions
        if self.keys is not self.partitions:
            keys = self.keys.read(frame)
            if len(self.keys) > len(self._partition_of):
                self._partition_of = grown(self._partition_of, max(len(self.keys), 2 * len(self._partition_of)))
            self._partition_of[keys] = partitions
        rows, within = np.arange(first, first + len(frame), dtype=np.int32), np.arange(len(frame))
        floors = self.window.floors(ticks)
        moments, moment_floors = self._moments(frame, ticks, floors)
        latest, ruled_out = np.zeros((1, len(frame)), np.int64), np.zeros(len(frame), np.bool_)
        events = Events(letters, keys, rows, ticks, floors, within, moments, moment_floors, frame, latest, ruled_out)
        if self.split.columns:
            kept = np.flatnonzero(~self.split.missing(frame))
            if len(kept) < len(events):
                events = events.only(kept)
        return events

    def _moments(self, frame: Frame, ticks: Ints, floors: Ints) -> tuple[Ints, Ints]:
        """Like ticks and floors, but different for all events of a key: several may happen at one time.

        Times are replaced by places in the stream; `_times` are those of places from `_times_from` on.
        """
        if not self.window.timed or not self.plan.guards:
            return frame.positions, floors
        self._times = np.concatenate((self._times, ticks))
        oldest = np.searchsorted(self._times, floors)
        moments, moment_floors = np.arange(self.events + 1, self.events + len(frame) + 1), oldest + self._times_from + 1
        self._times, self._times_from = self._times[oldest[-1] :], self._times_from + int(oldest[-1])
        return moments, moment_floors

    def _pages(self) -> Iterator[Page]:
        """The matches of all hits."""
        rows = self.store.frame()
        for listed in self.machine.arena.listed(self._presenter.as_tree):
            if self._starting_before is not None:
                kept = np.flatnonzero(self.store.ticks[listed.start_row] < self._starting_before)
                listed = listed if len(kept) == len(listed) else listed.only(kept)
            if not len(listed):
                continue
            self.matches += len(listed)
            places = self.store.places
            ends, starts = places[listed.end_row], places[listed.start_row]
            yield Page(self._presenter.present(listed, rows), ends, starts)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What is done in here is done to its end, or the session goes on no more."""
        try:
            yield
        except BaseException:
            self._broken = True
            raise

    def compact(self) -> None:
        """Forget nodes, rows and keys that no match can use any more."""
        with self._whole():
            self.machine.compact(self.floor)
            actions = len(self.machine.actions)
            nodes = self.machine.arena.marked_with(np.arange(2 * actions + 1) < actions)
            rows, moved = np.unique(self.machine.arena.two[nodes], return_inverse=True)
            self.machine.arena.two[nodes] = moved
            self.store.keep(rows)
            if self.keys.columns:
                self._forget_idle_keys()

    def _forget_idle_keys(self) -> None:
        """Forget keys without a partial match; their events are counted on only where the number of a position matters.

        The events of a partition are counted on while one of its matches is open, and from 1 after it was forgotten.
        """
        kept = self.machine.busy_keys(len(self.keys))
        if self.keys is self.partitions:
            if not self._counts_for_ever:
                self._keep_partitions(np.union1d(kept, self.order.tied))
        else:
            self.keys.keep(kept)
            self.machine.keep_keys(kept)
            self._partition_of = self._partition_of[kept]
            if self.partitions.columns and not self._counts_for_ever:
                self._keep_partitions(np.union1d(self._partition_of, self.order.tied))
        self._keys_kept = len(self.keys)

    def _keep_partitions(self, kept: Ints) -> None:
        if self.keys is self.partitions:
            self.machine.keep_keys(kept)
        else:
            self._partition_of = np.searchsorted(kept, self._partition_of)
        self.partitions.keep(kept)
        self.counts = self.counts[kept]
        self.order.keep_keys(kept)

    # --- columns --------------------------------------------------------------------------------------------------

    def conform(self, table: pa.Table) -> pa.Table:
        """The columns that are needed, of the types that were announced."""
        columns = {}
        names = table.column_names  # asked for once: it is a list that is made anew each time
        refuse_repeated(names)
        given = dict(zip(names, table.columns, strict=True))
        for name in self._columns:
            if name not in given:
                raise SchemaError(f"the batch has no column `{name}`{did_you_mean(name, names)}")
            column, kind = decoded(given[name]), ordinary(self._stream.columns[name].arrow)
            same = column.type == kind or (pa.types.is_dictionary(column.type) and column.type.value_type == kind)
            try:
                columns[name] = column if same else column.cast(kind)
            except pa.ArrowException as error:
                raise SchemaError(
                    f"the column `{name}` is {column.type} in this batch, but {kind} in the stream: {error}"
                ) from None
        if self._given:
            columns[LETTER] = given[LETTER]
        return pa.table(columns)

    def _no_rows(self) -> pa.Table:
        return pa.table({name: pa.array([], self._stream.columns[name].arrow) for name in self._columns})


def _one_array(column: pa.ChunkedArray) -> Any:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _asks_for_type(test: Term) -> bool:
    return isinstance(test, Sql) and all(term == Attr("type") for _, term in test.leaves)


def _is_empty_list(data: object) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, Mapping) and len(data) == 0
