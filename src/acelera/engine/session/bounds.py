"""How many matches are made: a limit that users set, and what is said where they are too many."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from acelera.engine.session.pages import Page
from acelera.engine.storage.growing import memory
from acelera.errors import AceleraWarning, TooManyMatchesError, UsageError

MOST_MATCHES = 100_000_000
"""So many are put into one table, if no limit says otherwise."""

MANY_MATCHES, MANY_PER_EVENT = 1_000_000, 100
"""From here on it is likely that the query means less than it says."""

LEAST_EVENTS = 1_000
"""Of fewer events it says nothing how many matches each has."""

REMEDIES = (
    "KEEP gives one of several matches (KEEP LONGEST PER START), SUMMARIZE counts and aggregates them and lists none, "
    "WITHIN bounds how far apart their events are, limit=… makes only the first of them, a narrower pattern (FILTER, "
    "`:` and `:+` for events next to each other) has fewer"
)


class Counting(Protocol):
    """Who reads events and finds matches; `told_of_many` is whether it was said that there are many."""

    told_of_many: bool

    @property
    def events(self) -> int:
        """How many events were read."""

    @property
    def matches(self) -> int:
        """How many matches were found."""

    @property
    def doubtful_times(self) -> str | None:
        """The column of times, if all events so far lie within one window of time."""


def limited(pages: Iterator[Page], limit: int | None, summary: bool = False) -> Iterator[Page]:
    """The first matches, or rows of a summary, and a warning if there are more; the rest is not listed."""
    room = limit
    for page in pages:
        if room is None:
            yield page
            continue
        if page.matches > room:
            if room:
                yield page.first(room)
            warn_of_more(limit, 6, summary)
            return
        room -= page.matches
        yield page


def warn_of_more(limit: int | None, stacklevel: int, summary: bool = False) -> None:
    """Say that there are more matches, or rows of a summary, than asked for."""
    what, order = ("rows", "") if summary else ("matches", ", by where they end")
    told = f"there are more {what} than limit={limit}; these are the first of them{order}"
    warnings.warn(told, AceleraWarning, stacklevel)


def watched(session: Counting, pages: Iterator[Page]) -> Iterator[Page]:
    """The pages, and once a warning if there are far more matches than events."""
    for page in pages:
        yield page
        told = flood(session)
        if told is not None:
            warnings.warn(told, AceleraWarning, stacklevel=6)


def many(matches: int, events: int) -> bool:
    """Whether there are far more matches than events."""
    return matches > MANY_MATCHES and matches > MANY_PER_EVENT * events


def flood(session: Counting) -> str | None:
    """What to say of far more matches than events, once."""
    if session.told_of_many or not many(session.matches, session.events):
        return None
    session.told_of_many = True
    return f"{session.matches:,} matches so far, over {session.events:,} events{_doubt(session)}; {REMEDIES}"


def _doubt(session: Counting) -> str:
    """A window that holds everything is often one in another unit than the times."""
    name = session.doubtful_times
    if name is None:
        return ""
    return f", all of them within one window: if that is not meant, look at the unit in which `{name}` was made a time"


def gathered(session: Counting, pages: Iterator[Page], limit: int | None = None) -> list[Page]:
    """All pages, if there is room for them in one table."""
    found: list[Page] = []
    made, held, most = 0, 0, memory() // 2
    for page in limited(watched(session, pages), limit):
        found.append(page)
        made, held = made + page.rows.num_rows, held + page.rows.nbytes
        if held > most:
            raise too_many(session, f"and the result would be larger than {most >> 20:,} MiB, half of memory")
        if limit is None and made > MOST_MATCHES:
            raise too_many(session, f"and no more than {MOST_MATCHES:,} are put into one table")
    return found


@contextmanager
def told_of_memory(session: Counting) -> Iterator[None]:
    """Where memory runs out, say how many matches there were."""
    try:
        yield
    except MemoryError:
        raise too_many(session, "and memory has run out") from None


def check_limit(limit: object) -> None:
    """A limit is a number of matches."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise UsageError(f"limit={limit!r} is not a number of matches: it is 1 or more, or None for all of them")


def too_many(session: Counting, why: str) -> TooManyMatchesError:
    """The error of a run that has made more matches than it may."""
    made = f"{session.matches:,} matches so far, over {session.events:,} events"
    return TooManyMatchesError(f"{made}, {why}{_doubt(session)}. {REMEDIES}; q.stream gives them some at a time")
