"""The stages of a machine as machine code: one function that takes stage after stage, each of its edges written out.

It does what the kernel does, on the same memory, for machines without events of their own and without configurations
that wait. A stage that it cannot do, since there is no room, or something has failed, or there are many configurations,
it leaves as it was, and gives its number: the kernel knows what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from acelera.engine.registers import opcodes as op
from acelera.language.lowering import UnsupportedError
from acelera.stages import layout as at
from acelera.stages import tables as t
from acelera.stages.coding import Coded
from acelera.stages.native.instructions import Exits, Instructions, Pushed, Registers
from acelera.stages.native.words import POINTER, WORD, Word, Words, number

NAME = "take_stages"
MOST_ROWS, MOST_TOLD, MOST_GUARDED = 32, 16, 16
"""How many configurations, rows told and entries of guards at a stage are compared one by one."""

_FIRST_ROOM = 4


def written(code: Coded) -> ir.Module:
    """The function, which takes the address of a machine's memory, the first stage and how many configurations a key
    may have, and gives the stage after the last one that it took; an UnsupportedError if the kernel is to take all.
    """
    _require_plain(code)
    module = ir.Module()
    function = ir.Function(module, ir.FunctionType(WORD, [WORD, WORD, WORD]), NAME)
    _StageCode(code, Words(function)).write()
    return module


def why_not(code: Coded) -> str | None:
    """What of a machine has no form in machine code, if there is such."""
    try:
        written(code)
    except UnsupportedError as reason:
        return str(reason)
    return None


def _require_plain(code: Coded) -> None:
    """Refuse what has no form here."""
    machine = code.machine
    if len(machine.phases) != 1 or machine.phases[0].repeats or any(head.event is not None for head in machine.heads):
        raise UnsupportedError("events that are derived and looked at within one stage")
    if any(state.waits or state.initial for state in machine.states):
        raise UnsupportedError("instances that wait, or are there from the beginning")
    for edge in machine.edges:
        taken = (*edge.absences, edge.steps)
        if any(len(steps) > 1 or any(step.first is not None for step in steps) for steps in taken):
            raise UnsupportedError("several events of one stage, or `first`")
        if edge.loops and edge.begins:
            raise UnsupportedError("stars in stars")


class _StageCode:
    def __init__(self, code: Coded, words: Words) -> None:
        self._code, self._plan, self._width = code, code.plan, code.width
        self._guard_width = 1 + 2 * code.key_width + max(code.deepest, 1)
        self._told_width = 2 + 2 * code.head_width
        self._words = words
        self._instructions = Instructions(words, code.code)

    # --- stages -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write the function."""
        words = self._words
        memory, first, self._most = words.function.args
        self._memory = words.builder.inttoptr(memory, POINTER)
        self._resting, self._told, self._guarded, self._flag = (words.variable(0) for _ in range(4))
        words.put(words.get(self._memory, at.TOLD_COUNT), self._told)
        self._bases = {
            place: words.place(self._memory, words.get(self._memory, place))
            for place in (at.KEYS, at.ARENA, at.ROWS, at.TYPES, at.INPUTS, at.STAGES, at.TOLD, at.GUARD_ROWS)
        }
        count = words.get(self._memory, at.STAGE_COUNT)
        words.each(first, count, self._stage)
        words.builder.ret(count)

    def _stage(self, stage: Word, following: Any) -> None:
        words = self._words
        self._left, again = words.block(), words.block()
        self._stage_number = stage
        self._here = words.place(self._bases[at.STAGES], words.times(stage, at.STAGE_COLUMNS))
        key = words.get(self._here, at.STAGE_KEY)
        self._key = words.place(self._bases[at.KEYS], words.times(key, at.KEY_COLUMNS))
        begun = words.builder.select(
            words.equal(words.get(self._key, at.KEY_STAGES), 0), number(1), words.get(self._key, at.KEY_STAGES)
        )
        words.put(begun, self._key, at.KEY_STAGES)
        words.go(again)
        words.write_at(again)
        self._once(again, following)
        words.write_at(self._left)
        words.builder.ret(stage)
        words.write_at(words.block())

    def _once(self, again: Any, following: Any) -> None:
        """A stage, or one of those without events that come before it: then it goes on with the next such, or with
        the stage itself.
        """
        words, builder = self._words, self._words.builder
        silent = words.get(self._here, at.STAGE_SILENT)
        self._quiet = builder.icmp_signed(">", silent, number(0))
        self._begin = builder.select(self._quiet, number(0), words.get(self._here, at.STAGE_BEGIN))
        self._end = builder.select(self._quiet, number(0), words.get(self._here, at.STAGE_END))
        self._told_before = words.get(self._told)
        words.put(number(0), self._resting)
        words.put(number(0), self._guarded)
        self._find_room()
        old = words.get(self._key, at.KEY_COUNT)
        self._pass(begins=False, count=old)
        self._pass(begins=True, count=old)
        count = words.get(self._resting)
        words.unless(words.less(self._most, count), self._left)
        silently = words.block()
        words.only_if(builder.not_(self._quiet), silently)
        self._settle(count)
        words.put(words.get(self._told), self._memory, at.TOLD_COUNT)
        words.go(following)
        words.write_at(silently)
        same = self._is_same(count, old)
        self._settle(count)
        left = builder.select(same, number(0), words.add(silent, -1))
        words.put(left, self._here, at.STAGE_SILENT)
        words.go(again)

    def _pass(self, begins: bool, count: Word) -> None:
        """All edges of all configurations, either those that begin guarded stars or the others: what loops is entered
        before it is looked who may begin.
        """
        words = self._words
        listed = [self._edges(state, begins) for state in range(len(self._code.machine.states))]
        for edge in listed[0]:
            self._take(edge, Registers(words, None))
        if not any(listed[1:]):
            return
        end = words.place(self._rows, words.times(count, self._width))

        def configuration(source: Word, following: Any) -> None:
            choice = words.builder.switch(words.get(source), following)
            for state, edges in enumerate(listed):
                if state and edges:
                    block = words.block()
                    choice.add_case(number(state), block)
                    words.write_at(block)
                    for edge in edges:
                        self._take(edge, Registers(words, source))
                    words.go(following)
            words.write_at(words.block())

        words.each_row(self._rows, end, self._width, configuration)

    def _edges(self, state: int, begins: bool) -> list[int]:
        first, count = int(self._plan.first[0, state]), int(self._plan.count[0, state])
        listed = [int(edge) for edge in self._plan.listed[first : first + count]]
        return [edge for edge in listed if bool(self._code.machine.edges[edge].begins) == begins]

    def _find_room(self) -> None:
        """Where the configurations of the key stand, and where those of the next stage go: the two change places. A key
        that has had none has no room yet.
        """
        words, select = self._words, self._words.builder.select
        room, many = words.get(self._key, at.KEY_ROOM), number(MOST_ROWS)
        self._is_new = words.equal(room, 0)
        self._rows, other = (
            self._row_of(at.ARENA, words.get(self._key, place), self._width) for place in (at.KEY_AT, at.KEY_OTHER)
        )
        self._next_rows = select(self._is_new, self._bases[at.ROWS], other)
        self._room = select(self._is_new, number(_FIRST_ROOM), select(words.less(room, many), room, many))

    def _settle(self, count: Word) -> None:
        """What rests is the configurations of the key from now on."""
        words = self._words
        moving, settled = words.block(), words.block()
        first = words.builder.and_(self._is_new, words.less(number(0), count))
        words.builder.cbranch(first, moving, settled)
        words.write_at(moving)
        self._move_in()
        words.go(settled)
        words.write_at(settled)
        here, there = words.get(self._key, at.KEY_AT), words.get(self._key, at.KEY_OTHER)
        words.put(there, self._key, at.KEY_AT)
        words.put(here, self._key, at.KEY_OTHER)
        words.put(count, self._key, at.KEY_COUNT)
        words.put(words.add(words.get(self._key, at.KEY_STAGES), 1), self._key, at.KEY_STAGES)

    def _move_in(self) -> None:
        """The first room of a key, with what rests in the one that comes next."""
        words = self._words
        begin = words.get(self._memory, at.USED)
        end = words.add(begin, 2 * _FIRST_ROOM)
        words.unless(words.less(words.get(self._memory, at.ARENA_ROOM), end), self._left)
        words.copy(self._bases[at.ROWS], self._row_of(at.ARENA, begin, self._width), _FIRST_ROOM * self._width)
        words.put(begin, self._key, at.KEY_OTHER)
        words.put(words.add(begin, _FIRST_ROOM), self._key, at.KEY_AT)
        words.put(number(_FIRST_ROOM), self._key, at.KEY_ROOM)
        words.put(end, self._memory, at.USED)

    def _is_same(self, count: Word, old: Word) -> Word:
        """Whether what rests is what the key has had before."""
        words, same = self._words, self._flag
        words.put(words.builder.zext(words.equal(count, old), WORD), same)

        def compare(index: Word, _: Any) -> None:
            alike = words.equal(words.get(self._next_rows, index), words.get(self._rows, index))
            words.put(words.builder.select(alike, words.get(same), number(0)), same)

        words.each(number(0), words.times(count, self._width), compare)
        return words.equal(words.get(same), 1)

    def _row_of(self, place: int, count: Word, width: int) -> Word:
        """Where a row stands."""
        return self._words.place(self._bases[place], self._words.times(count, width))

    # --- edges ------------------------------------------------------------------------------------------------

    def _take(self, edge: int, source: Registers) -> None:
        """Take an edge in all ways, and go on."""
        words, row = self._words, self._plan.edges[edge].tolist()
        done = words.block()
        exits = Exits(done, self._left)
        begun = source.copy()
        self._instructions.write(row[t.PREPARE], row[t.PREPARED], begun, None, exits)
        for absence in range(row[t.ABSENCES], row[t.ABSENCES_END]):
            self._require_absent(int(self._plan.absences[absence, 0]), begun, done)
        if row[t.STEPS] == row[t.STEPS_END]:
            self._taken(edge, source, begun, begun.copy(), number(-1), exits)
        else:
            step = self._plan.steps[row[t.STEPS]].tolist()

            def event(number_of_event: Word, following: Any) -> None:
                after, leaving = begun.copy(), Exits(following, self._left)
                self._step(step, after, number_of_event, leaving)
                counted = number_of_event if step[t.COUNTS] else number(-1)
                self._taken(edge, source, begun, after, counted, leaving)

            words.each(self._begin, self._end, event)
        words.go(done)
        words.write_at(done)

    def _step(self, step: Sequence[int], row: Registers, event: Word, exits: Exits) -> None:
        """Take an event, if it is of the right type and its conditions hold."""
        words = self._words
        kind = words.add(words.get(self._bases[at.TYPES], event), -step[t.TYPES])
        fits = words.builder.icmp_unsigned("<", kind, number(step[t.TYPES_END] - step[t.TYPES]))
        words.only_if(fits, exits.refused)
        inputs = words.place(self._bases[at.INPUTS], words.times(event, 2 * max(self._code.slots, 1)))
        self._instructions.write(step[t.STEP_CODE], step[t.STEP_END], row, inputs, exits)

    def _require_absent(self, number_of_step: int, begun: Registers, done: Any) -> None:
        """Go to a block if an event of the stage is what must not be."""
        words, step = self._words, self._plan.steps[number_of_step].tolist()
        if step[t.TYPES] < 0:
            absent = words.block()
            self._instructions.write(step[t.STEP_CODE], step[t.STEP_END], begun.copy(), None, Exits(absent, self._left))
            words.go(done)
            words.write_at(absent)
            return

        def event(number_of_event: Word, following: Any) -> None:
            self._step(step, begun.copy(), number_of_event, Exits(following, self._left))
            words.go(done)
            words.write_at(words.block())

        words.each(self._begin, self._end, event)

    def _taken(self, edge: int, source: Registers, begun: Registers, row: Registers, event: Word, exits: Exits) -> None:
        """What comes of an edge whose event was taken: tests, guards, and the arrival."""
        given, machine = self._plan.edges[edge].tolist(), self._code.machine
        self._instructions.write(given[t.TESTS], given[t.TESTS_END], row, None, exits)
        for guard in machine.edges[edge].loops:
            self._enter(self._guard_row(guard, source, event))
        for guard in machine.edges[edge].begins:
            entered = self._guard_row(guard, begun, event)
            end = self._row_of(at.GUARD_ROWS, self._words.get(self._guarded), self._guard_width)
            self._words.known(entered, self._bases[at.GUARD_ROWS], end, self._guard_width, exits.refused)
        self._arrive(given[t.TARGET], row)

    # --- guards -----------------------------------------------------------------------------------------------

    def _guard_row(self, guard: int, registers: Registers, event: Word) -> list[tuple[int, Word]]:
        key, end, _ = self._plan.guards[guard].tolist()
        stack = self._instructions.write(key, end, registers.copy(), None, Exits(self._left, self._left))
        return list(enumerate([number(guard), event, *(word for pushed in self._plain(stack) for word in pushed)]))

    def _plain(self, stack: Sequence[Pushed]) -> list[Pushed]:
        """Values that have not failed; those that are none are 0."""
        words, found = self._words, []
        for tag, value in stack:
            words.unless(words.equal(tag, op.FAILED), self._left)
            found.append(Pushed(tag, words.builder.select(words.equal(tag, op.VALUE), value, number(0))))
        return found

    def _enter(self, row: Sequence[tuple[int, Word]]) -> None:
        words = self._words
        count = words.get(self._guarded)
        words.unless(words.equal(count, MOST_GUARDED), self._left)
        place = self._row_of(at.GUARD_ROWS, count, self._guard_width)
        for index, word in row:
            words.put(word, place, index)
        words.put(words.add(count, 1), self._guarded)

    # --- arriving ---------------------------------------------------------------------------------------------

    def _arrive(self, state: int, row: Registers) -> None:
        """Meet the outcomes of a state."""
        words = self._words
        given = self._plan.states[state].tolist()
        for number_of_outcome in range(given[t.OUTCOMES], given[t.OUTCOMES_END]):
            outcome = self._plan.outcomes[number_of_outcome].tolist()
            following, registers = words.block(), row.copy()
            exits = Exits(following, self._left)
            self._instructions.write(outcome[t.IF], outcome[t.TRIM], registers, None, exits)
            if outcome[t.REST] >= 0:
                self._rest(outcome, registers.copy())
            for head in self._plan.heads_listed[outcome[t.TELLS] : outcome[t.TELLS_END]].tolist():
                self._tell(head, registers.copy())
            words.go(following)
            words.write_at(following)

    def _rest(self, outcome: Sequence[int], row: Registers) -> None:
        """Let registers rest in a state, unless the same do."""
        words, (trim, end) = self._words, (outcome[t.TRIM], outcome[t.TRIM_END])
        self._instructions.write(trim, end, row, None, Exits(self._left, self._left))
        row[0] = number(outcome[t.REST])
        done = words.block()
        count = words.get(self._resting)
        words.unless(words.equal(count, self._room), self._left)
        forgotten = self._instructions.cleared(trim, end)
        kept = [place for place in range(self._width) if place not in forgotten]
        target = words.place(self._next_rows, words.times(count, self._width))
        compared = [(place, row[place]) for place in (kept[0], *reversed(kept[1:]))]
        words.known(compared, self._next_rows, target, self._width, done)
        for place in range(self._width):
            words.put(row[place], target, place)
        words.put(words.add(count, 1), self._resting)
        words.go(done)
        words.write_at(done)

    def _tell(self, head: int, row: Registers) -> None:
        """Tell a head, unless the same was told at the stage; nothing is told at stages without events."""
        words, given = self._words, self._plan.heads[head].tolist()
        done = words.block()
        words.unless(self._quiet, done)
        stack = self._instructions.write(
            given[t.HEAD_CODE], given[t.HEAD_END], row, None, Exits(self._left, self._left)
        )
        values: list[Word] = []
        for tag, value in self._plain(stack):
            values += [words.builder.zext(words.equal(tag, op.VALUE), WORD), value]
        told = list(enumerate([number(head), *values], 1))
        count = words.get(self._told)
        words.unless(words.equal(count, words.get(self._memory, at.TOLD_ROOM)), self._left)
        words.unless(words.less(words.add(self._told_before, MOST_TOLD), count), self._left)
        target = self._row_of(at.TOLD, count, self._told_width)
        begin = self._row_of(at.TOLD, self._told_before, self._told_width)
        words.known(list(reversed(told)), begin, target, self._told_width, done)
        words.put(self._stage_number, target)
        rest = [(index, number(0)) for index in range(1 + len(told), self._told_width)]
        for index, word in (*told, *rest):
            words.put(word, target, index)
        words.put(words.add(count, 1), self._told)
        words.go(done)
        words.write_at(done)
