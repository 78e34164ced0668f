"""Guards of stars: what goes on with one is entered, what would begin one is kept until all of that is known."""

from __future__ import annotations

from acelera.engine.jit import by_address, by_address_inlined
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out
from acelera.stages.kernel.arriving import arrive
from acelera.stages.kernel.where import DONE, FAILED, GUARDS, LATER, copied, depth_of, edge_of, event_at, step_of
from acelera.stages.raw_memory import fixed, get, put
from acelera.stages.row_sets import added, found


@by_address
def guard_row(mem: int, stage: int, guard: int, registers: int, first: int, size: int) -> bool:
    """A guard, its key by registers, and the events that were taken, as the row at hand; False if that failed."""
    given, row = fixed(mem, at.GUARDS) + guard * t.GUARD_COLUMNS, fixed(mem, at.ROW)
    if fixed(mem, given + t.KEY) < fixed(mem, given + t.KEY_END):
        outcome = carry_out(mem, fixed(mem, given + t.KEY), fixed(mem, given + t.KEY_END), registers, 0)
        if outcome == CODE_FAILED:
            return False
    values = fixed(mem, at.STACK)
    tags = values + 2 * fixed(mem, at.STACK_SIZE)
    put(mem, row, guard)
    end = row + 1
    for index in range(fixed(mem, given + t.KEY_SIZE)):
        tag = get(mem, tags + index)
        if tag == op.FAILED:
            return False
        put(mem, end, tag)
        put(mem, end + 1, get(mem, values + index) if tag == op.VALUE else 0)
        end += 2
    count = taken_events(mem, stage, first, size)
    for index in range(count):
        put(mem, end + index, get(mem, fixed(mem, at.TAKEN) + index))
    for index in range(end + count, row + fixed(mem, at.GUARD_WIDTH)):
        put(mem, index, -1)
    return True


@by_address_inlined
def taken_events(mem: int, stage: int, first: int, size: int) -> int:
    """The events that steps have taken and guards compare, in order, each once; how many there are."""
    taken, count = fixed(mem, at.TAKEN), 0
    for index in range(size):
        if get(mem, step_of(mem, first + index) + t.COUNTS) == 0:
            continue
        event = event_at(mem, stage, get(mem, fixed(mem, at.PLACE) + index))
        double = False
        for before in range(count):
            double = double or get(mem, taken + before) == event
        if not double:
            place = count
            while place > 0 and get(mem, taken + place - 1) > event:
                put(mem, taken + place, get(mem, taken + place - 1))
                place -= 1
            put(mem, taken + place, event)
            count += 1
    return count


@by_address
def enter(mem: int, stage: int, edge: int, size: int) -> int:
    """Enter what an edge loops, by the registers before it."""
    place = edge_of(mem, edge)
    for listed in range(fixed(mem, place + t.LOOPS), fixed(mem, place + t.BEGINS)):
        guard = fixed(mem, fixed(mem, at.GUARDS_LISTED) + listed)
        if not guard_row(mem, stage, guard, get(mem, at.SOURCE), fixed(mem, place + t.STEPS), size):
            return FAILED
        count = get(mem, at.GUARDED)
        if count == fixed(mem, at.GUARDS_ROOM):
            return GUARDS
        table, mask, epoch = fixed(mem, at.GUARDS_TABLE), fixed(mem, at.GUARDS_MASK), get(mem, at.EPOCH)
        if added(
            mem, fixed(mem, at.ROW), fixed(mem, at.GUARD_WIDTH), fixed(mem, at.GUARD_ROWS), count, table, mask, epoch
        ):
            put(mem, at.GUARDED, get(mem, at.GUARDED) + 1)
    return DONE


@by_address
def postpone(mem: int, stage: int, edge: int, size: int) -> int:
    """Keep what begins a guarded star until all loops are entered: the edge, its registers, and what guards ask for."""
    if get(mem, at.POSTPONED) == fixed(mem, at.LATER_ROOM):
        return LATER
    place = edge_of(mem, edge)
    kept = fixed(mem, at.LATER) + get(mem, at.POSTPONED) * fixed(mem, at.LATER_WIDTH)
    put(mem, kept, edge)
    copied(mem, depth_of(mem, size), kept + 1)
    kept += 1 + fixed(mem, at.WIDTH)
    for listed in range(fixed(mem, place + t.BEGINS), fixed(mem, place + t.BEGINS_END)):
        guard, start = fixed(mem, fixed(mem, at.GUARDS_LISTED) + listed), depth_of(mem, 0)
        if not guard_row(mem, stage, guard, start, fixed(mem, place + t.STEPS), size):
            return FAILED
        for index in range(fixed(mem, at.GUARD_WIDTH)):
            put(mem, kept + index, get(mem, fixed(mem, at.ROW) + index))
        kept += fixed(mem, at.GUARD_WIDTH)
    put(mem, at.POSTPONED, get(mem, at.POSTPONED) + 1)
    return DONE


@by_address
def admit(mem: int, stage: int, key: int, first: int) -> int:
    """Let arrive what was postponed and is not refused by a guard."""
    asked = fixed(mem, at.GUARD_WIDTH)
    for number in range(get(mem, at.POSTPONED)):
        kept = fixed(mem, at.LATER) + number * fixed(mem, at.LATER_WIDTH)
        place = edge_of(mem, get(mem, kept))
        refused = False
        row = kept + 1 + fixed(mem, at.WIDTH)
        for _ in range(fixed(mem, place + t.BEGINS), fixed(mem, place + t.BEGINS_END)):
            table, mask, epoch = fixed(mem, at.GUARDS_TABLE), fixed(mem, at.GUARDS_MASK), get(mem, at.EPOCH)
            refused = refused or found(
                mem, row, asked, fixed(mem, at.GUARD_ROWS), get(mem, at.GUARDED), table, mask, epoch
            )
            row += asked
        if not refused:
            put(mem, at.BEGUN, kept + 1)
            lacking = arrive(mem, stage, key, first, 0, fixed(mem, place + t.TARGET))
            if lacking != DONE:
                return lacking
    put(mem, at.POSTPONED, 0)
    return DONE
