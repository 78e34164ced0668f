"""Values and conditions as SQL."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from acelera.algebra.expressions import Attribute, Constant, Expression, Operation
from acelera.algebra.sql.words import column, first_of
from acelera.language.tree import fold

_BINARY: dict[str, type[exp.Binary]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def sql_value(expression: Expression, place: Callable[[str], str | None] = lambda _: None) -> exp.Expr:
    """A value or a condition; `place` says which table a column is of."""
    return fold(expression, lambda node, inner: _value(node, list(inner), place))


def constant(value: bool | int | float | str) -> exp.Expr:
    """A constant; one with a point is no decimal."""
    return exp.cast(exp.convert(value), "double") if isinstance(value, float) else exp.convert(value)


def _value(node: Expression, inner: list[exp.Expr], place: Callable[[str], str | None]) -> exp.Expr:
    if isinstance(node, Attribute):
        return column(node.name, place(node.name))
    if isinstance(node, Constant):
        return constant(node.value)
    assert isinstance(node, Operation)
    name = node.operator
    if name in ("and", "or"):
        return exp.paren((exp.and_ if name == "and" else exp.or_)(*inner))
    if name == "not":
        return exp.Not(this=exp.paren(inner[0]))
    if name == "/":
        top = exp.cast(exp.paren(inner[0]), "double")
        bottom = exp.func("nullif", exp.cast(exp.paren(inner[1]), "double"), exp.Literal.number(0))
        return exp.paren(exp.Div(this=top, expression=bottom, typed=False, safe=False))
    if name in _BINARY:
        return exp.paren(_BINARY[name](this=inner[0], expression=inner[1]))
    if name in ("least", "greatest"):
        function = exp.Least if name == "least" else exp.Greatest
        return function(this=inner[0], expressions=inner[1:], ignore_nulls=True)
    if name in ("floor", "ceil"):
        return _whole(name, inner[0])
    if name == "present":
        there = exp.or_(*(exp.Not(this=each.is_(exp.null())) for each in inner))
        return first_of(there, exp.true(), exp.null())
    return exp.func(name, *inner)


def _whole(function: str, number: exp.Expr) -> exp.Expr:
    """A whole number; nothing of what is infinite or no number. An integer is its own, however large."""
    itself = exp.TryCast(this=number.copy(), to=exp.DataType.build("bigint"))
    finite = exp.EQ(this=exp.cast(number.copy(), "double") * 0, expression=exp.Literal.number(0))
    rounded = first_of(finite, exp.cast(exp.func(function, number), "bigint"), exp.null())
    return first_of(exp.EQ(this=itself, expression=number.copy()), itself.copy(), rounded)
