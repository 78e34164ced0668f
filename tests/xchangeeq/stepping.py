"""Programs run on the engine over tables of events: at once, in steps, with or without a break between them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from acelera.algebra.bounds import Bound
from acelera.algebra.duckdb_session import DuckSession
from acelera.xchangeeq.checker import Checked
from acelera.xchangeeq.engine import opened, resumed
from acelera.xchangeeq.terms import Event
from xchangeeq.streams import TICK, events_in

LAST = 2**60
"""After all events, and before the end of time."""


@dataclass(frozen=True)
class Run:
    """A program, and how it is run; times are in ticks. With `breaks`, each step goes on from a snapshot."""

    checked: Checked
    aggregates: str = "nodes"
    longest: Mapping[str, Bound] | None = None
    breaks: bool = False

    def opened(self) -> DuckSession:
        return opened(self.checked, TICK, self.longest, self.aggregates)

    def resumed(self, session: DuckSession) -> DuckSession:
        return resumed(self.checked, TICK, self.longest or {}, self.aggregates, session.snapshot())

    def steps(self, tables: Mapping[str, pa.Table], cuts: Iterable[int] = ()) -> Iterator[tuple[int, set[Event]]]:
        """What each step derives, by its time; the last is the end of all."""
        session, ends = self.opened(), list[int]()
        for given, now in pieces(tables, cuts):
            ends += [end for table in given.values() for end in table.column("#end").to_pylist()]
            yield now, derived_in(session.step(given, now, (min(ends), max(ends)) if ends else None))
            session = self.resumed(session) if self.breaks else session
        yield LAST, derived_in(session.finish())

    def derived(self, tables: Mapping[str, pa.Table], cuts: Iterable[int] = ()) -> set[Event]:
        """All that is derived; nothing comes twice."""
        found: set[Event] = set()
        for _, made in self.steps(tables, cuts):
            assert not made & found, "an event is derived again"
            found |= made
        return found


def derived_in(made: Mapping[str, pa.Table]) -> set[Event]:
    found = events_in(made)
    assert len(found) == sum(table.num_rows for table in made.values()), "an event is derived twice in one step"
    return found


def pieces(tables: Mapping[str, pa.Table], cuts: Iterable[int]) -> Iterator[tuple[dict[str, pa.Table], int]]:
    """Tables cut at these times, by the ends of events."""
    before = -LAST
    for now in [*sorted(set(cuts)), LAST]:
        yield {label: between(table, before, now) for label, table in tables.items()}, now
        before = now


def between(table: pa.Table, after: int, by: int) -> pa.Table:
    """The events that end in a time."""
    return table.filter(pa.array([after < end <= by for end in table.column("#end").to_pylist()], pa.bool_()))
