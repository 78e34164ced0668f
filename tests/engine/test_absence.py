"""UNLESS … FOR: the engine gives what the judges give, for any formula, keys, cuts into batches and snapshots."""

import datetime
import itertools
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.absence import comparing
from acelera.engine.nodes import arena, starts
from acelera.engine.session import session
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import KEPT_MATCHES, absent_cases, checked_query, long_absent_cases, unordered

TIMED: dict[str, Any] = {"order_by": "ts", "ties": "keep"}


def shown(tables: list[pa.Table]) -> list[str]:
    """All rows, in no order."""
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def outcome(query: ac.Query, table: pa.Table, method: str, **options: Any) -> Any:
    """The rows of the result, or the error."""
    try:
        return shown([query.run(table, method=method, **TIMED, **options)])
    except ac.AggregateError as error:
        return str(error)


def clock_of(table: pa.Table) -> int:
    """The last time."""
    return int(table["ts"].cast(pa.int64())[-1].as_py()) if table.num_rows else 0


def drawn(data: st.DataObject, tree: ast.Query) -> ast.Query:
    """The query, now and then with a KEEP."""
    return replace(tree, keep=data.draw(KEPT_MATCHES)) if data.draw(st.integers(0, 2)) == 0 else tree


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=absent_cases(), data=st.data())
def test_all_methods_find_the_same(bag_union: Any, case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query, table = checked_query(drawn(data, case[0]), case[1], bag_union, "ts"), case[1]
    until = data.draw(st.none() | st.integers(0, 3_000).map(lambda more: clock_of(table) + more))
    expected = outcome(query, table, "semantics", until=until)
    assert outcome(query, table, "automaton", until=until) == expected
    assert outcome(query, table, "engine", until=until) == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 4))
@given(case=long_absent_cases(), data=st.data())
def test_sessions_find_the_same(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    """However a stream is cut, whatever is known of its clock, and wherever it is taken up again."""
    tree, table = drawn(data, case[0]), case[1]
    query = checked_query(tree, table, data.draw(st.sampled_from(["once", "once", "additive"])), "ts")
    expected = outcome(query, table, "automaton")
    assert outcome(query, table, "engine") == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=8))})
    made, times = arena.Arena.__init__, table["ts"].cast(pa.int64()).to_pylist()
    with (
        patch.object(arena.Arena, "__init__", lambda self: made(self, nodes=64, hits=16)),
        patch.object(starts.NewestStarts.__init__, "__defaults__", (16,)),
        patch.object(arena, "LISTED_MATCHES", 16),
        patch.object(comparing, "MOST_PAIRS", data.draw(st.sampled_from([1, 50]))),
        patch.object(session, "ROWS_AT_ONCE", data.draw(st.sampled_from([10, 64, 1_000]))),
        patch.object(growing, "SLACK", data.draw(st.sampled_from([0, 20, 1_000]))),
    ):
        running, found = query.open(table.schema, **TIMED), []
        try:
            for begin, end in itertools.pairwise(cuts):
                found.append(running.push(table.slice(begin, end - begin)))
                if end < table.num_rows and data.draw(st.booleans()):
                    found.append(running.advance(times[end]))
                if data.draw(st.booleans()):
                    running = query.resume(running.snapshot())
            found.append(running.finish())
        except ac.AggregateError as error:
            assert str(error) == expected
            return
    assert shown(found) == expected


@pytest.mark.parametrize("now", [12_000, "1970-01-01 00:00:12", datetime.datetime(1970, 1, 1, 0, 0, 12)])
def test_a_session_is_told_times_as_a_run_is(now: Any) -> None:
    schema = {"type": str, "ts": "timestamp[ms]"}
    query = ac.query("MATCH A UNLESS B FOR 10 SECONDS")
    row = [{"type": "A", "ts": datetime.datetime(1970, 1, 1, 0, 0, 1)}]
    session = query.open(schema, order_by="ts")
    assert session.push(row).num_rows == 0
    assert session.advance("1970-01-01 00:00:11").num_rows == 0
    assert session.advance(now).num_rows == 1
    session = query.open(schema, order_by="ts")
    session.push(row)
    assert session.finish(until=now).num_rows == 1
    with pytest.raises(ac.UsageError, match="now='soon' is no time"):
        query.open(schema, order_by="ts").advance("soon")
    with pytest.raises(ac.UsageError, match="advance needs the time"):
        query.open(schema, order_by="ts").advance(None)
