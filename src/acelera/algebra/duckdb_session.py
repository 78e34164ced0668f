"""A plan, step by step, on DuckDB.

Each label has a table of the events of this step, each stored point one of its tuples. Rows have a *tag*, the number of
the round they came in: a step is one round, or several where rules are recursive. So what is new, old and all there is
are the rows from some tag on, before it, and all.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.bounds import Until
from acelera.algebra.names import BEGIN, END, REFERENCE, columns, reference, time
from acelera.algebra.packing import packed, unpacked
from acelera.algebra.plan import Group, Joined, Match, Plan, RulePlan, Staged, Waiting
from acelera.algebra.schedules import Schedule
from acelera.algebra.sql.duckdb_words import DuckLists, DuckNodes
from acelera.algebra.sql.making import derived
from acelera.algebra.sql.matching import matched
from acelera.algebra.sql.rendering import rendered
from acelera.algebra.sql.types import conformed, normalized, typed
from acelera.algebra.sql.words import column, named
from acelera.errors import DataError

END_OF_TIME = 2**62
TAG = "#tag"

_FEW = 2_000
"""Rows that are not worth being looked through for what can be forgotten."""


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql(expression: exp.Expr) -> str:
    return expression.sql("duckdb", copy=False)


def _given(name: str) -> exp.Placeholder:
    return exp.Placeholder(this=name)


@dataclass(frozen=True)
class _Statement:
    """A text, and which of `since`, `now` and `tag` it has to be told."""

    text: str
    asks: tuple[str, ...]

    @classmethod
    def of(cls, expression: exp.Expr) -> _Statement:
        asks = sorted({each.name for each in expression.find_all(exp.Placeholder)})
        return cls(_sql(expression), tuple(asks))


@dataclass
class _Kept:
    """How many rows a table has, and how many it had when it was last looked through."""

    rows: int = 0
    looked: int = 0


class _Words:
    """What rendering asks of DuckDB."""

    def __init__(self, plan: Plan, rows: Mapping[str, pa.StructType]) -> None:
        self.plan, self.rows = plan, rows
        self.nodes = DuckNodes()
        self._joins = {point.name: point for rule in plan.rules for point in rule.points}

    def table(self, label: str) -> exp.Expr:
        new = exp.GTE(this=column(TAG), expression=_given("since"))
        return exp.select("*").from_(exp.table_(label_table(label), quoted=True)).where(new).subquery()

    def row(self, label: str) -> pa.StructType:
        return self.rows[label]

    def events(self, relation: op.Events) -> exp.Select:
        return matched(relation, self, self.nodes)

    def clock(self, relation: op.Clock) -> exp.Select:
        own = {
            time(relation.identifier, "begin"): BEGIN,
            time(relation.identifier, "end"): END,
            reference(relation.identifier): REFERENCE,
        }
        table = self.table(clock_name(self.plan, relation.schedule))
        return exp.select(*(named(column(own[name]), name) for name in columns(relation.heading))).from_(table)

    def stored(self, relation: op.Stored) -> exp.Select:
        point = self.plan.matches.get(relation.name) or self._joins[relation.name]
        if isinstance(point, Waiting):
            return self._due(relation)
        if isinstance(point, Match | Joined) and not is_stored(point):
            assert relation.version is op.Version.NEW
            return exp.select("*").from_(
                rendered(point.relation if isinstance(point, Match) else point.new, self).subquery("n")
            )
        query = exp.select("*").from_(exp.table_(relation.name, quoted=True))
        if relation.version is not op.Version.ALL:
            compare = exp.GTE if relation.version is op.Version.NEW else exp.LT
            query = query.where(compare(this=column(TAG), expression=_given("since")))
        return query

    def _due(self, relation: op.Stored) -> exp.Select:
        query = exp.select("*").from_(exp.table_(relation.name, quoted=True))
        return query.where(is_due(relation.of))

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        return derived(relation, operand, DuckLists())


def label_table(label: str) -> str:
    """The table of the events of a label."""
    return f"events {label}"


def clock_name(plan: Plan, schedule: Schedule) -> str:
    """What stands for a label for the events of a clock."""
    return f"#clock {plan.schedules.index(schedule)}"


def is_stored(point: Match | Joined) -> bool:
    """Whether a point has a table."""
    return bool(point.uses)


def last_end(relation: op.Relation) -> exp.Expr:
    """The end of a tuple: the latest of its times."""
    ends = [column(time(each, "end")) for each in sorted(relation.heading.times)]
    return ends[0] if len(ends) == 1 else exp.Greatest(this=ends[0], expressions=ends[1:], ignore_nulls=True)


def is_due(relation: op.Relation) -> exp.Expr:
    """Whether all times of a tuple have passed."""
    return exp.LTE(this=last_end(relation), expression=_given("now"))


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
    """A stream that a plan is computed over. `rows` has for each label the types of its children."""

    def __init__(self, plan: Plan, rows: Mapping[str, pa.StructType], base: frozenset[str]) -> None:
        self.plan, self.rows, self.base = plan, rows, base
        self.asked = frozenset(label for rule in plan.rules for label in rule.rule.asks_for)
        self._words = _Words(plan, rows)
        self._statements: dict[object, _Statement] = {}
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self._state = _State()
        self._kept: dict[str, _Kept] = {}
        self._make_tables()

    def _make_tables(self) -> None:
        for label in self.rows:
            self._make(label_table(label), self._empty(label))
        for schedule in self.plan.schedules:
            self._make(label_table(clock_name(self.plan, schedule)), _timed([]))
        for match in self.plan.matches.values():
            if is_stored(match):
                self._make_point(match.name, match.relation)
        for rule in self.plan.rules:
            for point in rule.points:
                if not isinstance(point, Joined) or is_stored(point):
                    self._make_point(point.name, point.new)

    def _make(self, name: str, table: pa.Table) -> None:
        self.connection.register("#given", table)
        self._run(f'CREATE TABLE {_name(name)} AS SELECT * FROM "#given"')
        self.connection.unregister("#given")
        self._kept[name] = _Kept()

    def _make_point(self, name: str, relation: op.Relation) -> None:
        query = rendered(relation, self._words)
        shown = exp.select("*", named(exp.cast(exp.null(), "bigint"), TAG)).from_(query.subquery("q")).limit(0)
        statement = _Statement.of(shown)
        self._run(f"CREATE TABLE {_name(name)} AS {statement.text}", dict.fromkeys(statement.asks, 0))
        self._kept[name] = _Kept()

    def _empty(self, label: str) -> pa.Table:
        return _timed(self.rows[label])

    # --- statements -----------------------------------------------------------------------------------------------

    def _run(self, statement: str, given: dict[str, int] | None = None) -> Any:
        return self.connection.execute(statement, given or None)

    def _told(self, statement: _Statement, since: int) -> dict[str, int]:
        state = self._state
        known = {"since": since, "now": state.now, "tag": state.tag, "events": state.events}
        return {name: known[name] for name in statement.asks}

    def _insert(self, name: str, relation: op.Relation, since: int) -> int:
        """Add what a relation has to the table of a point."""
        key = ("insert", name, relation)
        if key not in self._statements:
            query = rendered(relation, self._words)
            shown = exp.select("*", named(_given("tag"), TAG)).from_(query.subquery("q"))
            self._statements[key] = _Statement.of(shown)
        statement = self._statements[key]
        ((rows,),) = self._run(f"INSERT INTO {_name(name)} {statement.text}", self._told(statement, since)).fetchall()
        self._kept[name].rows += rows
        return int(rows)

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
            return self._step(given, now, clock)

    def finish(self) -> dict[str, pa.Table]:
        """All timers that hang on events happen; absolute ones do not."""
        with self._all_or_nothing():
            return self._step({}, END_OF_TIME, None)

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before = pickle.dumps((self._state, self._kept))
        self._run("BEGIN")
        try:
            yield
        except BaseException as error:
            self._run("ROLLBACK")
            self._state, self._kept = pickle.loads(before)
            if isinstance(error, duckdb.Error):
                raise DataError(_in_words(error)) from error
            raise
        self._run("COMMIT")

    def _step(self, given: Mapping[str, pa.Table], now: int, clock: tuple[int, int] | None) -> dict[str, pa.Table]:
        state = self._state
        state.now = now
        state.tag += 1
        first = state.tag
        self._tick(clock)
        found: dict[str, pa.Table] = {}
        for group in self.plan.groups:
            for label in group.labels:
                base = given.get(label)
                if base is not None and base.num_rows:
                    self._arrive(label, base)
                    self._fill(label, first)
            if group.recursive:
                found |= self._rounds(group, first)
            elif group.rules:
                (label,) = group.labels
                found[label] = self._made(label, group.rules, first)
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
                    made[label] = self._made(label, rules, since)
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
        for schedule in self.plan.schedules:
            happened = schedule.between(start, clock[1])
            if happened:
                begins, ends = (pa.array(each, pa.int64()) for each in zip(*happened, strict=True))
                tags = pa.repeat(pa.scalar(state.tag, pa.int64()), len(happened))
                name = clock_name(self.plan, schedule)
                self._append(label_table(name), pa.table([begins, ends, ends, tags], _timed([]).schema))
                state.fresh[name] = state.tag
        for match in self.plan.matches.values():
            if isinstance(match.events, op.Clock) and is_stored(match):
                self._insert(match.name, match.relation, state.tag)
        state.ticked = max(clock[1], state.ticked if state.ticked is not None else clock[1])

    def _arrive(self, label: str, table: pa.Table) -> None:
        """Events of a label, each once."""
        key = ("arrive", label, table.schema)
        if key not in self._statements:
            given = {each.name: each.type for each in table.schema}
            shown = [named(self._column(each, given), each.name) for each in self.rows[label]]
            different = (
                exp.select(*shown, column(BEGIN), column(END)).distinct().from_(exp.table_("#given", quoted=True))
            )
            number = exp.Add(this=_given("events"), expression=exp.Window(this=exp.RowNumber()))
            numbered = exp.select("*", named(number, REFERENCE), named(_given("tag"), TAG))
            self._statements[key] = _Statement.of(numbered.from_(different.subquery("d")))
        self._append(label_table(label), table, self._statements[key])
        self._state.events += table.num_rows
        self._state.fresh[label] = self._state.tag

    def _column(self, wanted: pa.Field, given: Mapping[str, pa.DataType]) -> exp.Expr:
        """A column as it is kept; one that is missing is NULL."""
        if wanted.name not in given:
            return typed(exp.null(), wanted.type)
        return normalized(conformed(column(wanted.name), given[wanted.name], wanted.type), wanted.type)

    def _append(self, name: str, table: pa.Table, statement: _Statement | None = None) -> None:
        self.connection.register("#given", table)
        try:
            text = 'SELECT * FROM "#given"' if statement is None else statement.text
            told = {} if statement is None else self._told(statement, 0)
            ((rows,),) = self._run(f"INSERT INTO {_name(name)} {text}", told).fetchall()
        finally:
            self.connection.unregister("#given")
        self._kept[name].rows += rows

    def _fill(self, label: str, since: int) -> None:
        """The stored matches of the events of a label."""
        for match in self.plan.matches.values():
            if label in match.labels and is_stored(match):
                self._insert(match.name, match.of(frozenset({label})), since)

    # --- events are derived ---------------------------------------------------------------------------------------

    def _made(self, label: str, rules: Sequence[RulePlan], since: int) -> pa.Table:
        """What rules derive that is not there yet."""
        due = [rule for rule in rules if self._prepared(rule, since)]
        if not due:
            return self._nothing(label)
        key = ("made", label, tuple(rule.derived for rule in due))
        if key not in self._statements:
            self._statements[key] = _Statement.of(self._query_of(label, due))
        statement = self._statements[key]
        made: pa.Table = self._run(statement.text, self._told(statement, since)).to_arrow_table()
        for rule in due:
            if rule.waiting is not None:
                self._take_out(rule.waiting)
        return made.cast(self._nothing(label).schema)

    def _query_of(self, label: str, rules: Sequence[RulePlan]) -> exp.Expr:
        names = [*(each.name for each in self.rows[label]), BEGIN, END]
        found: exp.Query | None = None
        for rule in rules:
            each = exp.select(*map(column, names)).from_(rendered(rule.derived, self._words).subquery("d"))
            found = each if found is None else exp.union(found, each)
        assert found is not None
        if label in self.base or len(rules) > 1 or rules[0].recursive:
            known = exp.select(*map(column, names)).from_(exp.table_(label_table(label), quoted=True))
            found = exp.except_(found, known)
        return exp.select("*").from_(found.subquery("a")).order_by(column(END), column(BEGIN))

    def _prepared(self, rule: RulePlan, since: int) -> bool:
        """Compute the points of a rule; whether there may be something to derive."""
        fresh = self._state.fresh
        names = {label for each in rule.rule.events if isinstance(each, op.Events) for label in each.labels}
        clocks = [each.schedule for each in rule.rule.events if isinstance(each, op.Clock)]
        names |= {clock_name(self.plan, schedule) for schedule in clocks}
        comes = any(fresh.get(name, 0) >= since for name in names)
        again = rule.recursive and any(fresh.get(label, 0) >= since for label in rule.rule.asks_for)
        waits = rule.waiting is not None and self._kept[rule.waiting.name].rows > 0
        for point in rule.points:
            if comes and isinstance(point, Waiting | Joined) and self._has_table(point):
                waits |= self._insert(point.name, point.new, since) > 0 and isinstance(point, Waiting)
            elif isinstance(point, Staged) and (comes or waits or again):
                self._insert(point.name, point.new, since)
        return again or waits or (comes and rule.waiting is None)

    def _has_table(self, point: Waiting | Joined) -> bool:
        return isinstance(point, Waiting) or is_stored(point)

    def _take_out(self, waiting: Waiting) -> None:
        """Those that have ended wait no more."""
        kept = self._kept[waiting.name]
        text = f"DELETE FROM {_name(waiting.name)} WHERE {_sql(is_due(waiting.new))}"
        ((rows,),) = self._run(text, {"now": self._state.now}).fetchall()
        kept.rows -= rows
        kept.looked += rows

    def _add(self, label: str, table: pa.Table) -> None:
        """Derived events are events, if anybody asks for them."""
        if table.num_rows and (label in self.asked):
            self._arrive(label, table)
            self._fill(label, self._state.tag)

    def _nothing(self, label: str) -> pa.Table:
        return self._empty(label).drop_columns([REFERENCE, TAG])

    # --- the end of a step ----------------------------------------------------------------------------------------

    def _end(self, now: int) -> None:
        """What this step brought is old; what nobody needs any more is forgotten."""
        staged = [point.name for rule in self.plan.rules for point in rule.points if isinstance(point, Staged)]
        clocks = [clock_name(self.plan, schedule) for schedule in self.plan.schedules]
        for name in (*map(label_table, (*self.rows, *clocks)), *staged):
            if self._kept[name].rows:
                self._run(f"TRUNCATE {_name(name)}")
                self._kept[name] = _Kept()
        for point in self.plan.stored:
            kept = self._kept[point.name]
            if kept.rows > 2 * kept.looked + _FEW and not any(use.for_ever for use in point.uses):
                self._keep_only(point.name, f"{_latest(point.uses)} > {now}")
        for rule in self.plan.rules:
            if (
                rule.waiting is not None
                and self._kept[rule.waiting.name].looked > self._kept[rule.waiting.name].rows + _FEW
            ):
                self._keep_only(rule.waiting.name, "TRUE")
                self._kept[rule.waiting.name].looked = 0

    def _keep_only(self, name: str, condition: str) -> None:
        """A table made anew, which takes no more room than it needs."""
        self._run(f"CREATE OR REPLACE TABLE {_name(name)} AS SELECT * FROM {_name(name)} WHERE {condition}")
        ((rows,),) = self._run(f"SELECT count(*) FROM {_name(name)}").fetchall()
        self._kept[name] = _Kept(rows, rows)

    # --- what is kept ---------------------------------------------------------------------------------------------

    def _lasting(self) -> list[str]:
        """The tables that are kept beyond a step."""
        waiting = [rule.waiting.name for rule in self.plan.rules if rule.waiting is not None]
        return [*(point.name for point in self.plan.stored), *waiting]

    def kept(self) -> dict[str, int]:
        """How many tuples of each point are kept."""
        return {name: self._kept[name].rows for name in self._lasting()}

    @property
    def waits_until(self) -> int | None:
        """When the next of the tuples that wait is due; None if nothing waits."""
        found = []
        for waiting in (rule.waiting for rule in self.plan.rules):
            if waiting is not None and self._kept[waiting.name].rows:
                ((least,),) = self._run(
                    f"SELECT min({_sql(last_end(waiting.new))}) FROM {_name(waiting.name)}"
                ).fetchall()
                found.append(int(least))
        return min(found, default=None)

    def snapshot(self) -> bytes:
        """All that must be known to go on."""
        tables = {name: self._run(f"SELECT * FROM {_name(name)}").to_arrow_table() for name in self._lasting()}
        return packed(asdict(self._state), tables)

    def restore(self, snapshot: bytes) -> None:
        """Go on from a snapshot of the same plan, before anything has come."""
        state, tables = unpacked(snapshot)
        self._state = _State(**state)
        self._state.fresh = {}
        for name, table in tables.items():
            if table.num_rows:
                self._append(name, table)


def _timed(children: Iterable[pa.Field]) -> pa.Table:
    numbers = [pa.field(name, pa.int64()) for name in (BEGIN, END, REFERENCE, TAG)]
    return pa.schema([*children, *numbers]).empty_table()


def _latest(uses: Sequence[Until]) -> str:
    """Until when a tuple matters to one of its uses."""
    latest = []
    for each in (points for use in uses for points in use.meeting.values()):
        earliest = [
            f"{_sql(column(time(point.identifier, point.end)))} + {int(bound)}" for point, bound in each.items()
        ]
        latest.append(f"least({', '.join(earliest)})")
    return f"greatest({', '.join(dict.fromkeys(latest))})"


def _in_words(error: duckdb.Error) -> str:
    """What went wrong with the values of events."""
    text = str(error).partition("\n")[0]
    if "Overflow" in text or "out of range" in text.lower():
        return f"integer overflow: a number that a rule computes does not fit into 64 bits ({text})"
    return f"a rule cannot be computed over these events: {text}"
