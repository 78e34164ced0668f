"""What comes in: rows in order, each with the moment at which it happens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.frames import Frame
from acelera.engine.session.arranging import Arranging, Piece, State
from acelera.engine.session.order import Order, Standing, compare_adjacent, order_columns, sorted_indices
from acelera.engine.session.partitions import Partitions
from acelera.engine.storage.columns import decoded, ordinary
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.errors import DataError, SchemaError, UsageError, did_you_mean
from acelera.language.schema import Schema, refuse_repeated
from acelera.language.sorting import arranges, check_ties
from acelera.streams.event_order import Ints, Rows
from acelera.tables import refuse_bad_text, to_arrow, with_fields


def one_table(data: object, schema: Schema) -> tuple[pa.Table, bool]:
    """What comes in as one table, and whether it must be put in order first: a table for each type is made one."""
    if not isinstance(data, Mapping):
        if isinstance(data, list | tuple) and not data:
            return schema_without_rows(schema), False
        return to_arrow(data), False
    if schema.type_column is None or schema.event_types is None:
        raise UsageError("the stream was announced as one table; give one with the same columns")
    if not schema.order_by:
        raise UsageError("events of several tables have no order among them; say it with order_by=…")
    parts = [schema_without_rows(schema)]
    for name, each in data.items():
        if name not in schema.event_types:
            raise SchemaError(f"the event type `{name}` was not announced{did_you_mean(name, schema.event_types)}")
        if not (isinstance(each, list | tuple) and not each):
            parts.append(_typed(str(name), to_arrow(each), schema))
    return pa.concat_tables(parts), True


def schema_without_rows(schema: Schema) -> pa.Table:
    """A table without rows."""
    return pa.table({name: pa.array([], ordinary(kind.arrow)) for name, kind in schema.in_tables.items()})


def _typed(name: str, table: pa.Table, schema: Schema) -> pa.Table:
    """The rows of one type with all columns of the stream."""
    refuse_repeated(table.column_names, f" in `{name}`")
    assert schema.type_column is not None
    types = pa.array([name] * table.num_rows, pa.string())
    if schema.type_column in table.column_names:
        table = table.drop_columns([schema.type_column])
    for column in schema.attributes(name):
        if column not in (*table.column_names, schema.type_column):
            raise SchemaError(
                f"the table of `{name}` has no column `{column}`{did_you_mean(column, table.column_names)}"
            )
    table = table.append_column(schema.type_column, types)
    return conformed(table, {each: ordinary(kind.arrow) for each, kind in schema.columns.items()})


def conformed(table: pa.Table, kinds: Mapping[str, pa.DataType]) -> pa.Table:
    """The columns of these names and types; what is missing is NULL."""
    names, columns = set(table.column_names), {}
    for name, kind in kinds.items():
        if name not in names:
            columns[name] = pa.chunked_array([pa.nulls(table.num_rows, kind)])
            continue
        column = decoded(table.column(name))
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        try:
            columns[name] = column if column.type == kind else column.cast(kind)
        except pa.ArrowException as error:
            raise SchemaError(
                f"the column `{name}` is {column.type} in this table, but {kind} in the stream: {error}"
            ) from None
    return pa.table(columns)


def sorted_table(table: pa.Table, schema: Schema) -> tuple[pa.Table, Ints]:
    """The rows in order, and their numbers for people."""
    numbers = np.arange(1, table.num_rows + 1)
    if schema.order_by:
        _demand(table, schema.order_by)
        indices = sorted_indices(order_columns(table, schema, numbers))
        if indices is not None:
            return table.take(pa.array(indices)), numbers[indices]
    return table, numbers


def _demand(table: pa.Table, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.column_names:
            raise SchemaError(f"the table has no column `{name}`{did_you_mean(name, table.column_names)}")


class BaseStream:
    """How far what comes in has come: its order, and the moment of its last row.

    A moment is a number: the time of a row in the unit of its column, or, where rows have no time, the number of its
    place in the order. `made` are types that rows cannot have, since statements make their events. Rows that tie within
    one of the keys in `apart` are refused, if `ties` are an error. If they are put in order, those of one of the `keys`
    are counted.
    """

    def __init__(
        self,
        schema: Schema,
        made: Sequence[str],
        ties: str,
        apart: Sequence[tuple[str, ...]],
        keys: tuple[str, ...],
        numbered: bool,
    ) -> None:
        check_ties(ties, schema)
        self.schema, self.ties, self.rows = schema, ties, 0
        self.arranging: Arranging | None = None
        if arranges(ties) and schema.order_by:
            self.arranging = Arranging(schema, (), ties == "drop", numbered, counted=keys)
        self.reached: int | None = None  # no row comes any more up to this moment
        self._made, self._numbered = made, numbered
        self._order = Order(schema, (), "keep", numbered)
        self._ties = [_Ties(keys, schema, numbered) for keys in apart] if ties == "error" and schema.order_by else []
        self._last: int | None = None

    def numbers(self, table: pa.Table) -> Ints:
        """The numbers for people of the next rows."""
        return np.arange(self.rows + 1, self.rows + table.num_rows + 1)

    def read(self, table: pa.Table, numbers: Ints, now: int | None) -> tuple[Rows, Ints]:
        """The next rows that can be read, with their moments and numbers, all up to a moment if one is told; rows that
        are refused, as they are not in order, leave no trace.
        """
        came = table.num_rows
        if came:
            refuse_made(table, self.schema, self._made, numbers if self._numbered else None)
        if self.arranging is None:
            return self._taken(table, numbers, came, now), numbers
        table, numbers, state = self._arranged(table, numbers, now)
        rows = self._taken(table, numbers, came, None)
        self.arranging.state = state
        return rows, numbers

    def read_held(self) -> tuple[Rows, Ints]:
        """The rows that were held back since others might have come that tie with them."""
        nothing = np.empty(0, np.int64)
        if self.arranging is None:
            return Rows(schema_without_rows(self.schema), nothing), nothing
        pieces, state = self.arranging.let_go(None)
        table, numbers = self._one_of(pieces)
        rows = self._taken(table, numbers, 0, None)
        self.arranging.state = state
        return rows, numbers

    def _arranged(self, table: pa.Table, numbers: Ints, now: int | None) -> tuple[pa.Table, Ints, State]:
        """The rows whose order is known by now, and what is held back then."""
        assert self.arranging is not None
        if table.num_rows:
            _demand(table, self.arranging.columns)
            table = conformed(table, self._kinds)
            refuse_bad_text(table, numbers if self._numbered else None)
            if self.schema.time is not None:
                self._refuse_late(table, numbers, now)
        before = self.arranging.state
        pieces, state = self.arranging.take(table, numbers)
        try:
            self.arranging.state = state
            more, state = ([], state) if now is None else self.arranging.let_go(now + 1)
        finally:
            self.arranging.state = before
        return (*self._one_of([*pieces, *more]), state)

    def _refuse_late(self, table: pa.Table, numbers: Ints, now: int | None) -> None:
        """Times that were said to have passed, or are said to be yet to come."""
        moments = order_columns(table, self.schema, numbers if self._numbered else None)[0].cast(pa.int64()).to_numpy()
        if self.reached is not None and int(moments[0]) <= self.reached:
            raise self._too_late(int(numbers[0]))
        _refuse_early(int(moments[-1]), now)

    def _one_of(self, pieces: Sequence[Piece]) -> tuple[pa.Table, Ints]:
        """Rows that follow each other as one table."""
        tables = [schema_without_rows(self.schema), *(conformed(each.rows, self._kinds) for each in pieces)]
        return pa.concat_tables(tables), np.concatenate([np.empty(0, np.int64), *(each.numbers for each in pieces)])

    def _taken(self, table: pa.Table, numbers: Ints, came: int, now: int | None) -> Rows:
        """Rows with their moments; so many came."""
        if not table.num_rows:
            self.rows += came
            return Rows(table, np.empty(0, np.int64))
        moments, standing = self._moments(table, numbers)
        _refuse_early(int(moments[-1]), now)
        untied = [each.check(table, numbers) for each in self._ties]
        self._order.standing = standing
        for each, known in zip(self._ties, untied, strict=True):
            each.take(known)
        self.rows += came
        self._last = int(moments[-1])
        return Rows(table, moments)

    def complete(self, now: int | None) -> int | None:
        """The moment up to which all rows have come: that of the last one where no other row can have it, or `now`."""
        if self._last is not None:
            alone = self.arranging is not None or not self.schema.order_by
            own = self._last if alone else self._last - 1
            self.reached = own if self.reached is None else max(own, self.reached)
        if now is not None:
            self.reached = now if self.reached is None else max(now, self.reached)
        return self.reached

    @property
    def clock(self) -> int | None:
        """The moment of the last row."""
        return self._last

    def _moments(self, table: pa.Table, numbers: Ints) -> tuple[Ints, Standing]:
        """The moments of rows, and how far the order has come with them."""
        schema = self.schema
        if not schema.order_by:
            return np.arange(self.rows, self.rows + table.num_rows), self._order.standing
        _demand(table, schema.order_by)
        batch = one_batch(table.select(list(dict.fromkeys(schema.order_by))))
        columns = order_columns(batch, schema, numbers if self._numbered else None)
        before = self._order.standing.last
        standing = self._order.check(batch, np.zeros(len(numbers), np.int32), numbers)
        if schema.time is not None:
            moments = np.asarray(columns[0].cast(pa.int64()).to_numpy())
            if self.reached is not None and int(moments[0]) <= self.reached:
                raise self._too_late(int(numbers[0]))
            return moments, standing
        after, _ = compare_adjacent(columns)
        follows = before is not None and before == self._first_of(batch)
        first = -1 if self._last is None else self._last
        return np.cumsum([first + (not follows), *after.astype(np.int64)]), standing

    def _first_of(self, batch: pa.RecordBatch) -> tuple[Any, ...]:
        from acelera.tables import plain_values

        columns = [(batch.column(name), self.schema.columns[name]) for name in self.schema.order_by]
        return tuple(plain_values(column.slice(0, 1), kind)[0] for column, kind in columns)

    @property
    def _kinds(self) -> dict[str, pa.DataType]:
        return {name: ordinary(kind.arrow) for name, kind in self.schema.columns.items()}

    def _too_late(self, number: int) -> DataError:
        return DataError(
            f"{self._called(number)} comes too late: rows up to its time were said to have come, or to come no more"
        )

    def _called(self, number: int) -> str:
        return f"row {number}" if self._numbered else "a row"

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        state = {"rows": self.rows, "reached": self.reached, "last": self._last, "order": self._order.dump()}
        found: dict[str, Section] = {"base": state}
        for number, each in enumerate(self._ties):
            found |= with_prefix(f"ties{number}.", each.dump())
        return found if self.arranging is None else {**found, **self.arranging.dump()}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        state = sections["base"]
        self.rows, self.reached, self._last = state["rows"], state["reached"], state["last"]
        self._order.load(state["order"])
        for number, each in enumerate(self._ties):
            each.load(without_prefix(f"ties{number}.", sections), self.rows)
        if self.arranging is not None:
            self.arranging.load(sections)


def _refuse_early(moment: int, now: int | None) -> None:
    if now is not None and moment > now:
        raise DataError("rows come that are later than now=…; push them later, or leave now out")


def refuse_made(table: pa.Table, schema: Schema, made: Sequence[str], numbers: Ints | None) -> None:
    """Events that statements make do not come in. `numbers` are the rows' numbers for people, if they have any."""
    name = schema.type_column
    if name is None:
        return
    _demand(table, [name])
    refuse_bad_text(table.select([name]), numbers)
    types = table.column(name).cast(pa.string())
    for each in made:
        there = pc.equal(types, each).fill_null(False)
        if pc.any(there).as_py():
            row = int(np.flatnonzero(there.to_numpy())[0])
            which = "a row" if numbers is None else f"row {numbers[row]}"
            raise DataError(
                f"{which} is of the type `{each}`, whose events a statement makes; give the stream another name"
            )


class _Ties:
    """Refuses rows of one key that are equal in the order."""

    def __init__(self, keys: tuple[str, ...], schema: Schema, numbered: bool) -> None:
        self._schema = schema = schema.with_fields(keys)
        self._partitions = Partitions(keys, (), schema, counted_for_ever=False)
        self._order = Order(schema, keys, "error", numbered)
        self._columns = list(dict.fromkeys((*keys, *schema.order_by)))

    def check(self, table: pa.Table, numbers: Ints) -> Standing:
        """How far the order comes with rows; those that tie with each other, or with the last ones, are refused."""
        kinds = {name: self._schema.columns[name].arrow for name in self._columns}
        batch = one_batch(
            conformed(with_fields(table, self._schema), {name: ordinary(kind) for name, kind in kinds.items()})
        )
        frame = Frame(batch, np.arange(len(numbers)), self._schema)
        return self._order.check(batch, self._partitions.read(frame), numbers)

    def take(self, standing: Standing) -> None:
        """Go on from there."""
        self._order.standing = standing
        if self._partitions.wasteful:
            _, kept = self._partitions.forget_idle(np.empty(0, np.int64), self._order.tied)
            if kept is not None:
                self._order.keep_keys(kept)

    def dump(self) -> dict[str, Section]:
        return {"order": self._order.dump(), **self._partitions.dump()}

    def load(self, sections: Mapping[str, Any], rows: int) -> None:
        self._order.load(sections["order"])
        self._partitions.load(sections, rows)


def one_batch(table: pa.Table) -> pa.RecordBatch:
    """A table as one batch."""
    columns = [column.combine_chunks() for column in table.columns]
    arrays = [each.chunk(0) if isinstance(each, pa.ChunkedArray) else each for each in columns]
    return pa.RecordBatch.from_arrays(arrays, names=table.column_names)
