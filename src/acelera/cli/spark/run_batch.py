"""`acelera run` and `acelera report` on Spark, over files that are all there."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from acelera.cli.job import Job, Outcome
from acelera.cli.outputs import Output, refuse_unfit, written
from acelera.cli.progress import Progress
from acelera.cli.spark.spark_errors import told_in_short
from acelera.cli.spark.spark_files import WRITING, frames_of, place
from acelera.cli.spark.spark_session import is_classic, session
from acelera.spark.schemas import arrow_schema
from acelera.spark.spark_expressions import quoted

if TYPE_CHECKING:
    from acelera.report import Findings, Limits, SummaryFindings

Result = TypeVar("Result")

LOOKS_A_SECOND = 4


def explain_on_spark(job: Job, debug: bool) -> str:
    """What the query does with these files, and what runs where."""
    with session(debug) as spark, told_in_short():
        frames = frames_of(spark, job.inputs, job.order_by)
        return job.query.explain(frames.get(None, frames), **job.options, rows=job.rows)


def run_on_spark(job: Job, progress: Progress, debug: bool) -> Outcome:
    """Find the matches in files, and write them or give the first of them."""
    with _place(job.output) as target:  # to the end of Spark, which may still write for a while if it is cancelled
        return _on_spark(progress, debug, lambda spark: _run(job, target, spark, progress))


def find_on_spark(job: Job, progress: Progress, debug: bool, limits: Limits) -> Findings | SummaryFindings:
    """What a report shows of files."""
    return _on_spark(progress, debug, lambda spark: _find(job, spark, progress, limits))


def _on_spark(progress: Progress, debug: bool, work: Callable[[Any], Result]) -> Result:
    progress.begin("starting Spark")
    with session(debug) as spark, told_in_short():
        return watched(spark, progress, lambda: work(spark))


def _find(job: Job, spark: Any, progress: Progress, limits: Limits) -> Findings | SummaryFindings:
    progress.begin("looking at the input")
    frames = frames_of(spark, job.inputs, job.order_by)
    progress.begin("running")
    return job.query.findings(frames.get(None, frames), job.options, limits)


def _run(job: Job, target: str, spark: Any, progress: Progress) -> Outcome:
    from pyspark.sql import Observation, functions

    progress.begin("looking at the input")
    observed, frames = [], {}
    one = functions.count(functions.lit(1)).alias("rows")
    for name, frame in frames_of(spark, job.inputs, job.order_by).items():
        observed.append((Observation(), frame))
        frames[name] = frame.observe(observed[-1][0], one)
    progress.begin("running")
    result = job.query.run(frames.get(None, frames), **job.options, rows=job.rows, until=job.until)
    if job.output is None:
        summary = job.query.pattern.check(job.query.clauses, None).summary
        if summary is not None and summary.order:
            result = result.orderBy(*(quoted(name) for name in summary.order))
        rows = result.limit(job.shown + 1).toArrow().to_pylist()
        if len(rows) > job.shown:
            return Outcome(None, job.shown, rows[: job.shown], more=True, what=job.what_on_spark)
        return Outcome(sum(_rows(*each) for each in observed), len(rows), rows, what=job.what_on_spark)
    refuse_unfit(job.output, arrow_schema(result))
    for each in result.schema.fields:
        if each.dataType.simpleString() == "void":  # which no file can hold
            result = result.withColumn(each.name, functions.col(quoted(each.name)).cast("string"))
    matches = Observation()
    result = result if job.limit is None else result.limit(job.limit)
    writer = result.observe(matches, one).write.mode("overwrite" if job.output.overwrite else "error")
    writer.format(job.output.format).options(**WRITING).save(target)
    found = _rows(matches, result)
    if found == job.limit:
        return Outcome(None, found, more=None, what=job.what_on_spark)
    return Outcome(sum(_rows(*each) for each in observed), found, what=job.what_on_spark)


def _rows(observation: Any, frame: Any) -> int:
    """How many rows were seen; where Spark finds that nothing can come out, it forgets that, and they are counted."""
    try:
        return int(observation.get["rows"])
    except Exception:  # an assertion in the JVM, or no such key, by kind of session
        return int(frame.count())


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
            progress.show()
    except KeyboardInterrupt:
        spark.interruptTag(tag)
        thread.join(10)
        raise
    if failures:
        raise failures[0]
    return results[0]


def _look(tracker: Any, progress: Progress) -> None:
    """How many tasks of the stages that run now are done."""
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [each for each in stages if each is not None]
    if known:
        progress.unit = "tasks"
        progress.reach(sum(each.numCompletedTasks for each in known), sum(each.numTasks for each in known))
