"""Smaller automata that accept the same: each pass a function of its own, `simplify` runs them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acelera.automata.analysis import live_registers, needed_registers
from acelera.automata.contradictions import impossible
from acelera.automata.labels import Label
from acelera.automata.model import Acea, Transition, by_source, reachable


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
    initial, moves = number[automaton.initial], tuple(moved)
    return replace(automaton, states=len(number), initial=initial, finals=finals, transitions=moves, names=names)


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
    return replace(automaton, states=len(number), initial=0, finals=finals, transitions=tuple(transitions), names=names)


def merge_equivalent_states(automaton: Acea) -> Acea:
    """One state for all from which the same can follow (the coarsest bisimulation)."""
    block = equivalent_states(automaton)
    first: dict[int, int] = {}
    for state, each in enumerate(block):
        first.setdefault(each, state)
    moved = [replace(t, source=first[block[t.source]], target=first[block[t.target]]) for t in automaton.transitions]
    return rebuilt(automaton, sorted(first.values()), moved)


def equivalent_states(automaton: Acea) -> list[int]:
    """For each state the number of its block: states from which the same can follow.

    Blocks are split until all states of each lead to the same blocks. After a split, only those are looked at again
    that lead to a state whose block has another number now; all others of their block still lead to the same ones.
    """
    block = [int(state in automaton.finals) for state in range(automaton.states)]
    block[automaton.initial] += 2  # the initial state stays apart: runs begin there without registers
    labels: dict[Label, int] = {}
    moves: list[list[tuple[int, int]]] = [[] for _ in block]
    before: list[set[int]] = [set() for _ in block]
    for t in automaton.transitions:
        moves[t.source].append((labels.setdefault(t.label, len(labels)), t.target))
        before[t.target].add(t.source)
    members: dict[int, set[int]] = {}
    for state, each in enumerate(block):
        members.setdefault(each, set()).add(state)
    unsure, numbers = set(range(automaton.states)), 4
    while unsure:
        by_block: dict[int, list[int]] = {}
        for state in unsure:
            by_block.setdefault(block[state], []).append(state)
        renumbered = list[tuple[int, int]]()
        for number, states in by_block.items():
            groups: dict[frozenset[tuple[int, int]], list[int]] = {}
            settled = next((state for state in members[number] if state not in unsure), None)
            for state in states if settled is None else [settled, *states]:
                follows = frozenset((label, block[target]) for label, target in moves[state])
                groups.setdefault(follows, []).append(state)
            kept = next(iter(groups)) if settled is not None else max(groups, key=lambda each: len(groups[each]))
            for group in [each for follows, each in groups.items() if follows != kept]:
                members[number].difference_update(group)
                members[numbers] = set(group)
                renumbered += [(state, numbers) for state in group]
                numbers += 1
        for state, number in renumbered:
            block[state] = number
        unsure = {source for state, _ in renumbered for source in before[state]}
    return block


PASSES = (drop_impossible, drop_useless_states, forget_dead_registers, merge_by_label, merge_equivalent_states)
