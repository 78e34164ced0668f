"""The event right before each one in its partition, for tests of two events that stand next to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame, attribute_type
from acelera.engine.jit import Array, kernel
from acelera.engine.storage import validation as check
from acelera.engine.storage.columns import ordinary
from acelera.engine.storage.growing import grown
from acelera.engine.storage.snapshots import Section
from acelera.language.schema import Schema

Ints = npt.NDArray[Any]


class Neighbours:
    """Of each partition the last row, with the attributes that tests ask of the event before.

    `_last` tells for each partition which of the rows kept is its last, counted from 1; 0 if it has none.
    """

    def __init__(self, names: Sequence[str], partitioned: bool, schema: Schema) -> None:
        self._partitioned = partitioned
        self._kinds = {name: ordinary(attribute_type(name, schema).arrow) for name in names}
        self._kept = {name: pa.array([], kind) for name, kind in self._kinds.items()}
        self._last: Ints = np.zeros(1, np.int64)

    def join(self, frame: Frame, partitions: Ints) -> None:
        """Tell a frame, whose events are of these partitions, what came right before each of them."""
        if not self._kinds or not len(frame):
            return
        known = {name: self._known(name, frame) for name in self._kinds}
        if self._partitioned:
            self._join_partitions(frame, partitions, known)
            return
        none = pa.nulls(1 - int(self._last[0]))
        for name, (kept, column) in known.items():
            first = kept if len(kept) else none.cast(column.type)
            frame.know_earlier(name, pa.concat_arrays([first, column.slice(0, len(frame) - 1)]))
            self._kept[name] = _apart(column.slice(len(frame) - 1))
        self._last[0] = 1

    def _known(self, name: str, frame: Frame) -> tuple[Any, Any]:
        column = frame[name]
        return self._kept[name], column if column.type == self._kinds[name] else column.cast(self._kinds[name])

    def _join_partitions(self, frame: Frame, partitions: Ints, known: Mapping[str, tuple[Any, Any]]) -> None:
        largest = int(partitions.max())
        if largest >= len(self._last):
            self._last = grown(self._last, max(largest + 1, 2 * len(self._last)))
        held = len(next(iter(self._kept.values())))
        before = np.empty(len(frame), np.int64)
        find_before(partitions, self._last, held, before)
        missing = before == 0
        places = pa.array(before - 1, mask=missing) if missing.any() else pa.array(before - 1)
        occurred = np.flatnonzero(self._last)
        left = pa.array(self._last[occurred] - 1)
        for name, columns in known.items():
            together = pa.concat_arrays(columns)
            frame.know_earlier(name, together.take(places))
            self._kept[name] = together.take(left)
        self._last[occurred] = np.arange(1, len(occurred) + 1)

    def keep_partitions(self, partitions: Ints) -> None:
        """Forget the others."""
        last = np.zeros(max(len(partitions), 1), np.int64)
        last[: len(partitions)] = np.append(self._last, np.zeros(1, np.int64))[np.minimum(partitions, len(self._last))]
        occurred = np.flatnonzero(last)
        left = pa.array(last[occurred] - 1)
        self._kept = {name: column.take(left) for name, column in self._kept.items()}
        last[occurred] = np.arange(1, len(occurred) + 1)
        self._last = last

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot: none if nobody asks for what came before."""
        if not self._kinds:
            return {}
        return {"last_rows": self._batch(), "last_row_of": self._last}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        if not self._kinds:
            return
        rows = sections.get("last_rows")
        if not isinstance(rows, pa.RecordBatch) or rows.schema != self._batch().schema:
            raise check.damaged("last_rows", "has other columns than it should")
        self._last = check.array(sections, "last_row_of", np.int64)
        check.at_least("last_row_of", self._last, 1)
        check.in_range("last_row_of", self._last, 0, rows.num_rows + 1)
        self._kept = dict(zip(self._kinds, rows.columns, strict=True))

    def _batch(self) -> pa.RecordBatch:
        fields = [pa.field(name, kind) for name, kind in self._kinds.items()]
        return pa.RecordBatch.from_arrays([self._kept[name] for name in self._kinds], schema=pa.schema(fields))


def _apart(row: Any) -> Any:
    """A row without the batch that it was cut out of, so that nothing else of that is kept."""
    return row.take(pa.array([0]))


@kernel
def find_before(partitions: Array, last: Array, held: int, before: Array) -> None:
    """For each event the row before it in its partition, of so many that are held and those that are read, from 1."""
    for i in range(len(partitions)):
        partition = partitions[i]
        before[i] = last[partition]
        last[partition] = held + i + 1
