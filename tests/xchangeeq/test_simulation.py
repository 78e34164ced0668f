"""Simulation: one group of cases for each row of the table in the contract, section 1."""

import random
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from typing import Any

import pytest

from acelera.xchangeeq import ast
from acelera.xchangeeq.simulation import simulations
from acelera.xchangeeq.terms import Term, Value
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


# --- by the letter: every σ is tried, and the ground query is asked child by child --------------------------------

LETTERS = (1, 2)


def ground_simulates(query: ast.Query, sigma: Mapping[str, int], value: Value) -> bool:
    """σ(q) ≼ d, with all ways to give different children to the children of the query tried one after the other."""
    match query:
        case ast.IsValue(wanted):
            return value == wanted
        case ast.Binds(name, None):
            return value == sigma[name]
        case ast.Descendant(inner):
            below = value.children if isinstance(value, Term) else ()
            return ground_simulates(inner, sigma, value) or any(ground_simulates(query, sigma, each) for each in below)
        case ast.Labelled(label, kids, total, ordered):
            if not isinstance(value, Term) or label not in (None, value.label):
                return False
            wanted_kids = [each for each in kids if not isinstance(each, ast.Without)]
            for chosen in permutations(range(len(value.children)), len(wanted_kids)):
                left = [child for index, child in enumerate(value.children) if index not in chosen]
                if (
                    not (total and left)
                    and not (ordered and list(chosen) != sorted(chosen))
                    and all(
                        ground_simulates(each, sigma, value.children[index])
                        for each, index in zip(wanted_kids, chosen, strict=True)
                    )
                    and not any(
                        ground_simulates(each.query, sigma, child)
                        for each in kids
                        if isinstance(each, ast.Without)
                        for child in left
                    )
                ):
                    return True
    return False


def random_term(chance: random.Random, depth: int) -> Term:
    if depth == 0 or chance.random() < 0.3:
        return Term(chance.choice("ab"), (chance.choice(LETTERS),))
    return Term(chance.choice("ab"), tuple(random_term(chance, depth - 1) for _ in range(chance.randint(0, 3))))


def random_query(chance: random.Random, depth: int) -> ast.Query:
    if depth == 0:
        return q(chance.choice(["a", "b", None]), chance.choice([V("X"), V("Y"), 1, 2]))
    if chance.random() < 0.2:
        return ast.Descendant(random_query(chance, depth - 1))
    kids = [random_query(chance, depth - 1) for _ in range(chance.randint(0, 2))]
    marked = [ast.Without(random_query(chance, 0))] if chance.random() < 0.4 else []
    return q(chance.choice(["a", "b", None]), *kids, *marked, brackets=chance.choice(["{{", "{{", "{", "[[", "["]))


@pytest.mark.parametrize("seed", range(10))
def test_simulation_by_the_letter(seed: int) -> None:
    chance = random.Random(seed)
    matched = 0
    for _ in range(20):
        data = Term("r", tuple(random_term(chance, 2) for _ in range(5)))
        bound = [desc(q(None, V("X"))), desc(q(None, V("Y")))]  # X and Y are always bound, if only by these
        query = q("r", *bound, random_query(chance, chance.randint(0, 2)), ast.Without(random_query(chance, 1)))
        found = {tuple(one[name].value for name in "XY") for one in simulations(query, data)}
        wanted = {
            xy for xy in product(LETTERS, repeat=2) if ground_simulates(query, dict(zip("XY", xy, strict=True)), data)
        }
        assert {xy for xy in found if set(xy) <= set(LETTERS)} == wanted
        matched += bool(wanted)
    assert matched > 0
