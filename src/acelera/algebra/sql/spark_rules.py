"""A rule as one statement of Spark SQL over the tables of labels.

Where windows are asked for what happens in them, both sides are put into one table, sorted by time within what they
share: what Spark keeps while it goes through that table is what a join would look for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import construction as made
from acelera.algebra import operators as op
from acelera.algebra.names import BEGIN, END, columns, reference, time
from acelera.algebra.schedules import Schedule
from acelera.algebra.sql.making import derived
from acelera.algebra.sql.matching import Nodes
from acelera.algebra.sql.rendering import render
from acelera.algebra.sql.spark_matching import EventTables, Flat
from acelera.algebra.sql.spark_words import SparkLists, SparkNodes, call, named_struct
from acelera.algebra.sql.values import sql_value
from acelera.algebra.sql.windowing import HIT, cell_of, input_of, is_hit, measures_over
from acelera.algebra.sql.words import column, named
from acelera.algebra.windows import Around, Cells, Measured, Without
from acelera.language.tree import fold, walk

DRIVES = "#drives"


def statement(relation: op.Derive, rows: Mapping[str, pa.StructType], schedules: Sequence[Schedule] = ()) -> exp.Select:
    """The events of a rule. `rows` has for each label the type of its rows, without times."""
    words = _Words(rows, schedules, frozenset(_collected(relation)), bool(made.grouped(relation.head.term)))

    def combine(node: op.Relation, inner: Sequence[exp.Select]) -> exp.Select:
        own = _OPERATORS.get(type(node))
        return own(node, inner, words) if own is not None else render(node, inner, words)

    return fold(relation, combine)


def clock_name(number: int) -> str:
    """What stands for a label for the events of a clock."""
    return f"#clock {number}"


def _collected(relation: op.Relation) -> list[str]:
    """The events of which aggregates are made."""
    sides = [each.right for each in walk(relation) if isinstance(each, op.Collect | Measured | Around)]
    return [each.identifier for side in sides for each in walk(side) if isinstance(each, op.Events)]


@dataclass
class _Words:
    """What rendering asks of Spark. Tuples must be different if the head makes groups of them."""

    rows: Mapping[str, pa.StructType]
    schedules: Sequence[Schedule]
    collected: frozenset[str]
    grouped: bool
    nodes: Nodes = field(default_factory=SparkNodes)

    def tables(self, relation: op.Events) -> EventTables:
        """The tables that a relation looks at."""
        counted = relation.identifier in self.collected and bool(relation.sources)
        return EventTables(relation, self.rows, counted, self.grouped)

    def events(self, relation: op.Events) -> exp.Select:
        return self.tables(relation).matched()

    def clock(self, relation: op.Clock) -> exp.Select:
        begin, end = column(BEGIN), column(END)
        own = {
            time(relation.identifier, "begin"): begin,
            time(relation.identifier, "end"): end,
            reference(relation.identifier): named_struct([("c0", begin), ("c1", end)]),
        }
        table = exp.table_(clock_name(self.schedules.index(relation.schedule)), quoted=True)
        return exp.select(*(named(own[name], name) for name in columns(relation.heading))).from_(table)

    def stored(self, relation: op.Stored) -> exp.Select:
        raise AssertionError("nothing is stored where all events are seen at once")

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        return derived(relation, operand, SparkLists())


# --- cells --------------------------------------------------------------------------------------------------------


def _cells(node: Cells, inner: Sequence[exp.Select], words: _Words) -> exp.Select:
    del words
    first, last = (cell_of(_plus(column(node.time), away), node.size) for away in (node.first, node.last))
    cell = first if node.first == node.last else call("explode", call("sequence", first, last))
    shown = [named(cell, name) if name == node.variable else column(name) for name in columns(node.heading)]
    return exp.select(*shown).from_(inner[0].subquery("t"))


def _plus(value: exp.Expr, ticks: int) -> exp.Expr:
    if ticks == 0:
        return value
    number = exp.Literal.number(abs(ticks))
    return exp.paren((exp.Add if ticks > 0 else exp.Sub)(this=value, expression=number))


def _without(node: Without, inner: Sequence[exp.Select], words: _Words) -> exp.Select:
    del words
    return exp.select(*map(column, columns(node.heading))).from_(inner[0].subquery("t"))


# --- windows ------------------------------------------------------------------------------------------------------


def _around(node: Around, inner: Sequence[exp.Select], words: _Words) -> exp.Select:
    """Each row of a label is one that has a window and one that may lie in windows, so that it is read once."""
    del inner
    driving = node.left
    (other,) = (each for each in walk(node.right) if isinstance(each, op.Events))
    one, two = Flat.of(words.tables(driving)), Flat.of(words.tables(other))
    shared = sorted(driving.heading.data & other.heading.data)
    selected = [two.said(sql_value(each.condition)) for each in walk(node.right) if isinstance(each, op.Select)]
    is_other = exp.and_(two.matches, *selected)
    inputs = {input_of(each): two.said(sql_value(each.value)) for each in node.measures} | {HIT: exp.Literal.number(1)}
    shown = [named(one.values[name].copy(), name) for name in columns(driving.heading)]
    shown += [named(exp.Case(ifs=[exp.If(this=is_other.copy(), true=value)]), name) for name, value in inputs.items()]
    keys = [one.values[name] for name in shared] if other.sources else []
    (label,) = driving.labels
    table = words.tables(driving).told_apart(label, _different(label, keys))
    rows = exp.select(*shown, named(one.matches.copy(), DRIVES)).from_(exp.alias_(table, "e", table=True))
    rows = rows.where(exp.or_(one.matches.copy(), is_other.copy()))
    measures = measures_over(node.measures, shared, time(driving.identifier, "end"), (node.first, node.last))
    known = exp.select("*", *measures).from_(rows.subquery("t"))
    found = exp.select(*map(column, columns(node.heading))).from_(known.subquery("t"))
    found = found.where(column(DRIVES), *([is_hit(node.measures)] if node.required else []))
    return found.distinct() if words.grouped else found


def _different(label: str, keys: Sequence[exp.Expr]) -> exp.Select:
    """The rows of a label, each once if there are keys, by which they are moved: where they are sorted anyway."""
    rows = exp.select("*").from_(exp.alias_(exp.table_(label, quoted=True), "e", table=True))
    if not keys:
        return rows
    rows.set("distribute", exp.Distribute(expressions=[key.copy() for key in keys]))
    return exp.select("*").distinct().from_(rows.subquery("d"))


_OPERATORS: dict[type[op.Relation], Callable[..., exp.Select]] = {
    Cells: _cells,
    Without: _without,
    Around: _around,
}
