"""Which events of a stage an edge can take, or must not find."""

from __future__ import annotations

from acelera.engine.jit import by_address
from acelera.engine.registers.stack_machine import FAILED as CODE_FAILED
from acelera.engine.registers.stack_machine import HOLDS, REFUSED
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.executing import carry_out
from acelera.stages.kernel.where import copied, depth_of, event_at, key_of, stage_of, step_of
from acelera.stages.raw_memory import fixed, get, put


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
