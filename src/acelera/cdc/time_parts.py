"""Parts of timestamps and numbers of their units, for whole columns: what a clock and a calendar of a zone show.

A part that is moved by n is that of the timestamp moved by n of the part's units: days, months and years by the
calendar, so that the month after December is 1; hours, minutes and seconds in time, also when clocks change. Timestamps
without a zone are taken to be in UTC.

How far a zone is from UTC is asked of Python, once for each hour that occurs: Arrow does not know how clocks change
after 2037.
"""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa

SECOND, MINUTE, HOUR, DAY = 1_000_000, 60_000_000, 3_600_000_000, 86_400_000_000
"""Units in microseconds."""

_TICKS = {"s": SECOND, "ms": 1000, "us": 1}

CLOCK_PARTS = {"Hour": (HOUR, 24), "Minute": (MINUTE, 60), "Second": (SECOND, 60)}
"""Parts of a day: their length, and how many there are in the next larger one."""
_STEPS = {**{name: length for name, (length, _) in CLOCK_PARTS.items()}, "Time": SECOND}
"""Parts of a day, and how far one step of each moves a timestamp."""
LENGTHS = {"days": DAY, "hours": HOUR, "minutes": MINUTE, "seconds": SECOND}
"""Units of one length."""

Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Column: TypeAlias = Any
"""An array, or a chunked one."""


def part(column: Column, name: str, zone: str = "UTC", moved: int | Column = 0) -> pa.Array:
    """A part of each timestamp, moved by so many of its units; NULL where the timestamp or the number is.

    `Year`, `Month`, `Day`, `Hour`, `Minute` and `Second` are integers, `Date` is a date, which moves by days, and
    `Time` the duration since midnight, which moves by seconds.

    >>> december = pa.array([1_734_000_000], pa.timestamp("s", "UTC"))
    >>> part(december, "Month").to_pylist(), part(december, "Month", moved=1).to_pylist()
    ([12], [1])
    """
    moments, by, lacking = _moved(_moments(column), moved)
    if name in _STEPS:
        clock = _shown(moments + by * _STEPS[name], zone)
        if name == "Time":
            return pa.array(clock % DAY, mask=lacking).cast(pa.duration("us"))
        length, most = CLOCK_PARTS[name]
        return pa.array(clock // length % most, mask=lacking)
    clock = _shown(moments, zone)
    match name:
        case "Year":
            return pa.array(_months(clock) // 12 + 1970 + by, mask=lacking)
        case "Month":
            return pa.array((_months(clock) + by) % 12 + 1, mask=lacking)
        case "Day":
            days = clock // DAY + by
            return pa.array(days - _first_days(days) + 1, mask=lacking)
        case "Date":
            return pa.array((clock // DAY + by).astype(np.int32), mask=lacking).cast(pa.date32())
    raise AssertionError(f"{name} is no part of a timestamp")


def unit_number(column: Column, unit: str, zone: str = "UTC") -> pa.Array:
    """How many `years`, `months`, `days`, `hours`, `minutes` or `seconds` since 1970 have passed by the clock.

    >>> unit_number(pa.array([-1, 0], pa.timestamp("s")), "months").to_pylist()
    [-1, 0]
    """
    moments, lacking = _moments(column)
    clock = _shown(moments, zone)
    if unit in LENGTHS:
        return pa.array(clock // LENGTHS[unit], mask=lacking)
    return pa.array(_months(clock) // {"years": 12, "months": 1}[unit], mask=lacking)


def _moments(column: Column) -> tuple[Numbers, Mask]:
    """Microseconds since 1970, and where there is no timestamp."""
    array = _whole(column)
    ticks: Numbers = array.cast(pa.int64()).fill_null(0).to_numpy()
    moments = ticks // 1000 if array.type.unit == "ns" else ticks * _TICKS[array.type.unit]
    lacking: Mask = array.is_null().to_numpy(zero_copy_only=False)
    return moments, lacking


def _shown(moments: Numbers, zone: str) -> Numbers:
    """What a clock of the zone shows, in microseconds since its 1970."""
    return moments if zone == "UTC" else moments + _shifts(moments, zone)


def _shifts(moments: Numbers, zone: str) -> Numbers:
    """How far the clock is ahead of UTC; found for each hour, and for each second of an hour in which it changes."""
    hours, places = np.unique(moments // HOUR, return_inverse=True)
    shifts = np.array([_shift(hour * 3600, zone) for hour in hours.tolist()], np.int64)
    ends = np.array([_shift(hour * 3600 + 3599, zone) for hour in hours.tolist()], np.int64)
    found: Numbers = shifts[places]
    for place in np.flatnonzero((shifts != ends)[places]):
        found[place] = _shift(int(moments[place]) // SECOND, zone)
    return found


@lru_cache(10_000)
def _shift(second: int, zone: str) -> int:
    """How far the clock is ahead of UTC at a second since 1970; years that Python does not know are like the last."""
    moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(seconds=min(max(second, _FIRST), _LAST))
    shift = moment.astimezone(ZoneInfo(zone)).utcoffset()
    assert shift is not None
    return shift // timedelta(microseconds=1)


_FIRST, _LAST = -62_135_500_000, 253_402_200_000
"""Seconds since 1970 a day or so within the years 1 to 9999."""


def _moved(given: tuple[Numbers, Mask], moved: int | Column) -> tuple[Numbers, Numbers, Mask]:
    """Moments, by how much they are moved, and where one of the two is lacking."""
    moments, lacking = given
    if isinstance(moved, int):
        return moments, np.full(len(moments), moved), lacking
    by = _whole(moved)
    return moments, by.fill_null(0).cast(pa.int64()).to_numpy(), lacking | by.is_null().to_numpy(zero_copy_only=False)


def _whole(column: Column) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _months(clock: Numbers) -> Numbers:
    """Months since 1970."""
    found: Numbers = (clock // DAY).astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return found


def _first_days(days: Numbers) -> Numbers:
    """The first day of the month of each day, in days since 1970."""
    found: Numbers = days.astype("datetime64[D]").astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return found
