"""UNLESS that speaks of the match: an event of a run may not be one that is forbidden beside what the match holds.

What is forbidden is a formula of one event. It is taken apart into ways: in each, an event is forbidden if it satisfies
something alone, and something else beside events of the match. Every event of a run either is not what a way looks for,
or is compared with what variables hold: with those that came before when it comes, and, remembered, with later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product

from acelera.automata.contradictions import impossible
from acelera.automata.filters import holds_one_event
from acelera.automata.labels import Label, type_asked
from acelera.automata.limits import refuse_more
from acelera.automata.model import Transition, reachable
from acelera.automata.parts import START_STATE, Part, before, trimmed
from acelera.automata.terms import UNSET, Attr, Collected, Const, ForAll, IfSet, Reg, Sql, Term
from acelera.language import ast
from acelera.language.absence import bound_within
from acelera.language.conditions import replace_attributes

Register = Callable[[str], str]
Key = tuple[str | None, str]
"""An attribute of a variable; without a variable, of the event that may be forbidden."""

Conjunction = tuple[ast.Expression, ...]


@dataclass(frozen=True)
class Way:
    """A way to be forbidden: what an event satisfies `alone`, and, if not None, `beside` one event of each variable."""

    alone: tuple[Term, ...]
    beside: ast.Expression | None


# --- taking apart -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Option:
    """One event that a formula matches: the variables that hold it, and what it must satisfy."""

    names: frozenset[str]
    asked: Conjunction


def ways(formula: ast.Formula) -> list[Way]:
    """The ways in which an event is forbidden by a formula of one event."""
    bound = bound_within(formula)

    def combine(node: ast.Formula, made: Sequence[list[_Option]]) -> list[_Option]:
        match node:
            case ast.EventType(name):
                has_type = ast.Binary("=", ast.Attribute(None, "type"), ast.Literal(name))
                return [_Option(frozenset({name}), (has_type,))]
            case ast.AnyEvent():
                return [_Option(frozenset({"ANY"}), ())]
            case ast.Or():
                return [*made[0], *made[1]]
            case ast.As(_, name):
                return [replace(option, names=option.names | {name}) for option in made[0]]
            case ast.Filter(_, condition):
                found = []
                for option in made[0]:
                    alternatives = _alternatives(condition, option.names, bound)
                    found += [replace(option, asked=option.asked + each) for each in alternatives]
                    refuse_more(len(found))
                return found
        raise AssertionError(f"{type(node).__name__} is of several events")

    return [_way(option.asked) for option in ast.fold(formula, combine)]


def _way(asked: Conjunction) -> Way:
    alone, beside = list[ast.Expression](), list[ast.Expression]()
    for each in dict.fromkeys(asked):
        (beside if any(variable is not None for variable, _ in _keys(each)) else alone).append(each)
    terms = tuple(Sql(each, tuple((key, Attr(key[1])) for key in _keys(each))) for each in alone)
    return Way(terms, reduce(partial(ast.Binary, "AND"), beside) if beside else None)


def _alternatives(condition: ast.Condition, names: frozenset[str], bound: set[str]) -> list[Conjunction]:
    """A condition as what must hold all together, in one case or another."""

    def combine(node: ast.Condition, made: Sequence[list[Conjunction]]) -> list[Conjunction]:
        match node:
            case ast.Either():
                found = [*made[0], *made[1]]
            case ast.Both():
                found = [left + right for left, right in product(*made)]
            case _:
                found = [_asked(node, names, bound)]
        refuse_more(len(found))
        return found

    return ast.fold(condition, combine)


def _asked(condition: ast.Condition, names: frozenset[str], bound: set[str]) -> Conjunction:
    """What a condition without AND and OR asks of one event for each variable.

    The event is held by `names`. Of what is bound beside it, but not by it, conditions ask nothing; of variables of the
    match it is asked that there are such events.
    """
    match condition:
        case ast.Each(variable, predicate):
            asked = replace_attributes(predicate, lambda node: ast.Attribute(variable, node.name))
        case ast.Across(predicate):
            asked = predicate
        case ast.Same(variable, attributes):
            same = [ast.Attribute(variable, name) for name in attributes]
            asked = reduce(partial(ast.Binary, "AND"), [ast.Binary("=", each, each) for each in same])
        case ast.Increasing(variable, name) | ast.Decreasing(variable, name):
            asked = _any_value([(variable, name)])  # one event is in order
        case _:
            raise AssertionError(f"unknown condition {type(condition).__name__}")
    keys = _keys(asked)
    if any(variable in bound and variable not in names for variable, _ in keys):
        outside = [key for key in keys if key[0] not in bound]
        return (_any_value(outside),) if outside else ()
    return (
        replace_attributes(
            asked, lambda node: ast.Attribute(None if node.variable in bound else node.variable, node.name)
        ),
    )


def _any_value(keys: Sequence[Key]) -> ast.Expression:
    """What always holds where there is an event of each variable."""
    each = [ast.Attribute(*key) for key in keys]
    known = [ast.Binary("OR", ast.IsNull(one), ast.Unary("NOT", ast.IsNull(one))) for one in each]
    return reduce(partial(ast.Binary, "AND"), known)


def _keys(expression: ast.Expression) -> list[Key]:
    leaves = (node for node in ast.walk(expression) if isinstance(node, ast.Attribute))
    return list(dict.fromkeys((node.variable, node.name) for node in leaves))


# --- what is not --------------------------------------------------------------------------------------------------


def has_none_of_types(names: Sequence[str]) -> Term:
    """`type IS NULL OR type <> R AND …`: said so that contradictions are found, and as a person would say it."""
    attribute = ast.Attribute(None, "type")
    others = [ast.Binary("<>", attribute, ast.Literal(name)) for name in names]
    other = ast.Binary("OR", ast.IsNull(attribute), reduce(partial(ast.Binary, "AND"), others))
    return Sql(other, (((None, "type"), Attr("type")),))


def none_of(alternatives: Sequence[tuple[Term, ...]]) -> Term:
    """Whether none of some conjunctions of predicates of one event is TRUE."""
    types = [type_asked(*predicate) if len(predicate) == 1 else None for predicate in alternatives]
    if types and None not in types:
        return has_none_of_types([name for name in dict.fromkeys(types) if name is not None])
    leaves: dict[tuple[str | None, str], Term] = {}

    def expression(term: Term) -> ast.Expression:
        assert isinstance(term, Sql), "what NEXT takes is told by SQL predicates"
        names = {key: (str(len(leaves) + index), key[1]) for index, (key, _) in enumerate(term.leaves)}
        leaves.update({names[key]: leaf for key, leaf in term.leaves})
        return replace_attributes(term.expression, lambda node: ast.Attribute(*names[node.variable, node.name]))

    def joined(operator: str, parts: Sequence[ast.Expression], neutral: bool) -> ast.Expression:
        return reduce(partial(ast.Binary, operator), parts) if parts else ast.Literal(neutral)

    each = [joined("AND", [expression(term) for term in predicate], neutral=True) for predicate in alternatives]
    return Sql(negated(joined("OR", each, neutral=False)), tuple(leaves.items()))


# --- forbidding ---------------------------------------------------------------------------------------------------


def negated(predicate: ast.Expression) -> ast.Expression:
    """Whether a predicate is anything but TRUE."""
    return ast.Unary("NOT", ast.Call("coalesce", (predicate, ast.Literal(False))))


def forbid(part: Part, way: Way, register: Register) -> Part:
    """Runs none of whose events is forbidden in this way."""
    compared = None if way.beside is None else _Compared(part, way.beside, register)
    found = []
    for t in part.transitions:
        looked_for = not impossible((*t.label.predicate, *way.alone))
        other = t.label.with_predicate(none_of([way.alone])) if looked_for else t.label
        labels = (
            [] if looked_for and not way.alone else [other if compared is None else compared.label(t, other, False)]
        )
        if looked_for and compared is not None:
            labels.append(compared.label(t, t.label.with_predicate(*way.alone), True))
        found += [replace(t, label=label) for label in labels if not impossible(label.predicate)]
    return trimmed(part.states, found)


class _Compared:
    """What is remembered of events that may be forbidden, and of the variables that they are compared with.

    Where each variable holds one event at most, marked when a match begins, its values are enough. Otherwise sets of
    values are: those of variables, and of events that come before a variable has all of its own.
    """

    def __init__(self, part: Part, beside: ast.Expression, register: Register) -> None:
        keys = _keys(beside)
        self._of_event: list[Key] = [key for key in keys if key[0] is None] or [(None, "type")]
        self._of_variables: dict[str, list[Key]] = {}
        for variable, name in keys:
            if variable is not None:
                self._of_variables.setdefault(variable, []).append((variable, name))
        self._holds = negated(beside)
        marking = {t.source for t in part.transitions if self._marks(t)}
        backwards = [(t.target, t.source) for t in part.transitions]
        self._still_marked = reachable(marking, backwards)
        self._at_once = marking <= {START_STATE} and all(holds_one_event(part, each) for each in self._of_variables)
        if self._at_once:
            self._names = {key: register(f"{key[0]}_{key[1]}") for keys in self._of_variables.values() for key in keys}
        else:
            self._sets = {variable: register(f"all_{variable}") for variable in self._of_variables}
            self._events, self._event = register("all_events"), register("event")

    def _marks(self, t: Transition) -> bool:
        return any(t.label.bag(variable) for variable in self._of_variables)

    def label(self, t: Transition, label: Label, happens: bool) -> Label:
        """The label with what is remembered, where the event is one to be compared or is not."""
        return self._singly(t, label, happens) if self._at_once else self._together(t, label, happens)

    def _singly(self, t: Transition, label: Label, happens: bool) -> Label:
        assign: dict[str, Term] = {}
        for (variable, attribute), name in self._names.items():
            marked = label.bag(variable or "")
            assign[name] = label.before(marked[0].attribute(attribute)) if marked else before(t, name)
        label = label.with_assign(assign)
        if not happens:
            return label
        held = [(key, Reg(name)) for key, name in self._names.items()]
        return label.with_predicate(IfSet(Sql(self._holds, (*self._leaves, *held))))

    def _together(self, t: Transition, label: Label, happens: bool) -> Label:
        assign: dict[str, Term] = {}
        for variable, keys in self._of_variables.items():
            given = [label.before(mark.attribute(name)) for mark in label.bag(variable) for _, name in keys]
            state = before(t, self._sets[variable])
            assign[self._sets[variable]] = Collected(state, len(keys), tuple(given)) if given else state
        new = tuple(term for _, term in self._leaves)
        compared = None
        if self._marks(t) or t.target in self._still_marked:
            state = before(t, self._events)
            assign[self._events] = Collected(state, len(new), new) if happens else state
            compared = self._events
        if happens and not self._marks(t):
            assign[self._event] = Collected(Const(UNSET), len(new), new)
            compared = self._event
        label = label.with_assign(assign)
        if compared is None or not (happens or self._marks(t)):
            return label
        attributes = (self._of_event, *self._of_variables.values())
        sets = (compared, *self._sets.values())
        return label.with_predicate(ForAll(self._holds, tuple(map(tuple, attributes)), tuple(map(Reg, sets))))

    @property
    def _leaves(self) -> list[tuple[Key, Term]]:
        """What is compared of the event."""
        return [(key, Attr(key[1])) for key in self._of_event]
