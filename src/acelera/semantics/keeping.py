"""KEEP: which of the matches of a partition are kept.

Where several matches are equally long, and for ANY n, matches have an order. First the positions at which they hold
events are compared, in lexicographic order: 1 2 comes before 1 2 3, and that before 1 3. Then the variables that hold
these, position by position, in order of first appearance in the formula: of the first variable that only one of two
matches has there, the one that has it comes first. Then the one that starts first, and the one that ends first. At last
they are compared by the events that each variable holds at each position: more of them come first, and of as many those
with the lesser values, by the names of attributes; NULL is less than all other values, NaN more than all other numbers,
an aggregate that failed most of all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Any

from acelera.language import ast
from acelera.language.aggregates import place_of_value
from acelera.language.events import ComplexEvent

Mark = tuple[int, int]


def kept(keep: ast.Keep, matches: Collection[ComplexEvent], variables: Sequence[str]) -> list[ComplexEvent]:
    """Those of the matches of a partition that KEEP keeps. The variables are all of the query, in their order."""
    order = in_order(matches, variables)
    match keep.kind, keep.scope:
        case "longest", "start":
            return one_of_each(order, starts, lambda c: -c.end)
        case "shortest", "start":
            return one_of_each(order, starts, lambda c: c.end)
        case "longest", "end":
            return one_of_each(order, ends, lambda c: c.start)
        case "shortest", "end":
            return one_of_each(order, ends, lambda c: -c.start)
        case "any", "start" | "end":
            assert keep.count is not None, "ANY has a number"
            return some_of_each(order, starts if keep.scope == "start" else ends, keep.count)
        case "longest", "apart":
            return apart(order, lambda c: (c.start, -c.end))
        case "shortest", "apart":
            return apart(order, lambda c: (c.end, -c.start))
        case "all", "apart":
            return all_apart(order)
    raise AssertionError(f"unknown KEEP {keep.kind} {keep.scope}")


def starts(c: ComplexEvent) -> int:
    """Where a match starts."""
    return c.start


def ends(c: ComplexEvent) -> int:
    """Where a match ends."""
    return c.end


def groups(order: Sequence[ComplexEvent], scope: Callable[[ComplexEvent], int]) -> list[list[ComplexEvent]]:
    """The matches that start, or end, at a position, for each such position; each group in order."""
    return [[c for c in order if scope(c) == position] for position in sorted({scope(c) for c in order})]


def one_of_each(
    order: Sequence[ComplexEvent], scope: Callable[[ComplexEvent], int], rank: Callable[[ComplexEvent], int]
) -> list[ComplexEvent]:
    """LONGEST, SHORTEST PER START, PER END: of each group the match of the least rank, of several the first."""
    return [min(group, key=rank) for group in groups(order, scope)]


def some_of_each(order: Sequence[ComplexEvent], scope: Callable[[ComplexEvent], int], count: int) -> list[ComplexEvent]:
    """ANY n PER START, PER END: the first n of each group, or all if they are fewer."""
    return [c for group in groups(order, scope) for c in group[:count]]


def apart(order: Sequence[ComplexEvent], rank: Callable[[ComplexEvent], tuple[int, int]]) -> list[ComplexEvent]:
    """LONGEST, SHORTEST APART: the match of the least rank, then of those that start behind its end, and so on.

    Matches share no position if their intervals have none in common. LONGEST: the one that starts first, of these the
    one that ends last. SHORTEST: the one that ends first, of these the one that starts last.
    """
    found: list[ComplexEvent] = []
    left = list(order)
    while left:
        best = min(left, key=rank)
        found.append(best)
        left = [c for c in left if c.start > best.end]
    return found


def all_apart(order: Sequence[ComplexEvent]) -> list[ComplexEvent]:
    """ALL APART: all matches that end at the first position where one ends, then of those that start behind it."""
    found: list[ComplexEvent] = []
    left = list(order)
    while left:
        first = min(c.end for c in left)
        found += [c for c in left if c.end == first]
        left = [c for c in left if c.start > first]
    return found


# --- the order of matches -----------------------------------------------------------------------------------------


def in_order(matches: Collection[ComplexEvent], variables: Sequence[str]) -> list[ComplexEvent]:
    """The matches in the order that tells which of several is kept."""
    numbers = {name: number for number, name in enumerate(variables)}
    return sorted(set(matches), key=lambda c: place(c, numbers))


def place(c: ComplexEvent, numbers: dict[str, int]) -> tuple[Any, ...]:
    """Where a match stands among others. No variable comes after all others, so that one more comes first."""
    found = details(c, numbers)
    positions = sorted({position for position, _ in found})
    held = [[*(number for at, number in found if at == position), math.inf] for position in positions]
    return positions, held, c.start, c.end, list(found.values())


def details(c: ComplexEvent, numbers: dict[str, int]) -> dict[Mark, tuple[int, list[Any]]]:
    """For each mark of a match, in order, how many events it has there, and these by their values."""
    found: dict[Mark, list[Any]] = {}
    for name, events in c.bags:
        for event in events:
            values = [(attribute, place_of_value(value)) for attribute, value in event.attributes]
            found.setdefault((event.position, numbers[name]), []).append(values)
    return {mark: (-len(found[mark]), sorted(found[mark])) for mark in sorted(found)}
