"""KEEP where the end of a match says whether it is kept: PER END, SHORTEST PER START, SHORTEST APART, ALL APART."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.keeping import sweeps
from acelera.engine.keeping.chosen import Chosen, enumeration, groups_of, listed_of
from acelera.engine.keeping.ground import Ground
from acelera.engine.keeping.keeper import GoingOn, Keeper, Matches
from acelera.engine.nodes.held import Ended
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]


def newest_of(ground: Ground, hits: Ended) -> Ints:
    """The hit of each group whose newest match starts last."""
    group, firsts = groups_of(hits)
    best = np.lexsort((ground.nodes.newest[hits.value], group))
    return np.asarray(best[np.append(firsts[1:], len(hits)) - 1])


class ShortestPerEnd(Keeper):
    """Of the matches that end at a position, the one that starts last: nodes know where that is."""

    def take(self, hits: Ended) -> Matches:
        """One for each end."""
        if len(hits):
            best = hits.value[newest_of(self.ground, hits)]
            start = np.empty(len(best), np.int32)
            sweeps.newest_starts(self.ground.nodes, best, start)
            yield from self.picker.listed(Chosen(hits, start, np.arange(len(best))))


class LongestPerEnd(Keeper):
    """Of the matches that end at a position, the one that starts first.

    Without a window it is known of each node where its oldest match begins; within one, what is in it is looked at.
    """

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._oldest: Ints = np.empty(0, np.int32)
        self._known, self._collected = 0, -1
        self._stamp: Ints = np.empty(0, np.int64)
        self._last = 0

    def take(self, hits: Ended) -> Matches:
        """One for each end."""
        if not len(hits):
            return
        group, firsts = groups_of(hits)
        if int(hits.floor.max()) == FAR_PAST:
            oldest = self._all_oldest()[hits.value]
            order = np.lexsort((self.ground.nodes.newest[oldest], group))
            start = oldest[order[firsts]]
        else:
            start = self._oldest_within(hits, group, len(firsts))
        yield from self.picker.listed(Chosen(hits, start, np.arange(len(firsts))))

    def _all_oldest(self) -> Ints:
        """For each node the one where its oldest match begins; what is known of nodes is true until they move."""
        arena = self.ground.arena
        if len(self._oldest) < self.ground.capacity:
            self._oldest = np.concatenate((self._oldest, np.empty(self.ground.capacity - len(self._oldest), np.int32)))
        if arena.collected != self._collected:
            self._known, self._collected = 0, arena.collected
        sweeps.note_oldest(self.ground.nodes, self._known, arena.size, self._oldest)
        self._known = arena.size
        return self._oldest

    def _oldest_within(self, hits: Ended, group: Ints, groups: int) -> Ints:
        ground, start = self.ground, np.full(groups, -1, np.int32)
        if len(self._stamp) < ground.capacity:
            self._stamp, self._last = np.zeros(ground.capacity, np.int64), 0
        stack = ground.room()
        sweeps.oldest_starts(ground.nodes, hits.value, hits.floor, group, self._stamp, self._last + 1, stack, start)
        self._last += groups
        return start


class AnyPerEnd(Keeper):
    """Of the matches that end at a position, the first so many in their order."""

    def __init__(self, ground: Ground, count: int) -> None:
        super().__init__(ground)
        self._count = count

    def take(self, hits: Ended) -> Matches:
        """Those of each end."""
        group, firsts = groups_of(hits)
        for number in range(len(firsts)):
            those = hits.only(group == number) if len(firsts) > 1 else hits
            every = enumeration(self.ground, those)
            yield listed_of(self.ground, those, list(islice(every.matches(every.starts), self._count)))


class ShortestPerStart(Keeper):
    """Of the matches that start at a position, the one that ends first.

    Each start belongs to the first hit that reaches it, and all below a node that was reached is assigned.
    """

    noted = ("assigned",)

    def take(self, hits: Ended) -> Matches:
        """One for each start that ends here for the first time."""
        if not len(hits):
            return
        ground = self.ground
        start, owner = np.empty(ground.arena.size, np.int32), np.empty(ground.arena.size, np.int64)
        assigned = ground.note("assigned")
        found, _ = sweeps.claim(ground.nodes, hits.value, hits.floor, False, assigned, ground.room(), start, owner)
        group, _ = groups_of(hits)
        yield from self.picker.listed(Chosen(hits, start[:found], group[owner[:found]]))


class Apart(GoingOn):
    """SHORTEST APART, ALL APART: from left to right, the matches that end first, then those that start behind."""

    def __init__(self, ground: Ground, every: bool) -> None:
        super().__init__(ground)
        self._every = every

    def take(self, hits: Ended) -> Matches:
        """Those at ends behind which the newest match begins late enough: it alone, or all that do."""
        if not len(hits):
            return
        ground = self.ground
        best = newest_of(ground, hits)
        group, _ = groups_of(hits)
        partition, end = hits.partition[best], ground.ticks(hits.row[best])
        kept, behind = np.empty(len(best), np.int64), np.empty(len(best), np.int64)
        last_ends, never = self._last.upto(int(partition.max()) + 1), np.zeros(len(best), np.bool_)
        newest = ground.nodes.newest[hits.value[best]]
        sweeps.one_after_another(partition, newest, end, never, last_ends, kept, behind)
        found = np.flatnonzero(kept)
        if self._every:
            those = hits.only(kept[group] > 0)
            floor = np.maximum(those.floor, behind[group][kept[group] > 0] + 1)
            yield from self._all(replace(those, floor=floor))
        else:
            start = np.empty(len(found), np.int32)
            sweeps.newest_starts(ground.nodes, hits.value[best[found]], start)
            yield from self.picker.listed(Chosen(hits, start, found))

    def _all(self, hits: Ended) -> Matches:
        """All matches of hits that start at their floors or later."""
        arena = self.ground.arena
        hits = hits.only(arena.arrays.newest[hits.value] >= hits.floor)
        if len(hits):
            arena.put(hits)
            yield from arena.listed(self.ground.as_tree)
