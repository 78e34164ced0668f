"""Sets of rows in the memory of a machine. A few rows are compared one by one, more are found by their hashes."""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, by_address, by_address_inlined
from acelera.stages.raw_memory import copy, get, put

FEW = 8
"""So many rows are compared one by one."""


@by_address_inlined
def alike(mem: int, one: int, other: int, width: int) -> bool:
    """Whether two rows are the same."""
    index = 0
    while index < width and get(mem, one + index) == get(mem, other + index):
        index += 1
    return index == width


@by_address
def hashed(mem: int, row: int, width: int, seed: int) -> Array:
    """A number that is the same for equal rows."""
    mixed = np.uint64(1469598103934665603) ^ np.uint64(seed)
    for index in range(row, row + width):
        mixed ^= np.uint64(get(mem, index))
        mixed *= np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@by_address_inlined
def found(mem: int, row: int, width: int, rows: int, count: int, table: int, mask: int, epoch: int) -> bool:
    """Whether a row is in a set. A place of the table is of no account if it was written in another epoch."""
    if count > FEW:
        return found_by_hash(mem, row, width, rows, table, mask, epoch)
    other, end = rows, rows + count * width
    while other < end and not alike(mem, row, other, width):
        other += width
    return other < end


@by_address
def found_by_hash(mem: int, row: int, width: int, rows: int, table: int, mask: int, epoch: int) -> bool:
    """The same for many rows."""
    place = hashed(mem, row, width, 0) & mask
    while get(mem, table + place) >> 32 == epoch:
        if alike(mem, row, rows + (get(mem, table + place) & 0xFFFFFFFF) * width, width):
            return True
        place = (place + 1) & mask
    return False


@by_address
def hold_by_hash(mem: int, row: int, width: int, rows: int, count: int, table: int, mask: int, epoch: int) -> None:
    """Write a row into the table, and those before it, if they are few enough not to be there yet."""
    first = 0 if count == FEW else count
    for number in range(first, count + 1):
        at = row if number == count else rows + number * width
        place = hashed(mem, at, width, 0) & mask
        while get(mem, table + place) >> 32 == epoch:
            place = (place + 1) & mask
        put(mem, table + place, (epoch << 32) | number)


@by_address_inlined
def added(mem: int, row: int, width: int, rows: int, count: int, table: int, mask: int, epoch: int) -> bool:
    """Add a row to a set of so many; False if it is there already."""
    if found(mem, row, width, rows, count, table, mask, epoch):
        return False
    if count >= FEW:
        hold_by_hash(mem, row, width, rows, count, table, mask, epoch)
    copy(mem, row, rows + count * width, width)
    return True
