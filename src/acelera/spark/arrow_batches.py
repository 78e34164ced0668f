"""Rows as Spark hands them to a task: some thousand at a time, of which a session would rather have many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from acelera.engine.session.session import ROWS_AT_ONCE

Batches = Iterator[pa.RecordBatch]

MOST_BYTES = 1 << 26
"""So many bytes are read at once, even if they are few rows."""


def gathered(batches: Batches, names: Sequence[str]) -> Batches:
    """The same rows in fewer batches, with columns of these names: what a session does for each batch, it does once."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        held.append(batch.rename_columns(list(names)))
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= ROWS_AT_ONCE or size >= MOST_BYTES:
            yield from _together(held)
            held, rows, size = [], 0, 0
    yield from _together(held)


def _together(held: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    if len(held) < 2:
        return held
    found: list[pa.RecordBatch] = pa.Table.from_batches(held).combine_chunks().to_batches()
    return found
