"""A summary of a frame that is all there: tasks find totals of groups, which are merged where several have some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.summaries.component_summarizer import ComponentSummarizer
from acelera.engine.summaries.matrices import STRETCH, matrix
from acelera.engine.summaries.stretches import Slice
from acelera.engine.summaries.summary_session import SummarySession
from acelera.spark.arrow_batches import Batches, gathered
from acelera.spark.schemas import spark_schema
from acelera.spark.slices import SLICE, Slices, WindowSlices, parallelism, runs
from acelera.spark.summary_shares import KEYS, STARTS, STRETCHES, WINDOWS, Shares
from acelera.spark.worker_errors import told_in_short


@dataclass(frozen=True)
class SummaryTask:
    """What a worker needs to run a summary; the JVM has made some of its tests. The columns that travel have names."""

    query: CompiledQuery
    in_jvm: tuple[int, ...]
    shares: Shares
    names: tuple[str, ...]
    ties: str = "error"

    def session(self) -> SummarySession:
        """A session, which gives rows of the result, or rows that are to be merged."""
        return self.query.open_summary(self.ties, self.in_jvm, numbered=False, partial=self.shares.merged)


def slices_of(frame: Any, query: CompiledQuery, shares: Shares) -> Slices | WindowSlices | None:
    """The slices of time that a frame is cut into, if it is."""
    if shares.cut == STARTS:
        return Slices.of(frame, query)
    if shares.cut == WINDOWS:
        spans = query.summarizing().spans
        assert spans is not None
        return WindowSlices.of(frame, query, spans)
    return None


def run_summary(
    moved: Any, task: SummaryTask, slices: Slices | WindowSlices | None, order: list[str], keys: list[str]
) -> Any:
    """The frame of the rows, given that of the events with the columns that order and split it."""
    query, shares = task.query, task.shares
    result, strategy = spark_schema(query.result_schema), query.summarizing()
    if shares.cut == STRETCHES:
        placed = moved.repartitionByRange(_stretches(moved), *order).sortWithinPartitions(*order)
        found = placed.mapInArrow(_stretch_reader(task), spark_schema(strategy.chaining().schema))
        chained = found.repartition(1).sortWithinPartitions(STRETCH)
        return chained.mapInArrow(_chainer(task), result)
    given = spark_schema(strategy.partial_rows().schema) if shares.merged else result
    if slices is not None:
        placed = moved.repartition(SLICE).sortWithinPartitions(SLICE, *order)
        found = placed.mapInArrow(_slice_reader(task, slices), given)
    elif shares.cut == KEYS:
        found = moved.repartition(*keys).sortWithinPartitions(*order).mapInArrow(_reader(task), given)
    else:
        found = moved.repartition(1).sortWithinPartitions(*order).mapInArrow(_reader(task), given)
    if not shares.merged:
        return found
    group = [each.name for each in strategy.partial_rows().group]
    placed = found.repartition(*group) if group else found.repartition(1)
    return placed.mapInArrow(_merger(task), result)


def _stretches(frame: Any) -> int:
    """Into how many stretches a frame is cut: those that are read at once begin and end at different times."""
    spark = frame.sparkSession
    connected = ".connect." in type(spark).__module__
    return 2 * (parallelism(frame) if connected else int(spark.sparkContext.defaultParallelism))


def _reader(task: SummaryTask) -> Callable[[Batches], Batches]:
    names = list(task.names)

    @told_in_short
    def read(batches: Batches) -> Batches:
        session = task.session()
        for batch in gathered(batches, names):
            yield from session.stream(batch)
        yield from (page.rows for page in session.rest())

    return read


def _slice_reader(task: SummaryTask, slices: Slices | WindowSlices) -> Callable[[Batches], Batches]:
    """One slice after the other. The first column tells the slice of a row."""
    names = list(task.names)

    @told_in_short
    def read(batches: Batches) -> Batches:
        session, current = None, None
        for batch in gathered(batches, [SLICE, *names]):
            for number, part in runs(batch.column(0), batch.select(range(1, batch.num_columns))):
                if session is None or number != current:
                    if session is not None:
                        yield from (page.rows for page in session.rest())
                    session, current = task.session(), number
                    session.cut(slices.part(number))
                yield from session.stream(part)
        if session is not None:
            yield from (page.rows for page in session.rest())

    return read


def _stretch_reader(task: SummaryTask) -> Callable[[Batches], Batches]:
    """A stretch, whose number is that of the task; one without rows leaves all as it is."""
    names = list(task.names)

    @told_in_short
    def read(batches: Batches) -> Batches:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None and task.shares.reachable is not None
        session, number = None, context.partitionId()
        for batch in gathered(batches, names):
            if session is None:
                session = task.query.open_stretch(task.shares.reachable, task.ties, task.in_jvm)
                session.cut(Slice(number))
            _demand_nothing(session.stream(batch))
        if session is not None:
            _demand_nothing(session.read_held())
            assert isinstance(session.summarizer, ComponentSummarizer)
            yield matrix(session.summarizer, number)

    return read


def _demand_nothing(given: Iterator[object]) -> None:
    for _ in given:
        raise AssertionError("a stretch gives nothing before its end")


def _chainer(task: SummaryTask) -> Callable[[Batches], Batches]:
    """Multiplies the matrices of stretches, which come in order."""

    @told_in_short
    def multiply(batches: Batches) -> Batches:
        chaining = task.query.summarizing().chaining()
        found = list(batches)
        if not found:
            return
        for batch in pa.Table.from_batches(found).combine_chunks().to_batches():
            for _, stretch in runs(batch.column(STRETCH), batch):
                chaining.add(stretch)
        yield chaining.rows()

    return multiply


def _merger(task: SummaryTask) -> Callable[[Batches], Batches]:
    @told_in_short
    def merge(batches: Batches) -> Batches:
        merging = task.query.summarizing().merging()
        for batch in batches:
            merging.add(batch)
        yield merging.rows()

    return merge
