"""Normalized changes of Spark frames, as columns.

What is wrong with a row is told when Spark computes it, with the row. That operations have instants of their own is
looked at in frames that are all there; in a stream it cannot be known.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa

from acelera.cdc.layout import CALLED, INSTANT, KIND, SKIPPED, TIME, Clock, Layout, Operations, Path, no_values, said
from acelera.programs.times import UNITS
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted

_ROW = "#row"


def normalize_frame(layout: Layout, frame: Any, granularity: str) -> Any:
    """The normalized changes of a frame."""
    from pyspark.sql import functions

    instant = layout.instant(granularity)
    if layout.tables is not None and layout.table is not None:
        frame = frame.filter(column_at(layout.tables) == layout.table)
    frame = frame.withColumn(_ROW, functions.struct("*"))
    if layout.operations is None:
        frame = frame.withColumn(KIND, functions.lit(0).cast("tinyint"))
    else:
        frame = frame.withColumn(KIND, _kind(layout.operations).cast("tinyint"))
        frame = frame.filter(functions.col(KIND) != SKIPPED).withColumn(KIND, _complete(layout))
    time = _time(layout.clock)
    instants = [
        time if path == layout.clock.path else _never_null(column_at(path), f"has no instant: {said(path)} is NULL")
        for path in instant
    ]
    found = frame.select(
        functions.col(KIND),
        *(each.alias(f"{INSTANT}{place}") for place, each in enumerate(instants)),
        time.alias(TIME),
        *_values(layout),
        *([functions.col(_ROW)] if granularity == "operation" else []),
    )
    return _without_ties(found, len(instants)) if granularity == "operation" else found


def column_at(path: Path) -> Any:
    """What stands at a place of a frame."""
    from pyspark.sql import functions

    return functions.col(".".join(map(quoted, path)))


def refusal(problem: Any) -> Any:
    """An error with the row that it is about."""
    from pyspark.sql import functions

    words = functions.lit(problem) if isinstance(problem, str) else problem
    return functions.raise_error(functions.concat(functions.lit("a row "), words, functions.lit(": "), _row()))


def _row() -> Any:
    from pyspark.sql import functions

    return functions.to_json(functions.col(_ROW))


def _kind(operations: Operations) -> Any:
    """The kind of change that a row is."""
    from pyspark.sql import functions

    code = column_at(operations.path)
    asked = functions.lower(code) if operations.any_case else code
    found: Any = functions
    for name, kind in operations.kinds.items():
        found = found.when(asked == name, functions.lit(kind))
    if operations.values:
        empty = reduce(and_, (column_at(path).isNull() for path in (operations.path, *operations.values)))
        if operations.tombstones is not None:
            found = found.when(empty, functions.lit(operations.tombstones))
        found = found.when(empty, refusal("is a tombstone; pass tombstones='skip' to leave those out").cast("int"))
    name = said(operations.path)
    for each, why in operations.refused.items():
        found = found.when(asked == each, refusal(f"has {name} = {each}, {why}").cast("int"))
    words = f", which is no kind of change; it is one of {operations.known}"
    unknown = functions.concat(functions.lit(f"has {name} = "), code, functions.lit(words))
    lacking = functions.lit(f"has no kind of change: {name} is NULL")
    return found.otherwise(refusal(functions.coalesce(unknown, lacking)).cast("int"))


def _complete(layout: Layout) -> Any:
    """The kind of a change that has the row that its kind demands."""
    from pyspark.sql import functions

    found = functions.col(KIND)
    for prefix, side in layout.sides.items():
        for kind in side.demanded:
            lacking = functions.lit(True) if side.row is None else column_at(side.row).isNull()
            refused = refusal(f"is {CALLED[kind]}, {no_values(side, prefix)}").cast("tinyint")
            found = functions.when((functions.col(KIND) == kind) & lacking, refused).otherwise(found)
    return found


def _time(clock: Clock) -> Any:
    """When a change happened."""
    from pyspark.sql import functions

    column = column_at(clock.path)
    if clock.unit is not None:
        column = functions.timestamp_micros(column.cast("bigint") * UNITS[clock.unit])
    elif clock.kind.is_integer:
        column = column.cast("bigint")
    elif clock.kind.arrow.tz is None:
        column = column.cast("timestamp_ntz")
    return _never_null(column, f"has no time: {said(clock.path)} is NULL")


def _never_null(column: Any, problem: str) -> Any:
    """A column whose NULLs are errors; the error stands where a NULL would be, so that it is of any type."""
    from pyspark.sql import functions

    return functions.coalesce(column, refusal(problem))


def _values(layout: Layout) -> list[Any]:
    from pyspark.sql import functions

    kinds = {each.name: each.dataType for each in spark_schema(pa.schema(layout.attributes))}
    found = []
    for prefix, side in layout.sides.items():
        for name, kind in kinds.items():
            path = side.paths.get(name)
            value = functions.lit(None) if path is None else column_at(path)
            told = functions.when(functions.col(KIND).isin(*side.kinds), value.cast(kind))
            found.append(told.alias(f"{prefix}{name}"))
    return found


def _without_ties(frame: Any, instants: int) -> Any:
    """No two operations are of one instant."""
    from pyspark.sql import Window, functions

    if frame.isStreaming:
        return frame.drop(_ROW)
    alike = Window.partitionBy(*(functions.col(quoted(f"{INSTANT}{place}")) for place in range(instants)))
    tied = "is of the same instant as another; add a column to order_by that tells operations apart"
    kind = functions.when(functions.count("*").over(alike) > 1, refusal(tied).cast("tinyint"))
    return frame.withColumn(KIND, kind.otherwise(functions.col(KIND))).drop(_ROW)
