"""A report on a frame shows what a report on the same table in this process shows."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera import Acea, Move
from tiers import thinned

ToFrame = Callable[[pa.Table], Any]

EPOCH = datetime.datetime(2024, 1, 1, 12)


def stream(size: int) -> pa.Table:
    """Events of three types and three keys, one of them NULL, not in order."""
    drawn = random.Random(7)
    at = [EPOCH + datetime.timedelta(seconds=7 * place, microseconds=place % 3) for place in range(size)]
    drawn.shuffle(at)
    return pa.table(
        {
            "type": [drawn.choice("ABC") for _ in at],
            "k": [drawn.choice(["x", "y", None]) for _ in at],
            "v": pa.array([drawn.randrange(9) for _ in at], pa.int64()),
            "ts": pa.array(at, pa.timestamp("us")),
            "n": pa.array([(each - EPOCH).total_seconds() // 14 for each in at], pa.int64()),
            "m": pa.array([int((each - EPOCH).total_seconds()) for each in at], pa.int64()),
        }
    )


def data(path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


HANDMADE = Acea.of(
    initial="p",
    finals="q",
    moves=[
        Move("p", "w", when="type = 'A'", assign={"t": "v"}, marks={"x": "event"}),
        Move("w", "w", assign={"t": "t"}),
        Move("w", "q", when="type = 'B'", assign={"t": "t + v"}, marks={"x": ["event", {"v": "t"}], "sum": {"v": "t"}}),
    ],
)
CASES: dict[str, tuple[ac.Query, Any, dict[str, int]]] = {
    "time": (ac.query("SELECT a.v, b.v MATCH A AS a ; B AS b WITHIN 30 SECONDS"), "ts", {}),
    "limits": (ac.query("SELECT a.v MATCH A AS a : B AS b"), "ts", {"matches": 3, "events": 15}),
    "keys": (
        ac.query("MATCH A AS one ; (B AS more)+ AGG made[n <- count(more)] PARTITION BY k WITHIN 1 MINUTES"),
        "ts",
        {},
    ),
    "positions": (ac.query("SELECT start, x.v MATCH (A AS a : C) AS x PARTITION BY k"), ["n", "m"], {"events": 30}),
    "two columns": (ac.query("SELECT start_time MATCH A : B"), ["ts", "n"], {}),
    "mixed": (ac.query("SELECT k MATCH (A ; B AGG m[v <- sum(A.v)]) AS x PARTITION BY k WITHIN 20 SECONDS"), "ts", {}),
    "handmade": (ac.query(HANDMADE, partition_by=["k"], within="30 seconds"), "ts", {}),
    "nothing": (ac.query("MATCH A ; D"), "ts", {"events": 10}),
}


@pytest.mark.parametrize(("query", "order_by", "limits"), thinned(CASES.values(), 6), ids=CASES)
def test_the_same_page_as_in_process(
    query: ac.Query, order_by: Any, limits: dict[str, int], to_frame: ToFrame, tmp_path: Path
) -> None:
    table = stream(60)
    expected = query.report(table, tmp_path / "expected.html", order_by=order_by, **limits)
    found = query.report(to_frame(table), tmp_path / "found.html", order_by=order_by, **limits)
    assert data(found) == data(expected)


@pytest.mark.slow
def test_a_frame_for_each_type(to_frame: ToFrame, tmp_path: Path) -> None:
    table = stream(40)
    frames = {
        kind: to_frame(table.filter(pa.compute.equal(table["type"], kind)).drop_columns(["type"])) for kind in "ABC"
    }
    query = ac.query("SELECT a.v, b.v MATCH A AS a ; B AS b WITHIN 30 SECONDS")
    expected = data(query.report(table, tmp_path / "expected.html", order_by="ts"))
    assert data(query.report(frames, tmp_path / "found.html", order_by="ts")) == expected


def test_the_page_of_a_summary(spark: Any, to_frame: ToFrame, tmp_path: Path) -> None:
    """The same page as in process; and no task for each of many small partitions."""
    query = ac.query("SUMMARIZE count(*), avg(b.v) AS mean MATCH A ; B AS b PARTITION BY k BY k OVER 1 MINUTE")
    expected = query.report(stream(60), tmp_path / "expected.html", order_by="ts", matches=4)
    many = {"spark.sql.shuffle.partitions": "30", "spark.sql.adaptive.enabled": "true"}
    before = {name: spark.conf.get(name) for name in many}
    spark.sparkContext.setJobGroup("summary", "the page of a summary")
    try:
        for name, value in many.items():
            spark.conf.set(name, value)
        found = query.report(to_frame(stream(60)), tmp_path / "found.html", order_by="ts", matches=4)
    finally:
        spark.sparkContext.setJobGroup("", "")
        for name, value in before.items():
            spark.conf.set(name, value)
    assert found.read_text(encoding="utf-8") == expected.read_text(encoding="utf-8")
    status = spark.sparkContext.statusTracker()
    jobs = [status.getJobInfo(number) for number in status.getJobIdsForGroup("summary")]
    stages = [status.getStageInfo(number) for job in jobs for number in job.stageIds]
    assert jobs and max(stage.numTasks for stage in stages if stage is not None) < 30


def test_streaming_frames_are_refused(spark: Any, tmp_path: Path) -> None:
    frame = spark.readStream.format("rate").load().selectExpr("'A' AS type", "timestamp AS ts")
    with pytest.raises(ac.UsageError, match="streaming"):
        ac.query("MATCH A").report(frame, tmp_path / "report.html", order_by="ts")
    assert not list(tmp_path.iterdir())
