"""SQL expressions over one combination of events. Conditions never fail on data: what has no value is NULL."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from acelera.errors import AggregateError
from acelera.language import ast, like
from acelera.language.aggregates import EXACT, INT64, Failure, canonical
from acelera.language.events import Event, Moment, Value
from acelera.language.literals import parse_date, parse_timestamp

Lookup = Callable[[Any], Value]
"""What leaves stand for: attributes, and the leaves that a rule language has beside them."""


def evaluate(
    expression: ast.Expression, lookup: Lookup, functions: Mapping[str, Callable[..., Value]] | None = None
) -> Value:
    """The value of an expression; `functions` are those that a rule language has beside the usual ones."""
    known = _FUNCTIONS if functions is None else {**_FUNCTIONS, **functions}

    def combine(node: ast.Expression, values: Sequence[Value]) -> Value:
        match node:
            case ast.Literal(value):
                return value
            case ast.Timestamp(text):
                instant = parse_timestamp(text)
                return None if instant is None else Moment(instant.nanoseconds)
            case ast.Date(text):
                return parse_date(text)
            case ast.Interval(amount, unit):
                return Moment(amount * ast.UNITS[unit])
            case ast.Unary("NOT", _):
                return _not(values[0])
            case ast.Unary():
                return None if values[0] is None else _negate(values[0])
            case ast.Binary("AND", _, _):
                return _and(values[0], values[1])
            case ast.Binary("OR", _, _):
                return _not(_and(_not(values[0]), _not(values[1])))
            case ast.Binary(symbol, _, _):
                if symbol in COMPARISONS:
                    return compare(symbol, values[0], values[1])
                return None if None in values else _ARITHMETIC[symbol](values[0], values[1])
            case ast.IsNull(_, negated):
                return (values[0] is None) != negated
            case ast.In(_, _, negated):
                return _negate_if(negated, _in(values[0], values[1:]))
            case ast.Between(_, _, _, negated):
                inside = _and(compare(">=", values[0], values[1]), compare("<=", values[0], values[2]))
                return _negate_if(negated, inside)
            case ast.Like(_, pattern, negated):
                if values[0] is None:
                    return None
                return like.matches(values[0], pattern) != negated
            case ast.Call(function, _):
                return known[function](*values)
            case ast.Cast(_, target):
                return None if values[0] is None else _CASTS[target](values[0])
        return lookup(node)

    return ast.fold(expression, combine)


def constant(expression: ast.Expression) -> Value:
    """The value of an expression without attributes."""

    def nothing(node: ast.Attribute) -> Value:
        raise AssertionError(f"a constant has no attribute {node.name}")

    return evaluate(expression, nothing)


# --- three-valued logic and comparison ----------------------------------------------------------------------------

COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(symbol: str, left: Value, right: Value) -> bool | None:
    """SQL's comparison; NaN compares as NULL."""
    if left is None or right is None or left != left or right != right:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    try:
        return COMPARISONS[symbol](left, right)
    except TypeError:  # only an aggregate function of a user can give another type than it should
        raise AggregateError(
            f"{left!r} cannot be compared with {right!r}; an aggregate function must give what its `returns` says"
        ) from None


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _and(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _negate_if(negated: bool, value: bool | None) -> bool | None:
    return _not(value) if negated else value


def _in(value: Value, items: Sequence[Value]) -> bool | None:
    found: bool | None = False
    for item in items:
        equal = compare("=", value, item)
        if equal:
            return True
        found = None if equal is None else found
    return found


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _fit(value: Value) -> Value:
    """NULL for what does not fit into its type."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value if value in INT64 else None
    if isinstance(value, Decimal):
        return value if len(value.as_tuple().digits) <= 38 else None
    return value


def _arithmetic(
    plain: Callable[[Value, Value], Value], exact: Callable[[Decimal | int, Decimal | int], Decimal]
) -> Callable[[Value, Value], Value]:
    """Floats if either side is one, decimals if either side is one, integers otherwise."""

    def apply(left: Value, right: Value) -> Value:
        if isinstance(left, Moment) or isinstance(right, Moment):
            moment = plain(left, right)
            return Moment(moment) if abs(moment) < 2**100 else None
        if isinstance(left, float) or isinstance(right, float):
            return plain(float(left), float(right))
        if isinstance(left, Decimal) or isinstance(right, Decimal):
            return _fit(exact(left, right))
        return _fit(plain(left, right))

    return apply


def _negate(value: Value) -> Value:
    if isinstance(value, Moment):
        return Moment(-int(value))
    return value.copy_negate() if isinstance(value, Decimal) else _fit(-value)


def _absolute(value: Value) -> Value:
    return _negate(value) if value < 0 else value


def _divide(left: Value, right: Value) -> float | None:
    return float(left) / float(right) if right != 0 else None


def _remainder(left: Value, right: Value) -> Value:
    """With the sign of the dividend."""
    if right == 0:
        return None
    if isinstance(left, float) or isinstance(right, float):
        return math.fmod(float(left), float(right)) if math.isfinite(left) else None
    if isinstance(left, Decimal) or isinstance(right, Decimal):
        try:
            return EXACT.remainder(left, right)
        except InvalidOperation:  # more digits than any column holds
            return None
    rest = abs(left) % abs(right)
    return rest if left >= 0 else -rest


_ARITHMETIC: dict[str, Callable[[Value, Value], Value]] = {
    "+": _arithmetic(operator.add, EXACT.add),
    "-": _arithmetic(operator.sub, EXACT.subtract),
    "*": _arithmetic(operator.mul, EXACT.multiply),
    "/": _divide,
    "%": _remainder,
    "||": operator.add,
}


# --- functions and casts ------------------------------------------------------------------------------------------


def _strict(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda value: None if value is None else function(value)


def _whole(function: Callable[[Value], int]) -> Callable[[Value], int | None]:
    def apply(value: Value) -> int | None:
        if isinstance(value, float) and not math.isfinite(value):
            return None
        whole: int | None = _fit(function(value))
        return whole

    return apply


def _coalesce(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _nullif(left: Value, right: Value) -> Value:
    return None if compare("=", left, right) else left


def attribute_of(event: Event, name: str) -> Value:
    """An attribute of an event, or what is computed from some; a failure if one of them is one."""
    if not isinstance(name, ast.Computed):
        return event.raw(name)
    known = {each: event.raw(each) for each in name.names}
    failed = next((value for value in known.values() if isinstance(value, Failure)), None)
    return failed or canonical(evaluate(name.expression, lambda node: known[node.name]))


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "abs": _strict(_absolute),
    "floor": _strict(_whole(math.floor)),
    "ceil": _strict(_whole(math.ceil)),
    "sqrt": _strict(lambda value: math.sqrt(value) if value >= 0 else None),
    "lower": _strict(str.lower),
    "upper": _strict(str.upper),
    "trim": _strict(lambda text: text.strip(" ")),
    "length": _strict(len),
    "coalesce": _coalesce,
    "if": lambda condition, value, otherwise=None: value if condition is True else otherwise,
    "nullif": _nullif,
}


def _to_int(value: Value) -> int | None:
    if isinstance(value, str):
        text = value.strip(" ")
        whole: int | None = _fit(int(text)) if re.fullmatch(r"[+-]?[0-9]{1,30}", text) else None
        return whole
    return _whole(int)(value)


def _to_float(value: Value) -> float | None:
    if isinstance(value, str):
        text = value.strip(" ")
        number = re.fullmatch(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
        return float(text) if number else None
    return float(value)


def _to_string(value: Value) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _to_bool(value: Value) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.strip(" ").lower())


_CASTS: dict[str, Callable[[Value], Value]] = {
    "int": _to_int,
    "float": _to_float,
    "string": _to_string,
    "bool": _to_bool,
}
