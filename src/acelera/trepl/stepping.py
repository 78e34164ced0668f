"""What a program asks of an engine of rules over changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

Place = tuple[str, str, int]
"""Where an action stands: module, rule, and its number in the rule, from 0."""


class Engine(Protocol):
    """Rules over changes, some stages at a time."""

    def step(self, given: Mapping[str, pa.Table]) -> dict[Place, pa.Table]:
        """Take normalized changes by relation, whole stages that are later than all before; what actions do then.

        A table has `#key.K` for each attribute of `partition by`, `#stage`, `#instant.0` and so on, `#time`, and
        `arg1` and so on. After an error it is of no use any more.
        """

    def snapshot(self) -> bytes:
        """All that is needed to go on elsewhere."""

    def kept(self) -> dict[str, int]:
        """How much is kept, by what it is kept for."""
