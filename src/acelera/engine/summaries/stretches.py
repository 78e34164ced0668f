"""A stretch of a stream that is read alone, and what becomes of many of them.

What comes into a stretch is not known to whoever reads it: partial matches in some sets of states. So it begins with a
slot for each set that can be reached at all, which stands for one partial match that has marked nothing, and follows
what becomes of each apart. At the end it knows, for each of these *rows* and for what begins in it, what ends in it and
which sets are left: a matrix. Matrices are multiplied in the order of the stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, product
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.automata.contradictions import impossible
from acelera.engine.frames import Frame
from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.machines.transition_table import TransitionTable
from acelera.engine.nodes.vector_arena import VectorArena
from acelera.engine.nodes.vectors import UNKNOWN_PART
from acelera.engine.summaries.columns import times
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

MOST_TESTS, MOST_SETS = 10, 64
"""With more, a stretch would follow too much."""
PLACES = 40
"""So many bits of a place tell the number of an event in its slice."""


@dataclass
class _Letters:
    """All letters that there can be."""

    holding: list[frozenset[int]]


@dataclass(frozen=True)
class Reachable:
    """Sets of states, the first where matches begin, and the numbers of those that partial matches can be in."""

    sets: tuple[frozenset[int], ...]
    entered: tuple[int, ...]


def reachable_sets(strategy: Strategy) -> Reachable | None:
    """The sets of states that partial matches can be in, in one order for all; None if they are too many."""
    plan = strategy.plan
    if not plan.is_table or len(plan.tests) > MOST_TESTS:
        return None
    letters = _Letters([])
    for bits in product((False, True), repeat=len(plan.tests)):
        if not impossible(list(compress(plan.tests, bits))):
            letters.holding.append(frozenset(compress(range(len(plan.tests)), bits)))
    table = TransitionTable(plan, letters)  # type: ignore[arg-type]  # all that it looks at are the letters
    table.make_room()
    number = 0
    while number < len(table.sets):
        for letter in range(len(letters.holding)):
            table.fill(number, letter)
            if len(table.sets) > MOST_SETS:
                return None
        number += 1
    targets = np.unique(table.target[: table.entries])
    return Reachable(tuple(table.sets), tuple(targets[targets >= 0].tolist()))


# --- one of many slices -------------------------------------------------------------------------------------------


@dataclass
class Slice:
    """A part of a stream, with others before and after it.

    Its own matches begin before the tick `end`, and its own windows have a number from the first to the last of
    `windows`; None if all are its own.
    """

    number: int
    end: int | None = None
    windows: tuple[int, int] | None = None
    _before: int = 0  # how many events came before the end

    def places(self, frame: Frame) -> Ints:
        """Where events stand, so that all slices mean the same: the slice an event belongs to, and its number in it."""
        places: Ints = (self.number << PLACES) + frame.positions
        if self.end is None:
            return places
        beyond = times(frame) >= self.end
        self._before += int((~beyond).sum())
        after = ((self.number + 1) << PLACES) + frame.positions - self._before
        return np.where(beyond, after, places)

    def keep_own(self, arena: VectorArena) -> None:
        """Forget hits of matches that begin in another slice; partial matches must be told apart by their start."""
        if self.end is None or not len(arena.hits):
            return
        hits = arena.hits.arrays
        kept = np.flatnonzero(arena.newest[hits.value[: len(arena.hits)]] < self.end)
        if len(kept) < len(arena.hits):
            for each in (hits.value, hits.row, hits.floor):
                each[: len(kept)] = each[kept]
            hits.count[0] = len(kept)

    def owns(self, windows: Ints) -> Ints:
        """Whether windows are its own."""
        if self.windows is None:
            return np.ones(len(windows), np.bool_)
        first, last = self.windows
        return (windows >= first) & (windows <= last)


def seed(arena: VectorArena, machine: TableMachine, reachable: Reachable, row_part: int) -> None:
    """Begin with a slot for each set that partial matches may come in; its row has the number of the set, from 1 on."""
    for states in reachable.sets:
        machine.table.set_number(states)
    entered = np.array(reachable.entered, np.int64)
    size = len(entered)
    while len(arena.newest) < 4 * size:
        arena.enlarge()
    arena.components.whole[:size, 0], arena.components.near[:size, 0] = 1, 1.0
    if arena.components.real.shape[1]:
        arena.components.real[:size, 0] = 1.0
    groups = np.full((size, arena.shape.parts), UNKNOWN_PART, np.int64)
    groups[:, row_part] = entered + 1
    arena.groups.put(groups)
    arena.places.put(np.column_stack([entered, np.arange(size)]))
    arena.newest[:size], arena.group[:size], arena.count[0] = FAR_PAST, np.arange(size), size
    machine.slots.put(np.arange(size, dtype=np.int32), np.arange(size, dtype=np.int32), size)
