"""How quickly matches become rows of Arrow tables, with numpy's sums beside them to tell how fast the core is."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import pyarrow as pa

import acelera as ac
from acelera.demo import market
from data import ticks
from measuring import apart, heading, in_turns, line, seconds

ROWS = 200_000
FORMULA = """MATCH SELL AS a ; BUY AS b ; SELL AS c
    FILTER a.price > 150 AND b.price > 150 AND c.price > 150 WITHIN 50 EVENTS"""
QUERIES = {
    "SELECT a.price, b.price, c.price": f"SELECT a.price, b.price, c.price {FORMULA}",
    "SELECT start, end": f"SELECT start, end {FORMULA}",
    "SELECT a.name, b.name, c.name": f"SELECT a.name, b.name, c.name {FORMULA}",
    "everything, as lists of structs": FORMULA,
}
BARS = ("SELECT a.price, b.price, c.price", "SELECT start, end")

PROJECT = "MATCH (A+ AS x AGG m[hi <- max(x.v)] PROJECT m) WITHIN 100 EVENTS"


def streamed(query: ac.Query, table: pa.Table) -> int:
    """The number of matches, which come in batches that are looked at one at a time."""
    return sum(batch.num_rows for batch in query.open(table.schema).stream(table))


def three_events() -> None:
    """Millions of matches of three events."""
    table, numbers = ticks(ROWS), np.ones(100_000_000, np.int64)
    found = streamed(ac.query(QUERIES[BARS[0]]), table)
    heading(f"{found:,} matches of three events in {ROWS:,}, as Arrow; scaled to a core that sums 1e9 int64 a second")
    works: dict[str, Callable[[], object]] = {"numpy": numbers.sum}
    for name, text in QUERIES.items():
        query = ac.query(text)
        works[f"{name}: run"] = partial(query.run, table)
        works[f"{name}: stream"] = partial(streamed, query, table)
    best = in_turns(works, rounds=5)
    sums = len(numbers) / best.pop("numpy")
    line("numpy", sums / 1e9, "1e9 sums/s")
    for name, taken in best.items():
        rate = found / taken / 1e6
        bar = 5.0 if name.startswith(BARS) else None
        line(name, rate * 1e9 / sums, "million matches/s, scaled", at_least=bar, note=f"{rate:.1f} as measured")


def projected() -> None:
    """An iteration of which only the aggregate is kept: many runs, few matches."""
    heading(PROJECT)
    random = np.random.default_rng(1)
    table = pa.table({"type": ["A"] * 10_000, "v": random.integers(0, 10, 10_000)})
    query = ac.query(PROJECT)
    query.run(table.slice(0, 100))
    matches = 0

    def run() -> None:
        nonlocal matches
        matches = query.run(table).num_rows

    taken = seconds(run)
    line("10,000 events, ten distinct values", taken, "seconds", note=f"{matches:,} matches")


SHARED = {
    "an aggregate that is filtered": "SELECT start, end, n.k MATCH R:+ AS r FILTER r[increasing(v)] "
    "AGG n[k <- count(r)] FILTER n.k >= 3",
    "one that is only shown": "SELECT start, end, n.k MATCH R:+ AS r FILTER r[increasing(v)] AGG n[k <- count(r)]",
    "one of SELECT": "SELECT start, end, sum(r.v) AS total MATCH R:+ AS r",
}


def shared_events() -> None:
    """Long matches that share almost all of their events: four times as many for twice the events."""
    heading("2,000 events that rise against 1,000: twice as many events, four times as many matches, twice as long")
    long = pa.table({"type": ["R"] * 2_000, "v": range(2_000)})
    for name, text in SHARED.items():
        query = ac.query(text)
        found = query.run(long).num_rows
        best = in_turns({"long": partial(query.run, long), "short": partial(query.run, long.slice(0, 1_000))}, rounds=3)
        note = f"{found:,} matches in {best['long']:.2f} s"
        line(name, best["long"] / best["short"], "times", at_most=6, note=note)


def old_starts() -> None:
    """A chain of unions whose old part has left the window."""
    heading("(A OR (B ; C)) ; D with a B long ago, against the same stream without it")
    query = ac.query("SELECT start, end MATCH (A OR (B ; C)) ; D WITHIN 45002 EVENTS")
    types = {first: [first, *["X"] * 5_000, "A", *["C"] * 40_000, *["D"] * 5_000] for first in "BX"}
    tables = {first: pa.table({"type": each}) for first, each in types.items()}
    best = in_turns({first: partial(query.run, table) for first, table in tables.items()}, rounds=15)
    line("5,000 matches", best["B"] / best["X"], "times", at_most=2, note=f"{best['B'] * 1e3:.1f} ms")


WHOLE = {
    "a ; b ; c": """MATCH SELL AS a ; BUY AS b ; SELL AS c FILTER a[name = 'MSFT' AND volume > 300]
        AND b[name = 'ORCL' AND volume > 300] AND c[name = 'AMZN' AND volume > 300] WITHIN 300 EVENTS""",
    "a ; b+ ; c": """MATCH SELL AS a ; (BUY AS b)+ ; SELL AS c FILTER a[name = 'MSFT' AND volume > 300]
        AND b[name = 'ORCL' AND volume > 600] AND c[name = 'AMZN' AND volume > 300] WITHIN 315 EVENTS""",
}


def whole_matches(name: str) -> None:
    """Every attribute of every event of each match, against where matches start and end."""
    table = market.ticks(1_000_000)
    bounds, whole = ac.query(f"SELECT start, end {WHOLE[name]}"), ac.query(WHOLE[name])
    for query in (bounds, whole):
        query.run(table.slice(0, 1000), order_by="ts")
    result = whole.run(table, order_by="ts")
    found, size = result.num_rows, result.nbytes
    del result
    best = in_turns(
        {"bounds": partial(bounds.run, table, order_by="ts"), "whole": partial(whole.run, table, order_by="ts")},
        rounds=5,
    )
    heading(f"{name}: {found:,} matches in 1,000,000 events of a market, SELECT * against SELECT start, end")
    note = f"{best['whole']:.2f} and {best['bounds']:.2f} s"
    line("everything, as lists of structs: run", best["whole"] / best["bounds"], "times", note=note)
    line("the result", size / found, "bytes a match", at_most=400)


def main() -> None:
    """Print the rates."""
    warnings.simplefilter("ignore", ac.AceleraWarning)  # there are many matches on purpose
    three_events()
    projected()
    shared_events()
    old_starts()
    for name in WHOLE:
        apart(whole_matches, name)


if __name__ == "__main__":
    main()
