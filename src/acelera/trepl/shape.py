"""The shape of goals: which take one stage, what they export, and what they look at when they are completed.

Goals may be as written (`ast`) or with names that are known (`resolved`), unless a function says otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from acelera.trepl import ast
from acelera.trepl.resolved import EventType, Simple


def is_point(goal: ast.Goal) -> bool:
    """Whether the goal takes one stage; all others are composites. A test takes none."""
    return ast.fold(goal, _is_point)


def _is_point(goal: ast.Goal, inner: Sequence[bool]) -> bool:
    match goal:
        case ast.Named() | Simple() | ast.Any() | ast.Not() | ast.Test():
            return True
        case ast.Both() | ast.Either() | ast.First():
            return all(inner)
        case ast.Sequence(goals, _):
            return all(inner) and sum(not isinstance(each, ast.Test) for each in goals) == 1
    return False


# --- variables ------------------------------------------------------------------------------------------------------


class Exported(NamedTuple):
    """The variables that a goal exports: those bound once, and those of stars, which have aggregates as well."""

    single: frozenset[str] = frozenset()
    starred: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Both kinds."""
        return self.single | self.starred


def exported(goal: ast.Goal) -> Exported:
    """What the scope after a goal has from it: a star keeps the variables of stars inside it, `!` and `{}` keep all."""
    return ast.fold(goal, _exported)


def _exported(goal: ast.Goal, inner: Sequence[Exported]) -> Exported:
    match goal:
        case ast.Named(variable=str(variable)) | Simple(_, str(variable), _):
            return Exported(frozenset({variable}))
        case ast.Not() | ast.Either():
            return Exported()
        case ast.Star():
            return Exported(starred=inner[0].single)
    single = frozenset(name for each in inner for name in each.single)
    return Exported(single, frozenset(name for each in inner for name in each.starred))


def bound(goal: ast.Goal) -> frozenset[str]:
    """All variables that are bound anywhere in a goal."""
    named = (each.variable for each in ast.walk(goal) if isinstance(each, ast.Named | Simple))
    return frozenset(name for name in named if name is not None)


# --- what is looked at when a goal is completed -----------------------------------------------------------------------


class Last(NamedTuple):
    """An event that a goal may look for at the stage that completes it; `negated` if it stands under `!`."""

    event: Simple
    negated: bool


def can_come_last(goal: ast.Goal) -> tuple[Last, ...]:
    """The events that tell, at a stage, whether a resolved goal is completed there; what came before is settled."""
    found: list[Last] = []
    todo = [(goal, False)]
    while todo:
        each, negated = todo.pop()
        if isinstance(each, Simple):
            found.append(Last(each, negated))
        todo += [(inner, negated or isinstance(each, ast.Not)) for inner in reversed(_completing(each))]
    return tuple(found)


def _completing(goal: ast.Goal) -> Sequence[ast.Goal]:
    """The parts at whose stage a goal is completed."""
    match goal:
        case ast.Sequence(goals, _):
            return [each for each in goals if not isinstance(each, ast.Test)][-1:]
        case ast.Prior(_, later):
            return [later]
    return ast.children(goal)


def needed_at_the_stage(goal: ast.Goal) -> dict[EventType, bool]:
    """The event types that a resolved goal depends on at its stage; True where it depends on their absence."""
    found: dict[EventType, bool] = {}
    for event, negated in can_come_last(goal):
        for each in event.types:
            found[each] = found.get(each, False) or negated
    return found
