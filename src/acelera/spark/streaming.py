"""A frame that is still growing: rows wait until the watermark has passed them, are sorted, and enter a session.

Keys are spread over buckets; one call of `transformWithState` serves all keys of a bucket. What waits, in pieces, and
the session's snapshot are the state of the bucket. Spark hands rows to a stateful processor as pandas frames, which
cannot hold every value exactly, so rows travel to and from it as Arrow bytes.

Other operators of the same stream may come before and after. In a micro-batch, Spark has a watermark up to which all is
to be given, and that of the micro-batch before, up to which rows are late. So every bucket is visited whenever the
watermark moves, and gives, of a micro-batch, the matches that end between the two.
"""

from __future__ import annotations

import itertools
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.session.session import Session
from acelera.engine.ticks import FAR_PAST
from acelera.errors import AceleraWarning, SnapshotError, UsageError
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.spark.batch import Batches, Task, names_of, relevant, travelling
from acelera.spark.pipeline import BUCKETS, Pipeline
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import JvmTests, quoted
from acelera.spark.waiting import Waiting, from_bytes, to_bytes

SPREAD, RELEVANT = "spread", "relevant"
"""Columns that travel beside those of the stream: the bucket of a row, and whether it matters."""

BUCKET, ROWS = "bucket", "rows"
MATCHES, LATE, LATE_ROWS = "matches", "late", "late_rows"
"""What a bucket gives: matches as bytes, how many rows came late, and these rows as bytes."""

MOST_BYTES = 1 << 23
"""Of one value in the state; what is larger is kept in several."""

METRICS = "acelera-"
"""How the names of observed metrics begin."""

_DELAY = "spark.watermarkDelayMs"
"""What Spark writes to a column with a watermark, and what its operators look for."""

_ROCKS_DB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
_PARTITIONS = "spark.sql.shuffle.partitions"
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"


def run_streaming(frame: Any, query: CompiledQuery, pipeline: Pipeline, late_events: str | None) -> Any:
    """The growing frame of the matches, and of late events in a column of that name if there is one."""
    from pyspark.sql import functions

    columns, found = query.checked.result.schema, _processed(frame, query, pipeline, late_events is not None)
    if late_events is not None:
        if late_events.lower() in (name.lower() for name in columns.names):
            raise UsageError(f"late_events={late_events!r}: the result has a column of that name; choose another")
        columns = columns.append(pa.field(late_events, pa.struct(_stream_schema(query.schema))))
    late = functions.coalesce(functions.sum(LATE), functions.lit(0)).alias("late_events")
    observed = found.observe(_metrics_name(query), late)
    unpacked = observed.select(MATCHES, LATE_ROWS).mapInArrow(_unpacker(columns), spark_schema(columns))
    return _with_watermark(unpacked, query.checked, _delay(frame, query.schema))


def _with_watermark(matches: Any, checked: Checked, delay: int) -> Any:
    """The matches, with the watermark of their events on the column that tells when they end, if there is one."""
    from pyspark.sql import functions

    named = {name: functions.col(quoted(name)) for name in matches.columns}
    for name in checked.result.end_times[:1]:  # Spark knows of one
        named[name] = named[name].alias(name, metadata={_DELAY: delay})
    return matches.select(*named.values())


_used: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))


def _metrics_name(query: CompiledQuery) -> str:
    """A name that no other metrics of a stream have: by the query, and by how often it has been run before."""
    name = query.fingerprint[:8]
    number = next(_used[name])
    return f"{METRICS}{name}" if number == 1 else f"{METRICS}{name}-{number}"


def late_events_of(progress: Any) -> int:
    """How many events came late in a micro-batch, from what Spark tells of it."""
    metrics = progress.observedMetrics.items()
    return sum(getattr(row, "late_events", 0) or 0 for name, row in metrics if name.startswith(METRICS))


def _processed(frame: Any, query: CompiledQuery, pipeline: Pipeline, with_late_events: bool) -> Any:
    """What each bucket gives."""
    from pyspark.sql import functions

    schema, tests = query.schema, JvmTests(query.schema)
    check_requirements(frame, schema)
    columns = query.columns_read(pipeline.in_jvm)
    kept = names_of(columns, pipeline)
    if with_late_events:  # whole
        columns += [name for name in schema.columns if name not in columns]
    bucket = functions.lit(0)
    if pipeline.keys:
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in pipeline.keys))
        bucket = functions.pmod(hashed, functions.lit(BUCKETS)).cast("int")
    # Spark would move a filter below the watermark, which would then not see the rows that are dropped.
    wanted = relevant(pipeline, tests).alias(RELEVANT)
    moved = frame.select(bucket.alias(SPREAD), wanted, *travelling(columns, query, pipeline, tests))
    packer = _packer(names_of(columns, pipeline), BUCKETS if pipeline.keys else 1)
    packed = moved.mapInArrow(packer, f"{BUCKET} int, {ROWS} binary")
    processor = _processor(Task(query, pipeline.in_jvm), kept, list(schema.columns) if with_late_events else [])
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
    if _delay(frame, schema) is None:
        raise UsageError(
            f"there is no watermark on `{first}`{where}, so it never becomes clear that all rows up to a time have "
            f'come. Add one: df.withWatermark("{first}", "10 minutes")'
        )


def _delay(frame: Any, schema: Schema) -> Any:
    """How late rows may come, in milliseconds; None if there is no watermark."""
    return next(each.metadata or {} for each in frame.schema.fields if each.name == schema.order_by[0]).get(_DELAY)


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


def _packer(names: list[str], buckets: int) -> Callable[[Batches], Batches]:
    """Packs the rows of each bucket as one value; the columns get their names back. All buckets are told of."""

    def packed(batches: Batches) -> Batches:
        yield pa.RecordBatch.from_arrays(
            [pa.array(range(buckets), pa.int32()), pa.nulls(buckets, pa.binary())], [BUCKET, ROWS]
        )
        for batch in batches:
            batch = batch.filter(batch.column(RELEVANT))
            spread = batch.column(SPREAD).to_numpy()
            rows = batch.drop_columns([SPREAD, RELEVANT]).rename_columns(names)
            numbers = np.unique(spread)
            pieces = [to_bytes(rows.filter(pa.array(spread == number))) for number in numbers.tolist()]
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

    def add(self, rows: pa.Table) -> None:
        """More rows; those that the watermark had passed before are late."""
        rows = self._conform(rows)
        order_columns(rows, self.task.query.schema, None)  # a row without a time has no place
        in_time = pc.greater_equal(rows.column(self.waiting.time).cast(pa.int64()), self.waiting.passed)
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
        known = self.task.query.schema.columns
        kinds = [known[each.name].arrow if each.name in known else each.type for each in rows.schema]
        return rows.cast(pa.schema(list(zip(rows.column_names, kinds, strict=True))))

    def advance(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """Read the rows up to the watermark; the matches that they end, all of which must be taken."""
        rows = self.waiting.take(watermark + 1)
        if rows is None or not rows.num_rows:
            return
        if self.session is None:
            self.session = self.task.session() if self.snapshot is None else self.task.resumed(self.snapshot())
        indices = sorted_indices(order_columns(rows, self.task.query.schema, None))
        yield from self.session.stream(rows if indices is None else rows.take(pa.array(indices)))
        self.session.compact()


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

    made_by, time = f"{BUCKETS} buckets, {task.fingerprint}", task.query.schema.order_by[0]

    class Processor(StatefulProcessor):  # type: ignore[misc]  # Spark's classes have no types
        """The state of a bucket, as Spark keeps it."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.rows = _Kept(handle.getMapState("rows", "number bigint", "piece binary"))
            self.snapshot = _Kept(handle.getMapState("session", "number bigint", "piece binary"))
            self.bucket = handle.getValueState("bucket", "task string, waiting string, pieces int")

        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            bucket, pieces = self._bucket()
            for frame in rows:
                for packed in frame[ROWS].dropna():
                    bucket.add(from_bytes(bytes(packed)))
            yield from self._advanced(bucket, timerValues, pieces)

        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            bucket, pieces = self._bucket()
            yield from self._advanced(bucket, timerValues, pieces)

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

        def _advanced(self, bucket: Bucket, timers: Any, pieces: int) -> Iterator[Any]:
            import pandas as pd

            for batch in bucket.advance(_micros(timers)):
                if batch.num_rows:
                    yield pd.DataFrame({MATCHES: [to_bytes(batch)], LATE: [0], LATE_ROWS: [None]})
            if bucket.session is not None:
                pieces = self._keep(bucket.session.snapshot(), pieces)
            self.bucket.update((made_by, bucket.waiting.index, pieces))
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(max(int(timers.getCurrentWatermarkInMs()), 0) + 1)  # as soon as it moves
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
