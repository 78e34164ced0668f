"""sat_E(b, J), stage by stage: the tables of section 3 of the contract, and the star of section 4."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import NamedTuple

from acelera.language.ast import Expression
from acelera.language.events import Value
from acelera.trepl import ast
from acelera.trepl.resolved import EventType, Simple
from acelera.trepl.semantics.bindings import NOTHING, Bindings
from acelera.trepl.semantics.histories import Event
from acelera.trepl.semantics.predecessors import OwnEvent, Path, Predecessor, grouped, own_events, placed
from acelera.trepl.semantics.rule_terms import Condition, Read, Terms
from acelera.trepl.shape import bound as variables_in

Sat = dict[Path, frozenset[Bindings]]
"""sat_E(·, J) for each goal E, at one stage."""

EventsByType = Mapping[EventType, Sequence[Event]]


class Taken(NamedTuple):
    """A point that is satisfied after some b: what is bound then, and the set T of events that it takes."""

    bindings: Bindings
    events: frozenset[Event]


@dataclass
class Memory:
    """What the past has left: sat at the stage before; all that waits; what came earlier, and at all."""

    before: Sat = field(default_factory=dict)
    waiting: dict[Path, set[Bindings]] = field(default_factory=dict)
    earlier: dict[Path, set[Bindings]] = field(default_factory=dict)
    occurred: set[Path] = field(default_factory=set)


class Pattern:
    """The event of a rule, with all that can be told of it before anything happens."""

    def __init__(self, goal: ast.Goal, heads: Iterable[Sequence[Expression]], zone: str) -> None:
        whole = grouped(goal)
        self.terms = Terms(zone)
        self.goals = placed(whole)
        self.own_events = own_events(whole)
        self.conditions: dict[Path, Condition] = {
            path: self.terms.condition(each.condition)
            for path, each in self.goals.items()
            if isinstance(each, Simple | ast.Test)
        }
        self.heads: list[list[Read]] = [[self.terms.read(each) for each in head] for head in heads]

    @cached_property
    def stars(self) -> dict[Path, ast.Star]:
        """All stars."""
        return {path: goal for path, goal in self.goals.items() if isinstance(goal, ast.Star)}

    @cached_property
    def starred(self) -> dict[Path, tuple[frozenset[str], frozenset[str]]]:
        """For each star the variables that it binds, and those of stars inside it."""
        found = {}
        for path, star in self.stars.items():
            those = [variables_in(self.stars[other]) for other in _within(self.stars, path)]
            inner = frozenset[str]().union(*those)
            found[path] = (variables_in(star) - inner, inner)
        return found

    @cached_property
    def key_slots(self) -> dict[Path, tuple[str, ...]]:
        """For each star what key_S looks at: terms of variables that are not bound in it, in conditions to come."""
        found = {}
        for path, star in self.stars.items():
            outermost = min(path[:size] for size in range(len(path) + 1) if path[:size] in self.stars)
            still_to_come = [each for place, each in self.conditions.items() if place >= outermost]
            slots = {slot for condition in still_to_come for read in condition.conjuncts for slot in read.slots}
            bound = variables_in(star)
            found[path] = tuple(sorted(slot for slot in slots if self.terms.variable[slot] not in bound))
        return found

    def key(self, star: Path, bindings: Bindings) -> tuple[Value, ...]:
        """key_S(b)."""
        return tuple([self.terms.shown(slot, bindings) for slot in self.key_slots[star]])

    # --- a stage ------------------------------------------------------------------------------------------------------

    def satisfied(self, memory: Memory, events: EventsByType) -> Sat:
        """sat of all goals at s(J), after what is remembered of the stages up to J."""
        now: Sat = {}
        for own in self.own_events:
            _AtStage(self, own, memory, events, now).fill()
        return now

    def at_zero(self) -> Sat:
        """sat of all goals at stage 0, where nothing has happened."""
        now: Sat = {}
        for own in self.own_events:
            _AtStage(self, own, Memory(), {}, now).fill(zero=True)
        return now

    def begun(self) -> Memory:
        """The memory after stage 0."""
        memory = Memory()
        self._keep(memory, self.at_zero())
        return memory

    def remember(self, memory: Memory, now: Sat, events: EventsByType) -> None:
        """Let a stage be the past."""
        firsts = [path for path, goal in self.goals.items() if isinstance(goal, ast.First)]
        memory.occurred |= {path for path in firsts if self._occurs(path, memory, now, events)}
        for path, goal in self.goals.items():
            if isinstance(goal, ast.Prior):
                memory.earlier.setdefault(path, set()).update(now[(*path, 0)])
        self._keep(memory, now)

    def _occurs(self, first: Path, memory: Memory, now: Sat, events: EventsByType) -> bool:
        """Whether the event of `first(E)`, without imports, is satisfied."""
        if (*first, 0) in now:
            return bool(now[(*first, 0)])
        own = next(each for each in self.own_events if any(first in inside for inside in each.points.values()))
        inside = next(inside for inside in own.points.values() if first in inside)
        taken = _AtStage(self, own, memory, events, now).taken_inside(inside, [NOTHING])
        return bool(taken[(*first, 0)][NOTHING])

    def _keep(self, memory: Memory, now: Sat) -> None:
        memory.before = now
        for path in self._awaited:
            memory.waiting.setdefault(path, set()).update(now[path])

    @cached_property
    def _awaited(self) -> set[Path]:
        """The goals that later ones wait for."""
        before = [each for own in self.own_events for those in own.predecessors.values() for each in those]
        return {each.goal for each in before if each.kind == "wait"}


@dataclass
class _AtStage:
    """One event of its own at one stage: `now` is filled with what is satisfied."""

    pattern: Pattern
    own: OwnEvent
    memory: Memory
    events: EventsByType
    now: Sat

    def fill(self, zero: bool = False) -> None:
        """Satisfy all goals, each after its parts."""
        self.entries = {point: dict(self._entries(point, zero)) for point in self.own.points}
        self.taken = {point: self._taken_by(point) for point in self.own.points}
        for path, goal in self.own.goals.items():
            found = self._begun_or_gone_on(path) if path in self.own.points else self._composed(path, goal)
            self.now[path] = frozenset(found)

    # --- ENTRY --------------------------------------------------------------------------------------------------------

    def _entries(self, point: Path, zero: bool) -> Iterator[tuple[Predecessor, list[Bindings]]]:
        """ENTRY(E, J) of a point, by predecessor; before stage 0 there is nothing, but what `any` begins with."""
        if zero:
            yield from ((each, [NOTHING]) for each in self.own.begins_at_zero(point))
        else:
            yield from ((each, self._entry(each)) for each in self.own.predecessors[point])

    def _entry(self, before: Predecessor) -> list[Bindings]:
        found: Iterable[Bindings]
        match before.kind:
            case "start":
                found = [NOTHING]
            case "after":
                found = self.memory.before[before.goal]
            case "wait":
                found = self.memory.waiting[before.goal]
            case _:
                found = [self._looped(before.goal, each) for each in self.memory.before[before.goal]]
        for star in before.begun:
            own, _ = self.pattern.starred[star]
            found = [self.pattern.terms.dropped(each, own) for each in found]
        return list(found)

    def _looped(self, star: Path, bindings: Bindings) -> Bindings:
        """The next round: what the star binds is unbound again."""
        return self.pattern.terms.unbound(bindings, self.pattern.starred[star][0])

    # --- points -------------------------------------------------------------------------------------------------------

    def _taken_by(self, point: Path) -> dict[Bindings, set[Taken]]:
        """What a point takes after each of its entries."""
        entries = {each for those in self.entries[point].values() for each in those}
        return self.taken_inside(self.own.points[point], entries)[point]

    def taken_inside(
        self, inside: Mapping[Path, ast.Goal], entries: Iterable[Bindings]
    ) -> dict[Path, dict[Bindings, set[Taken]]]:
        """The same for all goals inside a point."""
        found: dict[Path, dict[Bindings, set[Taken]]] = {}
        after = list(entries)
        for path, goal in inside.items():
            parts = [found.get((*path, number), {}) for number in range(len(ast.children(goal)))]
            found[path] = {b: set(self._takes(path, goal, b, [part.get(b, set()) for part in parts])) for b in after}
        return found

    def _takes(self, path: Path, goal: ast.Goal, b: Bindings, parts: Sequence[set[Taken]]) -> Iterator[Taken]:
        """What a point takes after b, from what its parts take."""
        terms, conditions = self.pattern.terms, self.pattern.conditions
        match goal:
            case Simple(types, variable, _):
                for event in (each for kind in types for each in self.events.get(kind, ())):
                    bound = terms.bind(b, variable, event)
                    if terms.holds(conditions[path], bound):
                        yield Taken(bound, frozenset({event}))
            case ast.Any():
                yield Taken(b, frozenset())
            case ast.Not():
                if not (self.now.get((*path, 0)) or parts[0]):
                    yield Taken(b, frozenset())
            case ast.Either():
                yield from (Taken(b, events) for part in parts for _, events in part)
            case ast.Both():
                yield from (_together(b, those) for those in product(*parts))
            case ast.First():
                yield from () if path in self.memory.occurred else parts[0]
            case ast.Sequence(goals):
                tests = [conditions[(*path, number)] for number in range(1, len(goals))]
                yield from (each for each in parts[0] if all(terms.holds(test, each.bindings) for test in tests))

    # --- the guard of the star ----------------------------------------------------------------------------------------

    def _begun_or_gone_on(self, point: Path) -> Iterator[Bindings]:
        """sat of a point: all that it takes, but where a star would begin that goes on already."""
        for before, entries in self.entries[point].items():
            guarded = [star for star in before.begun if self._is_guarded(star)]
            for b in entries:
                for bindings, events in self.taken[point][b]:
                    if not any(events in self._extensions[star].get(self.pattern.key(star, b), ()) for star in guarded):
                        yield bindings

    def _is_guarded(self, star: Path) -> bool:
        return not self.own.stars[star].every and not self.own.is_exempt(star)

    @cached_property
    def _extensions(self) -> dict[Path, dict[tuple[Value, ...], set[frozenset[Event]]]]:
        """For each star and key the sets of events with which an active instance goes on."""
        found: dict[Path, dict[tuple[Value, ...], set[frozenset[Event]]]] = {star: {} for star in self.own.stars}
        for point, entries in self.entries.items():
            for before in entries:
                if before.kind == "loop":
                    for b in entries[before]:
                        keyed = found[before.goal].setdefault(self.pattern.key(before.goal, b), set())
                        keyed.update(events for _, events in self.taken[point][b])
        return found

    # --- composites ---------------------------------------------------------------------------------------------------

    def _composed(self, path: Path, goal: ast.Goal) -> Iterable[Bindings]:
        """sat of a composite or a test, from what is satisfied of its parts, or of the goal before it."""
        terms = self.pattern.terms
        parts = [self.now[(*path, number)] for number in range(len(ast.children(goal)))]
        match goal:
            case ast.Test():
                before = self.now[(*path[:-1], path[-1] - 1)]
                return (each for each in before if terms.holds(self.pattern.conditions[path], each))
            case ast.Sequence():
                return parts[-1]
            case ast.Star():
                own, inner = self.pattern.starred[path]
                return (terms.dropped(terms.round_over(each, own), inner) for each in parts[0])
            case ast.Either():
                return (terms.dropped(each, variables_in(goal)) for part in parts for each in part)
            case ast.Both():
                return (_joined(those) for those in product(*parts))
            case ast.First():
                return () if path in self.memory.occurred else parts[0]
            case ast.Prior():
                return (_joined(those) for those in product(parts[1], self.memory.earlier.get(path, ())))
        raise AssertionError(f"unknown goal {type(goal).__name__}")


def _together(b: Bindings, those: Sequence[Taken]) -> Taken:
    """What several points take at one stage after the same b."""
    bindings, events = b, frozenset[Event]()
    for each in those:
        bindings, events = bindings.joined(each.bindings, b), events | each.events
    return Taken(bindings, events)


def _joined(those: Iterable[Bindings]) -> Bindings:
    """What several events bind that began on their own."""
    found = NOTHING
    for each in those:
        found = found.joined(each, NOTHING)
    return found


def _within(paths: Iterable[Path], outer: Path) -> list[Path]:
    return [each for each in paths if len(each) > len(outer) and each[: len(outer)] == outer]
