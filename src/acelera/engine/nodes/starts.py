"""The newest start: all that is kept of partial matches if nobody asks for more than when the newest of them began."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes.algebras import Starts
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.plain_slots import PlainSlots
from acelera.engine.nodes.slots import Slots, drop_expired

Ints = npt.NDArray[Any]

FEW_EVENTS, MOST_HITS = 1 << 8, 1 << 20
"""How many events should fit at least, as long as there is not room for so many hits."""


class NewestStarts(PlainSlots):
    """Starts stand in the slots; nothing else is kept."""

    value_type = np.int64

    def __init__(self, hits: int = 1 << 14) -> None:
        self.arrays = Starts(np.zeros(1, np.int64))
        self.hits = Hits(hits, self.value_type)

    def take_hits(self) -> tuple[Ints, Ints]:
        """The rows at which matches end, and the newest start of those that end there; afterwards there are no hits."""
        starts, rows, hits = self.hits.arrays.value, self.hits.arrays.row, len(self.hits)
        self.hits.clear()
        return rows[:hits].copy(), starts[:hits].copy()

    def collect(self, slots: Slots, floor: int) -> None:
        """Empty the slots that have left the window."""
        drop_expired(slots.arrays, self.arrays, floor)

    def relieve(self, read: int) -> bool:
        """Make more room for hits if what there was was taken by few events."""
        cramped = read < FEW_EVENTS and len(self.hits.arrays.row) < MOST_HITS
        if cramped:
            self.hits.make_room()
        return cramped

    def enlarge(self) -> None:
        """There is always room."""

    def dump(self) -> dict[str, Ints]:
        """Nothing but the slots is to be stored."""
        return {}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Nothing but the slots was stored."""

    def check(self, slots: Slots, actions: int, stored: int) -> None:
        """Any number may be a start."""
