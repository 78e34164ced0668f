"""Runs with registers: the loop over events.

A configuration is a row of numbers: the state, then for each register its tag and its values. Rows are interned, so
equal configurations have one number; so are the sets of configurations that the same marks lead to, and the values
that actions store.
"""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, compiled
from acelera.engine.nodes.kernels import (
    ASKED_LETTER,
    ASKED_SLOTS,
    ASKED_STATE,
    DONE,
    HIT_COUNT,
    HITS,
    NEXT_EVENT,
    NODE_COUNT,
    NODES,
    NOTHING,
    SLOTS,
    STAMP,
    TABLE,
    give_block,
)
from acelera.engine.nodes.unions import BOTTOM, NO_NODES, join
from acelera.engine.registers import opcodes as op
from acelera.engine.registers.stack_machine import NO_ROOM, carry_out, holds_for_all
from acelera.engine.storage.interning import intern_row, intern_set

FAILED, PAIRS = 100, 101
"""Reasons to stop: an aggregate failed, and there are more configurations than room to sort them in."""

# What is counted: configurations, sets of them, their members, stored values.
CONFIGURATIONS, SETS, MEMBERS, STORED = range(4)


@compiled
def advance_registers(
    letters: Array,
    keys: Array,
    rows: Array,
    ticks: Array,
    floors: Array,
    positions: Array,
    moments: Array,
    latest: Array,
    ruled_out: Array,
    inputs: Array,
    input_tags: Array,
    edge_from: Array,
    edge_count: Array,
    edge_list: Array,
    only_waits: Array,
    edge_target: Array,
    edge_action: Array,
    edge_code: Array,
    goes_on: Array,
    is_final: Array,
    stores: Array,
    seen: Array,
    code: Array,
    constants: Array,
    constant_tags: Array,
    ranks: Array,
    configurations: Array,
    configuration_table: Array,
    set_at: Array,
    members: Array,
    set_table: Array,
    stored: Array,
    stored_table: Array,
    counts: Array,
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
    pairs: Array,
    counters: Array,
    stack_size: int,
    edge_universal: Array,
    universal_code: Array,
    universal_sets: Array,
    tuples: Array,
    tuple_table: Array,
    sets: Array,
    set_items: Array,
    sets_table: Array,
    sizes: Array,
) -> int:
    """Read events, as `kernels.advance` does; slots hold sets of configurations rather than sets of states."""
    width, stored_width = configurations.shape[1], stored.shape[1]
    old, new = np.zeros(width, np.int64), np.zeros(width, np.int64)
    new_floats = new.view(np.float64)
    values = np.zeros(2 * stack_size, np.int64)  # the second half is for the high numbers of wide times
    reals = values.view(np.float64)
    tags = np.zeros(stack_size, np.int64)
    sign_row = np.zeros(stored_width, np.int64)
    group = np.zeros(len(pairs), np.int64)
    nodes, hits, stamp = counters[NODE_COUNT], counters[HIT_COUNT], counters[STAMP]
    actions = len(stores)
    reason = DONE
    i = counters[NEXT_EVENT]
    for i in range(counters[NEXT_EVENT], len(letters)):
        letter, key = letters[i], keys[i]
        first, held = slot_begin[key], slot_count[key]
        slot_floor[key] = floors[i]
        changes, amount = ruled_out[i], 0
        for s in range(-1, held):
            numbered = slot_state[first + s] if s >= 0 else 0
            for m in range(set_at[numbered], set_at[numbered + 1]):
                state = configurations[members[m], 0]
                if edge_from[state, letter] < 0:
                    counters[ASKED_STATE], counters[ASKED_LETTER] = state, letter
                    reason = TABLE
                    break
                amount += edge_count[state, letter]
                if s < 0:
                    changes = changes or edge_count[state, letter] > 0
                else:
                    changes = changes or not only_waits[state, letter]
            if reason == TABLE:
                break
        if reason == TABLE:
            break
        if not changes:
            continue
        if amount > len(pairs):
            reason = PAIRS
            break
        full = nodes + 2 * amount + 1 > len(node_mark) or 2 * (counts[CONFIGURATIONS] + amount) > len(
            configuration_table
        )
        full = full or 2 * (counts[SETS] + amount + 1) > len(set_table) or counts[MEMBERS] + amount > len(members)
        if full or 2 * (counts[STORED] + amount) > len(stored_table):
            reason = NODES
            break
        if hits + amount > len(hit_node):
            reason = HITS
            break
        if amount > len(targets) or (amount > slot_room[key] and slots_used[0] + 2 * amount > len(slot_state)):
            counters[ASKED_SLOTS] = amount
            reason = SLOTS
            break
        floor = floors[i]
        stamp += 1
        found, hits_before = 0, hits
        for s in range(-1, held):
            numbered, node = 0, -1
            if s >= 0:
                numbered, node = slot_state[first + s], slot_node[first + s]
                if node_newest[node] < floor:
                    continue
            paired = 0
            for m in range(set_at[numbered], set_at[numbered + 1]):
                for index in range(width):
                    old[index] = configurations[members[m], index]
                state = old[0]
                at = edge_from[state, letter]
                for e in range(at, at + edge_count[state, letter]):
                    edge = edge_list[e]
                    for index in range(width):
                        new[index] = 0
                    universal = edge_universal[edge, 0] < edge_universal[edge, 1]
                    end = edge_code[edge, 1] if universal else edge_code[edge, 2]
                    outcome = carry_out(
                        code, edge_code[edge, 0], end, old, new, new_floats, inputs, input_tags, i,
                        positions[i], moments[i], latest, constants, constant_tags, ranks, values, reals, tags,
                        tuples, tuple_table, sets, set_items, sets_table, sizes,
                    )  # fmt: skip
                    for u in range(edge_universal[edge, 0], edge_universal[edge, 1]):
                        if outcome == 1:
                            outcome = holds_for_all(
                                u, universal_code, universal_sets, new, new_floats, inputs, input_tags, i,
                                positions[i], moments[i], latest, code, constants, constant_tags, ranks, values, reals,
                                tags, tuples, tuple_table, sets, set_items, sets_table, sizes,
                            )  # fmt: skip
                    if outcome == -1:
                        counters[NEXT_EVENT] = i
                        return FAILED
                    if outcome == NO_ROOM:
                        reason = NODES
                        break
                    if outcome == 0:
                        continue
                    action = edge_action[edge]
                    marked = NOTHING
                    if action != NOTHING:
                        for index in range(stored_width):
                            sign_row[index] = 0
                        sign_row[0] = action
                        if universal and stores[action] > 0:
                            carry_out(
                                code, edge_code[edge, 1], edge_code[edge, 2], old, new, new_floats, inputs, input_tags,
                                i, positions[i], moments[i], latest, constants, constant_tags, ranks, values, reals,
                                tags, tuples, tuple_table, sets, set_items, sets_table, sizes,
                            )  # fmt: skip
                        for index in range(stores[action]):
                            sign_row[1 + 2 * index] = tags[index]
                            sign_row[2 + 2 * index] = values[index] if tags[index] == op.VALUE else 0
                        marked = intern_row(sign_row, stored_width, stored, stored_table, counts[STORED])
                        if marked == counts[STORED]:
                            counts[STORED] += 1
                    target = edge_target[edge]
                    number = NOTHING
                    if goes_on[target]:
                        new[0] = target
                        number = intern_row(new, width, configurations, configuration_table, counts[CONFIGURATIONS])
                        if number == counts[CONFIGURATIONS]:
                            counts[CONFIGURATIONS] += 1
                    # In order of what is marked, then of configurations.
                    place = paired
                    while place > 0 and (
                        pairs[place - 1, 0] > marked or (pairs[place - 1, 0] == marked and pairs[place - 1, 1] > number)
                    ):
                        pairs[place, 0], pairs[place, 1] = pairs[place - 1, 0], pairs[place - 1, 1]
                        pairs[place, 2] = pairs[place - 1, 2]
                        place -= 1
                    pairs[place, 0], pairs[place, 1], pairs[place, 2] = marked, number, is_final[target]
                    paired += 1
                if reason == NODES:
                    break
            if reason == NODES:
                break
            if paired == 0:
                continue
            if s < 0:
                node = nodes
                node_mark[node], node_one[node], node_two[node], node_newest[node] = BOTTOM, -1, rows[i], ticks[i]
                nodes += 1
            p = 0
            while p < paired:
                marked, size, ends = pairs[p, 0], 0, False
                while p < paired and pairs[p, 0] == marked:
                    ends = ends or pairs[p, 2] != 0
                    if pairs[p, 1] != NOTHING and (size == 0 or group[size - 1] != pairs[p, 1]):
                        group[size] = pairs[p, 1]
                        size += 1
                    p += 1
                reached = node
                if marked != NOTHING and seen[stored[marked, 0]]:
                    action = stored[marked, 0]
                    reached = nodes
                    node_mark[reached], node_one[reached], node_two[reached] = action, node, rows[i]
                    node_newest[reached] = node_newest[node]
                    nodes += 1
                    if stores[action] > 0:
                        node_mark[nodes], node_one[nodes], node_two[nodes] = actions + action, reached, marked
                        node_newest[nodes] = node_newest[node]
                        reached = nodes
                        nodes += 1
                if ends:
                    hit_node[hits], hit_row[hits], hit_floor[hits] = reached, rows[i], floor
                    hits += 1
                if size == 0:
                    continue
                target = intern_set(group, size, set_at, members, set_table, counts[SETS])
                if target == counts[SETS]:
                    counts[SETS] += 1
                    counts[MEMBERS] += size
                if target_stamp[target] != stamp:
                    target_stamp[target] = stamp
                    target_node[target] = reached
                    targets[found] = target
                    found += 1
                else:
                    joined = join(
                        target_node[target], reached, floor, node_mark, node_one, node_two, node_newest, nodes,
                        2 * amount + 1,
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
