"""Predicates that look at the event before, or at the events so far: all ways to run them say the same."""

import itertools
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.session import session
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import KEYS, WINDOWS, cases_looking_back, checked_query, long_stream, unordered

OPTIONS: dict[str, Any] = {"order_by": "ts", "ties": "keep"}


def shown(*tables: pa.Table) -> list[str]:
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def outcome(query: ac.Query, table: pa.Table, method: str, **options: Any) -> Any:
    """The rows, or that an aggregate failed; each way may look first at another one that did."""
    try:
        return shown(query.run(table, method=method, **options))
    except ac.AggregateError:
        return "failed"


def in_pieces(query: ac.Query, table: pa.Table, cuts: list[int], data: st.DataObject, **options: Any) -> Any:
    """The same by a session that is cut into batches, some of which go on from a snapshot."""
    running, found = query.open(table.schema, **options), []
    try:
        for begin, end in itertools.pairwise(cuts):
            found.append(running.push(table.slice(begin, end - begin)))
            if data.draw(st.booleans()):
                running = query.resume(running.snapshot())
            if data.draw(st.booleans()):
                running.compact()
    except ac.AggregateError:
        return "failed"
    return shown(*found)


@pytest.mark.property
@given(case=cases_looking_back(), within=WINDOWS, keys=KEYS, data=st.data())
def test_judges_engine_and_sessions_agree(case: Any, within: Any, keys: tuple[str, ...], data: st.DataObject) -> None:
    formula, table = case
    tree = ast.Query(formula, partition_by=tuple(map(ast.Key, keys)), within=within)
    query = checked_query(tree, table, data.draw(st.sampled_from(["once", "once", "additive"])))
    expected = outcome(query, table, "semantics")
    assert outcome(query, table, "automaton") == expected
    assert outcome(query, table, "engine") == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=4))})
    assert in_pieces(query, table, cuts, data) == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 5))
@given(case=cases_looking_back(), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_engine_and_automaton_agree_on_long_streams(case: Any, seed: int, data: st.DataObject) -> None:
    formula, _ = case
    table = long_stream(seed, data.draw(st.integers(200, 400)), data.draw(st.sampled_from([1, 2, 7, 60])), 4)
    within = ast.Within(data.draw(st.integers(2, 4)), "events")
    partition_by = data.draw(st.sampled_from([(), ("k",), ("k", "s"), ("w",)]))
    tree = ast.Query(formula, partition_by=tuple(map(ast.Key, partition_by)), within=within)
    query = checked_query(tree, table, data.draw(st.sampled_from(["once", "once", "additive"])), "ts")
    expected = outcome(query, table, "automaton", **OPTIONS)
    assert outcome(query, table, "engine", **OPTIONS) == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=8))})
    with (
        patch.object(session, "ROWS_AT_ONCE", data.draw(st.sampled_from([10, 64, 1_000]))),
        patch.object(growing, "SLACK", data.draw(st.sampled_from([0, 20, 1_000]))),
    ):
        assert in_pieces(query, table, cuts, data, **OPTIONS) == expected
