"""What a machine reads of events: their tables and types, and a slot for each expression that is computed of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from acelera.language.ast import Expression
from acelera.language.tree import fold, rebuilt
from acelera.language.types import Type
from acelera.stages.model import Input
from acelera.trepl.ast import KINDS
from acelera.trepl.resolved import Aggregate, EventType, Field, Module, Part, Program, Simple, Stamp

ANYONE = ""
"""The variable of the expressions that are computed for each event, whatever it is bound to."""


@dataclass
class Events:
    """Tables, event types and slots while they are found."""

    module: Module
    program: Program
    types: dict[EventType, int] = field(default_factory=dict)
    table_of_type: list[int] = field(default_factory=list)
    tables: list[EventType | None] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    attributes: list[tuple[tuple[str, Type], ...]] = field(default_factory=list)  # of own events
    slots: list[dict[Expression, Type]] = field(default_factory=list)
    stage_slots: dict[Expression, Type] = field(default_factory=dict)

    def is_own(self, event: EventType) -> bool:
        """Whether the module makes the event."""
        return event.kind == "derived" and event.module == self.module.name

    def add_own(self, name: str, attributes: Sequence[tuple[str, Type]]) -> int:
        """An event of the module."""
        number = self._table(None, name)
        self.attributes[number] = tuple(attributes)
        self._type(EventType("derived", name, self.module.name), number)
        return number

    def table(self, event: EventType) -> int:
        """The table of an event type; the three kinds of a relation are numbered together."""
        if event not in self.types:
            assert not self.is_own(event), event
            number = self._table(event, event.name if event.module is None else f"{event.module}.{event.name}")
            kinds = [replace(event, kind=kind) for kind in KINDS] if event.kind in KINDS else [event]
            for each in kinds:
                self._type(each, number)
        return self.table_of_type[self.types[event]]

    def _table(self, event: EventType | None, name: str) -> int:
        self.tables.append(event)
        self.names.append(name)
        self.slots.append({})
        self.attributes.append(())
        return len(self.tables) - 1

    def _type(self, event: EventType, table: int) -> None:
        self.types[event] = len(self.types)
        self.table_of_type.append(table)

    def span(self, event: Simple) -> tuple[int, int]:
        """From which event type to which."""
        self.table(event.types[0])
        numbers = sorted(self.types[each] for each in event.types)
        assert numbers[-1] - numbers[0] == len(numbers) - 1
        return numbers[0], numbers[-1] + 1

    def field_type(self, table: int, term: Field) -> Type:
        """The type of an attribute of an event."""
        event = self.tables[table]
        if event is None:
            return dict(self.attributes[table])[term.attribute]
        if event.module is not None:
            other = next(each for each in self.program.modules if each.name == event.module)
            return other.derived[event.name][term.attribute]
        return self.program.relations[event.name].attributes[term.attribute]

    def slot(self, table: int, expression: Expression, kind: Type) -> Expression:
        """What is read of an event."""
        expression = _of_anyone(expression)
        if self.tables[table] is not None:
            return Input(_number(self.slots[table], expression, kind))
        if isinstance(expression, Field):
            names = [name for name, _ in self.attributes[table]]
            return Input(names.index(expression.attribute))
        return Input(len(self.attributes[table]) + _number(self.stage_slots, expression, kind))


def _number(found: dict[Expression, Type], expression: Expression, kind: Type) -> int:
    found.setdefault(expression, kind)
    return list(found).index(expression)


def _of_anyone(expression: Expression) -> Expression:
    def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
        made = rebuilt(node, inner)
        return replace(made, variable=ANYONE) if isinstance(made, Field | Stamp | Part | Aggregate) else made

    return fold(expression, combine)
