"""Points as choices: which events of a stage are taken together, and which must not be there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import reduce
from itertools import product

from acelera.errors import UsageError
from acelera.language.ast import Expression
from acelera.trepl import ast
from acelera.trepl.ast import Goal
from acelera.trepl.resolved import Simple

_MOST = 256
"""How many choices a point may be."""


@dataclass(frozen=True)
class Taken:
    """An event; `first` if there must have been none like it, `counts` if guards compare it."""

    event: Simple
    first: bool = False
    counts: bool = True


@dataclass(frozen=True)
class Together:
    """Events that are taken together, and conditions on all of them."""

    events: tuple[Taken, ...] = ()
    tests: tuple[Expression, ...] = ()


@dataclass(frozen=True)
class Choice:
    """What is taken, and what there must be no instance of."""

    taken: Together
    absent: tuple[Together, ...] = ()


def choices(point: Goal) -> tuple[Choice, ...]:
    """All ways in which a point can be satisfied at a stage."""
    match point:
        case Simple():
            return (Choice(Together((Taken(point),))),)
        case ast.Any():
            return (Choice(Together()),)
        case ast.First(Simple() as event):
            return (Choice(Together((Taken(event, first=True, counts=False),))),)
        case ast.Either(parts):
            return _few(choice for part in parts for choice in choices(part))
        case ast.Both(parts):
            return reduce(_both, (choices(part) for part in parts))
        case ast.Sequence((first, *tests), _):
            conditions = tuple(each.condition for each in tests if isinstance(each, ast.Test))
            return tuple(
                replace(each, taken=Together(each.taken.events, each.taken.tests + conditions))
                for each in choices(first)
            )
        case ast.Not(inner):
            return reduce(_both, map(_opposite, choices(inner)), (Choice(Together()),))
    raise AssertionError(f"{type(point).__name__} is not a point")


def _few(found: Iterable[Choice]) -> tuple[Choice, ...]:
    listed = tuple(dict.fromkeys(found))
    if len(listed) > _MOST:
        raise UsageError(f"this goal can be satisfied in more than {_MOST} ways; derive an event for a part of it")
    return listed


def _both(left: tuple[Choice, ...], right: tuple[Choice, ...]) -> tuple[Choice, ...]:
    return _few(
        Choice(
            Together(one.taken.events + two.taken.events, one.taken.tests + two.taken.tests), one.absent + two.absent
        )
        for one, two in product(left, right)
    )


def _opposite(choice: Choice) -> tuple[Choice, ...]:
    """When a choice is not there: what it takes is not, or something is that it must not have."""
    taken = choice.taken
    without = (Choice(Together(), (taken,)),) if taken.events or taken.tests else ()
    despite = tuple(
        Choice(Together(tuple(replace(each, counts=False) for each in absent.events), absent.tests))
        for absent in choice.absent
    )
    return without + despite
