"""Programs over Spark frames: what is all there as SQL, what still grows in buckets with an engine each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from acelera.errors import UsageError
from acelera.programs.announcement import Announced
from acelera.xchangeeq.buckets import BucketEngines
from acelera.xchangeeq.checker import Checked
from acelera.xchangeeq.engine import compiled

if TYPE_CHECKING:
    from acelera.programs.spark_streaming import Streamed
    from acelera.programs.stream_task import ProgramTask


def is_growing(frames: Any) -> bool:
    """Whether one of the frames is a stream."""
    return any(each.isStreaming for each in (frames.values() if isinstance(frames, Mapping) else [frames]))


def stream_task(checked: Checked, stream: Announced, aggregates: str, fingerprint: str) -> ProgramTask:
    """A program as the buckets of a stream run it."""
    from acelera.programs.stream_task import ProgramTask

    if stream.kind.is_integer:
        raise UsageError("Spark has watermarks for times, not for integers; cast the column to a timestamp")
    program = compiled(checked, stream.kind.tick, stream.longest, aggregates)
    engines = BucketEngines(
        f"{fingerprint} {sorted(stream.longest.items())}", program.rules, program.rows, checked.base
    )
    how = stream.how
    begin = None if how.points else how.begin
    asked = {label: schema for label, schema in stream.labels.items() if label in program.rows}
    task = ProgramTask(program.rules, asked, checked.schemas, engines, how.end, begin, how.type_column)
    if not any(each.reads_all for each in task.components):
        return task
    others = dict.fromkeys({*stream.labels, *(stream.others or ())} - asked.keys(), pa.schema([]))
    return replace(task, labels={**asked, **dict(sorted(others.items()))})  # clocks begin with these, too


def run_stream(
    frames: Any,
    checked: Checked,
    stream: Announced,
    aggregates: str,
    fingerprint: str,
    late_events: str | None,
    checkpoint: str | PathLike[str] | None = None,
) -> Streamed:
    """All that a program derives from frames that grow."""
    from acelera.programs.spark_streaming import run_streaming

    task = stream_task(checked, stream, aggregates, fingerprint)
    if isinstance(frames, Mapping):
        frames = {label: frame for label, frame in frames.items() if label in task.labels}
    return run_streaming(frames, task, late_events, checkpoint)


def run_whole_frames(frames: Any, checked: Checked, stream: Announced, aggregates: str) -> dict[str, Any]:
    """A frame for each label that a program derives from frames that are all there."""
    from acelera.programs.spark_batch import run_frames

    program = compiled(checked, stream.kind.tick, stream.longest, aggregates)
    return run_frames(frames, program.rules, program.rows, stream, checked.outputs)


def columns_of_frames(frames: Any) -> pa.Schema | dict[str, pa.Schema]:
    """The columns of one frame for all labels, or of one for each."""
    from acelera.spark.schemas import arrow_schema, nullable

    def columns(frame: Any) -> pa.Schema:
        return pa.schema([pa.field(each.name, nullable(each.type)) for each in arrow_schema(frame)])

    return {label: columns(each) for label, each in frames.items()} if isinstance(frames, Mapping) else columns(frames)


def explained_on_spark(frames: Any, checked: Checked, stream: Announced, aggregates: str) -> list[str]:
    """How Spark runs a program."""
    from acelera.algebra.operators import lines_of
    from acelera.algebra.windows import whole
    from acelera.programs.components import lines

    if is_growing(frames):
        task = stream_task(checked, stream, aggregates, "")
        waits = "where no more rows come, the watermark stands still, and so do timers"
        return ["on Spark, as a stream", *(f"  {line}" for line in (*lines(task.components), waits))]
    program = compiled(checked, stream.kind.tick, stream.longest, aggregates)
    found = ["on Spark, as SQL: a statement for each rule over the events of its labels"]
    for rule in program.rules:
        found += [f"  {line}" for line in lines_of(whole(rule))]
    return found
