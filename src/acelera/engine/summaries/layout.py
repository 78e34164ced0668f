"""Which components a summary needs, what each event adds to them, and how totals are read off.

A total that no component stands for (a function of one's own, a product, a sum of decimals) needs values: see
`objects`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr, Const
from acelera.engine.frames import attribute_type
from acelera.engine.nodes import components as op
from acelera.engine.nodes.vector_arena import Shape
from acelera.engine.plan import Action, Plan, linear_fold, stored_fields
from acelera.engine.registers.code import Code
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema
from acelera.language.summary import Summarized, TotalValue
from acelera.language.types import Kind, Type

MOST_FLAGS = 60
"""So many flags have room in one number, besides that of failures."""
WIDEST_DECIMAL = 18
"""So many digits have room in 64 bits."""

WHOLE, FLOAT, TEXT, ANYTHING = "whole", "float", "text", "anything"
"""How a column of the stream is read: as integers, as floats, as texts by number, or only whether it is NULL."""

_INTEGERS = frozenset({Kind.INT, Kind.TIMESTAMP, Kind.DATE, Kind.DURATION, Kind.BOOL})
_STORED = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL})


@dataclass(frozen=True)
class Given:
    """A column that operations read: an attribute, None for one that no event has, and how it is read."""

    attribute: str | None
    form: str


@dataclass(frozen=True)
class Total:
    """How a total is read off components: by its function, over these of them; `flag` says that a NULL was met."""

    value: TotalValue
    at: tuple[int, ...] = ()
    flag: int | None = None


@dataclass(frozen=True)
class Layout:
    """The components of a summary.

    `operations` are what each action adds, and after all of them what the values add that each action stores.
    """

    shape: Shape
    totals: tuple[Total, ...]
    columns: tuple[Given, ...]
    operations: tuple[tuple[tuple[int, ...], ...], ...]


@dataclass
class _Builder:
    """What has been laid out so far."""

    schema: Schema
    flags: int = 0
    whole: int = 1
    real: int = 0
    spread: list[int] = field(default_factory=list)  # totals whose values spread, in order
    best: list[int] = field(default_factory=list)
    best_flag: list[int] = field(default_factory=list)
    columns: dict[Given, int] = field(default_factory=dict)

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
class _Recipe:
    """What every value of a total adds: for each, an operation without its column; and how the column is read."""

    total: Total
    form: str
    steps: tuple[tuple[int, int, int, int, int], ...]  # kind, component, flag, flavour, second


def layout_of(summary: Summarized, plan: Plan, code: Code | None, schema: Schema, parts: int) -> Layout:
    """The components that a summary needs; an UnsupportedError if there are none for one of its totals."""
    builder = _Builder(schema)
    recipes = [_recipe(total, builder) for total in summary.totals]
    spread = len(builder.spread)
    shape_real = max(builder.real, 1 if spread else 0) + 2 * spread
    recipes = [_settled(recipe, shape_real - 2 * spread) for recipe in recipes]
    of_actions: list[list[tuple[int, ...]]] = [[] for _ in plan.actions]
    of_stored: list[list[tuple[int, ...]]] = [[] for _ in plan.actions]
    stored: list[tuple[int, int, _Recipe]] = []
    for number, action in enumerate(plan.actions):
        for recipe in recipes:
            fold = fold_of(recipe.total.value, plan)
            if fold is not None:
                of_actions[number] += _folding(recipe, fold, action, plan, builder)
                continue
            for mark in _marks(action, recipe.total.value):
                given = _given(mark, recipe, builder, action, plan, code)
                if isinstance(given, Given):
                    column = builder.column(given) if recipe.total.value.total.attribute is not None else -1
                    of_actions[number] += _operations(recipe, column)
                else:
                    stored.append((number, given, recipe))
    for number, place, recipe in stored:  # columns of stored values come after those of events
        assert code is not None
        whole = code.stored[plan.actions[number]][place] is not Kind.FLOAT
        of_stored[number] += _operations(recipe, len(builder.columns) + place, whole)
    shape = Shape(builder.whole, shape_real, tuple(builder.best), tuple(builder.best_flag), spread, parts)
    operations = tuple(tuple(each) for each in (*of_actions, *of_stored))
    return Layout(shape, tuple(recipe.total for recipe in recipes), tuple(builder.columns), operations)


def fold_of(value: TotalValue, plan: Plan) -> int | None:
    """The fold whose values a total adds, one by one, rather than what each match makes of them."""
    total = value.total
    return linear_fold(plan, total.variable, total.attribute) if total.variable and total.attribute else None


_COUNTED = {op.SUM: op.COUNT, op.REAL_SUM: op.REAL_COUNT}
_COUNTING = frozenset({op.REAL_COUNT})


def _folding(recipe: _Recipe, index: int, action: Action, plan: Plan, builder: _Builder) -> list[tuple[int, ...]]:
    """What an action adds to a total over a fold: its values to the sum, and the event that is made of them to their
    number.
    """
    fold, found = plan.folds[index], list[tuple[int, ...]]()
    null = -1 if fold.ignore_nulls or recipe.total.flag is None else recipe.total.flag
    for _ in _marks(action, recipe.total.value):
        found += [(kind, at, -1, -1, flag, 0, 0) for kind, at, flag, _, _ in recipe.steps if kind in _COUNTING]
    for term in (term for step in action.folds if step.fold == index for term in step.given):
        form = ANYTHING if fold.function == "count" else recipe.form
        column = builder.column(Given(term.name, form)) if isinstance(term, Attr) else -1
        for kind, at, flag, flavour, second in recipe.steps:
            if kind not in _COUNTING:
                kind = _COUNTED[kind] if fold.function == "count" else kind
                found.append((kind, at, column, null, flag, flavour, second))
    return found


def marks_of(action: Action, variable: str) -> tuple[Mark, ...]:
    """What an action puts into a variable."""
    return dict(action.marks).get(variable, ())


def _marks(action: Action, total: TotalValue) -> tuple[Mark, ...]:
    return () if total.total.variable is None else marks_of(action, total.total.variable)


def _given(
    mark: Mark, recipe: _Recipe, builder: _Builder, action: Action, plan: Plan, code: Code | None
) -> Given | int:
    """The column that a mark takes a value from, or the place among the values that its action stores."""
    attribute = recipe.total.value.total.attribute
    if attribute is None:
        return Given(None, ANYTHING)
    term = mark.attribute(attribute)
    if term == Const(None):
        return Given(None, recipe.form)
    if isinstance(term, Attr):
        _refuse_other_types(attribute_type(term.name, builder.schema), recipe)
        return Given(term.name, recipe.form)
    if any(kind == op.AT_PLACE for kind, *_ in recipe.steps):
        raise UnsupportedError(f"{said(recipe.total.value)} asks where values stand that are made as it runs")
    place = stored_fields(action, plan).index((mark, attribute))
    kind = None if code is None else code.stored[action][place]
    if kind not in _STORED or recipe.form == TEXT or (recipe.form == WHOLE and kind is Kind.FLOAT):
        raise UnsupportedError(f"{said(recipe.total.value)} is over values that only Python computes")
    return place


def _refuse_other_types(found: Type, recipe: _Recipe) -> None:
    """Values of a variable may come from several sorts of events; they are read in one way."""
    expected = recipe.total.value.given
    if expected is not None and found.kind is not expected.kind and found.kind is not Kind.NULL:
        raise UnsupportedError(f"{said(recipe.total.value)} is over values of several types")


def _operations(recipe: _Recipe, column: int, whole: bool = False) -> list[tuple[int, ...]]:
    """What a value in a column adds; floats may have been stored as whole numbers."""
    null = -1 if recipe.total.flag is None else recipe.total.flag
    return [
        (kind, component, column, null, flag, op.PLAIN if whole and flavour == op.FLOATING else flavour, second)
        for kind, component, flag, flavour, second in recipe.steps
    ]


def said(value: TotalValue) -> str:
    """A total as it was written."""
    inner = value.total.variable or "*"
    return f"{value.total.function}({inner}{'.' + value.total.attribute if value.total.attribute else ''})"


# --- one total ----------------------------------------------------------------------------------------------------


def _recipe(value: TotalValue, builder: _Builder) -> _Recipe:
    """The components of a total, and what a value of it adds."""
    total, function = value.total, value.total.function.lower()
    if total.variable is None:
        if function == "log2_count":
            builder.real = max(builder.real, 1)
        return _Recipe(Total(value), ANYTHING, ())
    flag = None if total.attribute is None or total.ignore_nulls else builder.flag()
    if function == "count":
        at = builder.another_whole()
        return _Recipe(Total(value, (at,), flag), ANYTHING, ((op.COUNT, at, -1, 0, 0),))
    assert value.given is not None
    made = _MADE.get(function)
    if made is None:
        raise UnsupportedError(f"there are no numbers that can be added for {said(value)}")
    return made(value, function, flag, builder)


def _sum(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    assert value.given is not None
    kind = value.given.kind
    if kind in (Kind.INT, Kind.DURATION, Kind.NULL):
        at = builder.another_whole()
        return _Recipe(Total(value, (at,), flag), WHOLE, ((op.SUM, at, -1, op.PLAIN, 0),))
    if kind is Kind.FLOAT:
        at = builder.another_real()
        return _Recipe(Total(value, (at,), flag), FLOAT, ((op.REAL_SUM, at, -1, op.FLOATING, 0),))
    raise UnsupportedError(f"{said(value)} adds values of type {value.given}, which are no integers or floats")


def _average(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    total, number = builder.another_real(), builder.another_real()
    steps = ((op.REAL_SUM, total, -1, op.FLOATING, 0), (op.REAL_COUNT, number, -1, 0, 0))
    return _Recipe(Total(value, (total, number), flag), FLOAT, steps)


def _spread(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    place = len(builder.spread)
    builder.spread.append(place)
    return _Recipe(Total(value, (place,), flag), FLOAT, ((op.SPREAD, place, -1, op.FLOATING, place),))


def _settled(recipe: _Recipe, first: int) -> _Recipe:
    """Numbers of values that spread stand after all other sums of floats."""
    if not recipe.steps or recipe.steps[0][0] != op.SPREAD:
        return recipe
    kind, place, flag, flavour, second = recipe.steps[0]
    total = Total(recipe.total.value, (first + 2 * place, place), recipe.total.flag)
    return _Recipe(total, recipe.form, ((kind, first + 2 * place, flag, flavour, second),))


def _form(given: Type) -> str:
    """How values are read whose order matters, or that are only carried."""
    if given.kind in _INTEGERS or given.kind is Kind.NULL:
        return WHOLE
    if given.kind in (Kind.FLOAT, Kind.STRING):
        return FLOAT if given.kind is Kind.FLOAT else TEXT
    if given.kind is Kind.DECIMAL and given.arrow.precision <= WIDEST_DECIMAL:
        return WHOLE
    raise UnsupportedError(f"values of type {given} do not fit into 64 bits")


def _flavour(form: str, turned: bool) -> int:
    if form == FLOAT:
        return op.FLOATING_TURNED if turned else op.FLOATING
    return op.TURNED if turned else op.PLAIN


def _best(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    assert value.given is not None
    form, turned = _form(value.given), function in ("max", "bool_or")
    if form == TEXT:
        at = builder.another_best(op.LAST_TEXT if turned else op.FIRST_TEXT)
        step = (op.TEXT, at, builder.best_flag[at], 0, 0)
    else:
        at = builder.another_best(op.NUMBER)
        step = (op.BEST, at, builder.best_flag[at], _flavour(form, turned), 0)
    return _Recipe(Total(value, (at,), flag), form, (step,))


def _range(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    assert value.given is not None
    form = _form(value.given)
    if value.given.kind is Kind.DECIMAL:
        raise UnsupportedError(f"{said(value)} is a difference of decimals")
    low, high = builder.another_best(op.NUMBER), builder.another_best(op.NUMBER)
    steps = tuple(
        (op.BEST, at, builder.best_flag[at], _flavour(form, turned), 0) for at, turned in ((low, False), (high, True))
    )
    return _Recipe(Total(value, (low, high), flag), form, steps)


def _by_place(value: TotalValue, function: str, flag: int | None, builder: _Builder) -> _Recipe:
    assert value.given is not None
    form, last = _form(value.given), function == "last"
    at = builder.another_best(op.PLACE)
    step = (op.AT_PLACE, at, builder.best_flag[at], _flavour(form, last and form != TEXT), int(last))
    return _Recipe(Total(value, (at,), flag), form, (step,))


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
