"""The fold over listed matches, on what a checker would say of a query."""

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from acelera import AggregateError
from acelera.language import ast
from acelera.language.checker import Checked, check
from acelera.language.events import seen
from acelera.language.parser import parse_query
from acelera.language.result import Column, MatchBound, PartitionKey, Result
from acelera.language.schema import schema_of
from acelera.language.summary import ItemColumn, Summarized, TotalValue, Windows
from acelera.language.types import FLOAT, INT
from acelera.semantics import meaning, summarize
from acelera.semantics.summaries import average, counted, windows_of_events, windows_of_time
from acelera.tables import to_rows, to_table

SCHEMA = schema_of({"type": "string", "k": "int", "v": "int"})
ROWS = [("A", 1, 10), ("A", 2, 5), ("B", 1, 1), ("A", 1, 20), ("B", 1, 2), ("A", 2, 7), ("B", 2, None)]
TABLE = pa.table(dict(zip(("type", "k", "v"), map(list, zip(*ROWS, strict=True)), strict=True)))


def total(name: str, *parts: Any) -> TotalValue:
    node = ast.Total(*parts)
    return TotalValue(name, node, INT if node.attribute else None, INT)


def summary(**changes: Any) -> Summarized:
    totals = (total("t0", "count"), total("t1", "sum", "A", "v"), total("t2", "count", "B"))
    mean = ast.Binary("/", ast.Attribute(None, "t1"), ast.Attribute(None, "t0"))
    items = (
        ItemColumn("trips", ast.Attribute(None, "t0"), INT),
        ItemColumn("mean", mean, FLOAT),
        ItemColumn("bs", ast.Attribute(None, "t2"), INT),
    )
    return replace(Summarized(totals, (), items), **changes)


def answer(text: str, **changes: Any) -> list[tuple[Any, ...]]:
    """The rows of a summary of this query."""
    query = parse_query(text)
    checked = check(query, SCHEMA)
    assert isinstance(checked, Checked)
    checked = replace(checked, result=Result(()), summary=summary(**changes))
    assert checked.summary is not None
    rows = summarize(checked, to_rows(TABLE, SCHEMA), "error", meaning(query.formula, SCHEMA, "once"))
    return [tuple(row.values()) for row in to_table(rows, checked.summary.schema).to_pylist()]


def test_all_matches_are_one_group() -> None:
    # A1 with B3, B5, B7; A2 with B3, B5, B7; A4 with B5, B7; A6 with B7: nine matches, 3·10 + 3·5 + 2·20 + 7 = 92.
    assert answer("MATCH A ; B") == [(9, 92 / 9, 9)]


def test_partitions_are_merged_or_keys() -> None:
    # k = 1: A1 with B3, B5, A4 with B5: 40 in three. k = 2: A2 and A6 with B7: 12 in two.
    text = "MATCH A ; B PARTITION BY k"
    assert answer(text) == [(5, 52 / 5, 5)]
    key = Column("k", PartitionKey("k"), True, pa.int64())
    assert answer(text, keys=(key,)) == [(1, 3, 40 / 3, 3), (2, 2, 6.0, 2)]
    many = ast.Binary(">", ast.Attribute(None, "trips"), ast.Literal(2))
    assert answer(text, keys=(key,), having=many) == [(1, 3, 40 / 3, 3)]


def test_windows_of_events_come_before_keys() -> None:
    # Windows 1…4, 3…6, 5…8. The first holds A1 B3 and A2 B3, the second A4 B5, the third A6 B7.
    key = Column("ends", MatchBound(end=True, timed=False), True, pa.int64())
    found = answer("MATCH A ; B", windows=Windows(4, 2, timed=False), window_type=pa.int64(), keys=(key,))
    assert found == [(1, 4, 3, 2, 7.5, 2), (3, 6, 5, 1, 20.0, 1), (5, 8, 7, 1, 7.0, 1)]


def test_no_match_no_row() -> None:
    assert answer("MATCH B ; A : A") == []


@pytest.mark.parametrize(
    ("first", "last", "length", "every", "starts"),
    [
        (25, 29, 10, 10, [20]),
        (25, 30, 10, 10, []),  # the end of a window is outside
        (25, 29, 10, 5, [20, 25]),
        (20, 20, 10, 3, [12, 15, 18]),
        (-1, -1, 10, 10, [-10]),  # before 1970
        (-10, -1, 10, 10, [-10]),
        (-11, -1, 20, 7, [-14]),
        (-1, 1, 10, 10, []),
        (12, 13, 2, 10, []),  # between windows
        (11, 11, 2, 10, [10]),
        (-9, -9, 2, 10, [-10]),
        (2**70, 2**70, 2, 2, [2**70]),
    ],
)
def test_windows_of_time(first: int, last: int, length: int, every: int, starts: list[int]) -> None:
    assert windows_of_time(first, last, length, every) == [(start, start + length) for start in starts]


@pytest.mark.parametrize(
    ("start", "end", "length", "every", "starts"),
    [
        (1, 4, 4, 4, [1]),
        (4, 5, 4, 4, []),
        (4, 5, 4, 1, [2, 3, 4]),
        (1, 1, 4, 1, [1]),  # none begins before the first event
        (3, 3, 1, 2, [3]),
        (2, 2, 1, 2, []),
        (5, 6, 3, 2, [5]),
        (5, 5, 3, 2, [3, 5]),
    ],
)
def test_windows_of_events(start: int, end: int, length: int, every: int, starts: list[int]) -> None:
    assert windows_of_events(start, end, length, every) == [(each, each + length - 1) for each in starts]


def test_a_count_beyond_64_bits_names_the_logarithm() -> None:
    assert counted(2**63 - 1) == 2**63 - 1
    with pytest.raises(AggregateError, match=r"log2_count\(\*\)"):
        seen(counted(2**63))


def test_averages_are_of_exact_totals() -> None:
    assert average(2**1100, 2**1000) == 2.0**100
    assert average(0, 0) is None
