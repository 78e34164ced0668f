"""The components of one total, and what every value of it adds to them.

A total that no component stands for (a function of one's own, a product, a sum of decimals) needs values: see
`objects`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from acelera.engine.nodes import components as op
from acelera.language import ast
from acelera.language.lowering import UnsupportedError
from acelera.language.printer import print_expression
from acelera.language.schema import Schema
from acelera.language.summary import TotalValue
from acelera.language.types import Kind, Type

BY_PLACE = ("first", "last")
"""Totals that are the value of one event, which may be NULL."""
MOST_FLAGS = 60
"""So many flags have room in one number, besides that of failures."""
WIDEST_DECIMAL = 18
"""So many digits have room in 64 bits."""

WHOLE, FLOAT, TEXT, ANYTHING, MISSING = "whole", "float", "text", "anything", "missing"
"""How a column of the stream is read: as integers, as floats, as texts by number, or only whether it is NULL; the last
one is turned round, a value where there is none and NULL where there is one.
"""

_INTEGERS = frozenset({Kind.INT, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION, Kind.BOOL})


Operation = tuple[int, ...]
"""What an event adds, as numbers; see `nodes.components`."""


Step = tuple[int, int, int, int, int]
"""An operation without its column: kind, component, flag, flavour, second."""


@dataclass(frozen=True)
class Given:
    """A column that operations read: an attribute, None for one that no event has, and how it is read."""

    attribute: str | None
    form: str

    @property
    def said(self) -> str:
        """What is read, in words."""
        if isinstance(self.attribute, ast.Computed):
            return print_expression(self.attribute.expression)
        return str(self.attribute)


@dataclass(frozen=True)
class Total:
    """How a total is read off components: by its function, over these of them; `flag` says that a NULL was met."""

    value: TotalValue
    at: tuple[int, ...] = ()
    flag: int | None = None


@dataclass
class Builder:
    """What has been laid out so far."""

    schema: Schema
    flags: int = 0
    whole: int = 1
    real: int = 0
    spread: list[int] = field(default_factory=list)  # totals whose values spread, in order
    best: list[int] = field(default_factory=list)
    best_flag: list[int] = field(default_factory=list)
    columns: dict[Given, int] = field(default_factory=dict)
    fresh: int = 0  # the flags of a match that has marked nothing

    @property
    def sums(self) -> int:
        """How many sums of floats there are, without those of values that spread."""
        return max(self.real, 1 if self.spread else 0)

    def flag(self) -> int:
        """A new flag."""
        self.flags += 1
        if self.flags > MOST_FLAGS:
            raise UnsupportedError("there are too many totals")
        return self.flags - 1

    def another_whole(self) -> int:
        """A new sum of integers."""
        self.whole += 1
        return self.whole - 1

    def another_real(self) -> int:
        """A new sum of floats, beside the number of matches."""
        self.real = max(self.real, 1) + 1
        return self.real - 1

    def another_best(self, kind: int) -> int:
        """A new best number."""
        self.best.append(kind)
        self.best_flag.append(self.flag())
        return len(self.best) - 1

    def column(self, given: Given) -> int:
        """The number of a column."""
        return self.columns.setdefault(given, len(self.columns))


@dataclass(frozen=True)
class Recipe:
    """What every value of a total adds: for each, an operation without its column; and how the column is read.

    `of_missing` is what is added where there is none.
    """

    total: Total
    form: str
    steps: tuple[Step, ...]
    of_missing: tuple[Step, ...] = ()


def said(value: TotalValue) -> str:
    """A total as it was written."""
    return print_expression(value.total)


def recipe_of(value: TotalValue, builder: Builder) -> Recipe:
    """The components of a total, and what a value of it adds."""
    total, function = value.total, value.total.function.lower()
    if total.variable is None:
        if function == "log2_count":
            builder.real = max(builder.real, 1)
        return Recipe(Total(value), ANYTHING, ())
    flag = None if total.attribute is None or total.ignore_nulls or function in BY_PLACE else builder.flag()
    if function == "count":
        at = builder.another_whole()
        return Recipe(Total(value, (at,), flag), ANYTHING, ((op.COUNT, at, -1, 0, 0),))
    assert value.given is not None
    made = _MADE.get(function)
    if made is None:
        raise UnsupportedError(f"there are no numbers that can be added for {said(value)}")
    return made(value, function, flag, builder)


def _sum(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    assert value.given is not None
    kind = value.given.kind
    if kind in (Kind.INT, Kind.DURATION, Kind.NULL):
        at = builder.another_whole()
        return Recipe(Total(value, (at,), flag), WHOLE, ((op.SUM, at, -1, op.PLAIN, 0),))
    if kind is Kind.FLOAT:
        at = builder.another_real()
        return Recipe(Total(value, (at,), flag), FLOAT, ((op.REAL_SUM, at, -1, op.FLOATING, 0),))
    raise UnsupportedError(f"{said(value)} adds values of type {value.given}, which are no integers or floats")


def _average(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    total, number = builder.another_real(), builder.another_real()
    steps = ((op.REAL_SUM, total, -1, op.FLOATING, 0), (op.REAL_COUNT, number, -1, 0, 0))
    return Recipe(Total(value, (total, number), flag), FLOAT, steps)


def _spread(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    place = len(builder.spread)
    builder.spread.append(place)
    return Recipe(Total(value, (place,), flag), FLOAT, ((op.SPREAD, place, -1, op.FLOATING, place),))


def settled(recipe: Recipe, first: int) -> Recipe:
    """Numbers of values that spread stand after all other sums of floats."""
    if not recipe.steps or recipe.steps[0][0] != op.SPREAD:
        return recipe
    kind, place, flag, flavour, second = recipe.steps[0]
    total = Total(recipe.total.value, (first + 2 * place, place), recipe.total.flag)
    return Recipe(total, recipe.form, ((kind, first + 2 * place, flag, flavour, second),))


def form_of(given: Type) -> str:
    """How values are read whose order matters, or that are only carried."""
    if given.kind in _INTEGERS or given.kind is Kind.NULL:
        return WHOLE
    if given.kind in (Kind.FLOAT, Kind.STRING):
        return FLOAT if given.kind is Kind.FLOAT else TEXT
    if given.kind is Kind.DECIMAL and given.arrow.precision <= WIDEST_DECIMAL:
        return WHOLE
    raise UnsupportedError(f"values of type {given} do not fit into 64 bits")


def flavour_of(form: str, turned: bool) -> int:
    """How values are compared that are read in a form; `turned`: the largest is the best."""
    if form == FLOAT:
        return op.FLOATING_TURNED if turned else op.FLOATING
    return op.TURNED if turned else op.PLAIN


def _best(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    assert value.given is not None
    form, turned = form_of(value.given), function in ("max", "bool_or")
    if form == TEXT:
        at = builder.another_best(op.LAST_TEXT if turned else op.FIRST_TEXT)
        step = (op.TEXT, at, builder.best_flag[at], 0, 0)
    else:
        at = builder.another_best(op.NUMBER)
        step = (op.BEST, at, builder.best_flag[at], flavour_of(form, turned), 0)
    return Recipe(Total(value, (at,), flag), form, (step,))


def _range(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    assert value.given is not None
    form = form_of(value.given)
    if value.given.kind is Kind.DECIMAL:
        raise UnsupportedError(f"{said(value)} is a difference of decimals")
    low, high = builder.another_best(op.NUMBER), builder.another_best(op.NUMBER)
    steps = tuple(
        (op.BEST, at, builder.best_flag[at], flavour_of(form, turned), 0) for at, turned in ((low, False), (high, True))
    )
    return Recipe(Total(value, (low, high), flag), form, steps)


def _by_place(value: TotalValue, function: str, flag: int | None, builder: Builder) -> Recipe:
    assert value.given is not None
    form, last = form_of(value.given), function == "last"
    at = builder.another_best(op.PLACE)
    step = (op.AT_PLACE, at, builder.best_flag[at], flavour_of(form, last and form != TEXT), int(last))
    if value.total.ignore_nulls:
        return Recipe(Total(value, (at,)), form, (step,))
    missing = builder.another_best(op.NUMBER)
    of_missing = (op.AT_PLACE, missing, builder.best_flag[missing], op.PLAIN, int(last))
    return Recipe(Total(value, (at, missing)), form, (step,), (of_missing,))


_MADE = {
    "sum": _sum,
    "avg": _average,
    "variance": _spread,
    "stddev": _spread,
    "min": _best,
    "max": _best,
    "bool_and": _best,
    "bool_or": _best,
    "range": _range,
    "first": _by_place,
    "last": _by_place,
}
