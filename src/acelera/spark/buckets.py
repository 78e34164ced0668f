"""A bucket of a stream: rows that wait for the watermark, and what they enter once it has passed them.

What is kept running in buckets is of no account here: a query, or the rules of a program. It takes rows in steps, each
with all rows up to a time, and may have something to do at a time of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.spark.metrics import Counts, Told
from acelera.spark.waiting import Pieces, Waiting

BUCKETS = 16
"""Into how many buckets the keys of a stream are spread. A checkpoint belongs to this number."""

NEVER = int(np.iinfo(np.int64).max)
"""When something is due that has nothing to do until rows come."""

COUNTED = "#counted"
"""A column of rows that go to several buckets: in one of them it says that they are counted there, if they are late."""


class Running(Protocol):
    """What runs in a bucket."""

    @property
    def due(self) -> int:
        """The least time at which something is to be done even if no rows come, or NEVER."""

    @property
    def told(self) -> Told:
        """What it has counted."""

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """Take all rows up to now that were not taken before, in no order; what follows, all of which must be taken.

        There is no row if something was due.
        """

    def snapshot(self) -> bytes:
        """All that is needed to go on."""


class Hosted(Protocol):
    """What a worker is sent: how to open what runs in a bucket, and what is to be known of its rows."""

    @property
    def noun(self) -> str:
        """What it is, as errors call it."""

    @property
    def fingerprint(self) -> str:
        """What tells it from others: a checkpoint belongs to it."""

    @property
    def time(self) -> str:
        """The column that rows wait by, a timestamp in microseconds."""

    def columns(self, bucket: int) -> Sequence[str]:
        """The columns of rows that are kept while they wait."""

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced: Spark hands over times in the zone of the session of the day.

        A row without a time is refused.
        """

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """Late rows as they are given to users who ask for them."""

    def open(self, bucket: int) -> Running:
        """Begin."""

    def resume(self, bucket: int, snapshot: bytes) -> Running:
        """Go on from a snapshot."""


@dataclass
class Bucket:
    """Rows that wait for the watermark, and what runs over those that it has passed."""

    task: Hosted
    waiting: Waiting
    snapshot: Callable[[], bytes] | None  # the state of what runs, looked up when it is needed
    number: int = 0
    due: int = NEVER
    running: Running | None = None
    late: list[pa.Table] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)
    """Of what has been done since the bucket was taken out of its state, and what it holds."""

    @classmethod
    def of(
        cls, task: Hosted, pieces: Pieces, index: str, snapshot: Callable[[], bytes] | None, number: int, due: int
    ) -> Bucket:
        """From its state; `index` says of it what must be known without reading it."""
        partial_matches, state = json.loads(index).get("held", (0, 0))
        held = Counts(partial_matches=partial_matches, state_bytes=state)
        return cls(task, Waiting.of(pieces, task.time, index), snapshot, number, due, counts=held)

    @property
    def index(self) -> str:
        """What must be known of its state without reading it."""
        held = (self.counts.partial_matches, self.counts.state_bytes)
        return json.dumps({**json.loads(self.waiting.index), "held": held})

    @property
    def told(self) -> Counts:
        """What it tells of a micro-batch, rows that wait and their bytes with it."""
        waiting = self.waiting
        return self.counts._replace(
            waiting_rows=waiting.rows, state_bytes=self.counts.state_bytes + sum(each.bytes for each in waiting.listed)
        )

    def add(self, rows: pa.Table) -> None:
        """More rows; those that the watermark had passed before are late."""
        rows = self.task.conform(rows)
        in_time = pc.greater_equal(rows.column(self.waiting.time).cast(pa.int64()), self.waiting.passed)
        late = rows.filter(pc.invert(in_time))
        if late.num_rows:
            self.late.append(late.filter(late.column(COUNTED)) if COUNTED in late.column_names else late)
            rows = rows.filter(in_time)
        self.waiting.add(rows.select(self.task.columns(self.number)))

    @property
    def late_events(self) -> int:
        """How many rows came late."""
        return sum(rows.num_rows for rows in self.late)

    def advance(self, watermark: int) -> Iterator[pa.RecordBatch]:
        """Read the rows up to the watermark; what follows, all of which must be taken.

        If there are none and nothing is due, what runs here is not even looked up.
        """
        rows = self.waiting.take(watermark + 1)
        if rows is not None and not rows.num_rows:
            rows = None
        if rows is None and watermark < self.due:
            return
        if self.running is None:
            self.running = self._opened()
        given, before = 0, self.running.told
        for batch in self.running.advance(rows, watermark):
            given += batch.num_rows
            yield batch
        self.due = self.running.due
        self._count(0 if rows is None else rows.num_rows, given, before)

    def _count(self, read: int, given: int, before: Told) -> None:
        """So many rows were read and given."""
        assert self.running is not None
        counts, told = self.counts, self.running.told
        dropped = told.dropped - before.dropped
        matches = given if told.matches is None or before.matches is None else told.matches - before.matches
        self.counts = counts._replace(
            events=counts.events + read - dropped,
            tied=counts.tied + told.tied - before.tied,
            dropped=counts.dropped + dropped,
            matches=counts.matches + matches,
            partial_matches=told.partial_matches,
        )

    def _opened(self) -> Running:
        if self.snapshot is None:
            return self.task.open(self.number)
        return self.task.resume(self.number, self.snapshot())
