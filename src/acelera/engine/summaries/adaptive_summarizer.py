"""WITHIN over a table: as listing does it while matches are few, by matrices once they are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.advance import EventArrays
from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.machine import Events
from acelera.engine.machines.reachable import Reachable
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import Reference
from acelera.engine.storage.snapshots import Section
from acelera.engine.summaries import contexts
from acelera.engine.summaries.flat_machines import SlidingMachine
from acelera.engine.summaries.grouping import Grouping
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.lazy_summarizer import LazySummarizer
from acelera.engine.summaries.totals import Totals
from acelera.engine.summaries.windows import Spans
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]

NODES_PER_EVENT, AT_FIRST = 12, 20_000
"""So many nodes may be looked at for each event, and so many more, before matrices are worth it."""

NO_STORED = np.zeros((0, 1), np.int64)

ROW, LETTER, KEY, TICK, FLOOR, KNOWN = range(6)


class AdaptiveSummarizer(LazySummarizer):
    """Partial matches are nodes, until too many of them are looked at. Then the events of the window are read again, as
    matrices, and all that come after them are.
    """

    def __init__(
        self,
        checked: Checked,
        strategy: Strategy,
        alphabet: Alphabet,
        layout: Layout,
        grouping: Grouping,
        spans: Spans | None,
        reachable: Reachable,
    ) -> None:
        super().__init__(checked, strategy, alphabet, layout, grouping, spans)
        self.matrices = SlidingMachine(strategy.plan, alphabet, layout, reachable.sets)
        self.by_matrices = False
        self._again = np.zeros((0, KNOWN), np.int64)  # of rows in the window
        self._chunks: list[Events] = []  # those that came since
        self._events = 0

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        if self.by_matrices:
            self._fold_by_matrices(events, keys, parts, ends)
            return
        first = self._rows.rows
        self._events += len(events)
        self._counters[contexts.BUDGET] = NODES_PER_EVENT * self._events + AT_FIRST
        self._rows.append(self._given(events, parts, NO_STORED))
        self._chunks.append(events)
        for _ in self.machine.read(events, keys):
            if not self._fold_hits(ends, first):
                done = int(self.arena.hits.arrays.row[self._counters[contexts.HIT] - 1])
                self._turn_to_matrices(first + done, keys)
                left = events.only(np.flatnonzero(events.rows > first + done))
                self._fold_by_matrices(left, keys, parts, ends, first)
                return

    def _settle(self, floors: Ints | None = None) -> None:
        """Keep what is known of events that change something, for the case that they are read again; not of those that
        lie before the floor of their key, if that is given.
        """
        found = [self._again]
        for events in self._chunks:
            letters = self.matrices.own_letters(events.letters)
            changing = self.matrices.changing()[letters]
            kept = np.flatnonzero(changing if floors is None else changing & (events.ticks >= floors[events.keys]))
            letters = letters[kept]
            columns = (events.rows[kept], letters, events.keys[kept], events.ticks[kept], events.floors[kept])
            found.append(np.column_stack(columns).astype(np.int64))
        self._again = np.concatenate(found)
        self._chunks.clear()

    def _turn_to_matrices(self, last: int, keys: int) -> None:
        """Read the events of the window again, up to a row."""
        self._settle()
        row, letter, key, tick, floor = np.ascontiguousarray(self._again[self._again[:, ROW] <= last].T)
        letters, keys_read, rows = (each.astype(np.int32) for each in (letter, key, row))
        arrays = EventArrays(letters, keys_read, rows, tick, floor)
        ends, given = np.zeros((len(self.grouping.ends), last + 1), np.int64), self._rows.given(NO_STORED)
        self.matrices.limit[0] = self.limit
        self.matrices.read_arrays(arrays, keys, self.kinds, given, self._nowhere(), ends)
        self.by_matrices = True
        self._begin()
        self._again, self._rows = self._again[:0], type(self._rows)(len(self.layout.columns), len(self.grouping.parts))

    def _nowhere(self) -> Totals:
        """Totals that nobody looks at: matches that have ended before were counted."""
        return Totals(self.layout.shape, list(self.grouping.sources))

    def _fold_by_matrices(self, events: Events, keys: int, parts: Ints, ends: Ints, first: int = 0) -> None:
        given = self._given(events, parts, NO_STORED)
        self.matrices.limit[0] = self.limit
        letters = self.matrices.own_letters(events.letters)
        rows = events.rows - np.int32(first)
        arrays = EventArrays(letters, events.keys.astype(np.int32, copy=False), rows, events.ticks, events.floors)
        self.matrices.read_arrays(arrays, keys, self.kinds, given, self.totals, ends)

    # --- memory ---------------------------------------------------------------------------------------------------

    @property
    def first_row(self) -> int:
        """The number of the row that comes next."""
        return 0 if self.by_matrices else self._rows.rows

    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""
        if self.by_matrices:
            self.matrices.compact(floor)
            return
        self._settle(self.machine.slots.floor)
        self.machine.compact(floor)
        keys = len(self.machine.slots.floor)
        busy = np.zeros(keys, np.bool_)
        busy[self.machine.busy_keys(keys)] = True
        key = self._again[:, KEY]
        oldest = np.maximum(self.machine.slots.floor[key], floor)
        self._again = self._again[busy[key] & (self._again[:, TICK] >= oldest)]
        used = np.zeros(self._rows.rows, np.bool_)
        used[self.arena.rows(len(self.machine.actions))] = used[self._again[:, ROW]] = True
        moved = np.cumsum(used) - 1
        self.arena.renumber_rows(len(self.machine.actions), moved)
        self._again[:, ROW] = moved[self._again[:, ROW]]
        self._rows.keep(np.flatnonzero(used))

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand, matrices included."""
        return [*super()._texts(), *(self.matrices.texts() if self.by_matrices else [])]

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""
        return self.matrices.busy_keys(keys) if self.by_matrices else super().busy_keys(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        if self.by_matrices:
            self.matrices.keep_keys(keys)
            return
        self._settle()
        super().keep_keys(keys)
        moved = np.full(1 + max(keys.max(initial=-1), self._again[:, KEY].max(initial=-1)), -1)
        moved[keys] = np.arange(len(keys))
        self._again[:, KEY] = moved[self._again[:, KEY]]
        self._again = self._again[self._again[:, KEY] >= 0]

    def dump(self) -> dict[str, Section]:
        """The rows that are read again, or the matrices, as well."""
        self._settle()
        matrices: dict[str, Section] = {f"matrices.{name}": part for name, part in self.matrices.dump().items()}
        state = np.array([self.by_matrices, self._events, self._counters[contexts.LOOKED_AT]], np.int64)
        return {**super().dump(), **matrices, "kept.known": self._again.reshape(-1), "adaptive": state}

    def load(self, sections: Mapping[str, Any], now: Any) -> None:
        """The rows that are read again, or the matrices, as well."""
        super().load(sections, now)
        prefix = "matrices."
        own = {name.removeprefix(prefix): part for name, part in sections.items() if name.startswith(prefix)}
        self.matrices.load(own)
        known = check.array(sections, "kept.known", np.int64)
        check.holds("kept.known", len(known) % KNOWN == 0, "is of another length")
        self._again = known.reshape(-1, KNOWN)
        check.in_range("kept.known", self._again[:, ROW], 0, max(self._rows.rows, 1))
        check.in_range("kept.known", self._again[:, KEY], 0, len(self.machine.slots.floor))
        check.in_range("kept.known", self._again[:, LETTER], 0, max(len(self.matrices.letters.holding), 1))
        state = check.array(sections, "adaptive", np.int64)
        check.holds("adaptive", len(state) == 3, "is of another length")
        check.in_range("adaptive", state[1:], 0, 2**50)
        self.by_matrices, self._events = bool(state[0]), int(state[1])
        self._counters[contexts.LOOKED_AT] = state[2]
