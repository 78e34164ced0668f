"""Hits wait until the time of UNLESS … FOR has passed; what happens in the meantime rules them out.

A guard tells for each event where the newest of its matches starts. Of a hit, the matches that start no later than the
newest one which has ended in time are ruled out: its floor is raised above it. Where what comes later is compared with
what a match holds, each match is a hit of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.absence.comparing import Comparison
from acelera.engine.absence.happening import Happening
from acelera.engine.machines.machine import Events
from acelera.engine.nodes.held import Ended, Held
from acelera.engine.nodes.matches import Listed
from acelera.engine.results.presenter import Presenter
from acelera.engine.session.incoming import Incoming
from acelera.engine.session.matcher import Matcher
from acelera.engine.storage import validation as check
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.engine.ticks import FAR_PAST
from acelera.engine.window import NANOSECONDS
from acelera.language.checker import Checked
from acelera.language.result import Result

Ints = npt.NDArray[Any]

LAST_TIME = np.iinfo(np.int64).max


class Afterwards:
    """A stage: see `session/stages.py`."""

    def __init__(self, checked: Checked, incoming: Incoming, matcher: Matcher) -> None:
        schema, plan = checked.schema, matcher.plan
        assert schema is not None and schema.time is not None, "the checker asks for a stream with time"
        self.held = Held()
        self._incoming, self._matcher, self._absences = incoming, matcher, plan.absences
        self._unit = NANOSECONDS[schema.time.arrow.unit]
        longest = max(absence.length for absence in self._absences)
        self._wait = -(-longest // self._unit)
        self._guards = matcher.watch(incoming.alphabet)
        self._happening: Happening | None = None
        shown = replace(checked, result=Result(checked.afterwards), rows=None, summary=None)
        self._values = shown.result.schema.empty_table().to_batches() or [
            pa.RecordBatch.from_pylist([], schema=shown.result.schema)
        ]
        self._presenter = Presenter(shown, plan, matcher.machine)
        self._comparisons = {
            number: Comparison(absence, schema, shown.result.schema)
            for number, absence in enumerate(self._absences)
            if absence.compared is not None
        }

    # --- hits -----------------------------------------------------------------------------------------------------

    def read(self, events: Events, keys: int) -> None:
        """Events, before the hits that they make."""
        for_ever = np.full(len(events), FAR_PAST)  # what is forbidden may take longer than the window
        told, matched = self._guards.read(replace(events, moment_floors=for_ever), keys)
        times = events.frame["time"].cast(pa.int64()).to_numpy()
        self._happening = Happening(events.frame, events.rows, events.keys, times, told.latest, matched)

    def take(self, hits: Ended) -> Ended:
        """All of them wait."""
        if self._comparisons:
            hits, values = self._one_by_one(hits)
            self._values += values
        self.held.add(hits)
        return Ended.none()

    def settle(self, now: int | None) -> Ended:
        """Those go on whose time has passed: no event comes before `now`, or before the last one that came."""
        self._rule_out()
        clock = self._incoming.clock if now is None else now
        return self._gone(-1 if clock is None else clock - 1) if clock is not None else Ended.none()

    def rest(self, until: int | None) -> Ended:
        """Those whose time lies within the stream; what happens to others is not known, so they are dropped."""
        clock = self._incoming.clock if until is None else until
        found = Ended.none() if clock is None else self._gone(clock)
        self._keep(np.zeros(len(self.held), np.bool_))
        return found

    def due(self) -> int | None:
        """When the first of them goes on."""
        if not len(self.held):
            return None
        return int(self._times()[0]) + self._wait + 1

    def _times(self) -> Ints:
        """When each of the hits that wait has ended; they are in order."""
        times = self._matcher.store.frame()["time"].cast(pa.int64())
        return np.asarray(times.take(pa.array(self.held.hits.row)).to_numpy())

    def _gone(self, clock: int) -> Ended:
        """Those that have ended so long ago that nothing up to the clock rules them out any more."""
        if not len(self.held):
            return Ended.none()
        over = int(np.searchsorted(self._times(), max(clock - self._wait, FAR_PAST), side="right"))
        found = self.held.hits.only(np.arange(over))
        self._keep(np.arange(len(self.held)) >= over)
        return found

    def _keep(self, kept: Ints) -> None:
        if kept.all():
            return
        self.held.hits = self.held.hits.only(kept)
        if self._comparisons:
            self._values = [self._told().filter(pa.array(kept))]

    def _told(self) -> pa.RecordBatch:
        """What the matches that wait hold that is compared, one row each."""
        if len(self._values) > 1:
            table = pa.Table.from_batches(self._values).combine_chunks()
            columns = [column.combine_chunks() for column in table.columns]
            self._values = [pa.RecordBatch.from_arrays(columns, schema=table.schema)]
        return self._values[0]

    # --- what rules them out --------------------------------------------------------------------------------------

    def _rule_out(self) -> None:
        """By what has happened in the batch."""
        happening, self._happening = self._happening, None
        if happening is None or not len(happening) or not len(self.held):
            return
        times = self._times()
        for number, absence in enumerate(self._absences):
            hits, length = self.held.hits, min(absence.length // self._unit, LAST_TIME)
            upto = happening.upto(np.where(times > LAST_TIME - length, LAST_TIME, times + length))
            if absence.compared is None:
                last, known = happening.last_of(hits.partition, upto)
                floor = np.where(known, happening.latest[absence.guard][last] + 1, FAR_PAST)
                self.held.hits = hits = replace(hits, floor=np.maximum(hits.floor, floor))
                kept = self._matcher.machine.arena.arrays.newest[hits.value] >= hits.floor
            else:
                matched, begin = happening.matched[absence.guard], happening.after(hits.row)
                compare = self._comparisons[number].rules_out
                kept = ~compare(happening, matched, hits.partition, begin, upto, self._told())
            self._keep(kept)
            times = times[kept]

    # --- one by one -----------------------------------------------------------------------------------------------

    def _one_by_one(self, hits: Ended) -> tuple[Ended, list[pa.RecordBatch]]:
        """Each match as a hit of its own, and what it holds that is compared."""
        arena, rows = self._matcher.machine.arena, self._matcher.store.frame()
        arena.put(hits)
        found = list(arena.listed())
        values, ended = [], []
        for listed in found:
            assert isinstance(listed, Listed)
            values.append(self._presenter.present(listed, rows)[0])
            value = arena.add_paths(listed)
            partition = hits.partition[np.searchsorted(hits.row, listed.end_row)]
            ended.append(Ended(value, listed.end_row.astype(np.int32), arena.arrays.newest[value], partition))
        return Ended.joined(ended), values

    # --- memory and snapshots -------------------------------------------------------------------------------------

    def compact(self) -> None:
        """Forget what guards need no more."""
        self._guards.compact()

    def keep_partitions(self, kept: Ints) -> None:
        """Only these partitions are left, and numbered anew."""
        self.held.keep_partitions(kept)
        self._guards.keep_keys(kept)

    def dump(self) -> dict[str, Section]:
        """Its sections of a snapshot."""
        return {**self.held.dump("held"), "told": self._told(), **with_prefix("watch.", self._guards.dump())}

    def load(self, sections: Mapping[str, Any], nodes: int, rows: int, partitions: int) -> None:
        """Go on from a snapshot with so many nodes, rows and partitions."""
        self.held.load("held", sections)
        self.held.check("held", nodes, rows, partitions)
        told = sections["told"]
        fits = isinstance(told, pa.RecordBatch) and told.schema.equals(self._values[0].schema)
        check.holds("told", fits and (not self._comparisons or told.num_rows == len(self.held)), "is of other matches")
        told.validate(full=True)
        self._values = [told]
        self._guards.load(without_prefix("watch.", sections))
