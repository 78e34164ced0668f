"""Spark: queries against what people write by hand for the same, on the same rows, counted and written to parquet."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import acelera as ac
from measuring import heading, line, seconds
from spark_session import session

SLOWING = """
SELECT vehicle, start_time, end_time, fast.speed AS speed
MATCH (report AS fast FILTER fast.speed > 20) : (report AS slow FILTER slow.speed < 6):{3}
PARTITION BY vehicle
"""

Works = Mapping[str, Callable[[Any], Any]]
"""What makes a frame of matches of the frame of reports; the first is ours, the second is written by hand."""


def reports(rows: int, vehicles: int, path: Path) -> None:
    """Seeded reports of where vehicles are and how fast, in a file, in order of their times."""
    rng = np.random.default_rng(17)
    listed = pa.array([f"V{number:06d}" for number in range(vehicles)])
    table = pa.table(
        {
            "ts": pa.array(1_700_000_000_000_000 + np.arange(rows) * 10_000, pa.timestamp("us", "UTC")),
            "vehicle": listed.take(pa.array(rng.integers(0, vehicles, rows))),
            "speed": rng.uniform(0, 30, rows),
            "lat": rng.uniform(50, 60, rows),
            "lon": rng.uniform(0, 20, rows),
            "status": pa.array(["under way", "at anchor", "moored"]).take(pa.array(rng.integers(0, 3, rows))),
        }
    )
    pq.write_table(table, path, row_group_size=500_000)


def slowing_by_lead(frame: Any) -> Any:
    """Runs of three slow reports after a fast one, with a window and `lead`."""
    from pyspark.sql import Window, functions

    by_vehicle = Window.partitionBy("vehicle").orderBy("ts")
    later = [functions.lead("speed", number).over(by_vehicle).alias(f"speed{number}") for number in (1, 2, 3)]
    end = functions.lead("ts", 3).over(by_vehicle).alias("end_time")
    moved = frame.select("vehicle", "ts", "speed", end, *later)
    found = moved.filter("speed > 20 AND speed1 < 6 AND speed2 < 6 AND speed3 < 6")
    return found.select("vehicle", functions.col("ts").alias("start_time"), "end_time", "speed")


def ours(text: str) -> Callable[[Any], Any]:
    """The matches of a query over reports."""
    query = ac.query(text)
    return lambda frame: query.run(frame, order_by="ts", event_type="report")


CONTIGUOUS: Works = {"ours": ours(SLOWING), "lead": slowing_by_lead}


def done(work: Callable[[Any], Any], act: Callable[[Any], object], frame: Any) -> None:
    """Find the matches of a frame, and do something with them."""
    act(work(frame))


def compare(name: str, works: Works, frame: Any, folder: Path, rounds: int) -> None:
    """Print how long a query takes against the same by hand: medians of alternating rounds, after one to warm up."""
    kinds: dict[str, Callable[[Any], object]] = {
        "counted": lambda found: found.count(),
        "written to parquet": lambda found: found.write.mode("overwrite").parquet(str(folder / "matches")),
    }
    counts = {each: work(frame).count() for each, work in works.items()}
    assert len(set(counts.values())) == 1, f"they find different matches: {counts}"
    mine, theirs = works
    for kind, act in kinds.items():
        taken: dict[str, list[float]] = {each: [] for each in works}
        for _ in range(1 + rounds):
            for each, work in works.items():
                taken[each].append(seconds(partial(done, work, act, frame)))
        medians = {each: statistics.median(times[1:]) for each, times in taken.items()}
        note = f"{medians[mine]:.1f} s and {medians[theirs]:.1f} s, {counts[mine]:,} matches"
        line(f"{name}, {kind}", medians[mine] / medians[theirs], f"times {theirs}", at_most=1.1, note=note)


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        reports(options.events, options.keys, path)
        frame = spark.read.parquet(str(path))
        heading(f"{options.events:,} reports of {options.keys:,} vehicles, against what is written by hand")
        compare("three slow reports after a fast one", CONTIGUOUS, frame, Path(folder), options.rounds)
    spark.stop()


if __name__ == "__main__":
    main()
