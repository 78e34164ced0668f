"""What a page shows of a run: plain data, which every language of rules can fill in."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from acelera.programs.label_graph import LabelGraph

MOST_EVENTS = 5_000
"""So many events are shown, the first by where they end."""

Time: TypeAlias = int | Fraction
"""Integers as they are in the data, or microseconds since 1970."""


@dataclass(frozen=True)
class Part:
    """An event that another was made from, by its number among those shown, and what the rule calls it."""

    name: str
    event: int


@dataclass(frozen=True)
class Timer:
    """An interval that the clock made, and what the rule calls it; `what` is how it is written there."""

    name: str
    what: str
    begin: Time
    end: Time


@dataclass(frozen=True)
class Looked:
    """What a rule looked for while something lasted, and the events that it found; None where none were to be there."""

    during: str
    query: str
    events: tuple[int, ...] | None


@dataclass(frozen=True)
class Made:
    """A way in which an event was made, by the number of its rule."""

    rule: int
    parts: tuple[Part, ...] = ()
    timers: tuple[Timer, ...] = ()
    looked: tuple[Looked, ...] = ()

    def events(self) -> Iterator[int]:
        """All events that it was made from."""
        yield from (part.event for part in self.parts)
        for looked in self.looked:
            yield from looked.events or ()


@dataclass(frozen=True)
class Shown:
    """An event over [begin, end]; one that was derived, with ways in which it was made, as far as they are known."""

    label: str
    begin: Time
    end: Time
    fields: Mapping[str, Any]
    derived: bool = False
    made_from: tuple[Made, ...] = ()


@dataclass(frozen=True)
class RuleText:
    """Where a rule stands in the text of its program, the label that it makes, and its name if it has one."""

    label: str
    start: int
    end: int
    name: str | None = None


@dataclass(frozen=True)
class Count:
    """How many events of a label came in, and how many were derived."""

    base: int = 0
    derived: int = 0


@dataclass(frozen=True)
class Run:
    """A run: events in order of their ends, each after those it was made from, and counts of all there were.

    `words` are those of the language, for the text of the program. Times are shown as they are in the data: as
    timestamps, in UTC if they have a zone, or as integers.
    """

    text: str
    rules: tuple[RuleText, ...]
    words: Collection[str]
    graph: LabelGraph
    events: tuple[Shown, ...]
    counts: Mapping[str, Count]
    timestamps: bool = True
    zoned: bool = False

    def __post_init__(self) -> None:
        for number, event in enumerate(self.events):
            assert event.begin <= event.end and event.label in self.counts
            assert all(part < number for made in event.made_from for part in made.events())
