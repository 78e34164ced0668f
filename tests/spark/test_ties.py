"""Rows that tie, on Spark: however they come, the matches are those of the run in this process."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from engine.test_sessions import shown
from spark.test_streaming import Files, last_row, shuffled
from strategies import long_stream
from tied import tied
from tiers import thinned

pytest.importorskip("pyspark")

QUERIES = [
    "SELECT a, b.raw, start MATCH A AS a : B AS b",  # one task, all rows
    "SELECT a.u, b.nested, end_time MATCH A AS a ; B AS b FILTER a.v < b.u WITHIN 4 SECONDS",  # slices
    "SELECT k, a.u, b.u, c.w MATCH (A AS a : ANY+ AS b : C AS c) PARTITION BY k WITHIN 5 SECONDS",
    "SELECT x.u, x.s MATCH (A ; B) AS x FILTER x[same(s)] WITHIN 5 SECONDS KEEP SHORTEST PER START",
    "SUMMARIZE count(*) AS n, sum(a.u) AS s MATCH A AS a ; B",  # stretches
    "SUMMARIZE count(*) AS n MATCH A AS a ; B AS b FILTER a.u < b.u PARTITION BY k OVER 6 SECONDS",  # merged
]


def events(size: int, seed: int = 5) -> pa.Table:
    table = tied(long_stream(seed, size, 3, 5), seed)
    return table.set_column(table.column_names.index("ts"), "ts", table["ts"].cast(pa.timestamp("us", "UTC")))


def mixed(table: pa.Table, seed: int = 1) -> pa.Table:
    return table.take(pa.array(np.random.default_rng(seed).permutation(table.num_rows)))


@pytest.mark.parametrize("text", thinned(QUERIES, 3))
@pytest.mark.parametrize("ties", ["any", "drop"])
def test_a_frame(text: str, ties: str, to_frame: Callable[[pa.Table], Any]) -> None:
    table, query = events(300), ac.query(text)
    expected = query.run(table, order_by="ts", ties=ties)
    assert shown(query.run(to_frame(mixed(table)), order_by="ts", ties=ties).toArrow()) == shown(expected)


def test_rows_of_events_and_what_travels(to_frame: Callable[[pa.Table], Any]) -> None:
    query, table = ac.query("MATCH A ; B WITHIN 3 SECONDS"), events(60)
    frame = to_frame(mixed(table))
    found = query.run(frame, order_by="ts", ties="any", rows="events").toArrow()
    assert shown(found) == shown(query.run(table, order_by="ts", ties="any", rows="events"))
    told = query.explain(frame, order_by="ts", ties="drop")
    assert "all columns travel, to order rows that tie by them: type, v, u, w" in told
    with pytest.raises(ac.UsageError, match="ties='any' orders rows that tie by all their columns"):
        query.run(frame, order_by="ts", ties="keep")
    with pytest.raises(ac.UsageError, match=r"ties='any': a report .* Spark DataFrame"):
        query.report(frame, "x.html", order_by="ts", ties="any")


PROGRAM = """
    STREAM pair AS SELECT k, a.u, b.raw MATCH A AS a ; B AS b PARTITION BY k WITHIN 2 SECONDS;
    STREAM after AS SELECT k, p.a_u AS u MATCH pair AS p ; C PARTITION BY k WITHIN 4 SECONDS;
"""


def test_statements(to_frame: Callable[[pa.Table], Any]) -> None:
    program, table = ac.program(PROGRAM), events(200)
    expected = program.run(table, order_by="ts", ties="drop")
    for name, frame in program.run(to_frame(mixed(table)), order_by="ts", ties="drop").items():
        assert shown(frame.toArrow()) == shown(expected[name])


def test_a_stream(spark: Any, tmp_path: Path) -> None:
    """Rows that tie and come twice, in another order, with the stream stopped and started again in the middle."""
    query = ac.query("SELECT k, a.u, b.raw, c.nested MATCH A AS a ; (B AS b : C AS c) PARTITION BY k WITHIN 9 SECONDS")
    table, files = events(1_200), Files(spark, tmp_path)
    arriving = shuffled(mixed(table), 50)
    middle = arriving.num_rows // 2
    for begin in range(0, middle, 300):
        files.put(arriving.slice(begin, min(300, middle - begin)))
    progress = files.run(query.run(files.frame(), order_by="ts", ties="drop"))
    for begin in range(middle, arriving.num_rows, 300):
        files.put(arriving.slice(begin, 300))
    files.put(last_row(table.schema))
    progress += files.run(query.run(files.frame(), order_by="ts", ties="drop"))
    expected = query.run(table, order_by="ts", ties="drop")
    assert shown(files.found()) == shown(expected) and expected.num_rows
    told = list(map(ac.metrics, progress))
    counted = {
        name: sum(each[name] for each in told) for name in ("events", "tied", "dropped", "matches", "late_events")
    }
    session = query.open(table.schema, order_by="ts", ties="drop")
    session.push(table)
    session.finish()
    assert counted == {
        "events": session.events,
        "tied": session.tied,
        "dropped": session.dropped,
        "matches": session.matches,
        "late_events": 0,
    }
    assert session.tied and session.dropped
    assert told[-1]["waiting_rows"] == 1 and max(each["partial_matches"] for each in told) > 0
    assert told[-1]["state_bytes"] > 0 and len(ac.metrics(progress[-1], by_query=True)) == 1
    with pytest.raises(Exception, match=r"the checkpoint belongs to another query.* or way with ties"):
        files.put(last_row(table.schema))
        files.run(query.run(files.frame(), order_by="ts", ties="any"))
