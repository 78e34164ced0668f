"""How a user says where the times and the labels of events are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from acelera.errors import UsageError, did_you_mean
from acelera.programs.times import UNITS


class Options(TypedDict, total=False):
    """The options of `check`, `open` and `run`, as they are given.

    time
        The column that tells when an event happens, for events that happen at a moment.
    begin, end
        The columns that tell when an event begins and when it ends; both are part of it. If no time is named, they are
        `begin` and `end`.
    type_column
        The column that tells the label of an event, in a table that holds events of several.
    time_unit
        What 1 is, if times are integers: `"us"`, `"ms"`, `"s"`, `"min"`, `"h"` or `"d"`.
    longest
        For labels how long their events last at most, as `{"temp": "5 sec"}`. Less has to be kept then.
    """

    time: str | None
    begin: str | None
    end: str | None
    type_column: str
    time_unit: str | None
    longest: Mapping[str, str] | None


@dataclass(frozen=True)
class How:
    """Options that make sense."""

    begin: str
    end: str
    type_column: str = "type"
    time_unit: str | None = None
    longest: Mapping[str, str] = field(default_factory=dict)

    @property
    def points(self) -> bool:
        """Whether all events happen at a moment."""
        return self.begin == self.end

    @property
    def times(self) -> tuple[str, ...]:
        """The columns of time, each once."""
        return (self.begin,) if self.points else (self.begin, self.end)


def how(options: Mapping[str, object]) -> How:
    """Options, once it is clear that they make sense.

    >>> how({"time": "t"})
    How(begin='t', end='t', type_column='type', time_unit=None, longest={})
    """
    for name in options:
        if name not in _KNOWN:
            near = did_you_mean(name, _KNOWN)
            raise UsageError(f"there is no option `{name}`{near or '; there are ' + ', '.join(_KNOWN)}")
    begin, end = _times(*(_name(options, each) for each in ("time", "begin", "end")))
    type_column, unit = _name(options, "type_column") or "type", options.get("time_unit")
    if unit is not None and unit not in UNITS:
        raise UsageError(f"time_unit={unit!r} is not known; it is one of {', '.join(map(repr, UNITS))}")
    longest = _longest(options.get("longest"), begin == end)
    return How(begin, end, type_column, None if unit is None else str(unit), longest)


_KNOWN = tuple(Options.__annotations__)


def _name(options: Mapping[str, object], option: str) -> str | None:
    value = options.get(option)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{option}={value!r} is no name of a column")
    return value


def _times(time: str | None, begin: str | None, end: str | None) -> tuple[str, str]:
    """The columns of begin and end."""
    if time is not None:
        if begin is not None or end is not None:
            raise UsageError(
                "time=… is for events that happen at a moment, begin=… and end=… for those that last; give one"
            )
        return time, time
    if begin is None and end is None:
        return "begin", "end"
    if begin is None or end is None:
        missing, given = ("begin", end) if begin is None else ("end", begin)
        raise UsageError(f"{missing}=… is missing; if events happen at a moment, say time={given!r}")
    return begin, end


def _longest(given: object, points: bool) -> Mapping[str, str]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(isinstance(each, str) for pair in given.items() for each in pair):
        raise UsageError(f"longest={given!r} is no mapping of labels to durations, such as {{'temp': '5 sec'}}")
    if given and points:
        raise UsageError("longest=… is for events that last; with time=… all of them happen at a moment; leave it out")
    return dict(given)
