"""Values as they stand in messages: columns of texts."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.language.events import Opaque
from acelera.language.types import Kind, Type, from_arrow
from acelera.programs.columns import plain_column
from acelera.tables import plain_values

NULL = "NULL"
SECOND = 1_000_000_000
"""Times are counted in nanoseconds."""


def texts(column: pa.ChunkedArray | pa.Array[Any], zone: str = "UTC") -> pa.Array[Any]:
    """The values as texts, none of which is NULL; timestamps that have a time zone are told in this one.

    >>> texts(pa.array([1.5, 2.0, None])).to_pylist()
    ['1.5', '2.0', 'NULL']
    """
    plain = plain_column(_chunked(column))
    kind = from_arrow(plain.type)
    if kind.kind is Kind.TIMESTAMP:
        shown = _timestamps(plain, zone)
    elif kind.kind in (Kind.INT, Kind.STRING, Kind.DATE, Kind.BOOL):
        shown = plain.cast(pa.string())
    else:
        shown = _each(plain_values(plain, kind), _writer(kind))
    return _one_array(shown.fill_null(NULL))


def duration_text(nanoseconds: int) -> str:
    """Hours, minutes and seconds, and what is left of a second.

    >>> duration_text(33_207 * SECOND), duration_text(-48 * 3600 * SECOND), duration_text(1_500_000)
    ('09:13:27', '-48:00:00', '00:00:00.0015')
    """
    seconds, fraction = divmod(abs(nanoseconds), SECOND)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    sign = "-" if nanoseconds < 0 else ""
    return f"{sign}{hour:02}:{minute:02}:{second:02}{fraction_text(fraction)}"


def fraction_text(nanoseconds: int) -> str:
    """A part of a second, with as many digits as it needs; nothing for none."""
    return f".{nanoseconds:09}".rstrip("0") if nanoseconds else ""


def decimal_text(value: Decimal) -> str:
    """All digits of a decimal, without an exponent."""
    return format(value, "f")


def _writer(kind: Type) -> Callable[[Any], str]:
    """How to write a value of a type; of a float as few digits as tell it from others of its type."""
    match kind.kind:
        case Kind.FLOAT:
            return (lambda value: str(np.float32(value))) if pa.types.is_float32(kind.arrow) else repr
        case Kind.DECIMAL:
            return decimal_text
        case Kind.DURATION:
            return duration_text
    return _other_text


def _other_text(opaque: Opaque) -> str:
    return opaque.value.hex() if isinstance(opaque.value, bytes) else str(opaque.value)


def _each(values: list[Any], text: Callable[[Any], str]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array([None if value is None else text(value) for value in values], pa.string())])


def _timestamps(column: pa.ChunkedArray, zone: str) -> pa.ChunkedArray:
    if column.type.tz is not None:
        column = pc.local_timestamp(column.cast(pa.timestamp(column.type.unit, zone)))
    whole = pc.floor_temporal(column, unit="second").cast(pa.timestamp("s"))
    shown = whole.cast(pa.string())
    fractions = pc.subtract(column, whole.cast(column.type)).cast(pa.int64())
    if not pc.any(pc.not_equal(fractions, 0)).as_py():
        return shown
    nanoseconds = _NANOSECONDS[column.type.unit]
    return pc.binary_join_element_wise(
        shown, _each(fractions.to_pylist(), lambda n: fraction_text(n * nanoseconds)), ""
    )


_NANOSECONDS = {"s": SECOND, "ms": 1_000_000, "us": 1_000, "ns": 1}


def _chunked(column: Any) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _one_array(column: pa.ChunkedArray) -> pa.Array[Any]:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined
