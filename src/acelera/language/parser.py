"""From text to AST.

The LALR parser calls `_AstBuilder` while it reads, so neither parsing nor building recurses, however deep the nesting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar

import lark

from acelera.errors import QuerySyntaxError, Span
from acelera.language import ast
from acelera.language.aggregates import DISTINCT, LARGEST_PLACE, NTH, name_and_number, numbered
from acelera.language.conditions import Name, Quantified, fail, to_condition
from acelera.language.expression_builder import ExpressionBuilder, no_tokens, span_of, whole
from acelera.language.items import to_aggregation, to_item
from acelera.language.looking_back import looks_back
from acelera.language.printer import print_within
from acelera.language.syntax_errors import explain_syntax_error
from acelera.language.totals import with_totals


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
    if looks_back(condition.predicate):
        fail("`prev` and aggregates look back over the events of a variable, which stand only inside x[…]", None)
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


class _AstBuilder(ExpressionBuilder):
    """One method for each alternative of the grammar; `items` are its tokens and what was made of its parts."""

    created_name = ExpressionBuilder.name

    def path(self, items: list[Any]) -> Name:
        """An attribute, or a field of one."""
        names = no_tokens(items)
        path = Name(".".join(names))
        path.span, path.quoted = span_of(*items), len(names) == 1 and names[0].quoted
        return path

    # the query

    def query(self, items: list[Any]) -> ast.Query:
        select, stream, _, formula, partition_by, within, keep = items
        shown, span = select or (ast.Star(),), span_of(*_nodes(items))
        return ast.Query(formula, shown, stream, partition_by or (), within, keep=keep, span=span)

    def summary_query(self, items: list[Any]) -> ast.Query:
        summarized, stream, _, formula, partition_by, within, keep, keys, over, having = items
        *_, last = _nodes([*summarized, *(keys or ()), over, having])
        summary = ast.Summary(summarized, keys or (), over, having, span=span_of(summarized[0], last))
        span = span_of(summarized[0], *_nodes(items))
        return ast.Query(formula, (), stream, partition_by or (), within, summary, keep, span=span)

    def select(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(no_tokens(items))

    def select_star(self, items: list[Any]) -> ast.Star:
        return ast.Star(span=span_of(*items))

    def select_name(self, items: list[Any]) -> ast.SelectBound | ast.SelectVariable:
        name, _, alias = items
        span = span_of(name, alias)
        if name.lower() in ast.BOUNDS and not name.quoted:
            return ast.SelectBound(name.lower(), _text(alias), span=span)
        return ast.SelectVariable(str(name), _text(alias), span=span)

    def select_attribute(self, items: list[Any]) -> ast.SelectAttribute:
        variable, _, attribute, _, alias = items
        return ast.SelectAttribute(str(variable), str(attribute), _text(alias), span=span_of(variable, attribute))

    def select_expression(self, items: list[Any]) -> ast.SelectColumn:
        expression, _, alias = items
        return to_item(expression, _text(alias))

    def from_stream(self, items: list[Any]) -> str:
        return str(items[1])

    def partition(self, items: list[Any]) -> tuple[ast.Key, ...]:
        return tuple(ast.Key(str(name), span=name.span) for name in no_tokens(items))

    def within(self, items: list[Any]) -> ast.Within:
        _, less, _, (amount, unit, span) = items
        window = ast.Within(amount, unit, less is not None, span=span)
        least = (unit == "events") + window.less_than
        if amount < least:
            fail(
                f"{print_within(window)} leaves no room for any match",
                span,
                "a window of one event is WITHIN 1 EVENTS" if unit == "events" else f"write {least} or more",
            )
        return window

    def keep_best(self, items: list[Any]) -> ast.Keep:
        return ast.Keep(items[1].lower(), items[-1].lower(), span=span_of(*items))

    def keep_all(self, items: list[Any]) -> ast.Keep:
        return ast.Keep("all", "apart", span=span_of(*items))

    def keep_any(self, items: list[Any]) -> ast.Keep:
        count = whole(items[2], "so many matches are kept: KEEP ANY 3 PER START")
        if count == 0:
            fail("KEEP ANY 0 keeps nothing", span_of(items[2]), "write KEEP ANY 1 PER START or more")
        return ast.Keep("any", items[-1].lower(), count, span=span_of(*items))

    def summarize(self, items: list[Any]) -> tuple[Any, ...]:
        return tuple(no_tokens(items))

    group_by = summarize

    def summary_item(self, items: list[Any]) -> ast.SummaryItem:
        expression, _, alias = items
        return ast.SummaryItem(with_totals(expression), _text(alias), span=span_of(expression, alias))

    def over(self, items: list[Any]) -> ast.Over:
        _, length, _, every = items
        stride = (None, None) if every is None else (every.amount, every.unit)
        return ast.Over(length.amount, length.unit, *stride, span=span_of(length, every))

    def having(self, items: list[Any]) -> ast.Expression:
        return with_totals(items[1])

    # formulas

    def filter(self, items: list[Any]) -> ast.Filter:
        formula, _, expression = items
        return ast.Filter(formula, to_condition(expression), span=span_of(formula, expression))

    def project(self, items: list[Any]) -> ast.Project:
        formula, kept = items[0], items[2::2]
        everything = [item for item in kept if isinstance(item, ast.Star)]
        if len(everything) > 1:
            fail("`*` stands twice in PROJECT", everything[1].span)
        named = tuple(item for item in kept if isinstance(item, ast.Kept))
        return ast.Project(formula, bool(everything), named, span=span_of(formula, kept[-1]))

    def project_star(self, items: list[Any]) -> ast.Star:
        return ast.Star(span=span_of(*items))

    def project_variable(self, items: list[Any]) -> ast.Kept:
        return ast.Kept(str(items[0]), span=span_of(*items))

    def project_attributes(self, items: list[Any]) -> ast.Kept:
        variable, *attributes = no_tokens(items)
        return ast.Kept(str(variable), tuple(str(name) for name in attributes), span=span_of(variable, items[-1]))

    def agg(self, items: list[Any]) -> ast.Agg:
        formula, variable, *created = no_tokens(items)
        return ast.Agg(formula, str(variable), tuple(created), span=span_of(formula, items[-1]))

    def created(self, items: list[Any]) -> ast.Created:
        attribute, _, expression = items
        return ast.Created(str(attribute), to_aggregation(expression), span=span_of(attribute, expression))

    def or_(self, items: list[Any]) -> ast.Or:
        return ast.Or(items[0], items[2], span=span_of(*items))

    def and_(self, items: list[Any]) -> ast.And:
        return ast.And(items[0], items[2], span=span_of(*items))

    def all_(self, items: list[Any]) -> ast.All:
        return ast.All(items[0], items[2], span=span_of(*items))

    def unless(self, items: list[Any]) -> ast.Unless:
        return ast.Unless(items[0], items[2], span=span_of(*items))

    def unless_for(self, items: list[Any]) -> ast.UnlessFor:
        length = self.no_events(items[4], "UNLESS … FOR")
        return ast.UnlessFor(items[0], items[2], length.amount, length.unit, span=span_of(*items))

    def then(self, items: list[Any]) -> ast.Then:
        return ast.Then(items[0], items[2], span=span_of(*items))

    def contiguous(self, items: list[Any]) -> ast.Contiguous:
        return ast.Contiguous(items[0], items[2], span=span_of(*items))

    def iteration(self, items: list[Any]) -> ast.Iteration:
        return ast.Iteration(items[0], span=span_of(*items))

    def contiguous_iteration(self, items: list[Any]) -> ast.ContiguousIteration:
        return ast.ContiguousIteration(items[0], span=span_of(*items))

    def any_number(self, items: list[Any]) -> ast.Optional:
        return ast.Optional(ast.Iteration(items[0], span=span_of(*items)), span=span_of(*items))

    def contiguous_any_number(self, items: list[Any]) -> ast.Optional:
        return ast.Optional(ast.ContiguousIteration(items[0], span=span_of(*items)), span=span_of(*items))

    def optional(self, items: list[Any]) -> ast.Optional:
        return ast.Optional(items[0], span=span_of(*items))

    def repeated(self, items: list[Any], contiguous: bool = False) -> ast.Repeated:
        formula, _, (low, high), closing = items
        span = span_of(formula, closing)
        if high == 0:
            fail("a count of 0 leaves nothing to match", span_of(items[1], items[3]), "leave the part out")
        if high is not None and high < low:
            fail(f"from {low} to {high} is no range", span_of(items[1], items[3]), f"write {{{high},{low}}}")
        return ast.Repeated(formula, low, high, contiguous, span=span)

    def contiguous_repeated(self, items: list[Any]) -> ast.Repeated:
        return self.repeated(items, contiguous=True)

    def exactly(self, items: list[Any]) -> tuple[int, int]:
        count = whole(items[0], _COUNTED)
        return count, count

    def at_least(self, items: list[Any]) -> tuple[int, None]:
        return whole(items[0], _COUNTED), None

    def between_counts(self, items: list[Any]) -> tuple[int, int]:
        return 0 if items[0] is None else whole(items[0], _COUNTED), whole(items[2], _COUNTED)

    def as_(self, items: list[Any]) -> ast.As:
        return ast.As(items[0], str(items[2]), span=span_of(*items))

    def event_type(self, items: list[Any]) -> ast.EventType:
        return ast.EventType(str(items[0]), span=span_of(*items))

    def any_event(self, items: list[Any]) -> ast.AnyEvent:
        return ast.AnyEvent(span=span_of(*items))

    def windowed(self, items: list[Any]) -> ast.Windowed:
        return ast.Windowed(items[1], items[2], span=span_of(*items))

    def start_(self, items: list[Any]) -> ast.Start:
        return ast.Start(items[2], span=span_of(*items))

    def strict(self, items: list[Any]) -> ast.Strict:
        return ast.Strict(items[2], span=span_of(*items))

    def next_(self, items: list[Any]) -> ast.Next:
        return ast.Next(items[2], span=span_of(*items))

    def condition(self, items: list[Any]) -> ast.Condition:
        return to_condition(items[0])

    def each(self, items: list[Any]) -> Quantified:
        return Quantified(items[0], items[2], span=span_of(*items))

    def each_attribute(self, items: list[Any]) -> Quantified:
        return Quantified(items[0], items[2], items[5], span=span_of(*items))

    # totals, and aggregates inside x[…]

    def total_of_matches(self, items: list[Any]) -> ast.Total:
        return ast.Total(_function(items[0]), span=span_of(*items))

    def call_of_nothing(self, items: list[Any]) -> ast.Running:
        return ast.Running(_function(items[0]), span=span_of(*items))

    def call(self, items: list[Any]) -> ast.Call:
        _function(items[0])
        called = super().call(items)
        if called.function != NTH:
            return called
        operand, number = _value_and_number(called.arguments, called.span)
        return replace(called, function=numbered(number), arguments=(operand,))

    def call_of_distinct(self, items: list[Any]) -> ast.Running:
        name, span = _function(items[0]), span_of(*items)
        if name != "count":
            fail(f"`{name}` takes no DISTINCT", span, "different values are counted: count(DISTINCT x.price)")
        return ast.Running(DISTINCT, items[3], True, span=span)

    def call_ignoring_nulls(self, items: list[Any]) -> ast.Running:
        function, operand, *further = no_tokens(items)
        name, span = _function(function), span_of(*items)
        if name == NTH:
            operand, number = _value_and_number((operand, *further), span)
            name = numbered(number)
        elif further:
            fail(f"`{name}` takes one value of each event", span, f"write {name}(x.price IGNORE NULLS)")
        return ast.Running(name, operand, True, span=span)


_COUNTED = "a part comes a whole number of times: A{2}, A{1,3}"


def _function(name: Name) -> str:
    """The name of a function, which in quotes could look like one with its number."""
    if name_and_number(name.lower())[1] is not None:
        fail(f"there is no function `{name}`", name.span, "a number stands in the brackets: nth(x.price, 2)")
    return name.lower()


def _value_and_number(given: Sequence[ast.Expression], span: Span | None) -> tuple[ast.Expression, int]:
    """What `nth` is given: something that events have, and a whole number that is not 0."""
    number = given[1].value if len(given) == 2 and isinstance(given[1], ast.Literal) else None
    if type(number) is int and 0 < abs(number) <= LARGEST_PLACE:
        return given[0], number
    hint = "nth(x.price, 1) is the price of the first event of x, nth(x.price, -1) that of the last"
    if type(number) is int and number:
        fail(f"`nth` counts up to {LARGEST_PLACE:,}", given[1].span)
    return fail("`nth` takes a value of each event and a whole number, which is not 0", span, hint)


def _nodes(items: Sequence[Any]) -> list[Any]:
    """Those of the items that know their place."""
    return [item for item in items if isinstance(item, lark.Token | ast.Node)]


def _text(name: Name | None) -> str | None:
    return None if name is None else str(name)
