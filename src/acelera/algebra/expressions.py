"""Values computed from the attributes of a tuple, and conditions on them; SQL's three truth values hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from acelera.language.tree import Node, fold, walk

ARITHMETIC = ("+", "-", "*", "/")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
CONNECTIVES = ("and", "or", "not")
FUNCTIONS = ("abs", "floor", "ceil", "lower", "upper", "length", "coalesce", "least", "greatest", "present")
AGGREGATES = ("count", "sum", "avg", "min", "max")


class Expression(Node):
    """A value, or a condition."""

    family: ClassVar[type[Node]]


Expression.family = Expression


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(Expression):
    """An attribute of the tuple: a variable, or a time such as `i.begin`."""

    name: str


@dataclass(frozen=True, eq=False, repr=False)
class Constant(Expression):
    """A value, or a number of ticks."""

    value: bool | int | float | str


@dataclass(frozen=True, eq=False, repr=False)
class Operation(Expression):
    """One of ARITHMETIC, COMPARISONS, CONNECTIVES and FUNCTIONS. Division by zero is NULL.

    `present` is TRUE if one of its operands is there, else NULL.
    """

    operator: str
    operands: tuple[Expression, ...]


def attributes_of(expression: Expression) -> frozenset[str]:
    """The attributes that are looked at."""
    return frozenset(node.name for node in walk(expression) if isinstance(node, Attribute))


def renamed(expression: Expression, names: dict[str, str]) -> Expression:
    """The same over attributes of other names."""
    from acelera.language.tree import rebuilt

    def combine(node: Expression, inner: object) -> Expression:
        if isinstance(node, Attribute):
            return Attribute(names.get(node.name, node.name), span=node.span)
        return rebuilt(node, inner)  # type: ignore[arg-type]

    return fold(expression, combine)


def conjuncts(condition: Expression) -> list[Expression]:
    """The conditions that must all hold."""
    found, todo = [], [condition]
    while todo:
        node = todo.pop()
        if isinstance(node, Operation) and node.operator == "and":
            todo.extend(reversed(node.operands))
        else:
            found.append(node)
    return found


def all_of(conditions: list[Expression]) -> Expression | None:
    """One condition of several; None if there is nothing to ask."""
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return Operation("and", tuple(conditions))


def text_of(expression: Expression) -> str:
    """As a person would write it."""

    def combine(node: Expression, inner: list[str]) -> str:
        if isinstance(node, Attribute):
            return node.name
        if isinstance(node, Constant):
            return f'"{node.value}"' if isinstance(node.value, str) else str(node.value).lower()
        assert isinstance(node, Operation)
        if node.operator in ("and", "or", *ARITHMETIC, *COMPARISONS) and len(inner) > 1:
            return "(" + f" {node.operator} ".join(inner) + ")"
        return f"{node.operator}({', '.join(inner)})"

    return fold(expression, lambda node, inner: combine(node, list(inner)))
