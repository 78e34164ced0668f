"""Keys that are whole numbers, found at once: most that come have come before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import Array, kernel

Ints = npt.NDArray[Any]

_FIRST_SIZE = 64
_MIXING = 0x9E3779B97F4A7C15


def is_whole(column: Any) -> bool:
    """Whether a column has whole numbers, and no NULL."""
    kind = column.type
    return bool(pa.types.is_integer(kind)) and not pa.types.is_uint64(kind) and column.null_count == 0


class WholeNumbers:
    """Whole numbers that are known, and the key of each."""

    def __init__(self) -> None:
        self._values, self._keys = np.zeros(_FIRST_SIZE, np.int64), np.full(_FIRST_SIZE, -1, np.int64)
        self._count = 0

    def numbers(self, column: Any, new: Callable[[Any], Ints]) -> Ints:
        """The key of each value of a column; `new` tells those of values that are not known yet."""
        values = np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False))
        found = np.empty(len(values), np.int64)
        if look_up(values, self._values, self._keys, found):
            others = np.unique(values[found < 0])
            self._add(others, new(pa.array(others).cast(column.type)).astype(np.int64))
            look_up(values, self._values, self._keys, found)
        return found

    def _add(self, values: Ints, keys: Ints) -> None:
        self._count += len(values)
        if 2 * self._count > len(self._keys):
            there = self._keys >= 0
            values, keys = np.concatenate((self._values[there], values)), np.concatenate((self._keys[there], keys))
            size = 1 << (4 * self._count).bit_length()
            self._values, self._keys = np.zeros(size, np.int64), np.full(size, -1, np.int64)
        hold(values, keys, self._values, self._keys)


@kernel
def look_up(values: Array, known: Array, keys: Array, found: Array) -> int:
    """The key of each value, -1 if it is not known; how many are not."""
    mask, unknown = len(keys) - 1, 0
    for i in range(len(values)):
        place = np.int64(np.uint64(values[i]) * np.uint64(_MIXING) >> np.uint64(32)) & mask
        while keys[place] >= 0 and known[place] != values[i]:
            place = (place + 1) & mask
        found[i] = keys[place]
        if keys[place] < 0:
            unknown += 1
    return unknown


@kernel
def hold(values: Array, numbers: Array, known: Array, keys: Array) -> None:
    """Hold values that are not known yet, with their keys."""
    mask = len(keys) - 1
    for i in range(len(values)):
        place = np.int64(np.uint64(values[i]) * np.uint64(_MIXING) >> np.uint64(32)) & mask
        while keys[place] >= 0:
            place = (place + 1) & mask
        known[place], keys[place] = values[i], numbers[i]
