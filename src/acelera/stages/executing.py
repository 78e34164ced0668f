"""Instructions, carried out on the memory of a machine; what is rare, by the functions of the register machine."""

from __future__ import annotations

from acelera.engine.jit import Array, by_address, by_address_inlined
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.aggregate_steps import Cells, begin_aggregate, finish, fold_value
from acelera.engine.registers.arithmetic import Stack, adds_up, arithmetic, clean, coalesce, compare, connect, convert
from acelera.engine.registers.stack_machine import CONVERTING, FAILED, HOLDS, REFUSED
from acelera.stages import layout as at
from acelera.stages.raw_memory import fixed, floats_at, get, get_float, numbers_at, put, put_float

FOLD_FLOATS, FOLD_INTEGERS = (op.SUM * op.FLAVOURS + op.FLOATS, op.SUM * op.FLAVOURS + op.INTEGERS)
AVERAGE_FLOATS = op.AVG * op.FLAVOURS + op.FLOATS


@by_address
def stack_of(mem: int) -> Stack:
    """The stack, as the register machine wants it."""
    begin, size = (fixed(mem, at.STACK), fixed(mem, at.STACK_SIZE))
    middle = begin + 2 * size
    return Stack(numbers_at(mem, begin, 2 * size), floats_at(mem, begin, 2 * size), numbers_at(mem, middle, size))


@by_address
def cells_of(mem: int, row: int) -> Cells:
    """Registers, as the register machine wants them."""
    width = fixed(mem, at.WIDTH)
    return Cells(numbers_at(mem, row, width), floats_at(mem, row, width))


@by_address
def ranks_of(mem: int) -> Array:
    """The order of texts."""
    return numbers_at(fixed(mem, at.RANKS), 0, fixed(mem, at.RANKS_SIZE))


@by_address
def carry_out(mem: int, begin: int, end: int, row: int, event: int) -> int:
    """Carry out instructions on registers: HOLDS, REFUSED if a condition does not hold, or FAILED."""
    inputs = fixed(mem, at.INPUTS) + 2 * event * fixed(mem, at.SLOTS)
    place = fixed(mem, at.CODE) + begin * at.INSTRUCTION
    for number in range(begin, end):
        what, a, b, c = fixed(mem, place), fixed(mem, place + at.A), fixed(mem, place + at.B), fixed(mem, place + at.C)
        if what == at.SLOWLY:
            return carry_out_slowly(mem, number + 1, end, row, event)
        outcome = carry_out_quickly(mem, what, a, b, c, place, row, inputs)
        if outcome != HOLDS:
            return outcome
        place += at.INSTRUCTION
    return HOLDS


@by_address
def carry_out_slowly(mem: int, begin: int, end: int, row: int, event: int) -> int:
    """The same, whatever the instructions are."""
    values = fixed(mem, at.STACK)
    tags = values + 2 * fixed(mem, at.STACK_SIZE)
    inputs = fixed(mem, at.INPUTS) + 2 * event * fixed(mem, at.SLOTS)
    top = 0  # where the next value goes
    place = fixed(mem, at.CODE) + begin * at.INSTRUCTION
    for _ in range(begin, end):
        what, a, b, c = fixed(mem, place), fixed(mem, place + at.A), fixed(mem, place + at.B), fixed(mem, place + at.C)
        if what >= at.TEST:
            outcome = carry_out_quickly(mem, what, a, b, c, place, row, inputs)
            if outcome != HOLDS:
                return outcome
        elif what == op.INPUT:
            put(mem, values + top, get(mem, inputs + 2 * a))
            put(mem, tags + top, get(mem, inputs + 2 * a + 1))
            top += 1
        elif what == op.NEW:
            put(mem, values + top, get(mem, row + a + 1))
            put(mem, tags + top, get(mem, row + a))
            top += 1
        elif what == op.CONSTANT:
            put(mem, values + top, fixed(mem, place + at.LOW))
            put(mem, tags + top, fixed(mem, place + at.TAG))
            put(mem, values + fixed(mem, at.STACK_SIZE) + top, fixed(mem, place + at.HIGH))
            top += 1
        elif what == op.REQUIRE:
            top -= 1
            if get(mem, tags + top) == op.FAILED:
                return FAILED
            if get(mem, tags + top) != op.VALUE or get(mem, values + top) == 0:
                return REFUSED
        elif what == op.COMPARE:
            top -= 1
            if b == op.INTEGERS and get(mem, tags + top) == op.VALUE and (get(mem, tags + top - 1) == op.VALUE):
                left, right = (get(mem, values + top - 1), get(mem, values + top))
                put(mem, values + top - 1, 1 if ordered(a, left < right, left == right) else 0)
            elif b == op.FLOATS and get(mem, tags + top) == op.VALUE and (get(mem, tags + top - 1) == op.VALUE):
                low, high = (get_float(mem, values + top - 1), get_float(mem, values + top))
                if low != low or high != high:
                    put(mem, tags + top - 1, op.NULL)
                else:
                    put(mem, values + top - 1, 1 if ordered(a, low < high, low == high) else 0)
            else:
                compare(what, a, b, stack_of(mem), top, ranks_of(mem))
        elif what == op.STORE:
            top -= 1
            if c == 0 or get(mem, row + a) == op.UNSET:
                put(mem, row + a, get(mem, tags + top))
                put(mem, row + a + 1, get(mem, values + top) if get(mem, tags + top) == op.VALUE else 0)
        elif what == op.FOLD:
            top -= 1
            fold(mem, a, b, row, values + top, get(mem, tags + top))
        elif what == op.FINISH:
            put(mem, tags + top, finish(b, cells_of(mem, row), a, stack_of(mem), top, c))
            top += 1
        elif what == op.OR_UNSET:
            if get(mem, row + a) == op.UNSET:
                put(mem, values + top - 1, 1)
                put(mem, tags + top - 1, op.VALUE)
        elif what in CONVERTING:
            convert(what, a, b, stack_of(mem), top - 1)
        else:
            top -= 1
            combine(what, a, stack_of(mem), top)
        place += at.INSTRUCTION
    return HOLDS


@by_address_inlined
def carry_out_quickly(mem: int, what: int, a: int, b: int, c: int, place: int, row: int, inputs: int) -> int:
    """An instruction that does what several do."""
    if what == at.TEST:
        unless = fixed(mem, place + at.UNLESS)
        if unless > 0 and get(mem, row + unless) == op.UNSET:
            return HOLDS
        left = operand(mem, a >> 3, b, row, inputs)
        right = operand(
            mem, a & 7, place + at.HIGH if a & 7 == at.OF_CONSTANT else fixed(mem, place + at.HIGH), row, inputs
        )
        if left < 0 or right < 0:
            return FAILED if left == -op.FAILED or right == -op.FAILED else REFUSED
        if fixed(mem, place + at.LOW) == 1:
            low, high = (get_float(mem, left), get_float(mem, right))
            if low != low or high != high or (not ordered(c, low < high, low == high)):
                return REFUSED
        elif not ordered(c, get(mem, left) < get(mem, right), get(mem, left) == get(mem, right)):
            return REFUSED
    elif what == at.COUNT_ONE:
        put(mem, row + a + 1, get(mem, row + a + 1) + 1)
        put(mem, row + a, op.VALUE)
    elif what == at.ADD_FLOAT:
        if get(mem, inputs + b + 1) == op.VALUE:
            put_float(mem, row + a + 1, clean(get_float(mem, row + a + 1) + get_float(mem, inputs + b)))
            put(mem, row + a + 2, get(mem, row + a + 2) + c)
            put(mem, row + a, op.VALUE)
    elif what == at.PUT:
        if c == 0 or get(mem, row + a) == op.UNSET:
            put(mem, row + a, get(mem, inputs + b + 1))
            put(mem, row + a + 1, get(mem, inputs + b))
    elif what == at.CLEAR:
        for index in range(row + a, row + a + b + 1):
            put(mem, index, 0)
    elif what == at.PUSH or what == at.PUSH_AVERAGE:  # compiled
        stack, tag = fixed(mem, at.STACK), get(mem, row + a)
        put(mem, stack + 2 * fixed(mem, at.STACK_SIZE) + b, c if tag == op.UNSET else tag)
        if what == at.PUSH:
            put(mem, stack + b, get(mem, row + a + 1))
        elif tag == op.VALUE:
            put_float(mem, stack + b, clean(get_float(mem, row + a + 1) / get(mem, row + a + 2)))
    elif what == at.COPY:
        put(mem, row + a, get(mem, row + b))
        put(mem, row + a + 1, get(mem, row + b + 1))
    elif get(mem, inputs + b + 1) != op.VALUE or get(mem, inputs + b) == 0:
        return REFUSED
    return HOLDS


@by_address_inlined
def operand(mem: int, kind: int, where: int, row: int, inputs: int) -> int:
    """Where a value stands; if there is none, its tag as a negative number."""
    if kind == at.OF_CONSTANT:
        return where
    if kind == at.OF_INPUT:
        return inputs + where if get(mem, inputs + where + 1) == op.VALUE else -op.NULL
    tag = get(mem, row + where)
    if kind == at.OF_COUNT or tag == op.VALUE:
        return row + where + 1
    return -op.FAILED if tag == op.FAILED else -op.NULL


@by_address_inlined
def carry_out_here(mem: int, begin: int, end: int, row: int) -> int:
    """Carry out a few quick instructions that look at no event."""
    number, outcome = begin, HOLDS
    while number < end and outcome == HOLDS:
        place = fixed(mem, at.CODE) + number * at.INSTRUCTION
        what, a, b, c = fixed(mem, place), fixed(mem, place + at.A), fixed(mem, place + at.B), fixed(mem, place + at.C)
        outcome = carry_out_quickly(mem, what, a, b, c, place, row, 0)
        number += 1
    return outcome


@by_address
def carry_out_on_all(mem: int, begin: int, end: int, rows: int, count: int, inputs: int) -> int:
    """Carry out quick instructions on rows of registers that stand one after the other. How many of them are left, put
    together; -1 if one failed.
    """
    width = fixed(mem, at.WIDTH)
    for number in range(begin, end):
        place = fixed(mem, at.CODE) + number * at.INSTRUCTION
        what, a, b, c = fixed(mem, place), fixed(mem, place + at.A), fixed(mem, place + at.B), fixed(mem, place + at.C)
        if what == at.COUNT_ONE:
            for index in range(count):
                cell = rows + index * width + a
                put(mem, cell + 1, get(mem, cell + 1) + 1)
                put(mem, cell, op.VALUE)
        elif what == at.ADD_FLOAT:
            if get(mem, inputs + b + 1) == op.VALUE:
                given = get_float(mem, inputs + b)
                for index in range(count):
                    cell = rows + index * width + a
                    put_float(mem, cell + 1, clean(get_float(mem, cell + 1) + given))
                    put(mem, cell + 2, get(mem, cell + 2) + c)
                    put(mem, cell, op.VALUE)
        elif what == at.CLEAR:
            for index in range(count):
                for cell in range(rows + index * width + a, rows + index * width + a + b + 1):
                    put(mem, cell, 0)
        elif what == at.TEST or what == at.TEST_INPUT:  # compiled
            left = 0
            for index in range(count):
                row = rows + index * width
                outcome = carry_out_quickly(mem, what, a, b, c, place, row, inputs)
                if outcome == FAILED:
                    return -1
                if outcome == HOLDS:
                    if left < index:
                        for cell in range(width):
                            put(mem, rows + left * width + cell, get(mem, row + cell))
                    left += 1
            count = left
        else:
            for index in range(count):
                carry_out_quickly(mem, what, a, b, c, place, rows + index * width, inputs)
    return count


@by_address_inlined
def ordered(operator: int, less: bool, equal: bool) -> bool:
    """Whether a comparison holds."""
    if operator == op.EQ:
        return equal
    if operator == op.NE:
        return not equal
    if operator == op.LT:
        return less
    if operator == op.LE:
        return less or equal
    if operator == op.GT:
        return not less and (not equal)
    return not less


@by_address
def combine(what: int, a: int, stack: Stack, top: int) -> None:
    """An operation on the two values at the top of the stack."""
    if what == op.AND or what == op.OR:
        connect(0 if what == op.AND else 1, stack, top)
    elif what == op.COALESCE:
        coalesce(stack, top)
    else:
        arithmetic(what, a, stack, top)


@by_address
def fold(mem: int, a: int, aggregate: int, row: int, value: int, tag: int) -> None:
    """One more value for an aggregate; NULL is left out."""
    place = row + a
    if tag == op.FAILED or get(mem, place) == op.FAILED:
        put(mem, place, op.FAILED)
    elif tag == op.VALUE:
        if get(mem, place) == op.UNSET:
            begin_aggregate(aggregate, cells_of(mem, row), a)
        if aggregate // op.FLAVOURS == op.COUNT:
            put(mem, place + 1, get(mem, place + 1) + 1)
        elif aggregate in (FOLD_FLOATS, AVERAGE_FLOATS):
            put_float(mem, place + 1, clean(get_float(mem, place + 1) + get_float(mem, value)))
            if aggregate == AVERAGE_FLOATS:
                put(mem, place + 2, get(mem, place + 2) + 1)
        elif aggregate == FOLD_INTEGERS and adds_up(get(mem, place + 1), get(mem, value)):
            put(mem, place + 1, get(mem, place + 1) + get(mem, value))
        else:
            fold_value(aggregate, cells_of(mem, row), a, get(mem, value), get_float(mem, value), ranks_of(mem))
