"""Items of SUMMARIZE and what stands after HAVING: expressions of the parser, read as expressions over totals."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.language import ast
from acelera.language.aggregates import DISTINCT, NTH, called, find_aggregate
from acelera.language.conditions import Quantified, fail, refuse_some
from acelera.language.items import Operand, is_aggregating, operand_of
from acelera.language.some_events import with_some_events
from acelera.language.tree import rebuilt

COUNT_OF_MATCHES = ("count", "log2_count")
"""What can be said of matches themselves: `count(*)`, `log2_count(*)`."""


def with_totals(expression: ast.Expression) -> ast.Expression:
    """Read the calls of aggregate functions in an expression as totals."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case Quantified():
                if node.attribute is not None:
                    refuse_some(node)
                fail(
                    f"`{node.variable}[…]` is a condition on events, which stands after FILTER",
                    node.span,
                    f"a total over the events of {node.variable} is written sum({node.variable}.price)",
                )
            case ast.Running(function, ast.Expression() as argument, True) if operand := _values_of(argument, function):
                return ast.Total(function, *operand, True, span=node.span)
            case ast.Running(function, None, _):
                counts = "count(*) counts matches, count(x) the events of the variable x"
                takes = f"write {called(function, 1 if function == NTH else None, 'x.price')}"
                fail(
                    f"`{function}` needs something in its brackets", node.span, counts if function == "count" else takes
                )
            case ast.Running(function, _, _):
                fail(
                    f"with IGNORE NULLS, `{function}` takes an attribute of a variable",
                    node.span,
                    f"write {function}(x.price IGNORE NULLS)",
                )
            case ast.Call(function, (ast.Attribute() as argument,)) if is_aggregating(function):
                return ast.Total(function, *_operand(argument), span=node.span)
            case ast.Call(function, _) if find_aggregate(function) is not None and len(made) == 1:
                operand = operand_of(made[0])
                if operand is not None:
                    return ast.Total(function, *operand, span=node.span)
        return rebuilt(node, made)

    return ast.fold(with_some_events(expression), combine)


def _operand(argument: ast.Attribute) -> Operand:
    operand = operand_of(argument)
    assert operand is not None, "an attribute is one of some variable, or a variable itself"
    return operand


def _values_of(argument: ast.Expression, function: str) -> Operand | None:
    """What an aggregate that leaves out missing values is over: not events. Of DISTINCT that is said later."""
    operand = operand_of(argument)
    return operand if operand is not None and (operand.attribute is not None or function == DISTINCT) else None
