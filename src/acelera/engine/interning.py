"""Equal rows, and equal sets of numbers, get one number; they are found again by a table of hashes."""

from __future__ import annotations

import numpy as np

from acelera.engine.compiled import compiled
from acelera.engine.kernels import Array


@compiled
def hash_row(row: Array, size: int) -> Array:
    """A number that is the same for equal rows."""
    mixed = np.uint64(1469598103934665603)
    for index in range(size):
        mixed ^= np.uint64(row[index])
        mixed *= np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@compiled
def intern_row(row: Array, size: int, rows: Array, table: Array, count: int) -> Array:
    """The number of a row, which is `count` if it is new; it is then added."""
    mask = len(table) - 1
    at = hash_row(row, size) & mask
    while table[at] >= 0:
        known = table[at]
        same = True
        for index in range(size):
            if rows[known, index] != row[index]:
                same = False
                break
        if same:
            return known
        at = (at + 1) & mask
    table[at] = count
    for index in range(size):
        rows[count, index] = row[index]
    return count


@compiled
def intern_set(members: Array, size: int, set_at: Array, items: Array, table: Array, count: int) -> Array:
    """The number of a set of configurations, given in order; `count` if it is new."""
    mask = len(table) - 1
    at = hash_row(members, size) & mask
    while table[at] >= 0:
        known = table[at]
        begin = set_at[known]
        same = set_at[known + 1] - begin == size
        if same:
            for index in range(size):
                if items[begin + index] != members[index]:
                    same = False
                    break
        if same:
            return known
        at = (at + 1) & mask
    table[at] = count
    begin = set_at[count]
    for index in range(size):
        items[begin + index] = members[index]
    set_at[count + 1] = begin + size
    return count


@compiled
def intern_again(rows: Array, count: int, table: Array) -> None:
    """Fill the table of rows that are known to differ."""
    mask = len(table) - 1
    for number in range(count):
        at = hash_row(rows[number], rows.shape[1]) & mask
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = number


@compiled
def intern_sets_again(set_at: Array, items: Array, count: int, table: Array) -> None:
    """The same for sets."""
    mask = len(table) - 1
    for number in range(count):
        members = items[set_at[number] : set_at[number + 1]]
        at = hash_row(members, len(members)) & mask
        while table[at] >= 0:
            at = (at + 1) & mask
        table[at] = number
