"""What stands after FILTER: expressions of the parser, read as conditions on complex events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from acelera.errors import Problem, QuerySyntaxError, Span
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.expressions import FUNCTIONS, MULTISET_PREDICATES
from acelera.language.tree import rebuilt


def fail(message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    """Found while building; the text is filled in further up, where it is known."""
    raise QuerySyntaxError([Problem(message, span, hint)])


class Name(str):
    """An identifier, with its place and whether it was in backticks."""

    span: Span
    quoted: bool


class Quantified(ast.Expression):
    """`x[P]` while it is not yet known whether it stands where a condition may stand."""

    def __init__(self, variable: Name, predicate: ast.Expression, span: Span) -> None:
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "predicate", predicate)
        object.__setattr__(self, "span", span)

    variable: Name
    predicate: ast.Expression

    def parts(self) -> tuple[object, ...]:
        """Variable and predicate."""
        return (self.variable, self.predicate)


def to_condition(expression: ast.Expression) -> ast.Condition:
    """Read an expression that stands after FILTER as a condition.

    AND and OR at the top combine conditions; whatever stands below them is a predicate over events.
    """

    def below(node: ast.Expression) -> Sequence[ast.Expression]:
        return (node.left, node.right) if isinstance(node, ast.Binary) and node.operator in ("AND", "OR") else ()

    def combine(node: ast.Expression, made: Sequence[ast.Condition]) -> ast.Condition:
        if isinstance(node, ast.Binary) and made:
            kind = ast.Both if node.operator == "AND" else ast.Either
            return kind(made[0], made[1], span=node.span)
        return _quantified(node) if isinstance(node, Quantified) else predicate_condition(node)

    return ast.fold(expression, combine, below)


def predicate_condition(predicate: ast.Expression) -> ast.Condition:
    """A predicate over variables as a condition: `Each` if it speaks of one variable, otherwise `Across`."""
    variables: set[str] = set()
    for node in ast.walk(predicate):
        _refuse_aggregates(node)
        if isinstance(node, Quantified) and isinstance(node.predicate, ast.Literal):
            variable, name = node.variable, node.predicate.value
            fail(f"`{variable}[…]` takes a condition", node.span, f"an attribute is written {variable}.{name}")
        if isinstance(node, Quantified):
            fail(
                f"`{node.variable}[…]` speaks of every event of {node.variable}, so no larger expression can hold it",
                node.span,
                f"combine such conditions with AND and OR only; a NOT goes inside: {node.variable}[NOT …]",
            )
        if isinstance(node, ast.Call) and node.function in MULTISET_PREDICATES:
            fail(
                f"`{node.function}` speaks of all events of a variable",
                node.span,
                f"write x[{node.function}(…)]",
            )
        if isinstance(node, ast.Attribute):
            if node.variable is None:
                fail(
                    f"`{node.name}` needs a variable here",
                    node.span,
                    f"write x.{node.name} for an attribute of the events that x holds, or '{node.name}' for a text",
                )
            variables.add(node.variable)
    if not variables:
        fail("a condition must speak of some variable", predicate.span, "write x.attribute or x[…]")
    if len(variables) > 1:
        return ast.Across(predicate, span=predicate.span)
    first = next(node for node in ast.walk(predicate) if isinstance(node, ast.Attribute))
    return ast.Each(variables.pop(), without_variable(predicate), span=first.span)


def _refuse_aggregates(node: ast.Expression) -> None:
    """A condition speaks of events; what is aggregated over them must first be an attribute of an event."""
    if isinstance(node, ast.Total) and find_aggregate(node.function) is None and node.function != "log2_count":
        fail(f"`{node.function}` is no aggregate function, so it takes neither `*` nor IGNORE NULLS", node.span)
    called = isinstance(node, ast.Call) and find_aggregate(node.function) and node.function not in FUNCTIONS
    if called or isinstance(node, ast.Total):
        assert isinstance(node, ast.Call | ast.Total)
        hint = f"aggregate first, then filter: … AGG m[k <- {node.function}(…)] FILTER m.k > 2"
        if isinstance(node, ast.Total) and node.variable is None:
            hint = "count(*) is of all matches of a group: SUMMARIZE count(*) AS n MATCH … HAVING n > 2"
        fail(f"`{node.function}` is an aggregate function; a condition speaks of events", node.span, hint)


def without_variable(predicate: ast.Expression) -> ast.Expression:
    """`x.price > 5` as it stands inside `x[…]`: `price > 5`."""
    return replace_attributes(predicate, lambda attribute: ast.Attribute(None, attribute.name, span=attribute.span))


def replace_attributes(expression: ast.Expression, change: Callable[[ast.Attribute], ast.Expression]) -> ast.Expression:
    """The expression with every attribute replaced by what `change` makes of it."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        return change(node) if isinstance(node, ast.Attribute) else rebuilt(node, made)

    return ast.fold(expression, combine)


def _quantified(node: Quantified) -> ast.Condition:
    """`x[P]`, or `x[same(…)]` and its like."""
    variable, predicate = str(node.variable), node.predicate
    if isinstance(predicate, ast.Call) and predicate.function in MULTISET_PREDICATES:
        return _multiset_predicate(variable, predicate, node.variable.span)
    for inner in ast.walk(predicate):
        _refuse_aggregates(inner)
        if isinstance(inner, Quantified):
            fail("`[…]` cannot stand inside `[…]`", inner.span, "combine the two conditions with AND")
        if isinstance(inner, ast.Call) and inner.function in MULTISET_PREDICATES:
            fail(
                f"`{inner.function}` speaks of all events of {variable} together, so no larger predicate can hold it",
                inner.span,
                f"make it a condition of its own: {variable}[{inner.function}(…)] AND {variable}[…]",
            )
        if isinstance(inner, ast.Attribute) and inner.variable is not None:
            if inner.variable == variable:
                fail(f"inside {variable}[…] an attribute stands alone", inner.span, f"write {inner.name}")
            fail(
                f"{variable}[…] can speak only of one event of {variable}",
                inner.span,
                f"to compare variables, write the condition without brackets, as in {variable}.a < {inner.variable}.b",
            )
    return ast.Each(variable, predicate, span=node.variable.span)


def _multiset_predicate(variable: str, call: ast.Call, span: Span | None) -> ast.Condition:
    names: list[str] = []
    for argument in call.arguments:
        if not isinstance(argument, ast.Attribute) or argument.variable is not None:
            fail(
                f"`{call.function}` takes attributes",
                argument.span,
                f"write {variable}[{call.function}(price)]",
            )
        names.append(argument.name)
    if call.function == "same":
        return ast.Same(variable, tuple(names), span=span)
    if len(names) != 1:
        fail(f"`{call.function}` takes one attribute", call.span, "combine several with AND")
    kind = ast.Increasing if call.function == "increasing" else ast.Decreasing
    return kind(variable, names[0], span=span)
