"""Many rows of a column at once: matches share events, so what is shown of an event is written again for each of them.

Arrow's `take` does the same for every kind of column; these loops are several times as quick for numbers, times and
texts without NULLs, which is what most columns hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.jit import compiled

Ints = npt.NDArray[Any]

WORD = 8
_LARGEST = np.iinfo(np.int32).max


def taken(column: Any, rows: Ints) -> Any:
    """Some rows of a column."""
    kind = column.type
    if column.null_count or pa.types.is_null(kind):
        return column.take(pa.array(rows))
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(column, rows)
    if not pa.types.is_primitive(kind) or pa.types.is_boolean(kind) or kind.bit_width > 64:
        return column.take(pa.array(rows))
    size = kind.bit_width // 8
    numbers = np.frombuffer(column.buffers()[1], f"i{size}")[column.offset : column.offset + len(column)]
    numbers.flags.writeable = False  # as most are: a kernel for either would be two
    found = np.empty(len(rows), f"i{size}")
    gather_numbers(numbers, rows, found)
    return pa.Array.from_buffers(kind, len(rows), [None, pa.py_buffer(found)])


def _texts(column: Any, rows: Ints) -> Any:
    """Some rows of a column of texts; Arrow knows what to do if they are too long for one array."""
    _, offsets, data = column.buffers()
    if data is None:  # all are empty
        return column.take(pa.array(rows))
    starts = np.frombuffer(offsets, np.int32)[column.offset : column.offset + len(column) + 1]
    ends = np.empty(len(rows) + 1, np.int32)
    size = measure_texts(starts, rows, ends)
    if size > _LARGEST:
        return column.take(pa.array(rows))
    found = np.empty(size + WORD, np.uint8)
    gather_texts(starts, np.frombuffer(data, np.uint8), rows, ends, found)
    return pa.Array.from_buffers(column.type, len(rows), [None, pa.py_buffer(ends), pa.py_buffer(found)])


@compiled
def gather_numbers(numbers: Ints, rows: Ints, found: Ints) -> None:
    """The numbers of some rows."""
    for i in range(len(rows)):
        found[i] = numbers[rows[i]]


# An unsigned number as index needs no look whether it counts from the end, so several bytes are copied as one word.
_ONE, _WORD = np.uint64(1), np.uint64(WORD)
_PLACES = tuple(np.uint64(place) for place in range(WORD))


@compiled
def measure_texts(starts: Ints, rows: Ints, ends: Ints) -> int:
    """Where the texts of some rows end, each after the one before it, if all have room; how long they are together."""
    size = 0
    ends[0] = 0
    for i in range(len(rows)):
        row = np.uint64(rows[i])
        size += starts[row + _ONE] - starts[row]
        ends[i + 1] = min(size, _LARGEST)
    return size


@compiled
def gather_texts(starts: Ints, data: Ints, rows: Ints, ends: Ints, found: Ints) -> None:
    """The texts of some rows, one after another.

    Words are copied at once, whatever of the last one the text needs, since what follows is written afterwards.
    """
    second, third, fourth, fifth, sixth, seventh, eighth = _PLACES[1:]
    last = len(data) - WORD
    for i in range(len(rows)):
        begin, at, end = np.uint64(starts[np.uint64(rows[i])]), np.uint64(ends[i]), np.uint64(ends[i + 1])
        while at < end and np.int64(begin) <= last:
            left, right, three, four = data[begin], data[begin + second], data[begin + third], data[begin + fourth]
            five, six, seven, eight = (
                data[begin + fifth],
                data[begin + sixth],
                data[begin + seventh],
                data[begin + eighth],
            )
            found[at], found[at + second], found[at + third], found[at + fourth] = left, right, three, four
            found[at + fifth], found[at + sixth], found[at + seventh], found[at + eighth] = five, six, seven, eight
            begin, at = begin + _WORD, at + _WORD
        while at < end:
            found[at] = data[begin]
            begin, at = begin + _ONE, at + _ONE


@compiled
def rows_held(action: Ints, row: Ints, offsets: Ints, holds: Ints, rows: Ints, ends: Ints) -> int:
    """The rows of those entries of all matches whose action puts an event into a variable, which `holds` tells.

    Also where those of each match end; and how many there are. Matches are short and of all lengths: a loop over all
    entries goes where the processor expects it.
    """
    before = np.empty(len(action) + 1, ends.dtype)
    count = np.uint64(0)
    for entry in range(len(action)):
        before[entry] = count
        rows[count] = row[entry]
        count += np.uint64(holds[np.uint64(action[entry])])
    before[len(action)] = count
    for match in range(len(offsets)):
        ends[match] = before[np.uint64(offsets[match])]
    return int(count)
