"""What the goals of a rule are called where they are written: by aliases, and in their order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from acelera.trepl import ast

_GOAL = re.compile(r"([^\s(&]+)\(([^)]*)\)")


@dataclass(frozen=True)
class WrittenGoals:
    """The events of a rule in their order, each with its relation (or derived event) and how it is written."""

    goals: Sequence[tuple[str, ast.Named]]

    def said(self, place: str) -> str:
        """A place of a machine, such as `after customers(X)`, with the names of the rule."""
        return _GOAL.sub(self._said, place)

    def _said(self, found: re.Match[str]) -> str:
        number = self._number(*found.groups())
        return "an earlier event" if number is None else _said(self.goals[number][1])

    def bound_after(self, place: str) -> str:
        """What the goal after a place must do, so that nothing waits there for ever."""
        numbers = [self._number(*each) for each in _GOAL.findall(place)]
        last = max((each for each in numbers if each is not None), default=0)
        before = [goal.variable for _, goal in self.goals[: last + 1] if goal.variable]
        after = next((goal.variable for _, goal in self.goals[last + 1 :]), None)
        if not before or after is None:
            return "binds a variable, and asks how much later its Timestamp is"
        return f"asks for `{after}.Timestamp - {before[-1]}.Timestamp <= INTERVAL …`"

    def _number(self, relation: str, variable: str) -> int | None:
        """The number of the goal that a machine calls so."""
        for number, (name, goal) in enumerate(self.goals):
            if name == relation and (goal.variable or "") == variable:
                return number
        return None


def written_goals(module: ast.Module, rule: ast.Rule) -> WrittenGoals:
    """The events of a rule as they are written."""
    aliases = {each.alias: each.name for each in module.monitored if each.alias is not None}
    goals = [each for each in ast.walk(rule.goal) if isinstance(each, ast.Named)]
    goals.sort(key=lambda each: each.span or (0, 0))
    return WrittenGoals([(aliases.get(each.name, each.name), each) for each in goals])


def _said(goal: ast.Named) -> str:
    name = goal.name if goal.module is None else f"{goal.module}.{goal.name}"
    inner = name if goal.variable is None else f"{name}({goal.variable})"
    return inner if goal.kind is None else f"{goal.kind}({inner})"
