"""What summarizes where partial matches must be told apart by where they start: nodes, looked at where matches end.

It runs as listing does, and looks at each node below an end once. So it is about as quick as listing where matches are
few, and the work for an event grows at most with what is in the window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import announce
from acelera.engine.machines.machine import Events
from acelera.engine.machines.register_machine import RegisterMachine
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.components import PLACE, Kinds
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.vector_arena import NO_RANKS, Interned, flat_operations, grown_components, load_rows
from acelera.engine.nodes.vectors import Given
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown, wasteful, widened
from acelera.engine.storage.renumbering import Reference, in_column
from acelera.engine.storage.snapshots import Section
from acelera.engine.summaries import contexts
from acelera.engine.summaries.component_summarizer import ByComponents
from acelera.engine.summaries.contexts import Contexts
from acelera.engine.summaries.recipes import TEXT
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.summaries.totals import Totals
from acelera.engine.summaries.transfers import Algebra

Ints = npt.NDArray[Any]


class Remembered:
    """What operations read of events, and parts of groups, for all rows that nodes refer to.

    If they read nothing, nothing is kept, and nobody looks at the numbers of rows.
    """

    def __init__(self, columns: int, parts: int, places: bool) -> None:
        self.needed = bool(columns or parts or places)
        self._whole = np.zeros((columns, 0), np.int64)
        self._missing = np.zeros((columns, 0), np.bool_)
        self._parts = np.zeros((parts, 0), np.int64)
        self._positions = np.zeros(0, np.int64)
        self.rows = self._kept = 0

    def append(self, given: Given) -> None:
        """More rows, after those that are there."""
        if not self.needed:
            return
        before, self.rows = self.rows, self.rows + len(given.positions)
        if self.rows > len(self._positions):
            size = max(self.rows, 2 * len(self._positions))
            self._whole, self._missing, self._parts = (
                widened(each, size) for each in (self._whole, self._missing, self._parts)
            )
            self._positions = grown(self._positions, size)
        added = slice(before, self.rows)
        self._whole[:, added], self._missing[:, added] = given.whole, given.missing
        self._parts[:, added], self._positions[added] = given.parts, given.positions

    def given(self, stored: Ints) -> Given:
        """As kernels want it."""
        real, stored_real = self._whole.view(np.float64), stored.view(np.float64)
        return Given(self._whole, real, self._missing, self._parts, self._positions, stored, stored_real)

    @property
    def wasteful(self) -> bool:
        """Whether it is time to see which rows are still needed."""
        return wasteful(self.rows, self._kept)

    def keep(self, rows: Ints) -> None:
        """Only these rows, which are in order."""
        for each in (self._whole, self._missing, self._parts):
            each[:, : len(rows)] = each[:, rows]
        self._positions[: len(rows)] = self._positions[rows]
        self.rows = self._kept = len(rows)

    def part_reference(self, part: int) -> Reference:
        """The numbers of a part of groups."""
        return in_column(self._parts.T, np.arange(self.rows), part)

    def column_reference(self, column: int) -> Reference:
        """The numbers in a column that operations read, where there are any."""
        return in_column(self._whole.T, np.flatnonzero(~self._missing[column, : self.rows]), column)

    def dump(self) -> dict[str, Ints]:
        """All rows, for a snapshot."""
        arrays = {"whole": self._whole, "missing": self._missing, "parts": self._parts}
        found = {
            f"kept.{name}": np.ascontiguousarray(each[:, : self.rows].T).reshape(-1) for name, each in arrays.items()
        }
        return {**found, "kept.positions": self._positions[: self.rows]}

    def load(self, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        self._positions = check.array(sections, "kept.positions", np.int64)
        rows = self.rows = len(self._positions)
        for name in ("whole", "missing", "parts"):
            empty = getattr(self, f"_{name}")
            held = np.zeros((rows, len(empty)), empty.dtype)
            load_rows(sections, f"kept.{name}", held, rows)
            setattr(self, f"_{name}", np.ascontiguousarray(held.T))


class LazySummarizer(ByComponents):
    """Partial matches are nodes."""

    machine: TableMachine | RegisterMachine

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        announce(contexts.fold_nodes)
        super().__init__(how)
        layout, grouping = self.layout, self.grouping
        listed, actions = how.operations(), how.plan.actions
        idle = [not listed[number] and not listed[len(actions) + number] for number in range(len(actions))]
        unseen = frozenset(action for action, nothing in zip(actions, idle, strict=True) if nothing)
        self._strategy, self._alphabet, self._unseen = how.strategy, alphabet, unseen
        self._begin()
        self._kinds = layout.shape.kinds(NO_RANKS)
        self._operations = flat_operations(listed)
        self._begin_part = np.array(grouping.begin_part(), np.int64)
        self._later = np.array([bool((self._begin_part < 0).any())])
        _, self._closings = flat_operations([layout.closings])
        self._rows = Remembered(len(layout.columns), len(grouping.parts), PLACE in layout.shape.best)
        self._groups_of_contexts = Interned(max(len(grouping.parts), 1))
        self._components = layout.shape.components(1 << 10)
        self._links = np.zeros((2, 1 << 10), np.int64)
        self._seen, self._first = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._order, self._stack = np.zeros(1 << 10, np.int64), np.zeros(1 << 10, np.int64)
        self._counters = np.zeros(contexts.COUNTERS, np.int64)
        self._scratch, self._used = np.zeros(max(len(grouping.parts), 1), np.int64), np.zeros(1, np.int64)

    def _begin(self) -> None:
        """Begin without partial matches."""
        self.arena = Arena()
        self.machine = self._strategy.machine_with(self._alphabet, self.arena, self._unseen)

    @property
    def kinds(self) -> Kinds:
        """What kernels ask of components."""
        return self._with_ranks(self._kinds)

    @property
    def first_row(self) -> int:
        """The number of the row that comes next."""
        return self._rows.rows

    def partial_matches(self, keys: int) -> int:
        """How many partial matches are held; those of a key that can go on in the same ways are one."""
        return len(self.machine.open_matches()[0])

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        first = self._rows.rows
        self._rows.append(self._given(events, parts, np.zeros((0, 1), np.int64)))
        for _ in self.machine.read(events, keys):
            self._fold_hits(ends, first)

    def _fold_hits(self, ends: Ints, first: int) -> None:
        """Fold the hits, of which rows from one on are those that are read."""
        hits = self.arena.hits
        hits.arrays.row[: len(hits)] -= first
        self._fold_nodes(hits, self.totals, ends)
        hits.clear()

    def _fold_nodes(self, hits: Hits, totals: Totals, ends: Ints) -> None:
        """Add all that nodes stand for to totals; hits of one row are looked at together."""
        self._counters[contexts.HIT] = 0
        algebra = Algebra(self.kinds, *self._operations)
        stored = self.machine.tables.stored if isinstance(self.machine, RegisterMachine) else np.zeros((0, 1), np.int64)
        given = self._rows.given(stored)
        while True:
            if len(self._seen) < len(self.arena.arrays.mark):
                size = len(self.arena.arrays.mark)
                self._seen, self._first = grown(self._seen, size), grown(self._first, size)
            reason = contexts.fold_nodes(
                hits.arrays, self.arena.arrays, algebra, given, self._contexts(), totals.into(ends), self._counters
            )
            if reason == contexts.DONE:
                return
            self._enlarge(reason, totals)

    def _contexts(self) -> Contexts:
        return Contexts(
            self._seen,
            self._first,
            self._order,
            self._stack,
            self._components,
            self._links[0],
            self._links[1],
            self._used,
            self._groups_of_contexts.arrays,
            self._begin_part,
            np.array([self.limit]),
            self._scratch,
            self._closings,
            self._later,
        )

    def _enlarge(self, reason: int, totals: Totals) -> None:
        """More room for what there was none for."""
        if reason == contexts.NODES:
            self._order, self._stack = (
                grown(self._order, 2 * len(self._order)),
                grown(self._stack, 2 * len(self._stack)),
            )
        elif reason == contexts.TOTALS:
            totals.enlarge()
        else:
            size = 2 * self._links.shape[1]
            self._components = grown_components(self._components, size)
            self._links = widened(self._links, size)
            self._groups_of_contexts = Interned(max(len(self.grouping.parts), 1), size)

    # --- memory ---------------------------------------------------------------------------------------------------

    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""
        super().compact(floor)
        if self._rows.needed:
            self._rows.keep(self.arena.keep_rows(len(self.machine.actions)))

    @property
    def wasteful(self) -> bool:
        """Whether it is time to forget what can no longer match, or what nothing refers to."""
        return self._rows.wasteful or super().wasteful

    def _references(self, source: int) -> list[Reference]:
        """Where numbers from a source stand, rows that nodes refer to included."""
        found = super()._references(source)
        return [*found, self._rows.part_reference(-1 - source)] if source < 0 else found

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand, rows that nodes refer to included."""
        columns = [number for number, given in enumerate(self.layout.columns) if given.form == TEXT]
        return [*super()._texts(), *(self._rows.column_reference(number) for number in columns)]

    def dump(self) -> dict[str, Section]:
        """The rows as well."""
        return {**super().dump(), **self._rows.dump()}

    def load(self, sections: Mapping[str, Any], now: Any) -> None:
        """The rows as well."""
        self._rows.load(sections)
        super().load(sections, now)
        if self._rows.needed:
            check.in_range("right", self.arena.rows(len(self.machine.actions)), 0, self._rows.rows)
