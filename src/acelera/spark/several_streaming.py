"""Several queries over a frame that is still growing: one operator keeps the sessions of all of them in its buckets.

Rows wait once for all queries. When the watermark has passed them, they are sorted once, and each query gets those that
matter to it; a session to which none does is not even looked up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.session.order import order_columns, sorted_indices
from acelera.engine.storage.snapshots import fingerprint_of, pack, unpack
from acelera.errors import of_query
from acelera.language.schema import Schema
from acelera.spark.batch import Task
from acelera.spark.buckets import BUCKETS, NEVER, Running
from acelera.spark.floods import most_per_event
from acelera.spark.hosting import Transport, hosted, unpacked, with_late_events
from acelera.spark.metrics import Told
from acelera.spark.pipeline import Pipeline
from acelera.spark.results import END_TIME
from acelera.spark.several_groups import SPLIT, Group
from acelera.spark.several_team import Member, Team, result_schema
from acelera.spark.several_tests import TeamTests
from acelera.spark.spark_expressions import quoted
from acelera.spark.streaming import check_order, conformed, running, stream_columns
from acelera.spark.watermarks import check_requirements, delay_of, with_watermark


def run_streaming(
    frame: Any,
    queries: Mapping[str, CompiledQuery],
    groups: Sequence[Group],
    pipelines: Mapping[str, Pipeline],
    late_events: str | None,
    ties: str,
    checkpoint: str | PathLike[str] | None,
) -> Any:
    """The growing frame of what all queries find, and of late events in a column of that name if there is one."""
    schema = next(iter(queries.values())).schema
    check_order(frame, schema)
    tests = [TeamTests.of({name: queries[name] for name in group.names}, ties) for group in groups]
    buckets = [BUCKETS if group.how == SPLIT else 1 for group in groups]
    check_requirements(frame, max(BUCKETS, sum(buckets)))
    firsts = tuple(sum(buckets[:number]) for number in range(len(groups)))
    task = SeveralTask(tuple(each.team for each in tests), firsts, schema, most_per_event(frame))
    columns = result_schema(queries, schema)
    if late_events is not None:
        columns = with_late_events(columns, late_events, pa.struct(stream_columns(schema)))
    transport, moved = _moved(frame, groups, tests, task, late_events is not None)
    given = hosted(moved, transport, task, late_events is not None, checkpoint)
    found = unpacked(given, columns, task.fingerprint)
    return with_watermark(found, END_TIME, delay_of(frame, schema.order_by[0]))


def _moved(
    frame: Any, groups: Sequence[Group], tests: Sequence[TeamTests], task: SeveralTask, whole: bool
) -> tuple[Transport, Any]:
    """How rows come to buckets: on a route for each group, with the words of its tests; `whole` if they may be late."""
    schema, spread, words = task.schema, list[Any](), list[Any]()
    names, routes = list[str](), list[tuple[str, ...]]()
    asked = set(schema.in_tables if whole else ()).union(*(each.team.columns for each in tests))
    columns = [name for name in schema.columns if name in asked]
    for number, (group, each) in enumerate(zip(groups, tests, strict=True)):
        spread.append(_spread(group, each, task.firsts[number]).alias(f"spread{number}"))
        own = each.words()
        words += [word.alias(f"w{len(words) + place}") for place, word in enumerate(own)]
        names += task.words[number]
        routes.append((*(columns if whole else each.team.columns), *task.words[number]))
    plain = tests[0].columns_travelling(columns)
    transport = Transport(
        (*columns, *names), tuple(routes), task.firsts[-1] + (BUCKETS if groups[-1].how == SPLIT else 1)
    )
    return transport, frame.select(*spread, *plain, *words)


def _spread(group: Group, tests: TeamTests, first: int) -> Any:
    """The bucket of each row that may matter to a group."""
    from pyspark.sql import functions

    bucket = functions.lit(first)
    if group.how == SPLIT:
        hashed = functions.xxhash64(*(functions.col(quoted(name)) for name in group.keys))
        bucket = (functions.pmod(hashed, functions.lit(BUCKETS)) + functions.lit(first)).cast("int")
    return bucket if tests.relevant is None else functions.when(tests.relevant, bucket)


@dataclass(frozen=True)
class SeveralTask:
    """Several queries as buckets run them: those of a team in buckets from the `first` of it on."""

    noun: ClassVar[str] = "set of queries"
    teams: tuple[Team, ...]
    firsts: tuple[int, ...]
    schema: Schema
    most: float | None = None  # matches per event

    @cached_property
    def fingerprint(self) -> str:
        """What tells the queries and their stream from others."""
        members = [
            (member.name, Task(member.query, member.reader.given, ties=member.ties).fingerprint, member.reader.places)
            for team in self.teams
            for member in team.members
        ]
        return fingerprint_of(repr((members, self.firsts, [team.names for team in self.teams])))

    @property
    def time(self) -> str:
        """The column that the stream is ordered by."""
        return self.schema.order_by[0]

    @property
    def words(self) -> list[list[str]]:
        """The columns of the words of each team, beside those of other teams."""
        return [[f"{word}.{number}" for word in team.words] for number, team in enumerate(self.teams)]

    def _team(self, bucket: int) -> int:
        return max(number for number, first in enumerate(self.firsts) if first <= bucket)

    def columns(self, bucket: int) -> Sequence[str]:
        """Those of the team whose bucket it is."""
        number = self._team(bucket)
        return [*self.teams[number].columns, *self.words[number]]

    def conform(self, rows: pa.Table) -> pa.Table:
        """Rows of the types that were announced; one that has no place in the order is refused."""
        return conformed(rows, self.schema)

    def late_rows(self, rows: pa.Table) -> pa.Table:
        """The columns of the stream."""
        return rows.select(list(self.schema.in_tables))

    def open(self, bucket: int) -> Running:
        """No session is open yet."""
        team = self.teams[self._team(bucket)]
        return Several(team, self.schema, self.fingerprint, [Kept() for _ in team.members], self.most)

    def resume(self, bucket: int, snapshot: bytes) -> Running:
        """Sessions that go on as soon as there is something to do for them."""
        team, sections = self.teams[self._team(bucket)], unpack(snapshot, self.fingerprint)
        kept = [
            Kept(sections[f"member{number}"].tobytes() if f"member{number}" in sections else None, due, Told(*told))
            for number, (due, told) in enumerate(zip(sections["due"], sections["told"], strict=True))
        ]
        return Several(team, self.schema, self.fingerprint, kept, self.most)


@dataclass
class Kept:
    """A session, as its snapshot until there is something to do for it; None of both before its first row."""

    snapshot: bytes | None = None
    due: int = NEVER
    told: Told = field(default_factory=lambda: Told(matches=0))
    running: Running | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Several:
    """The sessions of several queries that run in a bucket."""

    team: Team
    schema: Schema
    fingerprint: str
    kept: list[Kept]
    most: float | None = None

    @property
    def due(self) -> int:
        """When there is something to do for one of them."""
        return min(each.due for each in self.kept)

    @property
    def told(self) -> Told:
        """What all of them have counted; of rows that tie and are dropped, each reads those that matter to it, so they
        are counted as by the query that has most of them.
        """
        told = [each.told for each in self.kept]
        return Told(
            sum(each.matches or 0 for each in told),
            max(each.tied for each in told),
            max(each.dropped for each in told),
            sum(each.partial_matches for each in told),
        )

    def advance(self, rows: pa.Table | None, now: int) -> Iterator[pa.RecordBatch]:
        """Read rows; what follows, since no row comes any more up to now."""
        parts: list[pa.Table | None] = [None] * len(self.kept)
        if rows is not None:
            rows = rows.rename_columns(self.team.names)
            indices = sorted_indices(order_columns(rows, self.schema, None))
            parts = list(self.team.parts(rows if indices is None else rows.take(pa.array(indices))))
        for member, each, part in zip(self.team.members, self.kept, parts, strict=True):
            if part is None and now < each.due:
                continue
            given = each.told.matches or 0
            with of_query(member.name):
                if each.running is None:
                    each.running = self._opened(member, each)
                for found in each.running.advance(part, now):
                    given += found.num_rows
                    if found.num_rows:
                        yield member.labelled(found)
            told = each.running.told
            each.due = each.running.due
            each.told = told._replace(matches=given) if told.matches is None else told

    def _opened(self, member: Member, kept: Kept) -> Running:
        session = member.session() if kept.snapshot is None else member.resumed(kept.snapshot)
        return running(session, member.query.schema, self.most)

    def snapshot(self) -> bytes:
        """Those of all sessions; what was not looked up is as it was."""
        sections: dict[str, Any] = {
            "due": [each.due for each in self.kept],
            "told": [list(each.told) for each in self.kept],
        }
        for number, each in enumerate(self.kept):
            data = each.snapshot if each.running is None else each.running.snapshot()
            if data is not None:
                sections[f"member{number}"] = np.frombuffer(data, np.uint8)
        return pack(self.fingerprint, sections)
