"""One statement at work: rows of several streams in, put in order; events out, with when they happen.

Rows wait here until nothing can come before them any more: a row of an earlier statement may become known long after
its moment, where KEEP or UNLESS … FOR wait for what follows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.session.bounds import gathered, told_of_memory
from acelera.engine.session.pages import Page
from acelera.engine.session.session import Session
from acelera.engine.storage.columns import ordinary
from acelera.engine.storage.snapshots import Section
from acelera.engine.ticks import FAR_PAST
from acelera.streams.base_stream import conformed, one_batch
from acelera.streams.event_order import Ints, Rows, in_order, joined
from acelera.streams.plan import Step
from acelera.streams.program_checker import END, START

BASE = -1
"""The number of what comes in, among the numbers of statements."""
MOMENT, BEGUN = "#moment", "#begun"
"""Columns of rows that wait, in a snapshot."""


@dataclass
class Line:
    """Rows of one stream that wait, in order of their moments as far as these are complete."""

    kinds: Mapping[str, pa.DataType]
    type_column: str | None
    type: str | None
    """The type of all rows, unless they tell it themselves."""
    parts: list[Rows] = field(default_factory=list)

    def add(self, rows: Rows) -> None:
        """More rows. Of what comes in only the columns that are read are kept; all columns tell the order of others."""
        if len(rows):
            self.parts.append(self._conformed(rows) if rows.starts is None else rows)

    def take(self, by: int) -> Rows | None:
        """The rows up to a moment, in order."""
        if not self.parts:
            return None
        rows = joined(self.parts)
        due = rows.moments <= by
        if not due.any():
            self.parts = [rows]
            return None
        self.parts = [] if due.all() else [rows.take(np.flatnonzero(~due))]
        rows = rows if due.all() else rows.take(np.flatnonzero(due))
        return rows if rows.starts is None else self._conformed(in_order(rows))

    def _conformed(self, rows: Rows) -> Rows:
        """Rows with the columns that are read."""
        table = rows.table
        if self.type is not None and self.type_column is not None and self.type_column in self.kinds:
            types = pa.array([self.type] * table.num_rows, pa.string())
            table = table.append_column(self.type_column, types)
        return Rows(conformed(table, self.kinds), rows.moments)

    def dump(self) -> pa.RecordBatch | None:
        """The rows as one batch; None if there are none."""
        if not self.parts:
            return None
        rows = joined(self.parts)
        table = rows.table.append_column(MOMENT, pa.array(rows.moments))
        if rows.starts is not None:
            table = table.append_column(BEGUN, pa.array(rows.starts))
        return one_batch(table)

    def load(self, batch: pa.RecordBatch) -> None:
        """Go on with rows of a snapshot."""
        table = pa.Table.from_batches([batch])
        moments = np.asarray(table.column(MOMENT).to_numpy())
        starts = np.asarray(table.column(BEGUN).to_numpy()) if BEGUN in table.column_names else None
        self.parts = [Rows(table.drop_columns([MOMENT, *([] if starts is None else [BEGUN])]), moments, starts)]


class Runner:
    """A statement and the rows that it waits with. All its events that happen up to `settled` have been given.

    `types` are the streams that it reads, if it reads any beside what comes in, in the order in which their rows stand
    at one moment, with the types of rows that do not tell it.
    """

    def __init__(self, step: Step, session: Session, types: Mapping[int, str | None]) -> None:
        self.step, self.session = step, session
        self.settled = int(FAR_PAST)
        self._moments = np.empty(0, np.int64)  # of the rows that were read, from the first that is not settled on
        self._first = 0
        schema = step.schema
        kinds = {name: ordinary(schema.columns[name].arrow) for name in schema.read_for(session.incoming.columns)}
        self.lines = {read: Line(kinds, schema.type_column, kind) for read, kind in types.items()}

    # --- reading --------------------------------------------------------------------------------------------------

    def feed(self, rows: Rows, numbers: Ints | None, complete: int | None) -> Rows:
        """Read rows, in order; the events that are then known, if all rows up to a moment have come."""
        with told_of_memory(self.session):
            pages = gathered(self.session, self.session.pages(rows.table, numbers)) if len(rows) else []
        self._moments = np.concatenate((self._moments, rows.moments))
        found = self._events(pages)
        return self._moved_on(found, complete)

    def flow(self, complete: int) -> Rows:
        """Read the rows that wait, up to a moment before which none comes any more."""
        parts = [rows for rows in (self.lines[read].take(complete) for read in self.lines) if rows is not None]
        if not parts:
            return self.feed(self._nothing, None, complete)
        moments = np.concatenate([each.moments for each in parts])
        rows = joined([Rows(each.table, each.moments) for each in parts])
        order = np.argsort(moments, kind="stable")
        return self.feed(rows if bool((order[1:] > order[:-1]).all()) else rows.take(order), None, complete)

    def rest(self, clock: int | None) -> Rows:
        """The events that were waiting for more rows, of which none comes any more after `clock`."""
        found = [] if clock is None else [self._moved_on(self._none, clock)]
        with told_of_memory(self.session):
            found.append(self._events(gathered(self.session, self.session.rest())))
        return joined(found)

    def _moved_on(self, found: Rows, complete: int | None) -> Rows:
        """Time has come to a moment; how far events have been given, and those that are known by now."""
        session = self.session
        if complete is None:
            return found
        if self.step.timed and session.due() is not None:
            found = joined([found, self._timed(session.advance(complete + 1))])
        self._forget()
        waiting = int(self._moments[0]) - 1 if len(self._moments) else complete
        self.settled = max(self.settled, min(complete, waiting))
        return found

    def _forget(self) -> None:
        """Moments of rows are needed as long as matches that end there may become known."""
        settled = self.session.settled
        self._moments = self._moments[settled - self._first :]
        self._first = settled

    # --- events ---------------------------------------------------------------------------------------------------

    def _events(self, pages: Sequence[Page]) -> Rows:
        """The events of matches."""
        if not pages:
            return self._none
        if self.step.timed:
            return self._timed(pa.Table.from_batches([page.rows for page in pages]))
        table = pa.Table.from_batches([page.rows for page in pages])
        ends, starts = (np.concatenate([*chosen]) for chosen in zip(*((p.ends, p.starts) for p in pages), strict=True))
        return Rows(table, self._moments[ends - self._first], starts.astype(np.int64))

    def _timed(self, table: pa.Table) -> Rows:
        """Events that tell their times themselves."""
        moments, starts = (np.asarray(table.column(name).cast(pa.int64()).to_numpy()) for name in (END, START))
        columns = [table.column(END), *(table.column(name) for name in self.step.shown)]
        return Rows(pa.table(columns, schema=self.step.events), moments, starts)

    @property
    def _none(self) -> Rows:
        return Rows(self.step.events.empty_table(), np.empty(0, np.int64), np.empty(0, np.int64))

    @property
    def _nothing(self) -> Rows:
        return Rows(pa.table({}), np.empty(0, np.int64))

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        waiting = {read: line.dump() for read, line in self.lines.items()}
        found: dict[str, Section] = {
            "state": [self.settled, self._first],
            "moments": self._moments,
            "session": np.frombuffer(self.session.snapshot(), np.uint8),
        }
        return found | {f"line{read}": batch for read, batch in waiting.items() if batch is not None}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot; the session has been resumed."""
        self.settled, self._first = sections["state"]
        self._moments = sections["moments"]
        for read, line in self.lines.items():
            if f"line{read}" in sections:
                line.load(sections[f"line{read}"])
