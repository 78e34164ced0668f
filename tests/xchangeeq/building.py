"""Short ways to write programs as trees, and events."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from acelera.xchangeeq import ast
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term

SECOND, MINUTE, HOUR, DAY = (ast.UNITS[unit] for unit in ("s", "min", "h", "d"))

# --- events: `ev("temp", 60, 63, area="a", item=[1, 2], owner={"name": "x"})`


def term(label: str, /, *children: Any, **columns: Any) -> Term:
    return Term(label, (*children, *(child for name, cell in columns.items() for child in _cell(name, cell))))


def _cell(name: str, cell: Any) -> list[Term]:
    if isinstance(cell, list):
        return [child for item in cell for child in _cell(name, item)]
    return [term(name, **cell) if isinstance(cell, dict) else Term(name, (cell,))]


def ev(label: str, begin: int | Fraction, end: int | Fraction | None = None, /, **columns: Any) -> Event:
    return Event(term(label, **columns), begin, begin if end is None else end)


# --- queries: `q("temp", area=V("A"))` is temp {{ area {{ var A }} }}


def V(name: str, query: ast.Query | None = None) -> ast.Binds:  # noqa: N802  # as variables are written in rules
    return ast.Binds(name, query)


def _query(what: Any) -> ast.Query:
    return what if isinstance(what, ast.Query) else ast.IsValue(what)


def q(label: str | None, /, *kids: Any, brackets: str = "{{", **columns: Any) -> ast.Labelled:
    named = [ast.Labelled(name, (_query(each),)) for name, each in columns.items()]
    return ast.Labelled(label, (*(_query(each) for each in kids), *named), len(brackets) == 1, "[" in brackets)


# --- heads: `h("fire", area=x("A"))` is fire { area { var A } }


def x(name: str) -> ast.Variable:
    return ast.Variable(name)


def _expression(what: Any) -> Any:
    return what if isinstance(what, ast.Node) else ast.Literal(what)


def h(label: str, /, *kids: Any, **columns: Any) -> ast.Construct:
    named = [ast.Construct(name, (_expression(each),)) for name, each in columns.items()]
    return ast.Construct(label, (*(_expression(each) for each in kids), *named))


def agg(function: str, what: Any, *group_by: str) -> ast.Aggregate:
    over = x(what) if isinstance(what, str) else what
    return ast.Aggregate(function, ast.All(over, tuple(x(name) for name in group_by)))


def every(what: Any, group_by: str = "", order_by: str = "") -> ast.All:
    """`order_by` is written as in "T -U": a minus before what is sorted in descending order."""
    keys = (ast.OrderKey(x(name.lstrip("-")), name.startswith("-")) for name in order_by.split())
    return ast.All(what, tuple(x(name) for name in group_by.split()), tuple(keys))


# --- bodies


def on(identifier: str | None, query: ast.Query) -> ast.Event:
    return ast.Event(identifier, query)


def timer(identifier: str, kind: str, anchor: str, length: str) -> ast.RelativeTimer:
    return ast.RelativeTimer(identifier, kind, anchor, dur(length))


def absent(window: str, query: ast.Query) -> ast.While:
    return ast.While(window, True, query)


def collect(window: str, query: ast.Query) -> ast.While:
    return ast.While(window, False, query)


def dur(text: str) -> ast.Duration:
    """`1 min 30 s`, with the units of the tree."""
    words = text.split()
    return ast.Duration(tuple((int(amount), unit) for amount, unit in zip(words[::2], words[1::2], strict=True)))


def rule(head: ast.Construct, *bodies: ast.Body, where: list[ast.Condition] | None = None) -> ast.Rule:
    body = bodies[0] if len(bodies) == 1 else ast.AllOf(bodies)
    return ast.Rule(head, ast.Where(body, tuple(where)) if where else body)


def program(*rules: ast.Rule) -> ast.Program:
    return ast.Program(rules)


# --- conditions


def compare(left: Any, operator: str, right: Any) -> ast.Comparison:
    return ast.Comparison(operator, _expression(left), _expression(right))


def within(identifiers: str, length: str) -> ast.Within:
    return ast.Within(tuple(identifiers.split()), dur(length))


def allen(text: str) -> ast.Temporal:
    left, relation, right = text.split()
    return ast.Temporal(left, relation, right)


# --- what is derived


def derived(of: ast.Program | ast.Rule, events: list[Event], tick: int = SECOND, **options: Any) -> set[Event]:
    return set(derive(of if isinstance(of, ast.Program) else program(of), events, tick=tick, **options))
