"""What to say of rows that have no place in the order of a stream."""

from __future__ import annotations

import datetime
import re
import warnings
import zoneinfo
from collections.abc import Mapping, Sequence

from acelera.errors import AceleraWarning, DataError, UsageError
from acelera.language.events import Value
from acelera.language.schema import Schema
from acelera.language.types import Kind


def no_place(row: int | None, name: str, value: Value) -> DataError:
    """A row whose order column is NULL or NaN; its number if rows have one."""
    missing = "NULL" if value is None else "NaN"
    which = "a row" if row is None else f"row {row}"
    return DataError(f"{which} has {missing} in the order column `{name}`, so it has no place in the order")


def no_time(schema: Schema) -> str:
    """What to do where the first order column tells no time: how it becomes a timestamp, by what it is."""
    told = "order_by must begin with a timestamp column"
    if not schema.order_by:
        return told
    name = schema.order_by[0]
    kind = schema.columns[name]
    makers = _MAKERS.get(kind.kind)
    told += f", but `{name}` is of type {kind}"
    if makers is None:
        return told
    pandas, spark, command = (each.replace("COLUMN", name) for each in makers)
    return f"{told}. Make it one: {pandas} in pandas, {spark} on Spark, {command} at the command line"


_MAKERS = {
    Kind.INT: (
        'pd.to_datetime(df["COLUMN"], unit="s")',
        'timestamp_seconds("COLUMN")',
        "--time-format epoch (or epoch-ms, epoch-us)",
    ),
    Kind.FLOAT: (
        'pd.to_datetime(df["COLUMN"], unit="s")',
        'timestamp_micros((col("COLUMN") * 1000000).cast("bigint"))',
        "--time-format epoch",
    ),
    Kind.DATE: (
        'pd.to_datetime(df["COLUMN"])',
        'col("COLUMN").cast("timestamp")',
        "--time-format %Y-%m-%d",
    ),
    Kind.STRING: (
        'pd.to_datetime(df["COLUMN"], format="%d/%m/%Y %H:%M:%S")',
        'to_timestamp("COLUMN", "dd/MM/yyyy HH:mm:ss")',
        "--time-format '%d/%m/%Y %H:%M:%S'",
    ),
}
"""How a column becomes a timestamp in pandas, on Spark and at the command line."""


def warn_of_text(schema: Schema) -> None:
    """Texts are ordered by their bytes, which is seldom the order of numbers and times that they tell."""
    if schema.order_by and schema.columns[schema.order_by[0]].kind is Kind.STRING:
        message = (
            f"order_by: `{schema.order_by[0]}` is text, and texts are ordered by their bytes: '10' comes before '9', "
            "and '31/12/2024' after '01/01/2025'. If it tells times or numbers, make it a timestamp or a number "
            "(at the command line, --time-format or --schema)"
        )
        warnings.warn(message, AceleraWarning, stacklevel=5)


def tie(rows: tuple[int, int] | None, row: Mapping[str, Value], keys: Sequence[str], schema: Schema) -> DataError:
    """Two rows of a partition that are equal under order_by have no defined order."""

    def shown(names: Sequence[str]) -> list[str]:
        return [f"{name} = {show(schema, name, row[name])}" for name in names]

    which = "two rows" if rows is None else f"rows {rows[0]} and {rows[1]}"
    keep = "" if rows is None else ", or ties='keep' to keep the order of arrival"
    return DataError(tie_text(which, shown(schema.order_by), shown(keys)) + keep)


def tie_text(which: str, order: Sequence[str], keys: Sequence[str]) -> str:
    """What is said of rows that tie, given what they have in the order columns and in the keys: `ts = 5`."""
    within_key = f" within the partition {', '.join(keys)}" if keys else ""
    return (
        f"{which} tie: both have {', '.join(order)}{within_key}, so their order is not defined. Add a column to "
        "order_by that tells them apart, or pass ties='any' to order such rows by all columns, ties='drop' to also "
        "take equal rows as one"
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
