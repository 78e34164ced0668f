"""⟦φ⟧(S): the set of complex events that a formula denotes over a stream.

One function an operator, after figure 1 and section 5 of paper 000 and sections 5 and 6 of paper 002.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acelera.language import ast
from acelera.language.absence import independent_parts, length_of, names_from_outside
from acelera.language.events import ComplexEvent, Event, bag, complex_event, made_event, within
from acelera.language.schema import Schema
from acelera.semantics.absence import Forbidden, of_the_match, unless, unless_for
from acelera.semantics.aggregation import aggregate
from acelera.semantics.satisfaction import Given, satisfies

Denotation = frozenset[ComplexEvent]
Pairs = Callable[[Denotation, Denotation], Denotation]
"""How the matches of two parts become matches of both."""


@dataclass(frozen=True)
class Denoted:
    """The complex events of a formula, and whether it may also be empty: left out, as a part of something larger.

    The empty case has no interval, so it is none of the complex events.
    """

    matches: Denotation
    empty: bool = False

    def each(self, change: Callable[[ComplexEvent], ComplexEvent]) -> Denoted:
        """With something done to each match; what is empty stays so."""
        return Denoted(frozenset(change(c) for c in self.matches), self.empty)

    def those(self, wanted: Callable[[ComplexEvent], bool]) -> Denoted:
        """The matches that are wanted; what is empty stays so, since conditions on empty variables hold."""
        return Denoted(frozenset(c for c in self.matches if wanted(c)), self.empty)


NOTHING = Denoted(frozenset(), empty=True)
"""What is repeated no times."""


@dataclass(frozen=True)
class Stream:
    """e1 e2 … en, with what the operators need to know besides."""

    events: Sequence[Event]
    type_column: str | None = "type"
    once: bool = True  # how AS and ALL count an event that several variables hold
    schema: Schema | None = None

    def whole(self, names: Sequence[str]) -> Sequence[str]:
        """Attributes, with the fields of those that are structs."""
        return names if self.schema is None else self.schema.whole(names)


def denotation(formula: ast.Formula, stream: Stream) -> Denotation:
    """⟦φ⟧(S) of a whole formula: a query never matches nothing, so the empty case is left out."""
    return denoted(formula, stream).matches


def denoted(formula: ast.Formula, stream: Stream, given: Given | None = None) -> Denoted:
    """The same of a part, bottom-up; in conditions, variables of a match around it hold the events that are given."""
    made_by = 0

    def combine(node: ast.Formula, made: Sequence[Denoted]) -> Denoted:
        nonlocal made_by
        match node:
            case ast.EventType(name):
                return Denoted(event_type(stream, name))
            case ast.AnyEvent():
                return Denoted(any_event(stream))
            case ast.Next():
                return Denoted(next_event(stream, made[0].matches))
            case ast.As(_, variable):
                return made[0].each(lambda c: collect(c, variable, stream.once))
            case ast.Filter(_, condition):
                return made[0].those(lambda c: satisfies(c, condition, given))
            case ast.Then():
                return in_sequence(made[0], made[1], then)
            case ast.Contiguous():
                return in_sequence(made[0], made[1], contiguous)
            case ast.Iteration():
                return Denoted(iterate(made[0].matches, then), made[0].empty)
            case ast.ContiguousIteration():
                return Denoted(iterate(made[0].matches, contiguous), made[0].empty)
            case ast.Optional():
                return Denoted(made[0].matches, True)
            case ast.Repeated(_, low, high, is_contiguous):
                return repeat(made[0], low, high, contiguous if is_contiguous else then)
            case ast.Or():
                return Denoted(made[0].matches | made[1].matches, made[0].empty or made[1].empty)
            case ast.And():
                return Denoted(conjunction(made[0].matches, made[1].matches), made[0].empty and made[1].empty)
            case ast.All():
                return in_sequence(made[0], made[1], lambda left, right: together(left, right, stream.once))
            case ast.Unless():
                forbidden = forbidden_by(node.right, made[1:])
                return made[0].those(lambda c: unless(c, forbidden))
            case ast.UnlessFor():
                forbidden, length = forbidden_by(node.right, made[1:]), length_of(node)
                return made[0].those(lambda c: unless_for(c, forbidden, length, stream.events))
            case ast.Windowed(_, window):
                return made[0].those(lambda c: fits(c, window, stream))
            case ast.Project():
                return made[0].each(lambda c: project(c, node, stream))
            case ast.Agg():
                made_by += 1  # each AGG of the formula is an origin of its own
                origin = (1, made_by)
                return made[0].each(lambda c: create(c, node, stream, origin))
            case ast.Start():
                return made[0].those(lambda c: c.start == 1)
            case ast.Strict():
                return made[0].those(gapless)
        raise AssertionError(f"unknown formula {type(node).__name__}")

    def forbidden_by(formula: ast.Formula, independently: Sequence[Denoted]) -> Forbidden:
        if not independently:
            return of_the_match(names_from_outside(formula), lambda each: denoted(formula, stream, each).matches)
        intervals = {(c.start, c.end) for c in independently[0].matches}
        return lambda _: intervals

    return ast.fold(formula, combine, independent_parts)


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


def together(left: Denotation, right: Denotation, once: bool) -> Denotation:
    """⟦φ1 ALL φ2⟧: both, over the smallest interval that holds both."""
    return frozenset(c1.union(c2, once) for c1 in left for c2 in right)


def in_sequence(left: Denoted, right: Denoted, pairs: Pairs) -> Denoted:
    """Both sides, paired as `;`, `:` or ALL pair them; each side alone if the other may be left out."""
    found = pairs(left.matches, right.matches)
    if right.empty:
        found |= left.matches
    if left.empty:
        found |= right.matches
    return Denoted(found, left.empty and right.empty)


def repeat(once: Denoted, low: int, high: int | None, pairs: Pairs) -> Denoted:
    """⟦φ{n,m}⟧: φ ; φ ; … ; φ, n times or n + 1 or … or m times. φ{n,} is φ{n} or φ{n} ; φ+."""
    times = NOTHING
    for _ in range(low):
        times = in_sequence(times, once, pairs)
    if high is None:
        more = in_sequence(times, Denoted(iterate(once.matches, pairs)), pairs)
        return Denoted(times.matches | more.matches, times.empty)
    found = times
    for _ in range(low, high):
        times = in_sequence(times, once, pairs)
        found = Denoted(found.matches | times.matches, found.empty or times.empty)
    return found


def iterate(once: Denotation, pairs: Pairs) -> Denotation:
    """⟦φ+⟧ = ⟦φ⟧ ∪ ⟦φ ; φ+⟧, and ⟦φ⊕⟧ with `:`: the least set that satisfies the equation."""
    found: Denotation = once
    newest: Denotation = once
    while newest:
        newest = pairs(once, newest) - found
        found |= newest
    return found


def conjunction(left: Denotation, right: Denotation) -> Denotation:
    """⟦φ1 AND φ2⟧: what both produce. The paper compares attributes and times, so origins do not matter."""
    produced = {c.without_origins() for c in right}
    return frozenset(c for c in left if c.without_origins() in produced)


def fits(c: ComplexEvent, window: ast.Within, stream: Stream) -> bool:
    """(φ WITHIN d): the first and the last event of the interval lie in one window."""
    return within(window, stream.events[c.start - 1], stream.events[c.end - 1])


def project(c: ComplexEvent, node: ast.Project, stream: Stream) -> ComplexEvent:
    """π_L and π_{X(a…)}: keep these variables, and of some of them only these attributes."""
    named = {item.variable: item for item in node.kept}
    bags = {}
    for variable in c.variables:
        item = named.get(variable)
        if item is not None and item.attributes is not None:
            names = stream.whole(item.attributes)
            bags[variable] = bag(e.project(names, stream.type_column) for e in c(variable))
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
