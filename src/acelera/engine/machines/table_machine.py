"""By tables: nothing must be remembered besides the state, so every event costs the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from acelera.engine.machines.machine import Algebra, Events, Ints, KernelMachine, Waiting
from acelera.engine.machines.table_step import TableStep
from acelera.engine.machines.transition_table import TransitionTable
from acelera.engine.plan import Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section


class TableMachine(KernelMachine):
    """Sets of states and letters, looked up in tables: constant work for each event."""

    def __init__(
        self, plan: Plan, alphabet: Alphabet, algebra: Algebra, unseen: frozenset[Action] = frozenset()
    ) -> None:
        super().__init__(algebra, TableStep)
        self.table = TransitionTable(plan, alphabet, unseen)
        self.actions = list(plan.actions)

    @property
    def _sets(self) -> int:
        return len(self.table.sets)

    def _prepared(self, events: Events, keys: int) -> None:
        """Nothing but that there is room for all letters that have occurred."""
        self.table.make_room()

    def _step(self, prepared: None) -> TableStep:
        return self.table.step()

    def _fill(self, state: int, letter: int) -> None:
        self.table.fill(state, letter)

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        self.algebra.collect(self.slots, floor)

    def dump(self) -> dict[str, Section]:
        """Nodes, slots, and the sets of states that slots refer to."""
        sets: Section = [sorted(states) for states in self.table.sets]
        return {**self.algebra.dump(), **self.slots.dump(), "sets": sets}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.algebra.load(sections)
        self.slots.load(sections)
        sets = [frozenset(states) for states in sections["sets"]]
        check.different("sets", sets)
        check.holds("sets", sets[:1] == self.table.sets[:1], "does not begin with where matches begin")
        for states in sets:
            check.holds("sets", states <= set(range(self.table.plan.states)), "has a state that is not there")
            self.table.set_number(states)
        self.algebra.check_sets(self.slots, len(sets))
        self.algebra.check(self.slots, len(self.actions), 0)

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """Nothing is ever stored."""
        raise AssertionError("a table stores no values")

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """Nothing that is stored can have failed."""

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        found = []
        for number, node in zip(*self.slots.of_key(key), strict=True):
            states = sorted(self.table.sets[number])
            found.append(Waiting(int(node), tuple((state, {}) for state in states)))
        return found
