"""WITHIN over a table: as listing does it while matches are few, by matrices once they are many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.vectors import Given
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import Reference
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.engine.summaries import contexts
from acelera.engine.summaries.flat_machines import SlidingMachine
from acelera.engine.summaries.lazy_summarizer import LazySummarizer
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.summaries.totals import Totals

Ints = npt.NDArray[Any]

NODES_PER_EVENT, AT_FIRST = 12, 20_000
"""So many nodes may be looked at for each event, and so many more, before matrices are worth it."""
FIRST_HITS, MOST_HITS = 1 << 8, 1 << 12
"""After so many hits at first, and so many at most, it is seen whether they are worth it."""

NO_STORED = np.zeros((0, 1), np.int64)


class AdaptiveSummarizer(LazySummarizer):
    """Partial matches are nodes, until too many of them are looked at. Then what they stand for, by where they start,
    is the front of a window whose events are matrices from there on.
    """

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        self._how, self._events = how, 0
        self.matrices: SlidingMachine | None = None
        super().__init__(how, alphabet)

    def _begin(self) -> None:
        super()._begin()
        self.arena.hits = Hits(FIRST_HITS, self.arena.value_type)

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        first, given = self._rows.rows, self._given(events, parts, NO_STORED)
        if self.matrices is not None:
            self._fold_by_matrices(self.matrices, events, keys, given, ends)
            return
        self._rows.append(given)
        for _ in self.machine.read(events, keys):
            self._fold_hits(ends, first)
            read = self.machine.next_event
            if self._counters[contexts.LOOKED_AT] > NODES_PER_EVENT * (self._events + read) + AT_FIRST:
                self.matrices = self._turned_to_matrices(keys)
                left = events.only(np.arange(read, len(events)))
                self._fold_by_matrices(self.matrices, left, keys, given, ends, first)
                return
            if len(self.arena.hits.arrays.row) < MOST_HITS:
                self.arena.hits.make_room()
        self._events += len(events)

    def _fold_by_matrices(
        self, matrices: SlidingMachine, events: Events, keys: int, given: Given, ends: Ints, first: int = 0
    ) -> None:
        matrices.limit[0] = self.limit
        matrices.read(events, keys, self.kinds, given, self.totals, ends, first)

    def _turned_to_matrices(self, keys: int) -> SlidingMachine:
        """What the slots of all keys stand for becomes the front of their windows."""
        assert isinstance(self.machine, TableMachine)
        slots, table = self.machine.slots, self.machine.table
        held, key = slots.held, np.repeat(np.arange(len(slots.count)), slots.count)
        hits = Hits(max(len(held), 1), self.arena.value_type)
        hits.put(slots.value[held], np.arange(len(held)), slots.floor[key])
        found = Totals(self.layout.shape, [0, contexts.START])
        self._fold_nodes(hits, found, np.arange(len(held))[None, :])
        matrices = SlidingMachine(self._how, self._alphabet)
        numbers = np.array([matrices.table.set_number(states) for states in table.sets], np.int64)
        slot, start = found.keys[:, 0], found.keys[:, 1]
        sets = numbers[slots.state[held][slot]]
        matrices.begin_with(self.kinds, keys, key[slot], start, sets, found.components)
        self._begin()
        self._rows.keep(np.arange(0))
        return matrices

    # --- memory ---------------------------------------------------------------------------------------------------

    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""
        if self.matrices is None:
            super().compact(floor)
        else:
            self.matrices.compact(floor)

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand, matrices included."""
        return [*super()._texts(), *([] if self.matrices is None else self.matrices.texts())]

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""
        return super().busy_keys(keys) if self.matrices is None else self.matrices.busy_keys(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        if self.matrices is None:
            super().keep_keys(keys)
        else:
            self.matrices.keep_keys(keys)

    def dump(self) -> dict[str, Section]:
        """The matrices as well."""
        matrices = {} if self.matrices is None else with_prefix("matrices.", self.matrices.dump())
        state = np.array([self.matrices is not None, self._events, self._counters[contexts.LOOKED_AT]], np.int64)
        return {**super().dump(), **matrices, "adaptive": state}

    def load(self, sections: Mapping[str, Any], now: Any) -> None:
        """The matrices as well."""
        super().load(sections, now)
        state = check.array(sections, "adaptive", np.int64)
        check.holds("adaptive", len(state) == 3, "is of another length")
        check.in_range("adaptive", state[1:], 0, 2**50)
        self._events, self._counters[contexts.LOOKED_AT] = int(state[1]), state[2]
        if state[0]:
            self.matrices = SlidingMachine(self._how, self._alphabet)
            self.matrices.load(without_prefix("matrices.", sections))
