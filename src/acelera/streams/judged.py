"""What a program makes by its meaning alone, statement by statement: the judge behind `method="semantics"`.

Each statement is a query over a list of events that is put in order here, by the definition and nothing else; what a
query makes of it, the plain semantics says.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from acelera.language.aggregates import canonical
from acelera.language.events import Opaque
from acelera.language.order_errors import no_place, tie
from acelera.language.schema import Schema
from acelera.language.sorting import arranges, sort_key, tie_columns
from acelera.streams.program_checker import CheckedStream, CheckedStreams
from acelera.tables import to_rows, to_table


class _Event(NamedTuple):
    """An event of a stream: when it happens, where its match starts, and its values."""

    moment: Any
    start: Any
    values: dict[str, Any]


def judged(checked: CheckedStreams, table: pa.Table, ties: str) -> dict[str, pa.Table]:
    """The events of each statement, over what comes in, which is all there."""
    asked = [name for each in checked.listed for name in each.schema.fields]
    base = _base_events(checked.base.with_fields(asked), table, ties)
    ties = "keep" if arranges(ties) else ties
    made: list[list[_Event]] = []
    for each in checked.listed:
        made.append(_events(each, checked, base, made, ties))
    return {
        each.name: to_table([event.values for event in events], each.events)
        for each, events in zip(checked.listed, made, strict=True)
    }


def _base_events(schema: Schema, table: pa.Table, ties: str) -> list[_Event]:
    """What comes in, in order. Its moments are times, or else places in the order."""
    rows = to_rows(table, schema)
    for number, row in enumerate(rows, 1):
        for name in schema.order_by:
            if row[name] is None or row[name] != row[name]:
                raise no_place(number, name, row[name])
    rows = sorted(rows, key=lambda row: tuple(row[name] for name in schema.order_by))
    if schema.order_by and arranges(ties):
        rows = _arranged(rows, schema, ties)
    found: list[_Event] = []
    for place, row in enumerate(rows):
        order = tuple(row[name] for name in schema.order_by) or (place,)
        found.append(_Event(order[0] if schema.time is not None else order, None, row))
    return found


def _arranged(rows: list[dict[str, Any]], schema: Schema, ties: str) -> list[dict[str, Any]]:
    """Rows that tie in the order of all their columns; those that are equal may be one."""
    names = (*schema.order_by, *tie_columns(schema, ()))
    keys = [tuple(sort_key(row[name]) for name in names) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: keys[place])
    again = {one for one, other in pairwise(order[::-1]) if ties == "drop" and keys[one] == keys[other]}
    return [rows[place] for place in order if place not in again]


def _events(
    each: CheckedStream, checked: CheckedStreams, base: list[_Event], made: Sequence[list[_Event]], ties: str
) -> list[_Event]:
    """The events of a statement, in order."""
    read = _read(each, checked, base, made, ties)
    schema, query = each.schema, each.stream.query
    until = base[-1].moment if each.timed and base else None
    rows, places = query.placed(_table(read, schema), schema, "keep" if each.stream.mixed else ties, until)
    events = []
    for row, (start, end) in zip(rows, places, strict=True):
        moment = read[end].moment
        time = {each.events.names[0]: moment} if each.timed else {}
        begun = read[start].moment if each.timed else start
        events.append(_Event(moment, begun, {**time, **row}))
    return sorted(events, key=cmp_to_key(_compare))


def _read(
    each: CheckedStream, checked: CheckedStreams, base: list[_Event], made: Sequence[list[_Event]], ties: str
) -> list[_Event]:
    """The events that a statement reads: by moment; at one moment what comes in, then what earlier statements made."""
    found: list[_Event] = []
    name = each.schema.type_column
    if each.stream.base:
        kind = {}
        if name is not None and checked.base.type_column is None:
            kind = {name: next(iter(checked.base.event_types or ()))}
        found += [event._replace(values={**event.values, **kind}) for event in base]
        if each.stream.mixed and ties == "error":
            _refuse_ties(each, checked.base, base)
    for number in each.stream.reads:
        kind = {} if name is None else {name: checked.listed[number].name}
        found += [event._replace(values={**event.values, **kind}) for event in made[number]]
    return sorted(found, key=lambda event: event.moment)


def _refuse_ties(each: CheckedStream, schema: Schema, base: list[_Event]) -> None:
    """Rows of a partition that are equal under order_by have no defined order."""
    seen: set[Any] = set()
    for event in base if schema.order_by else ():
        key = tuple(canonical(event.values[name]) for name in (*each.stream.keys, *schema.order_by))
        if key in seen:
            raise tie(None, event.values, each.stream.keys, schema)
        seen.add(key)


def _table(events: Sequence[_Event], schema: Schema) -> pa.Table:
    """Events as a table; what they lack is NULL."""
    columns = pa.schema([pa.field(name, kind.arrow) for name, kind in schema.in_tables.items()])
    return to_table([{name: event.values.get(name) for name in columns.names} for event in events], columns)


def _compare(left: _Event, right: _Event) -> int:
    """By when they happen, by where their matches start, then by their values."""
    for one, two in ((left.moment, right.moment), (left.start, right.start)):
        if one != two:
            return -1 if one < two else 1
    for name in left.values:
        found = _compare_values(left.values[name], right.values[name])
        if found:
            return found
    return 0


def _compare_values(left: Any, right: Any) -> int:
    """NULL first, NaN last; lists and structs by their parts."""
    left, right = (each.value if isinstance(each, Opaque) else each for each in (left, right))
    ranks = [0 if each is None else 2 if each != each else 1 for each in (left, right)]
    if ranks[0] != ranks[1] or ranks[0] != 1:
        return ranks[0] - ranks[1]
    if isinstance(left, dict | list | tuple):
        parts = [list(each.values()) if isinstance(each, dict) else list(each) for each in (left, right)]
        for one, two in zip(*parts, strict=False):
            found = _compare_values(one, two)
            if found:
                return found
        return len(parts[0]) - len(parts[1])
    return 0 if left == right else -1 if left < right else 1
