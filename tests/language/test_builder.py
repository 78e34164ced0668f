"""The builder and the text give equal trees."""

import datetime
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given

import acelera as ac
from acelera import A, E, V, prev, so_far
from acelera.language import ast
from acelera.language.aggregates import name_and_number
from acelera.language.builder import FormulaBuilder
from acelera.language.condition_builder import ConditionBuilder, ExpressionBuilder
from acelera.language.parser import parse_condition, parse_query
from acelera.language.printer import print_over, print_query
from strategies import CONDITIONS, FORMULAS, SUMMARIES

INFIX = {"+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "%": "__mod__", "||": "concat"}
INFIX |= {"=": "__eq__", "<>": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}
INFIX |= {"AND": "__and__", "OR": "__or__"}


def build_expression(node: ast.Expression, made: Sequence[ExpressionBuilder]) -> ExpressionBuilder:
    match node:
        case ast.Attribute(None, name):
            return A(name)
        case ast.Attribute(str() as variable, name):
            return V(variable)[name]
        case ast.Unary("NOT", _):
            return ~made[0]
        case ast.Unary():
            return -made[0]
        case ast.Binary(operator, _, _):
            result: ExpressionBuilder = getattr(made[0], INFIX[operator])(made[1])
            return result
        case ast.IsNull(_, negated):
            return made[0].is_not_null() if negated else made[0].is_null()
        case ast.In(_, _, negated):
            return made[0].not_in(*made[1:]) if negated else made[0].isin(*made[1:])
        case ast.Between(_, _, _, False):
            return made[0].between(made[1], made[2])
        case ast.Like(_, pattern, False):
            return made[0].like(pattern)
        case ast.Call(function, _):
            return made[0].call(function, *made[1:])
        case ast.Cast(_, target):
            return made[0].cast(target)
        case ast.Prev():
            return prev(made[0])
        case ast.Running(function, _, ignore_nulls):
            name, number = name_and_number(function)
            return so_far(name, *made, number=number, ignore_nulls=ignore_nulls)
    return ExpressionBuilder(node if not made else type(node)(*_with(node, made)))


def _with(node: ast.Expression, made: Sequence[ExpressionBuilder]) -> list[Any]:
    rest = iter(made)
    return [next(rest).node if isinstance(part, ast.Expression) else part for part in node.parts()]


def build_condition(node: ast.Condition, made: Sequence[Any]) -> Any:
    match node:
        case ast.Both():
            return ConditionBuilder(_node(made[0])) & made[1]
        case ast.Either():
            return ConditionBuilder(_node(made[0])) | made[1]
        case ast.Each(variable, predicate):
            return V(variable).each(ast.fold(predicate, build_expression))
        case ast.Across(predicate):
            return ast.fold(predicate, build_expression)
        case ast.Same(variable, attributes):
            return V(variable).same(*attributes)
        case ast.Increasing(variable, attribute):
            return V(variable).increasing(attribute)
        case ast.Decreasing(variable, attribute):
            return V(variable).decreasing(attribute)
    raise AssertionError(node)


def _node(value: Any) -> ast.Condition:
    from acelera.language.condition_builder import condition

    return condition(value)


def build_formula(node: ast.Formula, made: Sequence[FormulaBuilder]) -> FormulaBuilder:
    match node:
        case ast.EventType(name):
            return E(name)
        case ast.AnyEvent():
            return E.any()
        case ast.Next(ast.EventType(name)):
            return E.next(name)
        case ast.Next():
            return E.next(made[0])
        case ast.Optional(ast.Iteration() | ast.ContiguousIteration() as several):
            # What was made of the iteration is made once more, from what stands below it.
            below = FormulaBuilder(several.formula)
            return below.star(contiguous=isinstance(several, ast.ContiguousIteration))
        case ast.Optional():
            return made[0].optional()
        case ast.Repeated(_, low, high, contiguous):
            return made[0].times(low, high, contiguous=contiguous)
        case ast.Windowed(_, within):
            return made[0].within(f"{'less than ' if within.less_than else ''}{within.amount} {within.unit}")
        case ast.UnlessFor(_, _, amount, unit):
            return made[0].unless(made[1], lasting=(amount, unit))
        case ast.As(_, variable):
            return made[0].as_(variable)
        case ast.Filter(_, condition):
            return made[0].filter(ast.fold(condition, build_condition))
        case ast.Iteration() | ast.ContiguousIteration():
            return made[0].plus(contiguous=isinstance(node, ast.ContiguousIteration))
        case ast.Project(_, everything, kept):
            if any(item.variable == "*" for item in kept):  # in the builder, "*" is all variables
                return FormulaBuilder(ast.Project(made[0].node, everything, kept))
            items: list[Any] = ["*"] if everything else []
            items += [k.variable if k.attributes is None else (k.variable, k.attributes) for k in kept]
            return made[0].project(*items)
        case ast.Agg(_, variable, created):
            names = [item.attribute for item in created]
            if len(names) > len(set(names)):
                return FormulaBuilder(ast.Agg(made[0].node, variable, created))
            return made[0].agg(variable, **{item.attribute: item.value for item in created})
        case ast.Start():
            return E.start(made[0])
        case ast.Strict():
            return E.strict(made[0])
        case ast.Then():
            return made[0].then(made[1])
        case ast.Contiguous():
            return made[0].directly(made[1])
        case ast.Or():
            return made[0].or_(made[1])
        case ast.And():
            return made[0].and_(made[1])
        case ast.All():
            return made[0].all_(made[1])
        case ast.Unless():
            return made[0].unless(made[1])
    raise AssertionError(node)


@pytest.mark.property
@given(FORMULAS)
def test_formulas_built_and_written_are_equal(formula: ast.Formula) -> None:
    built = ast.fold(formula, build_formula).query()
    assert built.formula == formula
    assert parse_query(print_query(built)) == built


@pytest.mark.property
@given(CONDITIONS)
def test_conditions_built_and_written_are_equal(condition: ast.Condition) -> None:
    assert _node(ast.fold(condition, build_condition)) == condition


@pytest.mark.parametrize(
    ("built", "text"),
    [
        ((V("a").price > 100) & (V("b").name == "x"), "a.price > 100 AND b.name = 'x'"),
        ((V("a").v > 1) | (V("a").u > 1), "a.v > 1 OR a.u > 1"),
        (V("a").each((A("v") > 1) | (A("u") > 1)), "a[v > 1 OR u > 1]"),
        (~(V("a").v > 1), "NOT a.v > 1"),
        (V("a").v - V("b").v < 5, "a.v - b.v < 5"),
        (1 - V("a").v < 5, "1 - a.v < 5"),
        (2 * V("a").v / 3 + 1 < 5, "2 * a.v / 3 + 1 < 5"),
        (V("a")["odd name"].is_null(), "a.`odd name` IS NULL"),
        (V("a").t > datetime.datetime(2024, 1, 31, 10), "a.t > TIMESTAMP '2024-01-31 10:00:00'"),
        (V("a").d > datetime.date(2024, 1, 31), "a.d > DATE '2024-01-31'"),
        (V("b").time - V("a").time < datetime.timedelta(minutes=1), "b.time - a.time < INTERVAL 60000 MILLISECONDS"),
        (V("a").v.isin([1, 2]), "a.v IN (1, 2)"),
        (V("a b").each("v > 5 OR u > 5"), "`a b`[v > 5 OR u > 5]"),
        (V("a").same("x", "y") & V("a").increasing("v"), "a[same(x, y)] AND a[increasing(v)]"),
    ],
)
def test_conditions(built: object, text: str) -> None:
    assert _node(built) == parse_condition(text)


def test_the_example_of_the_language() -> None:
    built = (
        E("SELL").as_("a").then(E("SELL").as_("b").plus())
        .filter("a[price > 100]", V("b").name == "INTL")
        .agg("m", hi=("max", "b", "price"))
    )  # fmt: skip
    text = "MATCH SELL AS a ; (SELL AS b)+ FILTER a[price > 100] AND b[name = 'INTL'] AGG m[hi <- max(b.price)]"
    assert ac.query(built) == ac.query(text)


def test_a_whole_query() -> None:
    built = (
        E("A")
        .as_("x")
        .plus()
        .query("x", "max(x.v IGNORE NULLS) AS hi", stream="s", partition_by=["k"], within="3 events")
    )
    assert ac.query(built) == ac.query(
        "SELECT x, max(x.v IGNORE NULLS) AS hi FROM s MATCH (A AS x)+ PARTITION BY k WITHIN 3 EVENTS"
    )


@pytest.mark.parametrize("having", ["n > 3 AND mean < 2", (A("n") > 3) & (A("mean") < 2)], ids=["written", "built"])
def test_a_whole_summary(having: Any) -> None:
    built = E("A").as_("a").then(E("B").as_("x").plus()).query(
        summarize=["count(*) AS n", "sum(x.v) / count(*) AS mean"], by=["sector", "a.k AS k", "end_time"],
        over="10 minutes", every=(10, "seconds"), having=having, stream="s", partition_by="sector", within="1 hour",
    )  # fmt: skip
    assert ac.query(built) == ac.query(
        "SUMMARIZE count(*) AS n, sum(x.v) / count(*) AS mean FROM s MATCH A AS a ; (B AS x)+ PARTITION BY sector "
        "WITHIN 1 HOUR BY sector, a.k AS k, end_time OVER 10 MINUTES EVERY 10 SECONDS HAVING n > 3 AND mean < 2"
    )


@pytest.mark.property
@given(SUMMARIES)
def test_summaries_built_and_written_are_equal(summary: ast.Summary) -> None:
    written = ast.Query(ast.EventType("A"), (), summary=summary)
    lines = dict(line.split(" ", 1) for line in _lines(written))
    over, _, every = lines.get("OVER", "").partition(" EVERY ")
    built = E("A").query(
        summarize=lines["SUMMARIZE"], by=lines.get("BY", ()), over=over or None, every=every or None,
        having=None if summary.having is None else ExpressionBuilder(summary.having),
    )  # fmt: skip
    assert built == written


def _lines(query: ast.Query) -> list[str]:
    """The clauses of a summary as they are written, each alone."""
    assert query.summary is not None
    parts = [ast.Summary(query.summary.items), ast.Summary(query.summary.items, query.summary.by)]
    texts = [print_query(ast.Query(query.formula, (), summary=part)) for part in parts]
    items, keys = texts[0].removesuffix("\nMATCH A"), texts[1].removeprefix(texts[0]).strip("\n")
    over = print_over(query.summary.over) if query.summary.over is not None else ""
    return [text for text in (items, keys, over) if text]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: V("a").v > 1 and V("a").v < 5, "& | ~"),
        (lambda: E("A").then("B"), r"E\('B'\)"),
        (lambda: E("A").filter(), "needs a condition"),
        (lambda: E("A").filter(5), "built with V"),
        (lambda: E("A").filter(A("v") > 1), "needs a variable"),
        (lambda: E("A") | E("B"), "joined with methods"),
        (lambda: E("A") >> E("B"), "joined with methods"),
        (lambda: E("A").run([]), "make a query of it"),
        (lambda: E("A").agg("m", hi=("max", "a.v")), r"\('max', 'a', 'v'\)"),
        (lambda: E("A").agg("m"), "attribute to create"),
        (lambda: E("A").agg("m", hi="max"), "an aggregation is written"),
        (lambda: E("A").filter(V("A").v == [1]), "cannot stand in a condition"),
        (lambda: E("A").filter(V("A").v == float("nan")), "cannot be written"),
        (lambda: ~V("a").same("v"), "negate inside"),
        (lambda: ac.query(5), "made of a text"),
        (lambda: E(3), "not a name"),
        (lambda: E("A").as_(None), "not a name"),
        (lambda: V("A").v.isin(), "at least one item"),
        (lambda: ac.query(E("A").filter(V("B").v > 1)), "never binds `B`"),
        (lambda: E("A").query(within=(5, "parsecs")), "is not a unit"),
        (lambda: ac.query("MATCH A", bag_union="twice"), "bag_union"),
        (lambda: E("A").query("A", summarize="count(*)"), "either SELECT or SUMMARIZE"),
        (lambda: E("A").query(by=["k"]), "are for summaries"),
        (lambda: E("A").query(summarize="count(*)", every="5 minutes"), "give over="),
        (lambda: E("A").query(summarize="count(*)", over=5), "not a window"),
        (lambda: E("A").query(summarize=[3]), "neither a text nor a list"),
        (lambda: E("A").query(summarize="count(*)", having=[1]), "cannot stand in a condition"),
    ],
)
def test_mistakes(wrong: Any, says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        wrong()
