"""Snapshots whose parts were altered and whose checksum fits: refused, or a session that runs; never a crash."""

import faulthandler
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.storage.snapshots import pack, unpack
from acelera.engine.summaries import adaptive_summarizer
from strategies import long_stream

QUERIES = [
    "MATCH A ; B+ ; C WITHIN 6 EVENTS",  # tables
    "SELECT a.v AS x, b.s AS y MATCH A AS a ; B AS b PARTITION BY k, s WITHIN 9 EVENTS",
    "MATCH A AS a ; B AS b FILTER a.v < b.v AND a.s <= b.s WITHIN 9 EVENTS",  # registers
    "SELECT m.hi, m.w MATCH ((A ; B+) AS x AGG m[hi <- max(x.s), w <- avg(x.w), f <- first(x.s)]) FILTER m.hi > 'a' "
    "AND m[f > 'a'] WITHIN 4 EVENTS",
    "MATCH A AS a ; B AS b ; C AS c FILTER a.v + b.v <> c.v AND a.s <> b.s PARTITION BY k WITHIN 5 EVENTS",
    "MATCH (A AS a ; (B AS b)+ ; C AS c) FILTER a.v + b.v <> c.v + b.u OR a.s < b.s WITHIN 6 EVENTS",  # sets
    "MATCH (A AS a ; C AS c) UNLESS (B AS b ; B AS d FILTER b.v < d.v) PARTITION BY k WITHIN 3 SECONDS",  # guards
    "MATCH A AS a ; B AS b FILTER b.ts - a.ts > INTERVAL 1 SECOND WITHIN 9 EVENTS",
    "MATCH A AS a ; B AS b FILTER a.d * 2 < b.d AND a.s <> b.s WITHIN 9 EVENTS",  # by value
    "MATCH (A AS a ; C AS c FILTER a.d + 1 <> c.d) UNLESS (B ; B) PARTITION BY k WITHIN 3 SECONDS",
    "SELECT x.v MATCH (A ; B) AS x FILTER x[same(s)] PARTITION BY k WITHIN 9 EVENTS",  # split
    "SUMMARIZE count(*), max(b.s) AS m MATCH A AS a ; B AS b PARTITION BY k BY a.s, k",  # summaries
    "SUMMARIZE count(*), max(b.s) AS m MATCH A AS a ; B AS b FILTER a.v < b.v BY a.s OVER 9 SECONDS EVERY 2 SECONDS",
    "SUMMARIZE count(*), first(b.s) AS m MATCH A AS a ; B AS b WITHIN 9 SECONDS BY a.s",  # nodes
    "SUMMARIZE count(*), max(b.s) AS m MATCH A ; B AS b WITHIN 9 EVENTS BY end",  # matrices
    "SUMMARIZE count(*), max(b.s) AS m MATCH A ; B AS b PARTITION BY k BY k OVER 9 SECONDS EVERY 3 SECONDS",
    "SUMMARIZE product(b.v) AS m MATCH A AS a ; B AS b PARTITION BY k BY a.s",  # by value
]
TABLE = long_stream(7, 120, 3, 50)
OPTIONS: dict[str, Any] = {"order_by": "ts", "ties": "error"}
ODD_NUMBERS = (-1, -2, -3, 0, 1, 2, 3, 7, 1_000, 2**31 - 1, -(2**31), 2**40, 2**63 - 1, -(2**63))
ODD_VALUES = (None, True, 1.5, "x", [], {}, ["tuple"], ["float", "nan"], 2**70)


def sections_of(query: ac.Query) -> dict[str, Any]:
    ties = "drop" if "UNLESS" in str(query) else "keep"  # which holds rows back
    session = query.open(TABLE.schema, order_by="ts", ties=ties)
    session.push(TABLE.slice(0, 70))
    return unpack(session.snapshot(), query._fingerprint)


def altered(sections: dict[str, Any], name: str, rng: random.Random) -> dict[str, Any]:
    """The sections with one of them changed a little."""
    section = sections[name]
    if isinstance(section, np.ndarray):
        return {**sections, name: altered_array(section, rng)}
    if isinstance(section, pa.RecordBatch):
        cut = section.slice(1) if rng.random() < 0.5 else section.select(section.schema.names[1:])
        return {**sections, name: cut}
    return {**sections, name: altered_json(section, rng)}


def altered_array(array: Any, rng: random.Random) -> Any:
    way = rng.random()
    if way < 0.1 or not array.size:
        return np.concatenate((array, np.zeros_like(array[:1]))) if rng.random() < 0.5 and len(array) else array[:-1]
    if way < 0.15:
        return array.astype(rng.choice([np.int64, np.int32, np.float64, np.bool_]))
    if way < 0.2:
        return array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1)
    array = array.copy()
    at = tuple(rng.randrange(size) for size in array.shape)
    number = rng.choice([*ODD_NUMBERS, int(array[at]) + 1, int(array[at]) - 1, len(array), len(array) - 1])
    array[at] = np.int64((number + 2**63) % 2**64 - 2**63).astype(array.dtype)
    return array


def altered_json(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.95:
        name = rng.choice(list(value))
        return {**value, name: altered_json(value[name], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at + 1 :]
        return [*value[:at], altered_json(value[at], rng), *value[at + 1 :]]
    return rng.choice([*ODD_NUMBERS, *ODD_VALUES])


def go_on(query: ac.Query, snapshot: bytes) -> str:
    """What becomes of a snapshot: it is refused, or a session goes on, perhaps to an error that says what is wrong."""
    try:
        session = query.resume(snapshot)
    except ac.SnapshotError:
        return "refused"
    try:
        session.push(TABLE.slice(70, 25))
        query.resume(session.snapshot()).push(TABLE.slice(95))
    except ac.AceleraError:
        return "failed"
    return "went on"


def alter_all(text: str, times: int, seed: int) -> None:
    """Alter each section so many times; what is not an AceleraError, or never ends, ends the process."""
    faulthandler.enable()
    adaptive_summarizer.NODES_PER_EVENT = adaptive_summarizer.AT_FIRST = 0  # matrices at once
    query, rng = ac.query(text), random.Random(seed)
    sections = sections_of(query)
    assert go_on(query, pack(query._fingerprint, sections)) == "went on"
    for name in sections:
        for number in range(times):
            print(name, number, end=" ", flush=True)
            changed = altered(sections, name, rng)
            faulthandler.dump_traceback_later(60, exit=True)
            print(go_on(query, pack(query._fingerprint, changed)), flush=True)
            faulthandler.cancel_dump_traceback_later()


@pytest.mark.property
def test_altered_snapshots_are_refused_or_run() -> None:
    """In another process, so that a crash is seen."""
    asked = os.environ.get("ACELERA_EXAMPLES")
    times, seed = (int(asked) // 20 + 1, random.randrange(10**9)) if asked else (1, 1)
    folders = [str(Path(__file__).parent), str(Path(__file__).parent.parent), *sys.path]
    code = f"import test_altered_snapshots as t; [t.alter_all(text, {times}, {seed}) for text in t.QUERIES]"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"seed {seed}: {done.stdout[-200:]}\n{done.stderr[-3000:]}"
    assert {line.split(" ", 2)[2] for line in done.stdout.splitlines()} >= {"refused", "went on"}
