"""Changes of several tables in one order, as stages: changes of one instant and one key stand together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import INSTANT

Ints = npt.NDArray[Any]

_AT_ONCE = 1 << 14
"""How many changes are worked on at once."""


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


def pieces(given: Mapping[str, pa.Table]) -> Iterator[Mapping[str, pa.Table]]:
    """Changes in pieces of whole stages, where that is easily told: what is worked on at once should stay at hand."""
    relations = [name for name, table in given.items() if table.num_rows]
    if len(relations) != 1 or given[relations[0]].num_rows <= _AT_ONCE:
        yield given
        return
    (name,) = relations
    table = given[name].combine_chunks()
    instants = table.select([each for each in table.column_names if each.startswith(INSTANT)])
    (rank,) = ranks([instants]) if instants.num_columns == 1 and _is_number(instants.column(0).type) else (None,)
    if rank is None or (np.diff(rank) < 0).any():
        yield given
        return
    begin = 0
    while begin < len(rank):
        end = min(begin + _AT_ONCE, len(rank))
        end += int(np.searchsorted(rank[end:], rank[end - 1], side="right"))
        yield {name: table.slice(begin, end - begin)}
        begin = end


def taken(column: Any, places: Ints) -> Any:
    """The values at some places; the column itself if these are all, in order."""
    if len(places) == len(column) and is_in_order(places):
        return column
    return column.take(pa.array(places))


def picked(values: Ints, places: Ints) -> Ints:
    """The same of numbers."""
    return values if len(places) == len(values) and is_in_order(places) else values[places]


def fitting(column: Any, kind: pa.DataType) -> Any:
    """A column of some type; the column itself if it is of that type."""
    return column if column.type == kind else column.cast(kind)


def is_in_order(places: Ints) -> bool:
    """Whether places are 0, 1, 2 and so on."""
    if len(places) == 0:
        return True
    ends = places[0] == 0 and places[-1] == len(places) - 1
    return bool(ends) and bool((places[1:] > places[:-1]).all())


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
