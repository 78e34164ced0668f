"""Runs with registers, determinised by marks: one node for each set of configurations that the same marks lead to.

A configuration is a state with the values of its registers. Runs that have marked the same are followed together, as
the set of their configurations, so nothing is found twice and runs that leave no trace in the match are never listed
one by one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.machines.advance import Entries
from acelera.engine.machines.edge_table import EdgeTable
from acelera.engine.machines.guards import Guard, QuickGuards
from acelera.engine.machines.machine import Algebra, Events, KernelMachine, Waiting
from acelera.engine.machines.register_step import Actions, RegisterStep, Scratch, States
from acelera.engine.plan import Action, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.aggregate_steps import Cells
from acelera.engine.registers.arithmetic import Stack
from acelera.engine.registers.code import UNITS, Code
from acelera.engine.registers.encoding import decimals, input_column, scaled, time_type
from acelera.engine.registers.interned import CONFIGURATIONS, STORED, Strings, Tables, ValueSets
from acelera.engine.registers.stack_machine import TUPLES, Inputs, Program
from acelera.engine.registers.wide_times import joined
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import occurring
from acelera.engine.storage.snapshots import Section
from acelera.engine.ticks import FAR_PAST
from acelera.errors import AggregateError, DataError
from acelera.language.aggregates import OVERFLOW
from acelera.language.events import Value
from acelera.language.types import Kind

Ints = npt.NDArray[Any]


class RegisterMachine(KernelMachine):
    """Configurations in tables; work for each event grows with the number of configurations in the window."""

    def __init__(
        self,
        plan: Plan,
        alphabet: Alphabet,
        code: Code,
        algebra: Algebra,
        guards: Sequence[Guard] = (),
        unseen: frozenset[Action] = frozenset(),
    ) -> None:
        super().__init__(algebra, RegisterStep)
        self.plan, self.code, self._guards = plan, code, QuickGuards(guards)
        self.actions = list(plan.actions)
        self.strings = Strings(code.texts, code.orders_texts)
        self.tables = Tables(code.width, code.stored_width, plan.initial)
        self.sets = ValueSets(code.member_width)
        self.edges = EdgeTable(plan, alphabet, code)
        states = range(plan.states)
        self._states = States(
            np.array([state in plan.outgoing for state in states], np.bool_),
            np.array([state in plan.finals for state in states], np.bool_),
            _live_cells(plan, code),
        )
        self._actions = Actions(
            np.array([len(code.stored[action]) for action in plan.actions] or [0], np.int32),
            np.array([action not in unseen for action in plan.actions] or [False], np.bool_),
        )
        self._needed: list[set[str]] = [set() for _ in states]  # the registers that each state is left with
        for edge in plan.edges:
            self._needed[edge.target] |= {name for name, _ in edge.assign}
        self._scratch, self._entries = _scratch(code, 64)

    # --- reading --------------------------------------------------------------------------------------------------

    @property
    def _sets(self) -> int:
        return len(self.tables.set_at) - 1

    def _prepared(self, events: Events, keys: int) -> tuple[Inputs, Ints]:
        """What instructions read of the events, and at which of them a guard has matched."""
        self.edges.make_room()
        if self.strings.wasteful:  # only between batches: inputs are strings by number
            self.compact(int(FAR_PAST))
        if len(self._guards):
            events, _ = self._guards.read(events, keys)
        positions = events.frame.positions[events.within]
        return Inputs(*self._inputs(events), positions, events.moments, events.latest), events.ruled_out

    def _step(self, prepared: tuple[Inputs, Ints]) -> RegisterStep:
        inputs, ruled_out = prepared
        self.algebra.look_at(self.tables.stored)
        return RegisterStep(
            self.edges.arrays,
            self._states,
            self._actions,
            Program(self.code.code, self.code.constants, self.code.constant_tags, self.strings.ranks),
            inputs,
            ruled_out,
            self.tables.arrays,
            self.sets.arrays,
            self._scratch,
            self._entries,
        )

    def _fill(self, state: int, letter: int) -> None:
        self.edges.fill(state, letter)

    def _enlarge(self) -> None:
        self.tables.enlarge()
        self.sets.enlarge()

    def _enlarge_scratch(self) -> None:
        self._scratch, self._entries = _scratch(self.code, 2 * len(self._scratch.pairs))

    def _inputs(self, events: Events) -> tuple[Ints, Ints]:
        """The attributes that instructions read, as numbers and tags."""
        shape = (max(len(self.code.inputs), 1), len(events))
        values, tags = np.zeros(shape, np.int64), np.zeros(shape, np.int8)
        for index, given in enumerate(self.code.inputs):
            column = input_column(given, events.frame)
            missing = column.is_null().to_numpy(zero_copy_only=False)
            values[index] = self._numbers(str(given.term), column, given.kind)[events.within]
            tags[index] = np.where(missing[events.within], op.NULL, op.VALUE)
        return values, tags

    def _numbers(self, name: str, column: Any, kind: Kind) -> Ints:
        if kind is Kind.STRING:
            return self.strings.numbers(column)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if kind is Kind.FLOAT:
            floats = np.array(pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False))
            floats += 0.0
            floats[np.isnan(floats)] = np.nan
            return floats.view(np.int64)
        if kind is Kind.DECIMAL:
            return scaled(column)
        try:
            if kind is Kind.DATE:
                column = column.cast(pa.date32()).cast(pa.int32())
            return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
        except pa.ArrowException as error:
            raise DataError(f"{name}, of type {column.type}, cannot be read: {error}") from None

    # --- results --------------------------------------------------------------------------------------------------

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values."""
        missing = self._tags(place, at) != op.VALUE
        values = self.tables.stored[:, 2 + 2 * place][at]
        match self.code.stored[self.actions[action]][place]:
            case Kind.FLOAT:
                return pa.array(np.ascontiguousarray(values).view(np.float64), mask=missing).cast(kind)
            case Kind.STRING:
                return self.strings.texts().take(pa.array(values, mask=missing)).cast(kind)
            case Kind.TIMESTAMP | Kind.DURATION:
                return pa.array(values, mask=missing).cast(time_type(kind, self.code.unit)).cast(kind)
            case Kind.DATE:
                return pa.array(values.astype(np.int32), mask=missing).cast(pa.date32()).cast(kind)
            case Kind.BOOL:
                return pa.array(values.astype(np.bool_), mask=missing).cast(kind)
            case Kind.DECIMAL:
                return decimals(values, missing, self.code.scale).cast(kind)
        return pa.array(values, mask=missing).cast(kind)

    def refuse_failures(self, action: int, place: int, at: Ints, kind: pa.DataType) -> None:
        """An aggregate that failed is an error."""
        self._tags(place, at)

    def _tags(self, place: int, at: Ints) -> Ints:
        tags: Ints = self.tables.stored[:, 1 + 2 * place][at]
        if (tags == op.FAILED).any():
            raise AggregateError(OVERFLOW.message)
        return tags

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        slots, algebra = self.slots, self.algebra
        algebra.collect(slots, floor)
        sets, stored = occurring(np.append(algebra.sets_held(slots), 0)), algebra.stored(len(self.actions))
        moved_sets, moved_stored = self.tables.keep(sets, stored)
        algebra.move_sets(slots, moved_sets)
        algebra.move_stored(len(self.actions), moved_stored)
        self._collect_sets()
        if self.tables.crowded:
            self.tables.enlarge()
        else:
            self.tables.build()

    def _collect_sets(self) -> None:
        """Forget the sets that no configuration holds."""
        if not self.code.set_cells:
            return
        rows = self.tables.configurations[: self.tables.counts[CONFIGURATIONS]]
        cells = np.array(self.code.set_cells)
        held = rows[:, cells - 1] == op.VALUE
        numbers = rows[:, cells]
        moved = self.sets.keep(occurring(numbers[held]))
        rows[:, cells] = np.where(held, moved[numbers], numbers)
        if self.sets.crowded:
            self.sets.enlarge()

    def compact(self, floor: int) -> None:
        """Forget what can no longer match, and the strings that only it referred to."""
        self.collect(floor)
        self._forget_strings()
        self._guards.compact()

    def _forget_strings(self) -> None:
        """Forget the strings that nothing refers to."""
        if not self.strings.forgettable:
            return
        places = self._texts()
        used = [array[rows, column] for array, rows, column in places]
        moved = self.strings.keep(np.concatenate((np.empty(0, np.int64), *used)))
        for (array, rows, column), numbers in zip(places, used, strict=True):
            array[rows, column] = moved[numbers]
        self.tables.build()
        self.sets.build()

    def _texts(self) -> list[tuple[Ints, Ints, int]]:
        """Where numbers of strings stand: an array, and the rows and the column of it."""
        configurations = self.tables.configurations[: self.tables.counts[CONFIGURATIONS]]
        stored = self.tables.stored[: self.tables.counts[STORED]]
        members = self.sets.tuples[: self.sets.sizes[TUPLES]]
        found = [
            (configurations, np.flatnonzero(configurations[:, tag] == op.VALUE), at) for tag, at in self.code.text_cells
        ]
        for number, action in enumerate(self.actions):
            for place in _texts_among(self.code.stored[action]):
                of_action = (stored[:, 0] == number) & (stored[:, 1 + 2 * place] == op.VALUE)
                found.append((stored, np.flatnonzero(of_action), 2 + 2 * place))
        for number, kinds in enumerate(self.code.member_kinds):
            for place in _texts_among(kinds):
                of_kinds = (members[:, -1] == number) & (members[:, 2 * place] == op.VALUE)
                found.append((members, np.flatnonzero(of_kinds), 2 * place + 1))
        return found

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        super().keep_keys(keys)
        self._guards.keep_keys(keys)

    def dump(self) -> dict[str, Section]:
        """Nodes, slots, interned rows and strings."""
        return {
            **self.algebra.dump(),
            **self.slots.dump(),
            **self.tables.dump(),
            **self.sets.dump(),
            **self.strings.dump(),
            **self._guards.dump(),
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.algebra.load(sections)
        self.slots.load(sections)
        self.tables.load(sections)
        self.sets.load(sections)
        self.strings.load(sections)
        self._check()
        self._guards.load(sections)

    def _check(self) -> None:
        """Whether all numbers refer to something."""
        configurations, sets, _, stored = self.tables.counts.tolist()
        self.algebra.check_sets(self.slots, sets)
        self.algebra.check(self.slots, len(self.actions), stored)
        rows, texts = self.tables.configurations[:configurations], len(self.strings)
        check.in_range("configurations", rows[:, 0], 0, self.plan.states)
        for name, cell in self.code.cells.items():
            held = self._held_in("configurations", rows, cell.at)
            last = cell.at + 1 + (cell.function in ("first", "last"))
            if cell.at + 1 in self.code.set_cells:
                check.in_range(name, held[:, cell.at + 1], 0, int(self.sets.sizes[1]))
                self._check_members(name, held[:, cell.at + 1])
            elif (cell.given if cell.function else cell.kind) is Kind.STRING and cell.function != "count":
                check.in_range(name, held[:, last], 0, texts)
        shown = self.tables.stored[:stored]
        check.in_range("stored", shown[:, 0], 0, max(len(self.actions), 1))
        for number, action in enumerate(self.actions):
            for place, kind in enumerate(self.code.stored[action]):
                held = self._held_in("stored", shown[shown[:, 0] == number], 1 + 2 * place)
                if kind is Kind.STRING:
                    check.in_range("stored", held[:, 2 + 2 * place], 0, texts)

    def _held_in(self, name: str, rows: Ints, at: int) -> Ints:
        """Those of the rows that hold a value there; what all say of it must be a tag."""
        check.in_range(name, rows[:, at], op.UNSET, op.FAILED + 1)
        found: Ints = rows[rows[:, at] == op.VALUE]
        return found

    def _check_members(self, name: str, numbers: Ints) -> None:
        """Whether the members of sets are what a register holds."""
        for number in np.unique(numbers).tolist():
            begin, end = self.sets.sets[number : number + 2]
            members = self.sets.tuples[self.sets.items[begin:end]]
            check.at_least("sets", members, 1)
            for place, kind in enumerate(self.code.members[name]):
                held = self._held_in("tuples", members, 2 * place)
                if kind is Kind.STRING:
                    check.in_range("tuples", held[:, 2 * place + 1], 0, len(self.strings))

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        found = []
        for number, node in zip(*self.slots.of_key(key), strict=True):
            begin, end = self.tables.set_at[number : number + 2]
            rows = self.tables.configurations[self.tables.members[begin:end]]
            found.append(Waiting(int(node), tuple((int(row[0]), self._held(row)) for row in rows)))
        return found

    def _held(self, row: Ints) -> dict[str, Value]:
        """The registers of a configuration that hold one value each."""
        held: dict[str, Value] = {}
        for name, cell in self.code.cells.items():
            if (
                cell.width > 1 + cell.wide
                or name not in self._needed[int(row[0])]
                or row[cell.at] in (op.UNSET, op.FAILED)
            ):
                continue
            value: Value = int(row[cell.at + 1])
            if cell.wide:
                value = joined(int(row[cell.at + 2]), value) // UNITS[self.code.unit]
            if cell.at + 1 in self.code.set_cells:
                begin, end = self.sets.sets[value : value + 2]
                members = self.sets.tuples[self.sets.items[begin:end]]
                value = frozenset(self._member(name, member) for member in members)
            else:
                value = self._plain(value, cell.kind)
            held[name] = value if row[cell.at] == op.VALUE else None
        return held

    def _member(self, name: str, member: Ints) -> tuple[Value, ...]:
        kinds = self.code.members[name]
        numbers = [(int(member[2 * index]), int(member[2 * index + 1])) for index in range(len(kinds))]
        return tuple(
            self._plain(number, kind) if tag == op.VALUE else None
            for (tag, number), kind in zip(numbers, kinds, strict=True)
        )

    def _plain(self, number: int, kind: Kind) -> Value:
        """A number as the value that it stands for."""
        match kind:
            case Kind.FLOAT:
                return float(np.int64(number).view(np.float64))
            case Kind.STRING:
                return self.strings.text(number)
            case Kind.BOOL:
                return bool(number)
            case Kind.DECIMAL:
                return Decimal(number).scaleb(-self.code.scale)
            case Kind.TIMESTAMP | Kind.DURATION:
                made = pa.timestamp if kind is Kind.TIMESTAMP else pa.duration
                try:
                    return pa.scalar(number, made(self.code.unit)).as_py()
                except (ValueError, OverflowError, pa.ArrowException):  # Python's times do not reach so far
                    return number
        return number


def _live_cells(plan: Plan, code: Code) -> Ints:
    """Of each state, which cells of a configuration are still looked at."""
    live = np.zeros((plan.states, code.width), np.bool_)
    for state, names in plan.live.items():
        for name in names:
            cell = code.cells[name]
            live[state, cell.at : cell.at + 1 + cell.width] = True
    return live


def _texts_among(kinds: Sequence[Kind]) -> list[int]:
    return [place for place, kind in enumerate(kinds) if kind is Kind.STRING]


def _scratch(code: Code, entries: int) -> tuple[Scratch, Entries]:
    """Where a step works that leads to so many entries at most."""
    old, new = np.zeros(code.width, np.int64), np.zeros(code.width, np.int64)
    values = np.zeros(2 * code.stack_size, np.int64)
    stack = Stack(values, values.view(np.float64), np.zeros(code.stack_size, np.int64))
    pairs, group = np.zeros((entries, 3), np.int64), np.zeros(entries, np.int64)
    scratch = Scratch(old, Cells(new, new.view(np.float64)), stack, np.zeros(code.stored_width, np.int64), pairs, group)
    marks, stored, targets = (np.zeros(entries, np.int64) for _ in range(3))
    return scratch, Entries(marks, stored, targets, np.zeros(entries, np.bool_))
