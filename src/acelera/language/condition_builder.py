"""Conditions and aggregates built in Python: `V` speaks of variables, `A` of attributes inside `V(x).each(…)`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from typing import Any, Literal

from acelera.errors import UsageError
from acelera.language import ast
from acelera.language.aggregates import LARGEST_PLACE, NTH, name_and_number, numbered
from acelera.language.conditions import to_condition
from acelera.language.expression_builder import negate
from acelera.language.looking_back import with_running_values
from acelera.language.parser import parse_condition, parse_query
from acelera.language.printer import name as printed_name
from acelera.language.printer import print_condition, print_expression


class ExpressionBuilder:
    """An expression over attributes; Python's operators build larger ones, `&`, `|` and `~` are AND, OR and NOT."""

    def __init__(self, node: ast.Expression) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"<expression {print_expression(self.node)}>"

    def _binary(self, operator: str, other: object, swapped: bool = False) -> ExpressionBuilder:
        left, right = self.node, expression(other)
        return ExpressionBuilder(ast.Binary(operator, right, left) if swapped else ast.Binary(operator, left, right))

    def __add__(self, other: object) -> ExpressionBuilder:
        return self._binary("+", other)

    def __radd__(self, other: object) -> ExpressionBuilder:
        return self._binary("+", other, swapped=True)

    def __sub__(self, other: object) -> ExpressionBuilder:
        return self._binary("-", other)

    def __rsub__(self, other: object) -> ExpressionBuilder:
        return self._binary("-", other, swapped=True)

    def __mul__(self, other: object) -> ExpressionBuilder:
        return self._binary("*", other)

    def __rmul__(self, other: object) -> ExpressionBuilder:
        return self._binary("*", other, swapped=True)

    def __truediv__(self, other: object) -> ExpressionBuilder:
        return self._binary("/", other)

    def __rtruediv__(self, other: object) -> ExpressionBuilder:
        return self._binary("/", other, swapped=True)

    def __mod__(self, other: object) -> ExpressionBuilder:
        return self._binary("%", other)

    def __neg__(self) -> ExpressionBuilder:
        return ExpressionBuilder(negate(self.node))

    def __eq__(self, other: object) -> ExpressionBuilder:  # type: ignore[override]  # it builds, it does not compare
        return self._binary("=", other)

    def __ne__(self, other: object) -> ExpressionBuilder:  # type: ignore[override]  # as above
        return self._binary("<>", other)

    def __lt__(self, other: object) -> ExpressionBuilder:
        return self._binary("<", other)

    def __le__(self, other: object) -> ExpressionBuilder:
        return self._binary("<=", other)

    def __gt__(self, other: object) -> ExpressionBuilder:
        return self._binary(">", other)

    def __ge__(self, other: object) -> ExpressionBuilder:
        return self._binary(">=", other)

    def __and__(self, other: object) -> Any:
        return _join("AND", self, other)

    def __or__(self, other: object) -> Any:
        return _join("OR", self, other)

    def __invert__(self) -> ExpressionBuilder:
        return ExpressionBuilder(ast.Unary("NOT", self.node))

    def concat(self, other: object) -> ExpressionBuilder:
        """`self || other`."""
        return self._binary("||", other)

    def is_null(self) -> ExpressionBuilder:
        """`self IS NULL`."""
        return ExpressionBuilder(ast.IsNull(self.node))

    def is_not_null(self) -> ExpressionBuilder:
        """`self IS NOT NULL`."""
        return ExpressionBuilder(ast.IsNull(self.node, True))

    def isin(self, *items: object) -> ExpressionBuilder:
        """`self IN (…)`; the items may also be given as one list."""
        return ExpressionBuilder(ast.In(self.node, _items(items)))

    def not_in(self, *items: object) -> ExpressionBuilder:
        """`self NOT IN (…)`."""
        return ExpressionBuilder(ast.In(self.node, _items(items), True))

    def between(self, low: object, high: object) -> ExpressionBuilder:
        """`self BETWEEN low AND high`."""
        return ExpressionBuilder(ast.Between(self.node, expression(low), expression(high)))

    def like(self, pattern: str) -> ExpressionBuilder:
        """`self LIKE pattern`."""
        if not isinstance(pattern, str):
            raise UsageError(f"LIKE takes a pattern such as 'A%', not {pattern!r}")
        return ExpressionBuilder(ast.Like(self.node, pattern))

    def cast(self, target: str) -> ExpressionBuilder:
        """`CAST(self AS target)`."""
        return ExpressionBuilder(ast.Cast(self.node, checked_name(target).lower()))

    def call(self, function: str, *arguments: object) -> ExpressionBuilder:
        """`function(self, …)`, such as `abs`."""
        return ExpressionBuilder(ast.Call(function.lower(), (self.node, *(expression(each) for each in arguments))))

    def __bool__(self) -> bool:
        raise UsageError(
            "a condition is built with & | ~ rather than and, or, not; put comparisons in brackets: (a > 1) & (b < 2)"
        )

    __hash__ = None  # type: ignore[assignment]  # == builds, so it cannot serve a set or dict


class ConditionBuilder:
    """A condition on complex events; `&` and `|` are AND and OR."""

    def __init__(self, node: ast.Condition) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"<condition {print_condition(self.node)}>"

    def __and__(self, other: object) -> ConditionBuilder:
        return ConditionBuilder(ast.Both(self.node, condition(other)))

    def __or__(self, other: object) -> ConditionBuilder:
        return ConditionBuilder(ast.Either(self.node, condition(other)))

    def __invert__(self) -> ConditionBuilder:
        raise UsageError("x[…] speaks of every event of x; negate inside: V(x).each(~P)")

    def __bool__(self) -> bool:
        raise UsageError("conditions are combined with & and |")


def _join(operator: Literal["AND", "OR"], one: ExpressionBuilder, other: object) -> Any:
    """AND and OR stay within an expression over bare attributes; otherwise they join conditions, as in the text."""
    if isinstance(other, ConditionBuilder):
        kind = ast.Both if operator == "AND" else ast.Either
        return ConditionBuilder(kind(condition(one), other.node))
    return ExpressionBuilder(ast.Binary(operator, one.node, expression(other)))


def A(name: str) -> ExpressionBuilder:  # noqa: N802  # short, since it stands in the midst of expressions
    """An attribute of the event in hand, inside `V(x).each(…)`.

    >>> from acelera import A, V
    >>> V("a").each((A("price") > 100) & A("name").isin("MSFT", "INTL"))
    <condition a[price > 100 AND name IN ('MSFT', 'INTL')]>
    """
    return ExpressionBuilder(ast.Attribute(None, checked_name(name)))


def prev(value: object) -> ExpressionBuilder:
    """`prev(e)`, inside `V(x).each(…)`: e of the event of x before this one.

    >>> from acelera import A, V, prev
    >>> V("x").each(A("price") > prev(A("price") * 2))
    <condition x[price > prev(price * 2)]>
    """
    return ExpressionBuilder(ast.Prev(expression(value)))


def so_far(
    function: str, value: object = None, number: int | None = None, *, ignore_nulls: bool = False
) -> ExpressionBuilder:
    """`f(e)` or `count()`, inside `V(x).each(…)`: an aggregate of the events of x up to and including this one. The
    number is for `nth`.

    >>> from acelera import A, V, so_far
    >>> V("x").each((so_far("count") <= 5) & (A("price") >= so_far("max", A("price"))))
    <condition x[count() <= 5 AND price >= max(price)]>
    """
    given = None if value is None else expression(value)
    return ExpressionBuilder(ast.Running(_with_number(checked_name(function), number), given, ignore_nulls))


class V:
    """A variable: `V("a").price` or `V("a")["price"]` is an attribute of its events.

    >>> from acelera import A, E, V, query
    >>> c = (V("a").price > 100) & V("b").same("name") & V("b").each((A("price") > 1) | (A("name") == "x"))
    >>> print(query(E("SELL").as_("a").then(E("SELL").as_("b").plus()).filter(c)))
    MATCH SELL AS a ; (SELL AS b)+ FILTER a[price > 100] AND b[same(name)] AND b[price > 1 OR name = 'x']
    """

    def __init__(self, name: str) -> None:
        self._name = checked_name(name)

    def __getitem__(self, attribute: str) -> ExpressionBuilder:
        return ExpressionBuilder(ast.Attribute(self._name, checked_name(attribute)))

    def __getattr__(self, attribute: str) -> ExpressionBuilder:
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        return self[attribute]

    def each(self, predicate: ExpressionBuilder | str) -> ConditionBuilder:
        """`x[P]`: every event satisfies P, a text or built of attributes, `A("price")`."""
        if isinstance(predicate, str):
            return ConditionBuilder(parse_condition(f"{printed_name(self._name)}[{predicate}]"))
        return ConditionBuilder(ast.Each(self._name, with_running_values(expression(predicate), self._name)))

    def same(self, *attributes: str) -> ConditionBuilder:
        """`x[same(a, …)]`."""
        return ConditionBuilder(ast.Same(self._name, tuple(checked_name(name) for name in attributes)))

    def increasing(self, attribute: str) -> ConditionBuilder:
        """`x[increasing(a)]`."""
        return ConditionBuilder(ast.Increasing(self._name, checked_name(attribute)))

    def decreasing(self, attribute: str) -> ConditionBuilder:
        """`x[decreasing(a)]`."""
        return ConditionBuilder(ast.Decreasing(self._name, checked_name(attribute)))


def _items(items: Sequence[object]) -> tuple[ast.Expression, ...]:
    if len(items) == 1 and isinstance(items[0], list | tuple | set):
        items = list(items[0])
    if not items:
        raise UsageError("IN needs at least one item")
    return tuple(expression(item) for item in items)


def expression(value: object) -> ast.Expression:
    """An expression from a builder or a Python value."""
    if isinstance(value, ExpressionBuilder):
        return value.node
    if isinstance(value, ast.Expression):
        return value
    if isinstance(value, datetime.datetime):
        return ast.Timestamp(value.isoformat(sep=" "))
    if isinstance(value, datetime.date):
        return ast.Date(value.isoformat())
    if isinstance(value, datetime.timedelta):
        milliseconds, rest = divmod(value, datetime.timedelta(milliseconds=1))
        if rest or milliseconds < 0:
            raise UsageError(f"{value!r} is not a whole number of milliseconds")
        return ast.Interval(milliseconds, "milliseconds")
    if isinstance(value, float) and not math.isfinite(value):
        raise UsageError(f"{value!r} cannot be written in a query")
    if value is None or isinstance(value, bool | int | float | str):
        return ast.Literal(value)
    raise UsageError(f"{value!r} cannot stand in a condition")


def condition(value: object) -> ast.Condition:
    """A condition from a builder, or from its text."""
    if isinstance(value, str):
        return parse_condition(value)
    if isinstance(value, ConditionBuilder):
        return value.node
    if isinstance(value, ExpressionBuilder):
        bare = [node.name for node in ast.walk(value.node) if isinstance(node, ast.Attribute) and node.variable is None]
        if bare:
            raise UsageError(f"whose attribute? `{bare[0]}` needs a variable here: V('x').{bare[0]}, or V('x').each(…)")
        return to_condition(value.node)
    raise UsageError(f"a condition is a text or is built with V(…), not {type(value).__name__}")


def checked_name(value: object) -> str:
    """A name, of whatever it is."""
    if not isinstance(value, str) or not value:
        raise UsageError(f"{value!r} is not a name; types, variables and attributes are named by strings")
    return value


def aggregation(value: object) -> ast.Aggregation:
    """`("max", "b", "price")` as the aggregation `max(b.price)`, `("nth", "b", "price", 2)` as `nth(b.price, 2)`; or
    the same as a text.
    """
    if isinstance(value, ast.Aggregation):
        return value
    if isinstance(value, str) and "(" in value:
        made = parse_query(f"MATCH x AGG y[k <- {value}]").formula
        if isinstance(made, ast.Agg) and len(made.created) == 1:
            return made.created[0].value
    number, parts = None, value
    if isinstance(value, tuple) and (numbers := [part for part in value[3:] if type(part) is int]):
        number, parts = numbers[0], tuple(part for part in value if part is not numbers[0])
    if isinstance(parts, tuple) and 2 <= len(parts) <= 4 and all(isinstance(part, str) for part in parts[:2]):
        function, variable, *rest = parts
        if "." in variable and not rest:
            raise UsageError(f"an aggregation is written {(function, *variable.split('.', 1))!r}, not {value!r}")
        attribute = _aggregated(rest[0]) if rest else None
        if len(rest) < 2 or str(rest[1]).lower() == "ignore nulls":
            return ast.Aggregation(_with_number(function, number), variable, attribute, len(rest) == 2)
    raise UsageError(f"an aggregation is written ('max', 'b', 'price') or ('count', 'b'), not {value!r}")


def _aggregated(value: object) -> str:
    """The name of an attribute, or of what is computed from attributes."""
    if isinstance(value, str):
        return value
    made = expression(value)
    if isinstance(made, ast.Attribute) and made.variable is None:
        return made.name
    leaves = [node for node in ast.walk(made) if isinstance(node, ast.Attribute | ast.Prev | ast.Running)]
    if not leaves or not all(isinstance(node, ast.Attribute) and node.variable is None for node in leaves):
        raise UsageError(f"an aggregate is of attributes, as in A('price') * A('volume'), not of {value!r}")
    return ast.Computed(made)


def _with_number(function: str, number: int | None) -> str:
    """The name of an aggregate function, with the number that `nth` takes, and no other."""
    given = name_and_number(function.lower())[1] is not None
    if given or (function.lower() == NTH) != (number is not None) or number == 0:
        raise UsageError("`nth` takes a number that is not 0, as in ('nth', 'b', 'price', 2); no other function does")
    if number is not None and abs(number) > LARGEST_PLACE:
        raise UsageError(f"`nth` counts up to {LARGEST_PLACE:,}, and not to {number:,}")
    return function.lower() if number is None else numbered(number)
