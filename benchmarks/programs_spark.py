"""Program P on Spark, rule by rule, against the same queries written by hand in Spark SQL, on the same data."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from acelera.programs.announcement import Asked, announce
from acelera.programs.options import how
from acelera.programs.spark_batch import run_frames
from acelera.spark.schemas import arrow_schema
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.engine import compiled
from acelera.xchangeeq.parser import parse_program
from measuring import heading, in_turns, line
from spark import written
from spark_session import session

PROGRAM = """
DETECT fire { area { var A } }
ON and { event s: smoke {{ area {{ var A }} }}, event t: temp {{ area {{ var A }}, value {{ var T }} }} }
   where { s before t, {s, t} within 1 min, var T > 40 } END

DETECT burnt_down { sensor { var S } }
ON and { event n: temp {{ sensor {{ var S }}, value {{ var T }} }}, event i: timer:from-end [ event n, 12 sec ],
         event o: timer:shorten-begin [ event i, 1 ms ], while o: not temp {{ sensor {{ var S }} }} }
   where { var T > 40 } END

DETECT avg_temp { sensor { var S }, value { avg(all var T) } }
ON and { event m: temp {{ sensor {{ var S }} }}, event i: timer:from-start-backward [ event m, 1 min ],
         while i: collect temp {{ sensor {{ var S }}, value {{ var T }} }} } END
"""
"""P of the paper; since these events are points, the window of burnt_down is opened, or it would hold its own event."""

BY_HAND = {
    "fire": """
SELECT DISTINCT s.t AS begin, t.t AS end, s.area
FROM (SELECT area, t, t DIV 60000000 AS cell FROM smoke) AS s
JOIN (SELECT area, t, explode(array(t DIV 60000000, t DIV 60000000 - 1)) AS cell FROM temp WHERE value > 40) AS t
  ON s.area = t.area AND s.cell = t.cell AND s.t < t.t AND t.t - s.t <= 60000000
""",
    "burnt_down": """
SELECT DISTINCT t AS begin, t + 12000000 AS end, sensor
FROM (SELECT sensor, value, t,
             min(t) OVER (PARTITION BY sensor ORDER BY t RANGE BETWEEN 1000 FOLLOWING AND 12000000 FOLLOWING) AS next
      FROM temp)
WHERE value > 40 AND next IS NULL
""",
    "avg_temp": """
SELECT DISTINCT t - 60000000 AS begin, t AS end, sensor,
       avg(value) OVER (PARTITION BY sensor ORDER BY t RANGE BETWEEN 60000000 PRECEDING AND CURRENT ROW) AS value
FROM (SELECT DISTINCT * FROM (SELECT * FROM temp DISTRIBUTE BY sensor))
""",
}
"""Times are integers. Rows that are equal are one event, which an average has to know; so both make them different."""

SENSORS, RATE, SMOKE = 1000, 300, 0.05
"""Sensors, ten to an area; events of all of them in a second; the part of events that is smoke."""


def events(size: int, folder: Path) -> None:
    """Seeded events in two files."""
    rng = np.random.default_rng(1)
    times = np.sort(rng.integers(0, size * 1_000_000 // RATE, size))
    sensors, is_smoke = rng.integers(0, SENSORS, size), rng.random(size) < SMOKE
    table = pa.table(
        {
            "sensor": pa.array([f"s{number}" for number in range(SENSORS)]).take(pa.array(sensors)),
            "area": pa.array([f"a{number}" for number in range(SENSORS // 10)]).take(pa.array(sensors // 10)),
            "value": rng.normal(30, 5, size),
            "t": pa.array(times, pa.timestamp("us", "UTC")),
        }
    )
    pq.write_table(table.filter(pa.array(~is_smoke)), folder / "temp.parquet", row_group_size=250_000)
    smoke = table.filter(pa.array(is_smoke)).select(["area", "t"])
    pq.write_table(smoke, folder / "smoke.parquet", row_group_size=250_000)


def queries(spark: Any, folder: Path) -> dict[str, tuple[Any, Any]]:
    """For each label the frame of the query by hand and that of the program."""
    frames = {label: spark.read.parquet(str(folder / f"{label}.parquet")) for label in ("smoke", "temp")}
    asked = Asked(tuple(frames), tuple(BY_HAND))
    announced = announce({label: arrow_schema(frame) for label, frame in frames.items()}, how({"time": "t"}), asked)
    program = compiled(check(parse_program(PROGRAM), announced.labels), longest=dict.fromkeys(frames, 0))
    ours = run_frames(frames, program.rules, program.rows, announced, program.checked.outputs)
    for label, frame in frames.items():
        frame.selectExpr(*announced.labels[label].names, "unix_micros(t) AS t").createOrReplaceTempView(label)
    return {label: (spark.sql(text), ours[label]) for label, text in BY_HAND.items()}


def measure(spark: Any, size: int, rounds: int) -> dict[str, float]:
    """Print how long each query takes, by hand and by the program."""
    with tempfile.TemporaryDirectory() as name:
        events(size, Path(name))
        heading(f"{size:,} events of {SENSORS:,} sensors, against the queries by hand")
        works, found = {}, queries(spark, Path(name))
        for label, (by_hand, ours) in found.items():
            counts = by_hand.count(), ours.count()
            assert counts[0] == counts[1], f"{label}: {counts[0]:,} by hand, {counts[1]:,} by the program"
            works |= {
                f"{label} by hand": lambda frame=by_hand: written(frame),
                label: lambda frame=ours: written(frame),
            }
        seconds = in_turns(works, rounds)
    for label in BY_HAND:
        note = f"{seconds[label]:.1f} s and {seconds[f'{label} by hand']:.1f} s"
        line(label, seconds[label] / seconds[f"{label} by hand"], "times", at_most=1.5, note=note)
    return seconds


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    spark = session()
    few = measure(spark, options.events // 4, options.rounds)
    many = measure(spark, options.events, options.rounds)
    heading("four times the events")
    for label in BY_HAND:
        note = f"{few[f'{label} by hand']:.1f} s to {many[f'{label} by hand']:.1f} s by hand"
        line(label, many[label] / few[label], "times as long", at_most=5, note=note)
    spark.stop()


if __name__ == "__main__":
    main()
