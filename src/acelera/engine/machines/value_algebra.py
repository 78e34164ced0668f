"""What partial matches carry where they are followed value by value: as in `nodes.algebras`, but one at a time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.slots import Slots
from acelera.engine.nodes.unions import BOTTOM
from acelera.engine.plan import Action, Plan, stored_fields
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Json, Section, decode, encode
from acelera.errors import AggregateError
from acelera.language.aggregates import Failure
from acelera.language.events import Event, Value
from acelera.tables import leaves

Ints = npt.NDArray[Any]

Values = list[list[Any]]
"""What the partial matches of each key carry."""


class ValueAlgebra(Protocol):
    """What partial matches carry; whatever it is, it is never changed."""

    def begin(self, row: int, tick: int) -> Any:
        """That of a match that begins with an event."""

    def extend(self, value: Any, action: int, stored: tuple[Value, ...], event: Event, row: int) -> Any:
        """That of matches after an event, for which an action has stored values."""

    def union(self, left: Any, right: Any, floor: int) -> Any:
        """That of the matches of both; those that start before the floor may be missing."""

    def newest_start(self, value: Any) -> int:
        """The tick at which the newest of its matches starts."""

    def apart(self, value: Any) -> Hashable:
        """Where this is different, matches are followed apart."""

    def end(self, value: Any, row: int, floor: int) -> None:
        """Its matches end at a row."""

    @property
    def full(self) -> bool:
        """Whether matches that have ended should be taken, and the rest collected."""

    def collect(self, values: Values, floors: list[int], floor: int) -> Values:
        """Forget all but these; where they are now. No match that has ended must be waiting."""

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold beside values."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""

    def coded(self, value: Any) -> Json:
        """A value, for a snapshot."""

    def read(self, coded: Json) -> Any:
        """A value of a snapshot."""

    def check(self, values: Values, floors: list[int]) -> None:
        """Whether values that were loaded refer to something that is there."""


class Enumeration:
    """Partial matches as nodes, to be listed; what actions store is referred to by its number."""

    def __init__(self, plan: Plan, actions: Sequence[Action]) -> None:
        self.plan, self.arena, self.actions = plan, Arena(), actions
        self.stored: list[tuple[Value, ...]] = []
        self._limit = 1 << 15

    def begin(self, row: int, tick: int) -> int:
        """A node without marks."""
        return self.arena.add(BOTTOM, -1, row, tick)

    def extend(self, value: int, action: int, stored: tuple[Value, ...], event: Event, row: int) -> int:
        """A node for the mark, and one for what is stored with it."""
        newest = int(self.arena.arrays.newest[value])
        node = self.arena.add(action, value, row, newest)
        if stored:
            self.stored.append(stored)
            node = self.arena.add(len(self.actions) + action, node, len(self.stored) - 1, newest)
        return node

    def union(self, left: int, right: int, floor: int) -> int:
        """A node for both."""
        return self.arena.union(left, right, floor)

    def newest_start(self, value: int) -> int:
        """That of the node."""
        return int(self.arena.arrays.newest[value])

    def apart(self, value: int) -> Hashable:
        """All are followed together."""
        return ()

    def end(self, value: int, row: int, floor: int) -> None:
        """A hit, to be listed."""
        self.arena.hits.add(value, row, floor)

    @property
    def full(self) -> bool:
        """Whether there are many nodes."""
        return self.arena.size > self._limit

    # --- stored values --------------------------------------------------------------------------------------------

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values."""
        values = [self.stored[index][place] for index in at.tolist()]
        for value in values:
            if isinstance(value, Failure):
                raise AggregateError(value.message)
        _, name = stored_fields(self.actions[action], self.plan)[place]
        return leaves(values, kind, name)

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, values: Values, floors: list[int], floor: int) -> Values:
        """Forget nodes that none of these stands on, and what only they have stored."""
        slots = _slots(values, floors)
        self.arena.collect(slots, floor)
        used, moved = self.arena.stored(len(self.actions)), np.zeros(len(self.stored), np.int64)
        moved[used] = np.arange(len(used))
        self.stored = [self.stored[index] for index in used.tolist()]
        self.arena.move_stored(len(self.actions), moved)
        self._limit = max(1 << 15, 2 * self.arena.size)
        return [slots.of_key(key)[1].tolist() for key in range(len(values))]

    def dump(self) -> dict[str, Section]:
        """Nodes and stored values."""
        stored: Section = [encode(values) for values in self.stored]
        return {**self.arena.dump(), "stored": stored}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.arena.load(sections)
        self.stored = [decode(values) for values in sections["stored"]]
        check.holds(
            "stored", all(isinstance(values, tuple) for values in self.stored), "has something that is no tuple"
        )

    def coded(self, value: int) -> Json:
        """The number of the node."""
        return value

    def read(self, coded: Json) -> int:
        """The number of a node, if there is one."""
        check.whole("runs", coded)
        check.in_range("runs", np.array([coded], np.int64), 0, self.arena.size)
        return int(coded)

    def check(self, values: Values, floors: list[int]) -> None:
        """Whether nodes refer to something that is there."""
        self.arena.check(_slots(values, floors), len(self.actions), len(self.stored))


def _slots(values: Values, floors: list[int]) -> Slots:
    nodes = np.array([node for several in values for node in several], np.int32)
    return Slots.of(np.array([len(several) for several in values], np.int32), nodes, np.array(floors, np.int64))
