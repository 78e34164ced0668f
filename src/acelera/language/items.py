"""Items of SELECT and what AGG makes: expressions of the parser, read as aggregates and expressions over these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from acelera.language import ast
from acelera.language.aggregates import NTH, called, find_aggregate, name_and_number
from acelera.language.conditions import Quantified, refuse_some, without_variable
from acelera.language.expressions import FUNCTIONS
from acelera.language.looking_back import PREV
from acelera.language.printer import print_expression
from acelera.language.printer import variable as written
from acelera.language.some_events import with_some_events
from acelera.language.syntax_errors import OF_ROWS, fail
from acelera.language.tree import rebuilt

_IN_AGG = "AGG takes aggregate functions: AGG m[high <- max(x.price)]"


class Operand(NamedTuple):
    """What an aggregate is over: the events of a variable, or an attribute of these."""

    variable: str
    attribute: str | None


def is_aggregating(function: str) -> bool:
    """Whether `function(x)` and `function(x.a)` are aggregates: those there are, and what is no scalar function."""
    return find_aggregate(function) is not None or function not in FUNCTIONS


def operand_of(expression: ast.Expression) -> Operand | None:
    """What an aggregate of an expression is over; None if that is not one variable."""
    if isinstance(expression, ast.Attribute):
        held, name = expression.variable, expression.name
        return Operand(name, None) if held is None else Operand(held, name)
    leaves = [node for node in ast.walk(expression) if isinstance(node, ast.Attribute)]
    held = leaves[0].variable if leaves else None
    others = (ast.Aggregation, ast.Total, ast.Running, ast.Prev, ast.Bound, Quantified)
    if held is None or any(node.variable != held for node in leaves):
        return None
    if any(isinstance(node, others) for node in ast.walk(expression)):
        return None
    return Operand(held, ast.Computed(without_variable(expression)))


def to_aggregation(expression: ast.Expression) -> ast.Aggregation:
    """What stands behind `<-` in AGG."""
    read = _read(expression)
    if isinstance(read, ast.Aggregation):
        return read
    if any(isinstance(node, ast.Aggregation) for node in ast.walk(read)):
        hint = (
            "make an attribute of each, and compute with them where they are used: "
            "AGG m[low <- min(x.price), high <- max(x.price)] FILTER m[high - low > 5]"
        )
        fail("an attribute that AGG makes is one aggregate", expression.span, hint)
    return fail("this is no aggregate", expression.span, _IN_AGG)


def to_item(expression: ast.Expression, alias: str | None) -> ast.SelectColumn:
    """An item of SELECT."""
    span = expression.span
    match expression:
        case ast.Attribute(None, name):
            if _is_bound(expression):
                return ast.SelectBound(name.lower(), alias, span=span)
            return ast.SelectVariable(name, alias, span=span)
        case ast.Attribute(str() as held, name):
            return ast.SelectAttribute(held, name, alias, span=span)
    read = _read(expression)
    if isinstance(read, ast.Aggregation):
        return ast.SelectAggregation(read, alias, span=span)
    return ast.SelectExpression(read, alias, span=span)


def _is_bound(attribute: ast.Attribute) -> bool:
    """Whether a name alone is `start` and the like; in backticks, where it takes more room, it is a name."""
    span = attribute.span
    quoted = span is not None and span.end - span.start > len(attribute.name)
    return attribute.name.lower() in ast.BOUNDS and not quoted


def _read(expression: ast.Expression) -> ast.Expression:
    """An expression over one match: calls of aggregates as such, and names alone as the bounds that they may be."""
    expression = with_some_events(expression)
    inner = {id(node) for call in ast.walk(expression) if _is_call(call) for node in _arguments(call)}

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case Quantified():
                if node.attribute is not None:
                    refuse_some(node)
                held = written(str(node.variable))
                named = node.predicate.value if isinstance(node.predicate, ast.Literal) else "price"
                hint = f"which matches there are is said by FILTER; an attribute of the event is {held}.{named}"
                fail(f"`{held}[…]` is a condition on events, which stands after FILTER", node.span, hint)
            case ast.Call("prev", _):
                hint = "a sequence names each event: SELECT b.price - a.price AS rise MATCH T AS a : T AS b"
                fail(f"`{PREV}` looks back over the events of a variable, so it stands inside x[…]", node.span, hint)
            case ast.Total(function):
                counts = "count(x) counts the events of x; SUMMARIZE count(*) MATCH … counts matches"
                hint = counts if function == "count" else f"an aggregate is over what events have: {function}(x.price)"
                fail(f"`{function}(*)` is of all matches, and stands after SUMMARIZE", node.span, hint)
            case ast.Running(function, None, _):
                number = 1 if function == NTH else None
                hint = f"write {called(function, number, 'x.price')}"
                hint = "count(x) counts the events of x" if function == "count" else hint
                hint = OF_ROWS if function in ("classifier", "match_number") else hint
                fail(f"`{function}` needs something in its brackets", node.span, hint)
            case ast.Running(function, _, True):
                return _aggregation(node, function, made, True)
            case ast.Call(function, _) if _is_call(node):
                return _aggregation(node, function, made, False)
            case ast.Attribute(None, name) if _is_bound(node) and id(node) not in inner:
                return ast.Bound(name.lower(), span=node.span)
        return rebuilt(node, made)

    return ast.fold(expression, combine)


def _is_call(node: ast.Expression) -> bool:
    """Whether it is a call of an aggregate."""
    if isinstance(node, ast.Running):
        return True
    if not isinstance(node, ast.Call) or not is_aggregating(node.function):
        return False
    return find_aggregate(node.function) is not None or (len(node.arguments) == 1 and node.function != PREV)


def _arguments(call: ast.Expression) -> Sequence[ast.Expression]:
    if isinstance(call, ast.Call):
        return call.arguments
    return (call.operand,) if isinstance(call, ast.Running) and call.operand is not None else ()


def _aggregation(
    node: ast.Expression, function: str, arguments: Sequence[ast.Expression], ignore_nulls: bool
) -> ast.Aggregation:
    if not is_aggregating(function):
        fail(f"`{function}` is no aggregate function, so it takes no IGNORE NULLS", node.span)
    if len(arguments) != 1:
        name, number = name_and_number(function)
        fail(f"`{name}` takes one value of each event", node.span, f"write {called(name, number, 'x.price')}")
    operand = operand_of(arguments[0])
    if operand is None:
        refuse_operand(function, arguments[0], node)
    return ast.Aggregation(function, operand.variable, operand.attribute, ignore_nulls, span=node.span)


def refuse_operand(function: str, operand: ast.Expression, node: ast.Expression) -> NoReturn:
    """What an aggregate cannot be over."""
    function, number = name_and_number(function)
    nodes = list(ast.walk(operand))
    inside = next((each for each in nodes if isinstance(each, ast.Aggregation)), None)
    if inside is not None:
        shown = print_expression(inside)
        hint = f"aggregate within each part first: (… AGG m[k <- {shown}])+, and then {called(function, number, 'm.k')}"
        fail(f"`{name_and_number(inside.function)[0]}` cannot stand inside `{function}`", inside.span, hint)
    bound = next((each for each in nodes if isinstance(each, ast.Bound)), None)
    if bound is not None:
        hint = f"compute with it outside of `{function}`; an attribute with this name is x.`{bound.name}`"
        fail(f"`{bound.name}` is of a match, and `{function}` goes over events", bound.span, hint)
    bare = next((each for each in nodes if isinstance(each, ast.Attribute) and each.variable is None), None)
    if bare is not None:
        hint = f"write x.{written(bare.name)} for an attribute of x, or {written(bare.name)}.price if it is a variable"
        fail(f"`{bare.name}` is no value to compute with", bare.span, hint)
    leaves = list(dict.fromkeys(each for each in nodes if isinstance(each, ast.Attribute)))
    if not leaves:
        write = f"write {called(function, number, 'x.price')}"
        fail(f"`{function}` needs something that events have", node.span, write)
    first = leaves[0]
    second = next(each for each in leaves if each.variable != first.variable)
    one, two = (called(function, number, print_expression(each)) for each in (first, second))
    fail(
        f"`{function}` goes over the events of one variable, and this speaks of {written(first.variable or '')} and "
        f"{written(second.variable or '')}",
        node.span,
        f"compute with aggregates outside of it, as in {one} - {two}",
    )
