"""The rules of whole programs: for each module its history, its rules, and the aggregates that they compute."""

from __future__ import annotations

from collections.abc import Iterator

from acelera.language.ast import Expression, Literal
from acelera.trepl import ast
from acelera.trepl.datalog.clauses import NOW, atom, clause
from acelera.trepl.datalog.satisfaction_rules import Satisfaction
from acelera.trepl.resolved import (
    Action,
    CallFunction,
    Derive,
    EventType,
    Module,
    Program,
    Simple,
    Sql,
    Write,
)

_KINDS = {"insert": "ins", "update": "upd", "delete": "del"}


def datalog(program: Program) -> str:
    """The Datalog_1S rules of a program, a block for each module."""
    fed = {each for module in program.modules for each in module.universe if each.kind == "derived"}
    return "\n\n".join("\n".join(_module(module, fed)) for module in program.modules) + "\n"


def _module(module: Module, fed: set[EventType]) -> Iterator[str]:
    yield f"% module {module.name}"
    if module.partition:
        yield f"% each {', '.join(module.partition)} has a history of its own"
    yield from _history(module)
    functions: dict[str, None] = {}
    for rule in module.rules:
        yield ""
        yield f"% {rule.name}"
        satisfaction = Satisfaction(rule, _predicate)
        yield from satisfaction.rules()
        yield from (satisfaction.fires(*_head(action)) for action in rule.actions)
        functions |= dict.fromkeys(satisfaction.functions)
    for event in sorted(each.name for each in fed if each.module == module.name):
        yield ""
        yield clause(f"log_{module.name}_{event}(X, T)", [f"{event}(X, {NOW})", f"hist_{module.name}(_, T, {NOW})"])
    if functions:
        yield ""
        yield from (line for function in functions for line in _definition(function))


# --- histories --------------------------------------------------------------------------------------------------------


def _history(module: Module) -> Iterator[str]:
    """The history of a module, and what happens in it: tables `log_…` have all events with their times."""
    history = f"hist_{module.name}"
    yield clause(atom("any", (), NOW), [f"{history}(_, _, {NOW})"])
    used = _used(module)
    for event in dict.fromkeys((*module.universe, *(each for types in used for each in types))):
        if event.kind != "derived" or event.module != module.name:
            name = _predicate((event,))
            log = f"log_{event.module}_{name}" if event.kind == "derived" else f"log_{name}"
            yield clause(f"{name}(X, {NOW})", [f"{history}({name}, T, {NOW})", f"{log}(X, T)"])
    for types in (each for each in used if len(each) > 1):
        yield from (clause(f"{_predicate(types)}(X, {NOW})", [f"{_predicate((each,))}(X, {NOW})"]) for each in types)


def _used(module: Module) -> list[tuple[EventType, ...]]:
    goals = (each for rule in module.rules for each in ast.walk(rule.goal) if isinstance(each, Simple))
    return list(dict.fromkeys(each.types for each in goals))


def _predicate(types: tuple[EventType, ...]) -> str:
    """`upd_owns`; the name of the relation for several kinds of changes, and that of a derived event."""
    event = types[0]
    return f"{_KINDS[event.kind]}_{event.name}" if event.kind != "derived" and len(types) == 1 else event.name


# --- actions and aggregates -------------------------------------------------------------------------------------------


def _head(action: Action) -> tuple[str, tuple[Expression, ...]]:
    """The predicate of an action, and its arguments."""
    match action:
        case Derive(event, arguments):
            return event, arguments
        case Write(form, arguments):
            return "write", arguments if form is None else (Literal(form), *arguments)
        case Sql(command, arguments):
            return "sql", (Literal(command), *arguments)
        case CallFunction(function, arguments):
            return function, arguments


_DEFINITIONS = {
    "max": ["max(A, B, B) <- A <= B.", "max(A, B, A) <- A > B."],
    "min": ["min(A, B, A) <- A <= B.", "min(A, B, B) <- A > B."],
    "sum": ["sum(A, B, C) <- C = A + B."],
    "product": ["product(A, B, C) <- C = A * B."],
}
_NULLS = ["{0}(NULL, B, B).", "{0}(A, NULL, A)."]


def _definition(function: str) -> list[str]:
    """How the new value C of an aggregate is computed from an event's value A and the old value B."""
    if function == "count":
        return ["count(A, B, C) <- A IS NOT NULL, C = B + 1.", "count(NULL, B, B)."]
    if function == "first":
        return ["first(A, none, A).", "first(A, B, B) <- B <> none."]
    if function in _DEFINITIONS:
        return [*_DEFINITIONS[function], *(each.format(function) for each in _NULLS)]
    return [f"{function}(A, B, C) <- C = {function}_and(B, A)."]
