"""Automata under construction.

All of them have one initial state, START_STATE, that nothing leads to, and one final state, FINAL, that nothing leaves.
So a transition from the first begins a match with fresh registers, and one into the second ends it; an automaton that
goes on after it could have ended has both transitions, into FINAL and into a state where it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from acelera.automata.labels import Label
from acelera.automata.limits import refuse_more
from acelera.automata.model import Transition, reachable
from acelera.automata.terms import UNSET, Const, Reg, Term

START_STATE, FINAL = 0, 1


@dataclass(frozen=True)
class Part:
    """An automaton under construction: its number of states and its transitions.

    `empty` tells whether it may also be left out: nothing is read then, which no run could tell.
    """

    states: int
    transitions: tuple[Transition, ...]
    empty: bool = False

    def __post_init__(self) -> None:
        refuse_more(len(self.transitions))

    def ending(self) -> list[Transition]:
        """The transitions that end a match."""
        return [t for t in self.transitions if t.target == FINAL]

    def relabelled(self, change: Callable[[Transition], Label | None]) -> Part:
        """The same automaton with other labels; None removes a transition."""
        changed = ((t, change(t)) for t in self.transitions)
        return trimmed(self.states, [replace(t, label=label) for t, label in changed if label is not None])

    def shifted(self, by: int) -> list[Transition]:
        """The transitions with all states but the two special ones renumbered."""

        def moved(state: int) -> int:
            return state if state in (START_STATE, FINAL) else state + by

        return [Transition(moved(t.source), t.label, moved(t.target)) for t in self.transitions]


def trimmed(states: int, transitions: Sequence[Transition]) -> Part:
    """Without states that cannot be reached, or from which no match can end, and without double transitions."""
    forward = reachable([START_STATE], [(t.source, t.target) for t in transitions])
    backward = reachable([FINAL], [(t.target, t.source) for t in transitions])
    useful = sorted((forward & backward) - {START_STATE, FINAL})
    number = {START_STATE: START_STATE, FINAL: FINAL, **{state: index + 2 for index, state in enumerate(useful)}}
    renumbered: dict[Transition, None] = {}
    for t in transitions:
        source, target = number.get(t.source), number.get(t.target)
        if source is not None and target is not None:
            same = source == t.source and target == t.target
            renumbered[t if same else Transition(source, t.label, target)] = None
    return Part(len(useful) + 2, tuple(renumbered) if FINAL in forward else ())


def disjunction(*parts: Part) -> Part:
    """φ1 OR φ2 OR …: all automata, with the initial and the final state in common."""
    states, transitions = 0, list[Transition]()
    for part in parts:
        transitions += part.shifted(states) if states else part.transitions
        states += part.states
        refuse_more(len(transitions))
    return trimmed(states, transitions)


def before(t: Transition, name: str) -> Term:
    """A register as it was before the transition; unset where a match begins."""
    return Const(UNSET) if t.source == START_STATE else Reg(name)
