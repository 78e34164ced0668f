"""Evaluates the Datalog of a rule, as it is printed, on a history: plainly, one stage after the other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from graphlib import TopologicalSorter
from typing import Any

from acelera.language.ast import Attribute, Binary, Expression
from acelera.language.evaluation import evaluate
from acelera.trepl.history import Change
from acelera.trepl.parser import parse

NONE = "no round"
Bound = dict[str, Any]


@dataclass(frozen=True)
class Event:
    """A row of an event table."""

    cells: tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Atom:
    """`¬name(term, …, stage)`; `back` is how many stages it lies before that of the rule."""

    name: str
    terms: tuple[str, ...]
    back: int
    negated: bool


@dataclass(frozen=True)
class Clause:
    """A rule, taken apart; it holds at stages from `since` to `until`."""

    head: Atom
    atoms: tuple[Atom, ...]
    computed: tuple[tuple[str, tuple[str, ...]], ...]
    conditions: tuple[str, ...]
    since: int
    until: int | None


COMPUTED = ("max", "min", "sum", "count", "first")


def split(text: str) -> list[str]:
    """What stands between commas, and neither in brackets nor in strings."""
    found, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        depth += 0 if quote else (char in "({") - (char in ")}")
        if char == "," and not depth and not quote:
            found.append("")
        else:
            found[-1] += char
    return [each.strip() for each in found if each.strip()]


def clauses(text: str) -> Iterator[tuple[str, list[str]]]:
    """Heads and goals, as texts."""
    for clause in re.findall(r"^(?!%)(.+?\.)$", re.sub(r"\n +", " ", text), re.MULTILINE):
        head, _, body = clause.removesuffix(".").partition(" <- ")
        yield head, split(body)


def _clause(head: str, goals: list[str]) -> Clause:
    name, terms, stage = _atom(head)
    atoms, computed, conditions = [], [], []
    for goal in goals:
        bare = goal.removeprefix("¬")
        if not re.fullmatch(r"\w+\(.*\)", bare):
            conditions.append(goal)
        elif bare.partition("(")[0] in COMPUTED:
            function, arguments = bare.removesuffix(")").split("(", 1)
            computed.append((function, tuple(split(arguments))))
        else:
            other, given, when = _atom(bare)
            atoms.append(Atom(other, given, int(stage == "s(J)" and when == "J"), goal != bare))
    since, until = {"0": (0, 0), "J": (0, None), "s(J)": (1, None)}[stage]
    return Clause(Atom(name, terms, 0, False), tuple(atoms), tuple(computed), tuple(conditions), since, until)


def _atom(text: str) -> tuple[str, tuple[str, ...], str]:
    name, rest = text.removesuffix(")").split("(", 1)
    *terms, stage = split(rest)
    return name, tuple(terms), stage


@cache
def _expression(text: str) -> Expression:
    return parse(f"monitor a; R: a -> write({text})").program.modules[0].rules[0].actions[0].arguments[0]


def _value(term: str, bound: Bound) -> Any:
    if term.startswith("{"):
        return frozenset(bound[each] for each in split(term[1:-1]))
    if term == "none":
        return NONE
    if term in bound:
        return bound[term]
    return evaluate(_expression(term), lambda leaf: _leaf(leaf, bound))


def _leaf(leaf: Attribute, bound: Bound) -> Any:
    if leaf.variable is None:
        return bound[leaf.name]
    return dict(bound[leaf.variable].cells)[leaf.name]


def _holds(condition: str, bound: Bound) -> bool:
    expression = _expression(condition)
    while isinstance(expression, Binary) and expression.operator == "OR" and _is_none(expression.left):
        if bound[expression.left.left.name] == NONE:  # type: ignore[attr-defined]
            return True
        expression = expression.right
    return evaluate(expression, lambda leaf: _leaf(leaf, bound)) is True


def _is_none(expression: Expression) -> bool:
    return isinstance(expression, Binary) and expression.right == Attribute(None, "none")


def _computed(function: str, new: Any, old: Any) -> Any:
    if function == "first":
        return new if old == NONE else old
    if function == "count":
        return old + (new is not None)
    if new is None or old is None:
        return old if new is None else new
    return {"max": max, "min": min, "sum": lambda *both: sum(both)}[function](new, old)


class Evaluation:
    """The satisfaction predicates of a rule, stage by stage."""

    def __init__(self, text: str) -> None:
        rest = text.split("\n\n")[1]
        self._clauses = [_clause(*each) for each in clauses(rest)]
        needed: dict[str, set[str]] = {}
        for clause in self._clauses:
            same = {each.name for each in clause.atoms if not each.back and each.name != clause.head.name}
            needed.setdefault(clause.head.name, set()).update(same)
        self._order = [name for name in TopologicalSorter(needed).static_order() if name in needed]

    def facts(self, stages: Sequence[Sequence[Change]]) -> Iterator[dict[str, set[tuple[Any, ...]]]]:
        """All facts of each stage, that of stage 0 first."""
        before: dict[str, set[tuple[Any, ...]]] = {}
        for number, changes in enumerate([(), *stages]):
            now = {"any": {()}}
            for change in changes:
                now.setdefault(f"{change.kind[:3]}_{change.relation}", set()).add((_row(change),))
            for name in self._order:
                for clause in self._clauses:
                    if clause.head.name == name and clause.since <= number and clause.until in (None, number):
                        found = {
                            tuple(_value(each, bound) for each in clause.head.terms)
                            for bound in _bound(clause, now, before)
                        }
                        now.setdefault(name, set()).update(found)
            yield now
            before = now


def _row(change: Change) -> Event:
    old = {f"old_{name}": value for name, value in (change.old or {}).items()}
    return Event(tuple({**(change.new or {}), **old}.items()))


def _bound(clause: Clause, now: dict[str, set[Any]], before: dict[str, set[Any]]) -> list[Bound]:
    found: list[Bound] = [{}]
    for atom in (each for each in clause.atoms if not each.negated):
        facts = (before if atom.back else now).get(atom.name, set())
        found = [more for bound in found for fact in facts if (more := _matched(atom.terms, fact, bound)) is not None]
    for function, (new, old, result) in clause.computed:
        found = [{**bound, result: _computed(function, _value(new, bound), _value(old, bound))} for bound in found]
    found = [bound for bound in found if all(_holds(each, bound) for each in clause.conditions)]
    for atom in (each for each in clause.atoms if each.negated):
        facts = (before if atom.back else now).get(atom.name, set())
        found = [bound for bound in found if not any(_agrees(atom.terms, fact, bound) for fact in facts)]
    return found


def _matched(terms: Sequence[str], fact: Sequence[Any], bound: Bound) -> Bound | None:
    more = dict(bound)
    for term, value in zip(terms, fact, strict=True):
        if term != "_" and more.setdefault(term, value) != value:
            return None
    return more


def _agrees(terms: Sequence[str], fact: Sequence[Any], bound: Bound) -> bool:
    return all(term == "_" or _value(term, bound) == value for term, value in zip(terms, fact, strict=True))
