"""The matches below some hits, one after the other in their order, as far as anybody asks for them.

This looks at one node at a time, in Python: it serves ANY n, which asks for few matches of many, and matches that have
the same marks and differ in values alone. The sets of nodes that are equal so far are followed together, from where
matches begin up to the hits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from acelera.engine.keeping.order_of_matches import UNMARKED, Order
from acelera.engine.nodes.unions import BOTTOM, CHAIN, UNION, Nodes

Ints = npt.NDArray[Any]

Way = tuple[int, tuple[int, ...]]
"""A node that one came from, and the nodes without marks of their own that one passed on the way."""

Mark = tuple[int, int]

_UNIONS = (UNION, CHAIN)


@dataclass(frozen=True)
class Found:
    """A match: the node where it begins, the number of its hit, and its marks with what each marks."""

    start: int
    hit: int
    path: tuple[tuple[int, int], ...]


@dataclass
class _Step:
    """Matches that are equal so far: the nodes where they stand, each with the ways that led there; what can follow."""

    reached: dict[int, list[Way]]
    follows: list[tuple[Mark, dict[int, list[Way]]]]
    ended: list[tuple[int, int, tuple[int, ...]]]


class Enumeration:
    """The matches of some hits, each given as its value, its row and its floor."""

    def __init__(self, nodes: Nodes, order: Order, hits: Sequence[tuple[int, int, int]]) -> None:
        self._nodes, self._order, self._hits = nodes, order, hits
        self._parents: dict[int, list[int]] = {}
        self._ends: dict[int, list[int]] = {}
        self._least: dict[int, int] = {}
        self.starts: list[int] = []
        for number, (value, _, floor) in enumerate(hits):
            self._ends.setdefault(value, []).append(number)
            self._look_down(value, floor)

    def _look_down(self, value: int, floor: int) -> None:
        """Note which nodes stand above each; a node that was looked at with as low a floor is known."""
        nodes, todo = self._nodes, [int(value)]
        if nodes.newest[value] < floor:
            return
        while todo:
            node = todo.pop()
            known = self._least.get(node)
            if known is not None and known <= floor:
                continue
            self._least[node] = floor
            mark = nodes.mark[node]
            if mark == BOTTOM:
                if known is None:
                    self.starts.append(node)
                continue
            below = [int(nodes.left[node])]
            if mark in _UNIONS and nodes.newest[nodes.right[node]] >= floor:
                below.append(int(nodes.right[node]))
            for each in below:
                parents = self._parents.setdefault(each, [])
                if node not in parents:
                    parents.append(node)
                todo.append(each)

    def matches(self, starts: Sequence[int]) -> Iterator[Found]:
        """The matches that begin at some nodes, in order: by marks, then by start, by end, and by values."""
        newest = self._nodes.newest
        floor = max(int(newest[start]) for start in starts)
        steps = [self._step({start: [] for start in starts}, floor)]
        while steps:
            step = steps[-1]
            if step.follows:
                _, reached = step.follows.pop()
                steps.append(self._step(reached, floor))
                continue
            found = [each for node, hit, passed in step.ended for each in self._ways_back(steps, node, hit, passed)]
            steps.pop()
            if len(found) > 1:
                found.sort(
                    key=lambda each: (newest[each.start], self._hits[each.hit][1], self._order.details(each.path))
                )
            yield from found

    def _step(self, reached: dict[int, list[Way]], floor: int) -> _Step:
        """What can follow from some nodes, last what comes first; and which hits are reached without a further mark."""
        nodes, ranks = self._nodes, self._order.ranks
        follows: dict[Mark, dict[int, list[Way]]] = {}
        ended: list[tuple[int, int, tuple[int, ...]]] = []
        for node in reached:
            todo: list[tuple[int, tuple[int, ...]]] = [(node, ())]
            while todo:
                at, passed = todo.pop()
                ended += [(node, hit, passed) for hit in self._ends.get(at, ())]
                for above in self._parents.get(at, ()):
                    if self._least[above] > floor:
                        continue
                    mark = nodes.mark[above]
                    if mark in _UNIONS:
                        todo.append((above, passed))
                    elif ranks[mark] == UNMARKED:
                        todo.append((above, (*passed, above)))
                    else:
                        place = (int(nodes.right[above]), int(ranks[mark]))
                        follows.setdefault(place, {}).setdefault(above, []).append((node, passed))
        return _Step(reached, sorted(follows.items(), key=lambda each: each[0], reverse=True), ended)

    def _ways_back(self, steps: Sequence[_Step], node: int, hit: int, passed: tuple[int, ...]) -> Iterator[Found]:
        """The matches that end so: back along all ways that led to a node."""
        todo: list[tuple[int, int, tuple[int, ...]]] = [(len(steps) - 1, node, passed)]
        nodes = self._nodes
        while todo:
            depth, at, path = todo.pop()
            if depth > 0:
                todo += [(depth - 1, before, (*way, at, *path)) for before, way in steps[depth].reached[at]]
            elif nodes.newest[at] >= self._hits[hit][2]:
                marks = tuple((int(nodes.mark[each]), int(nodes.right[each])) for each in path)
                yield Found(at, hit, marks)
