"""Rows that are equal under order_by: all methods put them into the same order, however they come."""

import datetime
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from acelera.report.findings import Findings, Limits
from strategies import absent_cases, checked_query, formulas, long_stream, unordered
from tied import rearranged, tied

WHICH = st.sampled_from(["any", "drop"])
JUDGES = ("automaton", "semantics")


@st.composite
def tied_cases(draw: st.DrawFn) -> tuple[ast.Query, pa.Table]:
    """A query, and a short stream whose rows tie."""
    if draw(st.booleans()):
        tree, table = draw(absent_cases())
        table = table.slice(0, 6)
    else:
        keys = draw(st.sampled_from([(), ("k",), ("k", "s")]))
        tree = ast.Query(draw(formulas(depth=draw(st.integers(0, 2)))), partition_by=tuple(map(ast.Key, keys)))
        table = long_stream(draw(st.integers(0, 2**32 - 1)), draw(st.integers(1, 6)), 2, 3)
    return tree, tied(table, draw(st.integers(0, 2**32 - 1)), draw(st.sampled_from([1_000, 3_000, 10**6])))


def shown(tables: list[pa.Table]) -> list[str]:
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def outcome(query: ac.Query, table: pa.Table, **options: Any) -> Any:
    """The rows of the result, or the error."""
    try:
        result = query.run(table, order_by="ts", **options)
    except (ac.AggregateError, ac.SchemaError, ac.UsageError) as error:
        return str(error)
    return shown([result])


@pytest.mark.property
@given(case=tied_cases(), ties=WHICH, data=st.data())
def test_all_methods_find_the_same(case: tuple[ast.Query, pa.Table], ties: str, data: st.DataObject) -> None:
    tree, table = case
    query = checked_query(tree, table, "once", "ts")
    rows = data.draw(st.sampled_from(["matches", "matches", "events"]))
    expected = outcome(query, table, method="semantics", ties=ties, rows=rows)
    assert outcome(query, table, method="automaton", ties=ties, rows=rows) == expected
    assert outcome(query, table, ties=ties, rows=rows) == expected
    # however the rows come
    other = data.draw(rearranged(table, within=False))
    assert outcome(query, other, ties=ties, rows=rows) == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 2))
@given(case=tied_cases(), ties=WHICH, data=st.data())
def test_cuts_within_ties_change_nothing(case: tuple[ast.Query, pa.Table], ties: str, data: st.DataObject) -> None:
    tree, table = case
    query = checked_query(tree, table, "once", "ts")
    expected = outcome(query, table, method="automaton", ties=ties)
    if isinstance(expected, str):
        return
    whole = query.open(table.schema, order_by="ts", ties=ties)
    whole.push(table)
    whole.finish()
    table = data.draw(rearranged(table))
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=5))})
    session = query.open(table.schema, order_by="ts", ties=ties)
    found = [session.schema.empty_table()]
    for begin, end in itertools.pairwise(cuts):
        found.append(session.push(table.slice(begin, end - begin)))
        if data.draw(st.booleans()):
            session = query.resume(session.snapshot())
        if data.draw(st.booleans()):
            session.compact()
        ticks = table["ts"].cast(pa.int64())
        if end < table.num_rows and data.draw(st.booleans()):
            found.append(session.advance(ticks[end].as_py()))
    found.append(session.finish())
    assert shown(found) == expected
    assert session.events + session.dropped == table.num_rows
    assert (session.events, session.tied, session.dropped) == (whole.events, whole.tied, whole.dropped)
    assert shown([query.stream(table, order_by="ts", ties=ties).read_all()]) == expected


SUMMARIES = [
    "SUMMARIZE count(*) AS n, sum(a.u) AS s MATCH ANY AS a ; ANY AS b FILTER a.u < b.u PARTITION BY k BY k, end_time",
    "SUMMARIZE count(*) AS n MATCH ANY AS a : ANY AS b FILTER a.u < b.u WITHIN 4 SECONDS OVER 5 SECONDS",
    "SUMMARIZE count(*) AS n, max(b.v) AS m MATCH ANY AS a ; ANY AS b BY b.type",
]


@pytest.mark.parametrize("text", SUMMARIES)
@pytest.mark.parametrize("ties", ["any", "drop"])
def test_summaries(text: str, ties: str) -> None:
    query, table = ac.query(text), tied(long_stream(7, 60, 3, 4), 8)
    expected = query.run(table, order_by="ts", ties=ties, method="semantics")
    assert query.run(table, order_by="ts", ties=ties) == expected
    session = query.open(table.schema, order_by="ts", ties=ties)
    found = []
    for begin in range(0, table.num_rows, 7):
        found.append(session.push(table.slice(begin, 7)))
        session = query.resume(session.snapshot())
    found.append(session.finish())
    assert shown(found) == shown([expected])


# --- by hand ------------------------------------------------------------------------------------------------------

AT = datetime.datetime(2024, 1, 1)


def test_the_order_is_that_of_all_columns_by_name() -> None:
    """NULL is first and NaN last, texts by their bytes; what is shown of them has no say in it."""
    values = [None, float("-inf"), -1.0, 0.0, 2.0, float("nan")]
    rows = [{"type": "A", "t": 1, "c": text, "b": each} for text in (None, "", "Z", "a", "é", "😀") for each in values]
    order = [(row["b"], row["c"]) for row in sorted(rows, key=lambda row: values.index(row["b"]))]
    mixed = [rows[each] for each in np.random.default_rng(3).permutation(len(rows))]
    for method in ("engine", *JUDGES):
        found = ac.query("SELECT a.b, a.c, start MATCH A AS a").run(mixed, order_by="t", ties="any", method=method)
        backwards = pa.Table.from_pylist(mixed).select(["c", "type", "b", "t"])
        again = ac.query("SELECT a.b, a.c, start MATCH A AS a").run(backwards, order_by="t", ties="any", method=method)
        assert repr(again.to_pylist()) == repr(found.to_pylist())
        assert [repr((row["a_b"], row["a_c"])) for row in found.to_pylist()] == list(map(repr, order))


def test_what_has_parts_is_ordered_by_them() -> None:
    lists = [None, [], [None], [1], [1, 1], [2]]
    structs = [{"y": y, "x": x} for x in (None, 1) for y in (0, 2)]
    maps = pa.array([[("b", 1)], [("a", 2)], [("a", 1)]], pa.map_(pa.string(), pa.int64()))
    for column, expected in (
        (pa.array(lists[::-1]), lists),
        (pa.array(structs[::-1]), structs),
        (maps, [[("a", 1)], [("a", 2)], [("b", 1)]]),
        (pa.array([b"\xff", b"", b"a"]), [b"", b"a", b"\xff"]),
        (pa.array([2**63, 1], pa.uint64()), [1, 2**63]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["a", "b", "b"]),
    ):
        table = pa.table({"type": ["A"] * len(column), "t": [1] * len(column), "x": column})
        for method in ("engine", *JUDGES):
            found = ac.query("SELECT a.x MATCH A AS a").run(table, order_by="t", ties="any", method=method)
            assert found.column(0).to_pylist() == expected


def test_equal_rows_both_count_or_are_one() -> None:
    rows = [{"type": "A", "t": 1, "v": 1}] * 2 + [{"type": "B", "t": 2, "v": 1}] * 2
    query = ac.query("MATCH A ; B")
    for method in ("engine", *JUDGES):
        assert query.run(rows, order_by="t", ties="any", method=method).num_rows == 4
        assert query.run(rows, order_by="t", ties="drop", method=method).num_rows == 1


def test_what_a_session_counts() -> None:
    def event(t: int, k: str, v: int) -> dict[str, Any]:
        return {"type": "A", "t": t, "k": k, "v": v}

    session = ac.query("MATCH A ; A PARTITION BY k").open(
        {"type": str, "t": int, "k": str, "v": int}, order_by="t", ties="drop"
    )
    session.push([event(1, "x", 1), event(1, "y", 1), event(1, "x", 1), event(1, "x", 2)])
    assert (session.events, session.tied, session.dropped) == (0, 0, 0), "more rows of that time may come"
    session.push([event(1, "x", 2), event(2, "x", 2)])
    assert (session.events, session.tied, session.dropped) == (3, 1, 2)
    assert session.finish().num_rows == 2
    assert (session.events, session.tied, session.dropped) == (4, 1, 2)


def test_rows_wait_for_those_that_are_equal() -> None:
    query = ac.query("SELECT a.v, b.v MATCH A AS a ; A AS b")
    session = query.open({"type": str, "ts": "timestamp", "v": int}, order_by="ts", ties="any")
    at = [{"type": "A", "ts": AT, "v": each} for each in (3, 1, 2)]
    assert session.push(at[:1]).num_rows == session.push(at[1:]).num_rows == 0
    assert session.due() is not None
    assert session.advance(AT).num_rows == 0, "a row of that time may still come"
    later = AT + datetime.timedelta(seconds=1)
    assert session.advance(later).to_pylist() == [{"a_v": 1, "b_v": 2}, {"a_v": 1, "b_v": 3}, {"a_v": 2, "b_v": 3}]
    with pytest.raises(ac.DataError, match=r"row 4 is equal under ts to rows that were read already"):
        session.push(at[:1])
    assert session.push([{"type": "A", "ts": later, "v": 4}]).num_rows == 0
    with pytest.raises(ac.DataError, match="row 5 comes before the last row"):
        session.push(at[:1])
    assert session.finish().num_rows == 3


def test_what_cannot_be_done_is_said() -> None:
    rows = [{"type": "A", "t": 1, "v": 1}]
    for method in ("engine", *JUDGES):
        with pytest.raises(ac.UsageError, match=r"ties='drop' looks for equal rows .* under order_by; name it"):
            ac.query("MATCH A").run(rows, ties="drop", method=method)
    mixed = pa.UnionArray.from_dense(
        pa.array([0, 1], pa.int8()), pa.array([0, 0], pa.int32()), [pa.array([1]), pa.array(["x"])]
    )
    table = pa.table({"type": ["A", "A"], "t": [1, 1], "v": mixed})
    with pytest.raises(ac.DataError, match=r"differ in the column `v` of type .*Add a column to order_by"):
        ac.query("SELECT start MATCH A").run(table, order_by="t", ties="any")


def test_what_a_report_shows() -> None:
    rows = [{"type": "A", "t": 1, "v": 2}, {"type": "A", "t": 1, "v": 1}, {"type": "B", "t": 2, "v": 1}] * 2
    options = {"order_by": "t", "type_column": "type", "event_type": None}
    found = ac.query("MATCH A ; B").findings(rows, options, Limits(10, 10), "drop")
    assert isinstance(found, Findings) and (found.events_found, found.matches_found) == (3, 2)
