"""What matches: the machine, its partial matches, and the rows that they refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.frames import Frame
from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.guards import Guards
from acelera.engine.machines.machine import Events, Machine
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.results.needs import columns_kept
from acelera.engine.results.seen import unseen_actions, what_is_chosen
from acelera.engine.session.store import Store
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, fingerprint_of, with_prefix, without_prefix
from acelera.engine.ticks import FAR_PAST
from acelera.engine.window import Window
from acelera.errors import SnapshotError
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]

_PREFIX = "machine."


class Matcher:
    """The partial matches of all keys; none that is still of use starts before the tick `floor`."""

    def __init__(self, checked: Checked, strategy: Strategy, window: Window, alphabet: Alphabet) -> None:
        assert checked.schema is not None
        self.plan, self.window, self._strategy = strategy.plan, window, strategy
        unseen = unseen_actions(checked, self.plan)
        self.chooses = False  # whether it matters which of several matches with one start and one end is kept
        if checked.clauses.keep is not None:
            self.chooses, unseen = what_is_chosen(checked.clauses.keep, self.plan, unseen)
        self.machine: Machine = strategy.machine(alphabet, unseen)
        self.store = Store(columns_kept(checked, self.plan), checked.schema)
        self.floor = int(FAR_PAST)

    def watch(self, alphabet: Alphabet) -> Guards:
        """Guards that are asked once matches have ended."""
        return self._strategy.watch(alphabet)

    def keep(self, frame: Frame, before: int) -> int:
        """Store rows, of which so many came before; the number of the first."""
        first = self.store.rows
        self.store.append(frame, np.arange(before, before + len(frame)), self.window.ticks(frame))
        return first

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events of so many keys; stops whenever matches must be listed, and at the end."""
        yield from self.machine.read(events, keys)

    def move_on(self, floor: int) -> None:
        """Nothing that starts before a tick is of use any more."""
        self.floor = floor

    def compact(self) -> None:
        """Forget nodes and rows that no match can use any more."""
        self.machine.compact(self.floor)
        self.store.keep(self.machine.arena.keep_rows(len(self.machine.actions)))

    # --- snapshots ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Section]:
        """Its part of the state in a snapshot."""
        return {"floor": self.floor, "plan": fingerprint_of(repr(self.plan))}

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        return {**self.store.dump(), **with_prefix(_PREFIX, self.machine.dump())}

    def refuse_other_plan(self, state: Mapping[str, Any]) -> None:
        """A machine can go on only with what it knew before."""
        if state["plan"] != fingerprint_of(repr(self.plan)):
            raise SnapshotError(
                "the snapshot was made with another version of acelera, or with other aggregate functions, which "
                "compiles this query otherwise; read the stream again from its beginning"
            )

    def load(self, sections: Mapping[str, Any], events: int) -> None:
        """Go on from a snapshot after so many events."""
        self.floor = sections["state"]["floor"]
        check.whole("state", self.floor)
        self.store.load(sections)
        check.in_range("places", self.store.places, 0, events)
        self.machine.load(without_prefix(_PREFIX, sections))
        check.in_range("right", self.machine.arena.rows(len(self.machine.actions)), 0, self.store.rows)
