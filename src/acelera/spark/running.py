"""From a query and a frame to the frame of its matches."""

from __future__ import annotations

import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.predicates.letters import LETTER
from acelera.errors import AceleraWarning, SchemaError, UsageError
from acelera.language.schema import Schema, names_alike
from acelera.language.sorting import arranges
from acelera.spark.alone import Alone, run_alone
from acelera.spark.batch import relevant, run_batch
from acelera.spark.pipeline import pipeline_of
from acelera.spark.schemas import arrow_schema, nullable, spark_schema
from acelera.spark.spark_expressions import JvmTests, quoted
from acelera.spark.streaming import check_order, run_streaming

_DEFAULT_PYTHON = "python3"
"""What Spark's workers run if nothing is said."""


def described(frames: Any, schema_of: Callable[[object], Schema]) -> tuple[Any, Schema]:
    """One frame, and the schema of its stream; a frame for each event type becomes one with a column for the type."""
    if isinstance(frames, Mapping):
        schema = schema_of({name: _types(arrow_schema(frame)) for name, frame in frames.items()})
        _check_frames(frames, schema)
        frame = reduce(lambda left, right: left.unionByName(right), (_typed(*each, schema) for each in frames.items()))
    else:
        frame, schema = frames, schema_of(arrow_schema(frames))
    if not schema.order_by:
        raise UsageError("rows of a Spark DataFrame have no order of their own; say it with order_by=…")
    return _with_fields(frame, schema), schema


def _with_fields(frame: Any, schema: Schema) -> Any:
    """The frame with columns for the fields of structs that a query speaks of; Spark reads these alone."""
    from pyspark.sql import functions

    columns = {}
    for name, (path, _) in schema.fields.items():
        columns[name] = reduce(lambda column, each: column.getField(each), path[1:], functions.col(quoted(path[0])))
    return frame.withColumns(columns) if columns else frame


def _check_frames(frames: Mapping[str, Any], schema: Schema) -> None:
    """All frames have what orders the stream, and all of them grow, with a watermark each, or none."""
    growing = all_grow(frames)
    for name, frame in frames.items():
        for column in schema.order_by:
            if column not in frame.columns:
                raise SchemaError(f"order_by: there is no column `{column}` in the frame of {name}")
        if growing:
            check_order(frame, schema, f" of the frame of {name}")
    alike = None if tells_case(frame) else names_alike(schema.columns)
    if alike is not None:
        raise UsageError(
            f"the frames have columns `{alike[0]}` and `{alike[1]}`, which Spark does not tell apart; rename one, or "
            "set spark.sql.caseSensitive to true"
        )


def all_grow(frames: Mapping[str, Any]) -> bool:
    """Whether all frames grow, or none."""
    growing = [name for name, frame in frames.items() if frame.isStreaming]
    whole = [name for name in frames if name not in growing]
    if growing and whole:
        raise UsageError(
            f"the frame of {growing[0]} is a stream, that of {whole[0]} is not; read both with readStream or with read"
        )
    return bool(growing)


def tells_case(frame: Any) -> bool:
    """Whether Spark tells names apart by case, which it does if told to."""
    return str(frame.sparkSession.conf.get("spark.sql.caseSensitive", "false")) == "true"


def _types(schema: pa.Schema) -> dict[str, pa.DataType]:
    return {each.name: nullable(each.type) for each in schema}


def _typed(name: str, frame: Any, schema: Schema) -> Any:
    """A frame of one event type with all columns of the stream."""
    from pyspark.sql import functions

    known = set(frame.columns)
    wanted = spark_schema(pa.schema([pa.field(each, kind.arrow) for each, kind in schema.in_tables.items()]))
    columns = []
    for each in wanted.fields:
        if each.name in known and frame.schema[each.name].dataType == each.dataType:
            columns.append(functions.col(quoted(each.name)))  # as it is, with its watermark
            continue
        if each.name == schema.type_column:
            column = functions.lit(name)
        else:
            column = functions.col(quoted(each.name)) if each.name in known else functions.lit(None)
        columns.append(column.cast(each.dataType).alias(each.name))
    return frame.select(*columns)


def refuse_names(frame: Any, query: CompiledQuery, with_all_columns: bool) -> None:
    """One name is taken, and Spark does not tell names apart by case, unless told to."""
    read = list(query.schema.columns) if with_all_columns else query.columns_read()
    if LETTER in read:
        raise UsageError(f"a column is called {LETTER!r}, which has a meaning of its own on Spark; rename it")
    if tells_case(frame):
        return
    refuse_alike(frame, read, "query")
    both = names_alike(query.result_schema.names)
    if both is not None:
        raise UsageError(
            f"two columns of the result are called `{both[0]}` and `{both[1]}`, which Spark does not tell apart; "
            "name them otherwise (… AS name), or set spark.sql.caseSensitive to true"
        )


def refuse_alike(frame: Any, read: Iterable[str], noun: str) -> None:
    """Columns that are read have no others beside them that differ in case alone."""
    for name in read:
        alike = [other for other in frame.columns if other.lower() == name.lower() and other != name]
        if alike:
            raise UsageError(
                f"the {noun} reads the column `{name}`, which Spark does not tell apart from `{alike[0]}`; rename one, "
                "or set spark.sql.caseSensitive to true"
            )


def cores(spark: Any) -> float:
    """How many tasks run at once; of a cluster that is reached by a connection nobody knows, so that they are many."""
    return inf if is_connected(spark) else int(spark.sparkContext.defaultParallelism)


def is_connected(spark: Any) -> bool:
    """Whether a session is of Spark Connect: the server is elsewhere."""
    return ".connect." in type(spark).__module__


def see_to_python(spark: Any) -> None:
    """On one machine, workers run this Python if nobody has said which; another most likely lacks what this one has."""
    if is_connected(spark):  # the workers' Python is the server's affair
        return
    context = spark.sparkContext
    if not context.master.startswith("local"):
        return
    if "PYSPARK_PYTHON" not in os.environ and context.pythonExec == _DEFAULT_PYTHON and sys.executable:
        context.pythonExec = sys.executable  # Spark asks for it with every function that it is given
    theirs = shutil.which(context.pythonExec)
    if theirs is not None and Path(theirs).absolute() != Path(sys.executable).absolute():
        warnings.warn(
            f"Spark's workers run {theirs}, this process {sys.executable}; if acelera is missing there, set "
            f"PYSPARK_PYTHON={sys.executable} before Spark is started",
            AceleraWarning,
            stacklevel=4,
        )


def refuse_order_of_arrival(ties: str) -> None:
    """Rows of a frame come in any order."""
    if ties == "keep":
        raise UsageError(
            "ties='keep' is for tables in this process: rows of a Spark DataFrame have no order of arrival; ties='any' "
            "orders rows that tie by all their columns"
        )


def refuse_checkpoint_of_batch(checkpoint: object, streaming: bool) -> None:
    """Only streams have checkpoints."""
    if checkpoint is not None and not streaming:
        raise UsageError("checkpoint=… is for streams: a frame that is all there has none; leave it out")


def refuse_options(frame: Any, late_events: str | None, until: int | None, checkpoint: object = None) -> None:
    """What is for streams alone is not for frames that are all there, and the other way round."""
    refuse_checkpoint_of_batch(checkpoint, frame.isStreaming)
    if late_events is not None and not frame.isStreaming:
        raise UsageError("late_events=… is for streams: in a frame that is all there no event comes late; leave it out")
    if until is not None and frame.isStreaming:
        raise UsageError(
            "until=… is for frames that are all there: the clock of a stream is its watermark; leave it out"
        )


def run(
    query: CompiledQuery,
    frame: Any,
    late_events: str | None = None,
    until: int | None = None,
    checkpoint: str | PathLike[str] | None = None,
    ties: str = "error",
) -> Any:
    """The frame of the matches of a query."""
    refuse_options(frame, late_events, until, checkpoint)
    refuse_names(frame, query, late_events is not None or arranges(ties))
    see_to_python(frame.sparkSession)
    pipeline = pipeline_of(query, frame.isStreaming, ties)
    if frame.isStreaming:
        return run_streaming(frame, query, pipeline, late_events, checkpoint)
    if isinstance(pipeline.alone, Alone) and until is None:
        rows = frame.filter(relevant(pipeline, JvmTests(query.schema)))
        return run_alone(rows, query, pipeline.alone, pipeline.keys, pipeline.sliced)
    return run_batch(frame, query, pipeline, until)
