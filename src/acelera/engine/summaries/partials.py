"""What one of many workers has found of groups, as rows that others can merge.

A row has the number of its window, its keys as values, and the components of its totals, so that it means the same
everywhere: texts stand in it as texts, since their numbers belong to one process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.nodes import components as op
from acelera.engine.nodes.components import Columns, Components
from acelera.engine.registers.interned import Strings
from acelera.engine.session.keys import Keys
from acelera.engine.storage.renumbering import Reference, in_column
from acelera.engine.summaries.finishing import Texts, finished
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.recipes import BY_PLACE
from acelera.engine.summaries.rows import ResultRows
from acelera.engine.summaries.totals import Totals
from acelera.engine.summaries.windows import Spans
from acelera.language.schema import Schema
from acelera.language.summary import Summarized
from acelera.language.types import Kind, from_arrow

Ints = npt.NDArray[Any]

WINDOW = "window"
"""The column with the number of a group's window."""


# --- components as columns ----------------------------------------------------------------------------------------


def text_columns(layout: Layout) -> set[tuple[str, int]]:
    """Which components are texts: an array of them, and a place in it."""
    found = {("best", at) for at, kind in enumerate(layout.shape.best) if kind in (op.FIRST_TEXT, op.LAST_TEXT)}
    for total in layout.totals:
        if total.value.given is not None and total.value.given.kind is Kind.STRING:
            found |= {("load", total.at[0])} if total.value.total.function.lower() in BY_PLACE else set()
    return found


def text_references(layout: Layout, components: Components, rows: Ints) -> list[Reference]:
    """Where in some rows numbers of texts stand."""
    at, cells, found = layout.shape.at, components.cells, []
    for name, place in sorted(text_columns(layout)):
        there = rows[(cells[rows, op.FLAGS_CELL] >> layout.shape.best_flag[place] & 1).astype(np.bool_)]
        found.append(in_column(cells, there, int(at[op.BEST_AT if name == "best" else op.LOAD]) + place))
    return found


def component_fields(layout: Layout) -> list[pa.Field]:
    """The columns that hold components."""
    texts, fields = text_columns(layout), []
    for name, array in _empty(layout, 0)._asdict().items():
        kind = pa.from_numpy_dtype(array.dtype)
        if array.ndim == 1:
            fields.append(pa.field(name, kind))
        else:
            width = range(array.shape[1])
            fields += [pa.field(f"{name}{at}", pa.string() if (name, at) in texts else kind) for at in width]
    return fields


def _empty(layout: Layout, rows: int) -> Columns:
    return layout.shape.columns(layout.shape.components(rows))


def unfinished(layout: Layout, components: Components, texts: Texts) -> list[Any]:
    """The columns of components, in the order of their fields."""
    found = layout.shape.columns(components)
    as_text, columns = text_columns(layout), []
    for name, array in found._asdict().items():
        if array.ndim == 1:
            columns.append(pa.array(np.ascontiguousarray(array)))
            continue
        for at in range(array.shape[1]):
            numbers = np.ascontiguousarray(array[:, at])
            if (name, at) in as_text:
                missing = ~(found.flags >> layout.shape.best_flag[at] & 1).astype(np.bool_)
                columns.append(texts(numbers, missing).cast(pa.string()))
            else:
                columns.append(pa.array(numbers))
    return columns


def components_of(layout: Layout, columns: Iterable[Any], rows: int, texts: Strings) -> Components:
    """Components from their columns."""
    as_text, found, given = text_columns(layout), _empty(layout, rows), iter(columns)
    for name, array in found._asdict().items():
        if array.ndim == 1:
            array[:] = next(given).to_numpy(zero_copy_only=False)
            continue
        for at in range(array.shape[1]):
            column = next(given)
            array[:, at] = texts.numbers(column) if (name, at) in as_text else column.to_numpy(zero_copy_only=False)
    return layout.shape.packed(found)


# --- rows ---------------------------------------------------------------------------------------------------------


class PartialRows:
    """Groups as rows that can be merged; `states` are the columns of what was found of each."""

    def __init__(self, summary: Summarized, states: Sequence[pa.Field]) -> None:
        window = [] if summary.windows is None else [pa.field(WINDOW, pa.int64())]
        self.keys = [pa.field(f"key{number}", column.type) for number, column in enumerate(summary.keys)]
        self.group = [*window, *self.keys]
        self.schema = pa.schema([*self.group, *states])

    def in_order(self, rows: pa.Table) -> pa.Table:
        """Rows in any order: who merges them puts theirs in order."""
        return rows

    def rows(self, windows: Ints | None, keys: list[Any], totals: list[Any]) -> pa.RecordBatch:
        """The rows of groups: the number of the window of each, a column for each key and each state."""
        window = [] if windows is None else [pa.array(np.ascontiguousarray(windows, np.int64))]
        columns = [*window, *keys, *totals]
        arrays = [column.cast(each.type) for column, each in zip(columns, self.schema, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


class KeyNumbers:
    """Keys of groups as numbers, and back."""

    def __init__(self, fields: Sequence[pa.Field]) -> None:
        types = {each.name: from_arrow(each.type) for each in fields}
        self._keys = [Keys([each.name], Schema(types)) for each in fields]
        self._fields = fields
        self._values: list[list[Any]] = [[] for _ in fields]

    def read(self, columns: Sequence[Any]) -> Ints:
        """A row for each group, with a number for each key."""
        length = len(columns[0]) if columns else 0
        found = np.zeros((length, len(self._keys)), np.int64)
        for at, (keys, each, column) in enumerate(zip(self._keys, self._fields, columns, strict=True)):
            known = len(keys)
            numbers = keys.numbers(column)
            found[:, at] = numbers
            if len(keys) > known:
                first = np.full(len(keys) - known, -1, np.int64)
                fresh = np.flatnonzero(numbers >= known)
                first[numbers[fresh][::-1] - known] = fresh[::-1]
                self._values[at].append(column.cast(each.type).take(pa.array(first)))
        return found

    def values(self, numbers: Ints) -> list[Any]:
        """A column for each key."""
        columns = []
        for at, each in enumerate(self._fields):
            known = pa.chunked_array(self._values[at], each.type).combine_chunks()
            columns.append(known.take(pa.array(numbers[:, at])))
        return columns


class Merging(ABC):
    """Totals of groups of which several workers have found something."""

    def __init__(self, summary: Summarized, states: Sequence[pa.Field], spans: Spans | None) -> None:
        self.partial, self._result = PartialRows(summary, states), ResultRows(summary, spans)
        self._timed, self._keys = summary.windows is not None, KeyNumbers(self.partial.keys)

    @abstractmethod
    def _add(self, numbers: Ints, states: Sequence[Any]) -> None:
        """Add what was found of groups, each with its numbers: a column for each state."""

    @abstractmethod
    def _found(self) -> tuple[Ints, list[Any]]:
        """The numbers of all groups, and a column for each total."""

    def add(self, batch: pa.RecordBatch) -> None:
        """More rows."""
        columns = [column.cast(each.type) for column, each in zip(batch.columns, self.partial.schema, strict=True)]
        windows, states = int(self._timed), len(self.partial.group)
        numbers = np.zeros((batch.num_rows, states), np.int64)
        if self._timed:
            numbers[:, 0] = columns[0].to_numpy(zero_copy_only=False)
        if self.partial.keys:
            numbers[:, windows:] = self._keys.read(columns[windows:states])
        self._add(numbers, columns[states:])

    def rows(self) -> pa.RecordBatch:
        """The rows of the result."""
        numbers, totals = self._found()
        if not len(numbers):
            return pa.RecordBatch.from_pylist([], schema=self._result.schema)
        windows = numbers[:, 0] if self._timed else None
        return self._result.rows_in_order(windows, self._keys.values(numbers[:, int(self._timed) :]), totals)


class MergingComponents(Merging):
    """What was found are components."""

    def __init__(self, summary: Summarized, layout: Layout, spans: Spans | None) -> None:
        super().__init__(summary, component_fields(layout), spans)
        self._layout, self._texts = layout, Strings((), ordered=True)
        self._totals = Totals(layout.shape, [0] * len(self.partial.group))

    def _add(self, numbers: Ints, states: Sequence[Any]) -> None:
        components = components_of(self._layout, states, len(numbers), self._texts)
        kinds = self._layout.shape.kinds(self._texts.ranks)
        self._totals.add(kinds, numbers, components, np.arange(len(numbers)))

    def _found(self) -> tuple[Ints, list[Any]]:
        texts = partial(texts_at, self._texts)
        return self._totals.keys, finished(self._layout, self._totals.components, texts)


def texts_at(texts: Strings, numbers: Ints, missing: Ints) -> Any:
    """The texts that have some numbers, NULL where they are missing."""
    return texts.texts().take(pa.array(np.where(missing, 0, numbers), mask=missing))
