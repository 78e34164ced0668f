"""Goals as states and edges: where an instance can stand, and what it may do next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from acelera.language.ast import Expression
from acelera.language.evaluation import constant
from acelera.stages.model import START
from acelera.trepl import ast
from acelera.trepl.ast import Goal
from acelera.trepl.resolved import Simple
from acelera.trepl.shape import bound, exported, is_point
from acelera.trepl.translation.choices import Choice, choices


@dataclass(frozen=True)
class StarInfo:
    """A star: what it binds, the stars around it from the outside, what is known before it, and where it begins."""

    number: int
    binds: frozenset[str]
    around: tuple[int, ...]
    imports: frozenset[str]
    begins_at: int
    every: bool


@dataclass(frozen=True)
class Entry:
    """A way into a goal: from a state, right after `any` or not, beginning some stars and looping others."""

    source: int
    begins: tuple[int, ...] = ()
    loops: tuple[int, ...] = ()
    after_any: bool = False


@dataclass(frozen=True)
class Arc:
    """An edge before its registers are known. `stars` are those that the target stands in."""

    entry: Entry
    target: int
    choice: Choice
    imports: frozenset[str]
    stars: tuple[int, ...]


@dataclass(frozen=True)
class Said:
    """A condition, where it stands in the text and in which stars."""

    condition: Expression
    position: int
    stars: tuple[int, ...]


@dataclass
class Place:
    """A state before its registers are known: where it leads to at once, under conditions."""

    name: str
    leads_to: list[tuple[Expression | None, tuple[int, ...], int]] = field(default_factory=list)
    waits: bool = False
    initial: bool = False


@dataclass
class Part:
    """A goal in states: where it is completed, and how to add a way into it."""

    exits: list[int]
    enter: Callable[[Entry, bool], None]


class Skeleton:
    """States and arcs of one detector's goal. State 0 is START; `exits` are where the goal is completed."""

    def __init__(self, goal: Goal) -> None:
        self.places = [Place("start")]
        self.arcs: list[Arc] = []
        self.stars: list[StarInfo] = []
        self.said: list[Said] = []
        self.star_of: dict[str, int] = {}
        self._position = 0
        part = self._part(goal, frozenset(), ())
        part.enter(Entry(START), True)
        self.exits = part.exits

    def guarded(self, star: int) -> bool:
        """Whether beginnings of a star are to be looked at: not if it takes every instance, or comes after `any`."""
        ways = [arc.entry for arc in self.arcs if star in arc.entry.begins and not arc.entry.loops]
        return not self.stars[star].every and not all(way.after_any for way in ways)

    # --- parts ------------------------------------------------------------------------------------------------

    def _part(self, goal: Goal, imports: frozenset[str], stars: tuple[int, ...]) -> Part:
        match goal:
            case ast.Star(body, every):
                return self._star(body, every, imports, stars)
            case ast.Sequence(goals, relaxed) if not is_point(goal):
                return self._sequence(goals, relaxed, imports, stars)
            case ast.Either(parts) if not is_point(goal):
                return self._either([self._part(each, imports, stars) for each in parts])
        return self._point(goal, imports, stars)

    def _point(self, goal: Goal, imports: frozenset[str], stars: tuple[int, ...]) -> Part:
        state = self._place(Place(_name(goal)))
        for event in ast.walk(goal):
            if isinstance(event, Simple) and event.variable is not None and stars:
                self.star_of[event.variable] = stars[-1]
            if isinstance(event, Simple | ast.Test) and event.condition is not None:
                self._say(event.condition, stars)
        ways = choices(goal)

        def enter(entry: Entry, leading: bool) -> None:
            self.arcs += [Arc(entry, state, choice, imports, stars) for choice in ways]

        part = Part([state], enter)
        return replace(part, enter=self._from_zero(goal.goals, part)) if isinstance(goal, ast.Sequence) else part

    def _sequence(self, goals: Sequence[Goal], relaxed: bool, imports: frozenset[str], stars: tuple[int, ...]) -> Part:
        first: Part | None = None
        exits: list[int] = []
        points = _points_with_tests(goals)
        after_any = False
        for goal in points:
            if isinstance(goal, ast.Test):
                self._say(goal.condition, stars)
                exits = [self._filtered(each, goal.condition, stars) for each in exits]
                continue
            part = self._part(goal, imports, stars)
            for each in exits:
                part.enter(Entry(self._waiting(each)) if relaxed else Entry(each, after_any=after_any), False)
            first, exits, after_any = first or part, list(part.exits), isinstance(goal, ast.Any)
            imports |= exported(goal).all
        assert first is not None
        return Part(exits, self._from_zero(points[:1], first))

    def _from_zero(self, begin: Sequence[Goal], part: Part) -> Callable[[Entry, bool], None]:
        """How to enter what a sequence begins with: `any` is satisfied before the first stage, too."""
        if not isinstance(begin[0], ast.Any):
            return part.enter
        tests = [each.condition for each in begin if isinstance(each, ast.Test)]

        def enter(entry: Entry, leading: bool) -> None:
            part.enter(entry, False)
            if leading and all(constant(each) is True for each in tests):
                self.places[part.exits[0]].initial = True

        return enter

    def _star(self, body: Goal, every: bool, imports: frozenset[str], stars: tuple[int, ...]) -> Part:
        number = len(self.stars)
        self.stars.append(StarInfo(number, bound(body), stars, imports, self._position, every))
        part = self._part(body, imports, (*stars, number))

        def enter(entry: Entry, leading: bool) -> None:
            part.enter(replace(entry, begins=(*entry.begins, number)), leading)

        for each in part.exits:
            part.enter(Entry(each, loops=(number,)), False)
        return Part(list(part.exits), enter)

    def _either(self, parts: Sequence[Part]) -> Part:
        def enter(entry: Entry, leading: bool) -> None:
            for part in parts:
                part.enter(entry, leading)

        return Part([each for part in parts for each in part.exits], enter)

    # --- states -----------------------------------------------------------------------------------------------

    def _place(self, place: Place) -> int:
        self.places.append(place)
        return len(self.places) - 1

    def _filtered(self, state: int, condition: Expression, stars: tuple[int, ...]) -> int:
        target = self._place(Place(f"{self.places[state].name}, …"))
        self.places[state].leads_to.append((condition, stars, target))
        return target

    def _waiting(self, state: int) -> int:
        for _, _, target in self.places[state].leads_to:
            if self.places[target].waits:
                return target
        target = self._place(Place(f"after {self.places[state].name}", waits=True))
        self.places[state].leads_to.append((None, (), target))
        return target

    def _say(self, condition: Expression, stars: tuple[int, ...]) -> None:
        self.said.append(Said(condition, self._position, stars))
        self._position += 1


def _points_with_tests(goals: Sequence[Goal]) -> list[Goal]:
    """The goals of a sequence; a point and the tests right after it are one point."""
    found: list[Goal] = []
    for goal in goals:
        if isinstance(goal, ast.Test) and is_point(found[-1]) and not isinstance(found[-1], ast.Test):
            before = found.pop()
            parts = before.goals if isinstance(before, ast.Sequence) else (before,)
            goal = ast.Sequence((*parts, goal))
        found.append(goal)
    return found


def _name(goal: Goal) -> str:
    events = [each for each in ast.walk(goal) if isinstance(each, Simple)]
    if isinstance(goal, ast.Any):
        return "any"
    return " & ".join(f"{each.types[0].name}({each.variable or ''})" for each in events) or "a point"
