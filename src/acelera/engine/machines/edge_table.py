"""The edges of a plan with registers, laid out for the kernel; which of them a letter permits is found on demand."""

from __future__ import annotations

import numpy as np

from acelera.engine.machines.advance import NOTHING
from acelera.engine.machines.register_step import Edges
from acelera.engine.plan import NO_ACTION, Edge, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.registers.code import Code
from acelera.engine.registers.stack_machine import Universal


class EdgeTable:
    """For each state and letter the edges that can be taken."""

    def __init__(self, plan: Plan, alphabet: Alphabet, code: Code) -> None:
        self.plan, self._alphabet = plan, alphabet
        beside = _endings(plan)
        self._outgoing: dict[int, list[int]] = {}
        for index, edge in enumerate(plan.edges):
            if index not in beside:
                self._outgoing.setdefault(edge.source, []).append(index)
        number = {action: index for index, action in enumerate(plan.actions)} | {NO_ACTION: NOTHING}
        ranges = zip(code.assign, code.marked, strict=True)
        self._list: list[int] = []
        self.arrays = Edges(
            first=np.full((plan.states, 8), -1, np.int32),
            count=np.zeros((plan.states, 8), np.int32),
            listed=np.zeros(1, np.int32),
            waits=np.zeros((plan.states, 8), np.bool_),
            stays=np.array([_stays(edge, plan) for edge in plan.edges] or [False], np.bool_),
            ends=np.isin(np.arange(max(len(plan.edges), 1)), list(beside.values())),
            target=np.array([edge.target for edge in plan.edges] or [0], np.int32),
            action=np.array([number[edge.action] for edge in plan.edges] or [0], np.int32),
            code=np.array([(begin, middle, end) for (begin, middle), (_, end) in ranges] or [(0, 0, 0)], np.int32),
            universal=_universal(code),
        )

    def make_room(self) -> None:
        """For all letters that have occurred."""
        letters, width = len(self._alphabet.holding), self.arrays.first.shape[1]
        if letters > width:
            more = ((0, 0), (0, max(letters, 2 * width) - width))
            self.arrays = self.arrays._replace(
                first=np.pad(self.arrays.first, more, constant_values=-1),
                count=np.pad(self.arrays.count, more),
                waits=np.pad(self.arrays.waits, more),
            )

    def fill(self, state: int, letter: int) -> None:
        """Find the edges that a letter permits in a state."""
        holding, edges = self._alphabet.holding[letter], self.plan.edges
        found = [index for index in self._outgoing.get(state, ()) if edges[index].tests <= holding]
        self.arrays.first[state, letter], self.arrays.count[state, letter] = len(self._list), len(found)
        alone = found[0] if len(found) == 1 else None
        self.arrays.waits[state, letter] = alone is not None and edges[alone].idle and not self.arrays.ends[alone]
        self._list += found
        self.arrays = self.arrays._replace(listed=np.array(self._list or [0], np.int32))


def _endings(plan: Plan) -> dict[int, int]:
    """The edges that only end matches, where another goes on that asks, marks and computes the same: which one."""
    found: dict[int, int] = {}
    for index, edge in enumerate(plan.edges):
        if edge.target not in plan.finals or edge.target in plan.outgoing:
            continue
        for other, beside in enumerate(plan.edges):
            alike = (edge.source, edge.tests, edge.conditions, edge.action) == (
                beside.source,
                beside.tests,
                beside.conditions,
                beside.action,
            )
            if alike and other != index and beside.target in plan.outgoing and set(edge.assign) <= set(beside.assign):
                found[index] = other
                break
    return found


def _stays(edge: Edge, plan: Plan) -> bool:
    """Whether an edge leads from each configuration to the same one: it forgets no register that others leave."""
    kept = {name for name, _ in edge.assign}
    left = {name for other in plan.edges if other.target == edge.target for name, _ in other.assign}
    return edge.idle and not edge.conditions and left & plan.live[edge.target] <= kept


def _universal(code: Code) -> Universal:
    """Conditions over sets as the kernel wants them: a range for each edge, their instructions, their registers."""
    ranges: list[tuple[int, ...]] = []
    instructions: list[tuple[int, ...]] = []
    sets: list[tuple[int, ...]] = []
    for listed in code.universal:
        ranges.append((len(instructions), len(instructions) + len(listed)))
        for each in listed:
            instructions.append((*each.code, len(sets), len(sets) + len(each.sets)))
            sets += each.sets
    most = max((end - begin for _, _, begin, end in instructions), default=0)
    widest = max((place + 2 * width for _, width, place in sets), default=0)
    return Universal(
        np.array(ranges or [(0, 0)], np.int32),
        np.array(instructions or [(0, 0, 0, 0)], np.int32),
        np.array(sets or [(0, 0, 0)], np.int32),
        np.zeros(most + 1, np.int64),
        np.zeros(widest + 2, np.int64),
    )
