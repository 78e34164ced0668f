"""Rows of the result, and where in the stream their matches lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.storage.columns import picked

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Page:
    """Some rows of the result, and where in the stream their matches end and start."""

    rows: pa.RecordBatch
    ends: Ints
    starts: Ints


def in_order(pages: Sequence[Page], schema: pa.Schema) -> pa.Table:
    """One table of all pages, by where matches end and start. Each page is in order; most follow one another."""
    batches: list[pa.RecordBatch] = []
    for group in _overlapping(pages):
        if len(group) == 1:
            batches.append(group[0].rows)
            continue
        ends, starts = np.concatenate([page.ends for page in group]), np.concatenate([page.starts for page in group])
        together = pa.Table.from_batches([page.rows for page in group])
        batches += picked(together, np.lexsort((starts, ends))).to_batches()
    return pa.Table.from_batches(batches, schema=schema)


def _overlapping(pages: Sequence[Page]) -> list[list[Page]]:
    """The pages in groups: all matches of a group come before those of the next one."""
    groups: list[list[Page]] = []
    last = (-1, -1)
    for page in pages:
        if not groups or last <= (page.ends[0], page.starts[0]):
            groups.append([])
        groups[-1].append(page)
        last = max(last, (page.ends[-1], page.starts[-1]))
    return groups
