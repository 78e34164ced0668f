"""Items of SUMMARIZE and what stands after HAVING: expressions of the parser, read as expressions over totals."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.conditions import Quantified, fail
from acelera.language.expressions import FUNCTIONS
from acelera.language.tree import rebuilt

COUNT_OF_MATCHES = ("count", "log2_count")
"""What can be said of matches themselves: `count(*)`, `log2_count(*)`."""


def is_total(function: str) -> bool:
    """Whether `function(x)` and `function(x.a)` are totals: aggregates, and what is no scalar function either."""
    return find_aggregate(function) is not None or function not in FUNCTIONS


def with_totals(expression: ast.Expression) -> ast.Expression:
    """Read the calls of aggregate functions in an expression as totals."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case Quantified():
                fail(
                    f"`{node.variable}[…]` is a condition on events, which stands after FILTER",
                    node.span,
                    f"a total over the events of {node.variable} is written sum({node.variable}.price)",
                )
            case ast.Running(function, ast.Attribute(str() as variable, name), True):
                return ast.Total(function, variable, name, True, span=node.span)
            case ast.Running(function, None, _):
                counts = "count(*) counts matches, count(x) the events of the variable x"
                takes = "an aggregate takes an attribute of a variable, as in sum(x.price)"
                fail(
                    f"`{function}` needs something in its brackets", node.span, counts if function == "count" else takes
                )
            case ast.Running(function, _, _):
                fail(
                    f"with IGNORE NULLS, `{function}` takes an attribute of a variable",
                    node.span,
                    f"write {function}(x.price IGNORE NULLS)",
                )
            case ast.Call(function, (ast.Attribute(variable, name),)) if is_total(function):
                held, attribute = (name, None) if variable is None else (variable, name)
                return ast.Total(function, held, attribute, span=node.span)
        return rebuilt(node, made)

    return ast.fold(expression, combine)
