"""What is known of a variable without data: how many events it can hold, and which attributes they have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from acelera.language.types import Type, unify


@dataclass(frozen=True)
class Bounds:
    """At least `low` and at most `high` events."""

    low: int
    high: float

    def __add__(self, other: Bounds) -> Bounds:
        return Bounds(self.low + other.low, self.high + other.high)

    def either(self, other: Bounds) -> Bounds:
        """One or the other."""
        return Bounds(min(self.low, other.low), max(self.high, other.high))

    def both(self, other: Bounds) -> Bounds:
        """What satisfies one and the other."""
        return Bounds(max(self.low, other.low), min(self.high, other.high))

    def merged(self, other: Bounds) -> Bounds:
        """A union in which the same event may be on both sides."""
        return Bounds(max(self.low, other.low), self.high + other.high)

    def repeated(self) -> Bounds:
        """One or more times."""
        return Bounds(self.low, math.inf if self.high else 0)

    def times(self, low: int, high: int | None) -> Bounds:
        """From `low` to `high` times; None is any number."""
        most = math.inf if high is None else high
        return Bounds(self.low * low, self.high * most if self.high else 0)

    def perhaps(self) -> Bounds:
        """These, or none."""
        return Bounds(0, self.high)

    def __str__(self) -> str:
        if (self.low, self.high) == (1, 1):
            return "exactly one"
        if self.high == 0:
            return "none"
        if self.high == 1:
            return "at most one"
        return "at least one" if self.low else "any number"


NONE = Bounds(0, 0)
ONE = Bounds(1, 1)


@dataclass(frozen=True)
class Origin:
    """Where events come from, in words, and whether they were `made` rather than read."""

    label: str
    made: bool = False


@dataclass(frozen=True)
class Variable:
    """What a variable can hold.

    `sources` are what its events come from: event types of the stream, and what makes events. `complete` tells whether
    the attributes are all known. `from_stream` tells whether it can hold events of the stream, which have a type.
    """

    bounds: Bounds
    attributes: Mapping[str, Type] = field(default_factory=dict)
    sources: tuple[Origin, ...] = ()
    complete: bool = True
    from_stream: bool = False

    def with_bounds(self, bounds: Bounds) -> Variable:
        """The same events, another number of them."""
        return (
            self
            if bounds == self.bounds
            else Variable(bounds, self.attributes, self.sources, self.complete, self.from_stream)
        )

    def joined(self, other: Variable, bounds: Bounds) -> Variable:
        """Events of both; an attribute that has no common type keeps the first one (see `clash`)."""
        if self is EMPTY or other is EMPTY:  # as for most variables of a long sequence
            return (other if self is EMPTY else self).with_bounds(bounds)
        attributes = dict(self.attributes)
        for name, kind in other.attributes.items():
            known = attributes.get(name, kind)
            attributes[name] = unify(known, kind) or known
        sources = tuple(dict.fromkeys(self.sources + other.sources))
        complete = self.complete and other.complete
        return Variable(bounds, attributes, sources, complete, self.from_stream or other.from_stream)

    def clash(self, other: Variable) -> tuple[str, Type, Type] | None:
        """An attribute that has types here and there that no column can hold together."""
        for name, kind in other.attributes.items() if self.attributes else ():
            if name in self.attributes and unify(self.attributes[name], kind) is None:
                return name, self.attributes[name], kind
        return None

    @property
    def where(self) -> str:
        """The events it holds, in words."""
        return " or ".join(dict.fromkeys(each.label for each in self.sources)) or "it"


EMPTY = Variable(NONE)


@dataclass(frozen=True)
class Bindings:
    """The variables of a formula in order of first appearance, and how many different events they hold together.

    `empty` tells whether the formula may be left out, as an optional part.
    """

    variables: Mapping[str, Variable]
    support: Bounds
    empty: bool = False

    def counted(self, change: Callable[[Bounds], Bounds], empty: bool) -> Bindings:
        """The same variables with other numbers of events."""
        variables = {name: variable.with_bounds(change(variable.bounds)) for name, variable in self.variables.items()}
        return Bindings(variables, change(self.support), empty)

    def get(self, name: str) -> Variable:
        """What is known of a variable; nothing is bound to one that does not occur."""
        return self.variables.get(name, EMPTY)

    def bound(self) -> list[str]:
        """The variables that can hold an event."""
        return [name for name, variable in self.variables.items() if variable.bounds.high]


def names_of(*bindings: Bindings) -> Iterable[str]:
    """All variables of several formulas, in order."""
    return dict.fromkeys(name for each in bindings for name in each.variables)
