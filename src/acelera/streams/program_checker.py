"""Statements over a stream of which the columns are known: what each of them reads and makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from acelera.errors import QueryCheckError, QueryError, Span, did_you_mean
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.types import STRING, Type, from_arrow, unify
from acelera.programs.problems import Notes, ProgramCheckError
from acelera.query import Query
from acelera.streams.references import Stream, Streams

START, END = "#start", "#end"
"""Columns that are selected beside those of a statement, where events have times: when a match starts and ends."""


@dataclass(frozen=True)
class CheckedStream:
    """A statement, the schema of what it reads, in order, and the columns of its events.

    Where events have times, that of an event is its first column.
    """

    stream: Stream
    schema: Schema
    events: pa.Schema

    @property
    def name(self) -> str:
        """The type of its events."""
        return self.stream.name

    @property
    def timed(self) -> bool:
        """Whether events have times."""
        return self.schema.time is not None

    @property
    def shown(self) -> list[str]:
        """The columns of its SELECT."""
        names: list[str] = self.events.names
        return names[1:] if self.timed else names

    @cached_property
    def placed(self) -> Query:
        """The query, which also tells when its matches start and end, if events have times."""
        query = self.stream.query
        if not self.timed:
            return query
        times = (ast.SelectBound("start_time", START), ast.SelectBound("end_time", END))
        return query.with_select((*query.clauses.select, *times))


@dataclass(frozen=True)
class CheckedStreams:
    """A program over what comes in, of which the columns and the order are known."""

    streams: Streams
    base: Schema
    listed: tuple[CheckedStream, ...]

    @property
    def timed(self) -> bool:
        """Whether events have times."""
        return self.base.time is not None

    @property
    def outputs(self) -> dict[str, pa.Schema]:
        """The columns of each stream that is made."""
        return {each.name: each.events for each in self.listed}


def check_streams(streams: Streams, base: Schema) -> CheckedStreams:
    """What each statement reads and makes; raises a ProgramCheckError that lists every mistake."""
    notes = Notes()
    made: list[CheckedStream | None] = []
    for stream in streams.listed:
        if base.event_types is not None and base.type_column is not None and stream.name in base.event_types:
            hint = "give the stream a name of its own"
            notes.wrong(f"events of the type `{stream.name}` come in", stream.statement.name_span, hint)
        read = [made[number] for number in stream.reads]
        if any(each is None for each in read):  # what is wrong there has been said
            made.append(None)
            continue
        made.append(_checked(stream, base, [each for each in read if each is not None], streams.text, notes))
    if notes.problems:
        raise ProgramCheckError(sorted(notes.problems, key=lambda each: each.span or Span(0, 0)), streams.text)
    return CheckedStreams(streams, base, tuple(each for each in made if each is not None))


def _checked(
    stream: Stream, base: Schema, read: Sequence[CheckedStream], text: str, notes: Notes
) -> CheckedStream | None:
    before = len(notes.problems)
    schema = stream.query.with_fields(_input(stream, base, read, notes))
    _check_keys(stream, read, notes)
    if len(notes.problems) > before:
        return None
    try:
        checked = stream.query.pattern.check(stream.query.clauses, schema)
        stream.query.pattern.automaton_over(schema)  # which may be too large
    except QueryCheckError as error:
        notes.problems += error.problems
        return None
    except QueryError as error:
        raise type(error)(error.problems, text) from None
    shown = checked.schema_of_result
    _refuse_taken(stream, shown, base, notes)
    if len(notes.problems) > before:
        return None
    times = [pa.field(base.order_by[0], base.time.arrow)] if base.time is not None else []
    return CheckedStream(stream, schema, pa.schema([*times, *shown]))


# --- what is read -------------------------------------------------------------------------------------------------


def _input(stream: Stream, base: Schema, read: Sequence[CheckedStream], notes: Notes) -> Schema:
    """The schema of what a statement reads. Rows of several streams are in order, so that positions tell them apart."""
    order = base.order_by[:1] if base.time is not None else ()
    if not stream.base:
        (only,) = read
        columns = {each.name: from_arrow(each.type) for each in only.events}
        return Schema(columns, {only.name: tuple(columns)}, None, order)
    if not read:
        return base
    types = _base_types(stream, base, read)
    columns = _type_column(base)
    columns |= {name: kind for name, kind in base.columns.items() if name not in columns}
    for each in read:
        for column in each.events:
            given = from_arrow(column.type)
            known = columns.get(column.name, given)
            both = unify(known, given)
            if both is None:
                notes.wrong(
                    f"`{column.name}` is {given} in `{each.name}`, but {known} in other events that "
                    f"`{stream.name}` reads; an attribute has one type in all events",
                    _item_span(each.stream, column.name, each.shown),
                    "name it otherwise: SELECT … AS name",
                )
            else:
                columns[column.name] = both
        types[each.name] = (next(iter(_type_column(base))), *each.events.names)
    return Schema(columns, types, next(iter(_type_column(base))), order)


def _type_column(base: Schema) -> dict[str, Type]:
    """The column that tells the types of events, which is made if what comes in has none."""
    name = base.type_column or "type"
    return {name: base.columns.get(name, STRING)}


def _base_types(stream: Stream, base: Schema, read: Sequence[CheckedStream]) -> dict[str, tuple[str, ...]]:
    """The types of what comes in, with their attributes: those that are known, or else those that are named."""
    if base.event_types is not None and base.type_column is not None:
        return dict(base.event_types)
    columns = (*(() if base.type_column else ("type",)), *base.columns)
    if base.event_types is not None:
        return dict.fromkeys(base.event_types, columns)
    derived = {each.name for each in read}
    return {name: columns for name in stream.types() if name not in derived}


def _check_keys(stream: Stream, read: Sequence[CheckedStream], notes: Notes) -> None:
    """Events that are read have what the statement is partitioned by: without it they would meet no others."""
    for key in stream.query.clauses.partition_by:
        for each in read:
            if key.name not in each.events.names:
                notes.wrong(
                    f"the events of `{each.name}` have no `{key.name}`{did_you_mean(key.name, each.events.names)}",
                    key.span,
                    f"select it where they are made: STREAM {each.name} AS SELECT {key.name}, …",
                )


# --- what is made -------------------------------------------------------------------------------------------------


def _refuse_taken(stream: Stream, shown: pa.Schema, base: Schema, notes: Notes) -> None:
    """Every event has a type, a position and perhaps a time; columns of these names would be mistaken for them."""
    taken = dict(_taken(base))
    for name in shown.names:
        if name in taken:
            notes.wrong(
                f"the events of `{stream.name}` cannot have a column `{name}`: {taken[name]}",
                _item_span(stream, name, shown.names),
                "name it otherwise: SELECT … AS name",
            )


def _taken(base: Schema) -> Iterator[tuple[str, str]]:
    yield "type", "that is an event's type"
    yield "position", "that is an event's position"
    if base.type_column is not None:
        yield base.type_column, "that column tells an event's type"
    if base.time is not None:
        yield "time", "that is when an event happens"
        yield base.order_by[0], "that column tells when an event happens, which is when its match ends"
    yield START, "this name has a meaning of its own"
    yield END, "this name has a meaning of its own"


def _item_span(stream: Stream, name: str, names: Sequence[str]) -> Span | None:
    """The item of SELECT that makes a column; `*` stands for as many columns as others leave."""
    items = stream.query.clauses.select
    place, many = names.index(name), len(names) - (len(items) - 1)
    for item in items:
        width = many if isinstance(item, ast.Star) else 1
        if place < width:
            return item.span or stream.statement.name_span
        place -= width
    return stream.statement.name_span
