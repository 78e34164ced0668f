"""Summaries value by value: what no numeric component stands for is computed exactly, and without listing matches."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.summaries import folding, summary_choice
from acelera.engine.summaries.component_summarizer import ByComponents
from acelera.engine.summaries.object_summarizer import ObjectSummarizer
from acelera.engine.summaries.summary_session import SummarySession
from acelera.language.aggregates import Failure, find_aggregate
from acelera.language.schema import schema_of
from summaries.strategies import SummaryCase, same, short_cases

PRIME = 1_000_003


@pytest.fixture(autouse=True)
def own_functions() -> None:
    define()


def define() -> None:
    """Functions of one's own: one that stays small, two with tuples as states, one that is partial."""
    ac.aggregate("residue", lift=lambda v: v % PRIME, combine=lambda a, b: (a + b) % PRIME, identity=0, returns="int")
    ac.aggregate("total", lift=lambda v: v, combine=lambda a, b: a + b, identity=0)
    ac.aggregate(
        "mean",
        lift=lambda v: (float(v), 1),
        combine=lambda a, b: (a[0] + b[0], a[1] + b[1]),
        identity=(0.0, 0),
        finish=lambda s: s[0] / s[1] if s[1] else None,
        returns="float",
    )
    ac.aggregate(
        "all_of",
        lift=lambda v: (repr(v),),
        combine=lambda a, b: tuple(sorted(a + b)),
        identity=(),
        finish=lambda s: len(set(s)),
        returns="int",
    )
    ac.aggregate("inverse", lift=lambda v: 1 / v, combine=max, identity=0.0, returns="float")


@contextmanager
def by_value() -> Iterator[None]:
    """All summaries run value by value, even those that need not."""
    with patch.object(summary_choice, "_layout", lambda *_, **__: "it is asked for"):
        yield


def summarizer_of(text: str, table: pa.Table, **options: Any) -> object:
    session = ac.query(text).open(table.schema, **options)
    assert isinstance(session, SummarySession)
    return session.summarizer


TABLE = pa.table(
    {
        "type": ["A", "B", "A", "A", "B", "C", "B", "A"],
        "v": pa.array([2, -3, None, 5, 7, 0, 1, 4], pa.int64()),
        "d": pa.array([Decimal(n) / 4 for n in (1, 5, 2, 8, 3, 0, 1, 9)], pa.decimal128(9, 2)),
        "wide": pa.array([Decimal(n) * 10**25 for n in (1, 5, 2, 8, 3, 0, 1, 9)], pa.decimal128(38, 2)),
        "w": [0.5, math.nan, 1.5, -2.0, None, 0.0, 3.25, 8.0],
        "s": ["a", "b", None, "ab", "b", "c", "a", "a"],
        "k": [1, 2, 1, 1, 1, 2, 2, 1],
        "ts": pa.array([0, 1, 1, 2, 5, 6, 6, 9], pa.timestamp("s")),
    }
)

CASES = [
    # functions of one's own
    "SUMMARIZE residue(A.v IGNORE NULLS), count(*) MATCH A+",
    "SUMMARIZE residue(A.v) AS r, mean(B.v) MATCH A ; B+ BY start",
    "SUMMARIZE all_of(A.d) MATCH (A OR B)+ WITHIN 4 EVENTS",
    "SUMMARIZE total(m.n) MATCH A ; B+ AS b AGG m[n <- total(b.v)]",
    "SUMMARIZE residue(A.v IGNORE NULLS) MATCH A ; B PARTITION BY k BY k HAVING residue_A_v > 2",
    # products
    "SUMMARIZE product(B.v), product(A.w), product(A.v), product(A.v IGNORE NULLS) AS p MATCH A ; B",
    "SUMMARIZE product(C.v) MATCH A+ ; C",
    # decimals
    "SUMMARIZE sum(A.d), range(A.d), avg(A.d), min(A.d), stddev(A.d) MATCH A+",
    "SUMMARIZE sum(A.wide), max(A.wide), range(A.wide), avg(A.wide) MATCH A+",
    "SUMMARIZE first(A.wide), last(A.wide), count(A.wide) MATCH A ; B BY end",
    # keys that are made while the query runs
    "SUMMARIZE count(*) MATCH A ; B+ AS b AGG m[n <- max(b.v)] BY m.n",
    "SUMMARIZE count(*), log2_count(*) MATCH A ; B+ AS b AGG m[n <- sum(b.d), o <- max(b.s)] BY m.n, m.o",
    "SUMMARIZE count(*), residue(a.v IGNORE NULLS) MATCH A AS a ; B PROJECT a(v) BY a.v, a.position",
    # texts that are stored, and machines that run value by value
    "SUMMARIZE max(m.t), count(*) MATCH A ; B+ AS b AGG m[t <- max(b.s)]",
    "SUMMARIZE count(*), avg(b.v) MATCH A AS a ; B AS b FILTER a.s || b.s = 'aa' OR b.s = 'b'",
    "SUMMARIZE count(*), sum(m.n) MATCH A ; B+ AS b AGG m[n <- sum(b.d)] FILTER m.n > 1",
    "SUMMARIZE count(*) MATCH (A AGG m[n <- count(A)]) OR (A AGG m[n <- max(A.v)])",
    "SUMMARIZE residue(A.v IGNORE NULLS) MATCH A ; B UNLESS C",
    # windows
    "SUMMARIZE residue(B.v), count(*) MATCH A ; B+ OVER 4 EVENTS EVERY 3 EVENTS",
    "SUMMARIZE product(B.v), count(*) MATCH A ; B+ BY A.s OVER 4 SECONDS EVERY 1 SECOND",
    "SUMMARIZE sum(B.d), count(*) MATCH A ; B+ WITHIN 3 EVENTS OVER 4 SECONDS",
    "SUMMARIZE sum(B.d) MATCH A ; B+ PARTITION BY k BY k, end_time OVER 6 SECONDS EVERY 2 SECONDS",
]


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("bag_union", ["once", "additive"])
def test_the_meaning_is_followed(text: str, bag_union: Any) -> None:
    query = ac.query(text, bag_union=bag_union)
    expected = query.run(TABLE, order_by="ts", ties="keep", method="semantics")
    assert same(query.run(TABLE, order_by="ts", ties="keep"), expected)
    assert isinstance(summarizer_of(text, TABLE, order_by="ts", ties="keep"), ObjectSummarizer)


def test_components_are_taken_where_they_cover_all() -> None:
    text = "SUMMARIZE sum(A.v), avg(A.d) MATCH A+ BY start"
    assert isinstance(summarizer_of(text, TABLE), ByComponents)


def test_many_totals() -> None:
    items = ", ".join(
        f"{f}(A.{a}) AS t{n}" for n, (f, a) in enumerate(itertools.product(["min", "max", "sum"], "v" * 9))
    )
    more = ", ".join(f"min(A.v) + {n} AS u{n}, max(A.d) AS x{n}, count(A.s) AS y{n}" for n in range(20))
    query = ac.query(f"SUMMARIZE {items}, {more} MATCH A ; B")
    assert same(query.run(TABLE), query.run(TABLE, method="semantics"))


# --- random cases -------------------------------------------------------------------------------------------------


@pytest.mark.property
@given(case=short_cases())
def test_engine_and_meaning_agree(case: SummaryCase) -> None:
    with by_value():
        assert same(case.run("engine"), case.run("semantics"))


OWN = {"sum(": "total(", "avg(": "mean(", "max(": "all_of("}


@pytest.mark.property
@given(case=short_cases())
def test_engine_and_meaning_agree_on_functions_of_ones_own(case: SummaryCase) -> None:
    define()
    text = str(case.query())
    for name, own in OWN.items():
        text = text.replace(name, own)
    assume(text != str(case.query()))
    options: dict[str, Any] = {"order_by": case.order_by, "ties": "keep"}
    try:
        query = ac.query(text, bag_union=case.bag_union)
        expected = query.run(case.table, method="semantics", **options)
    except ac.AceleraError:
        assume(False)
    assert same(query.run(case.table, **options), expected)


@pytest.mark.property
@given(case=short_cases(), data=st.data())
def test_batches_and_snapshots_change_nothing(case: SummaryCase, data: st.DataObject) -> None:
    expected = case.run("engine")
    assume(not isinstance(expected, str))
    assert isinstance(expected, pa.Table)
    table, query = case.table, case.query()
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=4))})
    with by_value():
        session = query.open(table.schema, order_by=case.order_by, ties="keep")
        found = []
        for begin, end in itertools.pairwise(cuts):
            found.append(session.push(table.slice(begin, end - begin)))
            if data.draw(st.booleans()):
                session = query.resume(session.snapshot())
        assert isinstance(session, SummarySession)
        found.append(session.finish())
        assert same(session._rows.in_order(pa.concat_tables(found)), expected)


# --- numbers of matches that nobody could list ----------------------------------------------------------------------


def events(number: int) -> list[dict[str, Any]]:
    return [{"type": "A", "v": n % 7 + 1, "d": Decimal(n % 7 + 1) / 4, "w": (n % 7 + 1) / 4} for n in range(number)]


def test_functions_of_ones_own_over_all_choices() -> None:
    rows = events(300)
    (row,) = ac.query("SUMMARIZE residue(A.v), log2_count(*), mean(A.w) AS mean MATCH A+").run(rows).to_pylist()
    assert row["residue_A_v"] == sum(each["v"] for each in rows) * pow(2, 299, PRIME) % PRIME
    assert row["log2_count"] == pytest.approx(300)
    assert row["mean"] == pytest.approx(sum(each["w"] for each in rows) / 300)


def test_averages_over_all_choices() -> None:
    rows = events(1050)
    query = ac.query("SUMMARIZE avg(A.v), avg(A.d), avg(A.w), variance(A.w), sum(A.w), product(A.w) MATCH A+")
    with by_value():
        (row,) = query.run(rows).to_pylist()
    mean = sum(each["v"] for each in rows) / 1050
    assert row["avg_A_v"] == pytest.approx(mean, rel=1e-15)
    assert row["avg_A_d"] == row["avg_A_w"] == pytest.approx(mean / 4, rel=1e-15)
    assert row["variance_A_w"] == pytest.approx(sum((each["w"] - mean / 4) ** 2 for each in rows) / 1050)
    assert row["sum_A_w"] == math.inf


def test_sums_that_cancel_are_exact() -> None:
    values = [Decimal("0.10"), Decimal("-0.10")] * 200
    table = pa.table({"type": ["A"] * 400, "d": pa.array(values, pa.decimal128(9, 2)), "w": list(map(float, values))})
    query = ac.query("SUMMARIZE sum(A.d), sum(A.w), log2_count(*) MATCH A+")
    assert query.run(table).to_pylist() == [{"sum_A_d": Decimal("0.00"), "sum_A_w": 0.0, "log2_count": 400.0}]


def test_products_over_all_choices() -> None:
    rows = [{"type": "A", "v": v, "w": w} for v, w in [(1, 2.0), (-1, 0.5), (1, 1.0)] * 100]
    assert ac.query("SUMMARIZE product(A.v), product(A.w) AS w MATCH A+").run(rows).to_pylist() == [
        {"product_A_v": 1, "w": 1.0}
    ]
    rows[150]["v"] = 0
    assert ac.query("SUMMARIZE product(A.v) MATCH A+").run(rows).to_pylist() == [{"product_A_v": 0}]
    rows[150]["v"] = 2
    with pytest.raises(ac.AggregateError, match="integer overflow"):
        ac.query("SUMMARIZE product(A.v) MATCH A+").run(rows)
    rows[10]["v"] = 0
    assert ac.query("SUMMARIZE product(A.v) MATCH A+").run(rows).to_pylist() == [{"product_A_v": 0}]


def test_keys_that_are_made_over_all_choices() -> None:
    """The largest of 1 … n is k in the matches that take k and any of those below it."""
    rows = [{"type": "A", "v": n} for n in range(1, 61)]
    query = ac.query("SUMMARIZE count(*) MATCH A+ AS a AGG m[top <- max(a.v)] BY m.top")
    assert query.run(rows).to_pylist() == [{"m_top": n, "count": 2 ** (n - 1)} for n in range(1, 61)]


def test_work_does_not_grow_with_the_number_of_matches() -> None:
    combined = 0

    def combine(left: int, right: int) -> int:
        nonlocal combined
        combined += 1
        return (left + right) % PRIME

    ac.aggregate("watched", lift=lambda v: v, combine=combine, identity=0)
    for number in (40, 80):
        combined = 0
        ac.query("SUMMARIZE watched(A.v) MATCH A+").run(events(number))
        assert combined < 3 * number**2


# --- states ---------------------------------------------------------------------------------------------------------


FUNCTIONS = ["sum", "avg", "min", "range", "variance", "count", "residue", "mean"]
FOLDS = [*itertools.product(FUNCTIONS, ["int", "float", "decimal"]), ("product", "int"), ("product", "float")]


OFTEN = st.lists(st.tuples(st.integers(-4, 4), st.integers(1, 9)), min_size=1, max_size=4)
"""Numbers, and how often each counts."""


@pytest.mark.parametrize(("function", "kind"), FOLDS)
def test_a_value_that_counts_often_is_that_value_often(function: str, kind: str) -> None:
    schema = {"type": str, "v": {"int": "int", "float": "float", "decimal": pa.decimal128(9, 2)}[kind]}
    of_kind = {"int": int, "float": float, "decimal": Decimal}[kind]
    aggregate, fold = find_aggregate(function), folding.fold_of(total_of(f"{function}(A.v)", schema))
    assert aggregate is not None and fold is not None

    @given(OFTEN)
    def holds(drawn: list[tuple[int, int]]) -> None:
        state, plain = fold.identity, aggregate.identity
        for number, times in drawn:
            value = of_kind(number)
            state = fold.step(state, 1, value, times, False)
            for _ in range(times):
                plain = aggregate.step(plain, 1, value, False)
        assert fold.value(state) == pytest.approx(aggregate.value(plain))

    holds()


def total_of(item: str, schema: dict[str, Any]) -> Any:
    session = ac.query(f"SUMMARIZE {item} MATCH A+").open(schema)
    assert isinstance(session, SummarySession)
    return session.summarizer.summary.totals[0]


# --- errors ---------------------------------------------------------------------------------------------------------


def test_failures_of_ones_own_functions() -> None:
    rows = [{"type": "A", "v": 1}, {"type": "A", "v": 0}, {"type": "B", "v": 2}]
    with pytest.raises(ac.AggregateError, match="`inverse` failed: ZeroDivisionError"):
        ac.query("SUMMARIZE inverse(A.v) MATCH A ; B").run(rows)
    # what failed and is in no match is no error
    assert ac.query("SUMMARIZE inverse(A.v) MATCH A ; C").run(rows).num_rows == 0
    assert ac.query("SUMMARIZE inverse(B.v) MATCH A ; B").run(rows).to_pylist() == [{"inverse_B_v": 0.5}]


def test_states_that_grow_with_the_matches_are_refused() -> None:
    grows = pytest.raises(ac.AggregateError, match="its state grows with the number of values")
    with patch.object(folding, "LARGEST_STATE", 1 << 10), grows:
        ac.query("SUMMARIZE all_of(A.v) MATCH A+").run(events(60))
    failed = folding._own(find_aggregate("total")).merged(1 << 2_000_000, 1)  # type: ignore[arg-type]
    assert isinstance(failed, Failure)


def test_counts_that_do_not_fit() -> None:
    for item in ("count(*)", "count(A)", "count(A.v)"):
        with pytest.raises(ac.AggregateError, match=r"log2_count\(\*\)"):
            ac.query(f"SUMMARIZE {item}, residue(A.v) MATCH A+").run(events(70))
    with pytest.raises(ac.AggregateError, match="integer overflow"):
        ac.query("SUMMARIZE sum(A.d) MATCH A+").run(events(140))


def test_a_key_that_failed_is_an_error_if_it_is_in_a_match() -> None:
    rows = [{"type": "A", "v": 2**62}, {"type": "A", "v": 2**62}, {"type": "B", "v": 0}]
    text = "SUMMARIZE count(*) MATCH (A+ AS a AGG m[n <- sum(a.v)]) ; {} BY m.n"
    with pytest.raises(ac.AggregateError, match="integer overflow"):
        ac.query(text.format("B")).run(rows)
    assert ac.query(text.format("C")).run(rows).num_rows == 0


def test_states_that_are_no_data_cannot_be_stored() -> None:
    ac.aggregate("odd", lift=lambda v: complex(v), combine=lambda a, b: a + b, identity=0j, finish=lambda s: s.real)
    session = ac.query("SUMMARIZE odd(A.v) MATCH A+").open({"type": str, "v": float})
    session.push([{"type": "A", "v": 1.0}])
    with pytest.raises(ac.SnapshotError, match="complex"):
        session.snapshot()


# --- what is told ---------------------------------------------------------------------------------------------------


def engine_lines(text: str) -> str:
    return ac.query(text).explain(TABLE.schema, order_by="ts").partition("\nengine\n")[2]


def test_explain_says_how_a_summary_runs() -> None:
    assert engine_lines("SUMMARIZE count(*) MATCH A+").startswith("  by tables: constant work")
    told = engine_lines("SUMMARIZE count(*), residue(A.v) MATCH A+ WITHIN 3 SECONDS BY start")
    assert "value by value in Python, which is slow: there are no numbers that can be added for residue(A.v)" in told
    assert "none is listed" in told
    assert "WITHIN and BY start" in told
    assert "sum(A.d) adds values of type decimal128(9, 2)" in engine_lines("SUMMARIZE sum(A.d) MATCH A+")
    assert "m.n is made while the query runs" in engine_lines(
        "SUMMARIZE count(*) MATCH A+ AS a AGG m[n <- sum(a.v)] BY m.n"
    )
    overlapping = "SUMMARIZE count(*) MATCH A+ OVER 3 EVENTS EVERY 1 EVENTS"
    assert "OVER … EVERY by products of matrices" in engine_lines(overlapping)
    assert "windows overlap" in engine_lines(f"{overlapping}".replace("A+", "A+ AS x FILTER x[increasing(v)]"))


def test_explain_says_what_a_summary_needs() -> None:
    assert "never listed" in ac.query("SUMMARIZE count(*) MATCH A+").explain()
    assert "OVER … EVENTS counts positions" in ac.query("SUMMARIZE count(*) MATCH A ; B OVER 3 EVENTS").explain()
    assert "positions that are asked for" in ac.query("SUMMARIZE count(*) MATCH A ; B BY start").explain()


def test_functions_of_ones_own_go_with_the_query() -> None:
    query = ac.query("SUMMARIZE residue(A.v) MATCH A+")
    compiled = query._compiled(schema_of({"type": str, "v": int}))
    assert [each.name for each in compiled.aggregates] == ["residue"]


# --- what components do as well -------------------------------------------------------------------------------------


@pytest.mark.parametrize("items", ["first(A.v), last(A.v)", "first(A.v), last(A.v), residue(A.v)"])
def test_positions_go_on_where_they_are_compared(items: str) -> None:
    query = ac.query(f"SUMMARIZE {items} MATCH A : B PARTITION BY k WITHIN 2 EVENTS BY k")
    session = query.open({"type": str, "v": int, "k": int})
    for batch in ("CCCCAB", "AB"):
        session.push([{"type": kind, "v": len(batch), "k": 1} for kind in batch])
        session.push([{"type": "C", "v": 0, "k": 2}])
        session = query.resume(session.snapshot())  # keys without an open match are forgotten
    assert isinstance(session, SummarySession)
    (row,) = session.finish().to_pylist()
    assert (row["first_A_v"], row["last_A_v"]) == (6, 2)


def test_rows_of_a_table_are_ordered_by_keys() -> None:
    rows = [{"type": "A", "v": v} for v in (3, 1, 2)]
    query = ac.query("SUMMARIZE count(*) MATCH A BY A.v, end")
    assert query.run(rows).column("A_v").to_pylist() == [1, 2, 3]
    with pytest.warns(ac.AceleraWarning, match="limit=2"):
        assert query.run(rows, limit=2).column("A_v").to_pylist() == [1, 2]


def test_windows_over_events_that_overlap_are_all_given() -> None:
    rows = [{"type": "A"}] * 6
    query = ac.query("SUMMARIZE count(*) MATCH A+ OVER 4 EVENTS EVERY 2 EVENTS")
    assert query.run(rows).column("count").to_pylist() == [15, 15, 3]


def test_negated_items() -> None:
    query = ac.query("SUMMARIZE count(*) IS NOT NULL AS x, NOT (count(*) > 1) AS y MATCH A")
    assert query.run([{"type": "A"}]).to_pylist() == [{"x": True, "y": True}]
