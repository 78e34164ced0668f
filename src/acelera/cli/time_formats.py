"""`--time-format`: how times are written, as a form of text: the same in process and on Spark.

A format of strptime becomes a regular expression and replacements that turn what it fits into 2024-01-31T10:00:00Z.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa

from acelera.cli.epochs import EPOCHS
from acelera.cli.text_types import INSTANT, Form, Step
from acelera.errors import UsageError

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG = "january|february|march|april|may|june|july|august|september|october|november|december"
_DAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_ONE_OR_TWO = r"(\d{1,2})"
_PARTS = {
    "Y": r"(\d{4})",
    "y": r"(\d{2})",
    "m": _ONE_OR_TWO,
    "b": f"((?i:{'|'.join(_MONTHS)}))",
    "B": f"((?i:{_LONG}))",
    "d": _ONE_OR_TWO,
    "H": _ONE_OR_TWO,
    "I": r"(0?[1-9]|1[0-2])",
    "M": _ONE_OR_TWO,
    "S": _ONE_OR_TWO,
    "f": r"(\d{1,6})",
    "p": "((?i:am|pm))",
    "z": r"(Z|[+-](?:0\d|1[0-7]):?[0-5]\d|[+-]18:?00)",
}
_WITHOUT_VALUE = {"a": "(?i:mon|tue|wed|thu|fri|sat|sun)", "A": f"(?i:{_DAYS})", "Z": "(?:UTC|GMT|Z)", "%": "%"}
_SAME = {"e": "d", "h": "b"}
_TOGETHER = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}
_ONE_OF = (("Y", "y"), ("m", "b", "B"), ("d",), ("H", "I"), ("M",), ("S",), ("f",), ("p",), ("z",))


@dataclass
class _Pattern:
    """A regular expression that is being put together, and the number of the group of each part."""

    text: str = ""
    groups: dict[str, int] = field(default_factory=dict)

    def group(self, *names: str) -> str | None:
        """A reference to whichever of these parts there is."""
        return next((rf"\{self.groups[name]}" for name in names if name in self.groups), None)


def time_form(written: str, kind: pa.DataType = INSTANT) -> Form:
    """The form of times of a format: that of strptime, or a number since 1970.

    >>> time_form("%d/%m/%Y %H:%M").pattern.replace(chr(92), "/")
    '^(/d{1,2})/(/d{1,2})/(/d{4}) (/d{1,2}):(/d{1,2})/z'
    """
    if written in EPOCHS:
        return _epoch(written, kind)
    if "%" not in written:
        raise UsageError(
            f"the time format {written!r} names no part of a time; formats are such as '%d/%m/%Y %H:%M:%S'"
            f", or {', '.join(EPOCHS)}"
        )
    pattern = _pattern(written)
    _refuse_incomplete(written, pattern)
    timed = pattern.group("H", "I") is not None
    if pa.types.is_date(kind):
        if timed or "z" in pattern.groups:
            raise UsageError(f"the time format {written!r} has more than a day, and the column is one of dates")
    elif not pa.types.is_timestamp(kind):
        raise UsageError(f"the time format {written!r} is for a column of type {kind}, which holds no times")
    elif kind.tz is None and "z" in pattern.groups:
        raise UsageError(
            f"the time format {written!r} has a zone, and the column is one of timestamps without; "
            "make it a timestamp[us, tz=UTC]"
        )
    return Form(kind, rf"^{pattern.text}\z", _steps(pattern, kind), f"time in the format {written}")


def _pattern(written: str, known: _Pattern | None = None) -> _Pattern:
    found = known or _Pattern()
    for part in re.findall(r"%.?|[^%]", written, re.DOTALL):
        name = _SAME.get(part[1:], part[1:])
        if not part.startswith("%"):
            found.text += re.escape(part) if part in r"\^$.|?*+()[]{}" else part
        elif name in _TOGETHER:
            _pattern(_TOGETHER[name], found)
        elif name in _WITHOUT_VALUE:
            found.text += _WITHOUT_VALUE[name]
        elif name in _PARTS:
            alike = next(each for each in _ONE_OF if name in each)
            if found.group(*alike) is not None:
                raise UsageError(f"the time format {written!r} has %{name} beside another part that says the same")
            found.groups[name] = len(found.groups) + 1
            found.text += _PARTS[name]
        else:
            known_parts = " ".join(f"%{each}" for each in (*_PARTS, *_WITHOUT_VALUE, *_SAME, *_TOGETHER))
            raise UsageError(
                f"the time format {written!r} has {part}, which is not known here; there are {known_parts}"
            )
    return found


def _refuse_incomplete(written: str, pattern: _Pattern) -> None:
    for names, what in ((("Y", "y"), "year"), (("m", "b", "B"), "month"), (("d",), "day")):
        if pattern.group(*names) is None:
            raise UsageError(f"the time format {written!r} names no {what}, so it tells no moment")
    if ("I" in pattern.groups) != ("p" in pattern.groups):
        raise UsageError(f"the time format {written!r}: an hour of the clock, %I, and %p, am or pm, go together")
    for part, of in (("M", "HI"), ("S", "M"), ("f", "S")):
        if part in pattern.groups and pattern.group(*of) is None:
            raise UsageError(f"the time format {written!r} has %{part}, but no %{of[0]}")


def _steps(pattern: _Pattern, kind: pa.DataType) -> tuple[Step, ...]:
    """From what the format fits to 2024-01-31T10:00:00Z."""
    group, steps = pattern.group, list[Step]()
    year = group("Y") or f"y{group('y')}"
    month = f"_{group('m')}" if group("m") else f"b{group('b', 'B')}"
    day = f"{year}-{month}-_{group('d')}"
    hour = f"_{group('H')}" if group("H") else f"{group('p')}_{group('I')}" if group("I") else "00"
    seconds = f"_{group('S') or '0'}" + (f".{group('f')}" if group("f") else "")
    zone = "" if pa.types.is_date(kind) or kind.tz is None else group("z") or "Z"
    clock = "" if pa.types.is_date(kind) else f"T{hour}:_{group('M') or '0'}:{seconds}{zone}"
    steps.append((rf"^{pattern.text}\z", day + clock))
    if group("y"):
        steps += [(r"^y(69|[7-9]\d)", r"19\1"), (r"^y", "20")]
    if not group("m"):
        steps += [(rf"-(?i:b{name}[a-z]*)-", f"-{number:02}-") for number, name in enumerate(_MONTHS, 1)]
    if group("p"):
        steps += _HOURS_OF_THE_CLOCK
    steps += [(r"_(\d\d)", r"\1"), ("_", "0")]
    if group("z"):
        steps.append((r"([+-]\d\d)(\d\d)\z", r"\1:\2"))
    return tuple(steps)


_HOURS_OF_THE_CLOCK = [
    (r"T(?i:am)_12:", "T00:"),
    (r"T(?i:am)", "T"),
    *((rf"T(?i:pm)_0?{hour}:", f"T{hour + 12}:") for hour in range(1, 12)),
    (r"T(?i:pm)_12:", "T12:"),
]


def _epoch(written: str, kind: pa.DataType) -> Form:
    """Microseconds since 1970, of a number of seconds or the like; what is finer is dropped."""
    if kind != INSTANT:
        raise UsageError(f"the time format {written} gives {INSTANT}, and the column is to be {kind}")
    digits = EPOCHS[written]
    expected = f"time in the format {written}"
    if digits < 0:  # nanoseconds: the last three digits go
        return Form(kind, r"^-?\d{1,21}\z", ((r"^(-?)(\d+)\z", r"\1000\2"), (r"\d{3}\z", "")), expected, written)
    steps = ((r"^(-?\d+)\z", r"\1."), (r"\z", "0" * digits), (rf"^(-?\d+)\.(\d{{{digits}}}).*\z", r"\1\2"))
    fraction = r"(\.\d*)?" if digits else ""
    return Form(kind, rf"^-?\d{{1,{18 - digits}}}{fraction}\z", steps if digits else (), expected, written)
