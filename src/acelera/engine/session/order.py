"""The order of a stream: every batch is in order, goes on after the one before, and has no ties within a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import decode, encode
from acelera.errors import DataError
from acelera.language.events import Value
from acelera.language.order_errors import no_place, show, tie
from acelera.language.schema import Schema
from acelera.tables import plain_values

Ints = npt.NDArray[Any]
Columns = Sequence[Any]


class Standing(NamedTuple):
    """How far a stream has come: the order columns of its last row, and of the rows that are equal to it, for each key
    the number of its row.
    """

    last: tuple[Value, ...] | None = None
    tied: Mapping[int, int] = {}


def order_columns(batch: pa.RecordBatch | pa.Table, schema: Schema, numbers: Ints | None) -> list[Any]:
    """The order columns; each row must have a value in each of them. `numbers` are the rows' numbers for people."""
    columns = []
    for name in schema.order_by:
        column = batch.column(name)
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        columns.append(column)
    missing: list[tuple[int, str, Value]] = []
    for name, column in zip(schema.order_by, columns, strict=True):
        nothing = column.is_null(nan_is_null=True) if pa.types.is_floating(column.type) else column.is_null()
        if pc.any(nothing).as_py():
            row = int(np.flatnonzero(nothing.to_numpy(zero_copy_only=False))[0])
            missing.append((row, name, column[row].as_py()))
    if missing:
        row, name, value = min(missing, key=lambda each: each[0])
        raise no_place(None if numbers is None else int(numbers[row]), name, value)
    return columns


def compare_adjacent(columns: Columns) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """For each row but the first: whether it comes after the row before, and whether it is equal to it."""
    size = max(len(columns[0]) - 1, 0)
    after, equal = np.zeros(size, np.bool_), np.ones(size, np.bool_)
    for column in columns:
        before, here = column.slice(0, size), column.slice(1)
        after |= equal & pc.less(before, here).to_numpy(zero_copy_only=False)
        equal &= pc.equal(before, here).to_numpy(zero_copy_only=False)
    return after, equal


def sorted_indices(columns: Columns) -> Ints | None:
    """How to put rows into order; None if they are. Rows that are equal stay as they came."""
    after, equal = compare_adjacent(columns)
    if bool((after | equal).all()):
        return None
    table = pa.table({str(index): column for index, column in enumerate(columns)})
    indices = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
    return np.asarray(indices.to_numpy())


class Order:
    """Checks batches as they come."""

    def __init__(self, schema: Schema, keys: Sequence[str], ties: str, numbered: bool = True) -> None:
        self.schema, self._keys, self.ties, self._numbered = schema, keys, ties, numbered
        self.standing = Standing()

    @property
    def tied(self) -> Ints:
        """The keys with a row that is equal to the last one: another of them would tie."""
        return np.array(sorted(self.standing.tied), np.int64)

    def keep_keys(self, keys: Ints) -> None:
        """Only these keys are left, numbered anew in this order."""
        places = np.searchsorted(keys, self.tied)
        left = np.append(keys, -1)[places] == self.tied
        rows = [self.standing.tied[key] for key in self.tied[left].tolist()]
        self.standing = Standing(self.standing.last, dict(zip(places[left].tolist(), rows, strict=True)))

    def dump(self) -> list[Any]:
        """What a snapshot must hold."""
        return [encode(self.standing.last), [list(each) for each in self.standing.tied.items()]]

    def load(self, dumped: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        last, tied = decode(dumped[0]), dict(dumped[1])
        fits = last is None or (isinstance(last, tuple) and len(last) == len(self.schema.order_by))
        check.holds("order", fits, "has another number of columns")
        check.whole("order", *tied, *tied.values())
        self.standing = Standing(last, tied)

    def check(self, batch: pa.RecordBatch, keys: Ints, numbers: Ints) -> Standing:
        """Refuse a batch that is not in order, or has ties; how far the stream has come with it.

        `numbers` are the rows' numbers as people count them. Nothing is changed: who takes the batch sets `standing`.
        """
        if not self.schema.order_by or not len(numbers):
            return self.standing
        columns = order_columns(batch, self.schema, numbers if self._numbered else None)
        after, equal = compare_adjacent(columns)
        wrong = np.flatnonzero(~(after | equal))
        if len(wrong):
            self._refuse_disorder(batch, int(wrong[0]), numbers)
        first = self.values(columns, 0)
        before = self.standing.last
        goes_on = before is not None and first == before
        if before is not None and first < before:
            raise DataError(
                f"row {numbers[0]} comes before the last row of the batch before it in the order of "
                f"{', '.join(self.schema.order_by)}; push rows in order, or run them as one table, which is sorted"
            )
        tied = self._check_ties(batch, keys, numbers, equal, goes_on) if self.ties == "error" else {}
        return Standing(self.values(columns, len(numbers) - 1), tied)

    def values(self, columns: Columns, row: int) -> tuple[Value, ...]:
        """Where a row stands."""
        kinds = [self.schema.columns[name] for name in self.schema.order_by]
        return tuple(plain_values(column.slice(row, 1), kind)[0] for column, kind in zip(columns, kinds, strict=True))

    def _refuse_disorder(self, batch: pa.RecordBatch, row: int, numbers: Ints) -> None:
        name = self.schema.order_by[0]
        left, right = plain_values(batch.column(name).slice(row, 2), self.schema.columns[name])
        raise DataError(
            f"row {numbers[row + 1]} is out of order: {name} = {show(self.schema, name, right)} after "
            f"{show(self.schema, name, left)}; push rows in order, or run them as one table, which is sorted"
        )

    def _check_ties(
        self, batch: pa.RecordBatch, keys: Ints, numbers: Ints, equal: npt.NDArray[np.bool_], goes_on: bool
    ) -> dict[int, int]:
        """Rows that are equal stand next to each other, in a group; a key may occur in a group once. The last group."""
        begin = int(np.argmin(equal)) + 1 if not equal.all() else len(numbers)  # the end of the first group
        if goes_on:
            for row in range(begin):
                before = self.standing.tied.get(int(keys[row]))
                if before is not None:
                    raise self._tie(batch, row, (before, int(numbers[row])))
        if equal.any():
            group = np.concatenate(([0], np.cumsum(~equal)))
            tied = np.flatnonzero(np.concatenate(([False], equal)) | np.concatenate((equal, [False])))
            pair = group[tied].astype(np.int64) << 32 | keys[tied]
            order = np.argsort(pair, kind="stable")
            again = np.flatnonzero(pair[order][1:] == pair[order][:-1])
            if len(again):
                second = again[np.argmin(tied[order[again + 1]])]
                left, right = int(tied[order[second]]), int(tied[order[second + 1]])
                raise self._tie(batch, right, (int(numbers[left]), int(numbers[right])))
        last = len(numbers) - (int(np.argmin(equal[::-1])) + 1 if not equal.all() else len(numbers))
        still_tied = {} if last > 0 or not goes_on else self.standing.tied
        return {**still_tied, **dict(zip(keys[last:].tolist(), numbers[last:].tolist(), strict=True))}

    def _tie(self, batch: pa.RecordBatch, row: int, rows: tuple[int, int]) -> DataError:
        names = (*self.schema.order_by, *self._keys)
        values = {name: plain_values(batch.column(name).slice(row, 1), self.schema.columns[name])[0] for name in names}
        return tie(rows if self._numbered else None, values, self._keys, self.schema)
