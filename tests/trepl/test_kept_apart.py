"""Modules whose rules keep to one key are split by it in process: the same comes out as without."""

from __future__ import annotations

import os
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera import cdc
from acelera.trepl import engine
from acelera.trepl.chained_keys import Chained

PROGRAMS = {
    "star": "monitor r; R: (r(X, X.v > 1), * r(Y, Y.k = X.k, Y.v >= X.v)) -> write(Y.k, Y.v, Count(Y));",
    "phases": "monitor r; R: (* r(X, X.k = First(X.k), X.v > Last(X.v)), r(Y, Y.k = X.k, Y.v <= X.v)) -> write(X.k, Count(X));",
    "relaxed": "monitor r; R: [r(X, X.v = 0), r(Y, Y.k = X.k, Y.v > 1)] -> write(Y.k, X.Timestamp, Y.Timestamp);",
    "any between": "monitor r; R: (r(X), any, r(Y, Y.k = X.k, Y.v > X.v)) -> write(Y.k, Y.v);",
    "some between": "monitor r; R: (r(X, X.v = 0), * any, r(Y, Y.k = X.k, Y.v > 1)) -> write(Y.k, X.Timestamp);",
    "none between": "monitor r; R: (r(X, X.v = 0), *!r(U, U.k = X.k), r(Y, Y.k = X.k)) -> write(Y.k, Y.v, X.Timestamp);",
    "counted": "monitor r; R: (r(X, X.v = 0), * !r(U, U.k = X.k, U.v = 2), r(Y, Y.k = X.k, Y.v = 2)) -> write(Y.k, Y.v);",
    "derived": """monitor r; derived d(k, n); A: (r(X), r(Y, Y.k = X.k)) -> d(X.k, X.v + Y.v);
        B: (d(X), r(Y, Y.k = X.k, Y.v < X.n)) -> write(Y.k, X.n, X.Timestamp);""",
}

rows = st.lists(
    st.fixed_dictionaries(
        {
            "tx": st.integers(0, 14),
            "k": st.sampled_from(["a", "b", "c", None]),
            "v": st.integers(0, 2) | st.none(),
            "ts": st.integers(0, 3),
        }
    ),
    max_size=30,
)


def told(text: str, given_: list[dict[str, object]], cuts: list[int]) -> list[dict[str, object]]:
    schema = pa.schema({"tx": pa.int64(), "k": pa.string(), "v": pa.int64(), "ts": pa.int64()})
    ordered = sorted(given_, key=lambda row: row["tx"])
    source = cdc.inserts(schema, time="ts", order_by=["tx"])
    session = ac.trepl(text).open({"r": source}, granularity="transaction")
    found = []
    for begin, end in zip([0, *cuts], [*cuts, len(ordered)], strict=True):
        batch = pa.Table.from_pylist(ordered[begin:end], schema)
        found += _rows(session.push({"r": batch}))
    return sorted(found + _rows(session.finish()), key=repr)


def _rows(tables: dict[str, pa.Table]) -> list[dict[str, object]]:
    return [{"output": name, **row} for name, table in tables.items() for row in table.to_pylist()]


@pytest.mark.property
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "10")))
@given(rows, st.lists(st.integers(0, 30), max_size=3))
def test_as_without(name: str, given_: list[dict[str, object]], places: list[int]) -> None:
    cuts = sorted(min(place, len(given_)) for place in places)
    split = told(PROGRAMS[name], given_, cuts)
    with patch.object(engine, "chained_key", lambda *_: Chained(None, "not now")):
        assert split == told(PROGRAMS[name], given_, cuts)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_split(name: str) -> None:
    explained = ac.trepl(PROGRAMS[name]).explain({"r": {"k": str, "v": int}})
    assert "all rules keep to k, so that instances are kept apart by it" in explained
