"""When a complex event satisfies a condition (paper 000 sections 2 and A.1; paper 002 section 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise, product

from acelera.language import ast
from acelera.language.conditions import names_in
from acelera.language.evaluation import compare, evaluate
from acelera.language.events import Bag, ComplexEvent, Event, Value, complex_event, seen
from acelera.language.looking_back import asks_before, looks_back
from acelera.language.tree import children, rebuilt
from acelera.semantics.aggregation import aggregated

Given = Mapping[str, Event | None]
"""One event for each variable of another complex event that a condition names; None if the variable is empty."""


def satisfies(c: ComplexEvent, condition: ast.Condition, given: Given | None = None) -> bool:
    """C ⊨ condition. Only TRUE satisfies. Variables that are given hold these events.

    φ FILTER (c ∧ d) ≡ (φ FILTER c) FILTER d, so d is asked only if c holds; φ FILTER (c ∨ d) ≡ (φ FILTER c) OR (φ
    FILTER d).
    """
    held = False
    todo: list[tuple[ast.Condition, bool]] = [(condition, False)]
    while todo:
        node, left_is_known = todo.pop()
        if not isinstance(node, ast.Both | ast.Either):
            held = satisfies_given(c, node, given) if given else satisfies_atom(c, node)
        elif not left_is_known:
            todo += [(node, True), (node.left, False)]
        elif held == isinstance(node, ast.Both):  # the left side does not decide alone
            todo.append((node.right, False))
    return held


def satisfies_given(c: ComplexEvent, condition: ast.Condition, given: Given) -> bool:
    """The same of a condition without AND and OR. One that names a given variable without an event does not hold."""
    if any(given[name] is None for name in names_in(condition) & given.keys()):
        return False
    bags = {name: (event,) for name, event in given.items() if event is not None}
    return satisfies_atom(complex_event(c.start, c.end, {**dict(c.bags), **bags}), condition)


def satisfies_atom(c: ComplexEvent, condition: ast.Condition) -> bool:
    """C ⊨ a condition without AND and OR."""
    match condition:
        case ast.Each(variable, predicate) if looks_back(predicate):
            return all(holds_so_far(predicate, event, c(variable)) for event in c(variable))
        case ast.Each(variable, predicate):  # C(X) ⊨ P iff e ⊨ P for every e in C(X)
            return all(holds(predicate, {variable: event}, variable) for event in c(variable))
        case ast.Across(predicate):
            return across(c, predicate)
        case ast.Same(variable, attributes):
            return all(same(c(variable), attribute) for attribute in attributes)
        case ast.Increasing(variable, attribute):
            return successive(c(variable), attribute, "<")
        case ast.Decreasing(variable, attribute):
            return successive(c(variable), attribute, ">")
    raise AssertionError(f"unknown condition {type(condition).__name__}")


def holds(predicate: ast.Expression, events: dict[str, Event], default: str = "") -> bool:
    """Whether a predicate is TRUE of one event of each variable."""
    return evaluate(predicate, lambda node: events[node.variable or default].value(node.name)) is True


def holds_so_far(predicate: ast.Expression, event: Event, events: Bag) -> bool:
    """Whether a predicate with prev(…) or aggregates holds of an event of x, where x holds these events.

    The events so far are those at its position or before. One with prev must hold with each event at the last position
    before that has any; where there is none it is not asked, whatever else it speaks of.
    """
    if not asks_before(predicate):
        return value_so_far(predicate, event, events) is True
    earlier = [e for e in events if e.position < event.position]
    previous = [e for e in earlier if e.position == max(other.position for other in earlier)]
    return all(value_so_far(predicate, event, events, before) is True for before in previous)


def value_so_far(expression: ast.Expression, event: Event, events: Bag, before: Event | None = None) -> Value:
    """The value of an expression at one event of x, where x holds these events and `before` is the one before it."""
    so_far = [e for e in events if e.position <= event.position]

    def value_of(node: ast.Expression) -> Value:
        match node:
            case ast.Prev(operand):
                assert before is not None, "it is asked only of events that have one before"
                return value_so_far(operand, before, events)
            case ast.Running(_, None, _):
                return len(so_far)
            case ast.Running(name, operand, ignore_nulls) if operand is not None:
                values = [(e.position, value(operand, e)) for e in so_far]
                return seen(aggregated(name, values, ignore_nulls))
        raise AssertionError(f"{type(node).__name__} speaks of one event")

    def below(node: ast.Expression) -> Sequence[ast.Expression]:
        return () if isinstance(node, ast.Prev | ast.Running) else children(node)

    def known(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
        return ast.Literal(value_of(node)) if isinstance(node, ast.Prev | ast.Running) else rebuilt(node, made)

    return value(ast.fold(expression, known, below), event)


def value(expression: ast.Expression, event: Event) -> Value:
    """The value of an expression over the attributes of one event."""
    return evaluate(expression, lambda node: event.value(node.name))


def across(c: ComplexEvent, predicate: ast.Expression) -> bool:
    """The universal extension of SO-CEL: P holds for all x1 ∈ S1, …, xn ∈ Sn."""
    found = (node.variable for node in ast.walk(predicate) if isinstance(node, ast.Attribute))
    variables = list(dict.fromkeys(variable for variable in found if variable is not None))
    combinations = product(*(c(variable) for variable in variables))
    return all(holds(predicate, dict(zip(variables, events, strict=True))) for events in combinations)


def same(events: Bag, attribute: str) -> bool:
    """[a]: ∀ e1, e2 ∈ E. e1(a) = e2(a). With e1 = e2 this asks for non-NULL values."""
    return all(compare("=", e1.value(attribute), e2.value(attribute)) is True for e1 in events for e2 in events)


def successive(events: Bag, attribute: str, symbol: str) -> bool:
    """[increasing(a)], [decreasing(a)]: every e2 that is a successor of e1 in E compares so with it.

    Successors have successive times; several events may share one.
    """
    times = sorted({event.position for event in events})
    at = {time: [event for event in events if event.position == time] for time in times}
    return all(
        compare(symbol, e1.value(attribute), e2.value(attribute)) is True
        for earlier, later in pairwise(times)
        for e1 in at[earlier]
        for e2 in at[later]
    )
