"""Columns that are called as what every event has: they are no trouble as long as nobody speaks of them."""

from __future__ import annotations

from collections.abc import Iterator

from acelera.errors import Problem, QueryCheckError, SchemaError, Span
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.tree import nodes_of


def refuse_unclear(tree: ast.Query | ast.Clauses, schema: Schema, shows_events: bool, text: str) -> None:
    """A query that speaks of `x.time` must not leave open whether it means when x happened or a column of that name.

    `shows_events`: events are shown with all that they have, whatever SELECT says. `text` is that of the query.
    """
    if not schema.hidden:
        return
    problems = []
    for name, span in _names(tree):
        if name in schema.hidden:
            problems.append(Problem(f"`{name}` may be {_two_things(name, schema)}", span, _remedy(name)))
    shown = None if shows_events else _whole(tree)
    if shown is not None:
        name = schema.hidden[0]
        what = f"events are shown with all columns, and `{name}` may be {_two_things(name, schema)}"
        problems.append(Problem(what, shown.span, _remedy(name)))
    if problems:
        raise QueryCheckError(problems, text)
    if shows_events:
        name = schema.hidden[0]
        raise SchemaError(f"`{name}` may be {_two_things(name, schema)}; {_remedy(name)}")


def _two_things(name: str, schema: Schema) -> str:
    if name == "position":
        return "the position of an event in the stream, or the column `position`"
    if name == "type":
        return "the type of an event, or the column `type`"
    return f"when an event happens, which `{schema.order_by[0]}` tells, or the column `time`"


def _remedy(name: str) -> str:
    instead = {"time": ", or order the stream by it", "type": ", or let it tell the types of events"}
    return f"rename the column `{name}`" + instead.get(name, "")


def _whole(tree: ast.Query | ast.Clauses) -> ast.Node | None:
    """An item of SELECT that shows whole events."""
    if tree.summary is not None:
        return None
    keys = {key.name for key in tree.partition_by}
    for item in tree.select:
        if isinstance(item, ast.Star) or (isinstance(item, ast.SelectVariable) and item.variable not in keys):
            return item
    return None if tree.select else tree


def _names(tree: ast.Node) -> Iterator[tuple[str, Span | None]]:
    """The names of attributes in a query; those in HAVING are of columns of the result."""
    result = {
        id(each)
        for node in nodes_of(tree)
        if isinstance(node, ast.Summary) and node.having is not None
        for each in nodes_of(node.having)
    }
    for node in nodes_of(tree):
        if id(node) in result:
            continue
        names: tuple[str | None, ...] = ()
        match node:
            case ast.Attribute(_, name) | ast.Key(name):
                names = (name,)
            case ast.SelectAttribute() | ast.Aggregation() | ast.Total() | ast.Increasing() | ast.Decreasing():
                names = (node.attribute,)
            case ast.Same() | ast.Kept():
                names = node.attributes or ()
        for written in names:
            for name in () if written is None else ast.plain_names(written):
                yield name, node.span
