"""What an event or a condition turns out to be: while it is read, `f(X, …)` and `(…)` may become either."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from acelera.errors import Span, did_you_mean
from acelera.language.ast import Attribute, Between, Binary, Call, Expression, In, IsNull, Like, Unary
from acelera.language.conditions import Name, fail
from acelera.trepl import ast
from acelera.trepl.conjuncts import joined

KIND_WORDS = {
    **dict.fromkeys(("insert", "ins"), "insert"),
    **dict.fromkeys(("update", "upd"), "update"),
    **dict.fromkeys(("delete", "del"), "delete"),
}
"""How kinds of events are spelt, and the kind of `ast.KINDS` that is meant."""

WORDS_OF_EVENTS = frozenset((*KIND_WORDS, "any", "first", "prior"))
"""Words that are no names where an event stands, unless they are in backticks."""

_CONDITIONS = (IsNull, In, Between, Like)
_CONNECTIVES = ("AND", "OR", "=", "<>", "<", "<=", ">", ">=")


class Read(ast.Node):
    """What was read and may be an event or an expression."""

    family: ClassVar[type[ast.Node]]


Read.family = Read


@dataclass(frozen=True, eq=False, repr=False)
class Plain(Read):
    """A name alone: an event, or the variable of an event or of Count(X)."""

    name: Name


@dataclass(frozen=True, eq=False, repr=False)
class Dotted(Read):
    """`X.A`, or an event of another module."""

    left: Name
    right: Name


@dataclass(frozen=True, eq=False, repr=False)
class Called(Read):
    """`name(…)`: an event, an aggregate or a function; `module.name(…)` can only be an event."""

    module: Name | None
    name: Name
    inner: tuple[Read, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Grouped(Read):
    """`(…)`: a sequence, or brackets around an expression."""

    inner: tuple[Read, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Known(Read):
    """What can only be an event, or only an expression."""

    node: ast.Goal | Expression


# --- as values --------------------------------------------------------------------------------------------------------


def value(read: Read) -> Expression:
    """What was read, where only an expression can stand."""
    return ast.fold(read, _value)


def _value(read: Read, made: Sequence[Expression]) -> Expression:
    match read:
        case Plain(name):
            return Attribute(None, str(name), span=read.span)
        case Dotted(variable, attribute):
            return Attribute(str(variable), str(attribute), span=read.span)
        case Called(None, function, _):
            return Call(function.lower(), tuple(made), span=read.span)
        case Grouped() if len(made) == 1 or all(is_condition(each) for each in made):
            return joined(made)
        case Known(Expression() as expression):
            return expression
    return fail("an event cannot stand here, where a value is expected", read.span)


def is_condition(expression: Expression) -> bool:
    """Whether it is one by its outermost operator."""
    match expression:
        case Binary(operator, _, _) | Unary(operator, _):
            return operator in _CONNECTIVES or operator == "NOT"
    return isinstance(expression, _CONDITIONS)


# --- as goals ---------------------------------------------------------------------------------------------------------


def goal(read: Read) -> ast.Goal:
    """What was read, as an event or a condition between events."""
    return ast.fold(read, _goal, _goals_below)


def event(read: Read, place: str) -> ast.Goal:
    """What was read, where only an event can stand."""
    return _no_test(goal(read), place)


def sequence(goals: Sequence[ast.Goal], relaxed: bool, span: Span | None) -> ast.Goal:
    """Goals in brackets: brackets around one leave no node, and conditions alone are one condition."""
    if len(goals) == 1:
        return goals[0]
    tests = [each.condition for each in goals if isinstance(each, ast.Test)]
    if len(tests) == len(goals):
        return ast.Test(joined(tests), span=span)
    return ast.Sequence(tuple(goals), relaxed, span=span)


def _goals_below(read: Read) -> Sequence[Read]:
    match read:
        case Called(None, name, inner) if _word(name) in ("first", "prior"):
            return inner
        case Grouped(inner):
            return inner
    return ()


def _goal(read: Read, made: Sequence[ast.Goal]) -> ast.Goal:
    match read:
        case Plain(name):
            return _plain(name)
        case Dotted(module, name):
            return ast.Named(None, str(module), str(name), span=read.span)
        case Called(None, name, _) if _word(name) == "first":
            return _first(made, read.span)
        case Called(None, name, _) if _word(name) == "prior":
            return _prior(made, read.span)
        case Called():
            return _named(read)
        case Grouped():
            return sequence(made, False, read.span)
        case Known(node) if isinstance(node, ast.Goal):
            return node
        case Known(Expression() as node) if is_condition(node):
            return ast.Test(node, span=node.span)
    return fail(
        "this is neither an event nor a condition", read.span, "a condition compares: X.a > 1; an event is a(X, …)"
    )


def _word(name: Name) -> str | None:
    """The word of the language that a name is."""
    word = name.lower()
    return word if word in WORDS_OF_EVENTS and not name.quoted else None


def _plain(name: Name) -> ast.Goal:
    word = _word(name)
    if word == "any":
        return ast.Any(span=name.span)
    if word is not None:
        fail(f"`{name}` is a word of the language", name.span, "write what it is of, or the name in backticks")
    return ast.Named(None, None, str(name), span=name.span)


def _first(made: Sequence[ast.Goal], span: Span | None) -> ast.Goal:
    if len(made) != 1:
        fail(f"first takes one event, not {len(made)}", span, "a sequence has brackets of its own: first((a, b))")
    return ast.First(_no_test(made[0], "in first(…)"), span=span)


def _prior(made: Sequence[ast.Goal], span: Span | None) -> ast.Goal:
    if len(made) != 2:
        fail(f"prior takes two events, not {len(made)}", span, "write prior(a, b): a is completed before b is")
    earlier, later = (_no_test(each, "in prior(…)") for each in made)
    return ast.Prior(earlier, later, span=span)


def _no_test(made: ast.Goal, place: str) -> ast.Goal:
    if isinstance(made, ast.Test):
        after = " A condition is negated by NOT." if place == "after !" else ""
        hint = f"conditions stand in the brackets of an event, a(X, X.b > 1), or after it in a sequence.{after}"
        fail(f"a condition cannot stand {place}, where an event is expected", made.span, hint)
    return made


def _named(read: Called) -> ast.Named:
    """`update(owns(X), c, …)` or `st(X, c, …)`."""
    word = _word(read.name) if read.module is None else None
    if word == "any":
        fail("any has no variable and no conditions", read.span, "it stands alone, for an event of any kind")
    first, *rest = read.inner
    condition = joined(value(each) for each in rest) if rest else None
    if word is None:
        module = None if read.module is None else str(read.module)
        variable = _variable(first, read.name)
        return ast.Named(None, module, str(read.name), variable, condition, span=read.span)
    name, bound = _relation(first, read.name)
    return ast.Named(KIND_WORDS[word], None, name, bound, condition, span=read.span)


def _variable(read: Read, of: Name) -> str:
    if isinstance(read, Plain):
        return str(read.name)
    near = did_you_mean(of, WORDS_OF_EVENTS) if isinstance(read, Called) else ""
    return fail(
        f"an event has a variable first, then conditions{near}",
        read.span,
        f"write {of}(X, …), or update({of}(X), …) for a kind of changes",
    )


def _relation(read: Read, kind: Name) -> tuple[str, str | None]:
    match read:
        case Plain(name):
            return str(name), None
        case Called(None, name, (Plain(variable),)):
            return str(name), str(variable)
        case Called(None, name, (Plain(variable), _, *_)):
            fail("conditions follow the relation", read.span, f"write {kind}({name}({variable}), …)")
    return fail(f"{kind}(…) is of a relation", read.span, f"write {kind}(owns(X), …) or {kind}(owns)")
