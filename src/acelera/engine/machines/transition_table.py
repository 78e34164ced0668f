"""The automaton as tables, determinised by marks: from a set of states, a letter and a mark lead to one set of states.

So every complex event has exactly one run. The tables are filled as the data asks for them.
"""

from __future__ import annotations

import numpy as np

from acelera.engine.machines.advance import NOTHING, Entries
from acelera.engine.machines.table_step import TableStep
from acelera.engine.plan import NO_ACTION, Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage.growing import grown


class TransitionTable:
    """Tables for `table_step`. A row, for a set of states and a letter, holds entries: a mark, the set of states
    that it leads to, and whether a match ends. The mark of an action that nobody sees is NOTHING.
    """

    def __init__(self, plan: Plan, alphabet: Alphabet, unseen: frozenset[Action] = frozenset()) -> None:
        self.plan, self.alphabet = plan, alphabet
        self._mark = {action: number for number, action in enumerate(plan.actions)} | {NO_ACTION: NOTHING}
        self._unseen = {self._mark[action] for action in unseen}
        self.sets: list[frozenset[int]] = []
        self._number: dict[frozenset[int], int] = {}
        self.row_at, self.row_size = np.full((4, 8), -1, np.int32), np.zeros((4, 8), np.int32)
        self.mark, self.target = np.zeros(16, np.int32), np.zeros(16, np.int32)
        self.emits, self._none_stored = np.zeros(16, np.bool_), np.zeros(1, np.int64)
        self._entries = 0
        self.set_number(frozenset({plan.initial}))

    @property
    def entries(self) -> int:
        """How many entries the rows have that are worked out."""
        return self._entries

    def step(self) -> TableStep:
        """The tables, as the kernel wants them; nothing is stored."""
        return TableStep(self.row_at, self.row_size, Entries(self.mark, self._none_stored, self.target, self.emits))

    def set_number(self, states: frozenset[int]) -> int:
        """The number of a set of states."""
        if states not in self._number:
            self._number[states] = len(self.sets)
            self.sets.append(states)
            if len(self.sets) > len(self.row_at):
                self._resize(2 * len(self.row_at), self.row_at.shape[1])
        return self._number[states]

    def make_room(self) -> None:
        """For all letters that have occurred."""
        letters = len(self.alphabet.holding)
        if letters > self.row_at.shape[1]:
            self._resize(len(self.row_at), max(letters, 2 * self.row_at.shape[1]))

    def fill(self, number: int, letter: int) -> None:
        """Work out a row."""
        holding = self.alphabet.holding[letter]
        reached: dict[int, set[int]] = {}
        for state in self.sets[number]:
            for edge in self.plan.outgoing.get(state, ()):
                if edge.tests <= holding:
                    reached.setdefault(self._mark[edge.action], set()).add(edge.target)
        at, finals = self._entries, self.plan.finals
        for mark in sorted(reached):
            going_on = frozenset(state for state in reached[mark] if state in self.plan.outgoing)
            if self._entries == len(self.mark):
                self.mark, self.target, self.emits = (
                    grown(each, 2 * self._entries) for each in (self.mark, self.target, self.emits)
                )
            self.mark[self._entries] = NOTHING if mark in self._unseen else mark
            self.target[self._entries] = self.set_number(going_on) if going_on else NOTHING
            self.emits[self._entries] = bool(reached[mark] & finals)
            self._entries += 1
        self.row_at[number, letter], self.row_size[number, letter] = at, self._entries - at

    def _resize(self, sets: int, letters: int) -> None:
        at, size = np.full((sets, letters), -1, np.int32), np.zeros((sets, letters), np.int32)
        height, width = self.row_at.shape
        at[:height, :width], size[:height, :width] = self.row_at, self.row_size
        self.row_at, self.row_size = at, size
