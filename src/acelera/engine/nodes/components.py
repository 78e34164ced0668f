"""What is known of a set of matches without listing them: rows of numbers that are added, compared and multiplied.

A row stands for a set of matches, or of parts of matches. Its components are of these sorts:

- `whole`: sums of integers, the first the number of matches. They are kept modulo 2⁶⁴, and `near` beside them as
  floats: together they tell the exact sum as long as none of its parts has left 2⁸⁰, and otherwise that it has.
- `real`: sums of floats, the first the number of matches again. All of a row are to be multiplied by 2⁵¹² as often as
  `exponent` says, so that no number of matches is too large.
- `mean`: of values that spread; their number and the sum of their squared distances stand in `real`.
- `best`: the smallest of some numbers, in an order that `best_kind` tells, with what `load` carries for it.
- `flags`: for each best number whether there is one, and for each total whether a NULL was met.

Two rows are *added* if they stand for different matches, and *multiplied* if every part of the one goes on with every
part of the other. An *operation* says what an event adds to all matches of a row that mark it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inlined

LARGEST = 2.0**80
"""Beyond it, it is no longer certain what a sum modulo 2⁶⁴ stands for."""
SCALE = 512
STEP_UP, STEP_DOWN = 2.0**SCALE, 2.0**-SCALE

# The orders of `best`: as numbers; texts by rank, the first or the last of them; by place, with what stands there.
NUMBER, FIRST_TEXT, LAST_TEXT, PLACE = range(4)

# What an event adds.
COUNT, SUM, REAL_COUNT, REAL_SUM, SPREAD, BEST, TEXT, AT_PLACE, PART = range(9)
KIND, COMPONENT, COLUMN, NULL_FLAG, FLAG, FLAVOUR, SECOND, OPERATION = range(8)
"""The parts of an operation: what it does, to which component, with which column, which flag a NULL raises (-1 if it is
passed over), which flag says that there is a value, whether the column holds floats and whether its order is turned
round, and a further component or column.
"""

PLAIN, FLOATING, TURNED, FLOATING_TURNED = range(4)


class Components(NamedTuple):
    """The rows: each array has as many."""

    whole: Array
    near: Array
    real: Array
    exponent: Array
    mean: Array
    best: Array
    load: Array
    flags: Array


class Kinds(NamedTuple):
    """Of each best number its order and its flag, where the numbers of values that spread stand in `real`, and the
    ranks of texts.
    """

    best_kind: Array
    best_flag: Array
    spread_at: Array
    ranks: Array


@inlined
def bounded(number: float) -> float:
    """The number, or NaN if it is too large."""
    return number if abs(number) < LARGEST else math.nan


@inlined
def order_key(value: float) -> Array:
    """A number in the order of floats; NaN comes before all."""
    if value != value:
        return np.int64(-9223372036854775808)
    bits = np.int64(np.float64(value + 0.0).view(np.int64))
    return bits ^ np.int64((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@inlined
def clear(c: Components, at: int) -> None:
    """Make a row stand for no match."""
    for i in range(c.whole.shape[1]):
        c.whole[at, i], c.near[at, i] = 0, 0.0
    for i in range(c.real.shape[1]):
        c.real[at, i] = 0.0
    for i in range(c.mean.shape[1]):
        c.mean[at, i] = 0.0
    for i in range(c.best.shape[1]):
        c.best[at, i], c.load[at, i] = 0, 0
    c.exponent[at], c.flags[at] = 0, 0


@inlined
def make_one(c: Components, at: int) -> None:
    """Make a row stand for one match that has marked nothing."""
    clear(c, at)
    c.whole[at, 0], c.near[at, 0] = 1, 1.0
    if c.real.shape[1] > 0:
        c.real[at, 0] = 1.0


@inlined
def is_nothing(c: Components, at: int) -> bool:
    """Whether a row stands for no match."""
    return bool(c.near[at, 0] == 0.0)


@inlined
def copy(c: Components, at: int, other: Components, source: int) -> None:
    """Make a row what another is."""
    for i in range(c.whole.shape[1]):
        c.whole[at, i], c.near[at, i] = other.whole[source, i], other.near[source, i]
    for i in range(c.real.shape[1]):
        c.real[at, i] = other.real[source, i]
    for i in range(c.mean.shape[1]):
        c.mean[at, i] = other.mean[source, i]
    for i in range(c.best.shape[1]):
        c.best[at, i], c.load[at, i] = other.best[source, i], other.load[source, i]
    c.exponent[at], c.flags[at] = other.exponent[source], other.flags[source]


@inlined
def add(kinds: Kinds, c: Components, at: int, other: Components, source: int) -> None:
    """Add another row to a row."""
    for i in range(c.whole.shape[1]):
        c.whole[at, i] += other.whole[source, i]
        c.near[at, i] = bounded(c.near[at, i] + other.near[source, i])
    if c.real.shape[1] > 0:
        add_real(kinds, c, at, other, source)
    if c.best.shape[1] > 0:
        for i in range(c.best.shape[1]):
            if other.flags[source] >> kinds.best_flag[i] & 1:
                improve(kinds, c, at, i, other.best[source, i], other.load[source, i])
    c.flags[at] |= other.flags[source]


@inlined
def add_real(kinds: Kinds, c: Components, at: int, other: Components, source: int) -> None:
    """Add the sums of floats, in the larger of the two scales."""
    mine, theirs = 1.0, 1.0
    if c.exponent[at] < other.exponent[source]:
        mine = STEP_DOWN if c.exponent[at] + 1 == other.exponent[source] else 0.0
        c.exponent[at] = other.exponent[source]
    elif c.exponent[at] > other.exponent[source]:
        theirs = STEP_DOWN if c.exponent[at] == other.exponent[source] + 1 else 0.0
    for i in range(len(kinds.spread_at)):
        n = kinds.spread_at[i]
        merge_spread(
            c, at, n, i, mine, other.real[source, n] * theirs, other.mean[source, i], other.real[source, n + 1] * theirs
        )
    last = c.real.shape[1] - 2 * len(kinds.spread_at)
    for i in range(last):
        c.real[at, i] = c.real[at, i] * mine + other.real[source, i] * theirs
    if c.real[at, 0] > STEP_UP:
        rescale(c, at)


@inlined
def rescale(c: Components, at: int) -> None:
    """Count in a larger unit."""
    for i in range(c.real.shape[1]):
        c.real[at, i] *= STEP_DOWN
    c.exponent[at] += 1


@inlined
def merge_spread(
    c: Components, at: int, n: int, i: int, mine: float, number: float, mean: float, squares: float
) -> None:
    """Values that spread, and so many others, the stable way (Chan et al.)."""
    before = c.real[at, n] * mine
    total = before + number
    if number == 0.0 or total == 0.0:
        c.real[at, n], c.real[at, n + 1] = before, c.real[at, n + 1] * mine
        return
    delta = mean - c.mean[at, i]
    share = number / total
    c.real[at, n + 1] = c.real[at, n + 1] * mine + squares + delta * delta * before * share
    c.mean[at, i] = mean if before == 0.0 else c.mean[at, i] + delta * share
    c.real[at, n] = total


@inlined
def improve(kinds: Kinds, c: Components, at: int, i: int, number: int, load: int) -> None:
    """Take a number if it is better than the best one."""
    flag = np.int64(1) << kinds.best_flag[i]
    if not c.flags[at] & flag:
        c.flags[at] |= flag
        c.best[at, i], c.load[at, i] = number, load
        return
    kind, best = kinds.best_kind[i], c.best[at, i]
    if kind == FIRST_TEXT:
        better = kinds.ranks[number] < kinds.ranks[best]
    elif kind == LAST_TEXT:
        better = kinds.ranks[number] > kinds.ranks[best]
    elif kind == PLACE:
        better = number < best or (number == best and load < c.load[at, i])
    else:
        better = number < best
    if better:
        c.best[at, i], c.load[at, i] = number, load


@inlined
def multiply(kinds: Kinds, c: Components, at: int, left: Components, a: int, right: Components, b: int) -> None:
    """Make a row the product of two others, neither of which it may be."""
    whole, near = left.whole[a, 0], left.near[a, 0]
    others, others_near = right.whole[b, 0], right.near[b, 0]
    c.whole[at, 0], c.near[at, 0] = whole * others, bounded(near * others_near)
    for i in range(1, c.whole.shape[1]):
        c.whole[at, i] = left.whole[a, i] * others + whole * right.whole[b, i]
        c.near[at, i] = bounded(
            times(left.near[a, i], left.whole[a, i], others_near) + times(right.near[b, i], right.whole[b, i], near)
        )
    if c.real.shape[1] > 0:
        multiply_real(kinds, c, at, left, a, right, b)
    c.flags[at] = left.flags[a]
    for i in range(c.best.shape[1]):
        c.best[at, i], c.load[at, i] = left.best[a, i], left.load[a, i]
        if right.flags[b] >> kinds.best_flag[i] & 1:
            improve(kinds, c, at, i, right.best[b, i], right.load[b, i])
    c.flags[at] |= right.flags[b]


@inlined
def times(near: float, whole: int, number: float) -> float:
    """A sum as often as a number says; nothing stays nothing, however large that is."""
    return 0.0 if near == 0.0 and whole == 0 else near * number


@inlined
def multiply_real(kinds: Kinds, c: Components, at: int, left: Components, a: int, right: Components, b: int) -> None:
    """The sums of floats of a product."""
    count, others = left.real[a, 0], right.real[b, 0]
    c.exponent[at] = left.exponent[a] + right.exponent[b]
    c.real[at, 0] = count * others
    last = c.real.shape[1] - 2 * len(kinds.spread_at)
    for i in range(1, last):
        c.real[at, i] = left.real[a, i] * others + count * right.real[b, i]
    for i in range(len(kinds.spread_at)):
        n = kinds.spread_at[i]
        c.real[at, n], c.mean[at, i] = left.real[a, n] * others, left.mean[a, i]
        c.real[at, n + 1] = left.real[a, n + 1] * others
        merge_spread(c, at, n, i, 1.0, right.real[b, n] * count, right.mean[b, i], right.real[b, n + 1] * count)
    if c.real[at, 0] > STEP_UP:
        rescale(c, at)


# --- what an event adds -------------------------------------------------------------------------------------------


@inlined
def operate(kinds: Kinds, c: Components, at: int, operation: Array, value: Array, number: float, load: int) -> None:
    """Add what an event has to all matches of a row: a value, as an integer and as a float, and where it stands."""
    kind, i = operation[KIND], operation[COMPONENT]
    if kind == COUNT:
        c.whole[at, i] += c.whole[at, 0]
        c.near[at, i] = bounded(c.near[at, i] + c.near[at, 0])
    elif kind == SUM:
        if value != 0:
            c.whole[at, i] += c.whole[at, 0] * value
            c.near[at, i] = bounded(c.near[at, i] + c.near[at, 0] * float(value))
    elif kind == REAL_COUNT:
        c.real[at, i] += c.real[at, 0]
    elif kind == REAL_SUM:
        c.real[at, i] += c.real[at, 0] * number
    elif kind == SPREAD:
        merge_spread(c, at, i, operation[SECOND], 1.0, c.real[at, 0], number, 0.0)
    elif kind == BEST:
        improve(kinds, c, at, i, in_order(operation[FLAVOUR], value, number), 0)
    elif kind == TEXT:
        improve(kinds, c, at, i, value, 0)
    elif kind == AT_PLACE:
        place = ~load if operation[SECOND] else load
        improve(kinds, c, at, i, place, in_order(operation[FLAVOUR], value, number))


@inlined
def in_order(flavour: int, value: int, number: float) -> Array:
    """A value as a number whose order is that of values, or the opposite; NaN always comes first."""
    if flavour in (FLOATING, FLOATING_TURNED):
        key = order_key(number)
        return ~key if flavour == FLOATING_TURNED and number == number else key
    return ~value if flavour == TURNED else value
