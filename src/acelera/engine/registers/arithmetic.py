"""Arithmetic and comparisons of the stack machine: on the values at the top of the stack, of which the result takes
the lower place.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inlined, inner
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.wide_times import narrowed, negative, plus, too_large, widened

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


class Stack(NamedTuple):
    """Values as integers and as floats, which share their memory, and tags.

    The second half of `values` holds the high numbers of wide times.
    """

    values: Array
    reals: Array
    tags: Array


@inlined
def adds_up(left: int, right: int) -> bool:
    """Whether a sum fits into 64 bits."""
    return not ((right > 0 and left > HIGHEST - right) or (right < 0 and left < LOWEST - right))


@inlined
def subtracts(left: int, right: int) -> bool:
    """Whether a difference fits into 64 bits."""
    return left < 0 if right == LOWEST else adds_up(left, -right)


@inner
def multiplies(left: int, right: int) -> bool:
    """Whether a product fits into 64 bits. Told without multiplying: the compiler takes it that signed numbers do."""
    if left == 0 or right == 0:
        return True
    limit = np.uint64(HIGHEST)
    if (left < 0) != (right < 0):
        limit += np.uint64(1)
    return bool(magnitude(left) <= limit // magnitude(right))


@inlined
def magnitude(number: int) -> Array:
    """The absolute value, which always fits."""
    return np.uint64(number) if number >= 0 else np.uint64(0) - np.uint64(number)


@inlined
def compared(operator: int, order: int) -> bool:
    """Whether a comparison holds, given the sign of left - right."""
    if operator == op.EQ:
        return order == 0
    if operator == op.NE:
        return order != 0
    if operator == op.LT:
        return order < 0
    if operator == op.LE:
        return order <= 0
    if operator == op.GT:
        return order > 0
    return order >= 0


@inlined
def clean(number: float) -> float:
    """One NaN and left zero."""
    return math.nan if number != number else number + 0.0


@inlined
def sign(flavour: int, stack: Stack, left: int, right: int, ranks: Array) -> int:
    """The sign of the difference of two values on the stack."""
    values, reals = stack.values, stack.reals
    if flavour == op.FLOATS:
        return 0 if reals[left] == reals[right] else (-1 if reals[left] < reals[right] else 1)
    low, other = values[left], values[right]
    highs = len(values) // 2
    if flavour == op.WIDE and values[highs + left] != values[highs + right]:
        low, other = values[highs + left], values[highs + right]
    if low == other:
        return 0
    if flavour == op.STRINGS:
        low, other = ranks[low], ranks[other]
    return -1 if low < other else 1


@inner
def compare(what: int, operator: int, flavour: int, stack: Stack, top: int, ranks: Array) -> None:
    """A comparison; NULL if it has no value, TRUE if that is asked for and one side is not set."""
    values, reals, tags, low = stack.values, stack.reals, stack.tags, top - 1
    left, right = tags[low], tags[top]
    if what == op.COMPARE_IF_SET and (left == op.UNSET or right == op.UNSET):
        values[low], tags[low] = 1, op.VALUE
        return
    unknown = left != op.VALUE or right != op.VALUE
    if not unknown and flavour == op.FLOATS:
        unknown = reals[low] != reals[low] or reals[top] != reals[top]
    if left == op.FAILED or right == op.FAILED:
        tags[low] = op.FAILED
    elif unknown:
        tags[low] = op.NULL
    else:
        values[low] = 1 if compared(operator, sign(flavour, stack, low, top, ranks)) else 0


@inlined
def identical(wide: int, stack: Stack, top: int) -> None:
    """Whether two values are the same, NULL or not."""
    values, tags, low = stack.values, stack.tags, top - 1
    highs = len(values) // 2
    same = tags[low] == tags[top] and (tags[top] != op.VALUE or values[low] == values[top])
    if wide == 1 and tags[top] == op.VALUE and values[highs + low] != values[highs + top]:
        same = False
    values[low], tags[low] = (1 if same else 0), op.VALUE


@inlined
def connect(deciding: int, stack: Stack, top: int) -> None:
    """AND, which FALSE decides, or OR, which TRUE does."""
    values, tags, low = stack.values, stack.tags, top - 1
    left, right = tags[low], tags[top]
    if left == op.FAILED or right == op.FAILED:
        tags[low] = op.FAILED
    elif (left == op.VALUE and values[low] == deciding) or (right == op.VALUE and values[top] == deciding):
        values[low], tags[low] = deciding, op.VALUE
    elif left == op.NULL or right == op.NULL:
        tags[low] = op.NULL


@inlined
def coalesce(stack: Stack, top: int) -> None:
    """The lower value, or the upper one if that is NULL."""
    values, tags, low = stack.values, stack.tags, top - 1
    highs = len(values) // 2
    if tags[low] == op.NULL:
        values[low], tags[low] = values[top], tags[top]
        values[highs + low] = values[highs + top]
    elif tags[top] == op.FAILED:
        tags[low] = op.FAILED


@inner
def convert(what: int, a: int, b: int, stack: Stack, last: int) -> None:
    """An operation on the last value of the stack, or on one below it."""
    values, reals, tags = stack.values, stack.reals, stack.tags
    highs = len(values) // 2
    if what == op.NOT:
        values[last] = 1 if values[last] == 0 else 0
    elif what == op.IS_NULL:
        if tags[last] != op.FAILED:
            values[last] = 1 if (tags[last] == op.NULL) != (a == 1) else 0
            tags[last] = op.VALUE
    elif what == op.FLOAT_BELOW:
        if tags[last - 1] == op.VALUE:
            reals[last - 1] = float(values[last - 1])
    elif what == op.WIDEN:
        place = last - b
        if tags[place] == op.VALUE:
            values[highs + place], values[place] = widened(values[place], a)
    elif tags[last] != op.VALUE:
        return
    elif what == op.TO_FLOAT:
        reals[last] = float(values[last])
    elif what == op.NARROW:
        fits, values[last] = narrowed(values[highs + last], values[last], a)
        if not fits:
            tags[last] = op.FAILED
    elif what == op.SQUARE_ROOT:
        if reals[last] >= 0:
            reals[last] = math.sqrt(reals[last])
        else:  # also NaN
            tags[last] = op.NULL
    else:
        negate(what == op.ABSOLUTE, a, stack, last)


@inlined
def negate(only_negative: bool, flavour: int, stack: Stack, last: int) -> None:
    """The last value with the other sign; the absolute value if only those below zero are to change."""
    values, reals, tags = stack.values, stack.reals, stack.tags
    highs = len(values) // 2
    if flavour == op.FLOATS:
        if not only_negative or reals[last] < 0:
            reals[last] = clean(-reals[last])
    elif flavour == op.WIDE:
        if not only_negative or values[highs + last] < 0:
            values[highs + last], values[last] = negative(values[highs + last], values[last])
    elif not only_negative or values[last] < 0:
        if values[last] == LOWEST:
            tags[last] = op.NULL
        else:
            values[last] = -values[last]


@inner
def arithmetic(what: int, flavour: int, stack: Stack, top: int) -> None:
    """An operation on the two values at the top of the stack."""
    values, reals, tags, low = stack.values, stack.reals, stack.tags, top - 1
    if tags[low] == op.FAILED or tags[top] == op.FAILED:
        tags[low] = op.FAILED
    elif tags[low] != op.VALUE or tags[top] != op.VALUE:
        tags[low] = op.NULL
    elif what == op.DIVIDE:
        if reals[top] == 0:
            tags[low] = op.NULL
        else:
            reals[low] = clean(reals[low] / reals[top])
    elif flavour == op.FLOATS:
        of_floats(what, stack, top)
    elif flavour == op.WIDE:
        highs = len(values) // 2
        high, small = values[highs + top], values[top]
        if what == op.SUBTRACT:
            high, small = negative(high, small)
        high, small = plus(values[highs + low], values[low], high, small)
        values[highs + low], values[low] = high, small
        if too_large(high, small):
            tags[low] = op.NULL
    else:
        of_integers(what, stack, top)


@inner
def of_floats(what: int, stack: Stack, top: int) -> None:
    """Arithmetic with two floats."""
    reals, low = stack.reals, top - 1
    if what == op.ADD:
        reals[low] = clean(reals[low] + reals[top])
    elif what == op.SUBTRACT:
        reals[low] = clean(reals[low] - reals[top])
    elif what == op.MULTIPLY:
        reals[low] = clean(reals[low] * reals[top])
    elif reals[top] == 0 or not math.isfinite(reals[low]):
        stack.tags[low] = op.NULL
    else:
        reals[low] = clean(np.fmod(reals[low], reals[top]))


@inner
def of_integers(what: int, stack: Stack, top: int) -> None:
    """Arithmetic with two integers; NULL if the result does not fit."""
    values, low = stack.values, top - 1
    left, right = values[low], values[top]
    if what == op.REMAINDER and right != 0:
        rest = 0
        if right != -1:
            rest = left % right
            if rest != 0 and (rest < 0) != (left < 0):
                rest -= right
        values[low] = rest
    elif what == op.MULTIPLY and multiplies(left, right):
        values[low] = left * right
    elif what == op.ADD and adds_up(left, right):
        values[low] = left + right
    elif what == op.SUBTRACT and subtracts(left, right):
        values[low] = left - right
    else:
        stack.tags[low] = op.NULL
