"""A program over Spark frames that are all there: times at the edges, rules between.

Times come in as timestamps, with a zone or without, as dates or as integers; inside they are integers, microseconds for
all but the last; what is derived has times like those that came in. That a row has times, and ends after it begins, is
looked at when Spark computes it: a row that no rule asks for is not refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from acelera.algebra.names import BEGIN, END
from acelera.algebra.rules import Rule
from acelera.algebra.spark_batch import run_batch
from acelera.errors import SchemaError, UsageError, did_you_mean, listing
from acelera.spark.schemas import arrow_schema, is_frame, nullable
from acelera.spark.spark_expressions import quoted, ticks_of


@dataclass(frozen=True)
class EventColumns:
    """The columns that are no data: times, which are one for point events, and in one frame for all the label."""

    begin: str
    end: str
    label: str | None = None

    @classmethod
    def of(
        cls, *, time: str | None = None, begin: str | None = None, end: str | None = None, label: str | None = None
    ) -> EventColumns:
        """As a user names them.

        >>> EventColumns.of(time="ts")
        EventColumns(begin='ts', end='ts', label=None)
        """
        if time is not None and begin is None and end is None:
            return cls(time, time, label)
        if time is None and begin is not None and end is not None:
            return cls(begin, end, label)
        raise UsageError("when do events happen? Name one column with time=…, or two with begin=… and end=…")


def run_program(
    events: Any, rules: Sequence[Rule], rows: Mapping[str, pa.DataType], columns: EventColumns
) -> dict[str, Any]:
    """For each label that is derived the frame of its events: begin, end, and a column for each child.

    `events` are frames by label, or one frame with the labels in a column; `rows` are the types of all labels.
    """
    frames = frames_by_label(events, rows, columns)
    kind = _kind_of_time(frames, columns)
    inside = {label: _arriving(label, frame, columns, kind) for label, frame in frames.items()}
    found = run_batch(inside, rules, rows)
    return {label: _leaving(frame, kind) for label, frame in found.items()}


def frames_by_label(events: Any, labels: Iterable[str], columns: EventColumns) -> dict[str, Any]:
    """A frame for each label that came in."""
    from pyspark.sql import functions

    if not is_frame(events):
        return dict(events)
    if columns.label is None:
        raise UsageError("one frame has the events of all labels: name the column of labels with type_column=…")
    _demand(events, columns.label)
    told = functions.col(quoted(columns.label))
    return {label: events.filter(told == functions.lit(label)).drop(columns.label) for label in labels}


def row_types(frames: Mapping[str, Any], columns: EventColumns) -> dict[str, pa.DataType]:
    """For each label the type of its rows, without times."""
    apart = {columns.begin, columns.end, columns.label}
    return {
        label: pa.struct(
            [pa.field(each.name, nullable(each.type)) for each in arrow_schema(frame) if each.name not in apart]
        )
        for label, frame in frames.items()
    }


def _demand(frame: Any, name: str) -> None:
    if name not in frame.columns:
        raise SchemaError(
            f"there is no column `{name}`{did_you_mean(name, frame.columns)} (columns: {listing(frame.columns)})"
        )


# --- times --------------------------------------------------------------------------------------------------------

_KINDS = {
    "bigint": "integers",
    "int": "integers",
    "smallint": "integers",
    "tinyint": "integers",
    "timestamp": "times with a zone",
    "timestamp_ntz": "times without a zone",
    "date": "times without a zone",
}
"""What the types of Spark are as times."""


def _kind_of_time(frames: Mapping[str, Any], columns: EventColumns) -> str:
    """What all times are."""
    found: dict[str, str] = {}
    for label, frame in frames.items():
        for name in (columns.begin, columns.end):
            _demand(frame, name)
            spark_type = frame.schema[name].dataType.simpleString()
            if spark_type not in _KINDS:
                message = f"the column `{name}` of `{label}` is no time: it is {spark_type}"
                raise SchemaError(f"{message}, not a timestamp, a date or an integer")
            found.setdefault(_KINDS[spark_type], f"`{name}` of `{label}`")
    if len(found) > 1:
        (one, where), (other, there), *_ = found.items()
        raise SchemaError(f"{where} has {one}, {there} {other}; times of different kinds cannot be compared: cast one")
    return next(iter(found), "integers")


def _arriving(label: str, frame: Any, columns: EventColumns, kind: str) -> Any:
    """The events of a label with their times inside, which are looked at."""
    from pyspark.sql import functions

    begin, end = (_ticks(functions.col(quoted(name)), kind) for name in (columns.begin, columns.end))
    row = functions.to_json(functions.struct("*"))
    lacking = f"an event of `{label}` has no time: {{}} is NULL in "
    refused = functions.when(begin.isNull(), _refused(lacking.format(columns.begin), row))
    if columns.begin != columns.end:
        refused = refused.when(end.isNull(), _refused(lacking.format(columns.end), row))
        message = f"an event of `{label}` ends before it begins ({columns.begin} > {columns.end}): "
        refused = refused.when(begin > end, _refused(message, row))
    data = [each for each in frame.columns if each not in (columns.begin, columns.end)]
    return frame.select(
        *(functions.col(quoted(each)) for each in data),
        refused.otherwise(begin).alias(BEGIN),
        refused.otherwise(end).alias(END),
    )


def _refused(message: str, row: Any) -> Any:
    from pyspark.sql import functions

    return functions.raise_error(functions.concat(functions.lit(message), row)).cast("bigint")


def _ticks(column: Any, kind: str) -> Any:
    if kind == "integers":
        return column.cast("bigint")
    if kind == "times with a zone":
        return ticks_of(column, zoned=True)
    return ticks_of(column.cast("timestamp_ntz"), zoned=False)


def _leaving(frame: Any, kind: str) -> Any:
    """Derived events with times like those that came in."""
    from pyspark.sql import functions

    data = [each for each in frame.columns if each not in (BEGIN, END)]
    times = [_time(quoted(name), kind).alias(name.removeprefix("#")) for name in (BEGIN, END)]
    return frame.select(*times, *(functions.col(quoted(each)) for each in data))


def _time(column: str, kind: str) -> Any:
    from pyspark.sql import functions

    if kind == "times with a zone":
        return functions.timestamp_micros(functions.col(column))
    if kind == "times without a zone":
        return functions.expr(f"timestampadd(MICROSECOND, {column}, TIMESTAMP_NTZ '1970-01-01 00:00:00')")
    return functions.col(column)
