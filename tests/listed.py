"""The matches of a query by the definition alone, without the checker, in a form that is easy to write down."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa

from acelera.language import ast
from acelera.language.absence import longest_wait
from acelera.language.checker import Checked
from acelera.language.events import ComplexEvent
from acelera.language.parser import parse_query
from acelera.language.result import Result
from acelera.language.schema import schema_of
from acelera.language.variables import EMPTY
from acelera.semantics import meaning
from acelera.semantics.queries import complex_events
from acelera.tables import to_rows


def listed(text: str, stream: str | pa.Table, order_by: str | None = None, **options: Any) -> list[str]:
    """The matches, such as `1-3 A1 B3 x1 x3`: interval, then the positions of events in order of variables' names.

    A stream of types alone is written as a text: `A B A`. Matches are ordered by end, then by start.
    """
    table = pa.table({"type": stream.split()}) if isinstance(stream, str) else stream
    query = parse_query(text)
    schema = schema_of(table.schema).ordered_by(order_by)
    checked = Checked(query.clauses, schema, dict.fromkeys(_bound(query.formula), EMPTY), Result(()))
    checked = replace(checked, waits=longest_wait(query.formula))
    matches = meaning(query.formula, schema, "once")
    found = complex_events(checked, to_rows(table, schema), "error", matches, **options)
    return [" ".join([f"{c.start}-{c.end}", *_shown(c)]) for _, c in found]


def _shown(c: ComplexEvent) -> Iterator[str]:
    for name, events in c.bags:
        yield from (f"{name}{event.position}" for event in events)


def _bound(formula: ast.Formula) -> list[str]:
    """The variables in order of first appearance."""
    names: list[str] = []

    def note(node: ast.Formula, _: object) -> None:
        match node:
            case ast.EventType(name) | ast.As(_, name) | ast.Agg(_, name, _):
                names.append(name)
            case ast.AnyEvent():
                names.append("ANY")

    ast.fold(formula, note)
    return names
