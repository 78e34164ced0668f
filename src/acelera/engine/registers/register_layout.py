"""Which registers a plan has, what each of them holds, and where it stands in a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from acelera.automata.terms import Collected, Identity, Sql, Step, Term
from acelera.engine.plan import Plan
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import FORMS, NO_INSTRUCTION, Cell
from acelera.engine.registers.dependencies import chain, in_order_of_need, reads
from acelera.engine.registers.term_instructions import Terms
from acelera.language.aggregates import find_aggregate
from acelera.language.lowering import UnsupportedError
from acelera.language.types import Kind

_SELECTED = (Kind.STRING, Kind.DECIMAL)  # of these, aggregates can only take one out
_SELECTING = ("min", "max", "first", "last")


@dataclass
class Layout:
    """The cells of registers, which go to `terms.cells`, and what the members of those are that hold sets."""

    terms: Terms
    members: dict[str, tuple[Kind, ...]] = field(default_factory=dict)
    at: str = ""  # which register is laid out, in words

    def lay_out(self, plan: Plan) -> None:
        """Find out what each register holds."""
        assigned: dict[str, list[Term]] = {}
        for edge in plan.edges:
            for name, term in edge.assign:
                assigned.setdefault(name, []).append(term)
        at = 1  # the state comes first
        for name in in_order_of_need(assigned):
            self.at = f"the register {name}"
            cell = self._cell(name, assigned[name], at)
            self.terms.cells[name] = cell
            at += 1 + cell.width

    @property
    def width(self) -> int:
        """How many numbers a configuration is: its state, and for each register a tag and its numbers."""
        return 1 + sum(1 + cell.width for cell in self.terms.cells.values())

    def _cell(self, name: str, terms: Sequence[Term], at: int) -> Cell:
        functions = {part.function for term in terms for part in chain(term) if isinstance(part, Step | Identity)}
        if len(functions) > 1:
            raise UnsupportedError(NO_INSTRUCTION)
        if functions:
            return self._aggregate(functions.pop(), terms, at)
        if any(isinstance(term, Collected) for term in terms):
            self.members[name] = self._member_kinds(terms)
            return Cell(at, 1, Kind.INT)
        return self._value(name, terms, at)

    def _aggregate(self, function: str, terms: Sequence[Term], at: int) -> Cell:
        """A register that holds the state of an aggregate function."""
        steps = [part for term in terms for part in chain(term) if isinstance(part, Step)]
        given = {self.terms.described(step.given).kind for step in steps} - {Kind.NULL}
        if len(given) > 1:
            raise UnsupportedError(NO_INSTRUCTION)
        kind = given.pop() if given else Kind.INT
        found = find_aggregate(function)
        if found is None or found.user_defined:
            raise UnsupportedError(f"the aggregate function {function} is Python")
        if function not in op.AGGREGATES:
            raise UnsupportedError(f"there is no instruction for the aggregate function {function}")
        if kind not in FORMS:
            raise UnsupportedError(f"values of type {kind.value}")
        if kind in _SELECTED and function not in (*_SELECTING, "count"):
            raise UnsupportedError(f"{function} of values of type {kind.value}")
        width = op.WIDTHS[op.AGGREGATES.index(function)]
        return Cell(at, width, _result_kind(function, kind), function, kind)

    def _value(self, name: str, terms: Sequence[Term], at: int) -> Cell:
        """A register that holds a value: of the kind that is found in terms that need not know the register itself."""
        alone = [
            term for term in terms if not any(part.name == name for part in reads(term)) or not isinstance(term, Sql)
        ]
        kinds = {self.terms.described(term, name).kind for term in alone} - {Kind.NULL}
        if len(kinds) > 1 or not kinds <= set(FORMS):
            raise UnsupportedError(NO_INSTRUCTION)
        cell = self.terms.cells[name] = Cell(at, 1, kinds.pop() if kinds else Kind.INT)
        values = [self.terms.described(term, name) for term in terms]
        if any(value.kind not in (cell.kind, Kind.NULL) for value in values):
            raise UnsupportedError(NO_INSTRUCTION)
        return replace(cell, width=2, wide=True) if any(value.wide for value in values) else cell

    def _member_kinds(self, terms: Sequence[Term]) -> tuple[Kind, ...]:
        """What the members of a set are, from all that are added to it."""
        found: list[Kind] = []
        for term in terms:
            for index, given in enumerate(term.given if isinstance(term, Collected) else ()):
                place, kind = index % term.width, self.terms.described(given).kind  # type: ignore[attr-defined]
                found += [Kind.NULL] * (place + 1 - len(found))
                if found[place] is not kind and Kind.NULL not in (found[place], kind):
                    raise UnsupportedError(NO_INSTRUCTION)
                found[place] = kind if found[place] is Kind.NULL else found[place]
        return tuple(found)


def _result_kind(function: str, given: Kind) -> Kind:
    if function == "count":
        return Kind.INT
    if function in ("avg", "variance", "stddev"):
        return Kind.FLOAT
    if function == "range" and given is Kind.TIMESTAMP:
        return Kind.DURATION
    return given
