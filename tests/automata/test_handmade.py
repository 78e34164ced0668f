"""Automata that users write: what ACEA can say and ACEL cannot, and messages that name the transition."""

from typing import Any

import pytest

import acelera as ac
from acelera import Acea, Move

R = "type = 'R'"


def test_a_register_that_doubles() -> None:
    """Section 6 of paper 000: no formula with sums can give 2ⁿ."""
    last = {"assign": {"n": "n + n"}, "marks": {"out": {"b": "n"}}}
    doubling = Acea.of("begin", ["end", "once"], [
        Move("begin", "once", when=R, assign={"n": 1}, marks={"out": {"b": "n"}}),
        Move("begin", "go", when=R, assign={"n": 1}),
        Move("go", "go", when=R, assign={"n": "n + n"}),
        Move("go", "end", when=R, **last),
    ])  # fmt: skip
    result = ac.query(doubling).run([{"type": "R", "a": 1}] * 6)
    powers = {(row["start"], row["end"]): row["out"][0]["b"] for row in result.to_pylist()}
    assert powers == {(i, j): 2 ** (j - i) for i in range(1, 7) for j in range(i, 7)}


def test_running_totals() -> None:
    """Section 6: the sequence 1, 2, …, n of totals, one event each."""
    totals = Acea.of("begin", "go", [
        Move("begin", "go", when=R, assign={"t": "a"}, marks={"out": {"b": "t"}}),
        Move("go", "go", when=R, assign={"t": "t + a"}, marks={"out": {"b": "t"}}),
    ])  # fmt: skip
    result = ac.query(totals).run([{"type": "R", "a": 1}] * 5)
    whole = [row for row in result.to_pylist() if (row["start"], row["end"]) == (1, 5)]
    assert [event["b"] for event in whole[0]["out"]] == [1, 2, 3, 4, 5]
    assert [event["position"] for event in whole[0]["out"]] == [1, 2, 3, 4, 5]


def test_a_cea_gives_what_the_formula_gives() -> None:
    """Theorem 11, and figure 2 of paper 002: a T after some H, which is not part of the output."""
    cea = Acea.from_cea("p", "q", [("p", "type = 'H'", (), "w"), ("w", None, (), "w"), ("w", "type = 'T'", {"T"}, "q")])
    rows = [{"type": kind, "v": number} for number, kind in enumerate("HTHT")]
    expected = ac.query("MATCH H ; T PROJECT T").run(rows)
    assert ac.query(cea).run(rows).equals(expected)


def test_partitions_windows_and_time() -> None:
    pair = Acea.from_cea("p", "q", [("p", None, {"x"}, "w"), ("w", None, (), "w"), ("w", None, {"y"}, "q")])
    rows = [{"type": "A", "k": k} for k in "abab"]
    query = ac.query(pair, partition_by=["k"], within="2 events")
    assert query.run(rows).select(["start", "end", "k"]).to_pylist() == [
        {"start": 1, "end": 2, "k": "a"},
        {"start": 1, "end": 2, "k": "b"},
    ]
    assert "an automaton of 3 states" in query.explain()
    assert str(query).endswith("PARTITION BY k\nWITHIN 2 EVENTS")
    assert query == ac.query(pair, partition_by=["k"], within="2 events") != ac.query(pair)


def test_types_of_registers_are_found() -> None:
    mixed = Acea.of("p", "q", [
        Move("p", "w", assign={"n": 1, "s": "lower(name)"}),
        Move("w", "q", assign={"n": "n / 2", "s": "s"}, marks={"out": {"n": "n", "s": "s", "at": "position"}}),
    ])  # fmt: skip
    found = ac.query(mixed).check({"type": "string", "name": "string"})
    assert str(found.field("out").type.value_type) == "struct<position: int64, at: int64, n: double, s: string>"


def test_names_and_constants_are_shown() -> None:
    drawn = ac.query(Acea.of("begin", "end", [Move("begin", "end", when=R, assign={"n": 1}, marks={"x": {"b": "n"}})]))
    assert "begin → end: R → x(b) [n ← 1]" in drawn.explain()


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (
            lambda: Acea.of("p", "q", [Move("p", "q", assign={"n": "n + 1"})]),
            r"transition 1 \(p → q\) reads the register `n`",
        ),
        (
            lambda: Acea.of("p", "q", [Move("p", "w", assign={"n": 1}), Move("w", "q", marks={"x": {"b": "n"}})]),
            r"transition 2 \(w → q\) looks at the register `n`, which it does not assign",
        ),
        (lambda: Acea.of("p", "z", [Move("p", "q")]), "final state 'z' occurs in no move"),
        (lambda: Acea.of("p", "q", [Move("p", "q", when="type = ")]), "move p → q: 'type = ' is not an expression"),
        (lambda: Acea.of("p", "q", [Move("p", "q", marks={"x": "all"})]), 'a mark is "event"'),
        (lambda: Acea.of("p", "q", [Move("p", "q", when=5)]), "SQL predicate"),
        (lambda: Acea.of("p", "q", [Move("p", "q", when="same(a)")]), "speaks of all events"),
        (lambda: Move("p", "q", marks="x"), "maps names"),
        (lambda: Move("p", 5), "named by strings"),
        (lambda: Acea.of("p", "q", [("p", "q")]), "a list of moves"),
        (lambda: Acea.of("p", "q", [Move("p", "q", assign={"n": [1]})]), "is not an expression"),
        (lambda: Acea.of("p", "q", [Move("p", "q", marks={"x": {"position": 1}})]), "which every event has"),
        (lambda: Acea.from_cea("p", "q", [("p", None, "q")]), "a transition is written"),
        (lambda: Acea.from_cea("p", "q", [("p", None, "xy", "q")]), "a transition is written"),
        (lambda: ac.query(Acea.of("p", "q", [Move("p", "q")]), within=5), "not a window"),
        (lambda: ac.query(Acea.of("p", "q", [Move("p", "q")]), bag_union="additive"), "for formulas"),
        (lambda: Acea.of("P", "q", [Move("p", "q")]), "no move leaves the initial state 'P'"),
        (lambda: Acea.of("p", [], [Move("p", "q")]), "a list of moves"),
        (lambda: Acea.of("p", "q", Move("p", "q")), "a list of moves"),
        (lambda: Move("p", "q", assign={"type": "'B'"}), "which every event has"),
        (lambda: Acea.of("p", "q", [Move("p", "q", when="")]), "the expression is empty"),
        (lambda: ac.query(Acea.of("p", "q", [Move("p", "q")]), partition_by=5), "not a list of attributes"),
        (lambda: Acea(1, 0, frozenset({3}), ()), "state 3 is initial or final"),
        (lambda: ac.query("MATCH A", within="5 events"), "said in the query itself"),
        (lambda: ac.query(Acea.of("p", "q", [Move("p", "q")])).run([{"type": "A"}], method="semantics"), "no formula"),
    ],
)
def test_mistakes(build: Any, says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        build()


@pytest.mark.parametrize(
    ("move", "says"),
    [
        (Move("p", "q", when="nme = 'x'"), "no attribute or register `nme`; did you mean `name`"),
        (Move("p", "q", when="v"), "must be true or false"),
        (Move("p", "q", when="name > 5"), "string cannot be compared with int64"),
        (
            Move("p", "q", assign={"n": "v"}, marks={"x": ["event", {"name": "n"}]}),
            "`name` is string and others whose is int64",
        ),
    ],
)
def test_mistakes_that_the_schema_shows(move: Move, says: str) -> None:
    with pytest.raises(ac.AceleraError, match=says):
        ac.query(Acea.of("p", "q", [move])).check({"type": "string", "name": "string", "v": "int"})
