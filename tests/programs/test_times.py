"""Times of every kind become ticks, and come back."""

from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest

from acelera.errors import DataError, SchemaError, UsageError
from acelera.programs.times import TimeKind, finer_unit, kind_of, ticks_of, whole_ticks

SECOND = 1_000_000
UTC = timezone.utc


def ticks(values: list[Any], arrow: pa.DataType) -> list[int]:
    column = pa.chunked_array([pa.array(values, arrow)])
    return ticks_of(column, "t", kind_of({"t": arrow}, None), lambda place: f"row {place + 1}").tolist()


@pytest.mark.parametrize(
    ("arrow", "values", "expected"),
    [
        (pa.int8(), [-1, 5], [-1, 5]),
        (pa.uint64(), [5], [5]),
        (pa.timestamp("s"), [2], [2 * SECOND]),
        (pa.timestamp("ms", "Europe/Berlin"), [3], [3_000]),
        (pa.timestamp("us"), [-7], [-7]),
        (pa.timestamp("ns", "UTC"), [5_000], [5]),
        (pa.date32(), [date(1970, 1, 3)], [2 * 86_400 * SECOND]),
        (pa.date64(), [date(1969, 12, 31)], [-86_400 * SECOND]),
    ],
)
def test_ticks(arrow: pa.DataType, values: list[Any], expected: list[int]) -> None:
    assert ticks(values, arrow) == expected


def test_times_in_a_dictionary() -> None:
    column = pa.chunked_array([pa.array([2, 1, 2], pa.timestamp("s")).dictionary_encode()])
    found = ticks_of(column, "t", kind_of({"t": column.type}, None), str)
    assert found.tolist() == [2 * SECOND, SECOND, 2 * SECOND]


@pytest.mark.parametrize(
    ("arrow", "values", "says"),
    [
        (pa.int64(), [1, None], "row 2 has no time: `t` is NULL"),
        (pa.timestamp("ns"), [1_000, 2_000, 2_001], "row 3: `t` is 1970-01-01 00:00:00.000002001, which is no whole"),
        (pa.uint64(), [1, 2**63], "row 2: `t` is 9223372036854775808, which does not fit into 64 bits"),
        (pa.timestamp("s"), [2**60], "row 1: `t` is 1152921504606846976 s since 1970, which"),
    ],
)
def test_rows_without_a_tick(arrow: pa.DataType, values: list[Any], says: str) -> None:
    with pytest.raises(DataError) as caught:
        ticks(values, arrow)
    assert says in str(caught.value)


def test_zones_are_kept() -> None:
    kind = kind_of({"t": pa.timestamp("s", "Europe/Berlin")}, None)
    assert kind == TimeKind(pa.timestamp("us", "Europe/Berlin"))
    assert kind.shown(pa.array([5])) == pa.array([5], pa.timestamp("us", "Europe/Berlin"))
    assert kind.said(0) == "1970-01-01 01:00:00+01:00"


def test_a_time_that_python_cannot_say() -> None:
    assert TimeKind(pa.timestamp("us")).said(2**62) == f"{2**62} us since 1970"


def test_dates_are_timestamps() -> None:
    assert kind_of({"b": pa.date32(), "e": pa.timestamp("s")}, None) == TimeKind(pa.timestamp("us"))


@pytest.mark.parametrize("other", [pa.int64(), pa.timestamp("us", "UTC"), pa.timestamp("us", "Europe/Berlin")], ids=str)
def test_times_are_of_one_kind(other: pa.DataType) -> None:
    first = pa.timestamp("us", "UTC") if other != pa.timestamp("us", "UTC") else pa.timestamp("us")
    with pytest.raises(SchemaError, match="the times of one run are of one kind, but begin is timestamp"):
        kind_of({"begin": first, "end": other}, None)


@pytest.mark.parametrize("arrow", [pa.float64(), pa.string(), pa.bool_(), pa.null(), pa.time64("us")], ids=str)
def test_what_is_no_time(arrow: pa.DataType) -> None:
    with pytest.raises(SchemaError, match="which is no time; times are timestamps, dates or integers"):
        kind_of({"the column `t`": arrow}, None)


def test_a_unit_is_for_integers() -> None:
    with pytest.raises(UsageError, match="time_unit='s' is for times that are integers, but t is date32"):
        kind_of({"t": pa.date32()}, "s")
    assert kind_of({"t": pa.int16()}, "s").tick == SECOND
    assert not kind_of({"t": pa.int16()}, None).measured


@pytest.mark.parametrize(
    ("arrow", "moment", "expected"),
    [
        (pa.int64(), 5, 5),
        (pa.timestamp("us"), datetime(1970, 1, 1, 0, 0, 1), SECOND),
        (pa.timestamp("us"), date(1970, 1, 2), 86_400 * SECOND),
        (pa.timestamp("us", "Asia/Tokyo"), datetime(1970, 1, 1, tzinfo=UTC), 0),
        (pa.timestamp("us", "UTC"), datetime(1970, 1, 1, tzinfo=timezone(timedelta(hours=-1))), 3_600 * SECOND),
    ],
)
def test_moments(arrow: pa.DataType, moment: Any, expected: int) -> None:
    assert TimeKind(arrow).tick_of(moment) == expected


@pytest.mark.parametrize(
    ("arrow", "moment", "says"),
    [
        (pa.int64(), 5.0, "now=5.0 is no integer, but the times of this stream are"),
        (pa.int64(), datetime(1970, 1, 1), "is no integer"),
        (pa.timestamp("us"), 5, "now=5 is no datetime, but the times of this stream are timestamps"),
        (pa.timestamp("us"), datetime(1970, 1, 1, tzinfo=UTC), "have no time zone, and now="),
        (pa.timestamp("us", "UTC"), datetime(1970, 1, 1), "have a time zone, and now="),
    ],
)
def test_moments_of_another_kind(arrow: pa.DataType, moment: Any, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        TimeKind(arrow).tick_of(moment)
    assert says in str(caught.value)


def test_lengths() -> None:
    seconds, minutes = (TimeKind(pa.int64(), unit) for unit in ("s", "min"))
    assert whole_ticks(Fraction(12 * SECOND), seconds) == 12
    assert whole_ticks(Fraction(12 * SECOND), minutes) is None
    assert finer_unit(Fraction(12 * SECOND)) == "s"
    assert finer_unit(Fraction(1, 3)) is None
