"""UNLESS and UNLESS … FOR: what must not happen, which may speak of the match.

φ UNLESS ψ, with a ψ of one event whose conditions name variables that ψ does not bind: these are variables of φ. Then C
is ruled out if for some choice of one event of C for each of these variables, ψ happens where it must not, when in its
conditions the variables hold the events that were chosen. Of an empty variable there is nothing to choose, and what
names it does not hold: of `c.a = x.a OR c.a = y.a`, one side may hold although the other variable is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product

from acelera.language.events import ComplexEvent, Event
from acelera.semantics.satisfaction import Given

Interval = tuple[int, int]
Chosen = tuple[tuple[str, Event | None], ...]
Forbidden = Callable[[ComplexEvent], Iterable[Interval]]
"""Where in the stream that happens which must not happen around a match."""


def unless(c: ComplexEvent, forbidden: Forbidden) -> bool:
    """⟦φ UNLESS ψ⟧: no C' of ψ with start(C) ≤ start(C') ≤ end(C') ≤ end(C)."""
    return not any(c.start <= start and end <= c.end for start, end in forbidden(c))


def unless_for(c: ComplexEvent, forbidden: Forbidden, length: int, events: Sequence[Event]) -> bool:
    """⟦φ UNLESS ψ FOR d⟧: no C' of ψ with start(C) ≤ start(C') and time(end(C')) ≤ time(end(C)) + d."""
    last = time(events, c.end) + length
    return not any(c.start <= start and time(events, end) <= last for start, end in forbidden(c))


def time(events: Sequence[Event], position: int) -> int:
    """When the event at a position happens."""
    found = events[position - 1].time
    assert found is not None, "the checker asks for a stream with time"
    return found


# --- what speaks of the match -------------------------------------------------------------------------------------


def of_the_match(names: Sequence[str], happens: Callable[[Given], Iterable[ComplexEvent]]) -> Forbidden:
    """Where a ψ happens that speaks of these variables; `happens` tells what it denotes, given an event of each."""

    @cache
    def intervals(chosen: Chosen) -> set[Interval]:
        return {(c.start, c.end) for c in happens(dict(chosen))}

    def forbidden(c: ComplexEvent) -> set[Interval]:
        choices = product(*([(name, event) for event in c(name) or (None,)] for name in names))
        return set().union(*(intervals(chosen) for chosen in choices))

    return forbidden
