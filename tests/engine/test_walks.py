"""Aggregates of matches that share their ends are those of the matches one by one."""

from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.nodes import arena
from tiers import thinned

ALONG = [
    "SELECT start, end, n.k AS k MATCH R:+ AS r FILTER r[increasing(v)] AGG n[k <- count(r)]",
    "SELECT n.k AS k, n.s AS s, n.m AS m, start MATCH R:+ AS r AGG n[k <- count(r), s <- sum(r.v), m <- max(r.f)]",
    "SELECT sum(r.v) AS s, first(r.t) AS f, last(r.t) AS l, min(r.f) AS m, max(r.ts) AS x MATCH A ; R+ AS r ; B",
    "SELECT count(r) AS s, first(r.t) AS f, a.v AS v MATCH A AS a ; R+ AS r ; (B OR R AS r)",
    "SELECT last(r.v) AS s, n.k AS k MATCH R+ AS r AGG n[k <- min(r.v)] FILTER n.k > 3",
    "SELECT sum(r.n) AS s, max(r.n) AS m, count(r.n) AS c, first(r.n) AS f MATCH A AS a ; R+ AS r ; B",  # NULLs
    "SELECT sum(r.n IGNORE NULLS) AS s, min(r.n IGNORE NULLS) AS m, count(r.n IGNORE NULLS) AS c, "
    "last(r.n IGNORE NULLS) AS l MATCH A AS a ; R+ AS r ; B",
    "SELECT max(r.t) AS s, min(r.u) AS m, min(r.u IGNORE NULLS) AS i, max(r.d) AS d MATCH A AS a ; R+ AS r ; B",
    "SELECT sum(r.large) AS s MATCH A AS a ; R+ AS r ; B",  # sums that do not fit
    "SELECT max(r.v) AS m, sum(r.v) AS s, count(r) AS c MATCH (A OR R+ AS r) ; B",  # matches without a value
    "SELECT count(r.v) AS s, n.k AS k MATCH ((R+ AS r AGG n[k <- count(r)]) ; B)+",  # folds that are closed again
    "SELECT count(n) AS s, sum(n.k) AS t MATCH ((R+ AS r AGG n[k <- count(r)]) ; B)+",
]
ONE_BY_ONE = [
    "SELECT sum(r.f) AS s MATCH A ; R+ AS r ; B",  # the order of the values matters
    "SELECT r.v, sum(r.v) AS s MATCH A ; R+ AS r ; B",  # they are shown as well
    "SELECT sum(r.v) AS s MATCH A ; R AS r ; B",  # matches are short
]


def stream(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    size = 40
    columns = {
        "type": random.choice(["R", "R", "R", "A", "B"], size),
        "v": random.integers(0, 50, size),
        "f": random.choice([0.0, -0.0, 1.5, np.nan, 2.5], size, p=[0.3, 0.3, 0.2, 0.05, 0.15]),
        "t": random.choice(["x", "yy", "", "é"], size),
        "u": pa.array(random.choice(["x", "yy", "", "é"], size), mask=random.random(size) < 0.1),
        "d": pa.array(random.integers(0, 50, size)).cast(pa.decimal128(21, 2)),
        "n": pa.array(random.integers(0, 50, size), mask=random.random(size) < 0.1),
        "large": random.choice([2**62, 1, -(2**62)], size),
        "ts": pa.array(np.cumsum(random.integers(1, 3, size)) * 1_000_000, pa.timestamp("us")),
    }
    return pa.table(columns)


def outcome(query: ac.Query, table: pa.Table, method: str = "engine") -> Any:
    try:
        found = query.run(table, order_by="ts", method=method)
    except ac.AggregateError as error:
        return str(error)
    return found.schema, sorted(map(repr, found.to_pylist()))


@pytest.mark.parametrize("text", thinned([*ALONG, *ONE_BY_ONE], 3))
def test_aggregates_are_those_of_the_automaton(text: str) -> None:
    query = ac.query(text + " WITHIN 11 EVENTS")
    assert query.open(stream(0).schema, order_by="ts").outgoing.presenter.as_tree == (text in ALONG)
    for seed in range(3):
        table = stream(seed)
        expected = outcome(query, table, "automaton")
        assert outcome(query, table) == expected
        with patch.object(arena, "LISTED_MATCHES", 5), patch.object(arena, "LISTED_MARKS", 7):
            assert outcome(query, table) == expected
