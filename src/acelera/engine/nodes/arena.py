"""Enumeration: the nodes that hold all partial matches, and the hits that wait to be listed.

Some hits wait longer (`held.py`): those who wait with them are told to the arena, so that their nodes stay. Whoever
knows something of each node notes it here, so that it goes along with the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import AHEAD, Array, inlined, kernel, prefetch
from acelera.engine.nodes import listing, unions
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.matches import LISTED_MARKS, LISTED_MATCHES, Listed, Tree
from acelera.engine.nodes.plain_slots import PlainSlots
from acelera.engine.nodes.slots import SlotArrays, Slots, ask_for_slots, drop_expired
from acelera.engine.nodes.unions import BOTTOM, CHAIN, NO_ROOM, UNION, Nodes, is_union
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown, grown_group
from acelera.engine.storage.renumbering import numbered_anew, occurring

Ints = npt.NDArray[Any]

FEW_EVENTS, MOST_NODES = 1 << 8, 1 << 20
"""How many events should fit at least, as long as there are not so many nodes."""

GONE = np.iinfo(np.int64).max
"""The floor of a union that `collect` has replaced by its left side."""

SECTIONS = {"mark": np.int32, "left": np.int32, "right": np.int32, "newest": np.int64}
"""What a snapshot holds of nodes."""


class Arena(PlainSlots):
    """All nodes, and the hits: nodes whose matches end at a row."""

    value_type = np.int32

    def __init__(self, nodes: int = 1 << 15, hits: int = 1 << 14) -> None:
        mark, left, right, newest = (np.empty(nodes, kind) for kind in SECTIONS.values())
        self.arrays = Nodes(mark, left, right, newest, count=np.zeros(1, np.int64))
        self.hits = Hits(hits, self.value_type)
        self.held: list[Held] = []
        self.notes: dict[str, Ints] = {}
        self.collected = 0  # how often nodes were numbered anew
        self._walk = listing.Walk.of(1 << 10)

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return int(self.arrays.count[0])

    @property
    def steps(self) -> int:
        """How many nodes listing has looked at."""
        return int(self._walk.cursor[listing.STEPS])

    # --- one node at a time ---------------------------------------------------------------------------------------

    def add(self, mark: int, left: int, right: int, newest: int) -> int:
        """A new node."""
        if self.size == len(self.arrays.mark):
            self.enlarge()
        return add_node(self.arrays, mark, left, right, newest)

    def union(self, left: int, right: int, floor: int) -> int:
        """The partial matches of both nodes; those that start before the floor may be missing."""
        node = join_nodes(self.arrays, left, right, floor)
        while node == NO_ROOM:
            self.enlarge()
            node = join_nodes(self.arrays, left, right, floor)
        return int(node)

    def add_paths(self, listed: Listed) -> Ints:
        """Nodes for each of some matches alone, from the nodes on at which they begin; the last node of each."""
        sizes = np.diff(listed.offsets)
        size = self.size + len(listed.marks)
        while size > len(self.arrays.mark):
            self.enlarge()
        begins = np.flatnonzero(self.arrays.mark[: self.size] == BOTTOM)
        rows, first = np.unique(self.arrays.right[begins], return_index=True)
        begin = begins[first[np.searchsorted(rows, listed.start_row)]]
        nodes = np.arange(self.size, size)
        left = nodes - 1
        marking = sizes > 0
        left[listed.offsets[:-1][marking]] = begin[marking]
        self.arrays.mark[nodes], self.arrays.left[nodes], self.arrays.right[nodes] = listed.marks, left, listed.values
        self.arrays.newest[nodes] = np.repeat(self.arrays.newest[begin], sizes)
        last = np.where(marking, self.size + listed.offsets[1:] - 1, begin)
        self.arrays.count[0] = size
        return last.astype(np.int32)

    # --- listing --------------------------------------------------------------------------------------------------

    def listed(self, as_tree: bool = False) -> Iterator[Listed | Tree]:
        """The matches of all hits, some at a time; afterwards there are no hits."""
        while len(self.hits):
            page, reason = self._page(as_tree), listing.DEEP
            while reason == listing.DEEP:
                reason = listing.list_matches(self.hits.arrays, self.arrays, self._walk, page, as_tree)
                if reason == listing.DEEP:
                    page = self._deeper(page, as_tree)
            if reason == listing.DONE:
                self.hits.clear()
                self._walk.cursor[listing.HIT] = 0
            found = Tree.of(page) if as_tree else Listed.of(page)
            del page  # its memory is taken again at once
            if len(found):
                yield found

    def put(self, hits: Ended) -> None:
        """These are to be listed, and no others."""
        while len(self.hits.arrays.row) < len(hits):
            self.hits.make_room()
        self.hits.put(hits.value, hits.row, hits.floor)

    def _page(self, as_tree: bool) -> listing.Page:
        """Where matches are written."""
        room = max(LISTED_MARKS, len(self._walk.path_mark))
        sizes = (LISTED_MATCHES, LISTED_MATCHES, room, room, room if as_tree else 1)
        starts, ends, marks, values, parents = (np.empty(size, np.int32) for size in sizes)
        offsets = np.zeros(LISTED_MATCHES + 1, np.int64)
        return listing.Page(starts, ends, offsets, marks, values, parents, np.zeros(listing.SIZES, np.int64))

    def _deeper(self, page: listing.Page, as_tree: bool) -> listing.Page:
        """Room for a stack and a path that are twice as deep; one match must fit into the page."""
        self._walk = self._walk.deeper()
        if len(self._walk.path_mark) <= len(page.marks):
            return page
        size = 2 * len(page.marks)
        parents = grown(page.parents, size) if as_tree else page.parents
        return page._replace(marks=grown(page.marks, size), values=grown(page.values, size), parents=parents)

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, slots: Slots, floor: int) -> None:
        """Forget what no match can use any more: what starts before the floor. There must be no hits but those held."""
        size = self.size
        live, oldest, moved = np.zeros(size, np.bool_), np.full(size, GONE), np.empty(size, np.int32)
        drop_expired(slots.arrays, self.arrays, floor)
        find_roots(slots.arrays, floor, live, oldest)
        for each in self.held:
            live[each.hits.value] = True
            np.minimum.at(oldest, each.hits.value, each.hits.floor)
        collect(self.arrays, oldest, live, moved)
        move_roots(slots.arrays, moved)
        for each in self.held:
            each.hits = replace(each.hits, value=moved[each.hits.value])
        self.collected += 1
        if self.notes:
            kept = np.flatnonzero(live & (oldest != GONE))
            self.notes = {name: note[kept[kept < len(note)]] for name, note in self.notes.items()}
        if self.size > len(self.arrays.mark) // 2:
            self.enlarge()

    def relieve(self, read: int) -> bool:
        """Make more room if what there is was taken by few events: each stop costs a look at all that is kept."""
        cramped = read < FEW_EVENTS and len(self.arrays.mark) < MOST_NODES
        if cramped:
            self.enlarge()
            self.hits.make_room()
        return cramped

    def enlarge(self) -> None:
        """Room for twice as many nodes."""
        self.arrays = grown_group(self.arrays, 2 * len(self.arrays.mark))

    def rows(self, actions: int) -> Ints:
        """The rows that nodes refer to, one for each of them, where there are so many actions."""
        return np.asarray(self.arrays.right[self._with_rows(actions)])

    def keep_rows(self, actions: int) -> Ints:
        """The rows that nodes and hits that are held refer to; they are numbered anew, in order."""
        held = [each.hits.row for each in self.held]
        of_nodes = self.rows(actions)
        rows, moved = numbered_anew(np.concatenate((of_nodes, *held)))
        self.arrays.right[self._with_rows(actions)] = moved[: len(of_nodes)]
        at = len(of_nodes)
        for each in self.held:
            each.hits = replace(each.hits, row=moved[at : at + len(each)].astype(np.int32))
            at += len(each)
        return rows

    def renumber_rows(self, actions: int, moved: Ints) -> None:
        """Rows have gone elsewhere."""
        nodes = self._with_rows(actions)
        self.arrays.right[nodes] = moved[self.arrays.right[nodes]]

    def _with_rows(self, actions: int) -> Ints:
        mark = self.arrays.mark[: self.size]
        return np.flatnonzero((mark == BOTTOM) | ((mark >= 0) & (mark < actions)))

    def stored(self, actions: int) -> Ints:
        """The stored values that nodes refer to, where there are so many actions."""
        return occurring(self.arrays.right[self._storing(actions)])

    def move_stored(self, actions: int, moved: Ints) -> None:
        """Stored values have gone elsewhere."""
        nodes = self._storing(actions)
        self.arrays.right[nodes] = moved[self.arrays.right[nodes]]

    def _storing(self, actions: int) -> Ints:
        return np.flatnonzero(self.arrays.mark[: self.size] >= actions)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Ints]:
        """All nodes, for a snapshot; there must be no hits."""
        return {name: getattr(self.arrays, name)[: self.size] for name in SECTIONS}

    def load(self, sections: Mapping[str, Any]) -> None:
        """The nodes of a snapshot."""
        arrays = {name: check.array(sections, name, kind) for name, kind in SECTIONS.items()}
        check.same_length(**arrays)
        size = len(arrays["mark"])
        while len(self.arrays.mark) < 2 * size:
            self.enlarge()
        for name, each in arrays.items():
            getattr(self.arrays, name)[:size] = each
        self.arrays.count[0] = size

    def check(self, slots: Slots, actions: int, stored: int) -> None:
        """Whether slots refer to nodes, and nodes to nodes before them, to so many actions and stored values."""
        check.in_range("slot_value", slots.value[slots.held], 0, self.size)
        mark, left, right, newest = (getattr(self.arrays, name)[: self.size] for name in SECTIONS)
        check.in_range("mark", mark, CHAIN, 2 * actions)
        union, bottom, storing = (mark == UNION) | (mark == CHAIN), mark == BOTTOM, mark >= actions
        below = np.arange(self.size)
        check.in_range("left", left[~bottom], 0, below[~bottom])
        check.in_range("right", right[union], 0, below[union])
        check.holds("right", bool(union[right[mark == CHAIN]].all()), "goes on with something that is no list")
        check.in_range("right", right[storing], 0, stored)
        check.in_range("right", right[~union & ~storing], 0, 2**31)
        over = ~bottom
        check.holds("newest", bool((newest[over] == newest[left[over]]).all()), "is not that of the nodes below")
        check.holds(
            "newest", bool((newest[union] >= newest[right[union]]).all()), "is older than that of the nodes below"
        )


@kernel
def find_roots(slots: SlotArrays, floor: int, live: Array, oldest: Array) -> None:
    """The nodes that slots refer to, each with the floor of its key."""
    for key in range(len(slots.count)):
        ask_for_slots(slots, min(key + AHEAD, len(slots.count) - 1))
        lowest, first = max(slots.floor[key], floor), slots.begin[key]
        for s in range(first, first + slots.count[key]):
            node = np.uint64(slots.value[np.uint64(s)])
            live[node], oldest[node] = True, lowest


@kernel
def move_roots(slots: SlotArrays, moved: Array) -> None:
    """Nodes have gone elsewhere."""
    for key in range(len(slots.count)):
        ask_for_slots(slots, min(key + AHEAD, len(slots.count) - 1))
        first = slots.begin[key]
        for s in range(first, first + slots.count[key]):
            slots.value[np.uint64(s)] = moved[np.uint64(slots.value[np.uint64(s)])]


@inlined
def ask_for_nodes(nodes: Nodes, node: int, live: Array, floor: Array) -> None:
    """Memory is asked for what is known of the nodes below a node."""
    if live[node] and nodes.mark[node] != BOTTOM:
        prefetch(live, nodes.left[node])
        prefetch(floor, nodes.left[node])


@kernel
def collect(nodes: Nodes, floor: Array, live: Array, moved: Array) -> None:
    """Keep the nodes that can still be reached within the window; `moved` tells where each went.

    The floor of a node is GONE until one above it says another.
    """
    for i in range(len(live) - 1, -1, -1):
        ask_for_nodes(nodes, max(i - AHEAD, 0), live, floor)
        if not live[i] or nodes.mark[i] == BOTTOM:
            continue
        left, right = nodes.left[i], nodes.right[i]
        live[left], floor[left] = True, min(floor[left], floor[i])
        if is_union(nodes.mark[i]) and nodes.newest[right] >= floor[i]:
            live[right], floor[right] = True, min(floor[right], floor[i])
    kept = 0
    for i in range(len(live)):
        if not live[i]:
            continue
        mark, left, right = nodes.mark[i], nodes.left[i], nodes.right[i]
        if is_union(mark):
            if not live[right] or nodes.newest[moved[right]] < floor[i]:  # nothing but the left side is left
                moved[i], floor[i] = moved[left], GONE
                continue
            if floor[right] == GONE:  # of the rest of a list, one element is left
                mark = UNION
            right = moved[right]
        if mark != BOTTOM:
            left = moved[left]
        unions.put(nodes, kept, mark, left, right, nodes.newest[i])
        moved[i] = kept
        kept += 1
    nodes.count[0] = kept


@kernel
def add_node(nodes: Nodes, mark: int, left: int, right: int, newest: int) -> int:
    """A new node; there must be room for it."""
    return unions.add(nodes, mark, left, right, newest)


@kernel
def join_nodes(nodes: Nodes, left: int, right: int, floor: int) -> int:
    """A node of the partial matches of two; NO_ROOM if there is none for it."""
    return unions.join(nodes, left, right, floor, 0)
