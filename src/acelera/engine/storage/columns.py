"""Columns in the types in which they are kept, and in those in which they are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.tables import without_runs


def output_column(column: Any) -> Any:
    """A column as it is shown: without a dictionary, and with one zero among floats."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        zero = pa.scalar(0.0, column.type)
        column = pc.add(column, zero)
    return column


def in_type(array: Any, kind: pa.DataType) -> Any:
    """Values in a type that holds them: as floats they are the nearest ones, as Python's are."""
    if array.type == kind:
        return array
    if pa.types.is_floating(kind) and pa.types.is_decimal(array.type):  # Arrow rounds on the way; texts are exact
        return array.cast(pa.string()).cast(kind)
    return array.cast(kind, safe=not pa.types.is_floating(kind))


def ordinary(kind: pa.DataType) -> pa.DataType:
    """The type in which values are kept: with some, Arrow can do little."""
    if pa.types.is_string_view(kind):
        return pa.large_string()
    if pa.types.is_binary_view(kind):
        return pa.large_binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_run_end_encoded(kind):
        return ordinary(kind.value_type)
    if pa.types.is_struct(kind):
        return pa.struct([each.with_type(ordinary(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(ordinary(kind.key_type), ordinary(kind.item_type), kind.keys_sorted)
    make = next((make for test, make in _LISTS if test(kind)), None)
    return kind if make is None else make(kind.value_field.with_type(ordinary(kind.value_type)))


_LISTS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Field], pa.DataType]], ...] = (
    (pa.types.is_list, pa.list_),
    (pa.types.is_large_list, pa.large_list),
)


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column without the encodings that Arrow can do little with; a dictionary of ordinary values stays one."""
    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        return without_runs(column)
    if not pa.types.is_dictionary(kind) or ordinary(kind.value_type) == kind.value_type:
        return column
    values = ordinary(kind.value_type)
    chunks = [pa.DictionaryArray.from_arrays(each.indices, each.dictionary.cast(values)) for each in column.chunks]
    return pa.chunked_array(chunks, pa.dictionary(kind.index_type, values))


def picked(table: pa.Table, rows: npt.NDArray[Any]) -> pa.Table:
    """Some rows of a table, whatever its types."""
    return in_types_of(in_ordinary_types(table).take(pa.array(rows)), table.schema)


def in_ordinary_types(table: pa.Table) -> pa.Table:
    """A table in the types in which values are kept."""
    return in_types_of(table, pa.schema([each.with_type(ordinary(each.type)) for each in table.schema]))


def in_types_of(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with columns of these types; those that have them are left alone, since Arrow casts structs amiss."""
    pairs = zip(table.columns, schema, strict=True)
    return pa.table([column if column.type == kind.type else column.cast(kind.type) for column, kind in pairs], schema)
