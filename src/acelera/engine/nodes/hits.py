"""Hits: where matches end, with what the algebra holds of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import Array, inlined
from acelera.engine.storage.growing import grown_group

Ints = npt.NDArray[Any]


class HitArrays(NamedTuple):
    """For each hit its value, the row at which its matches end, and the floor there; `count` is how many there are."""

    value: Array
    row: Array
    floor: Array
    count: Array


@inlined
def add_hit(hits: HitArrays, value: Array, row: int, floor: int) -> None:
    """The matches of a value end at a row; there must be room."""
    hit = hits.count[0]
    place = np.uint64(hit)
    hits.value[place], hits.row[place], hits.floor[place] = value, row, floor
    hits.count[0] = hit + 1


class Hits:
    """The hits that wait to be taken."""

    def __init__(self, size: int, kind: Any) -> None:
        values, rows, floors = np.empty(size, kind), np.empty(size, np.int32), np.empty(size, np.int64)
        self.arrays = HitArrays(values, rows, floors, np.zeros(1, np.int64))

    def __len__(self) -> int:
        return int(self.arrays.count[0])

    def add(self, value: int, row: int, floor: int) -> None:
        """The matches of a value end at a row."""
        if len(self) == len(self.arrays.row):
            self.make_room()
        hit = len(self)
        self.arrays.value[hit], self.arrays.row[hit], self.arrays.floor[hit] = value, row, floor
        self.arrays.count[0] = hit + 1

    def put(self, values: Any, rows: Any, floors: Any) -> None:
        """These hits and no others; there must be room."""
        size = len(values)
        self.arrays.value[:size], self.arrays.row[:size], self.arrays.floor[:size] = values, rows, floors
        self.arrays.count[0] = size

    def clear(self) -> None:
        """Forget all of them."""
        self.arrays.count[0] = 0

    def make_room(self) -> None:
        """For twice as many."""
        self.arrays = grown_group(self.arrays, 2 * len(self.arrays.row))
