"""What a report shows of a table in this process: the stream is read once, and no more is built than is shown."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.frames import Frame
from acelera.engine.session.arranging import in_whole_order
from acelera.engine.session.keys import Keys
from acelera.engine.session.pages import Page
from acelera.engine.session.session import Session
from acelera.engine.storage.columns import decoded, in_ordinary_types, ordinary
from acelera.errors import UsageError
from acelera.language import ast
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.language.sorting import arranges
from acelera.report.buckets import width_of
from acelera.report.extension import extended
from acelera.report.findings import About, Buckets, Findings, Ints, Limits, places_shown, that_fit
from acelera.report.matching import matches_of, with_type
from acelera.report.values import cells
from acelera.tables import with_fields

COUNTED = 10_000_000
"""How many matches are counted at most."""


def find(about: About, query: CompiledQuery, table: pa.Table, ties: str, limits: Limits) -> Findings:
    """What a page shows of the matches in a table."""
    schema = query.schema
    table, numbers = in_order(with_fields(table, schema), query, ties)
    ties = "keep" if arranges(ties) else ties
    extension = extended(query, placed=True)
    session = extension.query.open(ties)
    stream = _Stream(session.conform(table), query.checked)
    pages, ends, starts, counted = _first(session, table, numbers, limits.matches)
    found = in_ordinary_types(pa.Table.from_batches(pages, schema=session.schema))
    read = lru_cache(1 << 16)(lambda at: _attributes(table, at, schema))
    matches = matches_of(
        found,
        extension,
        starts.tolist(),
        ends.tolist(),
        lambda number, position: stream.place(int(ends[number]), position),
        read,
    )
    if not counted:
        fewer = query.with_select([ast.SelectBound("end")]).open(ties)
        ends, counted = _ends(chain(fewer.pages(table, numbers), fewer.rest()))
    shown = that_fit(matches, limits.events)
    places = places_shown(shown, table.num_rows, limits.events)
    buckets = _buckets(table, schema, ends)
    rows = table.take(pa.array(places))
    return Findings(about, query.checked, rows, places, shown, table.num_rows, len(ends), counted, buckets)


def in_order(table: pa.Table, query: CompiledQuery, ties: str = "error") -> tuple[pa.Table, Ints]:
    """The rows in order, in types that Arrow can sort and pick from, and the numbers that people count them by."""
    columns = {name: decoded(column) for name, column in zip(table.column_names, table.columns, strict=True)}
    table = pa.table({name: column.cast(_ordinary(column.type)) for name, column in columns.items()})
    numbers = np.arange(1, table.num_rows + 1)
    indices = in_whole_order(table, query.schema, [key.name for key in query.checked.clauses.partition_by], ties)
    return (table, numbers) if indices is None else (table.take(pa.array(indices)), numbers[indices])


def _ordinary(kind: pa.DataType) -> pa.DataType:
    return kind if pa.types.is_dictionary(kind) else ordinary(kind)


def _first(
    session: Session, table: pa.Table, numbers: Ints, most: int
) -> tuple[list[pa.RecordBatch], Ints, Ints, bool]:
    """The first matches by where they end: rows, ends and starts; and whether that are all."""
    batches: list[pa.RecordBatch] = []
    ends, starts = np.empty(0, np.int64), np.empty(0, np.int64)
    for page in chain(session.pages(table, numbers), session.rest()):
        room = most - len(ends)
        batches.append(page.rows.slice(0, room))
        ends, starts = np.concatenate((ends, page.ends[:room])), np.concatenate((starts, page.starts[:room]))
        if page.rows.num_rows > room:
            return batches, ends, starts, False
    return batches, ends, starts, True


def _ends(pages: Iterator[Page]) -> tuple[Ints, bool]:
    """Where all matches end, as long as they are not too many to be counted; and whether that are all."""
    found, count = [np.empty(0, np.int64)], 0
    for page in pages:
        found.append(page.ends)
        count += len(page.ends)
        if count > COUNTED:
            return np.concatenate(found)[:COUNTED], False
    return np.concatenate(found), True


class _Stream:
    """Finds the events of a partition by their positions."""

    def __init__(self, table: pa.Table, checked: Checked) -> None:
        assert checked.schema is not None
        keys = Keys([key.name for key in checked.clauses.partition_by], checked.schema)
        rows = pa.RecordBatch.from_arrays([column.combine_chunks() for column in table.columns], table.column_names)
        self._partitions = keys.read(Frame(rows, np.arange(table.num_rows), checked.schema))
        self._order = np.argsort(self._partitions, kind="stable")
        self._begins = np.searchsorted(self._partitions[self._order], np.arange(len(keys) + 1))
        self._positions: Ints | None = None
        if checked.schema.order_by[:1] == ("position",):  # then that is what is shown as a position
            self._positions = table.column("position").to_numpy()[self._order]

    def place(self, end: int, position: int) -> int:
        """The place in the stream of the event at a position of the partition of the event at another place."""
        partition = self._partitions[end]
        begin, until = self._begins[partition : partition + 2]
        if self._positions is None:
            return int(self._order[begin + position - 1])
        found = begin + np.searchsorted(self._positions[begin:until], position)
        if found + 1 < until and self._positions[found + 1] == position:
            raise UsageError(
                f"several events of a partition have the position {position}, so a report cannot tell them apart; "
                "rename the column `position`"
            )
        return int(self._order[found])


def _attributes(table: pa.Table, place: int, schema: Schema) -> dict[str, Any]:
    row = table.slice(place, 1)
    return with_type({name: cells(row.column(name))[0] for name in schema.columns}, schema)


def _buckets(table: pa.Table, schema: Schema, ends: Ints) -> Buckets:
    total = table.num_rows
    order = schema.order_by[0] if schema.time is not None else None
    ticks = np.arange(total) if order is None else table.column(order).cast(pa.int64()).to_numpy()
    if not total:
        return Buckets(0, 1, [], [])
    width = width_of(int(ticks[0]), int(ticks[-1]), schema.time)
    first = int(ticks[0]) // width
    numbers = ticks // width - first
    size = int(numbers[-1]) + 1
    events, matches = np.bincount(numbers, minlength=size), np.bincount(numbers[ends], minlength=size)
    return Buckets(first * width, width, events.tolist(), matches.tolist())
