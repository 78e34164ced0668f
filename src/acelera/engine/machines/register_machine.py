"""Runs with registers, determinised by marks: one node for each set of configurations that the same marks lead to.

A configuration is a state with the values of its registers. Runs that have marked the same are followed together, as
the set of their configurations, so nothing is found twice and runs that leave no trace in the match are never listed
one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.jit import announce
from acelera.engine.machines import register_kernels as registers
from acelera.engine.machines.guards import Guard
from acelera.engine.machines.table_machine import Events, Waiting
from acelera.engine.nodes import kernels
from acelera.engine.nodes.arena import Arena
from acelera.engine.nodes.slots import Slots
from acelera.engine.plan import NO_ACTION, Action, Edge, Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.code import UNITS, Code
from acelera.engine.registers.encoding import decimals, input_column, scaled, time_type
from acelera.engine.registers.interned import Strings, Tables, ValueSets
from acelera.engine.registers.stack_machine import TUPLES
from acelera.engine.registers.wide_times import joined
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown
from acelera.engine.storage.snapshots import Section
from acelera.errors import AggregateError, DataError
from acelera.language.aggregates import OVERFLOW
from acelera.language.events import Value
from acelera.language.types import Kind

Ints = npt.NDArray[Any]


class RegisterMachine:
    """Configurations in tables; work for each event grows with the number of configurations in the window."""

    def __init__(
        self,
        plan: Plan,
        alphabet: Alphabet,
        code: Code,
        guards: Sequence[Guard] = (),
        unseen: frozenset[Action] = frozenset(),
    ) -> None:
        announce(registers.advance_registers)
        self.plan, self.code, self._alphabet, self._guards = plan, code, alphabet, guards
        self.arena, self.slots = Arena(), Slots()
        self.actions: list[Action] = list(dict.fromkeys(e.action for e in plan.edges if e.action != NO_ACTION))
        self.strings = Strings(code.texts, code.orders_texts)
        self.tables = Tables(code.width, code.stored_width, plan.initial)
        self.sets = ValueSets(code.member_width)
        self._universal = _universal(code)
        self._outgoing: dict[int, list[int]] = {}
        for index, edge in enumerate(plan.edges):
            self._outgoing.setdefault(edge.source, []).append(index)
        self._lay_out_edges(plan.edges)
        self._seen = np.array([action not in unseen for action in self.actions] or [False], np.bool_)
        self._needed: list[set[str]] = [set() for _ in range(plan.states)]  # the registers that each state is left with
        for edge in plan.edges:
            self._needed[edge.target] |= {name for name, _ in edge.assign}
        self._from, self._count = np.full((plan.states, 8), -1, np.int32), np.zeros((plan.states, 8), np.int32)
        self._waits = np.zeros((plan.states, 8), np.bool_)
        self._list: list[int] = []
        self._edge_list = np.zeros(1, np.int32)
        self._pairs = np.zeros((64, 3), np.int64)

    def _lay_out_edges(self, edges: Sequence[Edge]) -> None:
        number = {action: index for index, action in enumerate(self.actions)} | {NO_ACTION: kernels.NOTHING}
        self._target = np.array([edge.target for edge in edges] or [0], np.int32)
        self._action = np.array([number[edge.action] for edge in edges] or [0], np.int32)
        ranges = zip(self.code.assign, self.code.marked, strict=True)
        self._code = np.array([(begin, middle, end) for (begin, middle), (_, end) in ranges] or [(0, 0, 0)], np.int32)
        states = range(self.plan.states)
        self._goes_on = np.array([state in self._outgoing for state in states], np.bool_)
        self._is_final = np.array([state in self.plan.finals for state in states], np.bool_)
        self._stores = np.array([len(self.code.stored[action]) for action in self.actions] or [0], np.int32)

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, events: Events, keys: int) -> Iterator[None]:
        """Read events; see Machine."""
        counters, slots = self.arena.counters, self.slots
        self._make_room()
        slots.make_room(keys)
        if self.strings.wasteful:  # only between batches: inputs are strings by number
            self.compact(int(kernels.FAR_PAST))
        events = self._guarded(events, keys)
        inputs = self._inputs(events)
        positions = events.frame.positions[events.within]
        counters[kernels.NEXT_EVENT] = 0
        seen = -1
        while True:
            reason = self._advance(events, positions, *inputs)
            if reason == kernels.DONE:
                break
            if reason == registers.FAILED:
                raise AggregateError(OVERFLOW.message)
            if reason == kernels.TABLE:
                self._fill(int(counters[kernels.ASKED_STATE]), int(counters[kernels.ASKED_LETTER]))
            elif reason == kernels.SLOTS:
                slots.make_space(int(counters[kernels.ASKED_SLOTS]))
            elif reason == registers.PAIRS:
                self._pairs = grown(self._pairs, 2 * len(self._pairs))
            elif reason == kernels.HITS and not counters[kernels.HIT_COUNT]:
                self.arena.make_room_for_hits()
            else:
                yield
                at = int(counters[kernels.NEXT_EVENT])
                if reason == kernels.NODES and at != seen:
                    self.collect(int(kernels.FAR_PAST))
                elif reason == kernels.NODES:  # one event needs more than there is
                    self.arena.enlarge()
                    self.tables.enlarge()
                    self.sets.enlarge()
                if self.arena.relieve(at - seen):
                    self.tables.enlarge()
                seen = at
        yield

    def _guarded(self, events: Events, keys: int) -> Events:
        """The events with what the guards say of them; each guard may look at those before it."""
        if not self._guards:
            return events
        events = replace(events, latest=np.zeros((len(self._guards), len(events)), np.int64))
        for number, guard in enumerate(self._guards):
            latest, changed = guard.read(events, keys)
            events.latest[number] = latest
            events = replace(events, ruled_out=events.ruled_out | changed)
        return events

    def _advance(self, events: Events, positions: Ints, inputs: Ints, input_tags: Ints) -> int:
        tables, slots = self.tables, self.slots
        return registers.advance_registers(
            events.letters,
            events.keys,
            events.rows,
            events.ticks,
            events.floors,
            positions,
            events.moments,
            events.latest,
            events.ruled_out,
            inputs,
            input_tags,
            self._from,
            self._count,
            self._edge_list,
            self._waits,
            self._target,
            self._action,
            self._code,
            self._goes_on,
            self._is_final,
            self._stores,
            self._seen,
            self.code.code,
            self.code.constants,
            self.code.constant_tags,
            self.strings.ranks,
            tables.configurations,
            tables.configuration_table,
            tables.set_at,
            tables.members,
            tables.set_table,
            tables.stored,
            tables.stored_table,
            tables.counts,
            *slots.arrays,
            *self.arena.nodes,
            tables.target_stamp,
            tables.target_node,
            *self.arena.hits,
            self._pairs,
            self.arena.counters,
            self.code.stack_size,
            *self._universal,
            *self.sets.arrays,
        )

    def _make_room(self) -> None:
        """For all letters that have occurred."""
        letters, width = len(self._alphabet.holding), self._from.shape[1]
        if letters > width:
            more = (self.plan.states, max(letters, 2 * width) - width)
            self._from = np.concatenate((self._from, np.full(more, -1, np.int32)), axis=1)
            self._count = np.concatenate((self._count, np.zeros(more, np.int32)), axis=1)
            self._waits = np.concatenate((self._waits, np.zeros(more, np.bool_)), axis=1)

    def _fill(self, state: int, letter: int) -> None:
        """Find the edges that a letter permits in a state."""
        holding, edges = self._alphabet.holding[letter], self.plan.edges
        found = [index for index in self._outgoing.get(state, ()) if edges[index].tests <= holding]
        self._from[state, letter], self._count[state, letter] = len(self._list), len(found)
        self._waits[state, letter] = len(found) == 1 and edges[found[0]].idle
        self._list += found
        self._edge_list = np.array(self._list or [0], np.int32)

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
        slots, arena = self.slots, self.arena
        arena.collect(slots, floor)
        held = slots.held
        storing = np.flatnonzero(arena.mark[: arena.size] >= len(self.actions))
        sets = np.unique(np.append(slots.state[held], 0))
        moved_sets, moved_stored = self.tables.keep(sets, np.unique(arena.two[storing]))
        slots.state[held] = moved_sets[slots.state[held]]
        arena.two[storing] = moved_stored[arena.two[storing]]
        self._collect_sets()
        if self.tables.crowded:
            self.tables.enlarge()
        else:
            self.tables.build()

    def _collect_sets(self) -> None:
        """Forget the sets that no configuration holds."""
        if not self.code.set_cells:
            return
        rows = self.tables.configurations[: self.tables.counts[registers.CONFIGURATIONS]]
        cells = np.array(self.code.set_cells)
        held = rows[:, cells - 1] == op.VALUE
        numbers = rows[:, cells]
        moved = self.sets.keep(np.unique(numbers[held]))
        rows[:, cells] = np.where(held, moved[numbers], numbers)
        if self.sets.crowded:
            self.sets.enlarge()

    def compact(self, floor: int) -> None:
        """Forget what can no longer match, and the strings that only it referred to."""
        self.collect(floor)
        self._forget_strings()
        for guard in self._guards:
            guard.compact()

    def _forget_strings(self) -> None:
        """Forget the strings that nothing refers to."""
        places = self._texts()
        used = [array[rows, column] for array, rows, column in places]
        moved = self.strings.keep(np.unique(np.concatenate((np.empty(0, np.int64), *used))))
        for (array, rows, column), numbers in zip(places, used, strict=True):
            array[rows, column] = moved[numbers]
        self.tables.build()
        self.sets.build()

    def _texts(self) -> list[tuple[Ints, Ints, int]]:
        """Where numbers of strings stand: an array, and the rows and the column of it."""
        configurations = self.tables.configurations[: self.tables.counts[registers.CONFIGURATIONS]]
        stored = self.tables.stored[: self.tables.counts[registers.STORED]]
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

    def busy_keys(self, keys: int) -> Ints:
        """The keys with a partial match: what guards have seen of others is over before their next match starts."""
        return self.slots.busy(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget the others."""
        self.slots.keep(keys)
        for guard in self._guards:
            guard.keep_keys(keys)

    def dump(self) -> dict[str, Section]:
        """Nodes, slots, interned rows and strings."""
        dumped: dict[str, Section] = {
            **self.arena.dump(),
            **self.slots.dump(),
            **self.tables.dump(),
            **self.sets.dump(),
            **self.strings.dump(),
        }
        for number, guard in enumerate(self._guards):
            dumped |= {f"guard{number}.{name}": section for name, section in guard.dump().items()}
        return dumped

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.arena.load(sections)
        self.slots.load(sections)
        self.tables.load(sections)
        self.sets.load(sections)
        self.strings.load(sections)
        self._check()
        for number, guard in enumerate(self._guards):
            prefix = f"guard{number}."
            guard.load({k.removeprefix(prefix): part for k, part in sections.items() if k.startswith(prefix)})

    def _check(self) -> None:
        """Whether all numbers refer to something."""
        configurations, sets, _, stored = self.tables.counts.tolist()
        self.arena.check(len(self.actions), stored)
        self.slots.check(sets, self.arena.size)
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


def _texts_among(kinds: Sequence[Kind]) -> list[int]:
    return [place for place, kind in enumerate(kinds) if kind is Kind.STRING]


def _universal(code: Code) -> tuple[Ints, Ints, Ints]:
    """Conditions over sets as the kernel wants them: a range for each edge, their instructions, their registers."""
    ranges: list[tuple[int, ...]] = []
    instructions: list[tuple[int, ...]] = []
    sets: list[tuple[int, ...]] = []
    for listed in code.universal:
        ranges.append((len(instructions), len(instructions) + len(listed)))
        for each in listed:
            instructions.append((*each.code, len(sets), len(sets) + len(each.sets)))
            sets += each.sets
    return (
        np.array(ranges or [(0, 0)], np.int32),
        np.array(instructions or [(0, 0, 0, 0)], np.int32),
        np.array(sets or [(0, 0, 0)], np.int32),
    )
