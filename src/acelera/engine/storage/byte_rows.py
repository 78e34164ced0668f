"""Rows of bytes, each with a number: equal ones get the same, new ones the next.

They lie in one array and are found again by a table of hashes, so a row costs little more than its bytes, and reading
many makes no Python objects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.storage import interning
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown

Ints = npt.NDArray[Any]

Rows = tuple[Ints, Ints]
"""Bytes one after the other, and where each row begins, with the end of the last."""


PLACES = 4
"""How many places of the table there are for each row that there is room for: so many that few rows meet at one."""


class ByteRows:
    """Distinct rows of bytes, numbered from 0."""

    def __init__(self) -> None:
        self._data, self._at = np.zeros(1 << 8, np.uint8), np.zeros((1 << 5) + 1, np.int64)
        self._table = np.full(PLACES << 5, -1, np.int32)
        self._count = np.zeros(1, np.int64)

    def __len__(self) -> int:
        return int(self._count[0])

    def numbers(self, rows: Rows) -> Ints:
        """The number of each row; new ones are added."""
        data, at = rows
        numbers = np.empty(len(at) - 1, np.int32)
        done = interning.intern_bytes(data, at, 0, self._data, self._at, self._table, self._count, numbers)
        while done < len(numbers):
            self._make_room(int(at[-1] - at[done]), len(numbers) - done)
            done = interning.intern_bytes(data, at, done, self._data, self._at, self._table, self._count, numbers)
        return numbers

    def _make_room(self, size: int, rows: int) -> None:
        """For as many bytes and rows, in powers of two so that the room grows with what is there."""
        held = int(self._at[len(self)])
        self._hold(
            grown(self._data, _power(held + size, len(self._data))),
            grown(self._at, _power(len(self) + rows, len(self._at) - 1) + 1),
            len(self),
        )

    def _hold(self, data: Ints, at: Ints, count: int) -> None:
        """So many rows in these arrays, at once: whoever is interrupted leaves what was there."""
        table = np.full(PLACES * (len(at) - 1), -1, np.int32)
        interning.intern_bytes_again(data, at, count, table)
        self._data, self._at, self._table, self._count = data, at, table, np.full(1, count, np.int64)

    def keep(self, numbers: Ints) -> None:
        """Forget all other rows; these are numbered anew, in order."""
        self.hold(taken((self._data, self._at), numbers))

    def hold(self, rows: Rows) -> None:
        """These rows and no others; they are known to differ."""
        data, at = rows
        self._hold(grown(data, _power(len(data), 1 << 8)), grown(at, _power(len(at) - 1, 1 << 5) + 1), len(at) - 1)

    @property
    def rows(self) -> Rows:
        """All rows."""
        at = self._at[: len(self) + 1]
        return self._data[: at[-1]], at

    def dump(self, name: str) -> dict[str, Ints]:
        """All rows, for a snapshot."""
        data, at = self.rows
        return {f"{name}.data": data, f"{name}.at": at}

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        data = check.array(sections, f"{name}.data", np.uint8)
        at = check.array(sections, f"{name}.at", np.int64)
        check.offsets(f"{name}.at", at, len(data))
        known = ByteRows()
        known.numbers((data, at))
        check.holds(name, len(known) == len(at) - 1, "has something twice")
        self.hold((data, at))

    def row(self, number: int) -> bytes:
        """One row."""
        return self._data[self._at[number] : self._at[number + 1]].tobytes()


def _power(size: int, least: int) -> int:
    return max(least, 1 << max(size - 1, 0).bit_length())


def taken(rows: Rows, numbers: Ints) -> Rows:
    """Some of the rows."""
    data, at = rows
    sizes = (at[1:] - at[:-1])[numbers]
    upto = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    held = np.empty(upto[-1], np.uint8)
    interning.take_bytes(data, at, numbers, held, upto)
    return held, upto


def side_by_side(pieces: Sequence[Rows]) -> Rows:
    """Rows that are made of the rows of several, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    sizes = np.diff(sum(at for _, at in pieces))
    upto = np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)))
    data, cursor = np.empty(upto[-1], np.uint8), upto[:-1].copy()
    for piece, at in pieces:
        interning.append_bytes(piece, at, data, cursor)
    return data, upto


def of_matrix(matrix: Ints) -> Rows:
    """Rows of one size."""
    height, width = matrix.shape
    return np.ascontiguousarray(matrix).reshape(-1), np.arange(height + 1, dtype=np.int64) * width


def coded(column: Any) -> tuple[Any, Ints]:
    """The values that occur in a column, NULL among them, once each or nearly so; and for each row which it is."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode(null_encoding="encode")
        return column.dictionary, column.indices.to_numpy()
    values, indices = column.dictionary, column.indices.cast(pa.int64())
    if indices.null_count:
        values = pa.concat_arrays([values, pa.nulls(1, values.type)])
        indices = indices.fill_null(len(values) - 1)
    codes = indices.to_numpy()
    occurs = np.zeros(len(values), np.bool_)
    occurs[codes] = True
    return values.filter(pa.array(occurs)), (np.cumsum(occurs) - 1)[codes]


def of_texts(column: Any) -> Rows:
    """The bytes of strings; NULL has none."""
    column = column.cast(pa.large_string()).fill_null("")
    _, offsets, data = column.buffers()
    at = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    held = np.frombuffer(data, np.uint8) if data is not None else np.zeros(0, np.uint8)
    return held[at[0] : at[-1]], at - at[0]


def to_texts(rows: Rows) -> Any:
    """Rows that are the bytes of strings, as an array."""
    data, at = rows
    return pa.LargeStringArray.from_buffers(len(at) - 1, pa.py_buffer(at), pa.py_buffer(data))
