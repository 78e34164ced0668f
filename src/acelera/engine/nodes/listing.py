"""From hits to matches: walking through nodes, and putting what was found in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, compiled, inlined, kernel
from acelera.engine.nodes.hits import HitArrays
from acelera.engine.nodes.unions import BOTTOM, Nodes, is_union

DONE, FULL, DEEP = range(3)
"""Why listing stopped: all is listed, what it writes to is full, or the stack or the path is too small."""

HIT, STACKED, STEPS, CURSORS = range(4)
"""Where listing stands: the next hit, how much is on the stack; and how many nodes it has looked at."""

FOUND, WRITTEN, SIZES = range(3)
"""How many matches there are, and how many entries."""


class Walk(NamedTuple):
    """Nodes that are still to be walked through, each with how much of the path leads there; and the path itself.

    The path is what has been marked, from the last event on; and for each step its entry in the tree.
    """

    stack_node: Array
    stack_depth: Array
    path_mark: Array
    path_value: Array
    path_entry: Array
    cursor: Array

    @classmethod
    def of(cls, depth: int) -> Walk:
        """Room for a stack and a path of this depth."""
        node, below, mark, value, entry = np.empty((5, depth), np.int32)
        return cls(node, below, mark, value, entry, cursor=np.zeros(CURSORS, np.int64))

    def deeper(self) -> Walk:
        """The same with twice the room."""
        wider = Walk.of(2 * len(self.path_mark))
        for here, there in zip(self, wider, strict=True):
            there[: len(here)] = here
        return wider


class Page(NamedTuple):
    """Matches: their first and last rows, where their entries end, and the entries; `parents` only for a tree."""

    start_row: Array
    end_row: Array
    offsets: Array
    marks: Array
    values: Array
    parents: Array
    sizes: Array


@kernel
def list_matches(hits: HitArrays, nodes: Nodes, walk: Walk, page: Page, as_tree: bool) -> int:
    """Write the matches of all hits, each as its first and last row and what it marks, from first to last.

    As a tree, what a match has in common with the one before, up to its end, is not written again: an entry has a
    parent, which is what the match marks next, and in place of where a match ends, `offsets` tells what it marks first.
    """
    hit, stacked = walk.cursor[HIT], walk.cursor[STACKED]
    found, written = page.sizes[FOUND], page.sizes[WRITTEN]
    whole_hit, whole_found, whole_written = hit, 0, 0  # up to here all matches that end at a row are written
    reason, known = DONE, 0  # so much of the path is in the tree
    while reason == DONE:
        if stacked == 0:
            if hit == hits.count[0]:
                break
            if hit == 0 or hits.row[hit] != hits.row[hit - 1]:
                whole_hit, whole_found, whole_written = hit, found, written
            walk.stack_node[0], walk.stack_depth[0] = hits.value[hit], 0
            stacked, hit = 1, hit + 1
        floor, end = hits.floor[hit - 1], hits.row[hit - 1]
        stacked -= 1
        node, depth = walk.stack_node[stacked], walk.stack_depth[stacked]
        reason, node, depth, known, stacked = walk_down(nodes, walk, node, depth, known, stacked, floor)
        if reason == DONE and (found == len(page.start_row) or written + depth > len(page.marks)):
            reason = FULL
        if reason != DONE:  # go on from this node
            walk.stack_node[stacked], walk.stack_depth[stacked] = node, depth
            stacked += 1
            break
        page.start_row[found], page.end_row[found] = nodes.right[node], end
        found += 1
        if as_tree:
            written = write_branch(walk, page, known, depth, written)
            known = max(known, depth)
            page.offsets[found] = walk.path_entry[depth - 1] if depth > 0 else -1
        else:
            written = write_path(walk, page, depth, written)
            page.offsets[found] = written
    if reason == FULL and whole_found > 0:  # leave those that end at one row together
        hit, stacked, found, written = whole_hit, 0, whole_found, whole_written
    walk.cursor[HIT], walk.cursor[STACKED] = hit, stacked
    page.sizes[FOUND], page.sizes[WRITTEN] = found, written
    return reason


@inlined
def walk_down(
    nodes: Nodes, walk: Walk, node: int, depth: int, known: int, stacked: int, floor: int
) -> tuple[int, int, int, int, int]:
    """From a node to where a match begins, marking the path; what is to be walked through later goes on the stack."""
    reason, steps, mark = DONE, 1, nodes.mark[node]
    while mark != BOTTOM:
        if is_union(mark):
            right = nodes.right[node]
            if nodes.newest[right] >= floor:
                if stacked + 2 > len(walk.stack_node):
                    reason = DEEP
                    break
                walk.stack_node[stacked], walk.stack_depth[stacked] = right, depth
                stacked += 1
        else:
            if depth == len(walk.path_mark):
                reason = DEEP
                break
            walk.path_mark[depth], walk.path_value[depth] = mark, nodes.right[node]
            known = min(known, depth)
            depth += 1
        node = nodes.left[node]
        mark = nodes.mark[node]
        steps += 1
    walk.cursor[STEPS] += steps
    return reason, node, depth, known, stacked


@inlined
def write_path(walk: Walk, page: Page, depth: int, written: int) -> int:
    """The path as the entries of a match, from first to last; how many entries there are then."""
    one, at, step = np.uint64(1), np.uint64(written), np.uint64(depth)  # unsigned, as in `reordered`
    while step > np.uint64(0):
        step -= one
        page.marks[at], page.values[at] = walk.path_mark[step], walk.path_value[step]
        at += one
    return written + depth


@inlined
def write_branch(walk: Walk, page: Page, known: int, depth: int, written: int) -> int:
    """What of the path is not yet in the tree, as entries of it; how many entries there are then."""
    for j in range(known, depth):
        page.marks[written], page.values[written] = walk.path_mark[j], walk.path_value[j]
        page.parents[written] = walk.path_entry[j - 1] if j > 0 else -1
        walk.path_entry[j] = written
        written += 1
    return written


# --- trees --------------------------------------------------------------------------------------------------------


@compiled
def measure_branches(leaf: Array, parents: Array, kept: Array, marks: Array, sizes: Array) -> None:
    """How many entries of a kind that is kept each match of a tree has."""
    below = np.zeros(len(parents), np.int64)
    for entry in range(len(parents)):
        below[entry] = kept[marks[entry]]
        if parents[entry] >= 0:
            below[entry] += below[parents[entry]]
    for match in range(len(leaf)):
        sizes[match] = below[leaf[match]] if leaf[match] >= 0 else 0


@compiled
def write_branches(
    leaf: Array, parents: Array, kept: Array, marks: Array, values: Array, new_marks: Array, new_values: Array
) -> None:
    """The entries of matches of a tree, from first to last, if they are of a kind that is kept."""
    nearest = np.empty(len(parents), np.int64)  # from here on, the first that is kept
    for entry in range(len(parents)):
        nearest[entry] = -1 if parents[entry] < 0 else nearest[parents[entry]]
        if kept[marks[entry]]:
            nearest[entry] = entry
    at = 0
    for match in range(len(leaf)):
        entry = -1 if leaf[match] < 0 else nearest[leaf[match]]
        while entry >= 0:
            new_marks[at], new_values[at] = marks[entry], values[entry]
            at += 1
            entry = -1 if parents[entry] < 0 else nearest[parents[entry]]


# --- order --------------------------------------------------------------------------------------------------------


@compiled
def in_order_of_start(start_row: Array, end_row: Array) -> Array:
    """How to put matches, which are in order of their ends, into order of their starts among equal ends."""
    order = np.arange(len(start_row))
    begin = 0
    for i in range(1, len(start_row) + 1):
        if i < len(start_row) and end_row[i] == end_row[begin]:
            continue
        low, high, sorted_already = start_row[begin], start_row[begin], True
        for j in range(begin + 1, i):
            sorted_already = sorted_already and start_row[j - 1] <= start_row[j]
            low, high = min(low, start_row[j]), max(high, start_row[j])
        if sorted_already:
            pass
        elif high - low < 4 * (i - begin) + 64:
            sort_by_counting(start_row, begin, i, low, high, order)
        else:
            sort_by_merging(start_row, begin, i, order)
        begin = i
    return order


@compiled
def sort_by_merging(start_row: Array, begin: int, end: int, order: Array) -> None:
    """Matches from `begin` to `end` in order of their starts; numba takes seconds to compile NumPy's way to do it."""
    spare = np.empty(end - begin, np.int64)
    width = 1
    while width < end - begin:
        for left in range(begin, end, 2 * width):
            middle, last = min(left + width, end), min(left + 2 * width, end)
            i, j = left, middle
            for at in range(left, last):
                if i < middle and (j == last or start_row[order[i]] <= start_row[order[j]]):
                    spare[at - begin] = order[i]
                    i += 1
                else:
                    spare[at - begin] = order[j]
                    j += 1
        for at in range(begin, end):
            order[at] = spare[at - begin]
        width *= 2


@compiled
def sort_by_counting(start_row: Array, begin: int, end: int, low: int, high: int, order: Array) -> None:
    """Matches from `begin` to `end` in order of their starts, which lie close together."""
    places = np.zeros(high - low + 2, np.int64)
    for j in range(begin, end):
        places[start_row[j] - low + 1] += 1
    for place in range(1, len(places)):
        places[place] += places[place - 1]
    for j in range(begin, end):
        place = start_row[j] - low
        order[begin + places[place]] = j
        places[place] += 1


@compiled
def reordered(order: Array, offsets: Array, marks: Array, values: Array) -> tuple[Array, Array, Array, bool]:
    """What matches mark, in another order of the matches; and whether all of them have the same marks."""
    new_offsets, new_marks, new_values = np.zeros_like(offsets), np.empty_like(marks), np.empty_like(values)
    one, at = np.uint64(1), np.uint64(0)  # unsigned: no look whether an index counts from the end
    size = offsets[1] - offsets[0] if len(order) > 0 else 0
    alike = True
    for i in range(len(order)):
        match = np.uint64(order[i])
        first, last = np.uint64(offsets[match]), np.uint64(offsets[match + one])
        alike = alike and last - first == np.uint64(size)
        while first < last:
            new_marks[at], new_values[at] = marks[first], values[first]
            first, at = first + one, at + one
        new_offsets[i + 1] = at
    for entry in range(size, len(marks) if alike else 0):
        alike = alike and marks[entry] == marks[entry - size]
    return new_offsets, new_marks, new_values, alike
