"""A fixed order of rows that are equal under order_by, by all of their columns, whatever the table they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acelera.errors import DataError, UsageError
from acelera.language.events import Opaque
from acelera.language.schema import Schema
from acelera.language.types import Type

TIES = ("error", "any", "drop", "keep")
"""What is done with rows of a partition that are equal under order_by."""


def arranges(ties: str) -> bool:
    """Whether tied rows are put into the order of all their columns."""
    return ties in ("any", "drop")


def check_ties(ties: str, schema: Schema) -> None:
    """Rows that are in no order but that of arrival cannot be told to have come twice."""
    if ties == "drop" and not schema.order_by:
        raise UsageError("ties='drop' looks for equal rows among those that are equal under order_by; name it")
    if ties == "drop" and schema.hidden:
        raise UsageError(
            f"ties='drop' compares all columns, and `{schema.hidden[0]}` is called as what every event has, so that "
            "nothing looks at it; rename the column"
        )


def tie_columns(schema: Schema, keys: Sequence[str]) -> list[str]:
    """The columns that tied rows are compared by, one after the other: keys, then all others by name."""
    first = list(dict.fromkeys(keys))
    return [*first, *sorted(name for name in schema.in_tables if name not in (*first, *schema.order_by))]


def sort_key(value: Any) -> tuple[Any, ...]:
    """What a value compares by: NULL is first and NaN last; lists compare by their parts, structs by those in the
    order of their names.

    >>> sorted([2.0, None, float("nan"), 1.0], key=sort_key)
    [None, 1.0, 2.0, nan]
    """
    if isinstance(value, Opaque):
        value = value.value
    if value is None:
        return (0,)
    if isinstance(value, float) and value != value:
        return (2,)
    if isinstance(value, Mapping):
        return (1, tuple(sort_key(value[name]) for name in sorted(value)))
    if isinstance(value, list | tuple):
        return (1, tuple(map(sort_key, value)))
    return (1, value)


def no_order(name: str, kind: Type) -> DataError:
    """Rows that are equal but for a column whose values cannot be compared."""
    return DataError(
        f"rows that are equal under order_by, and in all columns that have an order, may differ in the column `{name}` "
        f"of type {kind}, whose values have none. Add a column to order_by that tells such rows apart, or leave this "
        "column out"
    )
