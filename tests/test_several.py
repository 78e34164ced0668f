"""Several queries in one pass: each finds what it finds alone, in the same order, with the same warnings."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine import begun, shared_tests
from acelera.language import ast
from strategies import KEPT_MATCHES, absences, checked_query, long_cases, long_stream
from tied import tied

SUMMARIES = [
    "SUMMARIZE count(*) AS n, max(A.v) AS high MATCH A ; B PARTITION BY k BY k OVER 5 SECONDS",
    "SUMMARIZE count(*) MATCH A : B",
    "SUMMARIZE sum(x.u) AS total MATCH (A OR C) AS x BY x.s",
    "SUMMARIZE count(*) MATCH A ; B WITHIN 3 EVENTS BY end",
    "SUMMARIZE count(*) MATCH A AS a ; B AS b FILTER a.v < b.v PARTITION BY k, s WITHIN 2 SECONDS BY k, end_time",
]

Found = tuple[Any, list[str]]


def told(run: Callable[[], Any]) -> Found:
    """What is found, or what is wrong, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = run()
        except ac.AceleraError as error:
            found = error
    once = "nothing can match"  # said when a query is compiled, which happens once
    return found, [str(each.message) for each in caught if not str(each.message).startswith(once)]


@st.composite
def several_cases(draw: st.DrawFn) -> tuple[dict[str, tuple[ac.Query, str]], pa.Table]:
    """Some queries over one stream, with rows of matches or of events."""
    trees = []
    for _ in range(draw(st.integers(1, 3))):
        tree, table = draw(long_cases())
        if not draw(st.integers(0, 3)):
            tree = ast.Query(draw(absences(tree.formula)), partition_by=tree.partition_by, within=tree.within)
        elif not draw(st.integers(0, 3)):
            tree = ast.Query(tree.formula, partition_by=tree.partition_by, within=tree.within, keep=draw(KEPT_MATCHES))
        trees.append(tree)
    table = table.slice(0, 150)
    made = [checked_query(tree, table, "once", "ts") for tree in trees]
    made += [ac.query(text) for text in draw(st.lists(st.sampled_from(SUMMARIES), max_size=2))]
    named = {f"q{number}": query for number, query in enumerate(made)}
    shown = {}
    for name, query in named.items():
        rows = draw(st.sampled_from(["matches", "matches", "events"]))
        try:
            query.check(table.schema, order_by="ts", rows=rows)
        except ac.AceleraError:
            rows = "matches"
        shown[name] = (query, rows)
    return shown, table


@pytest.mark.property
@given(case=several_cases(), data=st.data())
def test_each_finds_what_it_finds_alone(case: tuple[dict[str, tuple[ac.Query, str]], pa.Table], data: Any) -> None:
    named, table = case
    with narrowing(data):
        compare(named, table, data)


@contextmanager
def narrowing(data: Any) -> Iterator[None]:
    """Mostly, it is always looked where matches have begun, over short parts of the stream, and keys are forgotten."""
    if not data.draw(st.integers(0, 3)):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("acelera.several.ROWS_AT_ONCE", data.draw(st.sampled_from([1, 7, 40])))
        patch.setattr(shared_tests, "LEAST_REACTING", data.draw(st.sampled_from([0, 0.3])))
        patch.setattr(shared_tests, "MOST_BEGINNING", data.draw(st.sampled_from([0.2, 1])))
        patch.setattr(begun, "MOST_KEYS", data.draw(st.sampled_from([1, 1 << 21])))
        yield


def compare(named: dict[str, tuple[ac.Query, str]], table: pa.Table, data: Any) -> None:
    """What each of some queries finds alone, and what all find in one pass."""
    if data.draw(st.booleans()):
        table = table.take(pa.array(data.draw(st.permutations(range(table.num_rows)))))
    waiting = any(q.ast.keep is not None or " FOR " in str(q) for q, _ in named.values())
    limit = None if waiting else data.draw(st.sampled_from([None, None, 3]))  # the first that are known
    ties = data.draw(st.sampled_from(["keep", "keep", "error", "any", "drop"]))
    if ties in ("any", "drop"):
        table = tied(table, data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from([1_000, 10_000])))
    options = {"order_by": "ts", "ties": ties, "limit": limit}
    alone = {name: told(lambda q=q, r=r: q.run(table, rows=r, **options)) for name, (q, r) in named.items()}
    mistaken = [name for name, (found, _) in alone.items() if isinstance(found, Exception)]
    queries, rows = {name: q for name, (q, _) in named.items()}, {name: r for name, (_, r) in named.items()}
    together, warned = told(lambda: ac.run_all(queries, table, rows=rows, **options))
    if mistaken:
        assert isinstance(together, ac.AceleraError)
        assume("tie" in str(together) or any(str(alone[name][0]) in str(together) for name in mistaken))
        return
    assert not isinstance(together, Exception), together
    assert list(together) == list(named)
    for name, (found, _) in alone.items():
        assert together[name].schema == found.schema
        rows_of_both = [list(map(repr, each.to_pylist())) for each in (together[name], found)]
        if limit is None:  # matches that start and end alike have no order among them
            rows_of_both = list(map(sorted, rows_of_both))
        assert rows_of_both[0] == rows_of_both[1]
    assert warned == [each for _, messages in alone.values() for each in messages]


def test_many_tests_and_many_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """More tests than go into one word, events of which each has words of its own, and parts of a table."""
    table = long_stream(1, 3_000, 20, 10**6)
    texts = [
        f"SELECT a.v, b.v, end MATCH A AS a ; B AS b FILTER a.v > {n * 11_000} AND b.v < {n * 7_000} AND a.w > {n / 50}"
        f" PARTITION BY k WITHIN {n} SECONDS"
        for n in range(1, 60)
    ]
    texts.append("SELECT a.v, end_time MATCH A AS a : B FILTER a.v > 30000 PARTITION BY k")
    queries = {f"q{number}": ac.query(text) for number, text in enumerate(texts)}
    monkeypatch.setattr("acelera.several.ROWS_AT_ONCE", 700)
    for few in (0, 10**6):
        monkeypatch.setattr(shared_tests, "_FEW", few)
        found = ac.run_all(queries, table, order_by="ts", ties="keep")
        for name, query in queries.items():
            assert found[name].equals(query.run(table, order_by="ts", ties="keep"))
    assert sum(each.num_rows for each in found.values()) > 100


NUMBERS = {
    "int8": pa.array([-1, 0, 1, None, 5, 127], pa.int8()),
    "int64": pa.array([2**53, 2**53 + 1, -(2**63), 2**63 - 1, None, 0], pa.int64()),
    "float": pa.array([0.0, -0.0, float("nan"), None, float("inf"), 1.5], pa.float64()),
    "float32": pa.array([0.1, 0.5, float("nan"), None, -float("inf"), 1.5], pa.float32()),
    "dictionary": pa.array([1, 2, None, 2, 3, 0]).dictionary_encode(),
    "text": pa.array(["", "a", None, "b", "é", "\U0001f600"]),
    "words": pa.array(["", "a", None, "b", "é", "b"]).dictionary_encode(),
    "decimal": pa.array([1, 2, None, 0, 5, 7]).cast(pa.decimal128(21, 2)),
}


@pytest.mark.parametrize("column", NUMBERS)
def test_comparisons_with_constants_are_what_they_are_alone(column: str) -> None:
    table = pa.table({"type": ["A"] * 6, "n": range(6), "x": NUMBERS[column]})
    constants = (
        ["''", "'a'", "'b'", "'é'"] if column in ("text", "words") else "0 1 2 -1 1.5 0.1 9007199254740993".split()
    )
    queries = {
        f"{sign} {constant}": ac.query(f"SELECT A.n MATCH A FILTER A.x {sign} {constant}")
        for sign in ("=", "<>", "<", "<=", ">", ">=")
        for constant in constants
    }
    queries |= {
        f"in {n}": ac.query(f"SELECT A.n MATCH A FILTER A.x IN ({', '.join(constants[:n])})") for n in (1, 2, 4)
    }
    queries |= {f"mirrored {c}": ac.query(f"SELECT A.n MATCH A FILTER {c} < A.x") for c in constants}
    found = ac.run_all(queries, table)
    assert {name: each.to_pylist() for name, each in found.items()} == {
        name: query.run(table).to_pylist() for name, query in queries.items()
    }


def test_what_several_ask_for_is_made_once() -> None:
    queries = {
        "one": ac.query("MATCH A AS a ; B FILTER a.v > 3 AND a.s LIKE 'x%' WITHIN 5 EVENTS"),
        "two": ac.query("SELECT z.v MATCH A AS z ; C FILTER z.v > 3"),
        "back": ac.query("MATCH A:+ AS m FILTER m[v > prev(v)]"),
        "next": ac.query("SELECT A.v MATCH A : C"),
    }
    assert ac.explain_all(queries, {"type": str, "v": int, "s": str}).splitlines() == [
        "4 queries, 1 pass",
        "  tests of one event: 5 for all, where the queries alone make 10",
        "  one: reads all events: it matters which event stands right after another, or at which position",
        "  two: reads the events that may matter to it",
        "  back: reads all events: it matters which event stands right after another, or at which position",
        "  next: reads all events from where a match may have begun: it matters which stands right after another",
    ]


def test_any_table_and_any_source() -> None:
    rows = [{"ts": n, "type": kind, "v": n % 3} for n, kind in enumerate("ABCABC")]
    queries = {"pairs": ac.query("SELECT start, end MATCH A ; B"), "sums": ac.query("SUMMARIZE count(*) MATCH A ; C")}
    expected = {name: query.run(rows, order_by="ts").to_pylist() for name, query in queries.items()}
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    table = pa.Table.from_pylist(rows)
    for given_rows in (rows, table, table.to_reader(), pandas.DataFrame(rows), polars.DataFrame(rows)):
        found = ac.run_all(queries, given_rows, order_by="ts")
        assert {name: each.to_pylist() for name, each in found.items()} == expected


def test_streams_of_one_type_and_of_several() -> None:
    table = pa.table({"v": [1, 2, 3]})
    queries = {"x": ac.query("SELECT x.v FROM x MATCH x FILTER x.v > 1"), "y": ac.query("SELECT y.v FROM y MATCH y")}
    found = ac.run_all(queries, table)
    assert found["x"].to_pylist() == [{"x_v": 2}, {"x_v": 3}]
    assert found["y"].num_rows == 3
    assert ac.run_all(queries, table.slice(0, 0))["y"].num_rows == 0


def test_the_clock_is_that_of_all_events() -> None:
    """An event that does not matter to a query lets time pass for it."""
    rows = [{"ts": ts, "type": kind} for ts, kind in ((0, "A"), (10, "A"), (19, "Z"))]
    table = pa.table({"type": [r["type"] for r in rows], "ts": pa.array([r["ts"] for r in rows], pa.timestamp("s"))})
    queries = {"alone": ac.query("SELECT start_time MATCH A UNLESS B FOR 10 SECONDS"), "all": ac.query("MATCH ANY")}
    assert ac.run_all(queries, table, order_by="ts")["alone"].num_rows == 1
    assert ac.run_all(queries, table, order_by="ts", until="1970-01-01 00:00:20")["alone"].num_rows == 2
    with pytest.raises(ac.UsageError, match="until=… lies before the last event"):
        ac.run_all(queries, table, order_by="ts", until="1970-01-01 00:00:18")


A = ac.query("MATCH A")


@pytest.mark.parametrize(
    ("queries", "options", "message"),
    [
        ({}, {}, "takes queries by name"),
        ([A], {}, "takes queries by name"),
        ({"a": "MATCH A"}, {}, r"`a` is str, not a query; make it with acelera.query\(…\)"),
        ({1: A}, {}, "1 is not a name"),
        ({"a": A}, {"rows": {"b": "events"}}, "there is no query `b`"),
        ({"a": A}, {"rows": "lines"}, "query `a`: rows='lines' is not known"),
        ({"a": A, "b": ac.query("MATCH A FILTER A.w > 1")}, {}, "query `b`: .*no attribute `w` in A"),
        ({"a": A}, {"late_events": "late"}, "for streaming DataFrames"),
        ({"a": A}, {"ties": "some"}, "ties='some' is not known"),
        ({"a": A}, {"limit": 0}, "limit=0 is not a number of matches"),
        ({"a": A}, {"order_by": "u"}, "query `a`: .*`u`"),
        ({"a": A, "b": ac.query("MATCH A PARTITION BY v")}, {"order_by": "n"}, "rows 1 and 2 tie"),
    ],
)
def test_what_is_wrong_is_told_with_its_query(queries: Any, options: dict[str, Any], message: str) -> None:
    table = pa.table({"type": ["A", "B"], "v": [1, 2], "n": [1, 1]})
    with pytest.raises(ac.AceleraError, match=message):
        ac.run_all(queries, table, **options)


def test_rows_that_tie_where_nobody_looks_are_refused() -> None:
    table = pa.table({"type": ["A", "Z", "Z"], "k": [1, 2, 2], "n": [1, 2, 2]})
    by_key = ac.query("MATCH A PARTITION BY k")
    with pytest.raises(ac.DataError, match="rows 2 and 3 tie: both have n = 2 within the partition k = 2"):
        ac.run_all({"a": by_key}, table, order_by="n")
    apart = table.set_column(1, "k", pa.array(np.arange(3)))
    assert ac.run_all({"a": by_key}, apart, order_by="n")["a"].num_rows == 1
