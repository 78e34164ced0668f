"""Entailment ([P], figures 12 and 13; contract, section 3): all traces τ of a body, each with its Στ."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics.construction import Construction
from acelera.xchangeeq.semantics.normal_form import Literal, Rule
from acelera.xchangeeq.semantics.timers import Clock, Timer, absolute, is_absolute, periodic, relative
from acelera.xchangeeq.semantics.truth import Trace, happening, truth
from acelera.xchangeeq.simulation import Binding, Substitution, distinct, joined, simulations
from acelera.xchangeeq.terms import Event, Time

Way: TypeAlias = tuple[Trace, list[Substitution]]
"""τ, and all σ that satisfy what has been looked at under it; there is at least one."""


@dataclass(frozen=True)
class Interpretation:
    """I, the events that happen, and the clock; what matches what is remembered."""

    events: Collection[Event]
    clock: Clock
    seen: dict[tuple[ast.Query, Event], list[Substitution]] = field(default_factory=dict)

    def matches(self, query: ast.Query, event: Event) -> list[Substitution]:
        """All σ with σ(q) ≼ e. A node is one of this event."""
        if (query, event) not in self.seen:
            self.seen[query, event] = [
                {
                    name: Binding(each.value, frozenset((event, path) for path in each.nodes))
                    for name, each in one.items()
                }
                for one in simulations(query, event.term)
            ]
        return self.seen[query, event]

    def matches_within(self, query: ast.Query, window: Event | Timer) -> list[Substitution]:
        """All σ with some e^u ∈ I, u ⊑ t, and σ(q) ≼ e."""
        inside = [each for each in self.events if window.begin <= each.begin and each.end <= window.end]
        return [one for event in inside for one in self.matches(query, event)]


def satisfying(rule: Rule, interpretation: Interpretation) -> Iterator[Way]:
    """Every τ for which Στ = {σ | I, σ, τ ⊨ B^t} is not empty, with Στ."""
    ways: list[Way] = [({}, [{}])]
    for literal in rule.literals:
        ways = [further for trace, those in ways for further in entailed(literal, trace, those, interpretation)]
    for trace, those in ways:
        left = [one for one in those if satisfies(rule.conditions, trace, one, interpretation.clock)]
        if left:
            yield trace, left


def entailed(literal: Literal, trace: Trace, those: list[Substitution], given: Interpretation) -> Iterator[Way]:
    """The rows of the table: what becomes of τ and its substitutions by one more literal."""
    match literal:
        case ast.Event(identifier, query) if is_absolute(query):
            for timer in absolute(query, given.clock):
                yield {**trace, str(identifier): timer}, those
        case ast.PeriodicTimer(identifier, duration):
            for timer in periodic(duration, given.clock):
                yield {**trace, identifier: timer}, those
        case ast.RelativeTimer(identifier, kind, anchor, duration):
            of = happening(trace, anchor)
            found = relative(kind, of.begin, of.end, given.clock.length(duration))
            if found is not None:
                yield {**trace, identifier: found}, those
        case ast.Event(identifier, query):
            for event in given.events:
                left = both(those, given.matches(query, event))
                if left:
                    yield {**trace, str(identifier): event}, left
        case ast.While(window, negated, query):
            inside = given.matches_within(query, happening(trace, window))
            left = [one for one in those if not both([one], inside)] if negated else both(those, inside)
            if left:
                yield trace, left


def both(left: Iterable[Substitution], right: Collection[Substitution]) -> list[Substitution]:
    """All substitutions that are one of each: the join."""
    found = (joined(one, other) for one in left for other in right)
    return distinct(each for each in found if each is not None)


def satisfies(conditions: Iterable[ast.Condition], trace: Trace, one: Substitution, clock: Clock) -> bool:
    """Q where C: every condition is TRUE; what is unknown is not."""
    plain = Construction()
    return all(truth(each, trace, lambda what: plain.value(what, [one]), clock) is True for each in conditions)


def interval(trace: Trace) -> tuple[Time, Time]:
    """t = t1 ⊔ … ⊔ tn: each literal holds over what an identifier of τ stands for."""
    return min(each.begin for each in trace.values()), max(each.end for each in trace.values())
