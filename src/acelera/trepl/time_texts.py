"""Times that are written as texts: what `'21'`, `'09:13:27'` and `'1996-08-21'` mean beside a time or a part of one."""

from __future__ import annotations

import datetime
import re
from zoneinfo import ZoneInfo

from acelera.language.ast import Date, Expression, Interval, Literal, Timestamp
from acelera.language.literals import parse_date, parse_timestamp
from acelera.language.types import Kind, Type

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,3}))?)?", re.ASCII)

WRITTEN = {
    Kind.TIMESTAMP: ("a timestamp", "write it as '1996-08-21 09:13:27'"),
    Kind.DATE: ("a date", "write it as '1996-08-21'"),
    Kind.DURATION: ("a time", "write it as '09:13:27'"),
}
"""What a text beside a value of a kind must be, and how it is written."""


def as_number(literal: Literal) -> Literal | None:
    """A text of digits as the number that it shows."""
    text = str(literal.value).strip()
    return Literal(int(text), span=literal.span) if re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII) else None


def as_time(literal: Literal, beside: Type, zone: str) -> Expression | None:
    """A text as a value of the type of what it is compared with; None if it is none."""
    text = str(literal.value).strip()
    if beside.kind is Kind.DATE:
        return None if parse_date(text) is None else Date(text, span=literal.span)
    if beside.kind is Kind.DURATION:
        return _since_midnight(text, literal)
    instant = parse_timestamp(text)
    if instant is None:
        return None
    offset = _offset(instant.nanoseconds, zone) if beside.zoned and not instant.has_offset else ""
    return Timestamp(text + offset, span=literal.span)


def _since_midnight(text: str, literal: Literal) -> Interval | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
    whole = (hours * 60 + minutes) * 60 + seconds
    if match[4] is None:
        return Interval(whole, "seconds", span=literal.span)
    return Interval(whole * 1000 + int(match[4].ljust(3, "0")), "milliseconds", span=literal.span)


def _offset(nanoseconds: int, zone: str) -> str:
    """How far a zone is from UTC when its clocks show this time, as it is written after a timestamp."""
    local = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=nanoseconds // 1_000_000_000)
    offset = local.replace(tzinfo=ZoneInfo(zone)).utcoffset() or datetime.timedelta()
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
