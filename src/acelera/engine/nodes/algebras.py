"""What a partial match carries, as kernels see it: a value of an algebra, and the few things that machines do with it.

Machines are written once and call `begin`, `extend`, `union` and `newest_start`; which algebra it is, the kind of the
group of arrays says that stands first:

- `Nodes`, enumeration: the value is a node, which stands for all partial matches (`unions`);
- `Starts`, the newest start: the value is the tick at which the newest of them starts. It is all that UNLESS asks of
  what it forbids;
- `Vectors` (`vectors.py`), summaries: the value is a row of numbers that tell how many they are and what is aggregated
  over them.

What slots hold are *places*: where partial matches meet that may be united. That is a set of the machine, or for
summaries by group a set and a group.

A further algebra is another NamedTuple with these functions and `has_room`, and a class that holds it (`Arena`,
`NewestStarts`) and fulfils the protocol `Algebra` of `machines/machine.py`. `machines/choice.py` says which algebra is
used. The value machine enumerates only: it knows no other algebra.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, dispatched, implements
from acelera.engine.nodes.unions import BOTTOM, Nodes, add, join


class Starts(NamedTuple):
    """Starts need no arrays: they stand in the slots. `nothing` is there because a group has something in it."""

    nothing: Array


@dispatched
def begin(algebra: Array, row: int, tick: int) -> Array:
    """The value of a match that begins with an event."""
    raise NotImplementedError


@dispatched
def extend(algebra: Array, value: Array, mark: int, given: int) -> Array:
    """The value of partial matches that go on with a mark, and what is marked with it."""
    raise NotImplementedError


@dispatched
def union(algebra: Array, left: Array, right: Array, floor: int, reserved: int) -> Array:
    """The value of the partial matches of both; those that start before the floor may be missing.

    NO_ROOM if there is none for it and for as many values as are reserved.
    """
    raise NotImplementedError


@dispatched
def newest_start(algebra: Array, value: Array) -> Array:
    """When the newest of the partial matches starts: all have left the window if that is below the floor."""
    raise NotImplementedError


@dispatched
def meeting_place(algebra: Array, target: int, value: Array) -> int:
    """Where partial matches meet that lead to a set: only those that may be united meet."""
    raise NotImplementedError


@dispatched
def set_at(algebra: Array, place: int) -> int:
    """The set of a place."""
    raise NotImplementedError


@dispatched
def has_room(algebra: Array, needed: int) -> bool:
    """Whether so many values can be made."""
    raise NotImplementedError


# --- enumeration --------------------------------------------------------------------------------------------------


@implements(begin, Nodes)
def _begin_node(nodes: Nodes, row: int, tick: int) -> Array:
    return add(nodes, BOTTOM, -1, row, tick)


@implements(extend, Nodes)
def _extend_node(nodes: Nodes, node: int, mark: int, given: int) -> Array:
    return add(nodes, mark, node, given, nodes.newest[np.uint64(node)])


@implements(union, Nodes)
def _union_of_nodes(nodes: Nodes, left: int, right: int, floor: int, reserved: int) -> Array:
    return join(nodes, left, right, floor, reserved)


@implements(newest_start, Nodes)
def _newest_of_node(nodes: Nodes, node: int) -> Array:
    return nodes.newest[np.uint64(node)]


@implements(has_room, Nodes)
def _has_room_for_nodes(nodes: Nodes, needed: int) -> bool:
    return bool(nodes.count[0] + needed <= len(nodes.mark))


@implements(meeting_place, Nodes)
def _where_nodes_meet(nodes: Nodes, target: int, node: int) -> int:
    return target


@implements(set_at, Nodes)
def _set_of_nodes(nodes: Nodes, place: int) -> int:
    return place


# --- the newest start ---------------------------------------------------------------------------------------------


@implements(begin, Starts)
def _begin_start(starts: Starts, row: int, tick: int) -> Array:
    return tick


@implements(extend, Starts)
def _extend_start(starts: Starts, start: int, mark: int, given: int) -> Array:
    return start


@implements(union, Starts)
def _newer_start(starts: Starts, left: int, right: int, floor: int, reserved: int) -> Array:
    return max(left, right)


@implements(newest_start, Starts)
def _start(starts: Starts, start: int) -> Array:
    return start


@implements(has_room, Starts)
def _has_room_for_starts(starts: Starts, needed: int) -> bool:
    return True


@implements(meeting_place, Starts)
def _where_starts_meet(starts: Starts, target: int, start: int) -> int:
    return target


@implements(set_at, Starts)
def _set_of_starts(starts: Starts, place: int) -> int:
    return place
