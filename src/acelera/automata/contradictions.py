"""Predicates that cannot hold: found where it is certain, without an event to try."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.language import ast
from acelera.language.evaluation import compare, evaluate


def impossible(predicate: Sequence[Term]) -> bool:
    """Whether no event at all satisfies these terms; only what is certain is said to be so."""
    if any(isinstance(term, Const) and term.constant is not True for term in predicate):
        return True
    about: dict[str, list[Sql]] = {}
    for term in predicate:
        for conjunct in conjuncts(term):
            attributes = {leaf for _, leaf in conjunct.leaves}
            if len(attributes) == 1 and isinstance(leaf := attributes.pop(), Attr):
                about.setdefault(leaf.name, []).append(conjunct)
    return any(contradictory(terms) for terms in about.values())


def conjuncts(term: Term) -> list[Sql]:
    """`P AND Q` as the terms P and Q, each with its own leaves."""
    if not isinstance(term, Sql):
        return []
    found, todo = [], [term.expression]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Binary) and node.operator == "AND":
            todo += [node.right, node.left]
        else:
            used = {(a.variable, a.name) for a in ast.walk(node) if isinstance(a, ast.Attribute)}
            found.append(Sql(node, tuple((key, leaf) for key, leaf in term.leaves if key in used)))
    return found


def contradictory(terms: Sequence[Sql]) -> bool:
    """Whether predicates about one attribute exclude each other: two values at once, or an empty range."""
    compared = [found for found in (comparison(term.expression) for term in terms) if found is not None]
    for operator, value in compared:
        if operator == "=":
            return any(evaluate(term.expression, lambda _, v=value: v) is not True for term in terms)  # type: ignore[misc]
    lows = [(value, operator) for operator, value in compared if operator in (">", ">=")]
    highs = [(value, operator) for operator, value in compared if operator in ("<", "<=")]
    for low, low_operator in lows:
        for high, high_operator in highs:
            touching = "<=" if (low_operator, high_operator) == (">=", "<=") else "<"
            if compare(touching, low, high) is not True:
                return True
    is_null = any(isinstance(term.expression, ast.IsNull) and not term.expression.negated for term in terms)
    return is_null and bool(compared)


_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def comparison(expression: ast.Expression) -> tuple[str, object] | None:
    """`attribute op constant`, whichever way round, if the expression is one."""
    if not isinstance(expression, ast.Binary) or expression.operator not in _MIRRORED:
        return None
    left, right = expression.left, expression.right
    if isinstance(left, ast.Attribute) and isinstance(right, ast.Literal) and right.value is not None:
        return expression.operator, right.value
    if isinstance(right, ast.Attribute) and isinstance(left, ast.Literal) and left.value is not None:
        return _MIRRORED[expression.operator], left.value
    return None
