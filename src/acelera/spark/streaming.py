"""A frame that is still growing: rows wait until the watermark has passed them, are sorted, and enter a session.

Keys are spread over buckets; one call of `transformWithState` serves all keys of a bucket. What waits and the session's
snapshot are the state of the bucket. Spark hands rows to a stateful processor as pandas frames, which cannot hold every
value exactly, so rows travel to and from it as Arrow bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.kernels import FAR_PAST
from acelera.engine.order import order_columns, sorted_indices
from acelera.engine.plan import Plan
from acelera.engine.session import Session, columns_read
from acelera.errors import SnapshotError, UsageError
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.spark.batch import Batches, Task, names_of, relevant, travelling
from acelera.spark.columns import quoted
from acelera.spark.planning import Pipeline
from acelera.spark.schemas import spark_schema

BUCKETS = 16
"""Into how many buckets keys are spread. A checkpoint belongs to this number."""

SPREAD, RELEVANT = "spread", "relevant"
"""Columns that travel beside those of the stream: the bucket of a row, and whether it matters."""

BUCKET, ROWS, MATCHES, LATE = "bucket", "rows", "matches", "late"

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def run_streaming(frame: Any, task: Task, checked: Checked, plan: Plan, pipeline: Pipeline) -> Any:
    """The growing frame of the matches."""
    from pyspark.sql import functions

    found = _processed(frame, task, checked, plan, pipeline)
    observed = found.observe("acelera", functions.sum(LATE).alias("late_events"))
    return observed.select(MATCHES).mapInArrow(_unpacked, spark_schema(checked.result_schema))


def _processed(frame: Any, task: Task, checked: Checked, plan: Plan, pipeline: Pipeline) -> Any:
    """What each bucket gives: the bytes of its matches, and how many rows came late."""
    from pyspark.sql import functions

    schema = checked.schema
    assert schema is not None
    check_requirements(frame, schema)
    columns = columns_read(checked, plan, pipeline.in_jvm)
    bucket = functions.lit(0)
    if pipeline.keys:
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in pipeline.keys))
        bucket = functions.pmod(hashed, functions.lit(BUCKETS)).cast("int")
    # Spark would move a filter below the watermark, which would then not see the rows that are dropped.
    wanted = relevant(pipeline, schema).alias(RELEVANT)
    moved = frame.select(bucket.alias(SPREAD), wanted, *travelling(columns, plan, pipeline, schema))
    packed = moved.mapInArrow(_packer(names_of(columns, pipeline)), f"{BUCKET} int, {ROWS} binary")
    grouped = packed.groupBy(BUCKET)
    output = f"{MATCHES} binary, {LATE} bigint"
    return grouped.transformWithStateInPandas(_processor(task), output, "Append", "EventTime")


def check_requirements(frame: Any, schema: Schema) -> None:
    """What Spark needs for state, said before anything starts rather than by a worker that dies."""
    first = schema.order_by[0]
    if schema.time is None:
        raise UsageError(f"a stream is ordered by time, but `{first}` is of type {schema.columns[first]}")
    metadata = next(each.metadata or {} for each in frame.schema.fields if each.name == first)
    if "spark.watermarkDelayMs" not in metadata:
        raise UsageError(
            f"there is no watermark on `{first}`, so it never becomes clear that all rows up to a time have come. "
            f'Add one: df.withWatermark("{first}", "10 minutes")'
        )
    provider = frame.sparkSession.conf.get(_PROVIDER, "")
    if provider != _ROCKS_DB:
        raise UsageError(f"state needs the RocksDB store; set {_PROVIDER} to {_ROCKS_DB}")
    for module in ("google.protobuf", "pandas"):
        try:
            __import__(module)
        except ImportError:
            name = module.removeprefix("google.")
            raise UsageError(f"Spark's state needs the Python package `{name}`: pip install {name}") from None


# --- rows as bytes ------------------------------------------------------------------------------------------------


def _packer(names: list[str]) -> Callable[[Batches], Batches]:
    """Packs the rows of each bucket as one value; the columns get their names back."""

    def packed(batches: Batches) -> Batches:
        for batch in batches:
            batch = batch.filter(batch.column(RELEVANT))
            buckets = batch.column(SPREAD).to_numpy()
            rows = batch.drop_columns([SPREAD, RELEVANT]).rename_columns(names)
            numbers = np.unique(buckets)
            pieces = [to_bytes(rows.filter(pa.array(buckets == number))) for number in numbers.tolist()]
            arrays = [pa.array(numbers, pa.int32()), pa.array(pieces, pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, [BUCKET, ROWS])

    return packed


def _unpacked(batches: Batches) -> Batches:
    """The matches that were packed into bytes."""
    for batch in batches:
        for value in batch.column(MATCHES):
            if value.is_valid:
                yield from from_bytes(value.as_py()).to_batches()


def to_bytes(rows: pa.RecordBatch | pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.Table:
    """The rows of an Arrow stream."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()


# --- the state of a bucket ----------------------------------------------------------------------------------------


@dataclass
class Bucket:
    """Rows that wait for the watermark, and the session of those that it has passed."""

    task: Task
    waiting: pa.Table | None
    session: Session | None
    late: int = 0

    @classmethod
    def of(cls, task: Task, waiting: bytes | None, snapshot: bytes | None) -> Bucket:
        """From what the state holds."""
        session = None if snapshot is None else task.resumed(snapshot)
        return cls(task, None if waiting is None else from_bytes(waiting), session)

    def add(self, rows: pa.Table, watermark: int) -> None:
        """More rows; those that the watermark has passed already are late."""
        rows = self._conform(rows)
        column = self.task.schema.order_by[0]
        times = rows.column(column).cast(pa.int64())
        in_time = pc.fill_null(
            pc.greater_equal(times, watermark), True
        )  # a row without a time is refused when it is read
        kept = rows.filter(in_time)
        self.late += rows.num_rows - kept.num_rows
        self.waiting = kept if self.waiting is None else pa.concat_tables([self.waiting, kept])

    def _conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced: Spark hands over times in the zone of the session of the day."""
        known = self.task.schema.columns
        kinds = [known[each.name].arrow if each.name in known else each.type for each in rows.schema]
        return rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))

    def advance(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """Read the rows that the watermark has passed; the matches that they end, all of which must be taken."""
        if self.waiting is None or not self.waiting.num_rows:
            return
        column = self.task.schema.order_by[0]
        ready = pc.fill_null(pc.less(self.waiting.column(column).cast(pa.int64()), watermark), True)
        rows = self.waiting.filter(ready)
        self.waiting = self.waiting.filter(pc.invert(ready))
        if not rows.num_rows:
            return
        if self.session is None:
            self.session = self.task.session()
        indices = sorted_indices(order_columns(rows, self.task.schema, None))
        yield from self.session.stream(rows if indices is None else rows.take(pa.array(indices)))
        self.session.compact()
        if not self.task.counts_positions:
            self.session.forget_idle_keys()

    @property
    def next_time(self) -> int | None:
        """The time of the first row that waits, in microseconds."""
        if self.waiting is None or not self.waiting.num_rows:
            return None
        return int(pc.min(self.waiting.column(self.task.schema.order_by[0]).cast(pa.int64())).as_py())


def _micros(timers: Any) -> int:
    """The watermark in microseconds; Spark begins with 0, which says nothing."""
    watermark = int(timers.getCurrentWatermarkInMs())
    return watermark * 1000 if watermark > 0 else int(FAR_PAST)


def _processor(task: Task) -> Any:
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    made_by = f"{BUCKETS} buckets, {task.fingerprint}"

    class Processor(StatefulProcessor):  # type: ignore[misc]  # Spark's classes have no types
        """The state of a bucket, as Spark keeps it."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.waiting = handle.getValueState("waiting", "rows binary, task string")
            self.running = handle.getValueState("session", "snapshot binary")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            watermark = _micros(timerValues)
            bucket = self._bucket()
            for frame in rows:
                for piece in frame[ROWS]:
                    bucket.add(from_bytes(bytes(piece)), watermark)
            yield from self._advanced(bucket, watermark)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            yield from self._advanced(self._bucket(), _micros(timerValues))

        def close(self) -> None:
            pass

        def _bucket(self) -> Bucket:
            waiting, running = self.waiting.get(), self.running.get()
            if waiting and waiting[1] != made_by:
                raise SnapshotError(
                    "the checkpoint belongs to another query, or to other columns or another order; begin with a new "
                    "checkpoint, or go on with the query that it was made by"
                )
            return Bucket.of(task, waiting and bytes(waiting[0]), running and bytes(running[0]))

        def _advanced(self, bucket: Bucket, watermark: int) -> Iterator[Any]:
            import pandas as pd

            for batch in bucket.advance(watermark):
                if batch.num_rows:
                    yield pd.DataFrame({MATCHES: [to_bytes(batch)], LATE: [0]})
            if bucket.waiting is not None:
                self.waiting.update((to_bytes(bucket.waiting), made_by))
            if bucket.session is not None:
                self.running.update((bucket.session.snapshot(),))
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            first = bucket.next_time
            if first is not None:  # Spark's watermark begins in 1970, and timers before that never expire
                self.handle.registerTimer(max(first // 1000 + 1, 1))
            yield pd.DataFrame({MATCHES: [None], LATE: [bucket.late]})

    return Processor()
