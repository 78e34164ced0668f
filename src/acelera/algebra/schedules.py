"""Events that nobody sends, but that the clock and the calendar bring about."""

from __future__ import annotations

import datetime
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from zoneinfo import ZoneInfo

from acelera.errors import DataError, UsageError
from acelera.language.tree import Node

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_DAY = datetime.timedelta(days=1)

MOST = 5_000_000
"""How many events of a clock may come at once."""


class Schedule(Node):
    """When the events of a clock happen."""

    @abstractmethod
    def between(self, first: int, last: int) -> list[tuple[int, int]]:
        """The intervals that end from the one to the other time, both included, in order."""

    @property
    @abstractmethod
    def longest(self) -> int:
        """How long one of them lasts at most."""


@dataclass(frozen=True, eq=False, repr=False)
class Periodic(Schedule):
    """Intervals of one length, one right after the other, of which one begins at 0."""

    length: int

    def between(self, first: int, last: int) -> list[tuple[int, int]]:
        """Those that end from the one to the other time."""
        numbers = range(-((-first - 1) // self.length), (last + 1) // self.length + 1)
        if len(numbers) > MOST:
            raise DataError(
                f"timer:periodic would happen {len(numbers):,} times between one batch and the next; "
                "choose a longer period, or look whether a time is wrong"
            )
        return [((number - 1) * self.length, number * self.length - 1) for number in numbers]

    @property
    def longest(self) -> int:
        """All are of one length."""
        return self.length - 1


@dataclass(frozen=True, eq=False, repr=False)
class Calendar(Schedule):
    """A time of each day that fits, or all of it if there is none; `tick` is how many microseconds 1 is."""

    tick: Fraction
    at: datetime.time | None = None
    date: datetime.date | None = None
    weekday: int | None = None
    day: int | None = None
    month: int | None = None
    zone: str = "UTC"

    def between(self, first: int, last: int) -> list[tuple[int, int]]:
        """Those that end from the one to the other time."""
        if first > last:
            return []
        found = []
        day, end = (self._moment(first) - 2 * _DAY).date(), (self._moment(last) + 2 * _DAY).date()
        if self.date is not None:
            day, end = max(day, self.date), min(end, self.date)
        while day <= end:
            if self._fits(day):
                begin, until = self._interval(day)
                if begin <= until and first <= until <= last:
                    found.append((begin, until))
            day += _DAY
        return found

    @property
    def longest(self) -> int:
        """A day may have an hour more, and a zone may have moved by a day."""
        return 0 if self.at is not None else int(Fraction(2 * _DAY // _MICROSECOND) / self.tick) + 1

    def _fits(self, day: datetime.date) -> bool:
        wanted = (self.date, self.weekday, self.day, self.month)
        given = (day, day.isoweekday(), day.day, day.month)
        return all(want is None or want == have for want, have in zip(wanted, given, strict=True))

    def _interval(self, day: datetime.date) -> tuple[int, int]:
        begin = self._time(day, self.at or datetime.time())
        return (begin, begin) if self.at is not None else (begin, self._time(day + _DAY, datetime.time()) - 1)

    def _time(self, day: datetime.date, at: datetime.time) -> int:
        passed = datetime.datetime.combine(day, at, ZoneInfo(self.zone)) - _EPOCH
        ticks = Fraction(passed // _MICROSECOND) / self.tick
        if ticks.denominator != 1:
            raise UsageError(
                f"{at} in {self.zone} lies between two times of the stream; give its times in a finer unit"
            )
        return int(ticks)

    def _moment(self, ticks: int) -> datetime.datetime:
        return _EPOCH + int(ticks * self.tick) * _MICROSECOND
