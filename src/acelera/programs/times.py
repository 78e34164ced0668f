"""Times as they come in and go out, and the whole numbers, ticks, that they are in between."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.errors import DataError, SchemaError, UsageError
from acelera.programs.columns import plain_column

UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
"""The units of integer times, in microseconds."""

Ticks = npt.NDArray[np.int64]
Called = Callable[[int], str]
"""What people call the row at a place, from 0, of a table."""


@dataclass(frozen=True)
class TimeKind:
    """What the times of a run are: timestamps, of a zone or without one, or integers.

    Dates are timestamps at midnight. A tick is a microsecond of timestamps, and 1 of integers, which have a unit if it
    is known.
    """

    arrow: pa.DataType
    unit: str | None = None

    @property
    def is_integer(self) -> bool:
        """Whether times are integers."""
        return bool(pa.types.is_integer(self.arrow))

    @property
    def measured(self) -> bool:
        """Whether it is known how long a tick is."""
        return not self.is_integer or self.unit is not None

    @property
    def tick(self) -> int:
        """How many microseconds a tick is; of integers without a unit, 1."""
        return UNITS[self.unit or "us"]

    def shown(self, ticks: Any) -> Any:
        """A column of ticks as the times that came in."""
        return ticks.cast(pa.int64()).cast(self.arrow)

    def said(self, tick: int) -> str:
        """A time as people read it."""
        return _said(pa.scalar(int(tick), self.arrow))

    def tick_of(self, moment: object) -> int:
        """The tick of a moment that a user gives."""
        if self.is_integer:
            try:
                return int(operator.index(moment))  # type: ignore[arg-type]  # which is what it finds out
            except TypeError:
                raise UsageError(f"now={moment!r} is no integer, but the times of this stream are") from None
        if isinstance(moment, date) and not isinstance(moment, datetime):
            moment = datetime.combine(moment, time())
        if not isinstance(moment, datetime):
            raise UsageError(f"now={moment!r} is no datetime, but the times of this stream are timestamps")
        zoned = self.arrow.tz is not None
        if zoned != (moment.tzinfo is not None):
            has, lacks = ("have a time zone", "has none") if zoned else ("have no time zone", "has one")
            raise UsageError(f"the times of this stream {has}, and now={moment!r} {lacks}")
        return (moment - datetime(1970, 1, 1, tzinfo=timezone.utc if zoned else None)) // timedelta(microseconds=1)


def _said(time: Any) -> str:
    try:
        return str(time)
    except (ValueError, OverflowError):  # a year, or a part of a second, that Python does not know
        return f"{time.value} {time.type.unit} since 1970"


def kind_of(columns: Mapping[str, pa.DataType], unit: str | None) -> TimeKind:
    """The one kind that all columns of time are of; they are told by their names for people."""
    kinds = {name: _kind(name, arrow) for name, arrow in columns.items()}
    if not kinds:
        return TimeKind(pa.int64(), unit)
    (first, kind), *others = kinds.items()
    for name, other in others:
        if other != kind:
            raise SchemaError(
                f"the times of one run are of one kind, but {first} is {columns[first]} and {name} is {columns[name]}; "
                "cast one of them"
            )
    if unit is not None and not kind.is_integer:
        raise UsageError(f"time_unit={unit!r} is for times that are integers, but {first} is {columns[first]}")
    return TimeKind(kind.arrow, unit)


def _kind(name: str, arrow: pa.DataType) -> TimeKind:
    while pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        arrow = arrow.value_type
    if pa.types.is_integer(arrow):
        return TimeKind(pa.int64())
    if pa.types.is_timestamp(arrow):
        return TimeKind(pa.timestamp("us", arrow.tz))
    if pa.types.is_date(arrow):
        return TimeKind(pa.timestamp("us"))
    lacking = ". In pandas, a missing time makes integers doubles: leave such rows out, or say astype('Int64')"
    hint = lacking if pa.types.is_floating(arrow) else ""
    raise SchemaError(f"{name} is {arrow}, which is no time; times are timestamps, dates or integers: cast it{hint}")


def ticks_of(column: pa.ChunkedArray, name: str, kind: TimeKind, called: Called) -> Ticks:
    """The ticks of a column of time; a row that has no time, or one that is no whole tick, is refused by its name."""
    column = plain_column(column)
    if column.null_count:
        place = int(np.flatnonzero(column.is_null().to_numpy())[0])
        raise DataError(f"{called(place)} has no time: `{name}` is NULL")
    if not _castable(column, kind):
        place = next(each for each in range(len(column)) if not _castable(column.slice(each, 1), kind))
        what = "does not fit into 64 bits" if kind.is_integer else "is no whole number of microseconds that can be told"
        raise DataError(f"{called(place)}: `{name}` is {_said(column[place])}, which {what}; round it where it is made")
    ticks: Ticks = column.cast(kind.arrow).cast(pa.int64()).to_numpy()
    return ticks


def _castable(column: pa.ChunkedArray, kind: TimeKind) -> bool:
    try:
        column.cast(kind.arrow)
    except pa.ArrowInvalid:
        return False
    return True


def whole_ticks(microseconds: Fraction, kind: TimeKind) -> int | None:
    """A length in ticks; None if it is no whole number of them."""
    ticks = microseconds / kind.tick
    return int(ticks) if ticks.denominator == 1 else None


def finer_unit(microseconds: Fraction) -> str | None:
    """The greatest unit of which a length is a whole number, if there is one."""
    fitting = [unit for unit, length in UNITS.items() if (microseconds / length).denominator == 1]
    return fitting[-1] if fitting else None
