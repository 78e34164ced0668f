"""A tester for queries of one's own: push events written as a short string, see what matched and what still waits.

>>> from acelera.testing import Tester
>>> t = Tester("MATCH A ; B ; C WITHIN 10 EVENTS")
>>> t.push("A X B")
[]
>>> for partial in t.partial():
...     print(partial)
from 1: A=[1]; in q1, waits for B
from 1: A=[1], B=[3]; in q2, waits for C
>>> t.push("C")
[Match(start=1, end=4, A=[1], B=[3], C=[4])]
"""

from __future__ import annotations

import copy
import datetime
import re
from ast import literal_eval
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.automata.drawing import label_text
from acelera.automata.model import Acea, Label
from acelera.automata.terms import UNSET, Attr, Compared, Const, Fresh, Reg, Term, substitute, subterms
from acelera.engine import kernels
from acelera.engine.plan import NO_ACTION, Edge, Plan
from acelera.engine.session import Session
from acelera.errors import DataError, Problem, SchemaError, Span, UsageError, did_you_mean, render
from acelera.language import ast
from acelera.language.aggregates import canonical
from acelera.language.builder import FormulaBuilder
from acelera.language.checker import BagUnion, check
from acelera.language.order import show
from acelera.language.printer import amount
from acelera.language.schema import Schema, schema_of
from acelera.language.types import Kind, Type
from acelera.query import AutomatonQuery, Query
from acelera.query import query as query_of
from acelera.tables import plain_values, to_arrow

EPOCH = datetime.datetime(2024, 1, 1)
"""The time that `@0s` stands for."""

MOST_KEYS, MOST_BEGUN = 20, 10
"""How many keys, and how many matches that came to nothing, are explained."""

_WITHOUT_LITERALS = (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)  # so they are written as strings or floats

Key = tuple[Any, ...]
Row = Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Match:
    """A match: where it starts and ends, the positions of each variable's events, and its row of the result.

    `key` is the value of PARTITION BY, or a tuple of them if there are several.
    """

    start: int
    end: int
    positions: dict[str, list[int]]
    row: dict[str, Any]
    key: Any = None

    def __getitem__(self, variable: str) -> list[int]:
        """The positions of a variable's events."""
        return self.positions[variable]

    def __repr__(self) -> str:
        return f"Match({_key_text(self.key)}start={self.start}, end={self.end}{_listing(', ', self.positions)})"


@dataclass(frozen=True, repr=False)
class Partial:
    """A match in progress: where it starts, what it holds so far, the state it is in, and which events it waits for.

    `state` names the states of the automaton, with what their registers hold. Each of `waits` describes an event that
    takes it further.
    """

    start: int
    positions: dict[str, list[int]]
    state: str
    waits: tuple[str, ...]
    key: Any = None

    def __getitem__(self, variable: str) -> list[int]:
        """The positions of a variable's events."""
        return self.positions[variable]

    def __str__(self) -> str:
        held = _listing(": ", self.positions) or ": holds nothing yet"
        return f"from {self.start}{held}; in {self.state}, waits for {' or '.join(self.waits)}"

    def __repr__(self) -> str:
        held = f"start={self.start}{_listing(', ', self.positions)}"
        return f"Partial({_key_text(self.key)}{held}, state={self.state!r}, waits={' or '.join(self.waits)!r})"


class Partials(list[Partial]):
    """Partial matches, by start; `more` tells how many there are besides those that are listed."""

    more: int = 0

    def __repr__(self) -> str:
        return super().__repr__() + (f" and {self.more} more" if self.more else "")


class Tester:
    """A query, and a stream that a test pushes to it as it likes.

    The query is anything that `acelera.query` takes, or what it gives. The options are those of `Query.open`; without
    `schema` the columns and their types are those of the events that are pushed first, and a column that the query
    asks for but that these do not have is NULL.

    >>> t = Tester("SELECT user, A.v MATCH A : B FILTER A.v > 1 PARTITION BY user")
    >>> t.push("A(user='x', v=1) A(user='y', v=2) B(user='x') B(user='y')")
    [Match(key='y', start=1, end=2, A=[1], B=[2])]
    >>> t.rows
    [{'user': 'y', 'A_v': 2}]
    >>> print(t.explain("x"))
    user = 'x': 2 events, no matches
    no partial matches: no event could begin one; that takes A, v > 1, and the events were of type A, B
    """

    __test__ = False  # pytest would take it for a class of tests

    def __init__(
        self,
        query: str | FormulaBuilder | ast.Query | Acea | Query,
        *,
        schema: object = None,
        order_by: str | Sequence[str] | None = None,
        type_column: str | None = "type",
        event_type: str | None = None,
        ties: str = "error",
        bag_union: BagUnion = "once",
    ) -> None:
        if isinstance(query, Query) and bag_union != "once":
            raise UsageError("this query has its bag_union already; pass it to acelera.query")
        self.query = query if isinstance(query, Query) else query_of(query, bag_union=bag_union)
        self.matches: list[Match] = []
        self._order_by, self._ties = order_by, ties
        self._type_column, self._event_type = type_column, event_type
        self._partition_by = [key.name for key in self.query.ast.partition_by]
        self._variables = [name for name, held in self.query.variables.items() if held != "none"]
        self._shows_positions = _showing_positions(self.query, self._variables)
        self._given = schema is not None
        self._missing: list[str] = []
        self._batches: list[pa.Table] = []
        self._keys: list[Key] = []  # of each event, as the engine tells keys apart
        self._shown: dict[Key, Any] = {}  # keys as users write them
        self._ended: Counter[Key] = Counter()
        self._session: Session | None = None
        if schema is not None:
            self._start(self._schema_of(schema))

    # --- events in ------------------------------------------------------------------------------------------------

    def push(self, events: str | Row | Sequence[Row]) -> list[Match]:
        """Read more events; the matches that they end.

        In a string events stand apart by blanks, with attributes in brackets and, for the order column, the time since
        2024-01-01 00:00:00: `"A(v=1, s='x')@3s B(v=2)@1.5m"`; units are ms, s, m, h and d. A string without blanks,
        brackets and times has an event a letter, as in `"ABXBC"`, unless the query names a type that is longer.
        """
        rows = self._rows(events)
        if not rows:
            return []
        if self._session is None:
            self._start(self._inferred(rows))
        assert self._session is not None
        batch, before = self._batch(rows), self._session.events
        try:
            found = _read(self._session, batch)
        finally:  # a batch that is out of order is not read; one that makes an aggregate fail is
            if self._session.events > before:
                self._remember(batch)
        made = [(end, start, self._match(row, self._keys[end])) for start, end, row in found]
        ended = [match for *_, match in sorted(made, key=lambda each: (*each[:2], list(each[2].positions.values())))]
        self._ended.update(self._keys[end] for end, *_ in made)
        self.matches += ended
        return ended

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The result so far: a row for each match, with the columns of SELECT."""
        return [match.row for match in self.matches]

    def _rows(self, events: object) -> Sequence[Row]:
        if isinstance(events, str):
            nodes = ast.walk(self.query.ast.formula)
            named = [each.name for each in nodes if isinstance(each, ast.EventType | ast.Next)]
            letters = all(len(name) == 1 for name in (*named, self._event_type or "?"))
            return [self._row(events, each) for each in _written(events, letters)]
        rows = [events] if isinstance(events, Mapping) else events
        if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
            raise UsageError(f"events are a string, a dict or a list of dicts, not {events!r}")
        return rows

    def _row(self, text: str, event: _Written) -> Row:
        """An event of a string as a row."""
        row = dict(event.values)
        only = self._event_type or (self.query.ast.stream if self._type_column is None else None)
        if only is not None and event.type != only:
            raise _mistake(text, event.span, f"all events are of type `{only}`")
        if only is None and self._type_column is not None:
            if self._type_column in row:
                raise _mistake(text, event.span, f"`{self._type_column}` is given twice: in the bracket and before it")
            row[self._type_column] = event.type
        if event.time is not None:
            order_by = [self._order_by] if isinstance(self._order_by, str) else self._order_by
            if not order_by:
                raise _mistake(text, event.span, "a time needs a column to stand in", "pass order_by=… to Tester")
            if order_by[0] in row:
                raise _mistake(text, event.span, f"`{order_by[0]}` is given twice: in the bracket and with @")
            row[order_by[0]] = event.time
        return row

    def _remember(self, batch: pa.Table) -> None:
        keys = self._keys_of({name: batch.column(name) for name in self._partition_by}, batch.num_rows)
        columns = [batch.column(name).to_pylist() for name in self._partition_by]
        shown = zip(*columns, strict=True) if columns else [()] * batch.num_rows
        for key, values in zip(keys, shown, strict=True):
            self._shown.setdefault(key, values if len(values) > 1 else next(iter(values), None))
        self._keys += keys
        self._batches.append(batch)

    # --- columns and keys -----------------------------------------------------------------------------------------

    def _schema_of(self, described: object) -> Schema:
        types = {"type_column": self._type_column, "event_type": self._event_type}
        return schema_of(described, **types, stream=self.query.ast.stream)

    def _inferred(self, rows: Sequence[Row]) -> Schema:
        found = to_arrow(rows).schema
        self._missing = [name for name in _columns_asked(self.query, self._type_column) if name not in found.names]
        return self._schema_of(pa.schema([*found, *(pa.field(name, pa.null()) for name in self._missing)]))

    def _start(self, schema: Schema) -> None:
        self._schema, self._session = schema, self._open(schema)
        names = self.query.automaton.names if isinstance(self.query, AutomatonQuery) else ()
        self._steps = _Steps(self._session.plan, names)

    def _open(self, schema: Schema) -> Session:
        return self._shows_positions.open(schema, order_by=self._order_by, ties=self._ties)

    def _batch(self, rows: Sequence[Row]) -> pa.Table:
        columns = self._schema.columns
        known = [name for name in columns if name not in self._missing]
        for name in dict.fromkeys(name for row in rows for name in row):
            if name not in known:
                where = "the schema has" if self._given else "the events that were pushed first had"
                hint = "" if self._given else "; pass schema=… to say beforehand which columns there are"
                raise SchemaError(f"{where} no column `{name}`{did_you_mean(str(name), known) or hint}")
        return pa.table(
            {name: self._array(name, kind, [row.get(name) for row in rows]) for name, kind in columns.items()}
        )

    def _array(self, name: str, kind: Type, values: list[Any]) -> Any:
        try:
            if kind.kind in _WITHOUT_LITERALS and any(isinstance(each, str | float) for each in values):
                return pa.array(values).cast(kind.arrow)
            return pa.array(values, kind.arrow)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            hint = "" if self._given else " since the first push; pass schema=… if it is another"
            raise DataError(f"`{name}` is of type {kind}{hint}: {error}") from None

    def _keys_of(self, columns: Mapping[str, Any], size: int) -> list[Key]:
        if not columns:
            return [()] * size
        kinds = self._schema.columns
        plain = [map(canonical, plain_values(column, kinds[name])) for name, column in columns.items()]
        return list(zip(*plain, strict=True))

    def _asked(self, key: Any) -> list[Key]:
        """The keys that are asked for: all if it is None."""
        if key is None:
            return list(self._shown)
        names, values = self._partition_by, key if isinstance(key, tuple) else (key,)
        if len(names) != len(values):
            wanted = f"has a value for each of {', '.join(names)}" if names else "needs PARTITION BY"
            raise UsageError(f"key={key!r}: a key {wanted}")
        if self._session is None:
            return []
        given = zip(names, values, strict=True)
        return self._keys_of({name: self._array(name, self._schema.columns[name], [each]) for name, each in given}, 1)

    # --- matches --------------------------------------------------------------------------------------------------

    def _match(self, row: dict[str, Any], key: Key) -> Match:
        """A match, from a row that ends with its positions."""
        start, end, *held = (row.pop(name) for name in list(row)[-2 - len(self._variables) :])
        positions = [each if isinstance(each, list) else [each] for each in held]
        return Match(start, end, dict(zip(self._variables, positions, strict=True)), row, self._shown[key])

    def partial(self, key: Any = None, *, limit: int = 20) -> Partials:
        """The partial matches of a key, or of all keys: those that go on, and that the next event finds in the window.

        At most `limit` are listed, since there may be very many; `more` tells how many there are besides.
        """
        return self._partial(self._asked(key), limit)

    def _partial(self, keys: Sequence[Key], limit: int = 20) -> Partials:
        found = Partials()
        if self._session is None:
            return found
        runs = [_Runs(self._session, each) for each in keys]
        listed = islice(chain.from_iterable(map(self._partials, runs)), limit)
        found += sorted(listed, key=lambda each: (each.start, list(each.positions.values())))
        found.more = sum(each.count() for each in runs) - len(found)
        return found

    def _partials(self, runs: _Runs) -> Iterator[Partial]:
        at, actions = runs.session.store.frame().positions, runs.session.machine.actions
        for node, standing in runs.held(runs.floor(ahead=1)):
            state, waits = self._steps.named(standing.words), self._waits([standing])
            for start, marked in runs.paths(node):
                positions: dict[str, list[int]] = {name: [] for name in self._variables}
                for action, row in marked:
                    for variable, bag in actions[action].marks:
                        positions[variable] += [int(at[row])] * len(bag)
                yield Partial(int(at[start]), positions, state, waits, self._shown.get(runs.key))

    def _waits(self, standing: Iterable[_Standing]) -> tuple[str, ...]:
        found = (self._steps.waits(each.words, self._values_text(dict(each.split))) for each in standing)
        return tuple(dict.fromkeys(chain.from_iterable(found)))

    # --- why ------------------------------------------------------------------------------------------------------

    def explain(self, key: Any = None) -> str:
        """What goes on, for a key or for all: how much was read, what waits for what, and if nothing does, why."""
        keys = self._asked(key)
        if not self._keys:
            return f"no events yet; a match begins with {self._beginning()}"
        lines = [line for each in keys[:MOST_KEYS] for line in self._about(each)]
        if len(keys) > MOST_KEYS:
            lines.append(f"… and {len(keys) - MOST_KEYS} more keys")
        return "\n".join([*lines, *map(self._is_null, self._missing)])

    def _is_null(self, column: str) -> str:
        near = did_you_mean(column, [name for name in self._schema.columns if name not in self._missing])
        return f"`{column}` is NULL: the events that were pushed first had no such column{near}"

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        read = f"{_number(len(self._keys), 'event')}, {_number(len(self.matches), 'match')}"
        return f"<Tester of {' '.join(str(self.query).split())}: {read}>"

    def _about(self, key: Key) -> list[str]:
        name = self._values_text(dict(zip(self._partition_by, key, strict=True)))
        read = f"{_number(self._keys.count(key), 'event')}, {_number(self._ended[key], 'match')}"
        lines = [f"{name}: {read}" if name else read]
        if key not in self._shown:
            return lines
        waiting = self._partial([key])
        if waiting:
            lines += [f"{_number(len(waiting) + waiting.more, 'partial match')}:", *(f"  {each}" for each in waiting)]
            return [*lines, f"  … and {waiting.more} more"] if waiting.more else lines
        begun = self._begun(key)
        if not begun:
            return [*lines, f"no partial matches: no event could begin one; {self._not_begun(key)}"]
        lines += ["no partial matches are left; those that began:", *(f"  {each}" for each in begun[-MOST_BEGUN:])]
        return [*lines, f"  … and {len(begun) - MOST_BEGUN} before"] if len(begun) > MOST_BEGUN else lines

    def _not_begun(self, key: Key) -> str:
        types = list(dict.fromkeys(self._type(place) for place, each in enumerate(self._keys) if each == key))
        seen = ", ".join(types[:10]) + (", …" if len(types) > 10 else "")
        return f"that takes {self._beginning()}, and the events were of type {seen}"

    def _beginning(self) -> str:
        """What an event must be for a match to begin with it."""
        if self._session is not None:
            events = self._steps.beginning()
        else:
            automaton = self.query.automaton
            labels = (t.label for t in automaton.transitions if t.source == automaton.initial)
            events = list(dict.fromkeys(_event_text(label.assign, label.predicate) for label in labels))
        return " or ".join(events) or "what cannot be, as the parts of the query exclude each other"

    def _begun(self, key: Key) -> list[_Begun]:
        """What became of matches that began: the stream is read again, event by event."""
        session, events = self._open(self._schema), pa.concat_tables(self._batches)
        begun: dict[int, _Begun] = {}
        waiting: dict[int, _Start] = {}
        for place, read in enumerate(self._keys):
            ended = Counter(start for start, _, _ in _read(session, events.slice(place, 1)) if read == key)
            runs = _Runs(session, key)
            held, before = runs.starts(runs.floor()), waiting
            waiting = {start: each for start, each in held.items() if each.tick >= runs.floor(ahead=1)}
            if read == key and (place in held or place in ended):
                begun[place] = _Begun(runs.events)
            for start, matches in ended.items():
                begun[start].matches += matches
            for start in ({*before, place} & begun.keys()) - waiting.keys():
                if start in held or (start not in ended and before[start].tick < runs.floor()):
                    begun[start].end = f"left the window of {self._window}"
                elif start in ended:
                    begun[start].end = f"nothing of it goes on after {runs.events}"
                else:
                    wanted = " or ".join(self._waits(before[start].standing))
                    begun[start].end = f"{self._type(place)} at {runs.events} did not fit, it waited for {wanted}"
        return list(begun.values())

    @property
    def _window(self) -> str:
        within = self.query.ast.within
        return "" if within is None else amount(within.amount, within.unit)

    def _type(self, place: int) -> str:
        """The type of an event, for people."""
        column = self._schema.type_column
        if column is None:
            return str(next(iter(self._schema.event_types or ()), "?"))
        for batch in self._batches:
            if place < batch.num_rows:
                return str(batch.column(column)[place].as_py())
            place -= batch.num_rows
        raise AssertionError("every event is in a batch")

    def _values_text(self, values: Mapping[str, Any]) -> str:
        return ", ".join(f"{name} = {show(self._schema, name, value)}" for name, value in values.items())


def _key_text(key: Any) -> str:
    return "" if key is None else f"key={key!r}, "


def _listing(before: str, positions: Mapping[str, list[int]]) -> str:
    shown = ", ".join(f"{name}={listed}" for name, listed in positions.items() if listed)
    return before + shown if shown else ""


def _number(count: int, what: str) -> str:
    plural = f"{what}es" if what.endswith("ch") else f"{what}s"
    return f"1 {what}" if count == 1 else f"{count or 'no'} {plural}"


# --- the query ----------------------------------------------------------------------------------------------------


def _showing_positions(query: Query, variables: Sequence[str]) -> Query:
    """The query, with further columns: where a match starts and ends, and the positions of each variable."""
    bounds = [ast.SelectBound(bound, f"\0{bound}") for bound in ("start", "end")]
    held = [ast.SelectAttribute(name, "position", f"\0{number}") for number, name in enumerate(variables)]
    showing = copy.copy(query)
    showing.ast = replace(query.ast, select=(*query.ast.select, *bounds, *held))
    return showing


def _columns_asked(query: Query, type_column: str | None) -> list[str]:
    """The columns of the stream that a query speaks of."""
    automata = (query.automaton, *query.automaton.guards)
    terms: list[Term] = []
    for label in (t.label for each in automata for t in each.transitions):
        terms += [*(term for _, term in label.assign), *label.predicate]
        terms += [term for _, bag in label.marks for mark in bag for term in mark.terms()]
    names = [part.name for term in terms for part in subterms(term) if isinstance(part, Attr)]
    variables = check(query.ast, None, query.bag_union).variables  # without a schema, they have what was made
    for item in query.ast.select:
        shown = item.aggregation if isinstance(item, ast.SelectAggregation) else item
        if isinstance(shown, ast.Aggregation | ast.SelectAttribute) and shown.attribute is not None:
            names += [shown.attribute] if shown.attribute not in variables[shown.variable].attributes else []
    names += [key.name for key in query.ast.partition_by]
    return [name for name in dict.fromkeys(names) if name not in ("type", "position", "time", type_column)]


def _read(session: Session, batch: pa.Table) -> list[tuple[int, int, dict[str, Any]]]:
    """Read events: where in the stream each match starts and ends, and its row."""
    found: list[tuple[int, int, dict[str, Any]]] = []
    for page in session.pages(batch):
        found += zip(page.starts.tolist(), page.ends.tolist(), page.rows.to_pylist(), strict=True)
    return found


# --- what partial matches there are -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Standing:
    """Where partial matches stand: the states in words, and the values that split the stream, by column."""

    words: str
    split: tuple[tuple[str, Any], ...]


@dataclass
class _Start:
    """A first event of partial matches: its tick, and where they stand."""

    tick: int
    standing: list[_Standing] = field(default_factory=list)


@dataclass
class _Begun:
    """What became of the matches that began at a position."""

    start: int
    matches: int = 0
    end: str = ""

    def __str__(self) -> str:
        return f"from {self.start}: {_number(self.matches, 'match')}; {self.end}"


class _Runs:
    """The partial matches that a session holds of a key of PARTITION BY."""

    def __init__(self, session: Session, key: Key) -> None:
        self.session, self.key = session, key
        known, width = session.partitions.values(), len(session.partitions.columns)
        number = known.index(key) if key in known else len(known)
        self.events = int(session.counts[number]) if number < min(len(known), len(session.counts)) else 0
        columns = session.keys.columns[width:]
        self._numbers = [
            (number, tuple(zip(columns, values[width:], strict=True)))
            for number, values in enumerate(session.keys.values())
            if values[:width] == key
        ]

    def floor(self, ahead: int = 0) -> int:
        """The oldest tick at which a match may start that ends with the last event, or with one after it."""
        window = self.session.window
        return self.session.floor if window.timed else int(window.floors(np.array([self.events + ahead]))[0])

    def held(self, floor: int) -> Iterator[tuple[int, _Standing]]:
        """The nodes that hold partial matches."""
        machine = self.session.machine
        for number, split in self._numbers:
            for node, words in machine.partial(number):
                if machine.arena.newest[node] >= floor:
                    yield node, _Standing(words, split)

    def count(self) -> int:
        """How many partial matches there are."""
        floor, counts = self.floor(ahead=1), dict[int, int]()
        arena = self.session.machine.arena
        for node, _ in self.held(floor):
            for each in self._below(node, floor):
                following = self._following(each, floor)
                counts[each] = 1 if arena.mark[each] == kernels.BOTTOM else sum(counts[below] for below in following)
        return sum(counts[node] for node, _ in self.held(floor))

    def starts(self, floor: int) -> dict[int, _Start]:
        """The first events of partial matches, by their place in the stream."""
        arena, places = self.session.machine.arena, self.session.store.places
        found: dict[int, _Start] = {}
        for node, standing in self.held(floor):
            for each in self._below(node, floor):
                if arena.mark[each] == kernels.BOTTOM:
                    start = found.setdefault(int(places[arena.two[each]]), _Start(int(arena.newest[each])))
                    start.standing.append(standing)
        return found

    def paths(self, node: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """The partial matches of a node: the row of the first event, and the actions with their rows in order."""
        arena, floor = self.session.machine.arena, self.floor(ahead=1)
        actions = len(self.session.machine.actions)
        todo: list[tuple[int, list[tuple[int, int]]]] = [(node, [])]
        while todo:
            node, marked = todo.pop()
            mark = int(arena.mark[node])
            if mark == kernels.BOTTOM:
                yield int(arena.two[node]), marked[::-1]
            if 0 <= mark < actions:  # others carry values that were made
                marked = [*marked, (mark, int(arena.two[node]))]
            todo += [(below, marked) for below in reversed(self._following(node, floor))]

    def _following(self, node: int, floor: int) -> list[int]:
        """The nodes that a node is made of, and that are in the window."""
        arena = self.session.machine.arena
        mark, one, two = int(arena.mark[node]), int(arena.one[node]), int(arena.two[node])
        if mark == kernels.BOTTOM:
            return []
        return [one, two] if mark == kernels.UNION and arena.newest[two] >= floor else [one]

    def _below(self, node: int, floor: int) -> list[int]:
        """A node and all below it, each after those that it is made of."""
        found, todo = {node}, [node]
        while todo:
            fresh = [each for each in self._following(todo.pop(), floor) if each not in found]
            found.update(fresh)
            todo += fresh
        return sorted(found)


# --- what they wait for -------------------------------------------------------------------------------------------

_STATE = re.compile(r"(?:^|(?<=, )|(?<= or ))q(\d+)(?=$|, | or | \()")


class _Steps:
    """What takes a partial match further, in words, by the state that it is in."""

    def __init__(self, plan: Plan, names: Sequence[str]) -> None:
        self._plan, self._names = plan, names
        self._outgoing: dict[int, list[Edge]] = {}
        for edge in plan.edges:
            self._outgoing.setdefault(edge.source, []).append(edge)

    def named(self, words: str) -> str:
        """States as the user calls them."""
        return _STATE.sub(lambda found: self._names[int(found[1])], words) if self._names else words

    def beginning(self) -> list[str]:
        """The events that a match may begin with."""
        value = f" with a value of {', '.join(self._plan.split_by)}" if self._plan.split_by else ""
        found = (self._text(edge) + value for edge in self._outgoing.get(self._plan.initial, ()))
        return list(dict.fromkeys(found))

    def waits(self, words: str, split: str) -> list[str]:
        """The events that take a partial match further that is in some of these states."""
        found: dict[str, str] = {}
        for state in map(int, _STATE.findall(words)):
            for text, patience in self._waits(state):
                found[text] = patience if found.get(text, patience) else ""
        return [text + (f" with {split}" if split else "") + patience for text, patience in found.items()]

    def _waits(self, state: int) -> Iterator[tuple[str, str]]:
        """The events that a state waits for, each with how long it may take."""
        for edge in self._outgoing.get(state, ()):
            if _does_nothing(edge) and edge.target == state:
                continue
            if _does_nothing(edge) and not (edge.tests or edge.conditions) and not self._patience(edge.target):
                further = self._outgoing.get(edge.target, ())
                yield from ((self._text(each), "") for each in further if not each.idle)
            else:
                yield self._text(edge), self._patience(state)

    def _patience(self, state: int) -> str:
        edges = self._outgoing.get(state, ())
        if any(edge.idle for edge in edges):
            return ""
        staying = [self._text(edge) for edge in edges if edge.target == state and _does_nothing(edge)]
        return f" (while {' or '.join(staying)})" if staying else " (at the next position)"

    def _text(self, edge: Edge) -> str:
        alone = [self._plan.tests[number] for number in sorted(edge.tests)]
        return _event_text(edge.assign, (*alone, *edge.conditions))


def _does_nothing(edge: Edge) -> bool:
    return edge.action == NO_ACTION and all(term == Reg(name) for name, term in edge.assign)


def _event_text(assign: Sequence[tuple[str, Term]], predicate: Sequence[Term]) -> str:
    """What an event must be, given the registers as they are before it."""
    after: dict[str, Term] = {}
    for name, term in assign:
        after[name] = substitute(term, lambda part: after[part.name] if isinstance(part, Fresh) else None)
    terms = (
        substitute(term, lambda part: after.get(part.name) if isinstance(part, Reg) else None) for term in predicate
    )
    unset = Const(UNSET)
    asked = [term for term in terms if not (isinstance(term, Compared) and unset in (term.left, term.right))]
    return label_text(Label((), tuple(asked)))


# --- events as text -----------------------------------------------------------------------------------------------

_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TYPE = re.compile(r"[^\s()@,='\"]+")
_NAME = re.compile(r"\s*([^\W\d]\w*)\s*=\s*")
_VALUE = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s,()'"]+""")
_TIME = re.compile(r"(-?\d+(?:\.\d+)?)(\w*)")
_AFTER = re.compile(r"\s*([,)])\s*")


@dataclass
class _Written:
    """An event as it is written in a string."""

    type: str
    span: Span
    values: dict[str, Any] = field(default_factory=dict)
    time: datetime.datetime | None = None


def _mistake(text: str, span: Span, message: str, hint: str | None = None) -> UsageError:
    return UsageError(render(Problem(message, span, hint), text))


def _written(text: str, letters: bool) -> list[_Written]:
    """The events of a string; without blanks, brackets and times each letter may be one."""
    if letters and re.fullmatch(r"\w+", text):
        return [_Written(letter, Span(at, at + 1)) for at, letter in enumerate(text)]
    events, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        name = _TYPE.match(text, at)
        if name is None:
            raise _mistake(text, Span(at, at + 1), "here should stand the type of an event")
        event, at = _Written(name[0], Span(*name.span())), name.end()
        if text[at : at + 1] == "(":
            at = _attributes(text, at, event)
        if text[at : at + 1] == "@":
            at = _time(text, at, event)
        if at < len(text) and not text[at].isspace():
            raise _mistake(text, Span(at, at + 1), "events stand apart by blanks")
        events.append(event)
    return events


def _attributes(text: str, at: int, event: _Written) -> int:
    """Read `(name=value, …)`; where it ends."""
    opened, at = Span(at, at + 1), at + 1
    empty = re.compile(r"\s*\)").match(text, at)
    if empty:
        return empty.end()
    while True:
        if not text[at:].strip():
            raise _mistake(text, opened, "this bracket is never closed")
        name = _NAME.match(text, at)
        if name is None:
            raise _mistake(text, Span(at, at + 1), "here should stand an attribute, as in v=1")
        value = _VALUE.match(text, name.end())
        if value is None and not text[name.end() :]:
            raise _mistake(text, opened, "this bracket is never closed")
        if value is None:
            raise _mistake(
                text, Span(name.end(), name.end() + 1), f"`{name[1]}` has no value, or a quote is not closed"
            )
        if name[1] in event.values:
            raise _mistake(text, Span(*name.span(1)), f"`{name[1]}` is given twice")
        event.values[name[1]] = _literal(text, value)
        after = _AFTER.match(text, value.end())
        if after is None and not text[value.end() :].strip():
            raise _mistake(text, opened, "this bracket is never closed")
        if after is None:
            raise _mistake(text, Span(value.end(), value.end() + 1), "here should stand a comma or a closing bracket")
        at = after.end()
        if after[1] == ")":
            return after.end(1)


def _literal(text: str, found: re.Match[str]) -> Any:
    try:
        value = literal_eval(found[0])
    except (ValueError, SyntaxError):
        value = ...
    if value is None or isinstance(value, bool | int | float | str):
        return value
    hint = "strings stand in quotes; True, False and None are written as in Python"
    raise _mistake(text, Span(*found.span()), f"`{found[0]}` is no literal", hint)


def _time(text: str, at: int, event: _Written) -> int:
    """Read `@3s`; where it ends."""
    found = _TIME.match(text, at + 1)
    if found is None or found[2] not in _UNITS:
        end = at + 1 if found is None else found.end()
        raise _mistake(text, Span(at, end), "a time is a number and a unit, as in @3s", f"units: {', '.join(_UNITS)}")
    try:
        event.time = EPOCH + datetime.timedelta(seconds=float(found[1]) * _UNITS[found[2]])
    except OverflowError:
        raise _mistake(text, Span(at, found.end()), "this is beyond the years that Python knows") from None
    return found.end()
