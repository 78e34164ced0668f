"""A frame that is all there: move as little as possible, sort, and run a session in each task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any

from acelera.automata.terms import Term
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.predicates.letters import LETTER
from acelera.engine.session.session import Session
from acelera.engine.storage.snapshots import fingerprint_of
from acelera.language.schema import Schema
from acelera.language.types import Kind
from acelera.spark.arrow_batches import Batches, gathered
from acelera.spark.floods import most_per_event, watched_rows
from acelera.spark.pipeline import Pipeline
from acelera.spark.schemas import spark_schema
from acelera.spark.slices import SLICE, Slices, last_time, runs
from acelera.spark.spark_expressions import JvmTests, letter_column, quoted
from acelera.spark.summary_batch import SummaryTask, run_summary, slices_of
from acelera.spark.worker_errors import told_in_short


@dataclass(frozen=True)
class Task:
    """What a worker needs to run a query; the JVM has made some of its tests."""

    query: CompiledQuery
    in_jvm: tuple[int, ...]
    until: int | None = None
    ties: str = "error"
    most: float | None = None  # matches per event

    def session(self) -> Session:
        """A session of the query."""
        return self.query.open(self.ties, self.in_jvm, numbered=False)

    def resumed(self, snapshot: bytes) -> Session:
        """A session that goes on from a snapshot."""
        return self.query.resume(snapshot, self.in_jvm)

    @property
    def fingerprint(self) -> str:
        """What tells this task from others: rows that wait are packed for it."""
        schema = self.query.schema
        columns = {name: str(kind.arrow) for name, kind in schema.columns.items()}
        order = (schema.order_by, schema.type_column)
        ties = () if self.ties == "error" else (self.ties,)
        return fingerprint_of(repr((self.query.fingerprint, columns, order, self.in_jvm, *ties)))


def run_batch(frame: Any, query: CompiledQuery, pipeline: Pipeline, until: int | None = None) -> Any:
    """The frame of the matches; the frame is complete up to a time, or to its last event."""
    if until is None and query.checked.waits is not None:
        until = last_time(frame, query.schema)
    task = Task(query, pipeline.in_jvm, until, pipeline.ties, most_per_event(frame))
    schema, tests = query.schema, JvmTests(query.schema)
    columns = pipeline.columns(query)
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
        summary = SummaryTask(query, pipeline.in_jvm, pipeline.shares, tuple(names), pipeline.ties)
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
    found = [column_travelling(name, query.schema).alias(f"c{index}") for index, name in enumerate(columns)]
    if pipeline.in_jvm:
        found.append(letter_column([query.plan.tests[number] for number in pipeline.in_jvm], tests).alias("letter"))
    return found


def column_travelling(name: str, schema: Schema) -> Any:
    """A column of the stream as it travels."""
    from pyspark.sql import functions

    column = functions.col(quoted(name))
    if schema.columns[name].kind is Kind.STRING:
        return column.cast("string")  # whose order is that of its bytes, whatever the column's collation
    return column


def names_of(columns: Sequence[str], pipeline: Pipeline) -> list[str]:
    """What the columns that travel are called in a session."""
    return [*columns, LETTER] if pipeline.in_jvm else list(columns)


def relevant(pipeline: Pipeline, tests: JvmTests) -> Any:
    """Whether some state may react to a row, as far as the JVM can tell."""
    from pyspark.sql import functions

    if pipeline.relevant is None:
        return functions.lit(True)
    return _any([_all(asked, tests) for asked in pipeline.relevant])


def _reader(task: Task, names: list[str]) -> Callable[[Batches], Batches]:
    @told_in_short
    def read(batches: Batches) -> Batches:
        session = task.session()
        pages = chain.from_iterable(session.pages(batch) for batch in gathered(batches, names))
        yield from watched_rows(session, chain(pages, session.rest(until=task.until)), task.most)

    return read


def _slice_reader(task: Task, slices: Slices, names: list[str]) -> Callable[[Batches], Batches]:
    """One slice after the other; of each, the matches that start in it. The first column tells the slice of a row."""

    @told_in_short
    def read(batches: Batches) -> Batches:
        session, current = task.session(), None
        for batch in gathered(batches, [SLICE, *names]):
            for number, part in runs(batch.column(0), batch.select(range(1, batch.num_columns))):
                if number != current:
                    yield from rest(session, current)
                    session, current = task.session(), number
                pages = session.pages(part, starting_before=slices.end(number))
                yield from watched_rows(session, pages, task.most)
        yield from rest(session, current)

    def rest(session: Session, number: int | None) -> Batches:
        if number is not None:
            yield from watched_rows(session, session.rest(slices.end(number)), task.most)

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
