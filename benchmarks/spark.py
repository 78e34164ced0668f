"""Spark: a query against the pipeline that only moves the rows, in one session, on the same data."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import acelera as ac
from measuring import heading, in_turns, line
from spark_session import session

SELECTIVE = """
SELECT name, a.price, b.price AS low, c.price AS high
MATCH SELL AS a {then} BUY AS b {then} SELL AS c FILTER a.price > 190 AND b.price < 10 AND c.price > 195
PARTITION BY name WITHIN 20 SECONDS
"""


def ticks(events: int, names: int, path: Path) -> None:
    """Seeded ticks in a file."""
    rng = np.random.default_rng(1)
    listed = pa.array([f"T{number:06d}" for number in range(names)])
    table = pa.table(
        {
            "type": pa.array(["SELL", "BUY", "NEWS"]).take(pa.array(rng.integers(0, 3, events))),
            "name": listed.take(pa.array(rng.integers(0, names, events))),
            "price": rng.uniform(0, 200, events),
            "volume": rng.integers(0, 1000, events),
            "venue": pa.array(["N", "Q", "L"]).take(pa.array(rng.integers(0, 3, events))),
            "ts": pa.array(np.arange(events) * 1000, pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table, path, row_group_size=500_000)


def identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Move rows, and nothing else."""
    yield from batches


def written(frame: Any) -> None:
    """Compute all rows of a frame."""
    frame.write.format("noop").mode("overwrite").save()


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=200_000)
    options = parser.parse_args()
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ticks.parquet"
        ticks(options.events, 1000, path)
        frame = spark.read.parquet(str(path))
        moved = frame.repartition("name").sortWithinPartitions("ts").mapInArrow(identity, frame.schema)
        heading(
            f"{options.events:,} events, 1,000 keys, against moving all rows (repartition, sort, identity in Python)"
        )
        cases = (("selective, rows can be dropped", ";", 0.3), ("contiguous, none can be", ":", 0.9))
        works = {"moved": lambda: written(moved)}
        for name, then, _ in cases:
            query = ac.query(SELECTIVE.format(then=then))
            works[name] = lambda query=query, frame=frame: written(query.run(frame, order_by="ts"))
        seconds = in_turns(works, rounds=2)
        for name, _, bar in cases:
            note = f"{seconds[name]:.1f} s and {seconds['moved']:.1f} s"
            line(name, seconds[name] / seconds["moved"], "times", at_most=bar, note=note)
        many = Path(folder) / "many.parquet"
        ticks(10 * options.keys, options.keys, many)
        frame = spark.read.parquet(str(many))
        heading(
            f"{options.keys:,} keys of 10 events, against groupBy(key).applyInPandas with a function that does nothing"
        )
        grouped = frame.groupBy("name").applyInPandas(lambda rows: rows, frame.schema)
        query = ac.query(SELECTIVE.format(then=";"))
        seconds = in_turns(
            {"grouped": lambda: written(grouped), "ours": lambda: written(query.run(frame, order_by="ts"))}, rounds=1
        )
        note = f"{seconds['grouped']:.0f} s and {seconds['ours']:.1f} s"
        line("a ; b ; c", seconds["grouped"] / seconds["ours"], "times as quick", at_least=10, note=note)
    spark.stop()


if __name__ == "__main__":
    main()
