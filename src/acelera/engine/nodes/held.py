"""Hits that wait: what has ended, but is not given yet, since it is not known whether it will be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes.hits import HitArrays
from acelera.engine.storage import validation as check

Ints = npt.NDArray[Any]

_TYPES = {"value": np.int32, "row": np.int32, "floor": np.int64, "partition": np.int64}


@dataclass(frozen=True)
class Ended:
    """Hits, in order of the rows at which they end: for each its node, its row, its floor and its partition."""

    value: Ints
    row: Ints
    floor: Ints
    partition: Ints

    @classmethod
    def none(cls) -> Ended:
        """No hits."""
        return cls(*(np.empty(0, kind) for kind in _TYPES.values()))

    @classmethod
    def of(cls, hits: HitArrays, partitions: Ints, first: int) -> Ended:
        """Those that a machine has left in a frame: the partitions of its rows, the first of which has a number."""
        size = int(hits.count[0])
        row = hits.row[:size].copy()
        partition = partitions[row - first].astype(np.int64)
        return cls(hits.value[:size].copy(), row, hits.floor[:size].copy(), partition)

    @classmethod
    def joined(cls, several: Sequence[Ended]) -> Ended:
        """All of several, in order of their rows."""
        found = [each for each in several if len(each)]
        if len(found) <= 1:
            return found[0] if found else cls.none()
        whole = cls(*(np.concatenate([getattr(each, name) for each in found]) for name in _TYPES))
        in_order = bool((whole.row[1:] >= whole.row[:-1]).all())
        return whole if in_order else whole.only(np.argsort(whole.row, kind="stable"))

    def __len__(self) -> int:
        return len(self.row)

    def only(self, kept: Ints) -> Ended:
        """Some of them: a mask, or their numbers."""
        return Ended(self.value[kept], self.row[kept], self.floor[kept], self.partition[kept])


class Held:
    """The hits that a stage waits with. What they stand on is kept: nodes, and the rows of these and of their own."""

    def __init__(self) -> None:
        self._pieces: list[Ended] = []

    @property
    def hits(self) -> Ended:
        """All of them, in order."""
        if len(self._pieces) != 1:
            self._pieces = [Ended.joined(self._pieces)]
        return self._pieces[0]

    @hits.setter
    def hits(self, hits: Ended) -> None:
        self._pieces = [hits]

    def __len__(self) -> int:
        return sum(map(len, self._pieces))

    def add(self, hits: Ended) -> None:
        """More of them."""
        if len(hits):
            self._pieces.append(hits)

    def keep_partitions(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew; those of hits are among them."""
        self.hits = replace(self.hits, partition=np.searchsorted(kept, self.hits.partition))

    def dump(self, name: str) -> dict[str, Ints]:
        """All of them, for a snapshot."""
        return {f"{name}_{each.name}": getattr(self.hits, each.name) for each in fields(Ended)}

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The hits of a snapshot."""
        arrays = {each: check.array(sections, f"{name}_{each}", kind) for each, kind in _TYPES.items()}
        check.same_length(**arrays)
        check.ascending(f"{name}_row", arrays["row"])
        self.hits = Ended(**arrays)

    def check(self, name: str, nodes: int, rows: int, partitions: int) -> None:
        """Whether they refer to so many nodes, rows and partitions."""
        for what, size in (("value", nodes), ("row", rows), ("partition", partitions)):
            check.in_range(f"{name}_{what}", getattr(self.hits, what), 0, size)
