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

from acelera.automata.terms import Attr, Sql
from acelera.engine import kernels
from acelera.engine import opcodes as op
from acelera.engine import register_kernels as registers
from acelera.engine.arena import Arena, Slots, grown
from acelera.engine.compiled import announce
from acelera.engine.frames import Frame
from acelera.engine.guards import Guard
from acelera.engine.instructions import Code, Input
from acelera.engine.letters import Alphabet, over_columns
from acelera.engine.machines import Events, Waiting
from acelera.engine.plan import NO_ACTION, Action, Edge, Plan
from acelera.engine.snapshots import Section
from acelera.errors import AggregateError, DataError
from acelera.language import ast
from acelera.language.aggregates import OVERFLOW
from acelera.language.evaluation import evaluate
from acelera.language.events import Value
from acelera.language.types import Kind

Ints = npt.NDArray[Any]


class Strings:
    """Strings as numbers, in order of first appearance, with their ranks in the order of strings."""

    def __init__(self, known: Sequence[str]) -> None:
        self.listed = list(known)
        self._number = {text: number for number, text in enumerate(known)}
        self._ranks = np.empty(0, np.int64)

    def numbers(self, column: Any) -> Ints:
        """The numbers of a column's values; 0 for NULL."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = [self.number(text) for text in column.dictionary.to_pylist()]
        codes = np.array([*known, 0], np.int64)
        indices = column.indices.cast(pa.int32()).fill_null(len(known)) if column.null_count else column.indices
        return np.asarray(codes[indices.to_numpy()])

    def number(self, text: str | None) -> int:
        """The number of a string."""
        number = self._number.setdefault(text or "", len(self.listed))
        if number == len(self.listed):
            self.listed.append(text or "")
        return number

    @property
    def ranks(self) -> Ints:
        """For each number where its string stands in the order of all."""
        if len(self._ranks) < max(len(self.listed), 1):
            self._ranks = np.zeros(max(len(self.listed), 1), np.int64)
            self._ranks[sorted(range(len(self.listed)), key=self.listed.__getitem__)] = np.arange(len(self.listed))
        return self._ranks


class _Tables:
    """Interned rows: configurations, sets of them, stored values."""

    def __init__(self, width: int, stored_width: int, initial: int) -> None:
        self.counts = np.array([1, 1, 1, 0], np.int64)
        self.configurations = np.zeros((1 << 9, width), np.int64)
        self.configurations[0, 0] = initial
        self.set_at = np.zeros((1 << 9) + 1, np.int64)
        self.set_at[1] = 1
        self.members = np.zeros(1 << 11, np.int64)
        self.stored = np.zeros((1 << 9, stored_width), np.int64)
        self.target_stamp, self.target_node = np.zeros(1 << 9, np.int64), np.zeros(1 << 9, np.int32)
        self.build()

    def build(self) -> None:
        """The tables by which rows are found again; each has twice as many places as there can be rows."""
        configurations, sets, _, stored = self.counts.tolist()
        self.configuration_table = np.full(2 * len(self.configurations), -1, np.int32)
        self.set_table = np.full(2 * (len(self.set_at) - 1), -1, np.int32)
        self.stored_table = np.full(2 * len(self.stored), -1, np.int32)
        registers.intern_again(self.configurations, configurations, self.configuration_table)
        registers.intern_sets_again(self.set_at, self.members, sets, self.set_table)
        registers.intern_again(self.stored, stored, self.stored_table)

    def enlarge(self) -> None:
        """Room for twice as much."""
        self.configurations = grown(self.configurations, 2 * len(self.configurations))
        sets = 2 * (len(self.set_at) - 1)
        self.set_at, self.members = grown(self.set_at, sets + 1), grown(self.members, 2 * len(self.members))
        self.stored = grown(self.stored, 2 * len(self.stored))
        self.target_stamp, self.target_node = grown(self.target_stamp, sets), grown(self.target_node, sets)
        self.build()

    @property
    def crowded(self) -> bool:
        """Whether more than a quarter is taken."""
        room = (len(self.configurations), len(self.set_at) - 1, len(self.members), len(self.stored))
        return bool((4 * self.counts > np.array(room)).any())

    def dump(self) -> dict[str, Ints]:
        """All rows, for a snapshot."""
        configurations, sets, members, stored = self.counts.tolist()
        return {
            "configurations": self.configurations[:configurations],
            "set_at": self.set_at[: sets + 1],
            "members": self.members[:members],
            "stored": self.stored[:stored],
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        names = ("configurations", "set_at", "members", "stored")
        self.counts[:] = [len(sections[name]) - (name == "set_at") for name in names]
        while self.crowded:
            self.enlarge()
        for name in names:
            getattr(self, name)[: len(sections[name])] = sections[name]
        self.build()

    def keep(self, sets: Ints, stored: Ints) -> tuple[Ints, Ints]:
        """Only these sets and stored values; where they went. The tables are to be built again."""
        places, sizes = _members(self.set_at, sets)
        used, members = np.unique(self.members[places], return_inverse=True)
        self.configurations[: len(used)] = self.configurations[used]
        self.members[: len(members)] = members
        self.set_at[1 : len(sets) + 1] = np.cumsum(sizes)
        self.stored[: len(stored)] = self.stored[stored]
        moved_sets, moved_stored = np.zeros(len(self.set_at), np.int64), np.zeros(len(self.stored), np.int64)
        moved_sets[sets], moved_stored[stored] = np.arange(len(sets)), np.arange(len(stored))
        self.counts[:] = len(used), len(sets), len(members), len(stored)
        self.target_stamp[:] = 0
        return moved_sets, moved_stored


class _ValueSets:
    """The sets that registers hold, and their members, interned."""

    def __init__(self, width: int) -> None:
        self.sizes = np.zeros(registers.SET_COUNTS, np.int64)
        self.tuples = np.zeros((1 << 6, width), np.int64)
        self.sets = np.zeros((1 << 6) + 1, np.int64)
        self.items = np.zeros(1 << 8, np.int64)
        self.build()

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """As the kernel wants them."""
        return self.tuples, self.tuple_table, self.sets, self.items, self.sets_table, self.sizes

    def build(self) -> None:
        """The tables by which they are found again."""
        tuples, sets, _ = self.sizes.tolist()
        self.tuple_table = np.full(2 * len(self.tuples), -1, np.int32)
        self.sets_table = np.full(2 * (len(self.sets) - 1), -1, np.int32)
        registers.intern_again(self.tuples, tuples, self.tuple_table)
        registers.intern_sets_again(self.sets, self.items, sets, self.sets_table)

    def enlarge(self) -> None:
        """Room for twice as much."""
        self.tuples, self.items = grown(self.tuples, 2 * len(self.tuples)), grown(self.items, 2 * len(self.items))
        self.sets = grown(self.sets, 2 * (len(self.sets) - 1) + 1)
        self.build()

    @property
    def crowded(self) -> bool:
        """Whether more than a quarter is taken."""
        return bool((4 * self.sizes > np.array((len(self.tuples), len(self.sets) - 1, len(self.items)))).any())

    def keep(self, sets: Ints) -> Ints:
        """Only these sets; where they went."""
        places, sizes = _members(self.sets, sets)
        used, items = np.unique(self.items[places], return_inverse=True)
        self.tuples[: len(used)] = self.tuples[used]
        self.items[: len(items)] = items
        self.sets[1 : len(sets) + 1] = np.cumsum(sizes)
        moved = np.zeros(len(self.sets), np.int64)
        moved[sets] = np.arange(len(sets))
        self.sizes[:] = len(used), len(sets), len(items)
        self.build()
        return moved

    def dump(self) -> dict[str, Ints]:
        """All of them, for a snapshot."""
        tuples, sets, items = self.sizes.tolist()
        return {"tuples": self.tuples[:tuples], "sets": self.sets[: sets + 1], "items": self.items[:items]}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Those of a snapshot."""
        names = ("tuples", "sets", "items")
        self.sizes[:] = [len(sections[name]) - (name == "sets") for name in names]
        while self.crowded:
            self.enlarge()
        for name in names:
            getattr(self, name)[: len(sections[name])] = sections[name]
        self.build()


def _members(at: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """Where the members of some sets stand, and how many each has."""
    sizes = (at[1:] - at[:-1])[sets]
    return np.repeat(at[sets] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum()), sizes


class RegisterMachine:
    """Configurations in tables; work for each event grows with the number of configurations in the window."""

    def __init__(self, plan: Plan, alphabet: Alphabet, code: Code, guards: Sequence[Guard] = ()) -> None:
        announce(registers.advance_registers)
        self.plan, self.code, self._alphabet, self._guards = plan, code, alphabet, guards
        self.arena, self.slots = Arena(), Slots()
        self.actions: list[Action] = list(dict.fromkeys(e.action for e in plan.edges if e.action != NO_ACTION))
        self.strings = Strings(code.texts)
        self.tables = _Tables(code.width, code.stored_width, plan.initial)
        self.sets = _ValueSets(code.member_width)
        self._universal = _universal(code)
        self._outgoing: dict[int, list[int]] = {}
        for index, edge in enumerate(plan.edges):
            self._outgoing.setdefault(edge.source, []).append(index)
        self._lay_out_edges(plan.edges)
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
                slots.widen()
            elif reason == registers.PAIRS:
                self._pairs = grown(self._pairs, 2 * len(self._pairs))
            elif reason == kernels.HITS and not counters[kernels.HIT_COUNT]:
                self.arena.make_room_for_hits()
            else:
                yield
                if reason == kernels.NODES:
                    at = int(counters[kernels.NEXT_EVENT])
                    if at == seen:  # one event needs more than there is
                        self.arena.enlarge()
                        self.tables.enlarge()
                        self.sets.enlarge()
                    else:
                        self.collect(int(kernels.FAR_PAST))
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
            slots.state,
            slots.node,
            slots.count,
            slots.floor,
            *self.arena.nodes,
            tables.target_stamp,
            tables.target_node,
            np.empty(slots.state.shape[1], np.int32),
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
            column = _input_column(given, events.frame)
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
            return _scaled(column)
        try:
            if kind in (Kind.TIMESTAMP, Kind.DURATION):
                column = column.cast(_time_type(column.type, self.code.unit)).cast(pa.int64())
            elif kind is Kind.DATE:
                column = column.cast(pa.date32()).cast(pa.int32())
            return np.asarray(pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False))
        except pa.ArrowException as error:
            raise DataError(f"{name}, of type {column.type}, cannot be read: {error}") from None

    # --- results --------------------------------------------------------------------------------------------------

    def stored_values(self, action: int, place: int, at: Ints, kind: pa.DataType) -> Any:
        """What an action has stored in a place, for some of its stored values."""
        rows = self.tables.stored[at]
        tags, values = rows[:, 1 + 2 * place], rows[:, 2 + 2 * place]
        if (tags == op.FAILED).any():
            raise AggregateError(OVERFLOW.message)
        missing = tags != op.VALUE
        match self.code.stored[self.actions[action]][place]:
            case Kind.FLOAT:
                return pa.array(np.ascontiguousarray(values).view(np.float64), mask=missing).cast(kind)
            case Kind.STRING:
                texts = pa.array(self.strings.listed or [""], pa.string())
                return texts.take(pa.array(values, mask=missing)).cast(kind)
            case Kind.TIMESTAMP | Kind.DURATION:
                return pa.array(values, mask=missing).cast(_time_type(kind, self.code.unit)).cast(kind)
            case Kind.DATE:
                return pa.array(values.astype(np.int32), mask=missing).cast(pa.date32()).cast(kind)
            case Kind.BOOL:
                return pa.array(values.astype(np.bool_), mask=missing).cast(kind)
            case Kind.DECIMAL:
                return _decimals(values, missing, self.code.scale).cast(kind)
        return pa.array(values, mask=missing).cast(kind)

    # --- memory ---------------------------------------------------------------------------------------------------

    def collect(self, floor: int) -> None:
        """Forget what can no longer match."""
        slots, arena = self.slots, self.arena
        arena.collect(slots, floor)
        held = np.arange(slots.state.shape[1]) < slots.count[:, None]
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

    def keep_busy_keys(self, keys: int) -> Ints:
        """Forget the other keys."""
        busy = np.flatnonzero(self.slots.count[:keys])
        self.slots.keep(busy)
        return busy

    def dump(self) -> dict[str, Section]:
        """Nodes, slots, interned rows and strings."""
        dumped: dict[str, Section] = {
            **self.arena.dump(),
            **self.slots.dump(),
            **self.tables.dump(),
            **self.sets.dump(),
        }
        for number, guard in enumerate(self._guards):
            dumped |= {f"guard{number}.{name}": section for name, section in guard.dump().items()}
        return {**dumped, "strings": list(self.strings.listed)}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.arena.load(sections)
        self.slots.load(sections)
        self.tables.load(sections)
        self.sets.load(sections)
        self.strings = Strings(sections["strings"])
        for number, guard in enumerate(self._guards):
            prefix = f"guard{number}."
            guard.load({k.removeprefix(prefix): part for k, part in sections.items() if k.startswith(prefix)})

    def waiting(self, key: int) -> list[Waiting]:
        """The partial matches of a key."""
        found = []
        for s in range(self.slots.count[key] if key < len(self.slots.count) else 0):
            begin, end = self.tables.set_at[self.slots.state[key, s] : self.slots.state[key, s] + 2]
            rows = self.tables.configurations[self.tables.members[begin:end]]
            found.append(Waiting(int(self.slots.node[key, s]), tuple((int(row[0]), self._held(row)) for row in rows)))
        return found

    def _held(self, row: Ints) -> dict[str, Value]:
        """The registers of a configuration that hold one value each."""
        held: dict[str, Value] = {}
        for name, cell in self.code.cells.items():
            if cell.width > 1 or name not in self._needed[int(row[0])] or row[cell.at] in (op.UNSET, op.FAILED):
                continue
            value: Value = int(row[cell.at + 1])
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
                return self.strings.listed[number]
            case Kind.BOOL:
                return bool(number)
            case Kind.DECIMAL:
                return Decimal(number).scaleb(-self.code.scale)
            case Kind.TIMESTAMP:
                return pa.scalar(number, pa.timestamp(self.code.unit)).as_py()
            case Kind.DURATION:
                return pa.scalar(number, pa.duration(self.code.unit)).as_py()
        return number


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


def _input_column(given: Input, frame: Frame) -> Any:
    """An attribute, or an expression over attributes, evaluated once for each combination of their values."""
    if isinstance(given.term, Attr):
        return frame[given.term.name]
    assert isinstance(given.term, Sql)
    expression = over_columns(given.term)
    names = list(dict.fromkeys(node.name for node in ast.walk(expression) if isinstance(node, ast.Attribute)))
    known: dict[tuple[Value, ...], Value] = {}
    values = []
    for row in zip(*(frame.plain(name) for name in names), strict=True):
        if row not in known:
            bound = dict(zip(names, row, strict=True))
            known[row] = evaluate(expression, lambda node, bound=bound: bound[node.name])  # type: ignore[misc]
        values.append(known[row])
    kinds = {Kind.FLOAT: pa.float64(), Kind.STRING: pa.string(), Kind.BOOL: pa.bool_(), Kind.DATE: pa.int32()}
    return pa.array(
        values if names else [evaluate(expression, _nothing)] * len(frame), kinds.get(given.kind, pa.int64())
    )


def _scaled(column: Any) -> Ints:
    """Decimals that fit into 64 bits as integers of their scale."""
    column = column.cast(pa.decimal128(38, column.type.scale)).fill_null(0)
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    return halves[column.offset : column.offset + len(column), 0]


def _decimals(values: Ints, missing: Ints, scale: int) -> Any:
    """The decimals that integers of a scale stand for."""
    halves = np.stack((values, values >> 63), axis=1)
    valid = pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [valid, pa.py_buffer(halves)])


def _nothing(node: ast.Attribute) -> Value:
    raise AssertionError(f"a constant has no attribute {node.name}")


def _time_type(kind: pa.DataType, unit: str) -> pa.DataType:
    return pa.duration(unit) if pa.types.is_duration(kind) else pa.timestamp(unit, kind.tz)
