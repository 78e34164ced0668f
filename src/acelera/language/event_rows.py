"""Rows of events: what `rows="events"` shows of matches, decided before any data is read."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

import pyarrow as pa

from acelera.errors import SchemaError, UsageError
from acelera.language import ast
from acelera.language.checker import Checked
from acelera.language.item_checker import event_fields
from acelera.language.result import (
    MATCH,
    VARIABLE,
    Column,
    EventRows,
    EventStructs,
    MatchBound,
    PartitionKey,
    Result,
)
from acelera.language.schema import Schema
from acelera.language.types import INT, Type, unify
from acelera.language.variables import Variable


def refuse_summary(clauses: ast.Clauses) -> None:
    """A summary has no matches whose events could be rows."""
    if clauses.summary is not None:
        raise UsageError(
            "rows='events' is for queries that show matches: a row of a summary stands for many of them, and lists "
            "none; write SELECT in place of SUMMARIZE, or leave out rows='events'"
        )


def with_rows_of_events(checked: Checked, ties: str) -> Checked:
    """The same query, whose result has a row for every event of the variables that its SELECT names.

    Events that may be tied are told apart by their positions, others by what orders them.
    """
    refuse_summary(checked.clauses)
    assert checked.schema is not None, "rows are shown of a stream whose schema is known"
    shown = checked.result.variables
    if not shown:
        raise UsageError(
            "rows='events' gives the events of the variables that SELECT names, and it names none; write SELECT *, or "
            "name the variables whose events you want"
            if any(each.bounds.high for each in checked.variables.values())
            else "rows='events' gives the events that matches hold, and PROJECT leaves none of them"
        )
    schema, held = checked.schema, checked.variables
    fields = {name: _fields(each, schema) for name, each in held.items() if each.bounds.high}
    keys = tuple(
        Column(schema.shown(each.name), PartitionKey(each.name), True, schema.columns[each.name].arrow)
        for each in checked.clauses.partition_by
    )
    rows = EventRows(
        bounds=_bounds(schema),
        keys=keys,
        variables=tuple(name for name in fields if name in shown),
        attributes=tuple(
            _columns(
                {name: fields[name] for name in fields if name in shown},
                held,
                {each.name for each in checked.clauses.partition_by},
            )
        ),
        all_variables=fields,
        order_by=schema.order_by,
        numbered=ties != "error" or not schema.order_by,
    )
    _refuse_taken_names(rows)
    return replace(checked, result=Result(tuple(_looked_at(rows))), rows=rows)


def _bounds(schema: Schema) -> tuple[Column, Column]:
    """Where a match lies, as `*` shows it."""
    if schema.time is None:
        names, kind = ("start", "end"), INT
    else:
        names, kind = ("start_time", "end_time"), schema.time
    start, end = (
        Column(name, MatchBound(name.startswith("end"), schema.time is not None), True, kind.arrow) for name in names
    )
    return start, end


def _fields(held: Variable, schema: Schema) -> dict[str, Type]:
    """The fields of the events of a variable, and their types."""
    first = {"time": schema.time or INT, "position": INT}
    return {name: held.attributes.get(name) or first[name] for name in event_fields(held, schema)}


def _columns(
    fields: Mapping[str, Mapping[str, Type]], held: Mapping[str, Variable], keys: Collection[str]
) -> Iterator[tuple[str, pa.DataType]]:
    """The attributes of all variables together, but for the keys, which every row has."""
    found: dict[str, tuple[str, Type]] = {}
    for variable, named in fields.items():
        for name, kind in named.items():
            if name in keys and not _is_made(held[variable]):
                continue
            first, known = found.get(name, (variable, kind))
            together = unify(known, kind)
            if together is None:
                raise SchemaError(
                    f"rows='events' has one column for each attribute, but `{name}` is {known} in `{first}` and {kind} "
                    f"in `{variable}`; rename it where AGG makes it, or SELECT one of these variables"
                )
            found[name] = (first, together)
    return ((name, kind.arrow) for name, (_, kind) in found.items())


def _is_made(held: Variable) -> bool:
    """Whether all events of a variable are made by AGG: what they have is not what the stream has under that name."""
    return all(each.made for each in held.sources)


def _refuse_taken_names(rows: EventRows) -> None:
    """What an event has cannot be called like what every row has."""
    taken = (MATCH, *(each.name for each in (*rows.bounds, *rows.keys)), VARIABLE)
    for name, _ in rows.attributes:
        if name in taken:
            raise SchemaError(
                f"rows='events' has a column `{name}` of its own, but events have an attribute `{name}`; rename the "
                "attribute"
            )
    for name in (MATCH, VARIABLE, *(each.name for each in rows.bounds)):
        if any(name == key.name for key in rows.keys):
            raise SchemaError(
                f"rows='events' has a column `{name}` of its own, but an attribute of PARTITION BY is called `{name}`; "
                "rename the attribute"
            )


def _looked_at(rows: EventRows) -> Iterator[Column]:
    """What rows of events are made of, as columns of matches: it tells what must be kept of the stream."""
    yield from (*rows.bounds, *rows.keys)
    for name, fields in rows.all_variables.items():
        yield Column(name, EventStructs(name, tuple(dict.fromkeys((*fields, *rows.order_by)))), False)
    if rows.numbered:
        yield Column("", MatchBound(end=True, timed=False), True)
