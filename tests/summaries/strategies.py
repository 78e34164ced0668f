"""Random summaries of queries that make sense, with streams for them, and what it means that two results are the same.

Floats in the streams are multiples of 0.25, so that their sums are exact in whichever order they are added. What a
formula computes of them need not be: such values are compared with a tolerance, and are neither keys nor divisors.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.checker import BagUnion, _Checker
from acelera.language.parser import parse_query
from acelera.language.schema import Schema, schema_of
from acelera.language.types import INT, NULL, NUMBERS, STRING, Kind, Type
from acelera.language.variables import ONE, Bindings
from strategies import _COSTLY, _HEAVY, AGGREGATES, TYPES, aggregations, bindings_of, computed_attributes, formulas

# --- streams ------------------------------------------------------------------------------------------------------

QUARTERS = [None, 0.0, 0.25, 0.5, -0.75, 1.5, 2.0]
CENTS = [None, Decimal("0.10"), Decimal("1.50"), Decimal("2.00")]
MOMENTS = [
    pa.timestamp("s"),
    pa.timestamp("ms"),
    pa.timestamp("us", "UTC"),
    pa.timestamp("ns"),
    pa.timestamp("us", "Europe/Berlin"),
]
_TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@st.composite
def streams(
    draw: st.DrawFn, shortest: int, longest: int, types: Sequence[str | None], nan: bool, keys: int = 3
) -> pa.Table:
    """Events with a key, a time, a date and a duration; times may be equal, and may lie before 1970."""
    random = Random(draw(st.integers(0, 2**32 - 1)))
    size = draw(st.integers(shortest, longest))
    kind = draw(st.sampled_from(MOMENTS))
    ticks = _TICKS[kind.unit]
    steps = draw(st.sampled_from([[0, 1, 2, 5], [1, 2, 5], [1], [1, 1, 40]]))
    half = ticks // 2 or 1  # of a second, where the unit has it
    now, moments = draw(st.integers(-20, 20)) * half, []
    for _ in range(size):
        now += random.choice(steps) * half
        moments.append(now)
    floats = [*QUARTERS, math.nan] if nan else QUARTERS

    def some(values: Sequence[Any], arrow: pa.DataType) -> Any:
        return pa.array(random.choices(values, k=size), arrow)

    return pa.table(
        {
            "type": some(types, pa.string()),
            "v": some([None, 0, 1, 2, 3, 3] if draw(st.booleans()) else [0, 1, 2, 7], pa.int64()),
            "u": some([-1, 0, 1, 2], pa.int64()),
            "w": some(floats, pa.float64()),
            "d": some(CENTS, pa.decimal128(9, 2)),
            "s": some(["a", "ab", "b", "7", None], pa.string()),
            "ok": some([True, False, None], pa.bool_()),
            "k": some([None, *range(keys)], pa.int64()),
            "i": some([None, -3, 5], pa.int16()),
            "gap": some([None, *(datetime.timedelta(seconds=n) for n in (-1, 2, 90))], pa.duration("ms")),
            "day": some([None, datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)], pa.date32()),
            "ts": pa.array(moments, pa.int64()).cast(kind),
        }
    )


# --- summaries ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SummaryCase:
    """A query that summarizes, and a stream for it. Events at the same time are in the order of their rows."""

    tree: ast.Query
    table: pa.Table
    bag_union: BagUnion
    order_by: str | None

    def query(self) -> ac.Query:
        """The query."""
        return ac.query(self.tree, bag_union=self.bag_union)

    def run(self, method: str) -> pa.Table | str:
        """The result, or that an aggregate failed."""
        try:
            return self.query().run(self.table, method=method, order_by=self.order_by, ties="keep")
        except ac.AggregateError:
            return "an aggregate failed"

    def __repr__(self) -> str:
        return (
            f"{self.bag_union}, order_by={self.order_by!r}\n{self.query()}\n"
            f"{self.table.schema.to_string()}\n{self.table.to_pylist()}\n"
        )


@dataclass(frozen=True)
class Scope:
    """What a summary can speak of: what the formula binds over a stream, and the attributes of PARTITION BY."""

    bindings: Bindings
    schema: Schema
    partition_by: tuple[str, ...]
    fuzzy: bool  # whether some aggregate of the formula is rounded, in an order that is free
    product: bool = True  # whether products stay finite

    @property
    def timed(self) -> bool:
        return self.schema.time is not None

    def attributes(self, variable: str) -> dict[str, Type]:
        """All that can be said of a variable's events."""
        held = self.bindings.get(variable)
        found = {**held.attributes, "position": INT}
        if held.from_stream:
            found["type"] = STRING
        if self.schema.time is not None:
            found["time"] = self.schema.time
        return found

    def is_fuzzy(self, name: str, kind: Type) -> bool:
        """Whether an attribute is a float that AGG computed with rounding."""
        return self.fuzzy and kind.kind is Kind.FLOAT and name not in self.schema.columns


ROUNDED = {"avg", "variance", "stddev", "product"}


def scope_of(
    formula: ast.Formula,
    schema: Schema,
    partition_by: tuple[str, ...],
    bag_union: BagUnion,
    product: bool,
) -> Scope | None:
    """What a summary of a formula can speak of; None if the checker has something against the formula."""
    checker = _Checker(schema, bag_union, formula)
    bindings = ast.fold(formula, checker.formula)
    if checker.problems:
        return None
    created = [item.value.function for node in ast.walk(formula) if isinstance(node, ast.Agg) for item in node.created]
    return Scope(bindings, schema, partition_by, bool(ROUNDED & set(created)), product)


@st.composite
def totals(draw: st.DrawFn, scope: Scope, by_position: bool) -> tuple[ast.Total, Type]:
    """A total, and its type; functions that go by position only if they may."""
    names = scope.bindings.bound()
    kind = draw(st.sampled_from(["values", "values", "values", "values", "values", "matches", "events", "log2"]))
    if kind == "log2":
        return ast.Total("log2_count"), Type(Kind.FLOAT, pa.float64())
    if kind == "matches" or not names:
        return ast.Total("count"), INT
    variable = draw(st.sampled_from(names))
    if kind == "events":
        return ast.Total("count", variable), INT
    function = draw(st.sampled_from(AGGREGATES))
    choices = _attributes(scope, variable, function, by_position)
    if not choices:
        return ast.Total("count", variable), INT
    attribute, result = draw(st.sampled_from(choices))
    if draw(st.integers(0, 3)) == 0 and not scope.fuzzy:
        held = scope.bindings.get(variable).attributes
        fit = {name: held[name] for name, _ in choices if name in held}
        computed, kind = draw(computed_attributes(fit)) if fit else (None, NULL)
        aggregate = find_aggregate(function)
        assert aggregate is not None
        found = aggregate.result(kind)
        if computed is not None and found is not None:
            attribute, result = computed, found
    return ast.Total(function, variable, attribute, draw(st.booleans())), result


def _attributes(scope: Scope, variable: str, function: str, by_position: bool) -> list[tuple[str, Type]]:
    """The attributes that an aggregate function takes, each with the type of the result."""
    aggregate = find_aggregate(function)
    assert aggregate is not None
    found = []
    for name, kind in scope.attributes(variable).items():
        result = aggregate.result(kind)
        # Matches that end together are at one place; which of NaN and a number comes first there is not said.
        tied = False
        unfit = (
            (aggregate.place is not None and (tied or not by_position))
            or (function in ("variance", "stddev") and scope.is_fuzzy(name, kind))
            or (function == "product" and not scope.product)
        )
        if result is not None and not unfit:
            found.append((name, result))
    return found


@st.composite
def items(draw: st.DrawFn, scope: Scope, by_position: bool) -> ast.Expression:
    """An item: a total, or something computed from totals and constants."""
    total, kind = draw(totals(scope, by_position))
    shape = draw(st.sampled_from(["plain", "plain", "plain", "plain", "computed", "computed", "compared", "null"]))
    if shape == "null":
        return ast.IsNull(total, draw(st.booleans()))
    if kind.kind not in NUMBERS or shape == "plain":
        return total
    if shape == "compared":
        operator = draw(st.sampled_from(["<", ">", "=", "<>"]))
        return ast.Binary(operator, total, _threshold(kind, draw(st.integers(-1, 4))))
    constant = ast.Literal(draw(st.integers(-2, 3)))
    choices = [
        ast.Binary("+", total, constant),
        ast.Binary("*", total, ast.Total("count")),
        ast.Binary("/", total, ast.Total("count")),
        ast.Binary("-", ast.Total("log2_count"), total),
        ast.Call("abs", (total,)),
    ]
    if kind.kind is Kind.INT:
        choices += [
            ast.Binary("%", total, constant),
            ast.Binary("/", ast.Total("count"), total),
            ast.Call("coalesce", (total, constant)),
            ast.Call("nullif", (total, constant)),
            ast.Cast(total, "string"),
        ]
    return draw(st.sampled_from(choices))


def _threshold(kind: Type, number: int) -> ast.Expression:
    """A constant to compare with; a float is never just there, so that rounding does not matter."""
    return ast.Literal(number + 0.3719 if kind.kind is Kind.FLOAT else number)


def _groups(scope: Scope) -> list[ast.GroupKey]:
    """All that can be a key."""
    found: list[ast.GroupKey] = [ast.SelectVariable(name) for name in scope.partition_by]
    found += [ast.SelectBound("start"), ast.SelectBound("end")]
    if scope.timed:
        found += [ast.SelectBound("start_time"), ast.SelectBound("end_time")]
    for variable in scope.bindings.bound():
        if scope.bindings.get(variable).bounds == ONE:
            attributes = scope.attributes(variable).items()
            found += [
                ast.SelectAttribute(variable, name) for name, kind in attributes if not scope.is_fuzzy(name, kind)
            ]
    return found


@st.composite
def windows(draw: st.DrawFn, scope: Scope, longest: int) -> ast.Over | None:
    """Windows that lie side by side, overlap, or leave gaps."""
    kind = draw(st.sampled_from(["none", "events", "time", "time"]))
    if kind == "none" or (kind == "time" and scope.schema.time is None):
        return None
    amount = draw(st.sampled_from([longest, longest // 2, 3, 2, 1]))
    every = draw(st.sampled_from([None, 1, 2, 3, longest // 2, longest]))
    if kind == "events":
        return ast.Over(amount, "events", every, None if every is None else "events")
    assert scope.schema.time is not None
    if scope.schema.time.arrow.unit == "s" or draw(st.booleans()):
        unit = draw(st.sampled_from(["seconds", "seconds", "minutes"]))
        return ast.Over(amount, unit, every, None if every is None else unit)
    step = None if every is None else draw(st.sampled_from([250, 500, 700, 1_500, 4_000]))
    return ast.Over(amount, "seconds", step, None if every is None else "milliseconds")


@st.composite
def havings(draw: st.DrawFn, columns: Sequence[tuple[str, Type]]) -> ast.Expression:
    """A condition on columns of the result."""
    kind = draw(st.sampled_from(["atom", "atom", "atom", "or", "and", "not"]))
    if kind in ("and", "or"):
        return ast.Binary(kind.upper(), draw(havings(columns)), draw(havings(columns)))
    if kind == "not":
        return ast.Unary("NOT", draw(havings(columns)))
    name, found = draw(st.sampled_from(columns))
    column = ast.Attribute(None, name)
    operator = draw(st.sampled_from([">=", "<>", ">", "<=", "<", "="]))
    if found.kind in NUMBERS:
        return ast.Binary(operator, column, _threshold(found, draw(st.sampled_from([1, 0, 2, -1, 5]))))
    if found.kind is Kind.STRING:
        return ast.Binary(operator, column, ast.Literal(draw(st.sampled_from(["a", "ab", "A", "2"]))))
    if found.kind is Kind.BOOL and draw(st.booleans()):
        return column
    return ast.IsNull(column, draw(st.sampled_from([True, True, False])))


@st.composite
def summaries(draw: st.DrawFn, scope: Scope, longest: int) -> ast.Summary:
    """A summary that the checker accepts."""
    by = draw(st.lists(st.sampled_from(_groups(scope)), max_size=3, unique=True))
    if draw(st.booleans()):
        by = [*(ast.SelectVariable(name) for name in scope.partition_by), *by]
        by = list(dict.fromkeys(by))
    grouped = {key.variable for key in by if isinstance(key, ast.SelectVariable)}
    shown = [draw(items(scope, set(scope.partition_by) <= grouped)) for _ in range(draw(st.integers(1, 4)))]
    named = tuple(ast.SummaryItem(item, f"i{number}") for number, item in enumerate(shown))
    first = shown[0]
    if isinstance(first, ast.Total) and not isinstance(first.attribute, ast.Computed) and draw(st.booleans()):
        named = (ast.SummaryItem(first), *named[1:])
    return ast.Summary(named, tuple(by), draw(windows(scope, longest)))


@st.composite
def summary_of(
    draw: st.DrawFn,
    formula: ast.Formula,
    table: pa.Table,
    withins: st.SearchStrategy[ast.Within | None],
    longest: int,
    product: bool = True,
) -> SummaryCase:
    """A summary of a formula over a stream."""
    bag_union: BagUnion = draw(st.sampled_from(["once", "once", "additive"]))  # type: ignore[arg-type]
    order_by = draw(st.sampled_from(["ts", "ts", "ts", None]))
    within = draw(withins)
    if within is not None and within.unit != "events":
        order_by = "ts"
    partition_by = draw(st.sampled_from([(), (), (), ("k",), ("ok",), ("k", "ok"), ("w",)]))
    schema = schema_of(table.schema).ordered_by(order_by)
    scope = scope_of(formula, schema, partition_by, bag_union, product)
    if scope is None:
        assume(False)
        raise AssertionError("not reached")
    summary = draw(summaries(scope, longest))
    tree = ast.Query(formula, (), None, tuple(map(ast.Key, partition_by)), within, summary)
    if draw(st.sampled_from([False, False, False, True])):
        checked = ac.query(tree, bag_union=bag_union).check(table.schema, order_by=order_by)
        columns = [(field.name, schema_of({"type": str, "x": field.type}).columns["x"]) for field in checked]
        condition = draw(havings(columns))
        tree = ast.Query(
            formula,
            (),
            None,
            tree.partition_by,
            within,
            ast.Summary(summary.items, summary.by, summary.over, condition),
        )
    return SummaryCase(tree, table, bag_union, order_by)


# --- formulas -----------------------------------------------------------------------------------------------------

FRUITFUL = (
    "A AS x",
    "ANY AS x",
    "(A OR B) AS x ; ANY AS y",
    "A AS x ; B AS y",
    "(A AS x)+",
    "((A OR B) AS x)+",
    "(ANY AS x):+",
    "(A AS x ; (B AS y)+)",
    "(A AS x)+ ; B AS y",
    "(A AS x)+ OR (B AS y)+",
    "(A AS x) ALL (B AS y)",
    "((A ; B) AS x)+",
    "(A AS x ; B AS y) UNLESS C",
    "NEXT(A) AS x : NEXT(B) AS y",
    "START(ANY ; (A AS x)+)",
    "((A OR B) AS x)+ FILTER x[increasing(v)]",
    "A AS x ; (B AS y)+ FILTER x.u <= y.u",
    "(A AS x)+ PROJECT x(v, w)",
    "A AS x ; B AS y PROJECT y",
)
"""Patterns that have matches in most streams."""


@st.composite
def fruitful(draw: st.DrawFn) -> ast.Formula:
    """A formula that has matches in most streams, perhaps with aggregates in each match."""
    formula = parse_query(f"MATCH {draw(st.sampled_from(FRUITFUL))}").formula
    for number in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        bindings = bindings_of(formula)
        assert bindings is not None
        created = draw(st.lists(aggregations(bindings), min_size=1, max_size=2))
        names = [f"c{2 * number + index}" for index in range(2)]
        made = tuple(ast.Created(name, value) for name, value in zip(names, created, strict=False))
        formula = ast.Agg(formula, draw(st.sampled_from(["m", "m", "x"])), made)
    return formula


def any_formula(depth: int) -> st.SearchStrategy[ast.Formula]:
    """Any formula, most of them such that they have matches."""
    return st.one_of(fruitful(), fruitful(), st.integers(1, depth).flatmap(lambda inner: formulas(depth=inner)))


# --- cases --------------------------------------------------------------------------------------------------------

_SHORT = st.none() | st.builds(ast.Within, st.integers(1, 6), st.sampled_from(["events", "events", "seconds"]))


@st.composite
def short_cases(draw: st.DrawFn) -> SummaryCase:
    """Any formula, over a few events: both judges can list its matches."""
    formula = draw(any_formula(5))
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    longest = 8 if costly <= 1 else 5 if costly == 2 else 4
    table = draw(streams(longest - 1, longest, TYPES + TYPES + ("A", None), draw(st.booleans())))
    return draw(summary_of(formula, table, _SHORT, 8))


@st.composite
def rare_cases(draw: st.DrawFn) -> SummaryCase:
    """Hundreds of events of which few are of a type that the formula speaks of: both judges can list its matches."""
    formula = draw(any_formula(4))
    nodes = list(ast.walk(formula))
    assume(not any(isinstance(node, ast.AnyEvent | ast.Next) for node in nodes))
    costly = sum(isinstance(node, _COSTLY) for node in nodes)
    table = draw(streams(150, 300, ("D", "E", None), draw(st.booleans())))
    few = 8 if costly <= 1 else 5 if costly == 2 else 4
    places = draw(st.lists(st.integers(0, table.num_rows - 1), min_size=2, max_size=few, unique=True))
    types = table.column("type").to_pylist()
    for place in places:
        types[place] = draw(st.sampled_from(TYPES))
    table = table.set_column(0, "type", pa.array(types, pa.string()))
    return draw(summary_of(formula, table, st.none(), 300))


@st.composite
def long_cases(draw: st.DrawFn) -> SummaryCase:
    """Hundreds of events and a small window: the automaton can list the matches, the semantics cannot."""
    formula = draw(any_formula(4))
    forbidden = [part for node in ast.walk(formula) if isinstance(node, ast.Unless) for part in ast.walk(node.right)]
    assume(not any(isinstance(part, _HEAVY) for part in forbidden))
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    types = (*TYPES, *TYPES, "D", None)
    keys = draw(st.sampled_from([1, 2, 7, 50]))
    table = draw(streams(100, 400 if costly < 2 else 150, types, draw(st.integers(0, 3)) == 0, keys))
    events = st.builds(ast.Within, st.integers(1, 4 if costly < 2 else 3), st.just("events"))
    return draw(summary_of(formula, table, events, 40, product=False))


# --- comparison ---------------------------------------------------------------------------------------------------


def same(left: pa.Table | str, right: pa.Table | str) -> bool:
    """Whether two results are the same: schema, rows and their order; floats up to rounding, NaN equal to NaN."""
    if isinstance(left, str) or isinstance(right, str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    if left.schema != right.schema or left.num_rows != right.num_rows:
        return False
    return all(_same_column(one, two) for one, two in zip(left.columns, right.columns, strict=True))


def _same_column(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(left.type):
        return bool(left.combine_chunks().equals(right.combine_chunks()))
    return all(map(_close, left.to_pylist(), right.to_pylist()))


def _close(left: float | None, right: float | None) -> bool:
    if left is None or right is None:
        return left is right
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return math.isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
