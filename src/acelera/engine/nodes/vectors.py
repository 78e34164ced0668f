"""Counting without listing: partial matches as rows of components, which say all that a summary asks of them.

The value is the number of a row (`components`). Rows are never changed once they are made, so that slots can share
them; when there is no room, those that slots refer to are kept.

Partial matches that belong to different groups must not be added. So a row also has a *group*, a number that stands for
a few others, its parts: where the matches start, or what a key of theirs is. Slots are then places, each a set and a
group.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, implements, inlined
from acelera.engine.nodes.algebras import begin, extend, has_room, meeting_place, newest_start, set_at, union
from acelera.engine.nodes.components import (
    COLUMN,
    COMPONENT,
    FAILURE,
    FLAGS_CELL,
    FLAVOUR,
    FLOATING,
    FLOATING_TURNED,
    KIND,
    PART,
    Components,
    Kinds,
    add,
    copy,
    make_one,
    miss,
    operate,
)
from acelera.engine.storage.interning import intern_row

NONE, NOT_SHARED = -1, -1
BEGUN, PERIOD, FIRST = range(3)
UNKNOWN_PART = -1
"""A part of a group that is not known yet."""
VALUE, FAILED = 1, 3
"""Tags of stored values, as in `registers.opcodes`."""


class Given(NamedTuple):
    """What is known of the events that are read, and of what machines store: values, also seen as floats.

    `whole`, `real` and `missing` have a row for each column; `parts` one for each column that parts of groups take.
    `stored` has a row for each stored value, with a tag before each of its numbers.
    """

    whole: Array
    real: Array
    missing: Array
    parts: Array
    positions: Array
    stored: Array
    stored_real: Array


class Groups(NamedTuple):
    """Rows of numbers by their number, and the table that finds them; `count` holds how many there are."""

    rows: Array
    table: Array
    count: Array


class Vectors(NamedTuple):
    """All rows, and what machines do with them.

    `operations` are those of each mark, from `operations_at` on. `begin_part` is, for each part of a group, the column
    of `Given.parts` that a match takes it from where it begins, or -1. `united` is the last row
    that is a union made for the event that is read, NONE if there is none: it is referred to by nothing else, so that
    more can be added to it. `begun` are the row of matches that have just begun, which others can share that begin in
    the same window, NONE if there is none; how long windows are, 0 if there are none and NOT_SHARED if matches are told
    apart; and the first tick of one.
    """

    components: Components
    kinds: Kinds
    newest: Array
    group: Array
    count: Array
    operations_at: Array
    operations: Array
    given: Given
    begin_part: Array
    groups: Groups
    places: Groups
    scratch: Array
    united: Array
    begun: Array


@implements(begin, Vectors)
def _begin_vector(vectors: Vectors, row: int, tick: int) -> Array:
    begun, period, first = vectors.begun[BEGUN], vectors.begun[PERIOD], vectors.begun[FIRST]
    if begun != NONE and (period == 0 or (vectors.newest[begun] - first) // period == (tick - first) // period):
        return begun
    at = vectors.count[0]
    vectors.count[0] = at + 1
    make_one(vectors.components, at)
    vectors.components.cells[at, FLAGS_CELL] = vectors.kinds.fresh[0]
    vectors.newest[at], vectors.group[at] = tick, 0
    if period != NOT_SHARED:
        vectors.begun[BEGUN] = at
    if len(vectors.begin_part) > 0:
        for p in range(len(vectors.begin_part)):
            column = vectors.begin_part[p]
            vectors.scratch[p] = vectors.given.parts[column, row] if column >= 0 else UNKNOWN_PART
        vectors.group[at] = interned(vectors.groups, vectors.scratch, len(vectors.begin_part))
    return at


@inlined
def interned(groups: Groups, row: Array, size: int) -> Array:
    """The number of a row."""
    number = intern_row(row, size, groups.rows, groups.table, groups.count[0])
    if number == groups.count[0]:
        groups.count[0] += 1
    return number


@implements(extend, Vectors)
def _extend_vector(vectors: Vectors, value: int, mark: int, given: int) -> Array:
    first, last = vectors.operations_at[mark], vectors.operations_at[mark + 1]
    if first == last:
        return value
    at = vectors.count[0]
    vectors.count[0] = at + 1
    copy(vectors.components, at, vectors.components, value)
    vectors.newest[at], vectors.group[at] = vectors.newest[value], vectors.group[value]
    for o in range(first, last):
        apply(vectors, at, vectors.operations[o], given)
    return at


@inlined
def apply(vectors: Vectors, at: int, operation: Array, row: int) -> None:
    """Add to a row what an event has, or what was stored with it."""
    if operation[KIND] != PART:
        act(vectors.kinds, vectors.components, at, operation, vectors.given, row)
        return
    size = len(vectors.begin_part)
    for p in range(size):
        vectors.scratch[p] = vectors.groups.rows[vectors.group[at], p]
    vectors.scratch[operation[COMPONENT]] = vectors.given.parts[operation[COLUMN], row]
    vectors.group[at] = interned(vectors.groups, vectors.scratch, size)


@inlined
def act(kinds: Kinds, components: Components, at: int, operation: Array, given: Given, row: int) -> None:
    """Add to components what an event has, or what was stored with it."""
    column = operation[COLUMN]
    value, number, there = np.int64(0), 0.0, True
    if column >= len(given.whole):  # it was stored
        place = 1 + 2 * (column - len(given.whole))
        tag = given.stored[row, place]
        value, there = given.stored[row, place + 1], tag == VALUE
        floating = operation[FLAVOUR] in (FLOATING, FLOATING_TURNED)
        number = given.stored_real[row, place + 1] if floating else float(value)
        if tag == FAILED:
            components.cells[at, FLAGS_CELL] |= np.int64(1) << FAILURE
            return
    elif column >= 0:
        value, number, there = given.whole[column, row], given.real[column, row], not given.missing[column, row]
    if there:
        position = given.positions[row] if row < len(given.positions) else 0
        operate(kinds, components, at, operation, value, number, position)
    else:
        miss(kinds, components, at, operation)


@implements(union, Vectors)
def _union_of_vectors(vectors: Vectors, left: int, right: int, floor: int, reserved: int) -> Array:
    at = left
    if left != vectors.united[0]:
        at = vectors.count[0]
        vectors.count[0] = at + 1
        copy(vectors.components, at, vectors.components, left)
        vectors.newest[at], vectors.group[at], vectors.united[0] = vectors.newest[left], vectors.group[left], at
    add(vectors.kinds, vectors.components, at, vectors.components, right)
    vectors.newest[at] = max(vectors.newest[at], vectors.newest[right])
    return at


@implements(newest_start, Vectors)
def _newest_of_vector(vectors: Vectors, value: int) -> Array:
    return vectors.newest[value]


@implements(has_room, Vectors)
def _has_room_for_vectors(vectors: Vectors, needed: int) -> bool:
    vectors.united[0] = NONE  # what is made from here on is of another event
    if vectors.count[0] + 2 * needed > len(vectors.newest):
        return False
    if len(vectors.begin_part) == 0:
        return True
    groups, places = vectors.groups, vectors.places
    most = needed * (1 + len(vectors.begin_part))  # each part that becomes known makes a group
    return bool(
        2 * (groups.count[0] + most) <= len(groups.table) and 2 * (places.count[0] + needed) <= len(places.table)
    )


@implements(meeting_place, Vectors)
def _place(vectors: Vectors, target: int, value: int) -> Array:
    if len(vectors.begin_part) == 0:
        return target
    vectors.scratch[0], vectors.scratch[1] = target, vectors.group[value]
    return interned(vectors.places, vectors.scratch, 2)


@implements(set_at, Vectors)
def _set_at(vectors: Vectors, place: int) -> Array:
    return place if len(vectors.begin_part) == 0 else vectors.places.rows[place, 0]
