"""Which rows may matter to a query since one of its matches may have begun.

Between the first event of a match and its last lies no more than the window, and no more events than a match can have.
So a row with which no match can begin matters only if one may have begun so shortly before it, among rows of its key.
How rows of a key that are equal under order_by stand to each other is not looked at: all of them may matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.frames import Frame
from acelera.engine.jit import Array, kernel
from acelera.engine.session.keys import Keys
from acelera.engine.session.order import compare_adjacent, order_columns
from acelera.engine.ticks import FAR_PAST
from acelera.engine.window import WIDEST, Window
from acelera.errors import DataError
from acelera.language.schema import Schema

Ints = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

NO_LIMIT = 1 << 62
MOST_KEYS = 1 << 21
"""If more keys than this have come, they are forgotten, and it is taken that a match has begun in each."""


class Standing(NamedTuple):
    """The key of each row, and whether it may be `tied` with another row of its key, here or in another batch.

    Keys were forgotten `forgotten` times before.
    """

    keys: Ints
    tied: Bools
    forgotten: int


class Placing:
    """Tells the keys of rows, for all queries that are partitioned by them."""

    def __init__(self, partition_by: Sequence[str], schema: Schema) -> None:
        self.schema, self._partition_by = schema, tuple(partition_by)
        self._keys, self._forgotten = Keys(self._partition_by, schema), 0

    def read(self, frame: Frame) -> Standing | None:
        """Where some rows stand; None if one of them has no place. Who reads that one, says so."""
        try:
            order = order_columns(frame.batch, self.schema, None)
        except DataError:
            return None
        if len(self._keys) > MOST_KEYS:
            self._keys, self._forgotten = Keys(self._partition_by, self.schema), self._forgotten + 1
        keys = self._keys.read(frame)
        return Standing(keys, _tied(order, keys, len(self._keys)), self._forgotten)


class Placed:
    """Some rows in order; where they stand is found out when somebody asks, once."""

    def __init__(self, batch: pa.RecordBatch, placing: Placing) -> None:
        self.frame = Frame(batch, np.zeros(batch.num_rows, np.int64), placing.schema)
        self._placing = placing

    @cached_property
    def standing(self) -> Standing | None:
        """Where they stand."""
        return self._placing.read(self.frame)

    @cached_property
    def ticks(self) -> Ints:
        """When each of them happened, if the stream has time; never in the far past."""
        if self.frame.schema.time is None:
            return np.zeros(len(self.frame), np.int64)
        return np.asarray(np.maximum(self.frame["time"].cast(pa.int64()).to_numpy(), FAR_PAST + 1))


def _tied(order: Sequence[Any], keys: Ints, count: int) -> Bools:
    """Which of some rows are equal under order_by to others of their key, or may be to those of other batches."""
    tied = np.zeros(len(keys), np.bool_)
    if not order or not len(keys):
        return tied
    _, equal = compare_adjacent(order)
    if equal.any():
        groups = np.concatenate((np.zeros(1, np.int64), np.cumsum(~equal)))
        find_tied(keys, groups, np.full(count, -1, np.int64), tied)
        tied |= (groups == 0) | (groups == groups[-1])
    tied[0] = tied[-1] = True
    return tied


class Begun:
    """When a match of a query may have begun: for each key, the tick of the last row with which one could begin, and
    how many of the next rows may belong to it. `longest` is how many events a match can have; None is no limit.
    """

    def __init__(self, window: Window, longest: int | None) -> None:
        self._timed = window.timed
        self._width = window.width if window.timed and window.width is not None else WIDEST
        self._following = NO_LIMIT if longest is None else longest - 1
        self._last: Ints = np.zeros(0, np.int64)
        self._left: Ints = np.zeros(0, np.int64)
        self._others = int(FAR_PAST)  # the last tick for keys that were not heard of here
        self._forgotten = 0

    def all_matter(self, placed: Placed) -> None:
        """It is not looked at these rows: a match may have begun in any key."""
        if self._timed:
            last = pc.max(placed.frame["time"].cast(pa.int64())).as_py()
            self._forget(int(FAR_PAST) if last is None else last)
        else:
            self._forget(0)

    def matters(self, placed: Placed, codes: Ints, begins: Bools, reacts: Bools) -> Bools | None:
        """Whether each row may matter. The code of a row tells whether a match `begins` with it, and whether any state
        `reacts` to it. None if it is not known where rows stand.
        """
        standing = placed.standing
        if standing is None:
            self.all_matter(placed)
            return None
        if standing.forgotten != self._forgotten:
            self._forget(int(self._last.max(initial=FAR_PAST)))
            self._forgotten = standing.forgotten
        self._make_room(int(standing.keys.max(initial=-1)) + 1)
        found, known = np.empty(len(codes), np.bool_), (self._last, self._left)
        rows = (standing.keys, codes, standing.tied, placed.ticks)
        find_begun(*rows, begins, reacts, self._width, self._following, *known, found)
        return found

    def _forget(self, tick: int) -> None:
        """A match may have begun in any key, at this tick at the latest."""
        self._last, self._left, self._others = np.zeros(0, np.int64), np.zeros(0, np.int64), max(self._others, tick)

    def _make_room(self, keys: int) -> None:
        known = len(self._last)
        if keys > known:
            more = max(keys - known, known)
            self._last = np.concatenate((self._last, np.full(more, self._others)))
            self._left = np.concatenate((self._left, np.full(more, self._following)))


@kernel
def find_tied(keys: Array, groups: Array, last: Array, tied: Array) -> None:
    """Rows of one key and one group."""
    for i in range(len(keys)):
        before = last[keys[i]]
        if before >= 0 and groups[before] == groups[i]:
            tied[before] = tied[i] = True
        last[keys[i]] = i


@kernel
def find_begun(
    keys: Array,
    codes: Array,
    tied: Array,
    ticks: Array,
    begins: Array,
    reacts: Array,
    width: int,
    following: int,
    last: Array,
    left: Array,
    found: Array,
) -> None:
    """Whether a match begins with a row, or some state reacts to it, and a match may have begun within the width before
    it, of which it may be among the `following` rows. Rows that are tied do not count, since one that begins it may
    come last.
    """
    for i in range(len(keys)):
        key, code = keys[i], codes[i]
        if begins[code]:
            last[key], left[key] = ticks[i], following
            found[i] = True
            continue
        is_open = left[key] > 0 and last[key] > FAR_PAST and ticks[i] - last[key] <= width
        found[i] = reacts[code] and (tied[i] or is_open)
        if left[key] > 0 and not tied[i]:
            left[key] -= 1
