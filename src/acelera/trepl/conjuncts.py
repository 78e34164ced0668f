"""Conditions of rules taken apart."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce

from acelera.language.ast import Attribute, Binary, Expression, walk
from acelera.trepl.resolved import Aggregate, Field, Part, Stamp


def conjuncts(condition: Expression | None) -> tuple[Expression, ...]:
    """The conditions between commas and ANDs on the top level, from left to right."""
    found: list[Expression] = []
    todo = [] if condition is None else [condition]
    while todo:
        each = todo.pop()
        if isinstance(each, Binary) and each.operator == "AND":
            todo += [each.right, each.left]
        else:
            found.append(each)
    return tuple(found)


def joined(conditions: Iterable[Expression]) -> Expression:
    """Conditions joined by AND; there is at least one."""
    return reduce(_both, conditions)


def _both(left: Expression, right: Expression) -> Expression:
    return Binary("AND", left, right, span=left.span.to(right.span) if left.span else None)


def mentioned(expression: Expression) -> frozenset[str]:
    """The variables that an expression looks at, as written or resolved."""
    terms = (each for each in walk(expression) if isinstance(each, Attribute | Field | Stamp | Part | Aggregate))
    return frozenset(each.variable for each in terms if each.variable is not None)
