"""A stretch of a stream that is read alone, and what becomes of many of them.

What comes into a stretch is not known to whoever reads it: partial matches in some sets of states. So it begins with a
slot for each set that can be reached at all, which stands for one partial match that has marked nothing, and follows
what becomes of each apart. At the end it knows, for each of these *rows* and for what begins in it, what ends in it and
which sets are left: a matrix. Matrices are multiplied in the order of the stretches.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress, product
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.automata.contradictions import impossible
from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.transition_table import TransitionTable

Ints = npt.NDArray[Any]

MOST_TESTS, MOST_SETS = 10, 64
"""With more, a stretch would follow too much."""


@dataclass
class _Letters:
    """All letters that there can be."""

    holding: list[frozenset[int]]


def reachable_sets(strategy: Strategy) -> tuple[frozenset[int], ...] | None:
    """The sets of states that partial matches can be in, in one order for all; None if they are too many.

    The first is where matches begin, whether they can come back to it or not.
    """
    plan = strategy.plan
    if not plan.is_table or len(plan.tests) > MOST_TESTS:
        return None
    letters = _Letters([])
    for bits in product((False, True), repeat=len(plan.tests)):
        if not impossible(list(compress(plan.tests, bits))):
            letters.holding.append(frozenset(compress(range(len(plan.tests)), bits)))
    table = TransitionTable(plan, letters)  # type: ignore[arg-type]  # all that it looks at are the letters
    table.make_room()
    number = 0
    while number < len(table.sets):
        for letter in range(len(letters.holding)):
            table.fill(number, letter)
            if len(table.sets) > MOST_SETS:
                return None
        number += 1
    return tuple(table.sets)
