"""From rows of an extended query to matches whose events are places in the stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from acelera.language.schema import Schema
from acelera.report.extension import ALL_MADE, NOTHING_MADE, Entry, Extension, entries
from acelera.report.findings import Made, Match
from acelera.report.values import cells

MOST_ITEMS = 100
"""How many items of a list are shown in a row of the result."""

Place = Callable[[int, Any], int]
"""Where an event stands in the stream, given the number of its match and its position in its partition, or its time."""

Attributes = Callable[[int], Mapping[str, Any]]
"""The attributes of the event at a place, as cells; `type` is its type."""


def matches_of(
    found: pa.Table, extension: Extension, starts: Sequence[int], ends: Sequence[int], place: Place, read: Attributes
) -> list[Match]:
    """The matches of some rows of the extended query, by where they end and start."""
    columns_shown = [list(map(_cut, cells(column))) for column in found.columns[: extension.shown]]
    rows = list(zip(*columns_shown, strict=True))
    held: list[dict[str, list[int]]] = [{} for _ in range(found.num_rows)]
    made: list[list[Made]] = [[] for _ in range(found.num_rows)]
    for name, columns in extension.variables.items():
        for number, listed in enumerate(entries(found, columns)):
            for entry in listed:
                at = place(number, entry.at)
                if columns.made == NOTHING_MADE or (columns.made != ALL_MADE and _was_read(entry, read(at))):
                    held[number].setdefault(name, []).append(at)
                else:
                    created = {each: value for each, value in entry.values.items() if value is not None}
                    made[number].append(Made(name, at, created if columns.made != ALL_MADE else entry.values))
    matches = [
        Match(rows[number] if rows else (), starts[number], ends[number], _sorted(held[number]), made[number])
        for number in range(found.num_rows)
    ]
    return sorted(matches, key=Match.order)


def with_type(values: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """The attributes of an event of the stream, and its type as `type`, whatever tells it."""
    only = next(iter(schema.event_types or ()), None)
    return {**values, "type": only if schema.type_column is None else values[schema.type_column]}


def _cut(cell: Any) -> Any:
    """A long list is shown by its first items; its events are shown anyway."""
    if not isinstance(cell, list) or len(cell) <= MOST_ITEMS:
        return cell
    return [*cell[:MOST_ITEMS], f"… {len(cell) - MOST_ITEMS} more"]


def _sorted(held: Mapping[str, list[int]]) -> dict[str, list[int]]:
    return {name: sorted(places) for name, places in held.items()}


def _was_read(entry: Entry, row: Mapping[str, Any]) -> bool:
    """Whether an event is the one that stands there in the stream: it has the same attributes, and no others."""
    return all(value == row.get(name) for name, value in entry.values.items())
