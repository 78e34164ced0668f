"""Keys that fall idle and come back, on streams of some hundred events: the stream gives the matches of the batch.

In memory for many cases, with the buckets that Spark would call; as streams on Spark if ACELERA_SPARK_EXAMPLES is set.
"""

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from engine.test_sessions import shown
from spark.test_buckets import Spark, spread, task_of
from spark.test_streaming import Files, folders, last_row, shuffled  # noqa: F401  # a fixture

EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "0"))
STRETCH = 60
"""Seconds for which some keys are busy and the others idle."""

SELECTED = [
    "first(x.v) AS f, last(x.v) AS l",
    "first(x.v) AS f, start_time, end_time",
    "x.v, count(x) AS n",
    "max(x.v) AS hi, start, end",
    "last(x.position) AS p, x.s",
]
FORMULAS = [
    "(A ; B) AS x",
    "(A ; B+ ; C) AS x",
    "(A : B) AS x",
    "(A ; B) AS x AGG m[f <- first(x.v), l <- last(x.v)] FILTER m.f < m.l",
    "(A ; B ; C) AS x AGG m[l <- last(x.v)] FILTER m.l > 3",
    "((A ; C) AS x) UNLESS B",
]
FILTERS = ["", "FILTER x[same(k)]", "FILTER x[same(k)] AND x[same(s)]", "FILTER x[same(s)] AND x[increasing(v)]"]
PARTITIONS = ["", "PARTITION BY k", "PARTITION BY s", "PARTITION BY s, k"]
WINDOWS = ["WITHIN 3 SECONDS", "WITHIN 20 SECONDS", "WITHIN 4 EVENTS", "WITHIN 15 EVENTS"]

QUERIES = st.tuples(*map(st.sampled_from, (SELECTED, FORMULAS, FILTERS, PARTITIONS, WINDOWS))).map(
    lambda each: "SELECT {} MATCH {} {} {} {}".format(*each)
)


def bursts(size: int, keys: int, seed: int) -> pa.Table:
    """Events of some keys, most of which are idle at any time: others are busy in each stretch of time."""
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.choice([1, 2, 3, 30], size, p=[0.6, 0.2, 0.17, 0.03]))
    busy = rng.integers(0, keys, (seconds[-1] // STRETCH + 1, 2))
    v = rng.integers(0, 9, size)
    return pa.table(
        {
            "type": rng.choice(["A", "B", "C", "D"], size),
            "v": pa.array(v, mask=rng.random(size) < 0.02),
            "s": pa.array(rng.choice(["x", "y"], size), mask=rng.random(size) < 0.05),
            "k": busy[seconds // STRETCH, rng.integers(0, 2, size)],
            "ts": pa.array(seconds * 1_000_000, pa.timestamp("us", "UTC")),
        }
    )


@dataclass(frozen=True)
class Arriving:
    """A stream as it arrives: each row up to `delay` seconds after its time, in files of some rows."""

    table: pa.Table
    delay: int
    cuts: tuple[int, ...]
    seed: int

    def batches(self) -> list[pa.Table]:
        rows = shuffled(self.table, self.delay, self.seed)
        return [rows.slice(begin, end - begin) for begin, end in itertools.pairwise(self.cuts)]


@st.composite
def arrivals(draw: st.DrawFn, most_batches: int) -> Arriving:
    size, seed = draw(st.integers(200, 2_000)), draw(st.integers(0, 2**32 - 1))
    table = bursts(size, draw(st.sampled_from([2, 5, 40])), seed)
    cuts = draw(st.lists(st.integers(1, size - 1), min_size=1, max_size=most_batches - 1, unique=True))
    return Arriving(table, draw(st.sampled_from([0, 5, 40])), (0, *sorted(cuts), size), seed)


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "25")))
@given(text=QUERIES, arriving=arrivals(most_batches=20), buckets=st.sampled_from([1, 3, 16]), forgets=st.booleans())
def test_idle_keys_come_back(text: str, arriving: Arriving, buckets: int, forgets: bool) -> None:
    query = ac.query(text)
    task, columns, keys = task_of(query, arriving.table.schema)
    number = buckets if keys else 1
    spark = Spark(task, number, 1000 * arriving.delay, itertools.repeat(forgets))
    for batch in arriving.batches():
        spark.read(spread(batch, keys, number, columns))
    spark.finish()
    assert not spark.late
    expected = query.run(arriving.table, order_by="ts")
    assert shown(pa.Table.from_batches(spark.found, schema=expected.schema)) == shown(expected)


@pytest.mark.property
@pytest.mark.skipif(not EXAMPLES, reason="takes long; set ACELERA_SPARK_EXAMPLES")
@settings(max_examples=max(EXAMPLES, 1))
@given(text=QUERIES, arriving=arrivals(most_batches=5))
def test_idle_keys_come_back_on_spark(text: str, arriving: Arriving, spark: Any, folders: Iterator[Path]) -> None:  # noqa: F811
    query, files = ac.query(text), Files(spark, next(folders))
    for batch in arriving.batches():
        files.put(batch)
    files.put(last_row(arriving.table.schema))
    files.run(query.run(files.frame(f"{arriving.delay} seconds", 1), order_by="ts"))
    assert shown(files.found()) == shown(query.run(arriving.table, order_by="ts"))
