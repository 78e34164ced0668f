"""A query over a frame that is still growing: rows wait until the watermark has passed them, and enter a session.

Keys are spread over buckets, and a session serves all keys of a bucket; `hosting` says how it is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, ClassVar

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.session.session import Session
from acelera.engine.summaries.summary_session import SummarySession
from acelera.language.schema import Schema
from acelera.spark.batch import Task, names_of, relevant, travelling
from acelera.spark.buckets import BUCKETS, NEVER, Running
from acelera.spark.floods import most_per_event, watched_rows
from acelera.spark.hosting import Transport, hosted, unpacked, with_late_events
from acelera.spark.metrics import Told
from acelera.spark.pipeline import Pipeline
from acelera.spark.spark_expressions import JvmTests, quoted
from acelera.spark.summary_shares import time_column
from acelera.spark.watermarks import check_requirements, check_watermark, delay_of, with_watermark

SPREAD = "spread"
"""A column that travels beside those of the stream: the bucket of a row that matters."""


def run_streaming(
    frame: Any,
    query: CompiledQuery,
    pipeline: Pipeline,
    late_events: str | None,
    checkpoint: str | PathLike[str] | None = None,
) -> Any:
    """The growing frame of the matches, and of late events in a column of that name if there is one."""
    check_order(frame, query.schema)
    check_requirements(frame, BUCKETS)
    columns, found = query.result_schema, _processed(frame, query, pipeline, late_events is not None, checkpoint)
    if late_events is not None:
        columns = with_late_events(columns, late_events, pa.struct(stream_columns(query.schema)))
    matches = unpacked(found, columns, query.fingerprint)
    return with_watermark(matches, time_column(query), delay_of(frame, query.schema.order_by[0]))


def check_order(frame: Any, schema: Schema, where: str = "") -> None:
    """The first column of the order is a time with a watermark."""
    first = schema.order_by[0]
    check_watermark(frame, first, schema.columns[first], where)


def _processed(
    frame: Any,
    query: CompiledQuery,
    pipeline: Pipeline,
    late_events: bool,
    checkpoint: str | PathLike[str] | None,
) -> Any:
    """What each bucket gives."""
    from pyspark.sql import functions

    schema, tests = query.schema, JvmTests(query.schema)
    columns = pipeline.columns(query)
    watched = Task(query, pipeline.in_jvm, ties=pipeline.ties, most=most_per_event(frame))
    task = QueryTask(watched, tuple(names_of(columns, pipeline)))
    if late_events:  # whole
        columns += [name for name in schema.in_tables if name not in columns]
    bucket = functions.lit(0)
    if pipeline.keys:
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in pipeline.keys))
        bucket = functions.pmod(hashed, functions.lit(BUCKETS)).cast("int")
    spread = functions.when(relevant(pipeline, tests), bucket).alias(SPREAD)
    moved = frame.select(spread, *travelling(columns, query, pipeline, tests))
    names = tuple(names_of(columns, pipeline))
    transport = Transport(names, (names,), BUCKETS if pipeline.keys else 1)
    return hosted(moved, transport, task, late_events, checkpoint)


def stream_columns(schema: Schema) -> pa.Schema:
    """The columns of a stream."""
    return pa.schema([pa.field(name, kind.arrow) for name, kind in schema.in_tables.items()])


@dataclass(frozen=True)
class QueryTask:
    """A query as buckets run it; a session reads the columns that are `kept`."""

    noun: ClassVar[str] = "query"
    task: Task
    kept: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """That of the query and its stream."""
        return self.task.fingerprint

    @property
    def time(self) -> str:
        """The column that the stream is ordered by."""
        return self.task.query.schema.order_by[0]

    def columns(self, bucket: int) -> Sequence[str]:
        """The same in all buckets."""
        return self.kept

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced; one that has no place in the order is refused."""
        return conformed(rows, self.task.query.schema)

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """The columns of the stream."""
        return rows.select(list(self.task.query.schema.in_tables))

    def open(self, bucket: int) -> Running:
        """A session."""
        return running(self.task.session(), self.task.query.schema, self.task.most)

    def resume(self, bucket: int, snapshot: bytes) -> Running:
        """A session that goes on."""
        return running(self.task.resumed(snapshot), self.task.query.schema, self.task.most)


def conformed(rows: pa.Table, schema: Schema) -> pa.Table:
    """Rows of the types that were announced; one that has no place in the order is refused."""
    kinds = [schema.columns[each.name].arrow if each.name in schema.columns else each.type for each in rows.schema]
    rows = rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))
    order_columns(rows, schema, None)
    return rows


def running(session: Session, schema: Schema, most: float | None = None) -> Running:
    """A session as it runs in a bucket."""
    return Totalling(session, schema) if isinstance(session, SummarySession) else Matching(session, schema, most)


def told_by(session: Session) -> Told:
    """What a session has counted."""
    return Told(session.matches, session.tied, session.dropped, session.partial_matches)


@dataclass(frozen=True)
class Matching:
    """A session that runs in a bucket. Nothing happens in it unless rows come, or matches wait for time to pass."""

    session: Session
    schema: Schema
    most: float | None = None  # matches per event

    @property
    def due(self) -> int:
        """When the next match is known."""
        due = self.session.due()
        return NEVER if due is None else due

    @property
    def told(self) -> Told:
        """What the session has counted."""
        return told_by(self.session)

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """Read rows; the matches that are known, since no row comes any more up to now."""
        if rows is not None:
            indices = sorted_indices(order_columns(rows, self.schema, None))
            pages = self.session.pages(rows if indices is None else rows.take(pa.array(indices)))
            yield from watched_rows(self.session, pages, self.most)
        if self.session.due() is not None:
            yield from self.session.advance(now + 1).to_batches()
        self.session.compact()

    def snapshot(self) -> bytes:
        """That of the session."""
        return self.session.snapshot()


@dataclass(frozen=True)
class Totalling:
    """A summary that runs in a bucket. Groups become complete as time goes by, also if no rows come."""

    session: SummarySession
    schema: Schema

    @property
    def due(self) -> int:
        """When the next group is complete."""
        due = self.session.due()
        return NEVER if due is None else due

    @property
    def told(self) -> Told:
        """What the session has counted."""
        return told_by(self.session)

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """Read rows; the groups that are complete, since no row comes any more up to now."""
        if rows is not None:
            indices = sorted_indices(order_columns(rows, self.schema, None))
            yield from self.session.stream(rows if indices is None else rows.take(pa.array(indices)))
        yield from self.session.advance(now + 1).to_batches()
        self.session.compact()

    def snapshot(self) -> bytes:
        """That of the session."""
        return self.session.snapshot()
