"""What stands after FILTER: expressions of the parser, read as conditions on complex events."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acelera.errors import Span
from acelera.language import ast
from acelera.language.aggregates import as_written, name_and_number
from acelera.language.expressions import MULTISET_PREDICATES
from acelera.language.looking_back import PREV, is_aggregate, with_running_values
from acelera.language.printer import print_expression
from acelera.language.printer import variable as variable_name
from acelera.language.syntax_errors import fail as fail
from acelera.language.tree import rebuilt


class Name(str):
    """An identifier, with its place and whether it was in backticks."""

    span: Span
    quoted: bool


class Quantified(ast.Expression):
    """`x[P]`, or `x[P].a`, while it is not yet known whether it stands where it may stand."""

    def __init__(
        self, variable: Name, predicate: ast.Expression, attribute: Name | None = None, *, span: Span | None = None
    ) -> None:
        object.__setattr__(self, "variable", variable)
        object.__setattr__(self, "attribute", attribute)
        object.__setattr__(self, "predicate", predicate)
        object.__setattr__(self, "span", span)

    variable: Name
    predicate: ast.Expression
    attribute: Name | None

    def parts(self) -> tuple[object, ...]:
        """Variable, predicate and attribute."""
        return (self.variable, self.predicate, self.attribute)


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
        bracket = isinstance(node, Quantified) and node.attribute is None
        return _quantified(node) if isinstance(node, Quantified) and bracket else predicate_condition(node)

    return ast.fold(expression, combine, below)


def predicate_condition(predicate: ast.Expression) -> ast.Condition:
    """A predicate over variables as a condition: `Each` if it speaks of one variable, otherwise `Across`."""
    variables: set[str] = set()
    for node in ast.walk(predicate):
        _refuse_aggregates(node, predicate)
        if isinstance(node, Quantified) and node.attribute is not None:
            refuse_some(node)
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


def refuse_some(node: Quantified) -> None:
    """`x[P].a` where no aggregate is of it."""
    shown = f"{variable_name(node.variable)}[…].{node.attribute}"
    hint = f"an aggregate of these is sum({shown} IGNORE NULLS); what every event satisfies is a condition after FILTER"
    fail(f"`{shown}` is of some events, and stands in an aggregate", node.span, hint)


def _refuse_aggregates(node: ast.Expression, predicate: ast.Expression) -> None:
    """A condition without brackets speaks of events; only inside brackets does it look back over those of a variable.

    What is aggregated over all events of a variable must first be an attribute of an event.
    """
    if isinstance(node, ast.Prev) or (isinstance(node, ast.Call) and node.function == PREV):
        fail("`prev` looks back over the events of a variable, so it stands inside x[…]", node.span, _inside(predicate))
    if isinstance(node, ast.Running) and node.operand is None:
        _refuse_count_of_nothing(node)
    if isinstance(node, ast.Total | ast.Running) and not is_aggregate(node.function) and node.function != "log2_count":
        fail(f"`{node.function}` is no aggregate function, so it takes neither `*` nor IGNORE NULLS", node.span)
    called = isinstance(node, ast.Call) and is_aggregate(node.function)
    if called or isinstance(node, ast.Total | ast.Running):
        assert isinstance(node, ast.Call | ast.Total | ast.Running)
        hint = f"aggregate first, then filter: … AGG m[k <- {as_written(node.function, '…')}] FILTER m.k > 2"
        if isinstance(node, ast.Total):
            hint = "count(*) is of all matches of a group: SUMMARIZE count(*) AS n MATCH … HAVING n > 2"
        function = name_and_number(node.function)[0]
        fail(f"`{function}` is an aggregate function; a condition speaks of events", node.span, hint)


def _refuse_count_of_nothing(node: ast.Running) -> None:
    if node.function == "count":
        hint = "count() counts the events of x so far inside x[…]: x[count() <= 5]"
        fail("`count()` does not say what it counts", node.span, hint)
    fail(f"`{node.function}` needs something in its brackets", node.span)


def _inside(predicate: ast.Expression) -> str:
    """How a predicate that looks back is written, if it speaks of one variable."""
    attributes = [node for node in ast.walk(predicate) if isinstance(node, ast.Attribute)]
    quantified = any(isinstance(node, Quantified) for node in ast.walk(predicate))
    if quantified or len({node.variable for node in attributes}) != 1 or attributes[0].variable is None:
        return "write x[price > prev(price)]; what speaks of several variables stands outside, without prev"
    return f"write {variable_name(attributes[0].variable)}[{print_expression(without_variable(predicate))}]"


def without_variable(predicate: ast.Expression) -> ast.Expression:
    """`x.price > 5` as it stands inside `x[…]`: `price > 5`."""
    return replace_attributes(predicate, lambda attribute: ast.Attribute(None, attribute.name, span=attribute.span))


def replace_attributes(expression: ast.Expression, change: Callable[[ast.Attribute], ast.Expression]) -> ast.Expression:
    """The expression with every attribute replaced by what `change` makes of it."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        return change(node) if isinstance(node, ast.Attribute) else rebuilt(node, made)

    return ast.fold(expression, combine)


def _quantified(node: Quantified) -> ast.Condition:
    """`x[P]`, or `x[same(…)]` and its like. Inside brackets names are those of attributes: `geo.lat` is a field."""
    variable, predicate = str(node.variable), replace_attributes(node.predicate, as_field)
    if isinstance(predicate, ast.Call) and predicate.function in MULTISET_PREDICATES:
        return _multiset_predicate(variable, predicate, node.variable.span)
    for inner in ast.walk(predicate):
        if isinstance(inner, ast.Total):
            fail(
                f"`{inner.function}(*)` is of matches; inside brackets, count() counts the events of {variable} so far",
                inner.span,
                f"write {variable}[count() <= 5]",
            )
        if isinstance(inner, Quantified):
            fail("`[…]` cannot stand inside `[…]`", inner.span, "combine the two conditions with AND")
        if isinstance(inner, ast.Call) and inner.function in MULTISET_PREDICATES:
            fail(
                f"`{inner.function}` speaks of all events of {variable} together, so no larger predicate can hold it",
                inner.span,
                f"make it a condition of its own: {variable}[{inner.function}(…)] AND {variable}[…]",
            )
    return ast.Each(variable, with_running_values(predicate, variable), span=node.variable.span)


def as_field(attribute: ast.Attribute) -> ast.Attribute:
    """`geo.lat` inside brackets."""
    if attribute.variable is None:
        return attribute
    return ast.Attribute(None, f"{attribute.variable}.{attribute.name}", span=attribute.span)


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


def names_in(condition: ast.Condition) -> set[str]:
    """The variables that a condition speaks of."""
    parts = [node for node in ast.walk(condition) if not isinstance(node, ast.Both | ast.Either)]
    told = {node.variable for node in parts if not isinstance(node, ast.Across)}  # type: ignore[attr-defined]
    return told | {variable for node in parts for variable, _ in attributes_in(node)}


def attributes_in(condition: ast.Condition) -> list[tuple[str, str]]:
    """The attributes that a condition without AND and OR asks for, each with its variable."""
    match condition:
        case ast.Each(variable, predicate):
            return [(variable, each.name) for each in ast.walk(predicate) if isinstance(each, ast.Attribute)]
        case ast.Same(variable, attributes):
            return [(variable, each) for each in attributes]
        case ast.Increasing(variable, attribute) | ast.Decreasing(variable, attribute):
            return [(variable, attribute)]
        case ast.Across(predicate):
            leaves = [each for each in ast.walk(predicate) if isinstance(each, ast.Attribute)]
            return [(each.variable, each.name) for each in leaves if each.variable is not None]
    return []
