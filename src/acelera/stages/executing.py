"""Instructions, carried out on the memory of a machine; what is rare, by the functions of the register machine."""

from __future__ import annotations

from acelera.engine.jit import Array, inlined, inner
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.aggregate_steps import Cells, begin_aggregate, finish, fold_value
from acelera.engine.registers.arithmetic import Stack, adds_up, arithmetic, clean, coalesce, compare, connect, convert
from acelera.engine.registers.stack_machine import CONVERTING, FAILED, HOLDS, REFUSED
from acelera.stages import layout as at

FOLD_FLOATS, FOLD_INTEGERS = op.SUM * op.FLAVOURS + op.FLOATS, op.SUM * op.FLAVOURS + op.INTEGERS
AVERAGE_FLOATS = op.AVG * op.FLAVOURS + op.FLOATS


@inlined
def stack_of(mem: Array, floats: Array) -> Stack:
    """The stack, as the register machine wants it."""
    begin, size = mem[at.STACK], mem[at.STACK_SIZE]
    middle = begin + 2 * size
    return Stack(mem[begin:middle], floats[begin:middle], mem[middle : middle + size])


@inlined
def cells_of(mem: Array, floats: Array, row: int) -> Cells:
    """Registers, as the register machine wants them."""
    end = row + mem[at.WIDTH]
    return Cells(mem[row:end], floats[row:end])


@inner
def carry_out(mem: Array, floats: Array, ranks: Array, begin: int, end: int, row: int, event: int) -> int:
    """Carry out instructions on registers: HOLDS, REFUSED if a condition does not hold, or FAILED."""
    values = mem[at.STACK]
    tags = values + 2 * mem[at.STACK_SIZE]
    inputs = mem[at.INPUTS] + 2 * event * mem[at.SLOTS]
    top = 0  # where the next value goes
    place = mem[at.CODE] + begin * at.INSTRUCTION
    for _ in range(begin, end):
        what, a, b, c = mem[place], mem[place + at.A], mem[place + at.B], mem[place + at.C]
        if what >= at.TEST:
            outcome = carry_out_quickly(mem, floats, what, a, b, c, place, row, inputs)
            if outcome != HOLDS:
                return outcome
        elif what == op.INPUT:
            mem[values + top], mem[tags + top] = mem[inputs + 2 * a], mem[inputs + 2 * a + 1]
            top += 1
        elif what == op.NEW:
            mem[values + top], mem[tags + top] = mem[row + a + 1], mem[row + a]
            top += 1
        elif what == op.CONSTANT:
            mem[values + top], mem[tags + top] = mem[place + at.LOW], mem[place + at.TAG]
            mem[values + mem[at.STACK_SIZE] + top] = mem[place + at.HIGH]
            top += 1
        elif what == op.REQUIRE:
            top -= 1
            if mem[tags + top] == op.FAILED:
                return FAILED
            if mem[tags + top] != op.VALUE or mem[values + top] == 0:
                return REFUSED
        elif what == op.COMPARE:
            top -= 1
            if b == op.INTEGERS and mem[tags + top] == op.VALUE and mem[tags + top - 1] == op.VALUE:
                left, right = mem[values + top - 1], mem[values + top]
                mem[values + top - 1] = 1 if ordered(a, left < right, left == right) else 0
            elif b == op.FLOATS and mem[tags + top] == op.VALUE and mem[tags + top - 1] == op.VALUE:
                low, high = floats[values + top - 1], floats[values + top]
                if low != low or high != high:
                    mem[tags + top - 1] = op.NULL
                else:
                    mem[values + top - 1] = 1 if ordered(a, low < high, low == high) else 0
            else:
                compare(what, a, b, stack_of(mem, floats), top, ranks)
        elif what == op.STORE:
            top -= 1
            if c == 0 or mem[row + a] == op.UNSET:
                mem[row + a] = mem[tags + top]
                mem[row + a + 1] = mem[values + top] if mem[tags + top] == op.VALUE else 0
        elif what == op.FOLD:
            top -= 1
            fold(mem, floats, ranks, a, b, row, values + top, mem[tags + top])
        elif what == op.CLEAR:
            for index in range(row + a, row + a + b + 1):
                mem[index] = 0
        elif what == op.FINISH:
            mem[tags + top] = finish(b, cells_of(mem, floats, row), a, stack_of(mem, floats), top, c)
            top += 1
        elif what == op.OR_UNSET:
            if mem[row + a] == op.UNSET:
                mem[values + top - 1], mem[tags + top - 1] = 1, op.VALUE
        elif what in CONVERTING:
            convert(what, a, b, stack_of(mem, floats), top - 1)
        else:
            top -= 1
            combine(what, a, stack_of(mem, floats), top)
        place += at.INSTRUCTION
    return HOLDS


@inlined
def carry_out_quickly(
    mem: Array, floats: Array, what: int, a: int, b: int, c: int, place: int, row: int, inputs: int
) -> int:
    """An instruction that does what several do."""
    if what == at.TEST:
        unless = mem[place + at.UNLESS]
        if unless > 0 and mem[row + unless] == op.UNSET:
            return HOLDS
        left = operand(mem, a >> 3, b, row, inputs)
        right = operand(mem, a & 7, place + at.HIGH if a & 7 == at.OF_CONSTANT else mem[place + at.HIGH], row, inputs)
        if left < 0 or right < 0:
            return FAILED if left == -op.FAILED or right == -op.FAILED else REFUSED
        if mem[place + at.LOW] == 1:
            low, high = floats[left], floats[right]
            if low != low or high != high or not ordered(c, low < high, low == high):
                return REFUSED
        elif not ordered(c, mem[left] < mem[right], mem[left] == mem[right]):
            return REFUSED
    elif what == at.COUNT_ONE:
        mem[row + a + 1] += 1
        mem[row + a] = op.VALUE
    elif what == at.ADD_FLOAT:
        if mem[inputs + b + 1] == op.VALUE:
            floats[row + a + 1] = clean(floats[row + a + 1] + floats[inputs + b])
            mem[row + a + 2] += c
            mem[row + a] = op.VALUE
    elif what == at.PUT:
        if c == 0 or mem[row + a] == op.UNSET:
            mem[row + a], mem[row + a + 1] = mem[inputs + b + 1], mem[inputs + b]
    elif what == at.COPY:
        mem[row + a], mem[row + a + 1] = mem[row + b], mem[row + b + 1]
    elif mem[inputs + b + 1] != op.VALUE or mem[inputs + b] == 0:
        return REFUSED
    return HOLDS


@inlined
def operand(mem: Array, kind: int, where: int, row: int, inputs: int) -> int:
    """Where a value stands; if there is none, its tag as a negative number."""
    if kind == at.OF_CONSTANT:
        return where
    if kind == at.OF_INPUT:
        return inputs + where if mem[inputs + where + 1] == op.VALUE else -op.NULL
    tag = mem[row + where]
    if kind == at.OF_COUNT or tag == op.VALUE:
        return row + where + 1
    return -op.FAILED if tag == op.FAILED else -op.NULL


@inlined
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
        return not less and not equal
    return not less


@inlined
def combine(what: int, a: int, stack: Stack, top: int) -> None:
    """An operation on the two values at the top of the stack."""
    if what == op.AND or what == op.OR:
        connect(0 if what == op.AND else 1, stack, top)
    elif what == op.COALESCE:
        coalesce(stack, top)
    else:
        arithmetic(what, a, stack, top)


@inlined
def fold(mem: Array, floats: Array, ranks: Array, a: int, aggregate: int, row: int, value: int, tag: int) -> None:
    """One more value for an aggregate; NULL is left out."""
    place = row + a
    if tag == op.FAILED or mem[place] == op.FAILED:
        mem[place] = op.FAILED
    elif tag == op.VALUE:
        if mem[place] == op.UNSET:
            begin_aggregate(aggregate, cells_of(mem, floats, row), a)
        if aggregate // op.FLAVOURS == op.COUNT:
            mem[place + 1] += 1
        elif aggregate in (FOLD_FLOATS, AVERAGE_FLOATS):
            floats[place + 1] = clean(floats[place + 1] + floats[value])
            if aggregate == AVERAGE_FLOATS:
                mem[place + 2] += 1
        elif aggregate == FOLD_INTEGERS and adds_up(mem[place + 1], mem[value]):
            mem[place + 1] += mem[value]
        else:
            fold_value(aggregate, cells_of(mem, floats, row), a, mem[value], floats[value], 0, ranks)
