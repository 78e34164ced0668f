"""Which row is which, for ever."""

from __future__ import annotations

import datetime
from decimal import Decimal
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest

from acelera.trepl.actions.identity import encoded, identities

NOON = datetime.datetime(2024, 1, 1, 12)

WRITTEN: list[tuple[Any, bytes]] = [
    (pa.array([None]), b"n0:"),
    (pa.array([None], pa.float64()), b"n0:"),
    (pa.array([True]), b"b1:1"),
    (pa.array([-12], pa.int8()), b"i3:-12"),
    (pa.array([-12], pa.int64()), b"i3:-12"),
    (pa.array([12], pa.uint64()), b"i2:12"),
    (pa.array([1.5]), b"f8:?\xf8\0\0\0\0\0\0"),
    (pa.array([1.5], pa.float32()), b"f8:?\xf8\0\0\0\0\0\0"),
    (pa.array([0.0]), b"f8:\0\0\0\0\0\0\0\0"),
    (pa.array([-0.0]), b"f8:\0\0\0\0\0\0\0\0"),
    (pa.array([float("nan")]), b"f3:nan"),
    (pa.array([Decimal("120.50")]), b"d7:1205e-1"),
    (pa.array([Decimal("120.5")], pa.decimal256(40, 10)), b"d7:1205e-1"),
    (pa.array([Decimal("-100")]), b"d4:-1e2"),
    (pa.array([Decimal("0.00")]), b"d1:0"),
    (pa.array(["ä:"]), b"s3:\xc3\xa4:"),
    (pa.array(["ä:"], pa.large_string()), b"s3:\xc3\xa4:"),
    (pa.array(["ä:"]).dictionary_encode(), b"s3:\xc3\xa4:"),
    (pa.array([NOON], pa.timestamp("s")), b"t19:1704110400000000000"),
    (pa.array([NOON], pa.timestamp("us", "UTC")), b"t19:1704110400000000000"),
    (pa.array([NOON], pa.timestamp("ns")), b"t19:1704110400000000000"),
    (pa.array([datetime.timedelta(microseconds=-1)]), b"u5:-1000"),
    (pa.array([NOON.date()]), b"a5:19723"),
    (pa.array([NOON.date()], pa.date64()), b"a5:19723"),
    (pa.array([b"\0"]), b"x1:\0"),
    (pa.array([[1, None]]), b"l7:i1:1n0:"),
    (pa.array([{"b": 1, "a": "x"}]), b"m16:s1:as1:xs1:bi1:1"),
]


@pytest.mark.parametrize(("values", "written"), WRITTEN, ids=lambda each: str(getattr(each, "type", each)))
def test_values_are_written_in_one_way(values: Any, written: bytes) -> None:
    assert encoded(pa.chunked_array([values])) == [written]


def columns(*values: Any) -> list[pa.ChunkedArray]:
    return [pa.chunked_array([pa.array([value])]) for value in values]


def test_an_identity_stays() -> None:
    """If this fails, all that was ever done would be done again."""
    found = identities("p", ("Main", "R", 0), columns("k"), columns(NOON, 7), columns(1.5, None, "x"))
    assert found == ["cf1f1431365f0e62362047963819f3d6e780c5f093adbbbf593b144eae4b7b2e"]


def test_all_that_makes_a_row_is_in_its_identity() -> None:
    rows = [
        identities(program, place, columns(*key), columns(*instant), columns(*arguments))[0]
        for program, place, key, instant, arguments in [
            ("p", ("M", "R", 0), ["k"], [1], ["x", "y"]),
            ("q", ("M", "R", 0), ["k"], [1], ["x", "y"]),
            ("p", ("N", "R", 0), ["k"], [1], ["x", "y"]),
            ("p", ("M", "S", 0), ["k"], [1], ["x", "y"]),
            ("p", ("M", "R", 1), ["k"], [1], ["x", "y"]),
            ("p", ("M", "R", 0), [None], [1], ["x", "y"]),
            ("p", ("M", "R", 0), ["NULL"], [1], ["x", "y"]),
            ("p", ("M", "R", 0), [], [1], ["x", "y"]),
            ("p", ("M", "R", 0), ["k"], [2], ["x", "y"]),
            ("p", ("M", "R", 0), ["k"], [1, 1], ["x", "y"]),
            ("p", ("M", "R", 0), ["k"], [1], ["xs1:y"]),
            ("p", ("M", "R", 0), ["k"], [1], ["x", "y", ""]),
            ("p", ("M", "R", 0), ["k"], [1], ["x", None]),
            ("p", ("M", "R", 0), ["k"], ["1"], ["x", "y"]),
            ("pM", ("", "R", 0), ["k"], [1], ["x", "y"]),
        ]
    ]
    assert not [pair for pair in combinations(rows, 2) if pair[0] == pair[1]]
