"""A summary of a frame that is all there: tasks find totals of groups, which are merged where several have some."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.summaries.summary_session import SummarySession
from acelera.spark.schemas import spark_schema
from acelera.spark.summary_shares import KEYS, WHOLE, Shares

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class SummaryTask:
    """What a worker needs to run a summary; the JVM has made some of its tests. The columns that travel have names."""

    query: CompiledQuery
    in_jvm: tuple[int, ...]
    shares: Shares
    names: tuple[str, ...]

    def session(self) -> SummarySession:
        """A session, which gives rows of the result, or rows that are to be merged."""
        return self.query.open_summary(given_tests=self.in_jvm, numbered=False, partial=self.shares.merged)


def run_summary(moved: Any, task: SummaryTask, order: list[str], keys: list[str]) -> Any:
    """The frame of the rows, given that of the events with the columns that order and split it."""
    query, shares = task.query, task.shares
    result = spark_schema(query.result_schema)
    given = spark_schema(query.summarizing().partial_rows().schema) if shares.merged else result
    if shares.cut == KEYS:
        placed = moved.repartition(*keys).sortWithinPartitions(*order)
        found = placed.mapInArrow(_reader(task), given)
    else:
        placed = moved.repartition(1).sortWithinPartitions(*order)
        found = placed.mapInArrow(_reader(task), given)
    return _merged(found, task).mapInArrow(_merger(task), result) if shares.merged else found


def _merged(found: Any, task: SummaryTask) -> Any:
    """What tasks have found, with all of a group in one place."""
    group = [each.name for each in task.query.summarizing().partial_rows().group]
    return found.repartition(*group) if group else found.repartition(1)


def _reader(task: SummaryTask) -> Callable[[Batches], Batches]:
    names = list(task.names)

    def read(batches: Batches) -> Batches:
        session = task.session()
        for batch in batches:
            yield from session.stream(batch.rename_columns(names))
        yield from (page.rows for page in session.rest())

    return read


def _merger(task: SummaryTask) -> Callable[[Batches], Batches]:
    def merge(batches: Batches) -> Batches:
        merging = task.query.summarizing().merging()
        for batch in batches:
            merging.add(batch)
        yield merging.rows()

    return merge
