"""The value of an aggregate over a bag (paper 000, sections 4 and 5)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from acelera.errors import AggregateError
from acelera.language import ast
from acelera.language.aggregates import INT64, OVERFLOW, Aggregate, Overflow, find_aggregate
from acelera.semantics.events import Bag, Value, canonical


def aggregate(node: ast.Aggregation, events: Bag) -> Value:
    """⊗ over e ∈ C(X) of e(a): lift each value, combine them in order of position, finish.

    One NULL makes the whole NULL (a ⊗ NULL = NULL), unless NULLs are to be ignored.
    """
    function = find_aggregate(node.function)
    assert function is not None, "the checker knows all functions"
    if node.attribute is None:
        return len(events)
    values = [(event.position, event.raw(node.attribute)) for event in events]
    if any(isinstance(value, Overflow) for _, value in values):
        return OVERFLOW
    if node.ignore_nulls:
        values = [(position, value) for position, value in values if value is not None]
    elif any(value is None for _, value in values):
        return None
    result = _run(function, values if function.by_position else [value for _, value in values])
    too_large = _overflows(result) and not any(_overflows(value) for _, value in values)
    return OVERFLOW if too_large else canonical(result)


def _run(function: Aggregate, values: list[Any]) -> Value:
    if not function.user_defined:
        return _fold(function, values)
    try:
        return _fold(function, values)
    except Exception as error:  # whatever the user's functions raise
        raise AggregateError(
            f"the aggregate function `{function.name}` failed: {type(error).__name__}: {error}"
        ) from error


def _fold(function: Aggregate, values: list[Any]) -> Value:
    state = function.identity
    for value in values:
        state = function.combine(state, function.lift(value))
    return function.finish(state)


def _overflows(value: Value) -> bool:
    """Whether a number is too large for its type. (Far timestamps are, in nanoseconds, but they are what they were.)"""
    if isinstance(value, Decimal):
        return len(value.as_tuple().digits) > 38
    return isinstance(value, int) and not isinstance(value, bool) and value not in INT64
