"""Totals over what AGG makes, without a register: values are taken one by one, as they are folded.

*Added*: the sum over all matches of what is itself a sum, or a count, is the sum of all values.

*Carried*: the largest of all sums is found by carrying the largest one of all partial matches that go on alike: what
comes later is added to each of them, and the largest stays the largest. So it is for the smallest, and for counts,
minima and maxima. In numbers: max and plus, or min and max, make a semiring.

What is carried for the fold that is open, of a set of partial matches: the best of them (an ordinary best number, with
the flag that there is one), and a flag that for some of them nothing was folded yet. If neither is there, all have met
a NULL. When the fold is closed, the best goes into the total, and another fold may begin. Who reads a match backwards
meets the closing first, then the values, and then an earlier closing or the beginning of the match; for what has met no
closing yet, neither flag is there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from acelera.automata.terms import Attr, Const, Term
from acelera.engine.nodes import components as op
from acelera.engine.plan import Action, Fold, Plan, fold_under, marks_of
from acelera.engine.summaries.recipes import (
    ANYTHING,
    FLOAT,
    TEXT,
    Builder,
    Given,
    Operation,
    Recipe,
    Total,
    flavour_of,
    form_of,
    recipe_of,
    said,
)
from acelera.language.lowering import UnsupportedError
from acelera.language.summary import TotalValue

_COUNTED = {op.SUM: op.COUNT, op.REAL_SUM: op.REAL_COUNT}
_FOLDED = {"sum": op.FOLD_SUM, "count": op.FOLD_COUNT, "min": op.FOLD_LEAST, "max": op.FOLD_MOST}
_TURNED = {"min": (False,), "max": (True,), "range": (False, True)}


def fold_of(value: TotalValue, plan: Plan) -> int | None:
    """The fold whose values a total takes one by one, rather than what each match makes of them."""
    return fold_under(plan, value.total)


def carried(value: TotalValue) -> bool:
    """Whether the best value is asked for, rather than a sum."""
    return value.total.function.lower() in _TURNED


def folded_total(value: TotalValue, index: int, plan: Plan, builder: Builder, backwards: bool) -> FoldedTotal:
    """What becomes of a total over a fold."""
    recipe, fold = recipe_of(value, builder), plan.folds[index]
    if not carried(value):
        return AddedTotal(recipe, index, fold, builder)
    return _carried(recipe, index, fold, builder, backwards)


@dataclass(frozen=True)
class FoldedTotal(ABC):
    """A total over a fold: its recipe, as of any values; the number of the fold, and what it is."""

    recipe: Recipe
    index: int
    fold: Fold
    builder: Builder

    @property
    def total(self) -> Total:
        """How it is read off components."""
        return self.recipe.total

    @abstractmethod
    def operations(self, action: Action) -> list[Operation]:
        """What an action adds."""

    def _given(self, action: Action) -> list[Term]:
        """The values that an action folds."""
        return [term for step in action.folds if step.fold == self.index for term in step.given]

    def _column(self, term: Term) -> int:
        """The column that a value stands in; -1 if it is no column, but counts whatever it is."""
        counts = self.fold.function == "count"
        form = ANYTHING if counts else self.recipe.form
        if isinstance(term, Attr) or term == Const(None):
            return self.builder.column(Given(term.name if isinstance(term, Attr) else None, form))
        if not counts:
            raise UnsupportedError(f"{said(self.total.value)} is over constants that AGG has folded")
        return -1


class AddedTotal(FoldedTotal):
    """A sum, or a mean: values are added, and the events that are made of them are counted."""

    def operations(self, action: Action) -> list[Operation]:
        """What an action adds."""
        found = list[Operation]()
        null = -1 if self.fold.ignore_nulls or self.total.flag is None else self.total.flag
        for _ in marks_of(action, self.total.value.total.variable or ""):
            found += [(kind, at, -1, -1, flag, 0, 0) for kind, at, flag, _, _ in self._steps(counting=True)]
        for term in self._given(action):
            for kind, at, flag, flavour, second in self._steps(counting=False):
                kind = _COUNTED[kind] if self.fold.function == "count" else kind
                found.append((kind, at, self._column(term), null, flag, flavour, second))
        return found

    def _steps(self, counting: bool) -> list[tuple[int, int, int, int, int]]:
        return [step for step in self.recipe.steps if (step[0] == op.REAL_COUNT) == counting]


@dataclass(frozen=True)
class Extreme:
    """The best of all partial matches, in one order: the number that is the total's, the one that is carried, in a
    flavour, and the flag that nothing was folded yet for some. `told`: the total itself takes it, and not only whether
    it is NaN.
    """

    best: int
    carried: int
    empty: int
    flavour: int
    told: bool = True


@dataclass(frozen=True)
class CarriedTotal(FoldedTotal):
    """A smallest or largest value, or the range of both."""

    extremes: tuple[Extreme, ...]
    backwards: bool

    @property
    def closings(self) -> list[Operation]:
        """What closes a fold."""
        null = -1 if self.total.flag is None else self.total.flag
        end = op.FOLD_END if self.fold.function in ("min", "max") else op.FOLD_END_OR_ZERO
        return [
            (end if each.told else op.FOLD_NAN, each.carried, -1, null, each.empty, each.flavour, each.best)
            for each in self.extremes
        ]

    def operations(self, action: Action) -> list[Operation]:
        """What an action adds."""
        values = []
        for term in self._given(action):
            kind, column = _FOLDED[self.fold.function], self._column(term)
            null = op.KEPT if self.fold.ignore_nulls else op.FORGOTTEN if self.total.flag is None else self.total.flag
            values += [(kind, each.carried, column, null, each.empty, each.flavour, 0) for each in self.extremes]
        closed = any(step.fold == self.index and step.closes for step in action.folds)
        closings = self.closings if closed else []
        return [*closings, *reversed(values)] if self.backwards else [*values, *closings]


def _carried(recipe: Recipe, index: int, fold: Fold, builder: Builder, backwards: bool) -> CarriedTotal:
    value = recipe.total.value
    assert value.given is not None
    form = form_of(value.given)
    if form == TEXT:
        raise UnsupportedError(f"{said(value)} is over texts that AGG has chosen")
    turned = _TURNED[value.total.function.lower()]
    extremes = []
    for best, each in zip(recipe.total.at, turned, strict=True):
        extremes.append(_extreme(best, flavour_of(form, each), builder))
    if form == FLOAT and fold.function == "sum" and len(turned) == 1:  # infinities of both signs may be added
        other = _extreme(recipe.total.at[0], flavour_of(form, not turned[0]), builder)
        extremes.append(replace(other, told=False))
    return CarriedTotal(recipe, index, fold, builder, tuple(extremes), backwards)


def _extreme(best: int, flavour: int, builder: Builder) -> Extreme:
    found = Extreme(best, builder.another_best(op.NUMBER), builder.flag(), flavour)
    builder.fresh |= 1 << found.empty
    return found
