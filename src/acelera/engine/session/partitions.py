"""The parts of a stream that are read apart: keys of PARTITION BY, and of what all events of a match have in common.

Positions are counted within a partition. The runs of a key of both are followed together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.frames import Frame
from acelera.engine.session.keys import Keys, count_positions
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown, wasteful
from acelera.engine.storage.renumbering import occurring, places_of
from acelera.engine.storage.snapshots import Section
from acelera.language.schema import Schema

Ints = npt.NDArray[Any]

IDLE = 3
"""Keys are forgotten once there are so many times as many as were needed: one that is idle takes little, and of those
that are forgotten many come again.
"""


class Partitions:
    """The partitions that have occurred, with how many events each has had, and the keys that split them further.

    `split_by` are columns whose value all events of a match have in common; without them keys and partitions are one.
    If partitions are `counted_for_ever`, none is forgotten, since the numbers of its positions matter.
    """

    def __init__(
        self, partition_by: Sequence[str], split_by: Sequence[str], schema: Schema, counted_for_ever: bool
    ) -> None:
        self.partitions = Keys(partition_by, schema)
        self.keys = Keys([*partition_by, *split_by], schema) if split_by else self.partitions
        self.counts: Ints = np.zeros(1, np.int64)
        self._split = Keys(split_by, schema)
        self._partition_of: Ints = np.zeros(1, np.int64)  # of each key, if keys are not the partitions
        self._counted_for_ever = counted_for_ever
        self._keys_kept = 0

    def read(self, frame: Frame) -> Ints:
        """The partition of each event. One that is known but has no events changes nothing."""
        found = self.partitions.read(frame)
        if len(self.partitions) > len(self.counts):
            self.counts = grown(self.counts, max(len(self.partitions), 2 * len(self.counts)))
        return found

    def positions(self, partitions: Ints) -> Ints:
        """The next position of its partition for each event."""
        if not self.partitions.columns:
            first = int(self.counts[0])
            self.counts[0] += len(partitions)
            return np.arange(first + 1, first + len(partitions) + 1)
        positions = np.empty(len(partitions), np.int64)
        count_positions(partitions, self.counts, positions)
        return positions

    def keys_of(self, frame: Frame, partitions: Ints) -> Ints:
        """The key of each event."""
        if self.keys is self.partitions:
            return partitions
        keys = self.keys.read(frame)
        if len(self.keys) > len(self._partition_of):
            self._partition_of = grown(self._partition_of, max(len(self.keys), 2 * len(self._partition_of)))
        self._partition_of[keys] = partitions
        return keys

    def of_keys(self, keys: Ints) -> Ints:
        """The partition of each of some keys."""
        return keys if self.keys is self.partitions else self._partition_of[keys]

    def joining(self, frame: Frame) -> Ints | None:
        """The events that can have a value in common with others; None if that are all."""
        if not self._split.columns:
            return None
        kept = np.flatnonzero(~self._split.missing(frame))
        return kept if len(kept) < len(frame) else None

    @property
    def wasteful(self) -> bool:
        """Whether it is time to see which keys are still needed."""
        return wasteful(len(self.keys), self._keys_kept, IDLE)

    def forget_idle(self, busy: Ints, needed: Ints) -> tuple[Ints | None, Ints | None]:
        """Forget keys without a partial match; which keys and which partitions are left, None if all are.

        Events of a partition are counted on while one of its matches is open, and from 1 after it was forgotten.
        `busy` are keys with a partial match, `needed` partitions that stay whatever they hold: those
        with a row that is equal to the last one, and with matches that wait.
        """
        keys = partitions = None
        if self.keys is not self.partitions:
            keys = busy
            self.keys.keep(busy)
            self._partition_of = self._partition_of[busy]
            busy = self._partition_of
        if self.partitions.columns and not self._counted_for_ever:
            partitions = occurring(np.concatenate((busy, needed)))
            if self.keys is self.partitions:
                keys = partitions
            else:
                self._partition_of = places_of(partitions)[self._partition_of]
            self.partitions.keep(partitions)
            self.counts = self.counts[partitions]
        self._keys_kept = len(self.keys)
        return keys, partitions

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """The sections of a snapshot."""
        return {
            "counts": self.counts,
            "partition_of": self._partition_of,
            **self.partitions.dump("partitions"),
            **(self.keys.dump("keys") if self.keys is not self.partitions else {}),
        }

    def load(self, sections: Mapping[str, Any], events: int) -> None:
        """Go on from a snapshot after so many events."""
        self.partitions.load("partitions", sections)
        if self.keys is not self.partitions:
            self.keys.load("keys", sections)
            self._partition_of = check.array(sections, "partition_of", np.int64)
            check.at_least("partition_of", self._partition_of, len(self.keys))
            check.in_range("partition_of", self._partition_of[: len(self.keys)], 0, len(self.partitions))
        self.counts = check.array(sections, "counts", np.int64)
        check.at_least("counts", self.counts, len(self.partitions))
        check.in_range("counts", self.counts, 0, events + 1)
