"""The normal form of rules: no `or` in bodies, an identifier for each event, literals sorted by what they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, product

from acelera.xchangeeq import ast


@dataclass(frozen=True)
class NormalRule:
    """One alternative of a rule: literals b1 … bn and conditions c1 … ck, all of which must hold.

    `events` are queries, absolute timers apart; `relative` has anchors before what hangs on them. Every event has
    an identifier: one that was written without gets `_1`, `_2` and so on.
    """

    head: ast.Construct
    events: tuple[ast.Event, ...]
    absolute: tuple[ast.Event, ...]
    periodic: tuple[ast.PeriodicTimer, ...]
    relative: tuple[ast.RelativeTimer, ...]
    collects: tuple[ast.While, ...]
    nots: tuple[ast.While, ...]
    conditions: tuple[ast.Condition, ...]
    rule: ast.Rule = field(compare=False)
    number: int = 0
    """The place of the rule in its program, from 0."""

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Those of events and timers; an identifier that is used twice stands twice."""
        named: list[ast.Event | ast.PeriodicTimer | ast.RelativeTimer] = []
        named += [*self.events, *self.absolute, *self.periodic, *self.relative]
        return tuple(each.identifier for each in named if each.identifier is not None)

    @property
    def queries(self) -> tuple[tuple[str | None, ast.Query], ...]:
        """Every query of events with its identifier; what stands in a window has none."""
        events = [(each.identifier, each.query) for each in self.events]
        return (*events, *((None, each.query) for each in (*self.collects, *self.nots)))


def is_absolute(query: ast.Query) -> bool:
    """Whether a query asks for an absolute timer."""
    return isinstance(query, ast.Labelled) and query.label in ast.ABSOLUTE


def normal_rules(program: ast.Program) -> tuple[NormalRule, ...]:
    """All alternatives of all rules, in the order in which they are written."""
    return tuple(each for number, rule in enumerate(program.rules) for each in normalize(rule, number))


def normalize(rule: ast.Rule, number: int = 0) -> tuple[NormalRule, ...]:
    """The alternatives of a rule: `or` multiplied out, each with all conditions around it."""
    alternatives = ast.fold(rule.body, _alternatives)
    return tuple(_sorted(rule, number, each) for each in alternatives)


@dataclass(frozen=True)
class _Alternative:
    """What must hold together."""

    literals: tuple[ast.Body, ...] = ()
    conditions: tuple[ast.Condition, ...] = ()


def _alternatives(node: ast.Body, made: Sequence[tuple[_Alternative, ...]]) -> tuple[_Alternative, ...]:
    match node:
        case ast.OneOf():
            return tuple(each for inner in made for each in inner)
        case ast.AllOf():
            return tuple(_together(chosen) for chosen in product(*made))
        case ast.Where(_, conditions):
            return tuple(replace(each, conditions=each.conditions + conditions) for each in made[0])
    return (_Alternative((node,)),)


def _together(chosen: Iterable[_Alternative]) -> _Alternative:
    parts = tuple(chosen)
    literals = tuple(literal for each in parts for literal in each.literals)
    return _Alternative(literals, tuple(condition for each in parts for condition in each.conditions))


def _sorted(rule: ast.Rule, number: int, alternative: _Alternative) -> NormalRule:
    """Literals by their kind, with fresh identifiers, which no one can have written: an underscore and a number."""
    taken = {name for each in ast.walk(rule.body) for name in _written(each)}
    fresh = (name for name in (f"_{each}" for each in count(1)) if name not in taken)
    events = tuple(_named(each, fresh) for each in alternative.literals if isinstance(each, ast.Event))
    whiles = [each for each in alternative.literals if isinstance(each, ast.While)]
    return NormalRule(
        rule.head,
        tuple(each for each in events if not is_absolute(each.query)),
        tuple(each for each in events if is_absolute(each.query)),
        tuple(each for each in alternative.literals if isinstance(each, ast.PeriodicTimer)),
        anchors_first([each for each in alternative.literals if isinstance(each, ast.RelativeTimer)]),
        tuple(each for each in whiles if not each.negated),
        tuple(each for each in whiles if each.negated),
        alternative.conditions,
        rule,
        number,
    )


def _written(node: ast.Body) -> Iterator[str]:
    match node:
        case ast.Event(str(name), _) | ast.PeriodicTimer(name, _) | ast.While(name, _, _):
            yield name
        case ast.RelativeTimer(name, _, anchor, _):
            yield from (name, anchor)
        case ast.Where(_, conditions):
            for condition in conditions:
                yield from (name for each in ast.walk(condition) for name in asked(each))


def asked(condition: ast.Condition) -> tuple[str, ...]:
    """The identifiers that a condition itself names."""
    match condition:
        case ast.Temporal(left, _, right):
            return left, right
        case ast.Within(identifiers, _) | ast.ApartBy(identifiers, _):
            return identifiers
    return ()


def _named(event: ast.Event, fresh: Iterator[str]) -> ast.Event:
    return event if event.identifier is not None else replace(event, identifier=next(fresh))


def anchors_first(timers: Sequence[ast.RelativeTimer]) -> tuple[ast.RelativeTimer, ...]:
    """Timers in an order in which each comes after its anchor; those that hang on themselves come last."""
    found: list[ast.RelativeTimer] = []
    rest = list(timers)
    while rest:
        waiting = {each.identifier for each in rest}
        ready = [each for each in rest if each.anchor not in waiting]
        if not ready:
            return (*found, *rest)
        found += ready
        rest = [each for each in rest if each.anchor in waiting]
    return tuple(found)
