"""The small stack machine that computes registers and conditions; `opcodes` are its instructions."""

from __future__ import annotations

import math

import numpy as np

from acelera.engine.jit import Array, compiled, inner
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.wide_times import narrowed, negative, plus, too_large, widened
from acelera.engine.storage.interning import intern_row, intern_set

NO_ROOM = -2
"""What `carry_out` returns if there is no room for a set."""

TUPLES, VALUE_SETS, ITEMS, SET_COUNTS = range(4)
"""What is counted of the sets that registers hold: members, sets, and the members of all sets together."""

LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@inner
def adds_up(one: int, two: int) -> bool:
    """Whether a sum fits into 64 bits."""
    return not ((two > 0 and one > HIGHEST - two) or (two < 0 and one < LOWEST - two))


@inner
def subtracts(one: int, two: int) -> bool:
    """Whether a difference fits into 64 bits."""
    return one < 0 if two == LOWEST else adds_up(one, -two)


@inner
def multiplies(one: int, two: int) -> bool:
    """Whether a product fits into 64 bits. Told without multiplying: the compiler takes it that signed numbers do."""
    if one == 0 or two == 0:
        return True
    limit = np.uint64(HIGHEST)
    if (one < 0) != (two < 0):
        limit += np.uint64(1)
    return bool(magnitude(one) <= limit // magnitude(two))


@inner
def magnitude(number: int) -> Array:
    """The absolute value, which always fits."""
    return np.uint64(number) if number >= 0 else np.uint64(0) - np.uint64(number)


@inner
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


@inner
def clean(number: float) -> float:
    """One NaN and one zero."""
    return math.nan if number != number else number + 0.0


@inner
def sign(flavour: int, values: Array, floats: Array, one: int, two: int, ranks: Array) -> int:
    """The sign of left - right."""
    if flavour == op.FLOATS:
        return 0 if floats[one] == floats[two] else (-1 if floats[one] < floats[two] else 1)
    left, right = values[one], values[two]
    highs = len(values) // 2
    if flavour == op.WIDE and values[highs + one] != values[highs + two]:
        left, right = values[highs + one], values[highs + two]
    if left == right:
        return 0
    if flavour == op.STRINGS:
        left, right = ranks[left], ranks[right]
    return -1 if left < right else 1


@inner
def fold_value(
    aggregate: int, row: Array, floats: Array, at: int, value: int, number: float, position: int, ranks: Array
) -> None:
    """One more value for an aggregate, whose state stands in a row after its tag at `at`."""
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
        fold_by_position(function, flavour, row, floats, at, value, number, position, ranks)


@inner
def fold_by_position(
    function: int,
    flavour: int,
    row: Array,
    floats: Array,
    at: int,
    value: int,
    number: float,
    position: int,
    ranks: Array,
) -> None:
    """first and last: by position, and by value among those at one position."""
    first = at + 1
    earlier = position < row[first]
    if position == row[first]:
        if flavour == op.FLOATS:
            earlier = number < floats[first + 1]
        elif flavour == op.STRINGS:
            earlier = ranks[value] < ranks[row[first + 1]]
        else:
            earlier = value < row[first + 1]
    same = position == row[first] and value == row[first + 1]
    if row[at] == op.UNSET or (not same and (function == op.FIRST) == earlier):
        row[at], row[first], row[first + 1] = op.VALUE, position, value


@inner
def finish(
    aggregate: int, row: Array, floats: Array, at: int, top: int, values: Array, reals: Array, factor: int
) -> Array:
    """The value of an aggregate, left at the top of the stack; its tag. Times are in a unit of so many nanoseconds."""
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
def collect_member(
    new: Array,
    at: int,
    width: int,
    kinds: int,
    top: int,
    values: Array,
    tags: Array,
    tuples: Array,
    tuple_table: Array,
    sets: Array,
    set_items: Array,
    sets_table: Array,
    sizes: Array,
) -> bool:
    """Add a member, whose values are at the top of the stack, to the set that a register holds; False if there is no
    room. What kinds of values a member has is part of it, as a number.
    """
    begin, size = 0, 0
    if new[at] == op.VALUE:
        begin = sets[new[at + 1]]
        size = sets[new[at + 1] + 1] - begin
    tail = sizes[ITEMS]
    full = 2 * (sizes[TUPLES] + 1) > len(tuple_table) or 2 * (sizes[VALUE_SETS] + 1) > len(sets_table)
    if full or tail + size + 1 > len(set_items):
        return False
    row = tuples[sizes[TUPLES]]
    row[:] = 0
    for index in range(width):
        row[2 * index] = tags[top + index]
        row[2 * index + 1] = values[top + index] if tags[top + index] == op.VALUE else 0
    row[len(row) - 1] = kinds
    member = intern_row(row, len(row), tuples, tuple_table, sizes[TUPLES])
    if member == sizes[TUPLES]:
        sizes[TUPLES] += 1
    written, placed = 0, False
    for index in range(begin, begin + size):
        held = set_items[index]
        if not placed and held >= member:
            if held > member:
                set_items[tail + written] = member
                written += 1
            placed = True
        set_items[tail + written] = held
        written += 1
    if not placed:
        set_items[tail + written] = member
        written += 1
    number = intern_set(set_items[tail:], written, sets, set_items, sets_table, sizes[VALUE_SETS])
    if number == sizes[VALUE_SETS]:
        sizes[VALUE_SETS] += 1
        sizes[ITEMS] += written
    new[at], new[at + 1] = op.VALUE, number
    return True


@compiled
def holds_for_all(
    universal: int,
    universal_code: Array,
    universal_sets: Array,
    new: Array,
    new_floats: Array,
    inputs: Array,
    input_tags: Array,
    event: int,
    position: int,
    moment: int,
    latest: Array,
    code: Array,
    constants: Array,
    constant_tags: Array,
    ranks: Array,
    values: Array,
    reals: Array,
    tags: Array,
    tuples: Array,
    tuple_table: Array,
    sets: Array,
    set_items: Array,
    sets_table: Array,
    sizes: Array,
) -> int:
    """Whether a predicate holds for all combinations of members; TRUE as long as one of the sets is UNSET.

    A row of `universal_sets` is: the predicate, where its register stands, the width of its members, and where their
    values go.
    """
    first, last = universal_code[universal, 2], universal_code[universal, 3]
    count = last - first
    chosen, bound = np.zeros(count, np.int64), np.zeros(2, np.int64)
    needed = 2
    for s in range(first, last):
        if new[universal_sets[s, 0]] == op.UNSET:
            return 1
        needed = max(needed, universal_sets[s, 2] + 2 * universal_sets[s, 1])
    bound = np.zeros(needed, np.int64)
    while True:
        for s in range(first, last):
            at, width, place = universal_sets[s, 0], universal_sets[s, 1], universal_sets[s, 2]
            member = set_items[sets[new[at + 1]] + chosen[s - first]]
            for index in range(2 * width):
                bound[place + index] = tuples[member, index]
        outcome = carry_out(
            code, universal_code[universal, 0], universal_code[universal, 1], bound, new, new_floats, inputs,
            input_tags, event, position, moment, latest, constants, constant_tags, ranks, values, reals, tags, tuples,
            tuple_table, sets, set_items, sets_table, sizes,
        )  # fmt: skip
        if outcome != 1:
            return outcome
        s = 0
        while s < count:
            number = new[universal_sets[first + s, 0] + 1]
            chosen[s] += 1
            if chosen[s] < sets[number + 1] - sets[number]:
                break
            chosen[s] = 0
            s += 1
        if s == count:
            return 1


@inner
def carry_out(
    code: Array,
    begin: int,
    end: int,
    old: Array,
    new: Array,
    new_floats: Array,
    inputs: Array,
    input_tags: Array,
    event: int,
    position: int,
    moment: int,
    latest: Array,
    constants: Array,
    constant_tags: Array,
    ranks: Array,
    values: Array,
    reals: Array,
    tags: Array,
    tuples: Array,
    tuple_table: Array,
    sets: Array,
    set_items: Array,
    sets_table: Array,
    sizes: Array,
) -> int:
    """Carry out instructions. 1 if all that is required holds, 0 if not, -1 if an aggregate failed and was looked at,
    NO_ROOM if there is no room for a set.

    `values` and `reals` are the stack, as integers and as floats; what is left on it begins at 0. The second half of
    `values` holds the high numbers of wide times.
    """
    top = 0  # where the next value goes
    highs = len(values) // 2
    for at in range(begin, end):
        what, a, b, c = code[at, 0], code[at, 1], code[at, 2], code[at, 3]
        if what == op.INPUT:
            values[top], tags[top] = inputs[a, event], input_tags[a, event]
            top += 1
        elif what == op.KEEP:
            for index in range(a, a + b + 1):
                new[index] = old[index]
        elif what == op.NEW:
            values[top], tags[top] = new[a + 1], new[a]
            if b == 1:
                values[highs + top] = new[a + 2]
            top += 1
        elif what == op.OLD:
            values[top], tags[top] = old[a + 1], old[a]
            if b == 1:
                values[highs + top] = old[a + 2]
            top += 1
        elif what == op.STORE:
            top -= 1
            new[a], new[a + 1] = tags[top], values[top] if tags[top] == op.VALUE else 0
            if b == 1:
                new[a + 2] = values[highs + top] if tags[top] == op.VALUE else 0
        elif what == op.REQUIRE:
            top -= 1
            if tags[top] == op.FAILED:
                return -1
            if tags[top] != op.VALUE or values[top] == 0:
                return 0
        elif what == op.CONSTANT:
            values[top], tags[top] = constants[a], constant_tags[a]
            if b == 1:
                values[highs + top] = constants[a + 1]
            top += 1
        elif what == op.POSITION:
            values[top], tags[top] = position, op.VALUE
            top += 1
        elif what == op.MOMENT:
            values[top], tags[top] = moment, op.VALUE
            top += 1
        elif what == op.LATEST:
            values[top], tags[top] = latest[a, event], op.VALUE
            top += 1
        elif what == op.CLEAR:
            new[a] = op.UNSET
            for index in range(a + 1, a + b + 1):
                new[index] = 0
        elif what == op.IDENTITY:
            function = b // op.FLAVOURS
            width = 3 if function in (op.VARIANCE, op.STDDEV) else 1
            if function in (op.AVG, op.RANGE, op.FIRST, op.LAST):
                width = 2
            for index in range(a + 1, a + 1 + width):
                new[index] = 0
            new[a] = op.VALUE
            if function in (op.MIN, op.MAX, op.RANGE, op.FIRST, op.LAST):
                new[a] = op.UNSET
            elif function == op.PRODUCT:
                if b % op.FLAVOURS == op.FLOATS:
                    new_floats[a + 1] = 1.0
                else:
                    new[a + 1] = 1
            elif function == op.BOOL_AND:
                new[a + 1] = 1
        elif what == op.FOLD:
            top -= 1
            if new[a] == op.FAILED:
                continue
            if tags[top] == op.FAILED:
                new[a] = op.FAILED
            elif tags[top] == op.NULL:
                if c == 0:
                    new[a] = op.NULL
            elif new[a] != op.NULL:
                fold_value(b, new, new_floats, a, values[top], reals[top], position, ranks)
        elif what == op.FINISH:
            tags[top] = finish(b, new, new_floats, a, top, values, reals, c)
            top += 1
        elif what == op.LARGEST or what == op.SMALLEST or what == op.COMMON:
            top -= 1
            if new[a] == op.FAILED or tags[top] == op.FAILED:
                new[a] = op.FAILED
                continue
            missing = tags[top] != op.VALUE or (b == op.FLOATS and reals[top] != reals[top])
            if new[a] == op.NULL or missing:
                new[a], new[a + 1] = op.NULL, 0
                if b == op.WIDE:
                    new[a + 2] = 0
                continue
            values[top + 1] = new[a + 1]
            if b == op.WIDE:
                values[highs + top + 1] = new[a + 2]
            order = sign(b, values, reals, top, top + 1, ranks) if new[a] != op.UNSET else 0
            if new[a] == op.UNSET or (what == op.LARGEST and order > 0) or (what == op.SMALLEST and order < 0):
                new[a], new[a + 1] = op.VALUE, values[top]
                if b == op.WIDE:
                    new[a + 2] = values[highs + top]
            elif what == op.COMMON and order != 0:
                new[a], new[a + 1] = op.NULL, 0
                if b == op.WIDE:
                    new[a + 2] = 0
        elif what == op.KNOWN:
            values[top] = 0 if new[a] == op.NULL else 1
            tags[top] = op.FAILED if new[a] == op.FAILED else op.VALUE
            top += 1
        elif what == op.COMPARE or what == op.COMPARE_IF_SET:
            top -= 1
            one, two = tags[top - 1], tags[top]
            if what == op.COMPARE_IF_SET and (one == op.UNSET or two == op.UNSET):
                values[top - 1], tags[top - 1] = 1, op.VALUE
                continue
            unknown = one != op.VALUE or two != op.VALUE
            if not unknown and b == op.FLOATS:
                unknown = reals[top - 1] != reals[top - 1] or reals[top] != reals[top]
            if one == op.FAILED or two == op.FAILED:
                tags[top - 1] = op.FAILED
            elif unknown:
                tags[top - 1] = op.NULL
            else:
                order = sign(b, values, reals, top - 1, top, ranks)
                values[top - 1] = 1 if compared(a, order) else 0
        elif what == op.OR_UNSET:
            if new[a] == op.UNSET:
                values[top - 1], tags[top - 1] = 1, op.VALUE
        elif what == op.IDENTICAL:
            top -= 1
            same = tags[top - 1] == tags[top] and (tags[top] != op.VALUE or values[top - 1] == values[top])
            if a == 1 and tags[top] == op.VALUE and values[highs + top - 1] != values[highs + top]:
                same = False
            values[top - 1], tags[top - 1] = (1 if same else 0), op.VALUE
        elif what == op.AND or what == op.OR:
            top -= 1
            one, two = tags[top - 1], tags[top]
            deciding = 0 if what == op.AND else 1
            if one == op.FAILED or two == op.FAILED:
                tags[top - 1] = op.FAILED
            elif (one == op.VALUE and values[top - 1] == deciding) or (two == op.VALUE and values[top] == deciding):
                values[top - 1], tags[top - 1] = deciding, op.VALUE
            elif one == op.NULL or two == op.NULL:
                tags[top - 1] = op.NULL
        elif what == op.NOT:
            values[top - 1] = 1 if values[top - 1] == 0 else 0
        elif what == op.IS_NULL:
            if tags[top - 1] != op.FAILED:
                values[top - 1] = 1 if (tags[top - 1] == op.NULL) != (a == 1) else 0
                tags[top - 1] = op.VALUE
        elif what == op.TO_FLOAT:
            if tags[top - 1] == op.VALUE:
                reals[top - 1] = float(values[top - 1])
        elif what == op.FLOAT_BELOW:
            if tags[top - 2] == op.VALUE:
                reals[top - 2] = float(values[top - 2])
        elif what == op.NEGATE or what == op.ABSOLUTE:
            if tags[top - 1] == op.VALUE:
                if a == op.FLOATS:
                    if what == op.NEGATE or reals[top - 1] < 0:
                        reals[top - 1] = clean(-reals[top - 1])
                elif a == op.WIDE:
                    if what == op.NEGATE or values[highs + top - 1] < 0:
                        high, low = negative(values[highs + top - 1], values[top - 1])
                        values[highs + top - 1], values[top - 1] = high, low
                elif what == op.NEGATE or values[top - 1] < 0:
                    if values[top - 1] == LOWEST:
                        tags[top - 1] = op.NULL
                    else:
                        values[top - 1] = -values[top - 1]
        elif what == op.WIDEN:
            place = top - 1 - b
            if tags[place] == op.VALUE:
                values[highs + place], values[place] = widened(values[place], a)
        elif what == op.NARROW:
            if tags[top - 1] == op.VALUE:
                fits, values[top - 1] = narrowed(values[highs + top - 1], values[top - 1], a)
                if not fits:
                    tags[top - 1] = op.FAILED
        elif what == op.SQUARE_ROOT:
            if tags[top - 1] == op.VALUE:
                if reals[top - 1] >= 0:
                    reals[top - 1] = math.sqrt(reals[top - 1])
                else:  # also NaN
                    tags[top - 1] = op.NULL
        elif what == op.COLLECT:
            top -= b
            if not collect_member(
                new, a, b, c, top, values, tags, tuples, tuple_table, sets, set_items, sets_table, sizes
            ):
                return NO_ROOM
        elif what == op.COALESCE:
            top -= 1
            if tags[top - 1] == op.NULL:
                values[top - 1], tags[top - 1] = values[top], tags[top]
                values[highs + top - 1] = values[highs + top]
            elif tags[top] == op.FAILED:
                tags[top - 1] = op.FAILED
        else:
            top -= 1
            arithmetic(what, a, values, reals, tags, top)
    return 1


@inner
def arithmetic(what: int, flavour: int, values: Array, reals: Array, tags: Array, top: int) -> None:
    """An operation on the two values at the top of the stack; the result takes the place of the lower one."""
    low = top - 1
    if tags[low] == op.FAILED or tags[top] == op.FAILED:
        tags[low] = op.FAILED
        return
    if tags[low] != op.VALUE or tags[top] != op.VALUE:
        tags[low] = op.NULL
        return
    if what == op.DIVIDE:
        if reals[top] == 0:
            tags[low] = op.NULL
        else:
            reals[low] = clean(reals[low] / reals[top])
        return
    if flavour == op.FLOATS:
        if what == op.ADD:
            reals[low] = clean(reals[low] + reals[top])
        elif what == op.SUBTRACT:
            reals[low] = clean(reals[low] - reals[top])
        elif what == op.MULTIPLY:
            reals[low] = clean(reals[low] * reals[top])
        elif reals[top] == 0 or not math.isfinite(reals[low]):
            tags[low] = op.NULL
        else:
            reals[low] = clean(np.fmod(reals[low], reals[top]))
        return
    if flavour == op.WIDE:
        highs = len(values) // 2
        high, small = values[highs + top], values[top]
        if what == op.SUBTRACT:
            high, small = negative(high, small)
        high, small = plus(values[highs + low], values[low], high, small)
        values[highs + low], values[low] = high, small
        if too_large(high, small):
            tags[low] = op.NULL
        return
    one, two = values[low], values[top]
    if what == op.REMAINDER:
        if two == 0:
            tags[low] = op.NULL
        elif two == -1:
            values[low] = 0
        else:
            rest = one % two
            if rest != 0 and (rest < 0) != (one < 0):
                rest -= two
            values[low] = rest
    elif what == op.MULTIPLY:
        if multiplies(one, two):
            values[low] = one * two
        else:
            tags[low] = op.NULL
    elif what == op.ADD:
        if adds_up(one, two):
            values[low] = one + two
        else:
            tags[low] = op.NULL
    elif subtracts(one, two):
        values[low] = one - two
    else:
        tags[low] = op.NULL
