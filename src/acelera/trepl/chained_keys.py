"""Whether the rules of a module keep to one key, though it has no `partition by`.

A rule keeps to the attribute k if all that it looks for, absent events, too, has the k of the first event that it
finds: each goal says so itself, by `Y.k = X.k` with an event before it (goals of `&` may say it right after), and in a
star that comes first by `X.k = First(X.k)`. What a rule derives has that k, too. A rule that can be completed by `any`
or by an absence is completed by events of other keys, and `first` and `prior` look at all of them. Where `any` begins
the rounds of the star that comes first, runs of one key keep those of others from beginning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from acelera.language.ast import Binary, Expression
from acelera.language.types import NULL, Kind, Type, unify
from acelera.trepl import ast
from acelera.trepl.conjuncts import conjuncts
from acelera.trepl.resolved import Action, Aggregate, Derive, EventType, Field, Module, Program, Rule, Simple


class Chained(NamedTuple):
    """The attribute that all rules keep to, or why there is none."""

    key: str | None
    reason: str


class _Placed(NamedTuple):
    """An event goal: the stars around it, whether it must be found, and what is said of it, also right after it."""

    goal: Simple
    stars: int
    is_found: bool
    conditions: tuple[Expression, ...]


def chained_key(module: Module, program: Program) -> Chained:
    """The attribute that all rules of a module keep to: the first that fits, among those that all its events have."""
    candidates = _common(module, program)
    if not candidates:
        return Chained(None, "its events have no attribute in common")
    reasons = []
    for name in candidates:
        reason = next(filter(None, (_strays(rule, name, module) for rule in module.rules)), None)
        if reason is None:
            return Chained(name, "")
        reasons.append(reason)
    return Chained(None, reasons[0])


def tells_key(rule: Rule, action: Action, key: str) -> bool:
    """Whether the key of events is among the arguments of an action, so that it does the same for no other key."""
    goals = {each.goal.variable: each.goal for each in _placed(rule.goal)}
    fields = [each for each in action.arguments if isinstance(each, Field)]
    return any(_is_key(each, goals[each.variable], key) for each in fields)


def _common(module: Module, program: Program) -> list[str]:
    """The attributes that all events have, in values that can be told apart; those of the first one in its order."""
    found = [_attributes(event, program) for event in module.universe]
    found += module.derived.values()
    shared = [name for name in found[0] if all(name in each for each in found)]
    return [name for name in shared if _is_key_of([each[name] for each in found])]


def _is_key_of(types: Sequence[Type]) -> bool:
    """Whether one type holds the values of all, which can be told apart."""
    found: Type | None = NULL
    for each in types:
        found = None if found is None or each.kind is Kind.OPAQUE else unify(found, each)
    return found is not None


def _attributes(event: EventType, program: Program) -> Mapping[str, Type]:
    if event.module is None:
        return program.relations[event.name].attributes
    return next(each for each in program.modules if each.name == event.module).derived[event.name]


def _strays(rule: Rule, key: str, module: Module) -> str | None:
    """Why a rule does not keep to an attribute."""
    if any(isinstance(goal, ast.First | ast.Prior) for goal in ast.walk(rule.goal)):
        return f"{rule.name} has first or prior, which look at all events"
    if any(isinstance(goal, ast.Any | ast.Not) for goal in _last(rule.goal)):
        return f"{rule.name} can be completed by any or by an absence, which other events are as well"
    events = list(_placed(rule.goal))
    if events and _any_begins_rounds(rule.goal, events[0].goal):
        return f"{rule.name} has a star that begins with any, which extends runs of whatever {key}"
    tied: dict[str, Simple] = {}
    for number, each in enumerate(events):
        if not (_begins(each, key) if number == 0 else _is_tied(each, key, tied)):
            return f"{rule.name} looks for {_said(each.goal)} of whatever {key}"
        if each.goal.variable is not None:
            tied[each.goal.variable] = each.goal
    return _derives_others(rule, key, module, tied)


def _said(goal: Simple) -> str:
    name = goal.types[0].name
    return name if goal.variable is None else f"{name}({goal.variable})"


def _any_begins_rounds(goal: ast.Goal, event: Simple) -> bool:
    """Whether the rounds of a star in which an event stands can begin with `any`."""
    stars: list[ast.Goal] = [each for each in ast.walk(goal) if isinstance(each, ast.Star)]
    around = [star for star in stars if any(inner is event for inner in ast.walk(star))]
    return any(isinstance(first, ast.Any) for star in around for first in _at_end(star, 0))


def _last(goal: ast.Goal) -> Iterator[ast.Goal]:
    """The goals that can come last."""
    return _at_end(goal, -1)


def _at_end(goal: ast.Goal, end: int) -> Iterator[ast.Goal]:
    """The goals that can come first (0) or last (-1)."""
    todo = [goal]
    while todo:
        each = todo.pop()
        match each:
            case ast.Sequence(goals, _):
                todo.append([inner for inner in goals if not isinstance(inner, ast.Test)][end])
            case ast.Both() | ast.Either() | ast.Star():
                todo += ast.children(each)
            case _:
                yield each


def _placed(goal: ast.Goal) -> Iterator[_Placed]:
    """The event goals, in the order in which they are written."""
    todo: list[tuple[ast.Goal, int, bool, tuple[Expression, ...]]] = [(goal, 0, True, ())]
    while todo:
        each, stars, is_found, told = todo.pop()
        match each:
            case Simple():
                yield _Placed(each, stars, is_found, (*conjuncts(each.condition), *told))
            case ast.Sequence(goals, _):
                parts = [(inner, stars, is_found, _right_after(goals, at)) for at, inner in enumerate(goals)]
                todo += reversed(parts)
            case ast.Both():
                todo += [(inner, stars, is_found, told) for inner in reversed(ast.children(each))]
            case ast.Star():
                todo += [(inner, stars + 1, is_found, ()) for inner in ast.children(each)]
            case ast.Not() | ast.Either():
                todo += [(inner, stars, False, ()) for inner in reversed(ast.children(each))]


def _right_after(goals: tuple[ast.Goal, ...], at: int) -> tuple[Expression, ...]:
    """What a sequence says right after events of one stage."""
    if not isinstance(goals[at], ast.Both) or at + 1 == len(goals):
        return ()
    after = goals[at + 1]
    return conjuncts(after.condition) if isinstance(after, ast.Test) else ()


def _begins(event: _Placed, key: str) -> bool:
    """Whether the first event of a rule has one key: it is found, and in a star it is that of all rounds."""
    goal = event.goal
    if not event.is_found or goal.variable is None or event.stars > 1:
        return False
    return event.stars == 0 or any(_is_of_rounds(each, goal, key) for each in event.conditions)


def _is_of_rounds(condition: Expression, goal: Simple, key: str) -> bool:
    """`X.k = First(X.k)`, or the last."""
    for one, other in _equal(condition):
        if _is_key(one, goal, key) and isinstance(other, Aggregate) and other.function in ("first", "last"):
            return other.argument is not None and _is_key(other.argument, goal, key)
    return False


def _is_tied(event: _Placed, key: str, tied: Mapping[str, Simple]) -> bool:
    """Whether a goal has the key of one before it."""
    others = {name: goal for name, goal in tied.items() if name != event.goal.variable}
    return any(
        _is_key(one, event.goal, key) and _is_key(other, others[other.variable], key)
        for condition in event.conditions
        for one, other in _equal(condition)
        if isinstance(other, Field) and other.variable in others
    )


def _equal(condition: Expression) -> Iterator[tuple[Expression, Expression]]:
    """Both sides of an equality, either way."""
    if isinstance(condition, Binary) and condition.operator == "=":
        yield condition.left, condition.right
        yield condition.right, condition.left


def _is_key(term: Expression, goal: Simple, key: str) -> bool:
    """Whether a term is the key of the event of a goal: the new value, of a delete the old one."""
    if not isinstance(term, Field) or (term.variable, term.attribute) != (goal.variable, key):
        return False
    return all(term.side == ("old" if event.kind == "delete" else "new") for event in goal.types)


def _derives_others(rule: Rule, key: str, module: Module, tied: Mapping[str, Simple]) -> str | None:
    """Why what a rule derives may have another key."""
    for action in rule.actions:
        if isinstance(action, Derive):
            argument = action.arguments[list(module.derived[action.event]).index(key)]
            if not (isinstance(argument, Field) and _is_key(argument, tied[argument.variable], key)):
                return f"{rule.name} derives {action.event} with another {key} than that of its events"
    return None
