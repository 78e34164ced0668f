"""Moments that users give, in the unit of a stream's times."""

from __future__ import annotations

from datetime import date, datetime, time, timezone

import pyarrow as pa

from acelera.errors import UsageError
from acelera.language.schema import Schema

_IN_NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


def tick_of(until: object, schema: Schema, name: str = "until") -> int | None:
    """A moment that is given under a name: a datetime, a text such as 2024-05-01 10:00, or a number in the unit of the
    order column.

    A text that names no zone is in UTC if the stream's times have a zone.
    """
    if until is None:
        return None
    if schema.time is None:
        first = f"`{schema.order_by[0]}` is of type {schema.columns[schema.order_by[0]]}" if schema.order_by else "…"
        raise UsageError(f"{name}=… needs a stream with time: order_by must begin with a timestamp column; {first}")
    if isinstance(until, int) and not isinstance(until, bool):
        return until
    moment, zoned = _moment(until, name), schema.time.zoned
    if isinstance(until, str) and zoned and moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    if zoned != (moment.tzinfo is not None):
        has, lacks = ("have a time zone", "has none") if zoned else ("have no time zone", "has one")
        raise UsageError(f"the times of this stream {has}, and {name}={until!r} {lacks}")
    kind = schema.time.arrow
    try:
        return int(pa.scalar(moment, pa.timestamp("ns", kind.tz)).value) // _IN_NANOSECONDS[kind.unit]
    except (pa.ArrowException, OverflowError):  # nanoseconds end in 2262
        return int(pa.scalar(moment, pa.timestamp("us", kind.tz)).value) * 1000 // _IN_NANOSECONDS[kind.unit]


def in_nanoseconds(until: object, schema: Schema) -> int | None:
    """The same in nanoseconds."""
    tick = tick_of(until, schema)
    return None if tick is None or schema.time is None else tick * _IN_NANOSECONDS[schema.time.arrow.unit]


def _moment(until: object, name: str) -> datetime:
    if isinstance(until, str):
        try:
            return datetime.fromisoformat(until)
        except ValueError:
            raise UsageError(f"{name}={until!r} is no time; write it as 2024-05-01 10:00:00") from None
    if isinstance(until, date) and not isinstance(until, datetime):
        return datetime.combine(until, time())
    if not isinstance(until, datetime):
        raise UsageError(f"{name}={until!r} is no time; give a datetime, or a text such as '2024-05-01 10:00:00'")
    return until
