"""Aggregates over the rounds of a star, as columns that grow round by round (contract, section 4.4)."""

from __future__ import annotations

from acelera.errors import AggregateError
from acelera.language.aggregates import Aggregate, Failure, find_aggregate
from acelera.language.events import Value
from acelera.trepl.semantics.bindings import UNSET

WITHOUT_THE_CURRENT = ("first", "last")
"""Aggregates that, inside their star, do not see the current event."""


def stepped(function: str, state: Value, value: Value) -> Value:
    """The column after one more round; UNSET before the first. `Count(X)` gets a value in every round.

    `First` and `Last` give a value even if it is NULL; all others leave NULLs out.
    """
    if function == "first":
        return value if state is UNSET else state
    if function == "last":
        return value
    known = _known(function)
    before, seen_some = (known.identity, False) if state is UNSET else state
    return known.step(before, 0, value, ignore_nulls=True), seen_some or value is not None


def finished(function: str, state: Value) -> Value:
    """The value of an aggregate, a Failure if it has none. SQL's rules: of nothing it is NULL, a count 0."""
    if function in WITHOUT_THE_CURRENT or state is UNSET:
        return state
    known = _known(function)
    inner, seen_some = state
    if not seen_some and not known.user_defined and function != "count" and not isinstance(inner, Failure):
        return None
    return known.value(inner)


def _known(function: str) -> Aggregate:
    found = find_aggregate(function)
    if found is None:
        raise AggregateError(f"there is no aggregate function `{function}`; define it with acelera.aggregate")
    return found
