"""Relations of the algebra over all events at once, as one statement each: no plan, no steps, nothing stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import duckdb
import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.names import BEGIN, END, REFERENCE, columns, reference, time
from acelera.algebra.plan import label_groups
from acelera.algebra.rules import Rule, relation_of
from acelera.algebra.sql.duckdb_words import DuckLists, DuckNodes
from acelera.algebra.sql.making import derived
from acelera.algebra.sql.matching import matched
from acelera.algebra.sql.rendering import rendered
from acelera.algebra.sql.types import normalized
from acelera.algebra.sql.words import column, named
from acelera.xchangeeq.engine import Compiled

ALWAYS = 2**62
_NUMBERED = [pa.field(name, pa.int64()) for name in (BEGIN, END, REFERENCE)]


class Words:
    """Tables of all events, of which a statement sees those that have ended when it is asked."""

    def __init__(self, rows: Mapping[str, pa.StructType], first: int, last: int) -> None:
        self.rows, self.first, self.last = rows, first, last
        self.nodes = DuckNodes()

    def table(self, label: str) -> exp.Expr:
        ended = exp.LTE(this=column(END), expression=exp.Placeholder(this="now"))
        return exp.select("*").from_(exp.table_(f"of {label}", quoted=True)).where(ended).subquery()

    def row(self, label: str) -> pa.StructType:
        return self.rows[label]

    def events(self, relation: op.Events) -> exp.Select:
        return matched(relation, self, self.nodes)

    def clock(self, relation: op.Clock) -> exp.Select:
        happened = relation.schedule.between(self.first, self.last)
        rows = [f"SELECT {begin}::BIGINT AS b, {end}::BIGINT AS e" for begin, end in happened]
        all_rows = exp.maybe_parse(" UNION ALL ".join(rows or ["SELECT 0 AS b, 0 AS e WHERE FALSE"]), dialect="duckdb")
        own = {time(relation.identifier, "begin"): "b", time(relation.identifier, "end"): "e"}
        own[reference(relation.identifier)] = "e"
        shown = [named(exp.column(own[name]), name) for name in columns(relation.heading)]
        ended = exp.LTE(this=exp.column("e"), expression=exp.Placeholder(this="now"))
        return exp.select(*shown).from_(all_rows.subquery("c")).where(ended)

    def stored(self, relation: op.Stored) -> exp.Select:
        raise AssertionError("nothing is stored")

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        return derived(relation, operand, DuckLists())


class Events:
    """All events of a program, base and derived, each with a reference."""

    def __init__(self, program: Compiled, tables: Mapping[str, pa.Table]) -> None:
        ends = [end for table in tables.values() for end in table.column(END).to_pylist()]
        self.rows = program.rows
        self.words = Words(program.rows, min(ends, default=0), max(ends, default=-1))
        self.connection = duckdb.connect()
        self.tables: dict[str, pa.Table] = {}
        self.made: dict[str, pa.Table] = {}
        for label, kind in self.rows.items():
            self._keep(label, pa.schema([*kind, *_NUMBERED]).empty_table())
        for (label,) in label_groups(program.rules, program.rows):
            self._add(label, tables.get(label))
            own = [rule for rule in program.rules if rule.head.label == label]
            if own:
                self.made[label] = self._derived(own)
                self._add(label, self.made[label])

    def tuples(self, relation: op.Relation, now: int = ALWAYS) -> pa.Table:
        """The tuples of a relation over the events that have ended by now."""
        return self._ask(rendered(relation, self.words), now)

    def ending(self, relation: op.Relation, now: int) -> tuple[list[str], list[str]]:
        """The tuples that end by now: of what has ended by now, and of all events."""
        query = rendered(relation, self.words)
        ends = [time(each, "end") for each in relation.heading.times]

        def ended(seen: int) -> list[str]:
            rows = self._ask(query, seen).to_pylist()
            return sorted({str(sorted(row.items())) for row in rows if max(row[end] for end in ends) <= now})

        return ended(now), ended(ALWAYS)

    def _derived(self, rules: Iterable[Rule]) -> pa.Table:
        tables = [self.tuples(relation_of(rule)) for rule in rules]
        return pa.concat_tables([table.select(tables[0].column_names) for table in tables])

    def _add(self, label: str, table: pa.Table | None) -> None:
        """More events of a label, each once."""
        if table is None:
            return
        names = [*(each.name for each in self.rows[label]), BEGIN, END]
        together = pa.concat_tables([self.tables[label].select(names), table.select(names)])
        self.connection.register("given", together)
        shown = [named(normalized(column(each.name), each.type), each.name) for each in self.rows[label]]
        different = exp.select(*shown, column(BEGIN), column(END)).distinct().from_("given")
        numbered = exp.select("*", named(exp.Window(this=exp.RowNumber()), REFERENCE)).from_(different.subquery("d"))
        self._keep(label, self._ask(numbered).cast(pa.schema([*self.rows[label], *_NUMBERED])))

    def _keep(self, label: str, table: pa.Table) -> None:
        self.tables[label] = table
        self.connection.register(f"of {label}", table)

    def _ask(self, query: exp.Expr, now: int | None = None) -> pa.Table:
        asks = {each.name: now for each in query.find_all(exp.Placeholder)}
        return self.connection.execute(query.sql("duckdb"), asks or None).to_arrow_table()
