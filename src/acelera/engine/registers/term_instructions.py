"""Terms as instructions: what leaves the value of a term on the stack, and what kind of value that is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from acelera.automata.terms import (
    UNSET,
    Attr,
    Compared,
    Const,
    Environment,
    Finish,
    Fresh,
    Identical,
    IfSet,
    Known,
    Later,
    Latest,
    Position,
    Reg,
    Sql,
    Summary,
    Term,
)
from acelera.engine.frames import attribute_type
from acelera.engine.plan import looks_at_one_event
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import COMPARISONS, FORMS, NO_INSTRUCTION, TIMES, UNITS, Cell, Input, flavour
from acelera.engine.registers.sql_instructions import push_expression
from acelera.engine.registers.writer import Pushed, Writer
from acelera.language import ast
from acelera.language.expressions import type_of
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema
from acelera.language.types import UNKNOWN, Kind, Type


@dataclass(frozen=True)
class Bound(Term):
    """A value of a member of a set, while a predicate is tested for it."""

    at: int
    kind: Kind

    def value(self, env: Environment) -> Any:
        """It has a value only in the machine."""
        raise AssertionError("a bound value is read by instructions alone")


@dataclass
class Terms:
    """Terms over the events of a schema and over registers, of which `cells` tells what they hold."""

    schema: Schema
    writer: Writer
    cells: dict[str, Cell] = field(default_factory=dict)
    after: bool = False  # whether registers are read as they are after the assignment
    scale: int | None = None  # of decimals

    # --- what a term is -------------------------------------------------------------------------------------------

    def described(self, term: Term, itself: str | None = None) -> Pushed:
        """What a term's value is. A register may be kept as it is: `itself` has no kind of its own."""
        match term:
            case Const(constant):
                if constant is None or constant is UNSET:
                    return Pushed(Kind.NULL)
                known = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}
                if type(constant) in known:
                    return Pushed(known[type(constant)])
            case Attr(name):
                given = attribute_type(name, self.schema)
                return Pushed(given.kind, given.kind in TIMES and bool(given.arrow.unit != self.writer.unit))
            case Position():
                return Pushed(Kind.INT)
            case Reg(name) | Fresh(name) if name == itself:
                return Pushed(Kind.NULL)
            case Reg(name) | Fresh(name) if name in self.cells:
                return Pushed(self.cells[name].kind, self.cells[name].wide)
            case Finish(_, Reg(name) | Fresh(name)) if name in self.cells:
                return Pushed(self.cells[name].kind)
            case Summary(_, state, gathered):
                values = [self.described(each, itself) for each in gathered]
                kinds = {value.kind for value in (self.described(state, itself), *values)} - {Kind.NULL}
                if len(kinds) < 2:
                    return Pushed(kinds.pop() if kinds else Kind.NULL, any(value.wide for value in values))
            case Sql():
                mark = self.writer.mark()
                value = self._sql(term)
                self.writer.undo(mark)
                return value
        raise UnsupportedError(NO_INSTRUCTION)

    # --- its value ------------------------------------------------------------------------------------------------

    def push(self, term: Term) -> Pushed:
        """Leave a term's value on the stack."""
        emit = self.writer.emit
        match term:
            case Const(constant):
                return self.writer.constant(constant)
            case Attr(name):
                return self._input(name)
            case Bound(at, kind):
                emit(op.OLD, at)
                return Pushed(kind)
            case Position():
                emit(op.POSITION)
                return Pushed(Kind.INT)
            case Reg(name):
                return self._register(name, self.after)
            case Fresh(name):
                return self._register(name, True)
            case Finish(_, Reg(name) | Fresh(name)):
                cell = self._known(name)
                emit(op.FINISH, cell.at, aggregate_code(cell), UNITS[self.writer.unit])
                return Pushed(cell.kind)
            case Latest(guard):
                emit(op.LATEST, guard)
                return Pushed(Kind.INT)
            case Sql():
                return self._sql(term)
        return self._condition(term)

    def _condition(self, term: Term) -> Pushed:
        emit = self.writer.emit
        match term:
            case Known(Reg(name)):
                emit(op.KNOWN, self._known(name).at)
            case Compared(operator, left, right):
                value = self._push_pair(left, right)
                emit(op.COMPARE_IF_SET, COMPARISONS[operator], op.WIDE if value.wide else flavour(value.kind))
            case Later(left, right):
                self.push(left)
                self.push(right)
                emit(op.COMPARE, op.GT, op.INTEGERS)
            case IfSet(predicate):
                self.push(predicate)
                for part in predicate.parts():
                    if isinstance(part, Reg):  # of an aggregate there is always a value
                        emit(op.OR_UNSET, self.cells[part.name].at)
            case Identical(left, right):
                emit(op.IDENTICAL, int(self._push_pair(left, right).wide))
            case _:
                raise UnsupportedError(NO_INSTRUCTION)
        return Pushed(Kind.BOOL)

    def push_as(self, term: Term, kind: Kind, wide: bool = False) -> None:
        """Leave a value of this kind on the stack, or NULL; as a wide time if it must be one."""
        found = self.push(term)
        if found.kind not in (kind, Kind.NULL) or (found.wide and not wide):
            raise UnsupportedError(NO_INSTRUCTION)
        if wide:
            self.writer.widen(found)

    def _push_pair(self, left: Term, right: Term) -> Pushed:
        """Leave two values on the stack that are to be compared; what they are."""
        one, two = self.push(left), self.push(right)
        if one.kind is not two.kind and Kind.NULL not in (one.kind, two.kind):
            raise UnsupportedError(NO_INSTRUCTION)
        one, two = self.writer.align(one, two)
        return two if one.kind is Kind.NULL else one

    def _sql(self, term: Sql) -> Pushed:
        """An expression; one that speaks of the event alone and has no instructions is evaluated beforehand."""
        bound, mark = dict(term.leaves), self.writer.mark()
        try:
            return self.push_predicate(term.expression, bound)
        except UnsupportedError:
            kind = self._type_of(term).kind
            if not looks_at_one_event(term) or kind not in FORMS or kind in (*TIMES, Kind.DECIMAL):
                raise
            self.writer.undo(mark)
            return self.writer.input(Input(term, kind))

    def push_predicate(self, expression: ast.Expression, bound: dict[tuple[str | None, str], Term]) -> Pushed:
        """Leave the value of an expression on the stack, each attribute of which is bound to a term."""
        return push_expression(expression, self.writer, lambda node: self.push(bound[(node.variable, node.name)]))

    def _type_of(self, term: Sql) -> Type:
        def known(node: ast.Attribute) -> Type:
            leaf = dict(term.leaves)[(node.variable, node.name)]
            return attribute_type(leaf.name, self.schema) if isinstance(leaf, Attr) else UNKNOWN

        return type_of(term.expression, known, lambda _: None)

    def _input(self, name: str) -> Pushed:
        given = attribute_type(name, self.schema)
        if given.kind is Kind.NULL:
            return self.writer.constant(None)
        if given.kind not in FORMS:
            raise UnsupportedError(f"values of type {given.kind.value}")
        if given.kind is Kind.DECIMAL:
            self._agree_on_scale(given.arrow)
        return self.writer.input(Input(Attr(name), given.kind), given.arrow.unit if given.kind in TIMES else None)

    def _agree_on_scale(self, arrow: pa.DataType) -> None:
        """Decimals are integers of one scale; they must fit into 64 bits."""
        if arrow.precision > 18 or self.scale not in (None, arrow.scale):
            raise UnsupportedError("decimals of more than 18 digits, or of different scales")
        self.scale = arrow.scale

    def _known(self, name: str) -> Cell:
        if name not in self.cells or (not self.after and self.cells[name].function is None):
            raise UnsupportedError(NO_INSTRUCTION)
        return self.cells[name]

    def _register(self, name: str, after: bool) -> Pushed:
        cell = self.cells[name]
        if cell.function is not None:
            raise UnsupportedError(NO_INSTRUCTION)
        self.writer.emit(op.NEW if after else op.OLD, cell.at, int(cell.wide))
        return Pushed(cell.kind, cell.wide)


def aggregate_code(cell: Cell) -> int:
    """The number of an aggregate function over a kind of values."""
    assert cell.function is not None
    return op.AGGREGATES.index(cell.function) * op.FLAVOURS + flavour(cell.given)
