"""What derived events were made from: for each one way, down to base events.

All events and timers of a trace lie within what is made from them, and what is collected lies within one of these; so
nothing outside of a derived event need be looked at. For runs that people look at, not for millions of events.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from acelera.errors import QueryCheckError
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.candidates import Candidates, Values, in_order
from acelera.xchangeeq.normal import NormalRule, asked, normal_rules
from acelera.xchangeeq.semantics.construction import Construction, columns_of, outside, split
from acelera.xchangeeq.semantics.entailment import both, interval, satisfies
from acelera.xchangeeq.semantics.timers import Clock, Timer, absolute, periodic, relative
from acelera.xchangeeq.semantics.truth import Trace
from acelera.xchangeeq.simulation import Binding, Substitution, joined
from acelera.xchangeeq.strata import graph_of, stratify
from acelera.xchangeeq.terms import Event, Term, Time, Value, identity, name_of

CLOSE = 1e-9
"""How much floats may differ that were added up in another order, relative to their size."""


@dataclass(frozen=True)
class Way:
    """A way in which an event was made: a rule, its trace τ, and for each of its `collect`s what was in the window."""

    rule: NormalRule
    trace: Trace
    collected: tuple[tuple[Event, ...], ...]


def lineage(
    program: ast.Program,
    events: Iterable[Event],
    derived: Iterable[Event],
    aggregates: str = "nodes",
    tick: int | Fraction = 1,
    ends: tuple[Time, Time] | None = None,
) -> dict[Event, Way]:
    """For each derived event one way in which it was made, in an order in which it comes after all it was made from.

    `derived` are all events that the program derives, or all that end by some time; `events` the base events up to
    then; `ends` are the smallest and the greatest end of all base events, if these are not all. An event that no rule
    makes of these is left out. `aggregates` and `tick` are those of `derive`.

    >>> from acelera.xchangeeq.parser import parse_program
    >>> program = parse_program("DETECT d { } ON and { event i: a {{ }}, event w: timer:extend [ event i, 2 s ] } END")
    >>> [way] = lineage(program, [Event(Term("a"), 1, 3)], [Event(Term("d"), 1, 5)], tick=1_000_000).values()
    >>> print(way.trace["i"], way.trace["w"])
    a { } [1, 3] Timer(begin=1, end=5)
    """
    rules, notes = normal_rules(program), Notes()
    strata = stratify(graph_of(program, rules), notes)
    if strata is None:
        raise QueryCheckError(notes.problems)
    base = frozenset(events)
    left = sorted(in_order(frozenset(derived) - base), key=lambda each: each.end)
    first, last = ends or (min((each.end for each in base), default=0), max((each.end for each in base), default=-1))
    construction = Construction(
        aggregates, columns_of((rule.head, [query for _, query in rule.queries]) for rule in rules)
    )
    makers = _Makers(base, left, construction, Clock(tick, first, last))
    found: dict[Event, Way] = {}
    for level in strata.levels:
        here = [rule for rule in rules if rule.number in level]
        found.update(makers.explained([each for each in left if each not in found], here))
    return found


class _Makers:
    """Looks for the ways of events; what was explained may be used to explain others."""

    def __init__(
        self, base: Collection[Event], derived: Collection[Event], construction: Construction, clock: Clock
    ) -> None:
        self.clock = clock
        self.candidates = Candidates([*base, *derived])
        self.construction = construction
        self.usable = set(base)

    def explained(self, events: Sequence[Event], rules: Sequence[NormalRule]) -> Iterator[tuple[Event, Way]]:
        """The ways of the events that rules of one stratum make: from lower strata, and from each other."""
        makers = {event: [rule for rule in rules if rule.head.label == event.label] for event in events}
        left = [event for event in events if makers[event]]
        progress = True
        while left and progress:
            waiting = []
            for event in left:
                way = next((way for rule in makers[event] for way in self.ways(rule, event)), None)
                if way is None:
                    waiting.append(event)
                else:
                    self.usable.add(event)
                    yield event, way
            left, progress = waiting, len(waiting) < len(left)

    def ways(self, rule: NormalRule, goal: Event) -> Iterator[Way]:
        """All ways in which a rule makes an event of what can be used."""
        return _Search(self, rule, goal).ways({}, [_told_by(rule.head, goal.term)], [*rule.events, *_clocks(rule)])


def _clocks(rule: NormalRule) -> list[ast.Event | ast.PeriodicTimer]:
    return [*rule.absolute, *rule.periodic]


@dataclass(frozen=True)
class _Search:
    """The ways in which one rule makes one event: literals one by one, those with the fewest candidates first."""

    makers: _Makers
    rule: NormalRule
    goal: Event

    def ways(
        self, trace: Trace, those: list[Substitution], rest: Sequence[ast.Event | ast.PeriodicTimer]
    ) -> Iterator[Way]:
        """The ways that begin with a part of a trace, and with what satisfies that part."""
        if not rest:
            yield from self.finished(trace, those)
            return
        known = _agreed(those)
        literal = min(rest, key=lambda each: self.how_many(each, known))
        further = [each for each in rest if each is not literal]
        latest = None if further or self.rule.relative else self.latest(trace)
        for happening in self.happenings(literal, known, latest):
            left = those
            if isinstance(happening, Event):
                assert isinstance(literal, ast.Event)
                left = both(those, self.makers.candidates.matches(literal.query)[happening])
            longer = self.with_timers({**trace, str(literal.identifier): happening}) if left else None
            if longer is not None and self.in_time(longer):
                yield from self.ways(longer, left, further)

    def how_many(self, literal: ast.Event | ast.PeriodicTimer, known: Values) -> float:
        """How many candidates there are; timers come last, since they tell nothing of others."""
        if isinstance(literal, ast.PeriodicTimer) or literal in self.rule.absolute:
            return math.inf
        return self.makers.candidates.how_many(literal.query, known, self.goal.begin, self.goal.end)

    def latest(self, trace: Trace) -> Time | None:
        """When the last literal has to begin, if no other begins with the goal."""
        return None if any(each.begin == self.goal.begin for each in trace.values()) else self.goal.begin

    def happenings(
        self, literal: ast.Event | ast.PeriodicTimer, known: Values, latest: Time | None
    ) -> Iterator[Event | Timer]:
        """What a literal can stand for within the goal."""
        goal, makers = self.goal, self.makers
        if isinstance(literal, ast.Event) and literal not in self.rule.absolute:
            found = makers.candidates.inside(literal.query, known, goal.begin, goal.end, latest)
            yield from dict.fromkeys(event for event, _ in found if event in makers.usable)
            return
        clock = Clock(makers.clock.tick, max(makers.clock.first, goal.begin), min(makers.clock.last, goal.end))
        if clock.first <= clock.last:
            timers = (
                absolute(literal.query, clock) if isinstance(literal, ast.Event) else periodic(literal.duration, clock)
            )
            yield from (each for each in timers if goal.begin <= each.begin)

    def with_timers(self, trace: Trace) -> Trace | None:
        """The trace with all timers whose anchors are in it; None if one does not happen, or not within the goal."""
        longer = dict(trace)
        for timer in self.rule.relative:
            anchor = longer.get(timer.anchor)
            if anchor is None or timer.identifier in longer:
                continue
            length = self.makers.clock.length(timer.duration)
            made = relative(timer.kind, anchor.begin, anchor.end, length)
            if made is None or made.begin < self.goal.begin or made.end > self.goal.end:
                return None
            longer[timer.identifier] = made
        return longer

    def in_time(self, trace: Trace) -> bool:
        """Whether the conditions on times hold, as far as the trace can tell."""
        told = [each for each in self.rule.conditions if asked(each) and all(name in trace for name in asked(each))]
        return satisfies(told, trace, {}, self.makers.clock)

    def finished(self, trace: Trace, those: list[Substitution]) -> Iterator[Way]:
        """The way of a complete trace, if it covers the goal and makes it."""
        if interval(trace) != (self.goal.begin, self.goal.end):
            return
        for literal in self.rule.collects:
            those = both(those, [one for _, one in self.within(literal, trace, _agreed(those))])
        for literal in self.rule.nots:
            those = [one for one in those if not self.is_there(literal, trace, one)]
        bound = [one for one in those if all(each.nodes for each in one.values())]
        those = [one for one in bound if satisfies(self.rule.conditions, trace, one, self.makers.clock)]
        head = self.rule.head
        for part in split(those, outside(head)):
            if alike(self.makers.construction.term(head, part, (head.label,)), self.goal.term):
                yield Way(self.rule, trace, tuple(self.collected(each, trace, part) for each in self.rule.collects))

    def within(self, literal: ast.While, trace: Trace, known: Values) -> Iterator[tuple[Event, Substitution]]:
        """What matches in a window, of what can be used."""
        window = trace[literal.window]
        for event, one in self.makers.candidates.inside(literal.query, known, window.begin, window.end):
            if event in self.makers.usable:
                yield event, one

    def is_there(self, literal: ast.While, trace: Trace, one: Substitution) -> bool:
        """Whether something matches that a `not` forbids."""
        window = trace[literal.window]
        found = self.makers.candidates.inside(literal.query, _agreed([one]), window.begin, window.end)
        return any(joined(one, other) is not None for _, other in found)

    def collected(self, literal: ast.While, trace: Trace, part: Sequence[Substitution]) -> tuple[Event, ...]:
        """The events in a window whose values are in some substitution that the goal was made of."""
        held: dict[tuple[str, ...], set[tuple[Hashable, ...]]] = {}
        found: dict[Event, None] = {}
        for event, one in self.within(literal, trace, _agreed(part)):
            names = tuple(sorted(one))
            if names not in held:
                held[names] = {_values(each, names) for each in part if each.keys() >= one.keys()}
            if _values(one, names) in held[names]:
                found[event] = None
        return tuple(found)


def _values(one: Substitution, names: Sequence[str]) -> tuple[Hashable, ...]:
    return tuple(identity(one[name].value) for name in names)


def _agreed(those: Sequence[Substitution]) -> Values:
    """The values on which all substitutions agree."""
    first = {name: identity(binding.value) for name, binding in those[0].items()} if those else {}
    for one in those[1:]:
        first = {name: value for name, value in first.items() if name in one and identity(one[name].value) == value}
    return first


def _told_by(head: ast.Construct, term: Term) -> Substitution:
    """Values of variables that a made term shows: those that stand alone in a child that only they can have made.

    They have no nodes, until an event binds them; what is optional may stay unbound.
    """
    found: dict[str, Binding] = {}
    children = [each.what if isinstance(each, ast.All) else each for each in head.children]
    labels = [each.label for each in children if isinstance(each, ast.Construct)]
    if len(labels) < len(children):
        return found  # a variable among them may stand for a child of any label
    for child in head.children:
        made = [
            each for each in term.children if isinstance(each, Term) and name_of(each) == getattr(child, "label", "")
        ]
        if not isinstance(child, ast.Construct) or labels.count(child.label) > 1 or len(made) != 1:
            continue
        match child.children:
            case (ast.Variable(name),) if len(made[0].children) == 1:
                found.setdefault(name, Binding(made[0].children[0], frozenset()))
            case _:
                found = {**_told_by(child, made[0]), **found}
    return found


def alike(one: Value, other: Value) -> bool:
    """Whether two values are equal, but for the last digits of floats."""
    if identity(one) == identity(other):
        return True
    if isinstance(one, Term) and isinstance(other, Term):
        names = {name_of(each) for each in (*one.children, *other.children)}
        return one.label == other.label and all(_alike_children(name, one, other) for name in names)
    numbers = [each for each in (one, other) if isinstance(each, int | float | Decimal) and not isinstance(each, bool)]
    return (
        len(numbers) == 2 and any(isinstance(each, float) for each in numbers) and math.isclose(*numbers, rel_tol=CLOSE)
    )


def _alike_children(name: str, one: Term, other: Term) -> bool:
    left, right = ([each for each in term.children if name_of(each) == name] for term in (one, other))
    return len(left) == len(right) and all(map(alike, left, right))
