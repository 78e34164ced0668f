"""Runs of an automaton over a stream, by the definition (paper 000, section 6): the second judge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from acelera.automata.model import Absence, Acea, Transition, by_source
from acelera.automata.terms import Environment, holds
from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.events import ComplexEvent, Event, bag, complex_event, within

Registers = tuple[tuple[str, Any], ...]
Configuration = tuple[int, Registers]


def accepted(automaton: Acea, events: Sequence[Event], window: ast.Within | None = None) -> set[ComplexEvent]:
    """⟦A⟧(S): the complex events C_ρ of all accepting runs ρ; with a window, runs that outgrow it are not followed."""
    latest = newest_starts(automaton, events)
    outgoing = by_source(automaton.transitions)
    found: set[ComplexEvent] = set()
    for start in range(len(events)):
        # A run is a configuration and what it has marked so far: for each variable the events, in order.
        runs: set[tuple[Configuration, tuple[tuple[str, Event], ...]]] = {((automaton.initial, ()), ())}
        for position in range(start, len(events)):
            if window is not None and not within(window, events[start], events[position]):
                break
            reached = set()
            for configuration, marked in runs:
                for after, new in _step(outgoing, configuration, events, position, latest[position]):
                    reached.add((after, marked + new))
                    if after[0] in automaton.finals:
                        found.add(_complex_event(start + 1, position + 1, marked + new))
            runs = reached
            if not runs:
                break
    return {c for c in found if not any(rules_out(each, c, events, latest) for each in automaton.absences)}


def rules_out(absence: Absence, c: ComplexEvent, events: Sequence[Event], latest: Sequence[tuple[int, ...]]) -> bool:
    """Whether something happens after a complex event that must not."""
    upto = _time(events[c.end - 1]) + absence.length
    after = [event.position for event in events[c.end - 1 :] if _time(event) <= upto]
    if absence.compared is None:
        return latest[after[-1] - 1][absence.guard] >= c.start
    names = list(dict.fromkeys(variable for variable, _ in absence.keys if variable is not None))
    happens = [events[at - 1] for at in after[1:] if latest[at - 1][absence.guard] == at]
    for event, *chosen in product(happens, *map(c, names)):
        held: dict[str | None, Event] = {None: event, **dict(zip(names, chosen, strict=True))}
        if evaluate(absence.compared, lambda node, held=held: held[node.variable].value(node.name)) is True:  # type: ignore[misc]
            return True
    return False


def _time(event: Event) -> int:
    assert event.time is not None, "the checker asks for a stream with time"
    return event.time


def newest_starts(automaton: Acea, events: Sequence[Event]) -> list[tuple[int, ...]]:
    """For each position and guard: where the newest match starts of those that have ended by then."""
    rows: list[tuple[int, ...]] = [() for _ in events]
    for guard in automaton.guards:
        column = _newest_start(guard, events, rows)
        rows = [(*row, start) for row, start in zip(rows, column, strict=True)]
    return rows


def _newest_start(guard: Acea, events: Sequence[Event], latest: Sequence[tuple[int, ...]]) -> list[int]:
    """Only the newest start of each configuration matters."""
    outgoing = by_source(guard.transitions)
    starts: dict[Configuration, int] = {}
    newest, column = 0, []
    for position in range(len(events)):
        starts[(guard.initial, ())] = position + 1
        reached: dict[Configuration, int] = {}
        for configuration, start in starts.items():
            for after, _ in _step(outgoing, configuration, events, position, latest[position]):
                reached[after] = max(start, reached.get(after, 0))
                if after[0] in guard.finals:
                    newest = max(newest, start)
        starts = reached
        column.append(newest)
    return column


def _step(
    outgoing: dict[int, list[Transition]],
    configuration: Configuration,
    events: Sequence[Event],
    position: int,
    latest: tuple[int, ...],
) -> list[tuple[Configuration, tuple[tuple[str, Event], ...]]]:
    """The configurations that one event leads to, each with the events it marks."""
    state, registers = configuration
    event, earlier = events[position], events[position - 1] if position else None
    before = Environment(event, dict(registers), latest, earlier=earlier)
    reached = []
    for transition in outgoing.get(state, ()):
        label = transition.label
        fresh: dict[str, Any] = {}
        assigning = replace(before, fresh=fresh)
        for name, term in label.assign:
            fresh[name] = term.value(assigning)
        after = Environment(event, fresh, latest, earlier=earlier)
        if all(holds(term, after) for term in label.predicate):
            new = tuple((name, mark.event(after)) for name, marked in label.marks for mark in marked)
            reached.append(((transition.target, tuple(fresh.items())), new))
    return reached


def _complex_event(start: int, end: int, marked: tuple[tuple[str, Event], ...]) -> ComplexEvent:
    bags: dict[str, list[Event]] = defaultdict(list)
    for name, event in marked:
        bags[name].append(event)
    return complex_event(start, end, {name: bag(events) for name, events in bags.items()})
