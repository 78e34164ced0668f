"""An engine that keeps all events and asks the judge at each step."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from acelera.programs.stream_task import INNER_BEGIN, INNER_END, ProgramTask
from acelera.spark.buckets import NEVER
from acelera.xchangeeq import ast
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.printer import print_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term, events_of
from programs.translated import rules_of

NOW = "#now"
"""The label of an event that nobody asks for, which says how far the stream is."""


@dataclass
class Judging:
    """All events so far; `due` says when something may happen, at once if there are clocks."""

    program: ast.Program
    outputs: Mapping[str, pa.Schema]
    clock_from: int
    now: int
    events: list[Event] = field(default_factory=list)
    steps: int = 0

    def step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        for label, table in given.items():
            new = events_of(table, label, begin=INNER_BEGIN, end=INNER_END)
            assert all(self.now < each.end <= now for each in new)
            self.events += new
        before, self.now, self.steps = self.now, now, self.steps + 1
        found = [each for each in self._derived() if before < each.end <= now]
        return {label: _table(found, label, schema) for label, schema in self.outputs.items()}

    @property
    def due(self) -> int:
        if any(isinstance(each, ast.PeriodicTimer) for rule in self.program.rules for each in ast.walk(rule.body)):
            return self.now + 1
        return min((int(each.end) for each in self._derived() if each.end > self.now), default=NEVER)

    def _derived(self) -> frozenset[Event]:
        times = [Event(Term(NOW), time, time) for time in (self.clock_from, self.now)]
        return derive(self.program, [*self.events, *times])

    def snapshot(self) -> bytes:
        return pickle.dumps((self.clock_from, self.now, self.events, self.steps))


def _table(events: Sequence[Event], label: str, schema: pa.Schema) -> pa.Table:
    rows = [_row(each) for each in sorted(events, key=lambda each: each.end) if each.label == label]
    return pa.Table.from_pylist(rows, pa.schema([*schema, (INNER_BEGIN, pa.int64()), (INNER_END, pa.int64())]))


def _row(event: Event) -> dict[str, Any]:
    """Heads of tests have plain children only."""
    children = {each.label: each.children[0] for each in event.term.children if isinstance(each, Term)}
    return {**children, INNER_BEGIN: event.begin, INNER_END: event.end}


@dataclass(frozen=True)
class Judges:
    """Makes such engines of the rules of a program; none of them has an `or`."""

    program: ast.Program
    outputs: Mapping[str, pa.Schema]

    @property
    def fingerprint(self) -> str:
        return print_program(self.program)

    def open(self, rules: Sequence[int], clock_from: int) -> Judging:
        return self._engine(rules, clock_from, -(2**63))

    def resume(self, rules: Sequence[int], snapshot: bytes) -> Judging:
        return self._engine(rules, *pickle.loads(snapshot))

    def _engine(self, rules: Sequence[int], *state: Any) -> Judging:
        part = ast.Program(tuple(self.program.rules[number] for number in rules))
        return Judging(part, {rule.head.label: self.outputs[rule.head.label] for rule in part.rules}, *state)


def task_of(text: str, schemas: Mapping[str, pa.Schema], **columns: Any) -> ProgramTask:
    """A program that runs over a stream with the judge as its engine."""
    checked = check(parse_program(text), schemas, text)
    rules = tuple(rules_of(checked))
    assert len(rules) == len(checked.program.rules)
    judges = Judges(checked.program, checked.schemas)
    return ProgramTask(rules, schemas, checked.schemas, judges, **columns)
