"""Matches as flat arrays: one by one, or as a tree of those that share their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes.listing import Page, in_order_of_start, measure_branches, reordered, write_branches

Ints = npt.NDArray[Any]

LISTED_MATCHES, LISTED_MARKS = 1 << 17, 1 << 19
"""How many matches, and how many marked events, are listed at a time."""


@dataclass(frozen=True)
class Listed:
    """Matches as flat arrays: their first and last rows, and for each what it marks, from first to last.

    `alike`: all have the same marks.
    """

    start_row: Ints
    end_row: Ints
    offsets: Ints
    marks: Ints
    values: Ints
    alike: bool

    @classmethod
    def of(cls, page: Page) -> Listed:
        """The matches of a page, by their starts among those that end together."""
        found, written = page.sizes
        starts, ends, offsets = page.start_row[:found], page.end_row[:found], page.offsets[: found + 1]
        order = in_order_of_start(starts, ends)
        offsets, marks, values, alike = reordered(order, offsets, page.marks[:written], page.values[:written])
        return cls(starts[order], ends, offsets, marks, values, alike)

    def __len__(self) -> int:
        return len(self.start_row)

    def only(self, kept: Ints) -> Listed:
        """Some of the matches."""
        offsets, marks, values, alike = reordered(kept, self.offsets, self.marks, self.values)
        written = offsets[len(kept)]
        return Listed(
            self.start_row[kept], self.end_row[kept], offsets[: len(kept) + 1], marks[:written], values[:written], alike
        )


@dataclass(frozen=True)
class Tree:
    """Matches that share their ends: what each marks first, and for each entry the one that it is followed by, or -1.

    An entry comes after the one that it is followed by, so what is gathered along matches is known in one pass.
    """

    start_row: Ints
    end_row: Ints
    leaf: Ints
    parents: Ints
    marks: Ints
    values: Ints

    @classmethod
    def of(cls, page: Page) -> Tree:
        """The matches of a page, by their starts among those that end together."""
        found, written = page.sizes
        starts, ends, leaf = page.start_row[:found], page.end_row[:found], page.offsets[1 : found + 1]
        tree = cls(starts, ends, leaf, page.parents[:written], page.marks[:written], page.values[:written])
        return tree.only(in_order_of_start(starts, ends))

    def __len__(self) -> int:
        return len(self.start_row)

    def only(self, kept: Ints) -> Tree:
        """Some of the matches."""
        return replace(self, start_row=self.start_row[kept], end_row=self.end_row[kept], leaf=self.leaf[kept])

    def listed(self, kept: npt.NDArray[np.bool_]) -> Listed:
        """The matches one by one, with those of their entries whose mark is kept."""
        offsets = np.zeros(len(self) + 1, np.int64)
        measure_branches(self.leaf, self.parents, kept, self.marks, offsets[1:])
        np.cumsum(offsets, out=offsets)
        marks, values = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
        write_branches(self.leaf, self.parents, kept, self.marks, self.values, marks, values)
        return Listed(self.start_row, self.end_row, offsets, marks, values, same_marks(offsets, marks))

    def pieces(self, kept: npt.NDArray[np.bool_]) -> Iterator[Listed]:
        """The same, some matches at a time."""
        sizes = np.zeros(len(self), np.int64)
        measure_branches(self.leaf, self.parents, kept, self.marks, sizes)
        pages = np.cumsum(sizes) // LISTED_MARKS
        for places in np.split(np.arange(len(self)), np.flatnonzero(np.diff(pages)) + 1):
            yield self.only(places).listed(kept)


def same_marks(offsets: Ints, marks: Ints) -> bool:
    """Whether all matches have the same marks."""
    size = offsets[1] if len(offsets) > 1 else 0
    return bool((np.diff(offsets) == size).all() and (marks[size:] == marks[: len(marks) - size]).all())
