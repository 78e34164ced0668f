"""Times in any format are those that Python's strptime reads."""

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.cli.arrow_texts import read_as
from acelera.cli.time_formats import time_form

DAYS = ["%d/%m/%Y", "%Y-%m-%d", "%b %d %Y", "%d %B, %Y", "%y%m%d", "%m/%d/%y", "%a %d.%m.%Y"]
CLOCKS = ["", " %H:%M:%S", "T%H:%M", ":%I.%M %p", " %H:%M:%S.%f", " %H:%M:%S %z", " (%I%p)"]
UTC = datetime.timezone.utc
MOMENTS = st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2068, 12, 31))
ZONES = st.integers(-12 * 60, 12 * 60).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))


@pytest.mark.property
@given(st.sampled_from(DAYS), st.sampled_from(CLOCKS), MOMENTS, ZONES)
def test_a_text_is_the_time_that_python_reads(
    day: str, clock: str, moment: datetime.datetime, zone: datetime.timezone
) -> None:
    written = day + clock
    text = moment.replace(tzinfo=zone).strftime(written)
    expected = datetime.datetime.strptime(text, written)
    expected = expected.replace(tzinfo=UTC) if expected.tzinfo is None else expected.astimezone(UTC)
    assert read_as(pa.array([text]), time_form(written)).to_pylist() == [expected]


@pytest.mark.property
@given(
    st.sampled_from([day + clock for day in DAYS for clock in CLOCKS]),
    st.text("0123456789/:. -+TJanuryFebAPM", max_size=24),
)
def test_what_python_does_not_read_is_no_time(written: str, text: str) -> None:
    found = read_as(pa.array([text]), time_form(written))[0].as_py()
    if found is not None:
        expected = datetime.datetime.strptime(text, written)
        assert found == (expected.replace(tzinfo=UTC) if expected.tzinfo is None else expected.astimezone(UTC))
