"""Summaries of streams: however rows arrive, inside the watermark, the rows are those of the whole table."""

from __future__ import annotations

import os
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
from spark.test_streaming import Files, folders, last_row, late_events, shuffled  # noqa: F401  (a fixture)
from spark.test_summaries_batch import CASES, expected_of, for_spark, found_by, in_one_order
from summaries.strategies import SummaryCase, same

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
