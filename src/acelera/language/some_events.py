"""Aggregates of some events of a variable: `count(x[P])`, `sum(x[P].a IGNORE NULLS)`.

They are those of what is computed for each event of x: `if(P, a)` has a value for the events for which P holds, and is
missing for the others, which IGNORE NULLS leaves out. `count(x[P])` counts `if(P, TRUE)`.
"""

from __future__ import annotations

from collections.abc import Sequence

from acelera.language import ast
from acelera.language.aggregates import called, find_aggregate, name_and_number
from acelera.language.conditions import Quantified, as_field, fail, replace_attributes
from acelera.language.looking_back import asks_one_event
from acelera.language.printer import path, variable
from acelera.language.tree import rebuilt


def with_some_events(expression: ast.Expression) -> ast.Expression:
    """What the parser read, with aggregates of some events as those of what is computed for each event."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case ast.Call(function, (Quantified() as some,)) if find_aggregate(function) is not None:
                if function != "count" or some.attribute is not None:
                    _refuse_missing_values(function, some, node)
                return _of_some(function, some, ast.Literal(True), node)
            case ast.Running(function, Quantified() as some, True):
                if some.attribute is None:
                    hint = f"write count({_told(some)}), or {_told(some)}.price for values"
                    fail(f"`{variable(some.variable)}[…]` is of events, and not of values", some.span, hint)
                return _of_some(function, some, ast.Attribute(str(some.variable), str(some.attribute)), node)
        return rebuilt(node, made)

    return ast.fold(expression, combine)


def _of_some(function: str, some: Quantified, value: ast.Expression, node: ast.Expression) -> ast.Running:
    held = str(some.variable)
    predicate = replace_attributes(
        some.predicate, lambda each: ast.Attribute(held, as_field(each).name, span=each.span)
    )
    if not asks_one_event(some.predicate) or any(isinstance(each, Quantified) for each in ast.walk(some.predicate)):
        hint = "what looks at several events stands after FILTER"
        fail(f"inside an aggregate, `{variable(held)}[…]` asks each event alone", some.span, hint)
    if not any(isinstance(each, ast.Attribute) for part in (predicate, value) for each in ast.walk(part)):
        hint = f"count({variable(held)}) counts all events of {variable(held)}"
        fail(f"the condition in `{variable(held)}[…]` speaks of nothing that events have", some.span, hint)
    chosen = ast.Call("if", (predicate, value), span=some.span)
    return ast.Running(function, chosen, True, span=node.span)


def _refuse_missing_values(function: str, some: Quantified, node: ast.Expression) -> None:
    name, number = name_and_number(function)
    if some.attribute is None:
        hint = f"write {called(name, number, f'{_told(some)}.price IGNORE NULLS')}"
        fail(f"`{name}` needs an attribute", node.span, hint)
    given = f"{_told(some)}.{path(some.attribute)} IGNORE NULLS"
    fail(
        f"`{name}` of some events leaves missing values out",
        node.span,
        f"say so: {called(name, number, given)}; count({_told(some)}) counts the events",
    )


def _told(some: Quantified) -> str:
    return f"{variable(some.variable)}[…]"
