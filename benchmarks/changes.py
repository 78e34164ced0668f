"""How quickly rules over changes run in process, beside the same written with pandas, in SQL with window functions, and
beside what Arrow needs for the conditions alone; how time grows, and how much memory a stream needs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import acelera as ac
from acelera import cdc
from measuring import heading, line
from memory import resident

KEYS, BATCH = 1_000, 100_000

MOVING = """
monitor reading partition by sensor; derived moving(sensor, mean);
Moving: (any, * reading(X, Count(X) <= 5), Count(X) = 5) -> moving(X.sensor, Avg(X.value));
"""
PHASES = """
monitor update(stock) as tick partition by id; derived phase(id, low, high);
Phase: (* tick(X, X.price > Last(X.price)), Count(X) >= 10, !tick(U, U.price > X.price))
  -> phase(X.id, First(X.price), X.price);
"""


def readings(number: int, first: int = 0) -> pa.Table:
    """Readings of many sensors in turn, each at its own time."""
    rng = np.random.default_rng(first + 1)
    rows = np.arange(first, first + number)
    return pa.table(
        {
            "ts": pa.array(rows * 1_000, pa.timestamp("us")),
            "sensor": pa.array(rows % KEYS),
            "value": rng.normal(20, 5, number),
        }
    )


def prices(number: int, first: int = 0) -> pa.Table:
    """Prices that mostly rise for some fifteen changes, and fall then."""
    rng = np.random.default_rng(first + 1)
    rows = np.arange(first, first + number)
    price = (rows // KEYS) % 15 + rng.normal(0, 0.2, number)
    return pa.table(
        {
            "ts": pa.array(rows * 1_000, pa.timestamp("us")),
            "op": pa.array(["u"] * number),
            "new_id": pa.array(rows % KEYS),
            "new_price": price,
            "old_id": pa.array(rows % KEYS),
            "old_price": np.zeros(number),
        }
    )


# --- by hand ----------------------------------------------------------------------------------------------------------


def moving_by_pandas(table: pa.Table) -> int:
    """The mean of the last five of each sensor."""
    frame = table.to_pandas()
    means = frame.groupby("sensor", sort=False)["value"].rolling(5).mean()
    return int(means.notna().sum())


MOVING_SQL = """
SELECT sensor, ts, mean FROM (
  SELECT sensor, ts, avg(value) OVER w AS mean, count(*) OVER w AS n FROM given
  WINDOW w AS (PARTITION BY sensor ORDER BY ts ROWS BETWEEN 4 PRECEDING AND CURRENT ROW)) WHERE n = 5
"""


def phases_by_pandas(table: pa.Table) -> int:
    """Runs of rising prices by numbers of runs, told when they end."""
    frame = table.to_pandas()
    by_key = frame.groupby("new_id", sort=False)["new_price"]
    rises = by_key.diff() > 0
    runs = (~rises).groupby(frame["new_id"], sort=False).cumsum()
    ends = ~rises.groupby(frame["new_id"], sort=False).shift(-1, fill_value=True).astype(bool)
    lengths = frame.groupby([frame["new_id"], runs], sort=False).cumcount() + 1
    firsts = frame.groupby([frame["new_id"], runs], sort=False)["new_price"].transform("first")
    return len(frame.assign(low=firsts)[ends & (lengths >= 10)])


PHASES_SQL = """
WITH steps AS (SELECT *, coalesce(new_price > lag(new_price) OVER w, FALSE) AS rises,
                      lead(new_price) OVER w AS following FROM given WINDOW w AS (PARTITION BY new_id ORDER BY ts)),
     runs AS (SELECT *, sum(CASE WHEN rises THEN 0 ELSE 1 END) OVER (PARTITION BY new_id ORDER BY ts) AS run
              FROM steps),
     counted AS (SELECT *, count(*) OVER r AS n, first(new_price) OVER r AS low FROM runs
                 WINDOW r AS (PARTITION BY new_id, run ORDER BY ts))
SELECT new_id, low, new_price FROM counted WHERE n >= 10 AND following <= new_price
"""


def by_sql(text: str) -> Callable[[pa.Table], int]:
    """A query on one thread."""

    def run(table: pa.Table) -> int:
        with duckdb.connect() as db:
            db.execute("SET threads = 1")
            db.register("given", table)
            return int(db.sql(text).to_arrow_table().num_rows)

    return run


def conditions_alone(key: str, value: str) -> Callable[[pa.Table], int]:
    """Sort by key, and compare each value with the one before: no state, no rows out."""

    def run(table: pa.Table) -> int:
        rows = table.take(pc.sort_indices(table, [(key, "ascending"), ("ts", "ascending")]))
        keys, values = (rows.column(name).combine_chunks() for name in (key, value))
        same = pc.equal(keys[1:], keys[:-1])
        return int(pc.sum(pc.and_(same, pc.greater(values[1:], values[:-1]))).as_py())

    return run


# --- measuring --------------------------------------------------------------------------------------------------------


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """The least CPU time of some runs."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return min(found)


def moving(table: pa.Table) -> int:
    """By rules."""
    return int(ac.trepl(MOVING).run({"reading": cdc.inserts(table, time="ts")})["moving"].num_rows)


def phases(table: pa.Table) -> int:
    """By rules."""
    source = cdc.changes(table, op="op", old="old_", new="new_", time="ts")
    return int(ac.trepl(PHASES).run({"stock": source})["phase"].num_rows)


def compare(
    name: str,
    made: Callable[[int], pa.Table],
    ours: Callable[[pa.Table], int],
    number: int,
    others: dict[str, tuple[Callable[[pa.Table], int], float | None]],
) -> None:
    """One program beside others; each with how much longer the rules may take."""
    table = made(number)
    ours(made(10_000))  # compiles
    rows = ours(table)
    own = seconds(lambda: ours(table))
    line(f"{name}: rules", number / own / 1e6, "M changes/s", at_least=3, note=f"{rows:,} rows")
    for other, (run, most) in others.items():
        took = seconds(lambda run=run: run(table))
        note = f"{took * 1000:,.0f} ms, {run(table):,} rows"
        line(f"{name}: rules, beside {other}", own / took, "times as long", at_most=most, note=note)


def grows(name: str, made: Callable[[int], pa.Table], ours: Callable[[pa.Table], int], number: int) -> None:
    """Ten times as much."""
    small, large = made(number), made(10 * number)
    once = seconds(lambda: ours(small))
    line(f"{name}: ten times the changes", seconds(lambda: ours(large)) / once, "times as long", at_most=12)


def stream(number: int) -> None:
    """Push batch after batch into a session."""
    session = ac.trepl(MOVING).open({"reading": cdc.inserts(readings(0).schema, time="ts")})
    for batch in range(number // BATCH):
        session.push({"reading": readings(BATCH, batch * BATCH)})
        done = (batch + 1) * BATCH
        if done in (number // 10, number // 2, number):
            line(f"stream: after {done:,} changes", resident() / 1e6, "MB resident")


def main() -> None:
    """Print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=1_000_000)
    number = parser.parse_args().changes
    heading(f"rules over {number:,} changes of {KEYS:,} keys, CPU time of one core")
    compare(
        "moving average",
        readings,
        moving,
        number,
        {
            "pandas": (moving_by_pandas, 1),
            "SQL": (by_sql(MOVING_SQL), 1),
            "conditions alone": (conditions_alone("sensor", "value"), 4),
        },
    )
    compare(
        "phases",
        prices,
        phases,
        number,
        {
            "pandas": (phases_by_pandas, 1),
            "SQL": (by_sql(PHASES_SQL), 1),
            "conditions alone": (conditions_alone("new_id", "new_price"), 4),
        },
    )
    grows("moving average", readings, moving, number)
    grows("phases", prices, phases, number)
    stream(10 * number)


if __name__ == "__main__":
    main()
