"""Of all matches with one start and one end, the first in the order of matches: its marks, without listing the others.

What lies between is the part of the nodes that hits reach. From where a match begins one goes up in it, always to the
node with which the first match goes on. A node knows that one before any start is asked for: it is worked out once for
all of what hits reach, from the hits down. Of two nodes with one row, what follows them is compared, first by rows and
then by marks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inlined, inner, kernel
from acelera.engine.nodes.unions import BOTTOM, Nodes, is_union

NOTHING = -1

ENDS, UNKNOWN = -1, np.iinfo(np.int64).max
"""What stands for no further row, which comes first, so a match comes before one that goes on from it; and for nothing
that was found so far.
"""

DONE, FULL, TIED = range(3)
"""Why tracing stopped: all is traced, there is no room for a match, or several differ in values alone."""

GROUP, CHOICE, STAMP, CURSORS = range(4)
"""Where tracing stands: the next group of hits, the next match, and the number of the group that was looked at last."""


class Region(NamedTuple):
    """What is known of nodes that hits reach: in which group they were last reached, the row that comes first above,
    the node with which the first match goes on, and whether several may. `order` lists nodes, those below first.
    """

    stamp: Array
    first: Array
    above: Array
    tied: Array
    order: Array
    stack: Array
    cursor: Array

    @classmethod
    def of(cls, nodes: int) -> Region:
        """Room for so many nodes."""
        return cls(
            stamp=np.zeros(nodes, np.int64),
            first=np.empty(nodes, np.int64),
            above=np.empty(nodes, np.int32),
            tied=np.empty(nodes, np.bool_),
            order=np.empty(nodes, np.int32),
            stack=np.empty(3 * nodes + 3, np.int32),
            cursor=np.zeros(CURSORS, np.int64),
        )


class Choices(NamedTuple):
    """Matches that are chosen, in groups: of each group the hits and the matches, each told by where it begins."""

    hits: Array
    hits_upto: Array
    starts: Array
    starts_upto: Array


class Traced(NamedTuple):
    """The marks of matches, from first to last; `sizes` has how many matches there are, and how many marks."""

    offsets: Array
    marks: Array
    values: Array
    sizes: Array


@kernel
def trace(nodes: Nodes, choices: Choices, ranks: Array, region: Region, traced: Traced) -> int:
    """Trace the matches that are chosen, from the next one on; why it stopped. A match that is tied is left out.

    `ranks` gives for each mark its place among those of one row, -1 if it marks nothing that counts.
    """
    cursor, reason = region.cursor, DONE
    while reason == DONE and cursor[GROUP] < len(choices.starts_upto):
        group = cursor[GROUP]
        begin = choices.starts_upto[group - 1] if group > 0 else 0
        if cursor[CHOICE] == begin:
            floor = nodes.newest[choices.starts[begin]]
            for i in range(begin + 1, choices.starts_upto[group]):
                floor = min(floor, nodes.newest[choices.starts[i]])
            cursor[STAMP] += 1
            look_down(nodes, choices, group, floor, ranks, region)
        while cursor[CHOICE] < choices.starts_upto[group]:
            reason = climb(nodes, choices.starts[cursor[CHOICE]], region, traced)
            if reason == FULL:
                break
            cursor[CHOICE] += 1
            if reason == TIED:
                break
        if cursor[CHOICE] == choices.starts_upto[group]:
            cursor[GROUP] += 1
    return reason


@inlined
def look_down(nodes: Nodes, choices: Choices, group: int, floor: int, ranks: Array, region: Region) -> None:
    """Work out what comes first above each node that the hits of a group reach, and where it starts at the floor or
    later.
    """
    stamp, size, stacked = region.cursor[STAMP], 0, 0
    for i in range(choices.hits_upto[group - 1] if group > 0 else 0, choices.hits_upto[group]):
        if nodes.newest[choices.hits[i]] >= floor:
            region.stack[stacked] = choices.hits[i]
            stacked += 1
            while stacked > 0:  # a node is listed when all below it are
                stacked -= 1
                node = region.stack[stacked]
                if node < 0:
                    region.order[size] = -1 - node
                    size += 1
                    continue
                if region.stamp[node] == stamp:
                    continue
                region.stamp[node] = stamp
                region.first[node], region.above[node], region.tied[node] = UNKNOWN, NOTHING, False
                region.stack[stacked] = -1 - node
                stacked += 1
                mark = nodes.mark[node]
                if mark != BOTTOM:
                    region.stack[stacked] = nodes.left[node]
                    stacked += 1
                if is_union(mark) and nodes.newest[nodes.right[node]] >= floor:
                    region.stack[stacked] = nodes.right[node]
                    stacked += 1
    for i in range(choices.hits_upto[group - 1] if group > 0 else 0, choices.hits_upto[group]):
        if nodes.newest[choices.hits[i]] >= floor:
            region.first[choices.hits[i]] = ENDS
    for i in range(size - 1, -1, -1):
        node = region.order[i]
        mark = nodes.mark[node]
        if mark == BOTTOM:
            continue
        first, above, tied = region.first[node], region.above[node], region.tied[node]
        if not is_union(mark):
            above, tied = node, False
            if ranks[mark] >= 0:
                first = nodes.right[node]
        improve(nodes, ranks, region, nodes.left[node], first, above, tied)
        if is_union(mark) and region.stamp[nodes.right[node]] == stamp:
            improve(nodes, ranks, region, nodes.right[node], first, above, tied)


@inlined
def improve(nodes: Nodes, ranks: Array, region: Region, node: int, first: int, above: int, tied: bool) -> None:
    """A node above a node: whether it comes before what is known."""
    known, order = region.above[node], -1
    if first == region.first[node]:
        order = 0 if above == known or first == UNKNOWN else compare(nodes, ranks, region, above, known)
        if order == 0 and (tied or above != known):
            region.tied[node] = True
    if first < region.first[node] or (first == region.first[node] and order < 0):
        region.first[node], region.above[node], region.tied[node] = first, above, tied


@inner
def marked(nodes: Nodes, ranks: Array, region: Region, node: int) -> int:
    """The first node of the way up from a node, itself included, that marks something that counts, or NOTHING."""
    while node != NOTHING and ranks[nodes.mark[node]] < 0:
        node = region.above[node]
    return node


@inner
def compare(nodes: Nodes, ranks: Array, region: Region, one: int, other: int) -> int:
    """Which of the ways up from two nodes comes first: by rows, then by marks; below 0 if it is the first of them."""
    order, left, right = 0, marked(nodes, ranks, region, one), marked(nodes, ranks, region, other)
    while left != right and left != NOTHING and right != NOTHING:
        rows = nodes.right[left] - nodes.right[right]
        if rows != 0:
            return int(rows)
        if order == 0:
            order = ranks[nodes.mark[left]] - ranks[nodes.mark[right]]
        left = marked(nodes, ranks, region, region.above[left])
        right = marked(nodes, ranks, region, region.above[right])
    if left == right:
        return int(order)
    return -1 if left == NOTHING else 1


@inlined
def climb(nodes: Nodes, start: int, region: Region, traced: Traced) -> int:
    """Write the match that comes first of those that begin at a node; TIED or FULL if it is not written."""
    found, written = traced.sizes[0], traced.sizes[1]
    if found + 1 == len(traced.offsets):
        return FULL
    node = start
    while True:
        if region.tied[node]:
            return TIED
        node = region.above[node]
        if node == NOTHING:
            break
        if written == len(traced.marks):
            return FULL
        traced.marks[written], traced.values[written] = nodes.mark[node], nodes.right[node]
        written += 1
    traced.offsets[found + 1] = written
    traced.sizes[0], traced.sizes[1] = found + 1, written
    return DONE
