"""Rows that are equal under order_by, in the order of all their columns, before they become events.

Which rows are equal to the last ones is known once a row comes that is not. So these are held back until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.session.order import Order, Standing, compare_adjacent, order_columns, sorted_indices
from acelera.engine.storage import validation as check
from acelera.engine.storage.columns import ordinary, picked
from acelera.engine.storage.ranks import ranks
from acelera.engine.storage.snapshots import Section
from acelera.errors import DataError
from acelera.language.schema import Schema
from acelera.language.sorting import arranges, no_order, sort_key, tie_columns

Ints = npt.NDArray[Any]


class Piece(NamedTuple):
    """Rows that follow each other, and their numbers for people."""

    rows: pa.Table
    numbers: Ints


class State(NamedTuple):
    """How far rows have come: how many in all, how many of those that went on are tied, how many were dropped; the
    rows that are held back, and where the last one stands.
    """

    rows: int = 0
    tied: int = 0
    dropped: int = 0
    held: tuple[Piece, ...] = ()
    standing: Standing = Standing()


class Arranging:
    """Puts tied rows into order; of those that are equal in all columns, the first alone stays if others are `drop`ped.

    Rows of one key are counted as tied, or of one key of those that are `counted`. Rows have numbers for people if they
    are `numbered`. Columns that are `beside` those of the stream follow from them.
    """

    def __init__(
        self,
        schema: Schema,
        keys: Sequence[str],
        drop: bool,
        numbered: bool,
        beside: Mapping[str, pa.DataType] | None = None,
        counted: Sequence[str] | None = None,
    ) -> None:
        self._schema, self._numbered = schema, numbered
        self._kinds = {name: ordinary(kind.arrow) for name, kind in schema.columns.items()} | dict(beside or {})
        self._order = Order(schema, keys, "keep", numbered)
        self._tied_rows = TiedRows(schema, keys, drop, counted)
        self.state = State()

    @property
    def columns(self) -> list[str]:
        """The columns that it reads: all of the stream."""
        return list(self._schema.columns)

    @property
    def due(self) -> int | None:
        """The time before which no row may come for those that are held back to go on; None if there are none."""
        time = self.time
        return None if time is None else time + 1

    @property
    def time(self) -> int | None:
        """The time of the rows that are held back, in the unit of their column."""
        if not self.state.held or self._schema.time is None:
            return None
        found: int = self.state.held[0].rows.column(self._schema.order_by[0])[0].cast(pa.int64()).as_py()
        return found

    # --- rows -----------------------------------------------------------------------------------------------------

    def take(self, table: pa.Table, numbers: Ints) -> tuple[list[Piece], State]:
        """More rows: those that can go on, and the state once they have. Rows that are refused change nothing."""
        if not table.num_rows:
            return [], self.state
        before = self.state
        rows = table.select(list(dict.fromkeys(self._schema.order_by)))
        self._order.standing = before.standing
        standing = self._order.check(rows, np.zeros(len(numbers), np.int32), numbers)
        columns = order_columns(rows, self._schema, None)
        _, equal = compare_adjacent(columns)
        goes_on = before.standing.last is not None and self._order.values(columns, 0) == before.standing.last
        if goes_on and not before.held:
            raise self._too_late(int(numbers[0]))
        different = np.flatnonzero(~equal) + 1
        first, last = (int(different[0]), int(different[-1])) if len(different) else (len(numbers), 0)
        held, pieces = before.held, []
        if goes_on:
            held = (*held, self._piece(table, numbers, 0, first))
        if held and (not goes_on or len(different)):
            pieces.append(_together(held))
            held = ()
        begin = first if goes_on else 0
        if begin < last:
            pieces.append(Piece(table.slice(begin, last - begin), numbers[begin:last]))
        if not goes_on or len(different):
            held = (self._piece(table, numbers, last, len(numbers)),)
        return self._arranged(pieces, before._replace(rows=before.rows + len(numbers), held=held, standing=standing))

    def let_go(self, now: int | None) -> tuple[list[Piece], State]:
        """The rows that are held back, since no row comes any more, or none before a time; and the state then."""
        time = self.time
        if not self.state.held or (now is not None and (time is None or time >= now)):
            return [], self.state
        return self._arranged([_together(self.state.held)], self.state._replace(held=()))

    def _arranged(self, pieces: Sequence[Piece], state: State) -> tuple[list[Piece], State]:
        found = []
        for piece in pieces:
            _, equal = compare_adjacent(order_columns(piece.rows, self._schema, None))
            indices, tied, dropped = self._tied_rows.indices(piece.rows, equal)
            state = state._replace(tied=state.tied + tied, dropped=state.dropped + dropped)
            whole = piece if indices is None else Piece(picked(piece.rows, indices), piece.numbers[indices])
            found.append(whole)
        return found, state

    def _piece(self, table: pa.Table, numbers: Ints, begin: int, end: int) -> Piece:
        """Some rows, apart from the table that they come with, in types that do not depend on it."""
        part = table.slice(begin, end - begin)
        columns = {name: part.column(name) for name in part.column_names}
        kinds = {name: self._kinds[name] for name in columns}
        rows = {name: each if each.type == kinds[name] else each.cast(kinds[name]) for name, each in columns.items()}
        return Piece(picked(pa.table(rows), np.arange(end - begin)), numbers[begin:end])

    def _too_late(self, number: int) -> DataError:
        row = f"row {number}" if self._numbered else "a row"
        return DataError(
            f"{row} is equal under {', '.join(self._schema.order_by)} to rows that were read already, since it was "
            "said that no more of them come; push all rows of a time before it is said"
        )

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        rows, tied, dropped, held, standing = self.state
        self._order.standing = standing
        found: dict[str, Section] = {"arranged": [rows, tied, dropped, self._order.dump()]}
        if held:
            piece = _together(held)
            batch = piece.rows.combine_chunks().to_batches()[0]
            found |= {"held_back": batch, "held_numbers": np.asarray(piece.numbers, np.int64)}
        return found

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        rows, tied, dropped, order = sections["arranged"]
        check.whole("arranged", rows, tied, dropped)
        self._order.load(order)
        held: tuple[Piece, ...] = ()
        if "held_back" in sections:
            batch, numbers = sections["held_back"], check.array(sections, "held_numbers", np.int64)
            fits = isinstance(batch, pa.RecordBatch) and {each.name: each.type for each in batch.schema} == self._kinds
            check.holds("held_back", fits and 0 < batch.num_rows == len(numbers), "has other columns or rows")
            batch.validate(full=True)
            held = (Piece(pa.Table.from_batches([batch]), numbers),)
        self.state = State(rows, tied, dropped, held, self._order.standing)


class TiedRows:
    """How rows that are in order stand where they are equal under it: by their keys, then by all other columns.

    Those of one key are counted, or of one key of others.
    """

    def __init__(self, schema: Schema, keys: Sequence[str], drop: bool, counted: Sequence[str] | None = None) -> None:
        names = tie_columns(schema, keys)
        self._schema, self._drop, self._counted = schema, drop, counted
        self._keys, self._others = names[: len(set(keys))], names[len(set(keys)) :]

    def indices(self, rows: pa.Table, equal: Ints) -> tuple[Ints | None, int, int]:
        """How to put rows in order, None if they are; how many are tied, and how many are dropped.

        `equal` tells of each row but the first whether it is equal to the one before it. A row is tied if there is
        another of its key before it that is equal to it.
        """
        if not equal.any():
            return None, 0, 0
        order, places = np.arange(rows.num_rows), _not_alone(equal)
        alike = _Alike(places, np.concatenate(([0], np.cumsum(~equal)))[places])
        tied, unordered = self._told_apart(rows, self._counted or (), order.copy(), alike).repeated, list[str]()
        alike = self._told_apart(rows, self._keys, order, alike)
        tied = alike.repeated if self._counted is None else tied
        for name in self._others:
            try:
                alike = alike.told_apart(order, self._ranks(rows, name, order[alike.places]))
            except (TypeError, pa.ArrowException):
                unordered.append(name)
        if unordered and alike.repeated:
            raise no_order(unordered[0], self._schema.columns[unordered[0]])
        if not self._drop:
            return order, tied, 0
        again = alike.places[1:][alike.group[1:] == alike.group[:-1]]
        return np.delete(order, again), tied - len(again), len(again)

    def _told_apart(self, rows: pa.Table, names: Sequence[str], order: Ints, alike: _Alike) -> _Alike:
        for name in names:
            alike = alike.told_apart(order, self._ranks(rows, name, order[alike.places]))
        return alike

    def _ranks(self, rows: pa.Table, name: str, chosen: Ints) -> Ints:
        column = rows.select([name])
        return ranks(picked(column, chosen).column(0), sort_key) if len(chosen) else np.empty(0, np.int64)


class _Alike(NamedTuple):
    """The places in the order whose rows cannot be told apart from those beside them yet, in groups."""

    places: Ints
    group: Ints

    @property
    def repeated(self) -> int:
        """How many rows are not the first of their group."""
        return int((self.group[1:] == self.group[:-1]).sum())

    def told_apart(self, order: Ints, rank: Ints) -> _Alike:
        """What is left after rows of a group were put into the order of their ranks."""
        if not len(rank):
            return self
        sort = np.lexsort((rank, self.group))
        order[self.places], rank = order[self.places][sort], rank[sort]
        same = (self.group[1:] == self.group[:-1]) & (rank[1:] == rank[:-1])
        group, left = np.concatenate(([0], np.cumsum(~same))), _not_alone(same)
        return _Alike(self.places[left], group[left])


def in_whole_order(table: pa.Table, schema: Schema, keys: Sequence[str], ties: str) -> Ints | None:
    """How to put all rows of a stream in order, tied ones too; None if they are. Each row has a place in the order."""
    columns = order_columns(table, schema, np.arange(1, table.num_rows + 1)) if schema.order_by else []
    first = sorted_indices(columns) if columns else None
    if not columns or not arranges(ties):
        return first
    ordered = table if first is None else picked(table, first)
    _, equal = compare_adjacent(order_columns(ordered, schema, None))
    then, _, _ = TiedRows(schema, keys, ties == "drop").indices(ordered, equal)
    return first if then is None else then if first is None else first[then]


def _not_alone(same: Ints) -> Ints:
    """The places of rows that are the same as the one before or after; `same` tells of each but the first."""
    return np.flatnonzero(np.concatenate(([False], same)) | np.concatenate((same, [False])))


def _together(held: Sequence[Piece]) -> Piece:
    """Several pieces as one."""
    if len(held) == 1:
        return held[0]
    return Piece(pa.concat_tables([each.rows for each in held]), np.concatenate([each.numbers for each in held]))
