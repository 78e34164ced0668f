"""Several queries over a frame that is all there: one pass for each group of queries that can be split alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.session.session import Session
from acelera.engine.window import window_of
from acelera.errors import of_query
from acelera.spark.batch import run_batch
from acelera.spark.floods import most_per_event, watched_rows
from acelera.spark.hosting import completed
from acelera.spark.pipeline import Pipeline
from acelera.spark.results import END_TIME, QUERY
from acelera.spark.schemas import spark_schema
from acelera.spark.several_groups import APART, SLICED, SPLIT, Group
from acelera.spark.several_team import Team, result_schema
from acelera.spark.several_tests import TeamTests
from acelera.spark.slices import SLICE, Slices, runs
from acelera.spark.spark_expressions import quoted
from acelera.spark.summary_shares import time_column
from acelera.spark.worker_errors import told_in_short

Batches = Iterator[pa.RecordBatch]

ROWS_AT_ONCE = 1 << 20
"""So many rows are dealt out together in a worker."""


def run_group(
    frame: Any,
    group: Group,
    queries: Mapping[str, CompiledQuery],
    pipelines: Mapping[str, Pipeline],
    until: int | None,
    ties: str,
) -> Any:
    """The rows of the queries of a group."""
    own = {name: queries[name] for name in group.names}
    if group.how == APART:
        ((name, query),) = own.items()
        return _labelled(run_batch(frame, query, pipelines[name], until), name, query)
    tests = TeamTests.of(own, ties)
    team = tests.team
    if tests.relevant is not None:
        frame = frame.filter(tests.relevant)
    slices = Slices.of(frame, max(own.values(), key=_window)) if group.how == SLICED else None
    cut = [] if slices is None else [slices.column(team.schema).alias(SLICE)]
    moved = frame.select(*cut, *tests.travelling())
    plain = {name: f"c{number}" for number, name in enumerate(team.columns)}
    order = [plain[name] for name in team.schema.order_by]
    if slices is not None:
        placed = moved.repartition(SLICE).sortWithinPartitions(SLICE, *order)
    elif group.how == SPLIT:
        placed = moved.repartition(*(plain[key] for key in group.keys)).sortWithinPartitions(*order)
    else:
        placed = moved.repartition(1).sortWithinPartitions(*order)
    reader = _reader(Reading(team, slices, until, most_per_event(frame)))
    return _off_shelves(placed.mapInArrow(reader, spark_schema(team.shelved())), team)


def _off_shelves(found: Any, team: Team) -> Any:
    """The rows of each query in a column of its own."""
    from pyspark.sql import functions

    own = (
        functions.when(functions.col(QUERY) == name, functions.col(shelf)).alias(name)
        for name, shelf in team.shelves.items()
    )
    return found.select(*(name for name in found.columns if name in (QUERY, END_TIME)), *own)


def together(frames: Sequence[Any], queries: Mapping[str, CompiledQuery]) -> Any:
    """The rows of all groups in one frame."""
    from pyspark.sql import functions

    schema = next(iter(queries.values())).schema
    wanted = spark_schema(result_schema(queries, schema))

    def whole(frame: Any) -> Any:
        known = set(frame.columns)
        columns = (
            functions.col(quoted(each.name))
            if each.name in known
            else functions.lit(None).cast(each.dataType).alias(each.name)
            for each in wanted.fields
        )
        return frame.select(*columns)

    return frames[0] if len(frames) == 1 else reduce(lambda one, two: one.unionByName(two), map(whole, frames))


def _labelled(frame: Any, name: str, query: CompiledQuery) -> Any:
    """The rows of one query as they stand among those of others."""
    from pyspark.sql import functions

    end, columns = time_column(query), [functions.lit(name).alias(QUERY)]
    if query.schema.time is not None:
        kind = spark_schema(pa.schema([pa.field(END_TIME, query.schema.time.arrow)])).fields[0].dataType
        told = functions.lit(None) if end is None else functions.col(quoted(end))
        columns.append(told.cast(kind).alias(END_TIME))
    inner = functions.struct(*(functions.col(quoted(each)) for each in frame.columns))
    return frame.select(*columns, inner.alias(name))


def _window(query: CompiledQuery) -> int:
    width = window_of(query.checked.clauses.within, query.schema).width
    assert width is not None
    return width


# --- in a worker --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reading:
    """What a worker needs to read rows: of slices of time, or of a stream that is complete up to a time."""

    team: Team
    slices: Slices | None
    until: int | None
    most: float | None  # matches per event

    def end(self, number: int | None) -> int | None:
        """Where a slice ends."""
        return None if self.slices is None or number is None else self.slices.end(number)


def _reader(reading: Reading) -> Callable[[Batches], Batches]:
    columns = reading.team.shelved()

    @told_in_short
    def read(batches: Batches) -> Batches:
        for rows in _pages(batches, reading):
            yield from completed(pa.Table.from_batches([rows]), columns)

    return read


def _pages(batches: Batches, reading: Reading) -> Batches:
    """The rows of the results. Sessions are opened for those queries to which a row matters, and for all summaries."""
    sessions: dict[str, Session] = {}
    current, course = None, reading.team.course()
    for number, rows in _gathered(batches, reading):
        if number != current:
            yield from _rest(sessions, reading, current)
            sessions, current, course = {}, number, reading.team.course()
        for member, part in reading.team.deal(rows, course):
            with of_query(member.name):
                if member.name not in sessions:
                    sessions[member.name] = member.session()
                session = sessions[member.name]
                pages = session.pages(part, starting_before=reading.end(number))
                for found in watched_rows(session, pages, reading.most):
                    yield member.labelled(found, reading.team.shelves[member.name])
    if reading.slices is None:
        for member in reading.team.members:
            if member.query.checked.summary is not None and member.name not in sessions:
                sessions[member.name] = member.session()
    yield from _rest(sessions, reading, current)


def _rest(sessions: Mapping[str, Session], reading: Reading, number: int | None) -> Batches:
    for member in reading.team.members:
        if member.name not in sessions:
            continue
        with of_query(member.name):
            for page in sessions[member.name].rest(reading.end(number), until=reading.until):
                yield member.labelled(page.rows, reading.team.shelves[member.name])


def _gathered(batches: Batches, reading: Reading) -> Iterator[tuple[int | None, pa.Table]]:
    """The rows that come, many at a time, and the slice that they belong to, if there are slices."""
    names, waiting, current, size = reading.team.names, list[pa.RecordBatch](), None, 0
    for batch in batches:
        for number, rows in _parts(batch, reading):
            if waiting and (number != current or size >= ROWS_AT_ONCE):
                yield current, pa.Table.from_batches(waiting)
                waiting, size = [], 0
            waiting.append(rows.rename_columns(names))
            current, size = number, size + rows.num_rows
    if waiting:
        yield current, pa.Table.from_batches(waiting)


def _parts(batch: pa.RecordBatch, reading: Reading) -> Iterator[tuple[int | None, pa.RecordBatch]]:
    if reading.slices is None:
        return iter([(None, batch)])
    return runs(batch.column(0), batch.select(range(1, batch.num_columns)))
