"""The nodes that hold all partial matches, and the hits that wait to be listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes import kernels
from acelera.engine.nodes.slots import Slots
from acelera.engine.nodes.unions import BOTTOM, CHAIN, NO_NODES, UNION, join
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown

Ints = npt.NDArray[Any]

LISTED_MATCHES, LISTED_MARKS = 1 << 17, 1 << 19
"""How many matches, and how many marked events, are listed at a time."""

FEW_EVENTS, MOST_NODES = 1 << 8, 1 << 20
"""How many events should fit at least, as long as there are not so many nodes."""


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

    def __len__(self) -> int:
        return len(self.start_row)

    def only(self, kept: Ints) -> Listed:
        """Some of the matches."""
        offsets, marks, values, alike = kernels.reordered(kept, self.offsets, self.marks, self.values)
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

    def __len__(self) -> int:
        return len(self.start_row)

    def only(self, kept: Ints) -> Tree:
        """Some of the matches."""
        return replace(self, start_row=self.start_row[kept], end_row=self.end_row[kept], leaf=self.leaf[kept])

    def listed(self, kept: npt.NDArray[np.bool_]) -> Listed:
        """The matches one by one, with those of their entries whose mark is kept."""
        offsets = np.zeros(len(self) + 1, np.int64)
        kernels.measure_branches(self.leaf, self.parents, kept, self.marks, offsets[1:])
        np.cumsum(offsets, out=offsets)
        marks, values = _empty(offsets[-1]), _empty(offsets[-1])
        kernels.write_branches(self.leaf, self.parents, kept, self.marks, self.values, marks, values)
        return Listed(self.start_row, self.end_row, offsets, marks, values, _alike(offsets, marks))

    def pieces(self, kept: npt.NDArray[np.bool_]) -> Iterator[Listed]:
        """The same, some matches at a time."""
        sizes = np.zeros(len(self), np.int64)
        kernels.measure_branches(self.leaf, self.parents, kept, self.marks, sizes)
        pages = np.cumsum(sizes) // LISTED_MARKS
        for places in np.split(np.arange(len(self)), np.flatnonzero(np.diff(pages)) + 1):
            yield self.only(places).listed(kept)


def _alike(offsets: Ints, marks: Ints) -> bool:
    """Whether all matches have the same marks."""
    size = offsets[1] if len(offsets) > 1 else 0
    return bool((np.diff(offsets) == size).all() and (marks[size:] == marks[: len(marks) - size]).all())


def _by_start(starts: Ints, ends: Ints, offsets: Ints, marks: Ints, values: Ints) -> Listed:
    order = kernels.in_order_of_start(starts, ends)
    offsets, marks, values, alike = kernels.reordered(order, offsets, marks, values)
    return Listed(starts[order], ends, offsets, marks, values, alike)


def _empty(size: int, kind: Any = np.int32) -> Ints:
    return np.empty(size, kind)


class Arena:
    """All nodes, and the hits: nodes whose matches end at a row."""

    def __init__(self, nodes: int = 1 << 15, hits: int = 1 << 14) -> None:
        self.mark, self.one, self.two = _empty(nodes), _empty(nodes), _empty(nodes)
        self.newest = _empty(nodes, np.int64)
        self.hit_node, self.hit_row, self.hit_floor = _empty(hits), _empty(hits), _empty(hits, np.int64)
        self.counters = np.zeros(kernels.COUNTERS, np.int64)
        self.only_newest = False  # whether nobody asks for more than the newest start
        self._stack = _empty(1 << 10), _empty(1 << 10)
        self._path = _empty(1 << 10), _empty(1 << 10), _empty(1 << 10)

    @property
    def nodes(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The arrays that describe nodes."""
        return self.mark, self.one, self.two, self.newest

    @property
    def hits(self) -> tuple[Ints, Ints, Ints]:
        """The arrays that describe hits."""
        return self.hit_node, self.hit_row, self.hit_floor

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return int(self.counters[kernels.NODE_COUNT])

    # --- one node at a time ---------------------------------------------------------------------------------------

    def add(self, mark: int, one: int, two: int, newest: int) -> int:
        """A new node."""
        node = self.size
        if node == len(self.mark):
            self.enlarge()
        self.mark[node], self.one[node], self.two[node], self.newest[node] = mark, one, two, newest
        self.counters[kernels.NODE_COUNT] = node + 1
        return node

    def union(self, one: int, two: int, floor: int) -> int:
        """The partial matches of both nodes; those that start before the floor may be missing."""
        count = join(one, two, floor, *self.nodes, self.size, 0)
        while count == NO_NODES:
            self.enlarge()
            count = join(one, two, floor, *self.nodes, self.size, 0)
        self.counters[kernels.NODE_COUNT] = count
        return count - 1

    def hit(self, node: int, row: int, floor: int) -> None:
        """The matches of a node end at a row."""
        hit = int(self.counters[kernels.HIT_COUNT])
        if hit == len(self.hit_node):
            self.make_room_for_hits()
        self.hit_node[hit], self.hit_row[hit], self.hit_floor[hit] = node, row, floor
        self.counters[kernels.HIT_COUNT] = hit + 1

    def make_room_for_hits(self) -> None:
        """Room for twice as many hits."""
        size = 2 * len(self.hit_node)
        self.hit_node, self.hit_row, self.hit_floor = (grown(each, size) for each in self.hits)

    def relieve(self, read: int) -> bool:
        """Make more room if what there is was taken by few events: each stop costs a look at all that is kept."""
        cramped = read < FEW_EVENTS and len(self.mark) < MOST_NODES
        if cramped:
            self.enlarge()
            self.make_room_for_hits()
        return cramped

    # --- listing --------------------------------------------------------------------------------------------------

    def listed(self, as_tree: bool = False) -> Iterator[Listed | Tree]:
        """The matches of all hits, some at a time; afterwards there are no hits."""
        while self.counters[kernels.HIT_COUNT]:
            starts, ends = _empty(LISTED_MATCHES), _empty(LISTED_MATCHES)
            offsets, sizes = np.zeros(LISTED_MATCHES + 1, np.int64), np.zeros(2, np.int64)
            room = max(LISTED_MARKS, len(self._path[0]))
            marks, values, parents = _empty(room), _empty(room), _empty(room if as_tree else 1)
            reason = kernels.DEEP
            while reason == kernels.DEEP:
                reason = kernels.list_matches(
                    *self.hits,
                    *self.nodes,
                    *self._stack,
                    *self._path,
                    self.counters,
                    starts,
                    ends,
                    offsets,
                    marks,
                    values,
                    parents,
                    sizes,
                    as_tree,
                )
                if reason == kernels.DEEP:
                    self._stack = tuple(grown(each, 2 * len(each)) for each in self._stack)  # type: ignore[assignment]
                    self._path = tuple(grown(each, 2 * len(each)) for each in self._path)  # type: ignore[assignment]
                    if len(self._path[0]) > len(marks):  # one match must fit
                        marks, values = (grown(each, 2 * len(each)) for each in (marks, values))
                        parents = grown(parents, len(marks)) if as_tree else parents
            if reason == kernels.DONE:
                self.counters[[kernels.HIT_COUNT, kernels.HIT_CURSOR]] = 0
            found, written = sizes
            if found and as_tree:
                tree = Tree(
                    starts[:found],
                    ends[:found],
                    offsets[1 : found + 1],
                    parents[:written],
                    marks[:written],
                    values[:written],
                )
                yield tree.only(kernels.in_order_of_start(tree.start_row, tree.end_row))
            elif found:
                yield _by_start(starts[:found], ends[:found], offsets[: found + 1], marks[:written], values[:written])

    # --- memory ---------------------------------------------------------------------------------------------------

    def take_hits(self) -> tuple[Ints, Ints]:
        """The rows at which matches end, and the newest start of those that end there; afterwards there are no hits."""
        hits = int(self.counters[kernels.HIT_COUNT])
        self.counters[kernels.HIT_COUNT] = 0
        return self.hit_row[:hits].copy(), self.newest[self.hit_node[:hits]]

    def collect(self, slots: Slots, floor: int) -> None:
        """Forget what no match can use any more: what starts before the floor. There must be no hits."""
        if self.only_newest:
            self._flatten(slots)
            return
        size = self.size
        live, oldest, moved = np.zeros(size, np.bool_), _empty(size, np.int64), _empty(size)
        floors = np.maximum(slots.floor, floor)
        kernels.drop_expired(slots.state, slots.node, slots.begin, slots.count, floors, self.newest)
        held = slots.held
        roots = slots.node[held]
        live[roots], oldest[roots] = True, np.repeat(floors, slots.count)
        kept = kernels.collect(*self.nodes, oldest, live, moved)
        slots.node[held] = moved[roots]
        self.counters[kernels.NODE_COUNT] = kept
        if kept > len(self.mark) // 2:
            self.enlarge()

    def _flatten(self, slots: Slots) -> None:
        """Keep nothing but the newest start of each slot."""
        held = slots.held
        newest = self.newest[slots.node[held]]
        while len(newest) > len(self.mark) // 2:
            self.enlarge()
        self.mark[: len(newest)], self.one[: len(newest)], self.two[: len(newest)] = BOTTOM, -1, 0
        self.newest[: len(newest)] = newest
        slots.node[held] = np.arange(len(newest))
        self.counters[kernels.NODE_COUNT] = len(newest)

    def marked_with(self, marks: npt.NDArray[np.bool_]) -> Ints:
        """The nodes whose mark is among these; bottom nodes are always among them."""
        mark = self.mark[: self.size]
        return np.flatnonzero((mark == BOTTOM) | ((mark >= 0) & marks[mark]))

    def dump(self) -> dict[str, Ints]:
        """All nodes, for a snapshot; there must be no hits."""
        names = ("mark", "one", "two", "newest")
        return {name: each[: self.size] for name, each in zip(names, self.nodes, strict=True)}

    def load(self, sections: Mapping[str, Any]) -> None:
        """The nodes of a snapshot."""
        names = ("mark", "one", "two", "newest")
        arrays = [check.array(sections, name, np.int64 if name == "newest" else np.int32) for name in names]
        check.same_length(**dict(zip(names, arrays, strict=True)))
        size = len(arrays[0])
        while len(self.mark) < 2 * size:
            self.enlarge()
        for name, each in zip(("mark", "one", "two", "newest"), self.nodes, strict=True):
            each[:size] = sections[name]
        self.counters[kernels.NODE_COUNT] = size

    def check(self, actions: int, stored: int) -> None:
        """Whether nodes refer to nodes before them, to so many actions and to so many stored values."""
        mark, one, two, newest = (each[: self.size] for each in self.nodes)
        check.in_range("mark", mark, CHAIN, 2 * actions)
        union, bottom, storing = (mark == UNION) | (mark == CHAIN), mark == BOTTOM, mark >= actions
        below = np.arange(self.size)
        check.in_range("one", one[~bottom], 0, below[~bottom])
        check.in_range("two", two[union], 0, below[union])
        check.holds("two", bool(union[two[mark == CHAIN]].all()), "goes on with something that is no list")
        check.in_range("two", two[storing], 0, stored)
        check.in_range("two", two[~union & ~storing], 0, 2**31)
        over = ~bottom
        check.holds("newest", bool((newest[over] == newest[one[over]]).all()), "is not that of the nodes below")
        check.holds(
            "newest", bool((newest[union] >= newest[two[union]]).all()), "is older than that of the nodes below"
        )

    def enlarge(self) -> None:
        """Room for twice as many nodes."""
        size = 2 * len(self.mark)
        self.mark, self.one, self.two, self.newest = (grown(each, size) for each in self.nodes)
