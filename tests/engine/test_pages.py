"""Pages of matches, some of which waited, become one table in order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.session.pages import Page, in_order

SCHEMA = pa.schema([("end", pa.int64()), ("start", pa.int64())])
PLACES = st.tuples(st.integers(0, 9), st.integers(0, 3))


@given(st.lists(st.lists(PLACES, max_size=4).map(sorted), max_size=8))
def test_matches_are_in_order_whenever_they_were_known(told: list[list[tuple[int, int]]]) -> None:
    pages = []
    for places in told:
        ends, starts = (np.array([place[n] for place in places], np.int64) for n in (0, 1))
        rows = pa.RecordBatch.from_arrays([pa.array(ends), pa.array(starts)], schema=SCHEMA)
        pages.append(Page(rows, ends, starts))
    found = in_order(pages, SCHEMA)
    assert [tuple(row.values()) for row in found.to_pylist()] == sorted(place for places in told for place in places)


def test_a_match_that_waited_stands_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of one key nothing is known until it goes on, while others have matches."""
    kinds, keys = "AAAAAA", "xyyyyx"
    table = pa.table({"type": list(kinds), "k": list(keys), "n": range(6)})
    query = ac.query("SELECT k, first(a.n) AS n MATCH A* AS a PARTITION BY k WITHIN 1 EVENT KEEP LONGEST PER START")
    monkeypatch.setattr("acelera.engine.session.session.ROWS_AT_ONCE", 1)
    for method in ("engine", "semantics"):
        assert query.run(table, order_by="n", method=method).column("n").to_pylist() == list(range(6))
