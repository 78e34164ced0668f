"""CERA, the algebra of complex events: relations with times, and operators that keep them.

A tuple has *data* (variables), *times* (`i.begin` and `i.end` for some identifiers i) and *references* (which event
stands for i; timers have none). The end of a tuple is the latest of its times. No operator drops a time before all are
merged into one, and none looks for what is not there but inside an interval that it has. So what ends by now follows
from what has ended by now (temporal preservation), and can be computed step by step.

Operators say what they are made of; whether that fits together is checked when they are built.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import ClassVar

import pyarrow as pa

from acelera.algebra.construction import Head
from acelera.algebra.expressions import Expression, attributes_of, text_of
from acelera.algebra.intervals import TIMERS
from acelera.algebra.patterns import Content, variables_of
from acelera.algebra.schedules import Schedule
from acelera.language.tree import Node, children, fold


@dataclass(frozen=True)
class Heading:
    """The attributes of a relation, by kind. `sources` are variables of which it is known which node they came from."""

    data: frozenset[str]
    times: frozenset[str]
    references: frozenset[str]
    sources: frozenset[str] = frozenset()

    @property
    def attributes(self) -> frozenset[str]:
        """What conditions may look at."""
        return self.data | {f"{each}.{end}" for each in self.times for end in ("begin", "end")}


class MisfitError(ValueError):
    """Operators that do not fit together: a mistake of whoever built them."""


def _demand(holds: bool, message: str) -> None:
    if not holds:
        raise MisfitError(message)


class Version(Enum):
    """Which tuples of what is stored: those of earlier steps, those of this one, or both."""

    OLD = "old"
    NEW = "new"
    ALL = "all"


class Relation(Node):
    """A relation, given by an operator and its operands."""

    family: ClassVar[type[Node]]

    def __post_init__(self) -> None:
        assert self.heading is not None  # which checks it

    @cached_property
    def heading(self) -> Heading:
        """Its attributes."""
        return self._heading()

    @abstractmethod
    def _heading(self) -> Heading:
        """Its attributes, after looking whether what it is made of fits together."""

    @property
    def line(self) -> str:
        """What it is in words, without what it is made of."""
        return type(self).__name__.lower()


Relation.family = Relation

MERGED = ""
"""The identifier of the one interval of a tuple whose times are merged."""


@dataclass(frozen=True, eq=False, repr=False)
class Choice(Node):
    """Events of a label, and what is asked of them."""

    label: str
    content: Content


@dataclass(frozen=True, eq=False, repr=False)
class Events(Relation):
    """Q[i: q]: a tuple for each event and each way to match one of some choices.

    `types` are those of the variables; a choice need not bind all, if some are optional. `sources` are variables of
    which the node is needed that they came from.
    """

    choices: tuple[Choice, ...]
    identifier: str
    types: tuple[tuple[str, pa.DataType], ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def labels(self) -> frozenset[str]:
        """The labels of the events that may match."""
        return frozenset(choice.label for choice in self.choices)

    def _heading(self) -> Heading:
        data = frozenset(name for name, _ in self.types)
        for choice in self.choices:
            unknown = set(variables_of(choice.content)) - data
            _demand(not unknown, f"{self.identifier} binds {', '.join(sorted(unknown))}, of which the type is not said")
        _demand(data >= set(self.sources), f"{self.identifier} has a source of a variable that it does not bind")
        one = frozenset({self.identifier})
        return Heading(data, one, one, frozenset(self.sources))


@dataclass(frozen=True, eq=False, repr=False)
class Clock(Relation):
    """The events of an absolute or a periodic timer, which nobody sends; `schedule` says when they happen."""

    identifier: str
    schedule: Schedule

    def _heading(self) -> Heading:
        one = frozenset({self.identifier})
        return Heading(frozenset(), one, one)


@dataclass(frozen=True, eq=False, repr=False)
class Stored(Relation):
    """What was computed before under a name, with its identifiers and variables called otherwise (ρ).

    `version` says which of it: what came before this step, what this step brought, or all.
    """

    name: str
    of: Relation
    renamed: tuple[tuple[str, str], ...] = ()
    version: Version = Version.ALL

    def _heading(self) -> Heading:
        names, before = dict(self.renamed), self.of.heading
        _demand(len(set(names.values())) == len(names), f"{self.name}: two names become one")

        def new(kind: frozenset[str]) -> frozenset[str]:
            found = frozenset(names.get(each, each) for each in kind)
            _demand(len(found) == len(kind), f"{self.name}: two names become one")
            return found

        return Heading(new(before.data), new(before.times), new(before.references), new(before.sources))


@dataclass(frozen=True, eq=False, repr=False)
class Timer(Relation):
    """Each tuple with a timer beside the event `anchor`, if that is an interval."""

    operand: Relation
    identifier: str
    kind: str
    anchor: str
    duration: int

    def _heading(self) -> Heading:
        before = self.operand.heading
        _demand(self.kind in TIMERS, f"there is no timer {self.kind}")
        _demand(self.anchor in before.times, f"{self.identifier} stands beside {self.anchor}, which is not there")
        _demand(self.identifier not in before.times, f"{self.identifier} is there already")
        return Heading(before.data, before.times | {self.identifier}, before.references, before.sources)


@dataclass(frozen=True, eq=False, repr=False)
class Join(Relation):
    """Pairs of tuples that agree in the variables that both have, if a condition holds; NULL agrees with nothing."""

    left: Relation
    right: Relation
    condition: Expression | None = None

    def _heading(self) -> Heading:
        left, right = self.left.heading, self.right.heading
        _demand(not left.times & right.times, "both sides of a join have the time of one event")
        both = Heading(
            left.data | right.data,
            left.times | right.times,
            left.references | right.references,
            left.sources | right.sources,
        )
        _check_condition(self.condition, both)
        return both


@dataclass(frozen=True, eq=False, repr=False)
class Collect(Relation):
    """Temporal join: pairs that agree, where the event of the right side happens while `window` does.

    The time and the reference of the right side are dropped, which the window makes up for.
    """

    left: Relation
    window: str
    right: Relation

    def _heading(self) -> Heading:
        left, right = _windowed(self.left, self.window, self.right)
        return Heading(left.data | right.data, left.times, left.references, left.sources | right.sources)


@dataclass(frozen=True, eq=False, repr=False)
class Absent(Relation):
    """Temporal anti-semi-join: tuples that agree with no event of the right side that happens while `window` does."""

    left: Relation
    window: str
    right: Relation

    def _heading(self) -> Heading:
        left, right = _windowed(self.left, self.window, self.right)
        _demand(right.data <= left.data, "what is absent binds a variable")
        return left


def _windowed(left: Relation, window: str, right: Relation) -> tuple[Heading, Heading]:
    _demand(window in left.heading.times, f"there is no {window} to happen in")
    _demand(len(right.heading.times) == 1, "what happens in a window has one time")
    return left.heading, right.heading


@dataclass(frozen=True, eq=False, repr=False)
class Select(Relation):
    """σ: tuples for which a condition is TRUE."""

    operand: Relation
    condition: Expression

    def _heading(self) -> Heading:
        _check_condition(self.condition, self.operand.heading)
        return self.operand.heading


@dataclass(frozen=True, eq=False, repr=False)
class Project(Relation):
    """π: only some of the variables; times and references stay."""

    operand: Relation
    kept: frozenset[str]

    def _heading(self) -> Heading:
        before = self.operand.heading
        _demand(self.kept <= before.data, "a projection keeps what is not there")
        return Heading(self.kept, before.times, before.references, before.sources & self.kept)


@dataclass(frozen=True, eq=False, repr=False)
class Merge(Relation):
    """µ: the smallest interval that covers all times, in place of them; references stay, for grouping."""

    operand: Relation

    def _heading(self) -> Heading:
        before = self.operand.heading
        return Heading(before.data, frozenset({MERGED}), before.references, before.sources)


@dataclass(frozen=True, eq=False, repr=False)
class Derive(Relation):
    """C[h]: events made of the tuples that have the same references and times; equal ones are one."""

    operand: Relation
    head: Head

    def _heading(self) -> Heading:
        before = self.operand.heading
        _demand(before.times == {MERGED}, "what is derived has one time: merge first")
        return Heading(frozenset(), frozenset({MERGED}), frozenset({MERGED}))


@dataclass(frozen=True, eq=False, repr=False)
class Parts(Relation):
    """A relation in parts that have no tuple in common, such as those that a step adds to a join."""

    operands: tuple[Relation, ...]

    def _heading(self) -> Heading:
        _demand(len({each.heading for each in self.operands}) == 1, "the parts of a relation have different attributes")
        return self.operands[0].heading


@dataclass(frozen=True, eq=False, repr=False)
class Union(Relation):
    """The events of several rules with one label."""

    operands: tuple[Relation, ...]

    def _heading(self) -> Heading:
        _demand(all(isinstance(each, Derive) for each in self.operands), "only events are brought together")
        return self.operands[0].heading


def _check_condition(condition: Expression | None, heading: Heading) -> None:
    if condition is not None:
        lacking = attributes_of(condition) - heading.attributes
        _demand(not lacking, f"a condition looks at {', '.join(sorted(lacking))}, which is not there")


# --- for people ---------------------------------------------------------------------------------------------------


def lines_of(relation: Relation) -> list[str]:
    """The operators, one a line, each before what it is made of; what is stored has lines of its own."""

    def combine(node: Relation, inner: Iterable[list[str]]) -> list[str]:
        return [_line(node), *(f"  {line}" for each in inner for line in each)]

    return fold(relation, combine, lambda node: () if isinstance(node, Stored) else children(node))


def _line(node: Relation) -> str:
    match node:
        case Events():
            labels, variables = " or ".join(sorted(node.labels)), ", ".join(sorted(node.heading.data))
            return f"events {labels} as {node.identifier}({variables})"
        case Clock():
            return f"clock {node.identifier}"
        case Stored():
            new = ", ".join(f"{after} for {before}" for before, after in node.renamed if before != after)
            return f"{node.name}" + (f" with {new}" if new else "")
        case Timer():
            return f"timer {node.identifier}: {node.kind} {node.anchor}, {node.duration} ticks"
        case Join():
            shared = ", ".join(sorted(node.left.heading.data & node.right.heading.data)) or "nothing"
            where = "" if node.condition is None else f" where {text_of(node.condition)}"
            return f"join on {shared}{where}"
        case Collect():
            return f"collect while {node.window}"
        case Absent():
            return f"none while {node.window}"
        case Select():
            return f"select {text_of(node.condition)}"
        case Project():
            return f"project to {', '.join(sorted(node.kept))}"
        case Merge():
            return f"merge {', '.join(sorted(node.operand.heading.times))}"
        case Derive():
            return f"derive {node.head.label}"
        case _:
            return node.line
