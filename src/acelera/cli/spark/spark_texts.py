"""Columns of text as values, on Spark: what has not the form of its type is NULL, as in process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from acelera.cli.arrow_texts import EPOCH_SCALES
from acelera.cli.epochs import AFTER_LAST, CYCLE, FIRST, LIKELY, UNITS, a_second
from acelera.cli.reading import Column, Reading
from acelera.cli.text_types import ZONE, Form
from acelera.errors import SchemaError
from acelera.spark.spark_expressions import quoted


def spark_type(kind: pa.DataType) -> Any:
    """The type of Spark that holds the same values."""
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import NullType, TimestampNTZType, TimestampType

    if pa.types.is_null(kind):
        return NullType()
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            raise SchemaError(f"Spark has no times in nanoseconds ({kind}); say timestamp[us], or run it --in-process")
        return TimestampNTZType() if kind.tz is None else TimestampType()
    if pa.types.is_unsigned_integer(kind):
        raise SchemaError(f"Spark has no unsigned integers ({kind}); say int64, or run it --in-process")
    try:
        return from_arrow_type(kind, prefer_timestamp_ntz=True)
    except Exception:  # its own kinds of errors, by version
        raise SchemaError(f"Spark has no {kind}; say another type, or run it --in-process") from None


def nulled(column: Any, nulls: Sequence[str]) -> Any:
    """A column of text in which some texts are NULL."""
    from pyspark.sql import functions

    return functions.when(~column.isin(list(nulls)), column) if nulls else column


def text_of(column: Column, reading: Reading) -> Any:
    """What stands in a file; texts that are said to be NULL are."""
    from pyspark.sql import functions

    found = functions.col(quoted(column.written))
    return nulled(found, reading.nulls) if pa.types.is_string(column.held) else found


def value_of(column: Any, described: Column) -> Any:
    """The values of a column; what has not the form of its type, or is no value of it, is NULL."""
    from pyspark.sql import functions

    if pa.types.is_null(described.kind):
        return functions.lit(None)
    if described.epoch is not None:
        return _moment(column, described)
    return column if described.form is None else _read_as(column, described.form)


def _moment(column: Any, described: Column) -> Any:
    from pyspark.sql import functions

    assert described.epoch is not None
    by, through = EPOCH_SCALES[described.epoch]
    unit = a_second(described.epoch)
    if not pa.types.is_floating(described.held):
        column = column.cast("bigint")
    column = functions.when((column >= FIRST * unit / 1.0) & (column < AFTER_LAST * unit / 1.0), column)
    if pa.types.is_floating(described.held):
        micros = functions.floor(column.cast("double") * functions.lit(by / through) + functions.lit(0.5))
    else:
        wide = column * functions.lit(by)
        micros = wide if through == 1 else functions.call_function("div", wide, functions.lit(through))
    return functions.timestamp_micros(micros.cast("bigint"))


def _read_as(column: Any, form: Form) -> Any:
    from pyspark.sql import functions

    text = column if form.checked else functions.when(column.rlike(form.pattern), column)
    for pattern, new in form.steps:
        text = functions.regexp_replace(text, pattern, re.sub(r"\\(\d)", r"$\1", new))
    if form.epoch:
        micros = text.try_cast("bigint")
        fits = micros.between(FIRST * 10**6, AFTER_LAST * 10**6 - 1)
        return functions.timestamp_micros(functions.when(fits, micros))
    found = text.try_cast(spark_type(form.kind))
    if pa.types.is_timestamp(form.kind) and form.kind.tz is not None:  # Spark reads no zone right behind minutes
        with_seconds = functions.regexp_replace(text, rf"([T ]\d\d:\d\d){ZONE}\z", "$1:00$2")
        found = functions.coalesce(found, with_seconds.try_cast(spark_type(form.kind)))
    if pa.types.is_timestamp(form.kind) or pa.types.is_date(form.kind):
        return functions.when(functions.year(found).between(1, 9999), found)
    return found


def out_of_range(column: Any, described: Column) -> Any:
    """What is wrong with a number that is a time before the year 1 or after 9999, as in process; NULL if it is none."""
    from pyspark.sql import functions

    assert described.unit is not None
    number = column.try_cast("double")
    seconds = functions.floor(number / a_second(described.unit))
    cycles = functions.floor(seconds / CYCLE)
    day = functions.date_add(
        functions.lit("1970-01-01").cast("date"), ((seconds - cycles * CYCLE) / 86_400).cast("int")
    )
    year = (functions.year(day) + cycles * 400).cast("bigint")
    meant = functions.when(functions.lit(False), "")
    for unit in UNITS:
        scaled = number / a_second(unit)
        meant = meant.when((scaled >= LIKELY[0]) & (scaled < LIKELY[1]), f"; is it {unit}?")
    said = functions.concat(
        functions.lit(f" as {described.unit} is in the year "),
        year.cast("string"),
        functions.coalesce(meant, functions.lit(", and there are those from 1 to 9999")),
    )
    return functions.when((seconds < FIRST) | (seconds >= AFTER_LAST), said)
