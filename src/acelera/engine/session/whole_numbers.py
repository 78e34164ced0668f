"""Keys that are whole numbers, found at once: most that come have come before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import AHEAD, Array, inlined, kernel, prefetch

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
            unknown = found < 0
            others = values[unknown]
            found[unknown] = new(pa.array(others).cast(column.type))
            self._add(others, found[unknown])
        return found

    def keep(self, moved: Ints) -> None:
        """Only what has a key that is left; `moved` tells for each of them where it went, or that it is gone."""
        there = np.flatnonzero(self._keys >= 0)
        keys = moved[self._keys[there]]
        there, keys = there[keys >= 0], keys[keys >= 0]
        values, self._count = self._values[there], 0
        self._values, self._keys = np.zeros(_FIRST_SIZE, np.int64), np.full(_FIRST_SIZE, -1, np.int64)
        self._add(values, keys)

    def _add(self, values: Ints, keys: Ints) -> None:
        size = len(self._keys)
        if 2 * (self._count + len(values)) > size:
            there = self._keys >= 0
            values, keys = np.concatenate((self._values[there], values)), np.concatenate((self._keys[there], keys))
            size, self._count = 1 << (3 * len(values)).bit_length(), 0
            self._values, self._keys = np.zeros(size, np.int64), np.full(size, -1, np.int64)
        self._count += hold(values, keys, self._values, self._keys)


@inlined
def place_of(value: int, mask: int) -> Array:
    """Where a value is looked for first."""
    return np.int64(np.uint64(value) * np.uint64(_MIXING) >> np.uint64(32)) & mask


@kernel
def look_up(values: Array, known: Array, keys: Array, found: Array) -> int:
    """The key of each value, -1 if it is not known; how many are not."""
    mask, unknown = len(keys) - 1, 0
    for i in range(len(values)):
        soon = place_of(values[min(i + AHEAD, len(values) - 1)], mask)
        prefetch(keys, soon)
        prefetch(known, soon)
        place = place_of(values[i], mask)
        while keys[place] >= 0 and known[place] != values[i]:
            place = (place + 1) & mask
        found[i] = keys[place]
        if keys[place] < 0:
            unknown += 1
    return unknown


@kernel
def hold(values: Array, numbers: Array, known: Array, keys: Array) -> int:
    """Hold values with their keys; how many were not known yet."""
    mask, new = len(keys) - 1, 0
    for i in range(len(values)):
        prefetch(keys, place_of(values[min(i + AHEAD, len(values) - 1)], mask))
        place = place_of(values[i], mask)
        while keys[place] >= 0 and known[place] != values[i]:
            place = (place + 1) & mask
        new += keys[place] < 0
        known[place], keys[place] = values[i], numbers[i]
    return new
