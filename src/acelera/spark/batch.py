"""A frame that is all there: move as little as possible, sort, and run a session in each task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from acelera.automata.terms import Term
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.predicates.letters import LETTER
from acelera.engine.session.session import Session
from acelera.engine.storage.snapshots import fingerprint_of
from acelera.language.types import Kind
from acelera.spark.pipeline import Pipeline
from acelera.spark.schemas import spark_schema
from acelera.spark.slices import SLICE, Slices, last_time, runs
from acelera.spark.spark_expressions import JvmTests, quoted
from acelera.spark.summary_batch import SummaryTask, run_summary, slices_of


@dataclass(frozen=True)
class Task:
    """What a worker needs to run a query; the JVM has made some of its tests."""

    query: CompiledQuery
    in_jvm: tuple[int, ...]
    until: int | None = None

    def session(self) -> Session:
        """A session of the query."""
        return self.query.open(given_tests=self.in_jvm, numbered=False)

    def resumed(self, snapshot: bytes) -> Session:
        """A session that goes on from a snapshot."""
        return self.query.resume(snapshot, self.in_jvm)

    @property
    def fingerprint(self) -> str:
        """What tells this task from others: rows that wait are packed for it."""
        schema = self.query.schema
        columns = {name: str(kind.arrow) for name, kind in schema.columns.items()}
        order = (schema.order_by, schema.type_column)
        return fingerprint_of(repr((self.query.fingerprint, columns, order, self.in_jvm)))


def run_batch(frame: Any, query: CompiledQuery, pipeline: Pipeline, until: int | None = None) -> Any:
    """The frame of the matches; the frame is complete up to a time, or to its last event."""
    if until is None and query.checked.waits is not None:
        until = last_time(frame, query.schema)
    schema, task, tests = query.schema, Task(query, pipeline.in_jvm, until), JvmTests(query.schema)
    columns = query.columns_read(pipeline.in_jvm)
    if pipeline.relevant is not None:
        frame = frame.filter(relevant(pipeline, tests))
    sliced = Slices.of(frame, query) if pipeline.sliced else None
    cut = sliced if pipeline.shares is None else slices_of(frame, query, pipeline.shares)
    slices = [] if cut is None else [cut.column(schema).alias(SLICE)]
    moved = frame.select(*slices, *travelling(columns, query, pipeline, tests))
    result, names = spark_schema(query.result_schema), names_of(columns, pipeline)
    plain = {name: f"c{index}" for index, name in enumerate(columns)}
    order = [plain[name] for name in schema.order_by]
    if pipeline.shares is not None:
        summary = SummaryTask(query, pipeline.in_jvm, pipeline.shares, tuple(names))
        return run_summary(moved, summary, cut, order, [plain[name] for name in pipeline.keys])
    if pipeline.keys:
        placed = moved.repartition(*(plain[name] for name in pipeline.keys)).sortWithinPartitions(*order)
        return placed.mapInArrow(_reader(task, names), result)
    if sliced is not None:
        placed = moved.repartition(SLICE).sortWithinPartitions(SLICE, *order)
        return placed.mapInArrow(_slice_reader(task, sliced, names), result)
    return moved.repartition(1).sortWithinPartitions(*order).mapInArrow(_reader(task, names), result)


def travelling(columns: Sequence[str], query: CompiledQuery, pipeline: Pipeline, tests: JvmTests) -> list[Any]:
    """The columns that a session reads, under plain names: Spark takes others apart, or mixes them up with ours."""
    from pyspark.sql import functions

    found = []
    for index, name in enumerate(columns):
        column = functions.col(quoted(name))
        if query.schema.columns[name].kind is Kind.STRING:
            column = column.cast("string")  # whose order is that of its bytes, whatever the column's collation
        found.append(column.alias(f"c{index}"))
    if pipeline.in_jvm:
        found.append(letter_column([query.plan.tests[number] for number in pipeline.in_jvm], tests).alias("letter"))
    return found


def names_of(columns: Sequence[str], pipeline: Pipeline) -> list[str]:
    """What the columns that travel are called in a session."""
    return [*columns, LETTER] if pipeline.in_jvm else list(columns)


def relevant(pipeline: Pipeline, tests: JvmTests) -> Any:
    """Whether some state may react to a row, as far as the JVM can tell."""
    from pyspark.sql import functions

    if pipeline.relevant is None:
        return functions.lit(True)
    return _any([_all(asked, tests) for asked in pipeline.relevant])


Batches = Iterator[pa.RecordBatch]


def _reader(task: Task, names: list[str]) -> Callable[[Batches], Batches]:
    def read(batches: Batches) -> Batches:
        session = task.session()
        for batch in batches:
            yield from session.stream(batch.rename_columns(names))
        yield from (page.rows for page in session.rest(until=task.until))

    return read


def _slice_reader(task: Task, slices: Slices, names: list[str]) -> Callable[[Batches], Batches]:
    """One slice after the other; of each, the matches that start in it. The first column tells the slice of a row."""

    def read(batches: Batches) -> Batches:
        session, current = task.session(), None
        for batch in batches:
            rows = batch.select(range(1, batch.num_columns)).rename_columns(names)
            for number, part in runs(batch.column(0), rows):
                if number != current:
                    yield from rest(session, current)
                    session, current = task.session(), number
                yield from session.stream(part, starting_before=slices.end(number))
        yield from rest(session, current)

    def rest(session: Session, number: int | None) -> Batches:
        if number is not None:
            yield from (page.rows for page in session.rest(slices.end(number)))

    return read


# --- columns ------------------------------------------------------------------------------------------------------


def _all(asked: tuple[Term, ...], tests: JvmTests) -> Any:
    """Whether all tests hold, as far as the JVM can tell."""
    from pyspark.sql import functions

    columns = [column for column in (tests.column(test) for test in asked) if column is not None]
    return reduce(lambda left, right: left & right, columns, functions.lit(True))


def _any(columns: list[Any]) -> Any:
    from pyspark.sql import functions

    return reduce(lambda left, right: left | right, columns, functions.lit(False))


def letter_column(asked: Sequence[Term], tests: JvmTests) -> Any:
    """The tests that hold, as the bits of one number."""
    from pyspark.sql import functions

    bits = []
    for bit, test in enumerate(asked):
        column = tests.column(test)
        assert column is not None
        bits.append(
            functions.when(column, functions.lit(1 << bit).cast("bigint")).otherwise(functions.lit(0).cast("bigint"))
        )
    return reduce(lambda left, right: left.bitwiseOR(right), bits)
