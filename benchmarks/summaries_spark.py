"""Summaries on Spark: one stream without keys, cut into stretches, by two cores against one."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import acelera as ac
from measuring import apart, heading, in_turns, line
from spark_session import session

QUERIES = {
    "A ; B+, count and sum": ("SUMMARIZE log2_count(*), avg(b.v) AS mean MATCH A ; B+ AS b", 1.6),
    "A ; B, count and sum": ("SUMMARIZE count(*), sum(b.v) AS total MATCH A ; B AS b", 1.6),
    "A ; B, by hours": ("SUMMARIZE count(*), sum(b.v) AS total MATCH A ; B AS b OVER 1 HOURS EVERY 30 MINUTES", None),
}


FILES = 8
"""As tables have: tasks that read one file each have as much to do as each other."""


def events(size: int, folder: Path) -> None:
    """Seeded events in some files, one a millisecond; most matter."""
    rng = np.random.default_rng(1)
    table = pa.table(
        {
            "type": pa.array(["A", "B", "C"]).take(pa.array(rng.choice(3, size, p=[0.3, 0.6, 0.1]))),
            "v": rng.integers(0, 100, size),
            "ts": pa.array(np.arange(size) * 1000, pa.timestamp("us", "UTC")),
        }
    )
    part = -(-size // FILES)
    for number in range(FILES):
        pq.write_table(table.slice(number * part, part), folder / f"{number}.parquet")


def measured(folder: str, cores: int, rounds: int) -> None:
    """How long each query takes with so many cores, written to a file.

    All of Spark is kept to these cores: of one task, the JVM's part and Python's run side by side if there are two.
    """
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:cores]))
    spark = session(cores, shuffle_partitions=4, memory="4g")
    frame = spark.read.parquet(f"{folder}/events")
    works = {
        name: lambda text=text: ac.query(text).run(frame, order_by="ts").toArrow()  # type: ignore[misc]
        for name, (text, _) in QUERIES.items()
    }
    for work in works.values():  # Spark, its workers and kernels get warm
        work()
    Path(folder, f"{cores}.json").write_text(json.dumps(in_turns(works, rounds)))
    spark.stop()


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "events").mkdir()
        events(options.events, Path(folder, "events"))
        found = {}
        for cores in (1, 2):
            apart(measured, folder, cores, options.rounds)
            found[cores] = json.loads(Path(folder, f"{cores}.json").read_text())
    heading(f"{options.events:,} events without keys, two cores against one")
    for name, (_, bar) in QUERIES.items():
        one, two = found[1][name], found[2][name]
        line(name, one / two, "times as quick", at_least=bar, note=f"{one:.1f} s and {two:.1f} s")


if __name__ == "__main__":
    main()
