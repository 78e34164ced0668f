"""Equal rows, and equal sets of numbers, get one number; they are found again by a table of hashes."""

from __future__ import annotations

import numpy as np

from acelera.engine.jit import Array, compiled, inner, prefetch


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

AT_ONCE = 128
"""So many rows are looked for together: memory is asked for all of them before any is looked at."""


@inner
def word_at(data: Array, at: int) -> Array:
    """Eight bytes as a number."""
    first, word = np.uint64(at), np.uint64(0)
    for index in range(8):
        word |= np.uint64(data[first + np.uint64(index)]) << np.uint64(8 * index)
    return word


@inner
def copy_bytes(data: Array, begin: int, size: int, target: Array, to: int) -> None:
    """Write some bytes elsewhere, eight at a time."""
    end = begin + size
    while begin + 8 <= end:
        word, first = word_at(data, begin), np.uint64(to)
        for index in range(8):
            target[first + np.uint64(index)] = (word >> np.uint64(8 * index)) & np.uint64(0xFF)
        begin, to = begin + 8, to + 8
    while begin < end:
        target[np.uint64(to)] = data[np.uint64(begin)]
        begin, to = begin + 1, to + 1


@inner
def mix(mixed: Array, word: Array) -> Array:
    """The number so far, and another word."""
    mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
    return mixed ^ (mixed >> np.uint64(32))


@inner
def hash_bytes(data: Array, begin: int, end: int) -> Array:
    """A number that is the same for equal bytes."""
    mixed, word = mix(np.uint64(end - begin), np.uint64(0)), np.uint64(0)
    while begin + 8 <= end:
        mixed = mix(mixed, word_at(data, begin))
        begin += 8
    for index in range(begin, end):
        word = (word << np.uint64(8)) | np.uint64(data[np.uint64(index)])
    return np.int64(mix(mixed, word) >> np.uint64(1))


@inner
def is_row(data: Array, begin: int, end: int, known: Array, known_at: Array, row: int) -> bool:
    """Whether a known row has these bytes."""
    at = known_at[row]
    if known_at[row + 1] - at != end - begin:
        return False
    while begin + 8 <= end:
        if word_at(data, begin) != word_at(known, at):
            return False
        begin, at = begin + 8, at + 8
    while begin < end and data[np.uint64(begin)] == known[np.uint64(at)]:
        begin, at = begin + 1, at + 1
    return bool(begin == end)


@compiled
def intern_bytes(
    data: Array, at: Array, first: int, known: Array, known_at: Array, table: Array, count: Array, numbers: Array
) -> int:
    """The numbers of rows of bytes from a first one on; those that are new are added. The row that has no room."""
    mask = len(table) - 1
    places = np.empty(AT_ONCE, np.int64)
    for begin in range(first, len(numbers), AT_ONCE):
        end = min(begin + AT_ONCE, len(numbers))
        for i in range(begin, end):
            places[i - begin] = hash_bytes(data, at[i], at[i + 1]) & mask
            prefetch(table, places[i - begin])
        for i in range(begin, end):
            numbers[i] = table[places[i - begin]]
            prefetch(known_at, max(numbers[i], 0))
        for i in range(begin, end):
            prefetch(known, known_at[max(numbers[i], 0)])
        for i in range(begin, end):
            place = places[i - begin]
            while table[place] >= 0 and not is_row(data, at[i], at[i + 1], known, known_at, table[place]):
                place = (place + 1) & mask
            if table[place] < 0:
                found, size = count[0], at[i + 1] - at[i]
                tail = known_at[found]
                if found + 1 == len(known_at) or tail + size > len(known):
                    return i
                copy_bytes(data, at[i], size, known, tail)
                known_at[found + 1] = tail + size
                table[place] = found
                count[0] += 1
            numbers[i] = table[place]
    return len(numbers)


@compiled
def intern_bytes_again(known: Array, known_at: Array, count: int, table: Array) -> None:
    """Fill the table of rows of bytes that are known to differ."""
    mask = len(table) - 1
    places = np.empty(AT_ONCE, np.int64)
    for begin in range(0, count, AT_ONCE):
        end = min(begin + AT_ONCE, count)
        for row in range(begin, end):
            places[row - begin] = hash_bytes(known, known_at[row], known_at[row + 1]) & mask
            prefetch(table, places[row - begin])
        for row in range(begin, end):
            place = places[row - begin]
            while table[place] >= 0:
                place = (place + 1) & mask
            table[place] = row


@compiled
def append_bytes(data: Array, at: Array, target: Array, cursor: Array) -> None:
    """Write rows of bytes, each to where its cursor stands, which moves on."""
    for i in range(len(cursor)):
        size = at[i + 1] - at[i]
        copy_bytes(data, at[i], size, target, cursor[i])
        cursor[i] += size


@compiled
def take_bytes(data: Array, at: Array, rows: Array, target: Array, target_at: Array) -> None:
    """Write some of the rows of bytes, one after the other, to where each is to stand."""
    for i in range(len(rows)):
        copy_bytes(data, at[rows[i]], target_at[i + 1] - target_at[i], target, target_at[i])
