"""Queries built in Python. `E` makes formulas, `V` speaks of variables, `A` of attributes inside `V(x).each(…)`."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any, Literal

from acelera.errors import UsageError
from acelera.language import ast
from acelera.language.aggregates import LARGEST_PLACE, NTH, numbered
from acelera.language.conditions import to_condition
from acelera.language.expression_builder import negate
from acelera.language.looking_back import with_running_values
from acelera.language.parser import parse_condition, parse_query
from acelera.language.printer import name as printed_name
from acelera.language.printer import print_condition, print_expression, print_formula

# --- expressions and conditions -----------------------------------------------------------------------------------


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
        return ExpressionBuilder(ast.Cast(self.node, _checked_name(target).lower()))

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
    return ExpressionBuilder(ast.Attribute(None, _checked_name(name)))


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
    return ExpressionBuilder(ast.Running(_with_number(_checked_name(function), number), given, ignore_nulls))


class V:
    """A variable: `V("a").price` or `V("a")["price"]` is an attribute of its events.

    >>> from acelera import A, E, V, query
    >>> c = (V("a").price > 100) & V("b").same("name") & V("b").each((A("price") > 1) | (A("name") == "x"))
    >>> print(query(E("SELL").as_("a").then(E("SELL").as_("b").plus()).filter(c)))
    MATCH SELL AS a ; (SELL AS b)+ FILTER a[price > 100] AND b[same(name)] AND b[price > 1 OR name = 'x']
    """

    def __init__(self, name: str) -> None:
        self._name = _checked_name(name)

    def __getitem__(self, attribute: str) -> ExpressionBuilder:
        return ExpressionBuilder(ast.Attribute(self._name, _checked_name(attribute)))

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
        return ConditionBuilder(ast.Same(self._name, tuple(_checked_name(name) for name in attributes)))

    def increasing(self, attribute: str) -> ConditionBuilder:
        """`x[increasing(a)]`."""
        return ConditionBuilder(ast.Increasing(self._name, _checked_name(attribute)))

    def decreasing(self, attribute: str) -> ConditionBuilder:
        """`x[decreasing(a)]`."""
        return ConditionBuilder(ast.Decreasing(self._name, _checked_name(attribute)))


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


# --- formulas -----------------------------------------------------------------------------------------------------


class FormulaBuilder:
    """A formula; each method gives a larger one. Made by `E`."""

    def __init__(self, node: ast.Formula) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"<formula {print_formula(self.node)}>"

    def __or__(self, other: object) -> FormulaBuilder:
        raise UsageError("formulas are joined with methods: .or_(…), .then(…), .and_(…)")

    __and__ = __rshift__ = __or__

    def run(self, *_: object, **__: object) -> None:
        """A formula is not yet a query."""
        raise UsageError("make a query of it first: acelera.query(formula).run(table)")

    def as_(self, variable: str) -> FormulaBuilder:
        """`φ AS x`."""
        return FormulaBuilder(ast.As(self.node, _checked_name(variable)))

    def filter(self, *conditions: object) -> FormulaBuilder:
        """`φ FILTER c`; a condition is a text or is built with V. Several are joined with AND."""
        if not conditions:
            raise UsageError("filter needs a condition")
        both = condition(conditions[0])
        for each in conditions[1:]:
            both = ast.Both(both, condition(each))
        return FormulaBuilder(ast.Filter(self.node, both))

    def then(self, other: FormulaBuilder) -> FormulaBuilder:
        """`φ ; ψ`."""
        return FormulaBuilder(ast.Then(self.node, _formula(other)))

    def directly(self, other: FormulaBuilder) -> FormulaBuilder:
        """`φ : ψ`."""
        return FormulaBuilder(ast.Contiguous(self.node, _formula(other)))

    def optional(self) -> FormulaBuilder:
        """`φ?`."""
        return FormulaBuilder(ast.Optional(self.node))

    def star(self, *, contiguous: bool = False) -> FormulaBuilder:
        """`φ*`, or `φ:*` if contiguous."""
        return self.plus(contiguous=contiguous).optional()

    def times(self, low: int, high: int | EllipsisType | None = ..., *, contiguous: bool = False) -> FormulaBuilder:
        """`φ{n}`; with another number `φ{n,m}`, with None `φ{n,}`. If contiguous, without gaps between the rounds.

        >>> from acelera import E, query
        >>> print(query(E("A").times(2).then(E("B").times(1, 3, contiguous=True)).then(E("C").times(2, None))))
        MATCH A{2} ; B:{1,3} ; C{2,}
        """
        most = low if high is ... else high
        counts = [count for count in (low, most) if count is not None]
        if not all(type(count) is int and count >= 0 for count in counts) or max(counts, default=0) < low or most == 0:
            raise UsageError(
                f"times takes counts such as .times(2), .times(1, 3) or .times(2, None), not {(low, most)!r}"
            )
        return FormulaBuilder(ast.Repeated(self.node, low, most, contiguous))

    def within(self, window: str | tuple[int, str]) -> FormulaBuilder:
        """`(φ WITHIN d)`: only matches of this part that fit into the window.

        >>> from acelera import E, query
        >>> print(query(E("A").then(E("B")).within("5 minutes").then(E("C"))))
        MATCH (A ; B WITHIN 5 MINUTES) ; C
        """
        return FormulaBuilder(ast.Windowed(self.node, _window(window)))

    def plus(self, *, contiguous: bool = False) -> FormulaBuilder:
        """`φ+`, or `φ:+` if contiguous."""
        return FormulaBuilder(ast.ContiguousIteration(self.node) if contiguous else ast.Iteration(self.node))

    def or_(self, other: FormulaBuilder) -> FormulaBuilder:
        """`φ OR ψ`."""
        return FormulaBuilder(ast.Or(self.node, _formula(other)))

    def and_(self, other: FormulaBuilder) -> FormulaBuilder:
        """`φ AND ψ`."""
        return FormulaBuilder(ast.And(self.node, _formula(other)))

    def all_(self, other: FormulaBuilder) -> FormulaBuilder:
        """`φ ALL ψ`."""
        return FormulaBuilder(ast.All(self.node, _formula(other)))

    def unless(self, other: FormulaBuilder, *, lasting: str | tuple[int, str] | None = None) -> FormulaBuilder:
        """`φ UNLESS ψ`, or `φ UNLESS ψ FOR d` if lasting for a duration such as `"30 minutes"`."""
        if lasting is None:
            return FormulaBuilder(ast.Unless(self.node, _formula(other)))
        made = parse_query(f"MATCH x UNLESS y FOR {_amount(lasting)}").formula
        assert isinstance(made, ast.UnlessFor)
        return FormulaBuilder(ast.UnlessFor(self.node, _formula(other), made.amount, made.unit))

    def project(self, *kept: str | tuple[str, Sequence[str]]) -> FormulaBuilder:
        """`φ PROJECT x, y(a, b)` is `.project("x", ("y", ["a", "b"]))`; `"*"` keeps all variables."""
        everything = "*" in kept
        items = tuple(_kept(item) for item in kept if item != "*")
        return FormulaBuilder(ast.Project(self.node, everything, items))

    def agg(self, variable: str, **created: object) -> FormulaBuilder:
        """`φ AGG y[hi <- max(b.price), n <- count(b)]` is `.agg("y", hi=("max", "b", "price"), n=("count", "b"))`.

        A fourth part, `"ignore nulls"`, leaves NULLs out; `nth` takes its number at the end. In the place of an
        attribute may stand what is computed from attributes, and in the place of all of it a text.

        >>> from acelera import A, E, query
        >>> made = E("T").as_("x").agg("m", paid=("sum", "x", A("price") * A("volume")), second="nth(x.price, 2)")
        >>> print(query(made))
        MATCH T AS x AGG m[paid <- sum(x.price * x.volume), second <- nth(x.price, 2)]
        """
        items = tuple(ast.Created(name, aggregation(value)) for name, value in created.items())
        if not items:
            raise UsageError("agg needs an attribute to create: .agg('m', hi=('max', 'b', 'price'))")
        return FormulaBuilder(ast.Agg(self.node, _checked_name(variable), items))

    def query(
        self,
        *select: str,
        stream: str | None = None,
        partition_by: str | Sequence[str] = (),
        within: str | tuple[int, str] | None = None,
        keep: str | None = None,
        summarize: str | Sequence[str] = (),
        by: str | Sequence[str] = (),
        over: str | tuple[int, str] | None = None,
        every: str | tuple[int, str] | None = None,
        having: str | ExpressionBuilder | None = None,
    ) -> ast.Query:
        """A whole query of this formula; items of SELECT, or else those of SUMMARIZE, are written as in the text.

        >>> from acelera import E, query
        >>> print(query(E("A").plus().query("count(A) AS n", partition_by="user", within=(5, "minutes"))))
        SELECT count(A) AS n
        MATCH A+
        PARTITION BY user
        WITHIN 5 MINUTES
        >>> paths = E("A").as_("x").then(E("B").plus())
        >>> items = ["count(*) AS n", "sum(B.v) / count(*) AS mean"]
        >>> print(query(paths.query(summarize=items, by="x.k", having="n > 3")))
        SUMMARIZE count(*) AS n, sum(B.v) / count(*) AS mean
        MATCH A AS x ; B+
        BY x.k
        HAVING n > 3
        """
        around = clauses(select, stream, partition_by, within, summary(summarize, by, over, every, having), keep)
        return ast.Query(self.node, *around.parts())  # type: ignore[arg-type]  # both have the same clauses


def clauses(
    select: Sequence[str] = (),
    stream: str | None = None,
    partition_by: str | Sequence[str] = (),
    within: str | tuple[int, str] | None = None,
    summary: ast.Summary | None = None,
    keep: str | None = None,
) -> ast.Clauses:
    """What stands around a pattern; items of SELECT are written as in the text."""
    if select and summary is not None:
        raise UsageError("a query has either SELECT or SUMMARIZE: give items of SELECT, or summarize=…")
    if not all(isinstance(item, str) for item in select) or not isinstance(within, str | tuple | None):
        raise UsageError("items of SELECT and the window are texts: .query('a.price', within='5 minutes')")
    keys = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
    items = parse_query(f"SELECT {', '.join(select)} MATCH x").select if select else (ast.Star(),)
    if not isinstance(keep, str | None):
        raise UsageError(f"keep={keep!r} is not a text such as 'longest per start'")
    window = None if within is None else _window(within)
    kept = None if keep is None else parse_query(f"MATCH x KEEP {keep}").keep
    named = tuple(ast.Key(key) for key in keys)
    return ast.Clauses(items if summary is None else (), stream, named, window, summary, kept)


def _window(within: str | tuple[int, str]) -> ast.Within:
    """A window written as in the text."""
    window = parse_query(f"MATCH x WITHIN {_amount(within)}").within
    assert window is not None
    return window


def summary(
    summarize: str | Sequence[str] = (),
    by: str | Sequence[str] = (),
    over: str | tuple[int, str] | None = None,
    every: str | tuple[int, str] | None = None,
    having: str | ExpressionBuilder | None = None,
) -> ast.Summary | None:
    """The summary of a query, each part written as in the text; None if there is nothing to summarize."""
    items, keys = _texts("summarize", summarize), _texts("by", by)
    if not items:
        if keys or over is not None or every is not None or having is not None:
            raise UsageError("by, over, every and having are for summaries: give summarize=['count(*)'] as well")
        return None
    if every is not None and over is None:
        raise UsageError("every=… says how often a window begins: give over='10 minutes' as well")
    text = f"SUMMARIZE {', '.join(items)} MATCH x"
    text += f" BY {', '.join(keys)}" if keys else ""
    text += f" OVER {_amount(over)}" if over is not None else ""
    text += f" EVERY {_amount(every)}" if every is not None else ""
    if having is not None:
        text += f" HAVING {having if isinstance(having, str) else print_expression(expression(having))}"
    return parse_query(text).summary


def _texts(option: str, given: str | Sequence[str]) -> tuple[str, ...]:
    """One text, or several."""
    texts = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, list | tuple) else None
    if texts is None or not all(isinstance(text, str) for text in texts):
        raise UsageError(f"{option}={given!r} is neither a text nor a list of texts")
    return texts


def _amount(given: str | tuple[int, str]) -> str:
    """`"5 minutes"` or `(5, "minutes")` as text."""
    if isinstance(given, str):
        return given
    if isinstance(given, tuple) and len(given) == 2:
        return f"{given[0]} {given[1]}"
    raise UsageError(f"{given!r} is not a window such as '5 minutes'")


class Events:
    """The start of a formula built in Python: `E("SELL")` is one event of type SELL.

    >>> from acelera import E, V, query
    >>> built = E("SELL").as_("a").then(E("SELL").as_("b").plus()).filter(V("a").price > 100)
    >>> query(built) == query("MATCH SELL AS a ; (SELL AS b)+ FILTER a[price > 100]")
    True
    """

    def __call__(self, event_type: str) -> FormulaBuilder:
        """`R`: one event of this type."""
        return FormulaBuilder(ast.EventType(_checked_name(event_type)))

    def any(self) -> FormulaBuilder:
        """`ANY`: one event of any type."""
        return FormulaBuilder(ast.AnyEvent())

    def next(self, event: str | FormulaBuilder) -> FormulaBuilder:
        """`NEXT(φ)`: the first event from here on that is of this type, or matches this formula of one event."""
        return FormulaBuilder(ast.Next(self(event).node if isinstance(event, str) else _formula(event)))

    def start(self, formula: FormulaBuilder) -> FormulaBuilder:
        """`START(φ)`."""
        return FormulaBuilder(ast.Start(_formula(formula)))

    def strict(self, formula: FormulaBuilder) -> FormulaBuilder:
        """`STRICT(φ)`."""
        return FormulaBuilder(ast.Strict(_formula(formula)))


E = Events()
"""The only one there is of `Events`: `E("SELL")` is one event of type SELL, `E.any()` one of any type."""


def _kept(item: object) -> ast.Kept:
    if isinstance(item, str):
        return ast.Kept(_checked_name(item))
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], list | tuple):
        return ast.Kept(_checked_name(item[0]), tuple(_checked_name(name) for name in item[1]))
    raise UsageError(f"a projection keeps 'x' or ('x', ['a', 'b']), not {item!r}")


def _checked_name(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise UsageError(f"{value!r} is not a name; types, variables and attributes are named by strings")
    return value


def _formula(value: object) -> ast.Formula:
    if isinstance(value, FormulaBuilder):
        return value.node
    if isinstance(value, str):
        raise UsageError(f"a formula is built with E: E({value!r})")
    raise UsageError(f"a formula is built with E(…), not {type(value).__name__}")


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
    if isinstance(value, tuple) and value and type(value[-1]) is int:
        number, parts = value[-1], value[:-1]
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
    if (function.lower() == NTH) != (number is not None) or number == 0:
        raise UsageError("`nth` takes a number that is not 0, as in ('nth', 'b', 'price', 2); no other function does")
    if number is not None and abs(number) > LARGEST_PLACE:
        raise UsageError(f"`nth` counts up to {LARGEST_PLACE:,}, and not to {number:,}")
    return function.lower() if number is None else numbered(number)
