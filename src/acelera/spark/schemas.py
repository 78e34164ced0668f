"""Spark's types and Arrow's."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.errors import AceleraWarning


def is_frame(table: object) -> bool:
    """Whether this is a Spark DataFrame, of a classic session or of Spark Connect; Spark is not imported for it."""
    return any(
        each.__module__.startswith("pyspark.sql") and each.__name__ == "DataFrame" for each in type(table).__mro__
    )


def is_spark(table: object) -> bool:
    """Whether this is a Spark DataFrame, or a mapping of event types to such."""
    frames = list(table.values()) if isinstance(table, Mapping) else [table]
    return bool(frames) and all(map(is_frame, frames))


def arrow_schema(frame: Any) -> pa.Schema:
    """The columns of a frame with the Arrow types in which Spark hands them over; times with a zone are in UTC.

    Columns for which Arrow has no type are left out.
    """
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import to_arrow_type

    zoned = {"timezone": "UTC"} if "timezone" in inspect.signature(to_arrow_type).parameters else {}
    found = []
    for each in frame.schema.fields:
        try:
            found.append(pa.field(each.name, to_arrow_type(each.dataType, **zoned)))
        except PySparkTypeError:
            kind = each.dataType.simpleString()
            message = f"the column `{each.name}` is left out, since Arrow has no type for {kind}; cast it to use it"
            warnings.warn(message, AceleraWarning, stacklevel=2)
    return pa.schema(found)


def nullable(kind: pa.DataType) -> pa.DataType:
    """The same type with NULL allowed in lists, structs and maps: Spark tells those apart that have none."""
    if pa.types.is_list(kind):
        return pa.list_(nullable(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, nullable(each.type)) for each in kind])
    if pa.types.is_map(kind):
        return pa.map_(nullable(kind.key_type), nullable(kind.item_type))
    return kind


def spark_schema(schema: pa.Schema) -> Any:
    """The schema of a frame for columns of these Arrow types."""
    from pyspark.sql.types import StructField, StructType

    return StructType([StructField(each.name, spark_type(each.type), True) for each in schema])


def spark_type(kind: pa.DataType) -> Any:
    """The type of a Spark column for values of an Arrow type."""
    from pyspark.sql.pandas.types import from_arrow_type

    return from_arrow_type(kind, True)
