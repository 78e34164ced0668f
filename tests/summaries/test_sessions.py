"""Summaries over streams that come in batches, with snapshots: the same rows, each as soon as it is known."""

from __future__ import annotations

import itertools
import os
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.storage import growing
from acelera.engine.summaries import adaptive_summarizer, summary_choice
from acelera.engine.summaries.summary_session import SummarySession
from summaries.strategies import SummaryCase, long_cases, same, short_cases

COMPACTED, TAKEN_UP = "is compacted", "is taken up from a snapshot"
EXAMPLES = settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "60")))


def in_cuts(case: SummaryCase, cuts: list[int], between: list[str]) -> pa.Table | str:
    """The rows of a session that is given a table in pieces; between them it may be compacted, or taken up again."""
    query, table = case.query(), case.table
    if case.order_by is not None:
        table = table.sort_by(case.order_by)
    ends = sorted({0, table.num_rows, *(cut % (table.num_rows + 1) for cut in cuts)})
    session = query.open(table.schema, order_by=case.order_by, ties="keep")
    found = []
    try:
        for (begin, end), then in itertools.zip_longest(itertools.pairwise(ends), between[: len(ends) - 1]):
            found.append(session.push(table.slice(begin, end - begin)))
            if then == COMPACTED:
                session.compact()
            elif then == TAKEN_UP:
                session = query.resume(session.snapshot())
        found.append(session.finish())
    except ac.AggregateError:
        return "an aggregate failed"
    assert isinstance(session, SummarySession)
    return session._rows.in_order(pa.concat_tables(found))


CUTS = st.lists(st.integers(0, 1000), max_size=4)
BETWEEN = st.lists(st.sampled_from([COMPACTED, TAKEN_UP, "goes on"]), max_size=5)


@pytest.mark.property
@EXAMPLES
@given(case=short_cases(), cuts=CUTS, between=BETWEEN)
def test_cuts_and_snapshots_change_nothing(case: SummaryCase, cuts: list[int], between: list[str]) -> None:
    assert same(case.run("engine"), in_cuts(case, cuts, between))


@pytest.mark.property
@EXAMPLES
@given(case=long_cases(), cuts=CUTS, between=BETWEEN)
def test_cuts_and_snapshots_change_nothing_in_long_streams(
    case: SummaryCase, cuts: list[int], between: list[str]
) -> None:
    assert same(case.run("engine"), in_cuts(case, cuts, between))


@pytest.mark.property
@EXAMPLES
@given(case=long_cases())
def test_matrices_find_what_is_found_by_start(case: SummaryCase) -> None:
    with patch.object(summary_choice, "_flat", lambda *_: None):
        expected = case.run("engine")
    assert same(expected, case.run("engine"))


@pytest.mark.parametrize("by", ["", " BY A.u", " BY A.u, A.v"])
def test_a_session_is_compacted_after_each_event(by: str) -> None:
    """Rows get the numbers of those that were forgotten."""
    query = ac.query(f"SUMMARIZE count(*) MATCH ANY ALL NEXT(A){by}")
    for types in ("BBA", "BBBA", "ABBA", "BBBBA", "BBABA"):
        rows = [{"type": kind, "u": 0, "v": 0} for kind in types]
        session = query.open({"type": str, "u": int, "v": int})
        for row in rows:
            session.push([row])
            session.compact()
        assert session.finish().to_pylist() == query.run(rows, method="automaton").to_pylist()


def test_a_window_is_given_when_it_is_over() -> None:
    q = ac.query("SUMMARIZE count(*) MATCH A ; B OVER 4 EVENTS EVERY 2 EVENTS")
    session = q.open({"type": str})
    rows = [{"type": each} for each in "ABAABBAA"]
    given = [session.push([row]).to_pylist() for row in rows]
    first = {"window_start": 1, "window_end": 4, "count": 1}
    second = {"window_start": 3, "window_end": 6, "count": 4}
    assert given == [[], [], [], [first], [], [second], [], []]
    assert session.finish().to_pylist() == []


def test_a_moment_is_given_when_time_has_passed_it() -> None:
    q = ac.query("SUMMARIZE count(*) MATCH A ; B BY end_time")
    times = pa.array([1, 2, 3, 4], pa.timestamp("s"))
    table = pa.table({"type": ["A", "B", "A", "B"], "at": times})
    session = q.open(table.schema, order_by="at")
    assert [session.push(table.slice(row, 1)).column("count").to_pylist() for row in range(4)] == [[], [], [1], []]
    assert session.finish().column("count").to_pylist() == [2]


def test_time_may_pass_without_events() -> None:
    q = ac.query("SUMMARIZE count(*) MATCH A OVER 10 SECONDS")
    table = pa.table({"type": ["A", "A"], "at": pa.array([3, 7], pa.timestamp("s"))})
    session = q.open(table.schema, order_by="at")
    assert isinstance(session, SummarySession)
    assert session.push(table).num_rows == 0
    assert session.advance(9).num_rows == 0
    assert session.advance(10).column("count").to_pylist() == [2]
    assert session.finish().num_rows == 0


@pytest.mark.property
@EXAMPLES
@given(case=long_cases(), cuts=CUTS, between=BETWEEN, nodes=st.integers(-1, 200), hits=st.sampled_from([2, 5, 1 << 10]))
def test_matrices_take_over_at_any_time(
    case: SummaryCase, cuts: list[int], between: list[str], nodes: int, hits: int
) -> None:
    expected = case.run("engine")
    with (
        patch.object(adaptive_summarizer, "NODES_PER_EVENT", 0),
        patch.object(adaptive_summarizer, "AT_FIRST", nodes),
        patch.object(adaptive_summarizer, "FIRST_HITS", hits),
        patch.object(adaptive_summarizer, "MOST_HITS", hits),
    ):
        assert same(expected, in_cuts(case, cuts, between))


AT_ONCE = -(10**9)


@pytest.mark.property
@EXAMPLES
@given(
    case=st.one_of(short_cases(), long_cases()),
    cuts=CUTS,
    between=BETWEEN,
    nodes=st.sampled_from([-1, 20, 10**9]),
    by_value=st.booleans(),
)
def test_what_nothing_refers_to_can_be_forgotten_at_any_time(
    case: SummaryCase, cuts: list[int], between: list[str], nodes: int, by_value: bool
) -> None:
    """Keys, texts, rows and partitions are forgotten after every batch, whatever runs the summary."""
    expected = case.run("engine")
    layout = (lambda *_, **__: "it is asked for") if by_value else summary_choice._layout
    with (
        patch.object(growing, "SLACK", AT_ONCE),
        patch.object(adaptive_summarizer, "NODES_PER_EVENT", 0),
        patch.object(adaptive_summarizer, "AT_FIRST", nodes),
        patch.object(summary_choice, "_layout", layout),
    ):
        assert same(expected, in_cuts(case, cuts, between))


def test_the_order_of_texts_is_known_when_a_session_goes_on() -> None:
    """Windows are put together from panes when they end, which may be before another event comes."""
    query = ac.query("SUMMARIZE max(b.s) AS most, min(b.s) AS least MATCH A AS a ; B AS b OVER 4 EVENTS EVERY 1 EVENT")
    table = pa.table({"type": ["A", "B", "B", "A"], "s": ["q", "a", "c", "z"]})
    session = query.open(table.schema)
    found = [session.push(table), query.resume(session.snapshot()).finish()]
    assert pa.concat_tables(found).equals(query.run(table))
