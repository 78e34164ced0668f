"""What a stretch of a stream makes of whatever comes into it, as rows; and how those of many are multiplied.

A row of a matrix stands for matches, or for partial matches that are left at its end in a set of states. They came into
the stretch in a set, or began in it. Their keys may not be known yet, or be known to a stretch before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import Array, kernel
from acelera.engine.nodes.components import Components, Kinds, multiply
from acelera.engine.nodes.vector_arena import components_in
from acelera.engine.registers.interned import Strings
from acelera.engine.summaries.component_summarizer import ComponentSummarizer
from acelera.engine.summaries.finishing import finished
from acelera.engine.summaries.grouping import ATTRIBUTE
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.partials import KeyNumbers, component_fields, components_of, texts_at, unfinished
from acelera.engine.summaries.rows import ResultRows
from acelera.engine.summaries.totals import Totals
from acelera.language.summary import Summarized

Ints = npt.NDArray[Any]

STRETCH, CAME, LEFT, KNOWN = "stretch", "came", "left", "known"
"""The number of the stretch; 1 + the set that matches came in, or 0 if they began there; the set that they are left in,
or -1 if they have ended; the keys that are known, as bits.
"""
ENDED = -1


def matrix_schema(summary: Summarized, layout: Layout) -> pa.Schema:
    """The columns of a matrix."""
    numbers = [pa.field(name, pa.int64()) for name in (STRETCH, CAME, LEFT, KNOWN)]
    return pa.schema([*numbers, *_key_fields(summary), *component_fields(layout)])


def _key_fields(summary: Summarized) -> list[pa.Field]:
    return [pa.field(f"key{number}", column.type) for number, column in enumerate(summary.keys)]


def matrix(summarizer: ComponentSummarizer, stretch: int) -> pa.RecordBatch:
    """All that a stretch has found."""
    arena, grouping = summarizer.arena, summarizer.grouping
    places, values = summarizer.machine.slots.of_key(0)
    sets = arena.places.rows[places, 0]
    parts = arena.groups.rows[arena.group[values]]
    left = np.zeros((len(values), len(grouping.sources)), np.int64)
    for place, source in enumerate(grouping.sources):
        if source < 0:
            left[:, place] = parts[:, -1 - source]
    numbers = np.concatenate([summarizer.totals.keys, left])
    state = np.concatenate([np.full(len(summarizer.totals), ENDED), sets])
    cells = np.concatenate([summarizer.totals.components.cells, arena.components.cells[values]])
    components = components_in(cells)
    assert grouping.row_at is not None
    came = numbers[:, grouping.row_at]
    known, keys = np.zeros(len(came), np.int64), []
    for number in range(len(grouping.key_at)):
        column = numbers[:, grouping.key_at[number]]
        there = _is_known(summarizer, number, column, came, state)
        known |= there.astype(np.int64) << number
        at: Ints = np.maximum(np.cumsum(there) - 1, 0)
        keys.append(summarizer.key(number, column[there]).take(pa.array(at, mask=~there)))
    found = [np.full(len(came), stretch), came, state, known]
    columns = [*map(pa.array, found), *keys, *unfinished(summarizer.layout, components, summarizer.texts_at)]
    schema = matrix_schema(summarizer.summary, summarizer.layout)
    arrays = [column.cast(each.type) for column, each in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _is_known(summarizer: ComponentSummarizer, number: int, column: Ints, came: Ints, state: Ints) -> Ints:
    """Whether a key is known to a stretch: from where a match ends, begins, or marks an event."""
    grouping = summarizer.grouping
    source = grouping.sources[grouping.key_at[number]]
    if source >= 0:
        found = state == ENDED
    elif grouping.parts[-1 - source].what == ATTRIBUTE:
        found = column >= 0
    else:
        found = came == 0
    return np.asarray(found)


@kernel
def multiply_rows(
    kinds: Kinds, made: Components, left: Components, lefts: Array, right: Components, rights: Array
) -> None:
    """Make rows the products of others, pair by pair."""
    for i in range(len(lefts)):
        multiply(kinds, made, i, left, lefts[i], right, rights[i])


class Chaining:
    """The matrices of all stretches up to now, multiplied: totals of matches that have ended, and what is left."""

    def __init__(self, summary: Summarized, layout: Layout) -> None:
        self._layout, self.schema, self._result = layout, matrix_schema(summary, layout), ResultRows(summary, None)
        self._keys, self._texts = KeyNumbers(_key_fields(summary)), Strings((), ordered=True)
        self._width = len(summary.keys)
        self._totals = Totals(layout.shape, [0] * self._width)
        self._left = self._none_left()

    def _none_left(self) -> Totals:
        """By the set, the keys that are known, and keys."""
        return Totals(self._layout.shape, [0] * (2 + self._width))

    def add(self, stretch: pa.RecordBatch) -> None:
        """All rows of the next stretch."""
        columns = [column.cast(each.type) for column, each in zip(stretch.columns, self.schema, strict=True)]
        came, state, known = (column.to_numpy(zero_copy_only=False) for column in columns[1:4])
        keys = self._keys.read(columns[4 : 4 + self._width]) if self._width else np.zeros((len(came), 0), np.int64)
        components = components_of(self._layout, columns[4 + self._width :], len(came), self._texts)
        kinds = self._layout.shape.kinds(self._texts.ranks)
        before, self._left = self._left, self._none_left()
        for ended in (True, False):
            rows = np.flatnonzero((state == ENDED) == ended)
            fresh = rows[came[rows] == 0]
            self._put(ended, kinds, state[fresh], known[fresh], keys[fresh], components, fresh)
            lefts, rights = _pairs(before.keys[:, 0], rows, came)
            if not len(lefts):
                continue
            made = self._layout.shape.components(len(lefts))
            multiply_rows(kinds, made, before.components, lefts, components, rights)
            known_before = before.keys[lefts, 1]
            bits = known_before[:, None] >> np.arange(self._width) & 1
            both = np.where(bits == 1, before.keys[lefts, 2:], keys[rights])
            every = np.arange(len(lefts))
            self._put(ended, kinds, state[rights], known_before | known[rights], both, made, every)

    def _put(
        self, ended: bool, kinds: Kinds, state: Ints, known: Ints, keys: Ints, components: Components, rows: Ints
    ) -> None:
        if ended:
            self._totals.add(kinds, keys, components, rows)
        else:
            self._left.add(kinds, np.column_stack([state, known, keys]), components, rows)

    def rows(self) -> pa.RecordBatch:
        """The rows of the result."""
        if not len(self._totals):
            return pa.RecordBatch.from_pylist([], schema=self._result.schema)
        found = self._totals.components
        totals = finished(self._layout, found, lambda at, missing: texts_at(self._texts, at, missing))
        return self._result.rows_in_order(None, self._keys.values(self._totals.keys), totals)


def _pairs(sets: Ints, rows: Ints, came: Ints) -> tuple[Ints, Ints]:
    """What was left in a set with each of the rows that came in it."""
    lefts: Sequence[Ints] = [np.zeros(0, np.int64)]
    rights: Sequence[Ints] = [np.zeros(0, np.int64)]
    for number in np.unique(sets):
        one, two = np.flatnonzero(sets == number), rows[came[rows] == number + 1]
        lefts, rights = [*lefts, np.repeat(one, len(two))], [*rights, np.tile(two, len(one))]
    return np.concatenate(lefts), np.concatenate(rights)
