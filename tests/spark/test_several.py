"""Several queries in one pass on Spark: each finds what it finds alone, in a batch and as a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import acelera as ac
from acelera.spark import several_batch
from acelera.spark.several_tests import TeamTests
from engine.test_sessions import long_stream, shown
from spark.test_streaming import LATER, Files, last_row, late_events, shuffled, zoned
from tied import tied

SPLIT = {
    "pairs": ac.query("SELECT k, start_time, end_time AS done, A.v AS v MATCH A ; B PARTITION BY k WITHIN 20 SECONDS"),
    "risen": ac.query(
        "SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.v < b.v AND a.v > 10 PARTITION BY k WITHIN 9 SECONDS"
    ),
    "next": ac.query("SELECT k, A.v MATCH A : B PARTITION BY k, s WITHIN 1 MINUTE"),
    "falls": ac.query(
        "SELECT k, count(x) AS n MATCH (A OR B):{2,} AS x FILTER x[v < prev(v)] PARTITION BY k, s KEEP LONGEST APART"
    ),
    "alone": ac.query("SELECT A.v, end_time MATCH A UNLESS B FOR 10 SECONDS PARTITION BY k"),
    "totals": ac.query("SUMMARIZE count(*) AS n, max(A.v) AS high MATCH A ; C PARTITION BY k BY k OVER 1 MINUTE"),
    "python": ac.query(
        "SELECT c.v MATCH C AS c ; D FILTER length(c.s) = 1 AND c.v > 40 PARTITION BY k WITHIN 5 SECONDS"
    ),
}
OTHER = {
    "by s": ac.query("SELECT s, A.v MATCH A ; C PARTITION BY s WITHIN 5 SECONDS"),
    "sliced": ac.query("SELECT A.v, B.v AS w MATCH A ; B WITHIN 3 SECONDS"),
    "wide": ac.query("SELECT A.v, end_time MATCH A : C WITHIN 30 SECONDS"),
    "places": ac.query("SELECT start, end MATCH A : B"),
    "counted": ac.query("SUMMARIZE count(*) AS n MATCH A ; B WITHIN 4 EVENTS BY end_time"),
}
ROWS = {"pairs": "events"}


def coming_twice(size: int, seed: int) -> pa.Table:
    """Rows of which some tie and some are there twice."""
    table = long_stream(size)
    at = table.column_names.index("ts")
    return zoned(tied(table.set_column(at, "ts", table.column("ts").cast(pa.timestamp("ms"))), seed))


def assert_same(found: Mapping[str, pa.Table], expected: Mapping[str, pa.Table]) -> None:
    assert list(found) == list(expected)
    for name, table in expected.items():
        assert found[name].schema == table.schema, name
        assert shown(found[name]) == shown(table), name
        assert table.num_rows, name


def collected(found: Mapping[str, Any]) -> dict[str, pa.Table]:
    return {name: frame.toArrow() for name, frame in found.items()}


def apart(found: pa.Table, expected: Mapping[str, pa.Table], ends: Mapping[str, str]) -> dict[str, pa.Table]:
    """The rows of each query out of one table of all."""
    made = {}
    for name, table in expected.items():
        rows = found.filter(pc.equal(found.column("query"), name))
        made[name] = pa.Table.from_struct_array(rows.column(name))
        if name in ends:
            assert made[name].column(ends[name]).to_pylist() == rows.column("end_time").to_pylist()
        made[name] = made[name].cast(table.schema)
    return made


ENDS = {"alone": "end_time", "totals": "window_end", "wide": "end_time"}


def test_a_batch(to_frame: Callable[[pa.Table], Any]) -> None:
    table, queries = zoned(long_stream(600)), SPLIT | OTHER
    totals = ac.query("SUMMARIZE count(*) AS n MATCH A ; B PARTITION BY k WITHIN 5 SECONDS BY A.s")
    queries["merged"] = totals
    frame = to_frame(table.take(pa.array(np.random.default_rng(1).permutation(600))))
    results = ac.run_all(queries, frame, order_by="ts", rows=ROWS).persist()
    expected = {name: q.run(table, order_by="ts", rows=ROWS.get(name, "matches")) for name, q in queries.items()}
    assert_same(apart(results.frame.toArrow(), expected, ENDS), expected)
    assert_same(collected(results), expected)
    plan = results["pairs"]._jdf.queryExecution().executedPlan().toString()
    assert "InMemoryTableScan" in plan
    results.unpersist()
    twice = coming_twice(600, 3)
    some = {name: queries[name] for name in ("pairs", "next", "sliced", "places", "totals", "merged")}
    found = collected(ac.run_all(some, to_frame(twice), order_by="ts", ties="drop"))
    assert_same(found, {name: query.run(twice, order_by="ts", ties="drop") for name, query in some.items()})
    assert [each.name for each in results.frame.schema] == ["query", "end_time", *queries]
    told = ac.explain_all(queries, frame, order_by="ts", rows=ROWS).splitlines()
    assert told[0] == "13 queries, 5 passes over the events"
    assert told[1] == f"pass 1: {', '.join(SPLIT)}"
    assert "  split by k: many keys a task" in told and "  within a task also by s: next, falls" in told
    assert "pass 3: sliced, wide" in told and "pass 4: places, counted" in told and "pass 5: merged" in told
    assert any("once for all" in line and "1 in Python" in line for line in told)


RARE = {
    "next": ac.query("SELECT k, A.v, end_time MATCH A : B FILTER A.v > 40 PARTITION BY k"),
    "all": ac.query("SELECT A.v, count(x) AS n MATCH A ; (B OR C)+ AS x FILTER A.v > 45 WITHIN 3 SECONDS"),
    "unless": ac.query("SELECT A.v, B.v AS w MATCH (A ; B) UNLESS C FILTER A.v > 40 PARTITION BY k WITHIN 20 SECONDS"),
    "total": ac.query("SUMMARIZE count(*) AS n MATCH A ; C FILTER A.v > 40 PARTITION BY k, s WITHIN 30 SECONDS BY k"),
    "one": ac.query("SELECT B.v MATCH B FILTER B.v > 40 PARTITION BY k WITHIN 1 SECOND"),
}


@pytest.mark.parametrize("ties", ["error", "drop", "any"])
def test_rows_are_read_while_a_match_may_have_begun(
    to_frame: Callable[[pa.Table], Any], ties: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = zoned(long_stream(800)) if ties == "error" else coming_twice(800, 5)
    expected = {name: query.run(table, order_by="ts", ties=ties) for name, query in RARE.items()}
    found = collected(ac.run_all(RARE, to_frame(table), order_by="ts", ties=ties))
    assert {name: shown(each) for name, each in found.items()} == {name: shown(each) for name, each in expected.items()}
    schemas = {name: query.stream_schema(table, "ts", "type", None) for name, query in RARE.items()}
    compiled = {name: RARE[name].compiled(schemas[name], "matches", ties) for name in ("next", "unless", "total")}
    monkeypatch.setattr(several_batch, "ROWS_AT_ONCE", 100)
    tests = TeamTests.of(compiled, ties)
    rows = to_frame(table).select(*tests.travelling()).toArrow()
    at = f"c{tests.team.columns.index('ts')}"
    batches = rows.sort_by(at).to_batches(max_chunksize=60)
    dealt = {True: 0, False: 0}
    for narrowed in dealt:
        course = tests.team.course()
        for batch in batches:
            renamed = pa.Table.from_batches([batch]).rename_columns(tests.team.names)
            parts = tests.team.parts(renamed, course if narrowed else None)
            dealt[narrowed] += sum(part.num_rows for part in parts if part is not None)
    assert dealt[True] < dealt[False] * (0.5 if ties == "error" else 1)
    reader = several_batch._reader(several_batch.Reading(tests.team, None, None, None))
    given = pa.Table.from_batches(list(reader(iter(batches))), schema=tests.team.shelved())
    for name, shelf in tests.team.shelves.items():
        own = given.filter(pc.equal(given.column("query"), name)).column(shelf)
        assert shown(pa.Table.from_struct_array(own)) == shown(expected[name])


def test_an_order_without_time_and_no_shuffle_for_rows_that_do_not_matter(to_frame: Callable[[pa.Table], Any]) -> None:
    table = long_stream(200).drop_columns(["ts", "d"]).append_column("n", pa.array(range(200)))
    queries = {f"q{n}": ac.query(f"SELECT A.v MATCH A ; B FILTER A.v = {n} PARTITION BY k") for n in range(70)}
    results = ac.run_all(queries, to_frame(table), order_by="n")
    assert results.frame.columns == ["query", *queries]
    expected = {name: q.run(table, order_by="n") for name, q in queries.items()}
    found = collected({name: results[name] for name in ("q3", "q33", "q69")})
    assert {name: shown(each) for name, each in found.items()} == {name: shown(expected[name]) for name in found}
    told = ac.explain_all(queries, to_frame(table), order_by="n")
    assert "1 pass over the events" in told and "2 in the JVM, before anything is moved, 70 in Python" in told
    assert "rows that no query reacts to are dropped first" in told


def test_a_stream_that_is_taken_up_again(spark: Any, tmp_path: Path) -> None:
    """Rows arrive in disorder, tie and come twice, and the stream goes on from its checkpoint; late rows are counted
    once.
    """
    queries, table, files = SPLIT | OTHER, coming_twice(700, 7), Files(spark, tmp_path)
    arriving = shuffled(table, 8)

    def run() -> list[Any]:
        frame, options = files.frame("10 seconds", 1), {"order_by": "ts", "rows": ROWS, "late_events": "late"}
        results = ac.run_all(queries, frame, **options, ties="drop", checkpoint=str(tmp_path / "checkpoint"))
        return files.run(results.frame)

    files.put(arriving.slice(0, 300))
    files.put(arriving.slice(300, 300))
    progress = run()
    before = files.found().num_rows
    files.put(table.filter(pc.equal(table.column("type"), "A")).slice(0, 5))  # which the watermark has passed
    files.put(arriving.slice(600))
    files.put(last_row(table.schema))
    progress += run()
    found = spark.read.parquet(files.sink).toArrow()
    late = found.filter(pc.is_valid(found.column("late")))
    assert late_events(progress) == late.num_rows == 5
    assert late.column("query").null_count == 5
    expected = {}
    for name, query in queries.items():
        expected[name] = query.run(table, order_by="ts", rows=ROWS.get(name, "matches"), until=LATER, ties="drop")
    assert_same(apart(found.drop_columns("late"), expected, ENDS), expected)
    told = [ac.metrics(each) for each in progress]
    assert sum(each["dropped"] for each in told) and told[-1]["state_bytes"]
    assert 0 < before < found.num_rows
    files.put(arriving.slice(0, 1))
    with pytest.raises(ac.SnapshotError, match="the checkpoint belongs to another set of queries"):
        ac.run_all(
            {"pairs": SPLIT["pairs"]},
            files.frame("10 seconds", 1),
            order_by="ts",
            checkpoint=str(tmp_path / "checkpoint"),
        )
    told = ac.explain_all(queries, files.frame(), order_by="ts", rows=ROWS).splitlines()
    assert told[:2] == [
        "12 queries, 1 pass: one operator keeps the state of all; rows wait for the watermark",
        f"group 1: {', '.join(SPLIT)}",
    ]
    assert "  split by k, in 16 buckets with a state each" in told


def test_what_frames_are_not_for(to_frame: Callable[[pa.Table], Any]) -> None:
    frame, pairs = to_frame(zoned(long_stream(3))), SPLIT["pairs"]

    def run(queries: dict[str, Any], **options: Any) -> Any:
        return ac.run_all(queries, frame, **{"order_by": "ts"} | options)

    with pytest.raises(ac.UsageError, match="limit=… is for tables in this process"):
        run({"a": pairs}, limit=3)
    with pytest.raises(ac.UsageError, match="no order of arrival"):
        run({"a": pairs}, ties="keep")
    with pytest.raises(ac.UsageError, match="say it with order_by"):
        run({"a": pairs}, order_by=None)
    with pytest.raises(ac.UsageError, match="late_events=… is for streams"):
        run({"a": pairs}, late_events="late")
    with pytest.raises(ac.UsageError, match="the query `Query` would be a column beside `query`"):
        run({"Query": pairs})
    with pytest.raises(ac.UsageError, match="the query `A` would be a column beside `a`"):
        run({"a": pairs, "A": pairs})
    with pytest.raises(ac.UsageError, match="there is no query `pair`; did you mean `pairs`"):
        run({"pairs": pairs})["pair"]
