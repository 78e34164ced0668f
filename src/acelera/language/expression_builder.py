"""From the parse of an expression to its AST: the actions of the grammars of all languages that have SQL expressions.

A grammar names its alternatives as the methods are called; `items` are the tokens of an alternative and what was made
of its parts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import lark

from acelera.errors import Span
from acelera.language import ast
from acelera.language.conditions import Name, fail
from acelera.language.literals import parse_date, parse_timestamp


class Duration(NamedTuple):
    """A length of time or a number of events, in one unit."""

    amount: int
    unit: str
    span: Span


def span_of(*items: Any) -> Span:
    """From the first item to the last: tokens, names and nodes all know their place."""
    spans = [_place(item) for item in items if item is not None]
    return Span(spans[0].start, max(span.end for span in spans))


def _place(item: Any) -> Span:
    if isinstance(item, lark.Token):
        assert item.start_pos is not None and item.end_pos is not None
        return Span(item.start_pos, item.end_pos)
    span: Span = item.span
    return span


def unquote(token: str) -> str:
    """What stands between quotes or backticks, where they are doubled."""
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def no_tokens(items: Sequence[Any]) -> list[Any]:
    """What was made of parts, without the words and signs between them."""
    return [item for item in items if not isinstance(item, lark.Token)]


class ExpressionBuilder(lark.Transformer[Any, Any]):
    """One method for each alternative of a grammar of expressions."""

    # names and brackets

    def name(self, items: list[lark.Token]) -> Name:
        """A name, in backticks or not."""
        token = items[0]
        text = {"QUOTED": unquote(token), "ANY": "ANY"}.get(token.type, str(token))
        name = Name(text)
        name.span, name.quoted = span_of(token), token.type == "QUOTED"
        return name

    variable = name

    def bracket(self, items: list[Any]) -> Any:
        """What stands in brackets."""
        return items[1]

    # expressions

    def binary(self, items: list[Any]) -> ast.Binary:
        """`e op e`."""
        left, token, right = items
        operator = "<>" if token == "!=" else token.upper()
        return ast.Binary(operator, left, right, span=span_of(*items))

    def not_(self, items: list[Any]) -> ast.Unary:
        """`NOT e`."""
        return ast.Unary("NOT", items[1], span=span_of(*items))

    def minus(self, items: list[Any]) -> ast.Expression:
        """`-e`."""
        return negate(items[1], span_of(*items))

    def is_null(self, items: list[Any]) -> ast.IsNull:
        """`e IS NULL`."""
        return ast.IsNull(items[0], span=span_of(*items))

    def is_not_null(self, items: list[Any]) -> ast.IsNull:
        """`e IS NOT NULL`."""
        return ast.IsNull(items[0], True, span=span_of(*items))

    def in_(self, items: list[Any]) -> ast.In:
        """`e IN (…)`."""
        return _in(items, False)

    def not_in(self, items: list[Any]) -> ast.In:
        """`e NOT IN (…)`."""
        return _in(items, True)

    def between(self, items: list[Any]) -> ast.Between:
        """`e BETWEEN e AND e`."""
        return _between(items, False)

    def not_between(self, items: list[Any]) -> ast.Between:
        """`e NOT BETWEEN e AND e`."""
        return _between(items, True)

    def like(self, items: list[Any]) -> ast.Like:
        """`e LIKE '…'`."""
        return _like(items, False)

    def not_like(self, items: list[Any]) -> ast.Like:
        """`e NOT LIKE '…'`."""
        return _like(items, True)

    def number(self, items: list[lark.Token]) -> ast.Literal:
        """A number."""
        token, span = items[0], span_of(*items)
        if token.isdigit():
            if len(token) > 30:
                fail("this number is too large", span)
            return ast.Literal(int(token), span=span)
        value = float(token)
        if math.isinf(value):
            fail("this number is too large", span)
        return ast.Literal(value, span=span)

    def string(self, items: list[lark.Token]) -> ast.Literal:
        """A string."""
        return ast.Literal(unquote(items[0]), span=span_of(*items))

    def true(self, items: list[lark.Token]) -> ast.Literal:
        """TRUE."""
        return ast.Literal(True, span=span_of(*items))

    def false(self, items: list[lark.Token]) -> ast.Literal:
        """FALSE."""
        return ast.Literal(False, span=span_of(*items))

    def null(self, items: list[lark.Token]) -> ast.Literal:
        """NULL."""
        return ast.Literal(None, span=span_of(*items))

    def timestamp(self, items: list[lark.Token]) -> ast.Timestamp:
        """`TIMESTAMP '…'`."""
        text = unquote(items[1])
        if parse_timestamp(text) is None:
            fail(
                f"'{text}' is not a timestamp",
                span_of(items[1]),
                "write it like TIMESTAMP '2024-01-31 10:00:00'",
            )
        return ast.Timestamp(text, span=span_of(*items))

    def date(self, items: list[lark.Token]) -> ast.Date:
        """`DATE '…'`."""
        text = unquote(items[1])
        if parse_date(text) is None:
            fail(f"'{text}' is not a date", span_of(items[1]), "write it like DATE '2024-01-31'")
        return ast.Date(text, span=span_of(*items))

    def interval(self, items: list[Any]) -> ast.Interval:
        """`INTERVAL 5 MINUTES`, `INTERVAL 1 MINUTE 30 SECONDS`."""
        return ast.Interval(items[1].amount, items[1].unit, span=span_of(*items))

    def time_length(self, items: list[Any]) -> Duration:
        """`5 MINUTES`, `1 MINUTE 30 SECONDS`."""
        return _duration(items)

    def duration(self, items: list[Any]) -> Duration:
        """`5 MINUTES`, `1 MINUTE 30 SECONDS`, `100 EVENTS`."""
        return _duration(items, "events")

    def no_events(self, length: Duration, where: str) -> Duration:
        """A duration of time, where events would make no sense."""
        if length.unit == "events":
            fail(f"{where} takes a duration", length.span, f"the units are {', '.join(ast.UNITS)}")
        return length

    def attribute(self, items: list[Any]) -> ast.Attribute:
        """A name alone."""
        return ast.Attribute(None, str(items[0]), span=span_of(*items))

    def variable_attribute(self, items: list[Any]) -> ast.Attribute:
        """`x.a`."""
        return ast.Attribute(str(items[0]), str(items[2]), span=span_of(*items))

    def call(self, items: list[Any]) -> ast.Call:
        """`f(e, …)`."""
        function, *arguments = no_tokens(items)
        return ast.Call(function.lower(), tuple(arguments), span=span_of(*items))

    def cast(self, items: list[Any]) -> ast.Cast:
        """`CAST(e AS type)`."""
        _, _, operand, _, target, _ = items
        return ast.Cast(operand, target.lower(), span=span_of(*items))


def _in(items: list[Any], negated: bool) -> ast.In:
    operand, *listed = no_tokens(items)
    return ast.In(operand, tuple(listed), negated, span=span_of(*items))


def _between(items: list[Any], negated: bool) -> ast.Between:
    operand, low, high = no_tokens(items)
    return ast.Between(operand, low, high, negated, span=span_of(*items))


def _like(items: list[Any], negated: bool) -> ast.Like:
    return ast.Like(items[0], unquote(items[-1]), negated, span=span_of(*items))


def _duration(items: list[Any], *more: str) -> Duration:
    """Of numbers, each with its unit: one of time, or of `more`."""
    parts = [(whole(number), unit_of(unit, *more)) for number, unit in zip(items[::2], items[1::2], strict=True)]
    units = [unit for _, unit in parts]
    span = span_of(*items)
    if len(parts) > 1 and "events" in units:
        fail("a length is a number of events or a duration, not both", span)
    order = ["events", *ast.UNITS]
    if any(order.index(longer) <= order.index(shorter) for longer, shorter in pairwise(units)):
        fail("the units of a duration go from long to short", span, "write it like 1 MINUTE 30 SECONDS")
    unit = units[-1]
    return Duration(
        sum(number * ast.UNITS.get(each, 1) for number, each in parts) // ast.UNITS.get(unit, 1), unit, span
    )


def whole(number: lark.Token, hint: str = "choose a smaller unit, such as 90 minutes for 1.5 hours") -> int:
    """A whole number, as amounts are."""
    if not number.isdigit():
        fail(f"{number} is not a whole number", span_of(number), hint)
    if len(number) > 15:
        fail("this number is too large", span_of(number))
    return int(number)


def unit_of(name: Name, *more: str) -> str:
    """The unit of time that a name means, in one number or the other."""
    known = [*more, *ast.UNITS]
    found = [unit for unit in known if name.lower() in (unit, unit[:-1])]
    if not found:
        hint = "a week is 7 DAYS" if name.lower() in ("week", "weeks") else f"the units are {', '.join(known)}"
        fail(f"`{name}` is not a unit", name.span, hint)
    return found[0]


def negate(operand: ast.Expression, span: Span | None = None) -> ast.Expression:
    """`-e`, where a minus before a number is a negative number."""
    if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
        value = operand.value
        assert isinstance(value, int | float)
        return ast.Literal(-value, span=span)
    return ast.Unary("-", operand, span=span)
