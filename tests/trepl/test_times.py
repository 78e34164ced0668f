"""Timestamps as calendars see them."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.trepl.times import asctime, part_of, unit_number
from trepl.judging import moment

HOUR = 3600 * 10**9
LATE = "1996-12-31 23:59:58"


@pytest.mark.parametrize(
    ("at", "part", "moved", "expected"),
    [
        (LATE, "Year", 0, 1996),
        (LATE, "Year", -1, 1995),
        (LATE, "Month", 1, 1),
        (LATE, "Month", -12, 12),
        (LATE, "Month", -13, 11),
        (LATE, "Day", 1, 1),
        ("2023-03-01", "Day", -1, 28),
        ("2024-03-01", "Day", -1, 29),
        ("2024-01-31", "Day", 1, 1),
        ("2024-01-31", "Month", 1, 2),
        (LATE, "Hour", 1, 0),
        (LATE, "Minute", 2, 1),
        (LATE, "Second", 3, 1),
        (LATE, "Time", 0, 24 * HOUR - 2 * 10**9),
        (LATE, "Time", 3, 10**9),
        ("1970-01-02", "Date", 0, 1),
        ("1970-01-02", "Date", -3, -2),
        ("1969-12-31 23:00", "Hour", 0, 23),
    ],
)
def test_parts_are_those_of_the_moved_timestamp(at: str, part: str, moved: int, expected: int) -> None:
    assert part_of(moment(at), part, moved) == expected


@given(st.datetimes(datetime.datetime(1800, 1, 1), datetime.datetime(2200, 1, 1)))
def test_parts_are_those_of_the_calendar(at: datetime.datetime) -> None:
    when = moment(at.isoformat(" ", "seconds"))
    parts = [part_of(when, part) for part in ("Year", "Month", "Day", "Hour", "Minute", "Second")]
    assert parts == list(at.timetuple()[:6])
    assert asctime(when) == at.replace(microsecond=0).ctime()


@pytest.mark.parametrize(
    ("unit", "expected"), [("years", -1), ("months", -1), ("days", -1), ("hours", -1), ("minutes", -1), ("seconds", -1)]
)
def test_units_are_numbered_from_1970(unit: str, expected: int) -> None:
    assert unit_number(moment("1970-01-01"), unit) == 0
    assert unit_number(moment("1970-01-01") - 1, unit) == expected


def test_months_go_on_over_years() -> None:
    assert unit_number(moment("2024-01-01"), "months") == unit_number(moment("2023-12-31"), "months") + 1


def test_zones_shift_days_and_clocks() -> None:
    summer, winter = moment("2024-06-30 22:30"), moment("2024-12-31 23:30")
    berlin = "Europe/Berlin"
    assert [part_of(at, "Day", zone=berlin) for at in (summer, winter)] == [1, 1]
    assert [part_of(at, "Hour", zone=berlin) for at in (summer, winter)] == [0, 0]
    assert unit_number(winter, "years", berlin) == 55
    assert asctime(summer, berlin) == "Mon Jul  1 00:30:00 2024"


def test_an_hour_that_the_clocks_skip_is_skipped() -> None:
    before = moment("2024-03-31 00:30")
    assert [part_of(before, "Hour", moved, "Europe/Berlin") for moved in (0, 1)] == [1, 3]


def test_what_no_calendar_has_is_null() -> None:
    assert part_of(10**30, "Year") is None
    assert part_of(moment("2024-01-01"), "Day", 10**12) is None
    assert asctime(-(10**30)) is None
    assert unit_number(10**30, "months", "Europe/Berlin") is None
