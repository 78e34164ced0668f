"""The order of matches, where several are equally long: what semantics/keeping.py says, of nodes.

First rows are compared, in lexicographic order, then what is marked at each of them: of the first variable that only
one of two matches has there, the one that has it comes first; so an action comes before another that marks fewer of the
first variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.automata.labels import Mark
from acelera.automata.terms import Attr
from acelera.engine.machines.machine import Machine
from acelera.engine.plan import Action, Plan, stored_fields
from acelera.errors import AggregateError
from acelera.language.aggregates import place_of_value
from acelera.language.checker import Checked
from acelera.language.events import Value
from acelera.language.types import Type
from acelera.tables import plain_values

Ints = npt.NDArray[Any]

UNMARKED = -1

AS_IT_WAS = (-1,)
"""What stands for the value of an attribute that an event has from the stream: matches agree on it."""


class Order:
    """The order of the actions of a machine, and of the events that they put into variables."""

    def __init__(self, checked: Checked, plan: Plan, machine: Machine) -> None:
        assert checked.schema is not None
        self._machine, self._actions, self._columns = machine, machine.actions, sorted(checked.schema.columns)
        self._numbers = {name: number for number, name in enumerate(checked.variables)}
        self._stored = [stored_fields(action, plan) for action in machine.actions]
        self._types = [tuple(_type_of(checked, plan, *field) for field in fields) for fields in self._stored]
        self.ranks = self._ranked(machine.actions)

    def _ranked(self, actions: Sequence[Action]) -> Ints:
        """For each mark of nodes its place among those of one row; stored values mark nothing of their own."""
        marked = [tuple(sorted(self._numbers[name] for name, bag in action.marks if bag)) for action in actions]
        in_order = sorted({each for each in marked if each}, key=lambda each: (*each, math.inf))
        places = {each: place for place, each in enumerate(in_order)}
        ranks = [places.get(each, UNMARKED) for each in marked]
        return np.array([*ranks, *(UNMARKED for _ in actions)], np.int64)

    # --- events with the same marks ---------------------------------------------------------------------------------

    def details(self, path: Sequence[tuple[int, int]]) -> list[Any]:
        """What tells a match from others with the same marks, given its marks and what each marks, from first to last.

        For each of them, the variables with how many events they hold, and these: more events come first.
        """
        return [
            self._detail(mark, path[at + 1][1] if self._stored[mark] else None)
            for at, (mark, _) in enumerate(path)
            if mark < len(self._actions)
        ]

    def _detail(self, action: int, stored: int | None) -> list[Any]:
        values: dict[tuple[Mark, str], Any] = {}
        if stored is not None:
            for place, field in enumerate(self._stored[action]):
                values[field] = self._value(action, place, stored)
        by_number = sorted((self._numbers[name], bag) for name, bag in self._actions[action].marks if bag)
        return [(-len(bag), sorted(self._event(mark, values) for mark in bag)) for _, bag in by_number]

    def _event(self, mark: Mark, values: dict[tuple[Mark, str], Any]) -> list[tuple[str, Any]]:
        if mark.fields is None:
            return [(name, AS_IT_WAS) for name in self._columns]
        named = {name: AS_IT_WAS if term == Attr(name) else values.get((mark, name)) for name, term in mark.fields}
        return sorted((name, AS_IT_WAS if value is None else value) for name, value in named.items())

    def _value(self, action: int, place: int, stored: int) -> Any:
        """The place of a stored value among others."""
        kind = self._types[action][place]
        if kind is None:
            return AS_IT_WAS
        try:
            found = self._machine.stored_values(action, place, np.array([stored]), kind.arrow)
        except AggregateError as error:
            return place_of_value(None, str(error))
        value: Value = plain_values(found, kind)[0]
        return place_of_value(value)


def _type_of(checked: Checked, plan: Plan, mark: Mark, name: str) -> Type | None:
    """The type of an attribute of made events, from a variable that can hold them."""
    for action in plan.actions:
        for variable, bag in action.marks:
            held = checked.variables.get(variable)
            if mark in bag and held is not None and name in held.attributes:
                return held.attributes[name]
    return None
