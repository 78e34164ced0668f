"""What stands between the hits of a machine and the matches that are listed, where a query has KEEP.

A keeper is the last stage (`session/stages.py`): hits go in, matches come out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.keeping.chosen import Picker
from acelera.engine.keeping.ground import Ground
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.nodes.matches import Listed, Tree
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

Matches = Iterator[Listed | Tree]


class Keeper(ABC):
    """Hits in, matches out; some wait until nothing that comes can change whether they are kept.

    `noted` are the notes of nodes that must not be forgotten.
    """

    noted: tuple[str, ...] = ()

    def __init__(self, ground: Ground) -> None:
        self.ground, self.picker, self.held = ground, Picker(ground), Held()

    @abstractmethod
    def take(self, hits: Ended) -> Matches:
        """Hits that have just come, in order of their rows, each of which has matches; the matches that are kept."""

    def settle(self, now: int | None) -> Matches:
        """All events so far were read, and none comes any more before a time, if one is told: what is now known."""
        return iter(())

    def rest(self) -> Matches:
        """No event comes any more: all that waits."""
        return iter(())

    def due(self) -> int | None:
        """The least time that would let more be known if no event came before it; None if none would."""
        return None

    def keep_partitions(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew; those of hits that wait are among them."""
        self.held.keep_partitions(kept)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        size = self.ground.arena.size
        notes: dict[str, Section] = {f"note_{name}": self.ground.note(name)[:size] for name in self.noted}
        return {**self.held.dump("held"), **notes}

    def load(self, sections: Mapping[str, Any], nodes: int, rows: int, partitions: int) -> None:
        """Go on from a snapshot with so many nodes, rows and partitions."""
        self.held.load("held", sections)
        self.held.check("held", nodes, rows, partitions)
        for name in self.noted:
            self.ground.arena.notes[name] = check.array(sections, f"note_{name}", np.int64)
            check.holds(f"note_{name}", len(self.ground.arena.notes[name]) == nodes, "is of other nodes")


class LastEnds:
    """Where the last match of each partition ends that was kept, as a tick."""

    def __init__(self) -> None:
        self._ends: Ints = np.empty(0, np.int64)

    def upto(self, partitions: int) -> Ints:
        """Those of so many partitions, to be read and changed."""
        missing = partitions - len(self._ends)
        if missing > 0:
            self._ends = np.concatenate((self._ends, np.full(max(missing, len(self._ends)), FAR_PAST)))
        return self._ends

    def keep(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew."""
        self._ends = self.upto(int(kept[-1]) + 1 if len(kept) else 0)[kept]

    def dump(self) -> dict[str, Section]:
        """For a snapshot."""
        return {"last_end": self._ends}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._ends = check.array(sections, "last_end", np.int64)


class GoingOn(Keeper):
    """Goes on behind the end of the last match of a partition that was kept."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self._last = LastEnds()

    def keep_partitions(self, kept: Ints) -> None:
        """Positions of a partition that is forgotten begin anew."""
        super().keep_partitions(kept)
        self._last.keep(kept)

    def dump(self) -> dict[str, Section]:
        """Also where the last matches end."""
        return {**super().dump(), **self._last.dump()}

    def load(self, sections: Mapping[str, Any], nodes: int, rows: int, partitions: int) -> None:
        """The same."""
        super().load(sections, nodes, rows, partitions)
        self._last.load(sections)
