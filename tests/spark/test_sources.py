"""Where events come from: folders with partitions, tables that are lists of files, messages that come more than once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import acelera as ac
from spark.test_streaming import late_events, shuffled

QUERY = ac.query("SELECT k, a.v AS v, b.id AS id, end_time MATCH A AS a ; B AS b PARTITION BY k WITHIN 9 SECONDS")


def events(size: int) -> pa.Table:
    """Two days of events, a second apart."""
    rng = np.random.default_rng(7)
    begin = np.datetime64("2024-01-02T00:00:00") - np.timedelta64(size // 2, "s")
    return pa.table(
        {
            "id": pa.array(np.arange(size)),
            "ts": pa.array(begin + np.arange(size).astype("m8[s]"), pa.timestamp("us")).cast(pa.timestamp("us", "UTC")),
            "type": pa.array(rng.choice(["A", "B", "C"], size)),
            "k": pa.array(rng.choice(["x", "y"], size)),
            "v": pa.array(rng.integers(0, 9, size)),
        }
    )


def shown(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


# --- folders ------------------------------------------------------------------------------------------------------


def test_a_folder_with_partitions(spark: Any, tmp_path: Path) -> None:
    """The column that names folders is one of the frame, and of the dataset; a filter on it leaves folders out."""
    table, source = events(120), str(tmp_path / "days")
    days = pa.array([str(each.date()) for each in table["ts"].to_pylist()])
    pq.write_to_dataset(table.append_column("day", days), source, partition_cols=["day"])
    frame, expected = spark.read.parquet(source), QUERY.run(table, order_by="ts")
    assert shown(QUERY.run(frame, order_by="ts").toArrow()) == shown(expected)
    assert shown(QUERY.run(ds.dataset(source, partitioning="hive"), order_by="ts")) == shown(expected)
    second = QUERY.run(table.filter(pa.array([day == "2024-01-02" for day in days.to_pylist()])), order_by="ts")
    of_a_day = QUERY.run(frame.filter("day = '2024-01-02'"), order_by="ts")
    assert shown(of_a_day.toArrow()) == shown(second) and 0 < second.num_rows < expected.num_rows


def test_a_table_of_delta(spark: Any, tmp_path: Path) -> None:
    """Without the connector: the log says which files of the folder are the table."""
    deltalake = pytest.importorskip("deltalake", reason="deltalake is not installed")
    table, source = events(120), str(tmp_path / "table")
    days = pa.array([str(each.date()) for each in table["ts"].to_pylist()])
    for part in (table.append_column("day", days).slice(0, 70), table.append_column("day", days).slice(70)):
        deltalake.write_deltalake(source, part, mode="append", partition_by=["day"])
    deltalake.DeltaTable(source).delete("id < 20")  # which leaves files behind that are no longer part of it
    now, expected = deltalake.DeltaTable(source), QUERY.run(table.slice(20), order_by="ts")
    assert shown(QUERY.run(now.to_pyarrow_dataset(), order_by="ts")) == shown(expected)
    frame = spark.read.option("basePath", source).parquet(*now.file_uris())
    assert shown(QUERY.run(frame, order_by="ts").toArrow()) == shown(expected)


# --- messages -----------------------------------------------------------------------------------------------------


def replayed(spark: Any, path: Path) -> Any:
    """The lines of a file as a topic of Kafka would give them, some at a time, with offsets that a checkpoint keeps."""
    datasource = pytest.importorskip("pyspark.sql.datasource")

    class Reader(datasource.SimpleDataSourceStreamReader):  # type: ignore[misc]  # Spark's classes have no types
        def initialOffset(self) -> dict[str, int]:  # noqa: N802
            return {"offset": 0}

        def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[Any, ...]], dict[str, int]]:
            end = {"offset": min(start["offset"] + 120, len(path.read_text().splitlines()))}
            return self.readBetweenOffsets(start, end), end

        def readBetweenOffsets(  # noqa: N802
            self, start: dict[str, int], end: dict[str, int]
        ) -> Iterator[tuple[Any, ...]]:
            lines = path.read_text().splitlines()
            numbers = range(start["offset"], end["offset"])
            return iter([(None, lines[number].encode(), "events", 0, number) for number in numbers])

    class Replayed(datasource.DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "replayed"

        def schema(self) -> str:
            return "key binary, value binary, topic string, partition int, offset bigint"

        def simpleStreamReader(self, schema: Any) -> Reader:  # noqa: N802
            return Reader()

    spark.dataSource.register(Replayed)
    return spark.readStream.format("replayed").load()


def test_messages_that_come_more_than_once(spark: Any, tmp_path: Path) -> None:
    """They are out of order, some are delivered again, some cannot be read, and the stream is stopped in the middle."""
    from pyspark.sql import functions

    table, topic, sink = events(240), tmp_path / "topic", str(tmp_path / "out")
    rows = [{**row, "ts": row["ts"].isoformat()} for row in shuffled(table, 20).to_pylist()]
    sent = [row for number, row in enumerate(rows) for row in [row, *rows[max(0, number - 9) : number : 9]]]
    lines = [json.dumps(row) for row in sent] + ["{"]
    last = json.dumps({"id": -1, "ts": "2090-01-01T00:00:00Z"})
    assert len(lines) > 450

    def run() -> list[Any]:
        text = functions.col("value").cast("string")
        read = functions.from_json(text, "id bigint, ts timestamp, type string, k string, v bigint").alias("event")
        arrived = replayed(spark, topic).select(read).filter("event.ts IS NOT NULL").select("event.*")
        once = arrived.withWatermark("ts", "1 minute").dropDuplicatesWithinWatermark(["id"])
        found = QUERY.run(once, order_by=["ts", "id"])
        writer = found.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        stream = writer.option("path", sink).start()
        stream.processAllAvailable()
        stream.stop()
        return list(stream.recentProgress)

    topic.write_text("\n".join(lines[:240]) + "\n")
    progress = run()
    before = spark.read.parquet(sink).count()
    topic.write_text("\n".join([*lines, last]) + "\n")
    progress += run()
    expected = QUERY.run(table, order_by=["ts", "id"])
    assert 0 < before < expected.num_rows
    assert shown(spark.read.parquet(sink).toArrow()) == shown(expected)
    assert late_events(progress) == 0
