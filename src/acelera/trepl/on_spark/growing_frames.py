"""Programs over frames that are still growing: changes wait until the watermark has passed them, and enter engines.

Each part of a program has buckets of its own: many if it is split by a key, otherwise one. A stage is complete when the
watermark has passed its time, so the time is the first of what orders changes. An engine in a bucket takes all stages
up to the watermark at once, and derived events go from module to module within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import pyarrow as pa

from acelera.cdc import Source
from acelera.cdc.layout import said
from acelera.engine.storage.snapshots import fingerprint_of
from acelera.errors import DataError, UsageError
from acelera.language.types import Kind
from acelera.programs.columns import plain_column
from acelera.spark.buckets import BUCKETS, NEVER
from acelera.spark.hosting import Transport, hosted, unpacked
from acelera.spark.metrics import Told
from acelera.spark.running import all_grow, see_to_python
from acelera.spark.watermarks import check_requirements, delay_of, with_watermark
from acelera.trepl.agreement import Incoming, told_of
from acelera.trepl.engine import ChangeEngine
from acelera.trepl.on_spark.part_task import PartTask
from acelera.trepl.on_spark.travelling import CHANGE, SOURCE, WHEN, Travelling, data_column, union
from acelera.trepl.rule_options import Coming
from acelera.trepl.rule_outputs import STAMP

TIMES = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class BucketTask:
    """A program as the buckets of a stream run it; `travelling` is what comes to any part of it.

    `name` tells the program and its options from others.
    """

    noun: ClassVar[str] = "program"
    time: ClassVar[str] = WHEN
    tasks: tuple[PartTask, ...]
    travelling: Travelling
    name: str

    @property
    def fingerprint(self) -> str:
        """That of the program, its rows and how they are split."""
        parts = [(each.part.modules, sorted(each.part.keys.items(), key=repr)) for each in self.tasks]
        return fingerprint_of(repr((self.name, str(self.travelling.columns), parts)))

    @cached_property
    def places(self) -> tuple[PartTask, ...]:
        """The part that runs in each bucket."""
        return tuple(each for each in self.tasks for _ in range(BUCKETS if each.part.is_split else 1))

    def columns(self, bucket: int) -> list[str]:
        """The columns of rows that wait: those that have a value for the part."""
        own = {feed.fed for feed in self.places[bucket].travelling.feeds}
        lacking = {data_column(number) for number, feed in enumerate(self.travelling.feeds) if feed.fed not in own}
        return [name for name in self.travelling.columns.names if name not in lacking]

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced."""
        known = {each.name: each.type for each in self.travelling.columns}
        kinds = [known.get(each.name, each.type) for each in rows.schema]
        columns = [plain_column(column, kind) for column, kind in zip(rows.columns, kinds, strict=True)]
        found = pa.table(columns, names=rows.column_names)
        if found.column(WHEN).null_count:
            raise DataError("a change has no time")
        return found

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """Late rows as they are: nobody asks for them."""
        return rows

    def open(self, bucket: int) -> InBucket:
        """Begin."""
        return InBucket(self, self.places[bucket], self.places[bucket].open())

    def resume(self, bucket: int, snapshot: bytes) -> InBucket:
        """Go on from a snapshot."""
        return InBucket(self, self.places[bucket], self.places[bucket].resume(snapshot))


@dataclass
class InBucket:
    """The engine of a part that runs in a bucket; nothing happens unless changes come."""

    task: BucketTask
    part: PartTask
    engine: ChangeEngine
    due: int = NEVER

    @property
    def told(self) -> Told:
        """It counts nothing but its rows."""
        return Told()

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """Take all changes up to now; what actions do."""
        if rows is not None:
            yield from self.part.step(self.engine, self.task.travelling.tables(rows))

    def snapshot(self) -> bytes:
        """That of the engine."""
        return self.engine.snapshot()


def run_growing(task: BucketTask, incoming: Incoming, coming: Coming) -> Any:
    """The frame of what all actions of a program do, of changes that still come."""
    sources = incoming.sources
    all_grow({relation: source.held.frame for relation, source in sources.items()})
    for relation, source in sources.items():
        _refuse_unfit(relation, source, incoming.granularity)
    some = next(iter(sources.values())).held.frame
    see_to_python(some.sparkSession)
    check_requirements(some, max(BUCKETS, len(task.places)))
    frames = {relation: _watched(relation, incoming, task, coming.delay) for relation in sources}
    latest = max(each for _, each in frames.values())
    rows = union([frame for frame, _ in frames.values()])
    names = tuple(rows.columns)
    spread = [_spread(each, task).cast("int").alias(f"spread{n}") for n, each in enumerate(task.tasks)]
    routes = tuple(tuple(task.columns(task.places.index(each))) for each in task.tasks)
    transport = Transport(names, routes, len(task.places))
    found = hosted(rows.select(*spread, *names), transport, task, late_events=False, checkpoint=coming.checkpoint)
    return with_watermark(unpacked(found, _result(task), task.fingerprint), STAMP, latest)


def _result(task: BucketTask) -> pa.Schema:
    """The columns of the result: those of all parts."""
    first, *others = (each.columns for each in task.tasks)
    return pa.schema([*first, *(each for other in others for each in list(other)[2:])])


# --- changes ----------------------------------------------------------------------------------------------------------


def _refuse_unfit(relation: str, source: Source, granularity: str) -> None:
    """Stages are closed by the watermark, which is one of times with a zone."""
    clock, kind = source.layout.clock, source.timestamp
    with told_of(relation):
        if kind.kind is not Kind.TIMESTAMP:
            raise UsageError(
                f"a stream is ordered by time, but `{said(clock.path)}` is {kind}; say with time_unit=… what 1 is"
            )
        if not kind.zoned:
            raise UsageError(
                f"Spark has watermarks for times with a zone only, and `{said(clock.path)}` has none; cast it to a "
                "timestamp before"
            )
        first = next(iter(source.layout.instant(granularity)))
        if first != clock.path:
            raise UsageError(
                f"a stage of a stream is complete when the watermark has passed its time, but changes are ordered by "
                f"`{said(first)}`; begin order_by with `{said(clock.path)}`"
            )


def _watched(relation: str, incoming: Incoming, task: BucketTask, delay: str | None) -> tuple[Any, int]:
    """The changes of a relation under a watermark, and how late they may come, in milliseconds."""
    source = incoming.sources[relation]
    path = source.layout.clock.path
    number = next(n for n, feed in enumerate(task.travelling.feeds) if feed.fed == (None, relation))
    rows = task.travelling.frame(number, source.normalized(incoming.granularity))
    if delay is not None:
        rows = rows.withWatermark(WHEN, delay)
        return rows, int(delay_of(rows, WHEN))
    told = delay_of(source.held.frame, path[0]) if len(path) == 1 and path[0] in source.held.frame.columns else None
    if told is None:
        raise UsageError(
            f"`{relation}`: there is no watermark on `{said(path)}`, so it never becomes clear that all changes up to "
            'a time have come. Say how late they may come: run(…, delay="10 minutes"), or with withWatermark'
        )
    return rows, int(told)


def _spread(part: PartTask, task: BucketTask) -> Any:
    """The bucket of each row that a part needs; NULL for others."""
    from pyspark.sql import functions

    first = task.places.index(part)
    numbers = {feed.fed: number for number, feed in enumerate(task.travelling.feeds)}
    found = functions.lit(None)
    for feed in part.travelling.feeds:
        number, place = numbers[feed.fed], functions.lit(first)
        if part.part.is_split:
            key = task.travelling.key(number, part.part.keys[feed.fed], part.key_types)
            place = functions.pmod(functions.xxhash64(*key), functions.lit(BUCKETS)) + place
        counts = (functions.col(SOURCE) == number) & functions.col(CHANGE).isin(*feed.kinds)
        found = functions.when(counts, place).otherwise(found)
    return found
