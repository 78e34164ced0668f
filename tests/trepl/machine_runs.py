"""The machines of a program carried out on plain values over a history: what fires, to be compared with the meaning."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from acelera.language.aggregates import canonical
from acelera.language.ast import Attribute, Expression
from acelera.language.evaluation import evaluate
from acelera.language.events import Value
from acelera.language.types import Kind, Type
from acelera.stages.plain_machine import Happened, PlainMachine, Stage
from acelera.trepl.history import Change, Fired
from acelera.trepl.resolved import Derive, EventType, Field, Module, Part, Program, Stamp
from acelera.trepl.time_functions import time_functions
from acelera.trepl.translation.machines import Shown, Translation, translate


class Seen(NamedTuple):
    """A change or a derived event, as a module sees it."""

    type: EventType
    instant: Any
    timestamp: Value
    cells: frozenset[tuple[tuple[str, str], Value]]

    def value(self, side: str, attribute: str) -> Value:
        return dict(self.cells).get((side, attribute))


def run_plainly(
    program: Program, history: Iterable[Change], max_tuples: int = 100_000, expiring: bool = True
) -> list[Fired]:
    """All that the rules of a program do, by its machines; unless `expiring`, who waits does so for ever."""
    seen = [_seen(each) for each in history]
    found: list[Fired] = []
    for module in program.modules:
        made = list(_Run(module, program, max_tuples, expiring).through(seen))
        seen += [event for row in made for event in _derived(module, row)]
        found += made
    return found


def _seen(change: Change) -> Seen:
    sides = (("new", change.new), ("old", change.old))
    cells = frozenset(((side, name), canonical(value)) for side, row in sides for name, value in (row or {}).items())
    return Seen(EventType(change.kind, change.relation), change.instant, change.timestamp, cells)


def _derived(module: Module, row: Fired) -> Iterator[Seen]:
    action = next(each for each in module.rules if each.name == row.rule).actions[row.action]
    if isinstance(action, Derive):
        names = [("new", name) for name in module.derived[action.event]]
        cells = frozenset(zip(names, row.arguments, strict=True))
        yield Seen(EventType("derived", action.event, module.name), row.instant, row.timestamp, cells)


class _Run:
    """The machine of a module."""

    def __init__(self, module: Module, program: Program, max_tuples: int, expiring: bool) -> None:
        self._module, self._expiring = module, expiring
        self._translation: Translation = translate(module, program)
        self._functions = time_functions(program.zone)
        self._machine = PlainMachine(self._translation.machine, self._functions, max_tuples)
        self._shown = {each.head: each for each in self._translation.shown}

    def through(self, seen: Iterable[Seen]) -> Iterator[Fired]:
        """What the rules do, key after key."""
        keys: dict[tuple[Value, ...], dict[Any, list[Seen]]] = {}
        for each in dict.fromkeys(seen):
            if each.type in self._module.universe:
                keys.setdefault(self._key(each), {}).setdefault(each.instant, []).append(each)
        for key, instants in keys.items():
            standing = self._machine.begin()
            for number, instant in enumerate(sorted(instants), 1):
                stage = self._stage(instants[instant])
                latest = max(each.timestamp for each in instants[instant])
                for head, values in sorted(self._machine.step(standing, stage), key=repr):
                    yield self._fired(self._shown[head], values, key, (number, instant, latest))

    def _key(self, seen: Seen) -> tuple[Value, ...]:
        side = "old" if seen.type.kind == "delete" else "new"
        return tuple(seen.value(side, name) for name in self._module.partition)

    def _stage(self, events: Sequence[Seen]) -> Stage:
        translation = self._translation
        latest = max(each.timestamp for each in events)
        whole = Seen(events[0].type, events[0].instant, latest, frozenset())
        happened = []
        for each in events:
            number = translation.types[each.type]
            slots = translation.slots[translation.machine.event_types[number]]
            happened.append(Happened(number, tuple(self._value(slot, each) for slot in slots)))
        own = tuple(self._value(slot, whole) for slot in translation.stage_slots)
        earliest = min(each.timestamp for each in events)
        return Stage(happened, own, earliest if self._expiring else None)

    def _value(self, expression: Expression, seen: Seen) -> Value:
        def lookup(leaf: Any) -> Value:
            match leaf:
                case Field(_, side, attribute):
                    return seen.value(side, attribute)
                case Stamp():
                    return seen.timestamp
                case Part(_, part, moved):
                    by = 0 if moved is None else evaluate(moved, lookup, self._functions)
                    return self._functions[f"#{part}"](seen.timestamp, by)
            raise AssertionError(f"{leaf} has no value")

        return evaluate(expression, lookup, self._functions)

    def _fired(
        self, shown: Shown, values: Sequence[Value], key: tuple[Value, ...], stage: tuple[int, Any, Value]
    ) -> Fired:
        rule = self._module.rules[shown.rule]

        def lookup(leaf: Attribute) -> Value:
            return values[int(leaf.name)]

        arguments = tuple(
            _typed(evaluate(each, lookup, self._functions), kind)
            for each, kind in zip(shown.arguments, rule.types[shown.action], strict=True)
        )
        return Fired(self._module.name, key, rule.name, shown.action, *stage, arguments)


def _typed(value: Value, kind: Type) -> Value:
    return canonical(float(value) if kind.kind is Kind.FLOAT and value is not None else value)
