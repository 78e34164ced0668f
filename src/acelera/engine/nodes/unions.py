"""What a node is, and how the partial matches of two nodes are put together.

A node stands for a set of partial matches (CORE's timed enumerable compact set). Its mark tells what it is:
  mark >= 0      output: `two` is what was marked (a row, or a value that was made), `one` the node before it
  UNION, CHAIN   the partial matches of `one` and of `two`; those of `one` contain the newest start
  BOTTOM         a match that begins; `two` is the row of its first event
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

from typing import Any

from acelera.engine.jit import inner

UNION, BOTTOM, CHAIN = -1, -2, -3
NO_NODES = -1
STEPS_LEFT = 3

Array = Any


@inner
def is_union(mark: int) -> bool:
    """Whether a node with this mark has two sides."""
    return mark in (UNION, CHAIN)


@inner
def join(
    one: int,
    two: int,
    floor: int,
    node_mark: Array,
    node_one: Array,
    node_two: Array,
    node_newest: Array,
    nodes: int,
    reserved: int,
) -> int:
    """Make a node of the partial matches of two; the number of nodes afterwards, of which it is the last.

    NO_NODES if there is no room for it and for as many nodes as are reserved. What starts before the floor may be left
    out.
    """
    if node_newest[one] < node_newest[two]:
        one, two = two, one
    if nodes == len(node_mark):
        return NO_NODES
    if not is_union(node_mark[one]):
        return unite(one, two, False, node_mark, node_one, node_two, node_newest, nodes)
    listed, rest, passed = True, one, 0
    while passed == 0 or (rest >= 0 and node_newest[rest] > node_newest[two]):
        passed += 1
        if not listed or node_newest[node_two[rest]] < floor:
            rest = -1
        else:
            listed, rest = node_mark[rest] == CHAIN, node_two[rest]
    if nodes + passed + 4 + reserved > len(node_mark):
        return NO_NODES
    if rest < 0:
        listed, rest = False, two
    elif node_newest[rest] < node_newest[two]:
        nodes = unite(two, rest, listed, node_mark, node_one, node_two, node_newest, nodes)
        listed, rest = True, nodes - 1
    else:
        element = node_one[rest] if listed else rest
        nodes = meld(element, two, floor, node_mark, node_one, node_two, node_newest, nodes)
        if listed and node_newest[node_two[rest]] >= floor:
            further, behind = node_mark[rest] == CHAIN, node_two[rest]
            nodes = unite(nodes - 1, behind, further, node_mark, node_one, node_two, node_newest, nodes)
        else:
            listed = False
        rest = nodes - 1
    # The elements that were passed, again, before the rest: those in front have the highest numbers.
    at, in_list, behind = one, True, rest
    for i in range(passed - 1, -1, -1):
        element = node_one[at] if in_list else at
        behind = rest if i == 0 else nodes + i - 1
        unite(element, behind, listed or i > 0, node_mark, node_one, node_two, node_newest, nodes + i)
        if in_list:
            in_list, at = node_mark[at] == CHAIN, node_two[at]
    return nodes + passed


@inner
def meld(
    one: int,
    two: int,
    floor: int,
    node_mark: Array,
    node_one: Array,
    node_two: Array,
    node_newest: Array,
    nodes: int,
) -> int:
    """Make one element of two that are equally new; the number of nodes afterwards, of which it is the last."""
    if not is_union(node_mark[one]):
        return unite(one, two, False, node_mark, node_one, node_two, node_newest, nodes)
    if not is_union(node_mark[two]):
        return unite(two, one, False, node_mark, node_one, node_two, node_newest, nodes)
    newer, older = node_two[one], node_two[two]
    if node_newest[newer] < node_newest[older]:
        newer, older = older, newer
    behind = node_one[two]
    if node_newest[newer] >= floor:
        if node_newest[older] >= floor:
            nodes = unite(newer, older, False, node_mark, node_one, node_two, node_newest, nodes)
            newer = nodes - 1
        nodes = unite(behind, newer, False, node_mark, node_one, node_two, node_newest, nodes)
        behind = nodes - 1
    return unite(node_one[one], behind, False, node_mark, node_one, node_two, node_newest, nodes)


@inner
def unite(
    one: int,
    two: int,
    listed: bool,
    node_mark: Array,
    node_one: Array,
    node_two: Array,
    node_newest: Array,
    nodes: int,
) -> int:
    """Make a union of two nodes, of which the first is no older; the second may be the rest of a list."""
    node_mark[nodes], node_one[nodes], node_two[nodes] = CHAIN if listed else UNION, one, two
    node_newest[nodes] = node_newest[one]
    return nodes + 1
