"""A step by tables: a set of states and a letter lead to entries that were worked out once."""

from __future__ import annotations

from typing import NamedTuple

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
    at, size = step.row_at[number, letter], step.row_size[number, letter]
    if at < 0:
        return -1 - number, False
    entries = step.entries
    stays = size == 1 and entries.mark[at] == NOTHING and entries.target[at] == number and not entries.emits[at]
    return size, not stays


@implements(values_made, TableStep)
def _values_made(step: TableStep, entries: int) -> int:
    return entries + 1


@implements(lacks, TableStep)
def _lacks(step: TableStep, entries: int) -> int:
    return DONE


@implements(follow, TableStep)
def _follow(step: TableStep, number: int, letter: int, event: int) -> tuple[int, int, int]:
    return step.row_at[number, letter], step.row_size[number, letter], DONE


@implements(marked, TableStep)
def _marked(step: TableStep, algebra: Array, value: Array, entry: int, row: int) -> Array:
    mark = step.entries.mark[entry]
    return value if mark == NOTHING else extend(algebra, value, mark, row)
