"""Programs whose names are known: what the meaning and the engine read.

Goals are those of `ast`, with `Simple` in the place of `Named`; sequences hold no sequences of their own kind that
could be one, tests stand only after a goal. Expressions are those of queries with four more leaves: `Field`, `Stamp`,
`Part` and `Aggregate`. An expression holds no `Attribute` any more, and no `Call` but of functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from acelera.language.ast import Expression
from acelera.language.tree import Node
from acelera.language.types import Type
from acelera.trepl.ast import Goal

PARTS = ("Date", "Time", "Year", "Month", "Day", "Hour", "Minute", "Second")
"""Parts of a timestamp. Year to Second are integers, Date is a date, Time a duration since midnight."""

UNIT_FUNCTIONS = ("years", "months", "days", "hours", "minutes", "seconds")
"""Functions of a timestamp: how many of the unit have begun since 1970, in the zone of the program."""

TIME_FUNCTIONS = (*UNIT_FUNCTIONS, "asctime")
"""Functions of a timestamp that queries do not have; `asctime` gives a text such as `Wed Aug 21 09:13:27 1996`."""


# --- terms ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Field(Expression):
    """`X.A`: an attribute of an event; `side` is `new` or `old`. Attributes of derived events are new ones."""

    variable: str
    side: str
    attribute: str


@dataclass(frozen=True, eq=False, repr=False)
class Stamp(Expression):
    """`X.Timestamp`."""

    variable: str


@dataclass(frozen=True, eq=False, repr=False)
class Part(Expression):
    """`X.Month`, or `X.Month + n`: a part (one of PARTS) of the timestamp of X, moved by so many of its units."""

    variable: str
    part: str
    moved: Expression | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate(Expression):
    """`Max(X.A)`: over the rounds of the innermost star that binds X. `Count(X)` has no argument.

    `function` is in small letters; the argument looks at X alone.
    """

    function: str
    variable: str
    argument: Expression | None


# --- goals ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class EventType(Node):
    """`kind` is insert, update, delete or derived; of a derived event `module` is the one that makes it."""

    kind: str
    name: str
    module: str | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Simple(Goal):
    """An event of one of these types, bound to a variable, for which a condition holds."""

    types: tuple[EventType, ...]
    variable: str | None = None
    condition: Expression | None = None


# --- rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Derive(Node):
    """Make a derived event of the rule's own module."""

    event: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Write(Node):
    """Write a message; with a format, or all arguments joined by blanks."""

    form: str | None
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Sql(Node):
    """Run a command of SQL, whose `?` are bound to the arguments."""

    text: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False, repr=False)
class CallFunction(Node):
    """Call a function that was registered by its name."""

    function: str
    arguments: tuple[Expression, ...]


Action = Derive | Write | Sql | CallFunction


@dataclass(frozen=True, eq=False, repr=False)
class Rule(Node):
    """A rule: `types` are the types of the arguments, for each action."""

    name: str
    goal: Goal
    actions: tuple[Action, ...]
    types: tuple[tuple[Type, ...], ...]


@dataclass(frozen=True)
class Module:
    """A module: the event types of its universe, the attributes that split it, its rules in strata.

    `derived` has for each derived event its attributes and their types; `strata` has the numbers of rules, those
    that settle first at a stage first.
    """

    name: str
    universe: tuple[EventType, ...]
    partition: tuple[str, ...]
    derived: Mapping[str, Mapping[str, Type]]
    rules: tuple[Rule, ...]
    strata: tuple[tuple[int, ...], ...]

    def argument_types(self, rule: Rule, action: int) -> tuple[Type, ...]:
        """What the arguments of an action are given as: those of an event, as all rules together derive it."""
        act = rule.actions[action]
        return tuple(self.derived[act.event].values()) if isinstance(act, Derive) else rule.types[action]


@dataclass(frozen=True)
class Relation:
    """What is known of a relation: the types of its attributes, whether its events have old values, and which column
    tells when they happen.
    """

    attributes: Mapping[str, Type]
    has_old: bool = True
    time: str | None = None


@dataclass(frozen=True)
class Program:
    """Modules, those that feed others first; `zone` is where parts of time are computed."""

    modules: tuple[Module, ...]
    relations: Mapping[str, Relation]
    timestamp: Type
    zone: str = "UTC"
