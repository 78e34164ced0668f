"""Types of columns that are written as text, in CSV and JSON: the same rules in process and on Spark.

A column whose type is not said has the first of these types that all its values have the form of: int64, double,
boolean, date, timestamp (in UTC, where it names no zone of its own); otherwise it is text. Without a single value it
has no type at all, and can be compared with anything; if no event type has a value in a column that orders the stream,
that is one of timestamps. In JSON, only texts are looked at, for dates and timestamps. The forms are regular
expressions that mean the same to Arrow and to Java, and so do the replacements that bring a text into the form that
both cast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from acelera.errors import SchemaError

_DAY = r"\d{4}-\d{2}-\d{2}"
ZONE = r"(Z|[+-](0\d|1[0-7]):[0-5]\d|[+-]18:00)"
"""Java knows no zones that are farther from UTC."""
_DIGITS_OF_SECONDS = {"s": 0, "ms": 3, "us": 6, "ns": 9}

INSTANT = pa.timestamp("us", "UTC")

Step = tuple[str, str]
"""A regular expression, and what every match of it is replaced with: `\\1` is its first group."""


@dataclass(frozen=True)
class Form:
    """How the values of a type are written: what texts must look like, and the steps that make them ones to cast.

    `expected` completes the sentence "'n/a' is no …". `epoch`, if any, is the unit of a number since 1970; the text
    becomes one of microseconds. `checked`: it is known that all values have the form.
    """

    kind: pa.DataType
    pattern: str
    steps: tuple[Step, ...] = ()
    expected: str = ""
    epoch: str | None = None
    checked: bool = False


def guessed(decimal: str = ".") -> list[Form]:
    """The forms that are tried where no type is said, narrow types first; `decimal` stands before a fraction."""
    whole = r"-?(0|[1-9]\d{0,17})"  # codes such as 007 stay texts
    point, comma = _point(decimal)
    return [
        Form(pa.int64(), rf"^{whole}\z", (), "int64"),
        Form(
            pa.float64(),
            rf"^({whole}({point}\d*)?([eE][+-]?\d+)?|-?{point}\d+([eE][+-]?\d+)?|(?i:nan|-?inf(inity)?))\z",
            comma,
            "double",
        ),
        Form(pa.bool_(), r"^([tT]rue|TRUE|[fF]alse|FALSE)\z", (), "boolean"),
        *IN_TEXTS,
    ]


def _instants(kind: pa.DataType) -> Form:
    digits = _DIGITS_OF_SECONDS[kind.unit]
    fraction = rf"(\.\d{{1,{digits}}})?" if digits else ""
    zone = "" if kind.tz is None else f"{ZONE}?"
    expected = "timestamp" if kind.tz is not None else "timestamp without a zone (timestamp[us, tz=UTC] has one)"
    return Form(kind, rf"^{_DAY}([T ]\d{{2}}:\d{{2}}(:\d{{2}}{fraction})?{zone})?\z", (), expected)


IN_TEXTS = (Form(pa.date32(), rf"^{_DAY}\z", (), "date"), _instants(INSTANT))
"""The forms of what JSON writes as text."""


def form_of(kind: pa.DataType, decimal: str = ".") -> Form | None:
    """The form of a type that was said; None if it is text, which is taken as it is."""
    point, comma = _point(decimal)
    plus = (r"^\+", "")
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_null(kind):
        return None
    if pa.types.is_integer(kind):
        sign = "[+]?" if pa.types.is_unsigned_integer(kind) else "[+-]?"
        return Form(kind, rf"^{sign}\d+\z", (plus,), str(kind))
    if pa.types.is_floating(kind) and not pa.types.is_float16(kind):
        number = rf"(\d+({point}\d*)?|{point}\d+)([eE][+-]?\d+)?"
        return Form(kind, rf"^[+-]?({number}|(?i:nan|inf(inity)?))\z", (plus, (r"^-([nN])", r"\1"), *comma), str(kind))
    if pa.types.is_decimal(kind):
        before, after = kind.precision - kind.scale, kind.scale
        number = rf"(0*\d{{1,{max(before, 1)}}}({point}\d{{0,{after}}}0*)?" + (
            rf"|{point}\d{{1,{after}}}0*)" if after else ")"
        )
        return Form(kind, rf"^[+-]?{number}\z", (plus, *comma, *_trimmed(after)), str(kind))
    if pa.types.is_boolean(kind):
        return Form(kind, r"^(?i:true|false|1|0)\z", (), "boolean")
    if pa.types.is_date(kind):
        return Form(kind, rf"^{_DAY}\z", (), "date")
    if pa.types.is_timestamp(kind):
        return _instants(kind)
    raise SchemaError(
        f"text cannot be read as {kind}; columns of CSV are numbers, texts, booleans, dates or timestamps"
    )


def _trimmed(scale: int) -> tuple[Step, ...]:
    """Zeros beyond the scale of a decimal say nothing."""
    return ((rf"(\.\d{{{scale}}})0+\z", r"\1"), (r"\.\z", "")) if scale else ((r"\.0*\z", ""),)


def _point(decimal: str) -> tuple[str, tuple[Step, ...]]:
    """What stands before a fraction, as a pattern, and the step that makes it a point."""
    return (r"\.", ()) if decimal == "." else (",", ((",", "."),))


def chosen(candidates: Sequence[Form], any_value: bool) -> tuple[pa.DataType, Form | None]:
    """The type of a column, of which it is known whether it has any value."""
    if not any_value:
        return pa.null(), None
    return (candidates[0].kind, replace(candidates[0], checked=True)) if candidates else (pa.string(), None)
