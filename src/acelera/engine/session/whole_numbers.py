"""Keys that are whole numbers, or NULL: each gets the next number, and is found again at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import AHEAD, Array, inlined, kernel, prefetch
from acelera.engine.storage import validation as check
from acelera.engine.storage.byte_rows import Rows, of_matrix
from acelera.engine.storage.growing import grown

Ints = npt.NDArray[Any]

_FIRST_SIZE = 64
_ROOM = 2
"""The table has at least so many places for each number."""
_MIXING = 0x9E3779B97F4A7C15
_NONE = -1


def is_whole(kind: pa.DataType) -> bool:
    """Whether all values of a type are whole numbers of 64 bits."""
    return bool(pa.types.is_integer(kind)) and not pa.types.is_uint64(kind)


class WholeNumbers:
    """Distinct whole numbers, and perhaps NULL, numbered from 0.

    `_table` has, side by side, a value and its number in each place that is taken; `_null` is the number of NULL.
    """

    def __init__(self, kind: pa.DataType) -> None:
        self._kind = kind
        self._table, self._values = _empty(_FIRST_SIZE), np.zeros(_FIRST_SIZE // _ROOM, np.int64)
        self._count, self._null = np.zeros(1, np.int64), np.full(1, _NONE)

    def __len__(self) -> int:
        return int(self._count[0])

    def numbers(self, column: Any) -> Ints:
        """The number of each value; new ones are added."""
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        values = column.cast(pa.int64()).fill_null(0).to_numpy()
        missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else np.zeros(0, np.bool_)
        found = np.empty(len(values), np.int64)
        done = 0
        while True:
            done = find_or_add(values, missing, done, self._table, self._values, self._count, self._null, found)
            if done == len(values):
                return found
            self._hold(grown(self._values, 2 * len(self._values)), len(self), int(self._null[0]))

    def value(self, number: int) -> int | None:
        """The value that has a number."""
        return None if number == self._null[0] else int(self._values[number])

    def keep(self, numbers: Ints) -> None:
        """Forget all others; these are numbered anew, in order."""
        null = np.flatnonzero(numbers == self._null[0])
        self._hold_values(self._values[numbers], int(null[0]) if len(null) else _NONE)

    def _hold_values(self, values: Ints, null: int) -> None:
        self._hold(grown(values, max(len(values), _FIRST_SIZE // _ROOM)), len(values), null)

    def _hold(self, values: Ints, count: int, null: int) -> None:
        """So many values in this array, at once: whoever is interrupted leaves what was there."""
        table = _empty(1 << (_ROOM * len(values) - 1).bit_length())
        enter(values, count, null, table)
        self._table, self._values, self._count, self._null = table, values, np.full(1, count), np.full(1, null)

    # --- as bytes -------------------------------------------------------------------------------------------------

    @property
    def rows(self) -> Rows:
        """All as bytes: for each whether there is a value, and the value in its own type."""
        values = self._values[: len(self)].astype(self._kind.to_pandas_dtype())
        there = np.ones((len(self), 1), np.uint8)
        if self._null[0] != _NONE:
            there[self._null[0]] = 0
        data = values.view(np.uint8).reshape(len(self), values.itemsize)
        return of_matrix(np.hstack((there, data * there)))

    def hold(self, name: str, rows: Rows) -> None:
        """Those that such bytes tell of, which are known to differ, and no others."""
        data, at = rows
        kind = np.dtype(self._kind.to_pandas_dtype())
        width = 1 + kind.itemsize
        check.holds(name, bool((np.diff(at) == width).all()), "has keys of another type")
        matrix = data[: at[-1]].reshape(-1, width)
        null = np.flatnonzero(matrix[:, 0] == 0)
        check.holds(name, len(null) <= 1, "has something twice")
        values = np.ascontiguousarray(matrix[:, 1:]).view(kind)[:, 0].astype(np.int64)
        self._hold_values(values, int(null[0]) if len(null) else _NONE)


def _empty(size: int) -> Ints:
    return np.full(2 * size, _NONE, np.int64)


@inlined
def place_of(value: int, mask: int) -> Array:
    """Where a value is looked for first: at an even index, behind which its number stands."""
    return np.int64(np.uint64(value) * np.uint64(_MIXING) >> np.uint64(32)) & mask


@kernel
def find_or_add(
    values: Array,
    missing: Array,
    begin: int,
    table: Array,
    known: Array,
    count: Array,
    null: Array,
    found: Array,
) -> int:
    """The number of each value from one on; up to which there was room."""
    mask = len(table) - 2  # which keeps even places
    for i in range(begin, len(values)):
        prefetch(table, place_of(values[min(i + AHEAD, len(values) - 1)], mask))
        if count[0] == len(known):
            return i
        if len(missing) and missing[i]:
            if null[0] < 0:
                null[0] = count[0]
                known[count[0]] = 0
                count[0] += 1
            found[i] = null[0]
            continue
        place = place_of(values[i], mask)
        while table[place + 1] >= 0 and table[place] != values[i]:
            place = (place + 2) & mask
        if table[place + 1] < 0:
            table[place], table[place + 1] = values[i], count[0]
            known[count[0]] = values[i]
            count[0] += 1
        found[i] = table[place + 1]
    return len(values)


@kernel
def enter(values: Array, count: int, null: int, table: Array) -> None:
    """Enter the first of some distinct values into a table that is empty; one stands for NULL, and is left out."""
    mask = len(table) - 2  # which keeps even places
    for number in range(count):
        prefetch(table, place_of(values[min(number + AHEAD, count - 1)], mask))
        if number == null:
            continue
        place = place_of(values[number], mask)
        while table[place + 1] >= 0:
            place = (place + 2) & mask
        table[place], table[place + 1] = values[number], number
