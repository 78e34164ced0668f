"""Partial matches: which there are, where they stand, and what they wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import chain, islice
from typing import Any

import numpy as np

from acelera.automata.labels import Label, label_text
from acelera.automata.terms import UNSET, Compared, Const, Fresh, Reg, Term, substitute
from acelera.engine.machines.machine import Waiting
from acelera.engine.nodes.unions import BOTTOM, CHAIN, UNION
from acelera.engine.plan import NO_ACTION, Edge
from acelera.engine.session.session import Session
from acelera.testing.stream import Key, Stream, key_prefix, listing

MOST_SHOWN = 5
"""How many configurations of a partial match are shown, and how many members of a set."""


@dataclass(frozen=True, repr=False)
class Partial:
    """A match in progress: where it starts, what it holds so far, the state it is in, and which events it waits for.

    `state` names the states of the automaton, with what their registers hold. Each of `waits` describes an event that
    takes it further.

    >>> from acelera.testing import Tester
    >>> t = Tester("MATCH A ; B")
    >>> t.push("A X")
    []
    >>> (partial,) = t.partial()
    >>> partial.start, partial["A"], partial.state, partial.waits
    (1, [1], 'q1', ('B',))
    """

    start: int
    positions: dict[str, list[int]]
    state: str
    waits: tuple[str, ...]
    key: Any = None

    def __getitem__(self, variable: str) -> list[int]:
        """The positions of a variable's events."""
        return self.positions[variable]

    def __str__(self) -> str:
        held = listing(": ", self.positions) or ": holds nothing yet"
        return f"from {self.start}{held}; in {self.state}, waits for {' or '.join(self.waits)}"

    def __repr__(self) -> str:
        held = f"start={self.start}{listing(', ', self.positions)}"
        return f"Partial({key_prefix(self.key)}{held}, state={self.state!r}, waits={' or '.join(self.waits)!r})"


class Partials(list[Partial]):
    """Partial matches, by start; `more` tells how many there are besides those that are listed.

    >>> from acelera.testing import Tester
    >>> t = Tester("MATCH A ; B")
    >>> t.push("A A A")
    []
    >>> listed = t.partial(limit=2)
    >>> len(listed), listed.more
    (2, 1)
    """

    more: int = 0

    def __repr__(self) -> str:
        return super().__repr__() + (f" and {self.more} more" if self.more else "")


def partials(stream: Stream, keys: Sequence[Key], limit: int) -> Partials:
    """The partial matches of some keys, at most so many."""
    runs, steps = [Runs(stream.session, each) for each in keys], Steps(stream)
    listed = islice(chain.from_iterable(_partials(each, steps, stream) for each in runs), limit)
    found = Partials(sorted(listed, key=lambda each: (each.start, list(each.positions.values()))))
    found.more = sum(each.count() for each in runs) - len(found)
    return found


def _partials(runs: Runs, steps: Steps, stream: Stream) -> Iterator[Partial]:
    matcher = stream.session.matcher
    at, actions = matcher.store.frame().positions, matcher.machine.actions
    for waiting, split in runs.held(runs.floor(ahead=1)):
        state, waits = steps.state(waiting), steps.waits([(waiting, split)])
        for start, marked in runs.paths(waiting.node):
            positions: dict[str, list[int]] = {name: [] for name in stream.variables}
            for action, row in marked:
                for variable, bag in actions[action].marks:
                    positions[variable] += [int(at[row])] * len(bag)
            yield Partial(int(at[start]), positions, state, waits, stream.shown.get(runs.key))


# --- which there are ----------------------------------------------------------------------------------------------

Standing = tuple[Waiting, tuple[tuple[str, Any], ...]]
"""Where partial matches stand, and the values that split the stream, by column."""


@dataclass
class Start:
    """A first event of partial matches: its tick, and where they stand."""

    tick: int
    standing: list[Standing] = field(default_factory=list)


class Runs:
    """The partial matches that a session holds of a key of PARTITION BY."""

    def __init__(self, session: Session, key: Key) -> None:
        self._matcher, self._held, self.key = session.matcher, session.outgoing.held, key
        stream = session.incoming.partitions
        partitions, counts, keys = stream.partitions, stream.counts, stream.keys
        known, width = partitions.values(), len(partitions.columns)
        number = known.index(key) if key in known else len(known)
        self.events = int(counts[number]) if number < min(len(known), len(counts)) else 0
        columns = keys.columns[width:]
        self._number = number
        self._numbers = [
            (number, tuple(zip(columns, values[width:], strict=True)))
            for number, values in enumerate(keys.values())
            if values[:width] == key
        ]

    def floor(self, ahead: int = 0) -> int:
        """The oldest tick at which a match may start that ends with the last event, or with one after it."""
        window = self._matcher.window
        return self._matcher.floor if window.timed else int(window.floors(np.array([self.events + ahead]))[0])

    def held(self, floor: int) -> list[Standing]:
        """Where partial matches stand that may go on."""
        machine = self._matcher.machine
        return [
            (each, split)
            for number, split in self._numbers
            for each in machine.waiting(number)
            if machine.arena.arrays.newest[each.node] >= floor
        ]

    def count(self) -> int:
        """How many partial matches there are."""
        floor, counts = self.floor(ahead=1), dict[int, int]()
        nodes = [waiting.node for waiting, _ in self.held(floor)]
        for node in self._below(nodes, floor):
            counts[node] = sum(counts[below] for below in self._following(node, floor)) or 1
        return sum(counts[node] for node in nodes)

    def starts(self, floor: int) -> dict[int, Start]:
        """The first events of partial matches, by their place in the stream."""
        nodes, places = self._matcher.machine.arena.arrays, self._matcher.store.places
        found: dict[int, Start] = {}
        for waiting, split in self.held(floor):
            for node in self._below([waiting.node], floor):
                if nodes.mark[node] == BOTTOM:
                    start = found.setdefault(int(places[nodes.right[node]]), Start(int(nodes.newest[node])))
                    start.standing.append((waiting, split))
        return found

    def ended(self) -> dict[int, list[int]]:
        """Matches that have ended and are not given yet: by the place in the stream of their last event, those of their
        first ones.
        """
        nodes, places = self._matcher.machine.arena.arrays, self._matcher.store.places
        found: dict[int, list[int]] = {}
        for hits in (held.hits.only(held.hits.partition == self._number) for held in self._held):
            for node, row, floor in zip(hits.value.tolist(), hits.row.tolist(), hits.floor.tolist(), strict=True):
                below = self._below([node], floor) if nodes.newest[node] >= floor else []
                first = {int(places[nodes.right[each]]) for each in below if nodes.mark[each] == BOTTOM}
                found.setdefault(int(places[row]), []).extend(sorted(first))
        return found

    def paths(self, node: int) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """The partial matches of a node: the row of the first event, and the actions with their rows in order."""
        nodes, floor = self._matcher.machine.arena.arrays, self.floor(ahead=1)
        actions = len(self._matcher.machine.actions)
        todo: list[tuple[int, list[tuple[int, int]]]] = [(node, [])]
        while todo:
            node, marked = todo.pop()
            mark = int(nodes.mark[node])
            if mark == BOTTOM:
                yield int(nodes.right[node]), marked[::-1]
            if 0 <= mark < actions:  # others carry values that were made
                marked = [*marked, (mark, int(nodes.right[node]))]
            todo += [(below, marked) for below in reversed(self._following(node, floor))]

    def _following(self, node: int, floor: int) -> list[int]:
        """The nodes that a node is made of, and that are in the window."""
        nodes = self._matcher.machine.arena.arrays
        mark, left, right = int(nodes.mark[node]), int(nodes.left[node]), int(nodes.right[node])
        if mark == BOTTOM:
            return []
        return [left, right] if mark in (UNION, CHAIN) and nodes.newest[right] >= floor else [left]

    def _below(self, nodes: Iterable[int], floor: int) -> list[int]:
        """Nodes and all below them, each after those that it is made of."""
        found, todo = set(nodes), list(nodes)
        while todo:
            fresh = [each for each in self._following(todo.pop(), floor) if each not in found]
            found.update(fresh)
            todo += fresh
        return sorted(found)


# --- what they wait for -------------------------------------------------------------------------------------------


class Steps:
    """Where partial matches stand and what takes them further, in words."""

    def __init__(self, stream: Stream) -> None:
        self._stream, self._plan = stream, stream.session.matcher.plan
        self._outgoing: dict[int, list[Edge]] = {}
        for edge in self._plan.edges:
            self._outgoing.setdefault(edge.source, []).append(edge)

    def state(self, waiting: Waiting) -> str:
        """States as the user calls them, with the values of their registers."""
        name = self._stream.query.automaton.name
        found = {(state, name(state) + _registers_text(registers)) for state, registers in waiting.configurations}
        return _some([text for _, text in sorted(found)], " or ")

    def beginning(self) -> list[str]:
        """The events that a match may begin with."""
        value = f" with a value of {', '.join(self._plan.split_by)}" if self._plan.split_by else ""
        found = (self._text(edge) + value for edge in self._outgoing.get(self._plan.initial, ()))
        return list(dict.fromkeys(found))

    def waits(self, standing: Iterable[Standing]) -> tuple[str, ...]:
        """The events that take partial matches further that stand there."""
        listed: dict[str, None] = {}
        for waiting, split in standing:
            found: dict[str, str] = {}
            for state in sorted({state for state, _ in waiting.configurations}):
                for text, patience in self._waits(state):
                    found[text] = patience if found.get(text, patience) else ""
            value = f" with {self._stream.values_text(split)}" if split else ""
            listed |= dict.fromkeys(text + value + patience for text, patience in found.items())
        return tuple(listed)

    def _waits(self, state: int) -> Iterator[tuple[str, str]]:
        """The events that a state waits for, each with how long it may take."""
        for edge in self._outgoing.get(state, ()):
            if _does_nothing(edge) and edge.target == state:
                continue
            if _does_nothing(edge) and not (edge.tests or edge.conditions) and not self._patience(edge.target):
                further = self._outgoing.get(edge.target, ())
                yield from ((self._text(each), "") for each in further if not each.idle)
            else:
                yield self._text(edge), self._patience(state)

    def _patience(self, state: int) -> str:
        edges = self._outgoing.get(state, ())
        if any(edge.idle and not edge.tests for edge in edges):
            return ""
        staying = [self._text(edge) for edge in edges if edge.target == state and _does_nothing(edge)]
        return f" (while {' or '.join(staying)})" if staying else " (at the next position)"

    def _text(self, edge: Edge) -> str:
        alone = [self._plan.tests[number] for number in sorted(edge.tests)]
        return event_text(edge.assign, (*alone, *edge.conditions))


def _does_nothing(edge: Edge) -> bool:
    return edge.action == NO_ACTION and all(term == Reg(name) for name, term in edge.assign)


def event_text(assign: Sequence[tuple[str, Term]], predicate: Sequence[Term]) -> str:
    """What an event must be, given the registers as they are before it."""
    after: dict[str, Term] = {}
    for name, term in assign:
        after[name] = substitute(term, lambda part: after[part.name] if isinstance(part, Fresh) else None)
    terms = (
        substitute(term, lambda part: after.get(part.name) if isinstance(part, Reg) else None) for term in predicate
    )
    unset = Const(UNSET)
    asked = [term for term in terms if not (isinstance(term, Compared) and unset in (term.left, term.right))]
    return label_text(Label((), tuple(asked)))


def _registers_text(registers: Mapping[str, Any]) -> str:
    """The registers that are set, in brackets."""
    shown = ", ".join(
        f"{name} = {_value_text(registers[name])}" for name in sorted(registers) if registers[name] is not UNSET
    )
    return f" ({shown})" if shown else ""


def _value_text(value: Any) -> str:
    match value:
        case frozenset():
            return f"{{{_some(sorted(map(_value_text, value)), ', ')}}}"
        case (single,):  # a member of a set of values of one attribute
            return _value_text(single)
        case tuple():
            return f"({', '.join(map(_value_text, value))})"
        case Decimal():
            return str(value)
    return str(Const(value))


def _some(texts: Sequence[str], between: str) -> str:
    """The first of the texts."""
    return between.join([*texts[:MOST_SHOWN], "…"] if len(texts) > MOST_SHOWN else texts)
