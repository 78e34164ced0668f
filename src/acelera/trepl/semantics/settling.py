"""Rules at work: module after module, stage after stage, and at each stratum after stratum (sections 3 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from acelera.language.aggregates import canonical
from acelera.language.events import Value
from acelera.language.types import Kind, Type
from acelera.trepl.history import Change, Fired
from acelera.trepl.resolved import Derive, EventType, Module, Program, Rule
from acelera.trepl.semantics.bindings import Bindings
from acelera.trepl.semantics.histories import Event, Happened, Key, Stage, basic, derived, histories
from acelera.trepl.semantics.satisfaction import EventsByType, Memory, Pattern, Sat

Arguments = tuple[Value, ...]


def fired(program: Program, history: Iterable[Change]) -> list[Fired]:
    """All that the rules of a program do.

    Ordered by module, those that feed others first, then by stage, rule, action, arguments and key.
    """
    happened = [basic(each) for each in history]
    found: list[Fired] = []
    for module in program.modules:
        running = _Running(module, program.zone)
        rows: list[Fired] = []
        for key, stages in histories(module, happened).items():
            rows += running.through(key, stages)
        happened += [Happened(row.instant, event) for row in rows for event in running.made(row)]
        found += sorted(rows, key=running.rank)
    return found


class _Rule(NamedTuple):
    """A rule with what can be told of its event beforehand."""

    written: Rule
    pattern: Pattern

    def arguments(self, action: int, satisfied: Iterable[Bindings]) -> set[Arguments]:
        """The argument lists of an action over all b."""
        types = self.written.types[action]
        reads = list(zip(self.pattern.heads[action], types, strict=True))
        return {tuple([_typed(self.pattern.terms.value(read, b), kind) for read, kind in reads]) for b in satisfied}


class _Running:
    """The rules of a module."""

    def __init__(self, module: Module, zone: str) -> None:
        self._module = module
        self._rules = [
            _Rule(rule, Pattern(rule.goal, [each.arguments for each in rule.actions], zone)) for rule in module.rules
        ]
        self._numbers = {rule.name: number for number, rule in enumerate(module.rules)}

    def rank(self, row: Fired) -> tuple[object, ...]:
        """Where a row stands among those of the module."""
        values = [[_order(each) for each in those] for those in (row.arguments, row.key)]
        return (row.stage, self._numbers[row.rule], row.action, *values)

    def made(self, row: Fired) -> Iterator[Event]:
        """The derived event that a row stands for, if it does."""
        action = self._module.rules[self._numbers[row.rule]].actions[row.action]
        if isinstance(action, Derive):
            yield self._derived(action, row.arguments, row.timestamp)

    def through(self, key: Key, stages: Iterable[Stage]) -> Iterator[Fired]:
        """What the rules do in the history of one key."""
        memories = [rule.pattern.begun() for rule in self._rules]
        for stage in stages:
            events = self._settled(stage, memories)
            for rule, memory in zip(self._rules, memories, strict=True):
                now = rule.pattern.satisfied(memory, events)
                yield from self._rows(key, stage, rule, now)
                rule.pattern.remember(memory, now, events)

    def _rows(self, key: Key, stage: Stage, rule: _Rule, now: Sat) -> Iterator[Fired]:
        module, name = self._module.name, rule.written.name
        for action in range(len(rule.written.actions)):
            for arguments in rule.arguments(action, now[()]):
                yield Fired(module, key, name, action, stage.number, stage.instant, stage.timestamp, arguments)

    def _settled(self, stage: Stage, memories: list[Memory]) -> EventsByType:
        """The events of a stage and those that the rules derive at it: the least fixpoint, stratum by stratum."""
        there = set(stage.events)
        for stratum in self._module.strata:
            size = -1
            while size < len(there):
                size, events = len(there), _by_type(there)
                for number in stratum:
                    there.update(self._consequences(self._rules[number], memories[number], events, stage.timestamp))
        return _by_type(there)

    def _consequences(self, rule: _Rule, memory: Memory, events: EventsByType, timestamp: Value) -> Iterator[Event]:
        heads = [(number, each) for number, each in enumerate(rule.written.actions) if isinstance(each, Derive)]
        satisfied = rule.pattern.satisfied(memory, events)[()] if heads else frozenset()
        for number, head in heads:
            for arguments in rule.arguments(number, satisfied):
                yield self._derived(head, arguments, timestamp)

    def _derived(self, head: Derive, arguments: Arguments, timestamp: Value) -> Event:
        kind = EventType("derived", head.event, self._module.name)
        return derived(kind, self._module.derived[head.event], arguments, timestamp)


def _by_type(events: Iterable[Event]) -> EventsByType:
    found: dict[EventType, list[Event]] = {}
    for each in events:
        found.setdefault(each.type, []).append(each)
    return found


def _typed(value: Value, kind: Type) -> Value:
    """A value as a column of the type holds it."""
    if kind.kind is Kind.FLOAT and value is not None:
        value = float(value)
    return canonical(value)


def _order(value: Value) -> tuple[object, ...]:
    """NULL comes first, NaN last."""
    if value is None:
        return (0,)
    return (2,) if value != value else (1, value)
