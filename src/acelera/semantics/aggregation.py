"""The value of an aggregate over a bag (paper 000, sections 4 and 5)."""

from __future__ import annotations

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.events import Bag, Value


def aggregate(node: ast.Aggregation, events: Bag) -> Value:
    """⊗ over e ∈ C(X) of e(a): lift each value, combine them in order of position, finish."""
    if node.attribute is None:
        return len(events)
    function = find_aggregate(node.function)
    assert function is not None, "the checker knows all functions"
    state = function.identity
    for event in events:
        state = function.step(state, event.position, event.raw(node.attribute), node.ignore_nulls)
    return function.value(state)
