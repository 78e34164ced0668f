"""The loop over events, for all machines and algebras.

Each key has slots: one for each set of states, or of configurations, that its partial matches are in, with a value of
the algebra (`nodes.algebras`). An event leads from each slot, and from where matches begin, to others; where two ways
meet, their values are united. What is different by tables and by registers is the *step*: which entries an event leads
to from a slot. A step is a NamedTuple that has `entries`, and says what the functions below ask of it.

The loop can stop and go on: it returns why it stopped, and its counters tell where. Where it reads and writes most,
indices are unsigned: numba then does not look whether they count from the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import AHEAD, Array, dispatched, inlined, kernel
from acelera.engine.nodes.algebras import begin, has_room, meeting_place, newest_start, set_at, union
from acelera.engine.nodes.hits import HitArrays, add_hit
from acelera.engine.nodes.slots import SlotArrays, ask_for_key, ask_for_slots, fits, give_block
from acelera.engine.nodes.unions import NO_ROOM

NOTHING = -1  # the mark of an entry that marks nothing, and the target of one that only ends matches

DONE, TABLE, VALUES, HITS, SLOTS, FAILED, SCRATCH = range(7)
"""Why the loop stopped: all is read, a row of a table is asked for, there is no room (for values and what is interned,
for hits, for slots, for the entries of one step), or an aggregate failed.
"""

NEXT_EVENT, ASKED_STATE, ASKED_LETTER, ASKED_SLOTS, STAMP, COUNTERS = range(6)


class EventArrays(NamedTuple):
    """What machines know of each event; see `machine.Events`."""

    letters: Array
    keys: Array
    rows: Array
    ticks: Array
    floors: Array

    @classmethod
    def of(cls, letters: Array, keys: Array, rows: Array, ticks: Array, floors: Array) -> EventArrays:
        """Of the same types whatever they come from, so that kernels are compiled once. They are only read."""
        letters, keys, rows = (_read_only(each, np.int32) for each in (letters, keys, rows))
        return cls(letters, keys, rows, _read_only(ticks, np.int64), _read_only(floors, np.int64))


def _read_only(array: Array, kind: type) -> Array:
    seen: Array = np.ascontiguousarray(array, kind).view()
    seen.flags.writeable = False
    return seen


class Entries(NamedTuple):
    """Where a step leads: what it marks, the number of what it stores, the set that is reached, whether matches end.

    All but the last may be NOTHING.
    """

    mark: Array
    stored: Array
    target: Array
    emits: Array


class Reached(NamedTuple):
    """The places that an event has led to: their list, and for each the last event that did and the value there."""

    targets: Array
    stamp: Array
    value: Array


@dispatched
def stirs(step: Array, event: int) -> bool:
    """Whether an event may change something whatever its letter is."""
    raise NotImplementedError


@dispatched
def look(step: Array, number: int, letter: int) -> tuple[int, bool]:
    """How many entries a letter leads to from a set at most, and whether it changes anything there.

    If that is not known yet, -1 minus the state to ask for.
    """
    raise NotImplementedError


@dispatched
def values_made(step: Array, entries: int) -> int:
    """How many values so many entries can ask for, besides unions."""
    raise NotImplementedError


@dispatched
def lacks(step: Array, entries: int) -> int:
    """What a step has too little room for, if it leads to so many entries: DONE if it has enough."""
    raise NotImplementedError


@dispatched
def follow(step: Array, number: int, letter: int, event: int) -> tuple[int, int, int]:
    """Where an event leads to from a set: the first entry, how many there are, and why there are none otherwise."""
    raise NotImplementedError


@dispatched
def marked(step: Array, algebra: Array, value: Array, entry: int, row: int) -> Array:
    """The value after an entry."""
    raise NotImplementedError


@kernel
def advance(
    events: EventArrays,
    step: Array,
    slots: SlotArrays,
    algebra: Array,
    reached: Reached,
    hits: HitArrays,
    counters: Array,
) -> int:
    """Read events from the next one on; why it stopped."""
    reason, first = DONE, counters[NEXT_EVENT]
    i = first
    last = len(events.letters) - 1
    for i in range(first, len(events.letters)):
        key = events.keys[i]
        ask_for_key(slots, events.keys[min(i + AHEAD, last)])
        ask_for_slots(slots, events.keys[min(i + AHEAD // 2, last)])
        needed, changes = look_around(events, i, step, slots, algebra)
        if needed < 0:
            counters[ASKED_STATE], counters[ASKED_LETTER] = -1 - needed, events.letters[i]
            reason = TABLE
            break
        slots.floor[key] = events.floors[i]
        if not changes:
            continue
        reason = lacks(step, needed)
        if reason == DONE and not has_room(algebra, values_made(step, needed)):
            reason = VALUES
        elif reason == DONE and hits.count[0] + needed > len(hits.row):
            reason = HITS
        elif reason == DONE and (needed > len(reached.targets) or not fits(slots, key, needed)):
            counters[ASKED_SLOTS] = needed
            reason = SLOTS
        if reason == DONE:
            counters[STAMP] += 1
            reason = move(events, i, step, slots, algebra, reached, hits, counters[STAMP], values_made(step, needed))
        if reason != DONE:
            break
    else:
        i = len(events.letters)
    counters[NEXT_EVENT] = i
    return reason


@inlined
def look_around(events: EventArrays, i: int, step: Array, slots: SlotArrays, algebra: Array) -> tuple[int, bool]:
    """How many entries an event leads to at most, or what must be known first; and whether it changes anything."""
    letter, key = events.letters[i], events.keys[i]
    first, held = slots.begin[key], slots.count[key]
    needed, _ = look(step, 0, letter)
    changes = stirs(step, i) or needed > 0
    for s in range(first, first + held if needed >= 0 else first):
        more, changed = look(step, set_at(algebra, slots.state[np.uint64(s)]), letter)
        if more < 0:
            return more, False
        needed, changes = needed + more, changes or changed
    return needed, changes


@inlined
def move(
    events: EventArrays,
    i: int,
    step: Array,
    slots: SlotArrays,
    algebra: Array,
    reached: Reached,
    hits: HitArrays,
    stamp: int,
    reserved: int,
) -> int:
    """Read one event: from all slots of its key, and from where matches begin, to the slots that come after.

    If there is no room, the slots and hits are as before.
    """
    letter, key, row, floor = events.letters[i], events.keys[i], events.rows[i], events.floors[i]
    first, hits_before, found = slots.begin[key], hits.count[0], 0
    for s in range(slots.count[key] + 1):
        number, value = 0, NO_ROOM
        if s < slots.count[key]:
            slot = np.uint64(first + s)
            number, value = set_at(algebra, slots.state[slot]), slots.value[slot]
            if newest_start(algebra, value) < floor:
                continue
        at, size, reason = follow(step, number, letter, i)
        if reason != DONE:
            hits.count[0] = hits_before
            return reason
        if size > 0 and s == slots.count[key]:
            value = begin(algebra, row, events.ticks[i])
        for e in range(at, at + size):
            following = marked(step, algebra, value, e, row)
            entry = np.uint64(e)
            if step.entries.emits[entry]:
                add_hit(hits, following, row, floor)
            if step.entries.target[entry] == NOTHING:
                continue
            target = np.uint64(meeting_place(algebra, step.entries.target[entry], following))
            if reached.stamp[target] != stamp:
                reached.stamp[target], reached.targets[found] = stamp, target
                found += 1
            else:
                following = union(algebra, reached.value[target], following, floor, reserved)
                if following == NO_ROOM:
                    hits.count[0] = hits_before
                    return VALUES
            reached.value[target] = following
    if found > slots.room[key]:
        give_block(slots, key, found)
        first = slots.begin[key]
    for s in range(found):  # those with older starts stand in front, so that unions grow by what is newer
        target, place = reached.targets[s], first + s
        value = reached.value[np.uint64(target)]
        start = newest_start(algebra, value)
        while place > first and newest_start(algebra, slots.value[np.uint64(place - 1)]) > start:
            behind = np.uint64(place)
            place -= 1
            before = np.uint64(place)
            slots.state[behind], slots.value[behind] = slots.state[before], slots.value[before]
        slots.state[np.uint64(place)], slots.value[np.uint64(place)] = target, value
    slots.count[key] = found
    return DONE
