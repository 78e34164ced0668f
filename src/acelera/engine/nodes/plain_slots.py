"""Slots that are sets: what most algebras have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.nodes.slots import Slots

Ints = npt.NDArray[Any]


class PlainSlots:
    """The state of a slot is the number of a set, and nothing refers to values that machines store."""

    def sets_held(self, slots: Slots) -> Ints:
        """The sets that slots refer to."""
        return slots.state[slots.held]

    def move_sets(self, slots: Slots, moved: Ints) -> None:
        """Sets have gone elsewhere."""
        held = slots.held
        slots.state[held] = moved[slots.state[held]]

    def places_beside(self, sets: int) -> int:
        """How many places there can be, where there can be so many sets."""
        return sets

    def check_sets(self, slots: Slots, sets: int) -> None:
        """Whether slots refer to so many sets."""
        slots.check(sets)

    def look_at(self, stored: Ints) -> None:
        """Stored values are looked at when matches are listed, if ever."""

    def stored(self, actions: int) -> Ints:
        """Nothing refers to stored values."""
        return np.empty(0, np.int64)

    def move_stored(self, actions: int, moved: Ints) -> None:
        """Nothing refers to stored values."""
