"""WITHIN, in the unit that the machines count in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.frames import Frame
from acelera.engine.ticks import FAR_PAST
from acelera.language import ast
from acelera.language.schema import Schema

Ints = npt.NDArray[Any]

WIDEST = 2**63 - 1

NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


@dataclass(frozen=True)
class Window:
    """A match may start at a tick that is at most `width` before the one at which it ends; None is no limit.

    Ticks are positions, or times in the unit of the order column.
    """

    width: int | None = None
    timed: bool = False

    def ticks(self, frame: Frame) -> Ints:
        """The tick of each event."""
        return frame["time"].cast(pa.int64()).to_numpy() if self.timed else frame.positions

    def floors(self, ticks: Ints) -> Ints:
        """For each event the oldest tick at which a match that it ends may start."""
        if self.width is None:
            return np.full(len(ticks), FAR_PAST)
        lowest = FAR_PAST + self.width
        if len(ticks) and ticks.min() < lowest:
            return np.where(ticks < lowest, FAR_PAST, ticks - self.width)
        return ticks - self.width


def window_of(within: ast.Within | None, schema: Schema) -> Window:
    """The window of a query over a stream."""
    if within is None:
        return Window()
    if within.unit == "events":
        return Window(min(within.reach, WIDEST))
    assert schema.time is not None, "the checker asks for a stream with time"
    width = within.reach // NANOSECONDS[schema.time.arrow.unit]
    return Window(min(width, WIDEST), timed=True)
