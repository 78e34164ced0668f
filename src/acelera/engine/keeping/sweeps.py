"""Sweeps over nodes: which matches there are between starts and ends, each node looked at once for many hits."""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, compiled, kernel
from acelera.engine.nodes.unions import BOTTOM, Nodes, is_union

NEVER = np.iinfo(np.int64).max
"""The floor of a node that was not looked at."""


@compiled
def claim(
    nodes: Nodes, values: Array, floors: Array, backwards: bool, seen: Array, stack: Array, start: Array, owner: Array
) -> tuple[int, int]:
    """Each start belongs to the first hit that reaches it, or to the last one: the nodes where matches begin, and the
    number of the hit of each. How many they are, and how many nodes were looked at.

    `seen` tells of each node the least floor with which it was looked at: all that starts there or later is assigned.
    """
    found = steps = 0
    for i in range(len(values)):
        hit = len(values) - 1 - i if backwards else i
        floor, stacked = floors[hit], 1
        stack[0] = values[hit]
        while stacked > 0:
            stacked -= 1
            node = stack[stacked]
            while seen[node] > floor and nodes.newest[node] >= floor:
                steps += 1
                before, seen[node] = seen[node], floor
                mark = nodes.mark[node]
                if mark == BOTTOM:
                    if before == NEVER:
                        start[found], owner[found] = node, hit
                        found += 1
                    break
                if is_union(mark):
                    stack[stacked] = nodes.right[node]
                    stacked += 1
                node = nodes.left[node]
    return found, steps


@kernel
def newest_starts(nodes: Nodes, values: Array, start: Array) -> None:
    """For each hit the node where its newest match begins."""
    for hit in range(len(values)):
        node = values[hit]
        while nodes.mark[node] != BOTTOM:
            node = nodes.left[node]
        start[hit] = node


@kernel
def note_oldest(nodes: Nodes, first: int, last: int, oldest: Array) -> None:
    """For each node the one where its oldest match begins, if nothing has a floor; those before the first are known."""
    for node in range(first, last):
        mark = nodes.mark[node]
        if mark == BOTTOM:
            oldest[node] = node
            continue
        found = oldest[nodes.left[node]]
        if is_union(mark):
            other = oldest[nodes.right[node]]
            if nodes.newest[other] < nodes.newest[found]:
                found = other
        oldest[node] = found


@kernel
def oldest_starts(
    nodes: Nodes, values: Array, floors: Array, group: Array, stamp: Array, last: int, stack: Array, start: Array
) -> None:
    """For each group of hits the node where its oldest match begins that starts at the floor or later.

    `stamp` tells in which group a node was looked at last; these are counted from `last` on.
    """
    for hit in range(len(values)):
        number, floor, stacked = last + group[hit], floors[hit], 1
        best = start[group[hit]]
        stack[0] = values[hit]
        while stacked > 0:
            stacked -= 1
            node = stack[stacked]
            while stamp[node] != number and nodes.newest[node] >= floor:
                stamp[node] = number
                mark = nodes.mark[node]
                if mark == BOTTOM:
                    if best < 0 or nodes.newest[node] < nodes.newest[best]:
                        best = node
                    break
                if is_union(mark):
                    stack[stacked] = nodes.right[node]
                    stacked += 1
                node = nodes.left[node]
        start[group[hit]] = best


@kernel
def one_after_another(
    partition: Array, first: Array, end: Array, stop: Array, last_end: Array, kept: Array, behind: Array
) -> None:
    """Of matches in order, by partition, those that start behind the end of the last one that was kept.

    Nothing is known yet of a partition from a `stop` on. `kept` is 1 for a match that is kept, 0 for one that is not,
    and -1 where that is not known; `behind` is what each had to start behind.
    """
    stopped = -1
    for i in range(len(partition)):
        kept[i], behind[i] = 0, last_end[partition[i]]
        if first[i] <= last_end[partition[i]]:
            continue
        if stop[i] or stopped == partition[i]:
            stopped = partition[i]
            kept[i] = -1
        else:
            kept[i] = 1
            last_end[partition[i]] = end[i]


@kernel
def mark_reaching(nodes: Nodes, reaching: Array) -> None:
    """Which nodes reach one that is marked: those above it."""
    for node in range(len(reaching)):
        mark = nodes.mark[node]
        if mark != BOTTOM and not reaching[node]:
            reaching[node] = reaching[nodes.left[node]] or (is_union(mark) and reaching[nodes.right[node]])
