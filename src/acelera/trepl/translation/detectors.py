"""Rules as detectors: what is composite under an operator of one stage becomes an event of its own.

`!(A, B)` becomes `!#1`, where a detector of its own tells `#1` when `(A, B)` is satisfied; so with the parts of `&`,
with `first` and with `prior`. What others look at in such a part is carried by the event. `first(A)` of what takes one
stage becomes `first(#1) & A`: it may stand in a star, whose rounds keep what A binds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from acelera.language.ast import Expression
from acelera.language.tree import fold, rebuilt, walk
from acelera.trepl import ast
from acelera.trepl.ast import Goal
from acelera.trepl.resolved import Aggregate, EventType, Field, Part, Simple, Stamp
from acelera.trepl.shape import exported, is_point

Term = Field | Stamp | Part | Aggregate


@dataclass(frozen=True)
class Told:
    """What a detector tells: arguments, as an event if `event` is its name, and as the action of a rule if shown."""

    arguments: tuple[Expression, ...]
    event: str | None = None
    action: tuple[int, int] | None = None  # the numbers of the rule and of its action


@dataclass(frozen=True)
class Detector:
    """A goal in which only points stand under operators, and what is told when it is satisfied."""

    name: str
    goal: Goal
    told: tuple[Told, ...]


def split(detector: Detector, module: str) -> list[Detector]:
    """The detector and those of the events that were taken out of it, these first."""
    return list(_Splitter(module, detector.name).split(detector))


class _Splitter:
    def __init__(self, module: str, name: str) -> None:
        self._module, self._name, self._count = module, name, 0

    def split(self, detector: Detector) -> Iterator[Detector]:
        first = next(_firsts(detector.goal), None)
        part = next(_composites(detector.goal), None)
        if first is not None:
            inner, outer = self._noticed(detector, first)
        elif part is not None:
            inner, outer = self._taken_out(detector, part)
        else:
            yield replace(detector, goal=fold(detector.goal, _without_prior))
            return
        yield from self.split(inner)
        yield from self.split(outer)

    def _noticed(self, detector: Detector, first: ast.First) -> tuple[Detector, Detector]:
        """What takes one stage stays where it is, beside the first event that tells of it."""
        self._count += 1
        name = f"#{self._name}#{self._count}"
        event = ast.First(Simple((EventType("derived", name, self._module),)))
        inner = Detector(name, first.goal, (Told((), event=name),))
        return inner, replace(detector, goal=_replaced(detector.goal, first, ast.Both((event, first.goal))))

    def _taken_out(self, detector: Detector, part: Goal) -> tuple[Detector, Detector]:
        self._count += 1
        name, variable = f"#{self._name}#{self._count}", f"#{self._count}"
        shared = exported(part).all
        rest = _replaced(detector.goal, part, ast.Any())
        outside = [*conditions_of(rest), *(each for told in detector.told for each in told.arguments)]
        carried = list(dict.fromkeys(term for each in outside for term in terms_of(each) if term.variable in shared))
        fields = {term: Field(variable, "new", f"a{number}") for number, term in enumerate(carried)}
        event = Simple((EventType("derived", name, self._module),), variable)
        goal = _with_terms(_replaced(detector.goal, part, event), fields)
        told = tuple(
            replace(each, arguments=tuple(with_terms(value, fields) for value in each.arguments))
            for each in detector.told
        )
        inner = Detector(name, part, (Told(tuple(carried), event=name),))
        return inner, replace(detector, goal=goal, told=told)


def _firsts(goal: Goal) -> Iterator[ast.First]:
    """The first of what takes one stage, the outermost first."""
    for each in walk(goal):
        if isinstance(each, ast.First) and is_point(each.goal) and not _is_own(each.goal):
            yield each


def _composites(goal: Goal) -> Iterator[Goal]:
    """What is to be taken out, the outermost first."""
    for each in walk(goal):
        match each:
            case ast.Not(inner) if not is_point(inner):
                yield inner
            case ast.Both(parts):
                yield from (part for part in parts if not is_point(part))
            case ast.First(inner) if not is_point(inner):
                yield inner
            case ast.Prior(earlier, later):
                yield from (part for part in (earlier, later) if not _is_own(part))


def _is_own(goal: Goal) -> bool:
    return isinstance(goal, Simple) and goal.types[0].name.startswith("#")


def _without_prior(goal: Goal, inner: Sequence[Goal]) -> Goal:
    """`prior` of two events of one stage is one after the other."""
    made = rebuilt(goal, inner)
    return ast.Sequence((made.earlier, made.later), relaxed=True) if isinstance(made, ast.Prior) else made


def _replaced(goal: Goal, part: Goal, other: Goal) -> Goal:
    def combine(node: Goal, inner: Sequence[Goal]) -> Goal:
        return other if node is part else rebuilt(node, inner)

    return fold(goal, combine)


# --- terms --------------------------------------------------------------------------------------------------------


def terms_of(expression: Expression) -> Iterator[Term]:
    """What an expression looks at; an aggregate is one term, whatever stands in it."""
    todo = [expression]
    while todo:
        node = todo.pop()
        if isinstance(node, Term):
            yield node
        if not isinstance(node, Aggregate):
            todo += reversed(ast.children(node))


def conditions_of(goal: Goal) -> Iterator[Expression]:
    """The conditions of a goal, from left to right."""
    for each in walk(goal):
        if isinstance(each, Simple | ast.Test) and each.condition is not None:
            yield each.condition


def with_terms(expression: Expression, others: Mapping[Term, Expression]) -> Expression:
    """The expression with other terms in the place of some."""

    def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
        if isinstance(node, Term) and node in others:
            return others[node]
        return node if isinstance(node, Aggregate) else rebuilt(node, inner)

    return fold(expression, combine, _below_terms)


def _below_terms(node: Expression) -> tuple[Expression, ...]:
    return () if isinstance(node, Aggregate) else ast.children(node)


def _with_terms(goal: Goal, others: Mapping[Term, Expression]) -> Goal:
    def combine(node: Goal, inner: Sequence[Goal]) -> Goal:
        made = rebuilt(node, inner)
        if isinstance(made, Simple | ast.Test) and made.condition is not None:
            return replace(made, condition=with_terms(made.condition, others))
        return made

    return fold(goal, combine)
