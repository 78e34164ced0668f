"""A plan, step by step, on DuckDB: what comes in, what is derived, what is kept.

A step is one round, or several where rules are recursive. Rows have the number of the round they came in as their tag;
what is new, old, and all there is are the rows from some tag on, before it, and all.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from acelera.algebra import operators as op
from acelera.algebra.duckdb_program import GIVEN, DuckProgram, Statement, quoted, timed, until
from acelera.algebra.durations import brought_in, brought_out
from acelera.algebra.packing import packed, unpacked
from acelera.algebra.plan import Group, Joined, Match, RulePlan, Staged, Waiting
from acelera.algebra.window_plan import Crossing
from acelera.errors import DataError

END_OF_TIME = 2**62

FEW = 2_000
"""Rows that are not worth being looked through for what can be forgotten."""

MANY_PAIRS = 3_000_000
"""So many pairs of tuples that agree take longer to look at than both sides to be sorted."""

MOST_PAIRS = 30_000_000
"""So many pairs of tuples that agree take longer to look at than to find by their times."""


@dataclass
class _Kept:
    """How many rows a table has, and how many it had when it was last looked through."""

    rows: int = 0
    looked: int = 0


@dataclass
class _State:
    """How far a stream is: its time, the last tag, the number of events, until when clocks have ticked.

    `fresh` has for each label and clock the tag of its latest events.
    """

    now: int = -END_OF_TIME
    tag: int = 0
    events: int = 0
    ticked: int | None = None
    fresh: dict[str, int] = field(default_factory=dict)


class DuckSession:
    """A stream that a plan is computed over."""

    def __init__(self, program: DuckProgram) -> None:
        self.program, self.plan = program, program.plan
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        program.make_tables(self.connection)
        self._state = _State()
        self._kept = {name: _Kept() for name in (*program.passing, *program.lasting)}

    def _run(self, text: str, told: Mapping[str, int] | None = None) -> Any:
        return self.connection.execute(text, told or None)

    def _told(self, statement: Statement, since: int = 0) -> dict[str, int]:
        state = self._state
        known = {"since": since, "now": state.now, "tag": state.tag, "events": state.events}
        return {name: known[name] for name in statement.asks}

    def _fetched(self, text: str, told: Mapping[str, int] | None = None) -> pa.Table:
        with warnings.catch_warnings():  # that rows are copied: to plan a statement twice would cost more
            warnings.simplefilter("ignore", UserWarning)
            return self._run(text, told).to_arrow_table()

    def _changed(self, text: str, told: Mapping[str, int] | None = None) -> int:
        """Run a statement that changes a table; how many rows."""
        ((rows,),) = self._run(text, told).fetchall()
        return int(rows)

    def _insert(self, name: str, statement: Statement, since: int = 0) -> int:
        """Add rows to a table."""
        rows = self._changed(f"INSERT INTO {quoted(name)} {statement.text}", self._told(statement, since))
        self._kept[name].rows += rows
        return rows

    def _append(self, name: str, table: pa.Table, statement: Statement | None = None) -> None:
        """Add the rows of a table, as a statement makes them of it."""
        self.connection.register(GIVEN, table)
        try:
            self._insert(name, statement or Statement(f"SELECT * FROM {quoted(GIVEN)}", ()))
        finally:
            self.connection.unregister(GIVEN)

    # --- steps ----------------------------------------------------------------------------------------------------

    def step(
        self, given: Mapping[str, pa.Table], now: int, clock: tuple[int, int] | None = None
    ) -> dict[str, pa.Table]:
        """Take the events that end by now; those that are derived, by label. If it fails, all is as before.

        `clock` are the smallest and the greatest end of all events so far: absolute timers happen between them. Where a
        rule has one, time goes on with events alone, since it may still turn out that a timer has happened.
        """
        if self.plan.schedules:
            now = self._state.now if clock is None else min(now, clock[1])
        with self._all_or_nothing():
            return self._brought_out(self._step(given, now, clock))

    def finish(self) -> dict[str, pa.Table]:
        """All timers that hang on events happen; absolute ones do not."""
        with self._all_or_nothing():
            return self._brought_out(self._step({}, END_OF_TIME, None))

    def _brought_out(self, made: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
        return {label: brought_out(table, self.program.shown[label]) for label, table in made.items()}

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = pickle.dumps((self._state, self._kept))
        self._run("BEGIN")
        try:
            yield
        except BaseException as error:
            self._run("ROLLBACK")
            self._state, self._kept = pickle.loads(before)
            if isinstance(error, duckdb.Error | pa.ArrowException):
                raise DataError(_in_words(error)) from error
            raise
        self._run("COMMIT")

    def _step(self, given: Mapping[str, pa.Table], now: int, clock: tuple[int, int] | None) -> dict[str, pa.Table]:
        self._state.now = now
        self._state.tag += 1
        first = self._state.tag
        self._tick(clock)
        found: dict[str, pa.Table] = {}
        for group in self.plan.groups:
            for label in group.labels:
                base = given.get(label)
                if base is not None and base.num_rows:
                    self._arrive(label, brought_in(base))
            if group.recursive:
                found |= self._rounds(group, first)
            elif group.rules:
                (label,) = group.labels
                found[label] = self._derived(label, group.rules, first)
                self._add(label, found[label])
        self._end(now)
        return found

    def _rounds(self, group: Group, since: int) -> dict[str, pa.Table]:
        """Rules that need each other: what a round brings is new in the next, until nothing is."""
        found: dict[str, list[pa.Table]] = {}
        while True:
            made = {}
            for label in group.labels:
                rules = [rule for rule in group.rules if rule.rule.head.label == label]
                if rules:
                    made[label] = self._derived(label, rules, since)
                    found.setdefault(label, []).append(made[label])
            if not any(table.num_rows for table in made.values()):
                return {label: pa.concat_tables(tables) for label, tables in found.items()}
            self._state.tag += 1
            since = self._state.tag
            for label, table in made.items():
                self._add(label, table)

    # --- events come in -------------------------------------------------------------------------------------------

    def _tick(self, clock: tuple[int, int] | None) -> None:
        """Let the clocks bring about what ends by the greatest end of all events."""
        state = self._state
        if clock is None or not self.plan.schedules:
            return
        start = clock[0] if state.ticked is None else state.ticked + 1
        for schedule, name in self.program.clocks.items():
            happened = schedule.between(start, clock[1])
            if happened:
                begins, ends = (pa.array(each, pa.int64()) for each in zip(*happened, strict=True))
                tags = pa.repeat(pa.scalar(state.tag, pa.int64()), len(happened))
                self._append(self.program.label_table(name), pa.table([begins, ends, ends, tags], timed([]).schema))
                state.fresh[name] = state.tag
        for match in self.plan.matches.values():
            if isinstance(match.events, op.Clock) and match.uses:
                self._insert(match.name, self.program.tuples(match.relation), state.tag)
        state.ticked = max(clock[1], start - 1)

    def _arrive(self, label: str, table: pa.Table) -> None:
        """Events of a label, and what of them is kept."""
        self._append(self.program.label_table(label), table, self.program.arriving(label, table.schema))
        self._state.events += table.num_rows
        self._state.fresh[label] = self._state.tag
        for match in self.plan.matches.values():
            if label in match.labels and match.uses:
                relation = match.of(frozenset({label}))
                self._insert(match.name, self.program.tuples(relation), self._state.tag)

    # --- events are derived ---------------------------------------------------------------------------------------

    def _derived(self, label: str, rules: Sequence[RulePlan], since: int) -> pa.Table:
        """What rules derive that is not there yet."""
        nothing = self.program.nothing(label)
        with self._ranges_first(any(self._most_pairs(rule, rule.joins) > MOST_PAIRS for rule in rules)):
            due = [rule for rule in rules if self._prepared(rule, since)]
            if not due:
                return nothing
            statement = self.program.deriving(label, [self._relation(rule) for rule in due], due[0].recursive)
            found = self._fetched(statement.text, self._told(statement, since))
        for rule in due:
            if rule.waiting is not None:
                self._take_out(rule.waiting)
        return found.select(nothing.column_names).cast(nothing.schema)

    def _relation(self, rule: RulePlan) -> op.Derive:
        """What a rule derives, by joins or, if they would have too many pairs to look at, by sorting."""
        if rule.in_bulk is None or self._most_pairs(rule, rule.crossings) <= MANY_PAIRS:
            return rule.derived
        return rule.in_bulk

    def _most_pairs(self, rule: RulePlan, crossings: Sequence[Crossing]) -> int:
        """How many pairs a join of a rule has to look at, about: those that agree in what they share."""
        tables = [each for each in crossings if each.point in self._kept]
        if not tables:
            return 0
        labels = [self.program.label_table(name) for name in self._names(rule)]
        new = max((self._kept[name].rows for name in labels), default=0)
        if rule.waiting is not None:
            new = max(new, self._kept[rule.waiting.name].rows)
        many = [each for each in tables if new * self._kept[each.point].rows > MANY_PAIRS]
        return max((new * self._changed(self.program.partners(each)) for each in many), default=0)

    @contextmanager
    def _ranges_first(self, wanted: bool) -> Iterator[None]:
        """Join by times before values, where many agree in these."""
        if wanted:
            self._run("SET prefer_range_joins = TRUE")
        try:
            yield
        finally:
            if wanted:
                self._run("SET prefer_range_joins = FALSE")

    def _prepared(self, rule: RulePlan, since: int) -> bool:
        """Compute the points of a rule; whether there may be something to derive."""
        fresh = {name for name, tag in self._state.fresh.items() if tag >= since}
        comes = bool(fresh & self._names(rule))
        again = rule.recursive and bool(fresh & rule.rule.asks_for)
        waits = rule.waiting is not None and self._kept[rule.waiting.name].rows > 0
        for point in rule.points:
            if isinstance(point, Staged):
                needed = comes or waits or again
            else:
                needed = comes and (isinstance(point, Waiting) or bool(point.uses))
            if needed:
                added = self._insert(point.name, self.program.tuples(point.new), since)
                waits |= added > 0 and isinstance(point, Waiting)
        return again or waits or (comes and rule.waiting is None)

    def _names(self, rule: RulePlan) -> set[str]:
        """The labels and clocks of the events that a rule is made of."""
        found: set[str] = set()
        for each in rule.rule.events:
            found |= each.labels if isinstance(each, op.Events) else {self.program.clocks[each.schedule]}
        return found

    def _take_out(self, waiting: Waiting) -> None:
        """Those that have ended wait no more."""
        past, kept = self.program.past(waiting), self._kept[waiting.name]
        rows = self._changed(f"DELETE FROM {quoted(waiting.name)} WHERE {past.text}", self._told(past))
        kept.rows -= rows
        kept.looked += rows

    def _add(self, label: str, table: pa.Table) -> None:
        """Derived events are events, if anybody asks for them."""
        if table.num_rows and label in self.program.asked:
            self._arrive(label, table)

    # --- what is kept ---------------------------------------------------------------------------------------------

    def _end(self, now: int) -> None:
        """What this step brought is old; what nobody needs any more is forgotten."""
        for name in self.program.passing:
            if self._kept[name].rows:
                self._run(f"TRUNCATE {quoted(name)}")
                self._kept[name] = _Kept()
        for point in self.plan.stored:
            kept = self._kept[point.name]
            if kept.rows > 2 * kept.looked + FEW and self._needed(point, now):
                self._keep_only(point.name, self._needed(point, now))
        for waiting in self._queues():
            kept = self._kept[waiting.name]
            if kept.looked > kept.rows + FEW:  # so many were taken out
                self._keep_only(waiting.name, "TRUE")
                self._kept[waiting.name].looked = 0

    def _needed(self, point: Match | Joined, now: int) -> str:
        """Which tuples still matter; nothing if all do."""
        return "" if any(use.for_ever for use in point.uses) else f"{until(point.uses)} > {now}"

    def _queues(self) -> list[Waiting]:
        return [rule.waiting for rule in self.plan.rules if rule.waiting is not None]

    def _keep_only(self, name: str, condition: str) -> None:
        """A table made anew, which takes no more room than it needs."""
        self._run(f"CREATE OR REPLACE TABLE {quoted(name)} AS SELECT * FROM {quoted(name)} WHERE {condition}")
        rows = self._changed(f"SELECT count(*) FROM {quoted(name)}")
        self._kept[name] = _Kept(rows, rows)

    def kept(self) -> dict[str, int]:
        """How many tuples of each point are kept."""
        return {name: self._kept[name].rows for name in self.program.lasting}

    @property
    def now(self) -> int:
        """Until when the stream has been looked at."""
        return self._state.now

    @property
    def waits_until(self) -> int | None:
        """When the next of the tuples that wait is due; None if nothing waits."""
        full = [waiting for waiting in self._queues() if self._kept[waiting.name].rows]
        return min((self._changed(self.program.next_due(waiting)) for waiting in full), default=None)

    def snapshot(self) -> bytes:
        """All that must be known to go on."""
        needed = {point.name: self._needed(point, self.now) for point in self.plan.stored}
        names = [name for name in self.program.lasting if self._kept[name].rows]
        tables = {
            name: self._fetched(f"SELECT * FROM {quoted(name)} WHERE {needed.get(name) or 'TRUE'}") for name in names
        }
        return packed(asdict(self._state), tables)

    def restore(self, snapshot: bytes | None) -> None:
        """Go on from a snapshot of the same plan, or from the beginning, whatever was before."""
        for name in self.program.lasting:
            if self._kept[name].rows:
                self._run(f"TRUNCATE {quoted(name)}")
                self._kept[name] = _Kept()
        state, tables = unpacked(snapshot) if snapshot is not None else ({}, {})
        self._state = _State(**state)
        self._state.fresh = {}
        for name, table in tables.items():
            self._append(name, table)


def _in_words(error: Exception) -> str:
    """What went wrong with the values of events."""
    text = str(error).partition("\n")[0]
    if "Overflow" in text or "out of range" in text.lower():
        return f"integer overflow: a number that a rule computes does not fit into 64 bits ({text})"
    return f"a rule cannot be computed over these events: {text}"
