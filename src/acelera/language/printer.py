"""From AST to canonical text, which parses back to an equal AST."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from acelera.language import ast
from acelera.language.aggregates import DISTINCT, name_and_number
from acelera.language.looking_back import asks_one_event
from acelera.language.syntax_errors import RESERVED
from acelera.language.tree import assert_never


def print_query(query: ast.Query) -> str:
    """The text of a query, one clause a line."""
    return print_around(f"MATCH {print_formula(query.formula)}", query.clauses)


def print_around(pattern: str, clauses: ast.Clauses) -> str:
    """The text of a pattern with the clauses that stand around it, one a line."""
    lines = []
    summary = clauses.summary
    if summary is not None:
        lines.append("SUMMARIZE " + ", ".join(map(_summary_item, summary.items)))
    elif clauses.select != (ast.Star(),):
        lines.append("SELECT " + ", ".join(_select_item(item) for item in clauses.select))
    if clauses.stream is not None:
        lines.append(f"FROM {name(clauses.stream)}")
    lines.append(pattern)
    if clauses.partition_by:
        lines.append("PARTITION BY " + ", ".join(path(key.name) for key in clauses.partition_by))
    if clauses.within is not None:
        lines.append(print_within(clauses.within))
    if clauses.keep is not None:
        lines.append(print_keep(clauses.keep))
    return "\n".join(lines if summary is None else [*lines, *_grouping(summary)])


def _grouping(summary: ast.Summary) -> Iterator[str]:
    """The clauses of a summary that follow the others."""
    if summary.by:
        yield "BY " + ", ".join(map(_select_item, summary.by))
    if summary.over is not None:
        yield print_over(summary.over)
    if summary.having is not None:
        yield f"HAVING {print_expression(summary.having)}"


def print_within(within: ast.Within) -> str:
    """The text of a window."""
    return f"WITHIN {'LESS THAN ' if within.less_than else ''}{amount(within.amount, within.unit)}"


def print_keep(keep: ast.Keep) -> str:
    """The text of the clause that says which matches are kept."""
    count = "" if keep.count is None else f" {keep.count}"
    scope = "APART" if keep.scope == "apart" else f"PER {keep.scope.upper()}"
    return f"KEEP {keep.kind.upper()}{count} {scope}"


def print_over(over: ast.Over) -> str:
    """The text of the windows of a summary."""
    every = "" if over.every is None else f" EVERY {amount(over.every, over.every_unit or over.unit)}"
    return f"OVER {amount(over.amount, over.unit)}{every}"


def print_formula(formula: ast.Formula) -> str:
    """The text of a formula."""
    return ast.fold(formula, _formula).text


def print_condition(condition: ast.Condition) -> str:
    """The text of a condition."""
    return ast.fold(condition, _condition).text


def print_expression(expression: ast.Expression, quoted: Callable[[str], str] | None = None) -> str:
    """The text of an expression; `quoted` writes its strings, where a language has a way of its own."""

    def piece(node: ast.Expression, made: Sequence[_Piece]) -> _Piece:
        if quoted is not None and isinstance(node, ast.Literal) and isinstance(node.value, str):
            return _Piece(quoted(node.value), _PRIMARY)
        return _expression(node, made)

    return ast.fold(expression, piece).text


def name(text: str) -> str:
    """An identifier, in backticks if it must be."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text.upper() not in RESERVED
    return text if plain else "`" + text.replace("`", "``") + "`"


def variable(text: str) -> str:
    """A variable; ANY is a word of the language and a variable as well."""
    return text if text == "ANY" else name(text)


def path(text: str) -> str:
    """An attribute behind its variable, or where only attributes stand; with dots it is a field of a struct."""
    return text if all(map(_is_plain, text.split("."))) else name(text)


def _is_plain(text: str) -> bool:
    return name(text) == text


def amount(number: int, unit: str) -> str:
    """`5 MINUTES`, `1 MINUTE`."""
    return f"{number} {(unit[:-1] if number == 1 else unit).upper()}"


def duration(nanoseconds: int) -> str:
    """A duration in the largest unit that it is a multiple of: `90 SECONDS`."""
    units = sorted((size, unit) for unit, size in ast.UNITS.items() if nanoseconds % size == 0)
    size, unit = units[-1] if nanoseconds else units[0]
    return amount(nanoseconds // size, unit)


def string(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


class _Piece(NamedTuple):
    """Text, and how tightly its outermost operator binds."""

    text: str
    binding: int

    def at_least(self, binding: int) -> str:
        return self.text if self.binding >= binding else f"({self.text})"


# --- formulas -----------------------------------------------------------------------------------------------------

_CHAIN, _OR, _AND, _THEN, _CONTIGUOUS, _POSTFIX = range(6)

_INFIX: dict[type[ast.Formula], tuple[str, int]] = {
    ast.Or: (" OR ", _OR),
    ast.And: (" AND ", _AND),
    ast.All: (" ALL ", _AND),
    ast.Unless: (" UNLESS ", _AND),
    ast.Then: (" ; ", _THEN),
    ast.Contiguous: (" : ", _CONTIGUOUS),
}


def _formula(node: ast.Formula, made: Sequence[_Piece]) -> _Piece:
    if type(node) in _INFIX:
        operator, binding = _INFIX[type(node)]
        return _Piece(made[0].at_least(binding) + operator + made[1].at_least(binding + 1), binding)
    match node:
        case ast.EventType(text):
            return _Piece(name(text), _POSTFIX)
        case ast.AnyEvent():
            return _Piece("ANY", _POSTFIX)
        case ast.Next():
            return _Piece(f"NEXT({made[0].text})", _POSTFIX)
        case ast.Windowed(_, within):
            return _Piece(f"({made[0].text} {print_within(within)})", _POSTFIX)
        case ast.UnlessFor(_, _, number, unit):
            sides = made[0].at_least(_AND), made[1].at_least(_AND + 1)
            return _Piece(f"{sides[0]} UNLESS {sides[1]} FOR {amount(number, unit)}", _AND)
        case ast.Start():
            return _Piece(f"START({made[0].text})", _POSTFIX)
        case ast.Strict():
            return _Piece(f"STRICT({made[0].text})", _POSTFIX)
        case ast.As(_, bound):
            return _Piece(f"{made[0].at_least(_POSTFIX)} AS {variable(bound)}", _POSTFIX)
        case ast.Iteration(inner):
            return _Piece(_operand(inner, made[0]) + "+", _POSTFIX)
        case ast.ContiguousIteration(inner):
            return _Piece(_operand(inner, made[0]) + ":+", _POSTFIX)
        case ast.Optional(ast.Iteration() | ast.ContiguousIteration()):
            return _Piece(made[0].text[:-1] + "*", _POSTFIX)
        case ast.Optional(inner):
            return _Piece(_operand(inner, made[0]) + "?", _POSTFIX)
        case ast.Repeated(inner, low, high, contiguous):
            counts = f"{low}" if low == high else f"{low},{'' if high is None else high}"
            return _Piece(f"{_operand(inner, made[0])}{':' if contiguous else ''}{{{counts}}}", _POSTFIX)
        case ast.Filter(_, condition):
            return _Piece(f"{made[0].text} FILTER {print_condition(condition)}", _CHAIN)
        case ast.Project(_, everything, kept):
            items = (["*"] if everything else []) + [_kept(item) for item in kept]
            return _Piece(f"{made[0].text} PROJECT {', '.join(items)}", _CHAIN)
        case ast.Agg(_, target, created):
            assigned = ", ".join(f"{name(item.attribute)} <- {print_expression(item.value)}" for item in created)
            return _Piece(f"{made[0].text} AGG {variable(target)}[{assigned}]", _CHAIN)
    raise AssertionError(f"unknown formula {type(node).__name__}")


def _operand(inner: ast.Formula, piece: _Piece) -> str:
    # `A AS x+` and `A{2}{3}` would be read aright, but not by people; `A+?` means something else elsewhere.
    bracketed = isinstance(inner, ast.As | ast.Iteration | ast.ContiguousIteration | ast.Optional | ast.Repeated)
    return f"({piece.text})" if bracketed else piece.at_least(_POSTFIX)


def _kept(item: ast.Kept) -> str:
    if item.attributes is None:
        return variable(item.variable)
    return f"{variable(item.variable)}({', '.join(name(attribute) for attribute in item.attributes)})"


def print_operand(held: str, attribute: str | None) -> str:
    """What an aggregate is over, as it stands in its brackets: `x`, `x.a`, or an expression over attributes of x."""
    if attribute is None:
        return variable(held)
    if not isinstance(attribute, ast.Computed):
        return f"{variable(held)}.{path(attribute)}"

    def piece(node: ast.Expression, made: Sequence[_Piece]) -> _Piece:
        return _expression(ast.Attribute(held, node.name) if isinstance(node, ast.Attribute) else node, made)

    return ast.fold(attribute.expression, piece).text


def _aggregate(function: str, held: str, attribute: str | None, ignore_nulls: bool) -> _Piece:
    some = _of_some(function, attribute) if ignore_nulls else None
    if some is None:
        return _call(function, print_operand(held, attribute), ignore_nulls)
    predicate, value = some
    bracket = f"{variable(held)}[{ast.fold(predicate, _in_brackets).text}]"
    if isinstance(value, ast.Literal):
        return _call(function, bracket)
    return _call(function, f"{bracket}.{path(value.name)}", True)


def _of_some(function: str, attribute: str | None) -> tuple[ast.Expression, ast.Literal | ast.Attribute] | None:
    """The condition and the value of an aggregate of some events: `count(x[P])`, `sum(x[P].a IGNORE NULLS)`."""
    chosen = attribute.expression if isinstance(attribute, ast.Computed) else None
    if not isinstance(chosen, ast.Call) or chosen.function != "if" or not asks_one_event(chosen):
        return None
    match chosen.arguments:
        case (predicate, ast.Attribute() as value):
            return predicate, value
        case (predicate, ast.Literal(True) as value) if function == "count":
            return predicate, value
    return None


def _select_item(item: ast.SelectItem) -> str:
    match item:
        case ast.Star():
            return "*"
        case ast.SelectBound(bound, alias):
            text = bound
        case ast.SelectVariable(shown, alias):
            text = f"`{shown}`" if shown.lower() in ast.BOUNDS else variable(shown)
        case ast.SelectAttribute(shown, attribute, alias):
            text = f"{variable(shown)}.{path(attribute)}"
        case ast.SelectAggregation(aggregation, alias):
            text = print_expression(aggregation)
        case ast.SelectExpression(expression, alias):
            text = ast.fold(expression, _in_select).text
        case _:
            assert_never(item)
    return text if alias is None else f"{text} AS {name(alias)}"


def _in_select(node: ast.Expression, made: Sequence[_Piece]) -> _Piece:
    """As anywhere, but a name that could be a bound of the match stands in backticks."""
    if isinstance(node, ast.Attribute) and node.variable is None and node.name.lower() in ast.BOUNDS:
        return _Piece(f"`{node.name}`", _PRIMARY)
    return _expression(node, made)


def _summary_item(item: ast.SummaryItem) -> str:
    text = print_expression(item.expression)
    return text if item.alias is None else f"{text} AS {name(item.alias)}"


# --- conditions ---------------------------------------------------------------------------------------------------


def _condition(node: ast.Condition, made: Sequence[_Piece]) -> _Piece:
    match node:
        case ast.Either():
            return _Piece(f"{made[0].at_least(0)} OR {made[1].at_least(1)}", 0)
        case ast.Both():
            return _Piece(f"{made[0].at_least(1)} AND {made[1].at_least(2)}", 1)
        case ast.Each(held, predicate):
            return _Piece(f"{variable(held)}[{ast.fold(predicate, _in_brackets).text}]", 2)
        case ast.Across(predicate):
            # An AND or OR in brackets would be read as one of conditions, so it is kept within an expression.
            return _Piece(print_expression(predicate), 2)
        case ast.Same(held, attributes):
            return _Piece(f"{variable(held)}[same({', '.join(map(path, attributes))})]", 2)
        case ast.Increasing(held, attribute):
            return _Piece(f"{variable(held)}[increasing({path(attribute)})]", 2)
        case ast.Decreasing(held, attribute):
            return _Piece(f"{variable(held)}[decreasing({path(attribute)})]", 2)
    raise AssertionError(f"unknown condition {type(node).__name__}")


def _in_brackets(node: ast.Expression, made: Sequence[_Piece]) -> _Piece:
    """As anywhere, but a name alone may be that of a field."""
    if isinstance(node, ast.Attribute) and node.variable is None:
        return _Piece(path(node.name), _PRIMARY)
    return _expression(node, made)


# --- expressions --------------------------------------------------------------------------------------------------

_EXPR_OR, _EXPR_AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _FACTOR, _PRIMARY = range(8)

_BINARY = {
    "OR": (_EXPR_OR, _EXPR_OR, _EXPR_AND),
    "AND": (_EXPR_AND, _EXPR_AND, _NOT),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">="), (_COMPARISON, _SUM, _SUM)),
    **dict.fromkeys(("+", "-", "||"), (_SUM, _SUM, _PRODUCT)),
    **dict.fromkeys(("*", "/", "%"), (_PRODUCT, _PRODUCT, _FACTOR)),
}
"""For each operator: how tightly it binds, and what it wants of its two sides."""


def _expression(node: ast.Expression, made: Sequence[_Piece]) -> _Piece:
    match node:
        case ast.Literal(value):
            return _literal(value)
        case ast.Timestamp(text):
            return _Piece(f"TIMESTAMP {string(text)}", _PRIMARY)
        case ast.Date(text):
            return _Piece(f"DATE {string(text)}", _PRIMARY)
        case ast.Interval(number, unit):
            return _Piece(f"INTERVAL {amount(number, unit)}", _PRIMARY)
        case ast.Attribute(held, text):
            return _Piece(name(text) if held is None else f"{variable(held)}.{path(text)}", _PRIMARY)
        case ast.Unary("NOT", _):
            return _Piece(f"NOT {made[0].at_least(_NOT)}", _NOT)
        case ast.Unary():
            # A minus straight after a minus would begin a comment; before a number it would become part of it.
            clashes = made[0].text[0] in "-.0123456789"
            return _Piece(f"-({made[0].text})" if clashes else f"-{made[0].at_least(_FACTOR)}", _FACTOR)
        case ast.Binary(operator, _, _):
            binding, left, right = _BINARY[operator]
            return _Piece(f"{made[0].at_least(left)} {operator} {made[1].at_least(right)}", binding)
        case ast.IsNull(_, negated):
            return _Piece(f"{made[0].at_least(_SUM)} IS {'NOT ' if negated else ''}NULL", _COMPARISON)
        case ast.In(_, _, negated):
            items = ", ".join(piece.text for piece in made[1:])
            return _Piece(f"{made[0].at_least(_SUM)} {_not(negated)}IN ({items})", _COMPARISON)
        case ast.Between(_, _, _, negated):
            operand, low, high = (piece.at_least(_SUM) for piece in made)
            return _Piece(f"{operand} {_not(negated)}BETWEEN {low} AND {high}", _COMPARISON)
        case ast.Like(_, pattern, negated):
            return _Piece(f"{made[0].at_least(_SUM)} {_not(negated)}LIKE {string(pattern)}", _COMPARISON)
        case ast.Call(function, _):
            return _call(function, ", ".join(piece.text for piece in made))
        case ast.Prev():
            return _Piece(f"prev({made[0].text})", _PRIMARY)
        case ast.Running(function, _, ignore):
            return _call(function, made[0].text if made else "", ignore)
        case ast.Total(function, None):
            return _Piece(f"{_called(function)}(*)", _PRIMARY)
        case ast.Total(function, str() as held, attribute, ignore) | ast.Aggregation(function, held, attribute, ignore):
            return _aggregate(function, held, attribute, ignore)
        case ast.Bound(text):
            return _Piece(text, _PRIMARY)
        case ast.Cast(_, target):
            return _Piece(f"CAST({made[0].text} AS {name(target)})", _PRIMARY)
    raise AssertionError(f"unknown expression {type(node).__name__}")


def _call(function: str, given: str, ignore_nulls: bool = False) -> _Piece:
    if function == DISTINCT:
        return _Piece(f"count(DISTINCT {given})", _PRIMARY)
    called, number = name_and_number(function)
    ignored, further = " IGNORE NULLS" if ignore_nulls else "", "" if number is None else f", {number}"
    return _Piece(f"{_called(called)}({given}{ignored}{further})", _PRIMARY)


def _called(function: str) -> str:
    return "`cast`" if function == "cast" else name(function)  # CAST( is a word of the language


def _not(negated: bool) -> str:
    return "NOT " if negated else ""


def _literal(value: object) -> _Piece:
    if value is None:
        return _Piece("NULL", _PRIMARY)
    if isinstance(value, bool):
        return _Piece("TRUE" if value else "FALSE", _PRIMARY)
    if isinstance(value, str):
        return _Piece(string(value), _PRIMARY)
    text = repr(value)
    return _Piece(text, _FACTOR if text.startswith("-") else _PRIMARY)
