"""Summaries value by value: what partial matches carry are Python objects, for totals and keys that no number says.

Partial matches with different parts of a group are followed apart, as they are by components (`grouping`). All others
are taken together, however many they are.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr, failure
from acelera.engine.frames import Frame
from acelera.engine.machines.value_algebra import Values
from acelera.engine.nodes.vectors import UNKNOWN_PART
from acelera.engine.plan import Action, Plan, as_column, marks_of, stored_fields
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import Reference
from acelera.engine.storage.snapshots import Json, Section, decode, encode
from acelera.engine.summaries.folding import Fold, counted, fold_of
from acelera.engine.summaries.grouping import ATTRIBUTE, Grouping, Known
from acelera.engine.summaries.summary_columns import KeyColumns
from acelera.language import ast
from acelera.language.aggregates import canonical
from acelera.language.evaluation import attribute_of, evaluate
from acelera.language.events import Event, Value, seen
from acelera.language.printer import print_expression
from acelera.language.summary import Summarized, TotalValue
from acelera.tables import leaves

Ints = npt.NDArray[Any]

MOST_HITS = 1 << 14
"""So many hits may wait."""

NOTHING = -1
"""No value was stored."""


class Carried(NamedTuple):
    """What is known of some matches: how many, for each total its state, the newest start, and the parts of groups."""

    matches: int
    states: tuple[Any, ...]
    newest: int
    parts: tuple[int, ...]

    def with_part(self, part: int, number: int) -> Carried:
        """The same with another number of a part."""
        return self._replace(parts=_with(self.parts, part, number))


class Source(NamedTuple):
    """Where a mark takes a value from: a place among the stored values, or else an attribute of the event, if any."""

    place: int
    attribute: str | None

    def value(self, stored: tuple[Value, ...], event: Event) -> Value:
        """The value."""
        if self.place != NOTHING:
            return stored[self.place]
        return None if self.attribute is None else attribute_of(event, self.attribute)


@dataclass(frozen=True)
class ComputedSource:
    """What is computed from values that a mark takes from several places."""

    expression: ast.Expression
    sources: Mapping[str, Source]

    def value(self, stored: tuple[Value, ...], event: Event) -> Value:
        """The value; a failure if one of those that it is computed from is one."""
        known = {name: source.value(stored, event) for name, source in self.sources.items()}
        return failure(known.values()) or canonical(evaluate(self.expression, lambda node: known[node.name]))


class Numbered:
    """Values by number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value) -> int:
        """The number of a value; a new one gets the next."""
        found = self._numbers.setdefault(value, len(self.values))
        if found == len(self.values):
            self.values.append(value)
        return found

    def put(self, values: Sequence[Value]) -> None:
        """These values and no others."""
        self.values, self._numbers = [], {}
        for value in values:
            self.number(value)


class Objects:
    """The algebra of summaries for `ValueMachine`: partial matches carry states, and hits wait to be folded."""

    def __init__(self, summary: Summarized, grouping: Grouping, plan: Plan, numbered: Mapping[Known, Numbered]) -> None:
        self.folds = [fold_of(total) for total in summary.totals]
        self._none = tuple(None if fold is None else fold.identity for fold in self.folds)
        self._ignore = [total.total.ignore_nulls for total in summary.totals]
        self._begin_part, self._numbered = grouping.begin_part(), [numbered.get(part) for part in grouping.parts]
        self._adds = [_adds(summary, action, plan) for action in plan.actions]
        self._sets = [_sets(grouping, action, plan) for action in plan.actions]
        self.parts: Ints = np.zeros((len(grouping.parts), 0), np.int64)
        self.places: Ints = np.zeros(0, np.int64)
        self.hits: list[tuple[Carried, int]] = []

    def begin(self, row: int, tick: int) -> Carried:
        """One match without any values."""
        parts = tuple(UNKNOWN_PART if at < 0 else int(self.parts[at, row]) for at in self._begin_part)
        return Carried(1, self._none, tick, parts)

    def extend(self, value: Carried, action: int, stored: tuple[Value, ...], event: Event, row: int) -> Carried:
        """What is marked counts once for each of the matches."""
        matches, states, newest, parts = value
        if self._adds[action]:
            changed = list(states)
            for at, source in self._adds[action]:
                fold = self.folds[at]
                assert fold is not None
                given = source.value(stored, event) if source is not None else True
                changed[at] = fold.step(changed[at], int(self.places[row]), given, matches, self._ignore[at])
            states = tuple(changed)
        for at, given_part in self._sets[action]:
            numbered = self._numbered[at]
            assert numbered is not None
            number = numbered.number(given_part.value(stored, event))
            parts = _with(parts, at, number)
        return Carried(matches, states, newest, parts)

    def union(self, left: Carried, right: Carried, floor: int) -> Carried:
        """The matches of both, which are different ones."""
        matches, states = merged(self.folds, (left.matches, left.states), (right.matches, right.states))
        return Carried(matches, states, max(left.newest, right.newest), left.parts)

    def newest_start(self, value: Carried) -> int:
        """Where the newest match starts."""
        return value.newest

    def apart(self, value: Carried) -> Hashable:
        """Parts of groups."""
        return value.parts

    def end(self, value: Carried, row: int, floor: int) -> None:
        """A hit, to be folded."""
        self.hits.append((value, row))

    @property
    def full(self) -> bool:
        """Whether many hits wait."""
        return len(self.hits) > MOST_HITS

    def collect(self, values: Values, floors: list[int], floor: int) -> Values:
        """What nobody holds is gone anyway."""
        return values

    def dump(self) -> dict[str, Section]:
        """Nothing beside values."""
        return {}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Nothing beside values."""

    def coded(self, value: Carried) -> Json:
        """All that a value is, as data."""
        return encode(tuple(value))

    def read(self, coded: Json) -> Carried:
        """A value of a snapshot."""
        value = Carried(*decode(coded))
        check.whole("runs", value.newest, *value.parts)
        check.holds("runs", isinstance(value.matches, int) and value.matches > 0, "has no number of matches")
        check.holds("runs", len(value.states) == len(self.folds), "has other totals")
        check.holds("runs", len(value.parts) == len(self._begin_part), "has other keys")
        return value

    def check(self, values: Values, floors: list[int]) -> None:
        """Whether parts that have numbers are there."""
        for value in (value for several in values for value in several):
            for part, numbered in zip(value.parts, self._numbered, strict=True):
                if numbered is not None:
                    check.in_range("runs", np.array([part]), UNKNOWN_PART, len(numbered.values))


def _with(numbers: tuple[int, ...], at: int, number: int) -> tuple[int, ...]:
    """The numbers with another one at a place."""
    return (*numbers[:at], number, *numbers[at + 1 :])


Amount = tuple[int, tuple[Any, ...]]
"""How many matches there are, and for each total its state."""


def merged(folds: Sequence[Fold | None], left: Amount, right: Amount) -> Amount:
    """Those of different matches together."""
    states = zip(folds, left[1], right[1], strict=True)
    return left[0] + right[0], tuple(None if fold is None else fold.merged(one, two) for fold, one, two in states)


def _source(mark: Mark, attribute: str, action: Action, plan: Plan) -> Source:
    stored = stored_fields(action, plan)
    if (mark, attribute) in stored:
        return Source(stored.index((mark, attribute)), None)
    return Source(NOTHING, attribute if as_column(mark.attribute(attribute)) == Attr(attribute) else None)


def _source_of_total(mark: Mark, attribute: str, action: Action, plan: Plan) -> Source | ComputedSource:
    if isinstance(attribute, ast.Computed) and as_column(mark.attribute(attribute)) is None:
        sources = {name: _source(mark, name, action, plan) for name in attribute.names}
        return ComputedSource(attribute.expression, sources)
    return _source(mark, attribute, action, plan)


def _adds(summary: Summarized, action: Action, plan: Plan) -> list[tuple[int, Source | ComputedSource | None]]:
    """The totals that an action adds to, each with where the value comes from, if there is any to look at."""
    return [
        (at, None if total.total.attribute is None else _source_of_total(mark, total.total.attribute, action, plan))
        for at, total in enumerate(summary.totals)
        if total.total.variable is not None
        for mark in marks_of(action, total.total.variable)
    ]


def _sets(grouping: Grouping, action: Action, plan: Plan) -> list[tuple[int, Source]]:
    """The parts of groups that an action makes known."""
    return [
        (at, _source(mark, part.attribute, action, plan))
        for at, part in enumerate(grouping.parts)
        if part.what == ATTRIBUTE
        for mark in marks_of(action, part.variable)
    ]


# --- groups -------------------------------------------------------------------------------------------------------


class ObjectTotals:
    """What was found of each group so far: as `Totals`, in Python."""

    def __init__(self, folds: Sequence[Fold | None], width: int) -> None:
        self.folds, self._width = folds, width
        self._groups: dict[tuple[int, ...], Amount] = {}

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def keys(self) -> Ints:
        """The numbers of each group, a row each."""
        return np.array(list(self._groups), np.int64).reshape(len(self), self._width)

    @property
    def amounts(self) -> list[Amount]:
        """What was found, in the same order."""
        return list(self._groups.values())

    def add(self, key: tuple[int, ...], amount: Amount) -> None:
        """More matches of a group."""
        known = self._groups.get(key)
        self._groups[key] = amount if known is None else merged(self.folds, known, amount)

    def keep(self, rows: Ints) -> None:
        """Only these groups."""
        groups = list(self._groups.items())
        self._groups = dict(groups[row] for row in rows.tolist())

    def reference(self, column: int) -> Reference:
        """The numbers of all groups in a column."""
        return Reference(self.keys[:, column], partial(self._replace, column))

    def _replace(self, column: int, numbers: Ints) -> None:
        groups = zip(self._groups.items(), numbers.tolist(), strict=True)
        self._groups = {_with(key, column, number): amount for (key, amount), number in groups}

    def dump(self, name: str) -> dict[str, Section]:
        """All groups, for a snapshot."""
        return {name: [[list(key), encode(amount)] for key, amount in self._groups.items()]}

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The groups of a snapshot."""
        for key, coded in sections[name]:
            check.whole(name, *key)
            count, states = decode(coded)
            check.holds(name, isinstance(count, int) and count > 0, "has no number of matches")
            check.holds(name, len(key) == self._width and len(states) == len(self.folds), "has another width")
            self._groups[tuple(key)] = (count, states)


def finished_objects(summary: Summarized, folds: Sequence[Fold | None], amounts: Sequence[Amount]) -> list[Any]:
    """A column for each total."""
    return [
        _column(total, [_value(total, fold, count, states[at]) for count, states in amounts])
        for at, (total, fold) in enumerate(zip(summary.totals, folds, strict=True))
    ]


def _value(total: TotalValue, fold: Fold | None, count: int, state: Any) -> Value:
    """The value of a total; one that failed is an error."""
    if fold is not None:
        return seen(fold.value(state))
    return math.log2(count) if total.total.function == "log2_count" else seen(counted(count))


def _column(total: TotalValue, values: list[Value]) -> Any:
    node = total.total
    return leaves(values, total.type.arrow, print_expression(node))


class MadeKeys(KeyColumns):
    """Parts of groups of which attributes are numbered by value: they may be made while the query runs."""

    def __init__(self, known: Sequence[Known], *given: Any) -> None:
        super().__init__([each for each in known if each.what != ATTRIBUTE], *given)
        self.known = known
        self.numbered = {each: Numbered() for each in known if each.what == ATTRIBUTE}

    def _read(self, known: Known, frame: Frame) -> Ints:
        return np.zeros(len(frame), np.int64) if known in self.numbered else super()._read(known, frame)

    def has_values(self, known: Known) -> bool:
        """Whether numbers stand for values."""
        return known in self.numbered or super().has_values(known)

    def count(self, known: Known) -> int:
        """How many values have numbers."""
        return len(self.numbered[known].values) if known in self.numbered else super().count(known)

    def keep(self, known: Known, numbers: Ints) -> None:
        """Forget the values of all other numbers; these are numbered anew, in order."""
        if known not in self.numbered:
            super().keep(known, numbers)
            return
        values = self.numbered[known].values
        self.numbered[known].put([values[number] for number in numbers.tolist()])

    def values(self, known: Known, numbers: Ints) -> list[tuple[Value, ...]]:
        """The values that numbers stand for; one that failed is an error."""
        if known not in self.numbered:
            return super().values(known, numbers)
        values = self.numbered[known].values
        return [(seen(values[number]) if number != UNKNOWN_PART else None,) for number in numbers.tolist()]

    def constant(self, known: Known) -> str | None:
        """No attribute is known to be always the same."""
        return None

    def dump(self, name: str) -> dict[str, Section]:
        """All values that have numbers, for a snapshot."""
        made = [[encode(value) for value in numbered.values] for numbered in self.numbered.values()]
        return {**super().dump(name), f"{name}.made": made}

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """Those of a snapshot."""
        super().load(name, sections)
        for numbered, made in zip(self.numbered.values(), sections[f"{name}.made"], strict=True):
            numbered.put([decode(value) for value in made])
