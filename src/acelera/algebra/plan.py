"""A plan of rules: what is computed in each step, from what, and what of it is kept for later steps.

A step takes the events that end after the last step and by now. Whatever is computed is a *point*, with its tuples of
earlier steps and those of this one:

- a *match*: the events of a label that match a pattern and satisfy what can be asked of one event alone. Matches that
  are equal up to names are one point;
- a *join* of what was joined before and a match;
- the *waiting*: tuples with timers, some of which have not ended yet;
- the events of a label: what rules derive, and what came in.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from acelera.algebra.bounds import Until, comes_last, kept_until
from acelera.algebra.expressions import Expression, all_of, attributes_of, conjuncts, renamed
from acelera.algebra.intervals import Point as TimePoint
from acelera.algebra.operators import (
    Absent,
    Clock,
    Collect,
    Derive,
    Events,
    Join,
    Merge,
    Relation,
    Select,
    Stored,
    Timer,
    Version,
)
from acelera.algebra.patterns import Content, Part, Pattern, variables_of
from acelera.algebra.rules import Rule, implied

ONLY = "e"
"""The identifier of the event of a match."""


@dataclass
class Match:
    """Events of a label that match, and until when each use needs them; no use needs those that are not kept."""

    name: str
    relation: Relation
    label: str | None
    uses: list[Until] = field(default_factory=list)


@dataclass
class Joined:
    """What was joined before, and a match: terms that together are what this step brings."""

    name: str
    relation: Relation
    new: tuple[Relation, ...]
    uses: list[Until] = field(default_factory=list)


@dataclass
class Waiting:
    """Tuples with timers that end after them."""

    name: str
    relation: Relation


@dataclass
class Derived:
    """The events of one rule."""

    rule: Rule
    relation: Derive
    queries: frozenset[str]


@dataclass
class RulePlan:
    """One rule: its points in order, and what is derived in the end."""

    joins: list[Joined]
    waiting: Waiting | None
    derived: Derived


@dataclass
class Plan:
    """All points of all rules. `strata` are the numbers of rules that can be computed together, in order."""

    matches: dict[str, Match]
    rules: list[RulePlan]
    strata: Sequence[Sequence[int]]


class Planner:
    """Makes one plan of several rules."""

    def __init__(self) -> None:
        self.matches: dict[str, Match] = {}
        self._known: dict[Relation, str] = {}
        self._joins = 0

    def plan(self, rules: Sequence[Rule], strata: Sequence[Sequence[int]]) -> Plan:
        """The plan of rules."""
        return Plan(self.matches, [self._rule(each) for each in rules], strata)

    # --- matches --------------------------------------------------------------------------------------------------

    def _match(self, events: Events | Clock, conditions: list[Expression]) -> Stored:
        """The point of a match, called as the rule calls it."""
        variables = [] if isinstance(events, Clock) else variables_of(events.patterns[0])
        names = {name: f"v{number}" for number, name in enumerate(variables)} | {events.identifier: ONLY}
        times = {f"{events.identifier}.{end}": f"{ONLY}.{end}" for end in ("begin", "end")}
        relation: Relation = _renamed_events(events, names)
        condition = all_of([renamed(each, names | times) for each in conditions])
        if condition is not None:
            relation = Select(relation, condition)
        if relation not in self._known:
            label = None if isinstance(events, Clock) else events.label
            name = f"match {len(self.matches) + 1}: {label or 'clock'}"
            self._known[relation] = name
            self.matches[name] = Match(name, relation, label)
        back = tuple((new, old) for old, new in names.items())
        return Stored(self._known[relation], relation, back)

    def _use(self, stored: Stored, until: Until) -> None:
        """Say until when a point is needed, by its own names."""
        own = {new: old for old, new in stored.renamed}
        meeting = {
            identifier: {
                TimePoint(own.get(point.identifier, point.identifier), point.end): bound
                for point, bound in each.items()
            }
            for identifier, each in until.meeting.items()
        }
        self.matches[stored.name].uses.append(Until(meeting))

    # --- rules ----------------------------------------------------------------------------------------------------

    def _rule(self, rule: Rule) -> RulePlan:
        asked = [each for condition in rule.conditions for each in conjuncts(condition)]
        made, joins, asked = self._joined(rule, asked)
        timed, asked = self._timed(rule, made, asked)
        waiting = None
        if self._waits(rule):
            self._joins += 1
            waiting = Waiting(f"waiting {self._joins}", timed)
            timed = Stored(waiting.name, timed, version=Version.NEW)
        for window, events in rule.collected:
            right = self._match(events, _taken(asked, events))
            asked = [each for each in asked if each not in _taken(asked, events)]
            self._use(right, self._needed_by(rule, window, right))
            timed = Collect(timed, window, right)
            timed, asked = _selected(timed, asked)
        for window, events in rule.absent:
            right = self._match(events, [])
            self._use(right, self._needed_by(rule, window, right))
            timed = Absent(timed, window, right)
        assert not asked, "a condition looks at what no part of the rule has"
        queries = frozenset(
            each.label
            for each in (*rule.events, *(e for _, e in (*rule.collected, *rule.absent)))
            if isinstance(each, Events)
        )
        return RulePlan(joins, waiting, Derived(rule, Derive(Merge(timed), rule.head), queries))

    def _joined(self, rule: Rule, asked: list[Expression]) -> tuple[Relation, list[Joined], list[Expression]]:
        """The events of a rule: in each step, those tuples that it brings."""
        parts: list[tuple[Stored, Events | Clock]] = []
        for events in rule.events:
            parts.append((self._match(events, _taken(asked, events)), events))
        for _, events in parts:
            asked = [each for each in asked if each not in _taken(asked, events)]
        left = parts.pop(0)[0]
        joins: list[Joined] = []
        while parts:
            right = max(parts, key=lambda each: _nearness(rule, left, each[0]))
            parts.remove(right)
            left, asked = self._join(rule, left, right[0], asked, joins)
        return replace_version(left, Version.NEW), joins, asked

    def _join(
        self, rule: Rule, left: Stored, right: Stored, asked: list[Expression], joins: list[Joined]
    ) -> tuple[Stored, list[Expression]]:
        attributes = Join(left, right).heading.attributes
        said = [each for each in asked if attributes_of(each) <= attributes]
        rest = [each for each in asked if each not in said]
        condition = all_of([*said, *implied(rule.network, left, right)])
        new = []
        right_later = not comes_last(rule.network, left.heading.times, right.heading.times)
        left_later = not comes_last(rule.network, right.heading.times, left.heading.times)
        new.append(
            Join(
                replace_version(left, Version.NEW),
                replace_version(right, Version.ALL if left_later else Version.NEW),
                condition,
            )
        )
        if right_later:
            new.append(Join(replace_version(left, Version.OLD), replace_version(right, Version.NEW), condition))
        self._keep(rule, left, right, joins, right_later)
        self._keep(rule, right, left, joins, left_later)
        self._joins += 1
        joined = Joined(f"join {self._joins}", Join(left, right, condition), tuple(new))
        joins.append(joined)
        return Stored(joined.name, joined.relation), rest

    def _keep(self, rule: Rule, kept: Stored, met: Stored, joins: list[Joined], later: bool) -> None:
        if not later:
            return
        until = kept_until(rule.network, kept.heading.times, met.heading.times)
        if kept.name in self.matches:
            self._use(kept, until)
        else:
            next(each for each in joins if each.name == kept.name).uses.append(until)

    def _timed(self, rule: Rule, made: Relation, asked: list[Expression]) -> tuple[Relation, list[Expression]]:
        made, asked = _selected(made, asked)
        for timer in rule.timers:
            made = Timer(made, timer.identifier, timer.kind, timer.anchor, timer.duration)
            made, asked = _selected(made, asked)
        return made, asked

    def _waits(self, rule: Rule) -> bool:
        """Whether a timer may end after all events of its tuple."""
        events = [each.identifier for each in rule.events]
        return any(not comes_last(rule.network, events, [timer.identifier]) for timer in rule.timers)

    def _needed_by(self, rule: Rule, window: str, right: Stored) -> Until:
        """Until when what happens in a window matters: until the tuple that has the window is complete."""
        (inner,) = right.heading.times
        met = [each.identifier for each in (*rule.events, *rule.timers)]
        del window
        return kept_until(rule.network, [inner], met)


def replace_version(stored: Stored, version: Version) -> Stored:
    """The same point, of another time."""
    return replace(stored, version=version)


def _nearness(rule: Rule, left: Relation, right: Relation) -> tuple[int, int]:
    return len(left.heading.data & right.heading.data), len(implied(rule.network, left, right))


def _taken(asked: Iterable[Expression], events: Events | Clock) -> list[Expression]:
    return [each for each in asked if attributes_of(each) <= events.heading.attributes]


def _selected(relation: Relation, asked: list[Expression]) -> tuple[Relation, list[Expression]]:
    now = [each for each in asked if attributes_of(each) <= relation.heading.attributes]
    condition = all_of(now)
    rest = [each for each in asked if each not in now]
    return (relation if condition is None else Select(relation, condition)), rest


def _renamed_events(events: Events | Clock, names: dict[str, str]) -> Events | Clock:
    if isinstance(events, Clock):
        return Clock(ONLY, events.schedule)
    patterns = tuple(_renamed_pattern(each, names) for each in events.patterns)
    return Events(events.label, ONLY, patterns, tuple(names[each] for each in events.sources))


def _renamed_pattern(pattern: Pattern, names: dict[str, str]) -> Pattern:
    def content(given: Content) -> Content:
        inner = None if given.inner is None else _renamed_pattern(given.inner, names)
        binds, whole = (tuple(names[each] for each in those) for those in (given.binds, given.whole))
        return Content(given.equal, binds, whole, inner)

    asked = tuple(
        Part(each.column, content(each.content), each.repeated, each.forbidden, each.optional) for each in pattern.asked
    )
    return Pattern(asked, pattern.total, pattern.ordered)
