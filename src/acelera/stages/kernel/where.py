"""Where things are in the memory of a machine, and what can come of a step."""

from __future__ import annotations

from acelera.engine.jit import Array, by_address_inlined
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.raw_memory import copy, fixed, get

DONE, ROWS, WAITS, EVENTS, TOLD, GUARDS, LATER, ARENA, FAILED, TOO_MANY = range(10)
"""What came of it: all stages were taken, something had no room, an aggregate failed, or there are too many."""


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
