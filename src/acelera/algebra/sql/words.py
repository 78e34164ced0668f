"""Pieces of SQL that all engines understand, once written out in their dialect."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def column(name: str, table: str | None = None) -> exp.Column:
    """A column, whatever its name is."""
    return exp.column(name, table=table, quoted=True)


def named(value: exp.Expr, name: str) -> exp.Expr:
    """A value as a column of a SELECT."""
    return exp.alias_(value, name, quoted=True)


def first_of(condition: exp.Expr, value: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    """A value if a condition is TRUE, else another."""
    return exp.Case(ifs=[exp.If(this=condition, true=value)], default=otherwise)


def struct(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A struct of named values."""
    pairs = [exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value) for name, value in fields]
    return exp.Struct(expressions=pairs)


def struct_field(value: exp.Expr, name: str) -> exp.Expr:
    """A field of a struct."""
    if not isinstance(value, exp.Column | exp.Dot):
        value = exp.paren(value)
    return exp.Dot(this=value, expression=exp.to_identifier(name, quoted=True))


def transformed(values: exp.Expr, item: str, made: exp.Expr) -> exp.Expr:
    """A list of what is made of each item of another."""
    return exp.Transform(this=values, expression=exp.Lambda(this=made, expressions=[exp.to_identifier(item)]))


def without_nulls(values: exp.Expr) -> exp.Expr:
    """The items of a list that are there."""
    there = exp.Not(this=exp.column("_n").is_(exp.null()))
    return exp.ArrayFilter(this=values, expression=exp.Lambda(this=there, expressions=[exp.to_identifier("_n")]))


def present_items(values: exp.Expr) -> exp.Expr:
    """How many items of a list are there; 0 if there is no list."""
    return exp.func("coalesce", exp.ArraySize(this=without_nulls(values)), exp.Literal.number(0))
