"""In which order the events of a stream stand: by when they happen, by when their matches start, then by their values.

Several matches may end at one moment, and start at one. Then the columns of their events tell their order, from left to
right, NULL first and NaN last; lists and structs compare by their parts. Events that are equal in all of this cannot be
told apart, so that it makes no difference which is first. So the order does not depend on who found the matches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.storage.ranks import ranks

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """Some events with the moments at which they happen; those that were made, also with where their matches start."""

    table: pa.Table
    moments: Ints
    starts: Ints | None = None

    def __len__(self) -> int:
        return len(self.moments)

    def take(self, places: Ints) -> Rows:
        """Some of them, in this order."""
        from acelera.engine.storage.columns import picked

        starts = None if self.starts is None else self.starts[places]
        return Rows(picked(self.table, places), self.moments[places], starts)


def joined(parts: list[Rows]) -> Rows:
    """All rows of some parts, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    starts = [each.starts for each in parts if each.starts is not None]
    return Rows(
        pa.concat_tables([each.table for each in parts]),
        np.concatenate([each.moments for each in parts]),
        np.concatenate(starts) if starts else None,
    )


def in_order(rows: Rows) -> Rows:
    """Events that were made, in their order."""
    assert rows.starts is not None
    if len(rows) < 2:
        return rows
    order = np.lexsort((rows.starts, rows.moments))
    moments, starts = rows.moments[order], rows.starts[order]
    equal = (moments[1:] == moments[:-1]) & (starts[1:] == starts[:-1])
    if equal.any():
        tied = np.zeros(len(rows), np.bool_)
        tied[1:] |= equal
        tied[:-1] |= equal
        places = np.flatnonzero(tied)
        table = rows.take(order[places]).table
        codes = [ranks(column, _key) for column in reversed(table.columns)]
        order[places] = order[places][np.lexsort((*codes, starts[places], moments[places]))]
    if bool((order[1:] > order[:-1]).all()):
        return rows
    return rows.take(order)


def _key(value: Any) -> tuple[Any, ...]:
    """What a value compares by: NULL, values, NaN; a list or struct by its parts."""
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    if isinstance(value, dict):
        return (1, tuple(_key(each) for each in value.values()))
    if isinstance(value, list | tuple):
        return (1, tuple(_key(each) for each in value))
    return (1, value)
