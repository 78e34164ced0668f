"""Cases that once went wrong, under every way to run a query."""

import math
import operator
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac

METHODS = ("semantics", "automaton")
A = [{"type": "A", "v": 1}]


def rows(query: str, table: Any, method: str, **options: Any) -> list[dict[str, Any]]:
    return ac.query(query).run(table, method=method, **options).to_pylist()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("operator", ["OR", "AND"])
def test_attributes_have_no_order(method: str, operator: str) -> None:
    query = f"MATCH (A AGG y[a <- count(A), b <- sum(A.v)]) {operator} (A AGG y[b <- sum(A.v), a <- count(A)])"
    assert len(rows(query, A, method)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_equal_numbers_of_different_types_are_equal_in_bags(method: str) -> None:
    left = "A AGG y[a <- sum(A.i), b <- sum(A.p)] AGG y[a <- avg(A.i), b <- sum(A.q)]"
    right = "A AGG y[a <- avg(A.i), b <- sum(A.p)] AGG y[a <- sum(A.i), b <- sum(A.q)]"
    table = [{"type": "A", "i": 1, "p": 5, "q": 3}]
    assert len(rows(f"SELECT start MATCH ({left}) AND ({right})", table, method)) == 1
    assert len(rows(f"SELECT start MATCH ({left}) OR ({right})", table, method)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_numpy_scalars_of_user_aggregates_are_numbers(method: str) -> None:
    ac.aggregate("npmax", lift=np.int64, combine=max, identity=np.int64(0), returns="int")
    assert len(rows("MATCH A AGG y[l <- npmax(A.v)] FILTER y.l >= 1", A, method)) == 1


@pytest.mark.parametrize("method", METHODS)
def test_and_keeps_the_events_of_its_left_side(method: str) -> None:
    left = "(A AGG y[a <- count(A)] AGG z[a <- count(A)] PROJECT y, z)"
    right = "((A AGG y[a <- count(A)] PROJECT y) AS z)"
    found = rows(f"SELECT count(w) AS n, w MATCH ({left} AND {right}) AS w", A, method)
    assert [(row["n"], len(row["w"])) for row in found] == [(2, 2)]


BIG = [{"type": "A", "v": v} for v in (2**63 - 1, 1, 2, 2**63 - 1)]


@pytest.mark.parametrize("method", METHODS)
def test_overflow_in_a_match_is_an_error_even_if_it_is_not_shown(method: str) -> None:
    with pytest.raises(ac.AggregateError, match="overflow"):
        rows("SELECT start, end MATCH (A+ AGG y[s <- sum(A.v)]) PROJECT y", BIG, method)


@pytest.mark.parametrize("method", METHODS)
def test_a_condition_is_asked_only_if_the_one_before_it_holds(method: str) -> None:
    query = "SELECT y.s MATCH A:+ AGG y[s <- sum(A.v)] FILTER A.v < 5 AND y.s > 1"
    assert [row["y_s"] for row in rows(query, BIG, method)] == [3, 2]


@pytest.mark.parametrize("method", METHODS)
def test_columns_without_values(method: str) -> None:
    table = pa.table({"type": ["A"], "v": pa.nulls(1)})
    query = "SELECT sum(A.v IGNORE NULLS) AS s, product(A.v IGNORE NULLS) AS p, sum(A.v) AS n, max(A.v) AS m MATCH A"
    assert rows(query, table, method) == [{"s": 0, "p": 1, "n": None, "m": None}]


@pytest.mark.parametrize("method", METHODS)
def test_far_timestamps(method: str) -> None:
    table = pa.table({"type": ["A", "B"], "c": pa.array([-(10**16), 10**16], pa.timestamp("us"))})
    assert len(rows("MATCH A ; B FILTER B.c - A.c > INTERVAL 1 DAYS", table, method)) == 1
    assert len(rows("MATCH B FILTER B.c + INTERVAL 1 DAYS > B.c", table, method)) == 1


def test_any_is_a_variable_like_others() -> None:
    query = ac.query("MATCH A AGG ANY[n <- count(A)] FILTER ANY.n = 1")
    assert ac.query(str(query)) == query
    assert query.run(A).num_rows == 1


@pytest.mark.parametrize(
    ("query", "options", "error"),
    [
        ("SELECT y MATCH A AGG y[ts <- max(A.v)]", {"order_by": "ts"}, ac.QueryCheckError),
        ("MATCH A", {"order_by": "position"}, ac.SchemaError),
        ("MATCH A", {"type_column": 5}, ac.SchemaError),
        ("MATCH A", {"event_type": 5}, ac.SchemaError),
        ("MATCH A", {"order_by": [["v"]]}, ac.UsageError),
    ],
)
def test_refused(query: str, options: dict[str, Any], error: type[Exception]) -> None:
    table = pa.table({"type": ["A"], "v": [1], "ts": pa.array([1], pa.timestamp("s")), "position": ["x"]})
    table = table if options.get("order_by") == "position" else table.drop_columns(["position"])
    with pytest.raises(error):
        ac.query(query).run(table, **options)


@pytest.mark.parametrize(
    "values", [["\ud800"], [object()], [2**70], [pa.scalar(1).type]], ids=["surrogate", "object", "huge", "type"]
)
def test_values_that_arrow_cannot_hold(values: list[Any]) -> None:
    with pytest.raises(ac.AceleraError):
        ac.query("MATCH A").run([{"type": "A", "v": value} for value in values])


def test_user_aggregates_that_give_no_value() -> None:
    ac.aggregate("listing", lift=lambda v: (v,), combine=lambda a, b: a + b, identity=(), finish=list)
    with pytest.raises(ac.AggregateError, match="is wanted"):
        ac.query("SELECT listing(A.v) MATCH A").run(A)
    ac.aggregate("texts", lift=str, combine=max, identity="")
    with pytest.raises(ac.AceleraError, match="returns"):
        ac.query("MATCH A AGG m[t <- texts(A.v)] FILTER m.t > 1").run(A)


ODD = pa.table(
    {
        "type": ["A"],
        "v": [5],
        "s": ["x7"],
        "d": pa.array([Decimal("0.1")], pa.decimal128(5, 2)),
        "w": [9.223372036854775807e18],
    }
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("A FILTER A[CAST(s AS int) IS NULL AND s > 'a']", 1),
        ("A FILTER A[nullif(v, 5) IS NULL AND v > 1]", 1),
        ("A FILTER A.v = 5.0 AND CAST(A.v AS string) = '5'", 1),
        ("A FILTER A.d = 0.1 AND A.d * 3 = 0.3", 1),
        ("A FILTER A.w = 9223372036854775807 AND A.w + 1 > 0", 1),
        ("A UNLESS (A FILTER A[v / 0 IS NULL AND v > 1])", 0),
    ],
)
def test_only_certain_contradictions_are_removed(method: str, query: str, expected: int) -> None:
    assert len(rows(f"SELECT start MATCH {query}", ODD, method)) == expected


@pytest.mark.parametrize(
    "query",
    ["A.v = 5 AND A.v LIKE 'x%'", "A.v = 5 AND lower(A.v) = 'x'", "A.v = 'x' AND -A.v < 2", "A.v > 5 AND A.v < 'x'"],
)
def test_without_a_schema_types_may_clash(query: str) -> None:
    assert "how it runs" in ac.query(f"MATCH A FILTER {query}").explain()


@pytest.mark.parametrize("method", METHODS)
def test_an_aggregate_that_fails_fails_only_for_its_own_matches(method: str) -> None:
    ac.aggregate("geo", lift=math.log, combine=operator.add, identity=0.0, finish=math.exp, returns="float")
    table = [{"type": "A", "v": 2.0}, {"type": "B", "v": -1.0}, {"type": "A", "v": -3.0}]
    assert rows("SELECT g.m MATCH A FILTER A.v > 0 AGG g[m <- geo(A.v)]", table, method) == [
        {"g_m": pytest.approx(2.0)}
    ]
    with pytest.raises(ac.AggregateError, match="`geo` failed: ValueError"):
        rows("SELECT start MATCH A AGG g[m <- geo(A.v)]", table, method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("condition", ["y.s >= A.v", "y[same(s)]", "y.s <> A.v + 100", "y[increasing(s)]"])
def test_an_overflow_that_is_filtered_away_is_no_error(method: str, condition: str) -> None:
    query = f"SELECT start, end MATCH A:+ AGG y[s <- sum(A.v)] FILTER A.v < 5 AND {condition}"
    assert len(rows(query, BIG, method)) == 3


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("function", ["sum", "avg", "range", "product", "min", "first"])
def test_decimals_meet_floats(method: str, function: str) -> None:
    table = pa.table({"type": ["A"], "d": pa.array([Decimal("1.5")], pa.decimal128(5, 2)), "i": [2]})
    query = f"SELECT z.s MATCH A AGG y[a <- sum(A.d)] AGG y[a <- avg(A.i)] AGG z[s <- {function}(y.a)]"
    assert isinstance(rows(query, table, method)[0]["z_s"], float)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("returns", "value", "use"),
    [
        ("int", "x", "AGG n[s <- sum(m.t)]"),
        ("int", "x", "FILTER m.t + 1 > 2"),
        ("string", 5, "FILTER lower(m.t) = 'x'"),
        ("string", 5, "FILTER m.t LIKE 'x'"),
        (None, "x", "FILTER abs(m.t) > 2"),
        (None, np.array([1, 2]), ""),
    ],
)
def test_aggregates_that_break_their_word(method: str, returns: str | None, value: Any, use: str) -> None:
    ac.aggregate("odd", lift=lambda v: v, combine=max, identity=0, finish=lambda _: value, returns=returns)
    with pytest.raises(ac.AceleraError):
        rows(f"MATCH A AGG m[t <- odd(A.v)] {use}", A, method)


@pytest.mark.parametrize("method", METHODS)
def test_position_is_what_the_order_column_says(method: str) -> None:
    table = pa.table({"type": ["A", "B"], "position": [10, 20], "v": [1, 2]})
    query = "MATCH (A ; B PROJECT *, A(v)) AGG y[n <- count(A)] FILTER y.position = 20 AND A.position = 10"
    [row] = rows(query, table, method, order_by="position")
    assert (row["start"], row["end"]) == (1, 2)
    assert [row[name][0]["position"] for name in ("A", "B", "y")] == [10, 20, 20]


@pytest.mark.parametrize("method", METHODS)
def test_huge_durations_are_null(method: str) -> None:
    table = pa.table({"type": ["A"], "d": pa.array([2**62], pa.duration("s")), "n": [2**62]})
    product = "A.d" + " * A.n" * 18
    assert rows(f"SELECT start MATCH A FILTER {product} / A.d > 1", table, method) == []


def test_from_names_the_type_for_check_as_for_run() -> None:
    assert ac.query("FROM Rate MATCH Rate").check({"price": float}).names == ["start", "end", "Rate"]


def test_bags_of_equal_marks_are_paired_at_once() -> None:
    many = " ALL ".join("A" * 5)
    query = ac.query(f"SELECT count(A) MATCH ({many}) AND ({many})", bag_union="additive")
    assert query.run(A, method="automaton").to_pylist() == [{"count_A": 5}]
