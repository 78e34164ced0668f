"""Which components a summary needs, what each event adds to them, and how totals are read off."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr, Const
from acelera.engine.frames import attribute_type
from acelera.engine.nodes import components as op
from acelera.engine.nodes.vector_arena import Shape
from acelera.engine.plan import Action, Plan, as_column, marks_of, stored_fields
from acelera.engine.registers.code import Code
from acelera.engine.summaries.inner_folds import CarriedTotal, fold_of, folded_total
from acelera.engine.summaries.recipes import (
    ANYTHING,
    MISSING,
    TEXT,
    WHOLE,
    Builder,
    Given,
    Operation,
    Recipe,
    Step,
    Total,
    recipe_of,
    said,
    settled,
)
from acelera.language import ast
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema
from acelera.language.summary import Summarized, TotalValue
from acelera.language.types import Kind, Type

_STORED = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL})


@dataclass(frozen=True)
class Layout:
    """The components of a summary.

    `operations` are what each action adds, and after all of them what the values add that each action stores.
    `closings` are what is done where matches begin, for who reads them backwards.
    """

    shape: Shape
    totals: tuple[Total, ...]
    columns: tuple[Given, ...]
    operations: tuple[tuple[Operation, ...], ...]
    closings: tuple[Operation, ...] = ()

    @property
    def carries(self) -> bool:
        """Whether something is carried along that is known only from the beginning of a match, or from its end."""
        return bool(self.closings)


def layout_of(
    summary: Summarized, plan: Plan, code: Code | None, schema: Schema, parts: int, backwards: bool = False
) -> Layout:
    """The components that a summary needs; an UnsupportedError if there are none for one of its totals.

    Matches are read from their beginning to their end, or `backwards`.
    """
    builder = Builder(schema)
    folds = [fold_of(total, plan) for total in summary.totals]
    made = [
        recipe_of(total, builder) if fold is None else folded_total(total, fold, plan, builder, backwards)
        for total, fold in zip(summary.totals, folds, strict=True)
    ]
    made = [settled(each, builder.sums) if isinstance(each, Recipe) else each for each in made]
    of_actions: list[list[Operation]] = [[] for _ in plan.actions]
    of_stored: list[list[Operation]] = [[] for _ in plan.actions]
    stored: list[tuple[int, int, Recipe]] = []
    for number, action in enumerate(plan.actions):
        for each in made:
            if not isinstance(each, Recipe):
                of_actions[number] += each.operations(action)
                continue
            for mark in _marks(action, each.total.value):
                given = _given(mark, each, builder, action, plan, code)
                if isinstance(given, Given):
                    column = builder.column(given) if each.total.value.total.attribute is not None else -1
                    of_actions[number] += _operations(each.steps, each.total, column)
                    if each.of_missing:
                        missing = builder.column(Given(given.attribute, MISSING))
                        of_actions[number] += _operations(each.of_missing, each.total, missing)
                else:
                    stored.append((number, given, each))
    for number, place, recipe in stored:  # columns of stored values come after those of events
        assert code is not None
        whole = code.stored[plan.actions[number]][place] is not Kind.FLOAT
        of_stored[number] += _operations(recipe.steps, recipe.total, len(builder.columns) + place, whole)
    operations = tuple(tuple(each) for each in (*of_actions, *of_stored))
    closings = tuple(each for one in made if isinstance(one, CarriedTotal) for each in one.closings)
    fresh = 0 if backwards else builder.fresh
    best, flags, spread = tuple(builder.best), tuple(builder.best_flag), len(builder.spread)
    shape = Shape(builder.whole, builder.sums + 2 * spread, best, flags, spread, parts, fresh)
    return Layout(shape, tuple(each.total for each in made), tuple(builder.columns), operations, closings)


def _marks(action: Action, total: TotalValue) -> tuple[Mark, ...]:
    return () if total.total.variable is None else marks_of(action, total.total.variable)


def _given(mark: Mark, recipe: Recipe, builder: Builder, action: Action, plan: Plan, code: Code | None) -> Given | int:
    """The column that a mark takes a value from, or the place among the values that its action stores."""
    attribute = recipe.total.value.total.attribute
    if attribute is None:
        return Given(None, ANYTHING)
    term = as_column(mark.attribute(attribute))
    if term == Const(None):
        return Given(None, recipe.form)
    if isinstance(term, Attr):
        _refuse_other_types(attribute_type(term.name, builder.schema), recipe)
        return Given(term.name, recipe.form)
    if isinstance(attribute, ast.Computed):
        raise UnsupportedError(f"{said(recipe.total.value)} computes with what is made as it runs")
    if any(kind == op.AT_PLACE for kind, *_ in recipe.steps):
        raise UnsupportedError(f"{said(recipe.total.value)} asks where values stand that are made as it runs")
    place = stored_fields(action, plan).index((mark, attribute))
    kind = None if code is None else code.stored[action][place]
    if kind not in _STORED or recipe.form == TEXT or (recipe.form == WHOLE and kind is Kind.FLOAT):
        raise UnsupportedError(f"{said(recipe.total.value)} is over values that only Python computes")
    return place


def _refuse_other_types(found: Type, recipe: Recipe) -> None:
    """Values of a variable may come from several sorts of events; they are read in one way."""
    expected = recipe.total.value.given
    if expected is not None and found.kind is not expected.kind and found.kind is not Kind.NULL:
        raise UnsupportedError(f"{said(recipe.total.value)} is over values of several types")


def _operations(steps: Sequence[Step], total: Total, column: int, whole: bool = False) -> list[Operation]:
    """What a value in a column adds; floats may have been stored as whole numbers."""
    null = -1 if total.flag is None else total.flag
    return [
        (kind, component, column, null, flag, op.PLAIN if whole and flavour == op.FLOATING else flavour, second)
        for kind, component, flag, flavour, second in steps
    ]
