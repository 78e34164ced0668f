"""What runs a plan over events.

A machine reads the events of a frame and leaves hits. It yields whenever the hits must be taken before it can go on,
and at the end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.jit import announce
from acelera.engine.machines import advance as kernel
from acelera.engine.machines.advance import EventArrays, Reached, advance
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.hits import Hits
from acelera.engine.nodes.slots import Slots
from acelera.engine.plan import Action
from acelera.engine.storage.growing import grown
from acelera.engine.storage.snapshots import Section
from acelera.engine.ticks import FAR_PAST
from acelera.errors import AggregateError
from acelera.language.aggregates import OVERFLOW
from acelera.language.events import Value

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Events:
    """The events of a frame as machines see them.

    For each: its letter, the key whose runs read it, its row in the store, its tick (where it stands in the unit of
    the window), and its floor, the oldest tick at which a match that it ends may start. `within` are their indices in
    the frame. `moments` and `moment_floors` are like ticks and floors, but no two events of a key have one moment.
    """

    letters: Ints
    keys: Ints
    rows: Ints
    ticks: Ints
    floors: Ints
    within: Ints
    moments: Ints
    moment_floors: Ints
    frame: Frame
    latest: Ints  # for each guard and event, the moment at which the newest of the guard's matches starts; 0 if none
    ruled_out: Ints  # whether a guard has just matched

    def __len__(self) -> int:
        return len(self.letters)

    def only(self, kept: Ints) -> Events:
        """Some of the events."""
        arrays = ("letters", "keys", "rows", "ticks", "floors", "within", "moments", "moment_floors", "ruled_out")
        return replace(self, latest=self.latest[:, kept], **{name: getattr(self, name)[kept] for name in arrays})


@dataclass(frozen=True)
class Waiting:
    """Partial matches of a key: their node, and the states they may be in, each with the values of its registers."""

    node: int
    configurations: tuple[tuple[int, Mapping[str, Value]], ...]


class Machine(Protocol):
    """Runs a plan."""

    actions: list[Action]

    @property
    def arena(self) -> Arena:
        """Where it leaves nodes and hits."""

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events of so many keys; yields when the hits must be listed."""

    def collect(self, floor: int) -> None:
        """Forget what can no longer match: what starts before this tick, or has left the window of its key."""

    def compact(self, floor: int) -> None:
        """The same between two batches, when more can be forgotten."""

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values; an aggregate that failed is an error."""

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """Raise the error that `stored_values` would."""

    def open_matches(self) -> tuple[Ints, Ints, Ints]:
        """The partial matches: the node, the floor and the key of each."""

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


class Algebra(Protocol):
    """What partial matches carry, see `nodes.algebras`."""

    value_type: Any
    hits: Hits

    @property
    def arrays(self) -> Any:
        """What kernels see of it."""

    def collect(self, slots: Slots, floor: int) -> None:
        """Forget what starts before the floor, or has left the window of its key; there must be no hits."""

    def relieve(self, read: int) -> bool:
        """Make more room if what there was was taken by so few events; whether it did."""

    def enlarge(self) -> None:
        """Room for twice as much."""

    def sets_held(self, slots: Slots) -> Ints:
        """The sets that slots refer to, after `collect`."""

    def move_sets(self, slots: Slots, moved: Ints) -> None:
        """Sets have gone elsewhere."""

    def places_beside(self, sets: int) -> int:
        """How many places there can be, where there can be so many sets."""

    def check_sets(self, slots: Slots, sets: int) -> None:
        """Whether slots refer to so many sets."""

    def look_at(self, stored: Ints) -> None:
        """Where the values stand that machines store."""

    def stored(self, actions: int) -> Ints:
        """The stored values that anything refers to, where there are so many actions."""

    def move_stored(self, actions: int, moved: Ints) -> None:
        """Stored values have gone elsewhere."""

    def dump(self) -> dict[str, Ints]:
        """All values, for a snapshot; there must be no hits."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """The values of a snapshot."""

    def check(self, slots: Slots, actions: int, stored: int) -> None:
        """Whether all refer to something that is there."""


class KernelMachine(ABC):
    """A machine that is a step for the compiled loop, over slots with values of an algebra."""

    actions: list[Action]

    def __init__(self, algebra: Algebra, step: type) -> None:
        announce(advance, step, type(algebra.arrays))
        self.algebra, self.slots = algebra, Slots(algebra.value_type)
        self._counters = np.zeros(kernel.COUNTERS, np.int64)
        self._targets = np.zeros(16, np.int32)
        self._stamps, self._values = np.zeros(16, np.int64), np.zeros(16, algebra.value_type)

    @property
    def arena(self) -> Arena:
        """The nodes and hits, if it enumerates."""
        assert isinstance(self.algebra, Arena)
        return self.algebra

    @property
    def next_event(self) -> int:
        """Which of the events that are being read comes next."""
        return int(self._counters[kernel.NEXT_EVENT])

    # --- what is different by tables and by registers --------------------------------------------------------------

    @property
    @abstractmethod
    def _sets(self) -> int:
        """How many sets there can be before there must be more room."""

    @abstractmethod
    def _prepared(self, events: Events, keys: int) -> Any:
        """All that is known of some events before they are read."""

    @abstractmethod
    def _step(self, prepared: Any) -> Any:
        """The step, as the kernel wants it."""

    @abstractmethod
    def _fill(self, state: int, letter: int) -> None:
        """Work out what a letter leads to in a state."""

    @abstractmethod
    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""

    def compact(self, floor: int) -> None:
        """The same between two batches, when more can be forgotten."""
        self.collect(floor)

    @abstractmethod
    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""

    @abstractmethod
    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""

    def _enlarge(self) -> None:  # noqa: B027  (where steps make nothing, nothing is to be done)
        """Room for twice as much of what steps make."""

    def _enlarge_scratch(self) -> None:  # noqa: B027
        """Room for a step that leads to more entries."""

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events; see Machine."""
        self.slots.make_room(keys)
        prepared = self._prepared(events, keys)
        arrays = EventArrays.of(events.letters, events.keys, events.rows, events.ticks, events.floors)
        self._counters[kernel.NEXT_EVENT] = 0
        seen, hits = -1, self.algebra.hits
        while True:
            reason = self._advance(arrays, prepared)
            if reason == kernel.DONE:
                break
            if reason == kernel.FAILED:
                raise AggregateError(OVERFLOW.message)
            if reason == kernel.TABLE:
                self._fill(int(self._counters[kernel.ASKED_STATE]), int(self._counters[kernel.ASKED_LETTER]))
            elif reason == kernel.SLOTS:
                self._make_space(int(self._counters[kernel.ASKED_SLOTS]))
            elif reason == kernel.SCRATCH:
                self._enlarge_scratch()
            elif reason == kernel.HITS and not len(hits):
                hits.make_room()
            else:
                yield
                at = self.next_event
                if reason == kernel.VALUES and at != seen:
                    self.collect(int(FAR_PAST))
                elif reason == kernel.VALUES:  # one event needs more than there is
                    self.algebra.enlarge()
                    self._enlarge()
                if self.algebra.relieve(at - seen):
                    self._enlarge()
                seen = at
        yield

    def _advance(self, events: EventArrays, prepared: Any) -> int:
        places = self.algebra.places_beside(self._sets)
        if len(self._stamps) < places:
            size = 2 * places
            self._stamps, self._values = np.zeros(size, np.int64), np.zeros(size, self.algebra.value_type)
        reached = Reached(self._targets, self._stamps, self._values)
        step, algebra = self._step(prepared), self.algebra
        return advance(events, step, self.slots.arrays, algebra.arrays, reached, algebra.hits.arrays, self._counters)

    def _make_space(self, needed: int) -> None:
        """For an event that leads to so many slots."""
        if needed > len(self._targets):
            self._targets = grown(self._targets, 2 * needed)
        self.slots.make_space(needed)

    # --- keys -----------------------------------------------------------------------------------------------------

    def open_matches(self) -> tuple[Ints, Ints, Ints]:
        """The partial matches of all keys; see Machine."""
        slots = self.slots
        keys = np.arange(len(slots.count))
        return slots.value[slots.held], np.repeat(slots.floor, slots.count), np.repeat(keys, slots.count)

    def busy_keys(self, keys: int) -> Ints:
        """The keys with a partial match: what guards have seen of others is over before their next match starts."""
        return self.slots.busy(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self.slots.keep(keys)
