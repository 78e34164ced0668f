"""What the terms of a plan read, and in which order and unit they can be computed."""

from __future__ import annotations

from collections.abc import Sequence

from acelera.automata.terms import Attr, Fresh, Later, Latest, Reg, Step, Term, subterms
from acelera.engine.frames import attribute_type
from acelera.engine.plan import Plan
from acelera.engine.registers.code import NO_INSTRUCTION, TIMES, UNITS
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema


def chain(term: Term) -> Sequence[Term]:
    """A chain of aggregation steps, from the last to what it begins with."""
    found = [term]
    while isinstance(found[-1], Step):
        found.append(found[-1].state)
    return found


def in_order_of_need(assigned: dict[str, list[Term]]) -> list[str]:
    """The registers, each after those that its assignments read."""
    order: dict[str, None] = {}
    names = list(assigned)
    for _ in names:
        for name in names:
            read = {part.name for term in assigned[name] for part in reads(term)} - {name}
            if name not in order and read <= set(order):
                order[name] = None
    if len(order) < len(names):
        raise UnsupportedError(NO_INSTRUCTION)
    return list(order)


def reads(term: Term) -> list[Reg | Fresh]:
    """The registers that a term reads."""
    return [part for part in subterms(term) if isinstance(part, Reg | Fresh)]


def starts(plan: Plan) -> set[str]:
    """The registers that hold where something starts, only to be compared with where a guard's match starts."""
    found = {
        term.left.name
        for edge in plan.edges
        for term in edge.conditions
        if isinstance(term, Later) and isinstance(term.left, Reg) and isinstance(term.right, Latest)
    }
    for edge in plan.edges:
        for term in (*edge.conditions, *(term for _, term in edge.assign)):
            if not isinstance(term, Later) and not isinstance(term, Reg):
                found -= {part.name for part in reads(term)}
    return found


def finest_unit(plan: Plan, schema: Schema) -> str:
    """One unit for all times that the plan remembers or compares, so that they can be compared as integers."""
    terms = [term for edge in plan.edges for _, term in edge.assign]
    terms += [term for edge in plan.edges for term in edge.conditions]
    terms += [term for edge in plan.edges for _, bag in edge.action.marks for mark in bag for term in mark.terms()]
    names = {part.name for term in terms for part in subterms(term) if isinstance(part, Attr)}
    kinds = [attribute_type(name, schema) for name in names]
    return min((kind.arrow.unit for kind in kinds if kind.kind in TIMES), key=lambda unit: UNITS[unit], default="us")
