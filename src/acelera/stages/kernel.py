"""The kernel: takes stages one after the other, each with the configurations of its key.

All functions work on the memory of a machine (`layout`), of which `floats` is the same as floats. Registers that are
worked on stand at depths: before any event is taken at 0, after the first one at 1, and so on. SOURCE is where the
configuration stands that an edge leaves; BEGUN is where that is which depth 0 means, the same if nothing was prepared.
"""

from __future__ import annotations

from acelera.engine.jit import Array, inlined, inner, kernel
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.engine.registers.stack_machine import HOLDS, REFUSED
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out
from acelera.stages.row_sets import added, alike, found, hashed

DONE, ROWS, WAITS, EVENTS, TOLD, GUARDS, LATER, ARENA, FAILED, TOO_MANY = range(10)
"""What came of it: all stages were taken, something had no room, an aggregate failed, or there are too many."""


# --- where things are ---------------------------------------------------------------------------------------------


@inlined
def edge_of(mem: Array, edge: int) -> Array:
    """Where an edge stands."""
    return mem[at.EDGES] + edge * t.EDGE_COLUMNS


@inlined
def step_of(mem: Array, step: int) -> Array:
    """Where a step stands."""
    return mem[at.STEPS] + step * t.STEP_COLUMNS


@inlined
def stage_of(mem: Array, stage: int) -> Array:
    """Where a stage stands."""
    return mem[at.STAGES] + stage * at.STAGE_COLUMNS


@inlined
def key_of(mem: Array, key: int) -> Array:
    """Where a key stands."""
    return mem[at.KEYS] + key * at.KEY_COLUMNS


@inlined
def depth_of(mem: Array, depth: int) -> Array:
    """Where the registers at a depth stand."""
    return mem[at.BEGUN] if depth == 0 else mem[at.WORK] + depth * mem[at.WIDTH]


@inlined
def copied(mem: Array, source: int, target: int) -> None:
    """Copy registers."""
    for index in range(mem[at.WIDTH]):
        mem[target + index] = mem[source + index]


@inlined
def event_at(mem: Array, stage: int, place: int) -> Array:
    """The number of an event of a stage: first those that were given, then own ones."""
    begin = mem[stage_of(mem, stage) + at.STAGE_BEGIN]
    given = mem[stage_of(mem, stage) + at.STAGE_END] - begin
    return begin + place if place < given else mem[at.GIVEN] + place - given


# --- arriving -----------------------------------------------------------------------------------------------------


@inlined
def rest(mem: Array, key: int, row: int, state: int) -> int:
    """Let registers rest in a state; DONE, or what has no room."""
    mem[row] = state
    if mem[mem[at.STATES] + state * t.STATE_COLUMNS + t.WAITS] == 1:
        return wait(mem, key, row)
    count, width = mem[at.RESTING], mem[at.WIDTH]
    if count == mem[at.ROWS_ROOM]:
        return ROWS
    table, mask, epoch = mem[at.ROWS_TABLE], mem[at.ROWS_MASK], mem[at.EPOCH]
    if added(mem, row, width, mem[at.ROWS], count, table, mask, epoch):
        mem[at.RESTING] += 1
    return DONE


@inner
def wait(mem: Array, key: int, row: int) -> int:
    """Add registers to those who wait, unless they do; DONE, or what has no room."""
    width, number = mem[at.WIDTH], mem[at.WAITING]
    if number == mem[at.WAITS_ROOM]:
        return WAITS
    stride = width + 2
    place = hashed(mem, row, width, key) & mem[at.WAITS_MASK]
    while mem[mem[at.WAITS_TABLE] + place] >= 0:
        other = mem[at.WAITS] + mem[mem[at.WAITS_TABLE] + place] * stride
        if mem[other + width] == key and alike(mem, row, other, width):
            return DONE
        place = (place + 1) & mem[at.WAITS_MASK]
    mem[mem[at.WAITS_TABLE] + place] = number
    target = mem[at.WAITS] + number * stride
    copied(mem, row, target)
    mem[target + width], mem[target + width + 1] = key, mem[key_of(mem, key) + at.KEY_HEAD]
    mem[key_of(mem, key) + at.KEY_HEAD] = number
    mem[at.WAITING] += 1
    return DONE


@kernel
def find_again(mem: Array) -> None:
    """Fill the table of those who wait, and their lists by key, which are empty."""
    width = mem[at.WIDTH]
    for number in range(mem[at.WAITING]):
        row = mem[at.WAITS] + number * (width + 2)
        key = mem[row + width]
        mem[row + width + 1] = mem[key_of(mem, key) + at.KEY_HEAD]
        mem[key_of(mem, key) + at.KEY_HEAD] = number
        place = hashed(mem, row, width, key) & mem[at.WAITS_MASK]
        while mem[mem[at.WAITS_TABLE] + place] >= 0:
            place = (place + 1) & mem[at.WAITS_MASK]
        mem[mem[at.WAITS_TABLE] + place] = number


@inner
def tell(mem: Array, floats: Array, ranks: Array, stage: int, first: int, registers: int, head: int) -> int:
    """Tell a head; DONE, or what has no room. `first` is the number of what is told first at the stage."""
    given = mem[at.HEADS] + head * t.HEAD_COLUMNS
    outcome = carry_out(mem, floats, ranks, mem[given + t.HEAD_CODE], mem[given + t.HEAD_END], registers, 0)
    if outcome == CODE_FAILED:
        return FAILED
    size, row, values = mem[given + t.HEAD_SIZE], mem[at.ROW], mem[at.STACK]
    tags = values + 2 * mem[at.STACK_SIZE]
    for index in range(size):
        if mem[tags + index] == op.FAILED:
            return FAILED
        there = mem[tags + index] == op.VALUE
        mem[row + 2 + 2 * index] = 1 if there else 0
        mem[row + 3 + 2 * index] = mem[values + index] if there else 0
    if mem[given + t.EVENT] >= 0:
        return happen(mem, stage, mem[given + t.EVENT], size)
    width, count = mem[at.TOLD_WIDTH], mem[at.TOLD_COUNT]
    if count == mem[at.TOLD_ROOM]:
        return TOLD
    for index in range(2 + 2 * size, width):
        mem[row + index] = 0
    mem[row], mem[row + 1] = stage, head
    rows = mem[at.TOLD] + first * width
    if added(mem, row, width, rows, count - first, mem[at.TOLD_TABLE], mem[at.TOLD_MASK], mem[at.EPOCH]):
        mem[at.TOLD_COUNT] += 1
    return DONE


@inner
def happen(mem: Array, stage: int, event: int, size: int) -> int:
    """Add an own event, whose values stand in the row at hand, to those of the stage, unless it is there."""
    row, slots = mem[at.ROW] + 2, 2 * mem[at.SLOTS]
    for other in range(mem[at.GIVEN], mem[at.GIVEN] + mem[at.OWN]):
        if mem[mem[at.TYPES] + other] == event:
            same = True
            for index in range(size):
                inputs = mem[at.INPUTS] + other * slots + 2 * index
                tag = op.VALUE if mem[row + 2 * index] == 1 else op.NULL
                if mem[inputs + 1] != tag or mem[inputs] != mem[row + 2 * index + 1]:
                    same = False
                    break
            if same:
                return DONE
    number = mem[at.GIVEN] + mem[at.OWN]
    if number == mem[at.EVENT_ROOM]:
        return EVENTS
    mem[mem[at.TYPES] + number] = event
    inputs = mem[at.INPUTS] + number * slots
    for index in range(size):
        mem[inputs + 2 * index] = mem[row + 2 * index + 1]
        mem[inputs + 2 * index + 1] = op.VALUE if mem[row + 2 * index] == 1 else op.NULL
    source = mem[at.STAGE_INPUTS] + stage * 2 * mem[at.STAGE_SLOTS]
    for index in range(2 * mem[at.STAGE_SLOTS]):
        mem[inputs + 2 * size + index] = mem[source + index]
    mem[at.OWN] += 1
    return DONE


@inner
def arrive(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, depth: int, state: int) -> int:
    """Meet the outcomes of a state with the registers at a depth; nothing is told if `first` is negative."""
    row = depth_of(mem, depth)
    place = mem[at.STATES] + state * t.STATE_COLUMNS
    end = mem[place + t.OUTCOMES_END]
    for number in range(mem[place + t.OUTCOMES], end):
        given = mem[at.OUTCOMES] + number * t.OUTCOME_COLUMNS
        outcome = HOLDS
        if mem[given + t.IF] < mem[given + t.TRIM]:
            outcome = carry_out(mem, floats, ranks, mem[given + t.IF], mem[given + t.TRIM], row, 0)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome == REFUSED:
            continue
        if mem[given + t.REST] >= 0:
            target = row
            if depth == 0 or number + 1 < end:
                target = depth_of(mem, depth + 1)
                copied(mem, row, target)
            if mem[given + t.TRIM] < mem[given + t.TRIM_END]:
                carry_out(mem, floats, ranks, mem[given + t.TRIM], mem[given + t.TRIM_END], target, 0)
            lacking = rest(mem, key, target, mem[given + t.REST])
            if lacking != DONE:
                return lacking
        if first >= 0:
            for listed in range(mem[given + t.TELLS], mem[given + t.TELLS_END]):
                lacking = tell(mem, floats, ranks, stage, first, row, mem[mem[at.HEADS_LISTED] + listed])
                if lacking != DONE:
                    return lacking
    return DONE


# --- taking events ------------------------------------------------------------------------------------------------


@inner
def next_match(
    mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, last: int, again: bool
) -> int:
    """The next combination of events that steps can take; HOLDS if there is one, with registers at depth last - first.

    `again` goes on after the combination that was found before.
    """
    here = stage_of(mem, stage)
    count = mem[here + at.STAGE_END] - mem[here + at.STAGE_BEGIN] + mem[at.OWN]
    places, size = mem[at.PLACE], last - first
    depth = size - 1 if again else 0
    if not again:
        mem[places] = -1
    while depth >= 0:
        step = step_of(mem, first + depth)
        low, high, flag = mem[step + t.TYPES], mem[step + t.TYPES_END], mem[step + t.FLAG]
        taken = False
        if flag < 0 or (mem[key_of(mem, key) + at.KEY_SEEN] >> flag) & 1 == 0:
            while mem[places + depth] + 1 < count:
                mem[places + depth] += 1
                event = event_at(mem, stage, mem[places + depth])
                if low <= mem[mem[at.TYPES] + event] < high:
                    target = depth_of(mem, depth + 1)
                    copied(mem, depth_of(mem, depth), target)
                    outcome = carry_out(
                        mem, floats, ranks, mem[step + t.STEP_CODE], mem[step + t.STEP_END], target, event
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
            mem[places + depth] = -1
    return REFUSED


@inner
def absent(mem: Array, floats: Array, ranks: Array, stage: int, key: int, absence: int) -> int:
    """Whether there is no combination of events for steps: HOLDS if there is none."""
    place = mem[at.ABSENCES] + 2 * absence
    step = step_of(mem, mem[place])
    if mem[step + t.TYPES] < 0:
        row = depth_of(mem, 0)
        outcome = carry_out(mem, floats, ranks, mem[step + t.STEP_CODE], mem[step + t.STEP_END], row, 0)
    else:
        outcome = next_match(mem, floats, ranks, stage, key, mem[place], mem[place + 1], False)
    if outcome == CODE_FAILED:
        return CODE_FAILED
    return REFUSED if outcome == HOLDS else HOLDS


# --- guards -------------------------------------------------------------------------------------------------------


@inner
def guard_row(
    mem: Array, floats: Array, ranks: Array, stage: int, guard: int, registers: int, first: int, size: int
) -> bool:
    """A guard, its key by registers, and the events that were taken, as the row at hand; False if that failed."""
    given, row = mem[at.GUARDS] + guard * t.GUARD_COLUMNS, mem[at.ROW]
    outcome = carry_out(mem, floats, ranks, mem[given + t.KEY], mem[given + t.KEY_END], registers, 0)
    if outcome == CODE_FAILED:
        return False
    values = mem[at.STACK]
    tags = values + 2 * mem[at.STACK_SIZE]
    mem[row] = guard
    end = row + 1
    for index in range(mem[given + t.KEY_SIZE]):
        tag = mem[tags + index]
        if tag == op.FAILED:
            return False
        mem[end], mem[end + 1] = tag, mem[values + index] if tag == op.VALUE else 0
        end += 2
    count = taken_events(mem, stage, first, size)
    for index in range(count):
        mem[end + index] = mem[mem[at.TAKEN] + index]
    for index in range(end + count, row + mem[at.GUARD_WIDTH]):
        mem[index] = -1
    return True


@inlined
def taken_events(mem: Array, stage: int, first: int, size: int) -> int:
    """The events that steps have taken and guards compare, in order, each once; how many there are."""
    taken, count = mem[at.TAKEN], 0
    for index in range(size):
        if mem[step_of(mem, first + index) + t.COUNTS] == 0:
            continue
        event = event_at(mem, stage, mem[mem[at.PLACE] + index])
        double = False
        for before in range(count):
            double = double or mem[taken + before] == event
        if not double:
            place = count
            while place > 0 and mem[taken + place - 1] > event:
                mem[taken + place] = mem[taken + place - 1]
                place -= 1
            mem[taken + place] = event
            count += 1
    return count


@inner
def enter(mem: Array, floats: Array, ranks: Array, stage: int, edge: int, size: int) -> int:
    """Enter what an edge loops, by the registers before it."""
    place = edge_of(mem, edge)
    for listed in range(mem[place + t.LOOPS], mem[place + t.BEGINS]):
        guard = mem[mem[at.GUARDS_LISTED] + listed]
        if not guard_row(mem, floats, ranks, stage, guard, mem[at.SOURCE], mem[place + t.STEPS], size):
            return FAILED
        count = mem[at.GUARDED]
        if count == mem[at.GUARDS_ROOM]:
            return GUARDS
        table, mask, epoch = mem[at.GUARDS_TABLE], mem[at.GUARDS_MASK], mem[at.EPOCH]
        if added(mem, mem[at.ROW], mem[at.GUARD_WIDTH], mem[at.GUARD_ROWS], count, table, mask, epoch):
            mem[at.GUARDED] += 1
    return DONE


@inner
def postpone(mem: Array, floats: Array, ranks: Array, stage: int, edge: int, size: int) -> int:
    """Keep what begins a guarded star until all loops are entered: the edge, its registers, and what guards ask for."""
    if mem[at.POSTPONED] == mem[at.LATER_ROOM]:
        return LATER
    place = edge_of(mem, edge)
    kept = mem[at.LATER] + mem[at.POSTPONED] * mem[at.LATER_WIDTH]
    mem[kept] = edge
    copied(mem, depth_of(mem, size), kept + 1)
    kept += 1 + mem[at.WIDTH]
    for listed in range(mem[place + t.BEGINS], mem[place + t.BEGINS_END]):
        guard, start = mem[mem[at.GUARDS_LISTED] + listed], depth_of(mem, 0)
        if not guard_row(mem, floats, ranks, stage, guard, start, mem[place + t.STEPS], size):
            return FAILED
        for index in range(mem[at.GUARD_WIDTH]):
            mem[kept + index] = mem[mem[at.ROW] + index]
        kept += mem[at.GUARD_WIDTH]
    mem[at.POSTPONED] += 1
    return DONE


@inner
def admit(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int) -> int:
    """Let arrive what was postponed and is not refused by a guard."""
    asked = mem[at.GUARD_WIDTH]
    for number in range(mem[at.POSTPONED]):
        kept = mem[at.LATER] + number * mem[at.LATER_WIDTH]
        place = edge_of(mem, mem[kept])
        refused = False
        row = kept + 1 + mem[at.WIDTH]
        for _ in range(mem[place + t.BEGINS], mem[place + t.BEGINS_END]):
            table, mask, epoch = mem[at.GUARDS_TABLE], mem[at.GUARDS_MASK], mem[at.EPOCH]
            refused = refused or found(mem, row, asked, mem[at.GUARD_ROWS], mem[at.GUARDED], table, mask, epoch)
            row += asked
        if not refused:
            mem[at.BEGUN] = kept + 1
            lacking = arrive(mem, floats, ranks, stage, key, first, 0, mem[place + t.TARGET])
            if lacking != DONE:
                return lacking
    mem[at.POSTPONED] = 0
    return DONE


# --- edges --------------------------------------------------------------------------------------------------------


@inner
def take(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, edge: int) -> int:
    """Take an edge in all ways, from the registers at the last depth."""
    place = edge_of(mem, edge)
    mem[at.BEGUN] = mem[at.SOURCE]
    if mem[place + t.PREPARE] < mem[place + t.PREPARED]:
        mem[at.BEGUN] = mem[at.WORK]
        copied(mem, mem[at.SOURCE], mem[at.WORK])
        carry_out(mem, floats, ranks, mem[place + t.PREPARE], mem[place + t.PREPARED], mem[at.WORK], 0)
    for absence in range(mem[place + t.ABSENCES], mem[place + t.ABSENCES_END]):
        outcome = absent(mem, floats, ranks, stage, key, absence)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome != HOLDS:
            return DONE
    steps, end = mem[place + t.STEPS], mem[place + t.STEPS_END]
    size, again = end - steps, False
    while True:
        if size > 0:
            outcome = next_match(mem, floats, ranks, stage, key, steps, end, again)
            if outcome == CODE_FAILED:
                return FAILED
            if outcome != HOLDS:
                return DONE
        again = True
        outcome = HOLDS
        if mem[place + t.TESTS] < mem[place + t.TESTS_END]:
            row = depth_of(mem, size)
            outcome = carry_out(mem, floats, ranks, mem[place + t.TESTS], mem[place + t.TESTS_END], row, 0)
        if outcome == CODE_FAILED:
            return FAILED
        if outcome == HOLDS:
            lacking = DONE
            if mem[place + t.LOOPS] < mem[place + t.BEGINS]:
                lacking = enter(mem, floats, ranks, stage, edge, size)
            if lacking == DONE:
                if mem[place + t.BEGINS] < mem[place + t.BEGINS_END]:
                    lacking = postpone(mem, floats, ranks, stage, edge, size)
                else:
                    lacking = arrive(mem, floats, ranks, stage, key, first, size, mem[place + t.TARGET])
            if lacking != DONE:
                return lacking
        if size == 0:
            return DONE


@inner
def leave(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, phase: int, row: int) -> int:
    """Take all edges of a phase from a configuration; a negative row is the start."""
    state = mem[row] if row >= 0 else 0
    cell = phase * mem[at.STATE_COUNT] + state
    count = mem[mem[at.COUNT] + cell]
    if count == 0:
        return DONE
    mem[at.SOURCE] = row if row >= 0 else mem[at.NOTHING]
    begin = mem[mem[at.FIRST] + cell]
    for listed in range(begin, begin + count):
        lacking = take(mem, floats, ranks, stage, key, first, mem[mem[at.LISTED] + listed])
        if lacking != DONE:
            return lacking
    return DONE


@inlined
def expired(mem: Array, stage: int, row: int) -> bool:
    """Whether one who waits is of no use any more."""
    state = mem[at.STATES] + mem[row] * t.STATE_COLUMNS
    place = mem[state + t.EXPIRES]
    if place < 0 or mem[row + place] != op.VALUE:
        return False
    return bool(mem[stage_of(mem, stage) + at.STAGE_TIME] - mem[row + place + 1] > mem[state + t.LIMIT])


@inner
def go(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, phase: int, waiting: int) -> int:
    """Take all edges of a phase, from all configurations of a key; `waiting` is the last of those who wait."""
    lacking = leave(mem, floats, ranks, stage, key, first, phase, -1)
    width, here = mem[at.WIDTH], key_of(mem, key)
    row = mem[at.ARENA] + mem[here + at.KEY_AT] * width
    for _ in range(mem[here + at.KEY_COUNT]):
        if lacking == DONE:
            lacking = leave(mem, floats, ranks, stage, key, first, phase, row)
        row += width
    while waiting >= 0 and lacking == DONE:
        row = mem[at.WAITS] + waiting * (width + 2)
        if not expired(mem, stage, row):
            lacking = leave(mem, floats, ranks, stage, key, first, phase, row)
        waiting = mem[row + width + 1]
    return admit(mem, floats, ranks, stage, key, first) if lacking == DONE else lacking


# --- stages -------------------------------------------------------------------------------------------------------


@inner
def settle(mem: Array, key: int) -> int:
    """The rows of the stage are the configurations of the key from now on."""
    count, here, width = mem[at.RESTING], key_of(mem, key), mem[at.WIDTH]
    if count > mem[here + at.KEY_ROOM]:
        room = 4
        while room < count:
            room *= 2
        if mem[at.USED] + room > mem[at.ARENA_ROOM]:
            return ARENA
        mem[here + at.KEY_AT], mem[here + at.KEY_ROOM] = mem[at.USED], room
        mem[at.USED] += room
    target = mem[at.ARENA] + mem[here + at.KEY_AT] * width
    for index in range(count * width):
        mem[target + index] = mem[mem[at.ROWS] + index]
    mem[here + at.KEY_COUNT] = count
    return DONE


@inlined
def begin_stage(mem: Array) -> None:
    """Nothing is known of a stage yet."""
    mem[at.EPOCH] += 1
    mem[at.RESTING] = mem[at.GUARDED] = mem[at.POSTPONED] = mem[at.OWN] = 0


@inner
def begin_history(mem: Array, floats: Array, ranks: Array, stage: int, key: int) -> int:
    """What is there at stage 0."""
    begin_stage(mem)
    for state in range(mem[at.STATE_COUNT]):
        if mem[mem[at.STATES] + state * t.STATE_COLUMNS + t.INITIAL] == 1:
            mem[at.BEGUN] = mem[at.NOTHING]
            lacking = arrive(mem, floats, ranks, stage, key, -1, 0, state)
            if lacking != DONE:
                return lacking
    lacking = settle(mem, key)
    if lacking == DONE:
        mem[key_of(mem, key) + at.KEY_STAGES] = 1
    return lacking


@inner
def take_stage(mem: Array, floats: Array, ranks: Array, stage: int, key: int, first: int, waiting: int) -> int:
    """All phases of a stage, and its end."""
    begin_stage(mem)
    for phase in range(mem[at.PHASE_COUNT]):
        while True:
            own = mem[at.OWN]
            lacking = go(mem, floats, ranks, stage, key, first, phase, waiting)
            if lacking != DONE:
                return lacking
            if mem[mem[at.REPEATS] + phase] == 0 or mem[at.OWN] == own:
                break
    lacking = settle(mem, key)
    if lacking == DONE:
        for flag in range(mem[at.FIRST_COUNT]):
            for event in range(mem[at.GIVEN], mem[at.GIVEN] + mem[at.OWN]):
                if mem[mem[at.TYPES] + event] == mem[mem[at.FIRSTS] + flag]:
                    mem[key_of(mem, key) + at.KEY_SEEN] |= 1 << flag
        mem[key_of(mem, key) + at.KEY_STAGES] += 1
    return lacking


@kernel
def advance(mem: Array, floats: Array, ranks: Array, stage: int, most: int) -> tuple[int, int]:
    """Take stages from one on. What came of it, and at which stage; one that was not taken leaves no trace."""
    while stage < mem[at.STAGE_COUNT]:
        key = mem[stage_of(mem, stage) + at.STAGE_KEY]
        here = key_of(mem, key)
        first = mem[at.TOLD_COUNT]
        waited, used, head = mem[at.WAITING], mem[at.USED], mem[here + at.KEY_HEAD]
        lacking = DONE
        if mem[here + at.KEY_STAGES] == 0:
            lacking = begin_history(mem, floats, ranks, stage, key)
            if lacking == DONE:
                waited, used, head = mem[at.WAITING], mem[at.USED], mem[here + at.KEY_HEAD]
        if lacking == DONE:
            lacking = take_stage(mem, floats, ranks, stage, key, first, head)
        if lacking != DONE:
            mem[at.TOLD_COUNT], mem[at.WAITING], mem[at.USED] = first, waited, used
            mem[here + at.KEY_HEAD] = head
            return lacking, stage
        if mem[here + at.KEY_COUNT] > most:
            return TOO_MANY, stage
        stage += 1
    return DONE, stage
