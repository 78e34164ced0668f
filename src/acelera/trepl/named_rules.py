"""Rules whose names are known, but not yet the types of what they derive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from acelera.errors import Span
from acelera.language.ast import Expression
from acelera.programs.problems import Notes
from acelera.trepl import ast
from acelera.trepl.goal_names import GoalNames
from acelera.trepl.heads import resolve_action
from acelera.trepl.named_events import Catalog, ModuleEvents
from acelera.trepl.resolved import Action, Derive, EventType, Simple
from acelera.trepl.term_names import TermNames

DEEPEST = 100
"""How deep goals may be nested."""


@dataclass(frozen=True)
class NamedRule:
    """A rule of a module; `variables` has the event types of its variables."""

    module: str
    name: str
    goal: ast.Goal
    actions: tuple[Action, ...]
    variables: Mapping[str, tuple[EventType, ...]]
    span: Span | None

    @property
    def derives(self) -> tuple[Derive, ...]:
        """The events that it makes."""
        return tuple(each for each in self.actions if isinstance(each, Derive))


def named_rules(
    module: ast.Module, events: ModuleEvents, catalog: Catalog, functions: Collection[str], notes: Notes
) -> tuple[NamedRule, ...]:
    """The rules of a module, with all names known; what is not known is noted."""
    names: set[str] = set()
    found: list[NamedRule] = []
    for rule in module.rules:
        if rule.name in names:
            notes.wrong(f"two rules are called {rule.name}", rule.span, "give one of them another name")
        names.add(rule.name)
        if not _too_deep(rule, notes):
            found.append(_named(rule, events, catalog, functions, notes))
    return tuple(found)


def _too_deep(rule: ast.Rule, notes: Notes) -> bool:
    depth = ast.fold(rule.goal, lambda _, inner: 1 + max(inner, default=0))
    if depth > DEEPEST:
        hint = "derive an event for an inner part"
        notes.wrong(f"this rule is nested {depth:,} deep, more than {DEEPEST}", rule.span, hint)
    return depth > DEEPEST


def _named(
    rule: ast.Rule, events: ModuleEvents, catalog: Catalog, functions: Collection[str], notes: Notes
) -> NamedRule:
    terms = TermNames(catalog, notes)
    goals = GoalNames(events, catalog, terms, notes)
    goal, scope = goals.resolve(rule.goal)
    made = [resolve_action(each, events, functions, terms, scope, notes) for each in rule.actions]
    actions = tuple(each for each in made if each is not None)
    return NamedRule(events.module, rule.name, goal, actions, goals.variables, rule.span)


def with_conditions(goal: ast.Goal, change: Callable[[Expression], Expression]) -> ast.Goal:
    """The goal with other conditions in the place of its own."""

    def combine(node: ast.Goal, inner: Sequence[ast.Goal]) -> ast.Goal:
        match node:
            case Simple(types, variable, condition) if condition is not None:
                return Simple(types, variable, change(condition), span=node.span)
            case ast.Test(condition):
                return ast.Test(change(condition), span=node.span)
        return ast.rebuilt(node, inner)

    return ast.fold(goal, combine)
