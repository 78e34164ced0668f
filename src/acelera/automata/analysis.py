"""What is known of an automaton without running it. All answers are safe: when in doubt they say the costlier thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from itertools import product

from acelera.automata.contradictions import impossible
from acelera.automata.labels import Label, Mark
from acelera.automata.model import Acea, Transition, reachable
from acelera.automata.terms import (
    Attr,
    Earlier,
    Identical,
    Later,
    Latest,
    Position,
    Reg,
    Term,
    fresh_read,
    registers_read,
    subterms,
)
from acelera.language.events import STREAM


def attributes_asked(automaton: Acea) -> list[str]:
    """The attributes of events that an automaton, or a guard of it, speaks of."""
    terms: list[Term] = []
    for label in (t.label for each in (automaton, *automaton.guards) for t in each.transitions):
        terms += [*(term for _, term in label.assign), *label.predicate]
        terms += [term for _, bag in label.marks for mark in bag for term in mark.terms()]
    return [part.name for term in terms for part in subterms(term) if isinstance(part, Attr)]


def needed_registers(automaton: Acea) -> list[frozenset[str]]:
    """For each state the registers that matter for what follows."""
    needed: list[frozenset[str]] = [frozenset()] * automaton.states
    changed = True
    while changed:
        changed = False
        for t in automaton.transitions:
            read = live_registers(t.label, needed[t.target])
            before = frozenset().union(*(registers_read(term) for name, term in t.label.assign if name in read))
            if not before <= needed[t.source]:
                needed[t.source] |= before
                changed = True
    return needed


def live_registers(label: Label, after: frozenset[str]) -> frozenset[str]:
    """The registers whose assignment matters, if these are needed afterwards."""
    live = after | label.reads_after
    for name, term in reversed(label.assign):
        if name in live:
            live |= fresh_read(term)
    return live


def lets_pass(t: Transition) -> bool:
    """Whether a transition reads any event and does nothing with it."""
    return does_nothing(t) and not t.label.predicate


def does_nothing(t: Transition) -> bool:
    """Whether a transition marks nothing and keeps the registers."""
    return not t.label.marks and all(term == Reg(name) for name, term in t.label.assign)


def is_idle(t: Transition) -> bool:
    """Whether a transition lets any event pass and stays where it is."""
    return t.source == t.target and lets_pass(t)


def is_unambiguous(automaton: Acea) -> bool:
    """Whether no complex event has two runs, for certain: then nothing has to be removed from the output."""
    return not may_part(automaton, lambda first, second: first != second)


MOST_PAIRS = 50_000
"""So many pairs of transitions are looked at; what is not known then counts as possible."""


def may_part(automaton: Acea, differ: Callable[[Transition, Transition], bool]) -> bool:
    """Whether two runs that are accepted may mark the same, though at some event their transitions differ.

    The two are followed at once, as long as they mark the same and their predicates may hold together.
    """
    moves: dict[int, dict[Hashable, list[Transition]]] = {}
    for t in automaton.transitions:
        moves.setdefault(t.source, {}).setdefault(_marked(t.label), []).append(t)
    begin = (automaton.initial, automaton.initial, False)  # two states, and whether the runs have parted
    seen, todo, looked = {begin}, [begin], 0
    while todo:
        left, right, parted = todo.pop()
        if parted and left in automaton.finals and right in automaton.finals:
            return True
        for marked, some in moves.get(left, {}).items():
            others = moves.get(right, {}).get(marked, [])
            looked += len(some) * len(others)
            if looked > MOST_PAIRS:
                return True
            for first, second in product(some, others):
                if impossible((*first.label.predicate, *second.label.predicate)):
                    continue
                low, high = sorted((first.target, second.target))
                target = (low, high, parted or differ(first, second))
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
    return False


def _marked(label: Label) -> Hashable:
    """Labels that have this in common can put equal events into all variables; without a schema, some columns may be
    all columns.
    """
    return tuple((name, tuple(sorted(_shape(mark) for mark in bag))) for name, bag in label.marks)


def _shape(mark: Mark) -> str:
    made = mark.origin != STREAM
    return repr([name for name, _ in mark.fields or ()]) if made else "of the stream"


def uses_contiguity(automaton: Acea) -> bool:
    """Whether it matters that an event stands right after another: some run cannot let any event pass."""
    going_on = {t.source for t in automaton.transitions} - {automaton.initial}
    return not going_on <= waiting_states(automaton) or any(uses_contiguity(guard) for guard in automaton.guards)


def waiting_states(automaton: Acea) -> set[int]:
    """The states in which any event may pass: they stay, or go to a state that stays and can do all that they can."""
    return {t.source for t in passing_transitions(automaton)}


def passing_transitions(automaton: Acea) -> list[Transition]:
    """The transitions by which an event passes and nothing at all happens: no match begins with it, none ends."""
    outside = {automaton.initial, *automaton.finals}
    staying = {t.source for t in automaton.transitions if is_idle(t)} - outside
    moves: dict[int, set[tuple[Label, int]]] = {}
    for t in automaton.transitions:
        if not lets_pass(t):
            moves.setdefault(t.source, set()).add((t.label, t.target))
    return [
        t
        for t in automaton.transitions
        if lets_pass(t)
        and t.source != automaton.initial
        and t.target in staying
        and moves.get(t.source, set()) <= moves.get(t.target, set())
    ]


def uses_positions(automaton: Acea) -> bool:
    """Whether the number of a position matters, rather than which comes first."""
    return any(_uses_positions(each) for each in (automaton, *automaton.guards))


def _uses_positions(automaton: Acea) -> bool:
    # UNLESS keeps the position of a start, and only asks whether another start is later.
    ordered: set[str] = set()
    for t in automaton.transitions:
        for term in t.label.predicate:
            if isinstance(term, Later) and isinstance(term.left, Reg) and isinstance(term.right, Latest):
                ordered.add(term.left.name)
    for t in automaton.transitions:
        assigned = [term for name, term in t.label.assign if not (name in ordered and term == Position())]
        marked = [term for _, bag in t.label.marks for mark in bag for term in mark.terms()]
        if any(_is_position(part) for term in (*assigned, *t.label.predicate, *marked) for part in subterms(term)):
            return True
    return False


def _is_position(term: Term) -> bool:
    return isinstance(term, Position) or term == Attr("position")


def reactions(automaton: Acea) -> list[tuple[Term, ...]]:
    """What an event must satisfy for some state to react to it: one of these conjunctions.

    An event that satisfies none of them changes nothing, unless contiguity or positions are used.
    """
    taken: list[Transition] = []
    for each in (automaton, *automaton.guards):
        passing = set(passing_transitions(each))
        taken += (t for t in each.transitions if t not in passing)
    return _asked(taken)


def beginnings(automaton: Acea) -> list[tuple[Term, ...]]:
    """What an event must satisfy to be the first of a match: one of these conjunctions."""
    return _asked(t for t in automaton.transitions if t.source == automaton.initial)


def _asked(transitions: Iterable[Transition]) -> list[tuple[Term, ...]]:
    """What some transitions ask of the event in hand alone."""
    return list(dict.fromkeys(tuple(filter(is_one_event, t.label.predicate)) for t in transitions))


def is_one_event(term: Term) -> bool:
    """Whether a term looks at nothing but the event in hand."""
    return not any(isinstance(part, Reg | Latest | Position | Identical | Later | Earlier) for part in subterms(term))


def longest_run(automaton: Acea) -> int | None:
    """How many events a run can read at most; None if there is no limit."""
    edges = {(t.source, t.target) for t in automaton.transitions}
    reached = reachable({automaton.initial}, edges)
    following, coming = dict[int, list[int]](), Counter[int]()
    for source, target in edges:
        if source in reached:
            following.setdefault(source, []).append(target)
            coming[target] += 1
    depth = dict.fromkeys(reached, 0)
    todo = [state for state in reached if not coming[state]]
    ordered = 0
    while todo:  # a state comes when all before it have come; those on a cycle never do
        state = todo.pop()
        ordered += 1
        for target in following.get(state, ()):
            depth[target] = max(depth[target], depth[state] + 1)
            coming[target] -= 1
            if not coming[target]:
                todo.append(target)
    return max(depth.values()) if ordered == len(reached) else None


def state_growth(automaton: Acea, windowed: bool) -> str:
    """How much must be remembered, in words."""
    limits = [longest_run(each) for each in (automaton, *automaton.guards)]
    if None not in limits:
        longest = max(limit for limit in limits if limit is not None)
        return f"bounded: no match reads more than {longest} events"
    if windowed:
        return "bounded by the window"
    return "can grow with the stream: without WITHIN a partial match may wait for its end for ever"
