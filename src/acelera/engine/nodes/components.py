"""What is known of a set of matches without listing them: rows of numbers that are added, compared and multiplied.

A row stands for a set of matches, or of parts of matches. Its components are of these sorts:

- `whole`: sums of integers, the first the number of matches. They are kept modulo 2⁶⁴, and `near` beside them as
  floats: together they tell the exact sum as long as none of its parts has left 2⁸⁰, and otherwise that it has.
- `real`: sums of floats, the first the number of matches again. All of a row are to be multiplied by 2⁵¹² as often as
  `exponent` says, so that no number of matches is too large.
- `mean`: of values that spread; their number and the sum of their squared distances stand in `real`.
- `best`: the smallest of some numbers, in an order that `best_kind` tells, with what `load` carries for it.
- `flags`: for each best number whether there is one, and for each total whether a NULL was met.

A row is a few cells side by side, so that it is copied at once; `Columns` are the same by sort, for who looks at many.

Two rows are *added* if they stand for different matches, and *multiplied* if every part of the one goes on with every
part of the other. An *operation* says what an event adds to all matches of a row that mark it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inlined, inner

LARGEST = 2.0**80
"""Beyond it, it is no longer certain what a sum modulo 2⁶⁴ stands for."""
SCALE = 512
STEP_UP, STEP_DOWN = 2.0**SCALE, 2.0**-SCALE

# The orders of `best`: as numbers; texts by rank, the first or the last of them; by place, with what stands there.
NUMBER, FIRST_TEXT, LAST_TEXT, PLACE = range(4)

# What an event adds.
COUNT, SUM, REAL_COUNT, REAL_SUM, SPREAD, BEST, TEXT, AT_PLACE, PART = range(9)
FOLD_SUM, FOLD_COUNT, FOLD_LEAST, FOLD_MOST, FOLD_END, FOLD_END_OR_ZERO, FOLD_NAN = range(9, 16)
"""What is done to what is carried along for a fold (`summaries.inner_folds`): values are folded, or it is closed."""
KEPT, FORGOTTEN = -1, -2
"""In the place of the flag that a NULL raises: it is passed over, or what is carried is forgotten for it."""
KIND, COMPONENT, COLUMN, NULL_FLAG, FLAG, FLAVOUR, SECOND, OPERATION = range(8)
"""The parts of an operation: what it does, to which component, with which column, which flag a NULL raises (-1 if it is
passed over), which flag says that there is a value, whether the column holds floats and whether its order is turned
round, and a further component or column.
"""

PLAIN, FLOATING, TURNED, FLOATING_TURNED = range(4)
NAN_KEY = np.int64(-9223372036854775808)
"""NaN, in the order of floats."""
FAILURE = 62
"""The flag of matches with an aggregate that failed."""


class Components(NamedTuple):
    """The rows, each a few cells that stand side by side; `reals` are the same cells seen as floats."""

    cells: Array
    reals: Array


COUNT_CELL, NEAR_CELL, REAL_CELL, EXPONENT_CELL, FLAGS_CELL, HEAD = range(6)
"""The first cells of each row: the number of matches, modulo and about and as a float, the exponent, the flags."""

WHOLE, NEAR, REAL, MEAN, BEST_AT, LOAD, WHOLES, REALS = range(8)
"""Where in a row the other components stand: the cell of number 0 of each sort, which for sums is where the one would
be that stands in the head; and how many sums there are, with that one.
"""


class Kinds(NamedTuple):
    """Where components stand; of each best number its order and its flag, where the numbers of values that spread stand
    in `real`, the ranks of texts, and the flags of a match that has marked nothing.
    """

    at: Array
    best_kind: Array
    best_flag: Array
    spread_at: Array
    ranks: Array
    fresh: Array


@inlined
def bounded(number: float) -> float:
    """The number, or NaN if it is too large."""
    return number if abs(number) < LARGEST else math.nan


@inlined
def order_key(value: float) -> Array:
    """A number in the order of floats; NaN comes before all."""
    if value != value:
        return NAN_KEY
    bits = np.int64(np.float64(value + 0.0).view(np.int64))
    return bits ^ np.int64((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@inlined
def clear(c: Components, at: int) -> None:
    """Make a row stand for no match."""
    for i in range(c.cells.shape[1]):
        c.cells[at, i] = 0


@inlined
def make_one(c: Components, at: int) -> None:
    """Make a row stand for one match that has marked nothing."""
    clear(c, at)
    c.cells[at, COUNT_CELL] = 1
    c.reals[at, NEAR_CELL] = c.reals[at, REAL_CELL] = 1.0


@inlined
def is_nothing(c: Components, at: int) -> bool:
    """Whether a row stands for no match."""
    return bool(c.cells[at, NEAR_CELL] == 0)


@inlined
def copy(c: Components, at: int, other: Components, source: int) -> None:
    """Make a row what another is."""
    for i in range(c.cells.shape[1]):
        c.cells[at, i] = other.cells[source, i]


@inlined
def add(kinds: Kinds, c: Components, at: int, other: Components, source: int) -> None:
    """Add another row to a row."""
    c.cells[at, COUNT_CELL] += other.cells[source, COUNT_CELL]
    c.reals[at, NEAR_CELL] = bounded(c.reals[at, NEAR_CELL] + other.reals[source, NEAR_CELL])
    for i in range(1, kinds.at[WHOLES]):
        whole, near = kinds.at[WHOLE] + i, kinds.at[NEAR] + i
        c.cells[at, whole] += other.cells[source, whole]
        c.reals[at, near] = bounded(c.reals[at, near] + other.reals[source, near])
    add_real(kinds, c, at, other, source)
    for i in range(len(kinds.best_kind)):
        if other.cells[source, FLAGS_CELL] >> kinds.best_flag[i] & 1:
            best, load = other.cells[source, kinds.at[BEST_AT] + i], other.cells[source, kinds.at[LOAD] + i]
            improve(kinds, c, at, i, best, load)
    c.cells[at, FLAGS_CELL] |= other.cells[source, FLAGS_CELL]


@inlined
def add_real(kinds: Kinds, c: Components, at: int, other: Components, source: int) -> None:
    """Add the sums of floats, in the larger of the two scales."""
    mine, theirs = 1.0, 1.0
    if c.cells[at, EXPONENT_CELL] != other.cells[source, EXPONENT_CELL]:
        apart = other.cells[source, EXPONENT_CELL] - c.cells[at, EXPONENT_CELL]
        if apart > 0:
            mine = STEP_DOWN if apart == 1 else 0.0
            c.cells[at, EXPONENT_CELL] = other.cells[source, EXPONENT_CELL]
        else:
            theirs = STEP_DOWN if apart == -1 else 0.0
    for i in range(len(kinds.spread_at)):
        n = kinds.at[REAL] + kinds.spread_at[i]
        number, squares = other.reals[source, n] * theirs, other.reals[source, n + 1] * theirs
        merge_spread(c, at, n, kinds.at[MEAN] + i, mine, number, other.reals[source, kinds.at[MEAN] + i], squares)
    c.reals[at, REAL_CELL] = c.reals[at, REAL_CELL] * mine + other.reals[source, REAL_CELL] * theirs
    for i in range(1, kinds.at[REALS] - 2 * len(kinds.spread_at)):
        real = kinds.at[REAL] + i
        c.reals[at, real] = c.reals[at, real] * mine + other.reals[source, real] * theirs
    if c.reals[at, REAL_CELL] > STEP_UP:
        rescale(kinds, c, at)


@inlined
def rescale(kinds: Kinds, c: Components, at: int) -> None:
    """Count in a larger unit."""
    c.reals[at, REAL_CELL] *= STEP_DOWN
    for i in range(1, kinds.at[REALS]):
        c.reals[at, kinds.at[REAL] + i] *= STEP_DOWN
    c.cells[at, EXPONENT_CELL] += 1


@inlined
def merge_spread(
    c: Components, at: int, n: int, m: int, mine: float, number: float, mean: float, squares: float
) -> None:
    """Values that spread, and so many others, the stable way (Chan et al.): cells of their number and of their mean."""
    before = c.reals[at, n] * mine
    total = before + number
    if number == 0.0 or total == 0.0:
        c.reals[at, n], c.reals[at, n + 1] = before, c.reals[at, n + 1] * mine
        return
    delta = mean - c.reals[at, m]
    share = number / total
    c.reals[at, n + 1] = c.reals[at, n + 1] * mine + squares + delta * delta * before * share
    c.reals[at, m] = mean if before == 0.0 else c.reals[at, m] + delta * share
    c.reals[at, n] = total


@inlined
def improve(kinds: Kinds, c: Components, at: int, i: int, number: int, load: int) -> None:
    """Take a number if it is better than the best one."""
    flag, place, beside = np.int64(1) << kinds.best_flag[i], kinds.at[BEST_AT] + i, kinds.at[LOAD] + i
    best = c.cells[at, place]
    if not c.cells[at, FLAGS_CELL] & flag:
        c.cells[at, FLAGS_CELL] |= flag
        better = True
    elif kinds.best_kind[i] == FIRST_TEXT:
        better = kinds.ranks[number] < kinds.ranks[best]
    elif kinds.best_kind[i] == LAST_TEXT:
        better = kinds.ranks[number] > kinds.ranks[best]
    elif kinds.best_kind[i] == PLACE:
        better = number < best or (number == best and load < c.cells[at, beside])
    else:
        better = number < best
    if better:
        c.cells[at, place], c.cells[at, beside] = number, load


@inlined
def multiply(kinds: Kinds, c: Components, at: int, left: Components, a: int, right: Components, b: int) -> None:
    """Make a row the product of two others, neither of which it may be."""
    count, near = left.cells[a, COUNT_CELL], left.reals[a, NEAR_CELL]
    others, others_near = right.cells[b, COUNT_CELL], right.reals[b, NEAR_CELL]
    c.cells[at, COUNT_CELL], c.reals[at, NEAR_CELL] = count * others, bounded(near * others_near)
    for i in range(1, kinds.at[WHOLES]):
        whole, about = kinds.at[WHOLE] + i, kinds.at[NEAR] + i
        c.cells[at, whole] = left.cells[a, whole] * others + count * right.cells[b, whole]
        mine = times(left.reals[a, about], left.cells[a, whole], others_near)
        c.reals[at, about] = bounded(mine + times(right.reals[b, about], right.cells[b, whole], near))
    multiply_real(kinds, c, at, left, a, right, b)
    c.cells[at, FLAGS_CELL] = left.cells[a, FLAGS_CELL]
    for i in range(len(kinds.best_kind)):
        best, load = kinds.at[BEST_AT] + i, kinds.at[LOAD] + i
        c.cells[at, best], c.cells[at, load] = left.cells[a, best], left.cells[a, load]
        if right.cells[b, FLAGS_CELL] >> kinds.best_flag[i] & 1:
            improve(kinds, c, at, i, right.cells[b, best], right.cells[b, load])
    c.cells[at, FLAGS_CELL] |= right.cells[b, FLAGS_CELL]


@inlined
def times(near: float, whole: int, number: float) -> float:
    """A sum as often as a number says; nothing stays nothing, however large that is."""
    return 0.0 if near == 0.0 and whole == 0 else near * number


@inlined
def multiply_real(kinds: Kinds, c: Components, at: int, left: Components, a: int, right: Components, b: int) -> None:
    """The sums of floats of a product."""
    count, others = left.reals[a, REAL_CELL], right.reals[b, REAL_CELL]
    c.cells[at, EXPONENT_CELL] = left.cells[a, EXPONENT_CELL] + right.cells[b, EXPONENT_CELL]
    c.reals[at, REAL_CELL] = count * others
    for i in range(1, kinds.at[REALS] - 2 * len(kinds.spread_at)):
        real = kinds.at[REAL] + i
        c.reals[at, real] = left.reals[a, real] * others + count * right.reals[b, real]
    for i in range(len(kinds.spread_at)):
        n, m = kinds.at[REAL] + kinds.spread_at[i], kinds.at[MEAN] + i
        c.reals[at, n], c.reals[at, m] = left.reals[a, n] * others, left.reals[a, m]
        c.reals[at, n + 1] = left.reals[a, n + 1] * others
        number, squares = right.reals[b, n] * count, right.reals[b, n + 1] * count
        merge_spread(c, at, n, m, 1.0, number, right.reals[b, m], squares)
    if c.reals[at, REAL_CELL] > STEP_UP:
        rescale(kinds, c, at)


# --- what an event adds -------------------------------------------------------------------------------------------


@inlined
def operate(kinds: Kinds, c: Components, at: int, operation: Array, value: Array, number: float, place: int) -> None:
    """Add what an event has to all matches of a row: a value, as an integer and as a float, and where it stands."""
    kind, i = operation[KIND], operation[COMPONENT]
    if kind == COUNT:
        c.cells[at, kinds.at[WHOLE] + i] += c.cells[at, COUNT_CELL]
        near = kinds.at[NEAR] + i
        c.reals[at, near] = bounded(c.reals[at, near] + c.reals[at, NEAR_CELL])
    elif kind == SUM:
        if value != 0:
            near = kinds.at[NEAR] + i
            c.cells[at, kinds.at[WHOLE] + i] += c.cells[at, COUNT_CELL] * value
            c.reals[at, near] = bounded(c.reals[at, near] + c.reals[at, NEAR_CELL] * float(value))
    elif kind == REAL_COUNT:
        c.reals[at, kinds.at[REAL] + i] += c.reals[at, REAL_CELL]
    elif kind == REAL_SUM:
        c.reals[at, kinds.at[REAL] + i] += c.reals[at, REAL_CELL] * number
    elif kind == SPREAD:
        mean = kinds.at[MEAN] + operation[SECOND]
        merge_spread(c, at, kinds.at[REAL] + i, mean, 1.0, c.reals[at, REAL_CELL], number, 0.0)
    elif kind >= FOLD_SUM:
        fold(kinds, c, at, operation, value, number)
    else:
        key = value if kind == TEXT else in_order(operation[FLAVOUR], value, number)
        if kind == AT_PLACE:
            improve(kinds, c, at, i, ~place if operation[SECOND] else place, key)
        else:
            improve(kinds, c, at, i, key, 0)


@inner
def fold(kinds: Kinds, c: Components, at: int, operation: Array, value: Array, number: float) -> None:
    """Fold a value into what is carried along, or close that."""
    kind, flavour, nothing_yet = operation[KIND], operation[FLAVOUR], np.int64(1) << operation[FLAG]
    place = kinds.at[BEST_AT] + operation[COMPONENT]
    there = np.int64(1) << kinds.best_flag[operation[COMPONENT]]
    flags, carried = c.cells[at, FLAGS_CELL], c.cells[at, place]
    if kind >= FOLD_END:
        c.cells[at, FLAGS_CELL] = (flags & ~there) | nothing_yet
        if flags & there and (kind != FOLD_NAN or carried == NAN_KEY):
            improve(kinds, c, at, operation[SECOND], carried, 0)
        if flags & nothing_yet and kind == FOLD_END_OR_ZERO:
            improve(kinds, c, at, operation[SECOND], in_order(flavour, np.int64(0), 0.0), 0)
        if flags & nothing_yet and kind == FOLD_END and operation[NULL_FLAG] >= 0:
            c.cells[at, FLAGS_CELL] |= np.int64(1) << operation[NULL_FLAG]
        return
    given = np.int64(1) if kind == FOLD_COUNT else value
    key = in_order(flavour, given, number)
    if flags & there:
        before = out_of_order(flavour, carried)
        if flavour in (FLOATING, FLOATING_TURNED):
            found = in_order(flavour, np.int64(0), folded_float(kind, float_of(carried, flavour), number))
        else:
            found = in_order(flavour, folded_whole(kind, before, given), 0.0)
            if kind in (FOLD_SUM, FOLD_COUNT) and abs(float(before) + float(given)) >= 2.0**63:
                c.cells[at, FLAGS_CELL] |= np.int64(1) << FAILURE
        key = min(key, found) if flags & nothing_yet else found
    if flags & (there | nothing_yet):
        c.cells[at, place] = key
        c.cells[at, FLAGS_CELL] = (c.cells[at, FLAGS_CELL] | there) & ~nothing_yet


@inlined
def folded_whole(kind: int, before: Array, value: Array) -> Array:
    """What a fold of integers is with a further one."""
    if kind == FOLD_LEAST:
        return min(before, value)
    return max(before, value) if kind == FOLD_MOST else before + value


@inlined
def folded_float(kind: int, before: float, value: float) -> float:
    """What a fold of floats is with a further one; NaN spreads."""
    if kind == FOLD_SUM or before != before or value != value:
        return before + value
    return min(before, value) if kind == FOLD_LEAST else max(before, value)


@inlined
def miss(kinds: Kinds, c: Components, at: int, operation: Array) -> None:
    """Add that an event has NULL to all matches of a row."""
    if operation[NULL_FLAG] >= 0:
        c.cells[at, FLAGS_CELL] |= np.int64(1) << operation[NULL_FLAG]
    if operation[KIND] >= FOLD_SUM and operation[NULL_FLAG] != KEPT:
        there = np.int64(1) << kinds.best_flag[operation[COMPONENT]]
        c.cells[at, FLAGS_CELL] &= ~(there | np.int64(1) << operation[FLAG])


@inlined
def float_of(key: int, flavour: int) -> float:
    """The float that a number in order stands for."""
    if key == NAN_KEY:
        return math.nan
    key = ~key if flavour == FLOATING_TURNED else key
    bits = np.int64(key ^ np.int64((key >> 63) & 0x7FFFFFFFFFFFFFFF))
    return float(bits.view(np.float64))


@inlined
def out_of_order(flavour: int, key: int) -> Array:
    """The integer that a number in order stands for."""
    return ~key if flavour == TURNED else key


@inlined
def in_order(flavour: int, value: Array, number: float) -> Array:
    """A value as a number whose order is that of values, or the opposite; NaN always comes first."""
    if flavour in (FLOATING, FLOATING_TURNED):
        key = order_key(number)
        return ~key if flavour == FLOATING_TURNED and number == number else key
    return ~value if flavour == TURNED else value


class Columns(NamedTuple):
    """Components by sort: an array for each, with a row for each of theirs."""

    whole: Array
    near: Array
    real: Array
    exponent: Array
    mean: Array
    best: Array
    load: Array
    flags: Array
