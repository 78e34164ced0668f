"""How changes come to the tasks that run rules: those of all relations in one frame, under plain names.

A row tells by a number which relation it is of (or which derived event of a module that runs elsewhere), what kind of
change it is, its instant and its time. For each relation there is a struct of its values, of which one is not NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import DELETE, INSTANT, KIND, NEW, OLD, TIME
from acelera.language.tree import walk
from acelera.programs.columns import plain_column
from acelera.spark.schemas import spark_schema
from acelera.spark.spark_expressions import quoted
from acelera.trepl import ast
from acelera.trepl.chained_keys import chained_key
from acelera.trepl.resolved import EventType, Field, Module, Program, Simple
from acelera.trepl.running.module_runs import LATEST, STAGE
from acelera.trepl.splitting import Fed, Part

Given = tuple[dict[str, pa.Table], dict[tuple[str, str], pa.Table]]
"""Changes by relation and derived events by module and name, as engines take them."""

SOURCE, CHANGE, WHEN = "source", "kind", "time"
"""Columns of rows that travel; those of the instant and of values are numbered."""

NUMBER, LAST = "stage", "latest"
"""Columns of rows whose stages are numbered before: the number of the stage, and its latest time."""


@dataclass(frozen=True)
class Feed:
    """What comes from one place: its columns as engines read them, and the kinds of changes that count."""

    fed: Fed
    columns: pa.Schema
    kinds: tuple[int, ...]

    @property
    def values(self) -> pa.Schema:
        """The columns of its values."""
        return pa.schema([each for each in self.columns if each.name.startswith((NEW, OLD))])


@dataclass(frozen=True)
class Travelling:
    """All that comes to a part of a program; `instants` and `time` are the types of these.

    `numbered` says that rows tell of their stages.
    """

    feeds: tuple[Feed, ...]
    instants: tuple[pa.DataType, ...]
    time: pa.DataType
    numbered: bool = False

    @property
    def instant_names(self) -> list[str]:
        """The columns of the instant, as rows travel."""
        return [f"instant{number}" for number in range(len(self.instants))]

    @property
    def columns(self) -> pa.Schema:
        """The columns of rows that travel."""
        return pa.schema(
            [
                pa.field(SOURCE, pa.int32()),
                pa.field(CHANGE, pa.int8()),
                *map(pa.field, self.instant_names, self.instants),
                pa.field(WHEN, self.time),
                *([pa.field(NUMBER, pa.int64()), pa.field(LAST, self.time)] if self.numbered else []),
                *(pa.field(data_column(number), _struct(feed.values)) for number, feed in enumerate(self.feeds)),
            ]
        )

    # --- on the way out: frames ---------------------------------------------------------------------------------------

    def frame(self, number: int, changes: Any) -> Any:
        """The rows of one feed, from normalized changes or derived events in a frame."""
        from pyspark.sql import functions

        feed = self.feeds[number]
        wanted = {each.name: each.dataType for each in spark_schema(self.columns)}
        kind = functions.col(quoted(KIND)) if feed.kinds else functions.lit(None)
        found = [functions.lit(number).alias(SOURCE), kind.cast("tinyint").alias(CHANGE)]
        for place, name in enumerate(self.instant_names):
            found.append(_instant(f"{INSTANT}{place}", self.instants[place]).cast(wanted[name]).alias(name))
        found.append(functions.col(quoted(TIME)).cast(wanted[WHEN]).alias(WHEN))
        for other in range(len(self.feeds)):
            data = _packed(feed.values) if other == number else functions.lit(None)
            found.append(data.cast(wanted[data_column(other)]).alias(data_column(other)))
        return changes.select(*found)

    def key(self, number: int, attributes: Sequence[str], types: Sequence[pa.DataType]) -> list[Any]:
        """The columns that tell the key of rows of one feed, of the types that keys have in engines."""
        from pyspark.sql import functions

        names, data = self.feeds[number].values.names, functions.col(data_column(number))
        found = []
        for each in spark_schema(pa.schema(list(map(pa.field, attributes, types)))):
            column = data.getField(_value(names.index(NEW + each.name)))
            if OLD + each.name in names:
                old = data.getField(_value(names.index(OLD + each.name)))
                column = functions.when(functions.col(CHANGE) == DELETE, old).otherwise(column)
            found.append(column.cast(each.dataType))
        return found

    # --- and in: tables -----------------------------------------------------------------------------------------------

    def tables(self, rows: pa.Table) -> Given:
        """Rows as engines take them; they lack the columns of relations of which there are none."""
        changes: dict[str, pa.Table] = {}
        events: dict[tuple[str, str], pa.Table] = {}
        for number, feed in enumerate(self.feeds):
            own = rows.filter(pc.equal(rows.column(SOURCE), number))
            module, name = feed.fed
            if own.num_rows and module is None:
                changes[name] = self._table(own, number)
            elif own.num_rows and module is not None:
                events[module, name] = self._table(own, number)
        return changes, events

    def _table(self, rows: pa.Table, number: int) -> pa.Table:
        feed = self.feeds[number]
        named = {KIND: CHANGE, TIME: WHEN}
        named |= {f"{INSTANT}{place}": name for place, name in enumerate(self.instant_names)}
        schema = feed.columns
        if self.numbered:
            named |= {STAGE: NUMBER, LATEST: LAST}
            schema = pa.schema([*schema, pa.field(STAGE, pa.int64()), pa.field(LATEST, self.time)])
        found = {name: rows.column(inner) for name, inner in named.items()}
        values = pa.Table.from_struct_array(rows.column(data_column(number)))
        found |= {name: values.column(_value(place)) for place, name in enumerate(feed.values.names)}
        return pa.table([plain_column(found[each.name], each.type) for each in schema], schema=schema)


def data_column(number: int) -> str:
    """The column with the values of one feed."""
    return f"data{number}"


def _value(number: int) -> str:
    return f"v{number}"


def _struct(values: pa.Schema) -> pa.DataType:
    """Values under plain names; a struct has one field at least."""
    return pa.struct([(_value(number), each.type) for number, each in enumerate(values)] or [("none", pa.int8())])


def _packed(values: pa.Schema) -> Any:
    from pyspark.sql import functions

    if not len(values):
        return functions.struct(functions.lit(0).alias("none"))
    return functions.struct(
        *(functions.col(quoted(each.name)).alias(_value(number)) for number, each in enumerate(values))
    )


def _instant(name: str, kind: pa.DataType) -> Any:
    """A column of the instant; NaN, which has no place among others, is an error."""
    from pyspark.sql import functions

    column = functions.col(quoted(name))
    if not pa.types.is_floating(kind):
        return column
    refused = functions.lit("an instant is NaN, which comes neither before nor after others; name other columns")
    return functions.when(functions.isnan(column), functions.raise_error(refused)).otherwise(column)


def union(frames: Sequence[Any]) -> Any:
    """The rows of frames that have the same columns."""
    return reduce(lambda left, right: left.unionByName(right), frames)


# --- what is read -----------------------------------------------------------------------------------------------------


def travelling(part: Part, program: Program, schemas: Mapping[str, pa.Schema]) -> Travelling:
    """What comes to a part; `schemas` are the columns of the normalized changes of relations."""
    modules = [each for each in program.modules if each.name in part.modules]
    kept = {name for module in modules for name in _read(module, program)}
    some = next(iter(schemas.values()))
    instants = tuple(each.type for each in some if each.name.startswith(INSTANT))
    feeds = []
    for fed in part.keys:
        columns = _derived_columns(fed, program, instants) if fed[0] else schemas[fed[1]]
        chosen = [each for each in columns if not each.name.startswith((NEW, OLD)) or each.name in kept]
        feeds.append(Feed(fed, pa.schema(chosen), _kinds(fed, modules)))
    return Travelling(tuple(feeds), instants, program.timestamp.arrow, part.numbered)


def _kinds(fed: Fed, modules: Sequence[Module]) -> tuple[int, ...]:
    """The kinds of changes of a relation that some module monitors; derived events have none."""
    events = {event for module in modules for event in module.universe}
    return tuple(number for number, kind in enumerate(ast.KINDS) if EventType(kind, fed[1]) in events and not fed[0])


def _derived_columns(fed: Fed, program: Program, instants: Sequence[pa.DataType]) -> pa.Schema:
    """The columns of events that another module derives."""
    maker = next(each for each in program.modules if each.name == fed[0])
    return pa.schema(
        [
            *(pa.field(f"{INSTANT}{number}", kind) for number, kind in enumerate(instants)),
            pa.field(TIME, program.timestamp.arrow),
            *(pa.field(f"{NEW}{name}", kind.arrow) for name, kind in maker.derived[fed[1]].items()),
        ]
    )


def _read(module: Module, program: Program) -> Iterator[str]:
    """The columns of values that a module looks at, of whatever event; by its key it is split in any task."""
    chained = None if module.partition else chained_key(module, program).key
    yield from (side + name for side in (NEW, OLD) for name in (*module.partition, *filter(None, [chained])))
    for rule in module.rules:
        expressions = [argument for action in rule.actions for argument in action.arguments]
        for goal in ast.walk(rule.goal):
            if isinstance(goal, Simple | ast.Test) and goal.condition is not None:
                expressions.append(goal.condition)
        for expression in expressions:
            for term in walk(expression):
                if isinstance(term, Field):
                    yield f"{NEW if term.side == 'new' else OLD}{term.attribute}"
