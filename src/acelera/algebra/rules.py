"""A rule in terms of the algebra, and the relation that it stands for.

Events are joined first, in an order that shares variables, then timers stand beside them, then what happens in windows
is collected, then what must not happen in windows is looked for. Each condition is asked as soon as it can be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

from acelera.algebra.bounds import Network
from acelera.algebra.construction import Head
from acelera.algebra.expressions import Attribute, Constant, Expression, Operation, all_of, attributes_of, conjuncts
from acelera.algebra.intervals import Point
from acelera.algebra.names import time
from acelera.algebra.operators import Absent, Clock, Collect, Derive, Events, Join, Merge, Relation, Select, Timer


@dataclass(frozen=True)
class RelativeTimer:
    """A timer beside an event, or beside another timer."""

    identifier: str
    kind: str
    anchor: str
    duration: int


@dataclass(frozen=True)
class Rule:
    """What must happen for an event to be derived. Timers come after what they stand beside.

    `network` holds what conditions, timers and windows say of times; it has nothing that they do not have. `number` is
    the place of the rule among all that were written.
    """

    head: Head
    events: tuple[Events | Clock, ...]
    conditions: tuple[Expression, ...]
    network: Network
    timers: tuple[RelativeTimer, ...] = ()
    collected: tuple[tuple[str, Events], ...] = ()
    absent: tuple[tuple[str, Events], ...] = ()
    number: int = 0

    @property
    def identifiers(self) -> list[str]:
        """Those of events and timers: what is derived happens while they do."""
        return [each.identifier for each in (*self.events, *self.timers)]

    @property
    def asks_for(self) -> frozenset[str]:
        """The labels of the events that it looks at."""
        inside = [each for _, each in (*self.collected, *self.absent)]
        return frozenset(label for each in (*self.events, *inside) if isinstance(each, Events) for label in each.labels)


def relation_of(rule: Rule) -> Derive:
    """The relation of a rule."""
    asked = _Conditions(each for condition in rule.conditions for each in conjuncts(condition))
    made = _joined(rule, asked)
    for timer in rule.timers:
        made = asked.of(Timer(made, timer.identifier, timer.kind, timer.anchor, timer.duration))
    for window, events in rule.collected:
        made = asked.of(Collect(made, window, asked.of(events)))
    for window, events in rule.absent:
        made = Absent(made, window, events)
    assert not asked.left, "a condition looks at what no part of the rule has"
    return Derive(Merge(made), rule.head)


class _Conditions:
    """Those that have not been asked yet."""

    def __init__(self, conditions: Iterable[Expression]) -> None:
        self.left = list(conditions)

    def take(self, attributes: frozenset[str]) -> list[Expression]:
        """Those that look at no other attributes."""
        found = [each for each in self.left if attributes_of(each) <= attributes]
        self.left = [each for each in self.left if not attributes_of(each) <= attributes]
        return found

    def of(self, relation: Relation) -> Relation:
        """A relation of which is asked what can be."""
        condition = all_of(self.take(relation.heading.attributes))
        return relation if condition is None else Select(relation, condition)


def _joined(rule: Rule, asked: _Conditions) -> Relation:
    """The events of a rule together: next to join is what shares most with those that are joined."""
    waiting: list[Relation] = [asked.of(each) for each in rule.events]
    made = waiting.pop(0)
    while waiting:
        nearest = max(waiting, key=lambda each: _nearness(rule.network, made, each))
        waiting.remove(nearest)
        both = Join(made, nearest)
        said = asked.take(both.heading.attributes)
        made = Join(made, nearest, all_of([*said, *implied(rule.network, made, nearest, said)]))
    return made


def _nearness(network: Network, left: Relation, right: Relation) -> tuple[int, int]:
    return len(left.heading.data & right.heading.data), len(implied(network, left, right, []))


def implied(network: Network, left: Relation, right: Relation, said: Sequence[Expression]) -> list[Expression]:
    """Bounds between the ends of both sides that follow from all that the rule says, each the tightest of its kind.

    They say nothing new of the whole; of two sides that are joined early, they may say all that is known. What is
    `said` is not said again.
    """
    found: list[Expression] = []
    for one, two in ((left, right), (right, left)):
        bounds = [
            (network.least(Point(late, "end"), Point(early, "begin")), late, early)
            for late in one.heading.times
            for early in two.heading.times
        ]
        least, late, early = min(bounds)
        if least < inf:
            found.append(at_most(time(late, "end"), time(early, "begin"), int(least)))
    return [each for each in found if each not in said]


def at_most(later: str, earlier: str, bound: int) -> Expression:
    """That one time is not further than so much after another; each side is of one event, as joins want it."""
    if bound == -1:
        return Operation("<", (Attribute(later), Attribute(earlier)))
    limit: Expression = Attribute(earlier)
    if bound:
        limit = Operation("+", (limit, Constant(bound)))
    return Operation("<=", (Attribute(later), limit))
