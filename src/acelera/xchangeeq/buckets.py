"""Programs in the buckets of a stream: an engine for the rules of a component."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from acelera.algebra.duckdb_program import DuckProgram
from acelera.algebra.duckdb_session import DuckSession
from acelera.algebra.packing import packed, unpacked
from acelera.algebra.plan import planned
from acelera.algebra.rules import Rule
from acelera.spark.buckets import NEVER


@dataclass(frozen=True)
class BucketEngines:
    """Makes engines of some rules of a program; it is sent to workers.

    `rows` has for each label the types of its children, `base` are the labels of rows; times are in microseconds.
    """

    fingerprint: str
    rules: tuple[Rule, ...]
    rows: Mapping[str, pa.StructType]
    base: frozenset[str]

    def open(self, rules: Sequence[int], clock_from: int) -> InBucket:
        """Begin; clock events that end before `clock_from` do not happen."""
        return InBucket(self._free(rules), clock_from)

    def resume(self, rules: Sequence[int], snapshot: bytes) -> InBucket:
        """Go on from a snapshot."""
        state, tables = unpacked(snapshot)
        return InBucket(self._free(rules), state["clock_from"], tables["session"].column(0)[0].as_py())

    def _free(self, rules: Sequence[int]) -> _Free:
        key = (self.fingerprint, tuple(rules))
        if key not in _known:
            _known[key] = _Free(self._program(rules))
        return _known[key]

    def _program(self, rules: Sequence[int]) -> DuckProgram:
        """The statements of some rules."""
        own = [self.rules[number] for number in rules]
        labels = {label for rule in own for label in (*rule.asks_for, rule.head.label)}
        rows = {label: row for label, row in self.rows.items() if label in labels}
        return DuckProgram(planned(own, rows), rows, self.base)


class _Free:
    """Sessions that nobody uses: a worker sees many buckets, one after the other, and a session takes long to make."""

    def __init__(self, program: DuckProgram) -> None:
        self.program = program
        self.sessions: list[DuckSession] = []

    def take(self) -> DuckSession:
        """A session, which may have something of another bucket in it."""
        return self.sessions.pop() if self.sessions else DuckSession(self.program)


_known: dict[tuple[str, tuple[int, ...]], _Free] = {}
"""By program and rules, as long as this process lives."""


class InBucket:
    """The engine of a bucket. The watermark is its clock."""

    def __init__(self, free: _Free, clock_from: int, snapshot: bytes | None = None) -> None:
        self._session = free.take()
        weakref.finalize(self, free.sessions.append, self._session)
        self._session.restore(snapshot)
        self._clock_from = clock_from

    @property
    def due(self) -> int:
        """The least time at which something may happen even if no events come."""
        session = self._session
        times = [session.waits_until, *(each.next_after(session.now) for each in session.plan.schedules)]
        return min((each for each in times if each is not None), default=NEVER)

    def step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        """Take all events that end by now; those that are derived."""
        return self._session.step(given, now, (self._clock_from, now))

    def snapshot(self) -> bytes:
        """All that is needed to go on."""
        inner = pa.table({"session": pa.array([self._session.snapshot()], pa.large_binary())})
        return packed({"clock_from": self._clock_from}, {"session": inner})
