"""Keys as small numbers: each combination of values that has occurred gets the next one. NULL is a value of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.jit import Array, kernel
from acelera.engine.session.whole_numbers import WholeNumbers, is_whole
from acelera.engine.storage.byte_rows import ByteRows, Rows, coded, of_matrix, of_texts, side_by_side
from acelera.engine.storage.columns import ordinary
from acelera.engine.storage.interning import copy_bytes
from acelera.language.events import Value
from acelera.language.schema import Schema
from acelera.tables import plain_values

Ints = npt.NDArray[Any]

FEW_AGAIN = 1 / 4
"""Where there are more keys than this part of the events of a batch, it is not looked for events with the same key
before each is looked up: there are few.
"""

_TEXT_SIZE = 4
"""How many bytes tell how long a text is."""


class Keys:
    """The keys of a stream by some of its columns. Without columns there is one key, 0.

    A key is kept as bytes: for each column whether there is a value, and the value, of which there is one NaN and one
    zero.
    """

    def __init__(self, columns: Sequence[str], schema: Schema) -> None:
        self.columns = tuple(columns)
        self._types = [schema.columns[name] for name in columns]
        self._rows = ByteRows()
        self._whole: WholeNumbers | None = None
        if len(self._types) == 1 and is_whole(self._types[0].arrow):
            self._whole = WholeNumbers(self._types[0].arrow)

    def __len__(self) -> int:
        if self._whole is not None:
            return len(self._whole)
        return len(self._rows) if self.columns else 1

    def read(self, frame: Frame) -> Ints:
        """The key of each event."""
        if not self.columns:
            return np.zeros(len(frame), np.int32)
        if self._whole is not None:
            return self._whole.numbers(frame[self.columns[0]])
        if len(self) > len(frame) * FEW_AGAIN:
            columns = [frame[name] for name in self.columns]
            if not any(pa.types.is_dictionary(column.type) for column in columns):
                return self._numbers(columns)
        return self._read(frame)

    def _numbers(self, columns: Sequence[Any]) -> Ints:
        """The key of each row, told by its bytes."""
        return self._rows.numbers(side_by_side([_rows_of(column) for column in columns]))

    def _read(self, frame: Mapping[str, Any] | Frame) -> Ints:
        (values, codes), *others = (coded(frame[name]) for name in self.columns)
        listed = [values]
        for more, more_codes in others:
            pairs = pa.array((codes.astype(np.int64) << 32) | more_codes).dictionary_encode()
            found, codes = pairs.dictionary.to_numpy(), pairs.indices.to_numpy()
            listed = [*(each.take(pa.array(found >> 32)) for each in listed), more.take(pa.array(found & 0xFFFFFFFF))]
        return np.asarray(self._numbers(listed)[codes])

    def numbers(self, column: Any) -> Ints:
        """The numbers of the values of a column, where keys are of one column."""
        return self._read({self.columns[0]: column}) if self._whole is None else self._whole.numbers(column)

    def missing(self, frame: Frame) -> npt.NDArray[np.bool_]:
        """Whether one of the values is NULL or NaN: such an event has no value in common with any other."""
        found = np.zeros(len(frame), np.bool_)
        for name in self.columns:
            column = frame[name]
            nothing = column.is_null(nan_is_null=True) if pa.types.is_floating(column.type) else column.is_null()
            found |= nothing.to_numpy(zero_copy_only=False)
        return found

    def values(self) -> list[tuple[Value, ...]]:
        """The keys in order of their numbers."""
        return self.some(np.arange(len(self)))

    def some(self, numbers: Ints) -> list[tuple[Value, ...]]:
        """The keys that have some numbers."""
        if not self.columns:
            return [()] * len(numbers)
        if self._whole is not None:
            return [(self._whole.value(number),) for number in numbers.tolist()]
        return [self._key(self._rows.row(number)) for number in numbers.tolist()]

    def _key(self, row: bytes) -> tuple[Value, ...]:
        key: list[Value] = []
        for kind in self._types:
            there, row = row[0], row[1:]
            plain = _plain(kind.arrow)
            if pa.types.is_large_string(plain):
                size = _TEXT_SIZE + int.from_bytes(row[:_TEXT_SIZE], "little")
                key.append(row[_TEXT_SIZE:size].decode() if there else None)
            else:
                size = _width(plain)
                array = pa.Array.from_buffers(plain, 1, [None, pa.py_buffer(row[:size])]) if there else None
                key += [None] if array is None else plain_values(array.cast(kind.arrow), kind)
            row = row[size:]
        return tuple(key)

    def keep(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        if self._whole is not None:
            self._whole.keep(keys)
        elif self.columns:
            self._rows.keep(keys)

    def dump(self, name: str) -> dict[str, Ints]:
        """All keys, for a snapshot."""
        rows = self._rows
        if self._whole is not None:
            rows = ByteRows()
            rows.hold(self._whole.rows)
        return rows.dump(name)

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The keys of a snapshot."""
        rows = ByteRows()
        rows.load(name, sections)
        if self._whole is not None:
            self._whole.hold(name, rows.rows)
        else:
            self._rows = rows


def _plain(kind: pa.DataType) -> pa.DataType:
    """The type whose bytes tell values apart."""
    kind = ordinary(kind)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.large_string()
    if pa.types.is_boolean(kind):
        return pa.uint8()
    return pa.date32() if pa.types.is_date(kind) else kind


def _width(kind: pa.DataType) -> int:
    return 0 if pa.types.is_null(kind) else int(kind.bit_width) // 8


def _rows_of(column: Any) -> Rows:
    """A column as bytes: for each row whether there is a value, and the value."""
    kind = _plain(column.type)
    column = column.cast(kind)
    there = column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8)
    if pa.types.is_large_string(kind):
        texts, begins = of_texts(column)
        upto = begins + np.arange(len(begins)) * (1 + _TEXT_SIZE)
        rows = np.empty(upto[-1], np.uint8)
        write_texts(there, texts, begins, rows, upto)
        return rows, upto
    there = there[:, None]
    return of_matrix(np.hstack((there, np.where(there, _bytes(column, kind), 0).astype(np.uint8))))


def _bytes(column: Any, kind: pa.DataType) -> Ints:
    """The bytes of values of one size, a row each."""
    if pa.types.is_floating(kind):
        floats = column.fill_null(0).to_numpy(zero_copy_only=False) + kind.to_pandas_dtype()(0)
        floats[np.isnan(floats)] = np.nan
        return np.asarray(floats.view(np.uint8).reshape(len(column), -1))
    width = _width(kind)
    if not width or not len(column):
        return np.zeros((len(column), width), np.uint8)
    data = np.frombuffer(column.buffers()[1], np.uint8)
    return np.asarray(data[column.offset * width : (column.offset + len(column)) * width].reshape(-1, width))


@kernel
def write_texts(there: Array, texts: Array, at: Array, rows: Array, rows_at: Array) -> None:
    """Write texts into rows: whether there is one, how long it is, and its bytes."""
    for i in range(len(there)):
        begin, to = at[i], rows_at[i]
        size = at[i + 1] - begin
        rows[to] = there[i]
        for index in range(_TEXT_SIZE):
            rows[np.uint64(to + 1 + index)] = (size >> (8 * index)) & 0xFF
        copy_bytes(texts, begin, size, rows, to + 1 + _TEXT_SIZE)


@kernel
def count_positions(keys: Array, counts: Array, positions: Array) -> None:
    """The position of each event within its key."""
    for i in range(len(keys)):
        counts[keys[i]] += 1
        positions[i] = counts[keys[i]]
