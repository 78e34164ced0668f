"""What `write` writes."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from acelera.trepl.actions.messages import messages
from acelera.trepl.actions.shown_values import texts
from acelera.trepl.formats import taken_apart

MOMENT = datetime.datetime(1996, 8, 21, 9, 13, 27)

SHOWN: list[tuple[Any, str]] = [
    (pa.array([7]), "7"),
    (pa.array([None], pa.int64()), "NULL"),
    (pa.array([None]), "NULL"),
    (pa.array([0.1]), "0.1"),
    (pa.array([3.0]), "3.0"),
    (pa.array([-0.0]), "0.0"),
    (pa.array([1e22]), "1e+22"),
    (pa.array([float("nan")]), "nan"),
    (pa.array([3.1], pa.float32()), "3.1"),
    (pa.array([Decimal("1.50")]), "1.50"),
    (pa.array([Decimal("0.00000010")]), "0.00000010"),
    (pa.array([True]), "true"),
    (pa.array(["as it is"]), "as it is"),
    (pa.array(["a"]).dictionary_encode(), "a"),
    (pa.array([MOMENT]), "1996-08-21 09:13:27"),
    (pa.array([MOMENT], pa.timestamp("ns", "UTC")), "1996-08-21 09:13:27"),
    (pa.array([MOMENT.replace(microsecond=250_000)]), "1996-08-21 09:13:27.25"),
    (pa.array([1], pa.timestamp("ns")), "1970-01-01 00:00:00.000000001"),
    (pa.array([-1], pa.timestamp("ms")), "1969-12-31 23:59:59.999"),
    (pa.array([MOMENT.date()]), "1996-08-21"),
    (pa.array([datetime.timedelta(hours=9, minutes=13, seconds=27)]), "09:13:27"),
    (pa.array([datetime.timedelta(days=-3, milliseconds=-5)]), "-72:00:00.005"),
    (pa.array([b"\x00\xff"]), "00ff"),
    (pa.array([[1, 2]]), "[1, 2]"),
]


@pytest.mark.parametrize(("values", "text"), SHOWN, ids=lambda each: str(getattr(each, "type", each)))
def test_values_as_texts(values: Any, text: str) -> None:
    assert texts(values).to_pylist() == [text]
    assert texts(pa.chunked_array([values, values])).to_pylist() == [text, text]
    assert texts(values.slice(1)).to_pylist() == []


def test_timestamps_of_a_zone_are_told_in_that_of_the_program() -> None:
    summer, winter = MOMENT, MOMENT.replace(month=12)
    zoned = pa.array([summer, winter], pa.timestamp("us", "UTC"))
    assert texts(zoned, "Europe/Paris").to_pylist() == ["1996-08-21 11:13:27", "1996-12-21 10:13:27"]
    assert texts(pa.array([summer]), "Europe/Paris").to_pylist() == ["1996-08-21 09:13:27"]


FORMS: list[tuple[str, list[Any], str]] = [
    ("%s back on %s\n", ["Jones", "IBM"], "Jones back on IBM\n"),
    ("%d", [3.0], "3"),
    ("%d", [3.25], "3.25"),
    ("%d", [Decimal("4.00")], "4"),
    ("%d", [Decimal("4.50")], "4.50"),
    ("%d", [float("inf")], "inf"),
    ("%d", ["text"], "text"),
    ("%d", [None], "NULL"),
    ("%f", [1.5], "1.500000"),
    ("%f", [2], "2.000000"),
    ("%.2f", [Decimal("1.239")], "1.24"),
    ("%f", [None], "NULL"),
    ("%f", ["text"], "text"),
    ("%5s|%-5s|%05d", ["a", "b", -42], "    a|b    |-0042"),
    ("100%% of %s", ["a"], "100% of a"),
    ("%%s", ["a"], "%s a"),
    ("50% off %x, %s", ["a"], "50% off %x, a"),
    ("%s and", [1, 2.5, None], "1 and 2.5 NULL"),
    ("%s and %s", [1], "1 and %s"),
]


@pytest.mark.parametrize(("form", "values", "message"), FORMS, ids=lambda each: repr(each))
def test_formats(form: str, values: list[Any], message: str) -> None:
    assert messages(form, [pa.array([value]) for value in values]).to_pylist() == [message]


def test_without_a_format_there_are_blanks_between() -> None:
    assert messages(None, [pa.array(["a", "b"]), pa.chunked_array([[1.5], [None]])]).to_pylist() == ["a 1.5", "b NULL"]


def test_a_percent_sign_in_a_value_is_no_place() -> None:
    assert messages("%s: %s", [pa.array(["%s"]), pa.array(["%d"])]).to_pylist() == ["%s: %d"]


def test_messages_without_values() -> None:
    assert messages("all %%", [], 2).to_pylist() == ["all %", "all %"]
    assert messages("%s", [pa.array([], pa.string())]).to_pylist() == []


def test_places_are_counted() -> None:
    assert [len(taken_apart(form)[1]) for form in ("", "%s %% %5.1f", "%x", "%d%s%f")] == [0, 2, 0, 3]
