"""What summarizes by matrices, where windows are wide or overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events
from acelera.engine.machines.reachable import Reachable
from acelera.engine.nodes.components import Kinds
from acelera.engine.nodes.vector_arena import NO_RANKS
from acelera.engine.plan import Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage.renumbering import Reference
from acelera.engine.summaries.flat_machines import FlatMachine, PaneMachine, SlidingMachine
from acelera.engine.summaries.grouping import Grouping
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.summarizer import ByComponents, Groups
from acelera.engine.summaries.windows import Spans
from acelera.engine.ticks import FAR_PAST
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]

MOST_SETS = 16
"""With more sets of states, matrices cost more than following matches by where they start."""

NO_STORED = np.zeros((0, 1), np.int64)


class FlatSummarizer(ByComponents):
    """Events are matrices."""

    machine: FlatMachine

    def __init__(
        self,
        checked: Checked,
        plan: Plan,
        alphabet: Alphabet,
        layout: Layout,
        grouping: Grouping,
        spans: Spans | None,
        reachable: Reachable,
    ) -> None:
        super().__init__(checked, layout, grouping, spans)
        self._kinds = layout.shape.kinds(NO_RANKS)
        if spans is not None and spans.overlap:
            numbers, window_at = len(grouping.sources), grouping.window_at[0]
            self.machine = PaneMachine(plan, alphabet, layout, reachable.sets, spans, numbers, window_at)
        else:
            self.machine = SlidingMachine(plan, alphabet, layout, reachable.sets)

    @property
    def kinds(self) -> Kinds:
        """What kernels ask of components."""
        return self._with_ranks(self._kinds)

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        given = self._given(events, parts, NO_STORED)
        if isinstance(self.machine, SlidingMachine):
            self.machine.limit[0] = self.limit
        self.machine.read(events, keys, self.kinds, given, self.totals, ends)

    def complete(self, now: int | None) -> Groups | None:
        """The groups that no later event can add to, if none comes before a time; they are then forgotten."""
        if isinstance(self.machine, PaneMachine):
            until = self._until(self.machine, now)
            if until is not None:
                self.machine.close(self.kinds, self.totals, until)
        return super().complete(now)

    def _until(self, machine: PaneMachine, now: int | None) -> Ints | None:
        """For each key the pane that it has come to."""
        assert self.spans is not None
        groups = machine.keys
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
        if not isinstance(self.machine, PaneMachine) or self.spans is None or not self.spans.timed:
            return known
        ends = self.machine.next_ends * self.spans.pane - 1
        found = [int(ends.min())] if len(ends) else []
        return min([*found, *([] if known is None else [known])], default=None)

    def rest(self) -> Groups | None:
        """All groups, which are then forgotten."""
        if isinstance(self.machine, PaneMachine):
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
