"""What a point takes at a stage: its events, its conditions, and what must not be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from acelera.language.ast import Expression
from acelera.trepl import ast
from acelera.trepl.conjuncts import conjuncts
from acelera.trepl.resolved import EventType, Simple


@dataclass(frozen=True)
class Taken:
    """One way to satisfy a point; `events` has the types of each event and its variable, which may be a new one."""

    events: tuple[tuple[tuple[EventType, ...], str | None], ...] = ()
    conditions: tuple[Expression, ...] = ()
    negated: tuple[ast.Not, ...] = ()
    firsts: tuple[ast.First, ...] = ()
    needs_any: bool = False

    def and_also(self, other: Taken) -> Taken:
        """Both at one stage."""
        return Taken(
            self.events + other.events,
            self.conditions + other.conditions,
            self.negated + other.negated,
            self.firsts + other.firsts,
            self.needs_any or other.needs_any,
        )

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the events; an event without one is called E, or E2 and so on."""
        return tuple(name or f"E{number if number > 1 else ''}" for number, (_, name) in enumerate(self.events, 1))


def ways(point: ast.Goal) -> list[Taken]:
    """All ways to satisfy a point."""
    return ast.fold(point, _ways, lambda goal: () if isinstance(goal, ast.Not) else ast.children(goal))


def _ways(goal: ast.Goal, made: Sequence[list[Taken]]) -> list[Taken]:
    match goal:
        case Simple(types, variable, condition):
            return [Taken(((types, variable),), conjuncts(condition))]
        case ast.Any():
            return [Taken(needs_any=True)]
        case ast.Not():
            return [Taken(negated=(goal,), needs_any=True)]
        case ast.Test(condition):
            return [Taken(conditions=conjuncts(condition))]
        case ast.Either():
            return [each for those in made for each in those]
        case ast.First():
            return [replace(each, firsts=(*each.firsts, goal)) for each in made[0]]
    return [_all(those) for those in product(*made)]


def _all(those: Sequence[Taken]) -> Taken:
    whole = Taken()
    for each in those:
        whole = whole.and_also(each)
    return whole
