"""Several queries in one pass against one of them: on Spark, and in this process."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq

import acelera as ac
from measuring import heading, in_turns, line
from spark import ticks, written
from spark_session import session

NAMES = 1000


def alerts(count: int = 50) -> dict[str, ac.Query]:
    """Alerts as people write them, of ten shapes, with thresholds of their own each."""
    return {f"alert{number}": ac.query(_text(number)) for number in range(count)}


def alike(count: int = 50) -> dict[str, ac.Query]:
    """Alerts of one shape, to which few rows matter."""
    return {f"alert{number}": ac.query(_selective(number)) for number in range(count)}


def _selective(number: int) -> str:
    return (
        f"SELECT name, start_time, end_time, a.price AS high, b.price AS low MATCH SELL AS a ; BUY AS b "
        f"FILTER a.price > {185 + 0.25 * number} AND b.price < {10 - number / 8} AND b.volume > {7 * number} "
        f"PARTITION BY name WITHIN {5 + number % 10} SECONDS"
    )


def _text(number: int) -> str:
    high, low, venue = 190 + number % 8, 4 + number % 5, "NQL"[number % 3]
    dear, cheap = f"a.price > {high}", f"b.price < {low}"
    around = f"PARTITION BY name WITHIN {5 + number % 10} SECONDS"
    match number % 10:
        case 0:  # without gaps: every row counts
            pattern = f"MATCH SELL AS a : BUY AS b FILTER {dear} AND {cheap}"
        case 1:
            pattern = f"MATCH SELL AS a ; BUY AS b ; SELL AS c FILTER {dear} AND {cheap} AND c.price > {high + 2}"
        case 2:
            pattern = f"MATCH SELL AS a ; BUY AS b FILTER {dear} AND b.price < a.price - 185"
        case 3:
            pattern = f"MATCH SELL AS a ; NEWS FILTER {dear} AND a.venue = '{venue}' AND a.volume > 900"
        case 4:
            pattern = f"MATCH (SELL AS a ; BUY AS b) UNLESS NEWS FILTER {dear} AND {cheap}"
        case 5:
            names = ", ".join(f"'T{each:06d}'" for each in range(number, NAMES, 97))
            pattern = f"MATCH SELL AS a ; BUY AS b FILTER a.name IN ({names}) AND b.volume > {950 + number % 40}"
        case _:
            pattern = f"MATCH SELL AS a ; BUY AS b FILTER {dear} AND {cheap} AND b.volume > {100 * (number % 9)}"
    shown = "" if number % 10 == 3 else ", b.price AS low"
    return f"SELECT name, start_time, end_time, a.price AS high{shown} {pattern} {around}"


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=5_000_000)
    parser.add_argument("--queries", type=int, default=50)
    parser.add_argument("--only", choices=("spark", "process"), help="on Spark, or in this process")
    parser.add_argument("--alerts", choices=("alike", "mixed"), help="of one shape, or of ten")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ticks.parquet"
        ticks(options.events, NAMES, path)
        about = f"{options.events:,} events, {NAMES:,} keys, {options.queries} queries in one pass against one alone"
        if options.only != "process":
            spark = session()
            frame = spark.read.parquet(str(path))
            heading(f"on Spark: {about}")
            compared(
                options,
                lambda query: written(query.run(frame, order_by="ts")),
                lambda queries: written(ac.run_all(queries, frame, order_by="ts").frame),
            )
            spark.stop()
        if options.only == "spark":
            return
        table = pq.read_table(path)
        heading(f"in process: {about}")
        compared(
            options,
            lambda query: query.run(table, order_by="ts"),
            lambda queries: ac.run_all(queries, table, order_by="ts"),
        )


def compared(
    options: argparse.Namespace,
    one: Callable[[ac.Query], object],
    several: Callable[[dict[str, ac.Query]], object],
) -> None:
    """Alerts of one shape against one of them, and those of ten shapes against what one costs on the average."""
    same, mixed = alike(options.queries), alerts(options.queries)
    if options.alerts != "mixed":
        seconds = in_turns({"one": lambda: one(same["alert0"]), "all": lambda: several(same)}, rounds=2)
        note = f"{seconds['all']:.1f} s and {seconds['one']:.1f} s"
        line("of one shape, few rows matter", seconds["all"] / seconds["one"], "times", at_most=5, note=note)
    if options.alerts == "alike":
        return
    works = {name: lambda query=query: one(query) for name, query in list(mixed.items())[:10]}
    seconds = in_turns({**works, "all": lambda: several(mixed)}, rounds=2)
    alone = [seconds[name] for name in works]
    average = sum(alone) / len(alone)
    note = f"{seconds['all']:.1f} s and {average:.1f} s on the average, {min(alone):.1f} s to {max(alone):.1f} s"
    line("of ten shapes", seconds["all"] / average, "times", at_most=5, note=note)


if __name__ == "__main__":
    main()
