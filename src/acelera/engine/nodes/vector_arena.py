"""The rows of components that partial matches carry, their groups, and the hits that wait to be folded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes.components import (
    COUNT_CELL,
    EXPONENT_CELL,
    FLAGS_CELL,
    HEAD,
    LOAD,
    NEAR_CELL,
    OPERATION,
    REAL_CELL,
    Columns,
    Components,
    Kinds,
)
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.plain_slots import PlainSlots
from acelera.engine.nodes.slots import Slots, drop_expired
from acelera.engine.nodes.vectors import BEGUN, NONE, NOT_SHARED, Given, Groups, Vectors
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown
from acelera.engine.storage.interning import intern_again
from acelera.engine.storage.renumbering import Reference, numbered_anew

Ints = npt.NDArray[Any]

FEW_EVENTS, MOST_ROWS = 1 << 8, 1 << 20
"""How many events should fit at least, as long as there are not so many rows."""


@dataclass(frozen=True)
class Shape:
    """How many components there are of each sort, and what is known of each.

    `best` holds the order of each best number, and `best_flag` its flag. `spread` is how many sets of values spread:
    for each, two numbers stand at the end of `real`. `fresh` are the flags of a match that has marked nothing.
    """

    whole: int
    real: int
    best: tuple[int, ...]
    best_flag: tuple[int, ...]
    spread: int
    parts: int
    fresh: int = 0

    @cached_property
    def at(self) -> Ints:
        """Where components stand in a row; see `components`."""
        whole = HEAD - 1  # the first sum of each sort stands in the head
        near = whole + self.whole - 1
        real = near + self.whole - 1
        mean = real + max(self.real, 1)
        best = mean + self.spread
        return np.array([whole, near, real, mean, best, best + len(self.best), self.whole, max(self.real, 1)], np.int64)

    def kinds(self, ranks: Ints) -> Kinds:
        """What kernels ask of components."""
        first = max(self.real, 1) - 2 * self.spread
        spread_at = np.arange(first, max(self.real, 1), 2, dtype=np.int64)
        best_kind, best_flag = np.array(self.best, np.int64), np.array(self.best_flag, np.int64)
        return Kinds(self.at, best_kind, best_flag, spread_at, ranks, np.array([self.fresh], np.int64))

    def components(self, rows: int) -> Components:
        """Room for so many rows."""
        return components_in(np.zeros((rows, int(self.at[LOAD]) + len(self.best)), np.int64))

    def columns(self, components: Components) -> Columns:
        """Components by sort; those of rows of their own are the same memory."""
        cells, reals = components.cells, components.reals
        whole, near, real, mean, best, load = self.at[:6].tolist()
        return Columns(
            np.column_stack([cells[:, COUNT_CELL], cells[:, whole + 1 : whole + self.whole]]),
            np.column_stack([reals[:, NEAR_CELL], reals[:, near + 1 : near + self.whole]]),
            np.column_stack([reals[:, REAL_CELL], reals[:, real + 1 : real + max(self.real, 1)]]),
            cells[:, EXPONENT_CELL],
            reals[:, mean : mean + self.spread],
            cells[:, best : best + len(self.best)],
            cells[:, load : load + len(self.best)],
            cells[:, FLAGS_CELL],
        )

    def packed(self, columns: Columns) -> Components:
        """Components from columns by sort."""
        found = self.components(len(columns.flags))
        cells, reals = found
        whole, near, real, mean, best, load = self.at[:6].tolist()
        cells[:, COUNT_CELL], cells[:, whole + 1 : whole + self.whole] = columns.whole[:, 0], columns.whole[:, 1:]
        reals[:, NEAR_CELL], reals[:, near + 1 : near + self.whole] = columns.near[:, 0], columns.near[:, 1:]
        reals[:, REAL_CELL], reals[:, real + 1 : real + max(self.real, 1)] = columns.real[:, 0], columns.real[:, 1:]
        cells[:, EXPONENT_CELL], reals[:, mean : mean + self.spread] = columns.exponent, columns.mean
        cells[:, best : best + len(self.best)], cells[:, load : load + len(self.best)] = columns.best, columns.load
        cells[:, FLAGS_CELL] = columns.flags
        return found


def components_in(cells: Ints) -> Components:
    """Components in an array of cells."""
    return Components(cells, cells.view(np.float64))


def grown_components(components: Components, rows: int) -> Components:
    """The same with room for more rows."""
    return components_in(grown(components.cells, rows))


def flat_operations(of_marks: Iterable[Sequence[Sequence[int]]]) -> tuple[Ints, Ints]:
    """Where the operations of each mark begin, and all of them one after the other."""
    listed = list(of_marks)
    at = np.cumsum([0, *(len(each) for each in listed)]).astype(np.int64)
    return at, np.array([each for several in listed for each in several], np.int64).reshape(-1, OPERATION)


NO_RANKS = np.zeros(1, np.int64)


def no_events(stored_width: int = 1) -> Given:
    """Nothing is known of any event."""
    nothing, none = np.zeros((0, 0), np.int64), np.zeros((0, stored_width), np.int64)
    return Given(
        nothing,
        nothing.view(np.float64),
        np.zeros((0, 0), np.bool_),
        nothing,
        np.zeros(0, np.int64),
        none,
        none.view(np.float64),
    )


class Interned:
    """Rows of numbers, each with a number of its own."""

    def __init__(self, width: int, size: int = 64) -> None:
        self.arrays = Groups(np.zeros((size, width), np.int64), np.full(2 * size, -1, np.int64), np.zeros(1, np.int64))

    def __len__(self) -> int:
        return int(self.arrays.count[0])

    @property
    def rows(self) -> Ints:
        """Those that there are."""
        held: Ints = self.arrays.rows[: len(self)]
        return held

    def keep(self, kept: Ints) -> None:
        """Only these; they are numbered anew, in order."""
        self.put(self.arrays.rows[kept])

    def clear(self) -> None:
        """None; there is room for as many as before."""
        self.arrays.table[:] = -1
        self.arrays.count[0] = 0

    def put(self, rows: Ints) -> None:
        """These rows and no others."""
        size = 64
        while size < 2 * len(rows):
            size *= 2
        size = max(size, len(self.arrays.rows))
        held = np.zeros((size, self.arrays.rows.shape[1]), np.int64)
        held[: len(rows)] = rows
        table = np.full(2 * size, -1, np.int64)
        intern_again(held, len(rows), table)
        self.arrays = Groups(held, table, np.array([len(rows)], np.int64))

    def reference(self, column: int) -> Reference:
        """The numbers in a column, which can be others as long as rows stay different."""
        return Reference(self.rows[:, column], partial(self._replace, column))

    def _replace(self, column: int, numbers: Ints) -> None:
        self.rows[:, column] = numbers
        self.arrays.table[:] = -1  # there is as much room as before: others have room for as many
        intern_again(self.arrays.rows, len(self), self.arrays.table)

    def enlarge(self) -> None:
        """Room for twice as many."""
        rows = self.rows
        self.arrays = self.arrays._replace(rows=grown(self.arrays.rows, 2 * len(self.arrays.rows)))
        self.put(rows)


class VectorArena(PlainSlots):
    """All rows, and the hits: rows whose matches end at an event. A match must end in the window that it begins in; the
    windows are `period` long, and one begins at the tick `first`.
    """

    value_type = np.int32

    def __init__(
        self,
        shape: Shape,
        operations: list[list[list[int]]],
        begin_part: list[int],
        period: int = 0,
        first: int = 0,
        rows: int = 1 << 14,
    ):
        self.shape = shape
        self._begun = np.array([NONE, NOT_SHARED if shape.parts else period, first], np.int64)
        self.components = shape.components(rows)
        self.kinds = shape.kinds(NO_RANKS)
        self.given = no_events()
        self.newest, self.group = np.zeros(rows, np.int64), np.zeros(rows, np.int64)
        self.count = np.zeros(1, np.int64)
        self._operations = flat_operations(operations)
        self._begin_part = np.array(begin_part, np.int64)
        self.groups, self.places = Interned(max(shape.parts, 1)), Interned(2)
        self._scratch, self._united = np.zeros(max(shape.parts, 2), np.int64), np.full(1, NONE)
        self.hits = Hits(1 << 14, self.value_type)

    @property
    def arrays(self) -> Vectors:
        """As kernels want them."""
        return Vectors(
            self.components,
            self.kinds,
            self.newest,
            self.group,
            self.count,
            *self._operations,
            self.given,
            self._begin_part,
            self.groups.arrays,
            self.places.arrays,
            self._scratch,
            self._united,
            self._begun,
        )

    @property
    def size(self) -> int:
        """How many rows there are."""
        return int(self.count[0])

    @property
    def grouped(self) -> bool:
        """Whether slots are places."""
        return self.shape.parts > 0

    def look_at(self, stored: Ints) -> None:
        """Where machines store values now."""
        self.given = self.given._replace(stored=stored, stored_real=stored.view(np.float64))

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, slots: Slots, floor: int) -> None:
        """Keep the rows that slots refer to, and are in the window. There must be no hits."""
        drop_expired(slots.arrays, self.arrays, floor)
        held = slots.held
        kept, moved = numbered_anew(slots.value[held])
        slots.value[held] = moved
        for array in (self.components.cells, self.newest, self.group):
            array[: len(kept)] = array[kept]
        self.count[0], self._begun[BEGUN] = len(kept), NONE
        if self.grouped:
            groups, moved_groups = numbered_anew(self.group[: len(kept)])
            self.group[: len(kept)] = moved_groups
            self.groups.keep(groups)
            places, moved_places = numbered_anew(slots.state[held])
            rows_of_places = self.places.arrays.rows[places]
            rows_of_places[:, 1] = np.searchsorted(groups, rows_of_places[:, 1])
            self.places.put(rows_of_places)
            slots.state[held] = moved_places
        if 2 * len(kept) > len(self.newest):
            self.enlarge()

    def sets_held(self, slots: Slots) -> Ints:
        """The sets that slots refer to; there must be no places that none refers to."""
        return self.places.rows[:, 0] if self.grouped else super().sets_held(slots)

    def move_sets(self, slots: Slots, moved: Ints) -> None:
        """Sets have gone elsewhere."""
        if self.grouped:
            rows = self.places.rows.copy()
            rows[:, 0] = moved[rows[:, 0]]
            self.places.put(rows)
        else:
            super().move_sets(slots, moved)

    def places_beside(self, sets: int) -> int:
        """How many places there can be, where there can be so many sets."""
        return len(self.places.arrays.rows) if self.grouped else super().places_beside(sets)

    def relieve(self, read: int) -> bool:
        """Make more room if what there is was taken by few events."""
        cramped = read < FEW_EVENTS and len(self.newest) < MOST_ROWS
        if cramped:
            self.enlarge()
            self.hits.make_room()
        return cramped

    def enlarge(self) -> None:
        """Room for twice as much."""
        rows = 2 * len(self.newest)
        self.components = grown_components(self.components, rows)
        self.newest, self.group = grown(self.newest, rows), grown(self.group, rows)
        if self.grouped:
            self.groups.enlarge()
            self.places.enlarge()

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Ints]:
        """All rows, for a snapshot; there must be no hits."""
        return {
            "rows.cells": self.components.cells[: self.size].reshape(-1),
            "rows.newest": self.newest[: self.size],
            "rows.group": self.group[: self.size],
            "groups": self.groups.rows.reshape(-1),
            "places": self.places.rows.reshape(-1),
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        newest = check.array(sections, "rows.newest", np.int64)
        rows = len(newest)
        self.components = self.shape.components(max(1 << 12, 4 * rows))
        load_rows(sections, "rows.cells", self.components.cells, rows)
        size = len(self.components.cells)
        self.newest, self.group = grown(newest, size), np.zeros(size, np.int64)
        load_rows(sections, "rows.group", self.group, rows)
        self.count[0], self._begun[BEGUN] = rows, NONE
        for name, interned in (("groups", self.groups), ("places", self.places)):
            width = interned.arrays.rows.shape[1]
            numbers = check.array(sections, name, np.int64)
            check.holds(name, len(numbers) % width == 0, "is of another length")
            interned.put(numbers.reshape(-1, width))

    def check(self, slots: Slots, actions: int, stored: int) -> None:
        """Whether all refer to something that is there."""
        check.in_range("slot_value", slots.value[slots.held], 0, self.size)
        if self.grouped:
            check.in_range("rows.group", self.group[: self.size], 0, len(self.groups))
            check.in_range("places", self.places.rows[:, 1], 0, len(self.groups))

    def check_sets(self, slots: Slots, sets: int) -> None:
        """Whether slots refer to so many sets."""
        if self.grouped:
            slots.check(len(self.places))
            check.in_range("places", self.places.rows[:, 0], 0, sets)
        else:
            super().check_sets(slots, sets)


def load_rows(sections: Mapping[str, Any], name: str, target: Ints, rows: int) -> None:
    """The first rows of an array from a snapshot."""
    numbers = check.array(sections, name, target.dtype.type)
    width = int(np.prod(target.shape[1:], dtype=np.int64))
    check.holds(name, len(numbers) == rows * width, "is of another length")
    target[:rows] = numbers.reshape(rows, *target.shape[1:])
