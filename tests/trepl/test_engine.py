"""Machines over stages and the engine against the meaning of programs: at once, in any steps, through snapshots."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acelera.errors import AggregateError, TooManyMatchesError
from acelera.language.types import INT, Type, from_arrow
from acelera.programs.problems import ProgramCheckError
from acelera.trepl.checker import check
from acelera.trepl.history import Change, Fired
from acelera.trepl.parser import parse
from acelera.trepl.resolved import Program
from acelera.trepl.semantics import fired
from trepl.engine_runs import forgetful as forgetful
from trepl.engine_runs import run_engine
from trepl.machine_runs import run_plainly
from trepl.strategies import programs
from trepl.streams import RELATIONS, TIMESTAMP, histories, in_order, long_histories

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "40"))
MOST = 300
"""How many instances may be open: a case with more takes long, and shows nothing that smaller ones do not."""

CUTS = st.lists(st.integers(1, 11), max_size=3)


def accepted(text: str, times: Type = TIMESTAMP, zone: str = "UTC") -> Program:
    try:
        return check(parse(text).program, RELATIONS, times, zone).program
    except ProgramCheckError:
        assume(False)
        raise


def done_plainly(program: Program, history: list[Change]) -> set[Fired]:
    """What the machines do, if few instances are open and no sum is too large."""
    try:
        return set(run_plainly(program, history, MOST, in_order(history)))
    except (TooManyMatchesError, AggregateError):
        assume(False)
        raise


def without_doubles(rows: Iterable[Fired]) -> set[Fired]:
    listed = list(rows)
    assert len(set(listed)) == len(listed)
    return set(listed)


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(), histories(), CUTS, st.booleans(), st.booleans())
@pytest.mark.usefixtures("forgetful")
def test_machines_and_engine(text: str, history: list[Change], cuts: list[int], breaks: bool, at_once: bool) -> None:
    program = accepted(text)
    plainly = done_plainly(program, history)
    meant = set(fired(program, history))
    assert plainly == meant
    assert without_doubles(run_engine(program, history, cuts, breaks, at_once=at_once)) == meant


@pytest.mark.property
@settings(max_examples=EXAMPLES // 2)
@given(
    programs(most_modules=1), histories(), CUTS, st.sampled_from(["Europe/Berlin", "America/St_Johns"]), st.booleans()
)
@pytest.mark.usefixtures("forgetful")
def test_other_zones_and_units(text: str, history: list[Change], cuts: list[int], zone: str, at_once: bool) -> None:
    program = accepted(text, from_arrow(pa.timestamp("us", "UTC")), zone)
    plainly = done_plainly(program, history)
    assert plainly == set(fired(program, history))
    assert without_doubles(run_engine(program, history, cuts, at_once=at_once)) == plainly


@pytest.mark.property
@settings(max_examples=EXAMPLES // 2)
@given(programs(most_modules=1, most_rules=2, chained=1), histories(crowd=2), CUTS, st.booleans(), st.booleans())
@pytest.mark.usefixtures("forgetful")
def test_rules_that_keep_to_one_key(
    text: str, history: list[Change], cuts: list[int], breaks: bool, at_once: bool
) -> None:
    program = accepted(text)
    plainly = done_plainly(program, history)
    assert plainly == set(fired(program, history))
    assert without_doubles(run_engine(program, history, cuts, breaks, at_once=at_once)) == plainly


@pytest.mark.property
@settings(max_examples=EXAMPLES // 2)
@given(programs(most_modules=1, clock=False), histories(granularity="transaction"), CUTS, st.booleans())
def test_times_that_are_numbers(text: str, history: list[Change], cuts: list[int], at_once: bool) -> None:
    program = accepted(text, INT)
    numbered = [replace(each, timestamp=each.timestamp // 10**9 % 5) for each in history]
    plainly = done_plainly(program, numbered)
    assert plainly == set(fired(program, numbered))
    assert without_doubles(run_engine(program, numbered, cuts, at_once=at_once)) == plainly


@pytest.mark.property
@settings(max_examples=max(EXAMPLES // 8, 1))
@given(programs(most_modules=1, most_rules=2), long_histories(), st.booleans())
@pytest.mark.usefixtures("forgetful")
def test_long_histories(text: str, history: list[Change], at_once: bool) -> None:
    program = accepted(text)
    plainly = done_plainly(program, history)
    assert plainly == set(fired(program, history))
    assert without_doubles(run_engine(program, history, range(7, 200, 31), at_once=at_once)) == plainly
