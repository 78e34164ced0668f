"""What comes in: rows become events, each with its place in the order, its key, its position and its letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Attr, Sql, Term
from acelera.engine.frames import Frame
from acelera.engine.machines.machine import Events
from acelera.engine.plan import Plan
from acelera.engine.positions import absolute_positions_matter
from acelera.engine.predicates.letters import LETTER, Alphabet
from acelera.engine.results.needs import columns_read
from acelera.engine.session.arranging import Arranging, Piece, State
from acelera.engine.session.description import described
from acelera.engine.session.neighbours import Neighbours
from acelera.engine.session.order import Order, Standing
from acelera.engine.session.partitions import Partitions
from acelera.engine.storage import validation as check
from acelera.engine.storage.columns import decoded, ordinary
from acelera.engine.storage.snapshots import Section
from acelera.engine.ticks import FAR_PAST
from acelera.engine.window import Window
from acelera.errors import SchemaError, did_you_mean
from acelera.language.checker import Checked
from acelera.language.fields import find_field
from acelera.language.schema import Schema, refuse_repeated
from acelera.language.sorting import arranges
from acelera.language.types import from_arrow
from acelera.tables import field_of, refuse_bad_text, to_arrow

Ints = npt.NDArray[Any]
Pieces = tuple[list[Piece], State | None]
"""Rows to be read, and how far rows have come once they were."""


class Arrived(NamedTuple):
    """Rows that nothing can be said against, but that have not been taken yet."""

    batch: pa.RecordBatch
    partitions: Ints
    standing: Standing


class Incoming:
    """The stream up to now: how far it has come, and which keys it has had.

    Tests of events that are `given` have been made elsewhere. Rows have numbers for people if they are `numbered`.
    """

    def __init__(
        self, checked: Checked, plan: Plan, window: Window, ties: str, given_tests: Sequence[int], numbered: bool
    ) -> None:
        assert checked.schema is not None
        self.stream, self._plan, self._window = checked.schema, plan, window
        tells_starts = checked.clauses.keep is not None or bool(plan.absences)
        self.by_moment = window.timed and tells_starts  # by their ticks
        self._began: int | None = None  # the time of the first event that was read here
        self.clock: int | None = None  # the time of the last event, in the unit of the order column
        self._one_clock, self.floor = window.timed or not checked.clauses.partition_by, int(FAR_PAST)
        self.alphabet = Alphabet(plan.tests, checked.schema, given_tests)
        partition_by = [key.name for key in checked.clauses.partition_by]
        counted_for_ever = absolute_positions_matter(checked, plan)
        self.partitions = Partitions(partition_by, plan.split_by, checked.schema, counted_for_ever)
        self._neighbours = Neighbours(plan.neighbours, bool(partition_by), checked.schema)
        self.events = 0
        self._order = Order(checked.schema, partition_by, "keep" if arranges(ties) else ties, numbered)
        self._times, self._times_from = np.empty(0, np.int64), 0
        self.columns = self._read = columns_read(checked, plan, given_tests)
        self._given, self._numbered, self._ties = bool(given_tests), numbered, ties
        self.arranging: Arranging | None = None
        if arranges(ties) and checked.schema.order_by:
            beside = {LETTER: pa.int64()} if given_tests else {}
            self.arranging = Arranging(checked.schema, partition_by, ties == "drop", numbered, beside)
            self.columns = self.arranging.columns

    # --- columns --------------------------------------------------------------------------------------------------

    def table(self, data: object) -> pa.Table:
        """The rows, from whatever holds them."""
        empty = isinstance(data, Sequence) and not isinstance(data, Mapping) and len(data) == 0
        return self.conform(self._no_rows() if empty else to_arrow(data))

    def _no_rows(self) -> pa.Table:
        return pa.table({name: pa.array([], self.stream.columns[name].arrow) for name in self.columns})

    def conform(self, table: pa.Table) -> pa.Table:
        """The columns that are needed, of the types that were announced."""
        found = conformed(table, self.columns, self.stream)
        return found.append_column(LETTER, table.column(LETTER)) if self._given else found

    def refuse_bad_text(self, table: pa.Table, numbers: Ints) -> None:
        """Bytes that are no text are refused before anything looks at them."""
        refuse_bad_text(table, numbers if self._numbered else None)

    def place_of(self, number: int) -> str:
        """How messages about a row begin."""
        return f"row {number}: " if self._numbered else ""

    # --- rows that tie --------------------------------------------------------------------------------------------

    @property
    def rows(self) -> int:
        """How many rows have come."""
        return self.events if self.arranging is None else self.arranging.state.rows

    @property
    def last_time(self) -> int | None:
        """The time of the last row, in the unit of the order column."""
        held = None if self.arranging is None else self.arranging.time
        return self.clock if held is None else held

    def arranged(self, table: pa.Table, numbers: Ints) -> Pieces:
        """The rows that can be read by now, tied ones in order; nothing is changed."""
        if self.arranging is None:
            return [Piece(table, numbers)], None
        return self._to_read(*self.arranging.take(table, numbers))

    def let_go(self, now: int | None) -> Pieces:
        """The rows that were held back, if none that ties with them comes any more before a time, or at all."""
        return ([], None) if self.arranging is None else self._to_read(*self.arranging.let_go(now))

    def move_on(self, state: State | None) -> None:
        """What could be read was read."""
        if self.arranging is not None and state is not None:
            self.arranging.state = state

    def _to_read(self, pieces: Sequence[Piece], state: State) -> Pieces:
        names = [*self._read, *([LETTER] if self._given else [])]
        return [piece._replace(rows=piece.rows.select(names)) for piece in pieces], state

    # --- events ---------------------------------------------------------------------------------------------------

    def check(self, batch: pa.RecordBatch, numbers: Ints) -> Arrived:
        """Refuse rows that are out of order, or that tie; nothing is changed."""
        unplaced = Frame(batch, np.arange(self.events, self.events + batch.num_rows), self.stream)
        partitions = self.partitions.read(unplaced)
        return Arrived(batch, partitions, self._order.check(batch, partitions, numbers))

    def place(self, arrived: Arrived) -> Frame:
        """Take rows; each gets the next position of its partition."""
        self._order.standing = arrived.standing
        return Frame(arrived.batch, self.partitions.positions(arrived.partitions), self.stream)

    def read(self, frame: Frame, partitions: Ints, first: int) -> Events:
        """The events of rows that were taken, of which the first has this number among those that are stored."""
        self._neighbours.join(frame, partitions)
        letters, ticks = self.alphabet.read(frame), self._window.ticks(frame)
        keys = self.partitions.keys_of(frame, partitions)
        rows, within = np.arange(first, first + len(frame), dtype=np.int32), np.arange(len(frame))
        floors = self._window.floors(ticks)
        moments, moment_floors = self._moments(frame, ticks, floors)
        if self.by_moment:
            ticks, floors = moments, moment_floors
        if self._one_clock:  # where time, or one count of positions, goes on for all keys, so does the window
            self.floor = int(floors[-1])
        latest, ruled_out = np.zeros((1, len(frame)), np.int64), np.zeros(len(frame), np.bool_)
        events = Events(letters, keys, rows, ticks, floors, within, moments, moment_floors, frame, latest, ruled_out)
        self.events += len(frame)
        if self.stream.time is not None:
            self.clock = frame["time"][len(frame) - 1].cast(pa.int64()).as_py()
            if self._began is None:
                self._began = frame["time"][0].cast(pa.int64()).as_py()
        kept = self.partitions.joining(frame)
        return events if kept is None else events.only(kept)

    def _moments(self, frame: Frame, ticks: Ints, floors: Ints) -> tuple[Ints, Ints]:
        """Like ticks and floors, but different for all events of a key: several may happen at one time.

        Times are replaced by places in the stream; `_times` are those of places from `_times_from` on.
        """
        if not self._window.timed or not (self._plan.guards or self.by_moment):
            return frame.positions, floors
        self._times = np.concatenate((self._times, ticks))
        oldest = np.searchsorted(self._times, floors)
        moments, moment_floors = np.arange(self.events + 1, self.events + len(frame) + 1), oldest + self._times_from + 1
        self._times, self._times_from = self._times[oldest[-1] :], self._times_from + int(oldest[-1])
        return moments, moment_floors

    @property
    def within_one_window(self) -> bool:
        """Whether all events so far, as far as they were read here, lie within one window of time."""
        if self._began is None or self.clock is None or not self._window.timed or self._window.width is None:
            return False
        return self.clock - self._began <= self._window.width

    def floor_at(self, now: int) -> int:
        """The floor of an event at a time, if none comes before it; without a window in time, none is known."""
        if not self._window.timed:
            return int(FAR_PAST)
        floor = self._window.floors(np.array([now]))
        return int(np.searchsorted(self._times, floor)[0]) + self._times_from + 1 if self.by_moment else int(floor[0])

    def forget_idle(self, busy: Ints, held: Sequence[Ints] = ()) -> tuple[Ints | None, Ints | None]:
        """Forget keys without a partial match; which keys and which partitions are left, None if all are.

        Partitions that are `held` stay.
        """
        keys, partitions = self.partitions.forget_idle(busy, np.concatenate((self._order.tied, *held)))
        if partitions is not None:
            self._order.keep_keys(partitions)
            self._neighbours.keep_partitions(partitions)
        return keys, partitions

    def types_not_seen(self) -> bool:
        """Whether the query asks for the type of an event in a way that no event has satisfied."""
        seen = frozenset().union(*self.alphabet.holding)
        asking = (number for number, test in enumerate(self._plan.tests) if asks_for_type(test))
        return any(number not in seen for number in asking)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Section]:
        """Its part of the state in a snapshot."""
        return {
            "events": self.events,
            "order": self._order.dump(),
            "stream": described(self.stream, self._ties),
            "times_from": self._times_from,
            "clock": self.clock,
        }

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        columns = pa.schema([pa.field(name, kind.arrow) for name, kind in self.stream.in_tables.items()])
        empty = pa.RecordBatch.from_pylist([], schema=columns)
        found = {"columns": empty, **self.partitions.dump(), **self._neighbours.dump(), "times": self._times}
        return found if self.arranging is None else {**found, **self.arranging.dump()}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        state = sections["state"]
        self.events, self._times_from, self.floor = state["events"], state["times_from"], state["floor"]
        self.clock = state["clock"]
        check.whole("state", self.events, self._times_from, self.floor, self.clock or 0)
        self._order.load(state["order"])
        self.partitions.load(sections, self.events)
        self._neighbours.load(sections)
        self._times = check.array(sections, "times", np.int64)
        check.ascending("times", self._times)
        if self.arranging is not None:
            self.arranging.load(sections)


def conformed(table: pa.Table, wanted: Sequence[str], stream: Schema) -> pa.Table:
    """Some columns of a stream, of the types that were announced."""
    columns = {}
    names = table.column_names  # asked for once: it is a list that is made anew each time
    refuse_repeated(names)
    given = dict(zip(names, table.columns, strict=True))
    for name in wanted:
        if name not in given:
            given[name] = _field(name, given, stream)
        column, kind = decoded(given[name]), ordinary(stream.columns[name].arrow)
        same = column.type == kind or (pa.types.is_dictionary(column.type) and column.type.value_type == kind)
        try:
            columns[name] = column if same else column.cast(kind)
        except pa.ArrowException as error:
            raise SchemaError(
                f"the column `{name}` is {column.type} in this batch, but {kind} in the stream: {error}"
            ) from None
    return pa.table(columns)


def _field(name: str, given: Mapping[str, Any], stream: Schema) -> Any:
    """A field of a struct that the batch has."""
    known = stream.fields.get(name)
    if known is None or known.path[0] not in given:
        missing = name if known is None else known.path[0]
        raise SchemaError(f"the batch has no column `{missing}`{did_you_mean(missing, given)}")
    column = given[known.path[0]]
    if not pa.types.is_null(column.type) and find_field(name, {known.path[0]: from_arrow(column.type)}) is None:
        raise SchemaError(f"the column `{known.path[0]}` is {column.type} in this batch, and has no `{name}`")
    return field_of(column, known.path[1:])


def asks_for_type(test: Term) -> bool:
    """Whether a test asks for nothing but the type of an event."""
    return isinstance(test, Sql) and all(term == Attr("type") for _, term in test.leaves)
