"""What summarizes by matrices, where windows overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events
from acelera.engine.nodes.components import Kinds
from acelera.engine.nodes.vector_arena import NO_RANKS
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage.renumbering import Reference
from acelera.engine.summaries.component_summarizer import ByComponents
from acelera.engine.summaries.flat_machines import PaneMachine
from acelera.engine.summaries.summarizer import Groups
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

MOST_SETS = 16
"""With more sets of states, matrices cost more than following matches by where they start."""

NO_STORED = np.zeros((0, 1), np.int64)


class FlatSummarizer(ByComponents):
    """Events are matrices."""

    machine: PaneMachine

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        super().__init__(how)
        self._kinds = self.layout.shape.kinds(NO_RANKS)
        self.machine = PaneMachine(how, alphabet)

    @property
    def kinds(self) -> Kinds:
        """What kernels ask of components."""
        return self._with_ranks(self._kinds)

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        given = self._given(events, parts, NO_STORED)
        self.machine.read(events, keys, self.kinds, given, self.totals, ends)

    def complete(self, now: int | None) -> Groups | None:
        """The groups that no later event can add to, if none comes before a time; they are then forgotten."""
        until = self._until(now)
        if until is not None:
            self.machine.close(self.kinds, self.totals, until)
        return super().complete(now)

    def _until(self, now: int | None) -> Ints | None:
        """For each key the pane that it has come to."""
        assert self.spans is not None
        groups = self.machine.keys
        if self.spans.timed:
            return None if now is None else np.full(len(groups), self.spans.panes(np.array([now]))[0])
        if not self._apart:
            return None
        at = self._partition_at
        partition = groups[:, at] if at is not None else np.zeros(len(groups), np.int64)
        last = self._last_position[np.minimum(partition, len(self._last_position) - 1)]
        found: Ints = last // self.spans.pane
        return found

    def due(self) -> int | None:
        """The least time that is the last of a group: it is complete when nothing comes up to then any more."""
        known = super().due()
        if self.spans is None or not self.spans.timed:
            return known
        ends = self.machine.next_ends * self.spans.pane - 1
        found = [int(ends.min())] if len(ends) else []
        return min([*found, *([] if known is None else [known])], default=None)

    def rest(self) -> Groups | None:
        """All groups, which are then forgotten."""
        self.machine.close(self.kinds, self.totals, np.full(len(self.machine.keys), -(FAR_PAST // 2)))
        return super().rest()

    # --- memory ---------------------------------------------------------------------------------------------------

    def _references(self, source: int) -> list[Reference]:
        """Where numbers from a source stand, the groups of panes included."""
        found = super()._references(source)
        if isinstance(self.machine, PaneMachine):
            found += [self.machine.reference(at) for at, each in enumerate(self.grouping.sources) if each == source]
        return found

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand, matrices included."""
        return [*super()._texts(), *self.machine.texts()]
