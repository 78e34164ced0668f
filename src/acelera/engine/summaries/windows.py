"""The windows of OVER, in the unit that machines count in."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.window import NANOSECONDS, Window, window_of
from acelera.language import ast
from acelera.language.schema import Schema
from acelera.language.summary import Windows

Ints = npt.NDArray[Any]

LATEST = 2**63 - 1


@dataclass(frozen=True)
class Spans:
    """Windows [k·every, k·every + length), in ticks; those over events begin at tick 1 and with k = 0."""

    length: int
    every: int
    timed: bool

    @property
    def first(self) -> int:
        """The tick at which window 0 begins."""
        return 0 if self.timed else 1

    @property
    def pane(self) -> int:
        """All windows begin and end between panes, stretches of so many ticks."""
        return gcd(self.length, self.every)

    @property
    def overlap(self) -> bool:
        """Whether an event can be in several windows."""
        return self.every < self.length

    def oldest(self, ticks: Ints) -> Ints:
        """The number of the first window that holds each tick, or of the one that comes next if none does."""
        found: Ints = (ticks - self.first - self.length) // self.every + 1
        return found if self.timed else np.maximum(found, 0)

    def begin(self, windows: Ints) -> Ints:
        """The tick at which each window begins."""
        return windows * self.every + self.first

    def end(self, windows: Ints) -> Ints:
        """The first tick after each window."""
        return self.begin(windows) + self.length

    def reach_too_far(self, tick: int) -> bool:
        """Whether a window that holds a tick, or one next to it, may lie beyond what 64 bits count."""
        return abs(tick) > LATEST - max(self.length, self.every)

    def panes(self, ticks: Ints) -> Ints:
        """The number of each tick's pane."""
        found: Ints = (ticks - self.first) // self.pane
        return found

    def holding(self, first: Ints, last: Ints) -> tuple[Ints, Ints]:
        """The first and the last window that hold all from one pane to another; the last is smaller if none does."""
        low = -((self.length - (last + 1) * self.pane) // self.every)
        high = first * self.pane // self.every
        return (low if self.timed else np.maximum(low, 0)), high


def spans_of(windows: Windows | None, schema: Schema) -> Spans | None:
    """The windows of a summary over a stream."""
    if windows is None:
        return None
    tick = 1
    if windows.timed:
        assert schema.time is not None, "the checker asks for a stream with time"
        tick = NANOSECONDS[schema.time.arrow.unit]
    return Spans(windows.length // tick, windows.every // tick, windows.timed)


@dataclass(frozen=True)
class Bounded(Window):
    """A limit on each match, and windows that are to hold it wholly, in one unit."""

    spans: Spans | None = None

    def floors(self, ticks: Ints) -> Ints:
        """For each event the oldest tick at which a match that it ends may start."""
        floors = super().floors(ticks)
        if self.spans is None or not len(ticks):
            return floors
        return np.maximum(floors, self.spans.begin(self.spans.oldest(ticks)))


def bounds_of(within: ast.Within | None, spans: Spans | None, schema: Schema) -> tuple[Bounded, bool]:
    """The limit on each match, by WITHIN and windows; and whether the windows are in it, or in another unit."""
    window = window_of(within, schema)
    if spans is None or (within is not None and window.timed != spans.timed):
        return Bounded(window.width, window.timed), spans is None
    return Bounded(window.width, spans.timed, spans), True
