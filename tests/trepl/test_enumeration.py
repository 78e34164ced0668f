"""The meaning against an enumeration of all instances, and what a rule shows against what it matches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from acelera.programs.problems import ProgramCheckError
from acelera.trepl.history import Change
from acelera.trepl.resolved import Program
from acelera.trepl.semantics import fired
from acelera.trepl.semantics.histories import basic
from acelera.trepl.semantics.histories import histories as histories_of
from trepl.enumeration import Enumeration
from trepl.judging import checked
from trepl.strategies_meaning import RELATIONS, histories, rules


def sensible(text: str) -> Program:
    try:
        return checked(text, [], RELATIONS)
    except ProgramCheckError:
        assume(False)
        raise


def enumerated(program: Program, history: list[Change]) -> set[tuple[Any, ...]]:
    (module,) = program.modules
    stages = histories_of(module, [basic(each) for each in history]).get((), [])
    by_enumeration = Enumeration(module.rules[0], [sorted(each.events, key=repr) for each in stages])
    (action,) = module.rules[0].actions
    return {
        (stage, *(by_enumeration.value(each, b) for each in action.arguments))
        for stage, b in by_enumeration.satisfied()
    }


@pytest.mark.property
@given(rules(), histories())
def test_the_meaning_is_that_of_all_instances(rule: tuple[str, list[str]], history: list[Change]) -> None:
    text, shown = rule
    program = sensible(f"{text} write({', '.join(shown)})")
    assert {(each.stage, *each.arguments) for each in fired(program, history)} == enumerated(program, history)


@pytest.mark.property
@given(rules(), histories(8), st.data())
def test_what_a_rule_shows_does_not_change_what_it_matches(
    rule: tuple[str, list[str]], history: list[Change], data: st.DataObject
) -> None:
    text, shown = rule
    some = [number for number in range(len(shown)) if data.draw(st.booleans())]
    everything = fired(sensible(f"{text} write({', '.join(shown)})"), history)
    few = fired(sensible(f"{text} write({', '.join(shown[number] for number in some)})"), history)
    assert {(each.stage, *each.arguments) for each in few} == {
        (each.stage, *(each.arguments[number] for number in some)) for each in everything
    }
