"""What a node is, and how the partial matches of two nodes are put together.

A node stands for a set of partial matches (CORE's timed enumerable compact set). Its mark tells what it is:
  mark >= 0      output: `right` is what was marked (a row, or a value that was made), `left` the node before it
  UNION, CHAIN   the partial matches of `left` and of `right`; those of `left` contain the newest start
  BOTTOM         a match that begins; `right` is the row of its first event
`newest` is the newest start below a node, in the unit of the window. Children always have smaller numbers.

What has left the window must not be walked through once for each match. So unions are kept such that

- `newest` falls, or stays, on the way to the right: behind the first that is too old, all are;
- on the way to the left, at most `STEPS_LEFT` steps lead to something that is no union: the next match.

For that, whatever is held in a slot is a list of elements, the first of which is no union, and `newest` falls from each
to the next. CHAIN is a union whose right side is the rest of such a list, UNION one whose right side is one element. An
element may itself have been a list: it is either no union, or a union whose left side is none and whose right side is
one at most two steps deep.

A list has no more elements than its key had slots when its first element began, since all that is put into it
afterwards is as old as one of them, and elements of one age become one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, inlined, inner
from acelera.engine.ticks import FAR_PAST

UNION, BOTTOM, CHAIN = -1, -2, -3
NO_ROOM = FAR_PAST
"""What stands for a node that there was no room for."""
STEPS_LEFT = 3


class Nodes(NamedTuple):
    """All nodes; `count` holds one number, how many there are."""

    mark: Array
    left: Array
    right: Array
    newest: Array
    count: Array


@inlined
def is_union(mark: int) -> bool:
    """Whether a node with this mark has two sides."""
    return mark in (UNION, CHAIN)


@inlined
def put(nodes: Nodes, at: int, mark: int, left: int, right: int, newest: int) -> None:
    """Write a node."""
    place = np.uint64(at)  # unsigned: no look whether an index counts from the end
    nodes.mark[place], nodes.left[place], nodes.right[place], nodes.newest[place] = mark, left, right, newest


@inlined
def add(nodes: Nodes, mark: int, left: int, right: int, newest: int) -> int:
    """A new node; there must be room for it."""
    node = nodes.count[0]
    put(nodes, node, mark, left, right, newest)
    nodes.count[0] = node + 1
    return int(node)


@inlined
def unite(nodes: Nodes, left: int, right: int, listed: bool) -> int:
    """A union of two nodes, of which the first is no older; the second may be the rest of a list."""
    return add(nodes, CHAIN if listed else UNION, left, right, nodes.newest[left])


@inner
def join(nodes: Nodes, left: int, right: int, floor: int, reserved: int) -> int:
    """A node of the partial matches of two; NO_ROOM if there is none for it and for as many nodes as are reserved.

    What starts before the floor may be left out.
    """
    newest = nodes.newest
    if newest[left] < newest[right]:
        left, right = right, left
    if nodes.count[0] + 1 + reserved > len(nodes.mark):
        return NO_ROOM
    if not is_union(nodes.mark[left]):
        return unite(nodes, left, right, False)
    listed, rest, passed = True, left, 0
    while passed == 0 or (rest >= 0 and newest[rest] > newest[right]):
        passed += 1
        if not listed or newest[nodes.right[rest]] < floor:
            rest = -1
        else:
            listed, rest = nodes.mark[rest] == CHAIN, nodes.right[rest]
    if nodes.count[0] + passed + 4 + reserved > len(nodes.mark):
        return NO_ROOM
    if rest < 0:
        listed, rest = False, right
    elif newest[rest] < newest[right]:
        listed, rest = True, unite(nodes, right, rest, listed)
    else:
        element = meld(nodes, nodes.left[rest] if listed else rest, right, floor)
        listed = listed and newest[nodes.right[rest]] >= floor
        rest = unite(nodes, element, nodes.right[rest], nodes.mark[rest] == CHAIN) if listed else element
    return repeat(nodes, left, passed, rest, listed)


@inner
def repeat(nodes: Nodes, head: int, passed: int, rest: int, listed: bool) -> int:
    """The first elements of a list again, before another rest: those in front have the highest numbers."""
    first = nodes.count[0]
    at, in_list = head, True
    for i in range(passed - 1, -1, -1):
        element = nodes.left[at] if in_list else at
        behind = rest if i == 0 else first + i - 1
        mark = CHAIN if listed or i > 0 else UNION
        put(nodes, first + i, mark, element, behind, nodes.newest[element])
        if in_list:
            in_list, at = nodes.mark[at] == CHAIN, nodes.right[at]
    nodes.count[0] = first + passed
    return int(first + passed - 1)


@inner
def meld(nodes: Nodes, left: int, right: int, floor: int) -> int:
    """One element of two that are equally new."""
    if not is_union(nodes.mark[left]):
        return unite(nodes, left, right, False)
    if not is_union(nodes.mark[right]):
        return unite(nodes, right, left, False)
    newer, older = nodes.right[left], nodes.right[right]
    if nodes.newest[newer] < nodes.newest[older]:
        newer, older = older, newer
    behind = nodes.left[right]
    if nodes.newest[newer] >= floor:
        if nodes.newest[older] >= floor:
            newer = unite(nodes, newer, older, False)
        behind = unite(nodes, behind, newer, False)
    return unite(nodes, nodes.left[left], behind, False)
