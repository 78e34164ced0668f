"""The automaton of a formula denotes what the formula denotes: every operator, both readings of bag union."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.automata.compilation import compile_formula
from acelera.automata.interpreter import accepted
from acelera.automata.simplify import simplify
from acelera.language import ast
from acelera.language.checker import check
from acelera.semantics.formulas import Stream, denotation
from strategies import SCHEMA, cases, events_of


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=cases())
def test_automaton_and_semantics_agree(bag_union: Any, case: tuple[ast.Formula, pa.Table]) -> None:
    formula, table = case
    try:
        check(ast.Query(formula), SCHEMA, bag_union)
    except ac.QueryCheckError:  # attributes of different types may meet in the additive reading
        assume(False)
    events = events_of(table)
    expected = {c.without_origins() for c in denotation(formula, Stream(events, "type", bag_union == "once", SCHEMA))}
    automaton = compile_formula(formula, SCHEMA, bag_union)
    assert {c.without_origins() for c in accepted(automaton, events)} == expected
    smaller = simplify(automaton)
    assert (smaller.states, len(smaller.transitions)) <= (automaton.states, len(automaton.transitions))
    assert {c.without_origins() for c in accepted(smaller, events)} == expected


@pytest.mark.property
@given(case=cases(), amount=st.integers(1, 5), keys=st.sampled_from([(), ("ok",), ("ok", "s")]))
def test_whole_queries_agree(case: tuple[ast.Formula, pa.Table], amount: int, keys: tuple[str, ...]) -> None:
    formula, table = case
    partition_by = tuple(ast.Key(key) for key in keys)
    query = ac.query(ast.Query(formula, partition_by=partition_by, within=ast.Within(amount, "events")))
    expected, found = (query.run(table, method=method) for method in ("semantics", "automaton"))
    assert found.schema == expected.schema
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    assert found.select(["end", "start"]).to_pylist() == expected.select(["end", "start"]).to_pylist()
