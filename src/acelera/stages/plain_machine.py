"""A machine carried out on plain values, for what has no instructions: slower by far, and never wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from acelera.automata.terms import UNSET
from acelera.errors import AggregateError
from acelera.language.aggregates import Aggregate, Failure, canonical, find_aggregate
from acelera.language.ast import Expression
from acelera.language.evaluation import evaluate
from acelera.language.events import Value
from acelera.language.types import Kind, Type
from acelera.stages.errors import too_many
from acelera.stages.model import START, Condition, Edge, Held, Input, Machine, Step, Total

Row = tuple[Any, ...]
"""What the registers of a configuration hold; UNSET, or a value, or the state of an aggregate."""


class Happened(NamedTuple):
    """An event of a stage: its type, and the values of its slots."""

    type: int
    values: tuple[Value, ...]


class Stage(NamedTuple):
    """The events of a stage, what own events read of it, and its time in nanoseconds, if times are timestamps."""

    events: Sequence[Happened]
    slots: tuple[Value, ...] = ()
    time: int | None = None


@dataclass
class Standing:
    """Where the history of a key stands."""

    resting: set[tuple[int, Row]]
    waiting: set[tuple[int, Row]] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)


class PlainMachine:
    """Takes one stage of one key after the other."""

    def __init__(self, machine: Machine, functions: Mapping[str, Callable[..., Value]], max_tuples: int) -> None:
        self._machine, self._functions, self._max = machine, functions, max_tuples
        self._aggregates = [find_aggregate(each.aggregate) if each.aggregate else None for each in machine.registers]
        self._nothing: Row = (UNSET,) * len(machine.registers)

    def begin(self) -> Standing:
        """A history without stages."""
        standing = Standing(set())
        work = _Work(self, Stage(()), standing)
        for number, state in enumerate(self._machine.states):
            if state.initial:
                work.arrive(number, self._nothing, telling=False)
        standing.resting = work.resting
        standing.waiting |= work.waiting
        return standing

    def step(self, standing: Standing, stage: Stage) -> list[tuple[int, tuple[Value, ...]]]:
        """Take a stage; what heads tell, each once."""
        self._expire(standing, stage)
        work = _Work(self, stage, standing)
        for phase in self._machine.phases:
            while True:
                known = len(work.events)
                work.take([self._machine.edges[edge] for edge in phase.edges])
                if not phase.repeats or len(work.events) == known:
                    break
        standing.resting = work.resting
        standing.waiting |= work.waiting
        standing.seen |= {
            flag for flag, event in enumerate(self._machine.firsts) if any(each.type == event for each in work.events)
        }
        if len(standing.resting) + len(standing.waiting) > self._max:
            raise too_many(self._max)
        return list(work.told)

    def _expire(self, standing: Standing, stage: Stage) -> None:
        def expired(state: int, row: Row) -> bool:
            limit = self._machine.states[state].expires
            if limit is None or stage.time is None or row[limit[0]] in (None, UNSET):
                return False
            return bool(stage.time - int(row[limit[0]]) > limit[1])

        standing.waiting = {(state, row) for state, row in standing.waiting if not expired(state, row)}

    # --- values -----------------------------------------------------------------------------------------------

    @property
    def machine(self) -> Machine:
        """What is carried out."""
        return self._machine

    @property
    def nothing(self) -> Row:
        """Registers that hold nothing."""
        return self._nothing

    def value(self, expression: Expression, row: Row, event: Happened | None = None) -> Value:
        """The value of an expression; of something that is not held NULL."""

        def lookup(leaf: Any) -> Value:
            if isinstance(leaf, Input):
                assert event is not None
                return event.values[leaf.slot]
            if isinstance(leaf, Held):
                return None if row[leaf.register] is UNSET else row[leaf.register]
            assert isinstance(leaf, Total)
            return self._total(leaf.register, row[leaf.register])

        return evaluate(expression, lookup, self._functions)

    def _total(self, register: int, state: Any) -> Value:
        aggregate = self._aggregates[register]
        assert aggregate is not None
        if state is UNSET:
            return 0 if aggregate.name == "count" else None
        value = aggregate.value(state)
        if isinstance(value, Failure):
            raise AggregateError(value.message)
        return value

    def holds(self, conditions: Sequence[Condition], row: Row, event: Happened | None = None) -> bool:
        """Whether all conditions are TRUE."""
        return all(
            any(row[register] is UNSET for register in each.unless) or self.value(each.expression, row, event) is True
            for each in conditions
        )

    def key(self, guard: int, row: Row) -> tuple[Value, ...]:
        """What a guard compares; nothing differs from NULL."""
        return tuple(
            UNSET if isinstance(each, Held) and row[each.register] is UNSET else self.value(each, row)
            for each in self._machine.guards[guard].key
        )

    def taken(self, step: Step, row: Row, event: Happened) -> Row | None:
        """The registers after an event is taken by a step, or None if it is not."""
        if not step.types[0] <= event.type < step.types[1] or not self.holds(step.before, row, event):
            return None
        cells = list(row)
        for fold in step.folds:
            aggregate = self._aggregates[fold.register]
            assert aggregate is not None
            value = 1 if fold.value is None else self.value(fold.value, row, event)
            cells[fold.register] = _folded(aggregate, cells[fold.register], value)
        if not self.holds(step.after, tuple(cells), event):
            return None
        for store in step.stores:
            if not store.once or cells[store.register] is UNSET:
                cells[store.register] = canonical(self.value(store.value, row, event))
        return tuple(cells) if self.holds(step.last, tuple(cells)) else None


def _fitted(value: Value, kind: Type) -> Value:
    """A number as a float, where one is meant."""
    return float(value) if kind.kind is Kind.FLOAT and value is not None else value


def _folded(aggregate: Aggregate, state: Any, value: Value) -> Any:
    if value is None:
        return state
    return aggregate.step(aggregate.identity if state is UNSET else state, 0, value, ignore_nulls=True)


class _Work:
    """A stage while it is taken."""

    def __init__(self, by: PlainMachine, stage: Stage, standing: Standing) -> None:
        self.by, self.machine, self.stage = by, by.machine, stage
        self.events = list(stage.events)
        self.before = standing
        self.resting: set[tuple[int, Row]] = set()
        self.waiting: set[tuple[int, Row]] = set()
        self.told: dict[tuple[int, tuple[Value, ...]], None] = {}
        self.entered: set[tuple[int, tuple[Value, ...], frozenset[int]]] = set()

    def take(self, edges: Sequence[Edge]) -> None:
        """Take edges; what begins a guarded star is looked at last."""
        later = []
        for edge in edges:
            for row in self._at(edge.source):
                for after, events in self._ways(edge, row):
                    for guard in edge.loops:
                        self.entered.add((guard, self.by.key(guard, row), events))
                    if edge.begins:
                        later.append((edge, self._prepared(edge, row), after, events))
                    else:
                        self.arrive(edge.target, after)
        for edge, start, after, events in later:
            if not any((guard, self.by.key(guard, start), events) in self.entered for guard in edge.begins):
                self.arrive(edge.target, after)

    def _at(self, state: int) -> list[Row]:
        if state == START:
            return [self.by.nothing]
        rows = self.before.waiting if self.machine.states[state].waits else self.before.resting
        return [row for at, row in rows if at == state]

    def _prepared(self, edge: Edge, row: Row) -> Row:
        cells = list(row)
        for target, source in edge.moves:
            cells[target] = row[source]
        for register in edge.clears:
            cells[register] = UNSET
        for register in edge.flags:
            cells[register] = 1
        return tuple(cells)

    def _ways(self, edge: Edge, row: Row) -> Iterator[tuple[Row, frozenset[int]]]:
        """The registers after each combination of events that an edge can take, and those events."""
        start = self._prepared(edge, row)
        if any(next(self._combinations(steps, start), None) for steps in edge.absences):
            return
        for after, events in self._combinations(edge.steps, start):
            if self.by.holds(edge.tests, after):
                yield after, events

    def _combinations(self, steps: Sequence[Step], row: Row) -> Iterator[tuple[Row, frozenset[int]]]:
        if not steps:
            yield row, frozenset()
            return
        step, *rest = steps
        if step.table < 0:
            if self.by.holds(step.before, row):
                yield row, frozenset()
            return
        if step.first is not None and step.first in self.before.seen:
            return
        for number, event in enumerate(self.events):
            after = self.by.taken(step, row, event)
            if after is not None:
                own = frozenset({number}) if step.taken else frozenset()
                for last, events in self._combinations(rest, after):
                    yield last, events | own

    def arrive(self, state: int, row: Row, telling: bool = True) -> None:
        """Meet the outcomes of a state."""
        for outcome in self.machine.states[state].outcomes:
            if not self.by.holds(outcome.conditions, row):
                continue
            if outcome.state is not None:
                self._rest(outcome.state, row)
            if telling:
                for head in outcome.heads:
                    self._tell(head, row)

    def _rest(self, state: int, row: Row) -> None:
        live = self.machine.live[state]
        kept = tuple(value if number in live else UNSET for number, value in enumerate(row))
        (self.waiting if self.machine.states[state].waits else self.resting).add((state, kept))

    def _tell(self, number: int, row: Row) -> None:
        head = self.machine.heads[number]
        pairs = zip(head.arguments, head.types, strict=True)
        values = tuple(canonical(_fitted(self.by.value(each, row), kind)) for each, kind in pairs)
        if head.shown:
            self.told[number, values] = None
        if head.event is not None:
            event = Happened(head.event, (*values, *self.stage.slots))
            if event not in self.events:
                self.events.append(event)
