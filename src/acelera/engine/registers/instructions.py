"""Terms as instructions of a small stack machine, which the register kernel carries out.

Terms that the machine has no instruction for are not run here: `compile_plan` says so, and another machine takes over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.automata.terms import (
    UNSET,
    Attr,
    Collected,
    Compared,
    Const,
    Environment,
    Finish,
    ForAll,
    Fresh,
    Identical,
    Identity,
    IfSet,
    Known,
    Later,
    Latest,
    Position,
    Reg,
    Sql,
    Step,
    Summary,
    Term,
)
from acelera.engine.frames import attribute_type
from acelera.engine.plan import Action, Edge, Plan, looks_at_one_event, stored_fields
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import (
    COMPARISONS,
    FORMS,
    TIMES,
    UNITS,
    Cell,
    Code,
    Input,
    Universal,
    UnsupportedError,
    flavour,
)
from acelera.engine.registers.dependencies import chain, finest_unit, in_order_of_need, reads, starts
from acelera.engine.registers.sql_instructions import Expression
from acelera.engine.registers.wide_times import split
from acelera.language import ast
from acelera.language.aggregates import canonical, find_aggregate
from acelera.language.expressions import type_of
from acelera.language.schema import Schema
from acelera.language.types import UNKNOWN, Kind, Type

_SELECTED = (Kind.STRING, Kind.DECIMAL)  # of these, aggregates can only take one out
_SELECTING = ("min", "max", "first", "last")
_WIDTHS = {"avg": 2, "range": 2, "first": 2, "last": 2, "variance": 3, "stddev": 3}


@dataclass(frozen=True)
class _Bound(Term):
    """A value of a member of a set, while a predicate is tested for it."""

    at: int
    kind: Kind

    def value(self, env: Environment) -> Any:
        """It has a value only in the machine."""
        raise AssertionError("a bound value is read by instructions alone")


def compile_plan(plan: Plan, schema: Schema) -> Code:
    """The instructions of a plan; an UnsupportedError says which of its terms has none."""
    if plan.by_value:
        raise UnsupportedError("events that different parts of the query make may be equal")
    compiler = _Compiler(plan, schema)
    try:
        return compiler.compiled()
    except UnsupportedError as error:
        raise UnsupportedError(f"{str(error) or 'there is no instruction'}, for {compiler.at}") from None


@dataclass
class _Compiler:
    plan: Plan
    schema: Schema
    code: list[tuple[int, int, int, int]] = field(default_factory=list)
    constants: list[tuple[int, int]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    inputs: dict[Input, int] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    members: dict[str, tuple[Kind, ...]] = field(default_factory=dict)  # what the members of sets are
    member_kinds: dict[tuple[Kind, ...], int] = field(default_factory=dict)  # the same, numbered
    scale: int | None = None  # of decimals
    at: str = ""  # what is being compiled, in words
    after: bool = False  # whether registers are read as they are after the assignment
    wide: bool = False  # whether the value that was pushed last is a wide time
    one_unit: bool = True  # whether all times that were pushed are whole in the plan's unit

    def compiled(self) -> Code:
        self.unit = finest_unit(self.plan, self.schema)
        self.starts = starts(self.plan)
        self._lay_out()
        assign, marked, universal = [], [], []
        stored: dict[Action, tuple[Kind, ...]] = {}
        for edge in self.plan.edges:
            begin = len(self.code)
            self._assign(edge)
            middle = len(self.code)
            self.after = True
            fields = stored_fields(edge.action, self.plan)
            kinds = tuple(self._push_stored(dict(mark.fields or ())[name]) for mark, name in fields)
            if stored.setdefault(edge.action, kinds) != kinds:
                raise UnsupportedError
            assign.append((begin, middle))
            marked.append((middle, len(self.code)))
            universal.append([self._universal(each) for each in edge.conditions if isinstance(each, ForAll)])
        values = np.array([value for value, _ in self.constants] or [0], np.int64)
        tags = np.array([tag for _, tag in self.constants] or [0], np.int64)
        width = 1 + sum(1 + cell.width for cell in self.cells.values())
        deepest = 1 + 2 * max((len(kinds) for kinds in stored.values()), default=0)
        code = np.array(self.code or [(0, 0, 0, 0)], np.int64)
        return Code(
            code,
            assign,
            marked,
            universal,
            values,
            tags,
            list(self.texts),
            list(self.inputs),
            self.unit,
            width,
            stored,
            deepest,
            self._stack_size(),
            self.cells,
            [self.cells[name].at + 1 for name in self.members],
            self.members,
            list(self.member_kinds),
            self.scale or 0,
        )

    def _stack_size(self) -> int:
        """The most values that are ever on the stack, and one to work with."""
        size = most = 0
        for what, *_ in self.code:
            size += 1 if what in op.PUSHING else 0 if what in op.LEAVING else -1
            most = max(most, size)
        return most + 2

    # --- registers ------------------------------------------------------------------------------------------------

    def _lay_out(self) -> None:
        """Find out what each register holds."""
        assigned: dict[str, list[Term]] = {}
        for edge in self.plan.edges:
            for name, term in edge.assign:
                assigned.setdefault(name, []).append(term)
        at = 1  # the state comes first
        for name in in_order_of_need(assigned):
            self.at = f"the register {name}"
            cell = self._cell(name, assigned[name], at)
            self.cells[name] = cell
            at += 1 + cell.width

    def _cell(self, name: str, terms: Sequence[Term], at: int) -> Cell:
        functions = {part.function for term in terms for part in chain(term) if isinstance(part, Step | Identity)}
        if functions:
            function = functions.pop()
            if functions:
                raise UnsupportedError
            given = {self.kind_of(part.given) for term in terms for part in chain(term) if isinstance(part, Step)}
            given -= {Kind.NULL}
            if len(given) > 1:
                raise UnsupportedError
            kind = given.pop() if given else Kind.INT
            found = find_aggregate(function)
            if found is None or found.user_defined or function not in op.AGGREGATES:
                raise UnsupportedError(f"the aggregate function {function} is Python")
            if kind not in FORMS:
                raise UnsupportedError(f"values of type {kind.value}")
            if kind in _SELECTED and function not in (*_SELECTING, "count"):
                raise UnsupportedError(f"{function} of values of type {kind.value}")
            return Cell(at, _WIDTHS.get(function, 1), _result_kind(function, kind), function, kind)
        if any(isinstance(term, Collected) for term in terms):
            self.members[name] = self._member_kinds(terms)
            return Cell(at, 1, Kind.INT)
        alone = [
            term for term in terms if not any(part.name == name for part in reads(term)) or not isinstance(term, Sql)
        ]
        kinds = {self.kind_of(term, name) for term in alone} - {Kind.NULL}
        if len(kinds) > 1 or not kinds <= set(FORMS):
            raise UnsupportedError
        cell = self.cells[name] = Cell(at, 1, kinds.pop() if kinds else Kind.INT)
        if any(self.kind_of(term, name) not in (cell.kind, Kind.NULL) for term in terms):
            raise UnsupportedError
        if any(self._is_wide(term) for term in terms):
            return replace(cell, width=2, wide=True)
        return cell

    def _is_wide(self, term: Term) -> bool:
        """Whether a term's value is a wide time."""
        match term:
            case Attr(name):
                return not self._in_unit(name)
            case Reg(name) | Fresh(name):
                return self.cells[name].wide
            case Summary(_, _, given):
                return any(self._is_wide(each) for each in given)
            case Sql():
                return self.kind_of(term) in TIMES and self.wide
        return False

    def _in_unit(self, name: str) -> bool:
        """Whether an attribute is no time, or one in the plan's unit."""
        kind = attribute_type(name, self.schema)
        return kind.kind not in TIMES or bool(kind.arrow.unit == self.unit)

    def kind_of(self, term: Term, itself: str | None = None) -> Kind:
        """The kind of a term's value; NULL if it has none. A register may be kept as it is."""
        match term:
            case Const(constant):
                if constant is None or constant is UNSET:
                    return Kind.NULL
                known = {bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}
                if type(constant) not in known:
                    raise UnsupportedError
                return known[type(constant)]
            case Attr(name):
                return attribute_type(name, self.schema).kind
            case Position():
                return Kind.INT
            case Reg(name) | Fresh(name):
                if name == itself:
                    return Kind.NULL
                if name not in self.cells:
                    raise UnsupportedError
                return self.cells[name].kind
            case Finish(_, Reg(name) | Fresh(name)):
                if name not in self.cells:
                    raise UnsupportedError
                return self.cells[name].kind
            case Summary(_, state, given):
                kinds = {self.kind_of(each, itself) for each in (state, *given)} - {Kind.NULL}
                if len(kinds) > 1:
                    raise UnsupportedError
                return kinds.pop() if kinds else Kind.NULL
            case Sql():
                size, constants, after = len(self.code), len(self.constants), self.after
                kind = self._sql(term)
                del self.code[size:], self.constants[constants:]
                self.after = after
                return kind
        raise UnsupportedError

    def _assign(self, edge: Edge) -> None:
        self.after = False
        for name, term in edge.assign:
            self.at = f"the register {name}"
            self._set(self.cells[name], name, term)
        self.after = True
        for condition in edge.conditions:
            if isinstance(condition, ForAll):
                continue
            self.at = f"the condition {condition}"
            self.push(condition)
            self.emit(op.REQUIRE)

    def _universal(self, condition: ForAll) -> Universal:
        """The instructions that test a predicate for one combination."""
        self.at = f"the condition {condition}"
        bound: dict[tuple[str | None, str], Term] = {}
        sets, at = [], 0
        for keys, held in zip(condition.attributes, condition.sets, strict=True):
            if not isinstance(held, Reg) or held.name not in self.members:
                raise UnsupportedError
            sets.append((self.cells[held.name].at, len(keys), at))
            for key, kind in zip(keys, self.members[held.name], strict=True):
                bound[key] = _Bound(at, kind)
                at += 2
        begin = len(self.code)
        Expression(self, lambda node: bound[(node.variable, node.name)]).push(condition.predicate)
        self.emit(op.REQUIRE)
        return Universal((begin, len(self.code)), tuple(sets))

    def _collect(self, cell: Cell, name: str, term: Collected) -> None:
        self._begin_summary(cell, name, term.state)
        kinds = self.members[name]
        for index, given in enumerate(term.given):
            self._push_as(given, kinds[index % term.width])
            if (index + 1) % term.width == 0:
                self.emit(op.COLLECT, cell.at, term.width, self.member_kinds.setdefault(kinds, len(self.member_kinds)))

    def _member_kinds(self, terms: Sequence[Term]) -> tuple[Kind, ...]:
        """What the members of a set are, from all that are added to it."""
        found: list[Kind] = []
        for term in terms:
            for index, given in enumerate(term.given if isinstance(term, Collected) else ()):
                place, kind = index % term.width, self.kind_of(given)  # type: ignore[attr-defined]
                found += [Kind.NULL] * (place + 1 - len(found))
                if found[place] is not kind and Kind.NULL not in (found[place], kind):
                    raise UnsupportedError
                found[place] = kind if found[place] is Kind.NULL else found[place]
        return tuple(found)

    def _set(self, cell: Cell, name: str, term: Term) -> None:
        """Compute a register as it is after the assignment."""
        if cell.function is not None:
            self._fold(cell, name, term)
        elif term == Reg(name):
            self.emit(op.KEEP, cell.at, cell.width)
        elif isinstance(term, Collected):
            self._collect(cell, name, term)
        elif isinstance(term, Summary):
            self._begin_summary(cell, name, term.state)
            kinds = {"max": op.LARGEST, "min": op.SMALLEST, "common": op.COMMON}
            for given in term.given:
                self._push_as(given, cell.kind, cell.wide)
                self.emit(kinds[term.kind], cell.at, op.WIDE if cell.wide else flavour(cell.kind))
        elif term == Position() and name in self.starts:
            self.emit(op.MOMENT)
            self.emit(op.STORE, cell.at)
        elif term == Const(UNSET):
            self.emit(op.CLEAR, cell.at, cell.width)
        else:
            self._push_as(term, cell.kind, cell.wide)
            self.emit(op.STORE, cell.at, int(cell.wide))

    def _begin_summary(self, cell: Cell, name: str, state: Term) -> None:
        if state == Const(UNSET):
            self.emit(op.CLEAR, cell.at, cell.width)
        elif state == Reg(name):
            self.emit(op.KEEP, cell.at, cell.width)
        else:
            raise UnsupportedError

    def _fold(self, cell: Cell, name: str, term: Term) -> None:
        steps = list(chain(term))
        match steps.pop():
            case Identity():
                self.emit(op.IDENTITY, cell.at, _aggregate_code(cell))
            case Reg(other) if other == name:
                self.emit(op.KEEP, cell.at, cell.width)
            case _:
                raise UnsupportedError
        for step in reversed(steps):
            assert isinstance(step, Step)
            self._push_as(step.given, cell.given)
            self.emit(op.FOLD, cell.at, _aggregate_code(cell), int(step.ignore_nulls))

    # --- values ---------------------------------------------------------------------------------------------------

    def emit(self, code: int, a: int = 0, b: int = 0, c: int = 0) -> None:
        self.code.append((code, a, b, c))

    def _push_as(self, term: Term, kind: Kind, wide: bool = False) -> None:
        found = self.push(term)
        if (found is not kind and found is not Kind.NULL) or (self.wide and not wide):
            raise UnsupportedError
        if wide:
            self.widen()

    def _push_stored(self, term: Term) -> Kind:
        """A value that is shown in the end, for which there is one number."""
        kind = self.push(term)
        if self.wide and not self.one_unit:
            raise UnsupportedError("a time that was computed from times of different units")
        if self.wide:
            self.emit(op.NARROW, UNITS[self.unit])
        return kind

    def widen(self, below: bool = False) -> None:
        """Make the last value, or the one below it, a wide time."""
        if below or not self.wide:
            self.emit(op.WIDEN, UNITS[self.unit], int(below))
        self.wide = self.wide or not below

    def _push_pair(self, left: Term, right: Term) -> tuple[Kind, bool]:
        """Leave two values on the stack that are to be compared; what they are, and whether they are wide times."""
        one = self.push(left)
        wide = self.wide
        two = self.push(right)
        if one is not two and Kind.NULL not in (one, two):
            raise UnsupportedError
        if self.wide and not wide:
            self.widen(below=True)
        elif wide:
            self.widen()
        either, self.wide = wide or self.wide, False
        return two if one is Kind.NULL else one, either

    def push(self, term: Term) -> Kind:
        """Leave a term's value on the stack."""
        self.wide = False
        match term:
            case Const(constant):
                return self.constant(constant)
            case Attr(name):
                return self._input(name)
            case _Bound(at, kind):
                self.emit(op.OLD, at)
                return kind
            case Position():
                self.emit(op.POSITION)
                return Kind.INT
            case Reg(name):
                return self._register(name, self.after)
            case Fresh(name):
                return self._register(name, True)
            case Finish(_, Reg(name) | Fresh(name)):
                cell = self._known(name)
                self.emit(op.FINISH, cell.at, _aggregate_code(cell), UNITS[self.unit])
                return cell.kind
            case Known(Reg(name)):
                self.emit(op.KNOWN, self._known(name).at)
                return Kind.BOOL
            case Compared(operator, left, right):
                kind, wide = self._push_pair(left, right)
                self.emit(op.COMPARE_IF_SET, COMPARISONS[operator], op.WIDE if wide else flavour(kind))
                return Kind.BOOL
            case Later(left, right):
                self.push(left)
                self.push(right)
                self.emit(op.COMPARE, op.GT, op.INTEGERS)
                return Kind.BOOL
            case IfSet(predicate):
                self.push(predicate)
                for read in reads(predicate):
                    self.emit(op.OR_UNSET, self.cells[read.name].at)
                return Kind.BOOL
            case Latest(guard):
                self.emit(op.LATEST, guard)
                return Kind.INT
            case Identical(left, right):
                _, wide = self._push_pair(left, right)
                self.emit(op.IDENTICAL, int(wide))
                return Kind.BOOL
            case Sql():
                return self._sql(term)
        raise UnsupportedError

    def _sql(self, term: Sql) -> Kind:
        """An expression; one that speaks of the event alone and has no instructions is evaluated beforehand."""
        bound = dict(term.leaves)
        size, constants = len(self.code), len(self.constants)
        try:
            return Expression(self, lambda node: bound[(node.variable, node.name)]).push(term.expression)
        except UnsupportedError:
            kind = self._type_of(term).kind
            if not looks_at_one_event(term) or kind not in FORMS or kind in (*TIMES, Kind.DECIMAL):
                raise
            del self.code[size:], self.constants[constants:]
            self.emit(op.INPUT, self.inputs.setdefault(Input(term, kind), len(self.inputs)))
            self.wide = False
            return kind

    def _type_of(self, term: Sql) -> Type:
        def known(node: ast.Attribute) -> Type:
            leaf = dict(term.leaves)[(node.variable, node.name)]
            return attribute_type(leaf.name, self.schema) if isinstance(leaf, Attr) else UNKNOWN

        return type_of(term.expression, known, lambda _: None)

    def constant(self, value: Any, kind: Kind | None = None) -> Kind:
        """Push a constant."""
        if value is None or value is UNSET:
            self._constant(0, op.NULL if value is None else op.UNSET)
            return Kind.NULL
        if isinstance(value, str):
            self._constant(self.texts.setdefault(value, len(self.texts)), op.VALUE)
            return Kind.STRING
        if isinstance(value, float):
            self._constant(int(np.float64(canonical(value)).view(np.int64)), op.VALUE)
            return Kind.FLOAT
        if not isinstance(value, int) or not -(2**63) <= value < 2**63:
            raise UnsupportedError
        self._constant(int(value), op.VALUE)
        return kind or (Kind.BOOL if isinstance(value, bool) else Kind.INT)

    def moment(self, nanoseconds: int) -> None:
        """Push a constant time."""
        whole, rest = divmod(nanoseconds, UNITS[self.unit])
        self.wide = rest != 0 or not -(2**63) <= whole < 2**63
        if not self.wide:
            self._constant(whole, op.VALUE)
            return
        self.one_unit = self.one_unit and rest == 0
        high, low = split(nanoseconds)
        self.constants += [(low, op.VALUE), (high, op.VALUE)]
        self.emit(op.CONSTANT, len(self.constants) - 2, 1)

    def _constant(self, value: int, tag: int) -> None:
        self.constants.append((value, tag))
        self.emit(op.CONSTANT, len(self.constants) - 1)

    def _input(self, name: str) -> Kind:
        kind = attribute_type(name, self.schema).kind
        if kind is Kind.NULL:
            return self.constant(None)
        if kind not in FORMS:
            raise UnsupportedError(f"values of type {kind.value}")
        if kind is Kind.DECIMAL:
            self._agree_on_scale(attribute_type(name, self.schema).arrow)
        self.emit(op.INPUT, self.inputs.setdefault(Input(Attr(name), kind), len(self.inputs)))
        if not self._in_unit(name):
            self.emit(op.WIDEN, UNITS[attribute_type(name, self.schema).arrow.unit])
            self.wide, self.one_unit = True, False
        return kind

    def _agree_on_scale(self, arrow: pa.DataType) -> None:
        """Decimals are integers of one scale; they must fit into 64 bits."""
        if arrow.precision > 18 or self.scale not in (None, arrow.scale):
            raise UnsupportedError("decimals of more than 18 digits, or of different scales")
        self.scale = arrow.scale

    def _known(self, name: str) -> Cell:
        if name not in self.cells or (not self.after and self.cells[name].function is None):
            raise UnsupportedError
        return self.cells[name]

    def _register(self, name: str, after: bool) -> Kind:
        cell = self.cells[name]
        if cell.function is not None:
            raise UnsupportedError
        self.emit(op.NEW if after else op.OLD, cell.at, int(cell.wide))
        self.wide = cell.wide
        return cell.kind


def _aggregate_code(cell: Cell) -> int:
    """The number of an aggregate function over a kind of values."""
    assert cell.function is not None
    return op.AGGREGATES.index(cell.function) * op.FLAVOURS + flavour(cell.given)


def _result_kind(function: str, given: Kind) -> Kind:
    if function == "count":
        return Kind.INT
    if function in ("avg", "variance", "stddev"):
        return Kind.FLOAT
    if function == "range" and given is Kind.TIMESTAMP:
        return Kind.DURATION
    return given
