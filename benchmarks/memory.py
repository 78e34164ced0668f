"""How much memory sessions need: over a long stream, for many keys, for values that come and go. Each is measured in a
process of its own.
"""

from __future__ import annotations

import argparse
import gc
import os
import time

import numpy as np
import pyarrow as pa

import acelera as ac
from data import SCHEMA, texts, ticks
from measuring import apart, heading, line, peak

BATCH = 100_000
KEYS = 100_000

STREAM = """SELECT a.price, b.price, c.price MATCH SELL AS a ; BUY AS b ; SELL AS c
    FILTER a[name = 'T01' AND price > 180] AND b[name = 'T02' AND price > 180] AND c[name = 'T03' AND price > 180]
    WITHIN 1000 EVENTS"""
KEYED = """SELECT a.price, b.price, c.price MATCH SELL AS a ; BUY AS b ; SPLIT AS c
    PARTITION BY name WITHIN 1000 EVENTS"""


NEW_VALUES = {
    "strings in registers": "SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.sid = b.sid WITHIN 10 EVENTS",
    "values of `same`": "SELECT x.v MATCH (A ; B) AS x FILTER x[same(sid)] WITHIN 100 EVENTS",
    "keys, WITHIN a time": "SELECT a.v MATCH A AS a ; B PARTITION BY sid WITHIN 1 SECONDS",
    "keys, WITHIN events": "SELECT a.v MATCH A AS a : B PARTITION BY sid WITHIN 100 EVENTS",
}
"""Queries over ever new ids: an A, then a B of each, a millisecond apart."""

WIDE = "SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.v > b.v PARTITION BY sid WITHIN 10 SECONDS"
SESSIONS = pa.schema({"type": pa.string(), "sid": pa.string(), "v": pa.int64(), "ts": pa.timestamp("us")})


def resident() -> int:
    """The bytes of this process that are in memory now; where the system does not tell, the most there ever were."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak()


def long_stream(events: int) -> None:
    """A long stream in batches; the kernels are there beforehand."""
    batches = max(events // BATCH, 1)
    heading(f"{batches * BATCH:,} events in batches of {BATCH:,}, three steps, WITHIN 1000 EVENTS")
    query = ac.query(STREAM)
    query.run(ticks(1000))
    line("before", resident() / 1e6, "MB resident")
    session = query.open(SCHEMA)
    shown = {max(batches // 10, 1): 0, max(batches // 2, 1): 0, batches: 0}
    taken, matches = 0.0, 0
    for number in range(1, batches + 1):
        batch = ticks(BATCH, seed=number)
        begin = time.perf_counter()
        matches += session.push(batch).num_rows
        taken += time.perf_counter() - begin
        if number in shown:
            shown[number] = resident()
            line(f"after {number * BATCH:,} events", shown[number] / 1e6, "MB resident", at_most=400)
    line("peak", peak() / 1e6, "MB resident", at_most=400)
    first, *_, last = shown.values()
    line("the last against the first of these", last / first, "times", at_most=1.1)
    note = f"{matches:,} matches; a snapshot of {len(session.snapshot()):,} bytes"
    line("speed", batches * BATCH / taken / 1e6, "million events/s", note=note)


def many_keys(rounds: int) -> None:
    """Keys that each have some partial matches: sales and purchases in turns, none of which completes a match."""
    heading(f"{KEYS:,} keys, each with {rounds} events of which all are in partial matches, WITHIN 1000 EVENTS")
    names = [f"T{number:06}" for number in range(KEYS)]
    query = ac.query(KEYED)
    query.open(SCHEMA).push(_round(names[:1000], 0))
    gc.collect()
    pa.default_memory_pool().release_unused()
    before = resident()
    session = query.open(SCHEMA)
    for number in range(rounds):
        session.push(_round(names, number))
    gc.collect()
    pa.default_memory_pool().release_unused()
    line("resident", (resident() - before) / KEYS, "bytes a key", at_most=2048)
    line("highest meanwhile, with the batches", (peak() - before) / KEYS, "bytes a key")
    line("snapshot", len(session.snapshot()) / KEYS, "bytes a key", at_most=2048)


def new_values(name: str, events: int) -> None:
    """Ids that come and go: what is remembered stays the same."""
    batches = max(events // BATCH, 2)
    heading(f"{batches * BATCH:,} events with ever new ids: {name}")
    session = ac.query(NEW_VALUES[name]).open(SESSIONS, order_by="ts")
    shown = {max(batches // 10, 1): (0, 0), batches: (0, 0)}
    for number in range(1, batches + 1):
        numbers = np.arange((number - 1) * BATCH, number * BATCH)
        ids = pa.array(numbers // 2 + 10**12).cast(pa.string())
        kinds, times = texts(("A", "B"), numbers % 2), pa.array(numbers * 1000).cast(pa.timestamp("us"))
        session.push(pa.table([kinds, ids, pa.array(numbers), times], schema=SESSIONS))
        if number in shown:
            shown[number] = resident(), len(session.snapshot())
    (first, first_bytes), (last, last_bytes) = shown.values()
    line("resident at the end", last / 1e6, "MB")
    line("against after a tenth", last / first, "times", at_most=1.1)
    line("snapshot at the end", last_bytes / 1e3, "KB")
    line("against after a tenth", last_bytes / first_bytes, "times", at_most=1.1)


def wide_key(open_matches: int) -> None:
    """Many keys with one open match each, and one with many; then all leave the window."""
    keys = 100_000
    heading(f"{keys:,} keys, one of which has {open_matches:,} open matches")
    session = ac.query(WIDE).open(SESSIONS, order_by="ts")
    before = resident()
    numbers = np.arange(keys + open_matches)
    ids = pa.array(np.where(numbers < keys, numbers, 0)).cast(pa.string())
    session.push(_sessions(ids, numbers, numbers))
    line("resident", (resident() - before) / len(numbers), "bytes an open match", at_most=2048)
    line("snapshot", len(session.snapshot()) / len(numbers), "bytes an open match", at_most=512)
    later = pa.array(["0"])
    session.push(_sessions(later, np.array([0]), np.array([60_000_000])))
    line("snapshot after all have left the window", len(session.snapshot()) / 1e3, "KB", at_most=100)


def _sessions(ids: pa.Array, values: np.ndarray, times: np.ndarray) -> pa.Table:
    kinds = texts(("A",), np.zeros(len(ids), np.int64))
    return pa.table([kinds, ids, pa.array(values), pa.array(times).cast(pa.timestamp("us"))], schema=SESSIONS)


def _round(names: list[str], number: int) -> pa.Table:
    """One event for each key."""
    random = np.random.default_rng(number)
    kinds = texts(("SELL", "BUY"), np.full(len(names), number % 2))
    prices = pa.array(random.uniform(100, 200, len(names)))
    volumes = pa.array(random.integers(1, 1000, len(names)))
    return pa.table([kinds, texts(names, random.permutation(len(names))), prices, volumes], schema=SCHEMA)


def main() -> None:
    """Print what was in memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=50_000_000, help="how long the stream is")
    events = parser.parse_args().events
    apart(long_stream, events)
    for rounds in (2, 4):
        apart(many_keys, rounds)
    for name in NEW_VALUES:
        apart(new_values, name, min(events, 10_000_000))
    apart(wide_key, 5_000)


if __name__ == "__main__":
    main()
