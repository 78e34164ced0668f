"""Arriving in a state: configurations rest or wait there, and heads are told."""

from __future__ import annotations

from acelera.engine.jit import by_address, by_address_inlined, compiled
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.engine.registers.stack_machine import HOLDS, REFUSED
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out
from acelera.stages.kernel.where import DONE, EVENTS, FAILED, ROWS, TOLD, WAITS, copied, depth_of, key_of
from acelera.stages.raw_memory import fixed, get, put
from acelera.stages.row_sets import added, alike, hashed


@by_address_inlined
def rest(mem: int, key: int, row: int, state: int) -> int:
    """Let registers rest in a state; DONE, or what has no room."""
    put(mem, row, state)
    if get(mem, fixed(mem, at.STATES) + state * t.STATE_COLUMNS + t.WAITS) == 1:
        return wait(mem, key, row)
    count, width = get(mem, at.RESTING), fixed(mem, at.WIDTH)
    if count == fixed(mem, at.ROWS_ROOM):
        return ROWS
    table, mask, epoch = fixed(mem, at.ROWS_TABLE), fixed(mem, at.ROWS_MASK), get(mem, at.EPOCH)
    if added(mem, row, width, fixed(mem, at.ROWS), count, table, mask, epoch):
        put(mem, at.RESTING, get(mem, at.RESTING) + 1)
    return DONE


@by_address
def wait(mem: int, key: int, row: int) -> int:
    """Add registers to those who wait, unless they do; DONE, or what has no room."""
    width, number = fixed(mem, at.WIDTH), get(mem, at.WAITING)
    if number == fixed(mem, at.WAITS_ROOM):
        return WAITS
    stride = width + 2
    place = hashed(mem, row, width, key) & fixed(mem, at.WAITS_MASK)
    while get(mem, fixed(mem, at.WAITS_TABLE) + place) >= 0:
        other = fixed(mem, at.WAITS) + get(mem, fixed(mem, at.WAITS_TABLE) + place) * stride
        if get(mem, other + width) == key and alike(mem, row, other, width):
            return DONE
        place = (place + 1) & fixed(mem, at.WAITS_MASK)
    put(mem, fixed(mem, at.WAITS_TABLE) + place, number)
    target = fixed(mem, at.WAITS) + number * stride
    copied(mem, row, target)
    put(mem, target + width, key)
    put(mem, target + width + 1, get(mem, key_of(mem, key) + at.KEY_HEAD))
    put(mem, key_of(mem, key) + at.KEY_HEAD, number)
    put(mem, at.WAITING, get(mem, at.WAITING) + 1)
    return DONE


@compiled
def find_again(mem: int) -> None:
    """Fill the table of those who wait, and their lists by key, which are empty."""
    width = fixed(mem, at.WIDTH)
    for number in range(get(mem, at.WAITING)):
        row = fixed(mem, at.WAITS) + number * (width + 2)
        key = get(mem, row + width)
        put(mem, row + width + 1, get(mem, key_of(mem, key) + at.KEY_HEAD))
        put(mem, key_of(mem, key) + at.KEY_HEAD, number)
        place = hashed(mem, row, width, key) & fixed(mem, at.WAITS_MASK)
        while get(mem, fixed(mem, at.WAITS_TABLE) + place) >= 0:
            place = (place + 1) & fixed(mem, at.WAITS_MASK)
        put(mem, fixed(mem, at.WAITS_TABLE) + place, number)


@by_address
def tell(mem: int, stage: int, first: int, registers: int, head: int) -> int:
    """Tell a head; DONE, or what has no room. `first` is the number of what is told first at the stage."""
    given = fixed(mem, at.HEADS) + head * t.HEAD_COLUMNS
    outcome = carry_out(mem, fixed(mem, given + t.HEAD_CODE), fixed(mem, given + t.HEAD_END), registers, 0)
    if outcome == CODE_FAILED:
        return FAILED
    size, row, values = fixed(mem, given + t.HEAD_SIZE), fixed(mem, at.ROW), fixed(mem, at.STACK)
    tags = values + 2 * fixed(mem, at.STACK_SIZE)
    for index in range(size):
        if get(mem, tags + index) == op.FAILED:
            return FAILED
        there = get(mem, tags + index) == op.VALUE
        put(mem, row + 2 + 2 * index, 1 if there else 0)
        put(mem, row + 3 + 2 * index, get(mem, values + index) if there else 0)
    if fixed(mem, given + t.EVENT) >= 0:
        return happen(mem, stage, fixed(mem, given + t.EVENT), size)
    width, count = fixed(mem, at.TOLD_WIDTH), get(mem, at.TOLD_COUNT)
    if count == fixed(mem, at.TOLD_ROOM):
        return TOLD
    for index in range(2 + 2 * size, width):
        put(mem, row + index, 0)
    put(mem, row, stage)
    put(mem, row + 1, head)
    rows = fixed(mem, at.TOLD) + first * width
    if added(
        mem, row, width, rows, count - first, fixed(mem, at.TOLD_TABLE), fixed(mem, at.TOLD_MASK), get(mem, at.EPOCH)
    ):
        put(mem, at.TOLD_COUNT, get(mem, at.TOLD_COUNT) + 1)
    return DONE


@by_address_inlined
def tell_all(mem: int, stage: int, first: int, registers: int, outcome: int) -> int:
    """Tell the heads of an outcome, which stands at a place; DONE, or what has no room."""
    for listed in range(fixed(mem, outcome + t.TELLS), fixed(mem, outcome + t.TELLS_END)):
        lacking = tell(mem, stage, first, registers, fixed(mem, fixed(mem, at.HEADS_LISTED) + listed))
        if lacking != DONE:
            return lacking
    return DONE


@by_address
def happen(mem: int, stage: int, event: int, size: int) -> int:
    """Add an own event, whose values stand in the row at hand, to those of the stage, unless it is there."""
    row, slots = fixed(mem, at.ROW) + 2, 2 * fixed(mem, at.SLOTS)
    for other in range(fixed(mem, at.GIVEN), fixed(mem, at.GIVEN) + get(mem, at.OWN)):
        if get(mem, fixed(mem, at.TYPES) + other) == event:
            same = True
            for index in range(size):
                inputs = fixed(mem, at.INPUTS) + other * slots + 2 * index
                tag = op.VALUE if get(mem, row + 2 * index) == 1 else op.NULL
                if get(mem, inputs + 1) != tag or get(mem, inputs) != get(mem, row + 2 * index + 1):
                    same = False
                    break
            if same:
                return DONE
    number = fixed(mem, at.GIVEN) + get(mem, at.OWN)
    if number == fixed(mem, at.EVENT_ROOM):
        return EVENTS
    put(mem, fixed(mem, at.TYPES) + number, event)
    inputs = fixed(mem, at.INPUTS) + number * slots
    for index in range(size):
        put(mem, inputs + 2 * index, get(mem, row + 2 * index + 1))
        put(mem, inputs + 2 * index + 1, op.VALUE if get(mem, row + 2 * index) == 1 else op.NULL)
    source = fixed(mem, at.STAGE_INPUTS) + stage * 2 * fixed(mem, at.STAGE_SLOTS)
    for index in range(2 * fixed(mem, at.STAGE_SLOTS)):
        put(mem, inputs + 2 * size + index, get(mem, source + index))
    put(mem, at.OWN, get(mem, at.OWN) + 1)
    return DONE


@by_address
def arrive(mem: int, stage: int, key: int, first: int, depth: int, state: int) -> int:
    """Meet the outcomes of a state with the registers at a depth; nothing is told if `first` is negative."""
    row = depth_of(mem, depth)
    place = fixed(mem, at.STATES) + state * t.STATE_COLUMNS
    end = fixed(mem, place + t.OUTCOMES_END)
    for number in range(fixed(mem, place + t.OUTCOMES), end):
        given = fixed(mem, at.OUTCOMES) + number * t.OUTCOME_COLUMNS
        outcome = HOLDS
        if fixed(mem, given + t.IF) < fixed(mem, given + t.TRIM):
            outcome = carry_out(mem, fixed(mem, given + t.IF), fixed(mem, given + t.TRIM), row, 0)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome == REFUSED:
            continue
        if fixed(mem, given + t.REST) >= 0:
            target = row
            if depth == 0 or number + 1 < end:
                target = depth_of(mem, depth + 1)
                copied(mem, row, target)
            if fixed(mem, given + t.TRIM) < fixed(mem, given + t.TRIM_END):
                carry_out(mem, fixed(mem, given + t.TRIM), fixed(mem, given + t.TRIM_END), target, 0)
            lacking = rest(mem, key, target, fixed(mem, given + t.REST))
            if lacking != DONE:
                return lacking
        if first >= 0:
            lacking = tell_all(mem, stage, first, row, given)
            if lacking != DONE:
                return lacking
    return DONE
