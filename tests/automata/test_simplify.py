"""No pass changes what an automaton accepts; what each does is told by its fixtures (tests/test_fixtures.py)."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings

import acelera as ac
from acelera.automata.compilation import compile_formula
from acelera.automata.interpreter import accepted
from acelera.automata.labels import Label
from acelera.automata.model import Acea
from acelera.automata.simplify import PASSES, equivalent_states
from acelera.language import ast
from strategies import SCHEMA, cases, events_of


@pytest.mark.property
@pytest.mark.parametrize("one_pass", PASSES, ids=lambda one: one.__name__)
@settings(max_examples=max(1, settings().max_examples // 2))  # for each pass
@given(case=cases())
def test_a_pass_changes_nothing_that_is_accepted(
    one_pass: Callable[[Acea], Acea], case: tuple[ast.Formula, pa.Table]
) -> None:
    formula, table = case
    automaton, events = compile_formula(formula, SCHEMA), events_of(table)
    assert accepted(one_pass(automaton), events) == accepted(automaton, events)


@pytest.mark.property
@given(case=cases())
def test_states_are_equivalent_as_defined(case: tuple[ast.Formula, pa.Table]) -> None:
    automaton = compile_formula(case[0], SCHEMA)
    found, expected = equivalent_states(automaton), refined(automaton)
    assert len(set(zip(found, expected, strict=True))) == len(set(found)) == len(set(expected))


def refined(automaton: Acea) -> list[int]:
    """Blocks of states, split until all states of each lead to the same blocks; all are looked at each time."""
    block = [int(state in automaton.finals) + 2 * (state == automaton.initial) for state in range(automaton.states)]
    while True:
        leads = [
            {(t.label, block[t.target]) for t in automaton.transitions if t.source == at} for at in range(len(block))
        ]
        numbers: dict[tuple[int, frozenset[tuple[Label, int]]], int] = {}
        split = [numbers.setdefault((here, frozenset(to)), len(numbers)) for here, to in zip(block, leads, strict=True)]
        if len(set(split)) == len(set(block)):
            return block
        block = split


def test_example_6_is_as_small_as_in_the_paper() -> None:
    """Figure 2: four states, six transitions, and a register for the maximum."""
    query = ac.query("""
        MATCH (SELL AS msft ; (SELL AS intel)+ ; SELL AS amzn)
        FILTER msft[name = 'MSFT'] AND msft[price > 100] AND intel[name = 'INTL'] AND amzn[name = 'AMZN'] AND amzn[price < 2000]
        AGG M[MAX <- max(intel.price)]
    """)
    assert (query.automaton.states, len(query.automaton.transitions), len(query.automaton.registers)) == (4, 6, 1)


@pytest.mark.parametrize(
    ("query", "states", "transitions"),
    [
        ("A", 2, 1),
        ("A OR A", 2, 1),
        ("(A OR B) AND (B OR A)", 2, 2),
        ("A AND B", 1, 0),
        ("A ; B", 3, 3),
        ("A : B", 3, 2),
        ("A:+", 2, 2),
        ("A+", 3, 5),
        ("A FILTER A.v > 5 AND A.v < 3", 1, 0),
        ("A FILTER A.v = 5 AND A.v = 3", 1, 0),
        ("(A ; B) OR (A ; C)", 3, 4),
        ("((A:+):+):+", 2, 2),
    ],
)
def test_sizes(query: str, states: int, transitions: int) -> None:
    found = ac.query(f"MATCH {query}").automaton
    assert (found.states, len(found.transitions)) == (states, transitions)
