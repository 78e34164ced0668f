"""Simulation: one group of cases for each row of the table in the contract, section 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from acelera.xchangeeq import ast
from acelera.xchangeeq.simulation import simulations
from xchangeeq.building import V, q, term

D = term("d", a=1, b="x", item=[5, 6, 5], s={"k": 1, "t": {"k": 2}})
NONE: list[dict[str, Any]] = []
YES: list[dict[str, Any]] = [{}]


def without(query: ast.Query) -> ast.Without:
    return ast.Without(query)


def optional(query: ast.Query) -> ast.Optional:
    return ast.Optional(query)


def desc(query: ast.Query) -> ast.Descendant:
    return ast.Descendant(query)


VALUES = [
    (q("d", a=1), YES),
    (q("d", a=1.0), YES),
    (q("d", a="1"), NONE),
    (q("d", a=True), NONE),
    (q("d", b="x"), YES),
    (q("d", 1), NONE),
    (ast.IsValue(1), NONE),
]
VARIABLES: list[tuple[ast.Query, list[dict[str, Any]]]] = [
    (V("X"), [{"X": D}]),
    (q("d", a=V("X")), [{"X": 1}]),
    (q("d", item=V("X")), [{"X": 5}, {"X": 6}, {"X": 5}]),
    (q("d", a=V("X"), b=V("X")), NONE),
    (q("d", q("a", V("X")), q("s", q("k", V("X")))), [{"X": 1}]),
    (q("d", q("item", V("X")), q("item", V("X"))), [{"X": 5}]),  # from two nodes
]
ARROWS = [
    (V("X", q("d", a=1)), [{"X": D}]),
    (V("X", q("d", a=2)), NONE),
    (q("d", V("X", q("a"))), [{"X": term("a", 1)}]),
    (q("d", V("X", q("a", V("Y")))), [{"X": term("a", 1), "Y": 1}]),
]
DESCENDANTS = [
    (desc(q("d", a=1)), YES),
    (desc(q("k", V("X"))), [{"X": 1}, {"X": 2}]),
    (q("d", desc(q("k", V("X")))), [{"X": 1}, {"X": 2}]),
    (q("d", desc(q("a", V("X")))), [{"X": 1}]),  # the child itself
    (q("d", desc(q("k", V("X"))), desc(q("k", V("Y")))), NONE),  # both are below one child
    (q("s", desc(q("k"))), NONE),
]
PARTIAL = [
    (q("d"), YES),
    (q("e"), NONE),
    (q(None, a=1), YES),
    (
        q("d", q("item", V("X")), q("item", V("Y")), b="x"),
        [{"X": x, "Y": y} for x, y in [(5, 6), (5, 5), (6, 5), (6, 5), (5, 5), (5, 6)]],
    ),
    (q("d", q("item"), q("item"), q("item")), YES),
    (q("d", q("item"), q("item"), q("item"), q("item")), NONE),  # injective
    (q("d", missing=V("X")), NONE),
    (q("d", q("s", k=V("X"))), [{"X": 1}]),
]
P = term("p", x=1, y=2, z=[3, 4])
TOTAL = [
    (q("p", q("x"), q("y"), q("z"), q("z"), brackets="{"), YES),
    (q("p", q("z"), q("z"), q("y"), q("x"), brackets="{"), YES),
    (q("p", q("x"), q("y"), q("z"), brackets="{"), NONE),
    (q("p", brackets="{"), NONE),
    (q("p", q("x", brackets="{"), brackets="{{"), NONE),  # x has a child, its value
    (q("p", q("x", 1, brackets="{")), YES),
]
ORDERED = [
    (q("p", q("x"), q("z"), brackets="[["), YES),
    (q("p", q("z"), q("x"), brackets="[["), NONE),
    (q("p", q("z", V("A")), q("z", V("B")), brackets="[["), [{"A": 3, "B": 4}]),
    (q("p", q("x"), q("y"), q("z"), q("z"), brackets="["), YES),
    (q("p", q("x"), q("z"), q("z"), brackets="["), NONE),
    (q("p", q("y"), q("x"), q("z"), q("z"), brackets="["), NONE),
    (q("p", q("y"), optional(q("x", V("A"))), brackets="[["), YES),  # x stands before y, so it cannot be taken
    (q("p", optional(q("x", V("A"))), q("y"), brackets="[["), [{"A": 1}]),
]
WITHOUT = [
    (q("p", without(q("w"))), YES),
    (q("p", without(q("x"))), NONE),
    (q("p", without(q("x", 2))), YES),
    (q("p", q("z", V("A")), without(q("z"))), NONE),  # one z is left over
    (q("p", q("z"), q("z"), without(q("z"))), YES),
    (q("p", x=V("A")), [{"A": 1}]),
    (q("p", q("x", V("A")), without(q("y", V("A")))), [{"A": 1}]),
    (q("p", q("z", V("A")), without(q("z", V("A")))), [{"A": 3}, {"A": 4}]),  # the other z has another value
    (q("d", q("a", V("A")), q("s", without(q("k", V("A"))))), NONE),  # bound outside of the term with `without`
    (q("d", q("s", without(q("k", V("A")))), q("a", V("A"))), NONE),  # also if that comes later
    (q("d", q("s", without(q("k", V("A")))), q("b", V("A"))), [{"A": "x"}]),
    (q("d", q("s", without(q("t", without(q("k")))))), YES),  # t has a k
]
OPTIONAL = [
    (q("p", optional(q("x", V("A")))), [{"A": 1}]),
    (q("p", optional(q("w", V("A")))), YES),
    (q("p", optional(q("z", V("A")))), [{"A": 3}, {"A": 4}]),
    (q("p", q("z"), q("z"), optional(q("z", V("A")))), YES),  # once the others are matched nothing is left
    (q("p", q("x"), q("y"), optional(q("z")), optional(q("z")), brackets="{"), YES),
    (q("p", q("x"), q("y"), optional(q("z")), brackets="{"), NONE),
    (q("p", optional(q("x", V("A"))), optional(q("x", V("B")))), [{"A": 1}, {"B": 1}]),  # either, and as many as can be
    (q("p", optional(q("z", V("A"))), without(q("z"))), NONE),
    (q("p", optional(q("x", V("A"))), without(q("x"))), [{"A": 1}]),  # not left over
    (q("d", optional(q("s", V("A", q("k")), without(q("t"))))), YES),  # what is optional does not match
]


ALL: Mapping[str, Sequence[tuple[ast.Query, list[dict[str, Any]]]]] = {
    "value": VALUES,
    "variable": VARIABLES,
    "arrow": ARROWS,
    "desc": DESCENDANTS,
    "partial": PARTIAL,
    "total": TOTAL,
    "ordered": ORDERED,
    "without": WITHOUT,
    "optional": OPTIONAL,
}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        pytest.param(query, wanted, id=f"{name}-{number}")
        for name, table in ALL.items()
        for number, (query, wanted) in enumerate(table)
    ],
)
def test_a_row_of_the_table(query: ast.Query, wanted: list[dict[str, Any]]) -> None:
    data = P if isinstance(query, ast.Labelled) and query.label == "p" else D
    found = [{name: binding.value for name, binding in one.items()} for one in simulations(query, data)]
    assert len(found) == len(wanted)
    assert all(found.count(each) == wanted.count(each) for each in wanted)


def test_a_binding_tells_its_node() -> None:
    found = simulations(q("d", item=V("X")), D)
    assert [(one["X"].value, set(one["X"].nodes)) for one in found] == [(5, {(2, 0)}), (6, {(3, 0)}), (5, {(4, 0)})]


def test_nulls_are_no_children_of_a_total_term() -> None:
    assert len(simulations(q("d", q("a"), brackets="{"), term("d", a=1))) == 1
