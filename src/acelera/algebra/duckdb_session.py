"""A plan, step by step, on DuckDB: a table for each point, with what was there before and what a step brings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.bounds import Until
from acelera.algebra.names import time
from acelera.algebra.plan import Joined, Match, Plan, RulePlan, Waiting
from acelera.algebra.sql.duckdb_words import DuckItems, DuckLists
from acelera.algebra.sql.making import derived
from acelera.algebra.sql.matching import matched
from acelera.algebra.sql.rendering import column, named, rendered

END_OF_TIME = 2**63 - 1


def _table(name: str) -> exp.Table:
    return exp.table_(name, quoted=True)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _sql(expression: exp.Expr) -> str:
    return expression.sql("duckdb", copy=False)


@dataclass
class _Words:
    """What rendering asks of DuckDB."""

    rows: Mapping[str, pa.DataType]

    def events(self, relation: op.Events) -> exp.Select:
        return matched(relation, _table(f"{relation.label}.new"), self.rows[relation.label], DuckItems())

    def clock(self, relation: op.Clock) -> exp.Select:
        raise NotImplementedError

    def stored(self, name: str, version: op.Version) -> exp.Expr:
        if version is not op.Version.ALL:
            return _table(f"{name}.{version.value}")
        halves = [exp.select("*").from_(_table(f"{name}.{each}")) for each in ("old", "new")]
        return exp.union(*halves, distinct=False).subquery("a")

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        return derived(relation, operand, DuckLists())


class DuckSession:
    """A stream that a plan is computed over. `rows` has for each label the type of its rows, without times.

    `order` are the labels, each after those that its rules ask for.
    """

    def __init__(self, plan: Plan, rows: Mapping[str, pa.DataType], order: Sequence[str]) -> None:
        self.plan, self.rows, self.order = plan, rows, order
        self.connection = duckdb.connect()
        self.connection.execute("SET threads = 1")
        self._words, self._events, self.now = _Words(rows), 0, -(2**63)
        self._texts: dict[op.Relation, str] = {}
        for label in rows:
            self._make(f"{label}.new", self._empty(label))
        for match in plan.matches.values():
            self._make_point(match.name, rendered(match.relation, self._words))
        for rule in plan.rules:
            for join in rule.joins:
                self._make_point(join.name, rendered(join.relation, self._words))
            if rule.waiting is not None:
                self._make_point(rule.waiting.name, rendered(rule.waiting.relation, self._words))

    # --- tables ---------------------------------------------------------------------------------------------------

    def _run(self, statement: str) -> Any:
        return self.connection.execute(statement)

    def _empty(self, label: str) -> pa.Table:
        times = [pa.field(name, pa.int64()) for name in ("begin", "end", "ref")]
        return pa.schema([*self.rows[label], *times]).empty_table()

    def _make(self, name: str, table: pa.Table) -> None:
        self.connection.register("#given", table)
        self._run(f'CREATE TABLE {_name(name)} AS SELECT * FROM "#given"')
        self.connection.unregister("#given")

    def _make_point(self, name: str, query: exp.Select) -> None:
        for version in ("old", "new"):
            self._run(f"CREATE TABLE {_name(f'{name}.{version}')} AS {_sql(query)} LIMIT 0")

    def _query(self, relation: op.Relation) -> str:
        """The text of a relation, which is written once."""
        if relation not in self._texts:
            self._texts[relation] = _sql(rendered(relation, self._words))
        return self._texts[relation]

    def _fill(self, name: str, relations: Iterable[op.Relation]) -> None:
        for relation in relations:
            self._run(f"INSERT INTO {_name(name)} {self._query(relation)}")

    # --- steps ----------------------------------------------------------------------------------------------------

    def step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        """Take the events that end by now; those that are derived, by label. If it fails, all is as before."""
        events = self._events
        self._run("BEGIN")
        try:
            found = self._step(given, now)
        except BaseException:
            self._run("ROLLBACK")
            self._events = events
            raise
        self._run("COMMIT")
        return found

    def _step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        found = {}
        for label in self.order:
            base = given.get(label)
            if base is not None and base.num_rows:
                self._arrive(label, base)
            rules = [rule for rule in self.plan.rules if rule.derived.rule.head.label == label]
            if rules:
                found[label] = self._derive(label, rules, now)
            for match in self.plan.matches.values():
                if match.label == label:
                    self._fill(f"{match.name}.new", [match.relation])
        self._end(now)
        return found

    def _arrive(self, label: str, table: pa.Table) -> None:
        self.connection.register("#given", table)
        names = [each.name for each in self.rows[label]]
        shown = ", ".join(_sql(column(name)) for name in (*names, "begin", "end"))
        self._run(
            f"INSERT INTO {_name(f'{label}.new')} SELECT {shown}, {self._events} + row_number() OVER () AS ref "
            f'FROM (SELECT DISTINCT {shown} FROM "#given")'
        )
        self.connection.unregister("#given")
        self._events += table.num_rows

    def _derive(self, label: str, rules: Sequence[RulePlan], now: int) -> pa.Table:
        for rule in rules:
            for join in rule.joins:
                self._fill(f"{join.name}.new", join.new)
            if rule.waiting is not None:
                self._wait(rule.waiting, now)
        names = [each.name for each in self.rows[label]]
        shown = ", ".join(_sql(column(name)) for name in (*names, "begin", "end"))
        selects = " UNION ".join(
            f"SELECT {self._shown(rule, names)} FROM ({self._query(rule.derived.relation)})" for rule in rules
        )
        known = _name(f"{label}.new")
        self._run(
            f'CREATE TEMP TABLE "#made" AS SELECT {shown}, {self._events} + row_number() OVER () AS ref FROM '
            f"(({selects}) EXCEPT SELECT {shown} FROM {known})"
        )
        made: pa.Table = self.connection.sql(f'SELECT {shown} FROM "#made" ORDER BY "end"').to_arrow_table()
        self._run(f'INSERT INTO {known} SELECT * FROM "#made"')
        self._run('DROP TABLE "#made"')
        self._events += made.num_rows
        return made

    def _shown(self, rule: RulePlan, names: Sequence[str]) -> str:
        """The columns of a label, of which a rule need not have all."""
        own = {child.label for child in rule.derived.rule.head.term.each}
        pieces = [_sql(column(name) if name in own else named(exp.null(), name)) for name in names]
        return ", ".join([*pieces, '"begin"', '"end"'])

    def _wait(self, waiting: Waiting, now: int) -> None:
        """Take those that end by now out of all that wait."""
        old, new = (_name(f"{waiting.name}.{version}") for version in ("old", "new"))
        self._fill(f"{waiting.name}.old", [waiting.relation])
        ends = ", ".join(_sql(column(time(each, "end"))) for each in sorted(waiting.relation.heading.times))
        self._run(f"INSERT INTO {new} SELECT * FROM {old} WHERE greatest({ends}) <= {now}")
        self._run(f"DELETE FROM {old} WHERE greatest({ends}) <= {now}")

    def _end(self, now: int) -> None:
        """What this step brought is old; what nobody needs any more is forgotten."""
        for label in self.rows:
            self._run(f"DELETE FROM {_name(f'{label}.new')}")
        points: list[Match | Joined] = [*self.plan.matches.values()]
        points += [join for rule in self.plan.rules for join in rule.joins]
        for point in points:
            old, new = (_name(f"{point.name}.{version}") for version in ("old", "new"))
            if point.uses:
                self._run(f"INSERT INTO {old} SELECT * FROM {new}")
                self._forget(old, point.uses, now)
            self._run(f"DELETE FROM {new}")
        for rule in self.plan.rules:
            if rule.waiting is not None:
                self._run(f"DELETE FROM {_name(f'{rule.waiting.name}.new')}")
        self.now = now

    def _forget(self, table: str, uses: Sequence[Until], now: int) -> None:
        if any(use.for_ever for use in uses):
            return
        latest = []
        for each in (points for use in uses for points in use.meeting.values()):
            earliest = [f"{_sql(column(time(p.identifier, p.end)))} + {int(bound)}" for p, bound in each.items()]
            latest.append(f"least({', '.join(earliest)})")
        self._run(f"DELETE FROM {table} WHERE greatest({', '.join(dict.fromkeys(latest))}) <= {now}")

    def kept(self) -> dict[str, int]:
        """How many tuples of each point are kept."""
        names = [*self.plan.matches, *(join.name for rule in self.plan.rules for join in rule.joins)]
        names += [rule.waiting.name for rule in self.plan.rules if rule.waiting is not None]
        return {name: self._run(f"SELECT count(*) FROM {_name(f'{name}.old')}").fetchall()[0][0] for name in names}
