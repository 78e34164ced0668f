"""Random summaries on Spark, against the same in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from acelera.language.lowering import UnsupportedError
from engine.test_sessions import long_stream
from summaries.strategies import SummaryCase, long_cases, same, short_cases
from tiers import thinned

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "3"))
FAILED = "an aggregate failed"


@st.composite
def cases(draw: st.DrawFn) -> SummaryCase:
    """A summary as it comes, or one that is cut into slices of time or into stretches."""
    case = draw(st.one_of(short_cases(), long_cases()))
    cut = draw(st.sampled_from(["as it is", "windows", "starts", "stretches"]))
    return case if cut == "as it is" else alone(case, cut, draw(st.integers(1, 9)), draw(st.integers(1, 9)))


def alone(case: SummaryCase, cut: str, length: int, every: int) -> SummaryCase:
    """A summary without partitions and positions among its keys, with windows of time, WITHIN a time, or neither."""
    summary = case.tree.summary
    assert summary is not None
    by = tuple(key for key in summary.by if not isinstance(key, ast.SelectVariable) and not is_position(key))
    over = ast.Over(length, "seconds", every, "seconds") if cut == "windows" else None
    within = ast.Within(length, "seconds") if cut == "starts" else None
    tree = replace(case.tree, partition_by=(), within=within, summary=ast.Summary(summary.items, by, over))
    return replace(case, tree=tree, order_by="ts")


def is_position(key: ast.GroupKey) -> bool:
    return isinstance(key, ast.SelectBound) and not key.bound.endswith("time")


CASES = cases()


def for_spark(case: SummaryCase, zone: str | None) -> tuple[pa.Table, list[str]]:
    """The stream with types that Spark has and with numbered rows, and what orders it."""
    table = case.table.append_column("n", pa.array(range(case.table.num_rows), pa.int64()))
    kinds = {"ts": pa.timestamp("us"), "gap": pa.duration("us")}
    table = table.cast(pa.schema([(each.name, kinds.get(each.name, each.type)) for each in table.schema]))
    at = table.column_names.index("ts")
    table = table.set_column(at, "ts", table.column("ts").cast(pa.timestamp("us", zone)))
    return table, ["n"] if case.order_by is None else [case.order_by, "n"]


def expected_of(query: ac.Query, table: pa.Table, order_by: list[str]) -> pa.Table | str:
    try:
        return query.run(table, order_by=order_by)
    except ac.AggregateError:
        return FAILED
    except UnsupportedError:
        assume(False)
        raise


def found_by(run: Callable[[], pa.Table]) -> pa.Table | str:
    try:
        return run()
    except Exception as error:
        if "AggregateError" not in str(error):
            raise
        return FAILED


def in_one_order(table: pa.Table | str, query: ac.Query) -> pa.Table | str:
    """Rows by what tells them apart, whatever that is."""
    if isinstance(table, str):
        return table
    items = set(table.column_names[-len(query.clauses.summary.items) :])  # type: ignore[union-attr]
    names = [name for name in table.column_names if name not in items]
    rows = table.select(names).to_pylist()
    order = sorted(range(len(rows)), key=lambda at: repr(rows[at]))
    return table.take(pa.array(order, pa.int64()))


def how(query: ac.Query, frame: Any, order_by: list[str]) -> str:
    """How the work is shared out, for the statistics (`--hypothesis-show-statistics`)."""
    lines = query.explain(frame, order_by=order_by).split("\nspark\n")[1].splitlines()
    at = next(at for at, line in enumerate(lines) if "columns that travel" in line)
    return "; ".join(line.strip()[:40] for line in lines[at + 1 :])


def agrees(case: SummaryCase, zone: str | None, to_frame: Callable[[pa.Table], Any]) -> str | None:
    """How the work was shared out, if Spark finds the same; None if not."""
    query, (table, order_by) = case.query(), for_spark(case, zone)
    expected, frame = expected_of(query, table, order_by), to_frame(table)
    try:
        result = query.run(frame, order_by=order_by)
    except ac.UsageError as error:
        if "which Spark does not tell apart" not in str(error):
            raise
        assume(False)
    found = found_by(result.toArrow)
    return how(query, frame, order_by) if same(in_one_order(found, query), in_one_order(expected, query)) else None


@pytest.mark.property
@settings(max_examples=EXAMPLES, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(case=CASES, zone=st.sampled_from([None, "UTC"]))
def test_spark_summarizes_as_this_process_does(
    to_frame: Callable[[pa.Table], Any], case: SummaryCase, zone: str | None
) -> None:
    shared = agrees(case, zone, to_frame)
    assert shared is not None
    event(shared)


# --- how the work is shared out -----------------------------------------------------------------------------------

SHARED = [
    ("SUMMARIZE count(*), max(b.s) AS most MATCH A ; B AS b PARTITION BY k BY k", "each group is complete in its task"),
    ("SUMMARIZE count(*), max(b.s) AS most MATCH A ; B AS b PARTITION BY k BY a.v", "merged in a second step"),
    ("SUMMARIZE count(*), avg(b.v) AS mean MATCH A AS a ; B+ AS b PARTITION BY k WITHIN 9 EVENTS", "by one last task"),
    ("SUMMARIZE count(*), last(b.s) AS s MATCH A ; B AS b OVER 60 SECONDS EVERY 7 SECONDS", "slices of time between"),
    ("SUMMARIZE count(*), first(b.s) AS s MATCH A ; B AS b WITHIN 9 SECONDS", "counts in the slice it starts in"),
    ("SUMMARIZE log2_count(*), last(b.s) AS s, avg(b.v) AS mean MATCH A ; B+ AS b ; C", "gives a matrix"),
    ("SUMMARIZE count(*), min(b.v) AS least MATCH A AS a ; B AS b BY a.v, end_time", "multiplied in the order"),
    ("SUMMARIZE count(*) MATCH A AS a ; B AS b FILTER a.v < b.v", "one task reads the whole stream in order"),
    ("SUMMARIZE max(m.t) AS t MATCH A ; B+ AS b AGG m[t <- sum(b.v)] PARTITION BY k BY k", "complete in its task"),
    ("SUMMARIZE min(m.t) AS t MATCH A ; B+ AS b AGG m[t <- sum(b.v)] WITHIN 9 SECONDS", "in the slice it starts in"),
    ("SUMMARIZE max(m.t) AS t MATCH A ; B+ AS b AGG m[t <- sum(b.v)]", "one task reads the whole stream in order"),
    ("SUMMARIZE count(*) MATCH A ; B OVER 20 EVENTS", "in order, since positions count"),
]


STATES = "states of totals, value by value, travel"
BY_VALUE = [
    ("SUMMARIZE sum(b.d) AS total, residue(b.v) AS r MATCH A ; B AS b PARTITION BY k BY a.v", f"second step: {STATES}"),
    ("SUMMARIZE product(b.v) AS p, sum(b.d) AS total MATCH A ; B AS b PARTITION BY k", f"by one last task: {STATES}"),
    (
        "SUMMARIZE count(*) MATCH A ; B+ AS b AGG m[n <- max(b.v)] PARTITION BY k WITHIN 9 EVENTS BY m.n",
        f"second step: {STATES}",
    ),
    ("SUMMARIZE sum(b.d) AS total, last(b.d) AS d MATCH A ; B AS b WITHIN 9 SECONDS BY b.s", f"second step: {STATES}"),
    ("SUMMARIZE sum(b.d) AS total MATCH (A AS a ; B AS b) AS x FILTER x[same(s)]", f"by one last task: {STATES}"),
    ("SUMMARIZE sum(b.d) AS total MATCH A ; B AS b OVER 60 SECONDS EVERY 7 SECONDS", "slices of time between"),
    ("SUMMARIZE sum(b.d) AS total MATCH A ; B AS b", "one task reads the whole stream in order"),
]


@pytest.mark.parametrize(("text", "said"), [*thinned(SHARED, 3), *thinned(BY_VALUE, 3)])
def test_each_way_to_share_the_work(
    text: str, said: str, to_frame: Callable[[pa.Table], Any], conf: Callable[[str, str], None]
) -> None:
    conf("spark.sql.shuffle.partitions", "3")
    ac.aggregate("residue", lift=lambda v: v % 97, combine=lambda a, b: (a + b) % 97, identity=0, returns="int")
    text = text.replace("MATCH A ;", "MATCH A AS a ;")
    table, query = long_stream(400), ac.query(text)
    frame = to_frame(table)
    assert said in query.explain(frame, order_by="ts")
    found, expected = query.run(frame, order_by="ts").toArrow(), query.run(table, order_by="ts")
    assert expected.num_rows
    assert same(in_one_order(found, query), in_one_order(expected, query))
