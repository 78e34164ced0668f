"""Items of SELECT that compute, and aggregates of what is computed: all methods give the same."""

import itertools
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import (
    checked_query,
    computing,
    crowded_cases,
    keyed_cases,
    long_cases,
    unordered,
)

TIMED: dict[str, Any] = {"order_by": "ts", "ties": "keep"}


def shown(tables: list[pa.Table]) -> list[str]:
    """All rows, in no order."""
    return sorted(repr(unordered(row)) for table in tables for row in table.to_pylist())


def outcome(query: ac.Query, table: pa.Table, method: str, **options: Any) -> Any:
    """The rows of the result, or the error."""
    try:
        return shown([query.run(table, method=method, **options)])
    except ac.AggregateError as error:
        return str(error)


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=keyed_cases(), data=st.data())
def test_all_methods_compute_the_same(bag_union: Any, case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(data.draw(computing(case[0])), case[1], bag_union)
    expected = outcome(query, case[1], "semantics")
    assert outcome(query, case[1], "automaton") == expected
    assert outcome(query, case[1], "engine") == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 10))  # each of them takes the automaton a while
@given(case=crowded_cases(), data=st.data())
def test_engine_and_automaton_compute_the_same_of_many(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(data.draw(computing(case[0])), case[1], "once")
    assert outcome(query, case[1], "engine") == outcome(query, case[1], "automaton")


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 8))
@given(case=long_cases(), data=st.data())
def test_sessions_compute_the_same(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    """However a stream is cut, and wherever it is taken up again."""
    tree, table = data.draw(computing(case[0], timed=True)), case[1]
    query = checked_query(tree, table, "once", "ts")
    expected = outcome(query, table, "automaton", **TIMED)
    assert outcome(query, table, "engine", **TIMED) == expected
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=6))})
    slack, growing.SLACK = growing.SLACK, 20
    try:
        running, found = query.open(table.schema, **TIMED), []
        for begin, end in itertools.pairwise(cuts):
            found.append(running.push(table.slice(begin, end - begin)))
            if data.draw(st.booleans()):
                running = query.resume(running.snapshot())
        found.append(running.finish())
        assert shown(found) == expected
    except ac.AggregateError as error:
        assert str(error) == expected
    finally:
        growing.SLACK = slack


@pytest.mark.parametrize("method", ["engine", "automaton", "semantics"])
@pytest.mark.parametrize(("kind", "value"), [(pa.int8(), -128), (pa.int32(), -(2**31)), (pa.uint8(), 255)])
def test_what_is_computed_of_narrow_numbers_has_64_bits(method: str, kind: pa.DataType, value: int) -> None:
    table = pa.table({"type": ["A", "A"], "v": pa.array([value, None], kind)})
    query = ac.query(
        "SELECT a.v, -a.v AS less, abs(a.v) AS size, sum(-a.v) AS total, max(-a.v) + 1 AS high, -max(a.v) AS low "
        "MATCH A AS a FILTER -a.v <> 7"
    )
    found = query.run(table, method=method)
    assert found.schema.types == [kind, *[pa.int64()] * 5]
    assert [tuple(row.values()) for row in found.to_pylist()] == [
        (value, -value, abs(value), -value, 1 - value, -value)
    ]
    total = ac.query("SUMMARIZE sum(-a.v) AS s, max(abs(a.v)) AS m MATCH A AS a").run(table.slice(0, 1), method=method)
    assert total.to_pylist() == [{"s": -value, "m": abs(value)}]
