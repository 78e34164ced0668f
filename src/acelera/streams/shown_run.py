"""What the page of a program shows: the rows that came in, the events that were made, and of what each was made.

The statements are run one after the other over rows with a number each, which each query then selects of all events
that it binds. Events that AGG makes have none, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.storage.columns import ordinary
from acelera.errors import QueryCheckError
from acelera.language import ast
from acelera.language.types import INT
from acelera.programs.report.run import Count, Made, Part, RuleText, Run, Shown
from acelera.query import Query
from acelera.streams.base_stream import BaseStream, conformed, schema_without_rows, sorted_table
from acelera.streams.event_order import Ints, Rows, in_order
from acelera.streams.plan import Plan, Step, plan_of
from acelera.streams.program_checker import END, START, CheckedStream, CheckedStreams
from acelera.streams.runner import BASE, Line
from acelera.streams.stream_graph import stream_graph

NUMBER = "#number"
"""A column of rows: which event they are."""
HELD = "#held "
"""How the names of columns begin that tell the events of a variable."""
WORDS = frozenset("STREAM AS SELECT FROM MATCH FILTER PARTITION BY WITHIN KEEP UNLESS FOR OR AND ALL".split())


@dataclass
class _Event:
    """An event of the run, of which the others that it was made from are told by their numbers."""

    label: str
    begin: int
    end: int
    order: tuple[int, int, int]
    fields: dict[str, Any]
    statement: int | None = None
    parts: tuple[tuple[str, int], ...] = ()


def run_of_table(checked: CheckedStreams, table: pa.Table, most: int) -> Run:
    """What the page shows of a table: the first events by when they happen."""
    events = _events(checked, table)
    order = sorted(range(len(events)), key=lambda number: events[number].order)
    place = {number: at for at, number in enumerate(order[:most])}
    shown = tuple(_shown(events[number], place) for number in order[:most])
    counts: dict[str, list[int]] = {}
    for each in events:
        counts.setdefault(each.label, [0, 0])[each.statement is not None] += 1
    for name in checked.streams.names:
        counts.setdefault(name, [0, 0])
    time = checked.base.time
    statements = [each.statement for each in checked.streams.listed]
    return Run(
        checked.streams.text,
        tuple(RuleText(each.name, each.span.start, each.span.end, each.name) for each in statements),
        WORDS | {word.lower() for word in WORDS},
        stream_graph(checked.streams),
        shown,
        {label: Count(*each) for label, each in counts.items()},
        time is not None,
        time is not None and time.zoned,
    )


def _shown(event: _Event, place: dict[int, int]) -> Shown:
    parts = tuple(Part(name, place[number]) for name, number in event.parts if number in place)
    made = () if event.statement is None else (Made(event.statement, parts),)
    return Shown(event.label, event.begin, event.end, event.fields, event.statement is not None, made)


def _events(checked: CheckedStreams, table: pa.Table) -> list[_Event]:
    """All events of a run, by their numbers: those that came in, then those of each statement."""
    plan, base = plan_of(checked), checked.base
    table, _ = sorted_table(table, base)
    table = conformed(table, dict(_kinds(base.columns.items())))
    rows = BaseStream(base, plan.names, "keep", (), (), True).read(table, np.arange(1, table.num_rows + 1), None)[0]
    told = _times(rows.moments, checked)
    events = [_came(row, begin, number, checked) for number, (row, begin) in enumerate(_dicts(table, told))]
    streams: dict[int, Rows] = {BASE: _numbered(rows, 0)}
    for number, each in enumerate(checked.listed):
        made, held = _made(each, plan, streams)
        streams[number] = _numbered(made, len(events))
        events += _of_statement(each, number, made, held, checked)
    return events


def _kinds(columns: Any) -> Iterator[tuple[str, pa.DataType]]:
    yield from ((name, ordinary(kind.arrow)) for name, kind in columns)


def _dicts(table: pa.Table, times: Sequence[int]) -> Iterator[tuple[dict[str, Any], int]]:
    yield from zip(table.to_pylist(), times, strict=True)


def _times(moments: Ints, checked: CheckedStreams) -> list[int]:
    """Moments as a page shows them: microseconds since 1970, or positions from 1."""
    if checked.base.time is None:
        return [int(each) + 1 for each in moments.tolist()]
    kind = pa.timestamp("us", checked.base.time.arrow.tz)
    times = pa.array(moments).cast(checked.base.time.arrow).cast(kind, safe=False)
    return [int(each) for each in times.cast(pa.int64()).to_pylist()]


def _came(row: dict[str, Any], time: int, number: int, checked: CheckedStreams) -> _Event:
    base = checked.base
    label = row[base.type_column] if base.type_column else next(iter(base.event_types or ("",)))
    hidden = {base.type_column, *(base.order_by[:1] if base.time is not None else ())}
    fields = {name: value for name, value in row.items() if name not in hidden and value is not None}
    return _Event("NULL" if label is None else str(label), time, time, (time, -1, number), fields)


def _numbered(rows: Rows, first: int) -> Rows:
    """Rows with the numbers of their events."""
    numbers = pa.array(np.arange(first, first + len(rows)))
    return Rows(rows.table.append_column(NUMBER, numbers), rows.moments, rows.starts)


# --- a statement --------------------------------------------------------------------------------------------------


def _made(each: CheckedStream, plan: Plan, streams: dict[int, Rows]) -> tuple[Rows, pa.Table]:
    """The events of a statement, in order, and the numbers of the events of each of its variables."""
    step = plan.steps[plan.names.index(each.name)]
    schema = replace(each.schema, columns={**each.schema.columns, NUMBER: INT})
    if schema.event_types is not None:
        types = {name: (*columns, NUMBER) for name, columns in schema.event_types.items()}
        schema = replace(schema, event_types=types)
    query, rows = _telling(each.placed, schema), _read(step, schema, plan, streams)
    session = query.compiled(schema).open("keep")
    pages = [*session.pages(rows.table), *session.rest()]
    if not pages:
        empty = Rows(each.events.empty_table(), np.empty(0, np.int64), np.empty(0, np.int64))
        return empty, pa.table({})
    table = pa.Table.from_batches([page.rows for page in pages])
    if each.timed:
        moments, starts = (np.asarray(table.column(name).cast(pa.int64()).to_numpy()) for name in (END, START))
        columns = [table.column(END), *(table.column(name) for name in each.shown)]
    else:
        moments = rows.moments[np.concatenate([page.ends for page in pages])]
        starts = np.concatenate([page.starts for page in pages]).astype(np.int64)
        columns = [table.column(name) for name in each.shown]
    numbered = pa.table(columns, schema=each.events).append_column(NUMBER, pa.array(np.arange(table.num_rows)))
    found = in_order(Rows(numbered, moments, starts))
    places = found.table.column(NUMBER)
    held = table.select([name for name in table.column_names if name.startswith(HELD)]).take(places)
    return Rows(found.table.drop_columns([NUMBER]), found.moments, found.starts), held


def _telling(query: Query, schema: Any) -> Query:
    """The query, which also selects the numbers of the events of its variables, as far as these have any."""
    items = list(query.clauses.select)
    for variable in query.variables:
        item = ast.SelectAttribute(variable, NUMBER, f"{HELD}{variable}")
        try:
            query.pattern.check(replace(query.clauses, select=(*items, item)), schema)
        except QueryCheckError:
            continue
        items.append(item)
    return query.with_select(items)


def _read(step: Step, schema: Any, plan: Plan, streams: dict[int, Rows]) -> Rows:
    """What a statement reads, in order."""
    kinds = dict(_kinds(schema.in_tables.items()))
    parts = []
    for read in ([BASE] if step.base else []) + list(step.reads):
        told = plan.names[read] if read != BASE else None
        if told is None and plan.base.type_column is None:
            told = next(iter(plan.base.event_types or ()))
        line = Line(kinds, schema.type_column, told)
        line.add(replace(streams[read], starts=None))
        parts += line.parts
    if not parts:
        return Rows(schema_without_rows(schema), np.empty(0, np.int64))
    table, moments = pa.concat_tables([each.table for each in parts]), np.concatenate([each.moments for each in parts])
    return Rows(table, moments).take(np.argsort(moments, kind="stable"))


def _of_statement(
    each: CheckedStream, number: int, made: Rows, held: pa.Table, checked: CheckedStreams
) -> Iterator[_Event]:
    """The events of a statement as the page shows them; they last from the first event that they were made from."""
    ends = _times(made.moments, checked)
    begins = _times(made.starts, checked) if each.timed and made.starts is not None else ends
    rows = made.table.select(each.shown).to_pylist()
    numbers = held.to_pylist() if held.num_columns else [{}] * len(rows)
    for place, (row, told) in enumerate(zip(rows, numbers, strict=True)):
        parts = []
        for name, value in told.items():
            listed = value if isinstance(value, list) else [value]
            parts += [(name.removeprefix(HELD), part) for part in listed if part is not None]
        fields = {name: value for name, value in row.items() if value is not None}
        order = (ends[place], number, place)
        yield _Event(each.name, begins[place], ends[place], order, fields, number, _once(parts))


def _once(parts: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Each event once, under the variable that was written for it: an event type comes before its AS."""
    found: dict[int, str] = {}
    for name, number in parts:
        found[number] = name
    return tuple((name, number) for number, name in found.items())
