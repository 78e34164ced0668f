"""What the columns of a result show, as all that compute them are told."""

import datetime
from typing import Any

import pytest

from acelera.language.checker import check
from acelera.language.parser import parse_query
from acelera.language.result import AggregateValue, AttributeValues, EventStructs, MatchBound, PartitionKey, Result
from acelera.language.schema import schema_of
from acelera.language.types import Kind

COLUMNS = {"type": str, "v": int, "k": str, "ts": datetime.datetime}
UNTIMED, TIMED = schema_of(COLUMNS), schema_of(COLUMNS).ordered_by("ts")


def result(text: str, schema: Any = UNTIMED) -> Result:
    return check(parse_query(text), schema).result


def test_kinds_of_columns() -> None:
    found = result("SELECT k AS key, start, end_time, A, A.v, sum(A.v), count(A) MATCH A ; B PARTITION BY k", TIMED)
    *sources, total, count = (column.source for column in found.columns)
    assert sources == [
        PartitionKey("k"),
        MatchBound(end=False, timed=False),
        MatchBound(end=True, timed=True),
        EventStructs("A", ("time", "type", "v", "k")),
        AttributeValues("A", "v"),
    ]
    assert isinstance(total, AggregateValue)
    assert total.given is not None
    assert (total.aggregation.function, total.given.kind) == ("sum", Kind.INT)
    assert isinstance(count, AggregateValue)
    assert count.given is None
    assert [column.name for column in found.columns][:2] == ["key", "start"]
    assert found.end_times == ["end_time"]


def test_what_is_asked_for() -> None:
    found = result("SELECT A.v, count(B), max(C.k) MATCH A ; B ; C ; D")
    assert found.listed_variables == {"A"}
    assert found.variables == {"A", "B", "C"}
    assert found.attributes == {"v", "k"}
    assert found.named_attributes == [("A", "v"), ("C", "k")]


@pytest.mark.parametrize(
    ("select", "schema", "positions"),
    [
        ("*", UNTIMED, True),
        ("*", TIMED, False),
        ("*", None, None),
        ("A", UNTIMED, True),
        ("A", TIMED, False),
        ("A", None, None),
        ("A.v, start_time", None, False),
        ("k", None, False),
        ("A, start", None, True),
        ("end", TIMED, True),
        ("A.position", TIMED, True),
        ("max(A.position)", TIMED, True),
        ("count(A)", UNTIMED, False),
    ],
)
def test_whether_positions_are_shown(select: str, schema: Any, positions: bool | None) -> None:
    assert result(f"SELECT {select} MATCH A PARTITION BY k", schema).shows_positions is positions
