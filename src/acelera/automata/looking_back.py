"""`x[P]` where P speaks of the event of x before, or aggregates the events of x so far.

What P needs of them is remembered in registers: the values of prev(…) at the last events of x, the states of
aggregates. Where the event of x before is always the one right before in the stream, as in `A:+`, nothing needs to be
remembered: P is then a test of two events that stand next to each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from acelera.automata.labels import Label, Mark, on_mark
from acelera.automata.model import Transition, reachable
from acelera.automata.parts import START_STATE, Part, before
from acelera.automata.terms import UNSET, Attr, Const, Earlier, Finish, Identity, IfSet, Reg, Sql, Step, Term
from acelera.language import ast
from acelera.language.looking_back import asks_before, outermost
from acelera.language.tree import children, rebuilt

Register = Callable[[str], str]
Leaf = tuple[str | None, str]


def looking_back(part: Part, condition: ast.Each, register: Register) -> Part:
    """x[P]: of each event that is marked with x, given those that were marked before it."""
    alone = of_neighbours(part, condition)
    return remembering(part, condition, register) if alone is None else alone


# --- in registers -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory:
    """The registers of a predicate: a state for each aggregate, and for each prev(…) its value at the last events.

    Several events may be marked at one position, and each is the one before for those that follow: `last` has a name
    for each prev(…) of each of them, and is what holds for the event in hand, `former` the same for the one before.
    """

    aggregates: Mapping[ast.Running, str]
    last: Sequence[Mapping[ast.Prev, str]]
    former: Sequence[Mapping[ast.Prev, str]]


def remembering(part: Part, condition: ast.Each, register: Register) -> Part:
    """x[P] by registers."""
    variable, predicate = condition.variable, condition.predicate
    memory = _memory(part, condition, register)

    def checked(t: Transition) -> Label:
        marked = t.label.bag(variable)
        label = _aggregated(t, marked, memory.aggregates)
        label = _remembered(t, label, marked, memory)
        for mark in marked:
            for former in memory.former:
                label = label.with_predicate(IfSet(_asked(predicate, mark, memory.aggregates, former)))
            if not memory.former:
                label = label.with_predicate(_asked(predicate, mark, memory.aggregates, {}))
        return label

    return part.relabelled(checked)


def _memory(part: Part, condition: ast.Each, register: Register) -> Memory:
    predicate = condition.predicate
    aggregates = {node: register(node.function) for node in ast.walk(predicate) if isinstance(node, ast.Running)}
    prevs = [node for node in outermost(predicate, ast.Prev) if isinstance(node, ast.Prev)]
    most = max((len(t.label.bag(condition.variable)) for t in part.transitions), default=0) if prevs else 0
    last = [{node: register("last") for node in dict.fromkeys(prevs)} for _ in range(most)]
    return Memory(aggregates, last, [{node: f"{name}_before" for node, name in each.items()} for each in last])


def _aggregated(t: Transition, marked: Sequence[Mark], aggregates: Mapping[ast.Running, str]) -> Label:
    """The states of aggregates after what is marked here."""
    assign: dict[str, Term] = {}
    for node, name in aggregates.items():
        state: Term = Identity(node.function) if t.source == START_STATE else Reg(name)
        for mark in marked:
            given = Const(True) if node.operand is None else t.label.before(on_mark(node.operand, mark))
            state = Step(node.function, node.ignore_nulls, state, given)
        assign[name] = state
    return t.label.with_assign(assign)


def _remembered(t: Transition, label: Label, marked: Sequence[Mark], memory: Memory) -> Label:
    """The values of prev(…) for those that follow; what is marked here still asks for those before."""
    assign: dict[str, Term] = {}
    for index, (last, former) in enumerate(zip(memory.last, memory.former, strict=True)):
        for node, name in last.items():
            if not marked:
                assign[name] = before(t, name)
                continue
            assign[former[node]] = before(t, name)
            value: Term = Const(UNSET)
            if index < len(marked):
                value = _plain(_asked(node.operand, marked[index], memory.aggregates, {}))
            assign[name] = label.before(value)
    return label.with_assign(assign)


def _asked(
    expression: ast.Expression,
    mark: Mark,
    aggregates: Mapping[ast.Running, str],
    former: Mapping[ast.Prev, str],
) -> Sql:
    """An expression over the event that a mark makes, and over the registers that hold what came before."""
    leaves: dict[Leaf, Term] = {}

    def leaf(kind: str | None, name: str, term: Term) -> ast.Expression:
        leaves[kind, name] = term
        return ast.Attribute(kind, name)

    def below(node: ast.Expression) -> Sequence[ast.Expression]:
        return () if isinstance(node, ast.Prev | ast.Running) else children(node)

    def known(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        match node:
            case ast.Prev():
                return leaf("prev", former[node], Reg(former[node]))
            case ast.Running(function, _, _):
                return leaf("so far", aggregates[node], Finish(function, Reg(aggregates[node])))
            case ast.Attribute(_, name):
                return leaf(None, name, mark.attribute(name))
        return rebuilt(node, made)

    made = ast.fold(expression, known, below)
    return Sql(made, tuple(leaves.items()))


def _plain(term: Sql) -> Term:
    """An expression that is nothing but a term as that term."""
    return term.leaves[0][1] if isinstance(term.expression, ast.Attribute) else term


# --- of two events that stand next to each other ------------------------------------------------------------------


def of_neighbours(part: Part, condition: ast.Each) -> Part | None:
    """x[P] as a test of an event and the one right before it, if that is always the event of x before; else None."""
    variable, predicate = condition.variable, condition.predicate
    if not asks_before(predicate) or any(isinstance(node, ast.Running) for node in ast.walk(predicate)):
        return None
    marking = [t for t in part.transitions if t.label.bag(variable)]
    later = reachable({t.target for t in marking}, [(t.source, t.target) for t in part.transitions])
    asked = {t.source for t in marking if t.source in later}
    into = [t for t in part.transitions if t.target in asked]
    asking = [t for t in marking if t.source in asked]
    if any(len(t.label.bag(variable)) != 1 for t in (*into, *asking)):
        return None
    names = sorted({node.name for node in ast.walk(predicate) if isinstance(node, ast.Attribute)})
    read = {tuple(t.label.bag(variable)[0].attribute(name) for name in names) for t in (*into, *asking)}
    if len(read) > 1 or not all(isinstance(term, Attr | Const) for each in read for term in each):
        return None
    earlier = {name: _earlier(term) for each in read for name, term in zip(names, each, strict=True)}

    def checked(t: Transition) -> Label:
        if t.source not in asked or not t.label.bag(variable):
            return t.label
        return t.label.with_predicate(_of_both(predicate, t.label.bag(variable)[0], earlier))

    return part.relabelled(checked)


def _earlier(term: Term) -> Term:
    """The term for the event right before."""
    return Earlier(term.name) if isinstance(term, Attr) else term


def _of_both(predicate: ast.Expression, mark: Mark, earlier: Mapping[str, Term]) -> Term:
    """A predicate over the event that a mark makes, and the one before it."""
    leaves: dict[Leaf, Term] = {}

    def of_event(expression: ast.Expression, kind: str | None, term: Callable[[str], Term]) -> ast.Expression:
        def known(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
            match node:
                case ast.Prev(operand):
                    return of_event(operand, "prev", lambda name: earlier[name])
                case ast.Attribute(_, name):
                    leaves[kind, name] = term(name)
                    return ast.Attribute(kind, name)
            return rebuilt(node, made)

        return ast.fold(expression, known, lambda node: () if isinstance(node, ast.Prev) else children(node))

    made = of_event(predicate, None, mark.attribute)
    return Sql(made, tuple(leaves.items()))
