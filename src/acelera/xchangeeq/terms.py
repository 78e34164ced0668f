"""Data terms and events (contract, section 1; [P], section 4.2: Events = DataTerms × TI)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from acelera.errors import DataError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

Scalar: TypeAlias = bool | int | float | str | Decimal | date | time | timedelta | bytes
Time: TypeAlias = int | Fraction
"""Base events happen at integers; a timer of 12 seconds may end between two of them, if a unit is a minute."""


@dataclass(frozen=True, eq=False)
class Term:
    """`label { children }`: a scalar column is a child with one scalar in it."""

    label: str
    children: tuple[Value, ...] = ()

    @cached_property
    def identity(self) -> Hashable:
        """What equal terms have in common: children compared by name, their order only among those of one name."""
        columns: dict[str, list[Hashable]] = {}
        for child in self.children:
            columns.setdefault(name_of(child), []).append(identity(child))
        return "term", self.label, frozenset((name, tuple(each)) for name, each in columns.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Term) and self.identity == other.identity

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash(self.identity)

    def __str__(self) -> str:
        inner = ", ".join(f'"{child}"' if isinstance(child, str) else str(child) for child in self.children)
        return f"{self.label} {{ {inner} }}" if inner else f"{self.label} {{ }}"


Value: TypeAlias = Scalar | Term
"""What a variable may stand for."""


@dataclass(frozen=True)
class Event:
    """e^t: a term that happens over the closed interval [begin, end]. Its label is that of the term."""

    term: Term
    begin: Time
    end: Time

    @property
    def label(self) -> str:
        """Its type."""
        return self.term.label

    def __str__(self) -> str:
        return f"{self.term} [{self.begin}, {self.end}]"


def name_of(child: Value) -> str:
    """By what a child is found among its siblings; scalars have no name."""
    return child.label if isinstance(child, Term) else ""


def kind(value: Value) -> str:
    """Values of different kinds are never equal: booleans, numbers, strings, the kinds of time, terms."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float | Decimal):
        return "number"
    return {"str": "string"}.get(type(value).__name__, type(value).__name__)


def is_nan(value: Value) -> bool:
    """Not a number."""
    return isinstance(value, float | Decimal) and math.isnan(value)


def identity(value: Value) -> Hashable:
    """What equal values have in common (section 1): 1 is 1.0, "1" and true are not; NaN is NaN."""
    if isinstance(value, Term):
        return value.identity
    return kind(value), "NaN" if is_nan(value) else _as_written(value)


def _as_written(value: Scalar) -> Scalar:
    """A float as the decimal that it is written as, so that 0.1 is 0.1 whether a column holds the one or the other."""
    if isinstance(value, float) and math.isfinite(value) and not value.is_integer():
        return Decimal(repr(value))
    return value


def order_key(value: Value) -> tuple[object, ...]:
    """Sorts values: numbers by size, NaN after all of them; strings by code points; false before true; terms child by
    child, in the order of their names.
    """
    if isinstance(value, Term):
        return "term", value.label, _Children(value)
    return kind(value), is_nan(value), 0 if is_nan(value) else _as_written(value)


class _Children:
    """The children of a term, to be sorted by: one that is missing comes before one that is there."""

    def __init__(self, term: Term) -> None:
        self.columns: dict[str, list[tuple[object, ...]]] = {}
        for child in term.children:
            self.columns.setdefault(name_of(child), []).append(order_key(child))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Children) and self.columns == other.columns

    def __hash__(self) -> int:
        return hash(tuple(sorted(self.columns)))

    def __lt__(self, other: _Children) -> bool:
        names = sorted({*self.columns, *other.columns})
        return [self.columns.get(name, []) for name in names] < [other.columns.get(name, []) for name in names]


# --- from rows ----------------------------------------------------------------------------------------------------


def events_of(
    table: pa.Table, label: str | None = None, *, begin: str, end: str | None = None, type_column: str | None = None
) -> list[Event]:
    """The rows of a table as events: all with one label, or with that in a column of theirs.

    The columns that hold times and labels are no children; without `end`, each row is a point event.

    >>> import pyarrow as pa
    >>> print(*events_of(pa.table({"t": [1, 2], "v": [[5, None, 7], None]}), "a", begin="t"), sep=", ")
    a { v { 5 }, v { 7 } } [1, 1], a { } [2, 2]
    """
    apart = {begin, end or begin, *([] if type_column is None else [type_column])}
    for missing in sorted(apart - set(table.column_names)):
        raise SchemaError(f"there is no column `{missing}` (columns: {', '.join(table.column_names)})")
    data = [field for field in table.schema if field.name not in apart]
    for field in data:
        _usable(field.name, field.type)
    begins, ends = _times(table, begin), _times(table, end or begin)
    labels = [label] * len(begins) if type_column is None else table.column(type_column).to_pylist()
    found = []
    for number, (row, low, high, name) in enumerate(zip(table.to_pylist(), begins, ends, labels, strict=True), 1):
        if low is None or high is None:
            raise DataError(f"row {number} has no time: `{begin if low is None else end}` is NULL")
        if low > high:
            raise DataError(f"row {number} ends before it begins: {begin} = {low}, {end} = {high}")
        if name is None:
            raise DataError(f"row {number} has no label")
        children = [child for field in data for child in _children(field.name, row[field.name])]
        found.append(Event(Term(name, tuple(children)), low, high))
    return found


def _children(name: str, cell: object) -> Iterator[Term]:
    """The children that a cell stands for: none if it is NULL, one for each item of an array."""
    if cell is None:
        return
    if isinstance(cell, list):
        for item in cell:
            yield from _children(name, item)
    elif isinstance(cell, dict):
        yield Term(name, tuple(child for field, inner in cell.items() for child in _children(field, inner)))
    else:
        assert isinstance(cell, bool | int | float | str | Decimal | date | time | timedelta | bytes)
        yield Term(name, (cell,))


def _usable(name: str, kind: pa.DataType, inside: bool = False) -> None:
    """Arrays of arrays, and maps, are refused."""
    import pyarrow.types as types

    if types.is_map(kind):
        raise SchemaError(f"column `{name}` is a map; only scalars, structs and arrays of these can be used")
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        if inside:
            raise SchemaError(f"column `{name}` is an array of arrays; make it an array of structs")
        _usable(name, kind.value_type, inside=True)
    elif types.is_struct(kind):
        for field in kind:
            _usable(f"{name}.{field.name}", field.type)


def _times(table: pa.Table, name: str) -> list[int | None]:
    """A column as integers: those it has, or microseconds since 1970 UTC."""
    import pyarrow as pa
    import pyarrow.types as types

    column = table.column(name)
    if types.is_date(column.type) or types.is_timestamp(column.type):
        zone = getattr(column.type, "tz", None)
        try:
            column = column.cast(pa.timestamp("us", tz=zone)).cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise DataError(f"column `{name}` has times that are no whole microseconds") from error
    elif not types.is_integer(column.type):
        raise SchemaError(f"column `{name}` is no time: it is {column.type}, not an integer, a date or a timestamp")
    found: list[int | None] = column.to_pylist()
    return found
