"""What the names in the event of a rule stand for, and whether its parts may stand where they do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import count

from acelera.errors import Span
from acelera.language.ast import Binary, Expression
from acelera.programs.problems import Notes
from acelera.trepl import ast
from acelera.trepl.named_events import Catalog, ModuleEvents, event_types
from acelera.trepl.resolved import EventType, Simple
from acelera.trepl.scopes import (
    DROPPED,
    ELSEWHERE,
    FIRST,
    INNER,
    LATER,
    NEGATED,
    OWN_SCOPE,
    Bound,
    Exports,
    Scope,
)
from acelera.trepl.shape import bound as variables_in
from acelera.trepl.shape import is_point
from acelera.trepl.term_names import TermNames, is_event

_ONE_STAGE = (
    "&, prior and first after another goal, or in a star, need events of one stage: derive an event for the composite"
)


class GoalNames:
    """Resolves the event of one rule; `variables` has the event types of each variable, under its name in the rule.

    Each name stands for one event of the rule: where parts that do not see each other use the same one, all but the
    first get a number, as `X#2`.
    """

    def __init__(self, events: ModuleEvents, catalog: Catalog, terms: TermNames, notes: Notes) -> None:
        self._events = events
        self._catalog = catalog
        self._terms = terms
        self._notes = notes
        self._stars = count()
        self.variables: dict[str, tuple[EventType, ...]] = {}

    def resolve(self, goal: ast.Goal) -> tuple[ast.Goal, Scope]:
        """The event with all its names known, and the scope of the actions."""
        made, exports = self._not_first(goal) if isinstance(goal, ast.Test) else self._goal(goal, Scope())
        return made, Scope().after(exports)

    def _goal(self, goal: ast.Goal, scope: Scope) -> tuple[ast.Goal, Exports]:
        match goal:
            case ast.Named():
                return self._named(goal, scope)
            case ast.Test(condition):
                return ast.Test(self._terms.resolve(condition, scope), span=goal.span), Exports()
            case ast.Not(inner):
                return self._not(goal, inner, scope)
            case ast.Star(inner, _):
                return self._star(goal, inner, scope)
            case ast.First(inner):
                return self._first(goal, inner, scope)
            case ast.Sequence():
                return self._sequence(goal, scope)
            case ast.Both() | ast.Prior() | ast.Either():
                return self._beside(goal, scope)
        return goal, Exports()

    # events

    def _named(self, goal: ast.Named, scope: Scope) -> tuple[ast.Goal, Exports]:
        types = event_types(goal, self._events, self._catalog, self._notes)
        exports = Exports()
        if goal.variable is not None:
            if goal.variable in scope.known or scope.unseen.get(goal.variable) in OWN_SCOPE:
                self._twice(goal.variable, goal.span)
            bound = Bound(self._unique(goal.variable), types, scope.star)
            self.variables[bound.variable] = types
            exports = Exports({goal.variable: bound})
        condition: Expression | None = None
        if goal.condition is not None:
            condition = self._terms.resolve(goal.condition, scope.after(exports))
        name = exports.known[goal.variable].variable if goal.variable is not None else None
        return Simple(types, name, condition, span=goal.span), exports

    def _unique(self, name: str) -> str:
        numbered = (f"{name}#{number}" for number in count(2))
        return name if name not in self.variables else next(each for each in numbered if each not in self.variables)

    def _twice(self, name: str, span: Span | None) -> None:
        self._notes.wrong(f"{name} is bound twice", span, "give one of the events another variable")

    # sequences and stars

    def _sequence(self, goal: ast.Sequence, scope: Scope) -> tuple[ast.Goal, Exports]:
        exports, made = Exports(), []
        for place, each in enumerate(goal.goals):
            later = [name for other in goal.goals[place + 1 :] for name in variables_in(other)]
            inner = scope.after(exports).without(later, LATER)
            inner = inner if place == 0 else replace(inner, leading=False)
            misplaced = place == 0 and isinstance(each, ast.Test)
            part, left = self._not_first(each) if misplaced else self._goal(each, inner)
            made.append(part)
            exports = exports.and_then(left)
        return ast.rebuilt(goal, made), exports

    def _not_first(self, test: ast.Goal) -> tuple[ast.Goal, Exports]:
        hint = "it stands after the event that it is about: (a(X), X.b > 1)"
        condition = test.condition if isinstance(test, ast.Test) else None
        if isinstance(condition, Binary) and is_event(condition.left):
            hint = "events are joined by a comma, (a, b), or by & at one stage; one of several is written {a, b}"
        self._notes.wrong("a condition cannot be the first goal", test.span, hint)
        return ast.Any(span=test.span), Exports()

    def _star(self, goal: ast.Star, inner: ast.Goal, scope: Scope) -> tuple[ast.Goal, Exports]:
        if isinstance(inner, ast.Star):
            self._notes.wrong("a star of a star", goal.span, "one star is enough")
            return self._goal(inner, scope)
        star = next(self._stars)
        made, exports = self._goal(inner, scope.in_star(star))
        own = {name: bound for name, bound in exports.known.items() if bound.star == star}
        others = dict.fromkeys((name for name in exports.known if name not in own), INNER)
        return ast.rebuilt(goal, [made]), Exports(own, {**exports.unseen, **others})

    # what keeps its variables, or sees none

    def _not(self, goal: ast.Not, inner: ast.Goal, scope: Scope) -> tuple[ast.Goal, Exports]:
        made, exports = self._goal(inner, scope.under_not() if is_point(inner) else scope.closed(NEGATED))
        return ast.rebuilt(goal, [made]), exports.hidden(ELSEWHERE)

    def _first(self, goal: ast.First, inner: ast.Goal, scope: Scope) -> tuple[ast.Goal, Exports]:
        self._refuse_composites(goal, [inner], scope)
        made, exports = self._goal(inner, scope.closed(FIRST))
        known = {name: _of_star(bound, scope.star) for name, bound in exports.known.items()}
        return ast.rebuilt(goal, [made]), replace(exports, known=known)

    def _beside(self, goal: ast.Both | ast.Prior | ast.Either, scope: Scope) -> tuple[ast.Goal, Exports]:
        """Parts that do not see each other."""
        either = isinstance(goal, ast.Either)
        parts = ast.children(goal)
        if not either:
            self._refuse_composites(goal, parts, scope)
        exports, made = Exports(), []
        for part in parts:
            others = [name for other in parts if other is not part for name in variables_in(other)]
            inner = scope.without(others, ELSEWHERE)
            done, left = self._goal(part, inner.in_either() if either else inner)
            made.append(done)
            exports = self._joined(exports, left.hidden(DROPPED) if either else left, part.span)
        return ast.rebuilt(goal, made), exports

    def _joined(self, one: Exports, other: Exports, span: Span | None) -> Exports:
        for name in other.known:
            if name in one.known:
                self._twice(name, span)
        return one.and_then(other)

    def _refuse_composites(self, goal: ast.Goal, parts: Iterable[ast.Goal], scope: Scope) -> None:
        """What begins wherever it likes cannot stand after something else."""
        if not scope.leading and (isinstance(goal, ast.Prior) or not all(is_point(each) for each in parts)):
            self._notes.wrong(_ONE_STAGE, goal.span)


def _of_star(bound: Bound, star: int | None) -> Bound:
    """What is bound under `first` belongs to the star around it."""
    return replace(bound, star=star) if bound.star is None else bound
