"""Times as numbers since 1970: their units, the years that there are, and what is said of a number in a wrong unit."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal, InvalidOperation

EPOCHS = {"epoch": 6, "epoch-s": 6, "epoch-ms": 3, "epoch-us": 0, "epoch-ns": -3}
"""Numbers since 1970, and by how many digits they are longer as microseconds."""

FIRST, AFTER_LAST = -62_135_596_800, 253_402_300_800
"""The seconds since 1970 of the beginning of the year 1, and of the end of the year 9999: other times are refused."""

CYCLE = 146_097 * 86_400
"""The seconds of 400 years, after which the calendar repeats."""

LIKELY = (0, 4_102_444_800)
"""The seconds between which a time most likely is: from 1970 to 2100."""

UNITS = ("epoch", "epoch-ms", "epoch-us", "epoch-ns")
"""What may be proposed instead, from long to short."""

_A_SECOND = {"epoch": 1, "epoch-s": 1, "epoch-ms": 10**3, "epoch-us": 10**6, "epoch-ns": 10**9}


def a_second(epoch: str) -> int:
    """How many units there are in a second.

    >>> a_second("epoch"), a_second("epoch-ms")
    (1, 1000)
    """
    return _A_SECOND[epoch]


def out_of_range(value: str, epoch: str) -> str | None:
    """What is wrong with a number that is a time before the year 1 or after 9999; None if it is none of these.

    >>> out_of_range("1533123640000", "epoch")
    'is in the year 50552; is it epoch-ms?'
    >>> out_of_range("1533123640000", "epoch-ms")
    """
    try:
        number = Decimal(value)
        seconds = math.floor(number / a_second(epoch))
    except (InvalidOperation, ValueError, OverflowError):
        return None
    if FIRST <= seconds < AFTER_LAST:
        return None
    cycles, rest = divmod(seconds, CYCLE)
    year = (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=rest)).year + 400 * cycles
    likely = (unit for unit in UNITS if LIKELY[0] <= number / a_second(unit) < LIKELY[1])
    meant = next(likely, None)
    return f"is in the year {year}{f'; is it {meant}?' if meant else ', and there are those from 1 to 9999'}"
