"""What a predicate inside `x[…]` says of other events of x: prev(…), and aggregates of the events so far."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.expressions import FUNCTIONS, MULTISET_PREDICATES
from acelera.language.syntax_errors import fail
from acelera.language.tree import children, rebuilt

PREV = "prev"


def looks_back(predicate: ast.Expression) -> bool:
    """Whether a predicate inside x[…] speaks of other events of x than the one that it is asked of."""
    return any(isinstance(node, ast.Prev | ast.Running) for node in ast.walk(predicate))


def asks_before(predicate: ast.Expression) -> bool:
    """Whether a predicate inside x[…] speaks of the event of x before, so that it is not asked of the first one."""
    return any(isinstance(node, ast.Prev) for node in ast.walk(predicate))


def asks_one_event(predicate: ast.Expression) -> bool:
    """Whether what the parser read inside x[…] is asked of each event alone."""
    return not any(
        isinstance(node, ast.Prev | ast.Running | ast.Total)
        or (
            isinstance(node, ast.Call)
            and (node.function in (PREV, *MULTISET_PREDICATES) or is_aggregate(node.function))
        )
        for node in ast.walk(predicate)
    )


def is_aggregate(function: str) -> bool:
    """Whether a call is one of an aggregate function, rather than of a scalar one."""
    return find_aggregate(function) is not None and function not in FUNCTIONS


def outermost(expression: ast.Expression, kinds: type | tuple[type, ...]) -> list[ast.Expression]:
    """The nodes of these kinds that stand in no other one of them, from left to right."""

    def below(node: ast.Expression) -> Sequence[ast.Expression]:
        return () if isinstance(node, kinds) else children(node)

    def found(node: ast.Expression, made: Sequence[list[ast.Expression]]) -> list[ast.Expression]:
        return [node] if isinstance(node, kinds) else [each for several in made for each in several]

    return ast.fold(expression, found, below)


def with_running_values(predicate: ast.Expression, variable: str) -> ast.Expression:
    """What the parser read inside x[…], with the calls that look back as such."""

    def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        if isinstance(node, ast.Running):  # of the grammar: count(), or with IGNORE NULLS
            return _running(node, made, variable)
        if isinstance(node, ast.Prev) or (isinstance(node, ast.Call) and node.function == PREV):
            return _prev(node, made, variable)
        if isinstance(node, ast.Call) and is_aggregate(node.function):
            if len(made) != 1:
                fail(
                    f"`{node.function}` takes one value", node.span, "it goes through the events of x so far by itself"
                )
            return _running(ast.Running(node.function, made[0], span=node.span), made, variable)
        return rebuilt(node, made)

    return ast.fold(predicate, combine)


def _prev(node: ast.Expression, made: Sequence[ast.Expression], variable: str) -> ast.Prev:
    if len(made) != 1:
        hint = f"write {variable}[price > prev(price)]; two events back is {variable}[price > nth(price, -3)]"
        fail("`prev` takes one value, of the event just before", node.span, hint)
    inside = next((each for each in ast.walk(made[0]) if isinstance(each, ast.Prev)), None)
    if inside is not None:
        fail(
            "`prev` cannot stand inside `prev`: it looks one event back",
            inside.span,
            "a sequence names each event: A ; B ; C",
        )
    if not any(isinstance(each, ast.Attribute | ast.Running) for each in ast.walk(made[0])):
        fail("`prev` is of something that events have", node.span, f"write {variable}[price > prev(price)]")
    return ast.Prev(made[0], span=node.span)


def _running(node: ast.Running, made: Sequence[ast.Expression], variable: str) -> ast.Running:
    if node.operand is None and node.function != "count":
        fail(
            f"`{node.function}` needs a value",
            node.span,
            f"write {node.function}(price); count() counts the events so far",
        )
    if not is_aggregate(node.function):
        fail(f"`{node.function}` is no aggregate function, so it takes no IGNORE NULLS", node.span)
    for each in (inner for operand in made for inner in ast.walk(operand)):
        if isinstance(each, ast.Prev):
            fail(
                f"`prev` cannot stand inside `{node.function}`: the first event has none before it to be aggregated",
                each.span,
                f"compare with what was before: {variable}[price - prev(price) < 5]",
            )
        if isinstance(each, ast.Running):
            fail(
                f"`{each.function}` cannot stand inside `{node.function}`: one aggregate is not aggregated by another",
                each.span,
                f"make two conditions of it: {variable}[sum(price) < 100 AND count() < 5]",
            )
    return ast.Running(node.function, made[0] if made else None, node.ignore_nulls, span=node.span)
