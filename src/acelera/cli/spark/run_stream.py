"""`acelera run --stream`: a folder that is watched, and one that matches are added to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from acelera.cli.inputs import Input, is_remote
from acelera.cli.job import Job
from acelera.cli.progress import Progress, count
from acelera.cli.spark.spark_errors import told_in_short
from acelera.cli.spark.spark_files import WRITING, layout_of, pattern, place
from acelera.cli.spark.spark_session import session, with_options
from acelera.errors import UsageError
from acelera.spark.buckets import BUCKETS
from acelera.spark.schemas import arrow_schema
from acelera.spark.watermarks import late_events_of

MATCHES = "acelera_matches"
"""The name under which Spark tells how many matches a micro-batch gave."""

_NO_WATERMARK = "1970-01-01T00:00:00.000Z"
"""What Spark begins with."""


@dataclass(frozen=True)
class Watch:
    """How a folder is watched: where it is remembered how far one is, how late events may come, and until when."""

    checkpoint: str
    watermark: str
    once: bool


def check_watch(job: Job, watch: Watch) -> None:
    """Refuse places that would mix up streams, before Spark starts."""
    place, output = job.inputs.parts[0], job.output
    assert output is not None
    if not place.remote and not Path(place.path).is_dir():
        raise click.UsageError(f"--stream watches a folder, and `{place.path}` is a file")
    if output.format == "csv":
        raise click.UsageError("--stream adds files to a folder of parquet or JSON: -o matches, or -o matches.json")
    if is_remote(watch.checkpoint) or output.remote or place.remote:
        return
    remembered, target = Path(watch.checkpoint).resolve(), Path(output.path).resolve()
    source = Path(place.path).resolve()
    for left, right in ((remembered, target), (remembered, source)):
        if left == right or left in right.parents or right in left.parents:
            raise click.UsageError(
                f"the checkpoint `{watch.checkpoint}` must be a folder of its own, apart from `{right}`"
            )
    if target.is_file():
        raise click.UsageError(f"`{output.path}` is a file; --stream adds files to a folder")
    if target.is_dir() and any(target.iterdir()) and not remembered.exists():
        raise click.UsageError(
            f"`{output.path}` holds matches, but there is no checkpoint `{watch.checkpoint}` to go on from; name the "
            "checkpoint that they were written with, or another output"
        )


def run_stream(job: Job, watch: Watch, progress: Progress, debug: bool) -> str:
    """Watch a folder until all is read or the user ends it; the summary of what happened."""
    progress.what = job.what_on_spark
    progress.begin("starting Spark")
    with session(debug) as spark, _few_parts(spark), told_in_short():
        running = _start(job, watch, spark, progress)
        totals = _Totals(progress)
        progress.begin("watching")
        try:
            while not running.awaitTermination(0.25):
                totals.read(running)
                progress.show()
        except KeyboardInterrupt:
            running.stop()
        totals.read(running)
        return totals.summary()


@contextmanager
def _few_parts(spark: Any) -> Iterator[None]:
    """State has no more parts than there are buckets, so the 200 that Spark makes if nothing is said only take time."""
    name = "spark.sql.shuffle.partitions"
    with with_options(spark, {name: str(BUCKETS)} if spark.conf.get(name) == "200" else {}):
        yield


def _start(job: Job, watch: Watch, spark: Any, progress: Progress) -> Any:
    from pyspark.sql import functions

    progress.begin("looking at the input")
    (folder,), output = job.inputs.parts, job.output
    assert output is not None
    frame = _frame(job, folder, watch, spark)
    result = job.query.run(
        frame if folder.event_type is None else {folder.event_type: frame}, **job.options, rows=job.rows
    )
    counted = result.observe(MATCHES, functions.count(functions.lit(1)).alias("rows"))
    writer = counted.writeStream.format(output.format).options(**WRITING).outputMode("append")
    writer = writer.option("path", place(output.path)).option("checkpointLocation", place(watch.checkpoint))
    return (writer.trigger(availableNow=True) if watch.once else writer).start()


def _frame(job: Job, folder: Input, watch: Watch, spark: Any) -> Any:
    """The folder as a growing frame; it is checked that events have a time before Spark is asked to watch it."""
    layout = layout_of(spark, job.inputs.format, [pattern(folder.path)], job.order_by).with_texts()
    frame = layout.frame(spark.readStream, pattern(folder.path))
    columns = {each.name: each.type for each in arrow_schema(frame)}
    described = columns if folder.event_type is None else {folder.event_type: columns}
    job.query.check(described, **job.options, rows=job.rows)
    kind = columns[job.order_by[0]]
    if not pa.types.is_timestamp(kind):
        raise UsageError(f"a stream is ordered by time, but `{job.order_by[0]}` is of type {kind}")
    return frame.withWatermark(job.order_by[0], watch.watermark)


class _Totals:
    """What all micro-batches so far have read and found; each is told when it is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._seen = progress, set[int]()
        self._events = self._late = 0
        self._counted = True

    def read(self, running: Any) -> None:
        """Look for micro-batches that are done."""
        for each in running.recentProgress:
            if each.batchId in self._seen or "addBatch" not in each.durationMs:
                continue
            self._seen.add(each.batchId)
            found = ""
            metrics = each.observedMetrics
            self._counted &= hasattr(metrics.get(MATCHES), "rows")  # Spark Connect may keep the numbers to itself
            if self._counted:
                matches, late = metrics[MATCHES].rows, late_events_of(each)
                self._late += late
                self._progress.matches += matches
                found = f"{count(matches, self._progress.what)}, {late:,} late, "
            self._events += each.numInputRows
            self._progress.advance(each.numInputRows)
            watermark = each.eventTime.get("watermark", _NO_WATERMARK)
            reached = "no watermark yet" if watermark == _NO_WATERMARK else f"watermark {watermark}"
            self._progress.say(f"batch {each.batchId}: {count(each.numInputRows, 'event')}, {found}{reached}")

    def summary(self) -> str:
        """One line; without matches and late events if they were not counted."""
        parts = [count(self._events, "event")]
        if self._counted:
            parts.append(count(self._progress.matches, self._progress.what))
        if self._counted and self._late:
            parts.append(count(self._late, "late event"))
        return ", ".join([*parts, f"{self._progress.elapsed:.1f} s"])
