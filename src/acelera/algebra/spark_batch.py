"""All rules over frames that are all there: each rule is a statement of Spark SQL over the events below it.

Frames come out, which Spark computes when somebody asks for their rows. A label that several rules look at is computed
for each of them, unless Spark finds the same part twice in one statement; to compute it once, persist what comes out,
and run the other rules over it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from graphlib import CycleError, TopologicalSorter
from typing import Any

import pyarrow as pa
from sqlglot import exp

from acelera.algebra.names import BEGIN, END
from acelera.algebra.operators import Clock, Collect, Derive, Join
from acelera.algebra.rules import Rule
from acelera.algebra.schedules import Schedule
from acelera.algebra.sql.spark_rules import clock_name, statement
from acelera.algebra.sql.spark_words import plain, text_for_spark
from acelera.algebra.sql.types import conformed, normalized, typed
from acelera.algebra.sql.words import column, named
from acelera.algebra.windows import whole
from acelera.errors import AceleraWarning, UsageError
from acelera.language.tree import walk
from acelera.spark.schemas import arrow_schema, spark_schema
from acelera.spark.spark_expressions import quoted


def run_batch(
    frames: Mapping[str, Any],
    rules: Sequence[Rule],
    rows: Mapping[str, pa.StructType],
    made: Iterable[str] = (),
    relation: Callable[[Rule], Derive] = whole,
) -> dict[str, Any]:
    """For each label that rules derive a frame of the events that are new: `#begin`, `#end`, and its children.

    `frames` has the events that came in, by label; their times are integers in columns `#begin` and `#end`. `rows` has
    the types of all labels that rules ask for or derive; of others, clocks see that they happen. There is a
    frame for each label of `made`, even if no rule can derive it. `relation` says what is computed for a rule.
    """
    order = labels_in_order(rules)
    batch = _Batch(frames, rules, rows)
    found = {label: _shown(batch.empty(label), rows[label]) for label in made if label not in order}
    for label in order:
        relations = [relation(rule) for rule in rules if rule.head.label == label]
        children = {name for each in relations for name in _types(each)}
        table = batch.derive(label, relations)
        found[label] = _shown(table, [each for each in rows[label] if each.name in children])
    return found


def labels_in_order(rules: Sequence[Rule]) -> list[str]:
    """The labels that are derived, each after those that its rules ask for."""
    asked: dict[str, set[str]] = {rule.head.label: set() for rule in rules}
    for rule in rules:
        asked[rule.head.label] |= rule.asks_for & asked.keys()
    try:
        return list(TopologicalSorter(asked).static_order())
    except CycleError as error:
        way = " → ".join(error.args[1])
        raise UsageError(
            f"`{error.args[1][0]}` is recursive ({way}), and Spark batch has no recursion: run the program in process, "
            "over tables (`frame.toArrow()` collects the rows of a frame)"
        ) from None


class _Batch:
    """The tables of labels, as far as they are known: events that came in, and those that were derived."""

    def __init__(self, frames: Mapping[str, Any], rules: Sequence[Rule], rows: Mapping[str, pa.StructType]) -> None:
        if not frames:
            raise UsageError("there are no frames; give one for each label, of which some may be empty")
        self.session, self.rows = next(iter(frames.values())).sparkSession, rows
        self.tables = {
            label: _arrived(self.session, frame, rows[label]) for label, frame in frames.items() if label in rows
        }
        clocks = (each.schedule for rule in rules for each in rule.events if isinstance(each, Clock))
        self.schedules = list(dict.fromkeys(clocks))
        if self.schedules:
            span = _span(frames.values())
            for number, schedule in enumerate(self.schedules):
                self.tables[clock_name(number)] = _ticking(self.session, schedule, span)

    def empty(self, label: str) -> Any:
        """A table without events."""
        return self.session.createDataFrame([], _table_schema(self.rows[label]))

    def derive(self, label: str, relations: Sequence[Derive]) -> Any:
        """The events that are new, which later rules see."""
        events = [self._events(each) for each in relations]
        new = events[0] if len(events) == 1 else reduce(lambda one, two: one.union(two), events).distinct()
        if label in self.tables:
            new = new.subtract(self.tables[label])
            self.tables[label] = self.tables[label].union(new)
        else:
            self.tables[label] = new
        return new

    def _events(self, relation: Derive) -> Any:
        """The events of one rule."""
        _warn_of_all_pairs(relation)
        row, given = self.rows[relation.head.label], _types(relation)
        shown = [named(_child(each, given.get(each.name)), each.name) for each in row]
        made = statement(relation, self.rows, self.schedules)
        query = exp.select(*shown, column(BEGIN), column(END)).from_(made.subquery("m"))
        labels = list(dict.fromkeys(each.name for each in query.find_all(exp.Table)))
        for label in labels:
            if label not in self.tables:
                self.tables[label] = self.empty(label)
        return _computed(self.session, query, {label: self.tables[label] for label in labels})


def _computed(session: Any, query: exp.Select, tables: Mapping[str, Any]) -> Any:
    """What a query says of tables."""
    frames = {f"t{number}": table for number, table in enumerate(tables.values())}
    return session.sql(text_for_spark(query, list(tables)), **frames)


def _warn_of_all_pairs(relation: Derive) -> None:
    for node in walk(relation):
        if isinstance(node, Join | Collect) and not node.left.heading.data & node.right.heading.data:
            left, right = (" and ".join(sorted(each.heading.times)) for each in (node.left, node.right))
            message = (
                f"{relation.head.label}: {left} and {right} share no variable, and nothing bounds how far apart they "
                "are, so that all pairs are looked at; add `within`, or longest="
            )
            warnings.warn(message, AceleraWarning, stacklevel=5)


# --- clocks -------------------------------------------------------------------------------------------------------


def _span(frames: Iterable[Any]) -> tuple[int, int] | None:
    """The smallest and the greatest end of all events, between which clocks tick; Spark looks for them now."""
    from pyspark.sql import functions

    ends = reduce(lambda one, two: one.union(two), (each.select(quoted(END)) for each in frames))
    end = functions.col(quoted(END))
    first, last = ends.agg(functions.min(end), functions.max(end)).collect()[0]
    return None if first is None else (first, last)


def _ticking(session: Any, schedule: Schedule, span: tuple[int, int] | None) -> Any:
    """The events of a clock."""
    happened = [] if span is None else schedule.between(*span)
    return session.createDataFrame(happened, _table_schema(pa.struct([])))


# --- frames -------------------------------------------------------------------------------------------------------


def _plainly(kind: pa.DataType) -> pa.DataType:
    """A type whose fields have plain names, at all depths."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(plain(each.name), _plainly(each.type)) for each in kind])
    return pa.list_(_plainly(kind.value_type)) if pa.types.is_list(kind) else kind


def _table_schema(row: pa.StructType) -> Any:
    times = [pa.field(plain(name), pa.int64()) for name in (BEGIN, END)]
    return spark_schema(pa.schema([*_plainly(row), *times]))


def _recast(frame: Any, columns: Iterable[tuple[str, str, pa.DataType]]) -> Any:
    """Columns under other names, those with fields as a type whose fields are called otherwise."""
    from pyspark.sql import functions

    shown = []
    for old, new, kind in columns:
        value = functions.col(quoted(old))
        if pa.types.is_nested(kind):
            value = value.cast(spark_schema(pa.schema([pa.field("it", kind)]))["it"].dataType)
        shown.append(value.alias(new))
    return frame.select(*shown)


def _arrived(session: Any, frame: Any, row: pa.StructType) -> Any:
    """Events that came in, with the types of their label; no list has gaps."""
    given = {each.name: each.type for each in arrow_schema(frame)}
    table = _recast(frame, ((name, plain(name), _plainly(kind)) for name, kind in given.items()))
    shown = [named(_child(each, given.get(each.name)), each.name) for each in row]
    query = exp.select(*shown, column(BEGIN), column(END)).from_(exp.table_("given", quoted=True))
    return _computed(session, query, {"given": table})


def _child(wanted: pa.Field, given: pa.DataType | None) -> exp.Expr:
    if given is None:
        return typed(exp.null(), wanted.type)
    return normalized(conformed(column(wanted.name), given, wanted.type), wanted.type)


def _types(relation: Derive) -> dict[str, pa.DataType]:
    """The children that a rule makes."""
    return {child.label: pa.list_(child.kind) if child.repeated else child.kind for child in relation.head.term.each}


def _shown(table: Any, row: Iterable[pa.Field]) -> Any:
    """A table under the names of its label, with some of its columns."""
    times = [pa.field(name, pa.int64()) for name in (BEGIN, END)]
    return _recast(table, ((plain(each.name), each.name, each.type) for each in (*times, *row)))
