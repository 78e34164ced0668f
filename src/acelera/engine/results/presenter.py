"""Listed matches become a table: every column of the result is built at once from flat arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr, Const, Finish, Reg, Term
from acelera.engine.frames import Frame, attribute_type
from acelera.engine.machines.machine import Machine
from acelera.engine.nodes.matches import Listed, Tree
from acelera.engine.plan import FoldStep, Plan, stored_fields
from acelera.engine.predicates.arrow_values import decoded
from acelera.engine.predicates.computed_columns import column as column_of
from acelera.engine.predicates.masks import Batch, expression_values
from acelera.engine.results.event_rows import HeldEvents, ids, table_of_events
from acelera.engine.results.folds import fold
from acelera.engine.results.gathering import rows_held, taken
from acelera.engine.results.match_ids import Named, Numbers, sum_of
from acelera.engine.results.seen import aggregated_actions, given_attribute, given_type, may_fail
from acelera.engine.results.walks import Walk
from acelera.engine.storage.columns import in_type, ordinary, output_column
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.checker import Checked
from acelera.language.result import (
    AggregateValue,
    AttributeValues,
    Column,
    EventRows,
    EventStructs,
    ExpressionValue,
    MatchBound,
    PartitionKey,
)
from acelera.language.tree import assert_never
from acelera.language.types import INT, NULL, Type, from_arrow

Ints = npt.NDArray[Any]

COLUMN, FOLD, STORED, MISSING, COMPUTED = range(5)
"""Where an attribute of a marked event comes from; COMPUTED is what is not known from its row alone."""


class Held:
    """The events that a variable holds in some matches: for each the entry that marks it, and which of its marks."""

    def __init__(self, page: _Page, counts: Ints, items: Ints) -> None:
        self._page, self._items, self._counts = page, items, counts
        self._ordinal: Ints | None = None
        self._column = -1  # which entry of each match it is, if it is always the same one
        if page.layout is not None and counts[page.layout].sum() == 1:
            self._column = int(np.argmax(counts[page.layout]))

    @cached_property
    def entry(self) -> Ints:
        """The entry of each event."""
        page = self._page
        if page.layout is not None and self._column >= 0:
            return np.arange(self._column, len(page.action), len(page.layout))
        counts = self._counts[page.action]
        if self._items.shape[1] == 1:
            return np.flatnonzero(counts)
        entry = np.repeat(np.arange(len(page.action)), counts)
        before = np.cumsum(counts, dtype=np.int64) - counts
        self._ordinal = np.arange(len(entry)) - np.repeat(before, counts)
        return entry

    @cached_property
    def row(self) -> Ints:
        """The row of each event."""
        page = self._page
        if page.layout is not None and self._column >= 0:
            return np.ascontiguousarray(page.row[self._column :: len(page.layout)])
        if self._items.shape[1] == 1:
            return self._rows_and_offsets[0]
        return np.asarray(page.row[self.entry])

    @cached_property
    def _rows_and_offsets(self) -> tuple[Ints, Ints]:
        """Where no entry puts several events into the variable."""
        page = self._page
        rows, offsets = np.empty(len(page.row) + 1, page.row.dtype), np.empty(len(page.offsets), np.int32)
        count = rows_held(page.action, page.row, page.offsets, self._counts, rows, offsets)
        return rows[:count], offsets

    @cached_property
    def match(self) -> Ints:
        """The match of each event."""
        return np.asarray(self._page.match[self.entry])

    @cached_property
    def item(self) -> Ints:
        """The number of each event's mark."""
        action = self._page.action[self.entry]  # which also finds the ordinals
        return np.asarray(self._items[action, 0 if self._ordinal is None else self._ordinal])

    @cached_property
    def items(self) -> list[int]:
        """The marks that occur."""
        return sorted(set(self._items[np.unique(self._page.action[self.entry])].ravel().tolist()))

    def offsets(self) -> Ints:
        """Where the events of each match begin, and where those of the last one end."""
        if self._column >= 0:
            return np.arange(len(self._page.listed) + 1, dtype=np.int32)
        if self._items.shape[1] == 1:
            return self._rows_and_offsets[1]
        upto = np.zeros(len(self._page.action) + 1, np.int32)
        np.cumsum(self._counts[self._page.action], out=upto[1:])
        return np.asarray(upto[self._page.offsets])


class Presenter:
    """Builds result batches for a query whose matches carry the actions of a plan."""

    def __init__(self, checked: Checked, plan: Plan, machine: Machine) -> None:
        assert checked.schema is not None
        self.checked, self.schema, self.plan, self.machine = checked, checked.schema, plan, machine
        self.actions = actions = machine.actions
        self.marks: list[Mark] = list(
            dict.fromkeys(mark for action in actions for _, bag in action.marks for mark in bag)
        )
        self.stored = [stored_fields(action, plan) for action in actions]
        aggregated = aggregated_actions(checked, plan)
        self.as_tree = bool(aggregated)
        self._listed = np.array([*(action not in aggregated for action in actions), *(True for _ in actions)], np.bool_)

    def present(self, matches: Listed | Tree, rows: Frame) -> tuple[pa.RecordBatch, Ints | None]:
        """The result rows of some matches, and how many each match has; None if each has one."""
        if isinstance(matches, Tree):
            page = _Page(self, matches.listed(self._listed), rows, matches)
        else:
            page = _Page(self, matches, rows)
        page.refuse_failures()
        if self.checked.rows is not None:
            return page.events(self.checked.rows)
        arrays = [page.column(column) for column in self.checked.result.columns]
        page.close()
        return pa.RecordBatch.from_arrays(arrays, schema=self.checked.result.schema), None


class _Page:
    """Some matches on their way to become columns."""

    def __init__(self, presenter: Presenter, listed: Listed, rows: Frame, tree: Tree | None = None) -> None:
        self.presenter, self.listed, self.rows, self.tree = presenter, listed, rows, tree
        self.schema, self.plan = presenter.schema, presenter.plan
        self.action, self.row, self.offsets = listed.marks, listed.values, listed.offsets
        self.stored_at: Ints | None = None
        if any(presenter.stored):  # an entry with stored values comes right after that of its row
            of_rows = listed.marks < len(presenter.actions)
            entries = np.flatnonzero(of_rows)
            self.stored_at = listed.values[np.minimum(entries + 1, len(listed.marks) - 1)]
            self.action, self.row = listed.marks[entries], listed.values[entries]
            self.offsets = np.concatenate(([0], np.cumsum(of_rows)))[listed.offsets]
        self._held: dict[str, Held] = {}
        self._alike: dict[tuple[bytes, bytes], Held] = {}
        self._attributes: dict[tuple[Held, str, pa.DataType], Any] = {}
        self._folded: dict[int, Any] = {}
        self._columns: dict[str, Any] = {}

    def close(self) -> None:
        """Forget what refers back to the page, so that it is freed at once."""
        for each in (self._held, self._alike, self._attributes):
            each.clear()

    @cached_property
    def layout(self) -> Ints | None:
        """The actions of every match, if they are the same in all."""
        if not self.listed.alike or not len(self.action) or self.stored_at is not None:
            return None
        return self.action[: self.offsets[1]]

    @cached_property
    def match(self) -> Ints:
        """The match of each entry."""
        return np.repeat(np.arange(len(self.listed)), np.diff(self.offsets))

    # --- columns of the result ------------------------------------------------------------------------------------

    def column(self, column: Column) -> Any:
        assert column.type is not None
        match column.source:
            case PartitionKey(name):
                return in_type(taken(self._shown(name), self.listed.end_row), column.type)
            case MatchBound(end, timed):
                at = self.listed.end_row if end else self.listed.start_row
                if timed:
                    return in_type(taken(self._shown("time"), at), column.type)
                return pa.array(self.rows.positions[at], column.type)
            case EventStructs(variable, _):
                return self._listed(variable, column, lambda kind: self._struct(variable, kind))
            case AttributeValues(variable, attribute):
                return self._listed(variable, column, lambda kind: self._attribute(variable, attribute, kind))
            case AggregateValue():
                return self._aggregated(column.source, column.type)
            case ExpressionValue(expression, parts):
                arrays = {part.name: self.column(part) for part in parts}
                known = {name: (array, from_arrow(array.type)) for name, array in arrays.items()}
                return in_type(_computed(expression, known, len(self.listed), column.type), column.type)
            case _:
                return assert_never(column.source)

    def _listed(self, variable: str, column: Column, values: Callable[[pa.DataType], Any]) -> Any:
        assert column.type is not None
        if column.single:
            return values(column.type)
        offsets = self.held(variable).offsets()
        return pa.ListArray.from_arrays(pa.array(offsets), values(column.type.value_type), type=column.type)

    def _struct(self, variable: str, kind: pa.DataType) -> Any:
        fields = [kind.field(index) for index in range(kind.num_fields)]
        arrays = [self._attribute(variable, field.name, field.type) for field in fields]
        if not arrays:
            return pa.array([{}] * len(self.held(variable).row), kind)
        return pa.StructArray.from_arrays(arrays, fields=fields)

    def _aggregated(self, shown: AggregateValue, kind: pa.DataType) -> Any:
        node, given, values = shown.aggregation, shown.given, None
        function = find_aggregate(node.function)
        assert function is not None
        if self.tree is not None:
            found = None
            bags = [dict(action.marks).get(node.variable, ()) for action in self.presenter.actions]
            attribute = node.attribute
            if attribute is None or {self._source(mark, attribute) for bag in bags for mark in bag} == {(COLUMN, 0)}:
                walk = self._walk(attribute, [len(bag) for bag in bags], node.ignore_nulls)
                found = None if walk is None else walk.aggregate(function, given, kind)
            return found if found is not None else self._by_pieces(lambda page: page._aggregated(shown, kind))
        held = self.held(node.variable)
        if node.attribute is not None and given is not None:
            values = self._attribute(node.variable, node.attribute, given.arrow)
        positions = self.rows.positions[held.row]
        return fold(function, node.ignore_nulls, values, given, positions, held.match, len(self.listed), kind)

    def _walk(self, attribute: str | None, counts: Sequence[int], ignore_nulls: bool) -> Walk | None:
        """The values of an attribute in all matches, as many as each action gives; None if one gives several."""
        if self.tree is None or max(counts, default=0) > 1:
            return None
        column = None if attribute is None else self._shown(attribute)
        return Walk(self.tree, np.array([*counts, *(0 for _ in counts)], np.bool_), column, ignore_nulls)

    def _by_pieces(self, values: Callable[[_Page], Any]) -> Any:
        """What pages with all entries of the same matches say, a few matches each."""
        assert self.tree is not None
        pieces = self.tree.pieces(np.ones(2 * len(self.presenter.actions), np.bool_))
        return pa.concat_arrays([values(_Page(self.presenter, piece, self.rows)) for piece in pieces])

    # --- rows of events -------------------------------------------------------------------------------------------

    def events(self, rows: EventRows) -> tuple[pa.RecordBatch, Ints]:
        """A row for each event of the variables that are shown, and how many rows each match has."""
        bounds, keys = [self.column(each) for each in rows.bounds], [self.column(each) for each in rows.keys]
        held = {name: self._held_events(name, rows) for name in rows.all_variables}
        told = [
            Named(f"key {each.name}", values, from_arrow(values.type))
            for each, values in zip(rows.keys, keys, strict=True)
        ]
        told += self._place("start", self.listed.start_row, rows) + self._place("end", self.listed.end_row, rows)
        names = ids(told, list(held.values()), len(self.listed))
        self.close()
        return table_of_events(rows, names, bounds, keys, [held[name] for name in rows.variables])

    def _held_events(self, variable: str, rows: EventRows) -> HeldEvents:
        """What a variable holds; the attributes of its events, if they are shown."""
        held, fields = self.held(variable), rows.all_variables[variable]
        shown = fields.items() if variable in rows.variables else ()
        attributes = {name: self._attribute(variable, name, kind.arrow) for name, kind in shown}
        return HeldEvents(variable, held.match, self.rows.positions[held.row], attributes, self._sums(variable, rows))

    def _sums(self, variable: str, rows: EventRows) -> Numbers:
        """What each event of a variable adds to the ids of matches; of events that are many times held, once."""
        held, fields = self.held(variable), rows.all_variables[variable]
        first, last = (int(held.row.min()), int(held.row.max())) if len(held.row) else (0, 0)
        sources = {self._source(self.presenter.marks[item], name) for item in held.items for name in fields}
        if sources != {(COLUMN, 0)} or last - first > len(held.row):
            named = [Named(name, self._attribute(variable, name, kind.arrow), kind) for name, kind in fields.items()]
            return sum_of([*named, *self._place("place", held.row, rows)], len(held.row))
        span = np.arange(first, last + 1)
        named = [Named(name, taken(self._shown(name), span), kind) for name, kind in fields.items()]
        sums: Numbers = sum_of([*named, *self._place("place", span, rows)], len(span))[held.row - first]
        return sums

    def _place(self, prefix: str, at: Ints, rows: EventRows) -> list[Named]:
        """Where rows stand in their partition, as far as matches are told apart by it."""
        columns = self.schema.columns
        found = [Named(f"{prefix} {name}", taken(self._shown(name), at), columns[name]) for name in rows.order_by]
        if rows.numbered:
            found.append(Named(f"{prefix} ", pa.array(self.rows.positions[at]), INT))
        return found

    # --- variables ------------------------------------------------------------------------------------------------

    def held(self, variable: str) -> Held:
        """The events of a variable, match by match, in order."""
        if variable not in self._held:
            self._held[variable] = self._find(variable)
        return self._held[variable]

    def _find(self, variable: str) -> Held:
        number = {mark: index for index, mark in enumerate(self.presenter.marks)}
        bags = [dict(action.marks).get(variable, ()) for action in self.presenter.actions]
        most = max((len(bag) for bag in bags), default=0)
        counts = np.array([len(bag) for bag in bags] or [0], np.bool_ if most <= 1 else np.int64)
        items = np.zeros((max(len(bags), 1), max(most, 1)), np.int32)
        for index, bag in enumerate(bags):
            items[index, : len(bag)] = [number[mark] for mark in sorted(bag, key=_shown_first)]
        alike = (counts.tobytes(), items.tobytes())
        return self._alike.setdefault(alike, Held(self, counts, items))

    def _attribute(self, variable: str, name: str, kind: pa.DataType) -> Any:
        """An attribute of all events of a variable; made once for variables that hold the same events."""
        held = self.held(variable)
        found = (held, name, kind)
        if found not in self._attributes:
            if isinstance(name, ast.Computed) and not self._is_of_rows(held, name):
                values = self._made(variable, name, kind)
            else:
                values = self._values(held, name, ordinary(kind))
            self._attributes[found] = in_type(values, kind)
        return self._attributes[found]

    def _is_of_rows(self, held: Held, name: str) -> bool:
        """Whether an attribute of all events of a variable is known from their rows."""
        return {self._source(self.presenter.marks[item], name) for item in held.items} <= {(COLUMN, 0)}

    def _made(self, variable: str, name: ast.Computed, kind: pa.DataType) -> Any:
        """What is computed from attributes some of which were made as the query ran."""
        attributes = self.presenter.checked.variables[variable].attributes
        types = {each: attributes.get(each) or attribute_type(each, self.schema) for each in name.names}
        known = {each: (self._attribute(variable, each, given.arrow), given) for each, given in types.items()}
        return _computed(name.expression, known, len(self.held(variable).row), kind)

    def _values(self, held: Held, name: str, kind: pa.DataType) -> Any:
        sources = [self._source(mark, name) for mark in self.presenter.marks]
        used = set(sources) if len(set(sources)) <= 1 else {sources[item] for item in held.items}
        if not len(held.row):
            return pa.nulls(0, kind)
        if used == {(COLUMN, 0)}:
            return in_type(taken(self._shown(name), held.row), kind)
        if len(used) == 1:
            return self._from(used.pop(), name, held.entry, held.item, kind)
        numbers = {source: index for index, source in enumerate(sorted(used))}
        which = np.array([numbers.get(source, -1) for source in sources])[held.item]
        pieces, places = [], []
        for source, index in numbers.items():
            place = np.flatnonzero(which == index)
            places.append(place)
            pieces.append(self._from(source, name, held.entry[place], held.item[place], kind))
        return _put_back(pieces, places, kind)

    def _source(self, mark: Mark, name: str) -> tuple[int, int]:
        """Where an attribute of a mark's event comes from."""
        if isinstance(name, ast.Computed):
            of_rows = all(self._source(mark, each) == (COLUMN, 0) for each in name.names)
            return (COLUMN if of_rows else COMPUTED), 0
        fields = None if mark.fields is None else dict(mark.fields)
        if fields is not None and name in fields:
            term = fields[name]
            if term == Attr(name):
                return COLUMN, 0
            for index, each in enumerate(self.plan.folds):
                if isinstance(term, Finish) and term.state == Reg(each.register):
                    return FOLD, index
            return STORED, 0
        has_it = fields is None or name in ("time", "position") or (name == "type" and mark.typed)
        return (COLUMN, 0) if has_it else (MISSING, 0)

    def _from(self, source: tuple[int, int], name: str, entries: Ints, items: Ints, kind: pa.DataType) -> Any:
        where, index = source
        if where == COLUMN:
            return in_type(taken(self._shown(name), self.row[entries]), kind)
        if where == FOLD:
            return in_type(taken(self._fold(index), self._closed_before(index)[entries]), kind)
        if where == STORED:
            return self._stored(name, entries, items, kind)
        return pa.nulls(len(entries), kind)

    def _shown(self, name: str) -> Any:
        if name not in self._columns:
            self._columns[name] = output_column(self.rows[name]) if name == "type" else column_of(self.rows, name)
        return self._columns[name]

    # --- values that were made ------------------------------------------------------------------------------------

    def refuse_failures(self) -> None:
        """A match that holds an aggregate that failed is an error, whether or not it is shown."""
        for index, each in enumerate(self.plan.folds):
            if may_fail(each.function, self._given_type(index)):
                self._fold(index)
        for action, fields in enumerate(self.presenter.stored):
            if fields:
                assert self.stored_at is not None
                at = self.stored_at[self.action == action]
                for place, (mark, name) in enumerate(fields):
                    self.presenter.machine.refuse_failures(action, place, at, self._field_type(mark, name))

    def _stored(self, name: str, entries: Ints, items: Ints, kind: pa.DataType) -> Any:
        """A stored attribute of made events: apart by action, since each stores its own."""
        assert self.stored_at is not None
        pieces, places = [], []
        for action in np.unique(self.action[entries]).tolist():
            fields = self.presenter.stored[action]
            for item in np.unique(items).tolist():
                place = np.flatnonzero((self.action[entries] == action) & (items == item))
                field = (self.presenter.marks[item], name)
                if len(place):
                    places.append(place)
                    at = self.stored_at[entries[place]]
                    pieces.append(self.presenter.machine.stored_values(action, fields.index(field), at, kind))
        return _put_back(pieces, places, kind)

    def _field_type(self, mark: Mark, name: str) -> pa.DataType:
        """The type of an attribute of made events, from a variable that can hold them."""
        for action in self.presenter.actions:
            for variable, bag in action.marks:
                held = self.presenter.checked.variables.get(variable)
                if mark in bag and held is not None and name in held.attributes:
                    return held.attributes[name].arrow
        return pa.null()

    def _steps(self, index: int) -> list[FoldStep | None]:
        """What each action does to a fold."""
        touched = ({step.fold: step for step in action.folds} for action in self.presenter.actions)
        return [steps.get(index) for steps in touched]

    def _closed_before(self, index: int) -> Ints:
        """For each entry how many folds were closed before it: the number of the fold that it belongs to."""
        closes = self._closing(index)
        return np.cumsum(closes) - closes

    def _closing(self, index: int) -> Ints:
        return np.array([step is not None and step.closes for step in self._steps(index)], np.int64)[self.action]

    def _given_attribute(self, index: int) -> str | None:
        return given_attribute(index, [step for step in self._steps(index) if step is not None])

    def _given_type(self, index: int) -> Type | None:
        return given_type(index, [step for step in self._steps(index) if step is not None], self.schema)

    def _fold(self, index: int) -> Any:
        """The values of a fold, in the order in which they are closed."""
        if index not in self._folded:
            values = self._folded_values(index) if self.tree is None else self._walked_fold(index)
            self._folded[index] = in_type(values, ordinary(values.type))
        return self._folded[index]

    def _walked_fold(self, index: int) -> Any:
        """The same along a tree, if each match closes the fold once."""
        given = [() if step is None else step.given for step in self._steps(index)]
        terms = {term for each in given for term in each}
        attribute, kind, found = self._given_attribute(index), self._given_type(index), None
        once = np.bincount(self.match[self._closing(index) > 0], minlength=len(self.listed)) == 1
        if once.all() and terms == {Const(True) if attribute is None else Attr(attribute)}:
            function = find_aggregate(self.plan.folds[index].function)
            assert function is not None
            result = function.result(kind or INT)
            assert result is not None
            walk = self._walk(attribute, [len(each) for each in given], self.plan.folds[index].ignore_nulls)
            found = None if walk is None else walk.aggregate(function, kind, result.arrow)
        return found if found is not None else self._by_pieces(lambda page: page._fold(index))

    def _folded_values(self, index: int) -> Any:
        steps = self._steps(index)
        given = [() if step is None else step.given for step in steps]
        counts = np.array([len(terms) for terms in given], np.int64)[self.action]
        entries = np.repeat(np.arange(len(self.action)), counts)
        ordinal = np.arange(len(entries)) - np.repeat(np.cumsum(counts) - counts, counts)
        values = self._given_values(index, given, entries, ordinal)
        kind = self._given_type(index) or (None if values is None else NULL)
        function = find_aggregate(self.plan.folds[index].function)
        assert function is not None
        result = function.result(kind or INT)
        assert result is not None
        return fold(
            function,
            self.plan.folds[index].ignore_nulls,
            values,
            kind,
            self.rows.positions[self.row[entries]],
            self._closed_before(index)[entries],
            int(self._closing(index).sum()),
            result.arrow,
        )

    def _given_values(self, index: int, given: Sequence[tuple[Term, ...]], entries: Ints, ordinal: Ints) -> Any:
        """The values that a fold gets; None if it only counts. An attribute that an event does not have is NULL."""
        terms = {term for each in given for term in each}
        if terms == {Const(True)}:
            return None
        attribute = self._given_attribute(index)
        if attribute is None:
            return pa.nulls(len(entries))
        rows = self.row[entries]
        if len(terms) == 1:
            return taken(self._shown(attribute), rows)
        there = np.zeros((len(given), max(map(len, given))), np.bool_)
        for number, each in enumerate(given):
            there[number, : len(each)] = [isinstance(term, Attr) for term in each]
        return self._shown(attribute).take(pa.array(rows, mask=~there[self.action[entries], ordinal]))


def _computed(expression: ast.Expression, known: Mapping[str, tuple[Any, Type]], length: int, kind: pa.DataType) -> Any:
    """The values of an expression over columns, each of which comes with its type."""
    types = {name: given for name, (_, given) in known.items()}
    columns = {name: decoded(in_type(values, ordinary(values.type))) for name, (values, _) in known.items()}
    return expression_values(expression, types, Batch(columns, length), ordinary(kind))


def _put_back(pieces: Sequence[Any], places: Sequence[Ints], kind: pa.DataType) -> Any:
    """One array of several, each with the places that its values belong to."""
    if len(pieces) <= 1:
        return pieces[0] if pieces else pa.nulls(0, kind)
    together = np.concatenate(places)
    back = np.empty(len(together), np.int64)
    back[together] = np.arange(len(together))
    return pa.concat_arrays(pieces).take(pa.array(back))


def _shown_first(mark: Mark) -> tuple[bool, list[str]]:
    """Events of the stream before those that were made, at one position."""
    return (not mark.typed, [name for name, _ in mark.fields or ()])
