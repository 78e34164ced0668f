"""How far apart the ends of events can lie that belong together: what an event is kept for, and how long.

A network has a bound for pairs of points: `p - q <= c`. Closed under what follows from one another, it holds the least
bound for each pair. From it follows until when a tuple can still meet others that end later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from acelera.algebra.intervals import TIMERS, Order, Point

Bound = float
"""A number of ticks, exact as an int; `inf` if there is none."""


class InconsistentError(ValueError):
    """No times at all satisfy the bounds."""


@dataclass(frozen=True)
class Network:
    """Bounds of differences of points, as they were said."""

    said: Mapping[tuple[Point, Point], Bound]

    @property
    def points(self) -> list[Point]:
        """The points that something is said of."""
        return list(dict.fromkeys(point for pair in self.said for point in pair))

    @cached_property
    def closed(self) -> dict[tuple[Point, Point], Bound]:
        """The least bound for each pair of points that there is one for (Floyd and Warshall)."""
        points = self.points
        least = {(point, point): 0 for point in points} | {
            pair: bound for pair, bound in self.said.items() if pair[0] != pair[1] or bound < 0
        }
        for middle in points:
            into = [(point, least[point, middle]) for point in points if (point, middle) in least]
            out = [(point, least[middle, point]) for point in points if (middle, point) in least]
            for first, before in into:
                for last, after in out:
                    if before + after < least.get((first, last), inf):
                        least[first, last] = before + after
        if any(least[point, point] < 0 for point in points):
            raise InconsistentError
        return least

    def least(self, left: Point, right: Point) -> Bound:
        """The least c with `left - right <= c`."""
        return 0 if left == right else self.closed.get((left, right), inf)

    def longest(self, identifiers: Iterable[str]) -> Bound:
        """How long what is made of these events can last at most."""
        known = list(identifiers)
        return max(
            (self.least(Point(last, "end"), Point(first, "begin")) for last in known for first in known), default=inf
        )


class NetworkBuilder:
    """Collects what is said of the events of one rule. A tick is the smallest difference of two times."""

    def __init__(self) -> None:
        self._said: dict[tuple[Point, Point], Bound] = {}

    def at_most(self, left: Point, right: Point, bound: Bound) -> None:
        """`left - right <= bound`."""
        if bound < self._said.get((left, right), inf):
            self._said[left, right] = bound

    def event(self, identifier: str, longest: Bound = inf) -> None:
        """An event begins before it ends, and may have a longest duration."""
        begin, end = Point(identifier, "begin"), Point(identifier, "end")
        self.at_most(begin, end, 0)
        self.at_most(end, begin, longest)

    def timer(self, identifier: str, kind: str, anchor: str, duration: int) -> None:
        """A timer beside an event."""
        self.event(identifier)
        begin, end = TIMERS[kind]
        for point, shift in ((Point(identifier, "begin"), begin), (Point(identifier, "end"), end)):
            away = shift.direction * duration
            self.at_most(point, Point(anchor, shift.end), away)
            self.at_most(Point(anchor, shift.end), point, -away)

    def inside(self, window: str, identifier: str) -> None:
        """What happens while something else does."""
        self.at_most(Point(window, "begin"), Point(identifier, "begin"), 0)
        self.at_most(Point(identifier, "end"), Point(window, "end"), 0)

    def ordered(self, orders: Iterable[Order]) -> None:
        """A relation of two events."""
        for order in orders:
            self.at_most(order.earlier, order.later, 0 if order.may_be_one else -1)

    def within(self, identifiers: Sequence[str], duration: int) -> None:
        """All of it happens in so much time."""
        for last in identifiers:
            for first in identifiers:
                self.at_most(Point(last, "end"), Point(first, "begin"), duration)

    def network(self) -> Network:
        """What was said."""
        return Network(dict(self._said))


# --- how long something is kept -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Until:
    """Until when a tuple matters: the latest, over the events that it may still meet, of the earliest of some points of
    the tuple plus a bound each. An event with no points can be met for ever.
    """

    meeting: Mapping[str, Mapping[Point, Bound]]

    @property
    def for_ever(self) -> list[str]:
        """The events that nothing bounds."""
        return [identifier for identifier, points in self.meeting.items() if not points]

    def at(self, times: Mapping[Point, int]) -> Bound:
        """For a tuple with these times."""
        ends = [
            min((times[point] + bound for point, bound in each.items()), default=inf) for each in self.meeting.values()
        ]
        return max(ends, default=-inf)


def kept_until(network: Network, kept: Iterable[str], met: Iterable[str]) -> Until:
    """Until when tuples with the times of some events matter to those that still come with the times of others."""
    own = [Point(identifier, end) for identifier in kept for end in ("begin", "end")]
    return Until(
        {
            identifier: {
                point: bound for point in own if (bound := network.least(Point(identifier, "end"), point)) < inf
            }
            for identifier in met
        }
    )


def comes_last(network: Network, kept: Iterable[str], met: Iterable[str]) -> bool:
    """Whether a tuple ends no earlier than all that it meets: then it need not be kept at all."""
    ends = [Point(identifier, "end") for identifier in kept]
    return all(any(network.least(Point(each, "end"), end) <= 0 for end in ends) for each in met)
