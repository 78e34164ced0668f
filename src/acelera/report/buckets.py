"""Buckets of time, or of places in the stream, of a width that reads well."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from acelera.language.types import Type

MOST = 60
"""How many bars a chart has at most."""

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

_SECOND = 1_000_000_000
_DAY = 86_400 * _SECOND
_ROUND = [
    *(step * 10**power for power in range(9) for step in (1, 2, 5)),
    *(step * _SECOND for step in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800)),
    *(step * 3600 * _SECOND for step in (1, 2, 3, 6, 12)),
    *(step * _DAY for step in (1, 2, 7, 14, 28, 91, 182, 364)),
]


def width_of(first: int, last: int, time: Type | None, most: int = MOST) -> int:
    """The smallest round width with which the buckets from the first to the last value are few enough."""
    for width in _widths(1 if time is None else NANOSECONDS[time.arrow.unit], time is not None):
        if last // width - first // width < most:
            return width
    raise AssertionError("widths have no end")


def _widths(unit: int, timed: bool) -> Iterator[int]:
    """Round widths, in ticks: 1, 2, 5, 10 …; those of time are also those of a clock and of a calendar."""
    if timed:
        yield from (width // unit for width in _ROUND if width % unit == 0)
    for power in count():
        yield from ((364 * _DAY // unit if timed else 1) * step * 10**power for step in (1, 2, 5))
