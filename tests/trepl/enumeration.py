"""The meaning of an event once more, by enumeration: all instances, each with all that it has bound, one by one.

Instances are followed forward from where they begin; nothing is shared or summed up. What a star may not begin is found
by enumerating the history up to the stage before. For small histories and events of basic types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from acelera.language.ast import Binary, Expression, Literal
from acelera.language.evaluation import evaluate
from acelera.language.tree import children, fold, rebuilt
from acelera.trepl import ast
from acelera.trepl.resolved import Aggregate, Field, Rule, Simple
from acelera.trepl.semantics.histories import Event

UNDEFINED = object()
Round = tuple[tuple[str, Event], ...]


@dataclass(frozen=True)
class Instance:
    """What is bound; the rounds of each star so far; the stars that a round of goes on."""

    bound: Mapping[str, Event] = field(default_factory=dict)
    rounds: Mapping[int, tuple[Round, ...]] = field(default_factory=dict)
    within: tuple[int, ...] = ()


@dataclass(frozen=True)
class Begun:
    """A star whose first round begins, and what there was before."""

    star: ast.Star
    before: Instance


def is_point(goal: ast.Goal) -> bool:
    if isinstance(goal, ast.Sequence):
        return is_point(goal.goals[0]) and all(isinstance(each, ast.Test) for each in goal.goals[1:])
    if isinstance(goal, ast.Both | ast.Either | ast.First):
        return all(is_point(each) for each in ast.children(goal))
    return isinstance(goal, Simple | ast.Any | ast.Not)


def names(goal: ast.Goal) -> set[str]:
    return {each.variable for each in ast.walk(goal) if isinstance(each, Simple) and each.variable}


class Enumeration:
    """All instances of the event of a rule over stages; the first of them is number 1."""

    def __init__(self, rule: Rule, stages: Sequence[Sequence[Event]]) -> None:
        self.goal = rule.goal
        self.stages: list[Sequence[Event]] = [(), *stages]
        self.last = 0
        self.active: dict[tuple[int, int], list[Instance]] = {}  # sat_S at a stage
        self.known: dict[tuple[int, int], list[tuple[int, Instance]]] = {}
        self.looked_at: dict[int, list[Field | Aggregate]] = {}
        self.goals = list(ast.walk(rule.goal))
        beginning = [each for each in self.goals[::-1] if isinstance(each, ast.Not | ast.Prior | ast.Both | ast.First)]
        self.own = [part for each in beginning for part in ast.children(each) if not is_point(part)]
        self.place = {id(each): number for number, each in enumerate(self.goals)}
        self.stars = [each for each in self.goals if isinstance(each, ast.Star)]
        self.exempt = {id(each) for each in self.stars if self._is_exempt(each)}
        self.star_of = {name: id(star) for star in self.stars for name in names(star)}  # inner ones come later

    def satisfied(self) -> Iterator[tuple[int, Instance]]:
        """The stages from 1 on at which the event is satisfied."""
        for stage in range(len(self.stages)):
            self.last = stage
            for each in self.own:
                self._anywhere(each)  # their stars go on even where nobody looks
            yield from ((end, each) for end, each in self._anywhere(self.goal) if end == self.last > 0)

    def _anywhere(self, goal: ast.Goal) -> list[tuple[int, Instance]]:
        key = (id(goal), self.last)
        if key not in self.known:
            starts = range(-1, self.last)
            self.known[key] = [each for before in starts for each in self._after(goal, before, Instance(), ())]
        return self.known[key]

    # --- instances that begin at the stage after `before` ---------------------------------------------------------------

    def _after(
        self, goal: ast.Goal, before: int, b: Instance, begun: tuple[Begun, ...], first: bool = False
    ) -> Iterator[tuple[int, Instance]]:
        if is_point(goal):
            yield from self._at(goal, before + 1, b, begun, first)
            return
        match goal:
            case ast.Sequence(goals, relaxed):
                yield from self._sequence(_with_tests(goals), relaxed, before, b, begun)
            case ast.Star(body):
                opened = replace(b, rounds={**b.rounds, id(goal): ()}, within=(*b.within, id(goal)))
                yield from self._rounds(goal, body, before, opened, (*begun, Begun(goal, b)))
            case ast.Either(goals):
                yield from ((end, b) for each in goals for end, _ in self._after(each, before, b, begun))
            case ast.Both(goals):
                yield from self._together([self._anywhere(each) for each in goals], before)
            case ast.First(inner):
                there = self._anywhere(inner)
                yield from (
                    (end, each)
                    for end, each in self._after(inner, before, b, begun)
                    if not any(1 <= other < end for other, _ in there)
                )
            case ast.Prior(earlier, later):
                for end, each in self._after(later, before, b, begun):
                    yield from ((end, _joined(each, other)) for one, other in self._anywhere(earlier) if 1 <= one < end)

    def _sequence(
        self, goals: Sequence[ast.Goal], relaxed: bool, before: int, b: Instance, begun: tuple[Begun, ...]
    ) -> Iterator[tuple[int, Instance]]:
        todo = list(self._after(goals[0], before, b, begun, first=True))
        for goal in goals[1:]:
            if isinstance(goal, ast.Test):
                todo = [(end, each) for end, each in todo if self._holds(goal.condition, each)]
            else:
                ends = [(end, each) for at, each in todo for end in (range(at, self.last) if relaxed else [at])]
                todo = [found for end, each in ends for found in self._after(goal, end, each, ())]
        yield from todo

    def _rounds(
        self, star: ast.Star, body: ast.Goal, before: int, b: Instance, begun: tuple[Begun, ...]
    ) -> Iterator[tuple[int, Instance]]:
        inner = {name for each in ast.walk(body) if isinstance(each, ast.Star) for name in names(each)}
        own = names(body) - inner
        for end, each in self._after(body, before, b, begun):
            this: Round = tuple((name, event) for name, event in each.bound.items() if name in own)
            kept = {name: event for name, event in each.bound.items() if name not in inner}
            rounds = {**each.rounds, id(star): (*each.rounds[id(star)], this)}
            yield end, replace(each, bound=kept, rounds=rounds, within=b.within[:-1])
            if end == self.last:
                self.active.setdefault((id(star), end), []).append(
                    replace(each, bound=kept, rounds=rounds, within=b.within[:-1])
                )
            else:
                again = {name: event for name, event in kept.items() if name not in own}
                yield from self._rounds(star, body, end, replace(each, bound=again, rounds=rounds, within=b.within), ())

    def _together(self, parts: Sequence[list[tuple[int, Instance]]], before: int) -> Iterator[tuple[int, Instance]]:
        """Pairs that end together, told once: where the last of them could have begun at the latest."""
        for those in product(*parts):
            if len({end for end, _ in those}) == 1 and those[0][0] == before + 1 > 0:
                found = Instance()
                for _, each in those:
                    found = _joined(found, each)
                yield before + 1, found

    # --- points ---------------------------------------------------------------------------------------------------------------

    def _at(
        self, goal: ast.Goal, stage: int, b: Instance, begun: tuple[Begun, ...], first: bool
    ) -> Iterator[tuple[int, Instance]]:
        if stage == 0 and not (isinstance(goal, ast.Sequence) or first):
            return
        if stage > self.last:
            return
        for each, events in self._take(goal, stage, b):
            if not any(self._refused(one, stage, events) for one in begun):
                yield stage, each

    def _take(self, goal: ast.Goal, stage: int, b: Instance) -> Iterator[tuple[Instance, frozenset[Event]]]:
        match goal:
            case Simple(types, variable, condition):
                for event in (each for each in self.stages[stage] if each.type in types):
                    found = replace(b, bound={**b.bound, variable: event}) if variable else b
                    if condition is None or self._holds(condition, found):
                        yield found, frozenset({event})
            case ast.Any():
                yield b, frozenset()
            case ast.Not(inner) if stage > 0:
                there = (
                    any(self._take(inner, stage, b))
                    if is_point(inner)
                    else any(end == stage for end, _ in self._anywhere(inner))
                )
                if not there:
                    yield b, frozenset()
            case ast.Both(goals) if stage > 0:
                for those in product(*(list(self._take(each, stage, b)) for each in goals)):
                    bound = {name: event for each, _ in those for name, event in each.bound.items()}
                    yield replace(b, bound=bound), frozenset().union(*(events for _, events in those))
            case ast.Either(goals) if stage > 0:
                yield from ((b, events) for each in goals for _, events in self._take(each, stage, b))
            case ast.First(inner) if stage > 0:
                if not any(True for earlier in range(1, stage) for _ in self._take(inner, earlier, Instance())):
                    yield from self._take(inner, stage, b)
            case ast.Sequence(goals):
                for found, events in self._take(goals[0], stage, b):
                    if all(self._holds(each.condition, found) for each in goals[1:]):  # type: ignore[attr-defined]
                        yield found, events

    # --- the guard --------------------------------------------------------------------------------------------------------------

    def _refused(self, begun: Begun, stage: int, events: frozenset[Event]) -> bool:
        star = begun.star
        if star.every or id(star) in self.exempt:
            return False
        key = self._key(star, begun.before)
        for other in self.active.get((id(star), stage - 1), ()):
            if self._key(star, other) == key:
                left = {name: event for name, event in other.bound.items() if name not in names(star)}
                looped = replace(other, bound=left, within=(*other.within, id(star)))
                if any(events == taken for point in _front(star.goal) for _, taken in self._take(point, stage, looped)):
                    return True
        return False

    def _key(self, star: ast.Star, b: Instance) -> list[Any]:
        if id(star) not in self.looked_at:
            self.looked_at[id(star)] = self._terms_to_come(star)
        return [self._value(term, b, UNDEFINED) for term in self.looked_at[id(star)]]

    def _terms_to_come(self, star: ast.Star) -> list[Field | Aggregate]:
        around = [each for each in self.stars if each is star or any(inner is star for inner in ast.walk(each))]
        outermost = min(self.place[id(each)] for each in around)
        later = [
            each.condition
            for each in self.goals[outermost:]
            if isinstance(each, Simple | ast.Test) and each.condition is not None
        ]
        terms = dict.fromkeys(term for each in later for term in _terms(each) if term.variable not in names(star))
        return list(terms)

    def _is_exempt(self, star: ast.Star) -> bool:
        """Whether all that may come before is `any`."""
        before: list[ast.Goal | None] = [None]
        todo: list[tuple[ast.Goal, list[ast.Goal | None]]] = [(self.goal, [None])]
        while todo:
            goal, those = todo.pop()
            if goal is star:
                before = those
            match goal:
                case ast.Sequence(goals, relaxed) if not is_point(goal):
                    grouped = _with_tests(goals)
                    for number, each in enumerate(grouped):
                        todo.append((each, those if number == 0 else [None if relaxed else grouped[number - 1]]))
                case ast.Star(inner) | ast.First(inner):
                    todo.append((inner, those))
                case ast.Either(goals):
                    todo += [(each, those) for each in goals]
                case _:
                    todo += [(each, [None]) for each in ast.children(goal)]
        return all(isinstance(each, ast.Any) for each in before)

    # --- conditions -------------------------------------------------------------------------------------------------------------------

    def _holds(self, condition: Expression, b: Instance) -> bool:
        if isinstance(condition, Binary) and condition.operator == "AND":
            return self._holds(condition.left, b) and self._holds(condition.right, b)
        for term in _terms(condition):
            if isinstance(term, Aggregate) and term.function in ("first", "last"):
                star = self.star_of[term.variable]
                if star in b.within and not b.rounds[star]:
                    return True
        return self.value(condition, b) is True

    def value(self, expression: Expression, b: Instance) -> Any:
        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            return Literal(self._value(node, b, None)) if isinstance(node, Field | Aggregate) else rebuilt(node, inner)

        def below(node: Expression) -> Sequence[Expression]:
            return () if isinstance(node, Aggregate) else children(node)

        return evaluate(fold(expression, combine, below), lambda _: None)

    def _value(self, term: Field | Aggregate, b: Instance, otherwise: Any) -> Any:
        if isinstance(term, Field):
            event = b.bound.get(term.variable)
            return otherwise if event is None else event.cells.get((term.side, term.attribute))
        star = self.star_of[term.variable]
        events = [dict(each)[term.variable] for each in b.rounds.get(star, ()) if term.variable in dict(each)]
        if star in b.within and term.variable in b.bound and term.function not in ("first", "last"):
            events.append(b.bound[term.variable])
        if not events:
            return otherwise
        if term.argument is None:
            return len(events)
        values = [self.value(term.argument, Instance({term.variable: each})) for each in events]
        if term.function in ("first", "last"):
            return values[0 if term.function == "first" else -1]
        known = [each for each in values if each is not None]
        if term.function == "count":
            return len(known)
        if not known:
            return None
        return (
            sum(known) / len(known)
            if term.function == "avg"
            else {"sum": sum, "min": min, "max": max}[term.function](known)
        )


def _with_tests(goals: Sequence[ast.Goal]) -> list[ast.Goal]:
    """Points with the tests right after them."""
    found: list[ast.Goal] = []
    for each in goals:
        if isinstance(each, ast.Test) and is_point(found[-1]):
            found[-1] = ast.Sequence((found[-1], each))
        else:
            found.append(each)
    return found


def _front(goal: ast.Goal) -> list[ast.Goal]:
    """The points with which a body may begin."""
    if is_point(goal):
        return [goal]
    match goal:
        case ast.Sequence(goals):
            return _front(_with_tests(goals)[0])
        case ast.Star(inner):
            return _front(inner)
    return [point for each in ast.children(goal) for point in _front(each)]


def _terms(expression: Expression) -> list[Field | Aggregate]:
    if isinstance(expression, Field | Aggregate):
        return [expression]
    return [term for each in children(expression) for term in _terms(each)]


def _joined(one: Instance, other: Instance) -> Instance:
    return Instance({**one.bound, **other.bound}, {**one.rounds, **other.rounds})
