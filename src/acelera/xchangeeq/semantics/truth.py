"""W of [P], figure 14: conditions over times and values, with the three truth values of SQL."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Context, Decimal, localcontext
from itertools import combinations
from typing import TypeAlias

from acelera.errors import DataError, Problem, QueryCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics.timers import Clock, Timer
from acelera.xchangeeq.terms import Event, Term, Value, identity, kind, order_key

Trace: TypeAlias = Mapping[str, Event | Timer]
"""τ: what each event identifier stands for."""

Truth: TypeAlias = bool | None
"""True, False, and None for what is unknown."""

Number: TypeAlias = int | float | Decimal

Values: TypeAlias = Callable[[ast.Expression], Value | None]
"""The value of an expression under some σ; None if it has none."""


def happening(trace: Trace, identifier: str) -> Event | Timer:
    """τ(i)."""
    if identifier not in trace:
        raise QueryCheckError([Problem(f"no event {identifier} in this part of the rule")])
    return trace[identifier]


def truth(condition: ast.Condition, trace: Trace, values: Values, clock: Clock) -> Truth:
    """W_{σ,τ}(C)."""
    match condition:
        case ast.Temporal(left, relation, right):
            return holds(relation, happening(trace, left), happening(trace, right))
        case ast.Within(identifiers, duration):
            those = [happening(trace, each) for each in identifiers]
            return max(each.end for each in those) - min(each.begin for each in those) <= clock.length(duration)
        case ast.ApartBy(identifiers, duration):
            those = [happening(trace, each) for each in identifiers]
            return all(
                max(one.begin, other.begin) - min(one.end, other.end) >= clock.length(duration)
                for one, other in combinations(those, 2)
            )
        case ast.Comparison(operator, left, right):
            return compared(operator, values(left), values(right))
        case ast.Not(inner):
            return negation(truth(inner, trace, values, clock))
        case ast.Both(conditions):
            return conjunction(truth(each, trace, values, clock) for each in conditions)
        case ast.Either(conditions):
            return negation(conjunction(negation(truth(each, trace, values, clock)) for each in conditions))
    raise AssertionError(f"unknown condition {type(condition).__name__}")


def negation(value: Truth) -> Truth:
    """NOT of SQL: of what is unknown, unknown."""
    return None if value is None else not value


def conjunction(values: Iterable[Truth]) -> Truth:
    """AND of SQL: FALSE if one is, otherwise unknown if one is."""
    found = list(values)
    if False in found:
        return False
    return None if None in found else True


def holds(relation: str, i: Event | Timer, j: Event | Timer) -> bool:
    """Allen's relations, as the contract lists them."""
    inverses = {inverse: name for name, inverse in ast.RELATIONS.items()}
    if relation not in ast.RELATIONS and relation in inverses:
        return holds(inverses[relation], j, i)
    match relation:
        case "before":
            return i.end < j.begin
        case "meets":
            return i.end == j.begin
        case "overlaps":
            return i.begin < j.begin < i.end < j.end
        case "during":
            return j.begin < i.begin and i.end < j.end
        case "starts":
            return i.begin == j.begin and i.end < j.end
        case "finishes":
            return j.begin < i.begin and i.end == j.end
        case "equals":
            return i.begin == j.begin and i.end == j.end
    raise AssertionError(f"unknown relation {relation}")


def compared(operator: str, left: Value | None, right: Value | None) -> Truth:
    """A comparison of SQL: unknown with an unbound side. NaN equals NaN and is greater than all other numbers."""
    if left is None or right is None:
        return None
    equal = identity(left) == identity(right)
    if operator in ("=", "!="):
        return equal == (operator == "=")
    if kind(left) != kind(right) or isinstance(left, Term):
        raise DataError(
            f"a {kind(left).lower()} and a {kind(right).lower()} are compared: {left!r} {operator} {right!r}"
        )
    less = order_key(left) < order_key(right)
    return {"<": less, "<=": less or equal, ">": not less and not equal, ">=": not less}[operator]


# --- expressions without aggregates -------------------------------------------------------------------------------

LARGEST = 2**63
MOST_DIGITS = 38
EXACT = Context(prec=100)
"""Decimal arithmetic that never rounds what fits."""


def fits(number: int) -> bool:
    """Whether an integer is one of 64 bits."""
    return -LARGEST <= number < LARGEST


def arithmetic(operator: str, left: Value | None, right: Value | None) -> Value | None:
    """`+ - * /` over what is bound; `/` gives a float, and by zero nothing; decimals are exact."""
    if left is None or right is None:
        return None
    a, b = alike(_number(left, operator), _number(right, operator))
    if operator == "/":
        return None if b == 0 else float(a) / float(b)
    with localcontext(EXACT):
        made: Number = a + b if operator == "+" else a - b if operator == "-" else a * b  # type: ignore[operator]  # they are alike
    return _fitting(made, f"{left!r} {operator} {right!r}")


def alike(left: Number, right: Number) -> tuple[Number, Number]:
    """A decimal that meets a float becomes one."""
    return (float(left), float(right)) if isinstance(left, float) or isinstance(right, float) else (left, right)


def called(function: str, arguments: list[Value | None]) -> Value | None:
    """A function of values: of what is unbound unbound, except for coalesce, which is the first that is bound."""
    if function == "coalesce":
        return next((each for each in arguments if each is not None), None)
    [value] = arguments
    if value is None:
        return None
    if function in ("lower", "upper", "length"):
        if not isinstance(value, str):
            raise DataError(f"{function}({value!r}): that is no string")
        return len(value) if function == "length" else value.lower() if function == "lower" else value.upper()
    number = _number(value, function)
    if function == "abs":
        return _fitting(number if number >= 0 else -number, f"abs({number})")
    if not math.isfinite(number):
        return None
    return _fitting(math.floor(number) if function == "floor" else math.ceil(number), f"{function}({number})")


def _fitting(number: Number, what: str) -> Number:
    """A number, if it is no integer that needs more than 64 bits, and no decimal of more than 38 digits."""
    if isinstance(number, int) and not fits(number):
        raise DataError(f"integer overflow: {what} does not fit into 64 bits")
    if isinstance(number, Decimal) and len(number.as_tuple().digits) > MOST_DIGITS:
        raise DataError(f"overflow: {what} does not fit into {MOST_DIGITS} digits")
    return number


def _number(value: Value, where: str) -> Number:
    """A value that is computed with."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise DataError(f"{where} of {value!r}: that is no number")
    return value
