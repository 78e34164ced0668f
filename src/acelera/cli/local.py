"""`--in-process`: files are read here, for a run piece by piece if they are in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from acelera.cli.bad_rows import BadRows
from acelera.cli.job import Job, Outcome
from acelera.cli.outputs import refuse_unfit, writer
from acelera.cli.progress import Progress
from acelera.cli.sources import Source, sources_of
from acelera.engine.session.bounds import watched
from acelera.engine.session.order import compare_adjacent, order_columns, sorted_indices
from acelera.engine.session.pages import Page
from acelera.language.schema import Schema
from acelera.moments import tick_of
from acelera.spelling import warn_of_misspelt_types
from acelera.tables import field_of, plain_values, with_fields

if TYPE_CHECKING:
    from acelera.engine.session.session import Session
    from acelera.report import Findings, Limits, SummaryFindings


def explain_here(job: Job) -> str:
    """What the query does with the columns of these files."""
    return job.query.explain(_described(_sources(job, Progress())), **job.options, rows=job.rows, ties=job.ties)


def run_here(job: Job, progress: Progress) -> Outcome:
    """Find the matches in files, and write them or give the first of them; the same with the rows of a summary."""
    progress.what = job.what
    sources = _sources(job, progress)
    described = _described(sources)
    session = job.query.open(described, ties=job.ties, rows=job.rows, **job.options)
    if job.output is not None:
        refuse_unfit(job.output, session.schema)
    stream = _stream(job, described)
    bad = BadRows(job.reading.bad_rows == "skip")
    reading = _Reading(sources, stream, progress, bad, job.ties)
    shown: list[pa.RecordBatch] = []
    types: set[str | None] = set()
    limit, found = job.shown if job.output is None else job.limit, 0
    until = tick_of(job.until, stream)
    pages = watched(session, _found(session, reading, stream.type_column, types, progress, until))
    if job.query.clauses.summary is not None:  # whose rows come in the order of windows and keys
        nowhere = np.empty(0, np.int64)
        pages = (Page(batch, nowhere, nowhere) for batch in session.table(list(pages)).to_batches())
    with ExitStack() as stack:
        write = shown.append if job.output is None else stack.enter_context(writer(job.output, session.schema))
        for page in pages:
            write((page if limit is None else page.first(min(page.matches, limit - found))).rows)
            found += page.matches
            if limit is not None and found > limit:
                bad.tell(progress, session.events + session.dropped)
                first = None if job.output is not None else pa.Table.from_batches(shown).to_pylist()
                return Outcome(None, limit, first, more=True, what=job.what, skipped=bad.skipped)
    bad.tell(progress, session.events + session.dropped)
    if stream.type_column is not None and session.types_not_seen():
        warn_of_misspelt_types(
            job.query.pattern.event_types, pa.table({stream.type_column: list(types)}), stream, not session.matches
        )
    rows_found = None if job.output is not None else pa.Table.from_batches(shown, session.schema).to_pylist()
    beside = {"tied": session.tied, "dropped": session.dropped}
    return Outcome(
        session.events + session.dropped, found, rows_found, what=job.what, skipped=bad.skipped, beside=beside
    )


def _found(
    session: Session,
    reading: _Reading,
    type_column: str | None,
    types: set[str | None],
    progress: Progress,
    until: int | None,
) -> Iterator[Page]:
    """What a session finds in the rows that are read, whose types are noted."""
    for rows, numbers in reading.batches():
        before = session.matches
        yield from session.pages(rows, numbers)
        if type_column is not None:
            types.update(rows.column(type_column).unique().to_pylist())
        progress.advance(rows.num_rows, session.matches - before)
    yield from session.rest(until=until)


def find_here(job: Job, progress: Progress, limits: Limits) -> Findings | SummaryFindings:
    """What a report shows of files; all rows are read into memory."""
    sources = _sources(job, progress)
    described = _described(sources)
    job.query.check(described, **job.options)
    bad = BadRows(job.reading.bad_rows == "skip")
    table = _Reading(sources, _stream(job, described), progress, bad, job.ties).table()
    bad.tell(progress, table.num_rows)
    progress.begin("running")
    return job.query.findings(table, job.options, limits, job.ties)


def _sources(job: Job, progress: Progress) -> list[Source]:
    if job.inputs.format != "parquet" and not job.reading.schema:
        progress.begin("looking at types")
    return sources_of(job.inputs, job.order_by, progress.advance, job.reading)


def _described(sources: Sequence[Source]) -> object:
    """The schema of one stream, or that of each event type."""
    if sources[0].event_type is None:
        return sources[0].schema
    return {each.event_type: {field.name: field.type for field in each.schema} for each in sources}


def _stream(job: Job, described: object) -> Schema:
    """The schema of the stream that is read."""
    return job.query.stream_schema(described, **job.options)


class _Reading:
    """The rows of all sources as one stream in order."""

    def __init__(self, sources: Sequence[Source], schema: Schema, progress: Progress, bad: BadRows, ties: str) -> None:
        self._first = sources[0]
        self._sources = sources  # also those in which no row can be read: of bad rows is told
        self._schema, self._progress, self._bad, self._ties = schema, progress, bad, ties
        self._rows = sum(each.rows or 0 for each in sources)

    def batches(self) -> Iterator[tuple[pa.Table, Any]]:
        """Some rows at a time; if files are not in order one after the other, all are sorted, and come with numbers."""
        in_order = self._in_order()
        self._progress.begin("reading", self._rows)
        if in_order is not None:
            for source in in_order:
                for batch in source.batches(bad=self._bad):
                    yield self._whole(source, batch), None
            return
        table = self._all()
        self._progress.begin("running", table.num_rows)
        numbers = np.arange(1, table.num_rows + 1)
        indices = sorted_indices(order_columns(with_fields(table, self._schema), self._schema, numbers))
        if indices is not None:
            table, numbers = table.take(pa.array(indices)), numbers[indices]
        for at in range(0, table.num_rows, 1 << 17):
            yield table.slice(at, 1 << 17), numbers[at : at + (1 << 17)]

    def table(self) -> pa.Table:
        """All rows, in the order of the sources."""
        self._progress.begin("reading", self._rows)
        return self._all()

    def _all(self) -> pa.Table:
        pieces = [self._whole(self._first, pa.RecordBatch.from_pylist([], self._first.schema))]
        for piece in self._pieces():
            pieces.append(piece)
            self._progress.advance(piece.num_rows)
        return pa.concat_tables(pieces)

    def _pieces(self) -> Iterator[pa.Table]:
        return (self._whole(source, batch) for source in self._sources for batch in source.batches(bad=self._bad))

    def _in_order(self) -> Sequence[Source] | None:
        """The sources in the order of their rows; None if rows must be sorted."""
        if not self._schema.order_by:
            return self._sources
        self._progress.begin("looking at the order", self._rows)
        spans, without_rows = [], []
        for number, source in enumerate(self._sources):
            span = self._span(source)
            if span is None:
                return None
            if span[0] is None:  # read all the same: of bad rows is told
                without_rows.append(source)
            else:
                spans.append((*span, number))
        spans.sort()
        for (_, end, left), (begin, _, right) in pairwise(spans):
            if end > begin or (end == begin and left > right and self._ties == "keep"):
                return None
        return [*without_rows, *(self._sources[number] for _, _, number in spans)]

    def _span(self, source: Source) -> tuple[Any, Any] | None:
        """The first and the last place of a source whose rows are in order."""
        first = last = None
        names = self._schema.read_for(self._schema.order_by)
        if not set(names) <= set(source.schema.names):
            return None
        for batch in source.batches(names):
            if not batch.num_rows:
                continue
            columns = [self._ordering(batch, name) for name in self._schema.order_by]
            if any(column.null_count for column in columns):
                return None
            after, equal = compare_adjacent(columns)
            begin, end = self._place(columns, 0), self._place(columns, batch.num_rows - 1)
            if not (after | equal).all() or (last is not None and begin < last):
                return None
            first, last = begin if first is None else first, end
            self._progress.advance(batch.num_rows)
        return first, last

    def _ordering(self, batch: pa.RecordBatch, name: str) -> Any:
        """An order column, which may be a field of a struct."""
        known = self._schema.fields.get(name)
        column = batch.column(name) if known is None else field_of(batch.column(known.path[0]), known.path[1:])
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _place(self, columns: Sequence[Any], row: int) -> tuple[Any, ...]:
        kinds = [self._schema.columns[name] for name in self._schema.order_by]
        return tuple(plain_values(column.slice(row, 1), kind)[0] for column, kind in zip(columns, kinds, strict=True))

    def _whole(self, source: Source, batch: pa.RecordBatch) -> pa.Table:
        """Rows with all columns of the stream, and a column for the type if inputs are named by it."""
        table = pa.Table.from_batches([batch])
        if source.event_type is None:
            return table
        columns, given = {}, dict(zip(table.column_names, table.columns, strict=True))
        for name, kind in self._schema.in_tables.items():
            if name in given:
                columns[name] = given[name].cast(kind.arrow)
            elif name == self._schema.type_column:
                columns[name] = pa.array([source.event_type] * table.num_rows, pa.string())
            else:
                columns[name] = pa.nulls(table.num_rows, kind.arrow)
        return pa.table(columns)
