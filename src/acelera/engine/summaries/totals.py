"""The totals of groups: rows of components, each for one combination of numbers that stand for its keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import Array, inlined, kernel
from acelera.engine.nodes.components import Components, Kinds, add, copy
from acelera.engine.nodes.hits import HitArrays
from acelera.engine.nodes.vector_arena import (
    Interned,
    Shape,
    VectorArena,
    components_in,
    grown_components,
    load_rows,
)
from acelera.engine.nodes.vectors import Groups, Vectors, interned
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import Reference

Ints = npt.NDArray[Any]

MOST_UNUSED = 16
"""Room for so many times as many groups as there were is kept for those to come."""


class Into(NamedTuple):
    """Where totals go, as kernels see it; `ends` has a column for each event at which matches may end."""

    ends: Array
    sources: Array
    groups: Groups
    totals: Components
    scratch: Array


class Totals:
    """What was found of each group so far; `sources` say where the numbers of a group come from.

    A source that is not negative is a column of what is known of the event at which a match ends; others are parts of
    the group of a match, from -1 down.
    """

    def __init__(self, shape: Shape, sources: list[int]) -> None:
        self.shape, self._sources = shape, np.array(sources, np.int64)
        self._scratch = np.zeros(len(sources), np.int64)
        self._begin()

    def _begin(self) -> None:
        """Begin without groups."""
        self._groups = Interned(len(self._sources))
        self._components = self.shape.components(64)

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def keys(self) -> Ints:
        """The numbers of each group, a row each."""
        return self._groups.rows

    @property
    def components(self) -> Components:
        """What was found, a row for each group."""
        return components_in(self._components.cells[: len(self)])

    def fold(self, arena: VectorArena, ends: Ints) -> None:
        """Add all hits, and clear them; `ends` has a column for each row at which they may end."""
        hits, at = arena.hits.arrays, 0
        while at < len(arena.hits):
            at = fold_hits(hits, arena.arrays, self.into(ends), at)
            if at < len(arena.hits):
                self.enlarge()
        arena.hits.clear()

    def add(self, kinds: Kinds, keys: Ints, components: Components, rows: Ints) -> None:
        """Add these of some rows, each to the group that the numbers beside it stand for."""
        numbers, at = np.ascontiguousarray(keys, np.int64), 0
        while at < len(rows):
            at = fold_rows(numbers, components, rows, kinds, self._groups.arrays, self._components, at)
            if at < len(rows):
                self.enlarge()

    def into(self, ends: Ints) -> Into:
        """As kernels want them."""
        return Into(ends, self._sources, self._groups.arrays, self._components, self._scratch)

    def make_room(self) -> None:
        """For one more group at least."""
        if len(self) == len(self._groups.arrays.rows):
            self.enlarge()

    def enlarge(self) -> None:
        """Room for twice as many groups."""
        self._groups.enlarge()
        size = len(self._groups.arrays.rows)
        self._components = grown_components(self._components, size)

    def keep(self, rows: Ints) -> None:
        """Only these groups."""
        if len(rows) == len(self):
            return
        if not len(rows):
            if len(self._components.cells) > MOST_UNUSED * len(self):
                self._begin()
            else:
                self._groups.clear()
            return
        held = self._components.cells[rows]
        self._groups.keep(rows)
        fresh = self.shape.components(len(self._groups.arrays.rows))
        fresh.cells[: len(rows)] = held
        self._components = fresh

    def reference(self, column: int) -> Reference:
        """The numbers of all groups in a column."""
        return self._groups.reference(column)

    def dump(self, name: str) -> dict[str, Ints]:
        """All groups, for a snapshot."""
        dumped = {f"{name}.cells": self.components.cells.reshape(-1)}
        return {**dumped, f"{name}.keys": self._groups.rows.reshape(-1), f"{name}.size": np.array([len(self)])}

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The groups of a snapshot."""
        numbers, width = check.array(sections, f"{name}.keys", np.int64), len(self._sources)
        size = check.array(sections, f"{name}.size", np.int64)
        check.holds(name, len(size) == 1 and len(numbers) == size[0] * width, "is of another length")
        check.in_range(name, size, 0, 2**31)
        self._groups.put(numbers.reshape(int(size[0]), width))
        self._components = self.shape.components(len(self._groups.arrays.rows))
        load_rows(sections, f"{name}.cells", self._components.cells, len(self))


@kernel
def fold_hits(hits: HitArrays, vectors: Vectors, into: Into, first: int) -> int:
    """Add hits to their groups, from one on; the first for which there is no room."""
    for h in range(first, hits.count[0]):
        if into.groups.count[0] == len(into.groups.rows):
            return h
        value, row = hits.value[h], hits.row[h]
        for j in range(len(into.sources)):
            source = into.sources[j]
            if source >= 0:
                into.scratch[j] = into.ends[source, row]
            else:
                into.scratch[j] = vectors.groups.rows[vectors.group[value], -1 - source]
        put(into.groups, into.scratch, vectors.kinds, into.totals, vectors.components, value)
    return int(hits.count[0])


@kernel
def fold_rows(
    keys: Array, components: Components, rows: Array, kinds: Kinds, groups: Groups, totals: Components, first: int
) -> int:
    """Add rows to their groups, from one on; the first for which there is no room."""
    for i in range(first, len(rows)):
        if groups.count[0] == len(groups.rows):
            return i
        put(groups, keys[i], kinds, totals, components, rows[i])
    return len(rows)


@inlined
def put(groups: Groups, key: Array, kinds: Kinds, totals: Components, components: Components, row: int) -> None:
    """Add a row to the group of a key."""
    before = groups.count[0]
    at = interned(groups, key, groups.rows.shape[1]) if len(key) > 0 else 0
    if at == before:
        groups.count[0] = before + 1  # which is so already, unless there is one group
        copy(totals, at, components, row)
    else:
        add(kinds, totals, at, components, row)
