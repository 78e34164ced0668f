"""Runs of events that stand next to each other: what a query asks that always reads the same events in a row.

An automaton without loops is followed along each way from its beginning to its end, with what its registers would hold
as expressions over the events of the way. What is found needs no automaton: so many events in a row, what each of them
must satisfy alone and together, and the variables that they go into.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product

from acelera.automata.labels import Marks
from acelera.automata.terms import (
    UNSET,
    Attr,
    Collected,
    Compared,
    Const,
    Earlier,
    ForAll,
    Fresh,
    Identical,
    IfSet,
    Known,
    Position,
    Reg,
    Sql,
    Summary,
    Term,
    Unset,
    subterms,
)
from acelera.engine.plan import Edge, Plan
from acelera.language import ast
from acelera.language.conditions import replace_attributes
from acelera.language.lowering import UnsupportedError

MOST_EVENTS, MOST_RUNS, MOST_CONDITIONS = 16, 64, 256
"""How many events a run may have, how many runs there may be, and how many conditions one of them may have."""


@dataclass(frozen=True)
class Run:
    """One way through an automaton: what its events must satisfy, each alone (numbers of tests) and several together.

    An attribute in a condition has the place of its event as its variable: "0" is the first. A run that `begins` a
    partition has no event before it.
    """

    tests: tuple[frozenset[int], ...]
    conditions: tuple[ast.Expression, ...]
    begins: bool


@dataclass(frozen=True)
class Shape:
    """Matches that mark events alike: the marks of each place, and the runs that find them."""

    marks: tuple[Marks, ...]
    runs: tuple[Run, ...]

    @property
    def length(self) -> int:
        """How many events a match has."""
        return len(self.marks)


def shapes_of(plan: Plan) -> tuple[Shape, ...]:
    """The matches that a plan finds, if they are of a few shapes; an UnsupportedError tells in words why they are not.

    Different shapes are different matches, and two runs of one shape find the same match.
    """
    _refuse_what_is_no_run(plan)
    found: dict[tuple[Marks, ...], dict[Run, None]] = {}
    for count, edges in enumerate(_ways(plan), 1):
        if count > MOST_RUNS:
            raise UnsupportedError(f"there are more than {MOST_RUNS} ways to match")
        run = _run(edges, plan)
        if run is not None:
            found.setdefault(tuple(edge.action.marks for edge in edges), {})[run] = None
    return tuple(Shape(marks, tuple(runs)) for marks, runs in found.items())


def _refuse_what_is_no_run(plan: Plan) -> None:
    if plan.guards or plan.absences:
        raise UnsupportedError("UNLESS looks at further events")
    if plan.folds:
        raise UnsupportedError("AGG makes events")
    if plan.by_value:
        raise UnsupportedError("matches are told apart by the values of their events")
    if plan.split_by:
        raise UnsupportedError(f"all events of a match have {', '.join(plan.split_by)} in common")


def _ways(plan: Plan) -> Iterator[tuple[Edge, ...]]:
    """All ways from the beginning to an end."""
    todo: list[tuple[Edge, ...]] = [(edge,) for edge in plan.outgoing.get(plan.initial, ())]
    while todo:
        way = todo.pop()
        state = way[-1].target
        if state in {edge.source for edge in way}:
            raise UnsupportedError("the events of a match are not a fixed number that stand next to each other")
        if len(way) > MOST_EVENTS:
            raise UnsupportedError(f"a match has more than {MOST_EVENTS} events")
        if state in plan.finals:
            yield way
        todo += [(*way, edge) for edge in reversed(plan.outgoing.get(state, ()))]


def _run(edges: Sequence[Edge], plan: Plan) -> Run | None:
    """What the edges of a way ask of its events; None if no events satisfy it."""
    registers: Mapping[str, _Value] = {}
    tests: list[frozenset[int]] = []
    conditions: dict[ast.Expression, None] = {}
    begins = False
    for place, edge in enumerate(edges):
        fresh: dict[str, _Value] = {}
        for name, term in edge.assign:
            fresh[name] = _Place(place, registers, fresh).value(term)
        here = _Place(place, fresh, {})
        alone = set[int]()
        for number in edge.tests:
            test = plan.tests[number]
            if test == _FIRST:
                if place:
                    return None
                begins = True
            elif any(isinstance(part, Earlier) for part in subterms(test)):
                conditions.update(dict.fromkeys(here.asked(test)))
            else:
                alone.add(number)
        for term in edge.conditions:
            conditions.update(dict.fromkeys(here.asked(term)))
        if len(conditions) > MOST_CONDITIONS:
            raise UnsupportedError(f"there are more than {MOST_CONDITIONS} conditions between events")
        tests.append(frozenset(alone))
        registers = fresh
    return Run(tuple(tests), tuple(conditions), begins)


_FIRST = Identical(Position(), Const(1))


@dataclass(frozen=True)
class _Largest:
    """What a Summary would hold, as the values that it is of: their largest, smallest or common one."""

    kind: str
    values: tuple[ast.Expression, ...]


@dataclass(frozen=True)
class _Tuples:
    """What a Collected would hold."""

    tuples: tuple[tuple[ast.Expression, ...], ...]


_Value = ast.Expression | Unset | _Largest | _Tuples
"""What a register holds: an expression over the events so far, nothing, or what is made of several."""

_KINDS = {
    "<": ("max", "min"),
    "<=": ("max", "min"),
    ">": ("min", "max"),
    ">=": ("min", "max"),
    "=": ("common", "common"),
}
"""Which values of both sides a comparison holds for, if it holds for all."""


@dataclass(frozen=True)
class _Place:
    """A place in a run, with what its registers hold."""

    number: int
    registers: Mapping[str, _Value]
    fresh: Mapping[str, _Value]

    def value(self, term: Term) -> _Value:
        """What a term is worth there."""
        match term:
            case Const(constant):
                return constant if isinstance(constant, Unset) else ast.Literal(constant)
            case Attr(name):
                return _at(self.number, name)
            case Earlier(name) if self.number:
                return _at(self.number - 1, name)
            case Reg(name):
                return self.registers.get(name, UNSET)
            case Fresh(name):
                return self.fresh[name]
            case Sql(expression, leaves):
                bound = {key: self._plain(leaf) for key, leaf in leaves}
                return _with_values(expression, bound)
            case Summary(kind, state, given):
                before = self.value(state)
                held = before.values if isinstance(before, _Largest) else ()
                if not isinstance(before, Unset | _Largest):
                    raise _unsaid(term)
                return _Largest(kind, (*held, *map(self._plain, given)))
            case Collected(state, width, given):
                so_far = self.value(state)
                if not isinstance(so_far, Unset | _Tuples):
                    raise _unsaid(term)
                values = tuple(map(self._plain, given))
                more = tuple(values[begin : begin + width] for begin in range(0, len(values), width))
                return _Tuples((*(so_far.tuples if isinstance(so_far, _Tuples) else ()), *more))
        raise _unsaid(term)

    def _plain(self, term: Term) -> ast.Expression:
        found = self.value(term)
        if not isinstance(found, ast.Expression):
            raise _unsaid(term)
        return found

    def asked(self, term: Term) -> list[ast.Expression]:
        """What must be TRUE for a predicate to be."""
        match term:
            case Compared(operator, left, right):
                return self._compared(operator, self.value(left), self.value(right), term)
            case IfSet(predicate):
                unset = any(isinstance(self.value(part), Unset) for part in predicate.parts())
                return [] if unset else [self._plain(predicate)]
            case Known(state):
                held = self.value(state)
                if isinstance(held, _Largest):
                    return _of_one_value(held)
                if isinstance(held, ast.Expression):
                    return [ast.IsNull(held, True)]
            case ForAll(predicate, attributes, sets):
                collected = [self.value(each) for each in sets]
                if any(isinstance(each, Unset) for each in collected):
                    return []
                return list(_for_all(predicate, attributes, [e for e in collected if isinstance(e, _Tuples)]))
            case Sql():
                return [self._plain(term)]
        raise _unsaid(term)

    def _compared(self, operator: str, left: _Value, right: _Value, term: Term) -> list[ast.Expression]:
        """A comparison of two summaries is one of all values of one side with all of the other."""
        if isinstance(left, Unset) or isinstance(right, Unset):
            return []
        found: list[ast.Expression] = []
        sides: list[Sequence[ast.Expression]] = []
        for side, kind in zip((left, right), _KINDS[operator], strict=True):
            if isinstance(side, _Largest) and (len(side.values) == 1 or side.kind == kind):
                sides.append(side.values)
                if kind == "common":
                    found += [ast.Binary("=", *pair) for pair in pairwise(side.values)]
            elif isinstance(side, ast.Expression):
                sides.append([side])
            else:
                raise _unsaid(term)
        return [*found, *(ast.Binary(operator, *pair) for pair in product(*sides))]


def _at(place: int, name: str) -> ast.Expression:
    """An attribute of the event at a place."""
    if isinstance(name, ast.Computed):
        return replace_attributes(name.expression, lambda node: _at(place, node.name))
    return ast.Attribute(str(place), name)


def _of_one_value(held: _Largest) -> list[ast.Expression]:
    """That no value is NULL or NaN, and that all are equal if they must be."""
    if held.kind == "common" and len(held.values) > 1:
        return [ast.Binary("=", *pair) for pair in combinations(held.values, 2)]
    return [ast.Binary("=", value, value) for value in held.values]


def _for_all(
    predicate: ast.Expression, attributes: Sequence[Sequence[tuple[str | None, str]]], sets: Sequence[_Tuples]
) -> Iterator[ast.Expression]:
    for combination in product(*(each.tuples for each in sets)):
        bound: dict[tuple[str | None, str], ast.Expression] = {}
        for keys, values in zip(attributes, combination, strict=True):
            bound.update(zip(keys, values, strict=True))
        yield _with_values(predicate, bound)


def _with_values(expression: ast.Expression, bound: Mapping[tuple[str | None, str], ast.Expression]) -> ast.Expression:
    return replace_attributes(expression, lambda node: bound[(node.variable, node.name)])


def _unsaid(term: Term) -> UnsupportedError:
    return UnsupportedError(f"`{term}` is computed as the query runs")
