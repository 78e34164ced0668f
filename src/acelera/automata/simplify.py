"""Smaller automata that accept the same: each pass a function of its own, `simplify` runs them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acelera.automata.analysis import live_registers, needed_registers
from acelera.automata.contradictions import impossible
from acelera.automata.model import Acea, Label, Transition, by_source, reachable


def simplify(automaton: Acea) -> Acea:
    """All passes, until none makes a change; the guards are simplified as well."""
    guards = tuple(simplify(guard) for guard in automaton.guards)
    current = replace(automaton, guards=guards)
    while True:
        smaller = current
        for one_pass in PASSES:
            smaller = one_pass(smaller)
        if smaller == current:
            return current
        current = smaller


def rebuilt(automaton: Acea, order: Sequence[int], transitions: Sequence[Transition]) -> Acea:
    """The automaton of these states, in this order, renumbered, with these transitions between them."""
    number = {state: index for index, state in enumerate(order)}
    moved = dict.fromkeys(
        Transition(number[t.source], t.label, number[t.target])
        for t in transitions
        if t.source in number and t.target in number
    )
    finals = frozenset(number[state] for state in automaton.finals if state in number)
    names = tuple(automaton.names[state] for state in order) if automaton.names else ()
    return Acea(len(number), number[automaton.initial], finals, tuple(moved), automaton.guards, names)


# --- passes -------------------------------------------------------------------------------------------------------


def drop_impossible(automaton: Acea) -> Acea:
    """Without transitions whose predicate can never hold."""
    kept = tuple(t for t in automaton.transitions if not impossible(t.label.predicate))
    return replace(automaton, transitions=kept)


def drop_useless_states(automaton: Acea) -> Acea:
    """Without states that cannot be reached or from which nothing is accepted, and without double transitions."""
    forward = reachable({automaton.initial}, [(t.source, t.target) for t in automaton.transitions])
    backward = reachable(set(automaton.finals), [(t.target, t.source) for t in automaton.transitions])
    useful = sorted((forward & backward) | {automaton.initial})
    return rebuilt(automaton, useful, automaton.transitions)


def forget_dead_registers(automaton: Acea) -> Acea:
    """Without assignments to registers that are never read again."""
    needed = needed_registers(automaton)

    def alive(t: Transition) -> Label:
        read = live_registers(t.label, needed[t.target])
        kept = tuple((name, term) for name, term in t.label.assign if name in read)
        return t.label if len(kept) == len(t.label.assign) else replace(t.label, assign=kept)

    return replace(automaton, transitions=tuple(replace(t, label=alive(t)) for t in automaton.transitions))


def merge_by_label(automaton: Acea) -> Acea:
    """The subset construction over labels, if that makes no more states: equal labels lead to one state.

    A run is determined by its labels, so this accepts the same.
    """
    begin = frozenset({automaton.initial})
    number = {begin: 0}
    todo, transitions = [begin], []
    outgoing = by_source(automaton.transitions)
    while todo:
        states = todo.pop()
        targets: dict[Label, set[int]] = {}
        for state in sorted(states):
            for t in outgoing.get(state, ()):
                targets.setdefault(t.label, set()).add(t.target)
        for label, reached in targets.items():
            target = frozenset(reached)
            if target not in number:
                if len(number) == automaton.states:
                    return automaton
                number[target] = len(number)
                todo.append(target)
            transitions.append(Transition(number[states], label, number[target]))
    if len(transitions) > len(automaton.transitions):
        return automaton
    finals = frozenset(index for states, index in number.items() if states & automaton.finals)
    together = tuple("/".join(automaton.name(state) for state in sorted(states)) for states in number)
    names = together if automaton.names else ()
    return Acea(len(number), 0, finals, tuple(transitions), automaton.guards, names)


def merge_equivalent_states(automaton: Acea) -> Acea:
    """One state for all from which the same can follow (the coarsest bisimulation)."""
    block = [int(state in automaton.finals) for state in range(automaton.states)]
    block[automaton.initial] += 2  # the initial state stays apart: runs begin there without registers
    outgoing = by_source(automaton.transitions)
    while True:
        follows = [
            (block[state], frozenset((t.label, block[t.target]) for t in outgoing.get(state, ())))
            for state in range(automaton.states)
        ]
        numbers = {key: index for index, key in enumerate(dict.fromkeys(follows))}
        refined = [numbers[key] for key in follows]
        if len(set(refined)) == len(set(block)):
            break
        block = refined
    first = {each: block.index(each) for each in block}
    order = sorted(set(first.values()))
    moved = [replace(t, source=first[block[t.source]], target=first[block[t.target]]) for t in automaton.transitions]
    return rebuilt(automaton, order, moved)


PASSES = (drop_impossible, drop_useless_states, forget_dead_registers, merge_by_label, merge_equivalent_states)
