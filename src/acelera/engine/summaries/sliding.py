"""WITHIN by two stacks: the work for an event does not grow with the window (`transfers` says how)."""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array, inlined, kernel
from acelera.engine.machines.advance import EventArrays
from acelera.engine.machines.table_step import TableStep
from acelera.engine.nodes.components import Components, Kinds, clear, copy, is_nothing, make_one, multiply
from acelera.engine.nodes.vectors import Given
from acelera.engine.summaries.lines import NONE, LineArrays, give_matrix, has_items, pop, push, take_matrix
from acelera.engine.summaries.totals import Into, put
from acelera.engine.summaries.transfers import (
    Algebra,
    changes,
    gather,
    make_identity,
    mark,
    read_event,
    read_event_before,
    unknown,
)

DONE, TABLE, ROOM = range(3)
"""Why reading stopped: all is read, a row of the table is asked for, there is no room."""


class Window(NamedTuple):
    """What is kept of the window of each key: its line, of each item in front its row of what leads from it to the
    back, and of each key the back, and which rows of it matter.

    Items remember their letter and what operations read of them. No match begins from the tick `limit` on. In `work`
    there is room for a matrix and some more.
    """

    line: LineArrays
    front: Components
    back: Components
    active: Array
    letters: Array
    given: Given
    limit: Array
    work: Components


@kernel
def slide(
    events: EventArrays,
    first: int,
    step: TableStep,
    sets: int,
    algebra: Algebra,
    given: Given,
    window: Window,
    into: Into,
    asked: Array,
) -> tuple[int, int]:
    """Read events from one on: the next to be read, and why it stopped."""
    line = window.line
    for i in range(first, len(events.letters)):
        letter, key, row = events.letters[i], events.keys[i], events.rows[i]
        lacking = unknown(step, sets, letter)
        if lacking >= 0:
            asked[0], asked[1] = lacking, letter
            return i, TABLE
        expire(step, sets, algebra, window, key, events.floors[i])
        if not changes(step, sets, letter):
            continue
        if not has_items(line) or into.groups.count[0] == len(into.groups.rows):
            return i, ROOM
        begins = events.ticks[i] < window.limit[0]
        end_matches(step, sets, algebra, given, window, into, key, letter, row, begins)
        if line.matrix[key] == NONE:
            take_matrix(line, key)
            make_identity(window.back, line.matrix[key] * sets * (sets + 1), sets)
            for a in range(sets):
                window.active[line.matrix[key], a] = a == 0
        remember(window, push(line, key, events.ticks[i]), letter, given, row)
        base = line.matrix[key] * sets * (sets + 1)
        for a in range(sets):
            if window.active[line.matrix[key], a]:
                read_event(
                    algebra,
                    step,
                    sets,
                    window.back,
                    base + a * (sets + 1),
                    a == 0 and begins,
                    False,
                    letter,
                    given,
                    row,
                    window.work,
                )
    return len(events.letters), DONE


@inlined
def remember(window: Window, item: int, letter: int, given: Given, row: int) -> None:
    """Keep what operations read of an event."""
    window.letters[item] = letter
    kept = window.given
    for column in range(len(kept.whole)):
        kept.whole[column, item] = given.whole[column, row]
        kept.missing[column, item] = given.missing[column, row]
    kept.positions[item] = given.positions[row]


@inlined
def expire(step: TableStep, sets: int, algebra: Algebra, window: Window, key: int, floor: int) -> None:
    """Give up what has left the window of a key."""
    line = window.line
    if line.head[key] == NONE or line.tick[line.head[key]] >= floor:
        return
    if line.tick[line.tail[key]] < floor:
        while line.head[key] != NONE:
            pop(line, key)
    while line.head[key] != NONE and line.tick[line.head[key]] < floor:
        if line.head[key] == line.middle[key]:
            turn_over(step, sets, algebra, window, key)
        pop(line, key)
    if line.head[key] == NONE:
        give_matrix(line, key)


@inlined
def turn_over(step: TableStep, sets: int, algebra: Algebra, window: Window, key: int) -> None:
    """The back of a key becomes its front, which is used up."""
    line, work, width = window.line, window.work, sets + 1
    base = line.matrix[key] * sets * width
    make_identity(window.back, base, sets)
    for a in range(sets):
        window.active[line.matrix[key], a] = a == 0
    item = line.tail[key]
    while item != NONE:
        begins = line.tick[item] < window.limit[0]
        letter = window.letters[item]
        read_event_before(algebra, step, sets, window.back, base, begins, letter, window.given, item, work)
        for t in range(1, sets):
            copy(window.front, item * width + t, window.back, base + t)
            if not is_nothing(window.back, base + t):
                window.active[line.matrix[key], t] = True
        item = line.before[item]
    line.middle[key] = NONE
    make_identity(window.back, base, sets)


@inlined
def end_matches(
    step: TableStep,
    sets: int,
    algebra: Algebra,
    given: Given,
    window: Window,
    into: Into,
    key: int,
    letter: int,
    row: int,
    begins: bool,
) -> None:
    """Add the matches that an event ends to their group; one may begin with it, or not."""
    work, entries = window.work, step.entries
    for s in range(sets):
        first = step.row_at[s, letter]
        for e in range(first, first + step.row_size[s, letter]):
            if not entries.emits[e] or (s == 0 and not begins):
                continue
            if s == 0:
                make_one(work, 0)
            else:
                standing(sets, algebra, window, key, s)
            if is_nothing(work, 0):
                continue
            mark(algebra, work, 0, entries.mark[e], given, row)
            for j in range(len(into.sources)):
                into.scratch[j] = into.ends[into.sources[j], row]
            put(into.groups, into.scratch, algebra.kinds, into.totals, work, 0)


@inlined
def standing(sets: int, algebra: Algebra, window: Window, key: int, s: int) -> None:
    """The partial matches of a key that are in a set, as the first row of the room to work in."""
    line, work, width = window.line, window.work, sets + 1
    clear(work, 0)
    if line.matrix[key] == NONE:
        return
    base, item = line.matrix[key] * sets * width, line.head[key]
    copy(work, 0, window.back, base + s)
    if item != line.middle[key]:  # there is a front
        for a in range(1, sets):
            left, right = item * width + a, base + a * width + s
            if (
                window.active[line.matrix[key], a]
                and not is_nothing(window.front, left)
                and not is_nothing(window.back, right)
            ):
                multiply(algebra.kinds, work, 1, window.front, left, window.back, right)
                gather(algebra.kinds, work, 0, work, 1)


@kernel
def begin_with(
    kinds: Kinds,
    sets: int,
    window: Window,
    order: Array,
    keys: Array,
    starts: Array,
    reached: Array,
    components: Components,
) -> None:
    """Make partial matches the fronts of their keys: in an order by key and start, the set that each has reached, and
    what is known of it. There must be room.
    """
    line, width = window.line, sets + 1
    item = NONE
    for i in range(len(order)):
        row = order[i]
        key = keys[row]
        if line.matrix[key] == NONE:
            take_matrix(line, key)
            make_identity(window.back, line.matrix[key] * sets * width, sets)
            for a in range(sets):
                window.active[line.matrix[key], a] = a == 0
        if line.tail[key] == NONE or line.tick[line.tail[key]] != starts[row]:
            item = push(line, key, starts[row])
        gather(kinds, window.front, item * width + reached[row], components, row)
        window.active[line.matrix[key], reached[row]] = True
    for key in range(len(line.head)):  # an item stands for what starts with it or later
        line.middle[key], item = NONE, line.tail[key]
        while item != NONE and line.before[item] != NONE:
            for t in range(1, sets):
                if not is_nothing(window.front, item * width + t):
                    gather(kinds, window.front, line.before[item] * width + t, window.front, item * width + t)
            item = line.before[item]


@kernel
def drop_expired(line: LineArrays, floor: int) -> None:
    """Give up all items of keys whose newest has left the window."""
    for key in range(len(line.head)):
        if line.head[key] != NONE and line.tick[line.tail[key]] < floor:
            while line.head[key] != NONE:
                pop(line, key)
            give_matrix(line, key)
