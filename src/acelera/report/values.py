"""Values as JSON can hold them and as a page shows them."""

from __future__ import annotations

import datetime
import json
import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.report.buckets import NANOSECONDS

LONGEST = 2_000
"""Longer texts are cut."""
_EXACT = 2**53  # larger integers are not exact in a browser
_EPOCH = datetime.datetime(1970, 1, 1)


def cells(column: pa.Array[Any] | pa.ChunkedArray) -> list[Any]:
    """The values of a column: numbers, texts, truth values, None, and lists and mappings of these."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):  # of no chunks, or of too many to be one
        return [value for chunk in array.chunks for value in cells(chunk)]
    kind, test = array.type, pa.types
    if test.is_dictionary(kind):
        return cells(array.dictionary_decode())
    if test.is_struct(kind):
        fields = [(kind.field(index).name, cells(part)) for index, part in enumerate(array.flatten())]
        present = array.is_valid().to_pylist()
        return [{name: part[row] for name, part in fields} if here else None for row, here in enumerate(present)]
    if test.is_list(kind) or test.is_large_list(kind):
        flat, begin, found = cells(array.flatten()), 0, []
        for length in pc.list_value_length(array).to_pylist():
            found.append(None if length is None else flat[begin : begin + length])
            begin += length or 0
        return found
    if test.is_timestamp(kind) or test.is_duration(kind):
        unit, write = NANOSECONDS[kind.unit], timestamp_text if test.is_timestamp(kind) else _duration
        suffix = "Z" if test.is_timestamp(kind) and kind.tz is not None else ""
        ticks = array.cast(pa.int64()).to_pylist()
        return [None if tick is None else write(tick * unit) + suffix for tick in ticks]
    return [plain_value(value) for value in array.to_pylist()]


def plain_value(value: Any) -> Any:
    """A value that has no parts."""
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return plain_value("0x" + value.hex())
    return plain_value(str(value))


def timestamp_text(nanoseconds: int) -> str:
    """A time since 1970, with no more digits than it has."""
    seconds, fraction = divmod(nanoseconds, 1_000_000_000)
    try:
        text = (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat(sep=" ")
    except OverflowError:
        return f"{seconds} s since 1970"
    return f"{text}.{fraction:09}".rstrip("0") if fraction else text


def _duration(nanoseconds: int) -> str:
    seconds, fraction = divmod(abs(nanoseconds), 1_000_000_000)
    text = f"{seconds}.{fraction:09}".rstrip("0") if fraction else str(seconds)
    return f"{'-' if nanoseconds < 0 else ''}{text} s"


def embedded(data: object) -> str:
    """JSON that can stand in a script element: nothing in it can end the element, whatever the data."""
    text = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
