"""What terms are compiled to: instructions of the stack machine, and the tables that they refer to.

A value is a 64-bit number with a tag. What the number means is known beforehand: an integer (also a boolean, a date, a
time in the plan's unit), the bits of a float, or the number of a string. A time that was computed is two numbers, so
that it cannot overflow (`wide_times`). A register is a tag and one to three numbers.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from acelera.automata.terms import Term
from acelera.engine.plan import Action
from acelera.engine.registers import opcodes as op
from acelera.language.types import Kind

Ints = npt.NDArray[Any]


class Form(enum.Enum):
    """What a number stands for."""

    INT = "integer"
    FLOAT = "float"
    STRING = "string"


FORMS = {
    Kind.INT: Form.INT,
    Kind.BOOL: Form.INT,
    Kind.FLOAT: Form.FLOAT,
    Kind.STRING: Form.STRING,
    Kind.TIMESTAMP: Form.INT,
    Kind.DATE: Form.INT,
    Kind.DURATION: Form.INT,
    Kind.DECIMAL: Form.INT,
}
NO_INSTRUCTION = "there is no instruction"
"""Why a term is refused, where nothing more can be said."""

TIMES = (Kind.TIMESTAMP, Kind.DURATION)
UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

COMPARISONS = {"=": op.EQ, "<>": op.NE, "<": op.LT, "<=": op.LE, ">": op.GT, ">=": op.GE}


@dataclass(frozen=True)
class Cell:
    """A register: where its tag stands in a configuration, how many numbers follow, and what they are."""

    at: int
    width: int
    kind: Kind
    function: str | None = None
    given: Kind = Kind.INT
    wide: bool = False  # whether it is a time that was computed


@dataclass(frozen=True)
class Universal:
    """A predicate that must hold for all combinations of members of sets.

    `sets` are the registers that hold the sets: where each stands, how many values its members have, and where these
    values go for the instructions, which read them as those of a configuration.
    """

    code: tuple[int, int]
    sets: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Input:
    """What instructions read of an event: an attribute, or an expression that is evaluated beforehand."""

    term: Term
    kind: Kind


@dataclass(frozen=True)
class Code:
    """The instructions of all edges of a plan, and the tables that they refer to.

    `assign` and `marked` are ranges of instructions for each edge: the first computes the registers and tells whether
    the conditions hold, the second leaves the values that the action stores. `universal` are conditions over sets.
    """

    code: Ints
    assign: list[tuple[int, int]]
    marked: list[tuple[int, int]]
    universal: list[list[Universal]]
    constants: Ints
    constant_tags: Ints
    texts: list[str]
    inputs: list[Input]
    unit: str
    width: int
    stored: dict[Action, tuple[Kind, ...]]
    stored_width: int
    stack_size: int
    cells: dict[str, Cell]
    set_cells: list[int]  # where sets stand in a configuration
    members: dict[str, tuple[Kind, ...]]  # for each register that holds a set, what its members are
    member_kinds: list[tuple[Kind, ...]]  # the same, by their numbers
    scale: int  # of decimals

    @property
    def member_width(self) -> int:
        """How many numbers a member of a set is: a tag and a number for each value, and which kinds these are of."""
        return 2 * max((len(kinds) for kinds in self.member_kinds), default=1) + 1

    @property
    def text_cells(self) -> list[tuple[int, int]]:
        """Where the tags and the numbers of strings stand in a configuration."""
        return [
            (cell.at, cell.at + 1 + (cell.function in ("first", "last")))  # before these stands their position
            for name, cell in self.cells.items()
            if cell.kind is Kind.STRING and name not in self.members
        ]

    @property
    def orders_texts(self) -> bool:
        """Whether it matters which of two strings comes first."""
        return any(_orders_texts(*instruction) for instruction in self.code.tolist())


def _orders_texts(what: int, a: int, b: int, _: int) -> bool:
    if what in (op.COMPARE, op.COMPARE_IF_SET):
        return b == op.STRINGS and a not in (op.EQ, op.NE)
    if what in (op.LARGEST, op.SMALLEST):
        return b == op.STRINGS
    function, flavour = divmod(b, op.FLAVOURS)
    return what == op.FOLD and flavour == op.STRINGS and function != op.COUNT


def flavour(kind: Kind) -> int:
    """Which numbers an instruction works on."""
    form = FORMS.get(kind, Form.INT)
    if kind in TIMES:
        return op.TIMES
    return {Form.INT: op.INTEGERS, Form.FLOAT: op.FLOATS, Form.STRING: op.STRINGS}[form]
