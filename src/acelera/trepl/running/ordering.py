"""Changes of several tables in one order, as stages: changes of one instant and one key stand together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Ints = npt.NDArray[Any]


class Stages(NamedTuple):
    """The order of rows, and where the rows of each stage begin in it; the last number is the end."""

    order: Ints
    begins: Ints


def ranks(instants: Sequence[pa.Table]) -> list[Ints]:
    """Numbers that are in the order of instants, for the rows of each table."""
    if all(table.num_columns == 1 and _is_number(table.column(0).type) for table in instants):
        return [np.asarray(table.column(0).cast(pa.int64()).to_numpy()) for table in instants]
    whole = pa.concat_tables(instants).combine_chunks()
    order = pc.sort_indices(whole, [(name, "ascending") for name in whole.column_names]).to_numpy()
    changes = np.zeros(len(order), np.bool_)
    for column in whole.columns:
        found = column.take(pa.array(order)).combine_chunks()
        found = pa.concat_arrays(found.chunks) if isinstance(found, pa.ChunkedArray) else found
        if len(found) > 1:
            changes[1:] |= pc.not_equal(found[1:], found[:-1]).to_numpy(zero_copy_only=False)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.cumsum(changes)
    bounds = np.cumsum([table.num_rows for table in instants])[:-1]
    return np.split(rank, bounds)


def _is_number(kind: pa.DataType) -> bool:
    return bool((pa.types.is_integer(kind) and not pa.types.is_uint64(kind)) or pa.types.is_timestamp(kind))


def stages(rank: Ints, keys: Ints) -> Stages:
    """Rows by rank, then by key; those of equal rank and key are a stage."""
    order = np.arange(len(rank))
    steps = np.diff(rank)
    if len(rank) and (steps <= 0).any():
        ascending = bool((steps > 0).all() | ((steps == 0) & (np.diff(keys) >= 0) | (steps > 0)).all())
        if not ascending:
            order = np.lexsort((keys, rank))
            rank, keys = rank[order], keys[order]
    changes = (np.diff(rank) != 0) | (np.diff(keys) != 0)
    return Stages(order, np.concatenate(([0], np.flatnonzero(changes) + 1, [len(rank)])))
