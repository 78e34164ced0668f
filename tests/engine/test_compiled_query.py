"""A compiled query that was sent elsewhere is the query that was compiled."""

import pickle
from typing import Any

import pytest
from hypothesis import given

import acelera as ac
from acelera.automata.terms import UNSET
from acelera.demo.market import ticks
from acelera.engine.compiled_query import CompiledQuery
from acelera.language import aggregates, ast
from acelera.language.parser import parse_expression, parse_query
from strategies import formulas

SCHEMA = {"type": str, "v": int, "s": str}
ROWS = [{"type": name, "v": number, "s": "xy"[number % 2]} for number, name in enumerate("ABABBCAB")]
DEEP = 5_000


def compiled(query: ac.Query, schema: Any = SCHEMA) -> CompiledQuery:
    return query._compiled(query._schema(schema, None, "type", None))


def sent(query: CompiledQuery) -> CompiledQuery:
    return pickle.loads(pickle.dumps(query))


@pytest.mark.parametrize(
    "text",
    [
        "MATCH A ; B+ WITHIN 4 EVENTS",
        "SELECT s, a.v, sum(x.v IGNORE NULLS) AS total MATCH (A AS a ; (B AS b)+) AS x PARTITION BY s",
        "MATCH A AS a ; B AS b FILTER a.v < b.v AND a.s LIKE 'x%'",
        "MATCH (A ; B) AS x FILTER x[same(s)] AND x[increasing(v)]",
        "MATCH (A ; C) UNLESS B",
        "MATCH (A ; B+) AS x AGG m[hi <- max(x.v)] PROJECT m",
    ],
)
def test_it_runs_elsewhere(text: str) -> None:
    query = compiled(ac.query(text))
    other = sent(query)
    assert other == query
    assert repr(other.plan) == repr(query.plan)  # which snapshots are told by
    session = other.open()
    found = session.push(ROWS[:5]).to_pylist() + query.resume(session.snapshot()).push(ROWS[5:]).to_pylist()
    assert found == ac.query(text).run(ROWS).to_pylist()


def test_an_automaton_is_sent_as_well() -> None:
    twice = ac.Acea.of("p", "q", [
        ac.Move("p", "w", when="type = 'A'", assign={"n": "v"}, marks={"x": "event"}),
        ac.Move("w", "w", assign={"n": "n"}),
        ac.Move("w", "q", when="v = n + 2", assign={"n": "n"}, marks={"x": "event"}),
    ])  # fmt: skip
    query = ac.query(twice, partition_by=["s"])
    assert sent(compiled(query)).open().push(ROWS).to_pylist() == query.run(ROWS).to_pylist() != []


def test_a_deep_predicate_is_sent() -> None:
    text = f"SELECT A.v MATCH A FILTER A[{' + '.join(['v'] * DEEP)} > {3 * DEEP}]"
    assert sent(compiled(ac.query(text))).open().push(ROWS).to_pylist() == [{"A_v": 6}]


def test_deep_trees_are_pickled() -> None:
    expression = parse_expression(" + ".join(["v"] * DEEP))
    assert pickle.loads(pickle.dumps(expression)) == expression
    tree = parse_query("MATCH " + " ; ".join("A" * DEEP))
    other = pickle.loads(pickle.dumps(tree))
    assert other == tree
    assert hash(other) == hash(tree)
    assert [node.span for node in ast.walk(other.formula)] == [node.span for node in ast.walk(tree.formula)]


@pytest.mark.property
@given(formulas())
def test_trees_are_pickled(formula: ast.Formula) -> None:
    other = pickle.loads(pickle.dumps(formula))
    assert other == formula
    assert repr(other) == repr(formula)


def test_what_there_is_one_of_stays_one() -> None:
    assert pickle.loads(pickle.dumps(UNSET)) is UNSET


def test_little_is_sent() -> None:
    """Some thousand bytes for each query of the demo: Spark sends it with every task."""
    text = "SELECT a.price, max(b.price) AS hi MATCH SELL AS a ; (SELL AS b):+ FILTER a.price > b.price WITHIN 1 MINUTE"
    query = ac.query(text)
    assert len(pickle.dumps(query._compiled(query._schema(ticks(10).schema, "ts", "type", None)))) < 8_000


def longest(one: int, two: int) -> int:
    return max(one, two)


def test_functions_of_ones_own_go_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "_registry", dict(aggregates._registry))
    ac.aggregate("sent_along", lift=len, combine=longest, identity=0, returns=int)
    ac.aggregate("left_behind", lift=len, combine=longest, identity=0, returns=int)
    shown = compiled(ac.query("SELECT sent_along(A.s) MATCH A ; B"))
    filtered = compiled(ac.query("SELECT A.v MATCH A+ AGG m[n <- Sent_Along(A.s)] FILTER m.n > 1"))
    assert [[each.name for each in query.aggregates] for query in (shown, filtered)] == [["sent_along"]] * 2
    assert not compiled(ac.query("SELECT count(A) MATCH A ; B")).aggregates
    monkeypatch.setattr(aggregates, "_registry", {name: aggregates._registry[name] for name in ("max", "count")})
    assert shown.open().push(ROWS).column(0).unique().to_pylist() == [1]


def test_a_snapshot_of_another_stream_is_refused() -> None:
    query = ac.query("MATCH A ; B")
    snapshot = compiled(query).open().snapshot()
    with pytest.raises(ac.SnapshotError, match="other columns"):
        compiled(query, {"type": str, "w": int}).resume(snapshot)


def test_other_columns() -> None:
    query = ac.query("SELECT A.v MATCH A ; B PARTITION BY s")
    other = compiled(query).with_select(ac.query("SELECT count(A) AS n, s MATCH A PARTITION BY s").ast.select)
    expected = ac.query("SELECT count(A) AS n, s MATCH A ; B PARTITION BY s").run(ROWS)
    assert other.open().push(ROWS) == expected
    assert other.fingerprint != compiled(query).fingerprint
