"""The meaning of `rows="events"`: for each match, variable and event one row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acelera.language import ast
from acelera.language.checker import Checked
from acelera.language.events import ComplexEvent, Event, Value
from acelera.language.result import MATCH, VARIABLE, EventRows
from acelera.language.schema import Schema
from acelera.language.types import INT, from_arrow
from acelera.semantics.match_ids import Halves, event_number, match_id, term
from acelera.semantics.queries import Matches, Partition, Row, complex_events, present, refuse_failures

Match = list[dict[str, Value]]
"""The rows of one match."""


def rows_of_events(
    checked: Checked, rows: Sequence[Row], ties: str, matches: Matches, until: int | None = None
) -> list[Match]:
    """The rows of each match, in the order of matches; in a match by position and variable."""
    assert checked.rows is not None and checked.schema is not None
    found = []
    for partition, c in complex_events(checked, rows, ties, matches, until):
        refuse_failures(c)
        found.append(list(_rows_of(c, partition, checked.rows, checked.clauses, checked.schema)))
    return found


def _rows_of(
    c: ComplexEvent, partition: Partition, rows: EventRows, clauses: ast.Clauses, schema: Schema
) -> Iterator[dict[str, Value]]:
    told = {MATCH: identity(c, partition, rows, schema)}
    told |= {column.name: present(c, column, clauses, partition) for column in (*rows.bounds, *rows.keys)}
    held = [(event, variable) for variable in rows.variables for event in c(variable)]
    for event, variable in sorted(held, key=lambda each: each[0].position):
        known = rows.all_variables[variable]
        values = {name: event.value(name) if name in known else None for name, _ in rows.attributes}
        yield {**told, VARIABLE: variable, **values}


def identity(c: ComplexEvent, partition: Partition, rows: EventRows, schema: Schema) -> str:
    """The id of a match: of its key, its interval and its bags."""

    def place(prefix: str, position: int) -> Iterator[Halves]:
        row = partition.events[position - 1]
        for name in rows.order_by:
            yield term(f"{prefix} {name}", row.value(name), schema.columns[name])
        if rows.numbered:
            yield term(f"{prefix} ", position, INT)

    def number(variable: str, event: Event) -> Halves:
        fields = rows.all_variables[variable].items()
        terms = [term(name, event.value(name), kind) for name, kind in fields]
        return event_number(variable, [*terms, *place("place", event.position)])

    keys = zip(rows.keys, partition.key, strict=True)
    terms = [term(f"key {key.name}", value, from_arrow(key.type)) for key, value in keys]
    terms += [*place("start", c.start), *place("end", c.end)]
    return match_id(terms, [number(variable, event) for variable in rows.all_variables for event in c(variable)])
