"""Passes, analyses and plans do what their fixtures say; tests/fixtures/README.md describes the format."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import acelera as ac
from acelera.automata import analysis, simplify
from acelera.automata.compilation import compile_formula
from acelera.automata.contradictions import impossible, plain_tests
from acelera.automata.handwritten import term_of
from acelera.automata.model import Acea, Transition
from acelera.automata.terms import Sql, Term
from acelera.engine.plan import NO_ACTION, Action, Plan, plan_of
from acelera.engine.results import seen
from acelera.language.checker import Checked, check
from acelera.language.printer import print_expression
from acelera.language.schema import schema_of
from automaton_texts import automaton_text, read_automaton, terms_text, transition_lines
from cases import read_yaml

FOLDER = Path(__file__).parent / "fixtures"
SCHEMA = schema_of({"type": str, "v": int, "w": int, "f": float, "s": str, "d": "decimal(9, 2)"})


@dataclass(frozen=True)
class Pair:
    """What is given, and what must be made of it."""

    area: str
    subject: str
    data: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.subject}: {self.data['name']}"


def pairs(area: str) -> list[Pair]:
    return [Pair(area, path.stem, data) for path in sorted((FOLDER / area).glob("*.yaml")) for data in read_yaml(path)]


def said(answer: object) -> str:
    """An answer as the fixtures write it."""
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return str(answer).strip()


def listed(lines: Iterable[str], between: str = "\n") -> str:
    return between.join(lines) or "none"


# --- passes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pair", pairs("simplify"), ids=str)
def test_pass(pair: Pair) -> None:
    before, after = (pair.data[key].strip() for key in ("before", "after"))
    formula = pair.data.get("query")
    given = read_automaton(before) if formula is None else compile_formula(ac.query(f"MATCH {formula}").ast.formula)
    found = getattr(simplify, pair.subject)(given)
    assert lines(automaton_text(given)) == lines(before)
    assert lines(automaton_text(found)) == lines(before if after == "unchanged" else after)
    assert lines(before) != lines(after), "a pass that does nothing would do"


def lines(automaton: str) -> list[str]:
    """In whatever order its transitions are."""
    return sorted(automaton.splitlines())


def test_all_passes_have_fixtures() -> None:
    assert {each.__name__ for each in simplify.PASSES} <= {pair.subject for pair in pairs("simplify")}


# --- analyses -----------------------------------------------------------------------------------------------------


def transitions(automaton: Acea, found: Iterable[Transition]) -> str:
    return listed(transition_lines(automaton, found))


def needed_registers(automaton: Acea) -> str:
    texts = [", ".join(sorted(names)) or "nothing" for names in analysis.needed_registers(automaton)]
    return listed(f"{automaton.name(state)}: {text}" for state, text in enumerate(texts))


def waiting_states(automaton: Acea) -> str:
    return listed((automaton.name(state) for state in sorted(analysis.waiting_states(automaton))), ", ")


ANALYSES: dict[str, Callable[[Acea], object]] = {
    "needed_registers": needed_registers,
    "lets_pass": lambda a: transitions(a, filter(analysis.lets_pass, a.transitions)),
    "is_idle": lambda a: transitions(a, filter(analysis.is_idle, a.transitions)),
    "is_unambiguous": analysis.is_unambiguous,
    "uses_contiguity": analysis.uses_contiguity,
    "waiting_states": waiting_states,
    "passing_transitions": lambda a: transitions(a, analysis.passing_transitions(a)),
    "uses_positions": analysis.uses_positions,
    "reactions": lambda a: listed(map(terms_text, analysis.reactions(a))),
    "beginnings": lambda a: listed(map(terms_text, analysis.beginnings(a))),
    "longest_run": lambda a: "no limit" if (limit := analysis.longest_run(a)) is None else limit,
}


@pytest.mark.parametrize("pair", pairs("analysis"), ids=str)
def test_analysis(pair: Pair) -> None:
    if "query" in pair.data:
        query = ac.query(f"MATCH {pair.data['query']}")
        automaton, windowed = query.automaton, query.ast.within is not None
    else:
        automaton, windowed = read_automaton(pair.data["automaton"]), False
    if pair.subject == "state_growth":
        found: object = analysis.state_growth(automaton, windowed)
    else:
        found = ANALYSES[pair.subject](automaton)
    assert said(found) == said(pair.data["answer"])


@pytest.mark.parametrize("pair", pairs("contradictions"), ids=str)
def test_contradictions(pair: Pair) -> None:
    tests = [term_of(text, frozenset({"r"})) for text in pair.data["tests"]]
    assert said(CONTRADICTIONS[pair.subject](tests)) == said(pair.data["answer"])


def plain(tests: list[Term]) -> str:
    found = [each for test in tests if isinstance(test, Sql) for each in plain_tests(test)]
    return listed(f"{attribute}: {print_expression(test)}" for attribute, test in found)


CONTRADICTIONS: dict[str, Callable[[list[Term]], object]] = {"impossible": impossible, "plain_tests": plain}


# --- plans --------------------------------------------------------------------------------------------------------


def planned(text: str) -> tuple[Checked, Plan]:
    tree = ac.query(text).ast
    automaton = simplify.simplify(compile_formula(tree.formula, SCHEMA))
    return check(tree, SCHEMA), plan_of(automaton, SCHEMA, from_formula=True)


def guard_lines(plan: Plan) -> list[str]:
    lines = []
    for number, guard in enumerate(plan.guards, 1):
        lines.append(f"guard {number}")
        for edge in guard.edges:
            asked = terms_text([*(plan.tests[test] for test in sorted(edge.tests)), *edge.conditions])
            target = f"(q{edge.target})" if edge.target in guard.finals else f"q{edge.target}"
            lines.append(f"  q{edge.source} → {target}: {asked}")
    return lines


DECISIONS: dict[str, Callable[[Plan], object]] = {
    "folds": lambda plan: listed(f"{fold.register}: {fold.function}" for fold in plan.folds),
    "split_by": lambda plan: listed(plan.split_by, ", "),
    "guards": lambda plan: listed(guard_lines(plan)),
    "by_value": lambda plan: plan.by_value,
    "tests": lambda plan: listed(sorted(terms_text([test]) for test in plan.tests)),
}


@pytest.mark.parametrize("pair", pairs("plan"), ids=str)
def test_plan(pair: Pair) -> None:
    _, plan = planned(pair.data["query"])
    assert said(DECISIONS[pair.subject](plan)) == said(pair.data["answer"])


@pytest.mark.parametrize("pair", pairs("seen"), ids=str)
def test_seen(pair: Pair) -> None:
    checked, plan = planned(pair.data["query"])
    found = getattr(seen, pair.subject)(checked, plan) - {NO_ACTION}
    assert listed(sorted(action_text(action, plan) for action in found)) == said(pair.data["answer"])


def action_text(action: Action, plan: Plan) -> str:
    """The variables that are marked, then the aggregates that get a value or are shown."""
    marked = ", ".join(variable for variable, _ in action.marks)
    folds = [f"{plan.folds[step.fold].register}{' ends' if step.closes else ''}" for step in action.folds]
    return "; ".join([marked, *folds])


# --- the fixtures themselves --------------------------------------------------------------------------------------


@pytest.mark.parametrize("area", ["analysis", "contradictions", "plan", "seen"])
def test_no_answer_is_always_the_same(area: str) -> None:
    answers: dict[str, set[str]] = {}
    for pair in pairs(area):
        answers.setdefault(pair.subject, set()).add(said(pair.data["answer"]))
    assert all(len(different) > 1 for different in answers.values()), answers


@pytest.mark.parametrize("area", [path.name for path in FOLDER.iterdir() if path.is_dir()])
def test_names_are_unique(area: str) -> None:
    names = [str(pair) for pair in pairs(area)]
    assert names and len(names) == len(set(names))
