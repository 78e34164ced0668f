"""The small stack machine that computes registers and conditions; `opcodes` are its instructions."""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array, inlined, inner
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.aggregate_steps import (
    Cells,
    begin_aggregate,
    finish,
    fold_by_position,
    fold_value,
    summarize,
)
from acelera.engine.registers.arithmetic import Stack, arithmetic, coalesce, compare, connect, convert, identical
from acelera.engine.storage.interning import intern_row, intern_set

REFUSED, HOLDS, FAILED, FULL = range(4)
"""What became of instructions: something that is required does not hold, all does, an aggregate failed and was looked
at, or there is no room for a set.
"""

CONVERTING = (
    op.NOT,
    op.IS_NULL,
    op.TO_FLOAT,
    op.FLOAT_BELOW,
    op.NEGATE,
    op.ABSOLUTE,
    op.WIDEN,
    op.NARROW,
    op.SQUARE_ROOT,
)
"""Instructions that change a value on the stack."""

TUPLES, VALUE_SETS, ITEMS, SET_COUNTS = range(4)
"""What is counted of the sets that registers hold: members, sets, and the members of all sets together."""


class Program(NamedTuple):
    """Instructions, each four numbers, and the constants that they refer to; `ranks` are the order of strings."""

    code: Array
    constants: Array
    constant_tags: Array
    ranks: Array


class Inputs(NamedTuple):
    """What instructions read of events: attributes by number and event, positions and moments, and the newest start of
    each guard's matches.
    """

    values: Array
    tags: Array
    positions: Array
    moments: Array
    latest: Array


class ValueSetArrays(NamedTuple):
    """The sets that registers hold, interned: their members, and where the members of each stand."""

    tuples: Array
    tuple_table: Array
    sets: Array
    items: Array
    table: Array
    sizes: Array


class Universal(NamedTuple):
    """Conditions over sets: for each edge a range of them; their instructions and sets; and the registers of these.

    A row of `sets` is where a register stands, the width of its members, and where their values go. While one is
    looked at, `chosen` tells which members are, and `bound` holds their values.
    """

    of_edge: Array
    code: Array
    sets: Array
    chosen: Array
    bound: Array


@inlined
def execute(
    program: Program,
    begin: int,
    end: int,
    old: Array,
    new: Cells,
    inputs: Inputs,
    event: int,
    stack: Stack,
    sets: ValueSetArrays,
) -> int:
    """Carry out instructions, from the registers as they were to what they become; what came of it.

    What is left on the stack begins at 0.
    """
    values, tags, row, code = stack.values, stack.tags, new.values, program.code
    top = 0  # where the next value goes
    highs = len(values) // 2
    for at in range(begin, end):
        what, a, b, c = code[at, 0], code[at, 1], code[at, 2], code[at, 3]
        if what == op.INPUT:
            values[top], tags[top] = inputs.values[a, event], inputs.tags[a, event]
            top += 1
        elif what == op.KEEP:
            for index in range(a, a + b + 1):
                row[index] = old[index]
        elif what == op.NEW or what == op.OLD:
            cells = row if what == op.NEW else old
            values[top], tags[top] = cells[a + 1], cells[a]
            if b == 1:
                values[highs + top] = cells[a + 2]
            top += 1
        elif what == op.STORE:
            top -= 1
            if c == 0 or row[a] == op.UNSET:
                row[a], row[a + 1] = tags[top], values[top] if tags[top] == op.VALUE else 0
                if b == 1:
                    row[a + 2] = values[highs + top] if tags[top] == op.VALUE else 0
        elif what == op.REQUIRE:
            top -= 1
            if tags[top] == op.FAILED:
                return FAILED
            if tags[top] != op.VALUE or values[top] == 0:
                return REFUSED
        elif what == op.CONSTANT:
            values[top], tags[top] = program.constants[a], program.constant_tags[a]
            if b == 1:
                values[highs + top] = program.constants[a + 1]
            top += 1
        elif what in (op.POSITION, op.MOMENT, op.LATEST):
            values[top], tags[top] = standing(what, a, inputs, event), op.VALUE
            top += 1
        elif what == op.COMPARE or what == op.COMPARE_IF_SET:
            top -= 1
            compare(what, a, b, stack, top, program.ranks)
        elif what in (op.CLEAR, op.IDENTITY, op.FOLD, op.FINISH, op.LARGEST, op.SMALLEST, op.COMMON, op.KNOWN):
            top = at_register(what, a, b, c, new, inputs, event, stack, top, program.ranks)
        elif what == op.OR_UNSET:
            if row[a] == op.UNSET:
                values[top - 1], tags[top - 1] = 1, op.VALUE
        elif what in CONVERTING:
            convert(what, a, b, stack, top - 1)
        elif what == op.COLLECT:
            top -= b
            if not collect_member(row, a, b, c, stack, top, sets):
                return FULL
        else:
            top -= 1
            combine(what, a, stack, top)
    return HOLDS


@inner
def execute_apart(
    program: Program,
    begin: int,
    end: int,
    old: Array,
    new: Cells,
    inputs: Inputs,
    event: int,
    stack: Stack,
    sets: ValueSetArrays,
) -> int:
    """The same where it is seldom done: a call takes as long as some instructions, since it is given many arrays."""
    return execute(program, begin, end, old, new, inputs, event, stack, sets)


@inlined
def standing(what: int, guard: int, inputs: Inputs, event: int) -> Array:
    """Where an event stands, or where the newest match of a guard does."""
    if what == op.POSITION:
        return inputs.positions[event]
    return inputs.moments[event] if what == op.MOMENT else inputs.latest[guard, event]


@inlined
def combine(what: int, a: int, stack: Stack, top: int) -> None:
    """An operation on the two values at the top of the stack; the result takes the place of the lower one."""
    if what == op.AND or what == op.OR:
        connect(0 if what == op.AND else 1, stack, top)
    elif what == op.IDENTICAL:
        identical(a, stack, top)
    elif what == op.COALESCE:
        coalesce(stack, top)
    else:
        arithmetic(what, a, stack, top)


@inlined
def at_register(
    what: int, a: int, b: int, c: int, new: Cells, inputs: Inputs, event: int, stack: Stack, top: int, ranks: Array
) -> int:
    """What changes a register that gathers values, or looks at it; where the next value on the stack goes."""
    row, tags = new.values, stack.tags
    if what == op.CLEAR:
        row[a] = op.UNSET
        for index in range(a + 1, a + b + 1):
            row[index] = 0
    elif what == op.IDENTITY:
        begin_aggregate(b, new, a)
    elif what == op.FINISH:
        tags[top] = finish(b, new, a, stack, top, c)
        top += 1
    elif what == op.KNOWN:
        stack.values[top] = 0 if row[a] == op.NULL else 1
        tags[top] = op.FAILED if row[a] == op.FAILED else op.VALUE
        top += 1
    elif what == op.FOLD:
        top -= 1
        function = b // op.FLAVOURS
        if row[a] == op.FAILED or tags[top] == op.FAILED:
            row[a] = op.FAILED
        elif function == op.FIRST or function == op.LAST:
            known, position = tags[top] == op.VALUE, inputs.positions[event]
            if known or c == 0:
                fold_by_position(b, new, a, stack.values[top], stack.reals[top], known, position, ranks)
        elif tags[top] == op.NULL:
            if c == 0:
                row[a] = op.NULL
        elif row[a] != op.NULL:
            if c == 2 and row[a] == op.UNSET:
                begin_aggregate(b, new, a)
            fold_value(b, new, a, stack.values[top], stack.reals[top], ranks)
    else:
        top -= 1
        summarize(what, new, a, b, stack, top, ranks)
    return top


# --- sets ---------------------------------------------------------------------------------------------------------


@inner
def collect_member(row: Array, at: int, width: int, kinds: int, stack: Stack, top: int, sets: ValueSetArrays) -> bool:
    """Add a member, whose values are at the top of the stack, to the set that a register holds; False if there is no
    room. What kinds of values a member has is part of it, as a number.
    """
    items, sizes = sets.items, sets.sizes
    begin, size = 0, 0
    if row[at] == op.VALUE:
        begin = sets.sets[row[at + 1]]
        size = sets.sets[row[at + 1] + 1] - begin
    tail = sizes[ITEMS]
    full = 2 * (sizes[TUPLES] + 1) > len(sets.tuple_table) or 2 * (sizes[VALUE_SETS] + 1) > len(sets.table)
    if full or tail + size + 1 > len(items):
        return False
    made = sets.tuples[sizes[TUPLES]]
    for index in range(len(made)):
        made[index] = 0
    for index in range(width):
        tag = stack.tags[top + index]
        made[2 * index], made[2 * index + 1] = tag, stack.values[top + index] if tag == op.VALUE else 0
    made[len(made) - 1] = kinds
    member = intern_row(made, len(made), sets.tuples, sets.tuple_table, sizes[TUPLES])
    if member == sizes[TUPLES]:
        sizes[TUPLES] += 1
    written = insert(items, begin, size, member, tail)
    number = intern_set(items[tail:], written, sets.sets, items, sets.table, sizes[VALUE_SETS])
    if number == sizes[VALUE_SETS]:
        sizes[VALUE_SETS] += 1
        sizes[ITEMS] += written
    row[at], row[at + 1] = op.VALUE, number
    return True


@inner
def insert(items: Array, begin: int, size: int, member: int, tail: int) -> int:
    """Write a list of members that is in order, with one more, to another place; how many it has then."""
    written, placed = 0, False
    for index in range(begin, begin + size):
        held = items[index]
        if not placed and held >= member:
            if held > member:
                items[tail + written] = member
                written += 1
            placed = True
        items[tail + written] = held
        written += 1
    if not placed:
        items[tail + written] = member
        written += 1
    return written


@inner
def holds_for_all(
    condition: int,
    universal: Universal,
    program: Program,
    new: Cells,
    inputs: Inputs,
    event: int,
    stack: Stack,
    sets: ValueSetArrays,
) -> int:
    """Whether a predicate holds for all combinations of members; it does as long as one of the sets is UNSET."""
    begin, end = universal.code[condition, 0], universal.code[condition, 1]
    first, last = universal.code[condition, 2], universal.code[condition, 3]
    count, row, chosen, bound = last - first, new.values, universal.chosen, universal.bound
    for s in range(first, last):
        if row[universal.sets[s, 0]] == op.UNSET:
            return HOLDS
        chosen[s - first] = 0
    while True:
        for s in range(first, last):
            at, width, place = universal.sets[s, 0], universal.sets[s, 1], universal.sets[s, 2]
            member = sets.items[sets.sets[row[at + 1]] + chosen[s - first]]
            for index in range(2 * width):
                bound[place + index] = sets.tuples[member, index]
        outcome = execute_apart(program, begin, end, bound, new, inputs, event, stack, sets)
        if outcome != HOLDS:
            return outcome
        s = 0
        while s < count:
            number = row[universal.sets[first + s, 0] + 1]
            chosen[s] += 1
            if chosen[s] < sets.sets[number + 1] - sets.sets[number]:
                break
            chosen[s] = 0
            s += 1
        if s == count:
            return HOLDS
