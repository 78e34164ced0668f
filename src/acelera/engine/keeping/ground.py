"""What KEEP knows of a running query: its nodes, how far it has come, and what can still go on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.keeping.order_of_matches import Order
from acelera.engine.keeping.sweeps import NEVER
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.held import Held
from acelera.engine.nodes.unions import Nodes
from acelera.engine.results.seen import aggregated_actions
from acelera.engine.session.incoming import Incoming
from acelera.engine.session.matcher import Matcher
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]


class Ground:
    """The running query. A tick of it is another one for each event of a key, so that starts are told by ticks.

    Matches are `traced` if it shows which of those with one start and one end is kept.
    """

    def __init__(self, checked: Checked, incoming: Incoming, matcher: Matcher, waiting: Sequence[Held] = ()) -> None:
        self._incoming, self._matcher, self._waiting = incoming, matcher, waiting
        self.order = Order(checked, matcher.plan, matcher.machine)
        self.traced = matcher.chooses
        self.as_tree = bool(aggregated_actions(checked, matcher.plan))
        self._room = np.empty(0, np.int32)

    @property
    def arena(self) -> Arena:
        """The nodes, and what is noted of them."""
        return self._matcher.machine.arena

    @property
    def nodes(self) -> Nodes:
        """The arrays of the nodes."""
        return self.arena.arrays

    @property
    def capacity(self) -> int:
        """How many nodes there may be."""
        return len(self.nodes.mark)

    @property
    def windowed(self) -> bool:
        """Whether WITHIN bounds matches."""
        return self._matcher.window.width is not None

    @property
    def events(self) -> int:
        """How many events were read."""
        return self._incoming.events

    def ticks(self, rows: Ints) -> Ints:
        """The ticks of rows."""
        store = self._matcher.store
        return store.places[rows] + 1 if self._incoming.by_moment else store.frame().positions[rows]

    # --- room -----------------------------------------------------------------------------------------------------

    def room(self) -> Ints:
        """Room for a number of each node, whatever is in it."""
        if len(self._room) < self.capacity:
            self._room = np.empty(self.capacity, np.int32)
        return self._room

    def note(self, name: str) -> Ints:
        """What is noted of each node as a number; NEVER where nothing was."""
        known = self.arena.notes.get(name, np.empty(0, np.int64))
        if len(known) < self.capacity:
            known = np.concatenate((known, np.full(self.capacity - len(known), NEVER)))
            self.arena.notes[name] = known
        return known

    # --- what can go on ---------------------------------------------------------------------------------------------

    def open_matches(self, now: int | None) -> tuple[Ints, Ints, Ints]:
        """What may still become matches, if no event comes any more before a time: node, floor and partition of each.

        That are partial matches, and hits that wait in stages before.
        """
        values, floors, keys = self._matcher.machine.open_matches()
        floor = self._matcher.floor
        if now is not None:
            floor = max(floor, self._incoming.floor_at(now))
        found = [(values, np.maximum(floors, floor), self._incoming.partitions.of_keys(keys))]
        found += [(each.hits.value, each.hits.floor, each.hits.partition) for each in self._waiting]
        values, floors, partitions = (np.concatenate(each) for each in zip(*found, strict=True))
        return values, floors, partitions

    def time_of(self, row: int) -> int | None:
        """The time of a row, if the window is one in time."""
        return int(self._matcher.store.ticks[row]) if self._matcher.window.timed else None

    def over_at(self, nodes: Ints) -> int | None:
        """When the first of some matches leaves the window, given where they begin; None if time tells nothing."""
        window, store = self._matcher.window, self._matcher.store
        if not window.timed or window.width is None or not len(nodes):
            return None
        return int(store.ticks[self.nodes.right[nodes]].min()) + window.width + 1
