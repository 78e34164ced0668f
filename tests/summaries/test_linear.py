"""Sums and means over what AGG adds up or counts: added event by event, without a register."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from summaries.strategies import same

PATTERNS = [
    "A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b), d <- count(b.v), w <- sum(b.w)]",
    "(A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b), d <- count(b.v), w <- sum(b.w)])+ ; C",
    "(A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b), d <- count(b.v), w <- sum(b.w)]) OR (C ; B)",
    "(A AS a OR B AS b)+ AGG m[t <- sum(b.v), c <- count(b), d <- count(a.v IGNORE NULLS), w <- sum(b.w IGNORE NULLS)]",
    "(A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b), d <- count(b.v), w <- sum(b.w)]) ALL C",
]
ITEMS = "sum(m.t), avg(m.t), sum(m.c), avg(m.c), sum(m.d), avg(m.d), sum(m.w), avg(m.w), count(m), count(*)"
ROWS = st.lists(
    st.tuples(st.sampled_from("AABBBC"), st.sampled_from([0, 1, 2, 7]), st.sampled_from([0.25, 1.5, 2.0])), max_size=8
)
MISSING = st.sets(st.integers(0, 7), max_size=2)
AROUND = ["", " WITHIN 4 EVENTS", " BY end", " BY start", " OVER 4 EVENTS EVERY 2 EVENTS"]


def table_of(rows: list[tuple[str, int, float]], missing: set[int]) -> pa.Table:
    values = [None if number in missing else v for number, (_, v, _) in enumerate(rows)]
    columns = {"type": pa.array([t for t, _, _ in rows], pa.string()), "v": pa.array(values, pa.int64())}
    return pa.table({**columns, "w": pa.array([w for _, _, w in rows], pa.float64())})


@pytest.mark.property
@given(pattern=st.sampled_from(PATTERNS), around=st.sampled_from(AROUND), rows=ROWS, missing=MISSING)
def test_the_meaning_is_the_same(
    pattern: str, around: str, rows: list[tuple[str, int, float]], missing: set[int]
) -> None:
    query, table = ac.query(f"SUMMARIZE {ITEMS} MATCH {pattern}{around}"), table_of(rows, missing)
    assert same(query.run(table, method="semantics"), query.run(table))


def test_no_register_is_needed() -> None:
    query = ac.query("SUMMARIZE avg(m.t), sum(m.c) MATCH A ; B+ AS b AGG m[t <- sum(b.v), c <- count(b)]")
    schema = {"type": str, "v": int}
    told = query.explain(schema)
    assert "avg(m.t), sum(m.c): added event by event, without a register" in told
    assert "by tables" in told


def test_other_totals_need_one() -> None:
    query = ac.query("SUMMARIZE max(m.t) MATCH A ; B+ AS b AGG m[t <- sum(b.v)]")
    assert "by registers" in query.explain({"type": str, "v": int})


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
