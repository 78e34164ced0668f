"""Normal form (contract, section 3): `or` multiplied out, every literal with an identifier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeAlias

from acelera.errors import Problem, QueryCheckError
from acelera.xchangeeq import ast

Literal: TypeAlias = ast.Event | ast.RelativeTimer | ast.PeriodicTimer | ast.While
Alternative: TypeAlias = tuple[tuple[Literal, ...], tuple[ast.Condition, ...]]


@dataclass(frozen=True)
class Rule:
    """h ← b1, …, bn where c1, …, ck: literals stand after those whose events they speak of."""

    head: ast.Construct
    literals: tuple[Literal, ...]
    conditions: tuple[ast.Condition, ...]


def normal_form(program: ast.Program) -> list[Rule]:
    """The rules of a program: one for each alternative of each of its own."""
    return [
        Rule(rule.head, _in_order(_identified(literals)), conditions)
        for rule in program.rules
        for literals, conditions in _alternatives(rule.body)
    ]


def _alternatives(body: ast.Body) -> Iterator[Alternative]:
    """A body as literals and conditions, for each choice within each `or`."""
    match body:
        case ast.OneOf(bodies):
            for each in bodies:
                yield from _alternatives(each)
        case ast.AllOf(bodies):
            for choice in product(*(list(_alternatives(each)) for each in bodies)):
                literals = tuple(literal for found, _ in choice for literal in found)
                yield literals, tuple(condition for _, found in choice for condition in found)
        case ast.Where(inner, conditions):
            for literals, found in _alternatives(inner):
                yield literals, found + conditions
        case ast.Event() | ast.RelativeTimer() | ast.PeriodicTimer() | ast.While():
            yield (body,), ()
        case _:
            raise AssertionError(f"unknown body {type(body).__name__}")


def _identified(literals: tuple[Literal, ...]) -> list[Literal]:
    """Fresh identifiers for literals without one; no two are the same."""
    found: list[Literal] = []
    for number, literal in enumerate(literals):
        if isinstance(literal, ast.Event) and literal.identifier is None:
            literal = replace(literal, identifier=f"#{number}")
        found.append(literal)
    names = [name for each in found for name in [identifier_of(each)] if name is not None]
    for name in names:
        if names.count(name) > 1:
            raise QueryCheckError([Problem(f"event identifier {name} is used twice")])
    return found


def identifier_of(literal: Literal) -> str | None:
    """The identifier that a literal gives to an event."""
    return None if isinstance(literal, ast.While) else literal.identifier


def spoken_of(literal: Literal) -> str | None:
    """The identifier of the event that a literal needs: an anchor, or a window."""
    match literal:
        case ast.RelativeTimer(_, _, anchor):
            return anchor
        case ast.While(window):
            return window
    return None


def _in_order(literals: list[Literal]) -> tuple[Literal, ...]:
    """Literals after those whose events they need, and `not` last of all: its variables are bound by the others.

    For the meaning the order is of no account; it only lets one literal be looked at after the other.
    """
    found: list[Literal] = []
    rest = [each for each in literals if not is_negated(each)]
    while rest:
        known = {identifier_of(each) for each in found}
        ready = [each for each in rest if spoken_of(each) is None or spoken_of(each) in known]
        if not ready:
            raise QueryCheckError([Problem(f"no event {spoken_of(rest[0])} in this part of the rule")])
        found += ready
        rest = [each for each in rest if each not in ready]
    return (*found, *(each for each in literals if is_negated(each)))


def is_negated(literal: Literal) -> bool:
    """`while j: not q`."""
    return isinstance(literal, ast.While) and literal.negated
