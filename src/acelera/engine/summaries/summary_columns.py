"""What summaries read of events: columns of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.frames import Frame, column_of
from acelera.engine.nodes.vectors import Given as GivenArrays
from acelera.engine.predicates.computed_columns import column as column_of_events
from acelera.engine.registers.encoding import scaled
from acelera.engine.registers.interned import Strings
from acelera.engine.session.keys import Keys
from acelera.engine.storage.snapshots import Section
from acelera.engine.summaries.grouping import ATTRIBUTE, PANE, PARTITION, POSITION, TIME, WINDOW, Known
from acelera.engine.summaries.recipes import FLOAT, MISSING, TEXT, WHOLE, Given
from acelera.engine.summaries.windows import Spans
from acelera.errors import DataError
from acelera.language.events import Value
from acelera.language.schema import Schema

Ints = npt.NDArray[Any]


class ValueColumns:
    """The columns that operations read, with the texts among them by number."""

    def __init__(self, columns: Sequence[Given]) -> None:
        self._columns = columns
        self.texts = Strings((), ordered=True)
        self.has_texts = any(given.form == TEXT for given in columns)

    def read(self, frame: Frame, places: Ints, parts: Ints, stored: Ints) -> GivenArrays:
        """What is known of events, beside where they stand, parts of groups and stored values."""
        shape = (len(self._columns), len(frame))
        whole, missing = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        real = whole.view(np.float64)
        for number, given in enumerate(self._columns):
            column = pa.nulls(len(frame)) if given.attribute is None else column_of_events(frame, given.attribute)
            missing[number] = column.is_null().to_numpy(zero_copy_only=False)
            if given.form == MISSING:
                missing[number] = ~missing[number]
                continue
            if missing[number].all():
                continue
            if given.form == FLOAT:
                real[number] = floats(column)
            elif given.form == WHOLE:
                whole[number] = integers(given.said, column)
            elif given.form == TEXT:
                whole[number] = self.texts.numbers(column)
        return GivenArrays(whole, real, missing, parts, places, stored, stored.view(np.float64))

    def texts_at(self, numbers: Ints, missing: Ints) -> Any:
        """The texts that have some numbers."""
        return self.texts.texts().take(pa.array(np.where(missing, 0, numbers), mask=missing))


def floats(column: Any) -> Ints:
    """A column as floats; some number for NULL."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), 0.0).to_numpy(zero_copy_only=False))


def integers(name: str, column: Any) -> Ints:
    """A column as integers; some number for NULL."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        if pa.types.is_decimal(column.type):
            return scaled(column)
        if pa.types.is_date(column.type):
            column = column.cast(pa.date32()).cast(pa.int32())
        return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
    except pa.ArrowException as error:
        raise DataError(f"{name}, of type {column.type}, cannot be read: {error}") from None


class KeyColumns:
    """What tells groups apart, as numbers: places and times as they are, other values by number."""

    def __init__(self, known: Sequence[Known], schema: Schema, partition_by: Sequence[str], spans: Spans | None):
        self.known, self._schema, self._spans = known, schema, spans
        self.keys: dict[Known, Keys] = {}
        for each in known:
            columns = list(partition_by) if each.what == PARTITION else [column_of(each.attribute, schema)]
            if each.what == PARTITION or (each.what == ATTRIBUTE and columns != [None]):
                self.keys[each] = Keys([name for name in columns if name is not None], schema)

    def read(self, frame: Frame) -> Ints:
        """A row for each of what is known."""
        found = np.zeros((len(self.known), len(frame)), np.int64)
        for number, each in enumerate(self.known):
            found[number] = self._read(each, frame)
        return found

    def _read(self, known: Known, frame: Frame) -> Ints:
        if known in self.keys:
            return self.keys[known].read(frame)
        if known.what == TIME:
            return times(frame)
        if known.what in (WINDOW, PANE):
            assert self._spans is not None
            ticks = times(frame) if self._spans.timed else frame.positions
            return self._spans.oldest(ticks) if known.what == WINDOW else self._spans.panes(ticks)
        if known.what == POSITION or known.attribute == "position":
            return frame.positions
        return np.zeros(len(frame), np.int64)  # the type, where all events have one

    def has_values(self, known: Known) -> bool:
        """Whether numbers stand for values."""
        return known in self.keys

    def constant(self, known: Known) -> str | None:
        """The value that a key has for all events: their type, where no column tells it."""
        if known.what != ATTRIBUTE or known.attribute != "type" or not self._schema.event_types:
            return None
        return next(iter(self._schema.event_types))

    def count(self, known: Known) -> int:
        """How many values have numbers."""
        return len(self.keys[known]) if known in self.keys else 0

    def keep(self, known: Known, numbers: Ints) -> None:
        """Forget the values of all other numbers; these are numbered anew, in order."""
        self.keys[known].keep(numbers)

    def values(self, known: Known, numbers: Ints) -> list[tuple[Value, ...]]:
        """The values that numbers stand for, of those that have numbers."""
        used, at = np.unique(numbers, return_inverse=True)
        keys = self.keys[known].some(used)
        return [keys[index] for index in at.tolist()]

    def dump(self, name: str) -> dict[str, Section]:
        """All values that have numbers, for a snapshot."""
        dumped: dict[str, Section] = {}
        for number, known in enumerate(self.known):
            if known in self.keys and self.keys[known].columns:
                dumped |= self.keys[known].dump(f"{name}{number}")
        return dumped

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """Those of a snapshot."""
        for number, known in enumerate(self.known):
            if known in self.keys and self.keys[known].columns:
                self.keys[known].load(f"{name}{number}", sections)


def times(frame: Frame) -> Ints:
    """When events happen, in the unit of their column."""
    return np.asarray(frame["time"].cast(pa.int64()).to_numpy())
