"""Matches of a stream go on into other operators of the same stream, in append mode: what comes out is the batch answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import acelera as ac
from engine.test_sessions import long_stream, shown
from spark.test_streaming import Files, late_events, shuffled, zoned
from tiers import slow

PAIRS = ac.query("SELECT k, start_time, end_time, A.v AS v MATCH A ; B PARTITION BY k WITHIN 20 SECONDS")
OTHERS = ac.query("SELECT k, start_time, end_time, A.v AS v MATCH A ; C PARTITION BY k WITHIN 20 SECONDS")
OF_PAIRS = ac.query(
    "SELECT one.v AS v, two.v AS w, k, end_time MATCH Pair AS one ; Pair AS two PARTITION BY k WITHIN 1 MINUTE"
)

Build = Callable[[Any], Any]


def counted(frame: Any) -> Any:
    from pyspark.sql import functions

    windows = PAIRS.run(frame, order_by="ts").groupBy(functions.window("end_time", "1 minute"), "k").count()
    return windows.select("window.start", "k", "count")


def without_duplicates(frame: Any) -> Any:
    matches = PAIRS.run(frame, order_by="ts").select("k", "start_time", "end_time")
    key = ["k", "start_time"]
    once = matches.dropDuplicatesWithinWatermark(key) if frame.isStreaming else matches.dropDuplicates(key)
    return once.select(key)


def joined(frame: Any) -> Any:
    """With an outer join, which gives what has found no partner as soon as the watermark says that none comes."""
    from pyspark.sql import functions

    left = PAIRS.run(frame, order_by="ts").select("k", functions.col("end_time").alias("b"), "v")
    right = OTHERS.run(frame, order_by="ts").selectExpr("k AS other_k", "end_time AS c", "v AS w")
    return left.join(right, functions.expr("k = other_k AND c >= b AND c <= b + INTERVAL 10 SECONDS"), "left_outer")


def matched_again(frame: Any) -> Any:
    """Pairs may end at one time, so they are ordered by more."""
    return OF_PAIRS.run(PAIRS.run(frame, order_by="ts"), order_by=["end_time", "start_time"], event_type="Pair")


def together(frame: Any) -> Any:
    return PAIRS.run(frame, order_by="ts").union(OTHERS.run(frame, order_by="ts"))


@pytest.mark.parametrize(
    ("build", "queries"),
    [slow(counted, 1), slow(without_duplicates, 1), slow(joined, 2), slow(matched_again, 2), slow(together, 2)],
)
def test_matches_go_on_with_their_watermark(build: Build, queries: int, spark: Any, tmp_path: Path) -> None:
    table, files = zoned(long_stream(400)), Files(spark, tmp_path)
    files.put_all(shuffled(table, 10), 3)
    progress = files.run(build(files.frame("10 seconds", 1)))
    expected = build(spark.read.parquet(files.source)).toArrow()
    assert expected.num_rows > 5
    assert shown(files.found()) == shown(expected)
    assert late_events(progress) == 0
    metrics = set().union(*(each.observedMetrics for each in progress))
    assert len([name for name in metrics if name.startswith("acelera-")]) == queries


def test_the_columns_are_those_of_the_batch(spark: Any, tmp_path: Path) -> None:
    """The watermark is on the first column that tells when a match ends; without one, Spark says that it is missing."""
    files = Files(spark, tmp_path)
    files.put(zoned(long_stream(1)))
    query = ac.query("SELECT A.v, end_time AS `done at`, end_time MATCH A ; B")
    stream, batch = (query.run(each, order_by="ts") for each in (files.frame(), spark.read.parquet(files.source)))
    assert [(each.name, each.dataType) for each in stream.schema] == [
        (each.name, each.dataType) for each in batch.schema
    ]
    assert [each.metadata for each in stream.schema] == [{}, {"spark.watermarkDelayMs": 60_000}, {}]
