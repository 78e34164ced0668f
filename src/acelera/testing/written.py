"""Events written as text: `A(v=1, s='x')@3s B`."""

from __future__ import annotations

import datetime
import re
from ast import literal_eval
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from acelera.errors import Problem, Span, UsageError, render

EPOCH = datetime.datetime(2024, 1, 1)
"""The time that `@0s` stands for."""

Row = Mapping[str, Any]

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TYPE = r"[^\s()@,='\"]+"
_NAME = r"\s*([^\W\d]\w*)\s*=\s*"
_VALUE = r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s,()'"]+"""
_TIME = r"@(?:(-?\d+(?:\.\d+)?)(\w*))?"


@dataclass(frozen=True)
class Columns:
    """Where the parts of an event go: its type, unless all are of the type `only`, and its time."""

    type: str | None
    only: str | None
    time: str | None


def rows_of(text: str, columns: Columns, letters: bool) -> list[Row]:
    """The events of a string as rows; without blanks, brackets and times each letter may be one."""
    return _Reader(text).events(columns, letters and re.fullmatch(r"\w+", text) is not None)


class _Reader:
    """A text, and how far it is read."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    def events(self, columns: Columns, letters: bool) -> list[Row]:
        """All events, which stand apart by blanks or are letters."""
        found = []
        self._take(r"\s+")
        while self._at < len(self._text):
            name = self._take(r"\w" if letters else _TYPE)
            if name is None:
                raise self._mistake("here should stand the type of an event")
            found.append(self._event(name, columns))
            if not self._take(r"\s+") and self._at < len(self._text) and not letters:
                raise self._mistake("events stand apart by blanks")
        return found

    def _event(self, name: re.Match[str], columns: Columns) -> Row:
        row, span = self._attributes(), Span(*name.span())
        at = self._take(_TIME)
        if columns.only is not None:
            if name[0] != columns.only:
                raise self._mistake(f"all events are of type `{columns.only}`", span)
        elif columns.type is not None:
            if columns.type in row:
                raise self._mistake(f"`{columns.type}` is given twice: in the bracket and before it", span)
            row[columns.type] = name[0]
        if at is not None:
            if columns.time is None:
                raise self._mistake("a time needs a column to stand in", span, "pass order_by=… to Tester")
            if columns.time in row:
                raise self._mistake(f"`{columns.time}` is given twice: in the bracket and with @", span)
            row[columns.time] = self._time(at)
        return row

    def _attributes(self) -> dict[str, Any]:
        """`(name=value, …)`, if it stands there."""
        opened, values = self._take(r"\("), dict[str, Any]()
        if opened is None or self._take(r"\s*\)"):
            return values

        def expected(pattern: str, message: str) -> re.Match[str]:
            found = self._take(pattern)
            if found is None and not self._text[self._at :].strip():
                raise self._mistake("this bracket is never closed", Span(*opened.span()))
            if found is None:
                raise self._mistake(message)
            return found

        while True:
            name = expected(_NAME, "here should stand an attribute, as in v=1")
            value = expected(_VALUE, f"`{name[1]}` has no value, or a quote is not closed")
            if name[1] in values:
                raise self._mistake(f"`{name[1]}` is given twice", Span(*name.span(1)))
            values[name[1]] = self._literal(value)
            if expected(r"\s*(?:,\s*|(\)))", "here should stand a comma or a closing bracket")[1]:
                return values

    def _literal(self, found: re.Match[str]) -> Any:
        try:
            value = literal_eval(found[0])
        except (ValueError, SyntaxError):
            value = ...
        if value is None or isinstance(value, bool | int | float | str):
            return value
        hint = "strings stand in quotes; True, False and None are written as in Python"
        raise self._mistake(f"`{found[0]}` is no literal", Span(*found.span()), hint)

    def _time(self, at: re.Match[str]) -> datetime.datetime:
        span = Span(*at.span())
        if at[2] not in _UNITS:
            raise self._mistake("a time is a number and a unit, as in @3s", span, f"units: {', '.join(_UNITS)}")
        try:
            return EPOCH + datetime.timedelta(seconds=float(at[1]) * _UNITS[at[2]])
        except OverflowError:
            raise self._mistake("this is beyond the years that Python knows", span) from None

    def _take(self, pattern: str) -> re.Match[str] | None:
        """Read what the pattern matches, if it does."""
        found = re.compile(pattern).match(self._text, self._at)
        self._at = self._at if found is None else found.end()
        return found

    def _mistake(self, message: str, span: Span | None = None, hint: str | None = None) -> UsageError:
        return UsageError(render(Problem(message, span or Span(self._at, self._at + 1), hint), self._text))
