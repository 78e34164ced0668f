"""What a program derives by its meaning alone, as tables: the judge behind `method="semantics"`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from acelera.algebra.names import BEGIN, END
from acelera.programs.inputs import Given
from acelera.xchangeeq import ast
from acelera.xchangeeq.schemas import Content, Shape, arrow_schema
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term, Value, events_of, name_of


def judged(
    program: ast.Program, given: Given, outputs: Mapping[str, Shape], aggregates: str, tick: int
) -> dict[str, pa.Table]:
    """What follows from events that are all there, in tables as an engine gives them."""
    found = derive(program, base_events(given), aggregates, tick)
    return {label: table_of([each for each in found if each.label == label], shape) for label, shape in outputs.items()}


def base_events(given: Given) -> list[Event]:
    """The events that matter, and two that no rule can ask for where all events begin and end: the clock sees those."""
    clock = {each for each in (given.first, given.last) if each is not None}
    return [*events_that_came(given), *(Event(Term(""), each, each) for each in clock)]


def events_that_came(given: Given) -> list[Event]:
    """The events that matter."""
    return [event for label, table in given.tables.items() for event in events_of(table, label, begin=BEGIN, end=END)]


def table_of(events: Iterable[Event], shape: Shape) -> pa.Table:
    """Events of one label as a table: a column for each child, and their times."""
    listed = list(events)
    schema = arrow_schema(shape)
    times = {BEGIN: [int(each.begin) for each in listed], END: [int(each.end) for each in listed]}
    rows = [_children(each.term.children, shape) for each in listed]
    columns = {each.name: pa.array([row[each.name] for row in rows], each.type) for each in schema}
    return pa.table({**{name: pa.array(each, pa.int64()) for name, each in times.items()}, **columns})


def _children(children: Iterable[Value], shape: Shape) -> dict[str, Any]:
    """The cells of children: lists of those that may be repeated, NULL for those that are not there."""
    there: dict[str, list[Any]] = {}
    contents = {child.label: child.content for child in shape.children}
    for child in children:
        there.setdefault(name_of(child), []).append(_cell(child, contents[name_of(child)]))
    return {
        child.label: there.get(child.label) if child.repeated else there.get(child.label, [None])[0]
        for child in shape.children
    }


def _cell(child: Value, content: Content) -> Any:
    """What is in a child: its own children, or its value in the type of the column."""
    assert isinstance(child, Term)
    if isinstance(content, Shape):
        return _children(child.children, content)
    (value,) = child.children
    return float(value) if pa.types.is_floating(content.arrow) else value  # type: ignore[arg-type]  # it is a number
