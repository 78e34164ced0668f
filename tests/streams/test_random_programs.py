"""Random programs: the engine in this process makes what is meant, however the stream is cut."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import acelera as ac
from streams.random_programs import Case, cases, counted, rows_of

EXAMPLES = int(os.environ.get("ACELERA_EXAMPLES", "100"))
QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large]


TIES = st.sampled_from(["keep", "keep", "any", "drop"])
MOST = 1_500
"""So many events, of all statements together; the judge lists all matches before it looks at windows."""


def matches_of(program: Any, case: Case) -> int:
    return sum(table.num_rows for table in program.run(case.table, ties="keep", **case.options).values())


@pytest.mark.property
@settings(max_examples=EXAMPLES, suppress_health_check=QUIET, deadline=None)
@given(cases(), TIES)
def test_the_engine_makes_what_is_meant(case: Case, ties: str) -> None:
    program = ac.program(case.text)
    assume(matches_of(program, case) < MOST)
    ties = ties if "order_by" in case.options else "keep"
    meant = program.run(case.table, method="semantics", ties=ties, **case.options)
    made = program.run(case.table, ties=ties, **case.options)
    assert rows_of(made) == rows_of(meant)
    assert {name: table.schema for name, table in made.items()} == program.check(case.table, **case.options)


@pytest.mark.property
@settings(max_examples=EXAMPLES, suppress_health_check=QUIET, deadline=None)
@given(cases(), TIES, st.data())
def test_a_stream_in_pieces_is_the_same_stream(case: Case, ties: str, data: st.DataObject) -> None:
    program = ac.program(case.text)
    assume(matches_of(program, case) < MOST)
    ties = ties if "order_by" in case.options else "keep"
    session = program.open(case.table, ties=ties, **case.options)
    parts: dict[str, list[pa.Table]] = {name: [] for name in program.outputs}

    def take(made: dict[str, Any]) -> None:
        for name, table in made.items():
            parts[name].append(table)

    at = 0
    while at < case.table.num_rows:
        size = data.draw(st.integers(1, 5))
        piece = case.table.slice(at, size)
        at += piece.num_rows
        now = None
        if case.timed and data.draw(st.booleans()):
            last = piece.column("ts")[-1].as_py()
            following = case.table.column("ts")[at].as_py() if at < case.table.num_rows else None
            now = last if following is None or following > last else None
        take(session.push(piece, now=now))
        if data.draw(st.booleans()):
            session = program.resume(session.snapshot())
    take(session.finish())
    whole = program.run(case.table, ties=ties, **case.options)
    assert counted({name: pa.concat_tables(each) for name, each in parts.items()}) == counted(whole)
