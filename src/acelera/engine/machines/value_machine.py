"""Runs with registers, determinised by marks: one value for each set of configurations that the same marks lead to.

A configuration is a state with the values of its registers. Runs that have marked the same are followed together, as
the set of their configurations, so nothing is found twice and runs that leave no trace in the match are never listed
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Environment, Term, holds
from acelera.engine.machines.machine import Events, Waiting
from acelera.engine.machines.value_algebra import Enumeration, ValueAlgebra
from acelera.engine.nodes.arena import Arena
from acelera.engine.plan import NO_ACTION, Action, Edge, Plan, stored_fields
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, decode, encode
from acelera.engine.ticks import FAR_PAST
from acelera.language.events import Event, Value

Ints = npt.NDArray[Any]

Configuration = tuple[int, tuple[tuple[str, Value], ...]]
Configurations = frozenset[Configuration]

Place = tuple[Configurations, Hashable]
"""Partial matches meet if they are in the same configurations, and are not to be followed apart."""
Move = tuple[Action, tuple[Value, ...], set[Configuration]]
"""What configurations mark, what is stored with it, and where they then are."""

NOT_BEGUN = object()


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
        self.newest = self.newest_moment = 0  # as a position, and as a tick

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
                    self.newest, self.newest_moment = max((self.newest, self.newest_moment), start)
                if self._automaton.goes_on(edge.target):
                    configuration = _configuration(edge, after)
                    reached[configuration] = max(start, reached.get(configuration, start))
        self.starts = reached
        return self.newest

    def dump(self) -> list[Any]:
        """For a snapshot."""
        return [[[encode(at), list(start)] for at, start in self.starts.items()], self.newest, self.newest_moment]

    def load(self, dumped: Sequence[Any]) -> None:
        """Go on from a snapshot."""
        starts, self.newest, self.newest_moment = dumped
        self.starts = {decode(at): (start[0], start[1]) for at, start in starts}
        check.whole(
            "runs", self.newest, self.newest_moment, *(each for start in self.starts.values() for each in start)
        )
        _check_configurations(self._automaton.plan, self.starts)


class ValueGuards:
    """Guards alone, value by value; see Guards."""

    def __init__(self, guards: Sequence[Plan], alphabet: Alphabet) -> None:
        self._plans = guards
        self._automata = [_Automaton(each, alphabet) for each in guards]
        self._guards: list[list[_Guard]] = []  # of each key

    def read(self, events: Events, keys: int) -> tuple[Events, npt.NDArray[np.bool_]]:
        """The events with what the guards say of them; see Guards."""
        while len(self._guards) < keys:
            self._guards.append([_Guard(each) for each in self._automata])
        shape = (len(self._plans), len(events))
        latest, changed = np.zeros(shape, np.int64), np.zeros(shape, np.bool_)
        letters, floors = events.letters.tolist(), events.moment_floors.tolist()
        for index, (letter, key, within) in enumerate(
            zip(letters, events.keys.tolist(), events.within.tolist(), strict=True)
        ):
            event, moment = events.frame.event(within), int(events.moments[index])
            known: tuple[int, ...] = ()
            for number, guard in enumerate(self._guards[key]):
                before = guard.newest_moment
                guard.read(letter, event, moment, floors[index], known)
                known = (*known, guard.newest)
                latest[number, index], changed[number, index] = guard.newest_moment, guard.newest_moment != before
        return replace(events, latest=latest), changed

    def compact(self) -> None:
        """There is nothing that only matches referred to."""

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self._guards = [self._guards[key] for key in keys.tolist()]

    def dump(self) -> dict[str, Section]:
        """For a snapshot."""
        return {"guards": [[guard.dump() for guard in each] for each in self._guards]}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        for each in sections["guards"]:
            guards = [_Guard(automaton) for automaton in self._automata]
            for guard, dumped in zip(guards, each, strict=True):
                guard.load(dumped)
            self._guards.append(guards)


class _Runs:
    """The runs of one key."""

    def __init__(self, guards: Sequence[_Automaton]) -> None:
        self.values: dict[Place, Any] = {}
        self.guards = [_Guard(each) for each in guards]
        self.floor = int(FAR_PAST)


class ValueMachine:
    """Configurations that are compared by value; work for each event grows with the number of configurations.

    Partial matches carry values of an algebra; nodes that can be listed, if none is given.
    """

    def __init__(
        self,
        plan: Plan,
        alphabet: Alphabet,
        unseen: frozenset[Action] = frozenset(),
        algebra: ValueAlgebra | None = None,
    ) -> None:
        self.plan, self._unmarked = plan, unseen | {NO_ACTION}
        self._automaton = _Automaton(plan, alphabet)
        self._guards = [_Automaton(guard, alphabet) for guard in plan.guards if plan.asks_guards]
        self.actions = list(plan.actions)
        self._number = {action: index for index, action in enumerate(self.actions)}
        self._stored_terms = {action: _terms(stored_fields(action, plan)) for action in (*self.actions, NO_ACTION)}
        self.algebra: ValueAlgebra = Enumeration(plan, self.actions) if algebra is None else algebra
        self.runs: list[_Runs] = []
        self._begin: Configurations = frozenset({(plan.initial, ())})

    @property
    def enumeration(self) -> Enumeration:
        """The nodes and what they refer to, if it enumerates."""
        assert isinstance(self.algebra, Enumeration)
        return self.algebra

    @property
    def arena(self) -> Arena:
        """The nodes and hits, if it enumerates."""
        return self.enumeration.arena

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
            if self.algebra.full:
                yield
                self.collect(int(FAR_PAST))
        yield

    def _nothing_happens(self, runs: _Runs, letter: int) -> bool:
        if self._guards or self._automaton.edges(self.plan.initial, letter):
            return False
        waits = self._automaton.only_waits
        return all(waits(state, letter) for configurations, _ in runs.values for state, _ in configurations)

    def _step(self, runs: _Runs, letter: int, event: Event, row: int, tick: int) -> None:
        latest: tuple[int, ...] = ()
        for guard in runs.guards:
            latest = (*latest, guard.read(letter, event, tick, runs.floor, latest))
        algebra, floor = self.algebra, runs.floor
        reached: dict[Place, Any] = {}
        moved: dict[Configurations, list[Move]] = {}
        for (configurations, _), held in [((self._begin, ()), NOT_BEGUN), *runs.values.items()]:
            if held is not NOT_BEGUN and algebra.newest_start(held) < floor:
                continue
            moves = moved.get(configurations)
            if moves is None:
                moves = moved[configurations] = self._moved(configurations, letter, event, latest)
            value = algebra.begin(row, tick) if held is NOT_BEGUN and moves else held
            for action, stored, targets in moves:
                following = value
                if action not in self._unmarked:
                    following = algebra.extend(value, self._number[action], stored, event, row)
                if any(state in self.plan.finals for state, _ in targets):
                    algebra.end(following, row, floor)
                going_on = frozenset(each for each in targets if self._automaton.goes_on(each[0]))
                if going_on:
                    place = (going_on, algebra.apart(following))
                    other = reached.get(place)
                    reached[place] = following if other is None else algebra.union(other, following, floor)
        runs.values = reached

    def _moved(self, configurations: Configurations, letter: int, event: Event, latest: tuple[int, ...]) -> list[Move]:
        """Where the configurations go, apart by what they mark."""
        groups: dict[Any, Move] = {}
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

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values."""
        return self.enumeration.stored_values(action, place, at, kind)

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """An aggregate that failed is an error, and so is one that its type has no room for."""
        self.stored_values(action, place, at, kind)

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        newest = self.algebra.newest_start
        for runs in self.runs:
            oldest = max(runs.floor, floor)
            runs.values = {place: value for place, value in runs.values.items() if newest(value) >= oldest}
        held = self.algebra.collect(*self._held(), floor)
        for runs, values in zip(self.runs, held, strict=True):
            runs.values = dict(zip(runs.values, values, strict=True))

    compact = collect

    def values(self) -> list[Any]:
        """What all partial matches carry."""
        return [value for runs in self.runs for value in runs.values.values()]

    def change_values(self, change: Callable[[Any], Any]) -> None:
        """Let partial matches carry something else, one after the other, in the same order."""
        for runs in self.runs:
            changed = [(configurations, change(value)) for (configurations, _), value in runs.values.items()]
            runs.values = {(each, self.algebra.apart(value)): value for each, value in changed}

    def _held(self) -> tuple[list[list[Any]], list[int]]:
        """What the partial matches of each key carry, and its floor."""
        return [list(runs.values.values()) for runs in self.runs], [runs.floor for runs in self.runs]

    def open_matches(self) -> tuple[Ints, Ints, Ints]:
        """The partial matches: the node, the floor and the key of each."""
        found = [(node, runs.floor, key) for key, runs in enumerate(self.runs) for node in runs.values.values()]
        values, floors, keys = np.array(found, np.int64).reshape(-1, 3).T
        return values.astype(np.int32), np.ascontiguousarray(floors), np.ascontiguousarray(keys)

    def busy_keys(self, keys: int) -> Ints:
        """The keys with a partial match."""
        return np.array([key for key, runs in enumerate(self.runs[:keys]) if runs.values], np.int64)

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self.runs = [self.runs[key] for key in keys.tolist()]

    def dump(self) -> dict[str, Section]:
        """Configurations with the values of their registers, and what partial matches carry."""
        runs: list[Any] = []
        for each in self.runs:
            values = [[encode(at), self.algebra.coded(value)] for (at, _), value in each.values.items()]
            runs.append([values, [guard.dump() for guard in each.guards], each.floor])
        return {**self.algebra.dump(), "runs": runs}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.algebra.load(sections)
        for values, guards, floor in sections["runs"]:
            runs = _Runs(self._guards)
            for at, coded in values:
                value = self.algebra.read(coded)
                runs.values[decode(at), self.algebra.apart(value)] = value
            runs.floor = floor
            check.whole("runs", floor)
            _check_configurations(self.plan, (each for several, _ in runs.values for each in several))
            for guard, dumped in zip(runs.guards, guards, strict=True):
                guard.load(dumped)
            self.runs.append(runs)
        self.algebra.check(*self._held())

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        runs = self.runs[key].values if key < len(self.runs) else {}
        return [
            Waiting(value, tuple((state, dict(registers)) for state, registers in sorted(configurations, key=repr)))
            for (configurations, _), value in runs.items()
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
