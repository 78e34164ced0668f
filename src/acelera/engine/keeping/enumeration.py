"""The matches below some hits, one after the other in their order, as far as anybody asks for them.

This looks at one node at a time, in Python: it serves ANY n, which asks for few matches of many, and matches that have
the same marks and differ in values alone. The sets of nodes whose matches have the same rows so far are followed
together, from where matches begin up to the hits; where they end, they are told apart by what they mark. Later nodes
have higher numbers, so what can follow comes in the order of its rows, and no more is looked at than is asked for.
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

Passed = tuple[int, ...]
"""The nodes without marks of their own that one passes on the way from one node to another."""

_UNIONS = (UNION, CHAIN)


@dataclass(frozen=True)
class Found:
    """A match: the node where it begins, the number of its hit, and its marks with what each marks."""

    start: int
    hit: int
    path: tuple[tuple[int, int], ...]


@dataclass
class _Step:
    """Matches with the same rows so far: the nodes where they stand, each with those below it that lead there.

    `todo` are nodes above these that were not looked at, each with the one that it stands above and what was passed.
    """

    reached: dict[int, list[tuple[int, Passed]]]
    todo: list[tuple[int, int, Passed]] = field(default_factory=list)


class Enumeration:
    """The matches of some hits, each given as its value, its row and its floor."""

    def __init__(self, nodes: Nodes, order: Order, hits: Sequence[tuple[int, int, int]]) -> None:
        self._nodes, self._order, self._hits = nodes, order, hits
        self._parents: dict[int, list[int]] = {}
        self._ends: dict[int, list[tuple[int, Passed]]] = {}
        self._least: dict[int, int] = {}
        self.starts: list[int] = []
        for number, (value, _, floor) in enumerate(hits):
            if nodes.newest[value] >= floor:
                self._note_ends(int(value), number, floor)
                self._look_down(int(value), floor)

    def _note_ends(self, value: int, number: int, floor: int) -> None:
        """Note of each node whether matches end there, with which hit."""
        nodes, ranks = self._nodes, self._order.ranks
        todo: list[tuple[int, Passed]] = [(value, ())]
        while todo:
            node, passed = todo.pop()
            mark = nodes.mark[node]
            if mark in _UNIONS:
                todo.append((int(nodes.left[node]), passed))
                if nodes.newest[nodes.right[node]] >= floor:
                    todo.append((int(nodes.right[node]), passed))
            elif mark != BOTTOM and ranks[mark] == UNMARKED:
                todo.append((int(nodes.left[node]), (node, *passed)))
            else:
                self._ends.setdefault(node, []).append((number, passed))

    def _look_down(self, value: int, floor: int) -> None:
        """Note which nodes stand above each; a node that was looked at with as low a floor is known."""
        nodes, todo = self._nodes, [value]
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
        """The matches that begin at some nodes, in order: by rows, by marks, then by start, by end, and by values."""
        floor = max(int(self._nodes.newest[start]) for start in starts)
        steps = [self._step({start: [] for start in starts}, floor)]
        yield from self._ending(steps)
        while steps:
            reached = self._next_row(steps[-1], floor)
            if reached:
                steps.append(self._step(reached, floor))
                yield from self._ending(steps)
            else:
                steps.pop()

    # --- by rows --------------------------------------------------------------------------------------------------

    def _step(self, reached: dict[int, list[tuple[int, Passed]]], floor: int) -> _Step:
        """What stands above some nodes."""
        step = _Step(reached)
        for node in reached:
            self._pass(step, node, node, (), floor)
        return step

    def _pass(self, step: _Step, at: int, node: int, passed: Passed, floor: int) -> None:
        """Note what stands above a node that marks nothing, or where matches stand."""
        for above in self._parents.get(at, ()):
            if self._least[above] <= floor:
                heappush(step.todo, (above, node, passed))

    def _next_row(self, step: _Step, floor: int) -> dict[int, list[tuple[int, Passed]]]:
        """The nodes that mark the next row that follows."""
        nodes, ranks, todo = self._nodes, self._order.ranks, step.todo
        reached: dict[int, list[tuple[int, Passed]]] = {}
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
                reached.setdefault(above, []).append((node, passed))
            else:
                self._pass(step, above, node, passed if mark in _UNIONS else (*passed, above), floor)
        return reached

    # --- by marks, and by values ------------------------------------------------------------------------------------

    def _ending(self, steps: Sequence[_Step]) -> Iterator[Found]:
        """The matches that end where all steps lead, by what they mark at each row."""
        last = len(steps) - 1
        leading = [{node for node in steps[last].reached if node in self._ends}]
        if not leading[0]:
            return
        for step in reversed(steps[1:]):
            leading.append({below for node in leading[-1] for below, _ in step.reached[node]})
        leading.reverse()
        chosen: list[set[int]] = []
        choices = [[leading[0]]]
        while choices:
            depth = len(choices) - 1
            if not choices[depth]:
                choices.pop()
                if chosen:
                    chosen.pop()
            elif depth == last:
                yield from self._by_values(steps, [*chosen, choices[depth].pop()])
            else:
                chosen.append(choices[depth].pop())
                choices.append(self._by_marks(leading[depth + 1], steps[depth + 1], chosen[depth]))

    def _by_marks(self, nodes: set[int], step: _Step, below: set[int]) -> list[set[int]]:
        """Nodes that stand above some others, in sets of those that mark the same; the last one comes first."""
        found: dict[int, set[int]] = {}
        for node in nodes:
            if any(each in below for each, _ in step.reached[node]):
                found.setdefault(int(self._order.ranks[self._nodes.mark[node]]), set()).add(node)
        return [found[rank] for rank in sorted(found, reverse=True)]

    def _by_values(self, steps: Sequence[_Step], chosen: Sequence[set[int]]) -> list[Found]:
        """The matches with one set of marks, which lead through the nodes that were chosen."""
        newest, hits = self._nodes.newest, self._hits
        found = [
            each
            for node in chosen[-1]
            for hit, passed in self._ends.get(node, ())
            for each in self._ways_back(steps, chosen, node, hit, passed)
        ]
        if len(found) > 1:
            found.sort(key=lambda each: (newest[each.start], hits[each.hit][1], self._order.details(each.path)))
        return found

    def _ways_back(
        self, steps: Sequence[_Step], chosen: Sequence[set[int]], node: int, hit: int, passed: Passed
    ) -> Iterator[Found]:
        """The matches that end so: back along all ways that led to a node."""
        todo: list[tuple[int, int, Passed]] = [(len(steps) - 1, node, passed)]
        nodes = self._nodes
        while todo:
            depth, at, path = todo.pop()
            if depth > 0:
                for below, way in steps[depth].reached[at]:
                    if below in chosen[depth - 1]:
                        todo.append((depth - 1, below, (*way, at, *path)))
            elif nodes.newest[at] >= self._hits[hit][2]:
                marks = tuple((int(nodes.mark[each]), int(nodes.right[each])) for each in path)
                yield Found(at, hit, marks)
