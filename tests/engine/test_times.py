"""Times far apart, and of different units: conditions never fail on data, and all methods agree."""

from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera import Acea, Move

LOW, HIGH = -(2**63), 2**63 - 1
YEAR_1700, YEAR_2200 = -8_520_336_000 * 10**9, 7_258_118_400 * 10**9
MINUTES = 60 * 10**9
NANOSECONDS = [YEAR_1700, YEAR_2200, 0, LOW, HIGH, None, 5 * MINUTES, 5 * MINUTES + 1, -1, HIGH - 5 * MINUTES]
SECONDS = [253_402_300_799, -62_135_596_800, 0, LOW, HIGH, 300, None, 301, -1, HIGH // 10**9]


def stream(kind: Any = pa.timestamp) -> pa.Table:
    size = len(NANOSECONDS)
    return pa.table(
        {
            "type": ["A", "B"] * (size // 2),
            "n": pa.array(NANOSECONDS, pa.timestamp("ns")),
            "o": pa.array(NANOSECONDS[3:] + NANOSECONDS[:3], pa.timestamp("ns")),
            "t": pa.array(SECONDS, pa.timestamp("s")),
            "e": pa.array(SECONDS[1:] + SECONDS[:1], pa.timestamp("ms")),
            "d": pa.array(NANOSECONDS[2:] + NANOSECONDS[:2], pa.duration("ns")),
            "l": pa.array(SECONDS[2:] + SECONDS[:2], pa.duration("s")),
            "day": pa.array([0, 10**6, -(10**6), 2**31 - 1, -(2**31), None, 1, 2, 3, 4], pa.int32()).cast(pa.date32()),
            "s": ["x", "y"] * (size // 2),
        }
    )


def outcome(query: ac.Query, method: str) -> Any:
    """The rows, or that an aggregate failed; no other error may be met."""
    try:
        return sorted(map(repr, query.run(stream(), method=method).to_pylist()))
    except ac.AggregateError:
        return "an aggregate failed"


def machine(query: ac.Query) -> str:
    return query.explain(stream()).split("engine\n")[1].split(":")[0].strip()


ACROSS = [
    "b.n - a.n > INTERVAL 5 MINUTES",
    "b.n - a.n = INTERVAL 5 MINUTES",
    "a.n + INTERVAL 5 MINUTES < b.n",
    "a.n + INTERVAL 5 MINUTES <= b.o - INTERVAL 5 MINUTES",
    "b.n - a.n = b.o - a.o",
    "b.n - a.n - a.d >= b.d",
    "-a.d < b.d",
    "abs(a.d) > b.d",
    "abs(b.n - a.n) BETWEEN INTERVAL 5 MINUTES AND INTERVAL 9 DAYS",
    "b.n - a.n IN (INTERVAL 5 MINUTES, a.d, a.d + b.d)",
    "a.n < b.t",
    "a.t = b.n",
    "a.t < b.e",
    "a.t + b.d > b.n",
    "b.t - a.n > a.l",
    "b.t - a.t > INTERVAL 500 MILLISECONDS",
    "b.l + a.l + a.l + b.l IS NULL OR b.l + a.l < a.d",
    "coalesce(a.n, b.n) < b.o",
    "coalesce(b.n - a.n, b.d) > INTERVAL 1 SECOND",
    "a.t - b.t < TIMESTAMP '9999-12-31 23:59:59' - TIMESTAMP '0001-01-01 00:00:00'",
    "a.day < b.day",
    "a.day = b.day OR b.n - a.n < a.d",
]
OTHERS = [
    "SELECT start, end MATCH A FILTER A[n > TIMESTAMP '9999-12-31 23:59:59' OR t > TIMESTAMP '9999-12-31 23:59:59']",
    "SELECT start, end MATCH A FILTER A[o - n > INTERVAL 5 MINUTES]",
    "SELECT start, end MATCH A FILTER A[n < t OR t = e OR n + l > o]",
    "SELECT start, end MATCH A FILTER A[abs(d) > l OR -d > l OR d + l + l IS NULL]",
    "SELECT start, end MATCH (A ; B+) AS x FILTER x[increasing(n)] AND x[increasing(t)]",
    "SELECT start, end MATCH (A ; B) AS x FILTER x[same(t)]",
    "SELECT start, end MATCH A AS a ; B AS b FILTER a.d - b.d < a.l AND a.s || b.s = 'xy'",  # by value
    "SELECT start, end MATCH ((A ; B) AS x AGG m[r <- max(x.t)]) FILTER m.r > TIMESTAMP '2000-01-01 00:00:00'",
    "SELECT start, end MATCH ((A ; B) AS x AGG m[r <- max(x.n)] AGG n[r <- min(x.t)]) FILTER m.r > n.r",
    "SELECT start, end MATCH ((A AS a ; B AS b) AS x AGG m[r <- range(a.t)]) FILTER m.r < INTERVAL 5 DAYS",
    "SELECT start, end MATCH (B AS x AGG m[r <- sum(x.l)]) FILTER m.r < INTERVAL 5 DAYS",
]


@pytest.mark.parametrize("condition", ACROSS)
def test_conditions_on_times_agree(condition: str) -> None:
    query = ac.query(f"SELECT start, end MATCH A AS a ; B AS b FILTER {condition}")
    assert machine(query) == "by registers"
    found = outcome(query, "engine")
    assert found == outcome(query, "automaton") == outcome(query, "semantics")
    assert isinstance(found, list)


@pytest.mark.parametrize("text", OTHERS)
def test_other_queries_on_times_agree(text: str) -> None:
    query = ac.query(text)
    assert outcome(query, "engine") == outcome(query, "automaton") == outcome(query, "semantics")


def test_a_difference_of_centuries_is_compared() -> None:
    table = stream().slice(0, 2)
    query = ac.query("SELECT start, end MATCH A AS a ; B AS b FILTER b.n - a.n > INTERVAL 5 MINUTES")
    assert query.run(table).to_pylist() == [{"start": 1, "end": 2}]
    query = ac.query("SELECT start, end MATCH A AS a ; B AS b FILTER a.t < b.t AND a.n < b.n")
    assert query.run(table).num_rows == 0  # the years 9999 and 1, in seconds beside nanoseconds


def test_times_that_are_computed_and_kept() -> None:
    """Registers of automata that are written by hand hold them, through snapshots."""
    automaton = Acea.of("p", "r", [
        Move("p", "q", when="type = 'A'", assign={"late": "n + INTERVAL 300000 DAYS"}),
        Move("q", "q", assign={"late": "late"}),
        Move("q", "r", when="late - INTERVAL 300000 DAYS >= n", assign={"late": "late"}, marks={"x": "event"}),
    ])  # fmt: skip
    query, table = ac.query(automaton), stream()
    expected = query.run(table, method="automaton").select(["start", "end"]).to_pylist()
    assert query.run(table).select(["start", "end"]).to_pylist() == expected != []
    session, found = query.open(table.schema), []
    for row in range(table.num_rows):
        found += session.push(table.slice(row, 1)).select(["start", "end"]).to_pylist()
        session = query.resume(session.snapshot())
    assert found == expected


def test_times_that_are_computed_and_shown() -> None:
    made = {"gap": "n - before", "next": "n + INTERVAL 1 DAYS"}
    automaton = Acea.of("p", "r", [
        Move("p", "q", assign={"before": "n"}),
        Move("q", "r", assign={"before": "before"}, marks={"x": made}),
    ])  # fmt: skip
    table = stream().slice(5, 4)
    query = ac.query(automaton)
    assert query.run(table).to_pylist() == query.run(table, method="automaton").to_pylist()
