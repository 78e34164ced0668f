"""Queries that read the same rows in a worker: tests are made once, and each query gets the rows that matter to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa

from acelera.engine.begun import Begun, Placed, Placing
from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.predicates.letters import LETTER
from acelera.engine.session.session import Session
from acelera.engine.shared_tests import Reader, SharedTests, one_batch
from acelera.language.result import Column, MatchBound, Result
from acelera.language.schema import Schema
from acelera.language.sorting import arranges
from acelera.spark.results import END_TIME, QUERY
from acelera.spark.summary_shares import time_column

_END = "\0end"
"""When a match ends, of queries that do not show it."""


@dataclass(frozen=True)
class Member:
    """One of several queries. It shows when a match ends in the column `end`, of which its users may know nothing."""

    name: str
    query: CompiledQuery
    reader: Reader
    end: str | None
    ties: str = "error"

    @classmethod
    def of(cls, name: str, query: CompiledQuery, reader: Reader, ties: str) -> Member:
        """A query that shows when its matches end, if the stream has time."""
        end, time, checked = time_column(query), query.schema.time, query.checked
        if end is None and time is not None and checked.summary is None and checked.rows is None:
            shown = Result((*checked.result.columns, Column(_END, MatchBound(True, True), True, time.arrow)))
            end, query = _END, replace(query, checked=replace(checked, result=shown))
        return cls(name, query, reader, end, ties)

    @cached_property
    def columns(self) -> list[str]:
        """The columns that its session reads: all, to order rows that tie by them."""
        return list(self.query.schema.columns) if arranges(self.ties) else self.query.columns_read(self.reader.given)

    @property
    def shown(self) -> list[str]:
        """The columns of its result that users know of."""
        return [name for name in self.query.result_schema.names if name != _END]

    def session(self) -> Session:
        """A session of the query."""
        return self.query.open(self.ties, self.reader.given, numbered=False)

    def resumed(self, snapshot: bytes) -> Session:
        """A session that goes on from a snapshot."""
        return self.query.resume(snapshot, self.reader.given)

    def labelled(self, rows: pa.RecordBatch, column: str | None = None) -> pa.RecordBatch:
        """Rows of its result as they stand among those of other queries, in this column or in one of its name."""
        shown = rows.select(self.shown)
        columns = {QUERY: pa.repeat(self.name, rows.num_rows), column or self.name: shown.to_struct_array()}
        if self.end is not None:
            columns[END_TIME] = rows.column(self.end)
        return pa.RecordBatch.from_pydict(columns)


class Course(NamedTuple):
    """What is known of rows while they are read in order: their keys, and when matches of each query may have begun."""

    placings: Mapping[tuple[str, ...], Placing]
    begun: Sequence[Begun | None]


@dataclass(frozen=True)
class Team:
    """Queries that share a pass over rows with these columns, and with words of the tests that the JVM has made."""

    members: tuple[Member, ...]
    shared: SharedTests
    schema: Schema

    @cached_property
    def columns(self) -> list[str]:
        """The columns of the stream that travel."""
        read = self.shared.columns.union(*(member.columns for member in self.members))
        return [name for name in self.schema.columns if name in read]

    @property
    def words(self) -> list[str]:
        """The columns of words, beside those of the stream."""
        return [f"{LETTER}{number}" for number in range(self.shared.given_words)]

    @property
    def names(self) -> list[str]:
        """What the columns that travel are called in a worker."""
        return [*self.columns, *self.words]

    def course(self) -> Course:
        """Of rows that are read in order, to their end."""
        return Course(self.shared.placings(self.schema), [member.reader.begun() for member in self.members])

    def deal(self, rows: pa.Table, course: Course) -> Iterator[tuple[Member, pa.Table]]:
        """To each query the rows that may matter to it, if there are some."""
        for member, part in zip(self.members, self.parts(rows, course), strict=True):
            if part is not None:
                yield member, part

    def parts(self, rows: pa.Table, course: Course | None = None) -> Iterator[pa.Table | None]:
        """The same for all queries; None for those to which no row matters."""
        batch = one_batch(rows)
        rows = pa.Table.from_batches([batch])
        told = self.shared.read(batch, [batch.column(name).to_numpy() for name in self.words])
        placings, all_begun = course or Course({}, [None] * len(self.members))
        placed = {keys: Placed(batch, placing) for keys, placing in placings.items()}
        for member, begun in zip(self.members, all_begun, strict=True):
            own = member.reader.rows(told, placed.get(member.reader.keys), begun)
            some = rows.num_rows if own is None else len(own)
            yield member.reader.read(rows.select(member.columns), told, own) if some else None

    @cached_property
    def shelves(self) -> Mapping[str, str]:
        """The column in which the rows of each query leave a worker: queries with results of one type share theirs."""
        kinds: dict[str, str] = {}
        return {name: kinds.setdefault(str(kind), f"rows{len(kinds)}") for name, kind in self._kinds.items()}

    def shelved(self) -> pa.Schema:
        """The columns of the rows of all queries together, as they leave a worker."""
        known = dict(zip(self.shelves.values(), self._kinds.values(), strict=True))
        return pa.schema([*_about_rows(self.schema), *(pa.field(name, kind) for name, kind in known.items())])

    @property
    def _kinds(self) -> dict[str, pa.DataType]:
        return {member.name: _struct_of(member.query) for member in self.members}


def result_schema(queries: Mapping[str, CompiledQuery], schema: Schema) -> pa.Schema:
    """The columns of one frame for the rows of several queries."""
    return pa.schema([*_about_rows(schema), *(pa.field(name, _struct_of(query)) for name, query in queries.items())])


def _about_rows(schema: Schema) -> list[pa.Field[Any]]:
    """The columns that tell whose a row is, and when its match ends."""
    end = [] if schema.time is None else [pa.field(END_TIME, schema.time.arrow)]
    return [pa.field(QUERY, pa.string()), *end]


def _struct_of(query: CompiledQuery) -> pa.DataType:
    return pa.struct([each for each in query.result_schema if each.name != _END])
