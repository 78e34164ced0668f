"""Times that were computed: two numbers, since a difference of two 64-bit times does not fit into one.

A wide time is high * 2**62 + low nanoseconds, with 0 <= low < 2**62. Columns of all units fit, and so does all that is
computed of them until the definition gives up, at 2**100 nanoseconds.
"""

from __future__ import annotations

from acelera.engine.jit import inner

BITS, HALF = 62, 31
LOW, LOW_HALF = (1 << BITS) - 1, (1 << HALF) - 1
LIMIT = 1 << (100 - BITS)
"""What is as large as this, in its high number, has no value."""


def split(nanoseconds: int) -> tuple[int, int]:
    """The two numbers of a constant.

    >>> split(-1) == (-1, LOW), joined(*split(-(2**90) + 7)) == -(2**90) + 7
    (True, True)
    """
    return nanoseconds >> BITS, nanoseconds & LOW


def joined(high: int, low: int) -> int:
    """The nanoseconds that two numbers stand for."""
    return (high << BITS) + low


@inner
def widened(time: int, factor: int) -> tuple[int, int]:
    """A time in a unit of so many nanoseconds, at most 10**9."""
    scaled = (time >> HALF) * factor
    low = ((scaled & LOW_HALF) << HALF) + (time & LOW_HALF) * factor
    return (scaled >> HALF) + (low >> BITS), low & LOW


@inner
def narrowed(high: int, low: int, factor: int) -> tuple[bool, int]:
    """The time in whole units, rounded down, if it fits into 64 bits."""
    whole, rest = high // factor, high % factor
    upper = (rest << HALF) + (low >> HALF)
    lower = ((upper % factor) << HALF) + (low & LOW_HALF)
    if whole < -2 or whole > 1:
        return False, 0
    return True, (whole << BITS) + ((upper // factor) << HALF) + lower // factor


@inner
def plus(high: int, low: int, other_high: int, other_low: int) -> tuple[int, int]:
    """The sum of two wide times."""
    total = low + other_low
    return high + other_high + (total >> BITS), total & LOW


@inner
def negative(high: int, low: int) -> tuple[int, int]:
    """The same with the other sign."""
    return (-high, 0) if low == 0 else (-high - 1, LOW + 1 - low)


@inner
def too_large(high: int, low: int) -> bool:
    """Whether the definition has no value for it."""
    return high >= LIMIT or high < -LIMIT or (high == -LIMIT and low == 0)
