"""Machines over stages against the meaning of programs."""

from __future__ import annotations

import os

import pytest
from hypothesis import assume, given, settings

from acelera.errors import TooManyMatchesError
from acelera.programs.problems import ProgramCheckError
from acelera.trepl.checker import check
from acelera.trepl.history import Change, Fired
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Program
from acelera.trepl.semantics import fired
from trepl.machine_runs import run_plainly
from trepl.strategies import programs
from trepl.streams import RELATIONS, TIMESTAMP, histories, in_order

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "40"))
MOST = 300
"""How many instances may be open: a case with more takes long, and shows nothing that smaller ones do not."""


def accepted(text: str) -> Program:
    try:
        return check(parse(text).program, RELATIONS, TIMESTAMP).program
    except ProgramCheckError:
        assume(False)
        raise


def done_plainly(program: Program, history: list[Change]) -> set[Fired]:
    try:
        return set(run_plainly(program, history, MOST, in_order(history)))
    except TooManyMatchesError:
        assume(False)
        raise


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(), histories())
def test_machines_on_plain_values(text: str, history: list[Change]) -> None:
    program = accepted(text)
    found = done_plainly(program, history)
    assert found == set(fired(program, history))
