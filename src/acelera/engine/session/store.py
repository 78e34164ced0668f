"""The rows that partial matches still refer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.storage import validation as check
from acelera.engine.storage.columns import ordinary, output_column
from acelera.engine.storage.growing import wasteful, widened
from acelera.engine.storage.snapshots import Section
from acelera.language.schema import Schema


class Store:
    """Columns of some rows, numbered from 0 in the order in which they came; those no longer needed are dropped."""

    def __init__(self, columns: Sequence[str], schema: Schema) -> None:
        kinds = [ordinary(schema.columns[name].arrow) for name in columns]
        self.batch_schema = pa.schema([pa.field(name, kind) for name, kind in zip(columns, kinds, strict=True)])
        self._batches: list[pa.RecordBatch] = []
        self._numbers = np.empty((3, 0), np.int64)  # positions, places and ticks, with room for more
        self._schema = schema
        self.rows = 0
        self._kept = 0

    def append(self, frame: Frame, places: npt.NDArray[np.int64], ticks: npt.NDArray[np.int64]) -> None:
        """The rows of a frame, after those that are there, where they stand in the whole stream, and their ticks."""
        arrays = [output_column(frame.batch.column(name)).cast(kind.type) for name, kind in self._fields()]
        rows = pa.RecordBatch.from_arrays(arrays, schema=self.batch_schema) if arrays else frame.batch.select([])
        self.put(rows, frame.positions, places, ticks)

    def put(
        self,
        rows: pa.RecordBatch,
        positions: npt.NDArray[np.int64],
        places: npt.NDArray[np.int64],
        ticks: npt.NDArray[np.int64],
    ) -> None:
        """Rows as they are stored."""
        self._batches.append(rows)
        before, self.rows = self.rows, self.rows + len(positions)
        if self.rows > self._numbers.shape[1]:
            self._numbers = widened(self._numbers, self.rows + self.rows // 2)
        for number, given in enumerate((positions, places, ticks)):
            self._numbers[number, before : self.rows] = given

    def dump(self) -> dict[str, Section]:
        """The sections of a snapshot."""
        rows = self.frame()
        return {"rows": rows.batch, "positions": rows.positions, "places": self.places, "ticks": self.ticks}

    def load(self, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        rows = sections["rows"]
        fits = isinstance(rows, pa.RecordBatch) and rows.schema.equals(self.batch_schema)
        check.holds("rows", fits, "has other columns")
        rows.validate(full=True)
        listed = {name: check.array(sections, name, np.int64) for name in ("positions", "places", "ticks")}
        check.same_length(**listed)
        check.holds(
            "rows", not len(self.batch_schema) or rows.num_rows == len(listed["places"]), "is of another length"
        )
        check.ascending("places", listed["places"])
        self.put(rows, **listed)

    def _fields(self) -> list[tuple[str, pa.Field]]:
        return list(zip(self.batch_schema.names, self.batch_schema, strict=True))

    def frame(self) -> Frame:
        """All rows."""
        if len(self._batches) != 1:
            arrays = [
                pa.concat_arrays([batch.column(index) for batch in self._batches] or [pa.array([], field.type)])
                for index, field in enumerate(self.batch_schema)
            ]
            self._batches = [pa.RecordBatch.from_arrays(arrays, schema=self.batch_schema)]
        return Frame(self._batches[0], self._numbers[0, : self.rows], self._schema)

    @property
    def places(self) -> npt.NDArray[np.int64]:
        """Where the rows stand in the whole stream."""
        return self._numbers[1, : self.rows]

    @property
    def ticks(self) -> npt.NDArray[np.int64]:
        """Their ticks."""
        return self._numbers[2, : self.rows]

    def wasteful(self, beside: int = 0) -> bool:
        """Whether it is time to see which rows are still needed; to see it, so many keys beside them are looked at."""
        return wasteful(self.rows, self._kept + beside // 2)

    def keep(self, rows: npt.NDArray[Any]) -> None:
        """Only these rows, which are in order."""
        whole = self.frame()
        self._batches = [whole.batch.take(pa.array(rows)) if len(self.batch_schema) else whole.batch]
        self._numbers = self._numbers[:, rows]
        self.rows = self._kept = len(rows)
