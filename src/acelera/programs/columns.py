"""Columns in plain types: the same data in another encoding is the same data, and an engine need not know them all."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from acelera.language.types import NUMBERS, Kind, from_arrow
from acelera.tables import without_runs

_TEXTS = (pa.types.is_large_string, pa.types.is_string_view)
_BYTES = (pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)


def plain(kind: pa.DataType) -> pa.DataType:
    """The plain type of the values of another: without dictionaries, runs, views and large offsets.

    >>> print(plain(pa.large_list(pa.dictionary(pa.int8(), pa.large_string()))))
    list<item: string>
    """
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return plain(kind.storage_type)
    if any(test(kind) for test in _TEXTS):
        return pa.string()
    if any(test(kind) for test in _BYTES):
        return pa.binary()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_struct(kind):
        fields = (kind.field(place) for place in range(kind.num_fields))
        return pa.struct([pa.field(each.name, plain(each.type)) for each in fields])
    if any(test(kind) for test in _LISTS):
        return pa.list_(plain(kind.value_type))
    return kind


def plain_column(column: pa.ChunkedArray, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """A column in a plain type: that of its values, or the one that is asked for."""
    kind = plain(column.type) if kind is None else kind
    if column.type == kind:
        return column
    column = without_runs(column)
    if isinstance(column.type, pa.BaseExtensionType):
        column = pa.chunked_array([each.storage for each in column.chunks], column.type.storage_type)
    try:
        return column.cast(kind)
    except pa.ArrowNotImplementedError:  # such as a dictionary inside of a struct
        listed: Any = pa.array(column.to_pylist(), kind)
        return listed if isinstance(listed, pa.ChunkedArray) else pa.chunked_array([listed], kind)


def fits(kind: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a type are values of another: a text is no number, nor the other way round."""
    if pa.types.is_struct(kind) and pa.types.is_struct(wanted):
        own = {each.name: each.type for each in wanted}
        return all(fits(each.type, own[each.name]) for each in kind if each.name in own)
    if pa.types.is_list(kind) and pa.types.is_list(wanted):
        return fits(kind.value_type, wanted.value_type)
    if pa.types.is_nested(kind) or pa.types.is_nested(wanted):
        return bool(pa.types.is_null(kind))
    here, there = from_arrow(kind), from_arrow(wanted)
    if Kind.OPAQUE in (here.kind, there.kind):
        return bool(kind == wanted)
    return here.vague or here.kind is there.kind or (here.kind in NUMBERS and there.kind in NUMBERS)
