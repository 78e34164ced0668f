"""What the variables of an automaton hold, for one that was written by hand: the types of its made events."""

from __future__ import annotations

import math

from acelera.automata.labels import Mark
from acelera.automata.model import Acea
from acelera.automata.terms import Attr, Const, Earlier, Finish, Identity, Position, Reg, Sql, Step, Term
from acelera.errors import Problem, QueryCheckError, SchemaError, UsageError, did_you_mean
from acelera.language.aggregates import find_aggregate
from acelera.language.expressions import type_of
from acelera.language.schema import Schema
from acelera.language.types import BOOL, FLOAT, INT, NULL, STRING, UNKNOWN, Kind, Type, unify
from acelera.language.variables import EMPTY, Bounds, Origin, Variable

ANY_NUMBER = Bounds(0, math.inf)


def variables_of(automaton: Acea, schema: Schema | None) -> dict[str, Variable]:
    """For each variable the attributes of the events it can hold, with their types, if the schema is known."""
    if schema is None:
        unknown = Variable(ANY_NUMBER, complete=False, from_stream=True)
        return dict.fromkeys(automaton.variables, unknown)
    registers = register_types(automaton, schema)
    for number, t in enumerate(automaton.transitions, 1):
        for term in t.label.predicate:
            kind = term_type(term, schema, registers)
            if kind.kind is not Kind.BOOL and not kind.vague:
                raise UsageError(f"transition {number}: `when` must be true or false, but {term} is of type {kind}")
    found: dict[str, Variable] = {}
    for t in automaton.transitions:
        for name, bag in t.label.marks:
            for mark in bag:
                held = _held(mark, schema, registers)
                before = found.get(name, EMPTY)
                clash = before.clash(held)
                if clash is not None:
                    attribute, left, right = clash
                    raise SchemaError(
                        f"`{name}` would hold events whose `{attribute}` is {left} and others whose is {right}"
                    )
                found[name] = before.joined(held, ANY_NUMBER)
    return found


def _held(mark: Mark, schema: Schema, registers: dict[str, Type]) -> Variable:
    if mark.fields is None:
        return Variable(ANY_NUMBER, schema.columns, (Origin("the stream"),), from_stream=True)
    attributes = {name: term_type(term, schema, registers) for name, term in mark.fields}
    return Variable(ANY_NUMBER, attributes, (Origin("the automaton", made=True),))


def register_types(automaton: Acea, schema: Schema) -> dict[str, Type]:
    """The type of each register: what all its assignments have in common."""
    types = dict.fromkeys(automaton.registers, NULL)
    for _ in range(len(types) + 2):
        before = dict(types)
        for number, t in enumerate(automaton.transitions, 1):
            for name, term in t.label.assign:
                given = term_type(term, schema, before)
                both = unify(types[name], given)
                if both is None:
                    raise UsageError(
                        f"transition {number} assigns {given} to the register `{name}`, which is {types[name]}"
                    )
                types[name] = both
        if types == before:
            break
    return types


def term_type(term: Term, schema: Schema, registers: dict[str, Type]) -> Type:
    """The type of a term."""
    match term:
        case Const(constant):
            return {bool: BOOL, int: INT, float: FLOAT, str: STRING, type(None): NULL}.get(type(constant), UNKNOWN)
        case Attr(name) | Earlier(name):
            return attribute_type(name, schema)
        case Position():
            return INT
        case Reg(name):
            return registers.get(name, NULL)
        case Sql(expression, leaves):
            bound, problems = dict(leaves), list[Problem]()
            found = type_of(
                expression,
                lambda node: term_type(bound[(node.variable, node.name)], schema, registers),
                problems.append,
            )
            if problems:
                raise QueryCheckError(
                    [Problem(f"{term}: {problem.message}", None, problem.hint) for problem in problems]
                )
            return found
        case Step(function, _, _, given):
            return _aggregated(function, term_type(given, schema, registers))
        case Identity(function):
            return _aggregated(function, NULL)
        case Finish(_, state):
            return term_type(state, schema, registers)
    return UNKNOWN


def _aggregated(function: str, given: Type) -> Type:
    aggregate = find_aggregate(function)
    return UNKNOWN if aggregate is None else aggregate.result(given) or UNKNOWN


def attribute_type(name: str, schema: Schema) -> Type:
    """The type of an attribute of the events that are read."""
    if name in schema.columns:
        return schema.columns[name]
    if name == "position":
        return INT
    if name == "type":
        return STRING
    if name == "time" and schema.time is not None:
        return schema.time
    near = did_you_mean(name, schema.columns) or f"; a text is written '{name}'"
    raise SchemaError(f"there is no attribute or register `{name}`{near}")
