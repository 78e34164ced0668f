"""Predicates that cannot hold: found where it is certain, without an event to try."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.language import ast
from acelera.language.evaluation import compare, evaluate


def impossible(predicate: Sequence[Term]) -> bool:
    """Whether no event at all satisfies these terms; only what is certain is said to be so."""
    if any(isinstance(term, Const) and term.constant is not True for term in predicate):
        return True
    about: dict[str, dict[ast.Expression, None]] = {}
    for term in predicate:
        if isinstance(term, Sql):
            for name, test in plain_tests(term):
                about.setdefault(name, {})[test] = None
    return any(contradictory(tuple(tests)) for tests in about.values())


@lru_cache(maxsize=1 << 14)  # the same terms stand on many transitions
def plain_tests(term: Sql) -> tuple[tuple[str, ast.Expression], ...]:
    """Those of its conjuncts that look at one attribute, plainly, and that attribute."""
    found = []
    for conjunct in conjuncts(term):
        attributes = {leaf for _, leaf in conjunct.leaves}
        if len(attributes) == 1 and isinstance(leaf := attributes.pop(), Attr) and is_plain(conjunct.expression):
            found.append((leaf.name, conjunct.expression))
    return tuple(found)


def conjuncts(term: Sql) -> list[Sql]:
    """`P AND Q` as the terms P and Q, each with its own leaves."""
    found, todo = [], [term.expression]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Binary) and node.operator == "AND":
            todo += [node.right, node.left]
        else:
            used = {(a.variable, a.name) for a in ast.walk(node) if isinstance(a, ast.Attribute)}
            found.append(Sql(node, tuple((key, leaf) for key, leaf in term.leaves if key in used)))
    return found


_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def is_plain(expression: ast.Expression) -> bool:
    """Whether only the attribute itself is compared, so that equal values of other types (5 and 5.0) do the same."""
    for node in ast.walk(expression):
        match node:
            case ast.Attribute() | ast.Literal() | ast.In() | ast.Between() | ast.Unary("NOT", _):
                continue
            case ast.IsNull(operand, _) if isinstance(operand, ast.Attribute):
                continue
            case ast.Binary(operator, _, _) if operator in (*_MIRRORED, "<>", "OR", "AND"):
                continue
        return False
    return True


@lru_cache(maxsize=1 << 14)
def literal_kinds(test: ast.Expression) -> frozenset[type]:
    """The kinds of constants in a predicate: truth values, texts, all others."""
    literals = [node.value for node in ast.walk(test) if isinstance(node, ast.Literal)]
    return frozenset(bool if isinstance(value, bool) else str if isinstance(value, str) else int for value in literals)


@lru_cache(maxsize=1 << 14)
def contradictory(tests: tuple[ast.Expression, ...]) -> bool:
    """Whether plain predicates about one attribute exclude each other: two values at once, or an empty range."""
    if len(frozenset().union(*(literal_kinds(test) for test in tests))) > 1:
        return False  # without a schema, texts may still meet numbers; the checker will say so
    compared = [found for found in (comparison(test) for test in tests) if found is not None]
    for operator, value in compared:
        if operator == "=":
            return any(not _holds_for(test, value) for test in tests)
    lows = [(value, operator) for operator, value in compared if operator in (">", ">=")]
    highs = [(value, operator) for operator, value in compared if operator in ("<", "<=")]
    for low, low_operator in lows:
        for high, high_operator in highs:
            touching = "<=" if (low_operator, high_operator) == (">=", "<=") else "<"
            if compare(touching, low, high) is not True:
                return True
    is_null = any(isinstance(test, ast.IsNull) and not test.negated for test in tests)
    return is_null and bool(compared)


def _holds_for(test: ast.Expression, value: object) -> bool:
    return evaluate(test, lambda _: value) is True


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
