"""Parts of timestamps and numbers of their units as Spark columns; they mean what those of `time_parts` mean."""

from __future__ import annotations

from typing import Any

from acelera.cdc.time_parts import CLOCK_PARTS, DAY, LENGTHS, SECOND
from acelera.spark.spark_expressions import ticks_of


def part_column(column: Any, name: str, zoned: bool, zone: str = "UTC", moved: Any = 0) -> Any:
    """A part of a timestamp; `zoned` says whether the column has a time zone, `moved` is a number or a column."""
    from pyspark.sql import functions

    clock = _clock(column, zoned, zone)
    by = functions.lit(moved).cast("bigint") if isinstance(moved, int) else moved.cast("bigint")
    if name in CLOCK_PARTS:
        length, most = CLOCK_PARTS[name]
        return _within(_number(clock, length) + by, most)
    date = _date(_number(clock, DAY))
    match name:
        case "Year":
            return functions.year(date).cast("bigint") + by
        case "Month":
            return _within(functions.month(date) - 1 + by, 12) + 1
        case "Day":
            return functions.dayofmonth(_date(_number(clock, DAY) + by)).cast("bigint")
        case "Date":
            return _date(_number(clock, DAY) + by)
        case "Time":
            seconds = _within(clock + by * SECOND, DAY).cast("decimal(20, 0)") / SECOND
            return functions.make_dt_interval(secs=seconds)
    raise AssertionError(f"{name} is no part of a timestamp")


def unit_number_column(column: Any, unit: str, zoned: bool, zone: str = "UTC") -> Any:
    """How many units since 1970 have passed by the clock."""
    from pyspark.sql import functions

    clock = _clock(column, zoned, zone)
    if unit in LENGTHS:
        return _number(clock, LENGTHS[unit])
    date = _date(_number(clock, DAY))
    years = functions.year(date).cast("bigint") - 1970
    return years if unit == "years" else years * 12 + functions.month(date) - 1


def _clock(column: Any, zoned: bool, zone: str) -> Any:
    """What a clock of the zone shows: microseconds since its 1970, whatever the zone of the session is."""
    from pyspark.sql import functions

    if zoned:
        return ticks_of(functions.from_utc_timestamp(column, zone), True)
    return ticks_of(functions.convert_timezone(functions.lit("UTC"), functions.lit(zone), column), False)


def _number(clock: Any, length: int) -> Any:
    """How many whole lengths there are; before 1970 they are negative."""
    return ((clock - _within(clock, length)) / length).cast("bigint")


def _within(number: Any, length: int) -> Any:
    from pyspark.sql import functions

    return functions.pmod(number, functions.lit(length))


def _date(days: Any) -> Any:
    from pyspark.sql import functions

    return functions.date_add(functions.lit("1970-01-01").cast("date"), days.cast("int"))
