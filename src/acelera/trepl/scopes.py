"""Which variables a goal of a rule can see, and why it does not see the others (contract, section 3; [P], table 3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from acelera.trepl.resolved import EventType


class Unseen(NamedTuple):
    """Why a variable of the rule is not known at a place."""

    message: str
    hint: str | None = None


ELSEWHERE = Unseen("{} is not known here: it is bound in another part of & / {{}} / prior, or under !")
DROPPED = Unseen("{{…}} keeps no variables: derive one event in two rules instead", "{} is bound in one of its parts")
INNER = Unseen("{} is bound in a star inside a star, and known only there")
LATER = Unseen("{} is not known here: it is bound later", "a goal sees the variables of the goals before it")
NEGATED = Unseen("a negated composite cannot use {}: derive an event", "derive what must not be, and negate that")
FIRST = Unseen("first(E) cannot use {}", "it is about the first E of all; derive an event, or say it by a star and `!`")

OWN_SCOPE = (NEGATED, FIRST)
"""A variable that is unseen for these reasons is bound outside, so that its name is taken."""


@dataclass(frozen=True)
class Bound:
    """A variable: its name in the whole rule, the types of its event, and the star in whose rounds it is bound."""

    variable: str
    types: tuple[EventType, ...]
    star: int | None


@dataclass(frozen=True)
class Exports:
    """What a goal leaves to those after it: variables that they see, and those that they do not."""

    known: Mapping[str, Bound] = field(default_factory=dict)
    unseen: Mapping[str, Unseen] = field(default_factory=dict)

    def hidden(self, why: Unseen) -> Exports:
        """The same without anything to be seen."""
        return Exports({}, {**self.unseen, **dict.fromkeys(self.known, why)})

    def and_then(self, other: Exports) -> Exports:
        """What both leave; what the other binds is seen, even if one of the same name is not."""
        known = {**self.known, **other.known}
        unseen = {**self.unseen, **other.unseen}
        return Exports(known, {name: why for name, why in unseen.items() if name not in known})


@dataclass(frozen=True)
class Scope:
    """What a goal can see, and where it stands.

    `leading`: nothing comes before it in its rule. `star` is the innermost star whose rounds keep what is bound here,
    `around` are all stars around, `barred` those of them that have a `!` between themselves and the place.
    """

    known: Mapping[str, Bound] = field(default_factory=dict)
    unseen: Mapping[str, Unseen] = field(default_factory=dict)
    leading: bool = True
    star: int | None = None
    around: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()

    def after(self, exports: Exports) -> Scope:
        """The scope of what follows a goal."""
        both = Exports(self.known, self.unseen).and_then(exports)
        return replace(self, known=both.known, unseen=both.unseen)

    def without(self, names: Iterable[str], why: Unseen) -> Scope:
        """The same where variables that are bound elsewhere are not seen."""
        taken = {name for name, other in self.unseen.items() if other in OWN_SCOPE}
        others = {name: why for name in names if name not in self.known and name not in taken}
        return replace(self, unseen={**self.unseen, **others})

    def closed(self, why: Unseen) -> Scope:
        """The scope of what looks at nothing outside."""
        return Scope({}, {**self.unseen, **dict.fromkeys(self.known, why)})

    def in_star(self, star: int) -> Scope:
        """The scope of the body of a star."""
        return replace(self, leading=False, star=star, around=self.around | {star})

    def under_not(self) -> Scope:
        """The scope of a point under `!`: no round keeps what is bound there."""
        return replace(self, leading=False, star=None, barred=self.around)

    def in_either(self) -> Scope:
        """The scope of the parts of `{…}`: no round keeps what is bound there."""
        return replace(self, star=None)
