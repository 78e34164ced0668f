"""Formulas and queries built in Python, by `E`; what speaks of variables and attributes is in `condition_builder`."""

from __future__ import annotations

from collections.abc import Sequence
from types import EllipsisType

from acelera.errors import UsageError
from acelera.language import ast
from acelera.language.condition_builder import (
    ExpressionBuilder,
    aggregation,
    checked_name,
    condition,
    expression,
)
from acelera.language.parser import parse_query
from acelera.language.printer import print_expression, print_formula


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
        return FormulaBuilder(ast.As(self.node, checked_name(variable)))

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
        return FormulaBuilder(ast.Agg(self.node, checked_name(variable), items))

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
    kept = None if keep is None else parse_query(f"MATCH x KEEP {keep.removeprefix('KEEP ')}").keep
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
        return FormulaBuilder(ast.EventType(checked_name(event_type)))

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
        return ast.Kept(checked_name(item))
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], list | tuple):
        return ast.Kept(checked_name(item[0]), tuple(checked_name(name) for name in item[1]))
    raise UsageError(f"a projection keeps 'x' or ('x', ['a', 'b']), not {item!r}")


def _formula(value: object) -> ast.Formula:
    if isinstance(value, FormulaBuilder):
        return value.node
    if isinstance(value, str):
        raise UsageError(f"a formula is built with E: E({value!r})")
    raise UsageError(f"a formula is built with E(…), not {type(value).__name__}")
