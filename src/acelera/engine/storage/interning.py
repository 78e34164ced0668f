"""Equal rows, and equal sets of numbers, get one number; they are found again by a table of hashes."""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, compiled, inner


@inner
def hash_row(row: Array, size: int) -> Array:
    """A number that is the same for equal rows."""
    mixed = np.uint64(1469598103934665603)
    for index in range(size):
        mixed ^= np.uint64(row[index])
        mixed *= np.uint64(1099511628211)
        mixed ^= mixed >> np.uint64(29)
    return np.int64(mixed >> np.uint64(1))


@inner
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


@inner
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


# --- rows of bytes ------------------------------------------------------------------------------------------------


@inner
def hash_bytes(data: Array, begin: int, end: int) -> Array:
    """A number that is the same for equal bytes."""
    mixed = np.uint64(1469598103934665603)
    for index in range(begin, end):
        mixed = (mixed ^ np.uint64(data[index])) * np.uint64(1099511628211)
    mixed ^= mixed >> np.uint64(32)
    return np.int64(mixed >> np.uint64(1))


@compiled
def intern_bytes(
    data: Array, at: Array, first: int, known: Array, known_at: Array, table: Array, count: Array, numbers: Array
) -> int:
    """The numbers of rows of bytes from a first one on; those that are new are added. The row that has no room."""
    mask = len(table) - 1
    for i in range(first, len(numbers)):
        begin, end = at[i], at[i + 1]
        size = end - begin
        place = hash_bytes(data, begin, end) & mask
        found = -1
        while table[place] >= 0:
            row = table[place]
            other = known_at[row]
            if known_at[row + 1] - other == size:
                same = True
                for index in range(size):
                    if known[other + index] != data[begin + index]:
                        same = False
                        break
                if same:
                    found = row
                    break
            place = (place + 1) & mask
        if found < 0:
            found = count[0]
            tail = known_at[found]
            if found + 1 == len(known_at) or tail + size > len(known):
                return i
            for index in range(size):
                known[tail + index] = data[begin + index]
            known_at[found + 1] = tail + size
            table[place] = found
            count[0] += 1
        numbers[i] = found
    return len(numbers)


@compiled
def intern_bytes_again(known: Array, known_at: Array, count: int, table: Array) -> None:
    """Fill the table of rows of bytes that are known to differ."""
    mask = len(table) - 1
    for row in range(count):
        place = hash_bytes(known, known_at[row], known_at[row + 1]) & mask
        while table[place] >= 0:
            place = (place + 1) & mask
        table[place] = row


@compiled
def append_bytes(data: Array, at: Array, target: Array, cursor: Array) -> None:
    """Write rows of bytes, each to where its cursor stands, which moves on."""
    for i in range(len(cursor)):
        for index in range(at[i], at[i + 1]):
            target[cursor[i]] = data[index]
            cursor[i] += 1
