"""Goals by their places, and the possible predecessors of each, from the top down (contract, section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from acelera.trepl import ast
from acelera.trepl.shape import is_point

Path = tuple[int, ...]
"""The place of a goal: which of the parts to take, from the top. Paths are ordered as the text is."""


@dataclass(frozen=True)
class Predecessor:
    """What a goal may continue: the *start*, a goal at the stage before, one at any stage before (*wait*), or the
    star it stands in (*loop*). `begun` are the stars that begin on the way, outer ones first."""

    kind: str
    goal: Path = ()
    begun: tuple[Path, ...] = ()


START = Predecessor("start")


# --- one form ---------------------------------------------------------------------------------------------------------


def grouped(goal: ast.Goal) -> ast.Goal:
    """The goal with each point and the tests right after it as one point."""
    return ast.fold(goal, _grouped)


def _grouped(goal: ast.Goal, inner: Sequence[ast.Goal]) -> ast.Goal:
    if not isinstance(goal, ast.Sequence):
        return ast.rebuilt(goal, inner)
    goals: list[ast.Goal] = []
    for tests, those in groupby(inner, lambda each: isinstance(each, ast.Test)):
        if tests and goals and is_point(goals[-1]):
            goals[-1] = ast.Sequence((goals[-1], *those), span=goal.span)
        else:
            goals += those
    return goals[0] if len(goals) == 1 else ast.Sequence(tuple(goals), goal.relaxed, span=goal.span)


# --- places -----------------------------------------------------------------------------------------------------------


def placed(goal: ast.Goal, root: Path = ()) -> dict[Path, ast.Goal]:
    """A goal and all goals in it by their places, each after its parts, parts as they are written."""
    found: dict[Path, ast.Goal] = {}
    todo = [(root, goal)]
    while todo:
        path, each = todo.pop()
        found[path] = each
        todo += [((*path, number), part) for number, part in enumerate(ast.children(each))]
    return {path: found[path] for path in _parts_first(found)}


def _parts_first(paths: Sequence[Path] | dict[Path, ast.Goal]) -> list[Path]:
    return sorted(paths, key=lambda path: (*path, float("inf")))


class OwnEvent:
    """An event that begins anywhere: that of a rule, or a composite under `!`.

    `goals` are its points and the composites that they make up, each after its parts; what is inside a point is not
    among them, and composites under `!` are events of their own.
    """

    def __init__(self, goal: ast.Goal, root: Path = ()) -> None:
        self.root = root
        self.predecessors: dict[Path, tuple[Predecessor, ...]] = {}
        found: dict[Path, ast.Goal] = {}
        todo: list[tuple[Path, ast.Goal, tuple[Predecessor, ...]]] = [(root, goal, (START,))]
        while todo:
            path, each, before = todo.pop()
            found[path] = each
            self.predecessors[path] = before
            if not is_point(each):
                todo += _parts(path, each, before)
        self.goals = {path: found[path] for path in _parts_first(found)}

    @cached_property
    def points(self) -> dict[Path, dict[Path, ast.Goal]]:
        """The points, each with all goals inside it that are evaluated with it."""
        those = [path for path, goal in self.goals.items() if is_point(goal) and not isinstance(goal, ast.Test)]
        return {path: _inside(path, self.goals[path]) for path in those}

    @cached_property
    def stars(self) -> dict[Path, ast.Star]:
        """The stars."""
        return {path: goal for path, goal in self.goals.items() if isinstance(goal, ast.Star)}

    def is_exempt(self, star: Path) -> bool:
        """Whether a star stands directly after `any`, and nothing else."""
        before = [each for each in self.predecessors[star] if each.kind != "loop"]
        return all(each.kind == "after" and isinstance(self.goals[each.goal], ast.Any) for each in before)

    def begins_at_zero(self, point: Path) -> tuple[Predecessor, ...]:
        """The predecessors through which a point is satisfied at stage 0: `any`, first in a sequence after *start*."""
        goal = self.goals[point]
        if isinstance(goal, ast.Sequence):
            goal = goal.goals[0]
        elif point == self.root or point[-1] != 0 or not isinstance(self.goals[point[:-1]], ast.Sequence):
            return ()
        if not isinstance(goal, ast.Any):
            return ()
        return tuple(each for each in self.predecessors[point] if each.kind == "start")


def own_events(goal: ast.Goal) -> list[OwnEvent]:
    """The event of a rule, which comes last, and those of the composites under `!` in it, inner ones first."""
    whole = placed(goal)
    negated = [
        (path, each)
        for path, each in whole.items()
        if path and isinstance(whole[path[:-1]], ast.Not) and not is_point(each)
    ]
    return [OwnEvent(each, path) for path, each in [*negated, ((), goal)]]


def _parts(
    path: Path, goal: ast.Goal, before: tuple[Predecessor, ...]
) -> Iterator[tuple[Path, ast.Goal, tuple[Predecessor, ...]]]:
    """The parts of a composite with their predecessors."""
    for number, part in enumerate(ast.children(goal)):
        here = (*path, number)
        match goal:
            case ast.Sequence(_, relaxed) if number > 0:
                yield here, part, (Predecessor("wait" if relaxed else "after", (*path, number - 1)),)
            case ast.Star():
                begin = tuple(replace(each, begun=(*each.begun, path)) for each in before)
                yield here, part, (*begin, Predecessor("loop", path))
            case ast.Both() | ast.Prior():
                yield here, part, (START,)
            case _:
                yield here, part, before


def _inside(point: Path, goal: ast.Goal) -> dict[Path, ast.Goal]:
    """A point and the goals inside it, but for composites under `!`; each after its parts."""
    found: dict[Path, ast.Goal] = {}
    todo = [(point, goal)]
    while todo:
        path, each = todo.pop()
        found[path] = each
        if not isinstance(each, ast.Not) or is_point(each.goal):
            todo += [((*path, number), part) for number, part in enumerate(ast.children(each))]
    return {path: found[path] for path in _parts_first(found)}
