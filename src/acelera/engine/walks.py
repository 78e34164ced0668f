"""Aggregates along matches that share their ends: an entry of a tree is looked at once, in however many matches it is.

A tree is walked through from the last event of a match to its first. So this is for aggregates to which the order of
their values does not matter, and for first and last.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.arena import Tree
from acelera.engine.compiled import compiled
from acelera.engine.folds import as_result, column_of_numbers, numbers_of
from acelera.language.aggregates import Aggregate
from acelera.language.types import Kind, Type

Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

COUNT, SUM, MIN, MAX, FIRST, LAST = range(6)
_NUMBERS = {"sum": SUM, "min": MIN, "max": MAX, "first": FIRST, "last": LAST}
_COMPARED = (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION, Kind.DATE)
_LARGEST_SUM = 1 << 62


def can_walk(function: str, given: Type | None) -> bool:
    """Whether an aggregate of values of this type, or of events, is the same in whichever order they come."""
    if function == "count":
        return True
    if function == "sum":
        return given is not None and given.kind is Kind.INT
    if function in ("min", "max"):
        return given is not None and given.kind in _COMPARED
    return function in ("first", "last") and given is not None


def walked(
    function: Aggregate, column: Any | None, given: Type | None, holds: Mask, tree: Tree, result: pa.DataType
) -> Any | None:
    """The aggregate of each match over the entries whose marks hold an event; None if one must go over all of them.

    `column` has the values of all rows, and is None for what counts events.
    """
    if not can_walk(function.name, given) or (column is not None and column.null_count):
        return None
    counts = _walk(COUNT, np.zeros(1, np.int64), holds, tree)
    if column is None or function.name == "count":
        return as_result(result, pa.array(counts), function.name)
    if not counts.all():
        return None
    if function.name in ("first", "last"):
        rows = _walk(_NUMBERS[function.name], np.arange(len(column)), holds, tree)
        return as_result(result, column.take(pa.array(rows)), function.name)
    assert given is not None
    numbers, natural = numbers_of(column, given), function.result(given)
    assert natural is not None, "the checker refuses what a function cannot take"
    if function.name == "sum" and max(-int(numbers.min()), int(numbers.max())) * int(counts.max()) > _LARGEST_SUM:
        return None
    found = _walk(_NUMBERS[function.name], numbers, holds, tree)
    return as_result(result, column_of_numbers(found, None, natural), function.name)


def _walk(function: int, numbers: Ints, holds: Mask, tree: Tree) -> Ints:
    found = np.zeros(len(tree), numbers.dtype)
    walk(function, np.ascontiguousarray(numbers), holds, tree.leaf, tree.parents, tree.marks, tree.values, found)
    return found


@compiled
def walk(
    function: int, numbers: Ints, holds: Mask, leaf: Ints, parents: Ints, marks: Ints, rows: Ints, found: Ints
) -> None:
    """What the entries that hold an event give together, for each match. Without any, it is 0."""
    so_far, some = np.zeros(len(parents), numbers.dtype), np.zeros(len(parents), np.bool_)
    for entry in range(len(parents)):
        parent = parents[entry]
        if parent >= 0:
            so_far[entry], some[entry] = so_far[parent], some[parent]
        if not holds[marks[entry]]:
            continue
        held = so_far[entry]
        if function == COUNT:
            so_far[entry] = held + 1
        elif function == SUM:
            so_far[entry] = held + numbers[rows[entry]]
        elif function == FIRST or not some[entry]:
            so_far[entry] = numbers[rows[entry]]
        elif function != LAST:
            number = numbers[rows[entry]]
            better = number < held if function == MIN else number > held
            if better or number != number:
                so_far[entry] = number
        some[entry] = True
    for match in range(len(leaf)):
        found[match] = so_far[leaf[match]] if leaf[match] >= 0 else 0
