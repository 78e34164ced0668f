"""Rows of columns, taken by loops of our own, are those that Arrow takes."""

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.results.gathering import taken

COLUMNS: dict[str, Any] = {
    "texts": pa.array(["", "a", "äöü", "longer than a word", "b", ""]),
    "texts with NULL": pa.array(["", None, "äöü", "c", "b", None]),
    "empty texts": pa.array([""] * 6),
    "large texts": pa.array(["", "a", "äöü", "c", "b", ""], pa.large_string()),
    "bytes": pa.array([b"", b"a", b"\xff\x00", b"c", b"b", b""]),
    "fixed bytes": pa.array([b"ab", b"cd", b"ef", b"gh", b"ij", b"kl"], pa.binary(2)),
    "small": pa.array([1, -2, 3, -4, 5, -6], pa.int8()),
    "floats": pa.array([1.5, float("nan"), -0.0, float("inf"), 0.0, 2.0]),
    "numbers with NULL": pa.array([1, None, 3, 4, 5, None]),
    "truth": pa.array([True, False, True, None, True, False]),
    "times": pa.array([datetime.datetime(2024, 1, day) for day in range(1, 7)], pa.timestamp("ns", "UTC")),
    "days": pa.array([datetime.date(2024, 1, day) for day in range(1, 7)]),
    "decimals": pa.array([1, 2, 3, 4, 5, 6]).cast(pa.decimal128(21, 2)),
    "nothing": pa.nulls(6),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
@pytest.mark.parametrize("rows", [[], [3], [0, 5, 5, 2, 3, 1, 0]])
def test_rows_are_those_that_arrow_takes(column: Any, rows: list[int]) -> None:
    for part in (column, column.slice(1, 4)):
        numbers = np.array([row % len(part) for row in rows], np.int32)
        found = taken(part, numbers)
        found.validate(full=True)
        assert found.type == column.type
        assert repr(found.to_pylist()) == repr(part.take(pa.array(numbers)).to_pylist())


def test_variables_that_hold_the_same_events_share_them() -> None:
    table = pa.table({"type": ["A", "B", "B", "C"], "s": ["x", "y", "z", ""]})
    query = ac.query("MATCH A ; B+ AS b ; C")
    found, expected = query.run(table), query.run(table, method="automaton")
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
    one, two = (found[name].chunk(0).values.field("s").buffers()[2].address for name in ("B", "b"))
    assert one == two


def test_many_matches_with_one_end_are_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """They do not fit into one page, and only those pages are sorted that overlap."""
    from acelera.engine.nodes import arena

    table = pa.table({"type": ["A", "A", "B", "A", "B", "X", "A", "A", "B", "A", "B"]})
    query = ac.query("MATCH A+ ; B")
    expected = query.run(table)
    monkeypatch.setattr(arena, "LISTED_MATCHES", 5)
    found = query.run(table)
    places = found.select(["end", "start"]).to_pylist()
    assert places == expected.select(["end", "start"]).to_pylist()
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
