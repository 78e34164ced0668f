"""Matches that are kept, each told by where it begins and ends, and what they mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import announce
from acelera.engine.keeping import tracing
from acelera.engine.keeping.enumeration import Enumeration, Found
from acelera.engine.keeping.ground import Ground
from acelera.engine.keeping.tracing import Choices, Region, Traced, trace
from acelera.engine.nodes.held import Ended
from acelera.engine.nodes.matches import LISTED_MARKS, LISTED_MATCHES, Listed, same_marks

Ints = npt.NDArray[Any]


def groups_of(hits: Ended) -> tuple[Ints, Ints]:
    """Hits that end at one row are a group: the group of each, and the first hit of each group."""
    begins = np.ones(len(hits), np.bool_)
    begins[1:] = hits.row[1:] != hits.row[:-1]
    return np.cumsum(begins) - 1, np.flatnonzero(begins)


@dataclass(frozen=True)
class Chosen:
    """Matches: for each the node where it begins, and the group of hits one of which it ends with."""

    hits: Ended
    start: Ints
    group: Ints


class Picker:
    """Lists matches that were chosen: of those with one start and one end, the first in their order."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._region = Region.of(1)
        if ground.traced:
            announce(trace, Region)

    def listed(self, chosen: Chosen) -> Iterator[Listed]:
        """By where they end and start."""
        nodes, firsts = self._ground.nodes, groups_of(chosen.hits)[1]
        order = np.lexsort((nodes.newest[chosen.start], chosen.group))
        starts, groups = chosen.start[order], chosen.group[order]
        if not len(starts):
            return
        start_row, end_row = nodes.right[starts], chosen.hits.row[firsts[groups]]
        if self._ground.traced:
            yield from self._traced(chosen.hits, starts, groups, start_row, end_row)
        else:
            nothing = np.empty(0, np.int32)
            yield Listed(start_row, end_row, np.zeros(len(starts) + 1, np.int64), nothing, nothing, True)

    def _traced(self, hits: Ended, starts: Ints, groups: Ints, start_row: Ints, end_row: Ints) -> Iterator[Listed]:
        nodes, ranks = self._ground.nodes, self._ground.order.ranks
        if len(self._region.stamp) < self._ground.capacity:
            self._region = Region.of(self._ground.capacity)
        self._region.cursor[: tracing.STAMP] = 0
        choices = _choices(hits, starts, groups)
        matches, marks, at = min(LISTED_MATCHES, len(starts)), LISTED_MARKS, 0
        reason = tracing.FULL
        while reason != tracing.DONE:
            sizes = np.zeros(2, np.int64)
            page = Traced(np.zeros(matches + 1, np.int64), np.empty(marks, np.int32), np.empty(marks, np.int32), sizes)
            reason = trace(nodes, choices, ranks, self._region, page)
            found, written = sizes.tolist()
            if found:
                offsets, shown = page.offsets[: found + 1], page.marks[:written]
                these = slice(at, at + found)
                alike = same_marks(offsets, shown)
                yield Listed(start_row[these], end_row[these], offsets, shown, page.values[:written], alike)
                at += found
            elif reason == tracing.FULL:  # one match must fit
                marks *= 2
            if reason == tracing.TIED:
                yield self._first(hits.only(hits.row == end_row[at]), int(starts[at]))
                at += 1

    def _first(self, hits: Ended, start: int) -> Listed:
        """The first match with one start and one end."""
        every = enumeration(self._ground, hits)
        return listed_of(self._ground, hits, [next(every.matches([start]))])


def enumeration(ground: Ground, hits: Ended) -> Enumeration:
    """All matches of some hits, in order."""
    told = list(zip(hits.value.tolist(), hits.row.tolist(), hits.floor.tolist(), strict=True))
    return Enumeration(ground.nodes, ground.order, told)


def listed_of(ground: Ground, hits: Ended, found: Sequence[Found]) -> Listed:
    """Matches that were found one by one, by where they end and start."""
    starts, numbers = np.array([each.start for each in found]), np.array([each.hit for each in found])
    start_row, end_row = ground.nodes.right[starts], hits.row[numbers]
    order = np.lexsort((start_row, end_row))
    paths = [found[place].path for place in order.tolist()]
    offsets = np.cumsum([0, *map(len, paths)])
    entries = np.array([entry for path in paths for entry in path], np.int32).reshape(-1, 2)
    marks, values = np.ascontiguousarray(entries[:, 0]), np.ascontiguousarray(entries[:, 1])
    return Listed(start_row[order], end_row[order], offsets, marks, values, same_marks(offsets, marks))


def _choices(hits: Ended, starts: Ints, groups: Ints) -> Choices:
    """Without the groups of which no match is chosen."""
    of_hits, _ = groups_of(hits)
    chosen, starts_upto = np.unique(groups, return_counts=True)
    kept = np.isin(of_hits, chosen)
    _, hits_upto = np.unique(of_hits[kept], return_counts=True)
    return Choices(hits.value[kept], np.cumsum(hits_upto), starts.astype(np.int32), np.cumsum(starts_upto))
