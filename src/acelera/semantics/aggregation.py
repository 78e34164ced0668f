"""The value of an aggregate over a bag (paper 000, sections 4 and 5)."""

from __future__ import annotations

from collections.abc import Iterable

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.evaluation import attribute_of
from acelera.language.events import Bag, Value


def aggregate(node: ast.Aggregation, events: Bag) -> Value:
    """⊗ over e ∈ C(X) of e(a)."""
    if node.attribute is None:
        return len(events)
    attribute = node.attribute
    return aggregated(node.function, [(e.position, attribute_of(e, attribute)) for e in events], node.ignore_nulls)


def aggregated(name: str, values: Iterable[tuple[int, Value]], ignore_nulls: bool) -> Value:
    """Lift each value, which comes with its position, combine them in order of position, finish."""
    function = find_aggregate(name)
    assert function is not None, "the checker knows all functions"
    state = function.identity
    for position, value in values:
        state = function.step(state, position, value, ignore_nulls)
    return function.value(state)
