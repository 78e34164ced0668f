"""A frame that is still growing: rows wait until the watermark has passed them, are sorted, and enter a session.

Keys are spread over buckets; one call of `transformWithState` serves all keys of a bucket. What waits, in pieces, and
the session's snapshot are the state of the bucket. Spark hands rows to a stateful processor as pandas frames, which
cannot hold every value exactly, so rows travel to and from it as Arrow bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.kernels import FAR_PAST
from acelera.engine.order import order_columns, sorted_indices
from acelera.engine.plan import Plan
from acelera.engine.session import Session, columns_read
from acelera.errors import AceleraWarning, SnapshotError, UsageError
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.spark.batch import Batches, Task, names_of, relevant, travelling
from acelera.spark.columns import quoted
from acelera.spark.planning import BUCKETS, Pipeline
from acelera.spark.schemas import spark_schema
from acelera.spark.waiting import Waiting, from_bytes, to_bytes

SPREAD, RELEVANT = "spread", "relevant"
"""Columns that travel beside those of the stream: the bucket of a row, and whether it matters."""

BUCKET, ROWS = "bucket", "rows"
MATCHES, LATE, LATE_ROWS = "matches", "late", "late_rows"
"""What a bucket gives: matches as bytes, how many rows came late, and these rows as bytes."""

MOST_BYTES = 1 << 23
"""Of one value in the state; what is larger is kept in several."""

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def run_streaming(
    frame: Any, task: Task, checked: Checked, plan: Plan, pipeline: Pipeline, late_events: str | None
) -> Any:
    """The growing frame of the matches, and of late events in a column of that name if there is one."""
    from pyspark.sql import functions

    columns, found = checked.result_schema, _processed(frame, task, checked, plan, pipeline, late_events is not None)
    if late_events is not None:
        if late_events.lower() in (name.lower() for name in columns.names):
            raise UsageError(f"late_events={late_events!r}: the result has a column of that name; choose another")
        columns = columns.append(pa.field(late_events, pa.struct(_stream_schema(task.schema))))
    observed = found.observe("acelera", functions.coalesce(functions.sum(LATE), functions.lit(0)).alias("late_events"))
    return observed.select(MATCHES, LATE_ROWS).mapInArrow(_unpacker(columns), spark_schema(columns))


def _processed(frame: Any, task: Task, checked: Checked, plan: Plan, pipeline: Pipeline, with_late_events: bool) -> Any:
    """What each bucket gives."""
    from pyspark.sql import functions

    schema = checked.schema
    assert schema is not None
    check_requirements(frame, schema)
    columns = columns_read(checked, plan, pipeline.in_jvm)
    kept = names_of(columns, pipeline)
    if with_late_events:  # whole
        columns += [name for name in schema.columns if name not in columns]
    bucket = functions.lit(0)
    if pipeline.keys:
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in pipeline.keys))
        bucket = functions.pmod(hashed, functions.lit(BUCKETS)).cast("int")
    # Spark would move a filter below the watermark, which would then not see the rows that are dropped.
    wanted = relevant(pipeline, schema).alias(RELEVANT)
    moved = frame.select(bucket.alias(SPREAD), wanted, *travelling(columns, plan, pipeline, schema))
    packed = moved.mapInArrow(_packer(names_of(columns, pipeline)), f"{BUCKET} int, {ROWS} binary")
    processor = _processor(task, kept, list(schema.columns) if with_late_events else [])
    output = f"{MATCHES} binary, {LATE} bigint, {LATE_ROWS} binary"
    return packed.groupBy(BUCKET).transformWithStateInPandas(processor, output, "Append", "EventTime")


def _stream_schema(schema: Schema) -> pa.Schema:
    return pa.schema([pa.field(name, kind.arrow) for name, kind in schema.columns.items()])


def check_watermark(frame: Any, schema: Schema, where: str = "") -> None:
    """A stream is ordered by a time for which it is known how late it may come."""
    first = schema.order_by[0]
    if schema.time is None:
        raise UsageError(f"a stream is ordered by time, but `{first}` is of type {schema.columns[first]}")
    if not schema.time.zoned:
        raise UsageError(
            f"Spark has watermarks for times with a zone only, and `{first}`{where} has none; cast it before: "
            f'df.withColumn("{first}", col("{first}").cast("timestamp"))'
        )
    metadata = next(each.metadata or {} for each in frame.schema.fields if each.name == first)
    if "spark.watermarkDelayMs" not in metadata:
        raise UsageError(
            f"there is no watermark on `{first}`{where}, so it never becomes clear that all rows up to a time have "
            f'come. Add one: df.withWatermark("{first}", "10 minutes")'
        )


def check_requirements(frame: Any, schema: Schema) -> None:
    """What Spark needs for state, said before anything starts rather than by a worker that dies."""
    check_watermark(frame, schema)
    provider = frame.sparkSession.conf.get(_PROVIDER, "")
    if provider != _ROCKS_DB:
        raise UsageError(f"state needs the RocksDB store; set {_PROVIDER} to {_ROCKS_DB}")
    partitions = int(frame.sparkSession.conf.get(_PARTITIONS, "200"))
    if partitions > BUCKETS:
        warnings.warn(
            f"{_PARTITIONS} is {partitions}, but there are {BUCKETS} buckets of keys: every other partition only costs "
            f"time in each micro-batch. Set it to {BUCKETS}, or to the number of cores if there are fewer",
            AceleraWarning,
            stacklevel=2,
        )
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


def _unpacker(columns: pa.Schema) -> Callable[[Batches], Batches]:
    """Matches, and late events if they have a column, out of their bytes."""

    def unpacked(batches: Batches) -> Batches:
        for batch in batches:
            for matches, late in zip(batch.column(MATCHES), batch.column(LATE_ROWS), strict=True):
                if matches.is_valid:
                    yield from _completed(from_bytes(matches.as_py()), columns)
                if late.is_valid:
                    events = from_bytes(late.as_py()).to_struct_array()
                    yield from _completed(pa.table({columns.names[-1]: events}), columns)

    return unpacked


def _completed(rows: pa.Table, columns: pa.Schema) -> Batches:
    """Rows with all columns; those that they lack are NULL."""
    known = set(rows.column_names)
    arrays = [rows.column(f.name) if f.name in known else pa.nulls(rows.num_rows, f.type) for f in columns]
    return iter(pa.table(arrays, schema=columns).to_batches())


# --- the state of a bucket ----------------------------------------------------------------------------------------


@dataclass
class Bucket:
    """Rows that wait for the watermark, and the session of those that it has passed."""

    task: Task
    columns: list[str]  # that a session reads
    waiting: Waiting
    snapshot: Callable[[], bytes] | None  # the state of the session, looked up when it is needed
    session: Session | None = None
    late: list[pa.Table] = field(default_factory=list)

    def add(self, rows: pa.Table, watermark: int) -> None:
        """More rows; those that the watermark has passed already are late."""
        rows = self._conform(rows)
        order_columns(rows, self.task.schema, None)  # a row without a time has no place
        in_time = pc.greater_equal(rows.column(self.waiting.time).cast(pa.int64()), watermark)
        late = rows.filter(pc.invert(in_time))
        if late.num_rows:
            self.late.append(late)
            rows = rows.filter(in_time)
        self.waiting.add(rows.select(self.columns))

    @property
    def late_events(self) -> int:
        """How many rows came late."""
        return sum(rows.num_rows for rows in self.late)

    def _conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced: Spark hands over times in the zone of the session of the day."""
        known = self.task.schema.columns
        kinds = [known[each.name].arrow if each.name in known else each.type for each in rows.schema]
        return rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))

    def advance(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """Read the rows that the watermark has passed; the matches that they end, all of which must be taken."""
        rows = self.waiting.take(watermark)
        if rows is None or not rows.num_rows:
            return
        if self.session is None:
            self.session = self.task.session() if self.snapshot is None else self.task.resumed(self.snapshot())
        indices = sorted_indices(order_columns(rows, self.task.schema, None))
        yield from self.session.stream(rows if indices is None else rows.take(pa.array(indices)))
        self.session.compact()
        if self.task.forgets_keys:
            self.session.forget_idle_keys()


def _micros(timers: Any) -> int:
    """The watermark in microseconds; Spark begins with 0, which says nothing."""
    watermark = int(timers.getCurrentWatermarkInMs())
    return watermark * 1000 if watermark > 0 else int(FAR_PAST)


class _Kept:
    """Bytes by number, as Spark keeps them."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def read(self, number: int) -> bytes:
        return bytes(self._state.getValue((number,))[0])

    def write(self, number: int, data: bytes) -> None:
        self._state.updateValue((number,), (data,))

    def remove(self, number: int) -> None:
        self._state.removeKey((number,))


def _processor(task: Task, columns: list[str], late_columns: list[str]) -> Any:
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    made_by, time = f"{BUCKETS} buckets, {task.fingerprint}", task.schema.order_by[0]

    class Processor(StatefulProcessor):  # type: ignore[misc]  # Spark's classes have no types
        """The state of a bucket, as Spark keeps it."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.rows = _Kept(handle.getMapState("rows", "number bigint", "piece binary"))
            self.snapshot = _Kept(handle.getMapState("session", "number bigint", "piece binary"))
            self.bucket = handle.getValueState("bucket", "task string, waiting string, pieces int")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            watermark, (bucket, pieces) = _micros(timerValues), self._bucket()
            for frame in rows:
                bucket.add(pa.concat_tables([from_bytes(bytes(packed)) for packed in frame[ROWS]]), watermark)
            yield from self._advanced(bucket, watermark, pieces)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            bucket, pieces = self._bucket()
            yield from self._advanced(bucket, _micros(timerValues), pieces)

        def close(self) -> None:
            pass

        def _bucket(self) -> tuple[Bucket, int]:
            """The bucket, and into how many pieces the snapshot of its session is cut."""
            known = self.bucket.get()
            if not known:
                return Bucket(task, columns, Waiting(self.rows, time), None), 0
            by, waiting, pieces = known
            if by != made_by:
                raise SnapshotError(
                    "the checkpoint belongs to another query, or to other columns or another order; begin with a new "
                    "checkpoint, or go on with the query that it was made by"
                )
            snapshot = (lambda: b"".join(map(self.snapshot.read, range(pieces)))) if pieces else None
            return Bucket(task, columns, Waiting.of(self.rows, time, waiting), snapshot), pieces

        def _advanced(self, bucket: Bucket, watermark: int, pieces: int) -> Iterator[Any]:
            import pandas as pd

            for batch in bucket.advance(watermark):
                if batch.num_rows:
                    yield pd.DataFrame({MATCHES: [to_bytes(batch)], LATE: [0], LATE_ROWS: [None]})
            if bucket.session is not None:
                pieces = self._keep(bucket.session.snapshot(), pieces)
            self.bucket.update((made_by, bucket.waiting.index, pieces))
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            first = bucket.waiting.next_time
            if first is not None:  # Spark's watermark begins in 1970, and timers before that never expire
                self.handle.registerTimer(max(first // 1000 + 1, 1))
            late = pa.concat_tables(bucket.late).select(late_columns) if late_columns and bucket.late else None
            packed = None if late is None else to_bytes(late)
            yield pd.DataFrame({MATCHES: [None], LATE: [bucket.late_events], LATE_ROWS: [packed]})

        def _keep(self, snapshot: bytes, before: int) -> int:
            """Into how many pieces a snapshot was cut; there were some before."""
            pieces = range(-(-len(snapshot) // MOST_BYTES))
            for piece in pieces:
                self.snapshot.write(piece, snapshot[piece * MOST_BYTES : (piece + 1) * MOST_BYTES])
            for piece in range(len(pieces), before):
                self.snapshot.remove(piece)
            return len(pieces)

    return Processor()
