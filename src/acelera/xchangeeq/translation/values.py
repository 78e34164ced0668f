"""Expressions and conditions in terms of the algebra."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from acelera.algebra.bounds import NetworkBuilder
from acelera.algebra.expressions import Attribute, Constant, Expression, Operation, all_of
from acelera.algebra.intervals import orders
from acelera.algebra.names import time
from acelera.algebra.rules import at_most
from acelera.xchangeeq import ast

Ticks = Callable[[ast.Duration], int]
"""How many ticks a duration is."""


def value(expression: ast.Expression, aggregated: Callable[[ast.Aggregate], Expression] | None = None) -> Expression:
    """A value; `aggregated` says what stands for an aggregate."""
    match expression:
        case ast.Literal(constant):
            return Constant(constant)
        case ast.Variable(name):
            return Attribute(name)
        case ast.Negative(operand):
            return Operation("-", (Constant(0), value(operand, aggregated)))
        case ast.Arithmetic(operator, left, right):
            return Operation(operator, (value(left, aggregated), value(right, aggregated)))
        case ast.Call(function, arguments):
            return Operation(function, tuple(value(each, aggregated) for each in arguments))
        case ast.Aggregate() if aggregated is not None:
            return aggregated(expression)
    raise AssertionError(f"unknown expression {type(expression).__name__}")


def condition(given: ast.Condition, ticks: Ticks) -> Expression:
    """A condition."""
    match given:
        case ast.Temporal(left, relation, right):
            return _all(
                _compared(
                    "<=" if order.may_be_one else "<",
                    _time(order.earlier.identifier, order.earlier.end),
                    _time(order.later.identifier, order.later.end),
                )
                for order in orders(left, relation, right)
            )
        case ast.Within(identifiers, duration):
            return _all(_lasting(identifiers, ticks(duration)))
        case ast.ApartBy(identifiers, duration):
            return _all(_apart(one, other, ticks(duration)) for one, other in combinations(identifiers, 2))
        case ast.Comparison(operator, left, right):
            return _compared(operator, value(left), value(right))
        case ast.Not(inner):
            return Operation("not", (condition(inner, ticks),))
        case ast.Both(conditions):
            return _all(condition(each, ticks) for each in conditions)
        case ast.Either(conditions):
            return Operation("or", tuple(condition(each, ticks) for each in conditions))
    raise AssertionError(f"unknown condition {type(given).__name__}")


def _all(conditions: Iterable[Expression]) -> Expression:
    return all_of(list(conditions)) or Constant(True)


def _compared(operator: str, left: Expression, right: Expression) -> Expression:
    return Operation(operator, (left, right))


def _time(identifier: str, end: str) -> Expression:
    return Attribute(time(identifier, end))


def _lasting(identifiers: Iterable[str], most: int) -> Iterable[Expression]:
    """No end is further from any begin."""
    names = list(dict.fromkeys(identifiers))
    for last in names:
        for first in names:
            yield at_most(time(last, "end"), time(first, "begin"), most)


def _apart(one: str, other: str, least: int) -> Expression:
    begin = Operation("greatest", (_time(one, "begin"), _time(other, "begin")))
    end = Operation("least", (_time(one, "end"), _time(other, "end")))
    return _compared(">=", Operation("-", (begin, end)), Constant(least))


def tell(network: NetworkBuilder, conditions: Iterable[ast.Condition], ticks: Ticks) -> None:
    """What conditions say of times, as far as it holds in any case."""
    todo = list(conditions)
    while todo:
        match todo.pop():
            case ast.Temporal(left, relation, right):
                network.ordered(orders(left, relation, right))
            case ast.Within(identifiers, duration):
                network.within(identifiers, ticks(duration))
            case ast.Both(inner):
                todo.extend(inner)
