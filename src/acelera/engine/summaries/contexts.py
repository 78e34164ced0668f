"""What nodes stand for, without listing: from where matches end, down to where they begin.

A node stands for partial matches; a *context* is what can follow them up to the end. The context of a node is the sum
over all that refer to it, so it is known once all of these are looked at: each node is looked at once, however many
matches go through it. At the beginning of a match, the context is the summary of all matches that begin there.
"""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array, inlined, kernel
from acelera.engine.nodes.components import COLUMN, COMPONENT, KIND, PART, Components, add, copy, make_one
from acelera.engine.nodes.hits import HitArrays
from acelera.engine.nodes.unions import BOTTOM, Nodes, is_union
from acelera.engine.nodes.vectors import UNKNOWN_PART, Given, Groups, act, interned
from acelera.engine.summaries.totals import Into, put
from acelera.engine.summaries.transfers import Algebra

NONE = -1
HIT, STAMP, LOOKED_AT, COUNTERS = range(4)
"""What goes on from one call to the next: the next hit, how often nodes were gone through, how many were looked at."""

DONE, NODES, ROWS, TOTALS = range(4)
"""Why folding stopped: all hits are folded; there is no room: on the way through nodes, for contexts, for totals."""

START = -(1 << 20)
"""Where a number of a group may come from besides what `Totals` says: it is the tick at which a match starts."""


class Contexts(NamedTuple):
    """The contexts of nodes: a list of rows for each, one for each group.

    `seen` and `first` are for each node: when it was last gone through, and the first row of its list. `order` are the
    nodes of this time, those that others refer to after these. The parts of a group that are known where a match
    begins are columns of `Given.parts`, as `begin_part` tells. No match begins from the tick `limit` on. `closings`
    are what is done where a match begins, and `later` holds whether parts become known after that.
    """

    seen: Array
    first: Array
    order: Array
    stack: Array
    components: Components
    group: Array
    following: Array
    used: Array
    groups: Groups
    begin_part: Array
    limit: Array
    scratch: Array
    closings: Array
    later: Array


@kernel
def fold_nodes(
    hits: HitArrays, nodes: Nodes, algebra: Algebra, given: Given, contexts: Contexts, into: Into, counters: Array
) -> int:
    """Add all hits to their groups, those of one event together; why it stopped."""
    while counters[HIT] < hits.count[0]:
        first = counters[HIT]
        last = first
        while last < hits.count[0] and hits.row[last] == hits.row[first]:
            last += 1
        if last == first + 1 and nodes.mark[hits.value[first]] == BOTTOM and not contexts.later[0]:
            if into.groups.count[0] == len(into.groups.rows):
                return TOTALS
            begins_alone(hits.value[first], nodes, algebra, given, contexts, into, hits.row[first])
            counters[HIT] = last
            counters[LOOKED_AT] += 1
            continue
        counters[STAMP] += 1
        found = go_through(hits, first, last, nodes, contexts, counters[STAMP])
        if found < 0:
            return NODES
        if not lead_down(hits, first, last, nodes, algebra, given, contexts, found):
            return ROWS
        if into.groups.count[0] + contexts.used[0] > len(into.groups.rows):
            return TOTALS
        for o in range(len(contexts.order) - found, len(contexts.order)):
            node = contexts.order[o]
            if nodes.mark[node] == BOTTOM and nodes.newest[node] < contexts.limit[0]:
                take(contexts.order[o], nodes, algebra, given, contexts, into, hits.row[first])
        counters[LOOKED_AT] += found
        counters[HIT] = last
    return DONE


@inlined
def begins_alone(
    node: int, nodes: Nodes, algebra: Algebra, given: Given, contexts: Contexts, into: Into, end: int
) -> None:
    """Add the one match that begins with a node and has marked nothing that anybody looks at."""
    if nodes.newest[node] < contexts.limit[0]:
        make_one(contexts.components, 0)
        contexts.first[node], contexts.following[0] = 0, NONE
        take(node, nodes, algebra, given, contexts, into, end)


@inlined
def go_through(hits: HitArrays, first: int, last: int, nodes: Nodes, contexts: Contexts, stamp: int) -> int:
    """Find the nodes below some hits that are in the window: how many there are, -1 if there is no room.

    They stand at the end of `order`, in the reverse of that in which they are left.
    """
    stack, order, seen = contexts.stack, contexts.order, contexts.seen
    found, size, floor = 0, len(order), hits.floor[first]
    for h in range(first, last):
        stack[0] = hits.value[h]
        depth = 1
        while depth > 0:
            node = stack[depth - 1]
            if node < 0:  # all below it were left
                depth -= 1
                found += 1
                order[size - found] = -1 - node
                continue
            if seen[node] == stamp:
                depth -= 1
                continue
            if depth + 2 > len(stack) or found + depth + 2 > size:
                return -1
            seen[node], contexts.first[node] = stamp, NONE
            stack[depth - 1] = -1 - node
            mark = nodes.mark[node]
            if mark == BOTTOM:
                continue
            child = nodes.left[node]
            if seen[child] != stamp and nodes.newest[child] >= floor:
                stack[depth] = child
                depth += 1
            if is_union(mark):
                child = nodes.right[node]
                if seen[child] != stamp and nodes.newest[child] >= floor:
                    stack[depth] = child
                    depth += 1
    return found


@inlined
def lead_down(
    hits: HitArrays,
    first: int,
    last: int,
    nodes: Nodes,
    algebra: Algebra,
    given: Given,
    contexts: Contexts,
    found: int,
) -> bool:
    """Compute the contexts of nodes, from hits down; whether there was room."""
    size, parts, floor = len(contexts.group), len(contexts.begin_part), hits.floor[first]
    contexts.used[0] = 1  # row 0 is to work on
    if 4 * contexts.groups.count[0] > len(contexts.groups.table):  # those of events before
        contexts.groups.table[:] = NONE
        contexts.groups.count[0] = 0
    for p in range(parts):
        contexts.scratch[p] = UNKNOWN_PART
    nothing = interned(contexts.groups, contexts.scratch, parts) if contexts.later[0] else 0
    for h in range(first, last):
        if contexts.used[0] + 1 > size:
            return False
        make_one(contexts.components, 0)
        give(contexts, algebra, hits.value[h], nothing, 0)
    for o in range(len(contexts.order) - found, len(contexts.order)):
        node = contexts.order[o]
        mark, left = nodes.mark[node], nodes.left[node]
        if mark == BOTTOM:
            continue
        row = contexts.first[node]
        while row != NONE:
            full = 2 * (contexts.groups.count[0] + parts + 1) > len(contexts.groups.table)
            if contexts.used[0] + 2 > size or full:
                return False
            group = contexts.group[row]
            if is_union(mark):
                if nodes.newest[left] >= floor:
                    give(contexts, algebra, left, group, row)
                right = nodes.right[node]
                if nodes.newest[right] >= floor:
                    give(contexts, algebra, right, group, row)
            else:
                copy(contexts.components, 0, contexts.components, row)
                for i in range(algebra.operations_at[mark], algebra.operations_at[mark + 1]):
                    group = add_event(algebra, contexts, group, algebra.operations[i], given, nodes.right[node])
                give(contexts, algebra, left, group, 0)
            row = contexts.following[row]
    return True


@inlined
def add_event(algebra: Algebra, contexts: Contexts, group: int, operation: Array, given: Given, row: int) -> Array:
    """Add what a mark adds to the row that is worked on; its group then."""
    if operation[KIND] != PART:
        act(algebra.kinds, contexts.components, 0, operation, given, row)
        return group
    parts = len(contexts.begin_part)
    for p in range(parts):
        contexts.scratch[p] = contexts.groups.rows[group, p]
    contexts.scratch[operation[COMPONENT]] = given.parts[operation[COLUMN], row]
    return interned(contexts.groups, contexts.scratch, parts)


@inlined
def give(contexts: Contexts, algebra: Algebra, node: int, group: int, source: int) -> None:
    """Add a row of another node, or the one that is worked on, to the context of a node; there must be room for it."""
    row = contexts.first[node]
    while row != NONE and contexts.group[row] != group:
        row = contexts.following[row]
    if row != NONE:
        add(algebra.kinds, contexts.components, row, contexts.components, source)
        return
    row = contexts.used[0]
    contexts.used[0] = row + 1
    copy(contexts.components, row, contexts.components, source)
    contexts.group[row], contexts.following[row] = group, contexts.first[node]
    contexts.first[node] = row


@inlined
def take(node: int, nodes: Nodes, algebra: Algebra, given: Given, contexts: Contexts, into: Into, end: int) -> None:
    """Add the context of a beginning to its groups."""
    begin, row = nodes.right[node], contexts.first[node]
    while row != NONE:
        for i in range(len(contexts.closings)):
            act(algebra.kinds, contexts.components, row, contexts.closings[i], given, begin)
        for j in range(len(into.sources)):
            source = into.sources[j]
            if source >= 0:
                into.scratch[j] = into.ends[source, end]
            elif source == START:
                into.scratch[j] = nodes.newest[node]
            elif contexts.begin_part[-1 - source] >= 0:
                into.scratch[j] = given.parts[contexts.begin_part[-1 - source], begin]
            else:
                into.scratch[j] = contexts.groups.rows[contexts.group[row], -1 - source]
        put(into.groups, into.scratch, algebra.kinds, into.totals, contexts.components, row)
        row = contexts.following[row]
