"""A program over frames that are still growing: rows wait until the watermark has passed their end, and enter engines.

Rows travel with their label, their times, and their data as a struct, in one column for all labels that have the same
columns. A row goes to each component of the rules that asks for its label or derives it; `stream_task` says what
happens there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from os import PathLike
from typing import Any

import pyarrow as pa

from acelera.errors import SchemaError, UsageError, did_you_mean, listing
from acelera.language.schema import names_alike
from acelera.language.types import Type, from_arrow
from acelera.programs.components import Component
from acelera.programs.stream_task import BEGIN, END, TIMESTAMP, TYPE, ProgramTask
from acelera.spark.buckets import BUCKETS
from acelera.spark.hosting import Transport, hosted, unpacked, with_late_events
from acelera.spark.results import OutOfOne
from acelera.spark.running import all_grow, refuse_alike, see_to_python, tells_case
from acelera.spark.schemas import arrow_schema, spark_schema
from acelera.spark.spark_expressions import quoted
from acelera.spark.watermarks import check_requirements, check_watermark, delay_of, with_watermark


@dataclass(frozen=True)
class Streamed(OutOfOne):
    """All that a program derives from a stream: a frame for each label, as `run` gives it for tables.

    `frame` has the columns type and those of times, and a struct for each label that has children. What is written of
    `streamed["fire"]` and of `streamed["burnt_down"]` are two streams to Spark, each of which runs the whole program.
    """

    times: tuple[str, ...] = (BEGIN, END)

    def part(self, name: str) -> Any:
        """The events of one label: their times, and their children."""
        from pyspark.sql import functions

        children = self.outputs[name].names
        taken = next((child for child in children if child.lower() in map(str.lower, self.times)), None)
        if taken is not None:
            raise UsageError(
                f"`{name}` has a child `{taken}`, which would stand beside the time of that name; take it out of "
                f"the struct of `frame` yourself"
            )
        own = self.frame.filter(functions.col(TYPE) == name)
        inner = (functions.col(f"{quoted(name)}.{quoted(child)}").alias(child) for child in children)
        return own.select(*map(quoted, self.times), *inner)

    def unknown(self, name: str) -> str:
        """No rule makes it."""
        return f"no rule makes `{name}`{did_you_mean(name, self.outputs)} (it has {listing(self.outputs)})"


def run_streaming(
    frames: Any,
    task: ProgramTask,
    late_events: str | None = None,
    checkpoint: str | PathLike[str] | None = None,
) -> Streamed:
    """What a program derives from a growing frame with a column for the label, or from one for each label.

    Late rows are counted, and kept in a column of the name `late_events` if there is one: label, times, and a struct of
    its data for each label.
    """
    parts = {**frames} if isinstance(frames, Mapping) else {None: frames}
    if isinstance(frames, Mapping):
        all_grow(frames)
    for label, each in parts.items():
        _check(each, label, task)
    frame = next(iter(parts.values()))
    see_to_python(frame.sparkSession)
    check_requirements(frame, max(BUCKETS, len(task.places)))
    columns = _result(task, late_events, tells_case(frame))
    moved = reduce(
        lambda one, two: one.unionByName(two), (_travelling(each, label, task) for label, each in parts.items())
    )
    found = _processed(moved, task, late_events is not None, checkpoint)
    derived = unpacked(found, columns, task.fingerprint)
    return Streamed(with_watermark(derived, END, delay_of(frame, task.end)), task.outputs)


def _result(task: ProgramTask, late_events: str | None, tells_case: bool) -> pa.Schema:
    """The columns of the result, with one for late events if it has a name."""
    data = [pa.field(label, pa.struct(schema)) for label, schema in task.outputs.items() if len(schema)]
    found = pa.schema([(TYPE, pa.string()), (BEGIN, TIMESTAMP), (END, TIMESTAMP), *data])
    refuse_taken(found.names, 3, tells_case)
    if late_events is None:
        return found
    refuse_taken([TYPE, BEGIN, END, *task.labels], 3, tells_case)
    return with_late_events(found, late_events, task.late_type)


def refuse_taken(names: Sequence[str], own: int, tells_case: bool) -> None:
    """Labels are columns behind so many others, and Spark need not tell those apart by case."""
    taken = next((name for name in names[own:] if name in names[:own]), None)
    alike = (taken, taken) if taken else None if tells_case else names_alike(names)
    if alike is not None:
        raise UsageError(
            f"the label `{alike[1]}` would be a column beside `{alike[0]}`, which Spark does not tell apart; give the "
            "label another name"
        )


# --- rows ---------------------------------------------------------------------------------------------------------


def _check(frame: Any, label: str | None, task: ProgramTask) -> None:
    """A frame has the columns that are needed, and a watermark on the one that tells when events end."""
    where = "" if label is None else f" of the frame of {label}"
    if label is not None and label not in task.labels:
        raise UsageError(f"no columns are known of `{label}`{did_you_mean(label, task.labels)}")
    data = task.labels.values() if label is None else [task.labels[label]]
    times = [name for name in (task.begin, task.end) if name is not None]
    read = dict.fromkeys(
        [*([task.type_column] if label is None else []), *times, *(n for each in data for n in each.names)]
    )
    for name in read:
        if name not in frame.columns:
            near = did_you_mean(name, frame.columns)
            raise SchemaError(f"there is no column `{name}`{where}{near} (columns: {listing(frame.columns)})")
    if not tells_case(frame):
        refuse_alike(frame, read, task.noun)
    check_watermark(frame, task.end, _type_of(frame, task.end), where)
    begin = None if task.begin is None else _type_of(frame, task.begin)
    if begin is not None and not begin.zoned:
        raise UsageError(
            f"`{task.begin}`{where} is of type {begin}, but `{task.end}` is a time with a zone; cast it before: "
            f'df.withColumn("{task.begin}", col("{task.begin}").cast("timestamp"))'
        )


def _type_of(frame: Any, name: str) -> Type:
    return from_arrow(arrow_schema(frame.select(quoted(name))).field(0).type)


def _travelling(frame: Any, label: str | None, task: ProgramTask) -> Any:
    """Label, times and data of the rows of a frame."""
    from pyspark.sql import functions

    kind = functions.col(quoted(task.type_column)).cast("string") if label is None else functions.lit(label)
    times = zip(task.times, filter(None, (task.begin, task.end)), strict=True)
    data = [_data(schema, slot, kind, label, task) for schema, slot in task.slots.items()]
    return frame.select(kind.alias(TYPE), *(functions.col(quoted(name)).alias(to) for to, name in times), *data)


def _data(schema: pa.Schema, slot: str, kind: Any, label: str | None, task: ProgramTask) -> Any:
    """The struct of the data of those rows that have such columns."""
    from pyspark.sql import functions

    wanted = spark_schema(schema)
    labels = [each for each, own in task.labels.items() if own == schema]
    if label is not None and label not in labels:
        return functions.lit(None).cast(wanted).alias(slot)
    columns = (functions.col(quoted(each.name)).cast(each.dataType).alias(each.name) for each in wanted.fields)
    return functions.when(kind.isin(labels), functions.struct(*columns)).cast(wanted).alias(slot)


def _processed(rows: Any, task: ProgramTask, late_events: bool, checkpoint: str | PathLike[str] | None) -> Any:
    """What each bucket gives."""
    names, spread, routes = tuple(rows.columns), [], []
    for number, component in enumerate(task.components):
        first = task.places.index(component)
        spread.append(_spread(component, first, task).cast("int").alias(f"spread{number}"))
        routes.append(names if late_events else tuple(task.columns(first)))  # late rows are whole
    transport = Transport(names, tuple(routes), len(task.places))
    return hosted(rows.select(*spread, *names), transport, task, late_events, checkpoint)


def _spread(component: Component, first: int, task: ProgramTask) -> Any:
    """The bucket of each row that a component needs; NULL for others, also those that have no key."""
    from pyspark.sql import functions

    kind = functions.col(TYPE)
    if not component.key:
        needed = kind.isNotNull() if component.reads_all else kind.isin(task.needed(component))
        return functions.when(needed, functions.lit(first))
    found = functions.lit(None)
    for label in task.needed(component):
        name = component.key[label]
        if name in task.labels[label].names:
            key = functions.col(task.slot(label)).getField(name)
            place = functions.pmod(functions.xxhash64(key), functions.lit(BUCKETS)) + functions.lit(first)
            found = functions.when((kind == label) & key.isNotNull(), place).otherwise(found)
    return found
