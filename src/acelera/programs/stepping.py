"""What a session asks of an engine of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa


class Stepping(Protocol):
    """Rules over a stream, step by step.

    Tables have a column for each child, and the ticks `#begin` and `#end`.
    """

    def step(
        self, given: Mapping[str, pa.Table], now: int, clock: tuple[int, int] | None = None
    ) -> dict[str, pa.Table]:
        """Take the events that end after the last step and by now; those that are derived and end by now, by label.

        Derived events that came in as well are not among them. `clock` are the smallest and the greatest end of all
        events so far, also of those that no rule asks for: absolute and periodic timers happen between them. If it
        fails, all is as before.
        """

    def finish(self) -> dict[str, pa.Table]:
        """Let all relative timers that are pending happen; absolute and periodic ones do not."""

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere."""

    def kept(self) -> dict[str, int]:
        """How many rows are kept, by what they are kept for."""
