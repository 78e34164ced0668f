"""Lengths of time in columns: numbers of nanoseconds inside, since databases have lengths of another kind."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from acelera.errors import DataError

_INSIDE, _BETWEEN = pa.int64(), pa.duration("ns")


def has_durations(kind: pa.DataType) -> bool:
    """Whether there is a length of time anywhere in a type."""
    return bool(_replaced(kind, _INSIDE) != kind)


def inside(kind: pa.DataType) -> pa.DataType:
    """The type that stands for another inside."""
    return _replaced(kind, _INSIDE)


def brought_in(table: pa.Table) -> pa.Table:
    """A table with numbers for lengths of time."""
    return _cast_twice(table, lambda kind: (_replaced(kind, _BETWEEN), _replaced(kind, _INSIDE)))


def brought_out(table: pa.Table, row: pa.StructType) -> pa.Table:
    """A table with lengths of time where the children of a label have them."""
    wanted = {each.name: each.type for each in row}
    steps = {name: (_replaced(kind, _BETWEEN), kind) for name, kind in wanted.items()}
    for name, kinds in steps.items():
        if has_durations(wanted[name]):
            table = _with(table, name, kinds)
    return table


def _cast_twice(table: pa.Table, kinds: Callable[[pa.DataType], tuple[pa.DataType, pa.DataType]]) -> pa.Table:
    for each in table.schema:
        if has_durations(each.type):
            table = _with(table, each.name, kinds(each.type))
    return table


def _with(table: pa.Table, name: str, kinds: tuple[pa.DataType, pa.DataType]) -> pa.Table:
    """A table of which one column is cast to one type, then to another."""
    column = table.column(name)
    try:
        for kind in kinds:
            column = column.cast(kind)
    except pa.ArrowInvalid as error:
        raise DataError(f"column `{name}` has a length of time that is no number of nanoseconds: {error}") from None
    return table.set_column(table.schema.get_field_index(name), name, column)


def _replaced(kind: pa.DataType, wanted: pa.DataType) -> pa.DataType:
    if pa.types.is_duration(kind):
        return wanted
    if pa.types.is_list(kind):
        return pa.list_(_replaced(kind.value_type, wanted))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _replaced(each.type, wanted)) for each in kind])
    return kind
