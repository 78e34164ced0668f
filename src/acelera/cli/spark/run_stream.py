"""`acelera run --stream`: a folder that is watched, and one that matches are added to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from acelera.cli.group import in_options
from acelera.cli.inputs import Input, is_remote
from acelera.cli.job import Job
from acelera.cli.outputs import refuse_unfit
from acelera.cli.progress import Progress, count, told_beside
from acelera.cli.spark.kept_columns import keep, layout_of_stream
from acelera.cli.spark.spark_bad_rows import COUNTED, FIRST, is_told, observations, tell, without_bad
from acelera.cli.spark.spark_errors import told_in_short
from acelera.cli.spark.spark_files import WRITING, Layout, pattern, place, written_as
from acelera.cli.spark.spark_session import session, with_options
from acelera.engine.session.bounds import REMEDIES, many
from acelera.errors import UsageError
from acelera.spark.buckets import BUCKETS
from acelera.spark.metrics import metrics as all_metrics
from acelera.spark.schemas import arrow_schema

MATCHES = "acelera_matches"
"""The name under which Spark tells how many matches a micro-batch gave."""

BAD_ROWS = "acelera_bad_rows"
"""The name under which it tells how many rows of files could not be read."""

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
    frame, layout = _frame(job, folder, watch, spark)
    result = job.query.run(
        frame if folder.event_type is None else {folder.event_type: frame},
        **job.options,
        rows=job.rows,
        ties=job.ties,
        checkpoint=place(watch.checkpoint),
    )
    refuse_unfit(output, arrow_schema(result))
    keep(spark, layout, watch.checkpoint)
    counted = written_as(result.observe(MATCHES, functions.count(functions.lit(1)).alias("rows")), output.format)
    writer = counted.writeStream.format(output.format).options(**WRITING).outputMode("append")
    writer = writer.option("path", place(output.path)).option("checkpointLocation", place(watch.checkpoint))
    return (writer.trigger(availableNow=True) if watch.once else writer).start()


def _frame(job: Job, folder: Input, watch: Watch, spark: Any) -> tuple[Any, Layout]:
    """The folder as a growing frame; it is checked that events have a time before Spark is asked to watch it."""
    reading = job.reading
    layout = layout_of_stream(spark, job.inputs.format, folder, job.order_by, reading, watch.checkpoint)
    frame = layout.frame(spark.readStream, pattern(folder.path))
    if is_told(frame) and reading.bad_rows == "skip":
        frame = frame.observe(BAD_ROWS, *observations())
    frame = without_bad(frame, reading)
    columns = {each.name: each.type for each in arrow_schema(frame)}
    described = columns if folder.event_type is None else {folder.event_type: columns}
    job.query.check(described, **job.options, rows=job.rows)
    kind = columns[job.order_by[0]]
    if not pa.types.is_timestamp(kind):
        raise UsageError(f"a stream is ordered by time, but `{job.order_by[0]}` is of type {kind}")
    return frame.withWatermark(job.order_by[0], watch.watermark), layout


class _Totals:
    """What all micro-batches so far have read and found; each is told when it is done."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._seen = progress, set[int]()
        self._events, self._bad, self._warned = 0, 0, False
        self._beside = {"late": 0, "tied": 0, "dropped": 0}
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
                matches, told = metrics[MATCHES].rows, all_metrics(each)
                beside = {"late": told["late_events"], "tied": told["tied"], "dropped": told["dropped"]}
                self._beside = {name: number + self._beside[name] for name, number in beside.items()}
                self._progress.matches += matches
                shown = [f"{beside.pop('late'):,} late", *told_beside(beside)]
                found = f"{count(matches, self._progress.what)}, {', '.join(shown)}, "
            events = each.numInputRows - self._bad_rows(metrics.get(BAD_ROWS), each.numInputRows)
            self._events += events
            self._progress.advance(events)
            watermark = each.eventTime.get("watermark", _NO_WATERMARK)
            reached = "no watermark yet" if watermark == _NO_WATERMARK else f"watermark {watermark}"
            self._progress.say(f"batch {each.batchId}: {count(events, 'event')}, {found}{reached}")
            self._warn()

    def _bad_rows(self, found: Any, rows: int) -> int:
        """How many rows were left out, if that is counted."""
        bad = int(getattr(found, COUNTED, 0) or 0)
        tell(bad, getattr(found, FIRST, None), self._progress, rows - bad)
        self._bad += bad
        return bad

    def _warn(self) -> None:
        """Say once that there are far more matches than events."""
        if not self._warned and many(self._progress.matches, self._events):
            self._warned = True
            made = f"{self._progress.matches:,} matches so far, over {self._events:,} events"
            self._progress.say(f"warning: {made}; {in_options(REMEDIES)}")

    def summary(self) -> str:
        """One line; without matches and late events if they were not counted."""
        parts = [count(self._events, "event")]
        if self._counted:
            parts.append(count(self._progress.matches, self._progress.what))
        if self._counted and self._beside["late"]:
            parts.append(count(self._beside["late"], "late event"))
        parts += told_beside({name: self._beside[name] for name in ("tied", "dropped")})
        if self._bad:
            parts.append(f"{count(self._bad, 'bad row')} skipped")
        return ", ".join([*parts, f"{self._progress.elapsed:.1f} s"])
