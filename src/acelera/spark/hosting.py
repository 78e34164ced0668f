"""The operator that keeps something running in a stream: one call of `transformWithState` serves a bucket of rows.

What waits, in pieces, and the snapshot of what runs are the state of a bucket. Spark hands rows to a stateful processor
as pandas frames, which cannot hold every value exactly, so rows travel to and from it as Arrow bytes.

Other operators of the same stream may come before and after. In a micro-batch, Spark has a watermark up to which all is
to be given, and that of the micro-batch before, up to which rows are late. So every bucket is visited whenever the
watermark moves, and gives, of a micro-batch, what ends between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.ticks import FAR_PAST
from acelera.errors import UsageError
from acelera.spark.buckets import COUNTED, Bucket, Hosted
from acelera.spark.checkpoints import BUCKET_STATE, check_checkpoint, made_by, refusal
from acelera.spark.metrics import Counts, observed
from acelera.spark.schemas import spark_schema
from acelera.spark.waiting import Waiting, from_bytes, to_bytes
from acelera.spark.worker_errors import told_in_short

Batches = Iterator[pa.RecordBatch]

BUCKET, ROWS = "bucket", "rows"
FOUND, LATE, LATE_ROWS = "found", "late", "late_rows"
"""What a bucket gives: rows as bytes, how many rows came late, and these as bytes; and what it counts."""

MOST_BYTES = 1 << 23
"""Of one value in the state; what is larger is kept in several."""


@dataclass(frozen=True)
class Transport:
    """How the rows of a frame come to buckets, which are numbered from 0.

    The frame begins with a column for each route, which tells the bucket of a row, NULL if the row does not go there.
    All other columns are called `names`; `routes` has those that travel on each route. (Rows are not filtered before:
    Spark would move a filter below the watermark, which would then not see the rows that are dropped.)
    """

    names: tuple[str, ...]
    routes: tuple[tuple[str, ...], ...]
    buckets: int


def hosted(
    frame: Any, transport: Transport, task: Hosted, late_events: bool, checkpoint: str | PathLike[str] | None = None
) -> Any:
    """What each bucket gives, with late rows if they are asked for; a checkpoint that is known belongs to it."""
    check_checkpoint(frame.sparkSession, checkpoint, task)
    packed = frame.mapInArrow(_packer(transport), f"{BUCKET} int, {ROWS} binary")
    counted = ", ".join(f"{name} bigint" for name in (LATE, *Counts._fields))
    output = f"{FOUND} binary, {LATE_ROWS} binary, {counted}"
    processor = _processor(task, late_events)
    return packed.groupBy(BUCKET).transformWithStateInPandas(processor, output, "Append", "EventTime")


def unpacked(found: Any, columns: pa.Schema, fingerprint: str) -> Any:
    """The rows that buckets gave; late ones are in the last column, if they were asked for. They are counted."""
    return (
        observed(found, fingerprint, LATE)
        .select(FOUND, LATE_ROWS)
        .mapInArrow(_unpacker(columns), spark_schema(columns))
    )


def with_late_events(columns: pa.Schema, name: str, rows: pa.DataType) -> pa.Schema:
    """The columns of a result, and one for late rows."""
    if name.lower() in (each.lower() for each in columns.names):
        raise UsageError(f"late_events={name!r}: the result has a column of that name; choose another")
    return columns.append(pa.field(name, rows))


# --- rows as bytes ------------------------------------------------------------------------------------------------


def _packer(transport: Transport) -> Callable[[Batches], Batches]:
    """Packs the rows of each bucket as one value; the columns get their names back. All buckets are told of."""
    routes = len(transport.routes)

    @told_in_short
    def packed(batches: Batches) -> Batches:
        yield pa.RecordBatch.from_arrays(
            [pa.array(range(transport.buckets), pa.int32()), pa.nulls(transport.buckets, pa.binary())], [BUCKET, ROWS]
        )
        for batch in batches:
            rows = batch.select(range(routes, batch.num_columns)).rename_columns(list(transport.names))
            uncounted = np.ones(batch.num_rows, np.bool_)
            for spread, names in zip(batch.columns[:routes], transport.routes, strict=True):
                part, goes = rows.select(list(names)), spread.is_valid()
                if routes > 1:
                    part = part.append_column(COUNTED, pa.array(uncounted))
                    uncounted &= ~goes.to_numpy(zero_copy_only=False)
                yield _parcels(part.filter(goes), spread.filter(goes).to_numpy())

    return packed


def _parcels(rows: pa.RecordBatch, spread: Any) -> pa.RecordBatch:
    """The rows of each bucket as one value."""
    numbers = np.unique(spread)
    pieces = [to_bytes(rows.filter(pa.array(spread == number))) for number in numbers.tolist()]
    arrays = [pa.array(numbers, pa.int32()), pa.array(pieces, pa.binary())]
    return pa.RecordBatch.from_arrays(arrays, [BUCKET, ROWS])


def _unpacker(columns: pa.Schema) -> Callable[[Batches], Batches]:
    """What was found, and late events if they have a column, out of their bytes."""

    @told_in_short
    def unpacked(batches: Batches) -> Batches:
        for batch in batches:
            for found, late in zip(batch.column(FOUND), batch.column(LATE_ROWS), strict=True):
                if found.is_valid:
                    yield from completed(from_bytes(found.as_py()), columns)
                if late.is_valid:
                    events = from_bytes(late.as_py()).to_struct_array()
                    yield from completed(pa.table({columns.names[-1]: events}), columns)

    return unpacked


def completed(rows: pa.Table, columns: pa.Schema) -> Batches:
    """Rows with all columns of a result; those that they lack are NULL."""
    known = set(rows.column_names)
    arrays = [rows.column(f.name) if f.name in known else pa.nulls(rows.num_rows, f.type) for f in columns]
    return iter(pa.table(arrays, schema=columns).to_batches())


# --- the state of a bucket ----------------------------------------------------------------------------------------


def watermark_of(timers: Any) -> int:
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


def _given(found: bytes | None, late_rows: bytes | None, late: int, counts: Counts) -> dict[str, list[Any]]:
    """A row of what a bucket gives."""
    numbers = {LATE: late, **counts._asdict()}
    return {name: [value] for name, value in {FOUND: found, LATE_ROWS: late_rows, **numbers}.items()}


def _processor(task: Hosted, late_events: bool) -> Any:
    from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

    owner = made_by(task)

    class Processor(StatefulProcessor):  # type: ignore[misc]  # Spark's classes have no types
        """The state of a bucket, as Spark keeps it."""

        def init(self, handle: StatefulProcessorHandle) -> None:
            self.handle = handle
            self.rows = _Kept(handle.getMapState("rows", "number bigint", "piece binary"))
            self.snapshot = _Kept(handle.getMapState("session", "number bigint", "piece binary"))
            self.bucket = handle.getValueState(BUCKET_STATE, "task string, waiting string, pieces int, due bigint")

        @told_in_short
        def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803
            bucket, pieces = self._bucket(int(key[0]))
            for frame in rows:
                for packed in frame[ROWS].dropna():
                    bucket.add(from_bytes(bytes(packed)))
            yield from self._advanced(bucket, timerValues, pieces)

        @told_in_short
        def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
            bucket, pieces = self._bucket(int(key[0]))
            yield from self._advanced(bucket, timerValues, pieces)

        def close(self) -> None:
            pass

        def _bucket(self, number: int) -> tuple[Bucket, int]:
            """The bucket, and into how many pieces the snapshot of what runs in it is cut."""
            known = self.bucket.get()
            if not known:
                return Bucket(task, Waiting(self.rows, task.time), None, number), 0
            by, waiting, pieces, due = known
            if by != owner:
                raise refusal(task)
            snapshot = (lambda: b"".join(map(self.snapshot.read, range(pieces)))) if pieces else None
            return Bucket.of(task, self.rows, waiting, snapshot, number, due), pieces

        def _advanced(self, bucket: Bucket, timers: Any, pieces: int) -> Iterator[Any]:
            import pandas as pd

            for batch in bucket.advance(watermark_of(timers)):
                if batch.num_rows:
                    yield pd.DataFrame(_given(to_bytes(batch), None, 0, Counts()))
            if bucket.running is not None:
                snapshot = bucket.running.snapshot()
                pieces = self._keep(snapshot, pieces)
                bucket.counts = bucket.counts._replace(state_bytes=len(snapshot))
            self.bucket.update((owner, bucket.index, pieces, bucket.due))
            for timer in list(self.handle.listTimers()):
                self.handle.deleteTimer(timer)
            self.handle.registerTimer(max(int(timers.getCurrentWatermarkInMs()), 0) + 1)  # as soon as it moves
            asked = late_events and bucket.late_events
            late = to_bytes(task.late_rows(pa.concat_tables(bucket.late))) if asked else None
            yield pd.DataFrame(_given(None, late, bucket.late_events, bucket.told))

        def _keep(self, snapshot: bytes, before: int) -> int:
            """Into how many pieces a snapshot was cut; there were some before."""
            pieces = range(-(-len(snapshot) // MOST_BYTES))
            for piece in pieces:
                self.snapshot.write(piece, snapshot[piece * MOST_BYTES : (piece + 1) * MOST_BYTES])
            for piece in range(len(pieces), before):
                self.snapshot.remove(piece)
            return len(pieces)

    return Processor()
