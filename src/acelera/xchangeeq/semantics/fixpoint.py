"""Strata, the immediate consequence operator and the fixpoint ([P], definitions 0.9 and 0.10; contract, section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from acelera.errors import Problem, QueryCheckError, UsageError
from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics.construction import Construction, columns_of, has_grouping
from acelera.xchangeeq.semantics.entailment import Interpretation, interval, satisfying
from acelera.xchangeeq.semantics.normal_form import Rule, normal_form, spoken_of
from acelera.xchangeeq.semantics.timers import Clock, is_absolute
from acelera.xchangeeq.simulation import Substitution
from acelera.xchangeeq.terms import Event


def derive(
    program: ast.Program, events: Iterable[Event], aggregates: str = "nodes", tick: int | Fraction = 1
) -> frozenset[Event]:
    """M_{P,E} without E: the events that a program derives from base events.

    `tick` is how many microseconds one unit of time is; `aggregates` is "nodes" or, by the letter, "set" (Choice A).

    >>> from acelera.xchangeeq.terms import Term
    >>> body = ast.Event("i", ast.Labelled("a", (ast.Binds("X", ast.Labelled("v", ())),)))
    >>> rule = ast.Rule(ast.Construct("r", (ast.Variable("X"),)), body)  # DETECT r { var X } ON a {{ var X -> v {{}} }}
    >>> print(*derive(ast.Program((rule,)), [Event(Term("a", (Term("v", (1,)),)), 2, 3)]))
    r { v { 1 } } [2, 3]
    """
    if aggregates not in ("nodes", "set"):
        raise UsageError(f"{aggregates=} is not known; it is one of 'nodes', 'set'")
    base = frozenset(events)
    ends = [each.end for each in base]
    clock = Clock(tick, min(ends), max(ends)) if ends else Clock(tick)
    rules = normal_form(program)
    construction = Construction(
        aggregates, columns_of((rule.head, [query for query, _ in queries(rule)]) for rule in rules)
    )
    levels, model = strata(rules), base
    seen: dict[tuple[ast.Query, Event], list[Substitution]] = {}
    for level in range(max(levels, default=-1) + 1):
        lower = [rule for rule, its in zip(rules, levels, strict=True) if its <= level]
        while True:  # the least fixpoint of T above what there is
            given = Interpretation(model, clock, seen)
            further = model | {event for rule in lower for event in consequences(rule, given, construction)}
            if further == model:
                break
            model = further
    return model - base


def consequences(rule: Rule, given: Interpretation, construction: Construction) -> Iterator[Event]:
    """What T adds by one rule: Στ(h)^t for every τ with Στ not empty."""
    for trace, those in satisfying(rule, given):
        begin, end = interval(trace)
        for term in construction.terms(rule.head, those):
            yield Event(term, begin, end)


def strata(rules: list[Rule]) -> list[int]:
    """s(r): the most strict edges on a path from r over the rules that are queried. No cycle may have a strict edge."""
    edges = [
        (number, other, reason)
        for number, rule in enumerate(rules)
        for query, reason in queries(rule)
        for other, queried in enumerate(rules)
        if may_match(query, queried.head.label)
    ]
    for number, other, reason in edges:
        if reason and number in reached(other, edges):
            label = rules[number].head.label
            raise QueryCheckError([Problem(f"not stratifiable: {label} depends on itself through {reason}")])
    found, before = [0] * len(rules), [-1]
    while found != before:
        before = list(found)
        for number, other, reason in edges:
            found[number] = max(found[number], found[other] + bool(reason))
    return found


def reached(start: int, edges: list[tuple[int, int, str]]) -> set[int]:
    """The rules that one depends on, directly or not, and itself."""
    found, todo = {start}, [start]
    while todo:
        here = todo.pop()
        further = {other for number, other, _ in edges if number == here} - found
        found |= further
        todo += further
    return found


def queries(rule: Rule) -> Iterator[tuple[ast.Query, str]]:
    """The queries of a rule, each with why what it matches must be known before, or nothing."""
    timers = {spoken_of(each): each.identifier for each in rule.literals if isinstance(each, ast.RelativeTimer)}
    grouping = "grouping" if has_grouping(rule.head) else ""
    for literal in rule.literals:
        match literal:
            case ast.Event(identifier, query) if not is_absolute(query):
                yield query, f"the timer {timers[identifier]}" if identifier in timers else grouping
            case ast.While(_, negated, query):
                yield query, "negation" if negated else grouping


def may_match(query: ast.Query, label: str) -> bool:
    """Whether the root label of a query is this one, or may be any."""
    match query:
        case ast.Binds(_, None) | ast.Descendant():
            return True
        case ast.Binds(_, ast.Query() as inner):
            return may_match(inner, label)
        case ast.Labelled(wanted):
            return wanted in (None, label)
    return False
