"""Totals as Python objects: what all values of a total amount to, where each may count more often than can be listed.

A *fold* is an aggregate with one thing more: what a value that counts n times amounts to, for an n of any size. Sums
are exact, whatever their values are: integers as they are, decimals without rounding, and floats as multiples of the
smallest of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Any

from acelera.language.aggregates import (
    COUNT_OVERFLOW,
    INT64,
    NULLED,
    Aggregate,
    Failure,
    canonical,
    find_aggregate,
)
from acelera.language.events import Value
from acelera.language.summary import TotalValue
from acelera.language.types import Kind

UNBOUNDED = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Sums and products of decimals that never round."""
LARGEST_STATE = 1 << 20
"""A state with more bits, or more parts, is given up: it grows with the number of matches."""

_SMALLEST = 1074
"""All floats are multiples of 2 to minus so much."""
_HUGE = 2**64
"""Stands for all products of integers that do not fit: they fit again only after a zero."""


@dataclass(frozen=True)
class Fold:
    """How a total is folded: failures are handled outside, and NULL, unless it is a value as any other."""

    identity: Any
    power: Callable[[int, Value, int], Any]  # of a value at a position, which counts so often
    combine: Callable[[Any, Any], Any]
    finish: Callable[[Any], Value | Failure]
    takes_nulls: bool = False

    def step(self, state: Any, position: int, value: Value, times: int, ignore_nulls: bool) -> Any:
        """The state after a value that counts so often."""
        if isinstance(state, Failure) or isinstance(value, Failure):
            return state if isinstance(state, Failure) else value
        if value is None and (ignore_nulls or not self.takes_nulls):
            return state if ignore_nulls else NULLED
        return NULLED if state is NULLED else self.merged(state, self.power(position, value, times))

    def merged(self, left: Any, right: Any) -> Any:
        """The state of the values of both."""
        for state in (left, right):
            if isinstance(state, Failure):
                return state
        return NULLED if left is NULLED or right is NULLED else self.combine(left, right)

    def value(self, state: Any) -> Value | Failure:
        """The total, from the state after all values."""
        if isinstance(state, Failure):
            return state
        return None if state is NULLED else self.finish(state)


def fold_of(total: TotalValue) -> Fold | None:
    """How a total is folded; None if it only asks for the number of matches."""
    if total.total.variable is None:
        return None
    function = find_aggregate(total.total.function)
    assert function is not None, "the checker knows all functions"
    if function.user_defined:
        return _own(function)
    if function.place is not None:
        power = _as_often_as_matters(function, abs(function.place))
        return Fold(function.identity, power, function.merged, function.value, takes_nulls=True)
    kind = total.given.kind if total.given is not None else Kind.NULL
    match function.name:
        case "count":
            return Fold(0, lambda position, value, times: times, _plus, counted)
        case "sum":
            return _sum(function, kind)
        case "avg":
            return _average(function, kind)
        case "variance" | "stddev":
            return _spread(function.name == "stddev")
        case "product":
            return _float_product(function) if kind is Kind.FLOAT else _whole_product(function)
    return Fold(function.identity, _once(function), function.merged, function.value)


def counted(number: int) -> int | Failure:
    """A number of matches or of values, if 64 bits hold it."""
    return number if number in INT64 else COUNT_OVERFLOW


def _plus(left: int, right: int) -> int:
    return left + right


def _lifted(function: Aggregate, position: int, value: Value) -> Any:
    """The state of one value, or the failure of a user's function."""
    return function.step(function.identity, position, value, False)


def _once(function: Aggregate) -> Callable[[int, Value, int], Any]:
    """Where it does not matter how often a value counts."""
    return lambda position, value, times: _lifted(function, position, value)


def _as_often_as_matters(function: Aggregate, most: int) -> Callable[[int, Value, int], Any]:
    """Where so many entries tell the value, one for each time that it counts."""
    return lambda position, value, times: _lifted(function, position, value) * min(times, most)


# --- functions of one's own ---------------------------------------------------------------------------------------


def _own(function: Aggregate) -> Fold:
    """All that is known of the function is how two states are combined: so states are doubled."""

    def combine(left: Any, right: Any) -> Any:
        state = function.merged(left, right)
        return _too_large(function.name) if _size(state) > LARGEST_STATE else state

    def power(position: int, value: Value, times: int) -> Any:
        doubled, found = _lifted(function, position, value), function.identity
        while times and not isinstance(doubled, Failure):
            if times & 1:
                found = combine(found, doubled)
            times >>= 1
            if times:
                doubled = combine(doubled, doubled)
        return doubled if isinstance(doubled, Failure) else found

    return Fold(function.identity, power, combine, function.value)


def _size(state: Any) -> int:
    """How many bits an integer has, or how many parts something else; the largest such number in a tuple."""
    if type(state) is tuple:
        return max(len(state), max((_size(part) for part in state), default=0))
    if isinstance(state, int):
        return int(state).bit_length()
    return len(state) if isinstance(state, str | bytes | frozenset) else 0


def _too_large(name: str) -> Failure:
    return Failure(
        f"the aggregate function `{name}` failed: its state grows with the number of values, and in a summary a value "
        "counts once for each match that holds it; let `combine` keep the state small"
    )


# --- sums ---------------------------------------------------------------------------------------------------------


def _sum(function: Aggregate, kind: Kind) -> Fold:
    """The exact sum of values of a kind."""
    if kind is Kind.FLOAT:
        return Fold(_NO_FLOATS, _floats, _add_floats, _float_of)
    if kind is Kind.DECIMAL:
        return Fold(0, _decimals, UNBOUNDED.add, function.value)
    return Fold(0, lambda position, value, times: int(value) * times, _plus, function.value)


def _average(function: Aggregate, kind: Kind) -> Fold:
    """The exact sum, and the number of values."""
    total, divided = _sum(function, kind), _float_of if kind is Kind.FLOAT else _divided
    return Fold(
        (total.identity, 0),
        lambda position, value, times: (total.power(position, value, times), times),
        lambda left, right: (total.combine(left[0], right[0]), left[1] + right[1]),
        lambda state: divided(state[0], state[1]) if state[1] else None,
    )


def _decimals(position: int, value: Value, times: int) -> Any:
    return UNBOUNDED.multiply(value, times)


def _divided(total: Any, number: int = 1) -> float:
    exact = Fraction(total) / number
    return _ratio(exact.numerator, exact.denominator)


def _ratio(upper: int, lower: int) -> float:
    """The float that is nearest to a fraction."""
    try:
        return upper / lower
    except OverflowError:
        return math.inf if upper > 0 else -math.inf


# Floats are summed as (how many of the smallest, the sum of those that are no numbers).

_NO_FLOATS = (0, 0.0)


def _units(value: Value) -> int:
    """How many of the smallest floats a number is."""
    upper, lower = value.as_integer_ratio() if not isinstance(value, Decimal) else float(value).as_integer_ratio()
    return int(upper * (2**_SMALLEST // lower))


def _floats(position: int, value: Value, times: int) -> Any:
    if not math.isfinite(value):
        return 0, float(value)
    return _units(value) * times, 0.0


def _add_floats(left: Any, right: Any) -> Any:
    return left[0] + right[0], canonical(left[1] + right[1])


def _float_of(state: Any, number: int = 1) -> float:
    """A sum of floats, divided by a number."""
    units, special = state
    return special if special else _ratio(units, number << _SMALLEST)


def _spread(root: bool) -> Fold:
    """The number of values, their sum and that of their squares, and of those that are no numbers."""

    def power(position: int, value: Value, times: int) -> Any:
        number = float(value)
        if not math.isfinite(number):
            return times, 0, 0, math.nan
        units = _units(number)
        return times, units * times, units * units * times, 0.0

    def finish(state: Any) -> float | None:
        number, units, squares, special = state
        if number < 2:
            return None
        if special:
            return math.nan
        variance = _ratio(squares * number - units * units, number * (number - 1) << 2 * _SMALLEST)
        return math.sqrt(variance) if root else variance

    return Fold((0, 0, 0, 0.0), power, lambda left, right: tuple(map(_sum_of_two, left, right)), finish)


def _sum_of_two(left: Any, right: Any) -> Any:
    return canonical(left + right)


# --- products -----------------------------------------------------------------------------------------------------


def _whole_product(function: Aggregate) -> Fold:
    """Products of integers; what does not fit into 64 bits stays just beyond them."""

    def power(position: int, value: Value, times: int) -> int:
        if value in (-1, 0, 1):
            return int(value) if times & 1 else int(value * value)
        return _capped(int(value) ** min(times, 65))

    return Fold(1, power, lambda left, right: _capped(left * right), function.value)


def _capped(product: int) -> int:
    return product if abs(product) <= 2**63 else _HUGE


def _float_product(function: Aggregate) -> Fold:
    """Products of floats as (mantissa, exponent), so that what is too large or too small on the way does no harm."""

    def power(position: int, value: Value, times: int) -> tuple[float, int]:
        doubled, found = _scaled(float(value), 0), (0.5, 1)
        while times:
            if times & 1:
                found = combine(found, doubled)
            times >>= 1
            doubled = combine(doubled, doubled)
        return found

    def combine(left: tuple[float, int], right: tuple[float, int]) -> tuple[float, int]:
        return _scaled(left[0] * right[0], left[1] + right[1])

    def finish(state: tuple[float, int]) -> Value | Failure:
        mantissa, exponent = state
        try:
            return function.value(math.ldexp(mantissa, exponent))
        except OverflowError:
            return math.copysign(math.inf, mantissa)

    return Fold((0.5, 1), power, combine, finish)


def _scaled(mantissa: float, exponent: int) -> tuple[float, int]:
    """A mantissa of at least ½ and less than 1, where there is one."""
    scaled, more = math.frexp(mantissa)
    if not scaled or not math.isfinite(scaled):
        return canonical(scaled), 0
    return scaled, exponent + more
