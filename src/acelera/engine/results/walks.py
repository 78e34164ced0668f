"""Aggregates along matches that share their ends: an entry of a tree is looked at once, in however many matches it is.

A tree is walked through from the last event of a match to its first. So this is for aggregates to which the order of
their values does not matter, and for first and last.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import compiled
from acelera.engine.nodes.matches import Tree
from acelera.engine.results.folds import RANKED, as_result, column_of_numbers, fixed, numbers_of, ranked, selected
from acelera.language.aggregates import Aggregate
from acelera.language.types import Kind, Type

Ints = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

COUNT, SUM, MIN, MAX, FIRST, LAST = range(6)
_NUMBERS = {"sum": SUM, "min": MIN, "max": MAX, "first": FIRST, "last": LAST}
_COMPARED = frozenset({Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION, Kind.DATE}) | RANKED
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


@dataclass(frozen=True)
class Walk:
    """Entries of a tree that hold an event, by their marks, and a column with the values of all rows.

    The column is None for what counts events.
    """

    tree: Tree
    holds: Mask
    column: Any | None
    ignore_nulls: bool

    def aggregate(self, function: Aggregate, given: Type | None, result: pa.DataType) -> Any | None:
        """The aggregate of each match; None if one must go over all entries of each."""
        if not can_walk(function.name, given):
            return None
        try:
            return self._aggregate(function, given, result)
        except pa.ArrowNotImplementedError:  # a type that this version of Arrow can only carry
            return None

    def _aggregate(self, function: Aggregate, given: Type | None, result: pa.DataType) -> Any | None:
        counts = self._walk(COUNT, np.zeros(1, np.int64))
        if self.column is None or given is None:
            return as_result(result, pa.array(counts), function.name)
        if function.place is not None:
            return self._of_one_event(function, given, result)
        missing = None
        if self.column.null_count and not self.ignore_nulls:
            missing = counts < replace(self, column=None)._walk(COUNT, np.zeros(1, np.int64))
        if function.name == "count":
            return as_result(result, pa.array(counts, mask=missing), function.name)
        if function.name == "sum":
            return self._sum(counts, missing, function, given, result)
        absent = counts == 0 if missing is None else missing | (counts == 0)
        number = _NUMBERS[function.name]
        if given.kind in RANKED:
            ranks, values = ranked(self.column.drop_null())
            found = self._walk(number, self._by_row(ranks))
        else:
            return self._computed(self._walk(number, self._numbers(given)), absent, function, given, result)
        return as_result(result, values.take(pa.array(found, mask=absent)), function.name)

    def _of_one_event(self, function: Aggregate, given: Type, result: pa.DataType) -> Any:
        """The value of the first or last event; a NULL counts as any other, unless it is ignored."""
        assert self.column is not None
        looked_at = self if self.ignore_nulls else replace(self, column=None)
        absent = looked_at._walk(COUNT, np.zeros(1, np.int64)) == 0
        found = looked_at._walk(_NUMBERS[function.name], np.arange(len(self.column)))
        return as_result(result, selected(self.column, found, absent, given), function.name)

    def _sum(
        self, counts: Ints, missing: Mask | None, function: Aggregate, given: Type, result: pa.DataType
    ) -> Any | None:
        numbers = self._numbers(given)
        largest = max(-int(numbers.min()), int(numbers.max())) if len(numbers) else 0
        if largest * int(counts.max()) > _LARGEST_SUM:
            return None
        return self._computed(self._walk(SUM, numbers), missing, function, given, result)

    @staticmethod
    def _computed(numbers: Ints, absent: Mask | None, function: Aggregate, given: Type, result: pa.DataType) -> Any:
        natural = function.result(given)
        assert natural is not None, "the checker refuses what a function cannot take"
        return as_result(result, column_of_numbers(numbers, absent, natural), function.name)

    @cached_property
    def _valid(self) -> Mask:
        """Which rows have a value; empty if all have."""
        if self.column is None or not self.column.null_count:
            return np.ones(0, np.bool_)
        return np.asarray(self.column.is_valid().to_numpy(zero_copy_only=False))

    def _numbers(self, given: Type) -> Ints:
        assert self.column is not None
        return self._by_row(numbers_of(self.column.drop_null(), given))

    def _by_row(self, known: Ints) -> Ints:
        """Something of each value as something of each row; what stands for NULL does not matter."""
        if not len(self._valid):
            return known
        numbers = np.zeros(len(self._valid), known.dtype)
        numbers[self._valid] = known
        return numbers

    def _walk(self, function: int, numbers: Ints) -> Ints:
        tree, found = self.tree, np.zeros(len(self.tree), numbers.dtype)
        numbers, valid = fixed(numbers), fixed(self._valid)
        walk(function, numbers, valid, self.holds, tree.leaf, tree.parents, tree.marks, tree.values, found)
        return found


@compiled
def walk(
    function: int,
    numbers: Ints,
    valid: Mask,
    holds: Mask,
    leaf: Ints,
    parents: Ints,
    marks: Ints,
    rows: Ints,
    found: Ints,
) -> None:
    """What the entries that hold an event give together, for each match; 0 without any.

    `valid` tells which rows have a value, and is empty if all have.
    """
    so_far, some = np.zeros(len(parents), numbers.dtype), np.zeros(len(parents), np.bool_)
    for entry in range(len(parents)):
        parent = parents[entry]
        if parent >= 0:
            so_far[entry], some[entry] = so_far[parent], some[parent]
        if not holds[marks[entry]] or (len(valid) > 0 and not valid[rows[entry]]):
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
