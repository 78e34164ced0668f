"""Values of a column as numbers that tell how they compare, whatever their type."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[np.int64]

_MISSING = -1


def ranks(column: pa.ChunkedArray, key: Callable[[Any], tuple[Any, ...]]) -> Ints:
    """For each value a number: less for what comes before, equal for what is equal. NULL is first, and NaN last.

    `key` tells what values that have parts compare by. A TypeError says that they cannot be compared.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    if pa.types.is_floating(kind):
        column = pc.add(column, pa.scalar(0.0, kind))  # of which there is one zero
    elif pa.types.is_boolean(kind) or pa.types.is_duration(kind):
        column = column.cast(pa.int8() if pa.types.is_boolean(kind) else pa.int64())
    elif not any(test(column.type) for test in _SORTED):
        return _ranks_by(column.to_pylist(), key)
    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    order = pc.sort_indices(encoded.dictionary).to_numpy()
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    there = encoded.indices.is_valid().to_numpy(zero_copy_only=False)
    listed = np.full(len(encoded), _MISSING, np.int64)
    listed[there] = found[encoded.indices.drop_null().to_numpy()]
    return listed


_SORTED = (
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_binary,
    pa.types.is_large_binary,
    pa.types.is_timestamp,
    pa.types.is_date,
    pa.types.is_decimal128,
)
"""What Arrow sorts as it is."""


def _ranks_by(values: list[Any], key: Callable[[Any], tuple[Any, ...]]) -> Ints:
    keys = [key(value) for value in values]
    found = {each: rank for rank, each in enumerate(sorted(set(keys)))}
    return np.array([found[each] for each in keys], np.int64)
