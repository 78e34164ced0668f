"""How quickly summaries count what is never listed: how time grows with events, windows, overlap and keys, and beside
listing where matches are few.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pyarrow as pa

import acelera as ac
from measuring import heading, in_turns, line

TREND = "SUMMARIZE log2_count(*) MATCH E+"


def events(number: int, types: str = "E", keys: int = 1, weights: list[float] | None = None) -> pa.Table:
    """Events of some types, with a price of a hundred and a key."""
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "type": pa.array(rng.choice(list(types), number, p=weights)),
            "price": rng.integers(0, 100, number),
            "k": rng.integers(0, keys, number),
        }
    )


def seconds(text: str, table: pa.Table, runs: int = 7) -> float:
    """The least time that a query takes."""
    query, best = ac.query(text), float("inf")
    query.run(table.slice(0, 1000))
    for _ in range(runs):
        begin = time.perf_counter()
        query.run(table)
        best = min(best, time.perf_counter() - begin)
    return best


def growth(number: int) -> None:
    """Trends of any length: 2 to the number of events of them."""
    heading("how many trends there are, and with rising prices")
    few, many, most = (seconds(TREND, events(size)) for size in (number // 50, number, 10 * number))
    line(f"{number // 50:,} events", few * 1000, "ms", at_most=10)
    line(f"{number:,} events", many * 1000, "ms", at_most=500)
    line("ten times as many events", most / many, "times as long", at_most=12)
    rising = f"{TREND} AS x FILTER x[increasing(price)]"
    line(f"increasing(price), {number // 50:,} events", seconds(rising, events(number // 50)) * 1000, "ms", at_most=200)


def windows(number: int) -> None:
    """Wide windows, windows that overlap, many keys."""
    heading("windows and keys")
    table = events(number)
    narrow, wide = (seconds(f"{TREND} WITHIN {width} EVENTS", table) for width in (100, 10_000))
    line("WITHIN 10,000 against 100", wide / narrow, "times as long", at_most=1.5)
    alone, shared = (seconds(f"{TREND} OVER 10000 EVENTS EVERY {every} EVENTS", table) for every in (10_000, 100))
    line("OVER n EVERY n/100 against EVERY n", shared / alone, "times as long", at_most=3)
    keyed = f"{TREND} PARTITION BY k"
    many = seconds(keyed, events(number, keys=1_000))
    line("1,000 keys against one", many / seconds(keyed, table), "times as long", at_most=3)


def few_matches(number: int) -> None:
    """Where matches are few, a summary is to be no slower than listing them, and counting them by group with Arrow."""
    heading("beside listing, where matches are few")
    even = events(number, "ABCX", 1_000)
    rare = events(number, "ABCX", 1_000, [0.3, 0.0005, 0.3, 0.3995])
    cases = [
        ("A : B", even, "MATCH A : B"),
        ("three that rise", even, "MATCH (A : B : C) AS x FILTER x[increasing(price)]"),
        ("a narrow window", even, "MATCH A ; B WITHIN 3 EVENTS"),
        ("a wide window", rare, "MATCH A ; B WITHIN 1000 EVENTS"),
        ("keys", rare, "MATCH A ; B PARTITION BY k WITHIN 1000 EVENTS"),
        ("registers", rare, "MATCH A AS a ; B AS b FILTER a.price = b.price WITHIN 1000 EVENTS"),
    ]
    for name, table, pattern in cases:
        listing, texts = ac.query(f"SELECT start, end {pattern}"), {"": "", " BY end": "end", " BY start": "start"}
        works = {"listing": lambda listing=listing, table=table: listing.run(table)}
        for by, key in texts.items():
            summary = ac.query(f"SUMMARIZE count(*) {pattern}{by}")
            works[by] = lambda summary=summary, table=table: summary.run(table)
            if key:
                works[key] = lambda listing=listing, table=table, key=key: counted(listing.run(table), key)
        took = in_turns(works)
        line(name, took[""] / took["listing"], "times as long", at_most=1)
        for by, key in ((by, key) for by, key in texts.items() if key):
            alone = f"{took[by] / took['listing']:.2f} times the listing alone"
            line(f"{name}{by}, beside grouping", took[by] / took[key], "times as long", at_most=1, note=alone)


def counted(matches: pa.Table, key: str) -> pa.Table:
    """How many matches there are for each value of a column, in order."""
    return matches.group_by(key).aggregate([([], "count_all")]).sort_by(key)


def main() -> None:
    """Print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    asked = parser.parse_args()
    growth(asked.events)
    windows(asked.events)
    few_matches(asked.events)


if __name__ == "__main__":
    main()
