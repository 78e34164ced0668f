"""Totals over what AGG makes: values are added event by event, or the best carried along, without a register."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from summaries.strategies import same

MADE = "t <- sum(b.v), c <- count(b), d <- count(b.v), w <- sum(b.w), lo <- min(b.v), hi <- max(b.w)"
PASSED = ", ".join(f"{each[:-1]} IGNORE NULLS)" if "." in each else each for each in MADE.split(", "))
PATTERNS = [
    f"A ; B+ AS b AGG m[{MADE}]",
    f"(A ; B+ AS b AGG m[{MADE}])+ ; C",
    f"(A ; B+ AS b AGG m[{MADE}]) OR (C ; B)",
    f"(A AS a OR B AS b)+ AGG m[{MADE}]",
    f"(A AS a OR B AS b)+ AGG m[{PASSED}]",
    f"((A AS a OR B AS b)+ AGG m[{MADE}]) ; A+",
    f"(A ; B+ AS b AGG m[{PASSED}])+",
    f"(A ; B+ AS b AGG m[{MADE}]) ALL C",
    f"(A ; B+ AS b AGG m[{MADE}]) AS x FILTER x[increasing(v)]",
    f"A ; (B+ AS b AGG b[n <- count(b)]) AGG m[{MADE}]",  # b also holds what has no v
    f"(A ; B+ AS b AGG b[n <- count(A), v <- count(b)]) AGG m[{PASSED}]",
    f"((A ; B AS b PROJECT b(w)) OR B AS b)+ AGG m[{MADE}]",
]
ADDED = [f"{f}(m.{a})" for f in ("sum", "avg") for a in "tcdw"]
CARRIED = [f"{f}(m.{a})" for f in ("min", "max", "range") for a in ("t", "c", "d", "w", "lo", "hi")]
PASSING = [f"{each[:-1]} IGNORE NULLS)" for each in CARRIED]
ITEMS = [
    ", ".join(each) + ", count(m), count(*)" for each in (ADDED, CARRIED[:9], CARRIED[9:], PASSING[:9], PASSING[9:])
]
VALUES, FLOATS = [0, 1, 2, 7, -3], [0.25, 1.5, -2.0]
SPECIAL = [*FLOATS, math.inf, -math.inf, math.nan]


def rows_of(floats: list[float], size: int) -> st.SearchStrategy[list[tuple[str, int, float]]]:
    each = st.tuples(st.sampled_from("AABBBC"), st.sampled_from(VALUES), st.sampled_from(floats))
    return st.lists(each, max_size=size)


ROWS = st.one_of(rows_of(FLOATS, 8), rows_of(SPECIAL, 6))
MISSING = st.sets(st.integers(0, 7), max_size=2)
AROUND = [
    "",
    "",
    " WITHIN 4 EVENTS",
    " BY end",
    " BY start",
    " OVER 4 EVENTS EVERY 2 EVENTS",
    " WITHIN 3 EVENTS BY end",
]


def table_of(rows: list[tuple[str, int, float]], missing: set[int]) -> pa.Table:
    values = [None if number in missing else v for number, (_, v, _) in enumerate(rows)]
    columns = {"type": pa.array([t for t, _, _ in rows], pa.string()), "v": pa.array(values, pa.int64())}
    return pa.table({**columns, "w": pa.array([w for _, _, w in rows], pa.float64())})


@pytest.mark.property
@given(
    pattern=st.sampled_from(PATTERNS),
    items=st.sampled_from(ITEMS),
    around=st.sampled_from(AROUND),
    rows=ROWS,
    missing=MISSING,
)
def test_the_meaning_is_the_same(
    pattern: str, items: str, around: str, rows: list[tuple[str, int, float]], missing: set[int]
) -> None:
    query, table = ac.query(f"SUMMARIZE {items} MATCH {pattern}{around}"), table_of(rows, missing)
    assert same(query.run(table, method="semantics"), query.run(table))


def test_what_lacks_an_attribute_is_null_in_a_fold() -> None:
    rows = [{"type": "A", "v": 5}]
    for function in ("max", "sum", "count"):
        for total in ("max", "min", "sum", "avg"):
            made = f"(A AS x)+ AGG x[n <- count(x)] AGG m[t <- {function}(x.v"
            strict, passing = (f"SUMMARIZE {total}(m.t) AS t MATCH {made}{end}" for end in (")]", " IGNORE NULLS)]"))
            assert ac.query(strict).run(rows).to_pylist() == [{"t": None}], strict
            assert ac.query(passing).run(rows).to_pylist() == [{"t": 1 if function == "count" else 5}], passing


def told(text: str) -> str:
    return ac.query(text).explain({"type": str, "v": int, "s": str})


def test_no_register_is_needed() -> None:
    found = told("SUMMARIZE avg(m.t), sum(m.c) MATCH A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b)]")
    assert "avg(m.t), sum(m.c): added event by event, without a register" in found
    assert "by tables" in found


@pytest.mark.parametrize(
    "around", ["", " WITHIN 10 EVENTS", " BY start", " PARTITION BY v", " OVER 4 EVENTS EVERY 2 EVENTS"]
)
def test_the_best_is_carried_along(around: str) -> None:
    found = told(f"SUMMARIZE max(m.t), min(m.t), sum(m.t) MATCH A ; B+ AS b AGG m[t <- sum(b.v)]{around}")
    assert "max(m.t), min(m.t): the best of all partial matches is carried along, without a register" in found
    assert "sum(m.t): added event by event" in found
    assert "by tables" in found


@pytest.mark.parametrize(
    "total", ["stddev(m.t)", "count(m.t)", "max(m.s)", "first(m.t)", "sum(m.t IGNORE NULLS)", "max(m.a)"]
)
def test_other_totals_need_one(total: str) -> None:
    made = "t <- sum(b.v), s <- max(b.s), a <- avg(b.v)"
    assert "without a register" not in told(f"SUMMARIZE {total} MATCH A ; B+ AS b AGG m[{made}]")


def test_the_largest_of_very_many_sums() -> None:
    query = ac.query(
        "SUMMARIZE max(m.t) AS high, min(m.t) AS low, log2_count(*) AS bits MATCH A+ AS a AGG m[t <- sum(a.v)]"
    )
    values = [n * 7919 % 2003 - 1000 for n in range(2000)]
    (row,) = query.run(pa.table({"type": ["A"] * 2000, "v": values})).to_pylist()
    assert row["high"] == sum(v for v in values if v > 0) and row["low"] == sum(v for v in values if v < 0)


@pytest.mark.parametrize("around", ["", " WITHIN 10 EVENTS"])
def test_a_sum_that_leaves_64_bits_is_told(around: str) -> None:
    query = ac.query(f"SUMMARIZE max(m.t) MATCH A:+ AS a AGG m[t <- sum(a.v)]{around}")
    table = pa.table({"type": ["A"] * 3, "v": [2**62] * 3})
    for method in ("engine", "semantics"):
        with pytest.raises(ac.AceleraError, match="overflow"):
            query.run(table, method=method)


def test_many_matches_are_averaged_at_once() -> None:
    query = ac.query("SUMMARIZE log2_count(*) AS bits, avg(m.c) AS mean MATCH A ; B+ AS b AGG m[c <- count(b)]")
    (row,) = query.run(pa.table({"type": ["A"] + ["B"] * 1000})).to_pylist()
    assert row["bits"] == pytest.approx(1000) and row["mean"] == pytest.approx(500)


@pytest.mark.parametrize(("item", "expected"), [("sum(m.t)", 3072), ("avg(m.t)", 1024.0)])
def test_a_sum_of_one_match_that_does_not_fit_is_told_by_listing_alone(item: str, expected: float) -> None:
    """What is added event by event is not looked at match by match, as `docs/engine.md` says."""
    query = ac.query(f"SUMMARIZE {item} AS t MATCH (B AS b) : (B AS b) AGG m[t <- sum(b.v)]")
    table = pa.table({"type": ["B"] * 4, "v": [2**62, 2**62, -(2**62), 3072 - 2**62]})  # 2⁶³, 0, 3072 - 2⁶³
    for method in ("semantics", "automaton"):
        with pytest.raises(ac.AggregateError, match="overflow"):
            query.run(table, method=method)
    assert query.run(table).to_pylist() == [{"t": expected}]
