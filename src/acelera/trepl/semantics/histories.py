"""Histories: the stages that a module sees, for each key, and the events in them (contract, section 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from acelera.language.aggregates import canonical
from acelera.language.events import Value
from acelera.trepl.history import Change
from acelera.trepl.resolved import EventType, Module

Key = tuple[Value, ...]
"""The values of `partition by`."""


@dataclass(frozen=True, eq=False)
class Event:
    """A change or a derived event; `cells` has the values by side (`new`, `old`) and attribute."""

    type: EventType
    timestamp: Value
    cells: Mapping[tuple[str, str], Value]

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        return self.type, self.timestamp, frozenset(self.cells.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Event) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)


class Happened(NamedTuple):
    """An event at an instant."""

    instant: Any
    event: Event


class Stage(NamedTuple):
    """All monitored events of one instant; `timestamp` is the largest of theirs."""

    number: int
    instant: Any
    timestamp: Value
    events: frozenset[Event]


def basic(change: Change) -> Happened:
    """A change of a row as an event."""
    cells = {
        (side, name): canonical(value)
        for side, row in (("new", change.new), ("old", change.old))
        for name, value in (row or {}).items()
    }
    return Happened(change.instant, Event(EventType(change.kind, change.relation), change.timestamp, cells))


def derived(kind: EventType, attributes: Iterable[str], values: Iterable[Value], timestamp: Value) -> Event:
    """A derived event; its attributes are new ones."""
    cells = {("new", name): value for name, value in zip(attributes, values, strict=True)}
    return Event(kind, timestamp, cells)


def histories(module: Module, happened: Iterable[Happened]) -> dict[Key, list[Stage]]:
    """The stages of each key: what the module monitors, numbered by rank of the instant."""
    instants: dict[Key, dict[Any, set[Event]]] = {}
    for instant, event in happened:
        if event.type in module.universe:
            instants.setdefault(_key(module.partition, event), {}).setdefault(instant, set()).add(event)
    return {key: _ranked(those) for key, those in instants.items()}


def _key(partition: Sequence[str], event: Event) -> Key:
    side = "old" if event.type.kind == "delete" else "new"
    return tuple(event.cells.get((side, name)) for name in partition)


def _ranked(instants: Mapping[Any, set[Event]]) -> list[Stage]:
    return [
        Stage(number, instant, max(each.timestamp for each in instants[instant]), frozenset(instants[instant]))
        for number, instant in enumerate(sorted(instants), 1)
    ]
