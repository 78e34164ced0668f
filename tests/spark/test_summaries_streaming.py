"""Summaries of streams: however rows arrive, inside the watermark, the rows are those of the whole table."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from engine.test_sessions import long_stream
from spark.test_streaming import Files, folders, last_row, late_events, shuffled, zoned  # noqa: F401  (a fixture)
from spark.test_summaries_batch import CASES, expected_of, for_spark, found_by, in_one_order
from summaries.strategies import SummaryCase, same
from tiers import thinned

pytest.importorskip("pyspark")

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "0")) // 5
SECONDS = ast.Over(7, "seconds", 3, "seconds")


def streamed(case: SummaryCase) -> SummaryCase:
    """The same summary with something that ends: most have neither windows nor a moment."""
    summary = case.tree.summary
    assert summary is not None
    ends = any(isinstance(key, ast.SelectBound) and key.bound == "end_time" for key in summary.by)
    if ends or (summary.over is not None and summary.over.unit != "events"):
        return replace(case, order_by="ts")
    summary = ast.Summary(summary.items, summary.by, SECONDS)
    return replace(case, tree=replace(case.tree, summary=summary), order_by="ts")


def last(schema: pa.Schema) -> pa.Table:
    """A row that lets all others pass, and stays behind itself."""
    row = last_row(schema)
    return row.set_column(row.column_names.index("n"), "n", pa.array([10**9], pa.int64()))


def for_files(case: SummaryCase) -> tuple[pa.Table, list[str]]:
    """The stream with types that files have, and what orders it: durations are numbers in them."""
    table, order_by = for_spark(case, "UTC")
    at = table.column_names.index("gap")
    return table.set_column(at, "gap", table.column("gap").cast(pa.int64())), order_by


def agrees(case: SummaryCase, pieces: int, delay: int, seed: int, files: Files) -> bool:
    query, (table, order_by) = case.query(), for_files(case)
    try:
        query.check(table.schema, order_by=order_by)
    except ac.QueryCheckError:
        assume(False)
    expected = expected_of(query, table, order_by)
    rows = shuffled(table, delay, seed)
    for numbers in np.array_split(np.arange(rows.num_rows), pieces):
        files.put(rows.take(pa.array(numbers)))
    files.put(last(table.schema))
    try:
        frame = query.run(files.frame(f"{delay} seconds", 1), order_by=order_by)
    except ac.UsageError as error:
        assume("which Spark does not tell apart" not in str(error))
        raise

    def run() -> pa.Table:
        assert late_events(files.run(frame)) == 0
        return files.found()

    return same(in_one_order(found_by(run), query), in_one_order(expected, query))


@pytest.mark.property
@pytest.mark.skipif(not EXAMPLES, reason="takes long; set ACELERA_SPARK_EXAMPLES")
@settings(max_examples=max(EXAMPLES, 1))
@given(case=CASES.map(streamed), pieces=st.integers(1, 4), delay=st.sampled_from([1, 3, 20]), seed=st.integers(0, 99))
def test_any_summary_of_any_stream(
    case: SummaryCase,
    pieces: int,
    delay: int,
    seed: int,
    spark: Any,
    folders: Iterator[Path],  # noqa: F811
) -> None:
    assert agrees(case, pieces, delay, seed, Files(spark, next(folders)))


# --- some of them -------------------------------------------------------------------------------------------------

SUMMARIES = [
    (
        "SUMMARIZE count(*), max(b.v) AS most MATCH A ; B AS b PARTITION BY k BY k OVER 60 SECONDS EVERY 20 SECONDS",
        "16",
    ),
    ("SUMMARIZE count(*) MATCH A ; B PARTITION BY k WITHIN 20 SECONDS BY end_time AS moment", "all attributes of"),
    ("SUMMARIZE count(*), last(b.v) AS v MATCH A ; B AS b PARTITION BY k BY k OVER 9 EVENTS", "16 buckets"),
]


@pytest.mark.parametrize(("text", "said"), thinned(SUMMARIES, 3))
def test_a_stream_gives_the_rows_of_the_table(text: str, said: str, spark: Any, tmp_path: Path) -> None:
    """All but windows that are not over: those over events may not be."""
    table, files, query = zoned(long_stream(800)), Files(spark, tmp_path), ac.query(text)
    files.put_all(shuffled(table, 55), 3)
    frame = files.frame()
    explained = query.explain(frame, order_by="ts")
    assert said in explained and "behind the watermark" in explained
    files.run(query.run(frame, order_by="ts"))
    rows, expected = files.found().to_pylist(), query.run(table, order_by="ts").to_pylist()
    if "EVENTS" not in text:
        assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    else:
        counts = Counter(table.column("k").to_pylist())
        assert sorted(map(repr, rows)) == sorted(repr(e) for e in expected if e["window_end"] <= counts[e["k"]])
    assert rows


ENDLESS = "a stream has no end, so that the groups of this summary are never complete; add windows"
REFUSED = {
    "SUMMARIZE count(*) MATCH A ; B": ENDLESS,
    "SUMMARIZE count(*) MATCH A ; B PARTITION BY k WITHIN 5 SECONDS BY k, start_time": ENDLESS,
    "SUMMARIZE count(*) MATCH A ; B PARTITION BY k OVER 5 EVENTS": "windows over events count .* add k to BY",
    "SUMMARIZE count(*) MATCH A ; B PARTITION BY k BY end": "groups by `end` count .* add k to BY",
}


def test_summaries_that_never_end_are_refused(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put(zoned(long_stream(10)))
    for text, message in REFUSED.items():
        for ask in (ac.query(text).run, ac.query(text).explain):
            with pytest.raises(ac.UsageError, match=message):
                ask(files.frame(), order_by="ts")


def test_the_time_of_rows_has_the_watermark(spark: Any, tmp_path: Path) -> None:
    files = Files(spark, tmp_path)
    files.put(zoned(long_stream(10)))
    for text, column in (("OVER 1 HOURS", "window_end"), ("BY end_time AS moment", "moment"), ("BY end", None)):
        found = ac.query(f"SUMMARIZE count(*) MATCH A ; B {text}").run(files.frame(), order_by="ts")
        marked = [each.name for each in found.schema.fields if "spark.watermarkDelayMs" in (each.metadata or {})]
        assert marked == ([] if column is None else [column])
