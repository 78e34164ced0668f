"""The messages of `write`: a format with values in it, a column at a time."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.language.types import NUMBERS, Kind, from_arrow
from acelera.trepl.actions.shown_values import NULL, texts
from acelera.trepl.formats import taken_apart

Column = Any
"""An array of Arrow, in one piece or in several."""


def messages(form: str | None, columns: Sequence[Column], rows: int | None = None, zone: str = "UTC") -> pa.Array[Any]:
    """A message for each row: with a format its values in their places, otherwise all values with blanks between.

    Values that the format has no place for are appended; a place without a value stays as it is written. `rows` is the
    number of rows, where there are no columns to tell it.

    >>> messages("%s rose by %d", [pa.array(["a", "b"]), pa.array([2.0, 2.5])]).to_pylist()
    ['a rose by 2', 'b rose by 2.5']
    >>> messages(None, [pa.array(["a"]), pa.array([None])]).to_pylist()
    ['a NULL']
    """
    count = len(columns[0]) if columns else rows or 0
    if form is None:
        return _joined([texts(column, zone) for column in columns], " ", count)
    pieces, places = taken_apart(form)
    parts: list[Any] = [pieces[0]]
    for place, column, piece in zip_longest(places, columns[: len(places)], pieces[1:]):
        parts += [place.group() if column is None else _converted(place, column, zone), piece]
    for column in columns[len(places) :]:
        parts += [" ", texts(column, zone)]
    return _joined(parts, "", count)


def _joined(parts: Sequence[Any], separator: str, rows: int) -> pa.Array[Any]:
    """Texts and columns of texts one after the other, for so many rows."""
    if not any(isinstance(part, pa.Array) for part in parts):
        return pa.array([separator.join(parts)] * rows, pa.string())
    return pc.binary_join_element_wise(*parts, separator)


def _converted(place: re.Match[str], column: Column, zone: str) -> pa.Array[Any]:
    """The values of a column as they stand in a place for them; what is no number is a text everywhere."""
    kind = from_arrow(column.type).kind
    shown = texts(column, zone)
    if place["letter"] != "s" and kind in NUMBERS:
        shown = _numbers(place, column, kind, shown)
    return _padded(place, shown, kind in NUMBERS) if place["width"] else shown


def _numbers(place: re.Match[str], column: Column, kind: Kind, shown: pa.Array[Any]) -> pa.Array[Any]:
    if place["letter"] == "f":
        digits = int(place["precision"] or 6)
        return _each(column.to_pylist(), lambda value: f"{value:.{digits}f}")
    if kind is Kind.INT:
        return shown
    pairs = zip(column.to_pylist(), shown.to_pylist(), strict=True)
    return pa.array([text if value is None else _whole_or(value, text) for value, text in pairs], pa.string())


def _whole_or(value: float | Decimal, text: str) -> str:
    """A number without a fraction as an integer, any other as it is."""
    finite = value.is_finite() if isinstance(value, Decimal) else value - value == 0
    return str(int(value)) if finite and value == int(value) else text


def _padded(place: re.Match[str], shown: pa.Array[Any], number: bool) -> pa.Array[Any]:
    width = int(place["width"])
    if place["flag"] == "-":
        return pc.utf8_rpad(shown, width)
    if place["flag"] == "0" and number:
        return _each(shown.to_pylist(), lambda text: text if text == NULL else text.zfill(width))
    return pc.utf8_lpad(shown, width)


def _each(values: list[Any], text: Callable[[Any], str]) -> pa.Array[Any]:
    return pa.array([NULL if value is None else text(value) for value in values], pa.string())
