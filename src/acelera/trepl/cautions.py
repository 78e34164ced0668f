"""Warnings: rules that mean something, but most likely not what was meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acelera.language.ast import Binary, Expression, walk
from acelera.language.tree import children, fold
from acelera.programs.problems import Notes
from acelera.trepl import ast
from acelera.trepl.conjuncts import conjuncts, mentioned
from acelera.trepl.named_rules import NamedRule
from acelera.trepl.resolved import Aggregate, Derive, Field, Part, Simple, Stamp
from acelera.trepl.shape import exported


def warn_of_rule(goal: ast.Goal, partitioned: bool, notes: Notes) -> None:
    """Note all warnings of the event of a rule."""
    for condition in _conditions(goal):
        _never_above_all(condition, notes)
    if not partitioned:
        for star in ast.walk(goal):
            if isinstance(star, ast.Star):
                _untied(star, notes)


def warn_of_module(module: ast.Module, rules: tuple[NamedRule, ...], notes: Notes) -> None:
    """Note what is declared and never made."""
    made = {each.event for rule in rules for each in rule.actions if isinstance(each, Derive)}
    for declared in module.derived:
        if declared.name not in made:
            notes.warn(f"no rule derives {declared.name}", declared.span, "its goals are never satisfied")


def _conditions(goal: ast.Goal) -> Iterator[Expression]:
    for each in ast.walk(goal):
        condition = each.condition if isinstance(each, Simple | ast.Test) else None
        if condition is not None:
            yield condition


def _never_above_all(condition: Expression, notes: Notes) -> None:
    """An event is one of those that its aggregates are over, so it is never above the largest."""
    bounds = {">": "max", "<": "min"}
    turned = {">": "<", "<": ">"}
    for each in walk(condition):
        if not isinstance(each, Binary) or each.operator not in bounds:
            continue
        for left, operator, right in (
            (each.left, each.operator, each.right),
            (each.right, turned[each.operator], each.left),
        ):
            is_bound = isinstance(right, Aggregate) and right.function == bounds[operator] and right.argument == left
            if is_bound:
                word = bounds[operator].capitalize()
                hint = f"for a new one, ask for = {word}(…)"
                notes.warn(f"this never holds: {word} is over the event itself, too", each.span, hint)


def _looked_at(equality: Expression) -> frozenset[str]:
    """The variables whose event itself is looked at, not only an aggregate over all of them."""

    def combine(node: Expression, inner: Sequence[frozenset[str]]) -> frozenset[str]:
        return mentioned(node).union(*inner) if isinstance(node, Field | Stamp | Part) else frozenset().union(*inner)

    return fold(equality, combine, lambda node: () if isinstance(node, Aggregate) else children(node))


def _untied(star: ast.Star, notes: Notes) -> None:
    """Several events of a stage go on with an instance, each for itself, unless an equality picks one."""
    variables = exported(star.goal).single
    equalities = [
        each
        for condition in _conditions(star.goal)
        for each in conjuncts(condition)
        if isinstance(each, Binary) and each.operator == "="
    ]
    tied = {name for each in equalities for name in _looked_at(each)}
    free = sorted(variables - tied)
    if free:
        name = free[0]
        message = "if several events have one stage, instances of this star double at each: no `=` ties its events"
        notes.warn(message, star.span, f"write partition by, or a condition as {name}.k = First({name}.k)")
