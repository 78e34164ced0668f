"""Moments that users give, in the unit of a stream's times."""

import datetime

import pyarrow as pa
import pytest

import acelera as ac
from acelera.language.schema import Schema, schema_of
from acelera.moments import in_nanoseconds, tick_of

NOON = datetime.datetime(2024, 5, 1, 12)
TICKS = 1_714_564_800  # noon of that day in UTC, in seconds
SUMMER = datetime.timezone(datetime.timedelta(hours=2))


def stream(kind: pa.DataType) -> Schema:
    return schema_of(pa.schema({"ts": kind, "v": pa.int64()}), event_type="A").ordered_by("ts")


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_units(unit: str) -> None:
    ticks = TICKS * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    for zone in (None, "UTC", "Europe/Berlin"):
        read = stream(pa.timestamp(unit, zone))
        for until in ("2024-05-01 12:00", ticks, NOON if zone is None else NOON.replace(tzinfo=datetime.timezone.utc)):
            assert tick_of(until, read) == ticks
            assert in_nanoseconds(until, read) == TICKS * 10**9


def test_zones() -> None:
    zoned, plain = stream(pa.timestamp("us", "UTC")), stream(pa.timestamp("us"))
    assert tick_of("2024-05-01T14:00+02:00", zoned) == TICKS * 10**6
    assert tick_of(NOON.replace(hour=14, tzinfo=SUMMER), zoned) == TICKS * 10**6
    assert tick_of(datetime.date(2024, 5, 1), plain) == (TICKS - 12 * 3600) * 10**6
    with pytest.raises(ac.UsageError, match=r"have a time zone, and until=.* has none"):
        tick_of(NOON, zoned)
    with pytest.raises(ac.UsageError, match=r"have no time zone, and until=.* has one"):
        tick_of("2024-05-01T14:00+02:00", plain)


def test_far_times() -> None:
    """Nanoseconds end in 2262."""
    assert tick_of("9999-01-01", stream(pa.timestamp("s"))) == 253_370_764_800


def test_what_is_no_time() -> None:
    read = stream(pa.timestamp("us"))
    for until in ("tomorrow", 1.5, True, None):
        if until is None:
            assert tick_of(until, read) is None
            continue
        with pytest.raises(ac.UsageError, match="is no time"):
            tick_of(until, read)
    numbered = schema_of(pa.schema({"ts": pa.int64()}), event_type="A").ordered_by("ts")
    with pytest.raises(ac.UsageError, match=r"needs a stream with time.*`ts` is of type int64"):
        tick_of("2024-05-01", numbered)
