"""Debezium's messages as JSON texts in Spark frames; a text that cannot be read is an error when Spark reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.cdc.connect_schemas import Columns, Described, of_connect
from acelera.cdc.json_values import is_told, settled
from acelera.cdc.spark_changes import column_at
from acelera.errors import SchemaError
from acelera.spark.schemas import spark_schema

_FACTORS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_CORRUPT = "#corrupt"
_SHOWN = 300
"""Characters of a message that are shown."""
_NEEDED = (
    "give the types of the table's columns with schema=…: a mapping of columns to types, or the schema of a message"
)


def decoded_frame(
    frame: Any, column: str, row: Columns, around: Mapping[str, Columns], table: str | None = None
) -> Any:
    """A frame whose texts are structs: `before` and `after`, and what stands around them."""
    from pyspark.sql import functions

    text = column_at((column,)).cast("string")
    if table is not None:
        frame = frame.filter(text.isNull() | (_table(text) == table))
    groups = {name: {each or name: kind for each, kind in kinds.items()} for name, kinds in around.items()}
    flat = {name for name, kinds in around.items() if "" in kinds}
    envelope = {"before": row, "after": row, **groups}
    read = pa.struct(
        [
            pa.field(name, _as_read(kinds[name]) if name in flat else _struct_read(kinds))
            for name, kinds in envelope.items()
        ]
    )
    wanted = spark_schema(pa.schema([*read, pa.field("payload", read), pa.field(_CORRUPT, pa.string())]))
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    frame = _refusing(frame.withColumn("#json", functions.from_json(text, wanted, options)), text, row)
    inner = {
        name: functions.coalesce(column_at(("#json", "payload", name)), column_at(("#json", name))) for name in envelope
    }
    parts = [
        (inner[name] if name in flat else _converted(inner[name], kinds)).alias(name)
        for name, kinds in envelope.items()
    ]
    return frame.withColumn(column, functions.when(~_is_tombstone(text), functions.struct(*parts))).drop("#json")


def _refusing(frame: Any, text: Any, row: Columns) -> Any:
    """Rows whose texts can be read. Others are an error with the beginning of the message.

    That is a filter, since a column that many others are made of would stand in each of them.
    """
    from pyspark.sql import functions

    expected = ", ".join(f"{name} {kind}" for name, kind in row.items())
    misfit = f"a message has a value that does not fit its type; the columns of its table are {expected}: "
    why = functions.when(functions.get_json_object(text, "$").isNull(), "a message is no JSON: ").otherwise(misfit)
    error = functions.raise_error(functions.concat(why, functions.substring(text, 1, _SHOWN))).cast("boolean")
    return frame.where(functions.when(column_at(("#json", _CORRUPT)).isNotNull(), error).otherwise(True))


def _is_tombstone(text: Any) -> Any:
    """Whether there is no message, or none beside its schema."""
    from pyspark.sql import functions

    wrapped = functions.array_contains(functions.json_object_keys(text), "payload")
    empty = wrapped & functions.get_json_object(text, "$.payload").isNull()
    return text.isNull() | functions.coalesce(empty, functions.lit(False))  # NULL of what is no JSON


def _table(text: Any) -> Any:
    from pyspark.sql import functions

    paths = ("$.payload.source.table", "$.source.table")
    return functions.coalesce(*(functions.get_json_object(text, path) for path in paths))


def _as_read(kind: pa.DataType) -> pa.DataType:
    """How a value is read: what JSON does not have is a text at first."""
    return pa.string() if is_told(kind) else kind


def _struct_read(kinds: Columns) -> pa.DataType:
    return pa.struct([pa.field(name, _as_read(kind)) for name, kind in kinds.items()])


def _converted(struct: Any, kinds: Columns) -> Any:
    """A struct whose texts are what they stand for."""
    from pyspark.sql import functions

    fields = [_value(struct.getField(name), kind).alias(name) for name, kind in kinds.items()]
    return functions.when(struct.isNotNull(), functions.struct(*fields))


def _value(text: Any, kind: pa.DataType) -> Any:
    """A time that is a text, or an integer in the unit of its type; a decimal that is a text."""
    from pyspark.sql import functions

    if not is_told(kind):
        return text
    wanted = spark_schema(pa.schema([("it", settled(kind))]))["it"].dataType
    if pa.types.is_decimal(kind):
        return text.cast(wanted)
    counted = text.rlike("^-?[0-9]+$")
    number = functions.when(counted, text).cast("bigint")
    if pa.types.is_date(kind):
        days = functions.date_add(functions.lit("1970-01-01").cast("date"), number.cast("int"))
        return functions.coalesce(days, functions.when(~counted, text).cast("date"))
    if kind.unit not in _FACTORS:
        raise SchemaError(f"schema=… says {kind}, but timestamps of Spark are in microseconds; say int64, or timestamp")
    micros = number * _FACTORS[kind.unit]
    if kind.tz is not None:
        moment = functions.timestamp_micros(micros)
    else:
        moment = functions.lit("1970-01-01").cast("timestamp_ntz") + functions.make_dt_interval(
            secs=micros.cast("decimal(20, 0)") / 1_000_000
        )
    return functions.coalesce(moment, functions.when(~counted, text).cast(wanted))


def told_types(frame: Any, column: str, table: str | None) -> Described:
    """The types that a message of a frame tells; a stream is not read for it."""
    if frame.isStreaming:
        raise SchemaError(f"a stream of JSON texts is not read to find out what is in them; {_NEEDED}")
    text = column_at((column,)).cast("string")
    messages = frame.select(text.alias("text")).filter(text.isNotNull())
    messages = messages if table is None else messages.filter(_table(column_at(("text",))) == table)
    found = messages.first()
    try:
        schema = json.loads(found["text"]).get("schema") if found is not None else None
    except (ValueError, AttributeError):
        schema = None
    if not isinstance(schema, Mapping):
        raise SchemaError(f"on Spark, JSON texts without a schema beside the payload do not tell types; {_NEEDED}")
    return of_connect(schema)
