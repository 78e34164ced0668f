"""Many rows of a column at once: matches share events, so what is shown of an event is written again for each of them.

Arrow's `take` does the same for every kind of column; these loops are several times as quick for numbers, times and
texts without NULLs, which is what most columns hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.compiled import compiled

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


@compiled
def measure_texts(starts: Ints, rows: Ints, ends: Ints) -> int:
    """Where the texts of some rows end, each after the one before it, if all have room; how long they are together."""
    size = 0
    ends[0] = 0
    for i in range(len(rows)):
        size += starts[rows[i] + 1] - starts[rows[i]]
        ends[i + 1] = min(size, _LARGEST)
    return size


@compiled
def gather_texts(starts: Ints, data: Ints, rows: Ints, ends: Ints, found: Ints) -> None:
    """The texts of some rows, one after another.

    Most are short: a word is copied at once, whatever of it the text needs, since what follows is written afterwards.
    """
    for i in range(len(rows)):
        begin, at, copied = starts[rows[i]], ends[i], 0
        if begin + WORD <= len(data):
            one, two, three, four = data[begin], data[begin + 1], data[begin + 2], data[begin + 3]
            five, six, seven, eight = data[begin + 4], data[begin + 5], data[begin + 6], data[begin + 7]
            found[at], found[at + 1], found[at + 2], found[at + 3] = one, two, three, four
            found[at + 4], found[at + 5], found[at + 6], found[at + 7] = five, six, seven, eight
            copied = WORD
        for j in range(copied, ends[i + 1] - at):
            found[at + j] = data[begin + j]


@compiled
def rows_held(action: Ints, row: Ints, offsets: Ints, holds: Ints, rows: Ints, ends: Ints) -> int:
    """The rows of those entries of all matches whose action puts an event into a variable, which `holds` tells.

    Also where those of each match end; and how many there are.
    """
    count = 0
    ends[0] = 0
    for match in range(len(offsets) - 1):
        for entry in range(offsets[match], offsets[match + 1]):
            rows[count] = row[entry]
            count += holds[action[entry]]
        ends[match + 1] = count
    return count
