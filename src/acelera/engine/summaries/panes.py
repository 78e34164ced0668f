"""Windows that overlap, by panes: each pane is one matrix, computed once, and windows are products of panes.

The panes of a key are its items (`lines`), and a window slides over them by two stacks (`transfers`), so the work for
an event does not grow with the number of windows that hold it.
"""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array, inlined, inner, kernel
from acelera.engine.machines.advance import EventArrays
from acelera.engine.machines.table_step import TableStep
from acelera.engine.nodes.components import Components, Kinds, clear, copy, is_nothing, multiply
from acelera.engine.nodes.vectors import Given
from acelera.engine.summaries.lines import NONE, LineArrays, give_matrix, has_items, pop, push, take_matrix
from acelera.engine.summaries.sliding import DONE, ROOM, TABLE
from acelera.engine.summaries.totals import Into, put
from acelera.engine.summaries.transfers import (
    Algebra,
    changes,
    gather,
    make_identity,
    multiplied,
    read_event,
    unknown,
)


class PaneWindow(NamedTuple):
    """What is kept of the windows of each key: its line of panes, of each in front its row, of all their matrices; of
    each key the back, the pane that is being read, and which rows of both matter. `pane` is the number of that pane,
    `following` the first window that was not given, `group` what is known of a key where its matches end.

    `shape` holds how many panes a window is long, after how many the next one begins, and the first window's number.
    """

    line: LineArrays
    front: Components
    matrices: Components
    back: Components
    current: Components
    active: Array
    entered: Array
    pane: Array
    following: Array
    group: Array
    shape: Array
    work: Components


@kernel
def read_panes(
    events: EventArrays,
    first: int,
    step: TableStep,
    sets: int,
    algebra: Algebra,
    given: Given,
    window: PaneWindow,
    into: Into,
    asked: Array,
    until: Array,
) -> tuple[int, int]:
    """Read events, whose ticks are numbers of panes, from one on; then give the windows that end before the panes that
    keys have come to. The next to be read, or to be given, and why it stopped.
    """
    line, width = window.line, sets + 1
    for i in range(first, len(events.letters)):
        letter, key, row = events.letters[i], events.keys[i], events.rows[i]
        lacking = unknown(step, sets, letter)
        if lacking >= 0:
            asked[0], asked[1] = lacking, letter
            return i, TABLE
        if line.matrix[key] != NONE and not go_on(sets, algebra.kinds, window, into, key, events.ticks[i]):
            return i, ROOM
        if not changes(step, sets, letter):
            continue
        if line.matrix[key] == NONE:
            if not has_items(line):
                return i, ROOM
            begin_key(sets, window, key, events.ticks[i])
        for j in range(len(into.sources)):
            window.group[key, j] = into.ends[into.sources[j], row]
        slot = line.matrix[key]
        for a in range(sets):
            if window.entered[slot, a]:
                base = (slot * sets + a) * width
                read_event(algebra, step, sets, window.current, base, a == 0, True, letter, given, row, window.work)
    size = len(events.letters)
    for key in range(max(first - size, 0), len(until)):
        if line.matrix[key] != NONE and not go_on(sets, algebra.kinds, window, into, key, until[key]):
            return size + key, ROOM
    return size + len(until), DONE


@inlined
def begin_key(sets: int, window: PaneWindow, key: int, pane: int) -> None:
    """The first pane of a key that is read."""
    line = window.line
    take_matrix(line, key)
    slot = line.matrix[key]
    make_identity(window.back, slot * sets * (sets + 1), sets)
    make_identity(window.current, slot * sets * (sets + 1), sets)
    for a in range(sets):
        window.active[slot, a] = window.entered[slot, a] = a == 0
    window.pane[key], window.following[key] = pane, first_window(window, pane)


@inlined
def first_window(window: PaneWindow, pane: int) -> Array:
    """The first window that holds a pane, or the next one."""
    length, every, lowest = window.shape[0], window.shape[1], window.shape[2]
    return max((pane - length) // every + 1, lowest)


@inner
def go_on(sets: int, kinds: Kinds, window: PaneWindow, into: Into, key: int, pane: int) -> bool:
    """A key has come to a pane: give the windows that end before it. Whether there was room.

    If nothing is left of the key, it gives up its matrices.
    """
    line, length, every = window.line, window.shape[0], window.shape[1]
    if pane > window.pane[key]:
        if not has_items(line):
            return False
        close(sets, kinds, window, key)
        window.pane[key] = pane
    while window.following[key] * every + length <= window.pane[key]:
        if into.groups.count[0] == len(into.groups.rows):
            return False
        number = window.following[key]
        expire(sets, kinds, window, key, number * every)
        if line.head[key] == NONE:
            give_matrix(line, key)
            return True
        give(sets, kinds, window, into, key, number)
        window.following[key] = number + 1
    return True


@inlined
def close(sets: int, kinds: Kinds, window: PaneWindow, key: int) -> None:
    """The pane that was read becomes an item, and part of the back; another one begins."""
    line, width = window.line, sets + 1
    slot, item = line.matrix[key], push(line, key, window.pane[key])
    size = sets * width
    for e in range(size):
        copy(window.matrices, item * size + e, window.current, slot * size + e)
    for a in range(sets):
        if window.active[slot, a]:
            multiplied(
                kinds,
                sets,
                window.back,
                slot * size + a * width,
                window.current,
                slot * size,
                a == 0,
                window.work,
                0,
                width,
            )
            for t in range(1, width):
                copy(window.back, slot * size + a * width + t, window.work, t)
    make_identity(window.current, slot * size, sets)
    for t in range(1, sets):
        window.entered[slot, t] = False
        for a in range(sets):
            if window.active[slot, a] and not is_nothing(window.back, slot * size + a * width + t):
                window.entered[slot, t] = True


@inlined
def expire(sets: int, kinds: Kinds, window: PaneWindow, key: int, floor: int) -> None:
    """Give up the panes of a key that lie before a window."""
    line = window.line
    while line.head[key] != NONE and line.tick[line.head[key]] < floor:
        if line.head[key] == line.middle[key]:
            turn_over(sets, kinds, window, key)
        pop(line, key)


@inlined
def turn_over(sets: int, kinds: Kinds, window: PaneWindow, key: int) -> None:
    """The back of a key becomes its front, which is used up."""
    line, width, slot = window.line, sets + 1, window.line.matrix[key]
    size = sets * width
    base = slot * size
    make_identity(window.back, base, sets)
    for a in range(sets):
        window.active[slot, a] = a == 0
    item = line.tail[key]
    while item != NONE:
        for s in range(sets):
            at = s * (width + 1)
            multiplied(
                kinds,
                sets,
                window.matrices,
                item * size + s * width,
                window.back,
                base,
                s == 0,
                window.work,
                at,
                at + width,
            )
        for s in range(sets):
            for t in range(1, width):
                copy(window.back, base + s * width + t, window.work, s * (width + 1) + t)
        for t in range(1, width):
            copy(window.front, item * width + t, window.back, base + t)
            if t < sets and not is_nothing(window.back, base + t):
                window.active[slot, t] = True
        item = line.before[item]
    line.middle[key] = NONE
    make_identity(window.back, base, sets)


@inlined
def give(sets: int, kinds: Kinds, window: PaneWindow, into: Into, key: int, number: int) -> None:
    """Add the matches of a window to its group: the last number of a group is that of the window."""
    line, width, work = window.line, sets + 1, window.work
    slot, item = line.matrix[key], line.head[key]
    base = slot * sets * width
    clear(work, 0)
    copy(work, 0, window.back, base + sets)
    if item != line.middle[key]:  # there is a front
        if not is_nothing(window.front, item * width + sets):
            gather(kinds, work, 0, window.front, item * width + sets)
        for a in range(1, sets):
            left, right = item * width + a, base + a * width + sets
            if window.active[slot, a] and not is_nothing(window.front, left) and not is_nothing(window.back, right):
                multiply(kinds, work, 1, window.front, left, window.back, right)
                gather(kinds, work, 0, work, 1)
    if not is_nothing(work, 0):
        for j in range(len(into.sources)):
            into.scratch[j] = window.group[key, j]
        into.scratch[window.shape[3]] = number
        put(into.groups, into.scratch, kinds, into.totals, work, 0)
