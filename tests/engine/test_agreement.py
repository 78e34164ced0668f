"""The engine gives what the judges give: any formula, any split into batches, any keys."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from strategies import bindings_of, checked_query, crowded_cases, keyed_cases, unordered


def outcome(query: ac.Query, table: pa.Table, method: str) -> Any:
    """The rows of the result, and their order, or the error."""
    try:
        result = query.run(table, method=method)
    except ac.AggregateError as error:
        return str(error)
    rows = [repr(unordered(row)) for row in result.to_pylist()]
    return result.schema, sorted(rows), result.select(["end", "start"]).to_pylist()


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=keyed_cases())
def test_engine_and_automaton_agree(bag_union: Any, case: tuple[ast.Query, pa.Table]) -> None:
    tree, table = case
    query = checked_query(tree, table, bag_union)
    assert outcome(query, table, "engine") == outcome(query, table, "automaton")


@pytest.mark.property
@settings(max_examples=max(1, settings().max_examples // 10))  # each of them takes the automaton a while
@given(case=crowded_cases())
def test_engine_and_automaton_agree_on_many_matches(case: tuple[ast.Query, pa.Table]) -> None:
    """Windows that events leave again and again, and many matches at a time."""
    tree, table = case
    query = checked_query(tree, table, "once")
    assert outcome(query, table, "engine") == outcome(query, table, "automaton")


@pytest.mark.property
@given(case=keyed_cases(), data=st.data())
def test_engine_and_automaton_agree_where_little_is_shown(
    case: tuple[ast.Query, pa.Table], data: st.DataObject
) -> None:
    """Matches that differ only in what is not shown are rows of their own."""
    tree, table = case
    bindings = bindings_of(tree.formula)
    names = bindings.bound() if bindings is not None else []
    shown = data.draw(st.lists(st.sampled_from(names), max_size=1)) if names else []
    bounds = (ast.SelectBound("start"), ast.SelectBound("end"))
    tree = replace(tree, select=(*bounds, *(ast.SelectVariable(name) for name in shown)))
    query = checked_query(tree, table, "once")
    assert outcome(query, table, "engine") == outcome(query, table, "automaton")
