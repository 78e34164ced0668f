"""Stages one after the other, each with the configurations of its key."""

from __future__ import annotations

from acelera.engine.jit import by_address, by_address_inlined, compiled
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.kernel.arriving import arrive
from acelera.stages.kernel.leaving import go
from acelera.stages.kernel.where import ARENA, DONE, TOO_MANY, key_of, stage_of
from acelera.stages.raw_memory import copy, fixed, get, put
from acelera.stages.row_sets import alike


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
