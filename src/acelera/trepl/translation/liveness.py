"""Which registers matter to a configuration that rests in a state; others are forgotten, so that equal ones merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from acelera.language.ast import Expression
from acelera.language.tree import walk
from acelera.stages.model import Condition, Edge, Guard, Held, Machine, Step, Total


def live_registers(machine: Machine) -> tuple[frozenset[int], ...]:
    """For each state the registers that what follows looks at."""
    live: list[frozenset[int]] = [frozenset()] * len(machine.states)
    changed = True
    while changed:
        changed = False
        arrival = [_at_arrival(machine, number, live) for number in range(len(machine.states))]
        for number in range(1, len(machine.states)):
            leaving = (edge for edge in machine.edges if edge.source == number)
            found = live[number].union(*(_before(edge, arrival[edge.target], machine.guards) for edge in leaving))
            expires = machine.states[number].expires
            found |= {expires[0]} if expires is not None else set()
            changed |= found != live[number]
            live[number] = found
    return tuple(live)


def with_little_cleared(machine: Machine) -> Machine:
    """The same without clearing what holds nothing: only registers that matter are held in a state."""
    edges = tuple(
        replace(edge, clears=tuple(each for each in edge.clears if each in machine.live[edge.source]))
        for edge in machine.edges
    )
    return replace(machine, edges=edges)


def _at_arrival(machine: Machine, state: int, live: list[frozenset[int]]) -> frozenset[int]:
    found: set[int] = set()
    for outcome in machine.states[state].outcomes:
        found.update(_read_by(outcome.conditions))
        if outcome.state is not None:
            found |= live[outcome.state]
        for head in outcome.heads:
            found.update(_registers(machine.heads[head].arguments))
    return frozenset(found)


def _before(edge: Edge, after: frozenset[int], guards: tuple[Guard, ...]) -> frozenset[int]:
    """What must be known before an edge is taken, so that this is known after it."""
    stored = {store.register for step in edge.steps for store in step.stores if not store.once}
    needed = after.union(_read_by(edge.tests), *(_read_by_step(step) for step in edge.steps)) - stored
    needed = needed.union(*(_read_by_step(step) for steps in edge.absences for step in steps))
    needed = needed.union(*(_registers(guards[guard].key) for guard in edge.begins))
    moved = dict(edge.moves)
    needed = frozenset(moved.get(each, each) for each in needed if each not in edge.clears and each not in edge.flags)
    return needed.union(*(_registers(guards[guard].key) for guard in edge.loops))


def _read_by_step(step: Step) -> Iterator[int]:
    yield from _read_by((*step.before, *step.after, *step.last))
    for fold in step.folds:
        yield fold.register
        yield from _registers([] if fold.value is None else [fold.value])
    for store in step.stores:
        if store.once:
            yield store.register
        yield from _registers([store.value])


def _read_by(conditions: Iterable[Condition]) -> Iterator[int]:
    for each in conditions:
        yield from each.unless
        yield from _registers([each.expression])


def _registers(expressions: Iterable[Expression]) -> Iterator[int]:
    for expression in expressions:
        for node in walk(expression):
            if isinstance(node, Held | Total):
                yield node.register
