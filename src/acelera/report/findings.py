"""What a report shows, wherever it was found: some events, some matches, and counts of all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.model import Acea
from acelera.language.checker import Checked

Ints = npt.NDArray[np.int64]

MARKS_PER_EVENT = 20
"""How many times an event may be held by the shown matches, on average, before further matches are left out."""


@dataclass(frozen=True)
class About:
    """The query that a page is about; `implied` are variables that are only the name of an event type."""

    text: str
    automaton: Acea
    implied: frozenset[str]


@dataclass(frozen=True)
class Limits:
    """How much a page shows."""

    matches: int
    events: int


@dataclass(frozen=True)
class Made:
    """An event that was made rather than read: by AGG, or by an automaton written by hand."""

    variable: str
    place: int
    values: Mapping[str, Any]


@dataclass(frozen=True)
class Match:
    """A match: its row of the result as it is shown, and its events by their places in the stream, from 0."""

    row: Sequence[Any]
    start: int
    end: int
    held: Mapping[str, Sequence[int]]
    made: Sequence[Made] = ()

    def places(self) -> Iterator[int]:
        """All places that must be shown with the match."""
        yield from (self.start, self.end)
        for places in self.held.values():
            yield from places
        for each in self.made:
            yield each.place

    def marks(self) -> int:
        """How many events it holds, each as often as it is held."""
        return sum(map(len, self.held.values())) + len(self.made)

    def order(self) -> tuple[Any, ...]:
        """Matches are shown by where they end, then by where they start."""
        return self.end, self.start, [(name, list(places)) for name, places in self.held.items()]


@dataclass(frozen=True)
class Buckets:
    """Counts along the stream: bucket number i begins at `first + i * width`, in ticks of time or in places."""

    first: int
    width: int
    events: Sequence[int]
    matches: Sequence[int]


@dataclass(frozen=True)
class Findings:
    """All that a page shows.

    `rows` are the events that are shown, in order, and `places` where they stand in the stream. If not all matches were
    counted (`counted` is False), there are more than `matches_found`.
    """

    about: About
    checked: Checked
    rows: pa.Table
    places: Ints
    matches: Sequence[Match]
    events_found: int
    matches_found: int
    counted: bool
    buckets: Buckets

    @property
    def rows_found(self) -> int:
        """How many rows the result has: one for each match."""
        return self.matches_found


def that_fit(matches: Sequence[Match], events: int) -> list[Match]:
    """The first matches whose events, all together, are no more than can be shown."""
    places: set[int] = set()
    marks, kept = 0, list[Match]()
    for match in matches:
        marks += match.marks()
        places.update(match.places())
        if len(places) > events or marks > MARKS_PER_EVENT * events:
            break
        kept.append(match)
    return kept


def places_shown(matches: Sequence[Match], total: int, events: int) -> Ints:
    """The places of the events of these matches, and of the events nearest to them, as many as can be shown."""
    held = np.unique(np.array([place for match in matches for place in match.places()], np.int64))
    if not len(held):
        return np.arange(min(total, events))
    low, high = 0, events  # the largest distance within which all places can be shown
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _lengths(held, middle, total)[1].sum() <= events else (low, middle - 1)
    inner = _around(held, low, total)
    outer = np.setdiff1d(_around(held, low + 1, total), inner, assume_unique=True)
    return np.sort(np.concatenate((inner, outer[: events - len(inner)])))


def _lengths(held: Ints, distance: int, total: int) -> tuple[Ints, Ints]:
    """The stretches of places around those that are held: where they begin, and how many there are in each."""
    begins, ends = np.maximum(held - distance, 0), np.minimum(held + distance, total - 1)
    begins[1:] = np.maximum(begins[1:], ends[:-1] + 1)
    return begins, np.maximum(ends - begins + 1, 0)


def _around(held: Ints, distance: int, total: int) -> Ints:
    begins, lengths = _lengths(held, distance, total)
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(lengths.sum())
