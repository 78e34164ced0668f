"""The loops over events, matches and nodes, compiled by numba. The program is data: nothing is compiled per query.

Nodes and their unions are described in `nodes`.

All loops can stop and go on: they return why they stopped, and their counters tell where.
"""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, compiled, inner
from acelera.engine.nodes.unions import BOTTOM, NO_NODES, UNION, is_union, join

NOTHING = -1  # the mark of a transition that marks nothing, and the target of one that only ends matches

DONE, TABLE, NODES, HITS, SLOTS, FULL, DEEP = range(7)

# What is counted; STEPS are the nodes that listing has looked at.
(
    NODE_COUNT,
    HIT_COUNT,
    NEXT_EVENT,
    ASKED_STATE,
    ASKED_LETTER,
    ASKED_SLOTS,
    STAMP,
    HIT_CURSOR,
    STACK_SIZE,
    STEPS,
    COUNTERS,
) = range(11)

FAR_PAST = np.iinfo(np.int64).min
GONE = np.iinfo(np.int64).max  # the floor of a union that `collect` has replaced by its left side


@compiled
def count_positions(keys: Array, counts: Array, positions: Array) -> None:
    """The position of each event within its key."""
    for i in range(len(keys)):
        counts[keys[i]] += 1
        positions[i] = counts[keys[i]]


@compiled
def running_latest(keys: Array, at: Array, newest: Array, by_key: Array, latest: Array, changed: Array) -> None:
    """The newest start of all matches of a key up to each event; matches end at events `at`, which are in order."""
    match = 0
    for i in range(len(keys)):
        key = keys[i]
        while match < len(at) and at[match] == i:
            if newest[match] > by_key[key]:
                by_key[key], changed[i] = newest[match], True
            match += 1
        latest[i] = by_key[key]


@inner
def give_block(key: int, size: int, slot_begin: Array, slot_room: Array, slots_used: Array) -> None:
    """A new block of slots for a key, at the end of the pool, as large as the next power of two."""
    room = 1
    while room < size:
        room *= 2
    slot_begin[key], slot_room[key] = slots_used[0], room
    slots_used[0] += room


@compiled
def advance(
    letters: Array,
    keys: Array,
    rows: Array,
    ticks: Array,
    floors: Array,
    row_at: Array,
    row_size: Array,
    entry_mark: Array,
    entry_target: Array,
    entry_emits: Array,
    slot_state: Array,
    slot_node: Array,
    slot_begin: Array,
    slot_room: Array,
    slot_count: Array,
    slot_floor: Array,
    slots_used: Array,
    targets: Array,
    node_mark: Array,
    node_one: Array,
    node_two: Array,
    node_newest: Array,
    target_stamp: Array,
    target_node: Array,
    hit_node: Array,
    hit_row: Array,
    hit_floor: Array,
    counters: Array,
) -> int:
    """Read events: each key has slots, one for each set of states that its partial matches are in, with a node."""
    nodes, hits, stamp = counters[NODE_COUNT], counters[HIT_COUNT], counters[STAMP]
    capacity, hit_capacity = len(node_mark), len(hit_node)
    begin = counters[NEXT_EVENT]
    reason = DONE
    i = begin
    for i in range(begin, len(letters)):
        letter, key = letters[i], keys[i]
        first, held = slot_begin[key], slot_count[key]
        needed, changes = 0, 0
        for s in range(-1, held):
            state = slot_state[first + s] if s >= 0 else 0
            at = row_at[state, letter]
            if at < 0:
                counters[ASKED_STATE], counters[ASKED_LETTER] = state, letter
                reason = TABLE
                break
            size = row_size[state, letter]
            needed += size
            stays = size == 1 and entry_mark[at] == NOTHING and entry_target[at] == state and not entry_emits[at]
            if (s >= 0 and not stays) or (s < 0 and size > 0):
                changes += 1
        if reason == TABLE:
            break
        slot_floor[key] = floors[i]
        if changes == 0:
            continue
        if nodes + needed + 1 > capacity:  # unions look for room themselves, and leave this
            reason = NODES
            break
        if hits + needed > hit_capacity:
            reason = HITS
            break
        if needed > len(targets) or (needed > slot_room[key] and slots_used[0] + 2 * needed > len(slot_state)):
            counters[ASKED_SLOTS] = needed
            reason = SLOTS
            break
        floor = floors[i]
        stamp += 1
        found, hits_before = 0, hits
        for s in range(-1, held):
            if s >= 0:
                state, node = slot_state[first + s], slot_node[first + s]
                if node_newest[node] < floor:
                    continue
            else:
                state = 0
                if row_size[0, letter] == 0:
                    continue
                node = nodes
                node_mark[node], node_one[node], node_two[node] = BOTTOM, -1, rows[i]
                node_newest[node] = ticks[i]
                nodes += 1
            at = row_at[state, letter]
            for e in range(at, at + row_size[state, letter]):
                reached = node
                if entry_mark[e] != NOTHING:
                    reached = nodes
                    node_mark[reached], node_one[reached], node_two[reached] = entry_mark[e], node, rows[i]
                    node_newest[reached] = node_newest[node]
                    nodes += 1
                if entry_emits[e]:
                    hit_node[hits], hit_row[hits], hit_floor[hits] = reached, rows[i], floor
                    hits += 1
                target = entry_target[e]
                if target == NOTHING:
                    continue
                if target_stamp[target] != stamp:
                    target_stamp[target] = stamp
                    target_node[target] = reached
                    targets[found] = target
                    found += 1
                else:
                    joined = join(
                        target_node[target], reached, floor, node_mark, node_one, node_two, node_newest, nodes,
                        needed + 1,
                    )  # fmt: skip
                    if joined == NO_NODES:
                        reason = NODES
                        break
                    target_node[target], nodes = joined - 1, joined
            if reason == NODES:
                break
        if reason == NODES:
            hits = hits_before
            break
        if found > slot_room[key]:
            give_block(key, found, slot_begin, slot_room, slots_used)
            first = slot_begin[key]
        for s in range(found):
            slot_state[first + s] = targets[s]
            slot_node[first + s] = target_node[targets[s]]
        slot_count[key] = found
    else:
        i = len(letters)
    counters[NODE_COUNT], counters[HIT_COUNT], counters[STAMP], counters[NEXT_EVENT] = nodes, hits, stamp, i
    return reason


@compiled
def list_matches(
    hit_node: Array,
    hit_row: Array,
    hit_floor: Array,
    node_mark: Array,
    node_one: Array,
    node_two: Array,
    node_newest: Array,
    stack_node: Array,
    stack_depth: Array,
    path_mark: Array,
    path_value: Array,
    path_entry: Array,
    counters: Array,
    start_row: Array,
    end_row: Array,
    offsets: Array,
    marks: Array,
    values: Array,
    parents: Array,
    sizes: Array,
    as_tree: bool,
) -> int:
    """Write the matches of all hits, each as its first and last row and what it marks, from first to last.

    As a tree, what a match has in common with the one before, up to its end, is not written again: an entry has a
    parent, which is what the match marks next, and in place of where a match ends, `offsets` tells what it marks first.
    """
    hit, stacked = counters[HIT_CURSOR], counters[STACK_SIZE]
    found, written = sizes[0], sizes[1]
    whole_hit, whole_found, whole_written = hit, 0, 0  # up to here all matches that end at a row are written
    reason, steps, known = DONE, 0, 0  # so much of the path is in the tree
    while reason == DONE:
        if stacked == 0:
            if hit == counters[HIT_COUNT]:
                break
            if hit == 0 or hit_row[hit] != hit_row[hit - 1]:
                whole_hit, whole_found, whole_written = hit, found, written
            stack_node[0], stack_depth[0] = hit_node[hit], 0
            stacked, hit = 1, hit + 1
        floor, end = hit_floor[hit - 1], hit_row[hit - 1]
        stacked -= 1
        node, depth = stack_node[stacked], stack_depth[stacked]
        while True:
            mark = node_mark[node]
            steps += 1
            if is_union(mark):
                if node_newest[node_two[node]] >= floor:
                    if stacked + 2 > len(stack_node):
                        reason = DEEP
                        break
                    stack_node[stacked], stack_depth[stacked] = node_two[node], depth
                    stacked += 1
                node = node_one[node]
            elif mark == BOTTOM:
                if found == len(start_row) or written + depth > len(marks):
                    reason = FULL
                    break
                start_row[found], end_row[found] = node_two[node], end
                found += 1
                if as_tree:
                    for j in range(known, depth):
                        marks[written], values[written] = path_mark[j], path_value[j]
                        parents[written] = path_entry[j - 1] if j > 0 else -1
                        path_entry[j] = written
                        written += 1
                    known = max(known, depth)
                    offsets[found] = path_entry[depth - 1] if depth > 0 else -1
                    break
                for j in range(depth):
                    marks[written + j] = path_mark[depth - 1 - j]
                    values[written + j] = path_value[depth - 1 - j]
                written += depth
                offsets[found] = written
                break
            else:
                if depth == len(path_mark):
                    reason = DEEP
                    break
                path_mark[depth], path_value[depth] = mark, node_two[node]
                known = min(known, depth)
                depth += 1
                node = node_one[node]
        if reason != DONE:  # go on from this node
            stack_node[stacked], stack_depth[stacked] = node, depth
            stacked += 1
    if reason == FULL and whole_found > 0:  # leave those that end at one row together
        hit, stacked, found, written = whole_hit, 0, whole_found, whole_written
    counters[HIT_CURSOR], counters[STACK_SIZE] = hit, stacked
    counters[STEPS] += steps
    sizes[0], sizes[1] = found, written
    return reason


@compiled
def measure_branches(leaf: Array, parents: Array, kept: Array, marks: Array, sizes: Array) -> None:
    """How many entries of a kind that is kept each match of a tree has."""
    below = np.zeros(len(parents), np.int64)
    for entry in range(len(parents)):
        below[entry] = kept[marks[entry]]
        if parents[entry] >= 0:
            below[entry] += below[parents[entry]]
    for match in range(len(leaf)):
        sizes[match] = below[leaf[match]] if leaf[match] >= 0 else 0


@compiled
def write_branches(
    leaf: Array, parents: Array, kept: Array, marks: Array, values: Array, new_marks: Array, new_values: Array
) -> None:
    """The entries of matches of a tree, from first to last, if they are of a kind that is kept."""
    nearest = np.empty(len(parents), np.int64)  # from here on, the first that is kept
    for entry in range(len(parents)):
        nearest[entry] = -1 if parents[entry] < 0 else nearest[parents[entry]]
        if kept[marks[entry]]:
            nearest[entry] = entry
    at = 0
    for match in range(len(leaf)):
        entry = -1 if leaf[match] < 0 else nearest[leaf[match]]
        while entry >= 0:
            new_marks[at], new_values[at] = marks[entry], values[entry]
            at += 1
            entry = -1 if parents[entry] < 0 else nearest[parents[entry]]


@compiled
def in_order_of_start(start_row: Array, end_row: Array) -> Array:
    """How to put matches, which are in order of their ends, into order of their starts among equal ends."""
    order = np.arange(len(start_row))
    begin = 0
    for i in range(1, len(start_row) + 1):
        if i < len(start_row) and end_row[i] == end_row[begin]:
            continue
        low, high, sorted_already = start_row[begin], start_row[begin], True
        for j in range(begin + 1, i):
            sorted_already = sorted_already and start_row[j - 1] <= start_row[j]
            low, high = min(low, start_row[j]), max(high, start_row[j])
        if sorted_already:
            pass
        elif high - low < 4 * (i - begin) + 64:
            sort_by_counting(start_row, begin, i, low, high, order)
        else:
            order[begin:i] = begin + np.argsort(start_row[begin:i], kind="mergesort")
        begin = i
    return order


@compiled
def sort_by_counting(start_row: Array, begin: int, end: int, low: int, high: int, order: Array) -> None:
    """Matches from `begin` to `end` in order of their starts, which lie close together."""
    places = np.zeros(high - low + 2, np.int64)
    for j in range(begin, end):
        places[start_row[j] - low + 1] += 1
    for place in range(1, len(places)):
        places[place] += places[place - 1]
    for j in range(begin, end):
        place = start_row[j] - low
        order[begin + places[place]] = j
        places[place] += 1


@compiled
def reordered(order: Array, offsets: Array, marks: Array, values: Array) -> tuple[Array, Array, Array, bool]:
    """What matches mark, in another order of the matches; and whether all of them have the same marks."""
    new_offsets, new_marks, new_values = np.zeros_like(offsets), np.empty_like(marks), np.empty_like(values)
    one, at = np.uint64(1), np.uint64(0)  # unsigned: no look whether an index counts from the end
    size = offsets[1] - offsets[0] if len(order) > 0 else 0
    alike = True
    for i in range(len(order)):
        match = np.uint64(order[i])
        first, last = np.uint64(offsets[match]), np.uint64(offsets[match + one])
        alike = alike and last - first == np.uint64(size)
        while first < last:
            new_marks[at], new_values[at] = marks[first], values[first]
            first, at = first + one, at + one
        new_offsets[i + 1] = at
    for entry in range(size, len(marks) if alike else 0):
        alike = alike and marks[entry] == marks[entry - size]
    return new_offsets, new_marks, new_values, alike


@compiled
def drop_expired(
    slot_state: Array, slot_node: Array, slot_begin: Array, slot_count: Array, floors: Array, newest: Array
) -> None:
    """Empty the slots whose nodes have left the window."""
    for key in range(len(slot_count)):
        first, kept = slot_begin[key], slot_begin[key]
        for s in range(first, first + slot_count[key]):
            if newest[slot_node[s]] >= floors[key]:
                slot_state[kept], slot_node[kept] = slot_state[s], slot_node[s]
                kept += 1
        slot_count[key] = kept - first


@compiled
def collect(
    node_mark: Array, node_one: Array, node_two: Array, node_newest: Array, floor: Array, live: Array, moved: Array
) -> int:
    """Keep the nodes that can still be reached within the window; `moved` tells where each went. Their number."""
    for i in range(len(live) - 1, -1, -1):
        if not live[i] or node_mark[i] == BOTTOM:
            continue
        live[node_one[i]], floor[node_one[i]] = True, floor[i]
        if is_union(node_mark[i]) and node_newest[node_two[i]] >= floor[i]:
            live[node_two[i]], floor[node_two[i]] = True, floor[i]
    kept = 0
    for i in range(len(live)):
        if not live[i]:
            continue
        mark, one, two = node_mark[i], node_one[i], node_two[i]
        if is_union(mark):
            if not live[two] or node_newest[moved[two]] < floor[i]:  # nothing but the left side is left
                moved[i], floor[i] = moved[one], GONE
                continue
            if floor[two] == GONE:  # of the rest of a list, one element is left
                mark = UNION
            two = moved[two]
        if mark != BOTTOM:
            one = moved[one]
        newest = node_newest[i]
        node_mark[kept], node_one[kept], node_two[kept], node_newest[kept] = mark, one, two, newest
        moved[i] = kept
        kept += 1
    return kept
