"""What registers refer to by number: strings, configurations and sets of them, sets of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine import interning
from acelera.engine import validation as check
from acelera.engine.arena import grown
from acelera.engine.stack_machine import SET_COUNTS

Ints = npt.NDArray[Any]


class Strings:
    """Strings as numbers, in order of first appearance, with their ranks in the order of strings."""

    def __init__(self, known: Sequence[str]) -> None:
        self.listed = list(known)
        self._number = {text: number for number, text in enumerate(known)}
        self._ranks = np.empty(0, np.int64)

    def numbers(self, column: Any) -> Ints:
        """The numbers of a column's values; 0 for NULL."""
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        known = [self.number(text) for text in column.dictionary.to_pylist()]
        codes = np.array([*known, 0], np.int64)
        indices = column.indices.cast(pa.int32()).fill_null(len(known)) if column.null_count else column.indices
        return np.asarray(codes[indices.to_numpy()])

    def number(self, text: str | None) -> int:
        """The number of a string."""
        number = self._number.setdefault(text or "", len(self.listed))
        if number == len(self.listed):
            self.listed.append(text or "")
        return number

    @property
    def ranks(self) -> Ints:
        """For each number where its string stands in the order of all."""
        if len(self._ranks) < max(len(self.listed), 1):
            self._ranks = np.zeros(max(len(self.listed), 1), np.int64)
            self._ranks[sorted(range(len(self.listed)), key=self.listed.__getitem__)] = np.arange(len(self.listed))
        return self._ranks


class Tables:
    """Interned rows: configurations, sets of them, stored values."""

    def __init__(self, width: int, stored_width: int, initial: int) -> None:
        self.counts = np.array([1, 1, 1, 0], np.int64)
        self.configurations = np.zeros((1 << 9, width), np.int64)
        self.configurations[0, 0] = initial
        self.set_at = np.zeros((1 << 9) + 1, np.int64)
        self.set_at[1] = 1
        self.members = np.zeros(1 << 11, np.int64)
        self.stored = np.zeros((1 << 9, stored_width), np.int64)
        self.target_stamp, self.target_node = np.zeros(1 << 9, np.int64), np.zeros(1 << 9, np.int32)
        self.build()

    def build(self) -> None:
        """The tables by which rows are found again; each has twice as many places as there can be rows."""
        configurations, sets, _, stored = self.counts.tolist()
        self.configuration_table = np.full(2 * len(self.configurations), -1, np.int32)
        self.set_table = np.full(2 * (len(self.set_at) - 1), -1, np.int32)
        self.stored_table = np.full(2 * len(self.stored), -1, np.int32)
        interning.intern_again(self.configurations, configurations, self.configuration_table)
        interning.intern_sets_again(self.set_at, self.members, sets, self.set_table)
        interning.intern_again(self.stored, stored, self.stored_table)

    def enlarge(self) -> None:
        """Room for twice as much."""
        self.configurations = grown(self.configurations, 2 * len(self.configurations))
        sets = 2 * (len(self.set_at) - 1)
        self.set_at, self.members = grown(self.set_at, sets + 1), grown(self.members, 2 * len(self.members))
        self.stored = grown(self.stored, 2 * len(self.stored))
        self.target_stamp, self.target_node = grown(self.target_stamp, sets), grown(self.target_node, sets)
        self.build()

    @property
    def crowded(self) -> bool:
        """Whether more than a quarter is taken."""
        room = (len(self.configurations), len(self.set_at) - 1, len(self.members), len(self.stored))
        return bool((4 * self.counts > np.array(room)).any())

    def dump(self) -> dict[str, Ints]:
        """All rows, for a snapshot."""
        configurations, sets, members, stored = self.counts.tolist()
        return {
            "configurations": self.configurations[:configurations],
            "set_at": self.set_at[: sets + 1],
            "members": self.members[:members],
            "stored": self.stored[:stored],
        }

    def load(self, sections: Mapping[str, Any]) -> None:
        """The rows of a snapshot."""
        names = ("configurations", "set_at", "members", "stored")
        rows = check.array(sections, "configurations", np.int64, self.configurations.shape[1])
        members = check.array(sections, "members", np.int64)
        check.array(sections, "stored", np.int64, self.stored.shape[1])
        check.offsets("set_at", check.array(sections, "set_at", np.int64), len(members))
        check.in_range("members", members, 0, len(rows))
        begins = len(sections["set_at"]) > 1 and sections["set_at"][1] == 1
        first = bool(begins and (rows[members[0]] == self.configurations[0]).all())
        check.holds("members", first, "does not begin with where matches begin")
        self.counts[:] = [len(sections[name]) - (name == "set_at") for name in names]
        while self.crowded:
            self.enlarge()
        for name in names:
            getattr(self, name)[: len(sections[name])] = sections[name]
        self.build()

    def keep(self, sets: Ints, stored: Ints) -> tuple[Ints, Ints]:
        """Only these sets and stored values; where they went. The tables are to be built again."""
        places, sizes = _members(self.set_at, sets)
        used, members = np.unique(self.members[places], return_inverse=True)
        self.configurations[: len(used)] = self.configurations[used]
        self.members[: len(members)] = members
        self.set_at[1 : len(sets) + 1] = np.cumsum(sizes)
        self.stored[: len(stored)] = self.stored[stored]
        moved_sets, moved_stored = np.zeros(len(self.set_at), np.int64), np.zeros(len(self.stored), np.int64)
        moved_sets[sets], moved_stored[stored] = np.arange(len(sets)), np.arange(len(stored))
        self.counts[:] = len(used), len(sets), len(members), len(stored)
        self.target_stamp[:] = 0
        return moved_sets, moved_stored


class ValueSets:
    """The sets that registers hold, and their members, interned."""

    def __init__(self, width: int) -> None:
        self.sizes = np.zeros(SET_COUNTS, np.int64)
        self.tuples = np.zeros((1 << 6, width), np.int64)
        self.sets = np.zeros((1 << 6) + 1, np.int64)
        self.items = np.zeros(1 << 8, np.int64)
        self.build()

    @property
    def arrays(self) -> tuple[Ints, ...]:
        """As the kernel wants them."""
        return self.tuples, self.tuple_table, self.sets, self.items, self.sets_table, self.sizes

    def build(self) -> None:
        """The tables by which they are found again."""
        tuples, sets, _ = self.sizes.tolist()
        self.tuple_table = np.full(2 * len(self.tuples), -1, np.int32)
        self.sets_table = np.full(2 * (len(self.sets) - 1), -1, np.int32)
        interning.intern_again(self.tuples, tuples, self.tuple_table)
        interning.intern_sets_again(self.sets, self.items, sets, self.sets_table)

    def enlarge(self) -> None:
        """Room for twice as much."""
        self.tuples, self.items = grown(self.tuples, 2 * len(self.tuples)), grown(self.items, 2 * len(self.items))
        self.sets = grown(self.sets, 2 * (len(self.sets) - 1) + 1)
        self.build()

    @property
    def crowded(self) -> bool:
        """Whether more than a quarter is taken."""
        return bool((4 * self.sizes > np.array((len(self.tuples), len(self.sets) - 1, len(self.items)))).any())

    def keep(self, sets: Ints) -> Ints:
        """Only these sets; where they went."""
        places, sizes = _members(self.sets, sets)
        used, items = np.unique(self.items[places], return_inverse=True)
        self.tuples[: len(used)] = self.tuples[used]
        self.items[: len(items)] = items
        self.sets[1 : len(sets) + 1] = np.cumsum(sizes)
        moved = np.zeros(len(self.sets), np.int64)
        moved[sets] = np.arange(len(sets))
        self.sizes[:] = len(used), len(sets), len(items)
        self.build()
        return moved

    def dump(self) -> dict[str, Ints]:
        """All of them, for a snapshot."""
        tuples, sets, items = self.sizes.tolist()
        return {"tuples": self.tuples[:tuples], "sets": self.sets[: sets + 1], "items": self.items[:items]}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Those of a snapshot."""
        names = ("tuples", "sets", "items")
        tuples = check.array(sections, "tuples", np.int64, self.tuples.shape[1])
        items = check.array(sections, "items", np.int64)
        check.offsets("sets", check.array(sections, "sets", np.int64), len(items))
        check.in_range("items", items, 0, len(tuples))
        self.sizes[:] = [len(sections[name]) - (name == "sets") for name in names]
        while self.crowded:
            self.enlarge()
        for name in names:
            getattr(self, name)[: len(sections[name])] = sections[name]
        self.build()


def _members(at: Ints, sets: Ints) -> tuple[Ints, Ints]:
    """Where the members of some sets stand, and how many each has."""
    sizes = (at[1:] - at[:-1])[sets]
    return np.repeat(at[sets] - np.cumsum(sizes) + sizes, sizes) + np.arange(sizes.sum()), sizes
