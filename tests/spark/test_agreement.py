"""Random queries over random streams on Spark, against the automaton's plain interpreter."""

from __future__ import annotations

import datetime
import itertools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from strategies import KEPT_MATCHES, cases, computing, sometimes_absences, unordered
from tiers import thinned

EPOCH = datetime.datetime(2024, 1, 1)
EXAMPLES = int(os.environ.get("ACELERA_SPARK_EXAMPLES", "5"))

EVENTS = st.builds(ast.Within, st.integers(1, 6), st.just("events"))
SECONDS = st.builds(ast.Within, st.integers(1, 9), st.just("seconds"))
WINDOWS = st.one_of(st.none(), EVENTS, SECONDS, SECONDS, SECONDS, SECONDS)
KEYS = st.sampled_from([(), (), (), (ast.Key("k"),), (ast.Key("k"), ast.Key("s")), (ast.Key("w"),)])


@st.composite
def timed_cases(draw: st.DrawFn) -> tuple[ac.Query, pa.Table, str]:
    """A query, and the rows of a frame in any order; many bursts of events, far apart, are what slices are made of."""
    formula, table = draw(cases())
    within, zone = draw(WINDOWS), draw(st.sampled_from([None, "UTC"]))
    if within is not None:  # the window keeps matches few
        tables = [draw(cases())[1] for _ in range(draw(st.integers(0, 3)))]
        table = pa.concat_tables([table, *tables])
    size = table.num_rows
    keys = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 1, 3, 49]))), min_size=size, max_size=size))
    steps = draw(st.lists(st.sampled_from([1, 1, 1, 2, 3, 5, 9, 10, 60]), min_size=size, max_size=size))
    times = [EPOCH + datetime.timedelta(seconds=int(second)) for second in np.cumsum(steps)]
    table = table.append_column("k", pa.array(keys, pa.int64()))
    table = table.append_column("ts", pa.array(times, pa.timestamp("us")).cast(pa.timestamp("us", zone)))
    table = table.append_column("n", pa.array(range(size), pa.int64()))
    order_by = draw(st.sampled_from(["ts", "ts", "ts", "n"]))
    if order_by == "ts":
        formula = draw(sometimes_absences(formula))
    keep = draw(st.one_of(st.none(), st.none(), st.none(), KEPT_MATCHES))
    tree = ast.Query(formula, partition_by=draw(KEYS), within=within, keep=keep)
    tree = draw(computing(tree, timed=order_by == "ts")) if draw(st.booleans()) else tree
    try:
        query = ac.query(tree)
        query.check(table.schema, order_by=order_by)
    except ac.QueryCheckError:
        assume(False)
    return query, table.take(pa.array(draw(st.permutations(range(size))), pa.int64())), order_by


def shown(table: pa.Table) -> list[str]:
    return sorted(repr(unordered(row)) for row in table.to_pylist())


def how(query: ac.Query, frame: Any, order_by: str) -> str:
    """How the stream is split, for the statistics (`--hypothesis-show-statistics`)."""
    lines = query.explain(frame, order_by=order_by).split("\nspark\n")[1].splitlines()
    return f"{lines[-1].split()[0]} {lines[-1].split()[1]}, {lines[-3].strip()}"


@pytest.mark.property
@settings(max_examples=EXAMPLES, derandomize="ACELERA_SPARK_EXAMPLES" not in os.environ)
@given(case=timed_cases())
def test_spark_finds_what_the_automaton_finds(
    to_frame: Callable[[pa.Table], Any], case: tuple[ac.Query, pa.Table, str]
) -> None:
    query, table, order_by = case
    try:
        expected = query.run(table, order_by=order_by, method="automaton")
    except ac.AggregateError:
        assume(False)
    frame = to_frame(table)
    try:
        found = query.run(frame, order_by=order_by).toArrow()
    except ac.UsageError as error:
        if "which Spark does not tell apart" not in str(error):
            raise
        assume(False)
    event(how(query, frame, order_by))
    event("matches" if expected.num_rows else "no matches")
    assert found.schema == expected.schema
    assert shown(found) == shown(expected)


# --- slices -------------------------------------------------------------------------------------------------------

SLICED = [
    "MATCH A ; B WITHIN 5 SECONDS",
    "MATCH A ; B+ ; C WITHIN 9 SECONDS",
    "MATCH (A : B) UNLESS C WITHIN 5 SECONDS",
    "MATCH A ; B ; C WITHIN 0 SECONDS",
    "MATCH A AS x ; B AS y FILTER x.v < y.v WITHIN 7 SECONDS",
    "SELECT sum(x.v) AS total, count(x) AS n MATCH (A ; B ; C) AS x WITHIN 6 SECONDS",
    "MATCH (A ; C) UNLESS B WITHIN 20 SECONDS",
    "MATCH A ; B WITHIN 1000 DAYS",
    "MATCH A : B : C WITHIN 1 MINUTES",
]


def long_stream(size: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.choice([1, 1, 2, 5, 300], size, p=[0.3, 0.3, 0.2, 0.15, 0.05]))
    return pa.table(
        {
            "type": rng.choice(["A", "B", "C", "D"], size),
            "v": rng.integers(0, 50, size),
            "ts": pa.array(seconds * 1_000_000, pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize(("text", "zone"), thinned(itertools.product(SLICED, [None, "UTC"]), 5))
def test_slices(text: str, zone: str | None, to_frame: Callable[[pa.Table], Any], conf: Any) -> None:
    """Each match belongs to one slice, whatever the slices are."""
    conf("spark.sql.shuffle.partitions", "5")
    table = long_stream(150 if "DAYS" in text else 1_500, seed=len(text))
    table = table.set_column(2, "ts", table.column("ts").cast(pa.timestamp("us", zone)))
    query = ac.query(text)
    frame = to_frame(table)
    assert "cut into slices" in query.explain(frame, order_by="ts")
    expected = query.run(table, order_by="ts")
    assert shown(query.run(frame, order_by="ts").toArrow()) == shown(expected)
    assert expected.num_rows or "0 SECONDS" in text
