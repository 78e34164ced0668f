"""Spark: what is read by Python (gaps, runs, values of several events) against the same by hand."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from by_hand import Works, compare, ours, reports
from measuring import heading
from spark_session import session

GAP = """
SELECT vehicle, a.ts AS fast_at, a.lat, a.lon, b.ts AS slow_at, b.speed
MATCH report AS a ; report AS b FILTER a[speed > {fast}] AND b[speed < {slow}]{also}
PARTITION BY vehicle WITHIN 10 MINUTES
"""

JOINED = """
SELECT a.vehicle, a.ts AS fast_at, a.lat, a.lon, b.ts AS slow_at, b.speed
FROM {{frame}} AS a
JOIN {{frame}} AS b ON a.vehicle = b.vehicle AND b.ts > a.ts AND b.ts <= a.ts + INTERVAL 10 MINUTES
WHERE a.speed > {fast} AND b.speed < {slow}{also}
"""

SLOW = """
SELECT vehicle, start_time, end_time, count(x) AS reports, max(x.speed) AS high
MATCH report:{{3,}} AS x FILTER x[speed < {slow}]
PARTITION BY vehicle KEEP LONGEST APART
"""

ISLANDS = """
SELECT vehicle, min(ts) AS start_time, max(ts) AS end_time, count(*) AS reports, max(speed) AS high
FROM (SELECT *, count_if(speed >= {slow}) OVER (PARTITION BY vehicle ORDER BY ts) AS island FROM {{frame}})
WHERE speed < {slow}
GROUP BY vehicle, island HAVING count(*) >= 3
"""

RISING = """
SELECT vehicle, start_time, end_time, count(x) AS reports
MATCH report:{5,} AS x FILTER x[speed > prev(speed)]
PARTITION BY vehicle KEEP LONGEST APART
"""

RISES = """
SELECT vehicle, min(ts) AS start_time, max(ts) AS end_time, count(*) AS reports
FROM (SELECT *, count_if(NOT rises) OVER (PARTITION BY vehicle ORDER BY ts) AS island
      FROM (SELECT vehicle, ts, coalesce(speed > lag(speed) OVER (PARTITION BY vehicle ORDER BY ts), FALSE) AS rises
            FROM {frame}))
GROUP BY vehicle, island HAVING count(*) >= 5
"""


def sql(text: str) -> Callable[[Any], Any]:
    """What Spark finds for a text over the frame."""
    return lambda frame: frame.sparkSession.sql(text, frame=frame)


def pairs(fast: float, slow: float) -> Callable[[Any], Any]:
    """A gap, for each vehicle in pandas."""
    result = "vehicle string, fast_at timestamp, lat double, lon double, slow_at timestamp, speed double"

    def found(rows: Any) -> Any:
        import numpy as np
        import pandas as pd

        rows = rows.sort_values("ts")
        first, second = rows[rows.speed > fast], rows[rows.speed < slow]
        begin = np.searchsorted(second.ts.to_numpy(), first.ts.to_numpy(), side="right")
        end = np.searchsorted(second.ts.to_numpy(), (first.ts + pd.Timedelta(minutes=10)).to_numpy(), side="right")
        sizes = end - begin
        left = np.repeat(np.arange(len(first)), sizes)
        right = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + np.repeat(begin, sizes)
        one, other = first.iloc[left].reset_index(drop=True), second.iloc[right].reset_index(drop=True)
        columns = {"vehicle": one.vehicle, "fast_at": one.ts, "lat": one.lat, "lon": one.lon}
        return pd.DataFrame({**columns, "slow_at": other.ts, "speed": other.speed})

    return lambda frame: frame.groupBy("vehicle").applyInPandas(found, result)


def slow_runs(slow: float) -> Callable[[Any], Any]:
    """Runs of slow reports, for each vehicle in pandas."""
    result = "vehicle string, start_time timestamp, end_time timestamp, reports bigint, high double"

    def found(rows: Any) -> Any:
        rows = rows.sort_values("ts")
        is_slow = rows.speed < slow
        islands = rows[is_slow].groupby((~is_slow).cumsum()[is_slow])
        made = islands.agg(
            vehicle=("vehicle", "first"),
            start_time=("ts", "min"),
            end_time=("ts", "max"),
            reports=("ts", "count"),
            high=("speed", "max"),
        )
        return made[made.reports >= 3]

    return lambda frame: frame.groupBy("vehicle").applyInPandas(found, result)


def gap(fast: float, slow: float, ours_also: str = "", theirs_also: str = "") -> Works:
    """A fast report and a slow one within ten minutes, and the self join."""
    return {
        "ours": ours(GAP.format(fast=fast, slow=slow, also=ours_also)),
        "self join": sql(JOINED.format(fast=fast, slow=slow, also=theirs_also)),
    }


def runs(slow: float) -> Works:
    """Runs of slow reports, and windows by hand."""
    return {"ours": ours(SLOW.format(slow=slow)), "gaps and islands": sql(ISLANDS.format(slow=slow))}


CASES: dict[str, Works] = {
    "a gap, 1 % and 1 % of rows": gap(29.7, 0.3),
    "a gap, 10 % and 10 %": gap(27, 3),
    "a gap, 33 % and 20 %": gap(20, 6),
    "a gap, 10 %, b.lat > a.lat + 5": gap(27, 3, " AND b.lat > a.lat + 5", " AND b.lat > a.lat + 5"),
    "runs, 10 % of rows": runs(3),
    "runs, 50 % of rows": runs(15),
    "rising runs": {"ours": ours(RISING), "gaps and islands": sql(RISES)},
}

IN_PANDAS: dict[str, Works] = {
    "a gap, 10 % and 10 %": {"ours": ours(GAP.format(fast=27, slow=3, also="")), "applyInPandas": pairs(27, 3)},
    "runs, 10 % of rows": {"ours": ours(SLOW.format(slow=3)), "applyInPandas": slow_runs(3)},
}


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--keys", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    options = parser.parse_args()
    spark = session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reports.parquet"
        reports(options.events, options.keys, path)
        frame = spark.read.parquet(str(path))
        heading(f"{options.events:,} reports of {options.keys:,} vehicles, read by Python, against the same by hand")
        for cases, rounds in ((CASES, options.rounds), (IN_PANDAS, 1)):
            for name, works in cases.items():
                if options.only in name:
                    compare(name, works, frame, Path(folder), rounds)
    spark.stop()


if __name__ == "__main__":
    main()
