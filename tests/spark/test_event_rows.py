"""Rows of events on Spark, batch and streaming: the same rows and the same ids as in process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from engine.test_sessions import long_stream
from spark.test_agreement import EXAMPLES, timed_cases
from spark.test_streaming import EXAMPLES as STREAMS
from spark.test_streaming import Files, folders, shuffled, zoned  # noqa: F401  # a fixture
from spark.test_streaming import timed_cases as streamed_cases

pytest.importorskip("pyspark")


QUERIES = [
    "MATCH A ; B ; C PARTITION BY k WITHIN 20 SECONDS",
    "SELECT A, m MATCH (A ; B : C) AGG m[most <- max(B.d)] WITHIN 9 SECONDS",
    "SELECT b.v MATCH A AS a ; B AS b FILTER a.v < b.v WITHIN 6 EVENTS",
]


def shown(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("text", QUERIES)
def test_a_frame(text: str, to_frame: Callable[[pa.Table], Any]) -> None:
    query, table = ac.query(text), zoned(long_stream(800))
    expected = query.run(table, order_by="ts", rows="events")
    found = query.run(to_frame(table), order_by="ts", rows="events").toArrow()
    assert found.schema == expected.schema
    assert shown(found) == shown(expected)
    assert expected.num_rows


def test_a_stream(spark: Any, tmp_path: Path) -> None:
    query, table, files = ac.query(QUERIES[0]), zoned(long_stream(800)), Files(spark, tmp_path)
    files.put_all(shuffled(table, 30), 3)
    files.run(query.run(files.frame(), order_by="ts", rows="events"))
    assert shown(files.found()) == shown(query.run(table, order_by="ts", rows="events"))


def test_what_is_refused(to_frame: Callable[[pa.Table], Any]) -> None:
    frame = to_frame(zoned(long_stream(10)))
    with pytest.raises(ac.UsageError, match="limit=… counts matches, and on Spark"):
        ac.query(QUERIES[0]).run(frame, order_by="ts", rows="events", limit=3)
    with pytest.raises(ac.UsageError, match="a row of a summary stands for many"):
        ac.query("SUMMARIZE count(*) MATCH A").run(frame, order_by="ts", rows="events")


@pytest.mark.property
@settings(max_examples=EXAMPLES, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(case=timed_cases())
def test_any_query_on_any_frame(to_frame: Callable[[pa.Table], Any], case: tuple[ac.Query, pa.Table, str]) -> None:
    query, table, order_by = case
    try:
        expected = query.run(table, order_by=order_by, method="automaton", rows="events")
        found = query.run(to_frame(table), order_by=order_by, rows="events").toArrow()
    except (ac.AggregateError, ac.SchemaError, ac.UsageError):
        assume(False)
    assert found.schema == expected.schema
    assert shown(found) == shown(expected)


@pytest.mark.property
@pytest.mark.skipif(not STREAMS, reason="takes long; set ACELERA_SPARK_EXAMPLES")
@settings(max_examples=max(STREAMS, 1))
@given(case=streamed_cases(), seed=st.integers(0, 99))
def test_any_query_on_any_stream(
    case: tuple[ac.Query, pa.Table],
    seed: int,
    spark: Any,
    folders: Iterator[Path],  # noqa: F811
) -> None:
    query, table = case[0], zoned(case[1])
    files = Files(spark, next(folders))
    files.put_all(shuffled(table, 3, seed), 2)
    try:
        expected = query.run(table, order_by="ts", method="automaton", rows="events")
        frame = query.run(files.frame("3 seconds", 1), order_by="ts", rows="events")
    except (ac.AggregateError, ac.SchemaError, ac.UsageError):
        assume(False)
    files.run(frame)
    assert shown(files.found()) == shown(expected)
