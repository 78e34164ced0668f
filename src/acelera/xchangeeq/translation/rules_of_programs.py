"""Programs as rules of the algebra: one for each alternative that can happen at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, time
from fractions import Fraction
from math import inf

import pyarrow as pa

from acelera.algebra.bounds import Bound, InconsistentError, Network, NetworkBuilder
from acelera.algebra.construction import aggregated_variables
from acelera.algebra.operators import Clock, Events
from acelera.algebra.rules import RelativeTimer, Rule
from acelera.algebra.schedules import Calendar, Periodic, Schedule
from acelera.language.types import Kind, Type
from acelera.xchangeeq import ast
from acelera.xchangeeq.absolute_timers import WEEKDAYS
from acelera.xchangeeq.checker import Checked
from acelera.xchangeeq.normal import NormalRule
from acelera.xchangeeq.schemas import Held, arrow_type
from acelera.xchangeeq.scopes import positive
from acelera.xchangeeq.translation.made_by_heads import head_of
from acelera.xchangeeq.translation.names_apart import told_apart
from acelera.xchangeeq.translation.patterns_of_terms import choices
from acelera.xchangeeq.translation.values import Ticks, condition, tell


@dataclass
class Translation:
    """What is known of all rules: how many ticks durations are, how long the events of labels last at most.

    `by_value` is the letter of the paper: aggregates look at values alone.
    """

    checked: Checked
    ticks: Ticks
    tick: Fraction
    longest: Mapping[str, Bound] = field(default_factory=dict)
    by_value: bool = False

    def rules(self) -> list[Rule]:
        """The rules that can happen, those of lower strata first."""
        levels = self.checked.strata.numbers
        places = sorted(range(len(self.checked.rules)), key=lambda place: levels[self.checked.rules[place].number])
        lasting = dict(self.longest)
        lasting |= self._longest_derived(places)
        found = [self._rule(self.checked.rules[place], self.checked.variables[place], lasting) for place in places]
        return [each for each in found if each is not None]

    def _longest_derived(self, places: list[int]) -> dict[str, Bound]:
        """How long derived events last, in the order in which they are derived; those of recursive rules for ever."""
        graph = self.checked.graph
        found: dict[str, Bound] = {}
        order = {number: place for place, number in enumerate(graph.needed_first())}
        for place in sorted(places, key=lambda place: order[self.checked.rules[place].number]):
            normal = self.checked.rules[place]
            label = normal.head.label
            base = self.longest.get(label, inf) if label in self.checked.base else 0
            known = {**self.longest, **found}
            if graph.is_recursive(normal.number):
                found[label] = inf
                continue
            rule = self._rule(normal, self.checked.variables[place], known)
            own = 0 if rule is None else rule.network.longest(rule.identifiers)
            found[label] = max(base, found.get(label, 0), own)
        return found

    def _rule(self, normal: NormalRule, variables: Mapping[str, Held], longest: Mapping[str, Bound]) -> Rule | None:
        """A rule; None if it can never derive anything."""
        normal, variables = told_apart(normal, variables)
        head = head_of(normal.head, self.checked.labels[normal.head.label], variables, self.by_value)
        sources = frozenset() if self.by_value else aggregated_variables(head)
        make = _Literals(self, variables, sources)
        events = [make.events(each.query, each.identifier or "") for each in normal.events]
        collected = [(each.window, make.events(each.query, f"w{n}#")) for n, each in enumerate(normal.collects)]
        absent = [(each.window, make.events(each.query, f"n{n}#")) for n, each in enumerate(normal.nots)]
        if any(not each.choices for each in (*events, *(inner for _, inner in collected))):
            return None
        timers = tuple(
            RelativeTimer(each.identifier, each.kind, each.anchor, self.ticks(each.duration))
            for each in normal.relative
        )
        absent = [(window, inner) for window, inner in absent if inner.choices]
        clocks = self._clocks(normal)
        network = self._network(normal, (*events, *clocks), timers, (*collected, *absent), longest)
        try:
            assert network.closed
        except InconsistentError:
            return None
        conditions = tuple(condition(each, self.ticks) for each in normal.conditions)
        inside = tuple(collected), tuple(absent)
        return Rule(head, (*events, *clocks), conditions, network, timers, *inside, normal.number)

    def _clocks(self, normal: NormalRule) -> list[Clock]:
        absolute = [Clock(each.identifier or "", self._calendar(each.query)) for each in normal.absolute]
        return absolute + [Clock(each.identifier, Periodic(self.ticks(each.duration))) for each in normal.periodic]

    def _calendar(self, query: ast.Query) -> Schedule:
        assert isinstance(query, ast.Labelled)
        given = {}
        for child in query.children:
            assert isinstance(child, ast.Labelled) and isinstance(child.children[0], ast.IsValue)
            given[child.label] = child.children[0].value
        return Calendar(
            self.tick,
            time.fromisoformat(str(given["time"])) if "time" in given else None,
            date.fromisoformat(str(given["date"])) if "date" in given else None,
            WEEKDAYS.index(str(given["weekday"])) + 1 if "weekday" in given else None,
            int(given["day"]) if "day" in given else None,
            int(given["month"]) if "month" in given else None,
            str(given.get("timezone", "UTC")),
        )

    def _network(
        self,
        normal: NormalRule,
        events: tuple[Events | Clock, ...],
        timers: tuple[RelativeTimer, ...],
        inside: tuple[tuple[str, Events], ...],
        longest: Mapping[str, Bound],
    ) -> Network:
        network = NetworkBuilder()
        for each in events:
            network.event(each.identifier, _lasting(each, longest))
        for timer in timers:
            network.timer(timer.identifier, timer.kind, timer.anchor, timer.duration)
        for window, each in inside:
            network.event(each.identifier, _lasting(each, longest))
            network.inside(window, each.identifier)
        tell(network, normal.conditions, self.ticks)
        return network.network()


def _lasting(events: Events | Clock, longest: Mapping[str, Bound]) -> Bound:
    if isinstance(events, Clock):
        return events.schedule.longest
    return max((longest.get(label, inf) for label in events.labels), default=inf)


@dataclass(frozen=True)
class _Literals:
    """The queries of one rule."""

    translation: Translation
    variables: Mapping[str, Held]
    sources: frozenset[str]

    def events(self, query: ast.Query, identifier: str) -> Events:
        """What matches a query; without choices, if nothing can."""
        found = choices(query, self.translation.checked.labels)
        bound = sorted(positive(query))
        types = tuple((name, _computed_with(self.variables[name])) for name in bound)
        return Events(found, identifier, types, tuple(name for name in bound if name in self.sources))


def _computed_with(held: Held) -> pa.DataType:
    """The type of a variable: numbers of few bits become those of 64, which they are computed with."""
    kind = arrow_type(held)
    if isinstance(held, Type) and held.kind in _WIDE:
        return _WIDE[held.kind]
    return kind


_WIDE = {Kind.INT: pa.int64(), Kind.FLOAT: pa.float64()}
