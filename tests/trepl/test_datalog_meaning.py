"""The Datalog of a rule, evaluated as it is printed, says what the meaning says."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acelera.language.types import INT
from acelera.programs.problems import ProgramCheckError
from acelera.trepl.checker import check
from acelera.trepl.datalog import datalog
from acelera.trepl.history import Change
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Program
from acelera.trepl.semantics import fired
from trepl.datalog_evaluation import Evaluation
from trepl.relations import RELATIONS

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "15"))
KINDS = {"A": "update", "B": "insert", "D": "update"}


def checked(goal: str, head: str) -> Program:
    text = f"monitor update(A), insert(B), update(D); R: {goal} -> write({head})"
    return check(parse(text).program, RELATIONS, INT, text=text).program


def by_meaning(program: Program, stages: list[list[Change]]) -> set[tuple[int, tuple[Any, ...]]]:
    return {(row.stage, row.arguments) for row in fired(program, [each for stage in stages for each in stage])}


def by_datalog(program: Program, stages: list[list[Change]]) -> set[tuple[int, tuple[Any, ...]]]:
    facts = Evaluation(datalog(program)).facts(stages)
    return {(number, each) for number, now in enumerate(facts) for each in now.get("write", ()) if number}


def change(letter: str, k: int, stage: int) -> Change:
    kind = KINDS[letter]
    return Change(letter, kind, {"k": 0} if kind == "update" else None, {"k": k}, stage, stage)


EVENTS = st.tuples(st.sampled_from("AAABBD"), st.integers(0, 2))
HISTORIES = st.lists(st.lists(EVENTS, min_size=1, max_size=2), min_size=3, max_size=8).map(
    lambda stages: [[change(letter, k, number) for letter, k in stage] for number, stage in enumerate(stages, 1)]
)

GOALS = {
    "(upd(A(X)), * upd(A(Y), Y.k >= X.k), Y.k = Max(Y.k))": "X.k, Y.k, Sum(Y.k)",
    "* upd(A(X), X.k = First(X.k), Count(X) <= 3)": "X.k, Count(X)",
    "(* upd(A(X), X.k >= Last(X.k)), upd(A(Y), Y.k < X.k))": "First(X.k), Count(X), Y.k",
    "(any, * upd(A(X), Count(X) <= 2), Count(X) = 2)": "Sum(X.k)",
    "(upd(A(X)), * (* ins(B(Y), Y.k = X.k), upd(D(Z), Z.k = X.k)), upd(A(V)))": "X.k, V.k",
    "(upd(A(X)), *!ins(B(U), U.k = X.k), upd(D(Y)))": "X.k, Y.k",
    "* (upd(A(X)) & !ins(B))": "X.k, Count(X)",
    "* {upd(A), ins(B)}": "1",
    "* (upd(A(X)), ins(B(Y), Y.k >= Last(Y.k), Y.k >= First(X.k)))": "X.k, Y.k, Count(Y)",
    "* (upd(A(X)), X.k >= Last(X.k))": "X.k, Count(X)",
    "[upd(A(X)), * ins(B(Y), Y.k >= X.k), upd(D(Z))]": "X.k, Count(Y), Z.k",
    "[upd(A(X)), X.k > 0, {ins(B), upd(D)}]": "X.k",
    "prior((upd(A(X)), ins(B)), upd(D(Y)) & upd(A(Z)))": "X.k, Y.k, Z.k",
    "first((upd(A(X)), upd(A(Y))))": "X.k, Y.k",
    "(upd(A(X)), first(ins(B(Y))))": "X.k, Y.k",
    "* (upd(A(X)) & first(ins(B)))": "X.k",
    "(upd(A(X)), !(ins(B), upd(A)), upd(D(Y)))": "X.k, Y.k",
    "(any, !upd(A(X), X.k = 1))": "1",
    "*: (any, upd(A(X)))": "Count(X)",
    "(upd(A(X)), {* ins(B), (ins(B), upd(D))}, upd(A(Y)))": "X.k, Y.k",
    "(!(* upd(A(X), X.k > 0), ins(B)), upd(D(Y)))": "Y.k",
}


@pytest.mark.property
@pytest.mark.parametrize("goal", GOALS)
@settings(max_examples=max(EXAMPLES // 6, 5))
@given(HISTORIES)
def test_the_datalog_of_an_event_means_what_the_event_means(goal: str, stages: list[list[Change]]) -> None:
    program = checked(goal, GOALS[goal])
    assert by_datalog(program, stages) == by_meaning(program, stages)


class _Writer:
    """Writes random goals: variables are bound once, and looked at afterwards, whether that is allowed or not."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw
        self.bound: list[str] = []

    def choose(self, *choices: str) -> str:
        return str(self._draw(st.sampled_from(choices)))

    def event(self) -> str:
        variable = f"V{len(self.bound) + 1}"
        asked = self.condition(variable)
        self.bound.append(variable)
        return f"{self.choose('upd(A', 'upd(A', 'ins(B', 'upd(D')}({variable}){asked})"

    def condition(self, variable: str) -> str:
        others = [f"{each}.k" for each in self.bound] + [f"Max({each}.k)" for each in self.bound]
        own = [f"Last({variable}.k)", f"First({variable}.k)", f"Count({variable})", "1"]
        sign = self.choose("=", ">=", "<=", "")
        return f", {variable}.k {sign} {self.choose(*own, *others)}" if sign else ""

    def goal(self, depth: int) -> str:
        kinds = ["event", "event", "any", "not"] + [
            "seq",
            "relaxed",
            "star",
            "star",
            "or",
            "and",
            "first",
            "tested",
        ] * (depth > 0)
        kind = self.choose(*kinds)
        inner = (
            [self.goal(depth - 1) for _ in range(2 if kind in ("seq", "relaxed", "or", "and") else kind != "event")]
            if depth
            else []
        )
        match kind:
            case "seq":
                return f"({', '.join(inner)})"
            case "relaxed":
                return f"[{', '.join(inner)}]"
            case "star":
                return f"{self.choose('*', '*:')} {inner[0]}"
            case "or":
                return f"{{{', '.join(inner)}}}"
            case "and":
                return f"({' & '.join(inner)})"
            case "first":
                return f"first({inner[0]})"
            case "not":
                return f"!{inner[0] if inner else self.event()}"
            case "tested" if self.bound:
                return f"({inner[0]}, {self.bound[-1]}.k {self.choose('>=', '<')} 1)"
            case "any":
                return "any"
        return self.event()


@st.composite
def random_rules(draw: Callable[..., Any]) -> Program:
    writer = _Writer(draw)
    goal = writer.goal(3)
    for head in (", ".join(f"{each}.k" for each in writer.bound), "1"):
        try:
            return checked(goal, head or "1")
        except ProgramCheckError:
            continue
    assume(False)
    raise AssertionError


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(random_rules(), HISTORIES)
def test_the_datalog_of_random_events_means_what_they_mean(program: Program, stages: list[list[Change]]) -> None:
    assert by_datalog(program, stages) == by_meaning(program, stages)
