"""A step by registers: from a set of configurations, by what is marked, to sets of configurations.

A configuration is a row of numbers: the state, then for each register its tag and its values. Rows are interned, so
equal configurations have one number; so are the sets of configurations that the same marks lead to, and the values
that actions store.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from acelera.engine.jit import Array, implements, inlined
from acelera.engine.machines.advance import (
    DONE,
    FAILED,
    NOTHING,
    SCRATCH,
    VALUES,
    Entries,
    follow,
    lacks,
    look,
    marked,
    stirs,
    values_made,
)
from acelera.engine.nodes.algebras import extend
from acelera.engine.registers import opcodes as op
from acelera.engine.registers import stack_machine
from acelera.engine.registers.aggregate_steps import Cells
from acelera.engine.registers.arithmetic import Stack
from acelera.engine.registers.interned import CONFIGURATIONS, MEMBERS, SETS, STORED, TableArrays
from acelera.engine.registers.stack_machine import (
    Inputs,
    Program,
    Universal,
    ValueSetArrays,
    execute,
    execute_apart,
    holds_for_all,
)
from acelera.engine.storage.interning import intern_row, intern_set


class Edges(NamedTuple):
    """The edges of a plan, and which of them a letter permits in a state: a range of `listed`, -1 if not known yet.

    `waits`: a letter changes nothing in a state. `stays`: an edge leads to where it comes from, whatever the event is.
    `ends`: matches also end where it is taken. `code` is where the instructions of an edge begin, where those begin
    that compute what is stored, and where they end.
    """

    first: Array
    count: Array
    listed: Array
    waits: Array
    stays: Array
    ends: Array
    target: Array
    action: Array
    code: Array
    universal: Universal


class States(NamedTuple):
    """Of each state whether anything can follow, whether matches end there, and which cells are still looked at."""

    goes_on: Array
    is_final: Array
    live: Array


class Actions(NamedTuple):
    """Of each action how many values it stores, and whether anybody looks at what it leaves."""

    stores: Array
    seen: Array


class Scratch(NamedTuple):
    """Where a step works: registers before and after, the stack, what is stored, and what was reached, in order.

    `pairs` are, for each way to go on: the number of what is marked, the configuration, and whether matches end.
    """

    old: Array
    new: Cells
    stack: Stack
    stored: Array
    pairs: Array
    group: Array


class RegisterStep(NamedTuple):
    """All that a step by registers reads and writes. `ruled_out`: whether a guard has matched at an event."""

    edges: Edges
    states: States
    actions: Actions
    program: Program
    inputs: Inputs
    ruled_out: Array
    tables: TableArrays
    sets: ValueSetArrays
    scratch: Scratch
    entries: Entries


@implements(stirs, RegisterStep)
def _stirs(step: RegisterStep, event: int) -> bool:
    return bool(step.ruled_out[event])


@implements(look, RegisterStep)
def _look(step: RegisterStep, number: int, letter: int) -> tuple[int, bool]:
    tables, edges = step.tables, step.edges
    amount, changes = 0, False
    place, column = np.uint64(number), np.uint64(letter)  # see `advance`
    for m in range(tables.set_at[place], tables.set_at[place + np.uint64(1)]):
        state = tables.configurations[np.uint64(tables.members[np.uint64(m)]), 0]
        row = np.uint64(state)
        if edges.first[row, column] < 0:
            return -1 - state, False
        amount += edges.count[row, column]
        changes = changes or not edges.waits[row, column]
    return amount, changes


@implements(values_made, RegisterStep)
def _values_made(step: RegisterStep, entries: int) -> int:
    return 2 * entries + 1


@implements(lacks, RegisterStep)
def _lacks(step: RegisterStep, entries: int) -> int:
    tables, counts = step.tables, step.tables.counts
    if entries > len(step.scratch.pairs):
        return SCRATCH
    full = (
        2 * (counts[CONFIGURATIONS] + entries) > len(tables.configuration_table)
        or 2 * (counts[SETS] + entries + 1) > len(tables.set_table)
        or counts[MEMBERS] + entries > len(tables.members)
        or 2 * (counts[STORED] + entries) > len(tables.stored_table)
    )
    return VALUES if full else DONE


@implements(follow, RegisterStep)
def _follow(step: RegisterStep, number: int, letter: int, event: int) -> tuple[int, int, int]:
    tables, edges, scratch = step.tables, step.edges, step.scratch
    paired = 0
    for m in range(tables.set_at[number], tables.set_at[number + 1]):
        configuration = np.uint64(tables.members[np.uint64(m)])
        for index in range(len(scratch.old)):
            scratch.old[index] = tables.configurations[configuration, np.uint64(index)]
        state, column = np.uint64(scratch.old[0]), np.uint64(letter)
        first = edges.first[state, column]
        for e in range(first, first + edges.count[state, column]):
            edge = edges.listed[np.uint64(e)]
            if edges.stays[edge]:
                ends = step.states.is_final[state] or edges.ends[edge]
                pair_up(scratch.pairs, paired, NOTHING, tables.members[np.uint64(m)], ends)
                paired += 1
                continue
            outcome = take_edge(edges, step.program, step.inputs, step.sets, scratch, edge, event)
            if outcome == stack_machine.HOLDS:
                stored = store(step.actions, tables, scratch, edges.action[edge])
                target = edges.target[edge]
                reached = reach(tables, scratch, step.states, target) if step.states.goes_on[target] else NOTHING
                ends = step.states.is_final[target] or edges.ends[edge]
                pair_up(scratch.pairs, paired, stored, reached, ends)
                paired += 1
            elif outcome == stack_machine.FAILED:
                return 0, 0, FAILED
            elif outcome == stack_machine.FULL:
                return 0, 0, VALUES
    return 0, gather(step.actions, tables, step.entries, scratch, paired), DONE


@implements(marked, RegisterStep)
def _marked(step: RegisterStep, algebra: Array, value: Array, entry: int, row: int) -> Array:
    mark, stored = step.entries.mark[entry], step.entries.stored[entry]
    if mark == NOTHING:
        return value
    value = extend(algebra, value, mark, row)
    if stored != NOTHING:
        value = extend(algebra, value, len(step.actions.stores) + mark, stored)
    return value


# --- one edge -----------------------------------------------------------------------------------------------------


@inlined
def take_edge(
    edges: Edges, program: Program, inputs: Inputs, sets: ValueSetArrays, scratch: Scratch, edge: int, event: int
) -> int:
    """Compute the registers after an edge, and what it stores, which is left on the stack; what came of it."""
    new, stack, universal = scratch.new, scratch.stack, edges.universal
    for index in range(len(new.values)):
        new.values[index] = 0
    first, last = universal.of_edge[edge, 0], universal.of_edge[edge, 1]
    begin, end = edges.code[edge, 0], edges.code[edge, 1] if first < last else edges.code[edge, 2]
    outcome = execute(program, begin, end, scratch.old, new, inputs, event, stack, sets)
    for condition in range(first, last):
        if outcome == stack_machine.HOLDS:
            outcome = holds_for_all(condition, universal, program, new, inputs, event, stack, sets)
    if outcome == stack_machine.HOLDS and first < last:
        begin, end = edges.code[edge, 1], edges.code[edge, 2]
        execute_apart(program, begin, end, scratch.old, new, inputs, event, stack, sets)
    return outcome


@inlined
def store(actions: Actions, tables: TableArrays, scratch: Scratch, action: int) -> int:
    """The number of what an edge marks: its action and the values that it stores; NOTHING if it marks nothing."""
    row, stack = scratch.stored, scratch.stack
    if action == NOTHING:
        return NOTHING
    for index in range(len(row)):
        row[index] = 0
    row[0] = action
    for index in range(actions.stores[action]):
        row[1 + 2 * index] = stack.tags[index]
        row[2 + 2 * index] = stack.values[index] if stack.tags[index] == op.VALUE else 0
    number = intern_row(row, len(row), tables.stored, tables.stored_table, tables.counts[STORED])
    if number == tables.counts[STORED]:
        tables.counts[STORED] += 1
    return int(number)


@inlined
def reach(tables: TableArrays, scratch: Scratch, states: States, target: int) -> int:
    """The number of the configuration in a state with the registers that were computed, and are still looked at."""
    row, count = scratch.new.values, tables.counts[CONFIGURATIONS]
    row[0] = target
    for index in range(1, len(row)):
        if not states.live[target, index]:
            row[index] = 0
    number = intern_row(row, len(row), tables.configurations, tables.configuration_table, count)
    if number == count:
        tables.counts[CONFIGURATIONS] += 1
    return int(number)


# --- several edges that mark the same -----------------------------------------------------------------------------


@inlined
def pair_up(pairs: Array, paired: int, stored: int, configuration: int, ends: bool) -> None:
    """One more way to go on, in order of what is marked, then of configurations."""
    place = paired
    while place > 0 and (
        pairs[place - 1, 0] > stored or (pairs[place - 1, 0] == stored and pairs[place - 1, 1] > configuration)
    ):
        for index in range(3):
            pairs[place, index] = pairs[place - 1, index]
        place -= 1
    pairs[place, 0], pairs[place, 1], pairs[place, 2] = stored, configuration, ends


@inlined
def gather(actions: Actions, tables: TableArrays, entries: Entries, scratch: Scratch, paired: int) -> int:
    """An entry for each thing that is marked, with the set of configurations that it leads to; how many there are."""
    pairs, group = scratch.pairs, scratch.group
    p, made = 0, 0
    while p < paired:
        stored, size, ends = pairs[p, 0], 0, False
        while p < paired and pairs[p, 0] == stored:
            ends = ends or pairs[p, 2] != 0
            if pairs[p, 1] != NOTHING and (size == 0 or group[size - 1] != pairs[p, 1]):
                group[size] = pairs[p, 1]
                size += 1
            p += 1
        entries.mark[made], entries.stored[made], entries.emits[made] = NOTHING, NOTHING, ends
        if stored != NOTHING and actions.seen[tables.stored[stored, 0]]:
            action = tables.stored[stored, 0]
            entries.mark[made] = action
            entries.stored[made] = stored if actions.stores[action] > 0 else NOTHING
        entries.target[made] = NOTHING
        if size > 0:
            target = intern_set(group, size, tables.set_at, tables.members, tables.set_table, tables.counts[SETS])
            entries.target[made] = target
            if target == tables.counts[SETS]:
                tables.counts[SETS] += 1
                tables.counts[MEMBERS] += size
        made += 1
    return made
