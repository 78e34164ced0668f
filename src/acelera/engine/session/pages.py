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
    """Some rows of the result, and where in the stream their matches end and start.

    `sizes` is how many rows each match has, where they are rows of events; None if each row is a match.
    """

    rows: pa.RecordBatch
    ends: Ints
    starts: Ints
    sizes: Ints | None = None

    @classmethod
    def of_matches(cls, rows: pa.RecordBatch, ends: Ints, starts: Ints, sizes: Ints | None) -> Page:
        """The page of matches of which it is known where each ends and starts."""
        if sizes is None:
            return cls(rows, ends, starts)
        return cls(rows, np.repeat(ends, sizes), np.repeat(starts, sizes), sizes)

    @property
    def matches(self) -> int:
        """How many matches it shows."""
        return self.rows.num_rows if self.sizes is None else len(self.sizes)

    def first(self, matches: int) -> Page:
        """The first matches."""
        rows = matches if self.sizes is None else int(self.sizes[:matches].sum())
        sizes = None if self.sizes is None else self.sizes[:matches]
        return Page(self.rows.slice(0, rows), self.ends[:rows], self.starts[:rows], sizes)


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
    lasts: list[tuple[int, int]] = []  # of each group, the last match
    for page in pages:
        if not page.rows.num_rows:  # matches that hold no event of what is shown
            continue
        first, last = (page.ends[0], page.starts[0]), (page.ends[-1], page.starts[-1])
        while len(groups) > 1 and lasts[-2] > first:  # what waited may belong before several groups
            later, end = groups.pop(), lasts.pop()
            groups[-1] += later
            lasts[-1] = max(lasts[-1], end)
        if groups and lasts[-1] > first:
            groups[-1].append(page)
            lasts[-1] = max(lasts[-1], last)
        else:
            groups.append([page])
            lasts.append(last)
    return groups
