"""`acelera run` and `acelera report` on Spark, over files that are all there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from acelera.cli.group import in_options
from acelera.cli.job import Job, Outcome
from acelera.cli.outputs import Output, refuse_unfit, written
from acelera.cli.progress import Progress
from acelera.cli.spark.spark_bad_rows import COUNTED, FIRST, is_told, observations, tell, without_bad
from acelera.cli.spark.spark_errors import told_in_short
from acelera.cli.spark.spark_files import WRITING, frames_of, place, written_as
from acelera.cli.spark.spark_session import is_classic, session, starts_here, warnings_of_workers
from acelera.spark.schemas import arrow_schema
from acelera.spark.spark_expressions import quoted

if TYPE_CHECKING:
    from acelera.report import Findings, Limits, SummaryFindings

Result = TypeVar("Result")

LOOKS_A_SECOND = 4
LITTLE = 200_000_000
"""Bytes of input for which Spark is hardly worth its start."""


def explain_on_spark(job: Job, debug: bool) -> str:
    """What the query does with these files, and what runs where."""
    with session(debug) as spark, told_in_short():
        frames = _read(spark, job)
        return job.query.explain(frames.get(None, frames), **job.options, rows=job.rows, ties=job.ties)


def run_on_spark(job: Job, progress: Progress, debug: bool) -> Outcome:
    """Find the matches in files, and write them or give the first of them."""
    with _place(job.output) as target:  # to the end of Spark, which may still write for a while if it is cancelled
        return _on_spark(job, progress, debug, lambda spark: _run(job, target, spark, progress))


def find_on_spark(job: Job, progress: Progress, debug: bool, limits: Limits) -> Findings | SummaryFindings:
    """What a report shows of files."""
    return _on_spark(job, progress, debug, lambda spark: _find(job, spark, progress, limits))


def _on_spark(job: Job, progress: Progress, debug: bool, work: Callable[[Any], Result]) -> Result:
    size = job.inputs.size
    if size is not None and size < LITTLE and starts_here():
        progress.say(f"{told_size(size)} of input: with --in-process, no Spark need start, which takes many seconds")
    progress.begin("starting Spark")
    with session(debug) as spark, told_in_short():
        return watched(spark, progress, lambda: work(spark))


def told_size(size: int) -> str:
    """A number of bytes in words.

    >>> told_size(450), told_size(2_300_000)
    ('450 bytes', '2.3 MB')
    """
    for unit, bytes_of_it in (("MB", 10**6), ("kB", 10**3)):
        if size >= bytes_of_it:
            return f"{size / bytes_of_it:.1f} {unit}"
    return f"{size} bytes"


def _find(job: Job, spark: Any, progress: Progress, limits: Limits) -> Findings | SummaryFindings:
    progress.begin("looking at the input")
    frames = _read(spark, job)
    progress.begin("running")
    return job.query.findings(frames.get(None, frames), job.options, limits, job.ties)


def _run(job: Job, target: str, spark: Any, progress: Progress) -> Outcome:
    from pyspark.sql import Observation, functions

    progress.begin("looking at the input")
    observed, frames, bad = [], {}, []
    one = _count()
    for name, frame in frames_of(spark, job.inputs, job.order_by, job.reading).items():
        if is_told(frame) and job.reading.bad_rows == "skip":
            bad.append((Observation(), frame))
            frame = frame.observe(bad[-1][0], *observations())
        frame = without_bad(frame, job.reading)
        observed.append((Observation(), frame))
        frames[name] = frame.observe(observed[-1][0], one)
    progress.begin("running")
    result = job.query.run(frames.get(None, frames), **job.options, rows=job.rows, until=job.until, ties=job.ties)
    if job.output is None:
        summary = job.query.pattern.check(job.query.clauses, None).summary
        if summary is not None and summary.order:
            result = result.orderBy(*(quoted(name) for name in summary.order))
        rows = result.limit(job.shown + 1).toArrow().to_pylist()
        if len(rows) > job.shown:
            return Outcome(None, job.shown, rows[: job.shown], more=True, what=job.what_on_spark)
        events = sum(_rows(*each) for each in observed)
        return Outcome(events, len(rows), rows, what=job.what_on_spark, skipped=_skipped(bad, progress, events))
    refuse_unfit(job.output, arrow_schema(result))
    for each in result.schema.fields:
        if each.dataType.simpleString() == "void":  # which no file can hold
            result = result.withColumn(each.name, functions.col(quoted(each.name)).cast("string"))
    matches = Observation()
    result = result if job.limit is None else result.limit(job.limit)
    writer = written_as(result.observe(matches, one), job.output.format).write.mode(
        "overwrite" if job.output.overwrite else "error"
    )
    writer.format(job.output.format).options(**WRITING).save(target)
    found = _rows(matches, result)
    if found == job.limit:
        return Outcome(None, found, more=None, what=job.what_on_spark)
    events = sum(_rows(*each) for each in observed)
    return Outcome(events, found, what=job.what_on_spark, skipped=_skipped(bad, progress, events))


def _read(spark: Any, job: Job) -> dict[str | None, Any]:
    """The frame of each event type."""
    found = frames_of(spark, job.inputs, job.order_by, job.reading)
    return {name: without_bad(frame, job.reading) for name, frame in found.items()}


def _skipped(observed: Sequence[tuple[Any, Any]], progress: Progress, read: int) -> int:
    """How many bad rows were left out; one of them is told."""
    found = [_seen(*each, observations()) for each in observed]
    skipped = sum(int(each[COUNTED]) for each in found)
    tell(skipped, next((each[FIRST] for each in found if each[FIRST]), None), progress, read)
    return skipped


def _rows(observation: Any, frame: Any) -> int:
    """How many rows were seen."""
    return int(_seen(observation, frame, [_count()])["rows"])


def _count() -> Any:
    from pyspark.sql import functions

    return functions.count(functions.lit(1)).alias("rows")


def _seen(observation: Any, frame: Any, asked: Sequence[Any]) -> Mapping[str, Any]:
    """What was observed; where Spark finds that nothing can come out, it reads nothing, and then it is looked for."""
    found: Mapping[str, Any] = {}
    with suppress(Exception):  # an assertion in the JVM, by kind of session
        found = observation.get
    return found or frame.agg(*asked).first().asDict()


@contextmanager
def _place(output: Output | None) -> Iterator[str]:
    """Where Spark writes: on this machine, beside the output, which it becomes when all is there."""
    if output is None or output.remote:
        yield "" if output is None else output.path
        return
    with written(output) as partial:
        yield place(str(partial))


# --- while it runs ------------------------------------------------------------------------------------------------


def watched(spark: Any, progress: Progress, work: Callable[[], Result]) -> Result:
    """Do something on Spark in a thread of its own, and tell how far it is; if interrupted, it is cancelled."""
    from pyspark import InheritableThread

    tag, results, failures = f"acelera-{uuid.uuid4().hex}", list[Result](), list[BaseException]()

    def working() -> None:
        try:
            spark.addTag(tag)
            results.append(work())
        except BaseException as error:
            failures.append(error)

    thread = InheritableThread(target=working, session=spark, daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(1 / LOOKS_A_SECOND)
            if is_classic(spark):
                _look(spark.sparkContext.statusTracker(), progress)
            _warn(progress)
            progress.show()
        _warn(progress)
    except KeyboardInterrupt:
        spark.interruptTag(tag)
        thread.join(10)
        raise
    if failures:
        raise failures[0]
    return results[0]


def _warn(progress: Progress) -> None:
    """Tell what workers warn of while they work: a run with far more matches than events may take very long."""
    for line in warnings_of_workers():
        progress.say(f"warning: {in_options(line)}")


def _look(tracker: Any, progress: Progress) -> None:
    """How many tasks of the stages that run now are done."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [each for each in stages if each is not None]
    if known:
        progress.unit = "tasks"
        progress.reach(sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known))
