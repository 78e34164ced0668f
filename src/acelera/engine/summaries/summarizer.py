"""What summarizes: a machine whose partial matches carry what is known of them, and the totals of groups."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.machines.machine import Events
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown, wasteful
from acelera.engine.storage.renumbering import NO_VALUE, Reference, renumber
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.engine.summaries.grouping import PARTITION, POSITION, TIME, WINDOW, Known
from acelera.engine.summaries.rows import column_of_numbers
from acelera.engine.summaries.stretches import Slice
from acelera.engine.summaries.summary_columns import KeyColumns
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.language.result import PartitionKey
from acelera.tables import leaves

Ints = npt.NDArray[Any]


@dataclass(frozen=True)
class Groups:
    """Groups that are complete: the number of the window of each, a column for each key and each total."""

    windows: Ints | None
    keys: list[Any]
    totals: list[Any]

    def __len__(self) -> int:
        return len(self.totals[0])


class Clock(NamedTuple):
    """How far a stream has come: no event comes before a time any more; and the last position of each partition."""

    now: int | None
    last: Ints


class Machine(Protocol):
    """What runs a plan; what its partial matches carry is known to who made it."""

    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


class Found(Protocol):
    """The totals of groups, whatever they are made of."""

    def __len__(self) -> int: ...

    @property
    def keys(self) -> Ints:
        """The numbers of each group, a row each."""

    def keep(self, rows: Ints) -> None:
        """Only these groups."""

    def reference(self, column: int) -> Reference:
        """The numbers of all groups in a column."""

    def dump(self, name: str) -> dict[str, Section]:
        """All groups, for a snapshot."""

    def load(self, name: str, sections: Mapping[str, Any]) -> None:
        """The groups of a snapshot."""


class Summarizer(ABC):
    """The partial matches of all keys, and the totals of groups that are not complete."""

    machine: Machine
    totals: Found
    _parts: KeyColumns

    def __init__(self, how: SummaryPlan) -> None:
        self.summary, self.grouping, self.spans = how.summary, how.grouping, how.spans
        grouping, partition_keys = how.grouping, how.summary.partition_keys
        self._ends = KeyColumns(grouping.ends, how.schema, partition_keys, how.spans)
        self._panes_at = list(grouping.window_at) if len(grouping.window_at) == 2 else []
        self._by_panes = bool(self._panes_at)
        ends = [known.what for known in grouping.ends]
        partition = [at for at, source in enumerate(grouping.sources) if source >= 0 and ends[source] == PARTITION]
        self._partition_at = partition[0] if partition else None
        self._apart = set(partition_keys) >= {key.name for key in how.checked.clauses.partition_by}
        self._by_moment = any(source >= 0 and ends[source] in (TIME, POSITION) for source in grouping.sources)
        self.partial = False  # whether groups are given as others can merge them
        self.slice: Slice | None = None
        self._places = np.zeros(0, np.int64)  # where the events that are read stand among all that come
        self._last_position = np.zeros(1, np.int64)
        self._clock = Clock(None, self._last_position.copy())
        self._needed = 0  # of the numbers that stand for values, when that was looked at last

    @property
    def limit(self) -> int:
        """The tick from which on no match begins that is to be counted here."""
        end = None if self.slice is None else self.slice.end
        return int(np.iinfo(np.int64).max) if end is None else end

    # --- what is different by components and by value ---------------------------------------------------------------

    @abstractmethod
    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        """Read events, and fold the matches that they end; `parts` and `ends` are what is known of each."""

    @abstractmethod
    def _some(self, rows: Ints) -> Any:
        """What was found of some groups."""

    @abstractmethod
    def _merged(self, keys: Ints, rows: Ints) -> tuple[Ints, Any]:
        """What was found of some groups, together for those that have the same numbers as others; each once."""

    @abstractmethod
    def _finished(self, found: Any) -> list[Any]:
        """A column for each total, from what was found."""

    @property
    def first_row(self) -> int:
        """The number of the row that comes next."""
        return 0

    @property
    def wasteful(self) -> bool:
        """Whether it is time to forget what can no longer match, or what nothing refers to."""
        return self.wasteful_numbers

    # --- reading --------------------------------------------------------------------------------------------------

    def read(self, events: Events, keys: int, before: int) -> None:
        """Read events of so many keys, after so many events."""
        frame = events.frame
        self._places = before + np.arange(len(frame)) if self.slice is None else self.slice.places(frame)
        parts, ends = self._parts.read(frame), self._ends.read(frame)
        self._fold(events, keys, parts, ends)
        self._count(frame, ends)

    def _count(self, frame: Frame, ends: Ints) -> None:
        """How far each partition has come, where windows over events ask for it."""
        if self.spans is None or self.spans.timed or not self._apart:
            return
        source = [number for number, known in enumerate(self.grouping.ends) if known.what == PARTITION]
        partition = ends[source[0]] if source else np.zeros(len(frame), np.int64)
        if int(partition.max(initial=0)) >= len(self._last_position):
            self._last_position = grown(self._last_position, 2 * (int(partition.max()) + 1))
        np.maximum.at(self._last_position, partition, frame.positions)

    # --- what is complete -----------------------------------------------------------------------------------------

    def complete(self, now: int | None) -> Groups | None:
        """The groups that no later event can add to, if none comes before a time; they are then forgotten."""
        before, self._clock = self._clock, Clock(now, self._last_position.copy())
        if not len(self.totals) or self.grouping.row_at is not None:
            return None
        numbers, over = self.totals.keys, np.zeros(len(self.totals), np.bool_)
        for at, source in enumerate(self.grouping.sources):
            known = self.grouping.ends[source].what if source >= 0 else None
            if known == TIME and now is not None:
                over |= numbers[:, at] < now
            elif known == POSITION and self._apart:
                over[:] = True
            elif known == WINDOW:
                over |= self._past(numbers, numbers[:, at], self._clock)
        if not self._by_panes:
            return self._taken(over)
        return self._by_window(over, before, self._clock)

    def due(self) -> int | None:
        """The least time that is the last of a group: it is complete when nothing comes up to then any more."""
        if not len(self.totals):
            return None
        numbers, found = self.totals.keys, []
        for at, source in enumerate(self.grouping.sources):
            known = self.grouping.ends[source].what if source >= 0 else None
            if known == TIME:
                found.append(numbers[:, at])
            elif known == WINDOW and self.spans is not None and self.spans.timed:
                found.append(self.spans.end(numbers[:, at]) - 1)
        if self._by_panes and self.spans is not None and self.spans.timed:
            low, high = self.spans.holding(*(numbers[:, at] for at in self._panes_at))
            if self._clock.now is not None:
                low = np.minimum(np.maximum(low, self.spans.oldest(np.array([self._clock.now]))), high)
            found.append(self.spans.end(low) - 1)
        return min((int(each.min()) for each in found), default=None)

    def rest(self) -> Groups | None:
        """All groups, which are then forgotten."""
        everything = np.ones(len(self.totals), np.bool_)
        return self._by_window(everything, self._clock, None) if self._by_panes else self._taken(everything)

    def _past(self, numbers: Ints, windows: Ints, clock: Clock) -> Ints:
        """Whether windows are over for groups."""
        assert self.spans is not None
        nothing = np.zeros(len(windows), np.bool_)
        if self.spans.timed:
            return nothing if clock.now is None else self.spans.end(windows) <= clock.now
        if not self._apart or not len(windows):
            return nothing
        partition = numbers[:, self._partition_at] if self._partition_at is not None else nothing.astype(np.int64)
        known = partition < len(clock.last)
        last = clock.last[np.where(known, partition, 0)] if len(clock.last) else nothing
        return known & (self.spans.end(windows) <= last + 1)

    def _by_window(self, over: Ints, before: Clock, clock: Clock | None) -> Groups | None:
        """Groups by panes become groups by window: windows that were not over before, and are now.

        Of groups that are over themselves, all windows are.
        """
        assert self.spans is not None
        numbers = self.totals.keys
        low, high = self.spans.holding(numbers[:, self._panes_at[0]], numbers[:, self._panes_at[1]])
        sizes = np.maximum(high - low + 1, 0)
        rows = np.repeat(np.arange(len(numbers)), sizes)
        windows = np.repeat(low - np.cumsum(sizes) + sizes, sizes) + np.arange(len(rows))
        given = over[rows] if clock is None or self._by_moment else self._past(numbers[rows], windows, clock)
        if not self._by_moment:
            given &= ~self._past(numbers[rows], windows, before)
        if self.slice is not None:
            given &= self.slice.owns(windows)
        rows, windows = rows[given], windows[given]
        keys = np.column_stack([np.delete(numbers[rows], self._panes_at, axis=1), windows])
        merged_keys, found = self._merged(keys, rows)
        done = over | (sizes == 0)
        if clock is not None and not self._by_moment:
            done |= self._past(numbers, high, clock)
        self.totals.keep(np.flatnonzero(~done))
        return self._groups(merged_keys, found) if len(merged_keys) else None

    def _taken(self, over: Ints) -> Groups | None:
        """Groups that are over, which are then forgotten."""
        if not over.any():
            return None
        rows = np.flatnonzero(over)
        if self.slice is not None and self.grouping.window_at:
            rows = rows[self.slice.owns(self.totals.keys[rows, self.grouping.window_at[0]])]
        found = self._groups(self.totals.keys[rows], self._some(rows)) if len(rows) else None
        self.totals.keep(np.flatnonzero(~over))
        return found

    def _groups(self, numbers: Ints, found: Any) -> Groups:
        """Groups as columns. Where there are panes, the window stands after all other numbers."""
        totals = self._finished(found)
        at = self.grouping.key_at
        windows = None
        if self._by_panes:
            windows = numbers[:, -1]
            at = tuple(place - sum(pane < place for pane in self._panes_at) for place in at)
        elif self.grouping.window_at:
            windows = numbers[:, self.grouping.window_at[0]]
        return Groups(windows, self._keys(numbers, at), totals)

    def _keys(self, numbers: Ints, at: tuple[int, ...]) -> list[Any]:
        """The columns of keys, from the numbers of groups."""
        return [self.key(number, numbers[:, place]) for number, place in enumerate(at)]

    def key(self, number: int, kept: Ints) -> Any:
        """The values of a key that numbers stand for."""
        column = self.summary.keys[number]
        known, numbered = self._known(self.grouping.sources[self.grouping.key_at[number]])
        if not numbered.has_values(known):
            same = numbered.constant(known)
            return column_of_numbers(kept, column.type) if same is None else pa.repeat(same, len(kept))
        earlier = self.summary.keys[:number]
        component = sum(isinstance(each.source, PartitionKey) for each in earlier) if known.what == PARTITION else 0
        values = [each[component] for each in numbered.values(known, kept)]
        return leaves(values, column.type, column.name)

    def _known(self, source: int) -> tuple[Known, KeyColumns]:
        if source >= 0:
            return self.grouping.ends[source], self._ends
        return self.grouping.parts[-1 - source], self._parts

    # --- memory ---------------------------------------------------------------------------------------------------

    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""
        self.machine.compact(floor)

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that have a partial match."""
        return self.machine.busy_keys(keys)

    def partial_matches(self, keys: int) -> int:
        """How many partial matches of so many keys are held, as far as they are told apart."""
        return len(self.machine.busy_keys(keys))

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        self.machine.keep_keys(keys)

    @property
    def wasteful_numbers(self) -> bool:
        """Whether it is time to see which values that have numbers are still needed."""
        return wasteful(self.numbers, self._needed)

    @property
    def numbers(self) -> int:
        """How many values have numbers."""
        return sum(each.count(known) for each in (self._parts, self._ends) for known in each.known)

    def forget_numbers(self) -> None:
        """Forget the values whose numbers neither partial matches nor groups refer to; there must be no hits."""
        looked_at = self._renumber()
        self._needed = max(self.numbers, looked_at)  # so that it is done again only after as much has come

    def _renumber(self) -> int:
        """Number values anew; how many numbers were looked at."""
        looked_at = 0
        for known, numbered, references in self._numbered():
            kept = renumber(numbered.count(known), references, partial(numbered.keep, known))
            looked_at += sum(len(each.numbers) for each in references)
            if known.what == PARTITION:
                self._last_position = _some_of(self._last_position, kept)
                self._clock = self._clock._replace(last=_some_of(self._clock.last, kept))
        return looked_at

    def _numbered(self) -> Iterator[tuple[Known, KeyColumns, list[Reference]]]:
        """What tells groups apart by the numbers of values, and all that refers to these."""
        for source in dict.fromkeys(self.grouping.sources):
            known, numbered = self._known(source)
            if numbered.has_values(known):
                yield known, numbered, self._references(source)

    def _references(self, source: int) -> list[Reference]:
        """Where numbers from a source stand."""
        return [self.totals.reference(at) for at, each in enumerate(self.grouping.sources) if each == source]

    def check_numbers(self) -> None:
        """Whether values are there for all numbers of a snapshot."""
        for known, numbered, references in self._numbered():
            for each in references:
                check.in_range(known.what, each.numbers, NO_VALUE, numbered.count(known))

    def dump(self) -> dict[str, Section]:
        """The sections of a snapshot."""
        return {
            **with_prefix("machine.", self.machine.dump()),
            **self.totals.dump("totals"),
            **self._parts.dump("part"),
            **self._ends.dump("end"),
            "last_position": self._last_position,
            "clock": self._clock.last,
        }

    def state(self) -> Section:
        """Its part of the state in a snapshot."""
        return self._clock.now

    def load(self, sections: Mapping[str, Any], now: Any) -> None:
        """Go on from a snapshot."""
        self._parts.load("part", sections)
        self._ends.load("end", sections)
        self.machine.load(without_prefix("machine.", sections))
        self.totals.load("totals", sections)
        self._last_position = check.array(sections, "last_position", np.int64)
        self._clock = Clock(now, check.array(sections, "clock", np.int64))
        self._needed = self.numbers
        if now is not None:
            check.whole("state", now)


def _some_of(positions: Ints, kept: Ints) -> Ints:
    """The positions of some partitions, 0 for those that none is known of; there is always room for one."""
    found = np.zeros(max(len(kept), 1), np.int64)
    there = kept < len(positions)
    found[: len(kept)][there] = positions[kept[there]]
    return found
