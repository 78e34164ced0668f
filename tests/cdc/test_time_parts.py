"""Parts of timestamps in columns, compared with what Python's calendar says of each."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.cdc.time_parts import part, unit_number

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe")
PARTS = ("Date", "Time", "Year", "Month", "Day", "Hour", "Minute", "Second")
UNITS = ("years", "months", "days", "hours", "minutes", "seconds")
UTC = datetime.timezone.utc
STEPS = {
    "Date": datetime.timedelta(days=1),
    "Day": datetime.timedelta(days=1),
    "Hour": datetime.timedelta(hours=1),
    "Minute": datetime.timedelta(minutes=1),
    "Second": datetime.timedelta(seconds=1),
    "Time": datetime.timedelta(seconds=1),
}


def clock(moment: datetime.datetime, zone: str) -> datetime.datetime:
    """What a clock shows, without its zone."""
    return moment.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def plain_part(moment: datetime.datetime, name: str, zone: str, moved: int) -> Any:
    in_time = name not in ("Year", "Month", "Day", "Date")  # what is shorter than a day moves in time, not by the clock
    shown = clock(moment + STEPS[name] * moved if in_time else moment, zone)
    if name == "Year":
        return shown.year + moved
    if name == "Month":
        return (shown.month - 1 + moved) % 12 + 1
    shown += datetime.timedelta() if in_time else STEPS[name] * moved
    if name == "Date":
        return shown.date()
    if name == "Time":
        return shown - datetime.datetime.combine(shown.date(), datetime.time())
    return getattr(shown, name.lower())


def plain_number(moment: datetime.datetime, unit: str, zone: str) -> int:
    shown = clock(moment, zone)
    if unit == "years":
        return shown.year - 1970
    if unit == "months":
        return (shown.year - 1970) * 12 + shown.month - 1
    return (shown - datetime.datetime(1970, 1, 1)) // datetime.timedelta(**{unit: 1})


moments = st.datetimes(datetime.datetime(1905, 1, 1), datetime.datetime(2105, 1, 1)) | st.builds(
    lambda day, minute: datetime.datetime(2023, 3, 25) + datetime.timedelta(days=day, minutes=minute),
    st.sampled_from([0, 1, 6, 7, 217, 218, 225, 226]),  # clocks change on some of these days
    st.integers(0, 1440),
)


@pytest.mark.property
@given(st.lists(moments, min_size=1), st.integers(-1000, 1000), st.sampled_from(ZONES), st.booleans())
def test_parts_are_those_of_the_calendar(given_: list[datetime.datetime], moved: int, zone: str, zoned: bool) -> None:
    column = pa.array(given_, pa.timestamp("us", "UTC" if zoned else None))
    for name in PARTS:
        expected = [plain_part(each, name, zone, moved) for each in given_]
        assert part(column, name, zone, moved).to_pylist() == expected, name
    for unit in UNITS:
        assert unit_number(column, unit, zone).to_pylist() == [plain_number(each, unit, zone) for each in given_], unit


@pytest.mark.parametrize(
    ("name", "moment", "moved", "expected"),
    [
        ("Month", "2024-12-31T23:59:59", 1, 1),
        ("Month", "2024-01-31T00:00:00", 1, 2),
        ("Day", "2024-01-31T12:00:00", 1, 1),
        ("Day", "2024-03-01T12:00:00", -1, 29),
        ("Day", "2023-03-01T12:00:00", -1, 28),
        ("Year", "2024-02-29T12:00:00", 1, 2025),
        ("Hour", "2024-02-29T23:30:00", 1, 0),
        ("Second", "1969-12-31T23:59:59.999999", 1, 0),
        ("Year", "1969-12-31T23:59:59.999999", 0, 1969),
        ("Date", "2024-02-28T23:30:00", 1, datetime.date(2024, 2, 29)),
    ],
)
def test_parts_are_moved(name: str, moment: str, moved: int, expected: object) -> None:
    column = pa.array([datetime.datetime.fromisoformat(moment)])
    assert part(column, name, moved=moved).to_pylist() == [expected]


def test_each_row_may_be_moved_by_its_own_number() -> None:
    column = pa.chunked_array([pa.array([0, 0, None], pa.timestamp("s")), pa.array([0], pa.timestamp("s"))])
    moved = pa.chunked_array([pa.array([1, None, 1, -1], pa.int8())])
    assert part(column, "Month", moved=moved).to_pylist() == [2, None, None, 12]


def test_clocks_change() -> None:
    """In Berlin the hour from 2 to 3 comes twice on 29 October 2023: the second is an hour after the first."""
    twice = (
        pa.array(["2023-10-29T00:30:00", "2023-10-29T01:30:00"])
        .cast(pa.timestamp("us"))
        .cast(pa.timestamp("us", "UTC"))
    )
    assert part(twice, "Hour", "Europe/Berlin").to_pylist() == [2, 2]
    assert part(twice, "Hour", "Europe/Berlin", 1).to_pylist() == [2, 3]
    assert len(set(unit_number(twice, "hours", "Europe/Berlin").to_pylist())) == 1
    assert len(set(unit_number(twice, "hours").to_pylist())) == 2


def test_timestamps_of_all_units() -> None:
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array([-1, 0], pa.timestamp(unit))
        assert part(column, "Year").to_pylist() == [1969, 1970]
        assert unit_number(column, "seconds").to_pylist() == [-1, 0]
