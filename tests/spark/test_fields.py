"""Fields of structs, some events and different values on Spark: the same as in process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from spark.test_event_rows import shown
from spark.test_streaming import Files, folders, shuffled  # noqa: F401  # a fixture

pytest.importorskip("pyspark")

PAIRS = """
    SELECT device.id, b.geo.lat, b.geo AS place, count(x[geo.lat > 60]) AS far, count(DISTINCT x.geo.zone.`a b`) AS zones
    MATCH (A AS a : B:+ AS b) AS x
    FILTER a.geo.lat < 62 AND x[geo.lat > 0.9 * prev(geo.lat)]
    PARTITION BY device.id
    WITHIN 20 SECONDS
"""
TOTALS = """
    SUMMARIZE count(*), max(b.geo.lat), count(b[geo.lat > 60]) AS far, count(DISTINCT b.geo.zone.`a b`) AS zones
    MATCH A AS a ; B AS b FILTER a.geo.lat < b.geo.lat
    PARTITION BY device.id
    WITHIN 5 SECONDS
    BY device.id
    OVER 1 MINUTE
"""


def places(size: int) -> pa.Table:
    rng = np.random.default_rng(1)
    lat = pa.array(np.round(rng.uniform(50, 70, size), 1), mask=rng.random(size) < 0.1)
    words = pa.array(rng.choice(["n", "s", "w"], size), mask=rng.random(size) < 0.1)
    zone = pa.StructArray.from_arrays([words], ["a b"], mask=pa.array(rng.random(size) < 0.1))
    return pa.table(
        {
            "type": rng.choice(["A", "B"], size),
            "ts": pa.array(np.arange(size) * 1_000_000, pa.timestamp("us", "UTC")),
            "device": pa.StructArray.from_arrays([pa.array(rng.integers(0, 3, size))], ["id"]),
            "geo": pa.StructArray.from_arrays([lat, zone], ["lat", "zone"], mask=pa.array(rng.random(size) < 0.1)),
            "more": pa.array(["x"] * size),
        }
    )


@pytest.mark.parametrize("text", [PAIRS, TOTALS], ids=["matches", "totals"])
def test_a_frame(text: str, to_frame: Callable[[pa.Table], Any]) -> None:
    query, table = ac.query(text), places(300)
    expected, frame = query.run(table, order_by="ts"), to_frame(table)
    found = query.run(frame, order_by="ts").toArrow()
    assert found.schema == expected.schema
    assert shown(found) == shown(expected)
    assert expected.num_rows
    assert query.check(frame.schema, order_by="ts").names == expected.column_names
    if text == PAIRS:
        clock = pa.StructArray.from_arrays([table.column("ts").combine_chunks()], ["at"])
        nested = table.set_column(1, "clock", clock)
        assert shown(query.run(to_frame(nested), order_by="clock.at").toArrow()) == shown(expected)
    if text == TOTALS:
        assert "columns that travel: ts, device.id, geo.lat, geo.zone.a b" in query.explain(frame, order_by="ts")


def test_a_stream(spark: Any, tmp_path: Path) -> None:
    query, table, files = ac.query(PAIRS), places(300), Files(spark, tmp_path)
    files.put_all(shuffled(table, 30), 2)
    files.run(query.run(files.frame(), order_by="ts", late_events="late"))
    found = files.found()
    assert shown(found.drop_columns(["late"])) == shown(query.run(table, order_by="ts"))
    assert found.schema.field("late").type.names == table.column_names
