"""The abstract syntax of rules over changes: frozen nodes, one for each construct; spans do not take part in equality.

Expressions are those of queries (`acelera.language.ast`). As written, a term `X.A` is an `Attribute`, an aggregate or a
function is a `Call`, and the variable of `Count(X)` an `Attribute` without a variable; `resolved` tells what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from acelera.language.ast import Expression
from acelera.language.tree import Node as Node
from acelera.language.tree import children as children
from acelera.language.tree import fold as fold
from acelera.language.tree import rebuilt as rebuilt
from acelera.language.tree import walk as walk

KINDS = ("insert", "update", "delete")
"""What happens to a row; `ins`, `upd` and `del` are read as these."""


# --- goals: what happens --------------------------------------------------------------------------------------------


class Goal(Node):
    """An event, or a condition between events."""

    family: ClassVar[type[Node]]


Goal.family = Goal


@dataclass(frozen=True, eq=False, repr=False)
class Named(Goal):
    """`update(owns(X), c, …)`, `st(X, c, …)`, `Watch.alarm`, `st`: an event as it is written.

    Without a kind the name is an alias, a relation or a derived event. Conditions between commas are joined by AND.
    """

    kind: str | None
    module: str | None
    name: str
    variable: str | None = None
    condition: Expression | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Any(Goal):
    """`any`: an event of the universe."""


@dataclass(frozen=True, eq=False, repr=False)
class Not(Goal):
    """`!goal`."""

    goal: Goal


@dataclass(frozen=True, eq=False, repr=False)
class Both(Goal):
    """`goal & goal & …`: at one stage."""

    goals: tuple[Goal, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Either(Goal):
    """`{goal, goal, …}`: one of them."""

    goals: tuple[Goal, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Sequence(Goal):
    """`(goal, goal, …)`, each at the next stage; relaxed, `[goal, goal, …]`, at a later one. Tests stand among them.

    A sequence of one goal without a test is the goal itself: brackets leave no node.
    """

    goals: tuple[Goal, ...]
    relaxed: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Test(Goal):
    """A condition-only goal, where the goal before it is completed."""

    condition: Expression


@dataclass(frozen=True, eq=False, repr=False)
class Star(Goal):
    """`*goal`, maximal; `*:goal` takes every instance."""

    goal: Goal
    every: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class First(Goal):
    """`first(goal)`."""

    goal: Goal


@dataclass(frozen=True, eq=False, repr=False)
class Prior(Goal):
    """`prior(earlier, later)`."""

    earlier: Goal
    later: Goal


# --- rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Act(Node):
    """`name(argument, …)`: a derived event, `write`, `sql`, or a function by its name."""

    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Command(Node):
    """An SQL command: its text with `?` for each term that is bound as a parameter."""

    text: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Node):
    """`name: goal -> action, …`."""

    name: str
    goal: Goal
    actions: tuple[Act | Command, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Source(Node):
    """`update(owns) as o`, `owns`, `Watch.alarm`: what a module monitors."""

    kind: str | None
    module: str | None
    name: str
    alias: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Declared(Node):
    """`derived name(attribute, …)`."""

    name: str
    attributes: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Module(Node):
    """Rules over the events that they monitor; `partition` are the attributes of `partition by`."""

    name: str
    monitored: tuple[Source, ...]
    partition: tuple[str, ...]
    derived: tuple[Declared, ...]
    rules: tuple[Rule, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Program(Node):
    """Modules."""

    modules: tuple[Module, ...]
