"""Where things stand in the memory of a machine: one array of numbers, whose first ones say where all else is.

Kernels call each other with one array instead of dozens; that is quicker to compile, and quicker to run.
"""

from __future__ import annotations

(
    # the machine: tables, one row after the other
    EDGES,
    STEPS,
    ABSENCES,
    OUTCOMES,
    STATES,
    GUARDS,
    HEADS,
    LISTED,
    FIRST,
    COUNT,
    GUARDS_LISTED,
    HEADS_LISTED,
    REPEATS,
    FIRSTS,
    CODE,
    # sizes
    STATE_COUNT,
    PHASE_COUNT,
    FIRST_COUNT,
    WIDTH,
    GUARD_WIDTH,
    TOLD_WIDTH,
    SLOTS,
    STAGE_SLOTS,
    # the batch
    TYPES,
    INPUTS,
    GIVEN,
    EVENT_ROOM,
    STAGES,
    STAGE_COUNT,
    STAGE_INPUTS,
    # what is kept
    KEYS,
    ARENA,
    ARENA_ROOM,
    WAITS,
    WAITS_ROOM,
    WAITS_TABLE,
    WAITS_MASK,
    # where a stage is worked on
    ROWS,
    ROWS_ROOM,
    ROWS_TABLE,
    ROWS_MASK,
    GUARD_ROWS,
    GUARDS_ROOM,
    GUARDS_TABLE,
    GUARDS_MASK,
    LATER,
    LATER_ROOM,
    LATER_WIDTH,
    WORK,
    BLOCK,
    NOTHING,
    SOURCE,
    BEGUN,
    PLACE,
    TAKEN,
    ROW,
    STACK,
    STACK_SIZE,
    RANKS,
    RANKS_SIZE,
    TOLD,
    TOLD_ROOM,
    TOLD_TABLE,
    TOLD_MASK,
    # what is counted
    EPOCH,
    SAME,
    RESTING,
    WAITING,
    TOLD_COUNT,
    USED,
    GUARDED,
    POSTPONED,
    OWN,
    HEADER,
) = range(74)

KEY_AT, KEY_COUNT, KEY_ROOM, KEY_OTHER, KEY_SEEN, KEY_STAGES, KEY_HEAD, KEY_COLUMNS = range(8)
"""A key: where its configurations stand in the arena, and where as many more could; flags, how many stages it has had,
and the last who waits.
"""

STAGE_BEGIN, STAGE_END, STAGE_KEY, STAGE_TIME, STAGE_SILENT, STAGE_COLUMNS = range(6)
"""A stage: its events, its key, its time, and how many stages without events come before it."""

OPERATION, A, B, C, LOW, HIGH, TAG, UNLESS, INSTRUCTION = range(9)
"""An instruction, with the two numbers and the tag of a constant."""

TEST, TEST_INPUT, COUNT_ONE, ADD_FLOAT, PUT, COPY, CLEAR, PUSH, PUSH_AVERAGE, SLOWLY = range(100, 110)
"""Instructions that do what several of the register machine do.

TEST requires a comparison (C) of two values, of floats if LOW is 1; which they are, OF_… says (A // 8 and A % 8), and B
and HIGH where they are. It is left out if the register at UNLESS holds nothing. TEST_INPUT requires a truth of the
event. COUNT_ONE and ADD_FLOAT are folds, PUT and COPY stores. PUSH and
PUSH_AVERAGE leave a register or the mean of floats on the stack, at B; SLOWLY stands before instructions of all kinds.
"""

BLOCK_ROWS = 64
"""How many configurations take an edge together at most."""

OF_INPUT, OF_REGISTER, OF_CONSTANT, OF_COUNT = range(4)
