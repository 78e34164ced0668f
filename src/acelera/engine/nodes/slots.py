"""Where the partial matches of each key stand: slots, each a set of states, or of configurations, and a node.

The slots of all keys lie in one pool. A key has a block of it that grows as the key needs more, so memory is the sum
over keys rather than the number of keys times the widest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes import kernels
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown

Ints = npt.NDArray[Any]

SMALLEST_POOL = 64


class Slots:
    """For each key where its block begins, how many slots it has room for, how many it holds, and its floor.

    The floor is that of the last event of the key. `used` is how much of the pool has been given to blocks, as an
    array of one number that kernels count up.
    """

    def __init__(self) -> None:
        self.state, self.node = np.zeros(SMALLEST_POOL, np.int32), np.zeros(SMALLEST_POOL, np.int32)
        self.used = np.zeros(1, np.int64)
        self.begin = np.zeros(1, np.int64)
        self.room, self.count = np.zeros(1, np.int32), np.zeros(1, np.int32)
        self.floor = np.full(1, kernels.FAR_PAST)
        self.targets = np.zeros(SMALLEST_POOL, np.int32)  # where a kernel writes what it reaches

    @classmethod
    def of(cls, count: Ints, node: Ints, floor: Ints) -> Slots:
        """Slots whose nodes are given key by key; their states do not matter."""
        slots = cls()
        slots._put(np.zeros_like(node), node, count, floor)
        return slots

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints, Ints, Ints]:
        """As kernels want them."""
        return self.state, self.node, self.begin, self.room, self.count, self.floor, self.used, self.targets

    @property
    def held(self) -> Ints:
        """Where in the pool there are slots that are held, key by key."""
        before = np.cumsum(self.count, dtype=np.int64) - self.count
        return np.repeat(self.begin - before, self.count) + np.arange(int(self.count.sum()))

    def of_key(self, key: int) -> tuple[Ints, Ints]:
        """The states and nodes of a key."""
        if key >= len(self.count):
            return self.state[:0], self.node[:0]
        block = slice(self.begin[key], self.begin[key] + self.count[key])
        return self.state[block], self.node[block]

    def busy(self, keys: int) -> Ints:
        """The keys, of so many, that hold something."""
        return np.flatnonzero(self.count[:keys])

    # --- room -----------------------------------------------------------------------------------------------------

    def make_room(self, keys: int) -> None:
        """For as many keys."""
        if keys > len(self.count):
            before, size = len(self.count), max(keys, 2 * len(self.count))
            self.begin, self.room, self.count = (grown(each, size) for each in (self.begin, self.room, self.count))
            self.floor = grown(self.floor, size)
            self.floor[before:] = kernels.FAR_PAST

    def make_space(self, needed: int) -> None:
        """For a key that needs so many slots: blocks are cut to what they hold, and the pool fits all of them twice.

        There is more of it where there are many keys, so that looking at all of them is rare.
        """
        if needed > len(self.targets):
            self.targets = np.zeros(2 * needed, np.int32)
        room = np.where(self.count > 0, 1 << np.ceil(np.log2(np.maximum(self.count, 1))).astype(np.int32), 0)
        begin = np.cumsum(room, dtype=np.int64) - room
        used = int(room.sum())
        held, order = self.held, np.repeat(begin - np.cumsum(self.count) + self.count, self.count)
        places = order + np.arange(len(held))
        pool = max(SMALLEST_POOL, 2 * used + 4 * needed, len(room) // 2)
        state, node = np.zeros(pool, np.int32), np.zeros(pool, np.int32)
        state[places], node[places] = self.state[held], self.node[held]
        self.state, self.node, self.begin, self.room = state, node, begin, room.astype(np.int32)
        self.used[0] = used

    def keep(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        self.begin, self.room, self.count = self.begin[keys], self.room[keys], self.count[keys]
        self.floor = self.floor[keys]
        self.make_space(0)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Ints]:
        """All slots, for a snapshot, key by key."""
        held = self.held
        return {
            "slot_state": self.state[held],
            "slot_node": self.node[held],
            "slot_count": self.count,
            "slot_floor": self.floor,
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """The slots of a snapshot."""
        state, node = check.array(sections, "slot_state", np.int32), check.array(sections, "slot_node", np.int32)
        count, floor = check.array(sections, "slot_count", np.int32), check.array(sections, "slot_floor", np.int64)
        check.same_length(slot_count=count, slot_floor=floor)
        check.in_range("slot_count", count, 0, len(state) + 1)
        check.holds("slot_count", int(count.sum(dtype=np.int64)) == len(state) == len(node), "counts other slots")
        self._put(state, node, count, floor)

    def check(self, states: int, nodes: int) -> None:
        """Whether slots refer to so many states and nodes."""
        held = self.held
        check.in_range("slot_state", self.state[held], 0, states)
        check.in_range("slot_node", self.node[held], 0, nodes)

    def _put(self, state: Ints, node: Ints, count: Ints, floor: Ints) -> None:
        self.state, self.node, self.count, self.floor = state, node, count, floor
        self.room, self.begin = count.copy(), np.cumsum(count, dtype=np.int64) - count
        self.used[0] = len(state)
