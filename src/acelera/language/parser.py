"""From text to AST.

The LALR parser calls `_AstBuilder` while it reads, so neither parsing nor building recurses, however deep the nesting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import lark

from acelera.errors import QuerySyntaxError, Span
from acelera.language import ast
from acelera.language.conditions import Name, Quantified, fail, to_condition
from acelera.language.literals import parse_date, parse_timestamp
from acelera.language.syntax_errors import explain_syntax_error


def parse_query(text: str) -> ast.Query:
    """The AST of a whole query."""
    return _parse(text, "query", ast.Query)


def parse_condition(text: str) -> ast.Condition:
    """The AST of what may stand after FILTER."""
    return _parse(text, "condition", ast.Condition)


def parse_expression(text: str) -> ast.Expression:
    """The AST of an SQL expression over attributes."""
    if not text.strip():
        fail("the expression is empty", None)
    condition = parse_condition(f"x[({text}) IS NULL]")  # so that it is read as an expression, whatever it is
    assert isinstance(condition, ast.Each) and isinstance(condition.predicate, ast.IsNull)
    return condition.predicate.operand


R = TypeVar("R")


def _parse(text: str, start: str, kind: type[R]) -> R:
    try:
        result = _lark().parse(text, start=start)
    except lark.UnexpectedInput as error:
        raise QuerySyntaxError([explain_syntax_error(error, text, start)], text) from None
    except QuerySyntaxError as error:
        raise QuerySyntaxError(error.problems, text) from None
    assert isinstance(result, kind)
    return result


@cache
def _lark() -> lark.Lark:
    grammar = files("acelera.language").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(
        grammar,
        parser="lalr",
        start=["query", "condition"],
        transformer=_AstBuilder(),
        keep_all_tokens=True,
        maybe_placeholders=True,
    )


def _span(*items: Any) -> Span:
    """From the first item to the last: tokens, names and nodes all know their place."""
    spans = [_place(item) for item in items if item is not None]
    return Span(spans[0].start, max(span.end for span in spans))


def _place(item: Any) -> Span:
    if isinstance(item, lark.Token):
        assert item.start_pos is not None and item.end_pos is not None
        return Span(item.start_pos, item.end_pos)
    span: Span = item.span
    return span


def _unquote(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def _no_tokens(items: Sequence[Any]) -> list[Any]:
    return [item for item in items if not isinstance(item, lark.Token)]


class _AstBuilder(lark.Transformer[Any, Any]):
    """One method for each alternative of the grammar; `items` are its tokens and what was made of its parts."""

    # names and brackets

    def name(self, items: list[lark.Token]) -> Name:
        token = items[0]
        text = {"QUOTED": _unquote(token), "ANY": "ANY"}.get(token.type, str(token))
        name = Name(text)
        name.span, name.quoted = _span(token), token.type == "QUOTED"
        return name

    variable = created_name = name

    def bracket(self, items: list[Any]) -> Any:
        return items[1]

    # the query

    def query(self, items: list[Any]) -> ast.Query:
        select, stream, _, formula, partition_by, within = items
        return ast.Query(
            formula, select or (ast.Star(),), stream, partition_by or (), within, span=_span(*_nodes(items))
        )

    def select(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(_no_tokens(items))

    def select_star(self, items: list[Any]) -> ast.Star:
        return ast.Star(span=_span(*items))

    def select_name(self, items: list[Any]) -> ast.SelectBound | ast.SelectVariable:
        name, _, alias = items
        span = _span(name, alias)
        if name.lower() in ast.BOUNDS and not name.quoted:
            return ast.SelectBound(name.lower(), _text(alias), span=span)
        return ast.SelectVariable(str(name), _text(alias), span=span)

    def select_attribute(self, items: list[Any]) -> ast.SelectAttribute:
        variable, _, attribute, _, alias = items
        return ast.SelectAttribute(str(variable), str(attribute), _text(alias), span=_span(variable, attribute))

    def select_aggregation(self, items: list[Any]) -> ast.SelectAggregation:
        aggregation, _, alias = items
        return ast.SelectAggregation(aggregation, _text(alias), span=_span(aggregation))

    def from_stream(self, items: list[Any]) -> str:
        return str(items[1])

    def partition(self, items: list[Any]) -> tuple[ast.Key, ...]:
        return tuple(ast.Key(str(name), span=name.span) for name in _no_tokens(items))

    def within(self, items: list[Any]) -> ast.Within:
        _, number, unit = items
        span = _span(number, unit)
        name = _unit(unit, "events")
        amount = _whole(number)
        if amount == 0 and name == "events":
            fail(
                "WITHIN 0 EVENTS leaves no room for any match",
                span,
                "a window of one event is WITHIN 1 EVENTS",
            )
        return ast.Within(amount, name, span=span)

    def aggregate_events(self, items: list[Any]) -> ast.Aggregation:
        function, _, variable, closing = items
        return ast.Aggregation(function.lower(), str(variable), span=_span(function, closing))

    def aggregate_values(self, items: list[Any]) -> ast.Aggregation:
        function, _, variable, _, attribute, ignore, _, closing = items
        span = _span(function, closing)
        return ast.Aggregation(function.lower(), str(variable), str(attribute), ignore is not None, span=span)

    # formulas

    def filter(self, items: list[Any]) -> ast.Filter:
        formula, _, expression = items
        return ast.Filter(formula, to_condition(expression), span=_span(formula, expression))

    def project(self, items: list[Any]) -> ast.Project:
        formula, kept = items[0], items[2::2]
        everything = [item for item in kept if isinstance(item, ast.Star)]
        if len(everything) > 1:
            fail("`*` stands twice in PROJECT", everything[1].span)
        named = tuple(item for item in kept if isinstance(item, ast.Kept))
        return ast.Project(formula, bool(everything), named, span=_span(formula, kept[-1]))

    def project_star(self, items: list[Any]) -> ast.Star:
        return ast.Star(span=_span(*items))

    def project_variable(self, items: list[Any]) -> ast.Kept:
        return ast.Kept(str(items[0]), span=_span(*items))

    def project_attributes(self, items: list[Any]) -> ast.Kept:
        variable, *attributes = _no_tokens(items)
        return ast.Kept(str(variable), tuple(str(name) for name in attributes), span=_span(variable, items[-1]))

    def agg(self, items: list[Any]) -> ast.Agg:
        formula, variable, *created = _no_tokens(items)
        return ast.Agg(formula, str(variable), tuple(created), span=_span(formula, items[-1]))

    def created(self, items: list[Any]) -> ast.Created:
        attribute, _, aggregation = items
        return ast.Created(str(attribute), aggregation, span=_span(attribute, aggregation))

    def or_(self, items: list[Any]) -> ast.Or:
        return ast.Or(items[0], items[2], span=_span(*items))

    def and_(self, items: list[Any]) -> ast.And:
        return ast.And(items[0], items[2], span=_span(*items))

    def all_(self, items: list[Any]) -> ast.All:
        return ast.All(items[0], items[2], span=_span(*items))

    def unless(self, items: list[Any]) -> ast.Unless:
        return ast.Unless(items[0], items[2], span=_span(*items))

    def then(self, items: list[Any]) -> ast.Then:
        return ast.Then(items[0], items[2], span=_span(*items))

    def contiguous(self, items: list[Any]) -> ast.Contiguous:
        return ast.Contiguous(items[0], items[2], span=_span(*items))

    def iteration(self, items: list[Any]) -> ast.Iteration:
        return ast.Iteration(items[0], span=_span(*items))

    def contiguous_iteration(self, items: list[Any]) -> ast.ContiguousIteration:
        return ast.ContiguousIteration(items[0], span=_span(*items))

    def as_(self, items: list[Any]) -> ast.As:
        return ast.As(items[0], str(items[2]), span=_span(*items))

    def event_type(self, items: list[Any]) -> ast.EventType:
        return ast.EventType(str(items[0]), span=_span(*items))

    def any_event(self, items: list[Any]) -> ast.AnyEvent:
        return ast.AnyEvent(span=_span(*items))

    def start_(self, items: list[Any]) -> ast.Start:
        return ast.Start(items[2], span=_span(*items))

    def strict(self, items: list[Any]) -> ast.Strict:
        return ast.Strict(items[2], span=_span(*items))

    def next_(self, items: list[Any]) -> ast.Next:
        return ast.Next(str(items[2]), span=_span(*items))

    def condition(self, items: list[Any]) -> ast.Condition:
        return to_condition(items[0])

    # expressions

    def binary(self, items: list[Any]) -> ast.Binary:
        left, token, right = items
        operator = "<>" if token == "!=" else token.upper()
        return ast.Binary(operator, left, right, span=_span(*items))

    def not_(self, items: list[Any]) -> ast.Unary:
        return ast.Unary("NOT", items[1], span=_span(*items))

    def minus(self, items: list[Any]) -> ast.Expression:
        return negate(items[1], _span(*items))

    def is_null(self, items: list[Any]) -> ast.IsNull:
        return ast.IsNull(items[0], span=_span(*items))

    def is_not_null(self, items: list[Any]) -> ast.IsNull:
        return ast.IsNull(items[0], True, span=_span(*items))

    def in_(self, items: list[Any], negated: bool = False) -> ast.In:
        operand, *listed = _no_tokens(items)
        return ast.In(operand, tuple(listed), negated, span=_span(*items))

    def not_in(self, items: list[Any]) -> ast.In:
        return self.in_(items, True)

    def between(self, items: list[Any], negated: bool = False) -> ast.Between:
        operand, low, high = _no_tokens(items)
        return ast.Between(operand, low, high, negated, span=_span(*items))

    def not_between(self, items: list[Any]) -> ast.Between:
        return self.between(items, True)

    def like(self, items: list[Any], negated: bool = False) -> ast.Like:
        return ast.Like(items[0], _unquote(items[-1]), negated, span=_span(*items))

    def not_like(self, items: list[Any]) -> ast.Like:
        return self.like(items, True)

    def number(self, items: list[lark.Token]) -> ast.Literal:
        token, span = items[0], _span(*items)
        if token.isdigit():
            if len(token) > 30:
                fail("this number is too large", span)
            return ast.Literal(int(token), span=span)
        value = float(token)
        if math.isinf(value):
            fail("this number is too large", span)
        return ast.Literal(value, span=span)

    def string(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(_unquote(items[0]), span=_span(*items))

    def true(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(True, span=_span(*items))

    def false(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(False, span=_span(*items))

    def null(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(None, span=_span(*items))

    def timestamp(self, items: list[lark.Token]) -> ast.Timestamp:
        text = _unquote(items[1])
        if parse_timestamp(text) is None:
            fail(
                f"'{text}' is not a timestamp",
                _span(items[1]),
                "write it like TIMESTAMP '2024-01-31 10:00:00'",
            )
        return ast.Timestamp(text, span=_span(*items))

    def date(self, items: list[lark.Token]) -> ast.Date:
        text = _unquote(items[1])
        if parse_date(text) is None:
            fail(f"'{text}' is not a date", _span(items[1]), "write it like DATE '2024-01-31'")
        return ast.Date(text, span=_span(*items))

    def interval(self, items: list[Any]) -> ast.Interval:
        _, number, unit = items
        return ast.Interval(_whole(number), _unit(unit), span=_span(*items))

    def attribute(self, items: list[Any]) -> ast.Attribute:
        return ast.Attribute(None, str(items[0]), span=_span(*items))

    def variable_attribute(self, items: list[Any]) -> ast.Attribute:
        return ast.Attribute(str(items[0]), str(items[2]), span=_span(*items))

    def each(self, items: list[Any]) -> Quantified:
        return Quantified(items[0], items[2], _span(*items))

    def call(self, items: list[Any]) -> ast.Call:
        function, *arguments = _no_tokens(items)
        return ast.Call(function.lower(), tuple(arguments), span=_span(*items))

    def cast(self, items: list[Any]) -> ast.Cast:
        _, _, operand, _, target, _ = items
        return ast.Cast(operand, target.lower(), span=_span(*items))


def _nodes(items: Sequence[Any]) -> list[Any]:
    """Those of the items that know their place."""
    return [item for item in items if isinstance(item, lark.Token | ast.Node)]


def _text(name: Name | None) -> str | None:
    return None if name is None else str(name)


def _whole(number: lark.Token) -> int:
    if not number.isdigit():
        fail(
            f"{number} is not a whole number",
            _span(number),
            "choose a smaller unit, such as 90 minutes for 1.5 hours",
        )
    if len(number) > 15:
        fail("this number is too large", _span(number))
    return int(number)


def _unit(name: Name, *more: str) -> str:
    known = [*more, *ast.UNITS]
    found = [unit for unit in known if name.lower() in (unit, unit[:-1])]
    if not found:
        fail(f"`{name}` is not a unit", name.span, f"the units are {', '.join(known)}")
    return found[0]


def negate(operand: ast.Expression, span: Span | None = None) -> ast.Expression:
    """`-e`, where a minus before a number is a negative number."""
    if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
        value = operand.value
        assert isinstance(value, int | float)
        return ast.Literal(-value, span=span)
    return ast.Unary("-", operand, span=span)
