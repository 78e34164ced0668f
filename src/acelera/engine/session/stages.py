"""What stands between the hits of a machine and the matches that are given.

A stage is given hits as they come, and gives those that go on: it may drop some, raise the floor of others, or hold
them until it knows more. Stages follow one another, and the last one is followed by what lists matches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy.typing as npt

from acelera.engine.absence.afterwards import Afterwards
from acelera.engine.keeping.ground import Ground
from acelera.engine.keeping.keeper import Keeper
from acelera.engine.keeping.kinds import keeper_of
from acelera.engine.machines.machine import Events
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.session.incoming import Incoming
from acelera.engine.session.matcher import Matcher
from acelera.engine.storage.snapshots import Section
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]


class Stage(Protocol):
    """Hits in, hits out; the nodes, rows and partitions of those that it holds stay."""

    @property
    def held(self) -> Held:
        """The hits that wait."""

    def read(self, events: Events, keys: int) -> None:
        """Events of so many keys, before the hits that they make."""

    def take(self, hits: Ended) -> Ended:
        """Hits that have just come, in order of their rows; those that go on now."""

    def settle(self, now: int | None) -> Ended:
        """All events so far were read, and no event comes any more before a time, if one is known: what goes on now."""

    def rest(self, until: int | None) -> Ended:
        """No event comes any more, and the stream is complete up to a time, or to its last event: what goes on of all
        that waits.
        """

    def due(self) -> int | None:
        """The least time that would let something go on if no event came before it; None if none would."""

    def compact(self) -> None:
        """Forget what only matches referred to that are over."""

    def keep_partitions(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew; those of hits that wait are among them."""

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""

    def load(self, sections: Mapping[str, Any], nodes: int, rows: int, partitions: int) -> None:
        """Go on from a snapshot with so many nodes, rows and partitions."""


def stages_of(checked: Checked, incoming: Incoming, matcher: Matcher) -> list[Stage]:
    """The stages of a query, from the machine on, before what KEEP says."""
    return [Afterwards(checked, incoming, matcher)] if matcher.plan.absences else []


def last_stage(checked: Checked, incoming: Incoming, matcher: Matcher, stages: Sequence[Stage]) -> Keeper | None:
    """What does as KEEP says, if the query has it."""
    keep, waiting = checked.clauses.keep, [stage.held for stage in stages]
    return None if keep is None else keeper_of(keep, Ground(checked, incoming, matcher, waiting))
