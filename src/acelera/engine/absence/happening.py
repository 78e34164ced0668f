"""What happens in a batch that matches which wait must not be followed by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.frames import Frame

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Happening:
    """The events of a batch, in order: their rows, partitions and times, and what guards say of them.

    `latest` is for each guard and event the moment at which the newest match so far starts, `matched` whether it has
    just changed.
    """

    frame: Frame
    rows: Ints
    partitions: Ints
    times: Ints
    latest: Ints
    matched: Ints

    def __len__(self) -> int:
        return len(self.rows)

    def upto(self, times: Ints) -> Ints:
        """How many of the events happen up to each of some times."""
        return np.searchsorted(self.times, times, side="right")

    def after(self, rows: Ints) -> Ints:
        """How many of the events are those of some rows, or come before them."""
        return np.searchsorted(self.rows, rows, side="right")

    def last_of(self, partitions: Ints, upto: Ints) -> tuple[Ints, Ints]:
        """Of the first so many events the last one of a partition; and for which there is one."""
        order, places = self._by_partition
        at = np.searchsorted(places, partitions * (len(self) + 1) + upto) - 1
        found = order[np.maximum(at, 0)]
        return found, (at >= 0) & (self.partitions[found] == partitions)

    @cached_property
    def _by_partition(self) -> tuple[Ints, Ints]:
        order = np.argsort(self.partitions, kind="stable")
        return order, self.partitions[order] * (len(self) + 1) + order
