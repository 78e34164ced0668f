"""The matches below some hits, one after the other in their order, as far as anybody asks for them.

This looks at one node at a time, in Python: it serves ANY n, which asks for few matches of many, and matches that have
the same marks and differ in values alone. The sets of nodes that are equal so far are followed together, from where
matches begin up to the hits. Later nodes have higher numbers, so what can follow comes in the order of its rows, and no
more of it is looked at than is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any

import numpy.typing as npt

from acelera.engine.keeping.order_of_matches import UNMARKED, Order
from acelera.engine.nodes.unions import BOTTOM, CHAIN, UNION, Nodes

Ints = npt.NDArray[Any]

Way = tuple[int, tuple[int, ...]]
"""A node that one came from, and the nodes without marks of their own that one passed on the way."""

_UNIONS = (UNION, CHAIN)


@dataclass(frozen=True)
class Found:
    """A match: the node where it begins, the number of its hit, and its marks with what each marks."""

    start: int
    hit: int
    path: tuple[tuple[int, int], ...]


@dataclass
class _Step:
    """Matches that are equal so far: the nodes where they stand, each with the ways that led there.

    `todo` are nodes above these that were not looked at, each with the one that it stands above and the nodes passed on
    the way; `follows` the next marks, of one row, last what comes first; `ended` the hits that are reached without one.
    """

    reached: dict[int, list[Way]]
    todo: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)
    follows: list[tuple[int, dict[int, list[Way]]]] = field(default_factory=list)
    ended: list[tuple[int, int, tuple[int, ...]]] = field(default_factory=list)


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
            if step.follows or self._look_up(step, floor):
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
        """What stands above some nodes."""
        step = _Step(reached)
        for node in reached:
            self._pass(step, node, node, (), floor)
        return step

    def _pass(self, step: _Step, at: int, node: int, passed: tuple[int, ...], floor: int) -> None:
        """Note what stands above a node that marks nothing, or where matches stand: hits, and nodes to look at."""
        step.ended += [(node, hit, passed) for hit in self._ends.get(at, ())]
        for above in self._parents.get(at, ()):
            if self._least[above] <= floor:
                heappush(step.todo, (above, node, passed))

    def _look_up(self, step: _Step, floor: int) -> bool:
        """Find the marks of the next row that follow; False if there are none."""
        nodes, ranks, todo = self._nodes, self._order.ranks, step.todo
        follows: dict[int, dict[int, list[Way]]] = {}
        row = None
        while todo:
            above, node, passed = todo[0]
            mark = nodes.mark[above]
            marks = mark not in _UNIONS and ranks[mark] != UNMARKED
            if marks and row is not None and nodes.right[above] > row:
                break
            heappop(todo)
            if marks:
                row = nodes.right[above]
                follows.setdefault(int(ranks[mark]), {}).setdefault(above, []).append((node, passed))
            else:
                self._pass(step, above, node, passed if mark in _UNIONS else (*passed, above), floor)
        step.follows = sorted(follows.items(), key=lambda each: each[0], reverse=True)
        return bool(follows)

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
