"""What runs a plan over events: tables and a kernel if nothing must be remembered besides the state.

A machine reads the events of a frame and leaves hits in its arena. It yields whenever the hits must be listed before it
can go on, and at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.jit import announce
from acelera.engine.machines.transition_table import Program
from acelera.engine.nodes import kernels
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.slots import Slots
from acelera.engine.plan import Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section
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

    arena: Arena
    actions: list[Action]

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

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


class TableMachine:
    """Sets of states and letters, looked up in tables: constant work for each event."""

    def __init__(self, plan: Plan, alphabet: Alphabet, unseen: frozenset[Action] = frozenset()) -> None:
        announce(kernels.advance)
        self.arena, self.slots = Arena(), Slots()
        self.program = Program(plan, alphabet, unseen)
        self.actions = self.program.actions
        self._scratch = np.zeros(16, np.int64), np.zeros(16, np.int32)

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events; see Machine."""
        arena, program, slots = self.arena, self.program, self.slots
        program.make_room()
        slots.make_room(keys)
        counters = arena.counters
        counters[kernels.NEXT_EVENT] = 0
        seen = -1
        while True:
            reason = self._advance(events)
            if reason == kernels.DONE:
                break
            if reason == kernels.TABLE:
                program.fill(int(counters[kernels.ASKED_STATE]), int(counters[kernels.ASKED_LETTER]))
            elif reason == kernels.SLOTS:
                slots.make_space(int(counters[kernels.ASKED_SLOTS]))
            elif reason == kernels.HITS and not counters[kernels.HIT_COUNT]:
                arena.make_room_for_hits()
            else:
                yield
                at = int(counters[kernels.NEXT_EVENT])
                if reason == kernels.NODES and at != seen:
                    arena.collect(slots, kernels.FAR_PAST)
                elif reason == kernels.NODES:  # one event needs more than there is
                    arena.enlarge()
                arena.relieve(at - seen)
                seen = at
        yield

    def _advance(self, events: Events) -> int:
        program, slots = self.program, self.slots
        stamps, nodes = self._scratch
        if len(stamps) < len(program.sets):
            self._scratch = np.zeros(2 * len(program.sets), np.int64), np.zeros(2 * len(program.sets), np.int32)
            stamps, nodes = self._scratch
        return kernels.advance(
            events.letters,
            events.keys,
            events.rows,
            events.ticks,
            events.floors,
            program.row_at,
            program.row_size,
            program.mark,
            program.target,
            program.emits,
            *slots.arrays,
            *self.arena.nodes,
            stamps,
            nodes,
            *self.arena.hits,
            self.arena.counters,
        )

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        self.arena.collect(self.slots, floor)

    compact = collect

    def busy_keys(self, keys: int) -> Ints:
        """The keys with a partial match."""
        return self.slots.busy(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self.slots.keep(keys)

    def dump(self) -> dict[str, Section]:
        """Nodes, slots, and the sets of states that slots refer to."""
        sets: Section = [sorted(states) for states in self.program.sets]
        return {**self.arena.dump(), **self.slots.dump(), "sets": sets}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.arena.load(sections)
        self.slots.load(sections)
        sets = [frozenset(states) for states in sections["sets"]]
        check.different("sets", sets)
        check.holds("sets", sets[:1] == self.program.sets[:1], "does not begin with where matches begin")
        for states in sets:
            check.holds("sets", states <= set(range(self.program.plan.states)), "has a state that is not there")
            self.program.set_number(states)
        self.arena.check(len(self.actions), 0)
        self.slots.check(len(sets), self.arena.size)

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """Nothing is ever stored."""
        raise AssertionError("a table stores no values")

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """Nothing that is stored can have failed."""

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        found = []
        for number, node in zip(*self.slots.of_key(key), strict=True):
            states = sorted(self.program.sets[number])
            found.append(Waiting(int(node), tuple((state, {}) for state in states)))
        return found
