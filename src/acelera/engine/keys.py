"""Keys as small numbers: each combination of values that has occurred gets the next one. NULL is a value of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine import validation as check
from acelera.engine.frames import Frame
from acelera.language.aggregates import canonical
from acelera.language.events import Value
from acelera.tables import plain_values

Ints = npt.NDArray[Any]


class Keys:
    """The keys of a stream by some of its columns. Without columns there is one key, 0."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._values: list[dict[Value, int]] = [{} for _ in columns]  # for each column the codes of its values
        self._combined: list[dict[int, int]] = [{} for _ in columns[1:]]

    def __len__(self) -> int:
        if not self.columns:
            return 1
        return len(self._combined[-1] if self._combined else self._values[0])

    def read(self, frame: Frame) -> Ints:
        """The key of each event."""
        if not self.columns:
            return np.zeros(len(frame), np.int32)
        numbers = self._codes(frame, 0)
        for index, known in enumerate(self._combined, 1):
            pairs = pa.array((numbers.astype(np.int64) << 32) | self._codes(frame, index)).dictionary_encode()
            numbers = _numbered(pairs.dictionary.to_pylist(), known)[pairs.indices.to_numpy()]
        return numbers

    def _codes(self, frame: Frame, index: int) -> Ints:
        """The values of a column as numbers."""
        name = self.columns[index]
        column, kind = frame[name], frame.schema.columns[name]
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        values = [canonical(value) for value in plain_values(column.dictionary, kind)]
        known = self._values[index]
        missing = known.setdefault(None, len(known)) if column.null_count else -1
        codes = np.append(_numbered(values, known), missing).astype(np.int32)
        indices = column.indices
        if indices.null_count:
            indices = indices.cast(pa.int32()).fill_null(len(values))
        return np.asarray(codes[indices.to_numpy()])

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
        columns = [list(known) for known in self._values]
        if len(columns) <= 1:
            return [(value,) for value in columns[0]] if columns else [()]
        keys: list[tuple[Value, ...]] = [(value,) for value in columns[0]]
        for values, pairs in zip(columns[1:], self._combined, strict=True):
            keys = [(*keys[pair >> 32], values[pair & 0xFFFFFFFF]) for pair in pairs]
        return keys

    def only(self, values: Sequence[tuple[Value, ...]]) -> Keys:
        """Keys by the same columns, of which these are known."""
        fewer = Keys(self.columns)
        fewer.restore(values)
        return fewer

    def restore(self, values: Sequence[tuple[Value, ...]]) -> None:
        """The keys that were there before, in the same order."""
        check.different("keys", values)
        for key in values:
            check.holds("keys", len(key) == len(self.columns), "has another number of columns")
            number = -1
            for index, value in enumerate(key):
                code = self._values[index].setdefault(value, len(self._values[index]))
                number = code if index == 0 else _number((number << 32) | code, self._combined[index - 1])


def _number(value: int, known: dict[int, int]) -> int:
    return known.setdefault(value, len(known))


def _numbered(values: Sequence[Any], known: dict[Any, int]) -> Ints:
    return np.array([known.setdefault(value, len(known)) for value in values], np.int32)
