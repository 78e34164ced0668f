"""A stretch of a stream that is read alone, and what becomes of many of them.

What comes into a stretch is not known to whoever reads it: partial matches in some sets of states. So it begins with a
slot for each set that can be reached at all, which stands for one partial match that has marked nothing, and follows
what becomes of each apart. At the end it knows, for each of these *rows* and for what begins in it, what ends in it and
which sets are left: a matrix. Matrices are multiplied in the order of the stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.frames import Frame
from acelera.engine.machines.reachable import Reachable
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.nodes.components import COUNT_CELL, NEAR_CELL, REAL_CELL
from acelera.engine.nodes.vector_arena import VectorArena
from acelera.engine.nodes.vectors import UNKNOWN_PART
from acelera.engine.summaries.summary_columns import times
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

MOST_SETS = 64
"""With more, a stretch would follow too much."""
PLACES = 40
"""So many bits of a place tell the number of an event in its slice."""


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
    cells, reals = arena.components
    cells[:size] = 0
    cells[:size, COUNT_CELL], reals[:size, NEAR_CELL], reals[:size, REAL_CELL] = 1, 1.0, 1.0
    groups = np.full((size, arena.shape.parts), UNKNOWN_PART, np.int64)
    groups[:, row_part] = entered + 1
    arena.groups.put(groups)
    arena.places.put(np.column_stack([entered, np.arange(size)]))
    arena.newest[:size], arena.group[:size], arena.count[0] = FAR_PAST, np.arange(size), size
    machine.slots.put(np.arange(size, dtype=np.int32), np.arange(size, dtype=np.int32), size)
