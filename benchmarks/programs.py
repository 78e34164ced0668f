"""How quickly programs of rules run in process, beside the same rules written by hand in SQL on the same database, and
how much memory they need.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import duckdb
import numpy as np
import pyarrow as pa

import acelera as ac
from measuring import apart, heading, line
from memory import resident

BATCH, SENSORS, AREAS = 100_000, 1_000, 100
SECOND = 1_000_000

warnings.simplefilter("ignore", ac.AceleraWarning)  # that the second rule never fires on point events is known

FIRE = """
DETECT fire { area { var A } }
ON and { event s: smoke {{ area {{ var A }} }}, event t: temp {{ area {{ var A }}, value {{ var T }} }} }
where { s before t, {s, t} within 1 min, var T > 40 } END

DETECT burnt_down { sensor { var S } }
ON and { event n: temp {{ sensor {{ var S }}, value {{ var T }} }}, event i: timer:from-end [ event n, 12 sec ],
         while i: not temp {{ sensor {{ var S }} }} } where { var T > 40 } END

DETECT avg_temp { sensor { var S }, value { avg(all var T) } }
ON and { event m: temp {{ sensor {{ var S }} }}, event i: timer:from-start-backward [ event m, 1 min ],
         while i: collect temp {{ sensor {{ var S }}, value {{ var T }} }} } END
"""
SCHEMAS = {
    "smoke": pa.schema({"t": pa.timestamp("us"), "area": pa.string()}),
    "temp": pa.schema({"t": pa.timestamp("us"), "area": pa.string(), "sensor": pa.string(), "value": pa.float64()}),
}


def batches(number: int, size: int, seconds: int, first: int = 0) -> Iterator[dict[str, pa.Table]]:
    """Point events of so many seconds a batch; one in twenty is smoke."""
    rng = np.random.default_rng(first + 1)
    names = pa.array([f"s{each}" for each in range(SENSORS)])
    areas = pa.array([f"a{each * AREAS // SENSORS}" for each in range(SENSORS)])
    for batch in range(first, first + number):
        moments = np.sort(rng.integers(batch * seconds * SECOND, (batch + 1) * seconds * SECOND, size))
        sensors, smoke = rng.integers(0, SENSORS, size), rng.random(size) < 0.05
        times = pa.array(moments, pa.timestamp("us"))
        place = pa.array(sensors)
        table = pa.table(
            {"t": times, "area": areas.take(place), "sensor": names.take(place), "value": rng.normal(30, 5, size)}
        )
        yield {"smoke": table.filter(pa.array(smoke)).select(["t", "area"]), "temp": table.filter(pa.array(~smoke))}


class ByHand:
    """The same three rules, for point events, as someone would write them who knows them."""

    def __init__(self) -> None:
        self.db = duckdb.connect()
        self.db.execute("SET threads = 1")
        self.db.execute("CREATE TABLE smoke (t BIGINT, area TEXT)")
        self.db.execute("CREATE TABLE temp (t BIGINT, area TEXT, sensor TEXT, value DOUBLE, id BIGINT)")
        self.db.execute("CREATE TABLE pending (t BIGINT, sensor TEXT)")
        self.rows = 0

    def push(self, batch: dict[str, pa.Table]) -> dict[str, pa.Table]:
        """Take a batch; what it brings."""
        run = self.db.execute
        for label, table in batch.items():
            self.db.register(f"new_{label}", table)
        now = max(table["t"].cast(pa.int64()).to_numpy().max() for table in batch.values() if table.num_rows)
        run("CREATE OR REPLACE TEMP TABLE d_smoke AS SELECT DISTINCT epoch_us(t) AS t, area FROM new_smoke")
        run(
            f"CREATE OR REPLACE TEMP TABLE d_temp AS SELECT *, {self.rows} + row_number() OVER () AS id FROM "
            "(SELECT DISTINCT epoch_us(t) AS t, area, sensor, value FROM new_temp)"
        )
        self.rows += batch["temp"].num_rows
        run("INSERT INTO smoke SELECT * FROM d_smoke")
        run("INSERT INTO temp SELECT * FROM d_temp")
        run("INSERT INTO pending SELECT t, sensor FROM d_temp WHERE value > 40")
        found = {
            "fire": self._rows(
                "SELECT DISTINCT s.t AS b, d.t AS e, d.area FROM d_temp d JOIN smoke s ON s.area = d.area "
                "AND s.t < d.t AND d.t <= s.t + 60000000 WHERE d.value > 40"
            ),
            "burnt_down": self._rows(
                "SELECT DISTINCT p.t, p.t + 12000000 AS e, p.sensor FROM pending p WHERE p.t + 12000000 <= "
                f"{now} AND NOT EXISTS (SELECT 1 FROM temp x WHERE x.sensor = p.sensor AND x.t >= p.t "
                "AND x.t <= p.t + 12000000)"
            ),
            "avg_temp": self._rows(
                "SELECT DISTINCT b, e, sensor, v FROM "
                "(SELECT d.t - 60000000 AS b, d.t AS e, d.sensor, d.id, avg(x.value) AS v FROM d_temp d "
                "JOIN temp x ON x.sensor = d.sensor AND x.t >= d.t - 60000000 AND x.t <= d.t "
                "GROUP BY ALL)"
            ),
        }
        run(f"DELETE FROM pending WHERE t + 12000000 <= {now}")
        run(f"DELETE FROM smoke WHERE t < {now} - 60000000")
        run(f"DELETE FROM temp WHERE t < {now} - 60000000")
        return found

    def _rows(self, query: str) -> pa.Table:
        return self.db.sql(query).to_arrow_table()


def pushes(size: int, seconds: int, number: int, most: float) -> None:
    """The same batches, by hand and by rules in turns."""
    heading(f"{number} pushes of {size:,} point events, {seconds} s of {SENSORS:,} sensors each")
    session, by_hand = ac.xchangeeq(FIRE).open(SCHEMAS, time="t"), ByHand()
    ahead = 60 // seconds + 1
    for batch in batches(ahead, size, seconds):  # so much is kept
        session.push(batch), by_hand.push(batch)
    taken: dict[str, list[float]] = {"rules": [], "by hand": []}
    for batch in batches(number, size, seconds, first=ahead):
        counts = []
        for name, push in (("rules", session.push), ("by hand", by_hand.push)):
            begin = time.process_time()
            made = push(batch)
            taken[name].append(time.process_time() - begin)
            counts.append({label: table.num_rows for label, table in made.items()})
        assert counts[0] == counts[1], f"{counts[0]} by rules, {counts[1]} by hand"
    best = {name: min(each) for name, each in taken.items()}
    line("by rules", 1000 * best["rules"], "ms of CPU a push", at_most=most)
    line("by hand", 1000 * best["by hand"], "ms of CPU a push")
    line("rules against hand", best["rules"] / best["by hand"], "times", at_most=1.5)
    line("events", size / best["rules"], "a second of CPU")


def long_stream(events: int) -> None:
    """A long stream, of which a minute is kept."""
    number = max(events // BATCH, 10)
    heading(f"{number * BATCH:,} point events in pushes of {BATCH:,}")
    session = ac.xchangeeq(FIRE).open(SCHEMAS, time="t")
    shown = {number // 10: 0, number // 2: 0, number: 0}
    for count, batch in enumerate(batches(number, BATCH, 100), 1):
        session.push(batch)
        if count in shown:
            shown[count] = resident()
            line(
                f"after {count * BATCH:,} events",
                shown[count] / 1e6,
                "MB resident",
                note=f"{sum(session.kept().values()):,} rows kept",
            )
    first, *_, last = shown.values()
    line("the last against the first of these", last / first, "times", at_most=1.1)


def main() -> None:
    """Measure all of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=2_000_000, help="of the long stream")
    events = parser.parse_args().events
    apart(pushes, BATCH, 100, 8, 500)
    apart(pushes, 10, 1, 100, 20)
    if events:
        apart(long_stream, events)


if __name__ == "__main__":
    main()
