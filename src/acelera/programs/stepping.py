"""What a session asks of an engine of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

CLOCK = ""
"""The label under which the first events tell when time began, which is what absolute and periodic timers need.

No rule can ask for it, as it is no label. Of events that no rule asks for an engine sees nothing else.
"""


class Stepping(Protocol):
    """Rules over a stream, step by step.

    Tables have a column for each child, and the ticks `#begin` and `#end`.
    """

    def step(self, given: Mapping[str, pa.Table], now: int) -> dict[str, pa.Table]:
        """Take the events that end after the last step and by now; those that are derived and end by now, by label.

        Derived events that came in as well are not among them. Absolute and periodic timers happen from the first
        event on (see CLOCK) until now. If it fails, all is as before.
        """

    def finish(self) -> dict[str, pa.Table]:
        """Let all relative timers that are pending happen; absolute and periodic ones do not."""

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere."""

    def kept(self) -> dict[str, int]:
        """How many rows are kept, by what they are kept for."""
