"""Sets of rows in the memory of a machine. A few rows are compared one by one, more are found by their hashes."""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, inlined, inner

FEW = 8
"""So many rows are compared one by one."""


@inlined
def alike(mem: Array, one: int, other: int, width: int) -> bool:
    """Whether two rows are the same."""
    index = 0
    while index < width and mem[one + index] == mem[other + index]:
        index += 1
    return index == width


@inner
def hashed(mem: Array, row: int, width: int, seed: int) -> Array:
    """A number that is the same for equal rows."""
    mixed = np.uint64(1469598103934665603) ^ np.uint64(seed)
    for index in range(row, row + width):
        mixed ^= np.uint64(mem[index])
        mixed *= np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@inner
def found(mem: Array, row: int, width: int, rows: int, count: int, table: int, mask: int, epoch: int) -> bool:
    """Whether a row is in a set. A place of the table is of no account if it was written in another epoch."""
    if count <= FEW:
        other = 0
        while other < count and not alike(mem, row, rows + other * width, width):
            other += 1
        return other < count
    place = hashed(mem, row, width, 0) & mask
    while mem[table + place] >> 32 == epoch:
        if alike(mem, row, rows + (mem[table + place] & 0xFFFFFFFF) * width, width):
            return True
        place = (place + 1) & mask
    return False


@inner
def added(mem: Array, row: int, width: int, rows: int, count: int, table: int, mask: int, epoch: int) -> bool:
    """Add a row to a set of so many; False if it is there already."""
    if found(mem, row, width, rows, count, table, mask, epoch):
        return False
    if count >= FEW:
        first = 0 if count == FEW else count
        for number in range(first, count + 1):
            at = row if number == count else rows + number * width
            place = hashed(mem, at, width, 0) & mask
            while mem[table + place] >> 32 == epoch:
                place = (place + 1) & mask
            mem[table + place] = (epoch << 32) | number
    for index in range(width):
        mem[rows + count * width + index] = mem[row + index]
    return True
