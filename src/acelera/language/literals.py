"""Timestamps and dates as they are written in queries."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache
from typing import NamedTuple

_TIMESTAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d\d:\d\d)?",
    re.ASCII | re.IGNORECASE,
)
_EPOCH = datetime.datetime(1970, 1, 1)


class Instant(NamedTuple):
    """Nanoseconds since 1970, in UTC if the text had an offset."""

    nanoseconds: int
    has_offset: bool


@lru_cache(maxsize=1024)
def parse_timestamp(text: str) -> Instant | None:
    """`2024-01-31 10:00:00.5+01:00`; the time, the fraction and the offset may be missing. None if it is not one."""
    match = _TIMESTAMP.fullmatch(text.strip())
    if match is None:
        return None
    day, clock, fraction, offset = match.groups()
    try:
        moment = datetime.datetime.fromisoformat(f"{day}T{clock or '00:00'}")
    except ValueError:
        return None
    nanoseconds = ((moment - _EPOCH) // datetime.timedelta(seconds=1)) * 1_000_000_000
    nanoseconds += int((fraction or "0").ljust(9, "0"))
    if offset and offset.upper() != "Z":
        hours, minutes = int(offset[1:3]), int(offset[4:6])
        if hours > 18 or minutes > 59:
            return None
        shift = (hours * 60 + minutes) * 60_000_000_000
        nanoseconds += shift if offset[0] == "-" else -shift
    return Instant(nanoseconds, offset is not None)


@lru_cache(maxsize=1024)
def parse_date(text: str) -> int | None:
    """Days since 1970, or None if the text is not a date."""
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text.strip(), re.ASCII):
        return None
    try:
        return (datetime.date.fromisoformat(text.strip()) - _EPOCH.date()).days
    except ValueError:
        return None
