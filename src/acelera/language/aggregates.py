"""Aggregate functions: commutative monoids with a lift and a finish.

The aggregate of the values a, b, … is `finish(combine(lift(a), combine(lift(b), …)))`, that of none `finish(identity)`.
NULL is handled outside: lift never sees one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from acelera.errors import UsageError
from acelera.language.types import BOOL, FLOAT, INT, NUMBERS, ORDERED, Kind, Type, parse_type, scale_of

INT64 = range(-(2**63), 2**63)
"""What fits; only a plain int is found in a range at once, a subclass is searched for."""
EXACT = Context(prec=100)
"""Decimal arithmetic that never rounds what fits into a column."""


@dataclass(frozen=True)
class Failure:
    """The value of an aggregate that has none. To look at it is an error; that nobody looks is none."""

    message: str


OVERFLOW = Failure(
    "integer overflow: an aggregate does not fit into its type; aggregate floats instead, or fewer events"
)
COUNT_OVERFLOW = Failure(
    "integer overflow: a number of matches, or of events in them, does not fit into 64 bits; write log2_count(*), the "
    "logarithm of the number of matches, or summarize fewer of them: OVER …, WITHIN …, BY …"
)
NULLED = object()
"""The state of an aggregate that has seen a NULL."""


@dataclass(frozen=True)
class Aggregate:
    """An aggregate function.

    `place` is for what is the value of one event, by position: 1 for the first, 2 for the second, -1 for the last. Lift
    then gets (position, value) rather than the value, and the value may be NULL. `result` gives the type of the
    aggregate of values of a type, or None if it cannot take them; `takes` says in words what it can.
    """

    name: str
    lift: Callable[[Any], Any]
    combine: Callable[[Any, Any], Any]
    identity: Any
    finish: Callable[[Any], Any]
    result: Callable[[Type], Type | None]
    takes: str = "any values"
    place: int | None = None
    user_defined: bool = False
    selects: bool = False  # the result is one of the values, so it cannot overflow
    returns: Type | None = None  # what a user says of the result

    def step(self, state: Any, position: int, value: Any, ignore_nulls: bool) -> Any:
        """The state after one more value. A NULL makes the whole NULL (a ⊗ NULL = NULL), unless it is to be ignored, or
        counts as the value of its event.
        """
        if isinstance(state, Failure) or isinstance(value, Failure):
            return state if isinstance(state, Failure) else value
        if value is None and (ignore_nulls or self.place is None):
            return state if ignore_nulls else NULLED
        if state is NULLED:
            return NULLED
        given = value if self.place is None else (position, value)
        return self._guarded(lambda: _comparable(self.combine(state, self.lift(given))))

    def merged(self, left: Any, right: Any) -> Any:
        """The state after all values of two states."""
        for state in (left, right):
            if isinstance(state, Failure):
                return state
        if left is NULLED or right is NULLED:
            return NULLED
        return self._guarded(lambda: _comparable(self.combine(left, right)))

    def value(self, state: Any) -> Any:
        """The value of the aggregate, from the state after all values."""
        if state is NULLED:
            return None
        if isinstance(state, Failure):
            return state
        result = self._guarded(lambda: canonical(self.finish(state)))
        if isinstance(result, Failure):
            return result
        allowed = _PYTHON.get(self.returns.kind, _VALUES) if self.returns else _VALUES
        if self.user_defined and not isinstance(result, allowed):
            wanted = f"a value of type {self.returns}" if self.returns else "a number, a text, a boolean or None"
            return Failure(f"the aggregate function `{self.name}` gave {result!r}, but {wanted} is wanted")
        return OVERFLOW if not self.selects and _overflows(result) else result

    def _guarded(self, compute: Callable[[], Any]) -> Any:
        """What a user's functions give, or the failure that they raised."""
        if not self.user_defined:
            return compute()
        try:
            return compute()
        except Exception as error:
            return Failure(f"the aggregate function `{self.name}` failed: {type(error).__name__}: {error}")


def _comparable(state: Any) -> Any:
    """States are kept in registers and compared: NaN is to be equal to itself in them, too."""
    hash(state)
    return tuple(map(canonical, state)) if type(state) is tuple else canonical(state)


def canonical(value: Any) -> Any:
    """One NaN and one zero, so that equal values are equal to Python; Python's numbers rather than NumPy's."""
    if type(value).__module__ == "numpy" and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return math.nan if value != value else value + 0.0
    return value


_VALUES = (type(None), bool, int, float, str, Decimal)
_PYTHON = {
    Kind.INT: (type(None), int),
    Kind.FLOAT: (type(None), int, float),
    Kind.STRING: (type(None), str),
    Kind.BOOL: (type(None), bool),
    Kind.DECIMAL: (type(None), int, Decimal),
}


def _overflows(value: Any) -> bool:
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits) > 38
    return isinstance(value, int) and not isinstance(value, bool) and int(value) not in INT64


_registry: dict[str, Aggregate] = {}


NTH = "nth"
"""The function that is given a number as well; with it, it is one function for each number."""


LARGEST_PLACE = 1_000_000
"""So far `nth` counts: what it remembers grows with its number."""


DISTINCT = "count distinct"
"""The name of `count(DISTINCT …)`, which no function of a user can have."""


def numbered(number: int) -> str:
    """The name of `nth` with a number, which no function of a user can have."""
    return f"{NTH} {number}"


def name_and_number(function: str) -> tuple[str, int | None]:
    """The name of an aggregate function as it is written, and the number that it is given, if any."""
    found = _NUMBERED.fullmatch(function)
    return (NTH, int(found[1])) if found else (function, None)


_CONDITIONS = ("prev", "same", "increasing", "decreasing")
_NUMBERED = re.compile(rf"{NTH} (-?[1-9]\d*)")


def as_written(function: str, given: str) -> str:
    """A call of an aggregate function: `sum(x.price)`, `nth(x.price, 2)`."""
    return called(*name_and_number(function), given)


def called(name: str, number: int | None, given: str) -> str:
    """The same, of a name and a number."""
    if name == DISTINCT:
        return f"count(DISTINCT {given})"
    return f"{name}({given})" if number is None else f"{name}({given}, {number})"


def find_aggregate(name: str) -> Aggregate | None:
    """The aggregate function of this name."""
    place = name_and_number(name)[1]
    if name == DISTINCT:
        return _COUNT_DISTINCT
    return _registry.get(name.lower()) if place is None else _nth(place)


@lru_cache(maxsize=1024)
def _nth(place: int) -> Aggregate:
    return _of_one_event(numbered(place), place)


def aggregate_names() -> list[str]:
    """The names of all aggregate functions, without `nth`, which is none before it has a number, and DISTINCT."""
    return sorted(_registry)


def aggregate(
    name: str,
    *,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    identity: Any,
    finish: Callable[[Any], Any] = lambda state: state,
    returns: object = None,
) -> None:
    """Add an aggregate function of one's own, to be used by name in queries.

    `combine` must be associative and commutative, with `identity` as its neutral element. `returns` is the type of the
    result (`"float"`, `int`, a pyarrow type …); without it, that of the values. Defining a name again replaces the
    former definition; the built-in names are taken.

    >>> import acelera as ac
    >>> ac.aggregate("longest", lift=len, combine=max, identity=0, returns="int")
    >>> q = ac.query("SELECT longest(A.word) MATCH A+")
    >>> rows = [{"type": "A", "word": "to"}, {"type": "A", "word": "count"}]
    >>> q.run(rows).column("longest_A_word").to_pylist()
    [2, 5, 5]
    """
    if not isinstance(name, str) or not name.isidentifier():
        raise UsageError(f"{name!r} cannot be the name of an aggregate function; use letters, digits and _")
    key = name.lower()
    if key in _CONDITIONS:
        raise UsageError(f"`{key}` is a word of conditions; choose another name")
    if key == NTH or (key in _registry and not _registry[key].user_defined):
        raise UsageError(f"`{key}` is a built-in aggregate function; choose another name")
    for role, function in (("lift", lift), ("combine", combine), ("finish", finish)):
        if not callable(function):
            raise UsageError(f"aggregate {name!r}: {role} must be a function, not {function!r}")
    try:
        hash(identity)
    except TypeError:
        raise UsageError(
            f"aggregate {name!r}: states are compared, so they must be hashable: a tuple, not a list"
        ) from None
    declared = None if returns is None else parse_type(returns)
    _registry[key] = Aggregate(
        key, lift, combine, identity, finish, lambda given: declared or given, user_defined=True, returns=declared
    )


def own_aggregates() -> tuple[Aggregate, ...]:
    """All aggregate functions that users have added."""
    return tuple(each for each in _registry.values() if each.user_defined)


def install(aggregates: Iterable[Aggregate]) -> None:
    """Add aggregate functions that were added in another process."""
    _registry.update({each.name: each for each in aggregates})


# --- the built-in functions ---------------------------------------------------------------------------------------


def _builtin(
    name: str,
    lift: Callable[[Any], Any],
    combine: Callable[[Any, Any], Any],
    identity: Any,
    finish: Callable[[Any], Any],
    result: Callable[[Type], Type | None],
    takes: str,
    selects: bool = False,
) -> None:
    _registry[name] = Aggregate(name, lift, combine, identity, finish, result, takes, selects=selects)


def _same(value: Any) -> Any:
    return value


def _only(kinds: frozenset[Kind], result: Type | None = None) -> Callable[[Type], Type | None]:
    return lambda given: (result or given) if given.kind in kinds or given.vague else None


def _sum_type(given: Type) -> Type | None:
    if given.kind is Kind.NULL:
        return INT  # of a column without values: the sum of none
    if given.kind is Kind.DECIMAL:
        return Type(Kind.DECIMAL, pa.decimal128(38, scale_of(given)))
    sums = {Kind.INT: INT, Kind.FLOAT: FLOAT, Kind.DURATION: given}
    return given if given.vague else sums.get(given.kind)


def _product_type(given: Type) -> Type | None:
    return None if given.kind in (Kind.DECIMAL, Kind.DURATION) else _sum_type(given)


def _range_type(given: Type) -> Type | None:
    if given.kind is Kind.TIMESTAMP:
        return Type(Kind.DURATION, pa.duration(given.arrow.unit))
    if given.vague:
        return given
    return _sum_type(given)


def _alike(left: Any, right: Any) -> tuple[Any, Any]:
    """A decimal that meets a float becomes one, as their types do."""
    return (float(left), float(right)) if isinstance(left, float) or isinstance(right, float) else (left, right)


def _add(left: Any, right: Any) -> Any:
    left, right = _alike(left, right)
    return EXACT.add(left, right) if isinstance(left, Decimal) or isinstance(right, Decimal) else left + right


def _or_nothing(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The function with None, the state before any value, as neutral element."""

    def combine(left: Any, right: Any) -> Any:
        if left is None or right is None:
            return right if left is None else left
        return function(left, right)

    return combine


def _smaller(left: Any, right: Any) -> Any:
    if left != left or right != right:  # NaN spreads
        return math.nan
    return right if right < left else left


def _larger(left: Any, right: Any) -> Any:
    if left != left or right != right:
        return math.nan
    return right if right > left else left


def _average(state: tuple[Any, int]) -> Any:
    total, count = state
    if isinstance(total, int) and int(total) not in INT64:
        return OVERFLOW
    return float(total) / count if count else None


def _extent(state: tuple[Any, Any] | None) -> Any:
    if state is None:
        return None
    low, high = _alike(*state)
    return EXACT.subtract(high, low) if isinstance(low, Decimal) else high - low


def _spread(left: tuple[int, float, float], right: tuple[int, float, float]) -> tuple[int, float, float]:
    """Merge (count, mean, sum of squared deviations), the numerically stable way (Chan et al.)."""
    count = left[0] + right[0]
    if left[0] == 0 or right[0] == 0:
        return right if left[0] == 0 else left
    delta = right[1] - left[1]
    return count, left[1] + delta * right[0] / count, left[2] + right[2] + delta * delta * left[0] * right[0] / count


def _variance(state: tuple[int, float, float]) -> float | None:
    return state[2] / (state[0] - 1) if state[0] > 1 else None


def _deviation(state: tuple[int, float, float]) -> float | None:
    variance = _variance(state)
    return None if variance is None else math.sqrt(variance)


def _product(left: Any, right: Any) -> Any:
    left, right = _alike(left, right)
    return left * right


_NUMBERS = "numbers"
_NOT_OPAQUE = frozenset(Kind) - {Kind.OPAQUE}
_ORDERED = "numbers, strings, timestamps, dates and durations"

_builtin("count", lambda _: 1, _add, 0, _same, lambda _: INT, "any values")
_builtin("sum", _same, _add, 0, _same, _sum_type, "numbers and durations")
_builtin("min", _same, _or_nothing(_smaller), None, _same, _only(ORDERED), _ORDERED, selects=True)
_builtin("max", _same, _or_nothing(_larger), None, _same, _only(ORDERED), _ORDERED, selects=True)
_builtin(
    "avg",
    lambda value: (value, 1),
    lambda left, right: (_add(left[0], right[0]), left[1] + right[1]),
    (0, 0),
    _average,
    _only(NUMBERS, FLOAT),
    _NUMBERS,
)
_builtin(
    "range",
    lambda value: (value, value),
    _or_nothing(lambda left, right: (_smaller(left[0], right[0]), _larger(left[1], right[1]))),
    None,
    _extent,
    _range_type,
    "numbers, timestamps and durations",
)
_builtin("product", _same, _product, 1, _same, _product_type, "integers and floats")
_builtin(
    "variance",
    lambda v: (1, float(v), 0.0),
    _spread,
    (0, 0.0, 0.0),
    _variance,
    _only(NUMBERS, FLOAT),
    _NUMBERS,
)
_builtin(
    "stddev",
    lambda v: (1, float(v), 0.0),
    _spread,
    (0, 0.0, 0.0),
    _deviation,
    _only(NUMBERS, FLOAT),
    _NUMBERS,
)
_builtin(
    "bool_and",
    _same,
    lambda left, right: left and right,
    True,
    _same,
    _only(frozenset({Kind.BOOL}), BOOL),
    "booleans",
)
_builtin(
    "bool_or",
    _same,
    lambda left, right: left or right,
    False,
    _same,
    _only(frozenset({Kind.BOOL}), BOOL),
    "booleans",
)


def place_of_value(value: Any, failed: str | None = None) -> tuple[Any, ...]:
    """An order of all values: NULL, then numbers with NaN behind them, texts, and at last aggregates that failed."""
    if failed is not None or isinstance(value, Failure):
        return (3,)
    if value is None:
        return (0,)
    if isinstance(value, int | float | Decimal):
        return (1, 1, 0) if value != value else (1, 0, value)
    return (2, str(value))


def _place_of_entry(entry: tuple[int, Any]) -> tuple[Any, ...]:
    return entry[0], place_of_value(entry[1])


def _of_one_event(name: str, place: int) -> Aggregate:
    """The value of the event with this place among all, by position; of several at one position, by value.

    A state has as many entries as may still matter: the first ones, or the last if the place is counted from there.
    """
    most, from_the_end = abs(place), place < 0

    def combine(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(sorted((*left, *right), key=_place_of_entry, reverse=from_the_end)[:most])

    return Aggregate(
        name,
        lambda given: ((given[0], canonical(given[1])),),
        combine,
        (),
        lambda state: state[most - 1][1] if len(state) >= most else None,
        _only(_NOT_OPAQUE),
        "numbers, strings, booleans and times",
        place,
        selects=True,
    )


for _name, _place in (("first", 1), ("last", -1)):
    _registry[_name] = _of_one_event(_name, _place)


def _together(left: tuple[Any, ...], right: tuple[Any, ...]) -> tuple[Any, ...]:
    """The different values of both, in order; NaN is one value, behind all others."""
    return tuple(sorted({*left, *right}, key=lambda value: (value != value, value)))


_COUNT_DISTINCT = Aggregate(
    DISTINCT, lambda value: (value,), _together, (), len, lambda given: INT if given.kind in _NOT_OPAQUE else None
)
