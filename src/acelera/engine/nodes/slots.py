"""Where the partial matches of each key stand: slots, each a set of states, or of configurations, and a value.

The value is one of the algebra that the machine runs with (`algebras`): a node, or the newest start.

The slots of all keys lie in one pool. A key has a block of it that grows as the key needs more, so memory is the sum
over keys rather than the number of keys times the widest.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import AHEAD, Array, inlined, kernel, prefetch
from acelera.engine.nodes.algebras import newest_start
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

SMALLEST_POOL = 64


class SlotArrays(NamedTuple):
    """The pool: states and values; and for each key its block, how much of it is held, and the floor of its last event.

    `used` holds one number, how much of the pool has been given to blocks.
    """

    state: Array
    value: Array
    begin: Array
    room: Array
    count: Array
    floor: Array
    used: Array


@inlined
def ask_for_key(slots: SlotArrays, key: int) -> None:
    """Memory is asked for what is known of a key."""
    prefetch(slots.begin, key)
    prefetch(slots.count, key)
    prefetch(slots.room, key)
    prefetch(slots.floor, key)


@inlined
def ask_for_slots(slots: SlotArrays, key: int) -> None:
    """Memory is asked for the slots of a key."""
    prefetch(slots.state, slots.begin[key])
    prefetch(slots.value, slots.begin[key])


@inlined
def fits(slots: SlotArrays, key: int, size: int) -> bool:
    """Whether a key has room for so many slots, or could be given a new block of them."""
    return bool(size <= slots.room[key] or slots.used[0] + 2 * size <= len(slots.state))


@inlined
def give_block(slots: SlotArrays, key: int, size: int) -> None:
    """A new block of slots for a key, at the end of the pool, as large as the next power of two."""
    room = 1
    while room < size:
        room *= 2
    slots.begin[key], slots.room[key] = slots.used[0], room
    slots.used[0] += room


@kernel
def drop_expired(slots: SlotArrays, algebra: Array, floor: int) -> None:
    """Empty the slots that have left the window of their key, or start before the floor."""
    for key in range(len(slots.count)):
        ask_for_slots(slots, min(key + AHEAD, len(slots.count) - 1))
        first, held = slots.begin[key], slots.count[key]
        if held == 0:
            continue
        lowest, kept = max(slots.floor[key], floor), first
        for s in range(first, first + held):
            if newest_start(algebra, slots.value[np.uint64(s)]) >= lowest:
                slots.state[kept], slots.value[kept] = slots.state[s], slots.value[s]
                kept += 1
        slots.count[key] = kept - first


class Slots:
    """The slots of all keys; `kind` is the type of the algebra's values."""

    def __init__(self, kind: Any = np.int32) -> None:
        self.state, self.value = np.zeros(SMALLEST_POOL, np.int32), np.zeros(SMALLEST_POOL, kind)
        self.used = np.zeros(1, np.int64)
        self.begin = np.zeros(1, np.int64)
        self.room, self.count = np.zeros(1, np.int32), np.zeros(1, np.int32)
        self.floor = np.full(1, FAR_PAST)

    @classmethod
    def of(cls, count: Ints, value: Ints, floor: Ints) -> Slots:
        """Slots whose values are given key by key; their states do not matter."""
        slots = cls()
        slots._put(np.zeros_like(value), value, count, floor)
        return slots

    @property
    def arrays(self) -> SlotArrays:
        """As kernels want them."""
        return SlotArrays(self.state, self.value, self.begin, self.room, self.count, self.floor, self.used)

    @property
    def held(self) -> Ints:
        """Where in the pool there are slots that are held, key by key."""
        before = np.cumsum(self.count, dtype=np.int64) - self.count
        return np.repeat(self.begin - before, self.count) + np.arange(int(self.count.sum()))

    def of_key(self, key: int) -> tuple[Ints, Ints]:
        """The states and values of a key."""
        if key >= len(self.count):
            return self.state[:0], self.value[:0]
        block = slice(self.begin[key], self.begin[key] + self.count[key])
        return self.state[block], self.value[block]

    def busy(self, keys: int) -> Ints:
        """The keys, of so many, that hold something."""
        return np.flatnonzero(self.count[:keys])

    def put(self, state: Ints, value: Ints, size: int) -> None:
        """So many slots of one key, and no others."""
        self._put(state, value, np.array([size], np.int32), np.full(1, FAR_PAST))

    # --- room -----------------------------------------------------------------------------------------------------

    def make_room(self, keys: int) -> None:
        """For as many keys."""
        if keys > len(self.count):
            before, size = len(self.count), max(keys, 2 * len(self.count))
            self.begin, self.room, self.count = (grown(each, size) for each in (self.begin, self.room, self.count))
            self.floor = grown(self.floor, size)
            self.floor[before:] = FAR_PAST

    def make_space(self, needed: int) -> None:
        """For a key that needs so many slots: blocks are cut to what they hold, and the pool fits all of them twice.

        There is more of it where there are many keys, so that looking at all of them is rare.
        """
        room = np.where(self.count > 0, 1 << np.ceil(np.log2(np.maximum(self.count, 1))).astype(np.int32), 0)
        begin = np.cumsum(room, dtype=np.int64) - room
        used = int(room.sum())
        held, order = self.held, np.repeat(begin - np.cumsum(self.count) + self.count, self.count)
        places = order + np.arange(len(held))
        pool = max(SMALLEST_POOL, 2 * used + 4 * needed, len(room) // 2)
        state, value = np.zeros(pool, np.int32), np.zeros(pool, self.value.dtype)
        state[places], value[places] = self.state[held], self.value[held]
        self.state, self.value, self.begin, self.room = state, value, begin, room.astype(np.int32)
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
            "slot_value": self.value[held],
            "slot_count": self.count,
            "slot_floor": self.floor,
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """The slots of a snapshot."""
        state = check.array(sections, "slot_state", np.int32)
        value = check.array(sections, "slot_value", self.value.dtype.type)
        count, floor = check.array(sections, "slot_count", np.int32), check.array(sections, "slot_floor", np.int64)
        check.same_length(slot_count=count, slot_floor=floor)
        check.in_range("slot_count", count, 0, len(state) + 1)
        check.holds("slot_count", int(count.sum(dtype=np.int64)) == len(state) == len(value), "counts other slots")
        self._put(state, value, count, floor)

    def check(self, states: int) -> None:
        """Whether slots refer to so many states."""
        check.in_range("slot_state", self.state[self.held], 0, states)

    def _put(self, state: Ints, value: Ints, count: Ints, floor: Ints) -> None:
        self.state, self.value, self.count, self.floor = state, value, count, floor
        self.room, self.begin = count.copy(), np.cumsum(count, dtype=np.int64) - count
        self.used[0] = len(state)
