"""What is said of intervals, as comparisons of their ends: Allen's relations, and timers that stand beside an event."""

from __future__ import annotations

from typing import Literal, NamedTuple

End = Literal["begin", "end"]


class Point(NamedTuple):
    """One end of the interval of an event."""

    identifier: str
    end: End

    def __str__(self) -> str:
        return f"{self.identifier}.{self.end}"


class Order(NamedTuple):
    """`earlier` is before `later`, or not after it if they may be one."""

    earlier: Point
    later: Point
    may_be_one: bool


_Sides = tuple[tuple[int, End], str, tuple[int, End]]

_RELATIONS: dict[str, tuple[_Sides, ...]] = {
    "before": (((0, "end"), "<", (1, "begin")),),
    "meets": (((0, "end"), "=", (1, "begin")),),
    "overlaps": (
        ((0, "begin"), "<", (1, "begin")),
        ((1, "begin"), "<", (0, "end")),
        ((0, "end"), "<", (1, "end")),
    ),
    "during": (((1, "begin"), "<", (0, "begin")), ((0, "end"), "<", (1, "end"))),
    "starts": (((0, "begin"), "=", (1, "begin")), ((0, "end"), "<", (1, "end"))),
    "finishes": (((1, "begin"), "<", (0, "begin")), ((0, "end"), "=", (1, "end"))),
    "equals": (((0, "begin"), "=", (1, "begin")), ((0, "end"), "=", (1, "end"))),
}
"""Of two intervals, 0 and 1."""

INVERSES = {
    "after": "before",
    "met-by": "meets",
    "overlapped-by": "overlaps",
    "contains": "during",
    "started-by": "starts",
    "finished-by": "finishes",
    "simultaneous": "equals",
}

RELATIONS = (*_RELATIONS, *INVERSES)


def orders(left: str, relation: str, right: str) -> tuple[Order, ...]:
    """What must hold of the ends of two events for a relation to hold; `=` is two orders.

    >>> for order in orders("i", "met-by", "j"):
    ...     print(order.earlier, "<=" if order.may_be_one else "<", order.later)
    j.end <= i.begin
    i.begin <= j.end
    """
    pair = (right, left) if relation in INVERSES else (left, right)
    found = []
    for (first, one), comparison, (second, other) in _RELATIONS[INVERSES.get(relation, relation)]:
        earlier, later = Point(pair[first], one), Point(pair[second], other)
        found.append(Order(earlier, later, comparison == "="))
        if comparison == "=":
            found.append(Order(later, earlier, True))
    return tuple(found)


class Shift(NamedTuple):
    """An end of the interval of an anchor, and in which direction the duration leads away from it, if it does."""

    end: End
    direction: int


TIMERS: dict[str, tuple[Shift, Shift]] = {
    "from-end": (Shift("end", 0), Shift("end", 1)),
    "from-end-backward": (Shift("end", -1), Shift("end", 0)),
    "from-start": (Shift("begin", 0), Shift("begin", 1)),
    "from-start-backward": (Shift("begin", -1), Shift("begin", 0)),
    "extend": (Shift("begin", 0), Shift("end", 1)),
    "shorten": (Shift("begin", 0), Shift("end", -1)),
    "extend-begin": (Shift("begin", -1), Shift("end", 0)),
    "shorten-begin": (Shift("begin", 1), Shift("end", 0)),
    "shift-forward": (Shift("begin", 1), Shift("end", 1)),
    "shift-backward": (Shift("begin", -1), Shift("end", -1)),
}
"""For each kind of relative timer where it begins and where it ends. It does not happen if that is no interval."""
