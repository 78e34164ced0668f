"""A step by tables: a set of states and a letter lead to entries that were worked out once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, implements
from acelera.engine.machines.advance import (
    DONE,
    NOTHING,
    Entries,
    follow,
    lacks,
    look,
    marked,
    stirs,
    values_made,
)
from acelera.engine.nodes.algebras import extend


class TableStep(NamedTuple):
    """For each set of states and letter where its entries begin, or -1 if that is not known, and how many there are."""

    row_at: Array
    row_size: Array
    entries: Entries


@implements(stirs, TableStep)
def _stirs(step: TableStep, event: int) -> bool:
    return False


@implements(look, TableStep)
def _look(step: TableStep, number: int, letter: int) -> tuple[int, bool]:
    row, column = np.uint64(number), np.uint64(letter)  # see `advance`
    at, size = step.row_at[row, column], step.row_size[row, column]
    if at < 0:
        return -1 - number, False
    entries, first = step.entries, np.uint64(at)
    stays = (
        size == 1 and entries.mark[first] == NOTHING and entries.target[first] == number and not entries.emits[first]
    )
    return size, not stays


@implements(values_made, TableStep)
def _values_made(step: TableStep, entries: int) -> int:
    return entries + 1


@implements(lacks, TableStep)
def _lacks(step: TableStep, entries: int) -> int:
    return DONE


@implements(follow, TableStep)
def _follow(step: TableStep, number: int, letter: int, event: int) -> tuple[int, int, int]:
    row, column = np.uint64(number), np.uint64(letter)
    return step.row_at[row, column], step.row_size[row, column], DONE


@implements(marked, TableStep)
def _marked(step: TableStep, algebra: Array, value: Array, entry: int, row: int) -> Array:
    mark = step.entries.mark[np.uint64(entry)]
    return value if mark == NOTHING else extend(algebra, value, mark, row)
