"""⟦φ⟧(S): the set of complex events that a formula denotes over a stream.

One function an operator, after figure 1 and section 5 of paper 000 and sections 5 and 6 of paper 002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acelera.language import ast
from acelera.language.events import ComplexEvent, Event, bag, complex_event, made_event
from acelera.semantics.aggregation import aggregate
from acelera.semantics.satisfaction import satisfies

Denotation = frozenset[ComplexEvent]


@dataclass(frozen=True)
class Stream:
    """e1 e2 … en, with what the operators need to know besides."""

    events: Sequence[Event]
    type_column: str | None = "type"
    once: bool = True  # how AS and ALL count an event that several variables hold


def denotation(formula: ast.Formula, stream: Stream) -> Denotation:
    """⟦φ⟧(S), bottom-up."""
    made_by = 0

    def combine(node: ast.Formula, made: Sequence[Denotation]) -> Denotation:
        nonlocal made_by
        match node:
            case ast.EventType(name):
                return event_type(stream, name)
            case ast.AnyEvent():
                return any_event(stream)
            case ast.Next():
                return next_event(stream, made[0])
            case ast.As(_, variable):
                return frozenset(collect(c, variable, stream.once) for c in made[0])
            case ast.Filter(_, condition):
                return frozenset(c for c in made[0] if satisfies(c, condition))
            case ast.Then():
                return then(made[0], made[1])
            case ast.Contiguous():
                return contiguous(made[0], made[1])
            case ast.Iteration():
                return iterate(made[0], then)
            case ast.ContiguousIteration():
                return iterate(made[0], contiguous)
            case ast.Or():
                return made[0] | made[1]
            case ast.And():
                return conjunction(made[0], made[1])
            case ast.All():
                return frozenset(c1.union(c2, stream.once) for c1 in made[0] for c2 in made[1])
            case ast.Unless():
                return unless(made[0], made[1])
            case ast.Project():
                return frozenset(project(c, node, stream.type_column) for c in made[0])
            case ast.Agg():
                made_by += 1  # each AGG of the formula is an origin of its own
                origin = (1, made_by)
                return frozenset(create(c, node, stream, origin) for c in made[0])
            case ast.Start():
                return frozenset(c for c in made[0] if c.start == 1)
            case ast.Strict():
                return frozenset(c for c in made[0] if gapless(c))
        raise AssertionError(f"unknown formula {type(node).__name__}")

    return ast.fold(formula, combine)


def event_type(stream: Stream, name: str) -> Denotation:
    """⟦R⟧ = {(i, i, μ) | e_i(type) = R, μ(R) = {{e_i}}}."""
    return frozenset(complex_event(e.position, e.position, {name: (e,)}) for e in stream.events if e.type == name)


def any_event(stream: Stream) -> Denotation:
    """Any one event, in the variable ANY."""
    return frozenset(complex_event(e.position, e.position, {"ANY": (e,)}) for e in stream.events)


def next_event(stream: Stream, once: Denotation) -> Denotation:
    """NEXT(φ), φ of one event: from any position i to the first one at or after i where φ matches."""
    places = sorted({c.end for c in once})
    found = set()
    for i in range(1, len(stream.events) + 1):
        first = next((place for place in places if place >= i), None)
        found |= {complex_event(i, c.end, dict(c.bags)) for c in once if c.end == first}
    return frozenset(found)


def collect(c: ComplexEvent, variable: str, once: bool) -> ComplexEvent:
    """φ AS X: C(X) = ⊎_Y C'(Y); counting once, an event of the same origin, attributes and position is taken once."""
    events = c.events()
    return c.assign(variable, set(events) if once else events)


def then(left: Denotation, right: Denotation) -> Denotation:
    """⟦φ1 ; φ2⟧: end(C1) < start(C2)."""
    return frozenset(c1.union(c2) for c1 in left for c2 in right if c1.end < c2.start)


def contiguous(left: Denotation, right: Denotation) -> Denotation:
    """⟦φ1 : φ2⟧: end(C1) + 1 = start(C2)."""
    return frozenset(c1.union(c2) for c1 in left for c2 in right if c1.end + 1 == c2.start)


def iterate(once: Denotation, sequence: Callable[[Denotation, Denotation], Denotation]) -> Denotation:
    """⟦φ+⟧ = ⟦φ⟧ ∪ ⟦φ ; φ+⟧, and ⟦φ⊕⟧ with `:`: the least set that satisfies the equation."""
    found: Denotation = once
    newest: Denotation = once
    while newest:
        newest = sequence(once, newest) - found
        found |= newest
    return found


def conjunction(left: Denotation, right: Denotation) -> Denotation:
    """⟦φ1 AND φ2⟧: what both produce. The paper compares attributes and times, so origins do not matter."""
    produced = {c.without_origins() for c in right}
    return frozenset(c for c in left if c.without_origins() in produced)


def unless(left: Denotation, right: Denotation) -> Denotation:
    """⟦φ1 UNLESS φ2⟧: no C' of φ2 with start(C) ≤ start(C') ≤ end(C') ≤ end(C)."""
    forbidden = {(c.start, c.end) for c in right}
    return frozenset(c for c in left if not any(c.start <= start and end <= c.end for start, end in forbidden))


def project(c: ComplexEvent, node: ast.Project, type_column: str | None) -> ComplexEvent:
    """π_L and π_{X(a…)}: keep these variables, and of some of them only these attributes."""
    named = {item.variable: item for item in node.kept}
    bags = {}
    for variable in c.variables:
        item = named.get(variable)
        if item is not None and item.attributes is not None:
            bags[variable] = bag(e.project(item.attributes, type_column) for e in c(variable))
        elif item is not None or node.everything:
            bags[variable] = c(variable)
    return complex_event(c.start, c.end, bags)


def create(c: ComplexEvent, node: ast.Agg, stream: Stream, origin: tuple[int, int]) -> ComplexEvent:
    """Agg_{Y[b1 ← ⊗1 X1(a1), …]}: C(Y) = C'(Y) ⊎ {{e}} with e(time) = end(C')."""
    attributes = {item.attribute: aggregate(item.value, c(item.value.variable)) for item in node.created}
    last = stream.events[c.end - 1]
    made = made_event(c.end, attributes, None, last.time, origin, last.place)
    return c.assign(node.variable, (*c(node.variable), made))


def gapless(c: ComplexEvent) -> bool:
    """STRICT: the positions of all events form an interval."""
    positions = {event.position for event in c.events()}
    return not positions or max(positions) - min(positions) + 1 == len(positions)
