"""Automata written by hand: predicates, assignments and marks as texts."""

from __future__ import annotations

from collections.abc import Mapping

from acelera.automata.terms import Attr, Const, Reg, Sql, Term
from acelera.errors import QueryError, UsageError
from acelera.language import ast
from acelera.language.parser import parse_expression


def term_of(given: object, registers: frozenset[str]) -> Term:
    """A term from its text: SQL, in which a name is a register if there is one of that name, otherwise an attribute."""
    if isinstance(given, Term):
        return given
    if given is None or isinstance(given, bool | int | float):
        return Const(given)
    if not isinstance(given, str):
        raise UsageError(f"{given!r} is not an expression; write SQL, such as 'n + 1', or a number")
    try:
        expression = parse_expression(given)
    except QueryError as error:
        problem = error.problems[0]
        raise UsageError(f"{given!r} is not an expression: {problem.message}") from None
    leaves: dict[tuple[str | None, str], Term] = {}
    for node in ast.walk(expression):
        if isinstance(node, ast.Attribute):
            leaves[(None, node.name)] = Reg(node.name) if node.name in registers else Attr(node.name)
    if isinstance(expression, ast.Attribute):
        return leaves[(None, expression.name)]
    return Sql(expression, tuple(leaves.items()))


def fields_of(given: Mapping[str, object], registers: frozenset[str]) -> tuple[tuple[str, Term], ...]:
    """The fields of a made event, from texts."""
    return tuple(sorted((name, term_of(value, registers)) for name, value in given.items()))
