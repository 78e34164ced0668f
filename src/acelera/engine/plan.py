"""How an automaton is run: what is known of each event alone, what must be remembered, what can be computed afterwards.

Three things are taken out of the automaton before it runs:
- tests that look at one event alone: they become letters;
- aggregates that are only shown: they are folded from the listed matches. This is right where what a match shows tells
  which events it aggregates, so that two runs that show the same have the same aggregates;
- `same` over all events of a match: it splits the stream as a partition key does, but positions stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from acelera.automata.analysis import (
    beginnings,
    does_nothing,
    is_idle,
    longest_run,
    may_part,
    reactions,
    uses_contiguity,
    uses_positions,
)
from acelera.automata.labels import Label, Mark, Marks
from acelera.automata.model import Absence, Acea, Transition
from acelera.automata.simplify import simplify
from acelera.automata.terms import (
    UNSET,
    Attr,
    Const,
    Earlier,
    Finish,
    Fresh,
    Identity,
    Known,
    Later,
    Latest,
    Reg,
    Sql,
    Step,
    Summary,
    Term,
    registers_read,
    subterms,
)
from acelera.language import ast
from acelera.language.schema import Schema


@dataclass(frozen=True)
class Fold:
    """An aggregate that is folded from the listed matches: what the register held."""

    register: str
    function: str
    ignore_nulls: bool


@dataclass(frozen=True)
class FoldStep:
    """What a transition does to a fold: it adds values, and it may close it."""

    fold: int
    given: tuple[Term, ...]
    closes: bool


@dataclass(frozen=True)
class Action:
    """What a transition leaves in the match: events in variables, values in folds."""

    marks: Marks = ()
    folds: tuple[FoldStep, ...] = ()


NO_ACTION = Action()


@dataclass(frozen=True)
class Edge:
    """A transition as it runs: tests are numbers of tests of one event, conditions also look at registers.

    It is `idle` if nothing happens to who takes it: marks, registers and state stay as they are.
    """

    source: int
    tests: frozenset[int]
    assign: tuple[tuple[str, Term], ...]
    conditions: tuple[Term, ...]
    action: Action
    target: int
    idle: bool


@dataclass(frozen=True)
class Plan:
    """An automaton taken apart. Each guard may look at those before it.

    `by_value`: different marks may make equal events, so one must look at values to tell matches apart.
    `uses_positions`: it asks for the number of a position, rather than which comes first.
    `uses_contiguity`: it matters that an event stands right after another.
    `reactions`: what an event must satisfy for some state to react to it, one of these conjunctions of tests.
    `beginnings`: the same for an event to be the first of a match. `longest`: how many events a match can have, those
    between its own among them; None if there is no limit.
    """

    states: int
    initial: int
    finals: frozenset[int]
    edges: tuple[Edge, ...]
    tests: tuple[Term, ...]
    folds: tuple[Fold, ...] = ()
    split_by: tuple[str, ...] = ()
    guards: tuple[Plan, ...] = ()
    absences: tuple[Absence, ...] = ()
    by_value: bool = False
    uses_positions: bool = field(default=True, repr=False)
    uses_contiguity: bool = field(default=True, repr=False)
    reactions: tuple[tuple[Term, ...], ...] = field(default=((),), repr=False)
    beginnings: tuple[tuple[Term, ...], ...] = field(default=((),), repr=False)
    longest: int | None = field(default=None, repr=False)

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """What its edges leave in matches, without what leaves nothing; the number of an action is its place here."""
        return tuple(dict.fromkeys(edge.action for edge in self.edges if edge.action != NO_ACTION))

    @cached_property
    def outgoing(self) -> dict[int, list[Edge]]:
        """The edges that leave each state; states that nothing follows are left out."""
        found: dict[int, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.source, []).append(edge)
        return found

    @cached_property
    def live(self) -> dict[int, frozenset[str]]:
        """The registers of each state that any edge reads which leaves it; nobody looks at others any more."""
        found: dict[int, frozenset[str]] = {}
        for edge in self.edges:
            read = frozenset().union(*(registers_read(term) for _, term in edge.assign))
            found[edge.source] = found.get(edge.source, frozenset()) | read
        return found

    @cached_property
    def neighbours(self) -> tuple[str, ...]:
        """The attributes that tests ask of the event right before the one in hand."""
        found = (part.name for test in self.tests for part in subterms(test) if isinstance(part, Earlier))
        return tuple(sorted(set(found)))

    def terms(self) -> Iterator[Term]:
        """What its edges compute and ask, apart from tests of one event."""
        for edge in self.edges:
            yield from (term for _, term in edge.assign)
            yield from edge.conditions
            yield from (term for _, bag in edge.action.marks for mark in bag for term in mark.terms())

    @property
    def is_table(self) -> bool:
        """Whether nothing must be remembered besides the state, so that tables are all that is needed."""
        remembers = any(edge.assign or edge.conditions for edge in self.edges)
        stores = any(stored_fields(edge.action, self) for edge in self.edges)
        return not (self.by_value or remembers or stores)

    @cached_property
    def asks_guards(self) -> bool:
        """Whether its edges look at guards; others are only asked once a match has ended."""
        return any(
            isinstance(part, Latest) for edge in self.edges for term in edge.conditions for part in subterms(term)
        )


def plan_of(automaton: Acea, schema: Schema, from_formula: bool) -> Plan:
    """The plan of an automaton. Only those made of formulas are known to close each fold before they begin another."""
    whole = automaton
    automaton, split_by = _split_by_same(automaton, schema)
    folds: tuple[Fold, ...] = ()
    by_value = coincidences(automaton, schema)
    if from_formula and not by_value:
        folds = _folds(automaton)
        if not _tell_what_they_fold(automaton, folds):
            folds = ()
    tests: dict[Term, int] = {}
    guards = tuple(_plan(_unmarked(guard), tests, ()) for guard in automaton.guards)
    main = _plan(automaton, tests, folds)
    same = {term: term for term in tests}  # so that terms that occur twice are sent once
    return replace(
        main,
        tests=tuple(tests),
        split_by=split_by,
        guards=guards,
        absences=automaton.absences,
        by_value=by_value,
        uses_positions=uses_positions(automaton),
        uses_contiguity=uses_contiguity(whole),
        reactions=tuple(tuple(same.get(term, term) for term in asked) for asked in reactions(whole)),
        beginnings=tuple(tuple(same.get(term, term) for term in asked) for asked in beginnings(whole)),
        longest=longest_run(whole),
    )


def _unmarked(guard: Acea) -> Acea:
    """A guard only tells whether it matches, and from where."""
    transitions = tuple(replace(t, label=replace(t.label, marks=())) for t in guard.transitions)
    return simplify(replace(guard, transitions=transitions))


def _plan(automaton: Acea, tests: dict[Term, int], folds: tuple[Fold, ...]) -> Plan:
    folded = {fold.register for fold in folds}
    starts: dict[str, dict[Term, None]] = {}
    for t in automaton.transitions:
        for term in t.label.predicate:
            if isinstance(term, Later) and isinstance(term.left, Reg) and isinstance(term.right, Latest):
                starts.setdefault(term.left.name, {})[term] = None

    def edge(t: Transition) -> Edge:
        alone = [term for term in t.label.predicate if looks_at_one_event(term)]
        numbers = frozenset(tests.setdefault(term, len(tests)) for term in alone)
        conditions = tuple(term for term in t.label.predicate if not looks_at_one_event(term))
        assign = tuple((name, term) for name, term in t.label.assign if name not in folded)
        if is_idle(t):  # who waits is given up as soon as a guard rules it out, rather than at the next step
            conditions = tuple(start for name in dict(assign) for start in starts.get(name, ()))
        action = Action(t.label.marks, _fold_steps(t.label, folds))
        idle = is_idle(t) or (t.source == t.target and does_nothing(t) and not conditions)
        return Edge(t.source, numbers, assign, conditions, action, t.target, idle)

    edges = tuple(edge(t) for t in automaton.transitions)
    return Plan(automaton.states, automaton.initial, automaton.finals, edges, (), folds)


def stored_fields(action: Action, plan: Plan) -> tuple[tuple[Mark, str], ...]:
    """The attributes of the events that an action makes whose values are known only while it runs."""
    folded = {fold.register for fold in plan.folds}

    def is_stored(name: str, term: Term) -> bool:
        if isinstance(term, Finish) and isinstance(term.state, Reg) and term.state.name in folded:
            return False
        return term != Attr(name)

    made = dict.fromkeys(mark for _, bag in action.marks for mark in bag)
    return tuple((mark, name) for mark in made for name, term in mark.fields or () if is_stored(name, term))


def marks_of(action: Action, variable: str) -> tuple[Mark, ...]:
    """What an action puts into a variable."""
    return dict(action.marks).get(variable, ())


_ADDED, _COMPARED = frozenset({"sum", "count"}), frozenset({"sum", "count", "min", "max"})


def fold_under(plan: Plan, total: ast.Total) -> int | None:
    """The fold that a total is about, if no match must be known to have the total, only what is folded, event by event.

    A sum over all events of all matches of what is a sum is that of all values that are folded. Of all partial matches
    that go on alike, those with the smallest and the largest sums, or minima and so on, stay those.
    """
    function = total.function.lower()
    if total.variable is None or total.attribute is None:
        return None
    if function in ("sum", "avg") and not total.ignore_nulls:
        index, functions = _fold_behind(plan, total.variable, total.attribute), _ADDED
    elif function in ("min", "max", "range"):
        index, functions = _fold_behind(plan, total.variable, total.attribute), _COMPARED
    else:
        return None
    return index if index is not None and plan.folds[index].function in functions else None


def _fold_behind(plan: Plan, variable: str, attribute: str) -> int | None:
    """The fold that an attribute of a variable's events is, if it is one and the same in all of them."""
    numbers = {Reg(fold.register): index for index, fold in enumerate(plan.folds)}
    found: set[int | None] = set()
    for action in plan.actions:
        bag = marks_of(action, variable)
        for mark in bag:
            term = mark.attribute(attribute)
            known = numbers.get(term.state) if isinstance(term, Finish) and isinstance(term.state, Reg) else None
            found.add(known if len(bag) == 1 else None)
    return found.pop() if len(found) == 1 else None


def folded(plan: Plan, looked_at: Collection[tuple[str, str]]) -> bool:
    """Whether one of some attributes of variables is folded from listed matches."""
    folds = {Reg(fold.register) for fold in plan.folds}
    terms = (
        mark.attribute(attribute)
        for action in plan.actions
        for variable, attribute in looked_at
        for mark in marks_of(action, variable)
    )
    return any(isinstance(term, Finish) and term.state in folds for term in terms)


def as_column(term: Term) -> Attr | Const | None:
    """A term over an event as it was read, as an attribute that may be computed from others; None if it is none."""
    if isinstance(term, Attr | Const):
        return term
    if isinstance(term, Sql) and all(leaf == Attr(name) and held is None for (held, name), leaf in term.leaves):
        return Attr(ast.Computed(term.expression))
    return None


def looks_at_one_event(term: Term) -> bool:
    """Whether a term is known from the event in hand."""
    return not any(isinstance(part, Reg | Fresh | Latest | Identity | Step | Finish) for part in subterms(term))


# --- aggregates that are only shown -------------------------------------------------------------------------------


def coincidences(automaton: Acea, schema: Schema) -> bool:
    """Whether different marks may make equal events, so that one must look at values to tell matches apart."""
    shapes: dict[tuple[str, frozenset[str]], Mark] = {}
    for t in automaton.transitions:
        for variable, bag in t.label.marks:
            for mark in bag:
                names = frozenset(schema.columns if mark.fields is None else (name for name, _ in mark.fields))
                if shapes.setdefault((variable, names), mark) != mark:
                    return True
    return False


def _folds(automaton: Acea) -> tuple[Fold, ...]:
    """The registers that only gather values for a mark."""
    found: dict[str, Fold] = {}
    refused: set[str] = set()
    for t in automaton.transitions:
        for name, term in t.label.assign:
            fold = _chain(name, term)
            if fold is None:
                refused |= {name, *_registers_in([term])}
            elif fold.function:
                found[name] = replace(fold, ignore_nulls=fold.ignore_nulls or found.get(name, fold).ignore_nulls)
        marked = [term for _, bag in t.label.marks for mark in bag for term in mark.terms()]
        other = [term for term in marked if not (isinstance(term, Finish) and isinstance(term.state, Reg))]
        refused |= _registers_in([*t.label.predicate, *other])
    return tuple(fold for name, fold in found.items() if name not in refused)


def _registers_in(terms: Iterable[Term]) -> set[str]:
    return {part.name for term in terms for part in subterms(term) if isinstance(part, Reg | Fresh)}


def _chain(name: str, term: Term) -> Fold | None:
    """The fold that a chain of steps belongs to, or None if it is something else."""
    function, ignore_nulls = "", False
    while isinstance(term, Step):
        if as_column(term.given) is None:
            return None
        function, ignore_nulls, term = term.function, term.ignore_nulls, term.state
    if isinstance(term, Identity):
        return Fold(name, term.function, ignore_nulls)
    return Fold(name, function, ignore_nulls) if term == Reg(name) else None


def _fold_steps(label: Label, folds: tuple[Fold, ...]) -> tuple[FoldStep, ...]:
    assigned = dict(label.assign)
    closed = {
        term.state.name
        for _, bag in label.marks
        for mark in bag
        for term in mark.terms()
        if isinstance(term, Finish) and isinstance(term.state, Reg)
    }
    steps = []
    for index, fold in enumerate(folds):
        given: list[Term] = []
        term = assigned.get(fold.register)
        while isinstance(term, Step):
            column = as_column(term.given)
            assert column is not None, "others are no folds"
            given.append(column)
            term = term.state
        if given or fold.register in closed:
            steps.append(FoldStep(index, tuple(reversed(given)), fold.register in closed))
    return tuple(steps)


def _tell_what_they_fold(automaton: Acea, folds: tuple[Fold, ...]) -> bool:
    """Whether two runs that mark the same always fold the same."""
    steps = {t: _fold_steps(t.label, folds) for t in automaton.transitions}
    return not folds or not may_part(automaton, lambda first, second: steps[first] != steps[second])


# --- same over everything -----------------------------------------------------------------------------------------


def _split_by_same(automaton: Acea, schema: Schema) -> tuple[Acea, tuple[str, ...]]:
    """Take out registers that only ask for one common value of an attribute of all events that are read."""
    attributes: dict[str, None] = {}
    for register in automaton.registers:
        attribute = _same_attribute(automaton, register)
        if attribute is not None and attribute in schema.columns:
            attributes[attribute] = None
            transitions = tuple(replace(t, label=_without(t.label, register)) for t in automaton.transitions)
            automaton = replace(automaton, transitions=transitions)
    return automaton, tuple(attributes)


def _same_attribute(automaton: Acea, register: str) -> str | None:
    """The attribute, if every event either passes unseen or must have the common value of it."""
    if automaton.guards:
        return None
    waiting = {t.source for t in automaton.transitions if is_idle(t)}
    found: set[Term] = set()
    for t in automaton.transitions:
        if t.source != automaton.initial and t.source not in waiting:
            return None
        if is_idle(t) and t.source != automaton.initial:
            continue
        term = dict(t.label.assign).get(register)
        if not isinstance(term, Summary) or term.kind != "common" or Known(Reg(register)) not in t.label.predicate:
            return None
        if term.state not in (Reg(register), Const(UNSET)):
            return None
        found |= set(term.given)
        if register in _registers_in(_all_terms(_without(t.label, register))):
            return None
    attribute = found.pop() if len(found) == 1 else None
    return attribute.name if isinstance(attribute, Attr) else None


def _without(label: Label, register: str) -> Label:
    assign = tuple((name, term) for name, term in label.assign if name != register)
    return replace(label, assign=assign, predicate=tuple(p for p in label.predicate if p != Known(Reg(register))))


def _all_terms(label: Label) -> list[Term]:
    marked = [term for _, bag in label.marks for mark in bag for term in mark.terms()]
    return [*(term for _, term in label.assign), *label.predicate, *marked]
