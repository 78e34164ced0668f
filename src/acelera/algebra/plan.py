"""A plan of rules: what is computed in each step, from what, and what of it is kept for later steps.

A step takes the events that end after the last step and by now. What is computed is a *point*:

- a *match*: the events that match a pattern and satisfy what can be asked of one event alone. Matches that are equal up
  to names are one point;
- a *join* of what was joined before and a match;
- the *waiting*: tuples with timers, some of which have not ended yet;
- the *staged* tuples of a rule that collects what it takes part in making: they are looked at again in this step.

A point is stored if tuples of it can meet others that come in a later step; until when, its uses say. Else it is only a
name for what it is made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from acelera.algebra.bounds import Until, comes_last, kept_until
from acelera.algebra.expressions import Expression, all_of, attributes_of, conjuncts, renamed
from acelera.algebra.intervals import Point as TimePoint
from acelera.algebra.label_groups import label_groups
from acelera.algebra.operators import (
    Choice,
    Clock,
    Collect,
    Derive,
    Events,
    Join,
    Merge,
    Parts,
    Relation,
    Select,
    Stored,
    Timer,
    Version,
)
from acelera.algebra.patterns import renamed_content
from acelera.algebra.rules import Rule, implied
from acelera.algebra.schedules import Schedule
from acelera.algebra.window_plan import Crossing, WindowPlan, crossing, selected

ONLY = "e"
"""The identifier of the event of a match."""


@dataclass(eq=False)
class Match:
    """Events that match, and what each use says of until when they are needed."""

    name: str
    events: Events | Clock
    condition: Expression | None
    uses: list[Until] = field(default_factory=list)

    @property
    def relation(self) -> Relation:
        """All that match."""
        return self._asked(self.events)

    def of(self, labels: frozenset[str]) -> Relation:
        """Those of some labels."""
        assert isinstance(self.events, Events)
        chosen = tuple(each for each in self.events.choices if each.label in labels)
        return self._asked(replace(self.events, choices=chosen))

    def _asked(self, events: Events | Clock) -> Relation:
        return events if self.condition is None else Select(events, self.condition)

    @property
    def labels(self) -> frozenset[str]:
        """The labels of its events; a clock has none."""
        return self.events.labels if isinstance(self.events, Events) else frozenset()


@dataclass(eq=False)
class Joined:
    """What was joined before, and a match; `new` is what a step brings."""

    name: str
    relation: Relation
    new: Relation
    uses: list[Until] = field(default_factory=list)


@dataclass(eq=False)
class Waiting:
    """Tuples with timers that end after them; `new` is what a step brings."""

    name: str
    new: Relation


@dataclass(eq=False)
class Staged:
    """Tuples of one step."""

    name: str
    new: Relation


Point = Joined | Waiting | Staged


@dataclass(eq=False)
class RulePlan:
    """One rule: its points in order, and what is derived in the end.

    If it is `in_bulk`, the same is computed by sorting what is joined by `crossings` otherwise: windows, and what
    happens in them.
    """

    rule: Rule
    points: list[Point]
    derived: Derive
    recursive: bool
    in_bulk: Derive | None = None
    crossings: tuple[Crossing, ...] = ()
    joins: tuple[Crossing, ...] = ()

    @property
    def waiting(self) -> Waiting | None:
        """Where its tuples wait, if they do."""
        return next((each for each in self.points if isinstance(each, Waiting)), None)


@dataclass(frozen=True)
class Group:
    """Labels that are made together, and the rules that make them; several rounds are needed if it is recursive."""

    labels: tuple[str, ...]
    rules: tuple[RulePlan, ...]
    recursive: bool


@dataclass(eq=False)
class Plan:
    """All points of all rules, and groups of labels, each after those that its rules ask for."""

    matches: dict[str, Match]
    groups: list[Group]

    @property
    def rules(self) -> list[RulePlan]:
        """All rules, in order."""
        return [rule for group in self.groups for rule in group.rules]

    @property
    def schedules(self) -> list[Schedule]:
        """When the clocks of the rules bring about events."""
        clocks = [match.events for match in self.matches.values() if isinstance(match.events, Clock)]
        return list(dict.fromkeys(each.schedule for each in clocks))

    @property
    def stored(self) -> list[Match | Joined]:
        """The points that are kept beyond a step."""
        points: list[Match | Joined] = [*self.matches.values()]
        points += [point for rule in self.rules for point in rule.points if isinstance(point, Joined)]
        return [each for each in points if each.uses]


def planned(rules: Sequence[Rule], labels: Iterable[str]) -> Plan:
    """The plan of rules over events of some labels."""
    groups = label_groups(rules, labels)
    planner = _Planner()
    made = []
    for names in groups:
        own = [rule for rule in rules if rule.head.label in names]
        recursive = any(rule.asks_for & set(names) for rule in own)
        plans = tuple(planner.rule(rule, frozenset(names) if recursive else frozenset()) for rule in own)
        made.append(Group(names, plans, recursive))
    return Plan(planner.matches, made)


class _Planner:
    def __init__(self) -> None:
        self.matches: dict[str, Match] = {}
        self._known: dict[tuple[Relation, Expression | None], str] = {}
        self._points = 0

    def _name(self, kind: str) -> str:
        self._points += 1
        return f"{kind} {self._points}"

    # --- matches --------------------------------------------------------------------------------------------------

    def _match(self, events: Events | Clock, conditions: list[Expression]) -> Stored:
        """The point of a match, called as the rule calls it."""
        variables = sorted(events.heading.data)
        names = {name: f"v{number}" for number, name in enumerate(variables)} | {events.identifier: ONLY}
        times = {f"{events.identifier}.{end}": f"{ONLY}.{end}" for end in ("begin", "end")}
        own = _renamed_events(events, names)
        condition = all_of([renamed(each, names | times) for each in conditions])
        if (own, condition) not in self._known:
            shown = " or ".join(sorted(own.labels)) if isinstance(own, Events) else "clock"
            name = f"match {len(self.matches) + 1}: {shown}"
            self._known[own, condition] = name
            self.matches[name] = Match(name, own, condition)
        name = self._known[own, condition]
        return Stored(name, self.matches[name].relation, tuple((new, old) for old, new in names.items()))

    def _use(self, stored: Stored, until: Until) -> None:
        """Say until when a match is needed, by its own names."""
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

    def rule(self, rule: Rule, together: frozenset[str]) -> RulePlan:
        """The plan of a rule; `together` are the labels that are made with its own, if it is recursive."""
        points: list[Point] = []
        asked = [each for condition in rule.conditions for each in conjuncts(condition)]
        joins: list[Crossing] = []
        made, asked = self._joined(rule, asked, points, joins, bool(together))
        made, asked = selected(made, asked)
        for timer in rule.timers:
            made, asked = selected(Timer(made, timer.identifier, timer.kind, timer.anchor, timer.duration), asked)
        if _waits(rule):
            waiting = Waiting(self._name("waiting"), made)
            points.append(waiting)
            made = Stored(waiting.name, made, version=Version.NEW)
        windows = WindowPlan(rule, made, bool(together))
        for window, events in rule.collected:
            right = self._match(events, _taken(asked, events))
            asked = [each for each in asked if each not in _taken(asked, events)]
            self._use(right, _needed_inside(rule, right))
            if events.labels & together:
                staged = Staged(self._name("staged"), windows.made)
                points.append(staged)
                windows.made = _collected_in_rounds(Stored(staged.name, windows.made), window, right)
            else:
                windows.collect(window, events, right)
            asked = windows.select(asked)
        for window, events in rule.absent:
            right = self._match(events, [])
            self._use(right, _needed_inside(rule, right))
            windows.refuse(window, right)
        assert not asked, "a condition looks at what no part of the rule has"
        return RulePlan(
            rule,
            points,
            Derive(Merge(windows.made), rule.head),
            bool(together),
            windows.in_bulk(),
            tuple(windows.crossings),
            tuple(joins),
        )

    def _joined(
        self, rule: Rule, asked: list[Expression], points: list[Point], joins: list[Crossing], recursive: bool
    ) -> tuple[Relation, list[Expression]]:
        """The events of a rule: those tuples that a step brings."""
        parts: list[Stored] = []
        for events in rule.events:
            own = _taken(asked, events)
            parts.append(self._match(events, own))
            asked = [each for each in asked if each not in own]
        left: Stored = parts.pop(0)
        new: Relation = replace(left, version=Version.NEW)
        while parts:
            right = max(parts, key=lambda each: _nearness(rule, left, each))
            parts.remove(right)
            joins += [crossing(left, right), crossing(right, left)]
            joined, asked = self._join(rule, left, right, asked, points, recursive)
            left, new = Stored(joined.name, joined.relation), joined.new
            if parts:
                points.append(joined)
                new = replace(left, version=Version.NEW)
        return new, asked

    def _join(
        self, rule: Rule, left: Stored, right: Stored, asked: list[Expression], points: list[Point], recursive: bool
    ) -> tuple[Joined, list[Expression]]:
        attributes = Join(left, right).heading.attributes
        said = [each for each in asked if attributes_of(each) <= attributes]
        rest = [each for each in asked if each not in said]
        condition = all_of([*said, *implied(rule.network, left, right, said)])
        right_later = recursive or not comes_last(rule.network, left.heading.times, right.heading.times)
        left_later = recursive or not comes_last(rule.network, right.heading.times, left.heading.times)
        if right_later:
            self._keep(rule, left, right, points)
        if left_later:
            self._keep(rule, right, left, points)
        new = _added(left, right, condition, left_later, right_later)
        return Joined(self._name("join"), Join(left, right, condition), new), rest

    def _keep(self, rule: Rule, kept: Stored, met: Stored, points: list[Point]) -> None:
        until = kept_until(rule.network, kept.heading.times, met.heading.times)
        if kept.name in self.matches:
            self._use(kept, until)
        else:
            joined = next(each for each in points if each.name == kept.name)
            assert isinstance(joined, Joined)
            joined.uses.append(until)


def _added(left: Stored, right: Stored, condition: Expression | None, left_later: bool, right_later: bool) -> Relation:
    """What a step adds to a join, where one side or both may end later than the other."""
    new, old = (replace(left, version=version) for version in (Version.NEW, Version.OLD))
    right_new = replace(right, version=Version.NEW)
    if not left_later:
        return Join(left if right_later else new, right_new, condition)
    first = Join(new, right, condition)
    return Parts((first, Join(old, right_new, condition))) if right_later else first


def _collected_in_rounds(left: Stored, window: str, right: Stored) -> Parts:
    """What a round adds, where both sides grow from round to round."""
    new, old = (replace(left, version=version) for version in (Version.NEW, Version.OLD))
    return Parts((Collect(new, window, right), Collect(old, window, replace(right, version=Version.NEW))))


def _waits(rule: Rule) -> bool:
    """Whether a timer may end after all events of its tuple."""
    events = [each.identifier for each in rule.events]
    return any(not comes_last(rule.network, events, [timer.identifier]) for timer in rule.timers)


def _needed_inside(rule: Rule, right: Stored) -> Until:
    """Until when what happens in a window matters: until the tuple that has the window is complete."""
    return kept_until(rule.network, right.heading.times, rule.identifiers)


def _nearness(rule: Rule, left: Relation, right: Relation) -> tuple[int, int]:
    return len(left.heading.data & right.heading.data), len(implied(rule.network, left, right, []))


def _taken(asked: Iterable[Expression], events: Events | Clock) -> list[Expression]:
    return [each for each in asked if attributes_of(each) <= events.heading.attributes]


def _renamed_events(events: Events | Clock, names: dict[str, str]) -> Events | Clock:
    if isinstance(events, Clock):
        return Clock(ONLY, events.schedule)
    choices = tuple(Choice(each.label, renamed_content(each.content, names)) for each in events.choices)
    types = tuple((names[name], kind) for name, kind in events.types)
    return Events(choices, ONLY, types, tuple(names[each] for each in events.sources))
