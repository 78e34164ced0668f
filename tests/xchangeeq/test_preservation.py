"""Temporal preservation: what ends by now follows from what has ended by now, of every operator of every rule."""

from __future__ import annotations

import os

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from acelera.algebra.rules import relation_of
from acelera.language.tree import walk
from acelera.programs.problems import ProgramCheckError
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.engine import compiled
from acelera.xchangeeq.semantics import derive
from xchangeeq.at_once import Events
from xchangeeq.strategies import SCHEMAS, programs
from xchangeeq.streams import TICK, events_in, rounded, streams

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "25"))


@pytest.mark.property
@settings(max_examples=EXAMPLES)
@given(programs(most_rules=2, recursion=False), streams(most=8, last=12), st.integers(0, 14))
def test_what_ends_by_now(program: ast.Program, tables: dict[str, pa.Table], now: int) -> None:
    try:
        plan = compiled(check(program, SCHEMAS), TICK)
    except ProgramCheckError:
        assume(False)
        raise
    events = Events(plan, tables)
    base = events_in(tables)
    assert rounded(events_in(events.made) - base) == rounded(derive(program, base, "nodes", TICK))
    for rule in plan.rules:
        for relation in walk(relation_of(rule)):
            of_ended, of_all = events.ending(relation, now)
            assert of_ended == of_all
