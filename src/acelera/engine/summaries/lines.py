"""What stands in the window of each key: a line of items, each an event or a pane, from the oldest to the newest.

The items of all keys lie in one pool, and so do the matrices of keys that have any; what is given up is used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import Array, inlined, kernel
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown

Ints = npt.NDArray[Any]

NONE = -1


class LineArrays(NamedTuple):
    """Of each key its first item, the first of its back and its last one, and where its matrices stand; NONE if there
    are none. Of each item those after and before it, and its tick. `free` holds the first items and matrices that are
    not used; each leads to the next one by `after` and `next_matrix`.
    """

    head: Array
    middle: Array
    tail: Array
    matrix: Array
    after: Array
    before: Array
    tick: Array
    next_matrix: Array
    free: Array


@inlined
def push(line: LineArrays, key: int, tick: int) -> Array:
    """A new item at the end of a key's line; there must be one that is not used."""
    item = line.free[0]
    line.free[0] = line.after[item]
    last = line.tail[key]
    line.after[item], line.before[item], line.tick[item] = NONE, last, tick
    if last == NONE:
        line.head[key] = item
    else:
        line.after[last] = item
    if line.middle[key] == NONE:
        line.middle[key] = item
    line.tail[key] = item
    return item


@inlined
def pop(line: LineArrays, key: int) -> None:
    """Give up the first item of a key."""
    item = line.head[key]
    following = line.after[item]
    line.after[item] = line.free[0]
    line.free[0] = item
    line.head[key] = following
    if line.middle[key] == item:
        line.middle[key] = following
    if following == NONE:
        line.tail[key] = NONE
    else:
        line.before[following] = NONE


@inlined
def take_matrix(line: LineArrays, key: int) -> None:
    """Give a key matrices; there must be some that are not used."""
    line.matrix[key] = line.free[1]
    line.free[1] = line.next_matrix[line.free[1]]


@inlined
def give_matrix(line: LineArrays, key: int) -> None:
    """Take a key its matrices."""
    line.next_matrix[line.matrix[key]] = line.free[1]
    line.free[1] = line.matrix[key]
    line.matrix[key] = NONE


@inlined
def has_items(line: LineArrays) -> bool:
    """Whether there are an item and matrices that are not used."""
    return bool(line.free[0] != NONE and line.free[1] != NONE)


@kernel
def find_items(line: LineArrays, held: Array, front: Array) -> None:
    """Tell which items there are, and which of them stand in front."""
    for key in range(len(line.head)):
        item, in_front = line.head[key], True
        while item != NONE:
            in_front = in_front and item != line.middle[key]
            held[item], front[item] = True, in_front
            item = line.after[item]


@kernel
def lead_on(line: LineArrays, found: Array) -> bool:
    """Whether each item is in one line, or in the one of those that are not used; and lines are what they should be."""
    for key in range(len(line.head)):
        item, last, middle = line.head[key], NONE, line.middle[key] == NONE
        while item != NONE:
            if found[item] or line.before[item] != last:
                return False
            found[item], last, middle = True, item, middle or item == line.middle[key]
            item = line.after[item]
        if last != line.tail[key] or not middle:
            return False
    item = line.free[0]
    while item != NONE:
        if found[item]:
            return False
        found[item] = True
        item = line.after[item]
    return bool(found.all())


class Lines:
    """The lines of all keys."""

    def __init__(self, items: int = 256, matrices: int = 16) -> None:
        head, middle, tail, matrix = (np.full(1, NONE, np.int64) for _ in range(4))
        before, tick, free = np.full(items, NONE, np.int64), np.zeros(items, np.int64), np.zeros(2, np.int64)
        chains = (_chained(items), _chained(matrices))
        self.arrays = LineArrays(head, middle, tail, matrix, chains[0], before, tick, chains[1], free)

    @property
    def items(self) -> int:
        """How many items there is room for."""
        return len(self.arrays.after)

    @property
    def matrices(self) -> int:
        """How many keys can have matrices."""
        return len(self.arrays.next_matrix)

    def make_room(self, keys: int) -> None:
        """For as many keys."""
        known = len(self.arrays.head)
        if keys > known:
            size = max(keys, 2 * known)
            names = ("head", "middle", "tail", "matrix")
            self.arrays = self.arrays._replace(
                **{name: np.concatenate([getattr(self.arrays, name), np.full(size - known, NONE)]) for name in names}
            )

    def enlarge(self) -> tuple[bool, bool]:
        """Twice as many items, or matrices, if there are none left; whether there are more of each."""
        arrays = self.arrays
        more = (bool(arrays.free[0] == NONE), bool(arrays.free[1] == NONE))
        if more[0]:
            size = self.items
            after = np.concatenate([arrays.after, size + _chained(size)])
            after[-1] = NONE
            arrays.free[0] = size
            before, tick = grown(arrays.before, 2 * size), grown(arrays.tick, 2 * size)
            arrays = arrays._replace(after=after, before=before, tick=tick)
        if more[1]:
            size = self.matrices
            following = np.concatenate([arrays.next_matrix, size + _chained(size)])
            following[-1] = NONE
            arrays.free[1] = size
            arrays = arrays._replace(next_matrix=following)
        self.arrays = arrays
        return more

    def held(self) -> tuple[Ints, Ints]:
        """The items that there are, and those of them that stand in front."""
        held, front = np.zeros((2, self.items), np.bool_)
        find_items(self.arrays, held, front)
        return np.flatnonzero(held), np.flatnonzero(front)

    def matrices_held(self) -> Ints:
        """The matrices that keys have."""
        found: Ints = self.arrays.matrix[self.arrays.matrix != NONE]
        return found

    def busy(self, keys: int) -> Ints:
        """The keys, of so many, that hold something."""
        return np.flatnonzero(self.arrays.matrix[:keys] != NONE)

    def keep(self, keys: Ints) -> None:
        """Forget all other keys, which hold nothing; these are numbered anew, in order."""
        names = ("head", "middle", "tail", "matrix")
        self.arrays = self.arrays._replace(**{name: getattr(self.arrays, name)[keys] for name in names})

    def dump(self) -> dict[str, Ints]:
        """All lines, for a snapshot."""
        return {f"line.{name}": array for name, array in self.arrays._asdict().items()}

    def load(self, sections: Mapping[str, Any]) -> None:
        """The lines of a snapshot."""
        arrays = LineArrays(*(check.array(sections, f"line.{name}", np.int64) for name in LineArrays._fields))
        _checked_line(arrays)
        self.arrays = arrays


def _checked_line(arrays: LineArrays) -> None:
    """Whether all refer to items and matrices that are there."""
    items, matrices = len(arrays.after), len(arrays.next_matrix)
    check.same_length(after=arrays.after, before=arrays.before, tick=arrays.tick)
    check.same_length(head=arrays.head, middle=arrays.middle, tail=arrays.tail, matrix=arrays.matrix)
    for name in ("head", "middle", "tail", "after", "before"):
        check.in_range(f"line.{name}", getattr(arrays, name), NONE, items)
    for name in ("matrix", "next_matrix"):
        check.in_range(f"line.{name}", getattr(arrays, name), NONE, matrices)
    check.holds("line.free", len(arrays.free) == 2, "is of another length")
    check.in_range("line.free", arrays.free, NONE, np.array([items, matrices]))
    found = np.zeros(items, np.bool_)
    check.holds("line.after", lead_on(arrays, found), "leads in a circle, or elsewhere than it should")
    used, following = np.bincount(arrays.matrix[arrays.matrix != NONE], minlength=matrices), arrays.free[1]
    while following != NONE and not used[following]:
        used[following], following = 1, arrays.next_matrix[following]
    check.holds("line.matrix", bool((used == 1).all()) and following == NONE, "has a place twice, or lacks one")
    check.holds("line.head", bool(((arrays.head == NONE) | (arrays.matrix != NONE)).all()), "has no matrix")


def _chained(size: int) -> Ints:
    """Each leads to the next one, the last to none."""
    following = np.arange(1, size + 1)
    following[-1] = NONE
    return following
