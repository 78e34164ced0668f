"""Items of SELECT that compute, and aggregates of what is computed: all methods give the same."""

import itertools
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.storage import growing
from acelera.language import ast
from strategies import (
    aggregations,
    bindings_of,
    checked_query,
    crowded_cases,
    keyed_cases,
    long_cases,
    select_expressions,
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


def drawn(data: st.DataObject, tree: ast.Query) -> ast.Query:
    """The query with items that compute, and now and then with an aggregate that is filtered."""
    bindings = bindings_of(tree.formula)
    assume(bindings is not None)
    assert bindings is not None
    if bindings.bound() and data.draw(st.booleans()):
        made = ast.Agg(tree.formula, "m", (ast.Created("c", data.draw(aggregations(bindings))),))
        tested = ast.Each("m", ast.IsNull(ast.Attribute(None, "c"), True))
        formula = data.draw(st.sampled_from([made, ast.Filter(made, tested)]))
        if bindings_of(formula) is not None:
            tree, bindings = replace(tree, formula=formula), bindings_of(formula)
            assert bindings is not None
    keys = [key.name for key in tree.partition_by]
    items = data.draw(st.lists(select_expressions(bindings, keys), min_size=1, max_size=3))
    named: list[ast.SelectItem] = [replace(item, alias=f"i{number}") for number, item in enumerate(items)]
    if bindings.bound():
        named.append(ast.SelectAggregation(data.draw(aggregations(bindings)), "aggregated"))
    return replace(tree, select=tuple(named))


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=keyed_cases(), data=st.data())
def test_all_methods_compute_the_same(bag_union: Any, case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(drawn(data, case[0]), case[1], bag_union)
    expected = outcome(query, case[1], "semantics")
    assert outcome(query, case[1], "automaton") == expected
    assert outcome(query, case[1], "engine") == expected


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 10))  # each of them takes the automaton a while
@given(case=crowded_cases(), data=st.data())
def test_engine_and_automaton_compute_the_same_of_many(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    query = checked_query(drawn(data, case[0]), case[1], "once")
    assert outcome(query, case[1], "engine") == outcome(query, case[1], "automaton")


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 8))
@given(case=long_cases(), data=st.data())
def test_sessions_compute_the_same(case: tuple[ast.Query, pa.Table], data: st.DataObject) -> None:
    """However a stream is cut, and wherever it is taken up again."""
    tree, table = drawn(data, case[0]), case[1]
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
