"""Aggregates in registers: their states stand in the cells of a register, after its tag."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inner
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.arithmetic import HIGHEST, Stack, adds_up, clean, magnitude, multiplies, sign, subtracts


class Cells(NamedTuple):
    """The registers of a configuration: numbers, and the same memory as floats."""

    values: Array
    floats: Array


@inner
def begin_aggregate(aggregate: int, cells: Cells, at: int) -> None:
    """The state of an aggregate of nothing."""
    function, row = aggregate // op.FLAVOURS, cells.values
    for index in range(at + 1, at + 1 + op.WIDTHS[function]):
        row[index] = 0
    row[at] = op.VALUE
    if function in (op.MIN, op.MAX, op.RANGE, op.FIRST, op.LAST):
        row[at] = op.UNSET
    elif function == op.PRODUCT:
        if aggregate % op.FLAVOURS == op.FLOATS:
            cells.floats[at + 1] = 1.0
        else:
            row[at + 1] = 1
    elif function == op.BOOL_AND:
        row[at + 1] = 1


@inner
def fold_value(aggregate: int, cells: Cells, at: int, value: int, number: float, ranks: Array) -> None:
    """One more value for an aggregate, whose state stands in a row after its tag at `at`."""
    row, floats = cells
    function, flavour = aggregate // op.FLAVOURS, aggregate % op.FLAVOURS
    first, empty = at + 1, row[at] == op.UNSET
    real = flavour == op.FLOATS
    if function == op.COUNT:
        row[first] += 1
    elif function == op.SUM or function == op.AVG:
        if real:
            floats[first] = clean(floats[first] + number)
        elif adds_up(row[first], value):
            row[first] += value
        else:
            row[at] = op.FAILED
        if function == op.AVG:
            row[first + 1] += 1
    elif function == op.PRODUCT:
        if real:
            floats[first] = clean(floats[first] * number)
        elif multiplies(row[first], value):
            row[first] *= value
        else:
            row[at] = op.FAILED
    elif function == op.MIN or function == op.MAX:
        if empty:
            row[at], row[first] = op.VALUE, value
        elif real:
            if number != number or floats[first] != floats[first]:
                floats[first] = math.nan
            elif (function == op.MIN) == (number < floats[first]) and number != floats[first]:
                floats[first] = number
        elif flavour == op.STRINGS:
            if (function == op.MIN) == (ranks[value] < ranks[row[first]]) and value != row[first]:
                row[first] = value
        elif (function == op.MIN) == (value < row[first]) and value != row[first]:
            row[first] = value
    elif function == op.RANGE:
        if empty:
            row[at], row[first], row[first + 1] = op.VALUE, value, value
        elif real:
            if number != number or floats[first] != floats[first]:
                floats[first], floats[first + 1] = math.nan, math.nan
            else:
                floats[first], floats[first + 1] = min(floats[first], number), max(floats[first + 1], number)
        else:
            row[first], row[first + 1] = min(row[first], value), max(row[first + 1], value)
    elif function == op.VARIANCE or function == op.STDDEV:
        given = number if real else float(value)
        count = row[first] + 1
        if row[first] == 0:
            floats[first + 1], floats[first + 2] = clean(given), 0.0
        else:
            delta = given - floats[first + 1]
            spread = floats[first + 2] + 0.0 + delta * delta * row[first] * 1 / count
            floats[first + 1] = clean(floats[first + 1] + delta * 1 / count)
            floats[first + 2] = clean(spread)
        row[first] = count
    elif function == op.BOOL_AND:
        row[first] = 1 if row[first] != 0 and value != 0 else 0
    elif function == op.BOOL_OR:
        row[first] = 1 if row[first] != 0 or value != 0 else 0
    else:
        row[at] = op.FAILED


@inner
def fold_by_position(
    aggregate: int, cells: Cells, at: int, value: int, number: float, known: bool, position: int, ranks: Array
) -> None:
    """first and last: by position, and by value among those at one position. The tag NULL is that of a value that is
    NULL, whose position is known.
    """
    row, floats = cells
    function, flavour = aggregate // op.FLAVOURS, aggregate % op.FLAVOURS
    first, given = at + 1, value if known else 0
    earlier, same = position < row[first], False
    if position == row[first]:
        held = row[at] == op.VALUE
        same = known == held and given == row[first + 1]
        if not known or not held:
            earlier = held  # NULL is less than all values
        elif flavour == op.FLOATS:
            earlier = number < floats[first + 1] or (floats[first + 1] != floats[first + 1] and number == number)
        elif flavour == op.STRINGS:
            earlier = ranks[value] < ranks[row[first + 1]]
        else:
            earlier = value < row[first + 1]
    if row[at] == op.UNSET or (not same and (function == op.FIRST) == earlier):
        row[at] = op.VALUE if known else op.NULL
        row[first], row[first + 1] = position, given


@inner
def finish(aggregate: int, cells: Cells, at: int, stack: Stack, top: int, factor: int) -> Array:
    """The value of an aggregate, left at the top of the stack; its tag. Times are in a unit of so many nanoseconds."""
    row, floats = cells
    values, reals = stack.values, stack.reals
    function, flavour = aggregate // op.FLAVOURS, aggregate % op.FLAVOURS
    first, tag, real = at + 1, row[at], flavour == op.FLOATS
    if tag == op.NULL or tag == op.FAILED:
        return tag
    if tag == op.UNSET:
        return op.NULL
    if function == op.AVG:
        if row[first + 1] == 0:
            return op.NULL
        total = floats[first] if real else float(row[first])
        reals[top] = clean(total / row[first + 1])
    elif function == op.RANGE:
        if real:
            reals[top] = clean(floats[first + 1] - floats[first])
        elif subtracts(row[first + 1], row[first]):
            values[top] = row[first + 1] - row[first]
        else:
            return op.FAILED
    elif function == op.VARIANCE or function == op.STDDEV:
        if row[first] < 2:
            return op.NULL
        variance = floats[first + 2] / (row[first] - 1)
        reals[top] = clean(math.sqrt(variance) if function == op.STDDEV else variance)
    elif function == op.FIRST or function == op.LAST:
        values[top] = row[first + 1]
    else:
        values[top] = row[first]
    computed = function == op.SUM or function == op.RANGE
    if flavour == op.TIMES and computed and magnitude(values[top]) > np.uint64(HIGHEST) // np.uint64(factor):
        return op.FAILED  # the definition counts nanoseconds
    return op.VALUE


@inner
def summarize(what: int, cells: Cells, at: int, flavour: int, stack: Stack, top: int, ranks: Array) -> None:
    """One more value for the largest, the smallest or the common one of all; NULL if there is none."""
    row, values = cells.values, stack.values
    highs = len(values) // 2
    if row[at] == op.FAILED or stack.tags[top] == op.FAILED:
        row[at] = op.FAILED
        return
    missing = stack.tags[top] != op.VALUE or (flavour == op.FLOATS and stack.reals[top] != stack.reals[top])
    ends = row[at] == op.NULL or missing
    order = 0
    if not ends and row[at] != op.UNSET:
        values[top + 1] = row[at + 1]
        if flavour == op.WIDE:
            values[highs + top + 1] = row[at + 2]
        order = sign(flavour, stack, top, top + 1, ranks)
    if ends or (what == op.COMMON and order != 0):
        row[at], row[at + 1] = op.NULL, 0
        if flavour == op.WIDE:
            row[at + 2] = 0
    elif row[at] == op.UNSET or (what == op.LARGEST and order > 0) or (what == op.SMALLEST and order < 0):
        row[at], row[at + 1] = op.VALUE, values[top]
        if flavour == op.WIDE:
            row[at + 2] = values[highs + top]
