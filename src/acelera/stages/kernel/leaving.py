"""Leaving a state: edges are taken, one configuration at a time, or many together."""

from __future__ import annotations

from acelera.engine.jit import by_address, by_address_inlined
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.engine.registers.stack_machine import HOLDS
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out, carry_out_here, carry_out_on_all
from acelera.stages.kernel.arriving import arrive, rest, tell_all
from acelera.stages.kernel.choosing import absent, next_match
from acelera.stages.kernel.guarding import admit, enter, postpone
from acelera.stages.kernel.where import DONE, FAILED, copied, depth_of, edge_of, event_at, key_of, stage_of, step_of
from acelera.stages.raw_memory import copy, fixed, get, put


@by_address
def take(mem: int, stage: int, key: int, first: int, edge: int) -> int:
    """Take an edge in all ways, from the registers at the last depth."""
    place = edge_of(mem, edge)
    put(mem, at.BEGUN, get(mem, at.SOURCE))
    if fixed(mem, place + t.PREPARE) < fixed(mem, place + t.PREPARED):
        put(mem, at.BEGUN, fixed(mem, at.WORK))
        copied(mem, get(mem, at.SOURCE), fixed(mem, at.WORK))
        carry_out(mem, fixed(mem, place + t.PREPARE), fixed(mem, place + t.PREPARED), fixed(mem, at.WORK), 0)
    for absence in range(fixed(mem, place + t.ABSENCES), fixed(mem, place + t.ABSENCES_END)):
        outcome = absent(mem, stage, key, absence)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome != HOLDS:
            return DONE
    steps, end = fixed(mem, place + t.STEPS), fixed(mem, place + t.STEPS_END)
    size, again = (end - steps, False)
    while True:
        if size > 0:
            outcome = next_match(mem, stage, key, steps, end, again)
            if outcome == CODE_FAILED:
                return FAILED
            if outcome != HOLDS:
                return DONE
        again = True
        outcome = HOLDS
        if fixed(mem, place + t.TESTS) < fixed(mem, place + t.TESTS_END):
            row = depth_of(mem, size)
            outcome = carry_out(mem, fixed(mem, place + t.TESTS), fixed(mem, place + t.TESTS_END), row, 0)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome == HOLDS:
            lacking = DONE
            if fixed(mem, place + t.LOOPS) < fixed(mem, place + t.BEGINS):
                lacking = enter(mem, stage, edge, size)
            if lacking == DONE:
                if fixed(mem, place + t.BEGINS) < fixed(mem, place + t.BEGINS_END):
                    lacking = postpone(mem, stage, edge, size)
                else:
                    lacking = arrive(mem, stage, key, first, size, fixed(mem, place + t.TARGET))
            if lacking != DONE:
                return lacking
        if size == 0:
            return DONE


@by_address
def leave(mem: int, stage: int, key: int, first: int, phase: int, row: int, count: int) -> int:
    """Take all edges of a phase from configurations of one state that stand one after the other."""
    cell = phase * fixed(mem, at.STATE_COUNT) + get(mem, row)
    begin = fixed(mem, fixed(mem, at.FIRST) + cell)
    for listed in range(begin, begin + fixed(mem, fixed(mem, at.COUNT) + cell)):
        edge = fixed(mem, fixed(mem, at.LISTED) + listed)
        lacking = DONE
        if get(mem, edge_of(mem, edge) + t.SIMPLE) == 1:
            lacking = take_together(mem, stage, key, first, edge, row, count)
        else:
            for number in range(count):
                if lacking == DONE:
                    put(mem, at.SOURCE, row + number * fixed(mem, at.WIDTH))
                    lacking = take(mem, stage, key, first, edge)
        if lacking != DONE:
            return lacking
    return DONE


@by_address
def take_together(mem: int, stage: int, key: int, first: int, edge: int, row: int, count: int) -> int:
    """Let configurations that stand one after the other take an edge that asks for one event."""
    place = edge_of(mem, edge)
    step, state = step_of(mem, fixed(mem, place + t.STEPS)), fixed(mem, place + t.TARGET)
    low, high = fixed(mem, step + t.TYPES), fixed(mem, step + t.TYPES_END)
    here, width, block = stage_of(mem, stage), fixed(mem, at.WIDTH), fixed(mem, at.BLOCK)
    events = fixed(mem, here + at.STAGE_END) - fixed(mem, here + at.STAGE_BEGIN) + get(mem, at.OWN)
    for number in range(events):
        event = event_at(mem, stage, number)
        if low <= get(mem, fixed(mem, at.TYPES) + event) < high:
            inputs = fixed(mem, at.INPUTS) + 2 * event * fixed(mem, at.SLOTS)
            for begin in range(0, count, at.BLOCK_ROWS):
                size = min(count - begin, at.BLOCK_ROWS)
                copy(mem, row + begin * width, block, size * width)
                code, end = fixed(mem, place + t.PREPARE), fixed(mem, place + t.PREPARED)
                if code < end:
                    carry_out_on_all(mem, code, end, block, size, inputs)
                code, end = fixed(mem, step + t.STEP_CODE), fixed(mem, step + t.STEP_END)
                size = carry_out_on_all(mem, code, end, block, size, inputs)
                if size < 0:
                    return FAILED
                lacking = arrive_together(mem, stage, key, first, block, size, state)
                if lacking != DONE:
                    return lacking
    return DONE


@by_address
def arrive_together(mem: int, stage: int, key: int, first: int, block: int, count: int, state: int) -> int:
    """Meet the outcomes of a state, whose instructions are quick, with rows of registers."""
    width = fixed(mem, at.WIDTH)
    place = fixed(mem, at.STATES) + state * t.STATE_COLUMNS
    end = fixed(mem, place + t.OUTCOMES_END)
    for number in range(fixed(mem, place + t.OUTCOMES), end):
        given = fixed(mem, at.OUTCOMES) + number * t.OUTCOME_COLUMNS
        asks = fixed(mem, given + t.IF) < fixed(mem, given + t.TRIM)
        rests = number + 1 == end and not asks and fixed(mem, given + t.REST) >= 0
        trim, trimmed = fixed(mem, given + t.TRIM), fixed(mem, given + t.TRIM_END)
        if rests and trim < trimmed:
            carry_out_on_all(mem, trim, trimmed, block, count, 0)
        for index in range(count):
            row = block + index * width
            outcome = carry_out_here(mem, fixed(mem, given + t.IF), trim, row) if asks else HOLDS
            if outcome == CODE_FAILED:
                return FAILED
            if outcome != HOLDS:
                continue
            lacking = DONE
            if rests:
                lacking = rest(mem, key, row, fixed(mem, given + t.REST))
            else:
                lacking = meet(mem, stage, key, first, row, number)
            if lacking != DONE:
                return lacking
    return DONE


@by_address
def meet(mem: int, stage: int, key: int, first: int, row: int, number: int) -> int:
    """Meet an outcome whose conditions hold; the registers are left as they are."""
    given = fixed(mem, at.OUTCOMES) + number * t.OUTCOME_COLUMNS
    if fixed(mem, given + t.REST) >= 0:
        target = fixed(mem, at.WORK)
        copied(mem, row, target)
        if fixed(mem, given + t.TRIM) < fixed(mem, given + t.TRIM_END):
            carry_out(mem, fixed(mem, given + t.TRIM), fixed(mem, given + t.TRIM_END), target, 0)
        lacking = rest(mem, key, target, fixed(mem, given + t.REST))
        if lacking != DONE:
            return lacking
    return tell_all(mem, stage, first, row, given)


@by_address_inlined
def expired(mem: int, stage: int, row: int) -> bool:
    """Whether one who waits is of no use any more."""
    state = fixed(mem, at.STATES) + get(mem, row) * t.STATE_COLUMNS
    place = fixed(mem, state + t.EXPIRES)
    if place < 0 or get(mem, row + place) != op.VALUE:
        return False
    return bool(
        fixed(mem, stage_of(mem, stage) + at.STAGE_TIME) - get(mem, row + place + 1) > fixed(mem, state + t.LIMIT)
    )


@by_address
def go(mem: int, stage: int, key: int, first: int, phase: int, waiting: int) -> int:
    """Take all edges of a phase, from all configurations of a key; `waiting` is the last of those who wait."""
    lacking = leave(mem, stage, key, first, phase, fixed(mem, at.NOTHING), 1)
    width, here = fixed(mem, at.WIDTH), key_of(mem, key)
    row = fixed(mem, at.ARENA) + get(mem, here + at.KEY_AT) * width
    end = row + get(mem, here + at.KEY_COUNT) * width
    while row < end and lacking == DONE:
        begin = row
        while row < end and get(mem, row) == get(mem, begin):
            row += width
        lacking = leave(mem, stage, key, first, phase, begin, (row - begin) // width)
    while waiting >= 0 and lacking == DONE:
        row = fixed(mem, at.WAITS) + waiting * (width + 2)
        if not expired(mem, stage, row):
            lacking = leave(mem, stage, key, first, phase, row, 1)
        waiting = get(mem, row + width + 1)
    return admit(mem, stage, key, first) if lacking == DONE else lacking
