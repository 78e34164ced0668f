"""A program over Spark frames that are all there: times at the edges, rules between.

Times come in as timestamps, with a zone or without, as dates or as integers; inside they are integers, and what is
derived has times like those that came in. That a row has times, ends after it begins, and lasts no longer than was told
is looked at when Spark computes it: a row that no rule asks for is not refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any

import pyarrow as pa

from acelera.algebra.names import BEGIN, END
from acelera.algebra.rules import Rule
from acelera.algebra.spark_batch import run_batch
from acelera.programs.announcement import Announced
from acelera.programs.outputs import TIMES
from acelera.programs.times import TimeKind
from acelera.spark.schemas import is_frame
from acelera.spark.spark_expressions import quoted, ticks_of


def run_frames(
    events: Any, rules: Sequence[Rule], rows: Mapping[str, pa.StructType], announced: Announced, made: Iterable[str]
) -> dict[str, Any]:
    """For each label of `made` the frame of its events: begin, end, and a column for each child, in no order.

    `events` are frames by label, or one frame with the labels in a column; `rows` are the types of all labels.
    """
    frames = _by_label(events, announced)
    inside = {label: _arriving(label, frame, announced) for label, frame in frames.items()}
    found = run_batch(inside, rules, rows, made)
    return {label: _leaving(frame, announced.kind) for label, frame in found.items()}


def _by_label(events: Any, announced: Announced) -> dict[str, Any]:
    """A frame for each label, and one for all that no rule asks for: clocks tick as long as anything happens."""
    from pyspark.sql import functions

    if not is_frame(events):
        return dict(events)
    name = announced.how.type_column
    told = functions.col(quoted(name))
    both = functions.concat(functions.lit("there is an event of "), told, functions.lit(_MADE))
    refused = functions.when(told.isin(sorted(announced.made)), functions.raise_error(both).cast("boolean"))
    lacking = functions.lit(f"an event has no label: {name} is NULL")
    refused = refused.when(told.isNull(), functions.raise_error(lacking).cast("boolean"))
    found = {label: events.filter(refused.otherwise(told == label)).drop(name) for label in announced.labels}
    return {**found, _OTHERS: events.filter(~told.isin(*announced.labels)).drop(name)}


_OTHERS = ""
_MADE = ", which rules make, too; give a mapping of labels to frames, so that its columns are known"


# --- times --------------------------------------------------------------------------------------------------------


def _arriving(label: str, frame: Any, announced: Announced) -> Any:
    """The events of a label with their times inside; whoever looks at a time finds out if the row has no sound one."""
    from pyspark.sql import functions

    how = announced.how
    begin, end = (_ticks(functions.col(quoted(name)), announced.kind) for name in (how.begin, how.end))
    refused = functions.when(begin.isNull(), _refusal(label, f"has no time: {how.begin} is NULL"))
    if not how.points:
        refused = refused.when(end.isNull(), _refusal(label, f"has no time: {how.end} is NULL"))
        refused = refused.when(begin > end, _refusal(label, f"ends before it begins ({how.begin} > {how.end})"))
        longest = announced.longest.get(label, inf)
        if longest < inf:
            lasting = _refusal(label, "lasts longer than longest=… says")
            refused = refused.when(end - begin > functions.lit(int(longest)), lasting)
    data = [functions.col(quoted(each)) for each in frame.columns if each not in how.times]
    return frame.select(*data, refused.otherwise(begin).alias(BEGIN), refused.otherwise(end).alias(END))


def _refusal(label: str, problem: str) -> Any:
    """An error with the row that it is about, in the place of a time."""
    from pyspark.sql import functions

    row = functions.to_json(functions.struct("*"))
    message = functions.concat(functions.lit(f"an event of `{label}` {problem}: "), row)
    return functions.raise_error(message).cast("bigint")


def _ticks(column: Any, kind: TimeKind) -> Any:
    if kind.is_integer:
        return column.cast("bigint")
    zoned = kind.arrow.tz is not None
    return ticks_of(column if zoned else column.cast("timestamp_ntz"), zoned)


def _leaving(frame: Any, kind: TimeKind) -> Any:
    """Derived events with times like those that came in."""
    from pyspark.sql import functions

    times = [_time(quoted(name), kind).alias(shown) for name, shown in zip((BEGIN, END), TIMES, strict=True)]
    return frame.select(*times, *(functions.col(quoted(each)) for each in frame.columns if each not in (BEGIN, END)))


def _time(column: str, kind: TimeKind) -> Any:
    from pyspark.sql import functions

    if kind.is_integer:
        return functions.col(column)
    if kind.arrow.tz is not None:
        return functions.timestamp_micros(functions.col(column))
    seconds = f"CAST({column} AS DECIMAL(20, 0)) / 1000000"
    return functions.expr(f"TIMESTAMP_NTZ '1970-01-01 00:00:00' + make_dt_interval(0, 0, 0, {seconds})")
