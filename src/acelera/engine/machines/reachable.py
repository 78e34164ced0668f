"""Which sets of states partial matches can be in, whatever the events are."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress, product

from acelera.automata.contradictions import impossible
from acelera.engine.machines.transition_table import TransitionTable
from acelera.engine.plan import Plan

MOST_TESTS = 10
"""So many tests of one event may matter in a set of states."""


@dataclass
class Letters:
    """Letters by number: the tests that hold for an event."""

    holding: list[frozenset[int]] = field(default_factory=list)
    _number: dict[frozenset[int], int] = field(default_factory=dict)

    def number(self, tests: frozenset[int]) -> int:
        """The number of a letter."""
        if tests not in self._number:
            self._number[tests] = len(self.holding)
            self.holding.append(tests)
        return self._number[tests]


@dataclass(frozen=True)
class Reachable:
    """Sets of states, the first where matches begin, and the numbers of those that partial matches can be in."""

    sets: tuple[frozenset[int], ...]
    entered: tuple[int, ...]


def reachable_sets(plan: Plan, most: int) -> Reachable | None:
    """The sets of states that partial matches can be in, in one order for all; None if they are too many to know."""
    if not plan.is_table:
        return None
    letters = Letters()
    table, number = TransitionTable(plan, letters), 0
    while number < len(table.sets):
        edges = [edge for state in table.sets[number] for edge in plan.outgoing.get(state, ())]
        asked = sorted(frozenset().union(*(edge.tests for edge in edges)))
        if len(asked) > MOST_TESTS:
            return None
        for bits in product((False, True), repeat=len(asked)):
            holding = list(compress(asked, bits))
            if not impossible([plan.tests[test] for test in holding]):
                letter = letters.number(frozenset(holding))
                table.make_room()
                table.fill(number, letter)
            if len(table.sets) > most:
                return None
        number += 1
    targets = {int(target) for target in table.target[: table.entries] if target >= 0}
    return Reachable(tuple(table.sets), tuple(sorted(targets)))
