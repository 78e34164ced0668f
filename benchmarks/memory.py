"""How much memory sessions need: over a long stream, and for many keys. Each is measured in a process of its own."""

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
    apart(long_stream, parser.parse_args().events)
    for rounds in (2, 4):
        apart(many_keys, rounds)


if __name__ == "__main__":
    main()
