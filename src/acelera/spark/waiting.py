"""Rows that wait for the watermark, in pieces: each advance touches only those that have rows to give.

A piece is written once and removed when the watermark has passed all of it. In between, what has been given of it is
told by time alone: everything before the watermark of the last advance.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import astuple, dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.ticks import FAR_PAST

SMALL = 1 << 12
"""Rows of a piece that is worth being read together with others."""

LARGE = 1 << 17
"""Most rows of a piece."""

PARTS = 8
"""Into how many stretches of time rows that arrive together are cut, if they are many."""

MANY = 32
"""So many small pieces are made into larger ones."""


class Pieces(Protocol):
    """Where bytes are kept, by number."""

    def read(self, number: int) -> bytes:
        """What was written."""

    def write(self, number: int, data: bytes) -> None:
        """Keep it."""

    def remove(self, number: int) -> None:
        """Keep it no longer."""


@dataclass(frozen=True)
class Piece:
    """What is known of a piece without reading it: `first` and `last` are the times of rows that still wait."""

    number: int
    rows: int
    first: int
    last: int
    bytes: int = 0


@dataclass
class Waiting:
    """All rows of a bucket that wait; those before `passed` have been taken."""

    pieces: Pieces
    time: str  # the column that tells when a row happened
    listed: list[Piece] = field(default_factory=list)
    passed: int = int(FAR_PAST)
    written: int = 0
    rows: int = 0  # that wait

    @classmethod
    def of(cls, pieces: Pieces, time: str, index: str) -> Waiting:
        """From the pieces and what `index` said of them."""
        told = json.loads(index)
        listed = [Piece(*each) for each in told["pieces"]]
        return cls(pieces, time, listed, told["passed"], told["written"], told.get("rows", 0))

    @property
    def index(self) -> str:
        """What must be known of the pieces to go on."""
        pieces = [astuple(piece) for piece in self.listed]
        return json.dumps({"passed": self.passed, "written": self.written, "pieces": pieces, "rows": self.rows})

    def add(self, rows: pa.Table) -> None:
        """More rows, none of them before the last watermark."""
        self.rows += rows.num_rows
        self._write(rows)
        small = [piece for piece in self.listed if piece.rows < SMALL]
        if len(small) > MANY:
            self._write(pa.concat_tables([self._waiting(self._remove(piece)) for piece in small]))

    def take(self, watermark: int) -> pa.Table | None:
        """The rows before a watermark that have not been taken yet, in no order."""
        found = [rows for piece in list(self.listed) for rows in self._part(piece, watermark)]
        self.passed = max(self.passed, watermark)
        self.rows = max(self.rows - sum(rows.num_rows for rows in found), 0)
        return pa.concat_tables(found) if found else None

    def _part(self, piece: Piece, watermark: int) -> Iterator[pa.Table]:
        if piece.first >= watermark:
            return
        if piece.last < watermark:
            yield self._waiting(self._remove(piece))
            return
        rows = self._read(piece)
        times = self._times(rows)
        at = self.listed.index(piece)
        self.listed[at] = replace(piece, first=int(times[times >= watermark].min()))
        yield rows.filter(pa.array((times >= self.passed) & (times < watermark)))

    def _waiting(self, rows: pa.Table) -> pa.Table:
        return rows.filter(pa.array(self._times(rows) >= self.passed))

    def _times(self, rows: pa.Table) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.asarray(rows.column(self.time).cast(pa.int64()).to_numpy())

    def _read(self, piece: Piece) -> pa.Table:
        return from_bytes(self.pieces.read(piece.number))

    def _remove(self, piece: Piece) -> pa.Table:
        rows = self._read(piece)
        self.pieces.remove(piece.number)
        self.listed.remove(piece)
        return rows

    def _write(self, rows: pa.Table) -> None:
        """Rows of one stretch of time after the other, as pieces."""
        size = rows.num_rows
        parts = max(min(PARTS, size // SMALL), -(-size // LARGE), min(1, size))
        if parts > 1:
            rows = rows.take(pc.sort_indices(rows, sort_keys=[(self.time, "ascending")]))
        for begin, end in zip(*_cuts(size, parts), strict=True):
            part = rows.slice(begin, end - begin)
            times = self._times(part)
            packed = to_bytes(part)
            self.pieces.write(self.written, packed)
            self.listed.append(Piece(self.written, part.num_rows, int(times.min()), int(times.max()), len(packed)))
            self.written += 1


def _cuts(size: int, parts: int) -> tuple[list[int], list[int]]:
    bounds = [size * part // parts for part in range(parts + 1)] if parts else [0]
    return bounds[:-1], bounds[1:]


# --- rows as bytes ------------------------------------------------------------------------------------------------


def to_bytes(rows: pa.RecordBatch | pa.Table) -> bytes:
    """Rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write(rows)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> pa.Table:
    """The rows of an Arrow stream."""
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
