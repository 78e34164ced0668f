"""The events that a test pushes, as a session reads them: columns, keys of PARTITION BY, and the matches they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import pyarrow as pa

from acelera.automata.analysis import attributes_asked
from acelera.engine.session.session import Session
from acelera.errors import DataError, SchemaError, did_you_mean
from acelera.language import ast
from acelera.language.aggregates import canonical
from acelera.language.order_errors import show
from acelera.language.schema import Schema, schema_of
from acelera.language.types import Kind
from acelera.query import Query
from acelera.tables import plain_values, to_arrow, with_fields
from acelera.testing.written import Row

Key = tuple[Any, ...]

_WITHOUT_LITERALS = (Kind.DECIMAL, Kind.DATE, Kind.TIMESTAMP)  # so they are written as strings or floats


@dataclass(frozen=True, repr=False)
class Match:
    """A match: where it starts and ends, the positions of each variable's events, and its row of the result.

    `key` is the value of PARTITION BY, or a tuple of them if there are several.

    >>> from acelera.testing import Tester
    >>> (match,) = Tester("SELECT B.v MATCH A : B").push("A(v=1) B(v=2)")
    >>> match
    Match(start=1, end=2, A=[1], B=[2])
    >>> match["B"], match.row
    ([2], {'B_v': 2})
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
        return f"Match({key_prefix(self.key)}start={self.start}, end={self.end}{listing(', ', self.positions)})"


def key_prefix(key: Any) -> str:
    """A key as the first argument, if there is one."""
    return "" if key is None else f"key={key!r}, "


def listing(before: str, positions: Mapping[str, list[int]]) -> str:
    """The variables that hold something, if any do."""
    shown = ", ".join(f"{name}={listed}" for name, listed in positions.items() if listed)
    return before + shown if shown else ""


class Stream:
    """A session, and the events that it has read: for each its key, as the engine tells keys apart, and its type.

    Without a schema the columns are those of the first rows; those that the query asks for besides are `missing`, and
    NULL. `shown` are keys as users write them.
    """

    def __init__(
        self,
        query: Query,
        schema: object,
        first: Sequence[Row],
        *,
        type_column: str | None,
        event_type: str | None,
        **options: Any,
    ) -> None:
        self.query, self._given = query, schema is not None
        self.missing: list[str] = []
        if schema is None:
            found = to_arrow(first).schema
            known = set(found.names)
            asked = _columns_asked(query, type_column)
            self.missing = [name for name in asked if name not in known and name.split(".")[0] not in known]
            schema = pa.schema([*found, *(pa.field(name, pa.null()) for name in self.missing)])
        described = schema_of(schema, type_column=type_column, event_type=event_type, stream=query.clauses.stream)
        self.schema: Schema = query.with_fields(described)
        self.known = [name for name in self.schema.in_tables if name not in self.missing]
        self.variables = [name for name, held in query.variables.items() if held != "none"]
        self.open = partial(_showing_positions(query, self.variables).open, self.schema, **options)
        self._open_itself = partial(query.open, self.schema, **options)
        if query.clauses.summary is not None:
            self._open_itself()  # which refuses what is wrong with it
        self.session: Session = self.open()
        self._partition_by = [key.name for key in query.clauses.partition_by]
        self._batches: list[pa.Table] = []
        self.keys: list[Key] = []
        self.types: list[str] = []
        self.shown: dict[Key, Any] = {}
        self.ended: Counter[Key] = Counter()  # how many matches each key has

    # --- events in, matches out -----------------------------------------------------------------------------------

    def position(self, place: int) -> int:
        """The position within its key of an event, which is told by its place in the stream."""
        return self.keys[: place + 1].count(self.keys[place])

    def read(self, rows: Sequence[Row]) -> list[Match]:
        """Read events; the matches that they end, by end, start and positions."""
        batch, before = self._batch(rows), self.session.events
        try:
            found = read(self.session, batch)
        finally:  # a batch that is out of order is not read; one that makes an aggregate fail is
            if self.session.events > before:
                self._remember(batch)
        self.ended.update(self.keys[end] for end, *_ in found)
        made = [(end, start, self._match(row, self.keys[end])) for end, start, row in found]
        return [match for *_, match in sorted(made, key=lambda each: (*each[:2], list(each[2].positions.values())))]

    def _match(self, row: dict[str, Any], key: Key) -> Match:
        """A match, from a row that ends with its positions."""
        start, end, *held = (row.pop(name) for name in list(row)[-2 - len(self.variables) :])
        positions = [each if isinstance(each, list) else [each] for each in held]
        return Match(start, end, dict(zip(self.variables, positions, strict=True)), row, self.shown[key])

    def _remember(self, batch: pa.Table) -> None:
        columns = {name: batch.column(name) for name in self._partition_by}
        keys = self._keys(columns, batch.num_rows)
        values = zip(*(column.to_pylist() for column in columns.values()), strict=True) if columns else [()] * len(keys)
        for key, shown in zip(keys, values, strict=True):
            self.shown.setdefault(key, shown if len(shown) > 1 else next(iter(shown), None))
        types = [next(iter(self.schema.event_types or ()), "?")] * len(keys)
        if self.schema.type_column is not None:
            types = list(map(str, batch.column(self.schema.type_column).to_pylist()))
        self.keys += keys
        self.types += types
        self._batches.append(batch)

    def summary(self) -> list[dict[str, Any]]:
        """The rows of a summary over all events."""
        if not self._batches:
            return []
        session = self._open_itself()
        pages = chain(session.pages(pa.concat_tables(self._batches)), session.rest())
        rows: list[dict[str, Any]] = session.table(list(pages)).to_pylist()
        return rows

    def events(self) -> list[pa.Table]:
        """All events, one by one."""
        whole = pa.concat_tables(self._batches)
        return [whole.slice(place, 1) for place in range(whole.num_rows)]

    # --- columns --------------------------------------------------------------------------------------------------

    def _batch(self, rows: Sequence[Row]) -> pa.Table:
        for name in dict.fromkeys(name for row in rows for name in row):
            if name not in self.known:
                where = "the schema has" if self._given else "the events that were pushed first had"
                hint = "" if self._given else "; pass schema=… to say beforehand which columns there are"
                raise SchemaError(f"{where} no column `{name}`{did_you_mean(str(name), self.known) or hint}")
        columns = {name: self._array(name, [row.get(name) for row in rows]) for name in self.schema.in_tables}
        return with_fields(pa.table(columns), self.schema)

    def _array(self, name: str, values: list[Any]) -> Any:
        kind = self.schema.columns[name]
        try:
            if kind.kind in _WITHOUT_LITERALS and any(isinstance(each, str | float) for each in values):
                return pa.array(values).cast(kind.arrow)
            return pa.array(values, kind.arrow)
        except (pa.ArrowException, OverflowError, ValueError, TypeError) as error:
            hint = "" if self._given else " since the first push; pass schema=… if it is another"
            raise DataError(f"`{name}` is of type {kind}{hint}: {error}") from None

    # --- keys -----------------------------------------------------------------------------------------------------

    def key_of(self, values: Sequence[Any]) -> Key:
        """A key that a user has written."""
        given = zip(self._partition_by, values, strict=True)
        return self._keys({name: self._array(name, [value]) for name, value in given}, 1)[0]

    def _keys(self, columns: Mapping[str, Any], size: int) -> list[Key]:
        plain = [map(canonical, plain_values(column, self.schema.columns[name])) for name, column in columns.items()]
        return list(zip(*plain, strict=True)) if columns else [()] * size

    def key_text(self, key: Key) -> str:
        """A key in words."""
        return self.values_text(zip(self._partition_by, key, strict=True))

    def values_text(self, values: Iterable[tuple[str, Any]]) -> str:
        """Values of columns in words."""
        return ", ".join(f"{name} = {show(self.schema, name, value)}" for name, value in values)


def read(session: Session, batch: pa.Table) -> list[tuple[int, int, dict[str, Any]]]:
    """Read events: where in the stream each match ends and starts, and its row."""
    found: list[tuple[int, int, dict[str, Any]]] = []
    for page in session.pages(batch):
        found += zip(page.ends.tolist(), page.starts.tolist(), page.rows.to_pylist(), strict=True)
    return found


def _showing_positions(query: Query, variables: Sequence[str]) -> Query:
    """The query, with further columns: where a match starts and ends, and the positions of each variable."""
    bounds = [ast.SelectBound(bound, f"\0{bound}") for bound in ("start", "end")]
    held = [ast.SelectAttribute(name, "position", f"\0{number}") for number, name in enumerate(variables)]
    return query.with_select([*query.clauses.select, *bounds, *held])


def _columns_asked(query: Query, type_column: str | None) -> list[str]:
    """The columns of the stream that a query speaks of."""
    names = attributes_asked(query.automaton)
    names += [name for absence in query.automaton.absences for variable, name in absence.keys if variable is None]
    checked = query.pattern.check(query.clauses, None)  # without a schema, variables have what was made
    asked = checked.result.named_attributes if checked.summary is None else sorted(checked.summary.looked_at)
    names += [name for variable, name in asked if name not in checked.variables[variable].attributes]
    names += [key.name for key in query.clauses.partition_by]
    return [name for name in dict.fromkeys(names) if name not in ("type", "position", "time", type_column)]
