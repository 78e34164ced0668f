"""Programs over Spark frames: where all statements have keys in common, one pass through all of them for each key.

Without keys in common one task reads the whole stream in order, as it does for a query without PARTITION BY.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.storage.snapshots import fingerprint_of, unpack
from acelera.errors import UsageError
from acelera.language.sorting import arranges
from acelera.language.types import Kind
from acelera.spark.arrow_batches import Batches, gathered
from acelera.spark.buckets import BUCKETS, NEVER
from acelera.spark.metrics import Told
from acelera.spark.running import refuse_alike, refuse_checkpoint_of_batch, see_to_python, tells_case
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted
from acelera.spark.worker_errors import told_in_short
from acelera.streams.plan import Plan
from acelera.streams.stream_session import StreamSession

if TYPE_CHECKING:
    from acelera.programs.spark_streaming import Streamed

TYPE = "type"
"""The column of a result that tells which stream an event is of."""


def run_frames(
    frame: Any,
    plan: Plan,
    fingerprint: str,
    late_events: str | None,
    checkpoint: str | PathLike[str] | None = None,
    ties: str = "error",
) -> dict[str, Any] | Streamed:
    """A frame for each stream that is made; or all of them in one, if rows still come."""
    if not tells_case(frame):
        refuse_alike(frame, Task(plan, fingerprint, ties).columns, "program")
    see_to_python(frame.sparkSession)
    if frame.isStreaming:
        return _run_growing(frame, Task(plan, fingerprint, ties), late_events, checkpoint)
    refuse_checkpoint_of_batch(checkpoint, False)
    if late_events is not None:
        raise UsageError("late_events=… is for streams: in a frame that is all there no event comes late; leave it out")
    return {name: _run_whole(frame, Task(plan.only(name), fingerprint, ties), name) for name in plan.names}


def lines(frames: Any, plan: Plan) -> list[str]:
    """How Spark runs a program."""
    growing = any(each.isStreaming for each in (frames.values() if isinstance(frames, Mapping) else [frames]))
    if growing:
        where = _where(plan, f"in {BUCKETS} buckets with a state each")
        return ["on Spark, as a stream: rows wait for the watermark; then all statements in one pass", where]
    found = ["on Spark, for each stream one pass through the statements that it is made of"]
    return [*found, *(f"{name}: {_where(plan.only(name), 'many keys a task')}" for name in plan.names)]


def _where(plan: Plan, how: str) -> str:
    if plan.keys:
        return f"split by {', '.join(plan.keys)}, {how}"
    if len(plan.steps) == 1:
        return "one task reads the whole stream in order: PARTITION BY would split it"
    return (
        "one task reads the whole stream in order: a key that all statements are partitioned by, and that they select "
        "(PARTITION BY user, SELECT user, …), would split it"
    )


@dataclass(frozen=True)
class Task:
    """A program as workers run it."""

    plan: Plan
    program: str
    ties: str = "error"

    @property
    def columns(self) -> list[str]:
        """The columns of what comes in that are read: all, to order rows that tie by them."""
        return list(self.plan.base.columns) if arranges(self.ties) else self.plan.columns_read()

    @cached_property
    def fingerprint(self) -> str:
        """What tells the program and its stream from others."""
        base = self.plan.base
        columns = {name: str(kind.arrow) for name, kind in base.columns.items()}
        ties = () if self.ties == "error" else (self.ties,)
        return fingerprint_of(repr((self.program, columns, base.order_by, base.type_column, self.plan.names, *ties)))

    def session(self, snapshot: bytes | None = None) -> StreamSession:
        """A session, which goes on from a snapshot if there is one."""
        sections = None if snapshot is None else unpack(snapshot, self.fingerprint)
        return StreamSession(self.plan, self.ties, self.fingerprint, numbered=False, snapshot=sections)


# --- frames that are all there ------------------------------------------------------------------------------------


def _run_whole(frame: Any, task: Task, name: str) -> Any:
    """The events of a stream."""
    columns = task.columns
    moved, plain = _travelling(frame, task.plan, columns), {each: f"c{place}" for place, each in enumerate(columns)}
    keys = [plain[key] for key in task.plan.keys]
    placed = (moved.repartition(*keys) if keys else moved.repartition(1)).sortWithinPartitions(
        *(plain[each] for each in task.plan.base.order_by)
    )
    return placed.mapInArrow(_reader(task, columns, name), spark_schema(task.plan.outputs[name]))


def _travelling(frame: Any, plan: Plan, columns: list[str]) -> Any:
    """The columns that are read, under plain names: Spark takes others apart."""
    from pyspark.sql import functions

    found = []
    for place, name in enumerate(columns):
        column = functions.col(quoted(name))
        if plan.base.columns[name].kind is Kind.STRING:
            column = column.cast("string")  # whose order is that of its bytes, whatever the column's collation
        found.append(column.alias(f"c{place}"))
    return frame.select(*found)


def _reader(task: Task, columns: list[str], name: str) -> Callable[[Batches], Batches]:
    @told_in_short
    def read(batches: Batches) -> Batches:
        session = task.session()
        for batch in gathered(batches, columns):
            table = pa.Table.from_batches([batch])
            made = session.take(table, np.arange(table.num_rows))
            yield from session.shown(made)[name].to_batches()
        yield from session.shown(session.take_rest())[name].to_batches()

    return read


# --- frames that grow ---------------------------------------------------------------------------------------------


def _run_growing(
    frame: Any, running: Task, late_events: str | None, checkpoint: str | PathLike[str] | None
) -> Streamed:
    """All events that are made, in one frame."""
    from pyspark.sql import functions

    from acelera.programs.spark_streaming import Streamed
    from acelera.spark.hosting import Transport, hosted, unpacked, with_late_events
    from acelera.spark.streaming import check_order
    from acelera.spark.watermarks import check_requirements, delay_of, with_watermark

    plan = running.plan
    check_order(frame, plan.base)
    check_requirements(frame, BUCKETS)
    time, columns = plan.base.order_by[0], list(running.columns)
    task = StreamTask(running, tuple(columns))
    if late_events is not None:  # whole
        columns += [name for name in plan.base.columns if name not in columns]
    result = _result(plan, tells_case(frame))
    if late_events is not None:
        result = with_late_events(result, late_events, pa.struct(_stream_schema(plan)))
    plain = {name: f"c{place}" for place, name in enumerate(columns)}
    bucket = functions.lit(0)
    if plan.keys:
        hashed = functions.xxhash64(*(functions.col(plain[name]) for name in plan.keys))
        bucket = functions.pmod(hashed, functions.lit(BUCKETS)).cast("int")
    moved = _travelling(frame, plan, columns).select(bucket.alias("spread"), *plain.values())
    transport = Transport(tuple(columns), (tuple(columns),), BUCKETS if plan.keys else 1)
    found = hosted(moved, transport, task, late_events is not None, checkpoint)
    made = unpacked(found, result, task.fingerprint)
    outputs = {step.name: pa.schema([step.events.field(name) for name in step.shown]) for step in plan.steps}
    return Streamed(with_watermark(made, time, delay_of(frame, time)), outputs, (time,))


def _stream_schema(plan: Plan) -> pa.Schema:
    return pa.schema([pa.field(name, kind.arrow) for name, kind in plan.base.columns.items()])


def _result(plan: Plan, tells_case: bool) -> pa.Schema:
    """The columns of the result: type and time, and a struct for each stream."""
    from acelera.programs.spark_streaming import refuse_taken

    assert plan.base.time is not None
    time = pa.field(plan.base.order_by[0], plan.base.time.arrow)
    data = [pa.field(step.name, pa.struct([step.events.field(name) for name in step.shown])) for step in plan.steps]
    found = pa.schema([pa.field(TYPE, pa.string()), time, *data])
    refuse_taken(found.names, 2, tells_case)
    return found


@dataclass(frozen=True)
class StreamTask:
    """A program as buckets run it; sessions read the columns that are `kept`."""

    noun: ClassVar[str] = "program"
    task: Task
    kept: tuple[str, ...]

    @property
    def fingerprint(self) -> str:
        """That of the program and its stream."""
        return self.task.fingerprint

    @property
    def time(self) -> str:
        """The column that the stream is ordered by."""
        return self.task.plan.base.order_by[0]

    def columns(self, bucket: int) -> tuple[str, ...]:
        """The same in all buckets."""
        return self.kept

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced; one that has no place in the order is refused."""
        schema = self.task.plan.base
        kinds = [schema.columns[each.name].arrow if each.name in schema.columns else each.type for each in rows.schema]
        rows = rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))
        order_columns(rows, schema, None)
        return rows

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """The columns of the stream."""
        return rows.select(list(self.task.plan.base.columns))

    def open(self, bucket: int) -> Making:
        """A session."""
        return Making(self.task.session(), self.task)

    def resume(self, bucket: int, snapshot: bytes) -> Making:
        """A session that goes on."""
        return Making(self.task.session(snapshot), self.task)


@dataclass(frozen=True)
class Making:
    """A session that runs in a bucket."""

    session: StreamSession
    task: Task

    @property
    def plan(self) -> Plan:
        """What runs."""
        return self.task.plan

    @property
    def due(self) -> int:
        """When more events are known, even if no rows come."""
        due = self.session.due()
        return NEVER if due is None else due

    @property
    def told(self) -> Told:
        """What the session has counted; each event that it makes is a row."""
        session = self.session
        return Told(None, session.tied, session.dropped, session.partial_matches)

    def advance(self, rows: pa.Table | None, now: int) -> Batches:
        """Read rows; the events that are known, since no row comes any more up to now."""
        if rows is None:
            kinds = self.plan.base.columns
            rows = pa.table({name: pa.array([], kinds[name].arrow) for name in self.task.columns})
        indices = sorted_indices(order_columns(rows, self.plan.base, None))
        rows = rows if indices is None else rows.take(pa.array(indices))
        made = self.session.shown(self.session.take(rows, np.arange(rows.num_rows), now))
        self.session.compact()
        for step in self.plan.steps:
            table = made[step.name]
            if table.num_rows:
                data = table.select(list(step.shown)).combine_chunks().to_struct_array()
                kinds = pa.array([step.name] * table.num_rows, pa.string())
                yield from pa.table({TYPE: kinds, step.events.names[0]: table.column(0), step.name: data}).to_batches()

    def snapshot(self) -> bytes:
        """That of the session."""
        return self.session.snapshot()
