"""A running program: batches of changes in, what rules do out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.engine.storage.snapshots import Section, pack
from acelera.errors import DataError, SnapshotError, UsageError, did_you_mean, listing
from acelera.spark.schemas import is_frame
from acelera.tables import to_arrow
from acelera.trepl.agreement import Incoming, rows_by_relation
from acelera.trepl.doing import Doing
from acelera.trepl.instants import Instant, instant_of, is_before, said_instant
from acelera.trepl.rule_options import How
from acelera.trepl.rule_outputs import Output
from acelera.trepl.stepping import Engine, Place
from acelera.trepl.waiting_stages import Waiting


@dataclass(frozen=True)
class Opened:
    """What a session is made of: what comes in and goes out, what is done besides, and what a snapshot is known by."""

    incoming: Incoming
    outputs: Mapping[str, Output]
    do: Doing
    how: How
    fingerprint: str


class RuleSession:
    """A program over changes that come in batches, made by `Program.open`.

    >>> import acelera as ac
    >>> from acelera import cdc
    >>> p = ac.trepl("monitor reading; Twice: (reading(X), reading(Y, Y.v = X.v)) -> write('again %d', Y.v);")
    >>> session = p.open({"reading": cdc.inserts({"ts": int, "v": int})})
    >>> session.push({"reading": [{"ts": 1, "v": 5}, {"ts": 2, "v": 5}]})["Twice"].num_rows
    0
    >>> session.push({"reading": [{"ts": 3, "v": 6}]})["Twice"]["message"].to_pylist()
    ['again 5']
    >>> session.finish()["Twice"].num_rows
    0
    """

    def __init__(self, opened: Opened, engine: Engine, waiting: Waiting | None = None) -> None:
        self._opened, self._engine = opened, engine
        self._waiting = waiting or Waiting({})
        self._rows: dict[str, int] = {}
        self._owed: dict[Place, list[pa.Table]] = {}
        self._finished = False

    # --- what users call ----------------------------------------------------------------------------------------------

    @property
    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each output."""
        return {name: output.schema for name, output in self._opened.outputs.items()}

    def push(self, batch: object, now: object = None) -> dict[str, pa.Table]:
        """Take more changes, rows by relation; what rules do at all stages that are now complete, for each output.

        Rows need no order. Those of the newest instant wait, since more of it may come with the next push: a stage is
        closed when a later instant comes in any relation, by `finish`, or if `now` says so, the last instant of which
        no more changes come (several values if changes are ordered by several columns). So `push({}, now=…)` moves
        time on.

        A change of a stage that is closed is refused. Changes that are refused leave the session as it was. If an
        action fails, the changes are taken, and the next push or `finish` does what is left to do and gives all
        results. If a rule itself fails, since a sum is too large or there are more than `max_tuples`, the session is of
        no more use: go on from a snapshot.
        """
        self._ready()
        until = None if now is None else self._instant(now)
        more, rows = self._normalized(batch)
        passing, waiting = self._with(more).closed_by(until, self._opened.incoming.instant_names)
        self._step(passing)
        self._waiting, self._rows = waiting, rows
        return self._given_out()

    def finish(self) -> dict[str, pa.Table]:
        """Say that no more changes come; what rules do at the stages that waited."""
        self._ready()
        self._step(self._waiting.tables)
        self._waiting = Waiting({}, self._waiting.closed)
        found = self._given_out()
        self._finished = True
        return found

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere, or later, with `Program.resume`; this session can go on as well."""
        self._ready()
        if self._owed:
            raise SnapshotError("an action has failed, and is to be done first: push({}) tries it again")
        how = self._opened.how
        told = {
            "granularity": how.granularity,
            "zone": how.zone,
            "method": how.method,
            "max_tuples": how.max_tuples,
            "rows": self._rows,
        }
        engine = np.frombuffer(self._engine.snapshot(), np.uint8)
        return pack(self._opened.fingerprint, {"session": told, "engine": engine, **self._stored()})

    def kept(self) -> dict[str, int]:
        """How much is kept, by what it is kept for; changes that wait are among it."""
        waiting = sum(table.num_rows for table in self._waiting.tables.values())
        return {**self._engine.kept(), "changes of the newest instant": waiting}

    # --- steps --------------------------------------------------------------------------------------------------------

    def restore(self, rows: Mapping[str, int]) -> None:
        """Go on with the numbers of rows from a snapshot."""
        self._rows = dict(rows)

    def hold(self, tables: Mapping[str, pa.Table]) -> None:
        """Let normalized changes wait, of whatever instants."""
        self._waiting = self._with(tables)

    def _with(self, more: Mapping[str, pa.Table]) -> Waiting:
        incoming = self._opened.incoming
        return self._waiting.with_more(more, incoming.instant_names, incoming.granularity == "operation")

    def _step(self, tables: Mapping[str, pa.Table]) -> None:
        """Let the engine take whole stages; what rules do then is to be done."""
        if not tables:
            return
        for place, table in self._engine.step(tables).items():
            self._owed.setdefault(place, []).append(table)

    def _given_out(self) -> dict[str, pa.Table]:
        fired = {place: pa.concat_tables(parts) for place, parts in self._owed.items()}
        self._opened.do(fired)
        self._owed = {}
        return {name: output.shown(fired) for name, output in self._opened.outputs.items()}

    def _normalized(self, batch: object) -> tuple[dict[str, pa.Table], dict[str, int]]:
        """Changes by relation, and how many rows there were of each."""
        found, counts = {}, dict(self._rows)
        for relation, rows in rows_by_relation(batch).items():
            incoming = self._opened.incoming
            if relation in incoming.others:
                continue
            if relation not in incoming.sources:
                near = did_you_mean(relation, incoming.sources) or f"; there are {listing(incoming.sources)}"
                raise UsageError(f"no relation `{relation}` comes in{near}")
            if is_frame(rows):
                raise UsageError(f"`{relation}` is a Spark DataFrame; collect its rows for a session: frame.toArrow()")
            given = rows if isinstance(rows, list | tuple) else to_arrow(rows)
            before = counts.get(relation, 0)
            found[relation] = incoming.batch(relation, given, before)
            counts[relation] = before + len(given)
        return found, counts

    def _instant(self, now: object) -> Instant:
        found, closed = instant_of(now, self._opened.incoming.instants), self._waiting.closed
        if closed is not None and is_before(found, closed).as_py():
            raise DataError(
                f"time does not go back: now={said_instant(found)}, and the stage of {said_instant(closed)} is closed"
            )
        return found

    def _stored(self) -> dict[str, Section]:
        """Sections with the changes that wait, and with the last instant that is closed."""
        incoming, closed = self._opened.incoming, self._waiting.closed
        last = [[] if closed is None else [each] for each in closed or [None] * len(incoming.instants)]
        columns = [pa.array(each, kind) for each, kind in zip(last, incoming.instants, strict=True)]
        found: dict[str, Section] = {"closed": pa.RecordBatch.from_arrays(columns, names=incoming.instant_names)}
        for relation in incoming.sources:
            schema = incoming.schema(relation)
            table = self._waiting.tables.get(relation, schema.empty_table()).cast(schema).combine_chunks()
            batches = table.to_batches() or [pa.RecordBatch.from_pylist([], schema)]
            found[f"waiting {relation}"] = batches[0]
        return found

    def _ready(self) -> None:
        if self._finished:
            raise UsageError("this session is finished; open another one")


def stored_waiting(sections: Mapping[str, Any], incoming: Incoming) -> Waiting:
    """The changes that waited when a snapshot was made; the sources must be like those that it was made with."""
    tables = {}
    for relation in incoming.sources:
        batch = sections.get(f"waiting {relation}")
        if batch is None or not batch.schema.equals(incoming.schema(relation)):
            raise SnapshotError(
                f"the source of `{relation}` is not like the one that the snapshot was made with: its columns or their "
                "types differ; give sources made in the same way"
            )
        if batch.num_rows:
            tables[relation] = pa.Table.from_batches([batch])
    row = sections["closed"]
    closed = tuple(column[0] for column in row.columns) if row.num_rows else None
    return Waiting(tables, closed)
