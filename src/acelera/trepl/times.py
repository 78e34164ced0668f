"""Timestamps, in nanoseconds since 1970, as calendars see them: parts, numbers of units, text; or NULL."""

from __future__ import annotations

import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from acelera.language.ast import UNITS

DAY = UNITS["days"]
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_CLOCK = {"Hour": UNITS["hours"], "Minute": UNITS["minutes"], "Second": UNITS["seconds"], "Time": UNITS["seconds"]}
"""Parts of a day, and how far one step of each moves a timestamp."""
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def part_of(moment: int, part: str, moved: int = 0, zone: str = "UTC") -> int | None:
    """A part of a timestamp that is moved by so many of its units.

    Years, months and days move on the calendar of the zone, parts of a day in time. `Date` is in days since 1970,
    `Time` in nanoseconds since midnight.

    >>> december = 1_734_000_000 * 10**9
    >>> part_of(december, "Month"), part_of(december, "Month", 1)
    (12, 1)
    """
    if part in _CLOCK:
        wall = _wall(moment + moved * _CLOCK[part], zone)
        return None if wall is None else _clock_part(wall, part)
    wall = _wall(moment, zone)
    date = None if wall is None else _date(wall)
    if wall is None or date is None:
        return None
    match part:
        case "Year":
            return date.year + moved
        case "Month":
            return (date.month - 1 + moved) % 12 + 1
        case "Date":
            return wall // DAY + moved
        case "Day":
            other = _date(wall + moved * DAY)
            return None if other is None else other.day
    raise AssertionError(f"unknown part {part}")


def unit_number(moment: int, unit: str, zone: str = "UTC") -> int | None:
    """How many years, months, … seconds have begun since 1970, by the clock of the zone; 0 is the first."""
    wall = _wall(moment, zone)
    if wall is None or unit not in ("years", "months"):
        return None if wall is None else wall // UNITS[unit]
    date = _date(wall)
    if date is None:
        return None
    years = date.year - 1970
    return years if unit == "years" else 12 * years + date.month - 1


def asctime(moment: int, zone: str = "UTC") -> str | None:
    """A text as C writes it: `Wed Aug 21 09:13:27 1996`."""
    wall = _wall(moment, zone)
    date = None if wall is None else _date(wall)
    if wall is None or date is None:
        return None
    hour, minute, second = (_clock_part(wall, part) for part in ("Hour", "Minute", "Second"))
    day = f"{_WEEKDAYS[date.weekday()]} {_MONTHS[date.month - 1]} {date.day:2d}"
    return f"{day} {hour:02d}:{minute:02d}:{second:02d} {date.year}"


def _wall(moment: int, zone: str) -> int | None:
    """The nanoseconds since 1970 that a clock of the zone shows."""
    if zone == "UTC":
        return moment
    seconds = moment // UNITS["seconds"]
    try:
        shift = (_EPOCH + datetime.timedelta(seconds=seconds)).astimezone(_zone(zone)).utcoffset()
    except OverflowError:
        return None
    assert shift is not None
    return moment + shift // datetime.timedelta(microseconds=1) * 1000


@lru_cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _date(wall: int) -> datetime.date | None:
    """The day that a calendar shows; years 1 to 9999 have one."""
    try:
        return _EPOCH.date() + datetime.timedelta(days=wall // DAY)
    except OverflowError:
        return None


def _clock_part(wall: int, part: str) -> int:
    within = wall % DAY
    if part == "Time":
        return within
    return within // _CLOCK[part] % (24 if part == "Hour" else 60)
