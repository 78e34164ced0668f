"""Values of JSON as Arrow arrays of types that are known, or found out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from acelera.cdc.rows import Rows
from acelera.errors import DataError


def is_told(kind: pa.DataType) -> bool:
    """Whether JSON has no such values, so that texts or integers tell them."""
    return bool(pa.types.is_timestamp(kind) or pa.types.is_date(kind) or pa.types.is_decimal(kind))


def settled(kind: pa.DataType) -> pa.DataType:
    """The type of what was read: timestamps are in microseconds, unless they are finer."""
    return pa.timestamp("us", kind.tz) if pa.types.is_timestamp(kind) and kind.unit != "ns" else kind


def inferred(values: Sequence[Any], name: str) -> pa.DataType:
    """The type that all values are of."""
    try:
        return pa.array(values).type
    except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
        raise DataError(
            f"the values of `{name}` are not of one type that Arrow knows: {error}; say what they are with schema=…"
        ) from None


def array_of(values: Sequence[Any], kind: pa.DataType, name: str, rows: Rows) -> pa.Array:
    """The array of values of rows that are read as this type; the row that cannot be read so is told."""
    try:
        return _array(values, kind)
    except (pa.ArrowException, OverflowError, ValueError, TypeError):
        for place, value in enumerate(values):
            try:
                _array([value], kind)
            except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
                raise DataError(
                    f"{rows.called(place)}: `{name}` is {value!r}, which cannot be read as {kind}: {error}"
                ) from None
        raise


def _array(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_string(kind):
        return pa.array([_text(value) for value in values], kind)
    if not is_told(kind):
        return _whole(values, kind)
    if pa.types.is_decimal(kind) or any(isinstance(value, str) for value in values):
        texts = [value if value is None or isinstance(value, str) else str(value) for value in values]
        return pa.array(texts, pa.string()).cast(kind).cast(settled(kind))
    counted = _whole(values, pa.int32() if pa.types.is_date32(kind) else pa.int64())
    return counted.cast(kind).cast(settled(kind))


def _whole(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """The array of values of which nothing is cut off, as Arrow would do."""
    if any(_is_cut(value, kind) for value in values):
        raise ValueError("it has a fraction")
    return pa.array(values, kind)


def _is_cut(value: Any, kind: pa.DataType) -> bool:
    """Whether a fraction stands where the type has integers."""
    if pa.types.is_integer(kind):
        return isinstance(value, float) and value % 1 > 0
    if pa.types.is_list(kind) and isinstance(value, list):
        return any(_is_cut(each, kind.value_type) for each in value)
    if pa.types.is_struct(kind) and isinstance(value, dict):
        return any(_is_cut(value.get(each.name), each.type) for each in kind)
    return False


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, separators=(",", ":"))
