"""Guards: what UNLESS forbids runs beside, and leaves for each event where the newest of its matches starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import Array, kernel
from acelera.engine.machines.machine import Events, KernelMachine
from acelera.engine.nodes.starts import NewestStarts
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]


class Guards(Protocol):
    """Several guards, each of which may look at those before it."""

    def read(self, events: Events, keys: int) -> tuple[Events, npt.NDArray[np.bool_]]:
        """The events with what the guards say of them; for each guard and event whether it has just matched anew."""

    def compact(self) -> None:
        """Forget what only matches referred to that are over."""

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""


class QuickGuards:
    """Guards that are machines."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._guards = guards

    def __len__(self) -> int:
        return len(self._guards)

    def read(self, events: Events, keys: int) -> tuple[Events, npt.NDArray[np.bool_]]:
        """See Guards."""
        shape = (len(self._guards), len(events))
        events, changed = replace(events, latest=np.zeros(shape, np.int64)), np.zeros(shape, np.bool_)
        for number, guard in enumerate(self._guards):
            events.latest[number], changed[number] = guard.read(events, keys)
            events = replace(events, ruled_out=events.ruled_out | changed[number])
        return events, changed

    def compact(self) -> None:
        """See Guards."""
        for guard in self._guards:
            guard.compact()

    def keep_keys(self, keys: Ints) -> None:
        """See Guards."""
        for guard in self._guards:
            guard.keep_keys(keys)

    def dump(self) -> dict[str, Section]:
        """See Guards."""
        dumped: dict[str, Section] = {}
        for number, guard in enumerate(self._guards):
            dumped |= with_prefix(f"guard{number}.", guard.dump())
        return dumped

    def load(self, sections: Mapping[str, Any]) -> None:
        """See Guards."""
        for number, guard in enumerate(self._guards):
            guard.load(without_prefix(f"guard{number}.", sections))


class Guard:
    """A guard's machine, of which nothing but the newest start matters."""

    def __init__(self, machine: KernelMachine, starts: NewestStarts) -> None:
        self._machine, self._starts = machine, starts
        self._latest = np.zeros(1, np.int64)

    def read(self, events: Events, keys: int) -> tuple[Ints, Ints]:
        """For each event the moment at which the newest match so far starts, and whether that has just changed."""
        if keys > len(self._latest):
            self._latest = grown(self._latest, max(keys, 2 * len(self._latest)))
        places = np.arange(len(events), dtype=np.int32)
        given = replace(events, rows=places, ticks=events.moments, floors=events.moment_floors)
        taken = [self._starts.take_hits() for _ in self._machine.read(given, keys)]
        at, newest = (np.concatenate(each) for each in zip(*taken, strict=True))
        latest, changed = np.empty(len(events), np.int64), np.zeros(len(events), np.bool_)
        running_latest(events.keys, at, newest, self._latest, latest, changed)
        return latest, changed

    def compact(self) -> None:
        """Forget what only matches referred to that are over."""
        self._machine.compact(int(FAR_PAST))

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        self._machine.keep_keys(keys)
        self._latest = self._latest[keys]

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""
        return {**self._machine.dump(), "latest": self._latest}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self._machine.load(sections)
        self._latest = check.array(sections, "latest", np.int64)


@kernel
def running_latest(keys: Array, at: Array, newest: Array, by_key: Array, latest: Array, changed: Array) -> None:
    """The newest start of all matches of a key up to each event; matches end at events `at`, which are in order."""
    match = 0
    for i in range(len(keys)):
        key = keys[i]
        while match < len(at) and at[match] == i:
            if newest[match] > by_key[key]:
                by_key[key], changed[i] = newest[match], True
            match += 1
        latest[i] = by_key[key]
