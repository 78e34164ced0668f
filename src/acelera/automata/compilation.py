"""Every formula is an automaton (paper 000, theorem 12; paper 001, appendix C).

One function an operator, in the paper's order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from acelera.automata.analysis import is_idle
from acelera.automata.contradictions import impossible
from acelera.automata.filters import filtered
from acelera.automata.forbidding import forbid, none_of, ways
from acelera.automata.labels import IDLE, Label, Mark, marks
from acelera.automata.limits import TooLargeError, refuse_more, too_large
from acelera.automata.model import Absence, Acea, Transition, by_source
from acelera.automata.parts import FINAL, START_STATE, Part, disjunction, trimmed
from acelera.automata.terms import (
    Attr,
    Const,
    Finish,
    Identical,
    Identity,
    Later,
    Latest,
    Position,
    Reg,
    Sql,
    Step,
    Term,
)
from acelera.errors import QueryTooLargeError
from acelera.language import ast
from acelera.language.absence import (
    absences_of,
    independent_parts,
    length_of,
    speaks_of_the_match,
    without_absences,
)
from acelera.language.checker import BagUnion
from acelera.language.schema import Schema


def compile_formula(
    formula: ast.Formula, schema: Schema | None = None, bag_union: BagUnion = "once", text: str = ""
) -> Acea:
    """The automaton of a formula, as it is built; one that would be too large is refused while it is built."""
    compiler = Compiler(schema, bag_union == "once")

    def operator(node: ast.Formula, made: Sequence[Part]) -> Part:
        try:
            return compiler.operator(node, made)
        except TooLargeError:
            raise QueryTooLargeError([too_large(node, formula)], text) from None

    part = ast.fold(without_absences(formula), operator, operands)
    absences = tuple(found for node in absences_of(formula) for found in compiler.absences(node, operator))
    return Acea(
        part.states, START_STATE, frozenset({FINAL}), part.transitions, tuple(compiler.guards), absences=absences
    )


def operands(node: ast.Formula) -> Sequence[ast.Formula]:
    """What is compiled before a formula: all parts of a sequence at once, however they are bracketed."""
    if not isinstance(node, ast.Then | ast.Contiguous):
        return independent_parts(node)
    kind, found, todo = type(node), list[ast.Formula](), [node.right, node.left]
    while todo:
        part = todo.pop()
        if type(part) is kind:
            assert isinstance(part, ast.Then | ast.Contiguous)
            todo += [part.right, part.left]
        else:
            found.append(part)
    return found


def may_be_empty(node: ast.Formula, made: Sequence[bool]) -> bool:
    """Whether a formula may be left out, given which of its parts may."""
    match node:
        case ast.Optional():
            return True
        case ast.Repeated(_, low, _):
            return low == 0 or made[0]
        case ast.Or():
            return any(made)
        case ast.Unless() | ast.UnlessFor():
            return made[0]
    return all(made) and bool(made)


@dataclass
class Compiler:
    """What the operators need to know of each other: fresh names, the guards found so far."""

    schema: Schema | None
    once: bool
    guards: list[Acea] = field(default_factory=list)
    aggregations: int = 0
    registers: int = 0

    def register(self, hint: str) -> str:
        """A register that no other part uses."""
        self.registers += 1
        return f"{hint}_{self.registers}"

    def operator(self, node: ast.Formula, made: Sequence[Part]) -> Part:
        """The automaton of an operator from those of its parts, and whether it may be left out."""
        return replace(self.compiled(node, made), empty=may_be_empty(node, [part.empty for part in made]))

    def compiled(self, node: ast.Formula, made: Sequence[Part]) -> Part:
        """The automaton of an operator from those of its parts."""
        match node:
            case ast.EventType(name):
                return event_type(name)
            case ast.AnyEvent():
                return one_event((), "ANY")
            case ast.Next():
                return next_event(made[0])
            case ast.As(_, variable):
                return as_variable(made[0], variable, self.once)
            case ast.Filter(_, condition):
                return filtered(made[0], condition, self.register)
            case ast.Or():
                return disjunction(made[0], made[1])
            case ast.And():
                return conjunction(made[0], made[1])
            case ast.Then():
                return sequence(made, waiting=True)
            case ast.Contiguous():
                return sequence(made, waiting=False)
            case ast.Optional():
                return made[0]
            case ast.Repeated(_, low, high, without_gaps):
                return repeated(made[0], low, high, waiting=not without_gaps)
            case ast.Windowed(_, within):
                return windowed(made[0], within, self.register("begun"))
            case ast.Iteration(inner):
                return made[0] if isinstance(inner, ast.Iteration) else repeated(made[0], 1, None, waiting=True)
            case ast.ContiguousIteration(inner):
                again = isinstance(inner, ast.ContiguousIteration)
                return made[0] if again else repeated(made[0], 1, None, waiting=False)
            case ast.Project():
                return project(made[0], node, self.schema)
            case ast.Agg():
                self.aggregations += 1
                return agg(made[0], node, (1, self.aggregations), self.register)
            case ast.All():
                return all_of(made[0], made[1], self.once)
            case ast.Unless() if speaks_of_the_match(node):
                return self.of_the_match(made[0], node.right)
            case ast.Unless():
                return self.unless(made[0], made[1])
            case ast.Start():
                return start(made[0])
            case ast.Strict():
                return strict(made[0])
        raise AssertionError(f"unknown formula {type(node).__name__}")

    def unless(self, left: Part, right: Part) -> Part:
        """φ UNLESS ψ: ψ runs beside as a guard; a run of φ goes on while no ψ has happened since it started."""
        if not right.transitions:
            return left
        guard, begun = self.guard(right), self.register("start")

        def guarded(t: Transition) -> Label:
            label = t.label.with_assign({begun: Position() if t.source == START_STATE else Reg(begun)})
            # Whoever waits may go on waiting: the next step will tell.
            return label if is_idle(t) else label.with_predicate(Later(Reg(begun), Latest(guard)))

        return left.relabelled(guarded)

    def of_the_match(self, part: Part, forbidden: ast.Formula) -> Part:
        """φ UNLESS ψ, where ψ speaks of variables of φ."""
        for way in ways(forbidden):
            part = forbid(part, way, self.register)
        return part

    def absences(self, node: ast.UnlessFor, operator: Callable[..., Part]) -> list[Absence]:
        """What UNLESS … FOR forbids, each as a guard and what its events are compared with."""
        if not speaks_of_the_match(node):
            return [Absence(self.guard(ast.fold(node.right, operator, operands)), length_of(node))]
        found = []
        for way in ways(node.right):
            guard = self.guard(Part(2, (Transition(START_STATE, Label((), way.alone), FINAL),)))
            found.append(Absence(guard, length_of(node), way.beside))
        return found or [Absence(self.guard(Part(2, ())), length_of(node))]  # a match waits also for what cannot be

    def guard(self, part: Part) -> int:
        """A guard that runs beside; its number."""
        self.guards.append(Acea(part.states, START_STATE, frozenset({FINAL}), part.transitions))
        return len(self.guards) - 1


# --- R, ANY, NEXT -------------------------------------------------------------------------------------------------


def one_event(predicate: tuple[Term, ...], variable: str) -> Part:
    """One event, held by a variable."""
    return Part(2, (Transition(START_STATE, Label((), predicate, marks({variable: [Mark()]})), FINAL),))


def event_type(name: str) -> Part:
    """R: one event of the type."""
    return one_event((has_type(name),), name)


def has_type(name: str) -> Term:
    """type = R."""
    return Sql(ast.Binary("=", ast.Attribute(None, "type"), ast.Literal(name)), (((None, "type"), Attr("type")),))


def next_event(part: Part) -> Part:
    """NEXT(φ): skip what φ does not match, then take what it matches."""
    take = [t.label for t in part.transitions]
    skip = Label((), (none_of([label.predicate for label in take]),))
    waiting = 2
    moves = [(START_STATE, label, FINAL) for label in take]
    moves += [(START_STATE, skip, waiting), (waiting, skip, waiting)]
    moves += [(waiting, label, FINAL) for label in take]
    return trimmed(3, [Transition(*move) for move in moves if not impossible(move[1].predicate)])


# --- AS, OR, AND --------------------------------------------------------------------------------------------------


def as_variable(part: Part, variable: str, once: bool) -> Part:
    """φ AS X: whatever is marked is marked with X as well."""

    def collect(t: Transition) -> Label:
        everything = [mark for _, bag in t.label.marks for mark in bag]
        bags = {**dict(t.label.marks), variable: dict.fromkeys(everything) if once else everything}
        return replace(t.label, marks=marks(bags))

    return part.relabelled(collect)


def conjunction(left: Part, right: Part) -> Part:
    """φ1 AND φ2: both at once, as long as they mark the same; the marks of the left are kept."""

    def both(one: Transition, two: Transition) -> list[Label]:
        assign = (*one.label.assign, *two.label.assign)
        predicate = tuple(dict.fromkeys((*one.label.predicate, *two.label.predicate)))
        together = Label(assign, predicate, one.label.marks)
        return [together.with_predicate(*equal) for equal in same_marks(one.label, two.label)]

    def pairs(state: tuple[int, int]) -> list[tuple[Label, tuple[int, int]]]:
        found = []
        for one in out_left.get(state[0], ()):
            for two in out_right.get(state[1], ()):
                if (one.target == FINAL) == (two.target == FINAL):
                    found += [(label, (one.target, two.target)) for label in both(one, two)]
        return found

    out_left, out_right = by_source(left.transitions), by_source(right.transitions)
    return explored((START_STATE, START_STATE), (FINAL, FINAL), pairs)


def same_marks(left: Label, right: Label) -> list[tuple[Term, ...]]:
    """The ways in which two labels mark equal events: for each a condition on the values.

    The paper asks for an isomorphism between the bags of renamings of each variable that keeps attributes, and for
    equal values.
    """
    names = {name for label in (left, right) for name, _ in label.marks}
    ways: list[tuple[Term, ...]] = [()]
    for name in sorted(names):
        same = Counter(left.bag(name)) & Counter(right.bag(name))  # what is marked alike needs no condition
        here, there = (list((Counter(label.bag(name)) - same).elements()) for label in (left, right))
        if len(here) != len(there):
            return []
        matched = sorted(dict.fromkeys(pairings(here, there)), key=repr)
        refuse_more(len(ways) * len(matched))
        ways = [(*way, *more) for way in ways for more in matched]
    return list(dict.fromkeys(ways))


def pairings(here: Sequence[Mark], there: Sequence[Mark]) -> list[tuple[Term, ...]]:
    """The conditions under which all marks here equal those there, each one of its own."""
    found: dict[tuple[frozenset[int], tuple[Term, ...]], None] = {(frozenset(), ()): None}
    for mark in here:
        equal = {number: same_event(mark, other) for number, other in enumerate(there)}
        found = {
            (taken | {number}, (*conditions, *more)): None
            for taken, conditions in found
            for number, more in equal.items()
            if more is not None and number not in taken
        }
        refuse_more(len(found))
    return [conditions for _, conditions in found]


def same_event(left: Mark, right: Mark) -> tuple[Term, ...] | None:
    """When two marks make equal events; None if never. Attributes and type are compared, origins are not."""
    untyped = Sql(ast.IsNull(ast.Attribute(None, "type")), (((None, "type"), Attr("type")),))
    conditions = () if left.typed == right.typed else (untyped,)
    if left.fields is None and right.fields is None:
        return conditions
    if left.fields is None or right.fields is None:
        return None
    if {name for name, _ in left.fields} != {name for name, _ in right.fields}:
        return None
    values = ((term, dict(right.fields)[name]) for name, term in left.fields)
    return (*conditions, *(Identical(a, b) for a, b in values if a != b))


State = tuple[int, int]


def explored(begin: State, end: State, following: Callable[[State], list[tuple[Label, State]]]) -> Part:
    """The automaton over pairs of states that can be reached."""
    number = {begin: START_STATE, end: FINAL}
    todo, transitions = [begin], []
    while todo:
        state = todo.pop()
        for label, target in following(state):
            if impossible(label.predicate):  # here rather than later: products of products would keep it many times
                continue
            if target not in number:
                number[target] = len(number)
                todo.append(target)
            transitions.append(Transition(number[state], label, number[target]))
            refuse_more(len(transitions))
    return trimmed(len(number), transitions)


# --- sequences and iterations -------------------------------------------------------------------------------------


def sequence(parts: Sequence[Part], waiting: bool) -> Part:
    """φ1 ; φ2 ; …, or with `:`: after each part begin the next, having waited or at once; some may be left out."""
    if any(not part.transitions and not part.empty for part in parts):
        return Part(2, ())
    own = sum(part.states - 2 for part in parts)
    entries = [START_STATE, *range(own + 2, own + len(parts) + 1)]
    states, made = 2, _waits(entries, waiting)
    for index, part in enumerate(parts):
        first = index
        while first > 0 and parts[first - 1].empty:
            first -= 1
        ends = entries[index + 1 : index + 2] + [FINAL] * all(later.empty for later in parts[index + 1 :])
        made += _placed(part, states, entries[first : index + 1], ends)
        states += part.states - 2
    return trimmed(own + len(parts) + 1, made)


def repeated(part: Part, low: int, high: int | None, waiting: bool) -> Part:
    """φ{n,m}: a copy for each round, and each from the n-th on may be the last; without m, the last begins again."""
    needed = 1 if part.empty else max(low, 1)
    rounds = needed if high is None else high
    refuse_more(rounds * len(part.transitions))
    own = rounds * (part.states - 2)
    entries = [START_STATE, *range(own + 2, own + rounds + 1 + (high is None))]
    states, made = 2, _waits(entries, waiting)
    for index in range(rounds):
        again = entries[rounds:] if index == rounds - 1 else []
        ends = entries[index + 1 : index + 2] + [FINAL] * (index + 1 >= needed)
        made += _placed(part, states, [entries[index], *again], ends)
        states += part.states - 2
    return trimmed(own + len(entries) + 1, made)


def _waits(entries: Sequence[int], waiting: bool) -> list[Transition]:
    """Between two parts any event may pass, if they need not follow at once."""
    return [Transition(entry, IDLE, entry) for entry in entries[1:]] if waiting else []


def _placed(part: Part, states: int, begins: Sequence[int], ends: Sequence[int]) -> list[Transition]:
    """The transitions of a part after so many states, with all these states for its initial one and its final one."""

    def places(state: int, special: int, those: Sequence[int]) -> Sequence[int]:
        return those if state == special else [state + states - 2]

    return [
        Transition(source, t.label, target)
        for t in part.transitions
        for source in places(t.source, START_STATE, begins)
        for target in places(t.target, FINAL, ends)
    ]


def windowed(part: Part, within: ast.Within, begun: str) -> Part:
    """(φ WITHIN d): a register holds where the part began, and no run goes on when it has become too long."""
    timed = within.unit != "events"
    now: Term = Attr("time") if timed else Position()
    far = ast.Interval(within.amount, within.unit) if timed else ast.Literal(within.reach)
    passed = ast.Binary("-", ast.Attribute(None, "now"), ast.Attribute(None, "begun"))
    fits = ast.Binary("<" if timed and within.less_than else "<=", passed, far)
    inside = Sql(fits, (((None, "now"), now), ((None, "begun"), Reg(begun))))

    def bounded(t: Transition) -> Label:
        if t.source == START_STATE:
            return t.label.with_assign({begun: now})
        return t.label.with_assign({begun: Reg(begun)}).with_predicate(inside)

    return part.relabelled(bounded)


# --- projections --------------------------------------------------------------------------------------------------


def project(part: Part, node: ast.Project, schema: Schema | None) -> Part:
    """π_L and π_{X(a…)}: keep these marks, and of some only these attributes."""
    named = {item.variable: item for item in node.kept}

    def kept(t: Transition) -> Label:
        bags = {}
        for variable, bag in t.label.marks:
            item = named.get(variable)
            if item is not None and item.attributes is not None:
                bags[variable] = [strip(mark, item.attributes, schema) for mark in bag]
            elif item is not None or node.everything:
                bags[variable] = list(bag)
        return replace(t.label, marks=marks(bags))

    return part.relabelled(kept)


def strip(mark: Mark, names: tuple[str, ...], schema: Schema | None) -> Mark:
    """The mark with only these attributes."""
    type_column = schema.type_column if schema is not None else "type"
    typed = mark.typed and bool({"type", type_column} & set(names))
    names = names if schema is None else tuple(schema.whole(names))
    if mark.fields is not None:
        return replace(mark, fields=tuple(item for item in mark.fields if item[0] in names), typed=typed)
    columns = sorted(names if schema is None else set(names) & set(schema.columns))
    whole = schema is not None and set(columns) == set(schema.columns)
    return replace(mark, fields=None if whole else tuple((name, Attr(name)) for name in columns), typed=typed)


# --- Agg ----------------------------------------------------------------------------------------------------------


def agg(part: Part, node: ast.Agg, origin: tuple[int, int], register: Callable[[str], str]) -> Part:
    """Agg_{Y[b ← ⊗ X(a), …]}: a register for each attribute aggregates what is marked with X; the last transition
    marks Y with them.
    """
    names = [register(item.attribute) for item in node.created]

    def aggregated(t: Transition) -> Label:
        assign: dict[str, Term] = {}
        for name, item in zip(names, node.created, strict=True):
            state: Term = Identity(item.value.function) if t.source == START_STATE else Reg(name)
            for mark in t.label.bag(item.value.variable):
                state = step(item.value, state, mark, t.label)
            assign[name] = state
        label = t.label.with_assign(assign)
        if t.target != FINAL:
            return label
        fields = [
            (item.attribute, Finish(item.value.function, Reg(name)))
            for name, item in zip(names, node.created, strict=True)
        ]
        made = Mark(tuple(sorted(fields)), typed=False, origin=origin)
        bags = {**dict(label.marks), node.variable: (*label.bag(node.variable), made)}
        return replace(label, marks=marks(bags))

    return part.relabelled(aggregated)


def step(aggregation: ast.Aggregation, state: Term, mark: Mark, label: Label) -> Term:
    """The state after the value of one more event; `count(x)` takes no look at it."""
    given = Const(True) if aggregation.attribute is None else label.before(mark.attribute(aggregation.attribute))
    return Step(aggregation.function, aggregation.ignore_nulls, state, given)


# --- ALL, START, STRICT (paper 002) ---------------------------------------------------------------------------------


def all_of(left: Part, right: Part, once: bool) -> Part:
    """φ1 ALL φ2: both, each beginning and ending where it likes; the match begins with the first and ends with the
    last.

    In a pair of states, the initial one means that a side has not begun, the final one that it has ended; meanwhile
    it idles.
    """
    out_left, out_right = by_source(left.transitions), by_source(right.transitions)

    def moves(outgoing: dict[int, list[Transition]], state: int) -> list[tuple[Label, int]]:
        found = [(t.label, t.target) for t in outgoing.get(state, ())]
        return [*found, (IDLE, state)] if state in (START_STATE, FINAL) else found

    def both(state: State) -> list[tuple[Label, State]]:
        found = []
        for (one, p), (two, q) in product(moves(out_left, state[0]), moves(out_right, state[1])):
            idle = (p, q) == state and p in (START_STATE, FINAL) and q in (START_STATE, FINAL)
            if not (idle and p == q):
                found.append((merged(one, two, once), (p, q)))
            if not idle and (p, q) in alone:
                found.append((merged(one, two, once), (FINAL, FINAL)))
        return found

    alone = [state for state, other in (((FINAL, START_STATE), right), ((START_STATE, FINAL), left)) if other.empty]

    return explored(
        (START_STATE, START_STATE), (FINAL, FINAL), lambda state: [] if state == (FINAL, FINAL) else both(state)
    )


def merged(left: Label, right: Label, once: bool) -> Label:
    """Both labels at once; with `once`, what both mark is marked once."""
    bags = {}
    for name in {name for label in (left, right) for name, _ in label.marks}:
        together = (*left.bag(name), *right.bag(name))
        bags[name] = tuple(dict.fromkeys(together)) if once else together
    assign = (*left.assign, *right.assign)
    return Label(assign, tuple(dict.fromkeys((*left.predicate, *right.predicate))), marks(bags))


def start(part: Part) -> Part:
    """START(φ): the first transition reads the first event."""

    def first(t: Transition) -> Label:
        return t.label.with_predicate(Identical(Position(), Const(1))) if t.source == START_STATE else t.label

    return part.relabelled(first)


def strict(part: Part) -> Part:
    """STRICT(φ): whatever is marked is marked in one stretch: not yet, during it, after it."""
    before, during, after = 0, 1, 2
    outgoing = by_source(part.transitions)

    def following(state: State) -> list[tuple[Label, State]]:
        found = []
        for t in outgoing.get(state[0], ()):
            if t.label.marks and state[1] == after:
                continue
            phase = during if t.label.marks else before if state[1] == before else after
            found.append((t.label, (t.target, 0 if t.target == FINAL else phase)))
        return found

    return explored((START_STATE, before), (FINAL, 0), following)
