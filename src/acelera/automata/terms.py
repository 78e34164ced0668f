"""Terms: what assignments, predicates and marks of an automaton compute from the event and the registers.

The paper's expressions are constants, attributes and ⊕; here ⊕ is a step of an aggregate, and there are the few
further operations that the conditions of the language need. A register that was never written holds UNSET.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import product
from typing import Any

from acelera.language import ast
from acelera.language.aggregates import Failure, canonical, find_aggregate
from acelera.language.conditions import replace_attributes
from acelera.language.evaluation import compare, evaluate
from acelera.language.events import Event, Value, seen
from acelera.language.printer import name as quoted
from acelera.language.printer import print_expression


def failure(values: Iterable[Value]) -> Failure | None:
    """The first of the values that is a failure."""
    return next((value for value in values if isinstance(value, Failure)), None)


class Unset:
    """The value of a register before it is written."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # there is one of it, wherever a term is sent to


UNSET = Unset()


@dataclass(frozen=True)
class Environment:
    """What a term is computed from: the event in hand and the one right before it in the stream, the registers, and the
    newest start of each guard's matches.
    """

    event: Event
    registers: Mapping[str, Value] = field(default_factory=dict)
    latest: tuple[int, ...] = ()
    fresh: Mapping[str, Value] = field(default_factory=dict)
    earlier: Event | None = None


@dataclass(frozen=True)
class Term(ABC):
    """Something that has a value in an environment."""

    @abstractmethod
    def value(self, env: Environment) -> Value:
        """The value."""

    def parts(self) -> tuple[Term, ...]:
        """The terms it is made of: those that its fields hold, alone or in tuples."""
        held = [getattr(self, each.name) for each in fields(self)]
        listed = [one if isinstance(one, tuple) else (one,) for one in held]
        return tuple(part for several in listed for part in several if isinstance(part, Term))

    def rebuilt(self, parts: tuple[Term, ...]) -> Term:
        """The same term of other parts."""
        rest = iter(parts)

        def other(held: object) -> object:
            if isinstance(held, tuple):
                return tuple(other(part) for part in held)
            return next(rest) if isinstance(held, Term) else held

        return replace(self, **{each.name: other(getattr(self, each.name)) for each in fields(self)})


@dataclass(frozen=True)
class Const(Term):
    """A constant."""

    constant: Value

    def value(self, env: Environment) -> Value:
        """The constant."""
        return canonical(self.constant)

    def __str__(self) -> str:
        literal = self.constant is None or isinstance(self.constant, bool | int | float | str)
        return print_expression(ast.Literal(self.constant)) if literal else repr(self.constant)


@dataclass(frozen=True)
class Attr(Term):
    """An attribute of the event, or its `type` or `time`."""

    name: str

    def value(self, env: Environment) -> Value:
        """The attribute's value."""
        return env.event.raw(self.name)

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Earlier(Term):
    """An attribute of the event right before in the stream. It is asked for only where a run has read that one."""

    name: str

    def value(self, env: Environment) -> Value:
        """The attribute's value."""
        assert env.earlier is not None, "a run that asks for it has read the event before"
        return env.earlier.raw(self.name)

    def __str__(self) -> str:
        return f"prev({quoted(self.name)})"


@dataclass(frozen=True)
class Position(Term):
    """The position of the event."""

    def value(self, env: Environment) -> Value:
        """The position."""
        return env.event.position

    def __str__(self) -> str:
        return "position"


@dataclass(frozen=True)
class Latest(Term):
    """Where the newest match of a guard starts, of those that have ended by now; 0 if there is none.

    This is all that UNLESS needs: φ from s to e has a ψ inside if and only if the newest start of a ψ that ended by
    e is at s or later.
    """

    guard: int

    def value(self, env: Environment) -> Value:
        """The position of that start."""
        return env.latest[self.guard]

    def __str__(self) -> str:
        return f"latest start of guard {self.guard + 1}"


@dataclass(frozen=True)
class Reg(Term):
    """A register."""

    name: str

    def value(self, env: Environment) -> Value:
        """What it holds."""
        return env.registers.get(self.name, UNSET)

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Fresh(Term):
    """A register as the assignment in progress has just set it: terms of an assignment may use those before them."""

    name: str

    def value(self, env: Environment) -> Value:
        """What it was set to."""
        return env.fresh[self.name]

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True)
class Sql(Term):
    """An SQL expression, each attribute of which stands for a term."""

    expression: ast.Expression
    leaves: tuple[tuple[tuple[str | None, str], Term], ...]

    def value(self, env: Environment) -> Value:
        """The value of the expression; a failure if one of its parts is one."""
        bound = {key: term.value(env) for key, term in self.leaves}
        failed = failure(bound.values())
        return failed or canonical(evaluate(self.expression, lambda node: bound[(node.variable, node.name)]))

    def parts(self) -> tuple[Term, ...]:
        """The terms that attributes stand for."""
        return tuple(term for _, term in self.leaves)

    def rebuilt(self, parts: tuple[Term, ...]) -> Term:
        """The same expression over other terms."""
        return Sql(self.expression, tuple((key, part) for (key, _), part in zip(self.leaves, parts, strict=True)))

    def __str__(self) -> str:
        bound = dict(self.leaves)

        def shown(node: ast.Attribute) -> ast.Expression:
            term = bound[(node.variable, node.name)]
            if isinstance(term, Earlier):
                return ast.Prev(ast.Attribute(None, term.name))
            return ast.Attribute(None, term.name if isinstance(term, Attr | Reg | Fresh) else str(term))

        return print_expression(replace_attributes(self.expression, shown))


@dataclass(frozen=True)
class Identical(Term):
    """Whether two values are the same, NULL being the same as NULL: how complex events are compared."""

    left: Term
    right: Term

    def value(self, env: Environment) -> Value:
        """TRUE or FALSE."""
        left, right = self.left.value(env), self.right.value(env)
        return left is right or bool(left == right)

    def __str__(self) -> str:
        return f"{self.left} is {self.right}"


@dataclass(frozen=True)
class Later(Term):
    """Whether a position comes after another."""

    left: Term
    right: Term

    def value(self, env: Environment) -> Value:
        """TRUE or FALSE."""
        return bool(self.left.value(env) > self.right.value(env))

    def __str__(self) -> str:
        return f"{self.left} > {self.right}"


# --- aggregates ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Identity(Term):
    """The neutral element of an aggregate: its state before any value."""

    function: str

    def value(self, env: Environment) -> Value:
        """The state."""
        return _aggregate(self.function).identity

    def __str__(self) -> str:
        return f"{self.function}()"


@dataclass(frozen=True)
class Step(Term):
    """state ⊕ value: one more value is aggregated."""

    function: str
    ignore_nulls: bool
    state: Term
    given: Term

    def value(self, env: Environment) -> Value:
        """The state after the value."""
        state, given = self.state.value(env), self.given.value(env)
        return _aggregate(self.function).step(state, env.event.position, given, self.ignore_nulls)

    def __str__(self) -> str:
        return f"{self.function}({self.state}, {self.given})"


@dataclass(frozen=True)
class Finish(Term):
    """The value of an aggregate, from its state."""

    function: str
    state: Term

    def value(self, env: Environment) -> Value:
        """The aggregate's value."""
        return _aggregate(self.function).value(self.state.value(env))

    def __str__(self) -> str:
        return str(self.state)


def _aggregate(name: str) -> Any:
    function = find_aggregate(name)
    assert function is not None, f"the aggregate function {name} was there when the automaton was built"
    return function


def holds(term: Term, env: Environment) -> bool:
    """Whether a predicate is TRUE; to ask an aggregate that failed is an error."""
    return seen(term.value(env)) is True


# --- what conditions over several events need ---------------------------------------------------------------------

_SUMMARIES: dict[str, Callable[[Value, Value], bool]] = {
    "max": lambda left, right: compare(">=", left, right) is True,
    "min": lambda left, right: compare("<=", left, right) is True,
    "common": lambda left, right: compare("=", left, right) is True,
}


@dataclass(frozen=True)
class Summary(Term):
    """The largest, smallest or common value of a state and of new values; NULL if a value is NULL, or none is common.

    NULL stays NULL, so that every comparison with it fails from then on.
    """

    kind: str
    state: Term
    given: tuple[Term, ...]

    def value(self, env: Environment) -> Value:
        """The summary."""
        state = self.state.value(env)
        keeps = _SUMMARIES[self.kind]
        for term in self.given:
            new = term.value(env)
            failed = failure((state, new))
            if failed:
                return failed
            if state is None or compare("=", new, new) is not True:
                return None
            if state is UNSET or keeps(new, state):
                state = new
            elif self.kind == "common":
                return None
        return state

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(str(part) for part in self.parts())})"


@dataclass(frozen=True)
class Compared(Term):
    """Whether two summaries compare so; TRUE as long as one of them is UNSET."""

    operator: str
    left: Term
    right: Term

    def value(self, env: Environment) -> Value:
        """TRUE, or not."""
        left, right = self.left.value(env), self.right.value(env)
        if left is UNSET or right is UNSET:
            return True
        return failure((left, right)) or compare(self.operator, left, right)

    def __str__(self) -> str:
        return f"{self.left} {self.operator} {self.right} if set"


@dataclass(frozen=True)
class IfSet(Term):
    """Whether a predicate holds; TRUE as long as one of its registers is UNSET."""

    predicate: Sql

    def value(self, env: Environment) -> Value:
        """TRUE, or not."""
        if any(term.value(env) is UNSET for term in self.predicate.parts()):
            return True
        return self.predicate.value(env)

    def __str__(self) -> str:
        return f"{self.predicate} if set"


@dataclass(frozen=True)
class Known(Term):
    """Whether a summary is not NULL: no value was NULL, and all were equal if they had to be."""

    state: Term

    def value(self, env: Environment) -> Value:
        """TRUE or FALSE."""
        state = self.state.value(env)
        return failure((state,)) or state is not None

    def __str__(self) -> str:
        return f"{self.state} is one value"


@dataclass(frozen=True)
class Collected(Term):
    """A set of tuples with new ones added: what a variable's events have in the attributes that a condition speaks
    of.
    """

    state: Term
    width: int
    given: tuple[Term, ...]  # width terms for each new tuple

    def value(self, env: Environment) -> Value:
        """The set."""
        state = self.state.value(env)
        values = [term.value(env) for term in self.given]
        new = {tuple(values[i : i + self.width]) for i in range(0, len(values), self.width)}
        return (frozenset() if state is UNSET else state) | new

    def __str__(self) -> str:
        return f"{self.state} + {{{', '.join(str(term) for term in self.given)}}}"


@dataclass(frozen=True)
class ForAll(Term):
    """Whether a predicate holds for all combinations of tuples from several sets."""

    predicate: ast.Expression
    attributes: tuple[tuple[tuple[str | None, str], ...], ...]  # for each set, what its tuples hold
    sets: tuple[Term, ...]

    def value(self, env: Environment) -> Value:
        """TRUE or FALSE."""
        held = [term.value(env) for term in self.sets]
        if any(each is UNSET for each in held):
            return True
        for combination in product(*held):
            failed = failure(value for values in combination for value in values)
            if failed:
                return failed
            if not self._holds_for(combination):
                return False
        return True

    def _holds_for(self, combination: tuple[tuple[Value, ...], ...]) -> bool:
        bound: dict[tuple[str | None, str], Value] = {}
        for keys, values in zip(self.attributes, combination, strict=True):
            bound.update(zip(keys, values, strict=True))
        return evaluate(self.predicate, lambda node: bound[(node.variable, node.name)]) is True

    def __str__(self) -> str:
        return f"all {print_expression(self.predicate)}"


# --- walking terms ------------------------------------------------------------------------------------------------


def subterms(term: Term) -> Iterator[Term]:
    """The term and all below it."""
    todo = [term]
    while todo:
        found = todo.pop()
        yield found
        todo.extend(found.parts())


def registers_read(term: Term) -> frozenset[str]:
    """The registers that a term reads."""
    return frozenset(found.name for found in subterms(term) if isinstance(found, Reg))


def fresh_read(term: Term) -> frozenset[str]:
    """The registers that a term reads as they have just been set."""
    return frozenset(found.name for found in subterms(term) if isinstance(found, Fresh))


def substitute(term: Term, change: Callable[[Term], Term | None]) -> Term:
    """The term with parts replaced by what `change` makes of them; None leaves a part as it is."""
    changed = change(term)
    if changed is not None:
        return changed
    parts = term.parts()
    return term.rebuilt(tuple(substitute(part, change) for part in parts)) if parts else term
