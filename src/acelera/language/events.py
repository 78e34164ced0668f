"""Events, bags and complex events (paper 000, sections 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from acelera.errors import AggregateError
from acelera.language import ast
from acelera.language.aggregates import Failure, canonical

Value = Any
"""None (NULL), bool, int, float, str, Decimal; a timestamp or duration is a Moment, a date an int in days."""

STREAM: tuple[int, int] = (0, 0)
"""The origin of events that were in the stream; those made by the k-th AGG of the formula have the origin (1, k)."""


@dataclass(frozen=True)
class Event:
    """A mapping of attributes to values with the time at which it happens (the paper's pair (M, i)).

    The position is the paper's time. The origin tells made events apart from those of the stream; an attribute that
    is not defined is NULL.
    """

    position: int
    attributes: tuple[tuple[str, Value], ...]  # sorted by name, since a mapping has no order
    type: str | None = None
    time: int | None = None
    origin: tuple[int, int] = STREAM
    place: int | None = None  # what is shown as position, where the order column has that name

    def value(self, name: str) -> Value:
        """The value of an attribute, or of `position`, `time` or `type`."""
        return seen(self.raw(name))

    def raw(self, name: str) -> Value:
        """The same, without looking at an aggregate that failed."""
        for attribute, value in self.attributes:
            if attribute == name:
                return value
        place = self.position if self.place is None else self.place
        return {"position": place, "time": self.time, "type": self.type}.get(name)

    def project(self, names: Iterable[str], type_column: str | None) -> Event:
        """π over attributes: what remains of the event when only these attributes are kept."""
        kept = set(names)
        attributes = tuple((name, value) for name, value in self.attributes if name in kept)
        event_type = self.type if {"type", type_column} & kept else None
        return replace(self, attributes=attributes, type=event_type)

    def without_origin(self) -> Event:
        """The event as the paper compares it: attributes and time."""
        return replace(self, origin=STREAM)

    def sort_key(self) -> tuple[Any, ...]:
        """An order of events that only serves to write bags always in the same way."""
        return (
            self.position,
            self.origin,
            self.type is None,  # events of the stream before those that were made
            str(self.type),
            [(name, _sortable(value)) for name, value in self.attributes],
        )


def seen(value: Value) -> Value:
    """The value, which is looked at: an aggregate that failed is an error."""
    if isinstance(value, Failure):
        raise AggregateError(value.message)
    return value


def _sortable(value: Value) -> tuple[int, str]:
    """Equal values have equal keys, whatever their type."""
    if isinstance(value, int | float | Decimal) and math.isfinite(value):
        return (0, str(Fraction(value)))
    return (1, repr(value))


class Opaque:
    """A value that is only carried: a list, a map, bytes. Equal to itself alone."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Moment(int):
    """A timestamp or a duration in nanoseconds. Unlike other integers it may be larger than 64 bits."""


def made_event(
    position: int,
    attributes: Mapping[str, Value],
    event_type: str | None,
    time: int | None,
    origin: tuple[int, int] = STREAM,
    place: int | None = None,
) -> Event:
    """An event from a mapping of attributes to values."""
    values = tuple((name, canonical(attributes[name])) for name in sorted(attributes))
    return Event(position, values, event_type, time, origin, place)


Bag = tuple[Event, ...]
"""A bag as the sorted tuple of its events."""


def bag(events: Iterable[Event]) -> Bag:
    """The bag of these events, each as often as it is given."""
    return tuple(sorted(events, key=Event.sort_key))


@dataclass(frozen=True)
class ComplexEvent:
    """(start, end, μ). Variables with an empty bag are left out, so that equality is that of the paper."""

    start: int
    end: int
    bags: tuple[tuple[str, Bag], ...]

    def __call__(self, variable: str) -> Bag:
        """C(X)."""
        for name, events in self.bags:
            if name == variable:
                return events
        return ()

    @property
    def variables(self) -> list[str]:
        """The variables that hold something."""
        return [name for name, _ in self.bags]

    def events(self) -> list[Event]:
        """The events of all variables, as often as they are held."""
        return [event for _, events in self.bags for event in events]

    def assign(self, variable: str, events: Iterable[Event]) -> ComplexEvent:
        """The same with another bag for one variable."""
        bags = {**dict(self.bags), variable: bag(events)}
        return complex_event(self.start, self.end, bags)

    def union(self, other: ComplexEvent, once: bool = False) -> ComplexEvent:
        """C1 ⊎ C2; with `once`, an event that is on both sides is taken once."""
        bags = {}
        for name in {*self.variables, *other.variables}:
            together = self(name) + other(name)
            bags[name] = bag(set(together) if once else together)
        return complex_event(min(self.start, other.start), max(self.end, other.end), bags)

    def without_origins(self) -> ComplexEvent:
        """The complex event as the paper compares it."""
        bags = {name: bag(event.without_origin() for event in events) for name, events in self.bags}
        return complex_event(self.start, self.end, bags)


def within(window: ast.Within, first: Event, last: Event) -> bool:
    """WITHIN n EVENTS: end - start < n. WITHIN n unit: time(end) - time(start) <= n unit."""
    if window.unit == "events":
        return last.position - first.position <= window.reach
    assert first.time is not None and last.time is not None, "the checker asks for a stream with time"
    return last.time - first.time <= window.reach


def complex_event(start: int, end: int, bags: dict[str, Bag]) -> ComplexEvent:
    """A complex event from a mapping of variables to bags."""
    held = [(name, bags[name]) for name in sorted(bags) if bags[name]]
    return ComplexEvent(start, end, tuple(held))
