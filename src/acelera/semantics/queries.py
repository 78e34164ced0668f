"""The meaning of a whole query: streams and partitions, WITHIN, KEEP, SELECT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from acelera.language import ast
from acelera.language.aggregates import canonical
from acelera.language.checker import BagUnion, Checked
from acelera.language.evaluation import evaluate as value_of
from acelera.language.events import ComplexEvent, Event, Value, made_event, within
from acelera.language.order_errors import no_place, refuse_early, tie
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
from acelera.language.sorting import arranges, sort_key, tie_columns
from acelera.language.tree import assert_never
from acelera.language.types import Kind, from_arrow
from acelera.semantics.absence import time
from acelera.semantics.aggregation import aggregate
from acelera.semantics.formulas import Stream, denotation
from acelera.semantics.keeping import kept

Row = Mapping[str, Value]


@dataclass(frozen=True)
class Partition:
    """The events of one key, and where each of them stands in the whole stream."""

    key: tuple[Value, ...]
    events: list[Event]
    places: list[int]


Matches = Callable[[Sequence[Event]], Iterable[ComplexEvent]]


def meaning(formula: ast.Formula, schema: Schema, bag_union: BagUnion) -> Matches:
    """The matches of a formula in the events of one partition, by the definition, if no event comes later."""
    return lambda events: denotation(formula, Stream(events, schema.type_column, bag_union == "once", schema))


def evaluate(
    checked: Checked, rows: Sequence[Row], ties: str, matches: Matches, until: int | None = None
) -> list[dict[str, Value]]:
    """The rows of the result, ordered by where a match ends and starts in the stream as it is read.

    `matches` finds the complex events of one partition; `until` is that of `complex_events`.
    """
    found = []
    for partition, c in complex_events(checked, rows, ties, matches, until):
        refuse_failures(c)
        found.append({column.name: present(c, column, checked.clauses, partition) for column in checked.result.columns})
    return found


def complex_events(
    checked: Checked, rows: Sequence[Row], ties: str, matches: Matches, until: int | None = None
) -> list[tuple[Partition, ComplexEvent]]:
    """The complex events of all partitions, as a set, as far as WITHIN allows and KEEP keeps them, in order.

    The stream is complete up to the time `until`, in nanoseconds; without it, up to the largest time of all events.
    A match that can still be ruled out then is none.
    """
    schema, clauses = checked.schema, checked.clauses
    assert schema is not None, "a query runs over a stream whose schema is known"
    found: list[tuple[Partition, ComplexEvent]] = []
    streams = partitions(rows, schema, clauses, ties)
    last = largest_time(streams)
    refuse_early(until, last)
    clock = last if until is None else until
    for partition in streams:
        allowed = {c.without_origins() for c in matches(partition.events) if fits(clauses.within, c, partition)}
        if checked.waits is not None:
            allowed = {c for c in allowed if is_settled(c, checked.waits, clock, partition)}
        if clauses.keep is None:
            found += [(partition, c) for c in allowed]
        else:
            found += [(partition, c) for c in kept(clauses.keep, allowed, list(checked.variables))]

    def place(item: tuple[Partition, ComplexEvent]) -> tuple[int, int, str]:
        partition, c = item
        return partition.places[c.end - 1], partition.places[c.start - 1], repr(c)

    return sorted(found, key=place)


def fits(window: ast.Within | None, c: ComplexEvent, partition: Partition) -> bool:
    """Whether WITHIN allows a match."""
    return window is None or within(window, partition.events[c.start - 1], partition.events[c.end - 1])


def largest_time(streams: Sequence[Partition]) -> int | None:
    """The largest time of all events, whatever their key; None if there is none."""
    return max((e.time for partition in streams for e in partition.events if e.time is not None), default=None)


def is_settled(c: ComplexEvent, waits: int, clock: int | None, partition: Partition) -> bool:
    """Whether nothing can rule a match out any more: time(end) + d ≤ clock."""
    return clock is not None and time(partition.events, c.end) + waits <= clock


# --- the stream ---------------------------------------------------------------------------------------------------


def partitions(rows: Sequence[Row], schema: Schema, clauses: ast.Clauses, ties: str) -> list[Partition]:
    """The stream in order, split by key. NULL is a key of its own; positions are counted within a key."""
    found: dict[tuple[Value, ...], Partition] = {}
    last: dict[tuple[Value, ...], int] = {}
    for place, index in enumerate(ordered(rows, schema, clauses, ties)):
        row = rows[index]
        key = tuple(canonical(row[name.name]) for name in clauses.partition_by)
        if key in last and schema.order_by and ties == "error":
            refuse_tie(rows, last[key], index, schema, clauses)
        last[key] = index
        partition = found.setdefault(key, Partition(key, [], []))
        partition.events.append(to_event(row, schema, len(partition.events) + 1))
        partition.places.append(place)
    return list(found.values())


def ordered(rows: Sequence[Row], schema: Schema, clauses: ast.Clauses, ties: str) -> list[int]:
    """The rows' indices in order. Those that are equal under it stay as they came, or are in that of all columns; then
    rows that are equal in all of them may be one.
    """
    for index, row in enumerate(rows):
        for name in schema.order_by:
            if row[name] is None or row[name] != row[name]:
                raise no_place(index + 1, name, row[name])
    found = sorted(range(len(rows)), key=lambda index: tuple(rows[index][name] for name in schema.order_by))
    if not schema.order_by or not arranges(ties):
        return found
    names = (*schema.order_by, *tie_columns(schema, [key.name for key in clauses.partition_by]))

    def place(index: int) -> tuple[object, ...]:
        return tuple(sort_key(rows[index][name]) for name in names)

    found.sort(key=place)
    if ties == "any":
        return found
    return [index for at, index in enumerate(found) if not at or place(index) != place(found[at - 1])]


def refuse_tie(rows: Sequence[Row], left: int, right: int, schema: Schema, clauses: ast.Clauses) -> None:
    """Two rows of a partition that are equal under order_by have no defined order."""
    if all(rows[left][name] == rows[right][name] for name in schema.order_by):
        raise tie((left + 1, right + 1), rows[left], [key.name for key in clauses.partition_by], schema)


def to_event(row: Row, schema: Schema, position: int) -> Event:
    """A row as an event. Its time is that of the first order column, if that is a timestamp."""
    event_type = row[schema.type_column] if schema.type_column else next(iter(schema.event_types or ()))
    time = row[schema.order_by[0]] if schema.time is not None else None
    place = row["position"] if schema.order_by[:1] == ("position",) else None
    return made_event(position, {name: row[name] for name in schema.columns}, event_type, time, place=place)


# --- the result ---------------------------------------------------------------------------------------------------


def refuse_failures(c: ComplexEvent) -> None:
    """A match that holds an aggregate that failed is an error, whether or not it is shown."""
    for event in c.events():
        for name, _ in event.attributes:
            event.value(name)


def as_shown(value: Value, column: Column) -> Value:
    """A value of a column as one of its type: a whole number among floats is a float."""
    if type(value) is int and column.type is not None and from_arrow(column.type).kind is Kind.FLOAT:
        return float(value)
    return value


def present(c: ComplexEvent, column: Column, clauses: ast.Clauses, partition: Partition) -> Value:
    """The value of a column of the result for a match."""
    match column.source:
        case PartitionKey(name):
            return partition.key[[key.name for key in clauses.partition_by].index(name)]
        case MatchBound(end, timed):
            position = c.end if end else c.start
            return partition.events[position - 1].time if timed else position
        case EventStructs(variable, fields):
            structs = [{name: event.value(name) for name in fields} for event in c(variable)]
            return structs[0] if column.single else structs
        case AttributeValues(variable, attribute):
            values = [event.value(attribute) for event in c(variable)]
            return values[0] if column.single else values
        case AggregateValue(aggregation, _):
            made = Event(c.end, ((column.name, aggregate(aggregation, c(aggregation.variable))),))
            return made.value(column.name)
        case ExpressionValue(expression, parts):
            known = {part.name: as_shown(present(c, part, clauses, partition), part) for part in parts}
            return canonical(value_of(expression, lambda node: known[node.name]))
        case _:
            return assert_never(column.source)
