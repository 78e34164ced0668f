"""Events as matrices over sets of states, and stretches of events as their products.

Entry (s, t) of a matrix stands for the ways from set s to set t, as a row of components (`nodes.components`): how many
there are, and what is aggregated over them. Set 0 is where no match has begun: from it every event leads to itself,
once, and to where a match begins with the event. The last column, `done`, is for matches that have ended.

A window that slides is kept by two stacks. The events behind it, in front of some point, are each known by what leads
from them to that point: the *front*, of which the row of set 0 is all that is needed. All events after that point are
one product, the *back*. When the front is used up, the back is taken apart and becomes the front. So each event is
multiplied a fixed number of times, however long the window is.
"""

from __future__ import annotations

from typing import NamedTuple

from acelera.engine.jit import Array, inlined, inner
from acelera.engine.machines.advance import NOTHING
from acelera.engine.machines.table_step import TableStep
from acelera.engine.nodes.components import Components, Kinds, add, clear, copy, is_nothing, make_one, multiply
from acelera.engine.nodes.vectors import Given, act


class Algebra(NamedTuple):
    """What entries are, and what marks add to them."""

    kinds: Kinds
    operations_at: Array
    operations: Array


@inlined
def gather(kinds: Kinds, c: Components, at: int, other: Components, source: int) -> None:
    """Add a row to one that may stand for nothing."""
    if is_nothing(c, at):
        copy(c, at, other, source)
    else:
        add(kinds, c, at, other, source)


@inlined
def stays(step: TableStep, number: int, letter: int) -> bool:
    """Whether a letter leads from a set to itself and nowhere else, and marks nothing."""
    at, size = step.row_at[number, letter], step.row_size[number, letter]
    if number == 0:
        return bool(size == 0)
    entries = step.entries
    return bool(size == 1 and entries.mark[at] == NOTHING and entries.target[at] == number and not entries.emits[at])


@inlined
def unknown(step: TableStep, sets: int, letter: int) -> int:
    """A set from which it is not known yet where a letter leads, or -1."""
    for s in range(sets):
        if step.row_at[s, letter] < 0:
            return s
    return -1


@inlined
def changes(step: TableStep, sets: int, letter: int) -> bool:
    """Whether a letter is another matrix than the one that leaves all as it is."""
    changed = False
    for s in range(sets):
        changed = changed or not stays(step, s, letter)
    return changed


@inlined
def mark(algebra: Algebra, c: Components, at: int, number: int, given: Given, row: int) -> None:
    """Add to an entry what a mark adds."""
    if number != NOTHING:
        for o in range(algebra.operations_at[number], algebra.operations_at[number + 1]):
            act(algebra.kinds, c, at, algebra.operations[o], given, row)


@inlined
def read_event(
    algebra: Algebra,
    step: TableStep,
    sets: int,
    c: Components,
    base: int,
    begins: bool,
    counts: bool,
    letter: int,
    given: Given,
    row: int,
    work: Components,
) -> None:
    """Multiply one row of a matrix, which begins at `base`, by the matrix of an event, from the right.

    A match `begins` in the row of set 0. The row `counts` those that end, or does not. In `work` there is room for a
    row and an entry more.
    """
    entries, done = step.entries, sets
    for t in range(sets + 1):
        clear(work, t)
    for s in range(sets):
        if (s == 0 and not begins) or (s > 0 and is_nothing(c, base + s)):
            continue
        first = step.row_at[s, letter]
        for e in range(first, first + step.row_size[s, letter]):
            if s == 0:
                make_one(work, done + 1)
            else:
                copy(work, done + 1, c, base + s)
            mark(algebra, work, done + 1, entries.mark[e], given, row)
            if counts and entries.emits[e]:
                gather(algebra.kinds, work, done, work, done + 1)
            if entries.target[e] != NOTHING:
                gather(algebra.kinds, work, entries.target[e], work, done + 1)
    for t in range(1, sets):
        copy(c, base + t, work, t)
    if not is_nothing(work, done):
        gather(algebra.kinds, c, base + done, work, done)


@inlined
def read_event_before(
    algebra: Algebra,
    step: TableStep,
    sets: int,
    matrix: Components,
    base: int,
    begins: bool,
    letter: int,
    given: Given,
    row: int,
    work: Components,
) -> None:
    """Multiply a matrix, which begins at `base`, by the matrix of an event, from the left.

    With the event a match `begins`, or none does. What is done is not looked at. In `work` there is room for a matrix
    and an entry more.
    """
    width, entries = sets + 1, step.entries
    spare = sets * width
    for s in range(sets):
        if stays(step, s, letter) or (s == 0 and not begins):
            continue
        for t in range(1, sets):
            clear(work, s * width + t)
            if s == 0:
                copy(work, t, matrix, base + t)
        first = step.row_at[s, letter]
        for e in range(first, first + step.row_size[s, letter]):
            target = entries.target[e]
            if target == NOTHING:
                continue
            for t in range(1, sets):
                if not is_nothing(matrix, base + target * width + t):
                    copy(work, spare, matrix, base + target * width + t)
                    mark(algebra, work, spare, entries.mark[e], given, row)
                    gather(algebra.kinds, work, s * width + t, work, spare)
    for s in range(sets):
        if not stays(step, s, letter) and (s > 0 or begins):
            for t in range(1, sets):
                copy(matrix, base + s * width + t, work, s * width + t)


@inner
def multiplied(
    kinds: Kinds,
    sets: int,
    left: Components,
    row: int,
    right: Components,
    base: int,
    first: bool,
    result: Components,
    at: int,
    spare: int,
) -> None:
    """One row of a product: a row of a matrix, by another matrix. `first`: it is that of set 0.

    The row of the result begins at `at`; `spare` is a further entry of it to work on.
    """
    width = sets + 1
    for t in range(1, width):
        clear(result, at + t)
        if first:
            copy(result, at + t, right, base + t)
        for s in range(1, sets):
            if not is_nothing(left, row + s) and not is_nothing(right, base + s * width + t):
                multiply(kinds, result, spare, left, row + s, right, base + s * width + t)
                gather(kinds, result, at + t, result, spare)
    if not is_nothing(left, row + sets):
        gather(kinds, result, at + sets, left, row + sets)


@inlined
def make_identity(c: Components, base: int, sets: int) -> None:
    """Make a matrix leave all as it is."""
    width = sets + 1
    for s in range(sets):
        for t in range(width):
            clear(c, base + s * width + t)
        make_one(c, base + s * width + s)
