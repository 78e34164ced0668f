"""What the analyses say holds on every stream: compared with brute force on small automata.

What they say of some queries is told by their fixtures (tests/test_fixtures.py).
"""

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, event, given

from acelera.automata.analysis import (
    beginnings,
    is_unambiguous,
    longest_run,
    needed_registers,
    reactions,
    uses_contiguity,
    uses_positions,
)
from acelera.automata.compilation import compile_formula
from acelera.automata.interpreter import _complex_event, _step, accepted, newest_starts
from acelera.automata.model import Acea, by_source
from acelera.automata.simplify import simplify
from acelera.automata.terms import Environment
from acelera.language import ast
from acelera.language.events import ComplexEvent, Event
from strategies import SCHEMA, cases, events_of

pytestmark = pytest.mark.property
Case = tuple[ast.Formula, pa.Table]


def automaton_of(case: Case) -> tuple[Acea, list[Event]]:
    return simplify(compile_formula(case[0], SCHEMA)), events_of(case[1])


def runs(automaton: Acea, events: list[Event]) -> Counter[ComplexEvent]:
    """Every accepting run counts."""
    latest, outgoing = newest_starts(automaton, events), by_source(automaton.transitions)
    found: Counter[ComplexEvent] = Counter()
    for start in range(len(events)):
        alive = [((automaton.initial, ()), ())]
        for position in range(start, len(events)):
            alive = [
                (after, (*marked, *new))
                for configuration, marked in alive
                for after, new in _step(outgoing, configuration, events, position, latest[position])
            ]
            for (state, _), marked in alive:
                if state in automaton.finals:
                    found[_complex_event(start + 1, position + 1, marked).without_origins()] += 1
    return found


@given(cases())
def test_unambiguous_automata_have_one_run_for_each_match(case: Case) -> None:
    automaton, events = automaton_of(case)
    event(f"unambiguous: {is_unambiguous(automaton)}")
    if is_unambiguous(automaton):
        assert all(count == 1 for count in runs(automaton, events).values())


@given(cases())
def test_registers_that_are_not_needed_do_not_matter(case: Case) -> None:
    automaton = compile_formula(case[0], SCHEMA)
    needed, events = needed_registers(automaton), events_of(case[1])
    wiped = tuple(
        replace(t, label=replace(t.label, assign=tuple(
            (name, term) for name, term in t.label.assign if name in needed[t.target] | t.label.reads_after
        )))
        for t in automaton.transitions
    )  # fmt: skip
    assert accepted(replace(automaton, transitions=wiped), events) == accepted(automaton, events)


@given(cases())
def test_events_that_nothing_reacts_to_can_be_dropped(case: Case) -> None:
    automaton, events = automaton_of(case)
    assume(not uses_contiguity(automaton) and not uses_positions(automaton))
    wanted = reactions(automaton)
    kept = [
        each for each in events
        if any(all(term.value(Environment(each)) is True for term in tests) for tests in wanted)
    ]  # fmt: skip
    renumbered = [replace(each, position=number) for number, each in enumerate(kept, 1)]
    back = {number: each.position for number, each in enumerate(kept, 1)}

    def restored(c: ComplexEvent) -> tuple[object, ...]:
        bags = {name: sorted(((back[e.position], e.attributes) for e in bag), key=repr) for name, bag in c.bags}
        return (back[c.start], back[c.end], repr(bags))

    def plain(c: ComplexEvent) -> tuple[object, ...]:
        bags = {name: sorted(((e.position, e.attributes) for e in bag), key=repr) for name, bag in c.bags}
        return (c.start, c.end, repr(bags))

    assert {restored(c) for c in accepted(automaton, renumbered)} == {plain(c) for c in accepted(automaton, events)}


@given(cases())
def test_matches_begin_with_beginnings(case: Case) -> None:
    automaton, events = automaton_of(case)
    asked = beginnings(automaton)
    for found in accepted(automaton, events):
        first = Environment(events[found.start - 1])
        assert any(all(term.value(first) is True for term in tests) for tests in asked)


@given(cases())
def test_no_run_is_longer_than_the_longest(case: Case) -> None:
    automaton, events = automaton_of(case)
    limit = longest_run(automaton)
    if limit is not None:
        assert all(c.end - c.start < limit for c in accepted(automaton, events))
