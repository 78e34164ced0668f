"""Terms and events: what is equal, and how rows are read."""

import datetime
import math
from typing import Any

import pyarrow as pa
import pytest

from acelera.errors import DataError, SchemaError
from acelera.xchangeeq.terms import Term, events_of
from xchangeeq.building import ev, term

EQUAL = [
    (term("a", v=1), term("a", v=1.0)),
    (term("a", v=math.nan), term("a", v=math.nan)),
    (term("a", v=1, w=2), term("a", w=2, v=1)),  # children by name
    (term("a", v=[1, 2], w=3), term("a", term("v", 1), term("w", 3), term("v", 2))),
    (term("a", s={"x": 1, "y": 2}), term("a", s={"y": 2, "x": 1})),
]
DIFFERENT = [
    (term("a", v=1), term("b", v=1)),
    (term("a", v=1), term("a", v="1")),
    (term("a", v=1), term("a", v=True)),
    (term("a", v=0), term("a", v=False)),
    (term("a", v="true"), term("a", v=True)),
    (term("a", v=[1, 2]), term("a", v=[2, 1])),  # order within an array
    (term("a", v=[1, 1]), term("a", v=1)),
    (term("a", v=1), term("a")),
    (term("a", s={}), term("a")),
]


@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_equal_terms(one: Term, other: Term) -> None:
    assert one == other
    assert len({one, other}) == 1


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_terms(one: Term, other: Term) -> None:
    assert one != other


def test_events_are_equal_by_term_and_interval() -> None:
    assert {ev("a", 1, 2, v=1), ev("a", 1, 2, v=1.0), ev("a", 1, 3, v=1)} == {ev("a", 1, 2, v=1), ev("a", 1, 3, v=1)}


def test_rows_are_events() -> None:
    rows: list[dict[str, Any]] = [
        {"b": 1, "e": 2, "n": 1, "list": [1, None, 2], "s": {"x": "y", "z": None}, "many": [{"k": 1}, {"k": None}]},
        {"b": 3, "e": 3, "n": None, "list": [], "s": None, "many": None},
    ]
    assert events_of(pa.Table.from_pylist(rows), "a", begin="b", end="e") == [
        ev("a", 1, 2, n=1, list=[1, 2], s={"x": "y"}, many=[{"k": 1}, {}]),
        ev("a", 3, 3),
    ]


def test_labels_from_a_column_and_times_in_microseconds() -> None:
    at = datetime.datetime(1970, 1, 1, 0, 0, 1)
    table = pa.table({"type": ["a", "b"], "t": [at, at], "v": [1, None]})
    assert events_of(table, begin="t", type_column="type") == [ev("a", 1_000_000, v=1), ev("b", 1_000_000)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"b": [1, None], "e": [1, 2]}, "row 2 has no time: `b` is NULL"),
        ({"b": [1, 2], "e": [1, None]}, "row 2 has no time: `e` is NULL"),
        ({"b": [1, 3], "e": [1, 2]}, "row 2 ends before it begins: b = 3, e = 2"),
    ],
)
def test_rows_without_an_interval_are_named(columns: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        events_of(pa.table(columns), "a", begin="b", end="e")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (pa.array([[[1]]]), "an array of arrays"),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "a map"),
    ],
)
def test_columns_that_are_refused(values: pa.Array, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        events_of(pa.table({"t": [1], "v": values}), "a", begin="t")


def test_columns_of_times_that_are_not_there_or_no_times() -> None:
    with pytest.raises(SchemaError, match=r"there is no column `u` \(columns: t\)"):
        events_of(pa.table({"t": [1]}), "a", begin="u")
    with pytest.raises(SchemaError, match="column `t` is no time"):
        events_of(pa.table({"t": ["1"]}), "a", begin="t")
    with pytest.raises(DataError, match="no whole microseconds"):
        events_of(pa.table({"t": pa.array([1], pa.timestamp("ns"))}), "a", begin="t")
