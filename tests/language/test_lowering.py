"""The core means what the whole language means."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acelera.errors import Problem
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.events import Moment
from acelera.language.expressions import type_of
from acelera.language.lowering import COMPOSED, OPERATIONS, UnsupportedError, links, lower, operation_of
from acelera.language.parser import parse_expression
from acelera.language.printer import print_expression
from acelera.language.types import BOOL, DATE, DURATION, FLOAT, INT, STRING, Type, parse_type
from strategies import expressions

NAN, INF = float("nan"), float("inf")
TIMESTAMP = parse_type("timestamp[ns]")
KINDS: dict[str, tuple[Type, list[Any]]] = {
    "i": (INT, [0, 1, -1, 2, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "j": (INT, [0, 1, 5]),
    "f": (FLOAT, [0.0, -0.0, 1.5, NAN, INF, -INF, 2.0**53]),
    "g": (FLOAT, [1.5, NAN, 1.0]),
    "s": (STRING, ["", "a", "ab", "12", "true", "ß"]),
    "b": (BOOL, [True, False]),
    "c": (BOOL, [True, False]),
    "t": (TIMESTAMP, [Moment(0), Moment(2**62), Moment(-1)]),
    "e": (DURATION, [Moment(0), Moment(10**18)]),
    "d": (DATE, [0, 19_700]),
}
ROWS = st.fixed_dictionaries({name: st.sampled_from([None, *values]) for name, (_, values) in KINDS.items()})


def attributes(names: str) -> st.SearchStrategy[ast.Expression]:
    return st.sampled_from(names).map(lambda name: ast.Attribute(None, name))


def literals(*values: Any) -> st.SearchStrategy[ast.Expression]:
    return st.sampled_from(values).map(ast.Literal)


def compared(inner: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    other = inner | literals(None)
    return st.one_of(
        st.builds(ast.Binary, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), inner, inner),
        st.builds(ast.In, inner, st.lists(other, min_size=1, max_size=4).map(tuple), st.booleans()),
        st.builds(ast.Between, inner, other, other, st.booleans()),
        st.builds(ast.IsNull, inner, st.booleans()),
    )


NUMBERS = st.recursive(
    attributes("iijfg") | literals(0, 1, 1.5, 2**63 - 1),
    lambda inner: st.one_of(
        st.builds(ast.Binary, st.sampled_from("+-*/%"), inner, inner),
        inner.map(lambda operand: ast.Unary("-", operand)),
        st.lists(inner, min_size=1, max_size=3).map(lambda given: ast.Call("coalesce", tuple(given))),
    ),
    max_leaves=3,
)
PREDICATES = st.recursive(
    st.one_of(
        attributes("bc"),
        literals(True, False, None),
        *(compared(inner) for inner in (NUMBERS, NUMBERS, attributes("s") | literals("", "a"), attributes("t"))),
        *(compared(attributes(name)) for name in "ed"),
        st.builds(ast.Like, attributes("s"), st.sampled_from(["a%", "_", "%"]), st.booleans()),
    ),
    lambda inner: st.one_of(
        st.builds(ast.Binary, st.sampled_from(["AND", "OR", "=", "<>"]), inner, inner),
        inner.map(lambda operand: ast.Unary("NOT", operand)),
        st.builds(ast.IsNull, inner, st.booleans()),
        st.builds(ast.In, inner, st.lists(inner, min_size=1, max_size=3).map(tuple), st.booleans()),
        st.lists(inner, min_size=1, max_size=3).map(lambda given: ast.Call("coalesce", tuple(given))),
    ),
    max_leaves=6,
)


def is_core(expression: ast.Expression, whole: tuple[str, ...]) -> bool:
    """Whether each thing is said in the one way that the core has for it."""
    for node in ast.walk(expression):
        operation = operation_of(node)
        if operation not in OPERATIONS or (operation in COMPOSED and operation not in whole):
            return False
        if getattr(node, "negated", False) or (
            isinstance(node, ast.Call) and operation == "coalesce" and len(node.arguments) != 2
        ):
            return False
        opposed = ("NOT", "AND", "OR", "=", "<>", "<", "<=", ">", ">=")
        if isinstance(node, ast.Unary) and operation == "NOT" and operation_of(node.operand) in opposed:
            return False
    return True


def same(one: Any, two: Any) -> bool:
    """Whether two values are the same, NaN being the same as NaN, and 1 another than 1.0 or TRUE."""
    if isinstance(one, float) and isinstance(two, float) and math.isnan(one):
        return math.isnan(two)
    return type(one) is type(two) and one == two


def check(expression: ast.Expression, row: dict[str, Any]) -> None:
    problems: list[Problem] = []
    type_of(expression, lambda node: KINDS[node.name][0], problems.append)
    if problems:
        return
    expected = evaluate(expression, lambda node: row[node.name])
    for whole in ((), ("IN",), ("BETWEEN",), COMPOSED):
        lowered = lower(expression, whole)
        assert is_core(lowered, whole)
        assert same(evaluate(lowered, lambda node: row[node.name]), expected), print_expression(lowered)
        assert lower(lowered, whole) == lowered


@pytest.mark.property
@given(PREDICATES | NUMBERS, ROWS)
def test_the_core_means_the_same(expression: ast.Expression, row: dict[str, Any]) -> None:
    check(expression, row)


@pytest.mark.property
@given(expressions(attributes("".join(KINDS))), ROWS)
def test_so_it_does_for_any_expression(expression: ast.Expression, row: dict[str, Any]) -> None:
    check(expression, row)


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("NOT i < 1", "i >= 1"),
        ("NOT NOT b", "b"),
        ("NOT (b AND NOT i = 1)", "NOT b OR i = 1"),
        ("i IS NOT NULL", "NOT i IS NULL"),
        ("NOT s NOT LIKE 'a%'", "s LIKE 'a%'"),
        ("i BETWEEN 1 AND j", "i >= 1 AND i <= j"),
        ("i NOT BETWEEN 1 AND j", "i < 1 OR i > j"),
        ("i IN (1, j, NULL)", "i = 1 OR i = j OR i = NULL"),
        ("i NOT IN (1, j)", "i <> 1 AND i <> j"),
        ("coalesce(i, j, 1) = 1", "coalesce(coalesce(i, j), 1) = 1"),
        ("coalesce(i) = 1", "i = 1"),
        ("(NOT (i BETWEEN 1 AND 2)) IS NULL", "(i < 1 OR i > 2) IS NULL"),
    ],
)
def test_what_is_lowered(text: str, core: str) -> None:
    assert lower(parse_expression(text), whole=()) == parse_expression(core)


def test_what_a_target_takes_whole_is_kept() -> None:
    text = parse_expression("i BETWEEN 1 AND 2 AND j NOT IN (1, 2)")
    assert print_expression(lower(text)) == "i BETWEEN 1 AND 2 AND NOT j IN (1, 2)"
    assert print_expression(lower(text, whole=("IN",))) == "i >= 1 AND i <= 2 AND NOT j IN (1, 2)"


def test_all_links_of_a_chain() -> None:
    shown = [print_expression(link) for link in links(parse_expression("b OR i = 1 OR (c OR b AND c)"))]
    assert shown == ["b", "i = 1", "c", "b AND c"]


def test_nesting_has_no_limit_but_writing_out_has_one() -> None:
    one, truths = ast.Literal(1), (ast.Literal(True), ast.Literal(False))
    test: ast.Expression = ast.Binary("=", ast.Attribute(None, "i"), one)
    for _ in range(5_000):
        test = ast.Binary("OR", ast.Unary("NOT", test), ast.Between(ast.Attribute(None, "j"), one, one))
    assert evaluate(lower(test, whole=()), lambda _: 1) is True
    for _ in range(60):
        test = ast.In(test, truths)
    assert operation_of(lower(test)) == "IN"
    with pytest.raises(UnsupportedError, match="stand in each other"):
        lower(test, whole=())
