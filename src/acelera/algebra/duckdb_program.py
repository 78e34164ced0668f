"""The statements of a plan on DuckDB, each written once.

Each label has a table of the events of this step, each stored point one of its tuples. Rows have a *tag*, the number of
the round they came in; statements are told from which tag on rows are new.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.bounds import Until
from acelera.algebra.durations import inside
from acelera.algebra.names import BEGIN, END, REFERENCE, columns, reference, time
from acelera.algebra.plan import Joined, Match, Plan, Point, Waiting
from acelera.algebra.sql.duckdb_words import DuckLists, DuckNodes
from acelera.algebra.sql.making import derived
from acelera.algebra.sql.matching import matched
from acelera.algebra.sql.rendering import rendered
from acelera.algebra.sql.types import conformed, normalized, typed
from acelera.algebra.sql.words import column, named
from acelera.algebra.window_plan import Crossing

TAG = "#tag"
GIVEN = "#given"
"""The name under which tables come in."""


def quoted(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def in_sql(expression: exp.Expr) -> str:
    """An expression as DuckDB reads it."""
    return expression.sql("duckdb", copy=False)


def _given(name: str) -> exp.Placeholder:
    return exp.Placeholder(this=name)


@dataclass(frozen=True)
class Statement:
    """A text, and which of `since`, `now`, `tag` and `events` it has to be told."""

    text: str
    asks: tuple[str, ...]

    @classmethod
    def of(cls, expression: exp.Expr) -> Statement:
        """An expression, in which these are placeholders."""
        asks = sorted({each.name for each in expression.find_all(exp.Placeholder)})
        return cls(in_sql(expression), tuple(asks))


class DuckProgram:
    """A plan and its statements, which any number of sessions may share.

    `rows` has for each label the types of its children, which go out as they are `shown`; `base` are the labels of
    events that come in.
    """

    def __init__(self, plan: Plan, rows: Mapping[str, pa.StructType], base: frozenset[str]) -> None:
        self.plan, self.base = plan, base
        self.shown, self.rows = rows, {label: inside(row) for label, row in rows.items()}
        self.asked = frozenset(label for rule in plan.rules for label in rule.rule.asks_for)
        self.clocks = {schedule: f"#clock {number}" for number, schedule in enumerate(plan.schedules)}
        self._nothing = {label: timed(row).drop_columns([REFERENCE, TAG]) for label, row in self.rows.items()}
        names = (*rows, *self.clocks.values())
        self._label_tables = {name: f"events {number}: {name}" for number, name in enumerate(names)}
        self._points: dict[str, Match | Point] = {**plan.matches}
        self._points |= {point.name: point for rule in plan.rules for point in rule.points}
        self._statements: dict[Hashable, Statement] = {}
        self._tables: str | None = None

    @property
    def nodes(self) -> DuckNodes:
        """How nodes of events are told apart."""
        return DuckNodes()

    def _once(self, key: Hashable, made: Callable[[], exp.Expr]) -> Statement:
        if key not in self._statements:
            self._statements[key] = Statement.of(made())
        return self._statements[key]

    # --- tables ---------------------------------------------------------------------------------------------------

    def label_table(self, label: str) -> str:
        """The table of the events of a label or a clock; DuckDB does not tell names apart by case."""
        return self._label_tables[label]

    @property
    def passing(self) -> list[str]:
        """The tables that are empty at the end of a step."""
        waits = [name for name, point in self._points.items() if not isinstance(point, Match | Joined | Waiting)]
        return [*self._label_tables.values(), *waits]

    @property
    def lasting(self) -> list[str]:
        """The tables that are kept beyond a step."""
        points = self._points.values()
        return [
            each.name
            for each in points
            if isinstance(each, Waiting) or (isinstance(each, Match | Joined) and each.uses)
        ]

    def make_tables(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make all tables, of which DuckDB says at the first time how it would make them."""
        if self._tables is None:
            for statement in self._first_tables(connection):
                connection.execute(statement.text, dict.fromkeys(statement.asks, 0) or None)
            texts = connection.execute("SELECT sql FROM duckdb_tables()").fetchall()
            self._tables = "".join(text for (text,) in texts)
        else:
            connection.execute(self._tables)

    def _first_tables(self, connection: duckdb.DuckDBPyConnection) -> Iterator[Statement]:
        for label, row in (*self.rows.items(), *((name, ()) for name in self.clocks.values())):
            connection.register(GIVEN, timed(row))
            yield Statement(f"CREATE TABLE {quoted(self.label_table(label))} AS SELECT * FROM {quoted(GIVEN)}", ())
            connection.unregister(GIVEN)
        for name, point in self._points.items():
            if name in self.lasting or name in self.passing:
                query = rendered(point.relation if isinstance(point, Match) else point.new, self)
                tagged = exp.select("*", named(exp.cast(exp.null(), "bigint"), TAG)).from_(query.subquery("q")).limit(0)
                statement = Statement.of(tagged)
                yield Statement(f"CREATE TABLE {quoted(name)} AS {statement.text}", statement.asks)

    # --- statements -----------------------------------------------------------------------------------------------

    def nothing(self, label: str) -> pa.Table:
        """No events of a label, as they are derived."""
        return self._nothing[label]

    def arriving(self, label: str, schema: pa.Schema) -> Statement:
        """Events that come in, as they are kept: each once, with a number."""

        def made() -> exp.Expr:
            given = {each.name: each.type for each in schema}
            shown = [named(_column(each, given), each.name) for each in self.rows[label]]
            table = exp.table_(GIVEN, quoted=True)
            different = exp.select(*shown, column(BEGIN), column(END)).distinct().from_(table)
            number = exp.Add(this=_given("events"), expression=exp.Window(this=exp.RowNumber()))
            numbered = exp.select("*", named(number, REFERENCE), named(_given("tag"), TAG))
            return numbered.from_(different.subquery("d"))

        return self._once(("arriving", label, schema), made)

    def tuples(self, relation: op.Relation) -> Statement:
        """The tuples of a relation, with a tag."""

        def made() -> exp.Expr:
            query = rendered(relation, self)
            return exp.select("*", named(_given("tag"), TAG)).from_(query.subquery("q"))

        return self._once(("tuples", relation), made)

    def deriving(self, label: str, relations: Sequence[op.Derive], recursive: bool) -> Statement:
        """What is derived that has not come in, nor been derived before."""

        def made() -> exp.Expr:
            names = [*(each.name for each in self.rows[label]), BEGIN, END]
            found = _together([rendered(each, self) for each in relations], names)
            if label not in self.base and not recursive:
                return found
            known = exp.select(*map(column, names)).from_(exp.table_(self.label_table(label), quoted=True))
            return exp.except_(found, known)

        return self._once(("deriving", label, tuple(relations)), made)

    def partners(self, crossing: Crossing) -> str:
        """How many tuples of a point have the same in the variables that are shared, as most of them would say."""
        keys = ", ".join(map(quoted, crossing.shared)) or "TRUE"
        counts = f"SELECT count(*) AS n FROM {quoted(crossing.point)} GROUP BY {keys}"
        return f"SELECT CAST(coalesce(sum(n * n) / sum(n), 0) AS BIGINT) FROM ({counts})"

    def past(self, waiting: Waiting) -> Statement:
        """Of what waits, that which has ended."""
        return self._once(("past", waiting.name), lambda: _is_due(waiting.new))

    def next_due(self, waiting: Waiting) -> str:
        """When the first of what waits will have ended."""
        return f"SELECT min({in_sql(_last_end(waiting.new))}) FROM {quoted(waiting.name)}"

    # --- what rendering asks for ----------------------------------------------------------------------------------

    def table(self, label: str) -> exp.Expr:
        """The new events of a label."""
        new = exp.GTE(this=column(TAG), expression=_given("since"))
        return exp.select("*").from_(exp.table_(self.label_table(label), quoted=True)).where(new).subquery()

    def row(self, label: str) -> pa.StructType:
        """The types of its children."""
        return self.rows[label]

    def events(self, relation: op.Events) -> exp.Select:
        """New events that match."""
        return matched(relation, self, self.nodes)

    def clock(self, relation: op.Clock) -> exp.Select:
        """New events of a clock."""
        own = {
            time(relation.identifier, "begin"): BEGIN,
            time(relation.identifier, "end"): END,
            reference(relation.identifier): REFERENCE,
        }
        table = self.table(self.clocks[relation.schedule])
        return exp.select(*(named(column(own[name]), name) for name in columns(relation.heading))).from_(table)

    def stored(self, relation: op.Stored) -> exp.Select:
        """A point, or what it is made of."""
        point = self._points[relation.name]
        if isinstance(point, Match | Joined) and not point.uses:
            assert relation.version is op.Version.NEW
            inner = rendered(point.relation if isinstance(point, Match) else point.new, self)
            return exp.select("*").from_(inner.subquery("n"))
        query = exp.select("*").from_(exp.table_(relation.name, quoted=True))
        if isinstance(point, Waiting):
            return query.where(_is_due(relation.of))
        if relation.version is op.Version.ALL:
            return query
        compare = exp.GTE if relation.version is op.Version.NEW else exp.LT
        return query.where(compare(this=column(TAG), expression=_given("since")))

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        """The events that are made of tuples."""
        return derived(relation, operand, DuckLists())


def timed(children: Iterable[pa.Field]) -> pa.Table:
    """An empty table of events."""
    numbers = [pa.field(name, pa.int64()) for name in (BEGIN, END, REFERENCE, TAG)]
    return pa.schema([*children, *numbers]).empty_table()


def until(uses: Sequence[Until]) -> str:
    """Until when a tuple matters to one of its uses."""
    latest = []
    for each in (points for use in uses for points in use.meeting.values()):
        earliest = [
            f"{in_sql(column(time(point.identifier, point.end)))} + {int(bound)}" for point, bound in each.items()
        ]
        latest.append(f"least({', '.join(earliest)})")
    return f"greatest({', '.join(dict.fromkeys(latest))})"


def _together(queries: Sequence[exp.Select], names: Sequence[str]) -> exp.Query:
    """The different events of several rules, with their columns in one order."""
    if len(queries) == 1 and [each.alias_or_name for each in queries[0].selects] == list(names):
        return queries[0]
    found: exp.Query | None = None
    for query in queries:
        each = exp.select(*map(column, names)).from_(query.subquery("d"))
        found = each if found is None else exp.union(found, each)
    assert found is not None
    return found


def _column(wanted: pa.Field, given: Mapping[str, pa.DataType]) -> exp.Expr:
    """A column as it is kept; one that is missing is NULL."""
    if wanted.name not in given:
        return typed(exp.null(), wanted.type)
    return normalized(conformed(column(wanted.name), given[wanted.name], wanted.type), wanted.type)


def _last_end(relation: op.Relation) -> exp.Expr:
    """The end of a tuple: the latest of its times."""
    ends = [column(time(each, "end")) for each in sorted(relation.heading.times)]
    return ends[0] if len(ends) == 1 else exp.Greatest(this=ends[0], expressions=ends[1:], ignore_nulls=True)


def _is_due(relation: op.Relation) -> exp.Expr:
    """Whether all times of a tuple have passed."""
    return exp.LTE(this=_last_end(relation), expression=_given("now"))
