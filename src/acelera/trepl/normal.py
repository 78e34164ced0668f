"""One form for goals that mean the same: brackets that say nothing are dropped, conditions side by side are one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from acelera.trepl import ast
from acelera.trepl.conjuncts import joined


def normalize(goal: ast.Goal) -> ast.Goal:
    """The goal without sequences in sequences, and conjunctions in conjunctions, that could be one."""
    return ast.fold(goal, _normal)


def _normal(goal: ast.Goal, inner: Sequence[ast.Goal]) -> ast.Goal:
    match goal:
        case ast.Sequence(_, relaxed):
            spliced = [each for part in inner for each in _spliced(part, relaxed)]
            return _sequence(tuple(_tests_joined(spliced)), goal)
        case ast.Both():
            parts = [part.goals if isinstance(part, ast.Both) else (part,) for part in inner]
            return ast.Both(tuple(each for part in parts for each in part), span=goal.span)
    return ast.rebuilt(goal, inner)


def _events(goals: Iterable[ast.Goal]) -> int:
    return sum(not isinstance(each, ast.Test) for each in goals)


def _spliced(part: ast.Goal, relaxed: bool) -> tuple[ast.Goal, ...]:
    """What stands for a part of a sequence: the goals of one of the same kind, or of an event with its tests."""
    if isinstance(part, ast.Sequence) and (part.relaxed == relaxed or _events(part.goals) == 1):
        return part.goals
    return (part,)


def _sequence(goals: tuple[ast.Goal, ...], written: ast.Sequence) -> ast.Goal:
    if len(goals) == 1:
        return goals[0]
    return ast.Sequence(goals, written.relaxed and _events(goals) > 1, span=written.span)


def _tests_joined(goals: Iterable[ast.Goal]) -> Iterator[ast.Goal]:
    tests: list[ast.Test] = []
    for each in goals:
        if isinstance(each, ast.Test):
            tests.append(each)
            continue
        yield from _one(tests)
        tests = []
        yield each
    yield from _one(tests)


def _one(tests: Sequence[ast.Test]) -> Iterator[ast.Test]:
    if tests:
        condition = joined(each.condition for each in tests)
        yield ast.Test(condition, span=condition.span)
