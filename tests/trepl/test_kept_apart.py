"""Modules whose rules keep to one key are split by it, in one engine or in several: the same comes out as without."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera import cdc
from acelera.cdc.layout import INSTANT, KIND, NEW, TIME
from acelera.language.types import INT, STRING, from_arrow
from acelera.trepl import engine
from acelera.trepl.chained_keys import Chained
from acelera.trepl.checker import check
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Relation
from acelera.trepl.running.module_runs import LATEST, STAGE

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


def normalized(given_: list[dict[str, Any]]) -> pa.Table:
    """Inserts as engines take them, with their stages."""
    instants = sorted({row["tx"] for row in given_})
    latest = {tx: max(row["ts"] for row in given_ if row["tx"] == tx) for tx in instants}
    return pa.table(
        {
            KIND: pa.array([0] * len(given_), pa.int8()),
            f"{INSTANT}0": pa.array([row["tx"] for row in given_], pa.int64()),
            TIME: pa.array([row["ts"] for row in given_], pa.int64()),
            f"{NEW}k": pa.array([row["k"] for row in given_], pa.string()),
            f"{NEW}v": pa.array([row["v"] for row in given_], pa.int64()),
            STAGE: pa.array([instants.index(row["tx"]) + 1 for row in given_], pa.int64()),
            LATEST: pa.array([latest[row["tx"]] for row in given_], pa.int64()),
        }
    )


@pytest.mark.property
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "10")))
@given(rows, st.integers(0, 30))
def test_engines_that_see_some_keys_each(name: str, given_: list[dict[str, Any]], place: int) -> None:
    """Stages are numbered elsewhere; each engine takes its changes in two steps."""
    relations = {"r": Relation({"k": STRING, "v": INT})}
    program = check(parse(PROGRAMS[name]).program, relations, from_arrow(pa.int64())).program
    ordered = sorted(given_, key=lambda row: row["tx"])
    whole = normalized(ordered)
    cut = sum(row["tx"] < ordered[min(place, len(ordered) - 1)]["tx"] for row in ordered)
    found: dict[Any, set[str]] = {}
    for some in (["a", None], ["b"], ["c"]):
        run = engine.opened(program)
        for piece in (whole.slice(0, cut), whole.slice(cut)):
            own = piece.filter(pa.array([key in some for key in piece.column(f"{NEW}k").to_pylist()], pa.bool_()))
            for action, table in run.step({"r": own}).items():
                found.setdefault(action, set()).update(map(repr, table.to_pylist()))
    wanted = engine.opened(program).step({"r": whole.drop_columns([STAGE, LATEST])})
    assert found == {action: set(map(repr, table.to_pylist())) for action, table in wanted.items() if table.num_rows}


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_split(name: str) -> None:
    explained = ac.trepl(PROGRAMS[name]).explain({"r": {"k": str, "v": int}})
    assert "all rules keep to k, so that instances are kept apart by it" in explained
