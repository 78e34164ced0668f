"""A machine as numbers: instructions of the register machine, and tables that say when which are carried out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import FORMS, NO_INSTRUCTION, TIMES, UNITS, flavour
from acelera.engine.registers.sql_instructions import push_expression
from acelera.engine.registers.writer import Pushed, Writer
from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.ast import Expression
from acelera.language.expressions import FUNCTIONS
from acelera.language.lowering import UnsupportedError
from acelera.language.tree import fold, rebuilt
from acelera.language.types import Kind, Type
from acelera.stages import tables as t
from acelera.stages.fusing import Row, fused
from acelera.stages.layout import INSTRUCTION, SLOWLY
from acelera.stages.model import Condition, Edge, Fold, Held, Input, Machine, Outcome, Step, Total

Ints = npt.NDArray[Any]

_SELECTING = ("min", "max", "count")
"""Aggregates of texts: these take one out, or only count."""

_MOST_FLAGS = 62


@dataclass(frozen=True)
class Coded:
    """A machine as kernels want it.

    `width` is that of a configuration, `deepest` how many events are taken together at most, `text_cells` are for each
    state the places of configurations where tags of texts stand.
    """

    plan: t.Plan
    code: Ints
    texts: tuple[str, ...]
    unit: str
    width: int
    stack_size: int
    deepest: int
    slots: int
    key_width: int
    head_width: int
    orders_texts: bool
    text_cells: tuple[tuple[int, ...], ...]
    machine: Machine


def coded(machine: Machine) -> Coded:
    """The numbers of a machine; an UnsupportedError says what there is no instruction for."""
    return _Coding(machine).coded()


@dataclass(frozen=True)
class Cell:
    """Where a register stands, and how many numbers follow its tag."""

    at: int
    width: int


class _Coding:
    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.writer = Writer(_unit(machine))
        self.cells, self.width = _laid_out(machine)
        self.table: int | None = None
        self.steps: list[list[int]] = []
        self.absences: list[list[int]] = []
        self.guards_listed: list[int] = []
        self.heads_listed: list[int] = []

    def coded(self) -> Coded:
        machine = self.machine
        if len(machine.firsts) > _MOST_FLAGS:
            raise UnsupportedError(f"more than {_MOST_FLAGS} events under `first`")
        guards = [self._guard(number) for number in range(len(machine.guards))]
        heads = [self._head(number) for number in range(len(machine.heads))]
        edges = [self._edge(edge) for edge in machine.edges]
        states, outcomes = self._states()
        listed, first, count = self._edges_by_state()
        writer = self.writer
        code, places = fused(writer.code, writer.constants, _bounds(edges, self.steps, outcomes, guards, heads))
        for rows, columns in zip((edges, self.steps, outcomes, guards, heads), _CODE_COLUMNS, strict=True):
            for row in rows:
                for column in columns:
                    row[column] = places[row[column]]
        for given, row in zip(machine.edges, edges, strict=True):
            row[t.SIMPLE] = int(_is_plain(given) and self._is_quick(row, outcomes, states, code))
        plan = t.Plan(
            edges=_table(edges, t.EDGE_COLUMNS),
            steps=_table(self.steps, t.STEP_COLUMNS),
            absences=_table(self.absences, 2),
            outcomes=_table(outcomes, t.OUTCOME_COLUMNS),
            states=_table(states, t.STATE_COLUMNS),
            guards=_table(guards, t.GUARD_COLUMNS),
            heads=_table(heads, t.HEAD_COLUMNS),
            listed=_row(listed),
            first=first,
            count=count,
            guards_listed=_row(self.guards_listed),
            heads_listed=_row(self.heads_listed),
            repeats=_row([int(phase.repeats) for phase in machine.phases]),
            firsts=_row(machine.firsts),
        )
        return Coded(
            plan,
            _table(code, INSTRUCTION),
            tuple(writer.texts),
            writer.unit,
            self.width,
            writer.stack_size() + max((len(head.arguments) for head in machine.heads), default=0) + self._keys(),
            max((len(steps) for edge in machine.edges for steps in (edge.steps, *edge.absences)), default=0),
            max((len(table.slots) for table in machine.tables), default=0),
            self._keys(),
            max((len(head.arguments) for head in machine.heads), default=0),
            any(_orders_texts(*each) for each in writer.code),
            self._text_cells(),
            machine,
        )

    def _is_quick(self, edge: Row, outcomes: list[Row], states: list[Row], code: list[Row]) -> bool:
        """Whether all instructions until a configuration rests are quick ones."""
        step, state = self.steps[edge[t.STEPS]], states[edge[t.TARGET]]
        ranges = [(edge[t.PREPARE], edge[t.PREPARED]), (step[t.STEP_CODE], step[t.STEP_END])]
        for outcome in outcomes[state[t.OUTCOMES] : state[t.OUTCOMES_END]]:
            ranges.append((outcome[t.IF], outcome[t.TRIM_END]))
        return not any(code[place][0] == SLOWLY for begin, end in ranges for place in range(begin, end))

    def _keys(self) -> int:
        return max((len(guard.key) for guard in self.machine.guards), default=0)

    # --- tables -----------------------------------------------------------------------------------------------

    def _guard(self, number: int) -> list[int]:
        key = self.machine.guards[number].key
        begin = len(self.writer)
        for each in key:
            self._push_one(each)
        return [begin, len(self.writer), len(key)]

    def _head(self, number: int) -> list[int]:
        head = self.machine.heads[number]
        begin = len(self.writer)
        for each, kind in zip(head.arguments, head.types, strict=True):
            self._push_one(each, kind.kind)
        event = -1 if head.event is None else head.event
        return [begin, len(self.writer), len(head.arguments), event, int(head.shown)]

    def _edge(self, edge: Edge) -> list[int]:
        begin = len(self.writer)
        for target, source in edge.moves:
            self._copy(source, target)
        self._clear(place for register in edge.clears for place in self._places(register))
        for register in edge.flags:
            self.writer.constant(1)
            self.writer.emit(op.STORE, self.cells[register].at)
        prepared = len(self.writer)
        absences = len(self.absences)
        for steps in edge.absences:
            first = len(self.steps)
            self._steps(steps)
            self.absences.append([first, len(self.steps)])
        first = len(self.steps)
        self._steps(edge.steps)
        last = len(self.steps)
        tests = len(self.writer)
        self._require(edge.tests)
        end = len(self.writer)
        loops = len(self.guards_listed)
        self.guards_listed += edge.loops
        begins = len(self.guards_listed)
        self.guards_listed += edge.begins
        return [
            *(edge.source, edge.target, begin, prepared, absences, len(self.absences), first, last, tests, end),
            *(loops, begins, len(self.guards_listed), 0),
        ]

    def _steps(self, steps: Sequence[Step]) -> None:
        made = [self._step(step) for step in steps]
        self.steps += made

    def _step(self, step: Step) -> list[int]:
        self.table = step.table
        begin = len(self.writer)
        self._require(step.before)
        for each in step.folds:
            self._fold(each)
        self._require(step.after)
        for store in step.stores:
            value = self._push_one(store.value)
            self._check(value.kind, self.machine.registers[store.register].type.kind)
            self.writer.emit(op.STORE, self.cells[store.register].at, 0, int(store.once))
        self._require(step.last)
        low, high = step.types if step.table >= 0 else (-1, -1)
        flag = -1 if step.first is None else step.first
        return [low, high, begin, len(self.writer), flag, int(step.taken)]

    def _states(self) -> tuple[list[list[int]], list[list[int]]]:
        states: list[list[int]] = []
        outcomes: list[list[int]] = []
        for state in self.machine.states:
            first = len(outcomes)
            outcomes += [self._outcome(each) for each in state.outcomes]
            expires, limit = (-1, 0) if state.expires is None else state.expires
            if expires >= 0:
                expires, limit = self.cells[expires].at, -(-limit // UNITS[self.writer.unit])
            states.append([first, len(outcomes), int(state.waits), int(state.initial), expires, limit])
        return states, outcomes

    def _outcome(self, outcome: Outcome) -> list[int]:
        begin = len(self.writer)
        self._require(outcome.conditions)
        trim = len(self.writer)
        if outcome.state is not None:
            live = self.machine.live[outcome.state]
            kept = {place for number in live for place in self._places(number)}
            self._clear(place for place in range(1, self.width) if place not in kept)
        heads = len(self.heads_listed)
        self.heads_listed += outcome.heads
        state = -1 if outcome.state is None else outcome.state
        return [begin, trim, len(self.writer), state, heads, len(self.heads_listed)]

    def _edges_by_state(self) -> tuple[list[int], Ints, Ints]:
        """The edges of each phase by the state that they leave."""
        machine = self.machine
        shape = (len(machine.phases), len(machine.states))
        listed: list[int] = []
        first, count = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for phase, given in enumerate(machine.phases):
            for state in range(len(machine.states)):
                own = [edge for edge in given.edges if machine.edges[edge].source == state]
                first[phase, state], count[phase, state] = len(listed), len(own)
                listed += own
        return listed, first, count

    # --- instructions -----------------------------------------------------------------------------------------

    def _require(self, conditions: Iterable[Condition]) -> None:
        for each in conditions:
            self._push(each.expression)
            for register in each.unless:
                self.writer.emit(op.OR_UNSET, self.cells[register].at)
            self.writer.emit(op.REQUIRE)

    def _fold(self, given: Fold) -> None:
        register = self.machine.registers[given.register]
        assert register.given is not None
        if given.value is None:
            self.writer.constant(1)
        else:
            self._check(self._push_one(given.value).kind, register.given.kind)
        self.writer.emit(op.FOLD, self.cells[given.register].at, self._aggregate(given.register), 2)

    def _aggregate(self, number: int) -> int:
        register = self.machine.registers[number]
        assert register.aggregate is not None and register.given is not None
        return op.AGGREGATES.index(register.aggregate) * op.FLAVOURS + flavour(register.given.kind)

    def _copy(self, source: int, target: int) -> None:
        self.writer.emit(op.NEW, self.cells[source].at)
        self.writer.emit(op.STORE, self.cells[target].at)

    def _clear(self, listed: Iterable[int]) -> None:
        """Places that are side by side are cleared together: what holds nothing is 0."""
        places = sorted(listed)
        while places:
            size = next((n for n in range(1, len(places)) if places[n] != places[0] + n), len(places))
            self.writer.emit(op.CLEAR, places[0], size - 1)
            del places[:size]

    def _places(self, register: int) -> range:
        cell = self.cells[register]
        return range(cell.at, cell.at + cell.width + 1)

    def _push_one(self, expression: Expression, wanted: Kind | None = None) -> Pushed:
        """Push a value as one number."""
        value = self._push(expression)
        if value.wide:
            if not self.writer.one_unit:
                raise UnsupportedError("a time that was computed from times of different units")
            self.writer.emit(op.NARROW, UNITS[self.writer.unit])
        if wanted is Kind.FLOAT and value.kind is Kind.INT:
            self.writer.emit(op.TO_FLOAT)
            return Pushed(Kind.FLOAT)
        if wanted is not None:
            self._check(value.kind, wanted)
        return Pushed(value.kind)

    def _check(self, kind: Kind, wanted: Kind) -> None:
        if kind is not wanted and kind is not Kind.NULL and wanted is not Kind.NULL:
            raise UnsupportedError(NO_INSTRUCTION)

    def _push(self, expression: Expression) -> Pushed:
        leaves: dict[str, Expression] = {}

        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            if isinstance(node, Input | Held | Total):
                leaves[str(len(leaves))] = node
                return ast.Attribute(None, str(len(leaves) - 1))
            if isinstance(node, ast.Call) and node.function not in FUNCTIONS:
                raise UnsupportedError(f"the function {node.function}")
            return rebuilt(node, inner)

        made = fold(expression, combine)
        return push_expression(made, self.writer, lambda node: self._leaf(leaves[node.name]))

    def _leaf(self, leaf: Expression) -> Pushed:
        match leaf:
            case Input(slot):
                assert self.table is not None
                kind = _known(self.machine.tables[self.table].slots[slot])
                self.writer.emit(op.INPUT, slot)
                return Pushed(kind)
            case Held(register):
                kind = _known(self.machine.registers[register].type)
                self.writer.emit(op.NEW, self.cells[register].at)
                return Pushed(kind)
            case Total(register):
                kind = _known(self.machine.registers[register].type)
                code = self._aggregate(register)
                self.writer.emit(op.FINISH, self.cells[register].at, code, UNITS[self.writer.unit])
                if self.machine.registers[register].aggregate == "count":
                    self.writer.constant(0)
                    self.writer.emit(op.COALESCE)
                return Pushed(kind)
        raise AssertionError(f"unknown leaf {leaf!r}")

    def _text_cells(self) -> tuple[tuple[int, ...], ...]:
        registers = self.machine.registers
        return tuple(
            tuple(self.cells[each].at for each in sorted(live) if registers[each].type.kind is Kind.STRING)
            for live in self.machine.live
        )


_CODE_COLUMNS = (
    (t.PREPARE, t.PREPARED, t.TESTS, t.TESTS_END),
    (t.STEP_CODE, t.STEP_END),
    (t.IF, t.TRIM, t.TRIM_END),
    (t.KEY, t.KEY_END),
    (t.HEAD_CODE, t.HEAD_END),
)
"""Where numbers of instructions stand in the tables of edges, steps, outcomes, guards and heads."""


def _bounds(*tables: list[list[int]]) -> set[int]:
    """Where stretches of instructions begin and end."""
    pairs = zip(tables, _CODE_COLUMNS, strict=True)
    return {row[column] for rows, columns in pairs for row in rows for column in columns}


def _is_plain(edge: Edge) -> bool:
    """Whether an edge takes one event, whatever else there is."""
    guarded = edge.absences or edge.tests or edge.loops or edge.begins
    return not guarded and len(edge.steps) == 1 and edge.steps[0].first is None


def _known(kind: Type) -> Kind:
    if kind.kind is Kind.NULL:
        return Kind.NULL
    if kind.kind not in FORMS or kind.kind is Kind.DECIMAL:
        raise UnsupportedError(f"values of type {kind}")
    return kind.kind


def _laid_out(machine: Machine) -> tuple[list[Cell], int]:
    """Registers one after the other; those of different owners in the same places."""
    ends: dict[int, int] = {}
    cells = []
    for register in machine.registers:
        _known(register.type)
        width = 1
        if register.aggregate is not None:
            width = _aggregate_width(register.aggregate, register.given)
        at = ends.get(register.owner, 1)
        cells.append(Cell(at, width))
        ends[register.owner] = at + 1 + width
    return cells, max(ends.values(), default=1)


def _aggregate_width(function: str, given: Type | None) -> int:
    found = find_aggregate(function)
    assert given is not None
    if found is None or found.user_defined or function not in op.AGGREGATES:
        raise UnsupportedError(f"the aggregate function {function} is Python")
    if _known(given) is Kind.STRING and function not in _SELECTING:
        raise UnsupportedError(f"{function} of texts")
    return op.WIDTHS[op.AGGREGATES.index(function)]


def _unit(machine: Machine) -> str:
    """The finest unit of all times."""
    types = [kind for table in machine.tables for kind in table.slots]
    types += [register.type for register in machine.registers] + [kind for head in machine.heads for kind in head.types]
    units = {kind.arrow.unit for kind in types if kind.kind in TIMES and not pa.types.is_null(kind.arrow)}
    return min(units, key=lambda unit: UNITS[unit], default="us")


def _orders_texts(what: int, a: int, b: int, _: int) -> bool:
    if what == op.COMPARE:
        return b == op.STRINGS and a not in (op.EQ, op.NE)
    function, kind = divmod(b, op.FLAVOURS)
    return what == op.FOLD and kind == op.STRINGS and function != op.COUNT


def _table(rows: Sequence[Sequence[int]], columns: int) -> Ints:
    return np.array(rows, np.int64).reshape(-1, columns) if rows else np.zeros((1, columns), np.int64)


def _row(numbers: Sequence[int]) -> Ints:
    return np.array(numbers or [0], np.int64)
