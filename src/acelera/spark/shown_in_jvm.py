"""What is shown of matches of one shape, as Spark columns: attributes, whole events, aggregates, and what is computed
from these.

Each function decides what is to be made, or raises an UnsupportedError that tells in words why the JVM cannot say it;
what it returns makes the column, from the columns of the events of a match.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.frames import column_of
from acelera.language import ast
from acelera.language.aggregates import OVERFLOW, find_aggregate
from acelera.language.conditions import replace_attributes
from acelera.language.lowering import UnsupportedError
from acelera.language.result import (
    AggregateValue,
    AttributeValues,
    Column,
    EventStructs,
    ExpressionValue,
    MatchBound,
    PartitionKey,
)
from acelera.language.schema import Schema
from acelera.language.tree import assert_never
from acelera.language.types import Kind, Type, from_arrow
from acelera.spark.contiguous import Shape
from acelera.spark.schemas import spark_type
from acelera.spark.spark_expressions import check_expression, column_of_expression

At = Callable[[int, str], Any]
"""The Spark column of a column of the stream, for the event at a place in a match."""

Made = Callable[[At], Any]
"""What makes a Spark column."""

POSITION = "\0position"
"""What the number of an event in its partition is called among columns of the stream; none is called so."""


def shown(column: Column, shape: Shape, schema: Schema) -> Made:
    """A column of the result, of its type."""
    made, kind = _source(column, shape, schema), column.type
    return lambda at: made(at).cast(spark_type(kind))


def _source(column: Column, shape: Shape, schema: Schema) -> Made:
    match column.source:
        case PartitionKey(name):
            return _plain(0, name, schema)
        case MatchBound(end, timed):
            place = shape.length - 1 if end else 0
            return _plain(place, "time", schema) if timed else _position(place)
        case EventStructs(variable, fields):
            events = _held(variable, shape)
            structs = [_struct([_attribute(*event, name, schema) for name in fields], fields) for event in events]
            return _one_or_list(structs, column)
        case AttributeValues(variable, attribute):
            return _one_or_list([_attribute(*event, attribute, schema) for event in _held(variable, shape)], column)
        case AggregateValue(aggregation, given):
            return _aggregate(aggregation, given, shape, schema)
        case ExpressionValue(expression, parts):
            return _computed(expression, parts, shape, schema)
        case _:
            return assert_never(column.source)


def _held(variable: str, shape: Shape) -> list[tuple[int, Mark]]:
    """The events of a variable: where each stands, and its mark."""
    found = [(place, mark) for place, marks in enumerate(shape.marks) for mark in dict(marks).get(variable, ())]
    if len({place for place, _ in found}) < len(found):
        raise UnsupportedError(f"{variable} holds several events at one position")
    return found


def _one_or_list(made: Sequence[Made], column: Column) -> Made:
    from pyspark.sql import functions

    if column.single:
        (only,) = made
        return only
    return lambda at: functions.array(*(each(at) for each in made))


def _struct(made: Sequence[Made], fields: Sequence[str]) -> Made:
    from pyspark.sql import functions

    if not fields:
        raise UnsupportedError("events without attributes are shown")
    return lambda at: functions.struct(*(each(at).alias(name) for each, name in zip(made, fields, strict=True)))


# --- attributes ---------------------------------------------------------------------------------------------------


def _attribute(place: int, mark: Mark, name: str, schema: Schema) -> Made:
    """An attribute of an event that a match holds."""
    from pyspark.sql import functions

    term = mark.attribute(name)
    match term:
        case Const(None):
            return lambda at: functions.lit(None)
        case Attr(plain) if not isinstance(plain, ast.Computed):
            return _plain(place, plain, schema)
        case Sql(expression, leaves):
            terms = dict(leaves)
            return _expression(
                replace_attributes(expression, lambda node: _leaf(terms[(node.variable, node.name)], place)), schema
            )
    raise UnsupportedError(f"`{term}` is computed as the query runs")


def _leaf(term: Term, place: int) -> ast.Expression:
    if isinstance(term, Attr):
        return ast.Attribute(str(place), term.name)
    if isinstance(term, Const):
        return ast.Literal(term.constant)
    raise UnsupportedError(f"`{term}` is computed as the query runs")


def _plain(place: int, name: str, schema: Schema) -> Made:
    """An attribute of an event as it was read."""
    from pyspark.sql import functions

    column = column_of(name, schema)
    if column is None:
        if name == "position":
            return _position(place)
        if name == "type" and schema.event_types is not None:
            only = next(iter(schema.event_types))
            return lambda at: functions.lit(only)
        return lambda at: functions.lit(None)
    return _canonical(lambda at: at(place, column), schema.columns[column])


def _position(place: int) -> Made:
    """The number of an event in its partition."""
    from pyspark.sql import functions

    return lambda at: at(0, POSITION) + functions.lit(place)


def _canonical(made: Made, kind: Type) -> Made:
    """The same with one zero among floats."""
    from pyspark.sql import functions

    return (lambda at: made(at) + functions.lit(0.0)) if kind.kind is Kind.FLOAT else made


# --- what is computed ---------------------------------------------------------------------------------------------


def _expression(expression: ast.Expression, schema: Schema) -> Made:
    """An expression over events: the variable of an attribute is the place of its event."""
    kind = check_expression(expression, schema)
    return _canonical(
        lambda at: column_of_expression(expression, schema, lambda node, column: at(int(node.variable or 0), column)),
        kind,
    )


def _computed(expression: ast.Expression, parts: Sequence[Column], shape: Shape, schema: Schema) -> Made:
    """An expression over other columns of the result."""
    made = {part.name: shown(part, shape, schema) for part in parts}
    types = Schema({part.name: from_arrow(part.type) for part in parts if part.type is not None}, None, None)
    kind = check_expression(expression, types)
    return _canonical(
        lambda at: column_of_expression(expression, types, lambda node, column: made[column](at)),
        kind,
    )


# --- aggregates ---------------------------------------------------------------------------------------------------

_LARGEST = 2**63 - 1


def _aggregate(node: ast.Aggregation, given: Type | None, shape: Shape, schema: Schema) -> Made:
    """An aggregate over so many events as a match of this shape always has."""
    from pyspark.sql import functions

    function, events = find_aggregate(node.function), _held(node.variable, shape)
    assert function is not None
    if node.attribute is None or given is None:
        return lambda at: functions.lit(len(events))
    made = [_attribute(*event, node.attribute, schema) for event in events]
    fold = _of_place(function.place) if function.place is not None else _FOLDS.get(function.name)
    if function.user_defined or fold is None:
        raise UnsupportedError(f"`{node.function}` is computed in Python")
    if function.place is None and given.kind not in _TAKEN[function.name]:
        raise UnsupportedError(f"`{node.function}` of values of type {given} is computed in Python")
    if not made:  # in matches of this shape
        return lambda at: functions.lit(0 if function.name in ("count", "sum") else None)

    def folded(at: At) -> Any:
        values = [each(at).cast(spark_type(given.arrow)) for each in made]
        found = fold(values, given, node.ignore_nulls)
        if node.ignore_nulls or function.place is not None:
            return found
        known = reduce(lambda left, right: left & right, [value.isNotNull() for value in values])
        return functions.when(known, found)

    return folded


Fold = Callable[[Sequence[Any], Type, bool], Any]
"""Folds values of a type, of which NULLs are ignored or are none."""


def _of_place(place: int) -> Fold | None:
    """The value of the event at a place."""
    from pyspark.sql import functions

    def fold(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
        if ignore_nulls:
            known = functions.filter(functions.array(*values), lambda value: value.isNotNull())
            return functions.get(known, place - 1 if place > 0 else functions.size(known) + place)
        index = place - 1 if place > 0 else len(values) + place
        return values[index] if 0 <= index < len(values) else functions.lit(None)

    return fold


def _count(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
    return reduce(lambda left, right: left + right, [value.isNotNull().cast("bigint") for value in values])


def _sum(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
    """One value after the other, from 0; whole numbers in a type that holds their sum, which must fit into 64 bits."""
    from pyspark.sql import functions

    if given.kind is Kind.FLOAT:
        known = [functions.coalesce(value.cast("double"), functions.lit(0.0)) for value in values]
        return reduce(lambda left, right: left + right, known, functions.lit(0.0))
    if given.arrow.bit_width < 64:
        return reduce(
            lambda left, right: left + right,
            [functions.coalesce(value.cast("bigint"), functions.lit(0)) for value in values],
        )
    wide = [functions.coalesce(value, functions.lit(0)).cast("decimal(20,0)") for value in values]
    total = reduce(lambda left, right: (left + right).cast("decimal(22,0)"), wide)
    fits = total.between(functions.lit(-_LARGEST - 1), functions.lit(_LARGEST))
    return functions.when(fits, total.cast("bigint")).otherwise(functions.raise_error(functions.lit(OVERFLOW.message)))


def _average(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
    from pyspark.sql import functions

    total, count = _sum(values, given, ignore_nulls), _count(values, given, ignore_nulls)
    return functions.try_divide(total.cast("double"), count.cast("double"))


def _least(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
    """The smallest; NaN, which is the largest to Spark, if there is one."""
    from pyspark.sql import functions

    found = functions.least(*values) if len(values) > 1 else values[0]
    if given.kind is not Kind.FLOAT:
        return found
    worst = reduce(
        lambda left, right: left | right, [functions.coalesce(functions.isnan(v), functions.lit(False)) for v in values]
    )
    return functions.when(worst, functions.lit(float("nan"))).otherwise(found)


def _greatest(values: Sequence[Any], given: Type, ignore_nulls: bool) -> Any:
    from pyspark.sql import functions

    return functions.greatest(*values) if len(values) > 1 else values[0]


_FOLDS: dict[str, Fold] = {"count": _count, "sum": _sum, "avg": _average, "min": _least, "max": _greatest}
_NUMBERS = frozenset({Kind.INT, Kind.FLOAT})
_ORDERED = _NUMBERS | {Kind.DECIMAL, Kind.STRING, Kind.TIMESTAMP, Kind.DATE}
_TAKEN = {"count": frozenset(Kind), "sum": _NUMBERS, "avg": _NUMBERS, "min": _ORDERED, "max": _ORDERED}
"""The kinds of values of which the JVM makes an aggregate as the language means it."""
