"""The meaning of SUMMARIZE: a fold over the listed matches.

Let M be the complex events of the query without SUMMARIZE. Each of them goes into its windows, and in each window into
the group of its keys; a group gives one row. What a row shows is computed from totals: aggregates over all pairs of a
match of the group and an event of a variable in it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from acelera.language.aggregates import COUNT_OVERFLOW, INT64, Aggregate, Failure, canonical, find_aggregate
from acelera.language.checker import Checked
from acelera.language.evaluation import attribute_of
from acelera.language.evaluation import evaluate as value_of
from acelera.language.events import ComplexEvent, Event, Value, seen
from acelera.language.summary import Summarized, TotalValue, Windows
from acelera.semantics.queries import Matches, Partition, Row, complex_events, present

Group = list[ComplexEvent]
Place = tuple[tuple[Value, ...], tuple[Value, ...]]
"""Where a row belongs: its window (start and end, or nothing) and its keys."""


def summarize(
    checked: Checked, rows: Sequence[Row], ties: str, matches: Matches, until: int | None = None
) -> list[dict[str, Value]]:
    """The rows of the result, ordered by window, then by keys. `matches` and `until` are those of `complex_events`."""
    summary = checked.summary
    assert summary is not None, "the query has SUMMARIZE"
    groups: dict[Place, Group] = {}
    for partition, c in complex_events(checked, rows, ties, matches, until):
        for window in windows_of(c, partition, summary.windows):
            keys = tuple(present(c, key, checked.clauses, partition) for key in summary.keys)
            groups.setdefault((window, keys), []).append(c)
    found = [row_of(summary, place, groups[place]) for place in sorted(groups, key=in_order)]
    return [row for row in found if is_shown(summary, row)]


# --- groups -------------------------------------------------------------------------------------------------------


def windows_of(c: ComplexEvent, partition: Partition, windows: Windows | None) -> list[tuple[Value, ...]]:
    """The windows that hold a match wholly, each as its start and end; without OVER the one that has neither."""
    if windows is None:
        return [()]
    first, last = partition.events[c.start - 1].time, partition.events[c.end - 1].time
    if not windows.timed:
        return windows_of_events(c.start, c.end, windows.length, windows.every)
    assert first is not None and last is not None, "the checker asks for a stream with time"
    return windows_of_time(first, last, windows.length, windows.every)


def windows_of_time(first: int, last: int, length: int, every: int) -> list[tuple[Value, ...]]:
    """All [k·every, k·every + length) with k·every ≤ first and last < k·every + length, for whole numbers k."""
    newest, oldest = first // every, (last - length) // every + 1
    return [(k * every, k * every + length) for k in range(oldest, newest + 1)]


def windows_of_events(start: int, end: int, length: int, every: int) -> list[tuple[Value, ...]]:
    """All k·every + 1 … k·every + length with k·every + 1 ≤ start and end ≤ k·every + length, for k ≥ 0."""
    newest, oldest = (start - 1) // every, max(0, -((length - end) // every))
    return [(k * every + 1, k * every + length) for k in range(oldest, newest + 1)]


def in_order(place: Place) -> tuple[Any, ...]:
    """Rows are ordered by window, then by keys: ascending, NULL first, NaN last."""
    window, keys = place
    return (window, [rank(key) for key in keys])


def rank(key: Value) -> tuple[Any, ...]:
    """What is compared of a key."""
    if key is None:
        return (0,)
    return (1, key) if key == key else (2,)


# --- rows ---------------------------------------------------------------------------------------------------------


def row_of(summary: Summarized, place: Place, group: Group) -> dict[str, Value]:
    """The window, the keys, and the items computed from the totals of the group."""
    window, keys = place
    totals = {each.name: seen(total_of(each, group)) for each in summary.totals}
    row = dict(zip(("window_start", "window_end"), window, strict=False))
    row |= {column.name: key for column, key in zip(summary.keys, keys, strict=True)}
    made = {item.name: value_of(item.expression, lambda node: totals[node.name]) for item in summary.items}
    return row | {name: canonical(value) for name, value in made.items()}


def is_shown(summary: Summarized, row: dict[str, Value]) -> bool:
    """HAVING: only TRUE keeps a row."""
    return summary.having is None or value_of(summary.having, lambda node: row[node.name]) is True


def total_of(total: TotalValue, group: Group) -> Value:
    """A total over a group of matches; one that has no value is a Failure."""
    node = total.total
    if node.variable is None:
        return math.log2(len(group)) if node.function == "log2_count" else counted(len(group))
    events = [event for c in group for event in c(node.variable)]
    if node.attribute is None:
        return counted(len(events))
    function = find_aggregate(node.function)
    assert function is not None, "the checker knows all functions"
    return folded(function, events, node.attribute, node.ignore_nulls)


def folded(function: Aggregate, events: Sequence[Event], attribute: str, ignore_nulls: bool) -> Value:
    """⊗ over all pairs of a match and an event of it: lift each value, combine them, finish."""
    state = function.identity
    for event in events:
        state = function.step(state, event.position, attribute_of(event, attribute), ignore_nulls)
    if function.name == "avg" and isinstance(state, tuple):
        return average(*state)
    if function.name == "count" and isinstance(state, int):
        return counted(state)
    return function.value(state)


def average(total: Any, count: int) -> float | None:
    """The exact total divided by the number of values: that the total fits into 64 bits is not asked."""
    if not count:
        return None
    return total / count if isinstance(total, int) else float(total) / count


def counted(count: int) -> int | Failure:
    """A number of matches or events, if 64 bits hold it."""
    return count if count in INT64 else COUNT_OVERFLOW
