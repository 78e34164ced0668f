"""Automata as a few lines of text, read and printed: what the fixtures of passes and analyses are written in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from acelera.automata.handwritten import term_of
from acelera.automata.labels import Label, Mark, label_text, marks
from acelera.automata.model import Acea, Transition
from acelera.automata.terms import Term

_NOTHING = "no transitions"


def read_automaton(text: str) -> Acea:
    """An automaton from lines `p → (q): A, v > 1 → x [n ← v]`; it begins in the first state, those in brackets are final."""
    lines = [_line(line) for line in text.strip().splitlines()]
    shown = list(dict.fromkeys(state for source, target, _ in lines for state in (source, target)))
    names = list(dict.fromkeys(state.strip("()") for state in shown))
    registers = frozenset(name for _, _, label in lines for name in re.findall(r"(\w+) ←", label))
    transitions = [
        Transition(names.index(source.strip("()")), read_label(label, registers), names.index(target.strip("()")))
        for source, target, label in lines
    ]
    finals = frozenset(names.index(state.strip("()")) for state in shown if state.startswith("("))
    return Acea(len(names), 0, finals, tuple(transitions), names=tuple(names))


def _line(line: str) -> tuple[str, str, str]:
    found = re.fullmatch(r"\s*(\S+) → (\S+): (.*)", line)
    assert found, f"not a transition: {line}"
    return found[1], found[2], found[3].strip()


def read_label(text: str, registers: frozenset[str]) -> Label:
    """What stands after the colon: a type marks the variable of its name as well, if anything is marked."""
    found = re.fullmatch(r"(.*?)(?: → (.*?))?(?: without (.*?))?(?: \[(.*)\])?", text)
    assert found, text
    before, marked, without, assigned = found.groups()
    tests = [] if before == "any" else _listed(before)
    types = [test for test in tests if re.fullmatch(r"[A-Z]+", test)]
    predicate = [term_of(f"type = '{test}'" if test in types else test, registers) for test in tests]
    named = {*_listed(marked), *types} - set(_listed(without)) if marked else ()
    assign = [each.split(" ← ") for each in assigned.split("; ")] if assigned else []
    return Label(
        tuple((name, term_of(term, registers)) for name, term in assign),
        tuple(predicate),
        marks({name: [Mark()] for name in named}),
    )


def _listed(text: str | None) -> list[str]:
    return re.split(r", (?![^(]*\))", text) if text else []


def automaton_text(automaton: Acea) -> str:
    """The lines of an automaton, with all that its transitions assign; those of guards are set in."""
    lines = transition_lines(automaton, automaton.transitions) or [_NOTHING]
    for number, guard in enumerate(automaton.guards, 1):
        lines += [f"guard {number}", *(f"  {line}" for line in automaton_text(guard).splitlines())]
    moving = {state for t in automaton.transitions for state in (t.source, t.target)}
    alone = [automaton.name(state) for state in range(automaton.states) if state not in moving]
    return "\n".join([*lines, *([f"alone: {', '.join(alone)}"] if alone else [])])


def transition_lines(automaton: Acea, transitions: Iterable[Transition]) -> list[str]:
    """A line a transition."""

    def name(state: int) -> str:
        return f"({automaton.name(state)})" if state in automaton.finals else automaton.name(state)

    return [f"{name(t.source)} → {name(t.target)}: {_label(t.label)}" for t in transitions]


def _label(label: Label) -> str:
    text = label_text(replace(label, assign=()))
    assigned = "; ".join(f"{name} ← {term}" for name, term in label.assign)
    return f"{text} [{assigned}]" if assigned else text


def terms_text(terms: Sequence[Term]) -> str:
    """Terms as the predicate of a transition."""
    return label_text(Label((), tuple(terms)))
