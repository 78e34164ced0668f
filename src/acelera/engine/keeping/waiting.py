"""KEEP where a match waits until nothing that comes can beat it: LONGEST PER START, ANY n PER START, LONGEST APART.

A match with a start is known once no partial match begins there: the window has passed it, none goes on, or the stream
is at its end. What goes on is found by a walk from all partial matches, which is done at the ends of batches, and only
if enough was read since the last one to pay for it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.keeping import sweeps
from acelera.engine.keeping.chosen import Chosen, enumeration, groups_of, listed_of
from acelera.engine.keeping.ground import Ground
from acelera.engine.keeping.keeper import GoingOn, Keeper, Matches
from acelera.engine.keeping.sweeps import NEVER
from acelera.engine.nodes.held import Ended

Ints = npt.NDArray[Any]

STEPS_PER_EVENT, STEPS_AT_ONCE = 64, 1 << 12
"""How many nodes may be looked at for each event that was read, and how many in any case."""


@dataclass(frozen=True)
class Assigned:
    """Starts, each with the last hit that reaches it; and whether a partial match begins there as well."""

    start: Ints
    hit: Ints
    is_open: Ints


class Waiting(Keeper):
    """Holds hits until it is known what becomes of the starts that they reach."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._steps, self._read = 0, 0  # what the last look cost, and after how many events it was
        self._over_at: int | None = None
        self._looked = False

    def take(self, hits: Ended) -> Matches:
        """All hits wait."""
        self.held.add(hits)
        self._looked = self._looked and not len(hits)
        return iter(())

    def settle(self, now: int | None) -> Matches:
        """Look what goes on, if that is worth it."""
        read = self.ground.events - self._read
        if len(self.held) and (now is not None or STEPS_PER_EVENT * read + STEPS_AT_ONCE >= self._steps):
            self._read = self.ground.events
            yield from self._look(now)

    def rest(self) -> Matches:
        """Nothing goes on."""
        if len(self.held):
            nothing = np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int64)
            yield from self._known(*self._assigned(*nothing))
        self.held.hits = Ended.none()

    def due(self) -> int | None:
        """When the first start leaves the window; at once, as long as nobody has looked."""
        if not len(self.held):
            return None
        if self._looked:
            return self._over_at
        return self.ground.time_of(int(self.held.hits.row[0]))

    def _look(self, now: int | None) -> Matches:
        assigned, open_starts, partitions = self._assigned(*self.ground.open_matches(now))
        yield from self._known(assigned, open_starts, partitions)
        self._looked = True
        self._over_at = self.ground.over_at(open_starts)

    def _assigned(self, values: Ints, floors: Ints, partitions: Ints) -> tuple[Assigned, Ints, Ints]:
        """The starts that the hits reach; the starts of some partial matches, and the partitions of these."""
        ground, size = self.ground, self.ground.arena.size
        stack, start, owner = ground.room(), np.empty(size, np.int32), np.empty(size, np.int64)
        seen = np.full(size, NEVER)
        found, steps = sweeps.claim(ground.nodes, values, floors, False, seen, stack, start, owner)
        open_starts, open_partitions = start[:found].copy(), partitions[owner[:found]]
        is_open = np.zeros(size, np.bool_)
        is_open[open_starts] = True
        hits = self.held.hits
        seen[:] = NEVER
        found, more = sweeps.claim(ground.nodes, hits.value, hits.floor, True, seen, stack, start, owner)
        self._steps = steps + more
        start, owner = start[:found], owner[:found].copy()
        return Assigned(start, owner, is_open[start]), open_starts, open_partitions

    @abstractmethod
    def _known(self, assigned: Assigned, open_starts: Ints, open_partitions: Ints) -> Matches:
        """The matches that nothing can beat any more; only hits that may still be asked for are held afterwards."""


class LongestPerStart(Waiting):
    """Of the matches that start at a position, the one that ends last."""

    noted = ("given",)

    def _known(self, assigned: Assigned, open_starts: Ints, open_partitions: Ints) -> Matches:
        given, hits = self.ground.note("given"), self.held.hits
        group, _ = groups_of(hits)
        new = given[assigned.start] == NEVER
        now = new & ~assigned.is_open
        yield from self.picker.listed(Chosen(hits, assigned.start[now], group[assigned.hit[now]]))
        given[assigned.start[now]] = 0
        waits = np.isin(group, group[assigned.hit[new & assigned.is_open]])
        self.held.hits = hits.only(waits)


class AnyPerStart(Waiting):
    """Of the matches that start at a position, the first so many in their order."""

    noted = ("given",)

    def __init__(self, ground: Ground, count: int) -> None:
        super().__init__(ground)
        self._count = count

    def _known(self, assigned: Assigned, open_starts: Ints, open_partitions: Ints) -> Matches:
        given, hits = self.ground.note("given"), self.held.hits
        new = given[assigned.start] == NEVER
        starts = assigned.start[new & ~assigned.is_open]
        if len(starts):
            every = enumeration(self.ground, hits)
            found = (islice(every.matches(same), self._count) for same in self._of_one_start(starts))
            yield listed_of(self.ground, hits, list(chain.from_iterable(found)))
        given[starts] = 0
        waiting = assigned.start[new & assigned.is_open]
        self.held.hits = hits.only(self._reaching(hits, waiting))

    def _of_one_start(self, starts: Ints) -> list[list[int]]:
        """The nodes in groups that begin at one event, in order."""
        found: dict[int, list[int]] = {}
        for node, tick in zip(starts.tolist(), self.ground.nodes.right[starts].tolist(), strict=True):
            found.setdefault(tick, []).append(node)
        return [found[tick] for tick in sorted(found)]

    def _reaching(self, hits: Ended, starts: Ints) -> Ints:
        """Which of the hits reach one of some starts."""
        reaching = np.zeros(len(hits), np.bool_)
        if len(starts):
            wanted = np.zeros(self.ground.arena.size, np.bool_)
            wanted[starts] = True
            sweeps.mark_reaching(self.ground.nodes, wanted)
            reaching[:] = wanted[hits.value]
        return reaching


class LongestApart(GoingOn, Waiting):
    """From left to right, the match that starts first, of these the one that ends last; then on behind it."""

    def take(self, hits: Ended) -> Matches:
        """All that start behind the last match that was kept."""
        if len(hits):
            last = self._last.upto(int(hits.partition.max()) + 1)
            behind = last[hits.partition]
            hits = replace(hits, floor=np.maximum(hits.floor, behind + 1))
            hits = hits.only(self.ground.nodes.newest[hits.value] >= hits.floor)
        return super().take(hits)

    def _known(self, assigned: Assigned, open_starts: Ints, open_partitions: Ints) -> Matches:
        ground, hits = self.ground, self.held.hits
        newest = ground.nodes.newest
        partition = np.concatenate((hits.partition[assigned.hit], open_partitions))
        first = np.concatenate((newest[assigned.start], newest[open_starts]))
        stop = np.concatenate((assigned.is_open, np.ones(len(open_starts), np.bool_)))
        end = np.concatenate((ground.ticks(hits.row)[assigned.hit], np.zeros(len(open_starts), np.int64)))
        order = np.lexsort((~stop, first, partition))
        last = self._last.upto(int(partition.max(initial=-1)) + 1)
        kept, behind = np.empty(len(order), np.int64), np.empty(len(order), np.int64)
        sweeps.one_after_another(partition[order], first[order], end[order], stop[order], last, kept, behind)
        found = order[kept == 1]
        group, _ = groups_of(hits)
        yield from self.picker.listed(Chosen(hits, assigned.start[found], group[assigned.hit[found]]))
        waits = assigned.hit[newest[assigned.start] > last[hits.partition[assigned.hit]]]
        hits = hits.only(np.isin(group, group[waits]))
        hits = replace(hits, floor=np.maximum(hits.floor, last[hits.partition] + 1))
        self.held.hits = hits.only(newest[hits.value] >= hits.floor)
