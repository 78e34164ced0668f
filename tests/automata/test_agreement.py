"""The automaton of a formula denotes what the formula denotes: every operator, both readings of bag union."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from acelera.automata.compilation import compile_formula
from acelera.automata.interpreter import accepted
from acelera.automata.simplify import simplify
from acelera.language import ast
from acelera.language.checker import check
from acelera.language.events import Event
from acelera.semantics.formulas import Stream, denotation
from acelera.semantics.queries import partitions
from acelera.tables import to_rows
from strategies import SCHEMA, formulas, streams

COSTLY = (ast.Iteration, ast.ContiguousIteration, ast.All)


@st.composite
def cases(draw: st.DrawFn) -> tuple[ast.Formula, pa.Table]:
    """A formula and a stream, the shorter the more matches the formula may have."""
    formula = draw(formulas(depth=draw(st.integers(1, 5))))
    costly = sum(isinstance(node, COSTLY) for node in ast.walk(formula))
    longest = 8 if costly <= 1 else 5 if costly == 2 else 4
    return formula, draw(streams(longest, shortest=longest // 2))


def events_of(table: pa.Table) -> list[Event]:
    found = partitions(to_rows(table, SCHEMA), SCHEMA, ast.Query(ast.AnyEvent()), "error")
    return found[0].events if found else []


@pytest.mark.property
@pytest.mark.parametrize("bag_union", ["once", "additive"])
@given(case=cases())
def test_automaton_and_semantics_agree(bag_union: Any, case: tuple[ast.Formula, pa.Table]) -> None:
    formula, table = case
    try:
        check(ast.Query(formula), SCHEMA, bag_union)
    except ac.QueryCheckError:  # attributes of different types may meet in the additive reading
        return
    events = events_of(table)
    expected = {c.without_origins() for c in denotation(formula, Stream(events, "type", bag_union == "once"))}
    automaton = compile_formula(formula, SCHEMA, bag_union)
    assert {c.without_origins() for c in accepted(automaton, events)} == expected
    smaller = simplify(automaton)
    assert (smaller.states, len(smaller.transitions)) <= (automaton.states, len(automaton.transitions))
    assert {c.without_origins() for c in accepted(smaller, events)} == expected
