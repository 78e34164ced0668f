"""What to say of rows that have no place in the order of a stream."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from collections.abc import Mapping, Sequence

from acelera.errors import DataError, UsageError
from acelera.language.events import Value
from acelera.language.schema import Schema
from acelera.language.types import Kind


def no_place(row: int | None, name: str, value: Value) -> DataError:
    """A row whose order column is NULL or NaN; its number if rows have one."""
    missing = "NULL" if value is None else "NaN"
    which = "a row" if row is None else f"row {row}"
    return DataError(f"{which} has {missing} in the order column `{name}`, so it has no place in the order")


def tie(rows: tuple[int, int] | None, row: Mapping[str, Value], keys: Sequence[str], schema: Schema) -> DataError:
    """Two rows of a partition that are equal under order_by have no defined order."""

    def shown(names: Sequence[str]) -> str:
        return ", ".join(f"{name} = {show(schema, name, row[name])}" for name in names)

    within_key = f" within the partition {shown(keys)}" if keys else ""
    which = "two rows" if rows is None else f"rows {rows[0]} and {rows[1]}"
    keep = "" if rows is None else ", or pass ties='keep' to keep the order of arrival"
    return DataError(
        f"{which} tie: both have {shown(schema.order_by)}{within_key}, so their order is not "
        f"defined. Add a column to order_by that tells them apart{keep}"
    )


def show(schema: Schema, name: str, value: Value) -> str:
    """A value as a person writes it; a time with a zone as it is in the zone of its column."""
    kind = schema.columns[name]
    if value is None or kind.kind is not Kind.TIMESTAMP:
        return repr(value)
    try:
        moment = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=value // 1000)
        offset = _offset(moment, kind.arrow.tz)
        moment += offset or datetime.timedelta(0)
    except OverflowError:  # beyond the years that Python knows
        return f"{value} ns"
    written = moment.isoformat(sep=" ") + (f"{value % 1000:03d}" if value % 1000 else "")
    return written if offset is None else written + f"{datetime.timezone(offset)}".removeprefix("UTC").rjust(1, "Z")


def _offset(moment: datetime.datetime, zone: str | None) -> datetime.timedelta | None:
    """How far a zone is from UTC at a moment."""
    if zone is None:
        return None
    try:
        known: datetime.tzinfo = zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):  # an offset such as +02:00
        written = re.fullmatch(r"([+-])(\d\d):?(\d\d)", zone)
        if written is None:
            return datetime.timedelta(0)
        size = datetime.timedelta(hours=int(written[2]), minutes=int(written[3]))
        return -size if written[1] == "-" else size
    return moment.replace(tzinfo=datetime.timezone.utc).astimezone(known).utcoffset()


def refuse_early(until: int | None, clock: int | None) -> None:
    """A stream cannot end before its last event."""
    if until is not None and clock is not None and until < clock:
        raise UsageError("until=… lies before the last event; it is a time up to which all events are there")
