"""Random syntax trees, random well-formed queries over a small schema, and random streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from acelera.language.absence import independent_parts, is_one_event
from acelera.language.aggregates import DISTINCT, aggregate_names, as_written, find_aggregate, numbered
from acelera.language.checker import BagUnion, _Checker
from acelera.language.conditions import predicate_condition
from acelera.language.events import Event
from acelera.language.expression_builder import negate
from acelera.language.expressions import MULTISET_PREDICATES, type_of
from acelera.language.items import is_aggregating
from acelera.language.looking_back import PREV, is_aggregate, looks_back
from acelera.language.schema import Schema, schema_of
from acelera.language.totals import with_totals
from acelera.language.types import INT, NUMBERS, ORDERED, Kind, Type
from acelera.language.variables import ONE, Bindings, Variable
from acelera.semantics.queries import partitions
from acelera.tables import to_rows

# --- any syntax tree ----------------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    [
        "a",
        "b",
        "x",
        "SELL",
        "price",
        "geo.lat",
        "Start",
        "end",
        "by",
        "over",
        "time",
        "max",
        "same",
        "ANY",
        "any",
        "select",
        "All",
        "IGNORE",
    ]
) | st.text(min_size=1, max_size=4)
UNITS = st.sampled_from(list(ast.UNITS))

LITERALS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
).map(ast.Literal)
TIMES = st.one_of(
    st.datetimes().map(lambda moment: ast.Timestamp(moment.isoformat(sep=" "))),
    st.dates().map(lambda day: ast.Date(day.isoformat())),
    st.builds(ast.Interval, st.integers(0, 10**6), UNITS),
)
ARITHMETIC = st.sampled_from(["+", "-", "*", "/", "%", "||"])
COMPARISONS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def expressions(attributes: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    """Any expression over these attributes."""

    def larger(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
        listed = st.lists(inner, min_size=1, max_size=3).map(tuple)
        return st.one_of(
            inner.map(negate),
            st.builds(ast.Unary, st.just("NOT"), inner),
            st.builds(ast.Binary, st.one_of(ARITHMETIC, COMPARISONS, st.sampled_from(["AND", "OR"])), inner, inner),
            st.builds(ast.IsNull, inner, st.booleans()),
            st.builds(ast.In, inner, listed, st.booleans()),
            st.builds(ast.Between, inner, inner, inner, st.booleans()),
            st.builds(ast.Like, inner, st.text(max_size=4), st.booleans()),
            st.builds(ast.Call, NAMES.map(str.lower).filter(_is_scalar), listed),
            st.builds(ast.Cast, inner, NAMES.map(str.lower)),
        )

    return st.recursive(st.one_of(LITERALS, TIMES, attributes), larger, max_leaves=8)


AGGREGATES = (*aggregate_names(), *map(numbered, (1, 2, 4, -1, -2)))
"""The aggregate functions; `nth` is one for each number."""


def with_function(text: str, function: str) -> str:
    """A text with this aggregate function wherever it says {f}(…)."""
    return re.sub(r"{f}\((.*?)\)", lambda call: as_written(function, call[1]), text)


def _is_scalar(name: str) -> bool:
    return name not in (*MULTISET_PREDICATES, PREV) and find_aggregate(name) is None


BARE = st.builds(ast.Attribute, st.none(), NAMES)
QUALIFIED = st.builds(ast.Attribute, NAMES, NAMES)


def _is_condition(predicate: ast.Expression) -> bool:
    """Whether a predicate over variables can stand alone: AND and OR join conditions, and it speaks of something."""
    joins = isinstance(predicate, ast.Binary) and predicate.operator in ("AND", "OR")
    return not joins and any(isinstance(node, ast.Attribute) for node in ast.walk(predicate))


def _names_attribute(expression: ast.Expression) -> bool:
    return any(isinstance(node, ast.Attribute) for node in ast.walk(expression))


RUNNING = st.one_of(
    st.just(ast.Running("count")),
    st.builds(ast.Running, st.sampled_from(AGGREGATES).filter(is_aggregate), expressions(BARE), st.booleans()),
    st.builds(ast.Running, st.just(DISTINCT), expressions(BARE), st.just(True)),
)
PREVS = expressions(BARE | RUNNING).filter(_names_attribute).map(ast.Prev)
ATTRIBUTES = st.lists(NAMES, min_size=1, max_size=3).map(tuple)
CONDITIONS: st.SearchStrategy[ast.Condition] = st.recursive(
    st.one_of(
        st.builds(ast.Each, NAMES, expressions(BARE)),
        st.builds(ast.Each, NAMES, expressions(BARE | RUNNING | PREVS)),
        expressions(QUALIFIED).filter(_is_condition).map(predicate_condition),
        st.builds(ast.Same, NAMES, ATTRIBUTES),
        st.builds(ast.Increasing, NAMES, NAMES),
        st.builds(ast.Decreasing, NAMES, NAMES),
    ),
    lambda inner: st.one_of(st.builds(ast.Both, inner, inner), st.builds(ast.Either, inner, inner)),
    max_leaves=4,
)

AGGREGATED = NAMES.map(str.lower).filter(is_aggregating).filter(lambda name: name != PREV)
_CHOSEN = st.builds(
    lambda predicate, value: ast.Call("if", (predicate, value)), expressions(BARE), BARE | st.just(ast.Literal(True))
)
COMPUTED = (expressions(BARE) | _CHOSEN).filter(_names_attribute).filter(lambda made: _is_computed(made))
DIFFERENT = (st.just(DISTINCT), NAMES, NAMES | COMPUTED.map(ast.Computed), st.just(True))
AGGREGATIONS = st.one_of(
    st.builds(ast.Aggregation, AGGREGATED, NAMES),
    st.builds(ast.Aggregation, AGGREGATED, NAMES, NAMES, st.booleans()),
    st.builds(ast.Aggregation, st.sampled_from(AGGREGATES), NAMES, COMPUTED.map(ast.Computed), st.booleans()),
    st.builds(ast.Aggregation, *DIFFERENT),
)
KEPT = st.builds(ast.Kept, NAMES, st.none() | ATTRIBUTES)


def _project(formula: ast.Formula, everything: bool, kept: list[ast.Kept]) -> ast.Formula:
    return ast.Project(formula, everything or not kept, tuple(kept))


def _times(formula: ast.Formula, low: int, more: int | None, contiguous: bool) -> ast.Formula:
    return ast.Repeated(formula, low, None if more is None else max(low + more, 1), contiguous)


WITHINS = st.builds(ast.Within, st.integers(2, 10**9), st.one_of(UNITS, st.just("events")), st.booleans())


def _larger_formulas(inner: st.SearchStrategy[ast.Formula]) -> st.SearchStrategy[ast.Formula]:
    infix = st.sampled_from([ast.Then, ast.Contiguous, ast.Or, ast.And, ast.All, ast.Unless])
    around = st.sampled_from([ast.Iteration, ast.ContiguousIteration, ast.Optional, ast.Start, ast.Strict, ast.Next])
    created = st.lists(st.builds(ast.Created, NAMES, AGGREGATIONS), min_size=1, max_size=2).map(tuple)
    return st.one_of(
        st.tuples(infix, inner, inner).map(lambda parts: parts[0](parts[1], parts[2])),
        st.tuples(around, inner).map(lambda parts: parts[0](parts[1])),
        st.builds(_times, inner, st.integers(0, 3), st.none() | st.integers(0, 3), st.booleans()),
        st.builds(ast.Windowed, inner, WITHINS),
        st.builds(ast.UnlessFor, inner, inner, st.integers(0, 10**6), UNITS),
        st.builds(ast.As, inner, NAMES),
        st.builds(ast.Filter, inner, CONDITIONS),
        st.builds(_project, inner, st.booleans(), st.lists(KEPT, max_size=2)),
        st.builds(ast.Agg, inner, NAMES, created),
    )


FORMULAS: st.SearchStrategy[ast.Formula] = st.recursive(
    st.one_of(st.builds(ast.EventType, NAMES), st.just(ast.AnyEvent())),
    _larger_formulas,
    max_leaves=8,
)
ALIASES = st.none() | NAMES
BOUNDS = st.sampled_from(ast.BOUNDS).map(ast.Bound)


def _is_computed(expression: ast.Expression) -> bool:
    """Whether an item is an expression, as it is read, and no call that is read as an aggregate."""
    return not isinstance(expression, ast.Attribute | ast.Bound | ast.Aggregation) and not any(
        isinstance(node, ast.Call) and is_aggregating(node.function) for node in ast.walk(expression)
    )


SELECT_ITEMS = st.one_of(
    st.just(ast.Star()),
    st.builds(ast.SelectVariable, NAMES, ALIASES),
    st.builds(ast.SelectAttribute, NAMES, NAMES, ALIASES),
    st.builds(ast.SelectBound, st.sampled_from(ast.BOUNDS), ALIASES),
    st.builds(ast.SelectAggregation, AGGREGATIONS, ALIASES),
    st.builds(
        ast.SelectExpression, expressions(BARE | QUALIFIED | AGGREGATIONS | BOUNDS).filter(_is_computed), ALIASES
    ),
)
_AROUND = (
    ALIASES,
    st.lists(NAMES.map(ast.Key), max_size=2).map(tuple),
    st.none() | WITHINS,
)
KEPT_MATCHES = st.one_of(
    st.builds(ast.Keep, st.sampled_from(["longest", "shortest"]), st.sampled_from(ast.KEPT_SCOPES)),
    st.just(ast.Keep("all", "apart")),
    st.builds(ast.Keep, st.just("any"), st.sampled_from(["start", "end"]), st.integers(1, 9)),
)
KEEPS = st.none() | KEPT_MATCHES

TOTALS = st.one_of(
    st.builds(ast.Total, NAMES.map(str.lower)),
    st.builds(ast.Total, AGGREGATED, NAMES),
    st.builds(ast.Total, AGGREGATED, NAMES, NAMES, st.booleans()),
    st.builds(ast.Total, st.sampled_from(AGGREGATES), NAMES, COMPUTED.map(ast.Computed), st.booleans()),
    st.builds(ast.Total, *DIFFERENT),
)
GROUP_KEYS = st.one_of(
    st.builds(ast.SelectVariable, NAMES, ALIASES),
    st.builds(ast.SelectAttribute, NAMES, NAMES, ALIASES),
    st.builds(ast.SelectBound, st.sampled_from(ast.BOUNDS), ALIASES),
)
_WINDOW_UNITS = st.one_of(UNITS, st.just("events"))
_AMOUNTS = st.integers(0, 10**9)
SUMMARIES = st.builds(
    ast.Summary,
    st.lists(st.builds(ast.SummaryItem, expressions(TOTALS), ALIASES), min_size=1, max_size=3).map(tuple),
    st.lists(GROUP_KEYS, max_size=2).map(tuple),
    st.one_of(
        st.none(),
        st.builds(ast.Over, _AMOUNTS, _WINDOW_UNITS),
        st.builds(ast.Over, _AMOUNTS, _WINDOW_UNITS, _AMOUNTS, _WINDOW_UNITS),
    ),
    st.none() | expressions(BARE | QUALIFIED | TOTALS).map(with_totals),  # `f(x)` is a total in the text
)
QUERIES = st.one_of(
    st.builds(ast.Query, FORMULAS, st.lists(SELECT_ITEMS, min_size=1, max_size=3).map(tuple), *_AROUND, keep=KEEPS),
    st.builds(ast.Query, FORMULAS, st.just(()), *_AROUND, SUMMARIES, KEEPS),
)
"""Whole queries, summaries among them: for what concerns the text alone."""

# --- queries that make sense --------------------------------------------------------------------------------------

SCHEMA: Schema = schema_of(
    {
        "type": "string",
        "v": "int",
        "u": "int",
        "w": "float",
        "d": "decimal(9, 2)",
        "s": "string",
        "ok": "bool",
        "g": {"n": "int"},
    }
).with_fields(["g.n"])
TYPES = ("A", "B", "C")
VARIABLES = ("x", "y", "z", "A", "B")
"""Few names, so that variables meet: the same name bound twice, or like an event type."""
"""All that are built in: this is read before a test defines one of its own."""


def bindings_of(formula: ast.Formula, bag_union: BagUnion = "once") -> Bindings | None:
    """What a formula binds, or None if the checker has something against it."""
    checker = _Checker(SCHEMA, bag_union, formula)
    found = ast.fold(formula, checker.formula, independent_parts)
    return None if checker.problems else found


@st.composite
def formulas(draw: st.DrawFn, depth: int = 4) -> ast.Formula:
    """A formula that the checker accepts: all operators, filters on what is bound, aggregates at any level."""
    if depth == 0 or draw(st.integers(0, 9)) < 2:
        return draw(
            st.one_of(
                st.sampled_from(TYPES).map(ast.EventType),
                st.sampled_from(TYPES).map(ast.EventType),
                st.just(ast.AnyEvent()),
                one_event().map(ast.Next),
            )
        )
    kind = draw(
        st.sampled_from(
            "then contiguous or and all unless unless+ plus plus+ optional star times times+ within as filter filter agg project "
            "start strict".split()
        )
    )
    inner = draw(formulas(depth=depth - 1))
    infix: dict[str, Any] = {
        "then": ast.Then,
        "contiguous": ast.Contiguous,
        "or": ast.Or,
        "and": ast.And,
        "all": ast.All,
        "unless": ast.Unless,
    }
    if kind == "unless+":
        made: ast.Formula = ast.Unless(inner, draw(of_the_match(inner)))
    elif kind in infix:
        made = infix[kind](inner, draw(formulas(depth=depth - 1)))
    elif kind in ("plus", "plus+"):
        made = ast.Iteration(inner) if kind == "plus" else ast.ContiguousIteration(inner)
    elif kind == "optional":
        made = ast.Optional(inner)
    elif kind == "star":
        made = ast.Optional(draw(st.sampled_from([ast.Iteration, ast.ContiguousIteration]))(inner))
    elif kind in ("times", "times+"):
        low = draw(st.integers(0, 2))
        most = draw(st.none() | st.integers(max(low, 1), 3))
        made = ast.Repeated(inner, low, most, contiguous=kind == "times+")
    elif kind == "within":
        made = ast.Windowed(inner, ast.Within(draw(st.integers(2, 5)), "events", draw(st.booleans())))
    elif kind in ("start", "strict"):
        made = ast.Start(inner) if kind == "start" else ast.Strict(inner)
    elif kind == "as":
        made = ast.As(inner, draw(st.sampled_from(VARIABLES)))
    else:
        bindings = bindings_of(inner)
        assert bindings is not None
        if not bindings.bound():
            return inner
        if kind == "filter":
            made = ast.Filter(inner, draw(conditions(bindings)))
        elif kind == "agg":
            created = draw(st.lists(aggregations(bindings), min_size=1, max_size=2))
            items = tuple(ast.Created(f"c{index}", item) for index, item in enumerate(created))
            made = ast.Agg(inner, draw(st.sampled_from(VARIABLES)), items)
        else:
            made = draw(projections(inner, bindings))
    # Attributes of different types may meet in one variable; then the smaller formula will do.
    return made if bindings_of(made) is not None else inner


@st.composite
def one_event(draw: st.DrawFn) -> ast.Formula:
    """What NEXT takes: a formula of one event."""
    made: ast.Formula = draw(st.one_of(st.sampled_from(TYPES).map(ast.EventType), st.just(ast.AnyEvent())))
    for kind in draw(st.lists(st.sampled_from(["or", "as", "filter"]), max_size=2)):
        if kind == "or":
            made = ast.Or(made, draw(one_event()))
        elif kind == "as":
            made = ast.As(made, draw(st.sampled_from(VARIABLES)))
        else:
            bindings = bindings_of(made)
            assert bindings is not None
            condition = draw(conditions(bindings))
            parts = [part for part in ast.walk(condition) if not isinstance(part, ast.Both | ast.Either)]
            alone = all(isinstance(part, ast.Each) and not looks_back(part.predicate) for part in parts)
            made = ast.Filter(made, condition) if alone else made
    return made


@st.composite
def of_the_match(draw: st.DrawFn, formula: ast.Formula) -> ast.Formula:
    """What UNLESS may forbid: one event, with conditions that speak of variables of a formula as well."""
    made, around = draw(one_event()), bindings_of(formula)
    own = bindings_of(made)
    assert around is not None and own is not None
    together = Bindings({**around.variables, **own.variables}, own.support)
    for _ in range(draw(st.integers(1, 2))):
        made = ast.Filter(made, draw(conditions(together)))
    return made


def _attributes(variable: Variable, kinds: frozenset[Kind]) -> list[str]:
    return ["position", *(name for name, kind in variable.attributes.items() if kind.kind in kinds)]


@st.composite
def numbers(draw: st.DrawFn, bindings: Bindings, variable: str | None = None) -> tuple[ast.Expression, str]:
    """An attribute that is a number, and its variable."""
    chosen = variable or draw(st.sampled_from(bindings.bound()))
    names = _attributes(bindings.get(chosen), NUMBERS)
    name = draw(st.sampled_from(names[1:] or names))
    return ast.Attribute(chosen, name), chosen


@st.composite
def conditions(draw: st.DrawFn, bindings: Bindings) -> ast.Condition:
    """A condition on variables that are bound."""
    kind = draw(
        st.sampled_from("each each across same increasing decreasing null text computed back back both either".split())
    )
    variable = draw(st.sampled_from(bindings.bound()))
    held = bindings.get(variable)
    if kind in ("both", "either"):
        join = ast.Both if kind == "both" else ast.Either
        return join(draw(conditions(bindings)), draw(conditions(bindings)))
    if kind == "same":
        alike = [name for name, kind in held.attributes.items() if kind.kind is not Kind.OPAQUE]
        return ast.Same(variable, (draw(st.sampled_from([*alike, "position"])),))
    if kind in ("increasing", "decreasing"):
        ordered = ast.Increasing if kind == "increasing" else ast.Decreasing
        return ordered(variable, draw(st.sampled_from(_attributes(held, ORDERED))))
    if kind == "back":
        return ast.Each(variable, draw(looking_back(held)))
    operator = draw(COMPARISONS)
    left, _ = draw(numbers(bindings, variable))
    if kind == "across":
        right, _ = draw(numbers(bindings))
        if draw(st.booleans()):
            right = ast.Binary(
                draw(st.sampled_from(["+", "-", "*", "/", "%"])), right, ast.Literal(draw(st.integers(-2, 2)))
            )
        return predicate_condition(ast.Binary(operator, left, right))
    if kind == "null":
        return predicate_condition(ast.IsNull(left, draw(st.booleans())))
    if kind == "computed":
        assert isinstance(left, ast.Attribute)
        bare = ast.Attribute(None, left.name)
        other = ast.Literal(draw(st.integers(0, 2)))
        value = draw(st.sampled_from([
            ast.Call("nullif", (bare, other)), ast.Binary("/", bare, other), ast.Call("coalesce", (bare, other)),
            ast.Call("abs", (bare,)), ast.Cast(bare, "float"),
        ]))  # fmt: skip
        test = ast.IsNull(value, draw(st.booleans())) if draw(st.booleans()) else ast.Binary(operator, value, other)
        return ast.Each(variable, ast.Binary(draw(st.sampled_from(["AND", "OR"])), test, ast.Binary("=", bare, other)))
    if kind == "text" and "s" in held.attributes:
        text = ast.Attribute(None, "s")
        listed = ast.In(text, (ast.Literal("a"), ast.Literal(None)))
        equal = ast.Binary("=", text, ast.Literal("b"))
        cast = ast.IsNull(ast.Cast(text, "int"))
        return ast.Each(variable, draw(st.sampled_from([ast.Like(text, "a%"), listed, equal, cast])))
    simple = ast.Binary(operator, left, ast.Literal(draw(st.integers(-1, 3))))
    return predicate_condition(ast.Unary("NOT", simple) if draw(st.integers(0, 4)) == 0 else simple)


_OF_NUMBERS = ("count", "sum", "min", "max", "avg", "range", "first", "last", "product", "variance", "stddev")


@st.composite
def looking_back(draw: st.DrawFn, held: Variable) -> ast.Expression:
    """A predicate inside brackets that speaks of the event before, or of the events so far."""
    names = _attributes(held, NUMBERS)
    own = ast.Attribute(None, draw(st.sampled_from(names[1:] or names)))
    moved = ast.Binary(draw(st.sampled_from(["+", "*", "-"])), own, ast.Literal(draw(st.integers(0, 2))))
    given = draw(st.sampled_from([own, own, moved]))
    so_far = ast.Running(draw(st.sampled_from(_OF_NUMBERS)), given, draw(st.booleans()))
    kind = draw(st.sampled_from("prev prev prev so_far so_far count computed highest text when".split()))
    values: dict[str, ast.Expression] = {
        "prev": ast.Prev(given),
        "so_far": so_far,
        "count": ast.Running("count"),
        "computed": ast.Binary("-", ast.Prev(own), own),
        "highest": ast.Prev(draw(st.sampled_from([so_far, ast.Binary("+", so_far, own)]))),
        "when": ast.Binary("-", ast.Attribute(None, "position"), ast.Prev(ast.Attribute(None, "position"))),
    }
    if kind == "text" and "s" in held.attributes:
        text = ast.Attribute(None, "s")
        other = draw(
            st.sampled_from([ast.Prev(text), ast.Prev(ast.Call("upper", (text,))), ast.Running("first", text)])
        )
        test: ast.Expression = ast.Binary(draw(COMPARISONS), text, other)
    elif kind in ("count", "computed", "when"):
        test = ast.Binary(draw(COMPARISONS), values[kind], ast.Literal(draw(st.integers(0, 3))))
    else:
        value = values.get(kind, so_far)
        test = ast.Binary(draw(COMPARISONS), own, value)
        test = draw(st.sampled_from([test, test, test, ast.IsNull(value, draw(st.booleans())), ast.Unary("NOT", test)]))
    if draw(st.integers(0, 3)):
        return test
    other = draw(st.one_of(looking_back(held), st.just(ast.Binary(">", own, ast.Literal(0)))))
    return ast.Binary(draw(st.sampled_from(["AND", "OR"])), test, other)


@st.composite
def aggregations(draw: st.DrawFn, bindings: Bindings) -> ast.Aggregation:
    """An aggregate of something that is bound, of a type that it takes."""
    variable = draw(st.sampled_from(bindings.bound()))
    function = draw(st.sampled_from(AGGREGATES))
    aggregate = find_aggregate(function)
    assert aggregate is not None
    held = bindings.get(variable)
    names = [name for name, kind in held.attributes.items() if aggregate.result(kind) is not None]
    if (function == "count" and draw(st.booleans())) or not names:
        return ast.Aggregation("count", variable)
    if draw(st.integers(0, 7)) == 0:
        alike = [name for name, kind in held.attributes.items() if kind.kind is not Kind.OPAQUE]
        return ast.Aggregation(DISTINCT, variable, draw(st.sampled_from(alike)), True)
    attribute = draw(st.sampled_from(names))
    if draw(st.integers(0, 3)) == 0:
        computed, kind = draw(computed_attributes({name: held.attributes[name] for name in names}))
        attribute = attribute if aggregate.result(kind) is None else computed
    return ast.Aggregation(function, variable, attribute, draw(st.booleans()))


@st.composite
def computed_attributes(draw: st.DrawFn, attributes: Mapping[str, Type]) -> tuple[ast.Computed, Type]:
    """What is computed from attributes of one event, and its type."""
    numeric = [name for name, kind in attributes.items() if kind.kind in (Kind.INT, Kind.FLOAT)]
    texts = [name for name, kind in attributes.items() if kind.kind is Kind.STRING]
    left = ast.Attribute(None, draw(st.sampled_from(numeric or texts or [*attributes])))
    right = ast.Attribute(None, draw(st.sampled_from(numeric or texts or [left.name])))
    constant = ast.Literal(draw(st.integers(-1, 3)))
    choices: list[ast.Expression] = [ast.IsNull(left), ast.Binary("=", left, right)]
    if numeric:
        choices += [ast.Binary(sign, left, right) for sign in "+-*"] * 2
        choices += [ast.Binary("*", left, constant), ast.Binary("-", ast.Attribute(None, "position"), left)]
        choices += [ast.Call("coalesce", (left, right)), ast.Call("abs", (left,)), ast.Call("nullif", (left, constant))]
        choices += [ast.Call("if", (ast.Binary("<", left, constant), each)) for each in (right, ast.Literal(True))] * 2
    elif texts:
        choices += [ast.Binary("||", left, right), ast.Call("upper", (left,)), ast.Call("length", (left,))]
    computed = ast.Computed(draw(st.sampled_from(choices)))
    known = {**attributes, "position": INT}
    return computed, type_of(computed.expression, lambda node: known[node.name], pytest.fail)


@st.composite
def select_expressions(
    draw: st.DrawFn, bindings: Bindings, keys: Sequence[str], timed: bool = False
) -> ast.SelectExpression:
    """An item of SELECT that computes with single events, aggregates, bounds and keys."""
    if timed and draw(st.integers(0, 2)) == 0:
        return ast.SelectExpression(draw(computed_times(bindings)), "computed")
    names = bindings.bound()
    leaves: list[tuple[ast.Expression, Type]] = [(ast.Bound("start"), INT), (ast.Bound("end"), INT)]
    leaves += [(ast.Attribute(None, name), SCHEMA.columns[name]) for name in keys if name in SCHEMA.columns]
    for variable in names:
        held = bindings.get(variable)
        if held.bounds == ONE:
            leaves += [(ast.Attribute(variable, name), kind) for name, kind in held.attributes.items()]
    for _ in range(2 if names else 0):
        aggregation = draw(aggregations(bindings))
        function = find_aggregate(aggregation.function)
        assert function is not None
        leaves += [(aggregation, _aggregated(aggregation, bindings))] * 3
    left, kind = draw(st.sampled_from(leaves))
    alike = [leaf for leaf, other in leaves if other.kind is kind.kind] + [ast.Literal(2)] * (kind.kind in NUMBERS)
    right = draw(st.sampled_from(alike))
    choices: list[ast.Expression] = [ast.IsNull(left, draw(st.booleans()))]
    if kind.kind in (Kind.INT, Kind.FLOAT):
        choices += [ast.Binary(sign, left, right) for sign in "+-*/%"] + [ast.Call("abs", (left,))]
        choices += [ast.Binary("<", left, right), ast.Binary("-", ast.Bound("end"), left)]
    if kind.kind is Kind.STRING:
        choices += [ast.Binary("||", left, right), ast.Call("upper", (left,)), ast.Like(left, "a%")]
    if kind.kind in (Kind.INT, Kind.FLOAT, Kind.STRING, Kind.BOOL):
        choices += [ast.Call("coalesce", (left, right)), ast.Cast(left, "string")]
    return ast.SelectExpression(draw(st.sampled_from(choices)), "computed")


@st.composite
def computed_times(draw: st.DrawFn, bindings: Bindings) -> ast.Expression:
    """A time or a duration that is computed for a match."""
    times: list[ast.Expression] = [ast.Bound("start_time"), ast.Bound("end_time")]
    for variable in bindings.bound():
        functions = st.sampled_from(["first", "last", "min", "max", "nth 2"])
        times.append(ast.Aggregation(draw(functions), variable, "time"))
        if bindings.get(variable).bounds == ONE:
            times.append(ast.Attribute(variable, "time"))
    left, right = draw(st.sampled_from(times)), draw(st.sampled_from(times))
    between, length = ast.Binary("-", left, right), draw(st.one_of(SHORT_TIMES, SOME_SECONDS))
    choices = [between, ast.Binary(draw(st.sampled_from("+-")), left, length), ast.Binary("<", between, length)]
    choices += [ast.Binary("*", between, ast.Literal(3)), ast.Binary("/", between, length), ast.Call("abs", (between,))]
    return draw(st.sampled_from(choices))


@st.composite
def computing(draw: st.DrawFn, tree: ast.Query, timed: bool = False) -> ast.Query:
    """The query with items that compute, and now and then with an aggregate that is filtered."""
    bindings = bindings_of(tree.formula)
    assume(bindings is not None)
    assert bindings is not None
    if bindings.bound() and draw(st.booleans()):
        made = ast.Agg(tree.formula, "m", (ast.Created("c", draw(aggregations(bindings))),))
        tested = ast.Each("m", ast.IsNull(ast.Attribute(None, "c"), True))
        formula = draw(st.sampled_from([made, ast.Filter(made, tested)]))
        if (more := bindings_of(formula)) is not None:
            tree, bindings = replace(tree, formula=formula), more
    keys = [key.name for key in tree.partition_by]
    items = draw(st.lists(select_expressions(bindings, keys, timed), min_size=1, max_size=3))
    named: list[ast.SelectItem] = [replace(item, alias=f"i{number}") for number, item in enumerate(items)]
    if bindings.bound():
        named.append(ast.SelectAggregation(draw(aggregations(bindings)), "aggregated"))
    return replace(tree, select=tuple(named))


def _aggregated(aggregation: ast.Aggregation, bindings: Bindings) -> Type:
    """The type of an aggregate."""
    return _Checker(SCHEMA).aggregation(aggregation, bindings)[1]


@st.composite
def projections(draw: st.DrawFn, inner: ast.Formula, bindings: Bindings) -> ast.Formula:
    """A projection of either form, or of both."""
    named = draw(st.lists(st.sampled_from(bindings.bound()), min_size=1, max_size=2, unique=True))
    kept = []
    for variable in named:
        names = [name for name in bindings.get(variable).attributes if name not in SCHEMA.fields]
        attributes = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)) if names else []
        kept.append(ast.Kept(variable, tuple(attributes) if attributes and draw(st.booleans()) else None))
    return ast.Project(inner, draw(st.booleans()), tuple(kept))


# --- streams ------------------------------------------------------------------------------------------------------

ROWS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(TYPES + TYPES + (None,)),
        "v": st.none() | st.integers(0, 3),
        "u": st.integers(-1, 2),
        "w": st.sampled_from([None, 0.0, 0.5, 1.5, 2.0, float("nan")]),
        "d": st.sampled_from([None, Decimal("0.10"), Decimal("1.50"), Decimal("2.00")]),
        "s": st.sampled_from(["a", "ab", "b", "7", None]),
        "ok": st.none() | st.booleans(),
        "g": st.none() | st.fixed_dictionaries({"n": st.none() | st.integers(0, 2)}),
    }
)


_ARROW = pa.schema([pa.field(name, kind.arrow) for name, kind in SCHEMA.in_tables.items()])


def streams(longest: int = 6, shortest: int = 0) -> st.SearchStrategy[pa.Table]:
    """A short stream over SCHEMA."""
    return st.lists(ROWS, min_size=shortest, max_size=longest).map(
        lambda rows: pa.Table.from_pylist(rows, schema=_ARROW)
    )


# --- formulas with streams ----------------------------------------------------------------------------------------

_COSTLY = (ast.Iteration, ast.ContiguousIteration, ast.Repeated, ast.All)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ast.Formula, pa.Table]:
    """A formula and a stream, the shorter the more matches the formula may have."""
    formula = draw(formulas(depth=draw(st.integers(1, 5))))
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    longest = 8 if costly <= 1 else 5 if costly == 2 else 4
    return formula, draw(streams(longest, shortest=longest // 2))


@st.composite
def cases_looking_back(draw: st.DrawFn) -> tuple[ast.Formula, pa.Table]:
    """A formula with such predicates, also within others, and a stream."""
    formula = draw(formulas(depth=draw(st.integers(0, 2))))
    if draw(st.integers(0, 3)):
        formula = draw(st.sampled_from([ast.Iteration, ast.ContiguousIteration]))(formula)
    bindings = bindings_of(formula)
    assert bindings is not None
    if bindings.bound():
        variable = draw(st.sampled_from(bindings.bound()))
        condition = ast.Each(variable, draw(looking_back(bindings.get(variable))))
        filtered = ast.Filter(formula, condition)
        formula = filtered if bindings_of(filtered) is not None else formula
    around = draw(st.sampled_from([None, None, ast.Iteration, ast.ContiguousIteration, ast.Strict, ast.Optional]))
    if around is not None and bindings_of(around(formula)) is not None:
        formula = around(formula)
    joined = draw(st.sampled_from([None, None, ast.Then, ast.Contiguous, ast.Or, ast.And, ast.All, ast.Unless]))
    if joined is not None:
        sides = [formula, draw(formulas(depth=1))]
        both = joined(*(sides if draw(st.booleans()) else sides[::-1]))
        formula = both if bindings_of(both) is not None else formula
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    longest = 8 if costly <= 1 else 6 if costly == 2 else 4
    return formula, draw(streams(longest, shortest=longest // 2))


_HEAVY = (*_COSTLY, ast.Agg, ast.And, ast.Filter)


@st.composite
def long_cases(draw: st.DrawFn) -> tuple[ast.Query, pa.Table]:
    """A query with a small window, and a stream of some hundred events with keys, times, ties, NULL and NaN.

    The window bounds how many matches there are and how long a judge takes. What UNLESS forbids has no window there,
    so it is kept simple.
    """
    formula = draw(formulas(depth=draw(st.integers(1, 4))))
    forbidden = [part for node in ast.walk(formula) if isinstance(node, ast.Unless) for part in ast.walk(node.right)]
    assume(not any(isinstance(part, _HEAVY) for part in forbidden))
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    size = draw(st.integers(200, 2_000 if costly == 0 else 600 if costly == 1 else 200))
    keys = draw(st.sampled_from([1, 2, 7, 100]))
    seconds = draw(st.booleans()) and costly < 2
    amount = draw(st.integers(1, 2 if seconds else 4 if costly < 2 else 3))
    within = ast.Within(amount, "seconds" if seconds else "events")
    partition_by = draw(st.sampled_from([(), ("k",), ("k", "s"), ("w",)]))
    table = long_stream(draw(st.integers(0, 2**32 - 1)), size, keys, draw(st.sampled_from([4, 50, 10**12])))
    return ast.Query(formula, partition_by=tuple(map(ast.Key, partition_by)), within=within), table


def long_stream(seed: int, size: int, keys: int, domain: int) -> pa.Table:
    """Random events over SCHEMA, with a key and a time; some are of types that no formula names."""
    rng = np.random.default_rng(seed)

    def some(values: Any, kind: pa.DataType, missing: float = 0.05) -> Any:
        return pa.array(values, kind, mask=rng.random(size) < missing)

    floats = np.round(rng.normal(size=size), 1 if domain < 100 else 12)
    floats[rng.random(size) < 0.05] = np.nan
    cents = [Decimal(int(each)).scaleb(-2) for each in rng.integers(-1, min(domain, 10**6), size)]
    words = [f"{'ab'[int(each) % 2]}{int(each) // 2 or ''}" for each in rng.integers(0, min(domain, 500), size)]
    return pa.table(
        {
            "type": some(rng.choice([*TYPES, "A", "D", "E"], size), pa.string()),
            "v": some(rng.integers(-1, domain, size), pa.int64()),
            "u": pa.array(rng.integers(-2, domain, size), pa.int64()),
            "w": some(floats, pa.float64()),
            "d": some(np.array(cents, object), pa.decimal128(9, 2)),
            "s": some(words, pa.string()),
            "ok": some(rng.random(size) < 0.5, pa.bool_()),
            "g": pa.StructArray.from_arrays([some(rng.integers(0, 3, size), pa.int64())], ["n"]),
            "k": some(rng.integers(0, keys, size), pa.int64(), 0.02),
            "ts": pa.array(np.cumsum(rng.choice([0, 400, 700, 1_000, 3_000], size)), pa.timestamp("ms")),
        }
    )


SHORT_TIMES = st.builds(ast.Interval, st.sampled_from([0, 300, 400, 1_000, 2_500]), st.just("milliseconds"))
SOME_SECONDS = st.builds(ast.Interval, st.sampled_from([0, 1, 3, 9, 60]), st.just("seconds"))


@st.composite
def absences(
    draw: st.DrawFn, formula: ast.Formula, times: st.SearchStrategy[ast.Interval] = SHORT_TIMES
) -> ast.Formula:
    """A formula whose matches something must not follow, with what may stand around it."""
    length = draw(times)
    forbidden = draw(st.one_of(formulas(depth=1), of_the_match(formula), of_the_match(formula)))
    made: ast.Formula = ast.UnlessFor(formula, forbidden, length.amount, length.unit)
    for kind in draw(st.lists(st.sampled_from("as filter agg project within again".split()), max_size=2)):
        bindings = bindings_of(made)
        if bindings is None or not bindings.bound():
            return made
        if kind == "as":
            made = ast.As(made, draw(st.sampled_from(["p", "q"])))
        elif kind == "filter":
            made = ast.Filter(made, draw(conditions(bindings)))
        elif kind == "agg":
            made = ast.Agg(made, "m", (ast.Created("c", draw(aggregations(bindings))),))
        elif kind == "project":
            made = draw(projections(made, bindings))
        elif kind == "within":
            made = ast.Windowed(made, ast.Within(draw(st.integers(2, 4)), "events"))
        else:
            made = draw(absences(made, times))
    return made


@st.composite
def sometimes_absences(draw: st.DrawFn, formula: ast.Formula) -> ast.Formula:
    """A formula, now and then with what must not follow its matches for some seconds."""
    if draw(st.integers(0, 3)):
        return formula
    made = draw(absences(formula, SOME_SECONDS))
    return made if _may_wait(made) else formula


@st.composite
def absent_cases(draw: st.DrawFn) -> tuple[ast.Query, pa.Table]:
    """A query with UNLESS … FOR, and a short stream with times."""
    formula = draw(formulas(depth=draw(st.integers(0, 3))))
    costly = sum(isinstance(node, _COSTLY) for node in ast.walk(formula))
    size = draw(st.integers(3, 10 if costly <= 1 else 6 if costly == 2 else 4))
    table = long_stream(draw(st.integers(0, 2**32 - 1)), size, draw(st.integers(1, 2)), 4)
    keys = draw(st.sampled_from([(), (), ("k",)]))
    within = draw(st.sampled_from([None, None, ast.Within(3, "events"), ast.Within(1, "seconds")]))
    made = draw(absences(formula))
    assume(_may_wait(made))
    return ast.Query(made, partition_by=tuple(map(ast.Key, keys)), within=within), table


def _may_wait(formula: ast.Formula) -> bool:
    """Whether the checker has nothing against what is asked for afterwards."""
    checker = _Checker(None, "once", formula)
    ast.fold(formula, checker.formula, independent_parts)
    checker.absences(formula)
    return not checker.problems


@st.composite
def long_absent_cases(draw: st.DrawFn) -> tuple[ast.Query, pa.Table]:
    """The same over a stream of hundreds of events."""
    tree, table = draw(long_cases())
    formula = draw(absences(tree.formula))
    forbidden = [node.right for node in ast.walk(formula) if isinstance(node, ast.UnlessFor)]
    assume(_may_wait(formula))
    assume(not any(isinstance(part, _HEAVY) for each in forbidden for part in ast.walk(each)) or _alone(forbidden))
    return replace(tree, formula=formula), table.slice(0, 300)


def _alone(forbidden: list[ast.Formula]) -> bool:
    """Whether all of what is forbidden is of one event."""
    return all(is_one_event(each) for each in forbidden)


def events_of(table: pa.Table) -> list[Event]:
    """The events of a stream without partitions."""
    found = partitions(to_rows(table, SCHEMA), SCHEMA, ast.Query(ast.AnyEvent()), "error")
    return found[0].events if found else []


def unordered(value: Any) -> Any:
    """A result row with its lists sorted: events of a bag at one position have no order."""
    if isinstance(value, list):
        return sorted((unordered(each) for each in value), key=repr)
    return {name: unordered(each) for name, each in value.items()} if isinstance(value, dict) else value


WINDOWS = st.none() | st.integers(1, 6).map(lambda amount: ast.Within(amount, "events"))
KEYS = st.sampled_from([(), (), ("ok",), ("ok", "s"), ("w",)])


def keyed_cases() -> st.SearchStrategy[tuple[ast.Query, pa.Table]]:
    """Queries with keys and windows, and streams for them."""
    return st.builds(
        lambda case, within, keys: (
            ast.Query(case[0], partition_by=tuple(map(ast.Key, keys)), within=within),
            case[1],
        ),
        cases(),
        WINDOWS,
        KEYS,
    )


_BRANCHING = (*_COSTLY, ast.Then)


@st.composite
def crowded_cases(draw: st.DrawFn) -> tuple[ast.Query, pa.Table]:
    """Queries over streams of hundreds of events, with windows as wide as the number of their matches allows."""
    formula = draw(formulas(depth=draw(st.integers(1, 3))))
    branching = sum(isinstance(node, _BRANCHING) for node in ast.walk(formula))
    widest = {0: 30, 1: 8, 2: 5}.get(branching, 3)
    within = ast.Within(draw(st.integers(2, widest)), "events")
    random = draw(st.randoms(use_true_random=False))
    columns = {
        "type": random.choices(TYPES, k=220),
        "v": random.choices([0, 1, 2, 3, None], k=220),
        "u": random.choices([-1, 0, 1, 2], k=220),
        "w": random.choices([0.0, 0.5, 1.5, None, float("nan")], k=220),
        "d": random.choices([Decimal("0.10"), Decimal("1.50"), None], k=220),
        "s": random.choices(["a", "ab", "b", None], k=220),
        "ok": random.choices([True, False, None], k=220),
        "g": random.choices([{"n": 0}, {"n": 2}, {"n": None}, None], k=220),
    }
    return ast.Query(formula, within=within), pa.table(columns, schema=_ARROW)


def checked_query(tree: ast.Query, table: pa.Table, bag_union: BagUnion, order_by: str | None = None) -> ac.Query:
    """The query; a case that the additive reading refuses, as attributes of different types may meet, is left out."""
    try:
        query = ac.query(tree, bag_union=bag_union)
        query.check(table.schema, order_by=order_by)
    except ac.QueryCheckError:
        assume(False)
    return query
