"""Numbers that stand for values: those that nothing refers to are forgotten, and the others numbered anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[Any]

NO_VALUE = -1
"""A number that stands for no value."""


class Reference(NamedTuple):
    """Numbers that stand somewhere, and what puts others in their place, in the same order."""

    numbers: Ints
    put: Callable[[Ints], None]


def occurring(numbers: Ints) -> Ints:
    """Which numbers occur, each once and in order. They are small: there is memory for all up to the largest."""
    there = np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_)
    there[numbers] = True
    return np.flatnonzero(there)


def numbered_anew(numbers: Ints) -> tuple[Ints, Ints]:
    """The same, and for each of the numbers which of them it is."""
    found = occurring(numbers)
    return found, places_of(found)[numbers]


def places_of(kept: Ints) -> Ints:
    """For each number where it stands among those that are kept, which are in order."""
    moved = np.zeros(int(kept[-1]) + 1 if len(kept) else 0, np.int64)
    moved[kept] = np.arange(len(kept))
    return moved


def in_column(array: Ints, rows: Ints, column: int) -> Reference:
    """The numbers in some rows of a column."""

    def put(numbers: Ints) -> None:
        array[rows, column] = numbers

    return Reference(array[rows, column], put)


def renumber(size: int, references: Sequence[Reference], keep: Callable[[Ints], object]) -> Ints:
    """Of so many values keep those that are referred to, in order: which they are."""
    used = np.zeros(size + 1, np.bool_)
    for each in references:
        used[each.numbers] = True
    kept = np.flatnonzero(used[:size])
    if len(kept) == size:
        return kept
    keep(kept)
    moved = np.full(size + 1, NO_VALUE, np.int64)  # the last is where NO_VALUE looks
    moved[kept] = np.arange(len(kept))
    for each in references:
        each.put(moved[each.numbers])
    return kept
