"""Timer events (contract, section 3): S(b, e, d) of relative timers, and when absolute and periodic ones happen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo

from acelera.errors import UsageError
from acelera.xchangeeq import ast
from acelera.xchangeeq.terms import Time

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
MICROSECOND = timedelta(microseconds=1)
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


@dataclass(frozen=True)
class Timer:
    """A timer event: nothing but its interval."""

    begin: Time
    end: Time


@dataclass(frozen=True)
class Clock:
    """How many microseconds a unit of time is, and the smallest and greatest end of base events."""

    tick: int | Fraction = 1
    first: Time = 0
    last: Time = -1

    def units(self, microseconds: int | Fraction) -> Time:
        """A length, or a time since 1970, in units of time."""
        return whole(Fraction(microseconds) / Fraction(self.tick))

    def length(self, duration: ast.Duration) -> Time:
        """d in units of time."""
        return self.units(duration.microseconds)

    def ticks(self, timer: Timer) -> bool:
        """Whether a timer that has no anchor happens: its end is not outside those of base events."""
        return self.first <= timer.end <= self.last


def whole(number: Time) -> Time:
    """An integer if it is one."""
    return int(number) if number == int(number) else number


def relative(kind: str, begin: Time, end: Time, length: Time) -> Timer | None:
    """S(b, e, d); nothing if that is no interval."""
    low, high = {
        "from-end": (end, end + length),
        "from-end-backward": (end - length, end),
        "from-start": (begin, begin + length),
        "from-start-backward": (begin - length, begin),
        "extend": (begin, end + length),
        "shorten": (begin, end - length),
        "extend-begin": (begin - length, end),
        "shorten-begin": (begin + length, end),
        "shift-forward": (begin + length, end + length),
        "shift-backward": (begin - length, end - length),
    }[kind]
    return Timer(whole(low), whole(high)) if low <= high else None


def periodic(duration: ast.Duration, clock: Clock) -> Iterator[Timer]:
    """`timer:periodic [d]`: [k·d, (k+1)·d − 1 tick] for each k, since 1970 UTC."""
    length = clock.length(duration)
    if length <= 0:
        raise UsageError("timer:periodic needs a duration greater than 0")
    for k in range(math.floor(clock.first / Fraction(length)) - 1, math.ceil(clock.last / Fraction(length)) + 2):
        timer = Timer(whole(k * length), whole((k + 1) * length - 1))
        if timer.begin <= timer.end and clock.ticks(timer):
            yield timer


# --- absolute timers ----------------------------------------------------------------------------------------------


def is_absolute(query: ast.Query) -> bool:
    """`timer:datetime {{ … }}` or `timer:date {{ … }}`."""
    return isinstance(query, ast.Labelled) and query.label in ast.ABSOLUTE


def absolute(query: ast.Query, clock: Clock) -> Iterator[Timer]:
    """A point at a time of each day that fits, or the whole of each such day; what is not given is every."""
    assert isinstance(query, ast.Labelled)
    given = dict(_given(each) for each in query.children)
    zone: tzinfo = ZoneInfo(str(given["timezone"])) if "timezone" in given else timezone.utc
    is_point = query.label == "timer:datetime"
    if is_point != ("time" in given):
        raise UsageError("timer:datetime needs a time { … }" if is_point else "timer:date has no time { … }")
    at = time.fromisoformat(str(given["time"])) if is_point else time()
    for day in _days(clock):
        if _fits(day, given):
            begin = _instant(day, at, zone, clock)
            end = begin if is_point else whole(_instant(day + timedelta(days=1), at, zone, clock) - 1)
            if begin <= end and clock.ticks(Timer(begin, end)):
                yield Timer(begin, end)


def _given(child: ast.Query) -> tuple[str, bool | int | float | str]:
    """`time {{ "16:00" }}` as a name and a value."""
    match child:
        case ast.Labelled(("time" | "date" | "weekday" | "day" | "month" | "timezone") as name, (ast.IsValue(value),)):
            return name, value
    raise UsageError("an absolute timer has time, date, weekday, day, month and timezone, each with a value")


def _days(clock: Clock) -> Iterator[date]:
    """All days that may hold an end between those of base events, wherever on earth."""
    if clock.first > clock.last:
        return
    first, last = (EPOCH + math.floor(each * Fraction(clock.tick)) * MICROSECOND for each in (clock.first, clock.last))
    for number in range(-2, (last - first).days + 4):
        yield first.date() + timedelta(days=number)


def _fits(day: date, given: dict[str, bool | int | float | str]) -> bool:
    """Whether a day is one of those that are meant."""
    return (
        ("date" not in given or date.fromisoformat(str(given["date"])) == day)
        and ("weekday" not in given or _number(given["weekday"], WEEKDAYS) == day.isoweekday())
        and ("day" not in given or _number(given["day"], ()) == day.day)
        and ("month" not in given or _number(given["month"], MONTHS) == day.month)
    )


def _number(value: bool | int | float | str, names: tuple[str, ...]) -> int:
    """A number from 1 on, or the name that stands for it, of which the first three letters count."""
    text = str(value).lower()
    return names.index(text[:3]) + 1 if text[:3] in names else int(text)


def _instant(day: date, at: time, zone: tzinfo, clock: Clock) -> Time:
    """A time of a day somewhere, in units since 1970 UTC; of a time that comes twice, the first."""
    return clock.units((datetime.combine(day, at, zone) - EPOCH) // MICROSECOND)
