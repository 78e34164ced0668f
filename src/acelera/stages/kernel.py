"""The kernel: takes stages one after the other, each with the configurations of its key.

All functions work on the memory of a machine (`layout`), given by its address. Registers that are worked on stand at
depths: before any event is taken at 0, after the first one at 1, and so on. SOURCE is where the configuration stands
that an edge leaves; BEGUN is where that is which depth 0 means, the same if nothing was prepared.
"""

from __future__ import annotations

from acelera.engine.jit import Array, by_address, by_address_inlined, compiled
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.engine.registers.stack_machine import HOLDS, REFUSED
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out, carry_out_here, carry_out_on_all
from acelera.stages.raw_memory import copy, fixed, get, put
from acelera.stages.row_sets import added, alike, found, hashed

DONE, ROWS, WAITS, EVENTS, TOLD, GUARDS, LATER, ARENA, FAILED, TOO_MANY = range(10)
"""What came of it: all stages were taken, something had no room, an aggregate failed, or there are too many."""


# --- where things are -------------------------------------------------------------------------------------------------


@by_address_inlined
def edge_of(mem: int, edge: int) -> Array:
    """Where an edge stands."""
    return fixed(mem, at.EDGES) + edge * t.EDGE_COLUMNS


@by_address_inlined
def step_of(mem: int, step: int) -> Array:
    """Where a step stands."""
    return fixed(mem, at.STEPS) + step * t.STEP_COLUMNS


@by_address_inlined
def stage_of(mem: int, stage: int) -> Array:
    """Where a stage stands."""
    return fixed(mem, at.STAGES) + stage * at.STAGE_COLUMNS


@by_address_inlined
def key_of(mem: int, key: int) -> Array:
    """Where a key stands."""
    return fixed(mem, at.KEYS) + key * at.KEY_COLUMNS


@by_address_inlined
def depth_of(mem: int, depth: int) -> Array:
    """Where the registers at a depth stand."""
    return get(mem, at.BEGUN) if depth == 0 else fixed(mem, at.WORK) + depth * fixed(mem, at.WIDTH)


@by_address_inlined
def copied(mem: int, source: int, target: int) -> None:
    """Copy registers."""
    copy(mem, source, target, fixed(mem, at.WIDTH))


@by_address_inlined
def event_at(mem: int, stage: int, place: int) -> Array:
    """The number of an event of a stage: first those that were given, then own ones."""
    begin = fixed(mem, stage_of(mem, stage) + at.STAGE_BEGIN)
    given = fixed(mem, stage_of(mem, stage) + at.STAGE_END) - begin
    return begin + place if place < given else fixed(mem, at.GIVEN) + place - given


# --- arriving ---------------------------------------------------------------------------------------------------------


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
            for listed in range(fixed(mem, given + t.TELLS), fixed(mem, given + t.TELLS_END)):
                lacking = tell(mem, stage, first, row, fixed(mem, fixed(mem, at.HEADS_LISTED) + listed))
                if lacking != DONE:
                    return lacking
    return DONE


# --- taking events ----------------------------------------------------------------------------------------------------


@by_address
def next_match(mem: int, stage: int, key: int, first: int, last: int, again: bool) -> int:
    """The next combination of events that steps can take; HOLDS if there is one, with registers at depth last - first.

    `again` goes on after the combination that was found before.
    """
    here = stage_of(mem, stage)
    count = fixed(mem, here + at.STAGE_END) - fixed(mem, here + at.STAGE_BEGIN) + get(mem, at.OWN)
    places, size = fixed(mem, at.PLACE), last - first
    depth = size - 1 if again else 0
    if not again:
        put(mem, places, -1)
    while depth >= 0:
        step = step_of(mem, first + depth)
        low, high, flag = fixed(mem, step + t.TYPES), fixed(mem, step + t.TYPES_END), fixed(mem, step + t.FLAG)
        taken = False
        if flag < 0 or get(mem, key_of(mem, key) + at.KEY_SEEN) >> flag & 1 == 0:
            while get(mem, places + depth) + 1 < count:
                put(mem, places + depth, get(mem, places + depth) + 1)
                event = event_at(mem, stage, get(mem, places + depth))
                if low <= get(mem, fixed(mem, at.TYPES) + event) < high:
                    target = depth_of(mem, depth + 1)
                    copied(mem, depth_of(mem, depth), target)
                    outcome = carry_out(
                        mem, fixed(mem, step + t.STEP_CODE), fixed(mem, step + t.STEP_END), target, event
                    )
                    if outcome == CODE_FAILED:
                        return CODE_FAILED
                    if outcome == HOLDS:
                        taken = True
                        break
        if not taken:
            depth -= 1
        elif depth == size - 1:
            return HOLDS
        else:
            depth += 1
            put(mem, places + depth, -1)
    return REFUSED


@by_address
def absent(mem: int, stage: int, key: int, absence: int) -> int:
    """Whether there is no combination of events for steps: HOLDS if there is none."""
    place = fixed(mem, at.ABSENCES) + 2 * absence
    step = step_of(mem, get(mem, place))
    if fixed(mem, step + t.TYPES) < 0:
        row = depth_of(mem, 0)
        outcome = carry_out(mem, fixed(mem, step + t.STEP_CODE), fixed(mem, step + t.STEP_END), row, 0)
    else:
        outcome = next_match(mem, stage, key, get(mem, place), get(mem, place + 1), False)
    if outcome == CODE_FAILED:
        return CODE_FAILED
    return REFUSED if outcome == HOLDS else HOLDS


# --- guards -----------------------------------------------------------------------------------------------------------


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


# --- edges ------------------------------------------------------------------------------------------------------------


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
    for listed in range(fixed(mem, given + t.TELLS), fixed(mem, given + t.TELLS_END)):
        lacking = tell(mem, stage, first, row, fixed(mem, fixed(mem, at.HEADS_LISTED) + listed))
        if lacking != DONE:
            return lacking
    return DONE


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


# --- stages -----------------------------------------------------------------------------------------------------------


@by_address
def settle(mem: int, key: int) -> int:
    """The rows of the stage are the configurations of the key from now on."""
    count, here, width = get(mem, at.RESTING), key_of(mem, key), fixed(mem, at.WIDTH)
    if count > get(mem, here + at.KEY_ROOM):
        room = 4
        while room < count:
            room *= 2
        if get(mem, at.USED) + 2 * room > fixed(mem, at.ARENA_ROOM):
            return ARENA
        put(mem, here + at.KEY_AT, get(mem, at.USED))
        put(mem, here + at.KEY_OTHER, get(mem, at.USED) + room)
        put(mem, here + at.KEY_ROOM, room)
        put(mem, at.USED, get(mem, at.USED) + 2 * room)
    target = fixed(mem, at.ARENA) + get(mem, here + at.KEY_AT) * width
    same = count == get(mem, here + at.KEY_COUNT) and alike(mem, fixed(mem, at.ROWS), target, count * width)
    put(mem, at.SAME, 1 if same else 0)
    copy(mem, fixed(mem, at.ROWS), target, count * width)
    put(mem, here + at.KEY_COUNT, count)
    return DONE


@by_address_inlined
def begin_stage(mem: int) -> None:
    """Nothing is known of a stage yet."""
    put(mem, at.EPOCH, get(mem, at.EPOCH) + 1)
    put(mem, at.RESTING, 0)
    put(mem, at.GUARDED, 0)
    put(mem, at.POSTPONED, 0)
    put(mem, at.OWN, 0)


@by_address
def begin_history(mem: int, stage: int, key: int) -> int:
    """What is there at stage 0."""
    begin_stage(mem)
    for state in range(fixed(mem, at.STATE_COUNT)):
        if get(mem, fixed(mem, at.STATES) + state * t.STATE_COLUMNS + t.INITIAL) == 1:
            put(mem, at.BEGUN, fixed(mem, at.NOTHING))
            lacking = arrive(mem, stage, key, -1, 0, state)
            if lacking != DONE:
                return lacking
    lacking = settle(mem, key)
    if lacking == DONE:
        put(mem, key_of(mem, key) + at.KEY_STAGES, 1)
    return lacking


@by_address
def take_stage(mem: int, stage: int, key: int, first: int, waiting: int) -> int:
    """All phases of a stage, and its end."""
    begin_stage(mem)
    for phase in range(fixed(mem, at.PHASE_COUNT)):
        while True:
            own = get(mem, at.OWN)
            lacking = go(mem, stage, key, first, phase, waiting)
            if lacking != DONE:
                return lacking
            if fixed(mem, fixed(mem, at.REPEATS) + phase) == 0 or get(mem, at.OWN) == own:
                break
    lacking = settle(mem, key)
    if lacking == DONE:
        for flag in range(fixed(mem, at.FIRST_COUNT)):
            for event in range(fixed(mem, at.GIVEN), fixed(mem, at.GIVEN) + get(mem, at.OWN)):
                if get(mem, fixed(mem, at.TYPES) + event) == fixed(mem, fixed(mem, at.FIRSTS) + flag):
                    put(mem, key_of(mem, key) + at.KEY_SEEN, get(mem, key_of(mem, key) + at.KEY_SEEN) | 1 << flag)
        put(mem, key_of(mem, key) + at.KEY_STAGES, get(mem, key_of(mem, key) + at.KEY_STAGES) + 1)
    return lacking


@compiled
def advance(mem: int, stage: int, end: int, most: int) -> tuple[int, int]:
    """Take stages from one to another. What came of it, and at which stage; one that was not taken leaves no trace."""
    while stage < end:
        key = fixed(mem, stage_of(mem, stage) + at.STAGE_KEY)
        here = key_of(mem, key)
        first = get(mem, at.TOLD_COUNT)
        waited, used, head = get(mem, at.WAITING), get(mem, at.USED), get(mem, here + at.KEY_HEAD)
        lacking = DONE
        if get(mem, here + at.KEY_STAGES) == 0:
            lacking = begin_history(mem, stage, key)
            if lacking == DONE:
                waited, used, head = get(mem, at.WAITING), get(mem, at.USED), get(mem, here + at.KEY_HEAD)
        silent = get(mem, stage_of(mem, stage) + at.STAGE_SILENT)
        while silent > 0 and lacking == DONE:
            lacking = take_stage(mem, fixed(mem, at.STAGE_COUNT), key, -1, head)
            if lacking == DONE:
                waited, used, head = get(mem, at.WAITING), get(mem, at.USED), get(mem, here + at.KEY_HEAD)
                silent = 0 if get(mem, at.SAME) == 1 else silent - 1
                put(mem, stage_of(mem, stage) + at.STAGE_SILENT, silent)
        if lacking == DONE:
            lacking = take_stage(mem, stage, key, first, head)
        if lacking != DONE:
            put(mem, at.TOLD_COUNT, first)
            put(mem, at.WAITING, waited)
            put(mem, at.USED, used)
            put(mem, here + at.KEY_HEAD, head)
            return (lacking, stage)
        if get(mem, here + at.KEY_COUNT) > most:
            return (TOO_MANY, stage)
        stage += 1
    return (DONE, stage)
