"""Each pass makes an automaton smaller where it should, and never changes what it accepts."""

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given

import acelera as ac
from acelera.automata import simplify as passes
from acelera.automata.compilation import compile_formula
from acelera.automata.contradictions import impossible
from acelera.automata.handwritten import term_of
from acelera.automata.interpreter import accepted
from acelera.automata.labels import Label
from acelera.automata.model import Acea, Transition
from acelera.automata.simplify import PASSES, equivalent_states, simplify
from acelera.automata.terms import Const, Reg, Term
from acelera.language import ast
from strategies import SCHEMA, cases, events_of


@pytest.mark.property
@pytest.mark.parametrize("one_pass", PASSES, ids=lambda one: one.__name__)
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


def terms(*texts: str) -> tuple[Term, ...]:
    return tuple(term_of(text, frozenset({"r"})) for text in texts)


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (terms("v = 1", "v = 2"), True),
        (terms("v = 1", "v = 1.0"), False),
        (terms("v = 1 AND u = 2", "v = 2"), True),
        (terms("type = 'A'", "type IS NULL OR type <> 'A'"), True),
        (terms("type = 'A'", "type IS NULL OR type <> 'B'"), False),
        (terms("v > 1", "v < 1"), True),
        (terms("v >= 1", "v <= 1"), False),
        (terms("v >= 1", "1 > v"), True),
        (terms("v > 1", "u < 1"), False),
        (terms("v IS NULL", "v > 1"), True),
        (terms("v IS NULL"), False),
        (terms("v = 5", "v IN (1, 2)"), True),
        (terms("v = 2", "v IN (1, 2)"), False),
        (terms("r = 1", "r = 2"), False),
        ((Const(False),), True),
        ((Const(True),), False),
        ((), False),
    ],
)
def test_impossible(predicate: tuple[Term, ...], expected: bool) -> None:
    assert impossible(predicate) is expected


def chain(*labels: Label) -> Acea:
    transitions = tuple(Transition(index, label, index + 1) for index, label in enumerate(labels))
    return Acea(len(labels) + 1, 0, frozenset({len(labels)}), transitions)


def test_dead_registers_are_forgotten() -> None:
    first = Label((("kept", Const(1)), ("lost", Const(2))))
    second = Label((("kept", Reg("kept")), ("lost", Reg("lost"))), (term_of("kept = 1", frozenset({"kept"})),))
    found = passes.forget_dead_registers(chain(first, second))
    assert [dict(t.label.assign).keys() for t in found.transitions] == [{"kept"}, {"kept"}]


def test_useless_states_are_dropped() -> None:
    label = Label()
    automaton = Acea(
        5,
        0,
        frozenset({1}),
        (Transition(0, label, 1), Transition(0, label, 2), Transition(3, label, 1), Transition(0, label, 1)),
    )
    found = passes.drop_useless_states(automaton)
    assert (found.states, found.transitions) == (2, (Transition(0, label, 1),))


def test_equal_labels_are_merged() -> None:
    label = Label()
    automaton = Acea(4, 0, frozenset({3}), tuple(Transition(a, label, b) for a, b in [(0, 1), (0, 2), (1, 3), (2, 3)]))
    assert passes.merge_by_label(automaton).states == 3
    assert passes.merge_equivalent_states(automaton).states == 3


def test_guards_are_simplified_too() -> None:
    built = compile_formula(ac.query("MATCH A UNLESS (B OR B)").ast.formula)
    assert len(simplify(built).guards[0].transitions) == 1
