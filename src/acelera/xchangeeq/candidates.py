"""Events by what they match: each query is matched with each event once, and looked up by values and times."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from acelera.xchangeeq import ast
from acelera.xchangeeq.simulation import Binding, Substitution, simulations
from acelera.xchangeeq.strata import root_label
from acelera.xchangeeq.terms import Event, Time, identity

Values: TypeAlias = Mapping[str, Hashable]
"""For variables what their values have in common with equal ones."""
Match: TypeAlias = tuple[Event, Substitution]


@dataclass
class _Rows:
    """Matches in the order in which their events begin."""

    begins: list[Time] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)

    def add(self, match: Match) -> None:
        self.begins.append(match[0].begin)
        self.matches.append(match)

    def between(self, first: Time, last: Time) -> range:
        """The numbers of those that begin within a time."""
        return range(bisect_left(self.begins, first), bisect_right(self.begins, last))


@dataclass(frozen=True)
class _Table:
    """What matches a query, by the values of some variables."""

    names: tuple[str, ...]
    rows: dict[tuple[Hashable, ...], _Rows]


def in_order(events: Iterable[Event]) -> list[Event]:
    """Events by where they begin, in an order that is always the same."""
    return sorted(events, key=lambda each: (each.begin, each.end, each.label, str(each.term)))


class Candidates:
    """Events among which those are looked for that another was made from."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._events = in_order(events)
        self._by_label: dict[str, list[tuple[int, Event]]] = {}
        for number, event in enumerate(self._events):
            self._by_label.setdefault(event.label, []).append((number, event))
        self._matches: dict[ast.Query, dict[Event, list[Substitution]]] = {}
        self._bound: dict[ast.Query, frozenset[str]] = {}
        self._tables: dict[tuple[ast.Query, frozenset[str]], _Table] = {}

    def matches(self, query: ast.Query) -> Mapping[Event, list[Substitution]]:
        """All events that a query matches, in the order in which they begin, and how. A node is one of its event."""
        if query not in self._matches:
            label = root_label(query)
            tried = enumerate(self._events) if label is None else self._by_label.get(label, ())
            found = {event: _matched(query, number, event) for number, event in tried}
            self._matches[query] = {event: those for event, those in found.items() if those}
        return self._matches[query]

    def inside(
        self, query: ast.Query, known: Values, begin: Time, end: Time, latest: Time | None = None
    ) -> Iterable[Match]:
        """Matches of events within an interval, with these values for the variables that are always bound.

        They begin at `latest` at the latest, if that is given.
        """
        rows = self._rows(query, known)
        within = rows.between(begin, end if latest is None else latest)
        return (rows.matches[number] for number in within if rows.matches[number][0].end <= end)

    def how_many(self, query: ast.Query, known: Values, begin: Time, end: Time) -> int:
        """How many there may be: all that begin within the interval."""
        return len(self._rows(query, known).between(begin, end))

    def _rows(self, query: ast.Query, known: Values) -> _Rows:
        names = self._always_bound(query).intersection(known)
        if (query, names) not in self._tables:
            self._tables[query, names] = self._table(query, tuple(sorted(names)))
        table = self._tables[query, names]
        return table.rows.get(tuple(known[name] for name in table.names)) or _Rows()

    def _table(self, query: ast.Query, names: tuple[str, ...]) -> _Table:
        table = _Table(names, {})
        for event, those in self.matches(query).items():
            for one in those:
                key = tuple(identity(one[name].value) for name in names)
                table.rows.setdefault(key, _Rows()).add((event, one))
        return table

    def _always_bound(self, query: ast.Query) -> frozenset[str]:
        """The variables that every match binds: all but optional ones."""
        if query not in self._bound:
            found = [frozenset(one) for those in self.matches(query).values() for one in those]
            self._bound[query] = frozenset.intersection(*found) if found else frozenset()
        return self._bound[query]


def _matched(query: ast.Query, number: int, event: Event) -> list[Substitution]:
    return [
        {name: Binding(each.value, frozenset((number, path) for path in each.nodes)) for name, each in one.items()}
        for one in simulations(query, event.term)
    ]
