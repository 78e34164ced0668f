"""How large an automaton may become, and what is said when it would be larger."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.errors import Problem
from acelera.language import ast

MOST_TRANSITIONS = 20_000
"""With so many, a query takes some seconds to compile; products of several parts soon go beyond any number."""


class TooLargeError(Exception):
    """An automaton under construction has more transitions than it may have."""


def refuse_more(transitions: int) -> None:
    """Stop building as soon as there are too many transitions."""
    if transitions > MOST_TRANSITIONS:
        raise TooLargeError


def too_large(node: ast.Formula, formula: ast.Formula) -> Problem:
    """What is said of a formula, one of whose parts could not be built."""
    needed = states_needed(formula)
    told = f"up to {needed:,}" if needed < 10**15 else "more than 10^15"
    return Problem(
        f"the query is too large to compile: its automaton would have more than {MOST_TRANSITIONS:,} transitions, and "
        f"{told} states",
        node.span,
        _remedy(node),
    )


def _remedy(node: ast.Formula) -> str:
    match node:
        case ast.All():
            return (
                "ALL follows its operands in every order, so each of them doubles the states at least; where the order "
                "is known, write A ; B, or make several queries of it"
            )
        case ast.Repeated():
            return "each round has states of its own; count afterwards: A+ AGG m[n <- count(A)] FILTER m.n = 5000"
        case ast.And():
            return "AND multiplies the states of its operands; make them simpler, or make several queries of it"
        case ast.Filter():
            return (
                "each OR of conditions on different variables under an AND doubles the states; say what concerns one "
                "variable in one condition, x[a > 1 OR b > 2], or make several queries of it"
            )
    return "make several queries of it"


def states_needed(formula: ast.Formula) -> int:
    """How many states the automaton of a formula has at most."""

    def combine(node: ast.Formula, made: Sequence[int]) -> int:
        match node:
            case ast.Next():
                return made[0] + 1
            case ast.Repeated(_, low, high):
                return (made[0] + 1) * max(low, high or 0, 1)
            case ast.Then() | ast.Contiguous():
                return made[0] + made[1] - 1
            case ast.Or():
                return made[0] + made[1] - 2
            case ast.All() | ast.And():
                return made[0] * made[1]
            case ast.Iteration() | ast.ContiguousIteration():
                return made[0] + 1
            case ast.Filter(_, condition):
                return (made[0] - 2) * ast.fold(condition, _copies) + 2
            case ast.Strict():
                return made[0] * 3
            case ast.EventType() | ast.AnyEvent():
                return 2
            case ast.As() | ast.Project() | ast.Agg() | ast.Unless() | ast.UnlessFor() | ast.Start():
                return made[0]
            case ast.Optional() | ast.Windowed():
                return made[0]
        raise AssertionError(f"unknown formula {type(node).__name__}")

    return ast.fold(formula, combine)


def _copies(condition: ast.Condition, made: Sequence[int]) -> int:
    """How many copies of an automaton its filtered one consists of."""
    match condition:
        case ast.Either():
            return made[0] + made[1]
        case ast.Both():
            return made[0] * made[1]
    return 1
