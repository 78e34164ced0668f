"""What goes out: the matches that have ended pass through stages, are listed, and become rows of the result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.keeping.keeper import Keeper
from acelera.engine.machines.machine import Events
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.nodes.matches import Listed, Tree
from acelera.engine.plan import Plan
from acelera.engine.results.presenter import Presenter
from acelera.engine.session.matcher import Matcher
from acelera.engine.session.pages import Page
from acelera.engine.session.stages import Stage
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.language.checker import Checked

Ints = npt.NDArray[Any]


class Outgoing:
    """The result up to now: how many matches there were, and which wait in stages, in the order of the stages.

    Behind the last stage matches are listed, by a keeper if the query has KEEP.
    """

    def __init__(
        self, checked: Checked, plan: Plan, matcher: Matcher, stages: Sequence[Stage] = (), keeper: Keeper | None = None
    ) -> None:
        self.schema, self.matches = checked.schema_of_result, 0
        self.stages, self.keeper = list(stages), keeper
        self._matcher = matcher
        matcher.machine.arena.held = self.held
        self.presenter = Presenter(checked, plan, matcher.machine)

    @property
    def held(self) -> list[Held]:
        """The hits that wait in each stage."""
        return [stage.held for stage in self._all]

    @property
    def _all(self) -> list[Stage | Keeper]:
        return [*self.stages, *([] if self.keeper is None else [self.keeper])]

    def settled(self, events: int) -> int:
        """Of so many events, at how many of the first all matches that end there have been given."""
        first = [int(held.hits.row[0]) for held in self.held if len(held)]
        return min([events, *(int(self._matcher.store.places[row]) for row in first)])

    def read(self, events: Events, keys: int) -> None:
        """Events of so many keys, before they make hits."""
        for stage in self.stages:
            stage.read(events, keys)

    # --- matches --------------------------------------------------------------------------------------------------

    def pages(self, partitions: Ints, first: int, starting_before: int | None = None) -> Iterator[Page]:
        """The matches that have ended at rows of a frame, as far as they are known to be matches.

        `partitions` are those of the rows, of which the first has a number. Only matches that start before a tick, if
        one is given.
        """
        arena = self._matcher.machine.arena
        if not self._all:
            yield from self._presented(arena.listed(self.presenter.as_tree), starting_before)
            return
        ended = Ended.of(arena.hits.arrays, partitions, first)
        arena.hits.clear()
        yield from self._passed_on(ended, 0, starting_before)

    def settle(self, now: int | None, starting_before: int | None = None) -> Iterator[Page]:
        """What can be given once all events so far were read, and none comes any more before a time, if one is told."""
        for number, stage in enumerate(self.stages, 1):
            yield from self._passed_on(stage.settle(now), number, starting_before)
        if self.keeper is not None:
            yield from self._presented(self.keeper.settle(now), starting_before)

    def rest(self, starting_before: int | None = None, until: int | None = None) -> Iterator[Page]:
        """What can be given once no event comes any more, and the stream is complete up to a time, if one is told."""
        for number, stage in enumerate(self.stages, 1):
            yield from self._passed_on(stage.rest(until), number, starting_before)
        if self.keeper is not None:
            yield from self._presented(self.keeper.rest(), starting_before)

    def due(self) -> int | None:
        """The least time that would let something be given if no event came before it."""
        return min((due for due in (stage.due() for stage in self._all) if due is not None), default=None)

    def compact(self) -> None:
        """Forget what only matches referred to that are over."""
        for stage in self.stages:
            stage.compact()

    def keep_partitions(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew."""
        for stage in self._all:
            stage.keep_partitions(kept)

    def _passed_on(self, hits: Ended, at: int, starting_before: int | None) -> Iterator[Page]:
        """Hits that go on to a stage, or are listed behind the last one."""
        for stage in self.stages[at:]:
            hits = stage.take(hits)
        arena = self._matcher.machine.arena
        if self.keeper is not None:
            with_matches = hits.only(arena.arrays.newest[hits.value] >= hits.floor)
            yield from self._presented(self.keeper.take(with_matches), starting_before)
        elif len(hits):
            arena.put(hits)
            yield from self._presented(arena.listed(self.presenter.as_tree), starting_before)

    def _presented(self, found: Iterable[Listed | Tree], starting_before: int | None) -> Iterator[Page]:
        store = self._matcher.store
        rows = store.frame()
        for listed in found:
            if starting_before is not None:
                kept = np.flatnonzero(store.ticks[listed.start_row] < starting_before)
                listed = listed if len(kept) == len(listed) else listed.only(kept)
            if not len(listed):
                continue
            self.matches += len(listed)
            ends, starts = store.places[listed.end_row], store.places[listed.start_row]
            shown, sizes = self.presenter.present(listed, rows)
            yield Page.of_matches(shown, ends, starts, sizes)

    # --- snapshots ------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Section]:
        """Its part of the state in a snapshot."""
        return {"matches": self.matches}

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        found: dict[str, Section] = {}
        for number, stage in enumerate(self._all):
            found |= with_prefix(f"stage{number}.", stage.dump())
        return found

    def load(self, sections: Mapping[str, Any], partitions: int) -> None:
        """Go on from a snapshot with so many partitions."""
        self.matches = sections["state"]["matches"]
        check.whole("state", self.matches)
        for number, stage in enumerate(self._all):
            nodes, rows = self._matcher.machine.arena.size, self._matcher.store.rows
            stage.load(without_prefix(f"stage{number}.", sections), nodes, rows, partitions)
