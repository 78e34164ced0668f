"""From the text of a program to its AST.

The LALR parser calls `_AstBuilder` while it reads, so neither parsing nor building recurses, however deep the nesting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

import lark

from acelera.errors import Problem, Span, did_you_mean
from acelera.programs.problems import ProgramSyntaxError
from acelera.xchangeeq import ast
from acelera.xchangeeq.mistakes import explain_syntax_error


def parse_program(text: str) -> ast.Program:
    """The AST of a program; raises a ProgramSyntaxError that says where the text goes wrong."""
    try:
        result = _lark().parse(text)
    except lark.UnexpectedInput as error:
        raise ProgramSyntaxError([explain_syntax_error(error, text)], text) from None
    except ProgramSyntaxError as error:
        raise ProgramSyntaxError(error.problems, text) from None
    assert isinstance(result, ast.Program)
    return result


UNIT_NAMES = {
    **dict.fromkeys(("ms", "msec", "msecs", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), "min"),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), "h"),
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("w", "week", "weeks"), "week"),
}
"""How units are spelt, and the unit of `ast.UNITS` that is meant."""


@cache
def _lark() -> lark.Lark:
    grammar = files("acelera.xchangeeq").joinpath("grammar.lark").read_text(encoding="utf-8")
    return lark.Lark(
        grammar,
        parser="lalr",
        start="program",
        transformer=_AstBuilder(),
        keep_all_tokens=True,
        maybe_placeholders=True,
    )


def _span(*items: Any) -> Span:
    """From the first item to the last: tokens and nodes both know their place."""
    spans = [_place(item) for item in items if item is not None]
    return Span(spans[0].start, max(span.end for span in spans))


def _place(item: Any) -> Span:
    if isinstance(item, lark.Token):
        assert item.start_pos is not None and item.end_pos is not None
        return Span(item.start_pos, item.end_pos)
    span: Span = item.span
    return span


def _nodes(items: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(item for item in items if isinstance(item, ast.Node))


def _names(items: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(item) for item in items if isinstance(item, lark.Token) and item.type == "NAME")


def _unquote(token: str) -> str:
    quote = token[0]
    return token[1:-1].replace(quote * 2, quote)


def _fail(message: str, span: Span, hint: str | None = None) -> NoReturn:
    raise ProgramSyntaxError([Problem(message, span, hint)])


class _Kids(tuple[ast.Query, ...]):
    """The children of a query term."""


class _AstBuilder(lark.Transformer[Any, Any]):
    """One method for each alternative of the grammar; `items` are its tokens and what was made of its parts."""

    # programs and heads

    def program(self, items: list[Any]) -> ast.Program:
        return ast.Program(tuple(items), span=_span(*items))

    def rule(self, items: list[Any]) -> ast.Rule:
        _, head, _, body, _ = items
        return ast.Rule(head, body, span=_span(*items))

    def label(self, items: list[lark.Token]) -> lark.Token:
        token = items[0]
        return token.update(value=_unquote(token)) if token.type == "QUOTED" else token

    def construct(self, items: list[Any]) -> ast.Construct:
        return ast.Construct(str(items[0]), _nodes(items), span=_span(*items))

    def construct_ordered(self, items: list[Any]) -> ast.Construct:
        return ast.Construct(str(items[0]), _nodes(items), True, span=_span(*items))

    def all(self, items: list[Any]) -> ast.All:
        word, what, group_by, order_by = items
        closing = [each for each in (what, *(group_by or ()), *(order_by or ())) if each is not None]
        return ast.All(what, _nodes(group_by or ()), _nodes(order_by or ()), span=_span(word, *closing))

    def group_by(self, items: list[Any]) -> list[Any]:
        return items

    order_by = group_by

    def order_key(self, items: list[Any]) -> ast.OrderKey:
        variable, direction = items
        return ast.OrderKey(variable, direction is not None and direction.type == "DESC", span=_span(*items))

    # bodies

    def where(self, items: list[Any]) -> ast.Where:
        body, *conditions = _nodes(items)
        return ast.Where(body, tuple(conditions), span=_span(*items))

    def all_of(self, items: list[Any]) -> ast.AllOf:
        return ast.AllOf(_nodes(items), span=_span(*items))

    def one_of(self, items: list[Any]) -> ast.OneOf:
        return ast.OneOf(_nodes(items), span=_span(*items))

    def event(self, items: list[Any]) -> ast.Event:
        return ast.Event(str(items[1]), items[3], span=_span(*items))

    def bare_event(self, items: list[Any]) -> ast.Event:
        return ast.Event(None, items[0], span=_span(*items))

    def relative_timer(self, items: list[Any]) -> ast.RelativeTimer:
        _, name, _, kind, _, _, anchor, _, duration, _ = items
        told = kind.removeprefix("timer:")
        return ast.RelativeTimer(str(name), told, str(anchor), duration, span=_span(*items))

    def periodic_timer(self, items: list[Any]) -> ast.PeriodicTimer:
        _, name, _, _, _, duration, _ = items
        if duration.microseconds == 0:
            _fail("a period of no length would happen without end", duration.span, "write timer:periodic [ 1 min ]")
        return ast.PeriodicTimer(str(name), duration, span=_span(*items))

    def while_not(self, items: list[Any]) -> ast.While:
        return ast.While(str(items[1]), True, items[4], span=_span(*items))

    def while_collect(self, items: list[Any]) -> ast.While:
        return ast.While(str(items[1]), False, items[4], span=_span(*items))

    # query terms

    def binds(self, items: list[Any]) -> ast.Binds:
        return ast.Binds(str(items[1]), span=_span(*items))

    def binds_query(self, items: list[Any]) -> ast.Binds:
        return ast.Binds(str(items[1]), items[3], span=_span(*items))

    def descendant(self, items: list[Any]) -> ast.Descendant:
        return ast.Descendant(items[1], span=_span(*items))

    def is_value(self, items: list[Any]) -> ast.IsValue:
        return ast.IsValue(items[0].value, span=items[0].span)

    def query_label(self, items: list[lark.Token]) -> lark.Token:
        return items[0]

    any_label = query_label

    def partial(self, items: list[Any]) -> ast.Labelled:
        return self.labelled(items, total=False, ordered=False)

    def total(self, items: list[Any]) -> ast.Labelled:
        return self.labelled(items, total=True, ordered=False)

    def partial_ordered(self, items: list[Any]) -> ast.Labelled:
        return self.labelled(items, total=False, ordered=True)

    def total_ordered(self, items: list[Any]) -> ast.Labelled:
        return self.labelled(items, total=True, ordered=True)

    def labelled(self, items: list[Any], total: bool, ordered: bool) -> ast.Labelled:
        """A term with braces or brackets, single or double."""
        label = None if items[0].type == "STAR" else str(items[0])
        kids = next(item for item in items if isinstance(item, _Kids))
        return ast.Labelled(label, tuple(kids), total, ordered, span=_span(items[0], items[-1]))

    def kids(self, items: list[Any]) -> _Kids:
        return _Kids(_nodes(items))

    def without(self, items: list[Any]) -> ast.Without:
        return ast.Without(items[1], span=_span(*items))

    def optional(self, items: list[Any]) -> ast.Optional:
        return ast.Optional(items[1], span=_span(*items))

    # conditions

    def relation(self, items: list[lark.Token]) -> str:
        return "equals" if items[0] == "simultaneous" else str(items[0])

    def temporal(self, items: list[Any]) -> ast.Temporal:
        left, relation, right = items
        return ast.Temporal(str(left), relation, str(right), span=_span(left, right))

    def within(self, items: list[Any]) -> ast.Within:
        return ast.Within(_names(items), items[-1], span=_span(*items))

    def apart_by(self, items: list[Any]) -> ast.ApartBy:
        return ast.ApartBy(_names(items), items[-1], span=_span(*items))

    def comparison(self, items: list[Any]) -> ast.Comparison:
        left, operator, right = items
        told = {"==": "=", "<>": "!="}.get(operator, str(operator))
        return ast.Comparison(told, left, right, span=_span(*items))

    def not_(self, items: list[Any]) -> ast.Not:
        return ast.Not(items[2], span=_span(*items))

    def both(self, items: list[Any]) -> ast.Both:
        return ast.Both(_nodes(items), span=_span(*items))

    def either(self, items: list[Any]) -> ast.Either:
        return ast.Either(_nodes(items), span=_span(*items))

    # expressions

    def arithmetic(self, items: list[Any]) -> ast.Arithmetic:
        left, operator, right = items
        return ast.Arithmetic(str(operator), left, right, span=_span(*items))

    def minus(self, items: list[Any]) -> ast.Expression:
        return negative(items[1], _span(*items))

    def literal(self, items: list[Any]) -> ast.Literal:
        found: ast.Literal = items[0]
        return found

    def call(self, items: list[Any]) -> ast.Call:
        function, arguments = items[0], _nodes(items)
        if function in ast.AGGREGATES:
            hint = f"over all values it is {function}(all …), over one there is nothing to compute"
            _fail(f"{function} takes all values of something", _span(function), hint)
        if function not in ast.FUNCTIONS:
            known = (*ast.FUNCTIONS, *ast.AGGREGATES)
            near = did_you_mean(str(function), known)
            _fail(f"there is no function `{function}`{near}", _span(function), f"there are {', '.join(known)}")
        if len(arguments) != 1 and function != "coalesce":
            _fail(f"{function} takes one argument, not {len(arguments)}", _span(*items))
        return ast.Call(str(function), arguments, span=_span(*items))

    def aggregate(self, items: list[Any]) -> ast.Aggregate:
        function, _, over, _ = items
        if function not in ast.AGGREGATES:
            near = did_you_mean(str(function), ast.AGGREGATES)
            hint = f"over all values there are {', '.join(ast.AGGREGATES)}"
            _fail(f"`{function}` does not take all values of something{near}", _span(function), hint)
        return ast.Aggregate(str(function), over, span=_span(*items))

    def bracket(self, items: list[Any]) -> Any:
        return items[1]

    def var(self, items: list[lark.Token]) -> ast.Variable:
        return ast.Variable(str(items[1]), span=_span(*items))

    # values

    def value(self, items: list[Any]) -> Any:
        return items[0]

    def negative_value(self, items: list[lark.Token]) -> ast.Expression:
        return negative(self.number(items[1:]), _span(*items))

    def number(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(_number(items[0]), span=_span(*items))

    def string(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(_unquote(items[0]), span=_span(*items))

    def true(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(True, span=_span(*items))

    def false(self, items: list[lark.Token]) -> ast.Literal:
        return ast.Literal(False, span=_span(*items))

    def duration(self, items: list[tuple[int | float, str, Span]]) -> ast.Duration:
        span = items[0][2].to(items[-1][2])
        return ast.Duration(tuple((amount, unit) for amount, unit, _ in items), span=span)

    def amount(self, items: list[lark.Token]) -> tuple[int | float, str, Span]:
        number, unit = items
        return _number(number), _unit(unit), _span(*items)


def negative(operand: ast.Expression, span: Span | None = None) -> ast.Expression:
    """`-e`, where a minus before a number is a negative number."""
    if isinstance(operand, ast.Literal) and type(operand.value) in (int, float):
        assert isinstance(operand.value, int | float)
        return ast.Literal(-operand.value, span=span)
    return ast.Negative(operand, span=span)


def _number(token: lark.Token) -> int | float:
    if token.isdigit():
        if int(token) >= 2**63:
            _fail("this number is too large", _span(token), "whole numbers have 64 bits; write it as 1e20")
        return int(token)
    found = float(token)
    if math.isinf(found):
        _fail("this number is too large", _span(token))
    return found


def _unit(token: lark.Token) -> str:
    if token in UNIT_NAMES:
        return UNIT_NAMES[str(token)]
    if token.lower().rstrip("s") in ("month", "year", "quarter"):
        kind = token.lower().rstrip("s") + "s"
        _fail(f"{kind} have no fixed length", _span(token), "write days: 30 days")
    if token == "m":
        _fail("`m` is not a unit", _span(token), "minutes are written min")
    near = did_you_mean(str(token), UNIT_NAMES)
    _fail(f"`{token}` is not a unit{near}", _span(token), "the units are ms, sec, min, hour, day, week")
