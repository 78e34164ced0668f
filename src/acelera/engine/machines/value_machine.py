"""Runs with registers, determinised by marks: one node for each set of configurations that the same marks lead to.

A configuration is a state with the values of its registers. Runs that have marked the same are followed together, as
the set of their configurations, so nothing is found twice and runs that leave no trace in the match are never listed
one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Environment, Term, holds
from acelera.engine.machines.machine import Events, Waiting
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.slots import Slots
from acelera.engine.nodes.unions import BOTTOM
from acelera.engine.plan import NO_ACTION, Action, Edge, Plan, stored_fields
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, decode, encode
from acelera.engine.ticks import FAR_PAST
from acelera.errors import AggregateError
from acelera.language.aggregates import Failure
from acelera.language.events import Event, Value
from acelera.tables import leaves

Ints = npt.NDArray[Any]

Configuration = tuple[int, tuple[tuple[str, Value], ...]]
Configurations = frozenset[Configuration]

NOT_BEGUN = -1


class _Automaton:
    """The edges of a plan by state and letter."""

    def __init__(self, plan: Plan, alphabet: Alphabet) -> None:
        self.plan, self._alphabet = plan, alphabet
        self._edges: dict[tuple[int, int], list[Edge]] = {}

    def goes_on(self, state: int) -> bool:
        """Whether anything can follow."""
        return state in self.plan.outgoing

    def edges(self, state: int, letter: int) -> list[Edge]:
        """The edges that a letter permits."""
        key = (state, letter)
        if key not in self._edges:
            holding = self._alphabet.holding[letter]
            self._edges[key] = [edge for edge in self.plan.outgoing.get(state, ()) if edge.tests <= holding]
        return self._edges[key]

    def only_waits(self, state: int, letter: int) -> bool:
        """Whether an event with this letter changes nothing in a state."""
        edges = self.edges(state, letter)
        return len(edges) == 1 and edges[0].idle


def _after(edge: Edge, registers: dict[str, Value], event: Event, latest: tuple[int, ...]) -> Environment | None:
    """Registers as they are after an edge, or None if its conditions do not hold."""
    fresh: dict[str, Value] = {}
    if edge.assign:
        assigning = Environment(event, registers, latest, fresh)
        for name, term in edge.assign:
            fresh[name] = term.value(assigning)
    after = Environment(event, fresh, latest)
    return after if all(holds(term, after) for term in edge.conditions) else None


def _configuration(edge: Edge, after: Environment) -> Configuration:
    return edge.target, tuple(sorted(after.registers.items()))


class _Guard:
    """What UNLESS forbids: for each configuration the newest start, and the newest start of all matches so far."""

    def __init__(self, automaton: _Automaton) -> None:
        self._automaton = automaton
        self.starts: dict[Configuration, tuple[int, int]] = {}  # position and tick
        self.newest = 0

    def read(self, letter: int, event: Event, tick: int, floor: int, latest: tuple[int, ...]) -> int:
        plan = self._automaton.plan
        begun = (event.position, tick)
        reached: dict[Configuration, tuple[int, int]] = {}
        for (state, registers), start in ((((plan.initial, ()), begun)), *self.starts.items()):
            if start[1] < floor:
                continue
            for edge in self._automaton.edges(state, letter):
                after = _after(edge, dict(registers), event, latest)
                if after is None:
                    continue
                if edge.target in plan.finals:
                    self.newest = max(self.newest, start[0])
                if self._automaton.goes_on(edge.target):
                    configuration = _configuration(edge, after)
                    reached[configuration] = max(start, reached.get(configuration, start))
        self.starts = reached
        return self.newest


class _Runs:
    """The runs of one key."""

    def __init__(self, guards: Sequence[_Automaton]) -> None:
        self.nodes: dict[Configurations, int] = {}
        self.guards = [_Guard(each) for each in guards]
        self.floor = int(FAR_PAST)


class ValueMachine:
    """Configurations that are compared by value; work for each event grows with the number of configurations."""

    def __init__(self, plan: Plan, alphabet: Alphabet, unseen: frozenset[Action] = frozenset()) -> None:
        self.plan, self.arena, self._unmarked = plan, Arena(), unseen | {NO_ACTION}
        self._automaton = _Automaton(plan, alphabet)
        self._guards = [_Automaton(guard, alphabet) for guard in plan.guards]
        self.actions = list(plan.actions)
        self._number = {action: index for index, action in enumerate(self.actions)}
        self._stored_terms = {action: _terms(stored_fields(action, plan)) for action in (*self.actions, NO_ACTION)}
        self.stored: list[tuple[Value, ...]] = []
        self.runs: list[_Runs] = []
        self._begin: Configurations = frozenset({(plan.initial, ())})
        self._limit = 1 << 15

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events; see Machine."""
        while len(self.runs) < keys:
            self.runs.append(_Runs(self._guards))
        letters, ticks, floors = events.letters.tolist(), events.ticks.tolist(), events.floors.tolist()
        keys_read, rows, within = events.keys.tolist(), events.rows.tolist(), events.within.tolist()
        for index, letter in enumerate(letters):
            runs = self.runs[keys_read[index]]
            runs.floor = floors[index]
            if self._nothing_happens(runs, letter):
                continue
            event = events.frame.event(within[index])
            self._step(runs, letter, event, rows[index], ticks[index])
            if self.arena.size > self._limit:
                yield
                self.collect(int(FAR_PAST))
                self._limit = max(1 << 15, 2 * self.arena.size)
        yield

    def _nothing_happens(self, runs: _Runs, letter: int) -> bool:
        if self._guards or self._automaton.edges(self.plan.initial, letter):
            return False
        waits = self._automaton.only_waits
        return all(waits(state, letter) for configurations in runs.nodes for state, _ in configurations)

    def _step(self, runs: _Runs, letter: int, event: Event, row: int, tick: int) -> None:
        latest: tuple[int, ...] = ()
        for guard in runs.guards:
            latest = (*latest, guard.read(letter, event, tick, runs.floor, latest))
        reached: dict[Configurations, int] = {}
        for configurations, held in [(self._begin, NOT_BEGUN), *runs.nodes.items()]:
            if held != NOT_BEGUN and self.arena.arrays.newest[held] < runs.floor:
                continue
            groups = self._moved(configurations, letter, event, latest)
            node = self.arena.add(BOTTOM, -1, row, tick) if held == NOT_BEGUN and groups else held
            for action, stored, targets in groups:
                following = self._marked(node, action, stored, row)
                if any(state in self.plan.finals for state, _ in targets):
                    self.arena.hits.add(following, row, runs.floor)
                going_on = frozenset(each for each in targets if self._automaton.goes_on(each[0]))
                if going_on:
                    other = reached.get(going_on)
                    joined = following if other is None else self.arena.union(other, following, runs.floor)
                    reached[going_on] = joined
        runs.nodes = reached

    def _moved(
        self, configurations: Configurations, letter: int, event: Event, latest: tuple[int, ...]
    ) -> list[tuple[Action, tuple[Value, ...], set[Configuration]]]:
        """Where the configurations go, apart by what they mark."""
        groups: dict[Any, tuple[Action, tuple[Value, ...], set[Configuration]]] = {}
        for state, registers in configurations:
            for edge in self._automaton.edges(state, letter):
                after = _after(edge, dict(registers), event, latest)
                if after is None:
                    continue
                stored = tuple(term.value(after) for term in self._stored_terms[edge.action])
                sign = _signature(edge.action, after) if self.plan.by_value else (edge.action, stored)
                if sign not in groups:
                    groups[sign] = (edge.action, stored, set())
                groups[sign][2].add(_configuration(edge, after))
        return list(groups.values())

    def _marked(self, node: int, action: Action, stored: tuple[Value, ...], row: int) -> int:
        if action in self._unmarked:
            return node
        number, newest = self._number[action], int(self.arena.arrays.newest[node])
        node = self.arena.add(number, node, row, newest)
        if stored:
            self.stored.append(stored)
            node = self.arena.add(len(self.actions) + number, node, len(self.stored) - 1, newest)
        return node

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values."""
        values = [self.stored[index][place] for index in at.tolist()]
        for value in values:
            if isinstance(value, Failure):
                raise AggregateError(value.message)
        _, name = stored_fields(self.actions[action], self.plan)[place]
        return leaves(values, kind, name)

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """An aggregate that failed is an error, and so is one that its type has no room for."""
        self.stored_values(action, place, at, kind)

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        newest = self.arena.arrays.newest
        for runs in self.runs:
            oldest = max(runs.floor, floor)
            runs.nodes = {each: node for each, node in runs.nodes.items() if newest[node] >= oldest}
        slots = self._slots()
        self.arena.collect(slots, floor)
        for key, runs in enumerate(self.runs):
            runs.nodes = dict(zip(runs.nodes, slots.of_key(key)[1].tolist(), strict=True))
        self._forget_stored()

    compact = collect

    def _slots(self) -> Slots:
        nodes = np.array([node for runs in self.runs for node in runs.nodes.values()], np.int32)
        counts = np.array([len(runs.nodes) for runs in self.runs], np.int32)
        floors = np.array([runs.floor for runs in self.runs], np.int64)
        return Slots.of(counts, nodes, floors)

    def _forget_stored(self) -> None:
        used, moved = self.arena.stored(len(self.actions)), np.zeros(len(self.stored), np.int64)
        moved[used] = np.arange(len(used))
        self.stored = [self.stored[index] for index in used.tolist()]
        self.arena.move_stored(len(self.actions), moved)

    def busy_keys(self, keys: int) -> Ints:
        """The keys with a partial match."""
        return np.array([key for key, runs in enumerate(self.runs[:keys]) if runs.nodes], np.int64)

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self.runs = [self.runs[key] for key in keys.tolist()]

    def dump(self) -> dict[str, Section]:
        """Nodes, configurations with the values of their registers, stored values."""
        runs: list[Any] = []
        for each in self.runs:
            nodes = [[encode(configurations), node] for configurations, node in each.nodes.items()]
            guards = [[[encode(at), list(start)] for at, start in guard.starts.items()] for guard in each.guards]
            runs.append([nodes, guards, [guard.newest for guard in each.guards], each.floor])
        stored: Section = [encode(values) for values in self.stored]
        return {**self.arena.dump(), "runs": runs, "stored": stored}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.arena.load(sections)
        self.stored = [decode(values) for values in sections["stored"]]
        for nodes, guards, newest, floor in sections["runs"]:
            runs = _Runs(self._guards)
            runs.nodes = {decode(configurations): node for configurations, node in nodes}
            runs.floor = floor
            check.whole("runs", floor, *runs.nodes.values(), *newest)
            check.in_range("runs", np.array(list(runs.nodes.values()), np.int64), 0, self.arena.size)
            _check_configurations(self.plan, (each for several in runs.nodes for each in several))
            for guard, plan, starts, latest in zip(runs.guards, self.plan.guards, guards, newest, strict=True):
                guard.starts = {decode(at): (start[0], start[1]) for at, start in starts}
                guard.newest = latest
                check.whole("runs", *(number for start in guard.starts.values() for number in start))
                _check_configurations(plan, guard.starts)
            self.runs.append(runs)
        self.arena.check(self._slots(), len(self.actions), len(self.stored))
        check.holds(
            "stored", all(isinstance(values, tuple) for values in self.stored), "has something that is no tuple"
        )

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        runs = self.runs[key].nodes if key < len(self.runs) else {}
        return [
            Waiting(node, tuple((state, dict(registers)) for state, registers in sorted(configurations, key=repr)))
            for configurations, node in runs.items()
        ]


def _check_configurations(plan: Plan, configurations: Iterable[Any]) -> None:
    """Whether these are states with registers."""
    assigned: list[set[str]] = [set() for _ in range(plan.states)]
    for edge in plan.edges:
        assigned[edge.target] |= {name for name, _ in edge.assign}
    for state, registers in configurations:
        check.whole("runs", state)
        check.in_range("runs", np.array([state]), 0, plan.states)
        check.holds("runs", {name for name, _ in registers} <= assigned[state], "has a register that is not there")


def _terms(fields: Sequence[tuple[Any, str]]) -> tuple[Term, ...]:
    return tuple(dict(mark.fields)[name] for mark, name in fields)


def _signature(action: Action, after: Environment) -> Any:
    """What an action marks, by value: equal for actions that put equal events into all variables."""
    bags = []
    for variable, bag in action.marks:
        marked = [None if mark.fields is None else mark.event(after).without_origin() for mark in bag]
        bags.append((variable, tuple(sorted(marked, key=repr)) if len(marked) > 1 else tuple(marked)))
    return tuple(bags), action.folds
