"""A machine carried out by the kernel: numbers in, numbers out, any number of keys at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import announce
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.interned import Strings
from acelera.engine.storage import validation as check
from acelera.errors import AggregateError
from acelera.language.aggregates import OVERFLOW
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.coding import Coded
from acelera.stages.errors import too_many
from acelera.stages.kernel import where as k
from acelera.stages.kernel.advancing import advance
from acelera.stages.kernel.arriving import find_again
from acelera.stages.memory import Memory
from acelera.stages.native.compiling import known, native

Ints = npt.NDArray[Any]

_ROOM = {at.ROWS_ROOM: 16, at.GUARDS_ROOM: 16, at.LATER_ROOM: 16, at.TOLD_ROOM: 1024, at.WAITS_ROOM: 16}
"""How many rows there is room for at first."""

_OWN_EVENTS = 16
_SOME = 1024
"""So many stages are taken by the kernel at most before machine code is asked again."""

ENOUGH = 50_000
"""So many stages are worth machine code, which takes a tenth of a second to write, if it is not known already."""
_KEPT = 1024
"""So many configurations may wait before it is looked which of them are of no use any more."""


class Batch(NamedTuple):
    """Where stages are written, with the columns of `layout.STAGE_…`; what own events read of them; events: their
    types, and their slots, of which each is a value and a tag (op.VALUE or op.NULL).
    """

    stages: Ints
    stage_inputs: Ints
    types: Ints
    inputs: Ints


class Heard(NamedTuple):
    """What was told: the stage in the batch, the head, and for each argument a tag (0 for NULL) and a value."""

    stage: Ints
    head: Ints
    arguments: Ints


class QuickMachine:
    """Configurations of all keys, and the texts that they refer to.

    After an error, `reached` is the number of the stage in the batch that it came at.
    """

    def __init__(self, code: Coded, most: int) -> None:
        self.code, self._most = code, most
        self.strings = Strings(code.texts, code.orders_texts)
        self._memory = Memory()
        self._keys = 0
        self._own = _OWN_EVENTS
        self._taken = 0
        self._native = known(code)
        self._is_written = self._native is not None
        self._looked = _KEPT
        self.reached = 0
        self._put_plan()
        self._put_scratch()

    # --- memory -----------------------------------------------------------------------------------------------

    def _put_plan(self) -> None:
        memory, code, plan = self._memory, self.code, self.code.plan
        for place, table in (
            (at.EDGES, plan.edges),
            (at.STEPS, plan.steps),
            (at.ABSENCES, plan.absences),
            (at.OUTCOMES, plan.outcomes),
            (at.STATES, plan.states),
            (at.GUARDS, plan.guards),
            (at.HEADS, plan.heads),
            (at.LISTED, plan.listed),
            (at.FIRST, plan.first),
            (at.COUNT, plan.count),
            (at.GUARDS_LISTED, plan.guards_listed),
            (at.HEADS_LISTED, plan.heads_listed),
            (at.REPEATS, plan.repeats),
            (at.FIRSTS, plan.firsts),
            (at.CODE, code.code),
        ):
            memory.put(place, table)
        for place, number in (
            (at.STATE_COUNT, len(code.machine.states)),
            (at.PHASE_COUNT, len(code.machine.phases)),
            (at.FIRST_COUNT, len(code.machine.firsts)),
            (at.WIDTH, code.width),
            (at.GUARD_WIDTH, 1 + 2 * code.key_width + max(code.deepest, 1)),
            (at.TOLD_WIDTH, 2 + 2 * code.head_width),
            (at.SLOTS, max(code.slots, 1)),
            (at.STAGE_SLOTS, len(code.machine.stage_slots)),
            (at.STACK_SIZE, code.stack_size),
        ):
            memory[place] = number

    def _put_scratch(self) -> None:
        memory, code = self._memory, self.code
        memory.hold(at.WORK, (code.deepest + 2) * code.width)
        memory.hold(at.NOTHING, code.width)
        memory.hold(at.BLOCK, at.BLOCK_ROWS * code.width + 1)
        memory.hold(at.PLACE, code.deepest + 1)
        memory.hold(at.TAKEN, code.deepest + 1)
        memory.hold(at.ROW, max(memory[at.GUARD_WIDTH], memory[at.TOLD_WIDTH]))
        memory.hold(at.STACK, 3 * code.stack_size)
        most = max((len(edge.begins) for edge in code.machine.edges), default=0)
        memory[at.LATER_WIDTH] = 1 + code.width + most * memory[at.GUARD_WIDTH]
        for place, room in _ROOM.items():
            self._make_room(place, room)
        self._make_arena(64)
        self._keys_up_to(1)

    def _make_room(self, place: int, room: int) -> None:
        """Room for so many rows, and for the table by which they are found."""
        memory = self._memory
        rows, width, table, mask = {
            at.ROWS_ROOM: (at.ROWS, memory[at.WIDTH], at.ROWS_TABLE, at.ROWS_MASK),
            at.GUARDS_ROOM: (at.GUARD_ROWS, memory[at.GUARD_WIDTH], at.GUARDS_TABLE, at.GUARDS_MASK),
            at.LATER_ROOM: (at.LATER, memory[at.LATER_WIDTH], None, None),
            at.TOLD_ROOM: (at.TOLD, memory[at.TOLD_WIDTH], at.TOLD_TABLE, at.TOLD_MASK),
            at.WAITS_ROOM: (at.WAITS, memory[at.WIDTH] + 2, at.WAITS_TABLE, at.WAITS_MASK),
        }[place]
        memory.hold(rows, room * width)
        memory[place] = room
        if table is not None and mask is not None:
            size = 1 << (2 * room - 1).bit_length()
            memory.hold(table, size)[:] = -1
            memory[mask] = size - 1

    def _make_arena(self, room: int) -> None:
        self._memory.hold(at.ARENA, room * self.code.width)
        self._memory[at.ARENA_ROOM] = room

    def _keys_up_to(self, keys: int) -> None:
        known = self._keys
        self._keys = max(known, keys)
        held = self._memory.hold(at.KEYS, at.KEY_COLUMNS)
        if self._keys * at.KEY_COLUMNS > len(held):
            held = self._memory.hold(at.KEYS, 2 * self._keys * at.KEY_COLUMNS)
        held.reshape(-1, at.KEY_COLUMNS)[known:, at.KEY_HEAD] = -1

    @property
    def _key_rows(self) -> Ints:
        return self._memory.stretch(at.KEYS)[: self._keys * at.KEY_COLUMNS].reshape(-1, at.KEY_COLUMNS)

    @property
    def _arena(self) -> Ints:
        width = self.code.width
        return self._memory.stretch(at.ARENA)[: self._memory[at.ARENA_ROOM] * width].reshape(-1, width)

    @property
    def _waits(self) -> Ints:
        """Those who wait: their registers, their keys, and the one before of the same key."""
        width = self.code.width + 2
        return self._memory.stretch(at.WAITS)[: self._memory[at.WAITING] * width].reshape(-1, width)

    # --- steps ------------------------------------------------------------------------------------------------

    def batch(self, stages: int, events: int) -> Batch:
        """Room for so many stages and events, to be filled before they are taken."""
        memory = self._memory
        slots, stage_slots = 2 * memory[at.SLOTS], 2 * memory[at.STAGE_SLOTS]
        memory[at.GIVEN], memory[at.STAGE_COUNT] = events, stages
        self._make_room_for_events()
        memory.hold(at.STAGES, (stages + 1) * at.STAGE_COLUMNS)
        memory.hold(at.STAGE_INPUTS, stages * stage_slots)
        listed = memory.stretch(at.STAGES)[: (stages + 1) * at.STAGE_COLUMNS].reshape(-1, at.STAGE_COLUMNS)
        listed[stages] = 0  # a stage without events
        return Batch(
            listed[:stages],
            memory.stretch(at.STAGE_INPUTS)[: stages * stage_slots].reshape(stages, stage_slots),
            memory.stretch(at.TYPES)[:events],
            memory.stretch(at.INPUTS)[: events * slots].reshape(events, slots),
        )

    def _make_room_for_events(self) -> None:
        memory = self._memory
        room = memory[at.GIVEN] + self._own
        memory.hold(at.TYPES, room)
        memory.hold(at.INPUTS, 2 * room * memory[at.SLOTS])
        memory[at.EVENT_ROOM] = room

    def take(self, keys: int) -> Heard:
        """Take the stages of the batch, of keys below a number; what was told, to be read before the next batch comes.
        After an error the machine is of no use.
        """
        self._keys_up_to(keys)
        memory = self._memory
        memory[at.TOLD_COUNT] = 0
        if memory[at.EPOCH] > 1 << 30:
            memory[at.EPOCH] = 0
            for place in (at.ROWS_ROOM, at.GUARDS_ROOM, at.TOLD_ROOM):
                self._make_room(place, memory[place])
        ranks = self.strings.ranks
        memory[at.RANKS], memory[at.RANKS_SIZE] = ranks.ctypes.data, len(ranks)
        announce(advance)
        self._advance(memory[at.STAGE_COUNT])
        width, count = memory[at.TOLD_WIDTH], memory[at.TOLD_COUNT]
        told = memory.stretch(at.TOLD)[: count * width].reshape(-1, width)
        return Heard(told[:, 0], told[:, 1], told[:, 2:])

    def _advance(self, count: int) -> None:
        """Take all stages: by machine code of its own what that can, and by the kernel what is left, some at a time."""
        self._taken += count
        if self._taken > ENOUGH and not self._is_written:
            self._native, self._is_written = native(self.code), True
        stage, some = 0, 1 if self._native else count
        while stage < count:
            if self._native is not None:
                reached = self._native.take_stages(self._memory.address, stage, self._most)
                some = 1 if reached > stage + some else min(2 * some, _SOME)
                stage = reached
            status, stage = advance(self._memory.address, stage, min(stage + some, count), self._most)
            if status != k.DONE:
                self.reached = stage
                self._mend(status)

    def _mend(self, status: int) -> None:
        """Make room for what had none."""
        memory = self._memory
        if status == k.FAILED:
            raise AggregateError(OVERFLOW.message)
        if status == k.TOO_MANY:
            raise too_many(self._most)
        if status == k.EVENTS:
            self._own *= 2
            self._make_room_for_events()
        elif status == k.ARENA:
            self._compact_arena()
        else:
            place = {
                k.ROWS: at.ROWS_ROOM,
                k.WAITS: at.WAITS_ROOM,
                k.TOLD: at.TOLD_ROOM,
                k.GUARDS: at.GUARDS_ROOM,
                k.LATER: at.LATER_ROOM,
            }[status]
            self._make_room(place, 2 * memory[place])
        self._find_again()

    def _compact_arena(self) -> None:
        """Put the configurations of keys side by side again, with room for as many more."""
        self._lay_out(self._resting())

    def _resting(self) -> Ints:
        """The configurations of keys, one after the other."""
        keys = self._key_rows
        return self._arena[_stretches(keys[:, at.KEY_AT], keys[:, at.KEY_COUNT])]

    def _lay_out(self, resting: Ints) -> None:
        """Let each key have its own of all configurations, and room for as many elsewhere."""
        keys = self._key_rows
        counts = keys[:, at.KEY_COUNT]
        begins = 2 * (np.cumsum(counts) - counts)
        keys[:, at.KEY_AT], keys[:, at.KEY_OTHER], keys[:, at.KEY_ROOM] = begins, begins + counts, counts
        self._memory[at.USED] = 2 * len(resting)
        more = max(2 * len(resting), 4 * self._memory[at.RESTING], self._keys, 64)
        self._make_arena(self._memory[at.USED] + more)
        self._arena[_stretches(begins, counts)] = resting

    def _find_again(self) -> None:
        """The table by which those who wait are found again, and their lists."""
        self._key_rows[:, at.KEY_HEAD] = -1
        self._memory.stretch(at.WAITS_TABLE)[:] = -1
        find_again(self._memory.address)

    # --- what is forgotten ------------------------------------------------------------------------------------

    def tidy(self, time: int | None) -> None:
        """Forget what is of no use any more; `time` is the newest, if times are known."""
        if time is not None and self._memory[at.WAITING] > self._looked:
            self._forget_who_waits_in_vain(time)
            self._looked = max(2 * self._memory[at.WAITING], _KEPT)
        if self.strings.wasteful:
            self._forget_texts()

    def _forget_who_waits_in_vain(self, time: int) -> None:
        waits, states = self._waits, self.code.plan.states
        place = states[waits[:, 0], t.EXPIRES]
        rows, columns = np.arange(len(waits)), np.maximum(place, 0)
        held = (place >= 0) & (waits[rows, columns] == op.VALUE)
        gone = held & (time - waits[rows, columns + 1] > states[waits[:, 0], t.LIMIT])
        if gone.any():
            kept = waits[~gone]
            self._memory.put(at.WAITS, kept)
            self._memory[at.WAITING] = len(kept)
            self._find_again()

    def _forget_texts(self) -> None:
        keys = self._key_rows
        resting = _stretches(keys[:, at.KEY_AT], keys[:, at.KEY_COUNT])
        places = []
        for array, rows in ((self._arena, resting), (self._waits, np.arange(len(self._waits)))):
            for state, cells in enumerate(self.code.text_cells):
                own = rows[array[rows, 0] == state] if cells else rows[:0]
                places += [(array, own[array[own, cell] == op.VALUE], cell + 1) for cell in cells]
        used = [array[rows, column] for array, rows, column in places]
        moved = self.strings.keep(np.concatenate((np.empty(0, np.int64), *used)))
        for (array, rows, column), numbers in zip(places, used, strict=True):
            array[rows, column] = moved[numbers]
        self._find_again()

    @property
    def kept(self) -> tuple[int, int]:
        """How many configurations rest, and how many wait."""
        return int(self._key_rows[:, at.KEY_COUNT].sum()), self._memory[at.WAITING]

    # --- snapshots --------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Any]:
        """All that is needed to go on."""
        keys = self._key_rows.copy()
        keys[:, [at.KEY_AT, at.KEY_OTHER, at.KEY_ROOM]] = 0
        return {
            "keys": keys,
            "arena": self._resting(),
            "waits": self._waits[:, :-1].copy(),
            **self.strings.dump(),
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        width = self.code.width
        keys = check.array(sections, "keys", np.int64, at.KEY_COLUMNS)
        arena = check.array(sections, "arena", np.int64, width)
        waits = check.array(sections, "waits", np.int64, width + 1)
        for rows in (arena, waits):
            check.in_range("configurations", rows[:, 0], 0, len(self.code.machine.states))
        check.in_range("waits", waits[:, -1], 0, max(len(keys), 1))
        counts = keys[:, at.KEY_COUNT]
        there = bool((keys >= -1).all() and (counts >= 0).all() and counts.sum() == len(arena))
        check.holds("keys", there, "speaks of what is not there")
        self._keys_up_to(max(len(keys), 1))
        self._key_rows[: len(keys)] = keys
        self._lay_out(arena)
        self._memory[at.WAITING] = len(waits)
        self._make_room(at.WAITS_ROOM, max(2 * len(waits), _ROOM[at.WAITS_ROOM]))
        self._waits[:, :-1] = waits
        self.strings.load(sections)
        self._find_again()


def _stretches(begins: Ints, counts: Ints) -> Ints:
    """All places of stretches, one after the other."""
    return np.repeat(begins - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
