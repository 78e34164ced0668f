"""The tables of a machine, as kernels read them."""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array

(
    SOURCE,
    TARGET,
    PREPARE,
    PREPARED,
    ABSENCES,
    ABSENCES_END,
    STEPS,
    STEPS_END,
    TESTS,
    TESTS_END,
    LOOPS,
    BEGINS,
    BEGINS_END,
    SIMPLE,
    EDGE_COLUMNS,
) = range(15)
"""An edge: its states, ranges of instructions, steps and guards; whether configurations may take it together."""

TYPES, TYPES_END, STEP_CODE, STEP_END, FLAG, COUNTS, STEP_COLUMNS = range(7)
"""A step: event types (none if -1), instructions, the flag that forbids it (or -1), whether guards compare it."""

IF, TRIM, TRIM_END, REST, TELLS, TELLS_END, OUTCOME_COLUMNS = range(7)
"""An outcome: instructions of its conditions, those that forget registers, the state (or -1), the heads."""

OUTCOMES, OUTCOMES_END, WAITS, INITIAL, EXPIRES, LIMIT, STATE_COLUMNS = range(7)
"""A state: its outcomes, whether who is there waits, where arrivals of stage 0 are, when one is of no use any more."""

KEY, KEY_END, KEY_SIZE, GUARD_COLUMNS = range(4)
"""A guard: the instructions of its key, and how many values that is."""

HEAD_CODE, HEAD_END, HEAD_SIZE, EVENT, SHOWN, HEAD_COLUMNS = range(6)
"""A head: the instructions of its arguments, how many there are, the event type (or -1), whether it is shown."""


class Plan(NamedTuple):
    """All tables of a machine. `first` and `count` give for a phase and a state a range of `listed` edges."""

    edges: Array
    steps: Array
    absences: Array
    outcomes: Array
    states: Array
    guards: Array
    heads: Array
    listed: Array
    first: Array
    count: Array
    guards_listed: Array
    heads_listed: Array
    repeats: Array
    firsts: Array
