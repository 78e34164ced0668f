"""A machine over stages, as it is meant: states, edges between them, registers, and what is told when a state is met.

A stage has any number of events. A configuration is a state and what its registers hold; at a stage each takes all
edges that it can, at most one for each choice of events, and what comes of it is a set. `START` is a configuration
without registers that is always there. Who *arrives* at a state meets its outcomes at once: a condition that holds lets
it rest in a state, until the next stage or for ever, or tells a head.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from acelera.language.ast import Expression
from acelera.language.types import Type

START = 0
"""The state of which there is always one configuration, without registers."""


# --- what conditions speak of -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Input(Expression):
    """What is read of the event at hand: one of the slots of its table."""

    slot: int


@dataclass(frozen=True, eq=False, repr=False)
class Held(Expression):
    """What a register holds; NULL if it holds nothing."""

    register: int


@dataclass(frozen=True, eq=False, repr=False)
class Total(Expression):
    """The value of the aggregate whose state a register holds."""

    register: int


Leaf = Input | Held | Total


# --- parts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Table:
    """Events with the same slots: the changes of a relation, or derived events.

    The events of a machine's own heads have a slot for each argument, then those of the stage (`Machine.stage_slots`).
    """

    name: str
    slots: tuple[Type, ...]
    derived: bool = False


@dataclass(frozen=True)
class Register:
    """A value, or the state of an aggregate of values of the type `given`; `type` is what is read of it."""

    name: str
    type: Type
    owner: int  # registers of different owners never meet in a configuration, and may stand in the same place
    aggregate: str | None = None
    given: Type | None = None


@dataclass(frozen=True)
class Condition:
    """What must be TRUE, unless one of some registers holds nothing."""

    expression: Expression
    unless: tuple[int, ...] = ()


@dataclass(frozen=True)
class Store:
    """Put a value into a register; `once`: only if it holds nothing."""

    register: int
    value: Expression
    once: bool = False


@dataclass(frozen=True)
class Fold:
    """One more value for an aggregate. NULL is left out; every event counts if there is no value."""

    register: int
    value: Expression | None


@dataclass(frozen=True)
class Step:
    """An event of the stage, of a table and of types from one to another; first conditions, then folds, conditions
    that look at them, stores, and conditions on all that was taken.

    `first` is the number of a flag: the step is not taken if such an event was there at an earlier stage.
    """

    table: int
    types: tuple[int, int]
    before: tuple[Condition, ...] = ()
    folds: tuple[Fold, ...] = ()
    after: tuple[Condition, ...] = ()
    stores: tuple[Store, ...] = ()
    last: tuple[Condition, ...] = ()
    first: int | None = None
    taken: bool = True  # whether the event counts as taken, for guards


@dataclass(frozen=True)
class Edge:
    """From a state to the arrival at another: registers are moved and cleared, then a combination of events taken.

    `absences` are steps for which there must be no combination. `tests` look at all that was taken. `loops` and
    `begins` are guards: what loops is entered, what begins is refused if the same was entered.
    """

    source: int
    target: int
    moves: tuple[tuple[int, int], ...] = ()
    clears: tuple[int, ...] = ()
    flags: tuple[int, ...] = ()
    absences: tuple[tuple[Step, ...], ...] = ()
    steps: tuple[Step, ...] = ()
    tests: tuple[Condition, ...] = ()
    loops: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What an arrival comes to if its conditions hold: it rests in a state, or tells heads."""

    conditions: tuple[Condition, ...]
    state: int | None = None
    heads: tuple[int, ...] = ()


@dataclass(frozen=True)
class State:
    """A state; `waits` if configurations stay in it for ever, or as long as `expires` says.

    `expires` is a register that holds a time and how many nanoseconds later the configuration is of no use. `initial`:
    an arrival at stage 0 is there from the beginning.
    """

    name: str
    outcomes: tuple[Outcome, ...] = ()
    waits: bool = False
    initial: bool = False
    expires: tuple[int, int] | None = None


@dataclass(frozen=True)
class Guard:
    """What must be the same for two configurations to look the same: values of registers."""

    name: str
    key: tuple[Expression, ...]


@dataclass(frozen=True)
class Head:
    """What is told: arguments, as a row of a set at each stage.

    `table` and `event` are set if it is an event of the same stage, too. `shown` is False for what is told to the
    machine alone.
    """

    name: str
    arguments: tuple[Expression, ...]
    types: tuple[Type, ...]
    table: int | None = None
    event: int | None = None
    shown: bool = True


@dataclass(frozen=True)
class Phase:
    """Edges that are taken together; again as long as there are new events, if it `repeats`."""

    edges: tuple[int, ...]
    repeats: bool = False


@dataclass(frozen=True)
class Machine:
    """All of it. Event types are numbered, each belongs to a table; `firsts` are the types that flags stand for."""

    tables: tuple[Table, ...]
    event_types: tuple[int, ...]  # the table of each
    registers: tuple[Register, ...]
    states: tuple[State, ...]
    edges: tuple[Edge, ...]
    guards: tuple[Guard, ...]
    heads: tuple[Head, ...]
    phases: tuple[Phase, ...]
    stage_slots: tuple[Type, ...] = ()
    firsts: tuple[int, ...] = ()
    live: tuple[frozenset[int], ...] = field(default=())  # for each state the registers that matter
