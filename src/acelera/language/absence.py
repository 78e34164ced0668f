"""UNLESS: which formulas may speak of the match around them, and UNLESS … FOR apart from what it stands in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from acelera.language import ast
from acelera.language.conditions import attributes_in, names_in
from acelera.language.tree import children

ONE_EVENT = ast.EventType | ast.AnyEvent | ast.Or | ast.As | ast.Filter
"""What a formula of one event is made of."""

AROUND = ast.As | ast.Filter | ast.Project | ast.Agg | ast.Windowed
"""What UNLESS … FOR may stand in: each match goes on as it is, changed, or not at all."""


def is_one_event(formula: ast.Formula) -> bool:
    """Whether a formula matches one event."""
    return all(isinstance(node, ONE_EVENT) for node in ast.walk(formula))


def names_from_outside(formula: ast.Formula) -> list[str]:
    """The variables that the conditions of a formula of one event name, and that it does not bind."""
    if not is_one_event(formula):
        return []
    bound = bound_within(formula)
    conditions = [node.condition for node in ast.walk(formula) if isinstance(node, ast.Filter)]
    return sorted({name for condition in conditions for name in names_in(condition)} - bound)


def bound_within(formula: ast.Formula) -> set[str]:
    """The variables that operators of a formula bind."""
    return {name for node in ast.walk(formula) for name in _bound_by(node)}


def chosen_names(formula: ast.Formula) -> set[str]:
    """Those of them whose names a user has chosen."""
    return {node.variable for node in ast.walk(formula) if isinstance(node, ast.As | ast.Agg)}


def _bound_by(node: ast.Formula) -> tuple[str, ...]:
    match node:
        case ast.EventType(name) | ast.As(_, name) | ast.Agg(_, name, _):
            return (name,)
        case ast.AnyEvent():
            return ("ANY",)
    return ()


def forbidden_in(formula: ast.Formula) -> Iterator[ast.Formula]:
    """What each UNLESS of a formula forbids."""
    for node in ast.walk(formula):
        if isinstance(node, ast.Unless | ast.UnlessFor):
            yield node.right


def why_unknown(formula: ast.Formula, name: str) -> str:
    """Why a condition may not name a variable that some UNLESS of the formula has to do with; empty if none has."""
    for forbidden in forbidden_in(formula):
        conditions = [node.condition for node in ast.walk(forbidden) if isinstance(node, ast.Filter)]
        if name in bound_within(forbidden):
            return f"`{name}` stands in what UNLESS forbids, so no match holds it"
        if not is_one_event(forbidden) and any(name in names_in(condition) for condition in conditions):
            return "what UNLESS forbids may speak of the match if it is of one event: UNLESS (C FILTER C.id = A.id)"
    return ""


def asked_from_outside(formula: ast.Formula) -> list[tuple[str, str]]:
    """The attributes of variables from outside that a formula of one event asks for."""
    names, found = set(names_from_outside(formula)), list[tuple[str, str]]()
    for node in ast.walk(formula) if names else ():
        if isinstance(node, ast.Filter):
            found += [key for condition in ast.walk(node.condition) for key in attributes_in(condition)]
    return [key for key in dict.fromkeys(found) if key[0] in names]


def speaks_of_the_match(node: ast.Formula) -> bool:
    """Whether an UNLESS forbids what depends on the match."""
    return isinstance(node, ast.Unless | ast.UnlessFor) and bool(names_from_outside(node.right))


def independent_parts(node: ast.Formula) -> Sequence[ast.Formula]:
    """The parts of a formula that mean something by themselves: all but what speaks of the match around it."""
    return children(node)[:1] if speaks_of_the_match(node) else children(node)


# --- UNLESS … FOR -------------------------------------------------------------------------------------------------


def outside_of(formula: ast.Formula) -> Iterator[ast.Formula]:
    """The operators at the outside of a formula, from the outermost on, as far as UNLESS … FOR may stand there."""
    node = formula
    while isinstance(node, AROUND | ast.UnlessFor):
        yield node
        node = node.left if isinstance(node, ast.UnlessFor) else node.formula


def absences_of(formula: ast.Formula) -> list[ast.UnlessFor]:
    """What must not follow a match of the formula, from the inside."""
    return [node for node in outside_of(formula) if isinstance(node, ast.UnlessFor)][::-1]


def without_absences(formula: ast.Formula) -> ast.Formula:
    """The formula without FOR: it matches what may still be ruled out by what comes after.

    Of what speaks of the match it is already asked that it does not happen within.
    """
    around = list(outside_of(formula))
    if not around:
        return formula
    last = around[-1]
    made = last.left if isinstance(last, ast.UnlessFor) else last.formula  # type: ignore[attr-defined]
    for node in reversed(around):
        if not isinstance(node, ast.UnlessFor):
            made = replace(node, formula=made)  # type: ignore[call-arg]
        elif speaks_of_the_match(node):
            made = ast.Unless(made, node.right, span=node.span)
    return made


def longest_wait(formula: ast.Formula) -> int | None:
    """How long after its end a match may still be ruled out, in nanoseconds; None if it never is."""
    return max((length_of(node) for node in ast.walk(formula) if isinstance(node, ast.UnlessFor)), default=None)


def length_of(node: ast.UnlessFor) -> int:
    """The duration of UNLESS … FOR in nanoseconds."""
    return node.amount * ast.UNITS[node.unit]
