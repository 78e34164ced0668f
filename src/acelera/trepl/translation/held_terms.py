"""Terms in registers: what conditions look at, as inputs of the event at hand, held values and totals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acelera.engine.registers.sql_instructions import push_expression
from acelera.engine.registers.writer import Pushed, Writer
from acelera.language import ast
from acelera.language.ast import Expression
from acelera.language.expressions import FUNCTIONS
from acelera.language.lowering import UnsupportedError
from acelera.language.tree import children, fold, rebuilt, walk
from acelera.language.types import INT, Kind, Type
from acelera.stages.model import Condition, Held, Register, Total
from acelera.trepl.conjuncts import conjuncts, joined
from acelera.trepl.resolved import Aggregate, Field, Part, Stamp
from acelera.trepl.translation.detectors import Term, terms_of, with_terms
from acelera.trepl.translation.typing import HOLDS, aggregate_type

ORDERED = ("first", "last")

_KERNEL_KINDS = frozenset(Kind) - {Kind.DECIMAL, Kind.OPAQUE, Kind.UNKNOWN}


@dataclass
class Needs:
    """The registers of a detector: for each variable what its event puts into which."""

    current: dict[tuple[str, Expression], int] = field(default_factory=dict)
    before: dict[tuple[str, Expression], int] = field(default_factory=dict)
    first: dict[tuple[str, Expression], int] = field(default_factory=dict)
    first_before: dict[tuple[str, Expression], int] = field(default_factory=dict)
    totals: dict[tuple[str, str, Expression | None], int] = field(default_factory=dict)
    flags: dict[int, int] = field(default_factory=dict)


class Terms:
    """What the conditions and heads of one detector look at. `slots` gives what is read of an event of a variable."""

    def __init__(
        self,
        owner: int,
        registers: list[Register],
        star_of: dict[str, int],
        typed: Callable[[Expression], Type],
        slot: Callable[[str, Expression], Expression],
        prepared: Callable[[str], bool],
    ) -> None:
        self.needs = Needs()
        self._owner, self._registers, self._star_of = owner, registers, star_of
        self._typed, self._slot, self._prepared = typed, slot, prepared

    # --- registers --------------------------------------------------------------------------------------------

    def _register(self, name: str, kind: Type, aggregate: str | None = None, given: Type | None = None) -> int:
        self._registers.append(Register(name, kind, self._owner, aggregate, given))
        return len(self._registers) - 1

    def current(self, variable: str, term: Expression) -> int:
        """Where a term of the event that a variable is bound to is held."""
        key = (variable, term)
        if key not in self.needs.current:
            self.needs.current[key] = self._register(_said(variable, term), self._typed(term))
        return self.needs.current[key]

    def _before(self, variable: str, term: Expression) -> int:
        """The same of the round before."""
        key = (variable, term)
        self.current(variable, term)
        if key not in self.needs.before:
            self.needs.before[key] = self._register(f"{_said(variable, term)} before", self._typed(term))
        return self.needs.before[key]

    def _first(self, variable: str, term: Expression) -> int:
        key = (variable, term)
        if key not in self.needs.first:
            self.needs.first[key] = self._register(f"first {_said(variable, term)}", self._typed(term))
        return self.needs.first[key]

    def _first_before(self, variable: str, term: Expression) -> int:
        """The first as it was before the current round."""
        key = (variable, term)
        self._first(variable, term)
        if key not in self.needs.first_before:
            self.needs.first_before[key] = self._register(f"first {variable} before", self._typed(term))
        return self.needs.first_before[key]

    def _total(self, term: Aggregate) -> int:
        key = (term.function, term.variable, term.argument)
        if key not in self.needs.totals:
            given = INT if term.argument is None else self._typed(term.argument)
            kind = aggregate_type(term.function, given)
            self.needs.totals[key] = self._register(f"{term.function} of {term.variable}", kind, term.function, given)
        return self.needs.totals[key]

    def flag(self, star: int) -> int:
        """A register that holds something after the first round of a star."""
        if star not in self.needs.flags:
            self.needs.flags[star] = self._register(f"round of star {star}", INT)
        return self.needs.flags[star]

    # --- expressions ------------------------------------------------------------------------------------------

    def compared(self, term: Term, stars: Sequence[int]) -> Expression:
        """A term as guards compare it in some stars: there, the current round is not the first of anything."""
        if isinstance(term, Aggregate) and term.function == "first" and self._star_of[term.variable] in stars:
            assert term.argument is not None
            return Held(self._first_before(term.variable, term.argument))
        return self._term(term, None, stars)

    def conditions(
        self, condition: Expression | None, own: str | None, stars: Sequence[int]
    ) -> list[tuple[Condition, bool]]:
        """The conjuncts of a condition, and whether each looks at totals of the event at hand.

        Those that look at the event at hand alone are one, computed when the event comes.
        """
        parts = conjuncts(condition)
        alone = [each for each in parts if own is not None and self._is_alone(each, own)]
        found: list[tuple[Condition, bool]] = []
        if own is not None and alone:
            found.append((Condition(self._slot(own, ast.Call(HOLDS, (joined(alone),)))), False))
        for each in parts:
            if each in alone:
                continue
            unless = {
                self._star_of[term.variable]
                for term in terms_of(each)
                if isinstance(term, Aggregate)
                and term.function in ORDERED
                and self._star_of.get(term.variable) in stars
            }
            totals = any(isinstance(term, Aggregate) and term.variable == own for term in terms_of(each))
            made = self.expression(each, own, stars)
            found.append((Condition(made, tuple(self.flag(star) for star in sorted(unless))), totals))
        return found

    def _is_alone(self, condition: Expression, own: str) -> bool:
        """Whether a condition looks at nothing but the event at hand, whose columns are there before."""
        terms = list(terms_of(condition))
        alone = all(term.variable == own and not isinstance(term, Aggregate) for term in terms)
        return bool(terms) and alone and self._prepared(own)

    def expression(self, expression: Expression, own: str | None, stars: Sequence[int]) -> Expression:
        """An expression over inputs, held values and totals, at a goal that binds `own` in some stars."""
        variables = {term.variable for term in terms_of(expression)}
        if len(variables) == 1 and not isinstance(expression, Term):
            made = self._of_one(expression, variables.pop(), own, stars)
            if made is not None:
                return made
        if isinstance(expression, Term):
            return self._term(expression, own, stars)
        inner = [self.expression(each, own, stars) for each in children(expression)]
        return rebuilt(expression, inner)

    def _of_one(
        self, expression: Expression, variable: str, own: str | None, stars: Sequence[int]
    ) -> Expression | None:
        """An expression over one event, computed when the event comes, if that is quicker or the only way.

        What is computed of the first or the last of something is the first or the last of what is computed.
        """
        terms = list(dict.fromkeys(terms_of(expression)))
        kinds = {term.function if isinstance(term, Aggregate) else None for term in terms}
        if kinds == {None} and self._prepared(variable) and not self.has_instructions(expression):
            return self._slot(variable, expression) if own == variable else Held(self.current(variable, expression))
        if len(kinds) == 1 and kinds <= set(ORDERED) and not self.has_instructions(expression):
            arguments: dict[Term, Expression] = {
                term: term.argument for term in terms if isinstance(term, Aggregate) and term.argument
            }
            whole = with_terms(expression, arguments)
            (function,) = kinds
            assert function is not None
            return self._term(Aggregate(function, variable, whole), own, stars)
        return None

    def _term(self, term: Term, own: str | None, stars: Sequence[int]) -> Expression:
        if not isinstance(term, Aggregate):
            return self._slot(own, term) if term.variable == own else Held(self.current(term.variable, term))
        if term.function not in ORDERED:
            return Total(self._total(term))
        assert term.argument is not None
        if term.function == "first":
            return Held(self._first(term.variable, term.argument))
        inside = self._star_of[term.variable] in stars
        held = self._before if inside else self.current
        return Held(held(term.variable, term.argument))

    def has_instructions(self, expression: Expression) -> bool:
        """Whether the register machine can compute an expression from its terms."""

        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            return ast.Attribute(None, str(id(node))) if isinstance(node, Term) else rebuilt(node, inner)

        kinds = {str(id(term)): self._typed(term).kind for term in terms_of(expression)}
        made = fold(expression, combine, lambda node: () if isinstance(node, Term) else children(node))
        if not set(kinds.values()) <= _KERNEL_KINDS or any(
            isinstance(node, ast.Call) and node.function not in FUNCTIONS for node in walk(made)
        ):
            return False
        try:
            push_expression(made, Writer("ns"), lambda node: Pushed(kinds[node.name]))
        except UnsupportedError:
            return False
        return True


def _said(variable: str, term: Expression) -> str:
    """What a register holds, for people."""
    match term:
        case Field(_, side, attribute):
            return f"{variable}.{'old_' if side == 'old' else ''}{attribute}"
        case Stamp():
            return f"{variable}.Timestamp"
        case Part(_, part, None):
            return f"{variable}.{part}"
    return f"what is computed of {variable}"
