"""The letter of figure 12: every τ and every σ there could be is tried, and asked of each literal by its definition.

The judge puts traces and substitutions together literal by literal; here nothing is put together.
"""

import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics.entailment import Interpretation, satisfying
from acelera.xchangeeq.semantics.normal_form import Literal, Rule, identifier_of, normal_form
from acelera.xchangeeq.semantics.timers import Clock, Timer
from acelera.xchangeeq.simulation import simulations
from acelera.xchangeeq.terms import Event
from xchangeeq.building import SECOND, V, absent, allen, collect, compare, dur, ev, h, on, program, q, rule, within, x

VALUES = (1, 2)
LAST = 5
CLOCK = Clock(SECOND, 0, LAST)
TIMERS = [Timer(low, high) for low in range(-3, LAST + 4) for high in range(low, LAST + 4)]

Assignment = dict[str, Any]


def ground(query: ast.Query, sigma: Assignment) -> ast.Query:
    """σ(q)."""
    if isinstance(query, ast.Binds):
        return ast.IsValue(sigma[query.name])
    assert isinstance(query, ast.Labelled | ast.IsValue)
    if isinstance(query, ast.IsValue):
        return query
    return ast.Labelled(query.label, tuple(ground(each, sigma) for each in query.children), query.total, query.ordered)


def simulates(query: ast.Query, sigma: Assignment, event: Event) -> bool:
    return simulations(ground(query, sigma), event.term) != []


def entails(events: list[Event], sigma: Assignment, tau: Assignment, literal: Literal) -> bool:
    """I, σ, τ ⊨ b."""
    match literal:
        case ast.Event(identifier, query):
            happens = tau[str(identifier)]
            return isinstance(happens, Event) and happens in events and simulates(query, sigma, happens)
        case ast.RelativeTimer(identifier, kind, anchor, duration):
            timer, of, length = tau[identifier], tau[anchor], duration.microseconds // SECOND
            begin, end = (of.end, of.end + length) if kind == "from-end" else (of.begin - length, of.end)
            return isinstance(timer, Timer) and (timer.begin, timer.end) == (begin, end)
        case ast.While(window, negated, query):
            t = tau[window]
            inside = [each for each in events if t.begin <= each.begin and each.end <= t.end]
            return any(simulates(query, sigma, each) for each in inside) != negated
    raise AssertionError


def w(condition: ast.Condition, sigma: Assignment, tau: Assignment) -> bool:
    """W_{σ,τ}."""
    match condition:
        case ast.Temporal(left, "before", right):
            return bool(tau[left].end < tau[right].begin)
        case ast.Within((left, right), duration):
            one, other = tau[left], tau[right]
            return bool(max(one.end, other.end) - min(one.begin, other.begin) <= duration.microseconds // SECOND)
        case ast.Comparison("<", ast.Variable(left), ast.Variable(right)):
            return bool(sigma[left] < sigma[right])
    raise AssertionError


def by_the_letter(one: Rule, events: list[Event]) -> Iterator[tuple[Assignment, Assignment]]:
    identifiers = [name for each in one.literals for name in [identifier_of(each)] if name is not None]
    names = sorted({each.name for part in one.literals if hasattr(part, "query") for each in binds(part.query)})
    kinds = {identifier_of(each): type(each) for each in one.literals}
    choices: list[list[Any]] = [TIMERS if kinds[each] is ast.RelativeTimer else list(events) for each in identifiers]
    for happening in product(*choices):
        tau = dict(zip(identifiers, happening, strict=True))
        for values in product(VALUES, repeat=len(names)):
            sigma = dict(zip(names, values, strict=True))
            if all(entails(events, sigma, tau, each) for each in one.literals) and all(
                w(each, sigma, tau) for each in one.conditions
            ):
                yield tau, sigma


def binds(query: ast.Query) -> list[ast.Binds]:
    return [each for each in ast.walk(query) if isinstance(each, ast.Binds)]


def random_rule(chance: random.Random) -> Rule:
    """Range-restricted: X and Y are bound by an event or a collect."""
    window = chance.choice(["i", "k"])
    literals: list[ast.Body] = [
        on("i", q("a", v=V("X"))),
        ast.RelativeTimer("k", chance.choice(["from-end", "extend-begin"]), "i", dur(f"{chance.randint(0, 3)} s")),
    ]
    second = chance.choice([on("j", q("b", v=V("Y"))), collect(window, q("b", v=V("Y"), w=V("X")))])
    literals.append(second)
    third = chance.choice(["none", "not", "not both", "collect"])
    if third != "none":
        query = {"not": q("b", v=V("X")), "not both": q("b", v=V("Y"), w=V("X")), "collect": q(None, v=V("Y"))}[third]
        literals.append(collect(window, query) if third == "collect" else absent(window, query))
    other = "j" if isinstance(second, ast.Event) else "k"
    conditions = [allen(f"i before {other}"), within(f"i {other}", "3 s"), compare(x("X"), "<", x("Y"))]
    chance.shuffle(literals)
    return normal_form(program(rule(h("r"), *literals, where=chance.sample(conditions, chance.randint(0, 1)))))[0]


def random_events(chance: random.Random) -> list[Event]:
    found = set()
    for _ in range(5):
        begin = chance.randint(0, LAST)
        data = {"v": [chance.choice(VALUES) for _ in range(chance.randint(1, 2))], "w": chance.choice(VALUES)}
        found.add(ev(chance.choice("ab"), begin, chance.randint(begin, LAST), **data))
    return list(found)


@pytest.mark.parametrize("seed", range(60))
def test_the_judge_finds_the_traces_and_substitutions_of_the_letter(seed: int) -> None:
    chance = random.Random(seed)
    one, events = random_rule(chance), random_events(chance)
    found = {
        (frozenset(tau.items()), frozenset((name, each.value) for name, each in sigma.items()))
        for tau, those in satisfying(one, Interpretation(events, CLOCK))
        for sigma in those
    }
    wanted = {(frozenset(tau.items()), frozenset(sigma.items())) for tau, sigma in by_the_letter(one, events)}
    assert found == wanted
