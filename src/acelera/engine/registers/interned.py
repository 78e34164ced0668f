"""What registers refer to by number: strings, configurations and sets of them, sets of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.jit import Array
from acelera.engine.registers.stack_machine import SET_COUNTS, ValueSetArrays
from acelera.engine.storage import interning
from acelera.engine.storage import validation as check
from acelera.engine.storage.byte_rows import ByteRows, coded, of_texts, to_texts
from acelera.engine.storage.growing import grown, wasteful
from acelera.engine.storage.renumbering import numbered_anew, occurring

Ints = npt.NDArray[Any]


class Strings:
    """Strings as numbers, with their ranks in the order of strings if it matters. The first ones are constants."""

    def __init__(self, constants: Sequence[str], ordered: bool) -> None:
        self._rows, self._constants, self._ordered = ByteRows(), len(constants), ordered
        self._rows.numbers(of_texts(pa.array(constants, pa.large_string())))
        self._ranks = np.empty(0, np.int64)
        self._kept = len(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def numbers(self, column: Any) -> Ints:
        """The numbers of a column's values; some number for NULL."""
        values, codes = coded(column)
        return self._rows.numbers(of_texts(values)).astype(np.int64)[codes]

    def text(self, number: int) -> str:
        """The string that has a number."""
        return self._rows.row(number).decode()

    def texts(self) -> Any:
        """All strings, as an array."""
        return to_texts(self._rows.rows)

    @property
    def ranks(self) -> Ints:
        """For each number where its string stands in the order of all; zeros if nobody asks for it."""
        if len(self._ranks) != max(len(self._rows), 1):
            self._ranks = np.zeros(max(len(self._rows), 1), np.int64)
            if self._ordered:  # the order of UTF-8 is that of characters
                self._ranks[pc.array_sort_indices(self.texts()).to_numpy()] = np.arange(len(self._rows))
        return self._ranks

    @property
    def forgettable(self) -> bool:
        """Whether there are others than constants."""
        return len(self._rows) > self._constants

    @property
    def wasteful(self) -> bool:
        """Whether it is time to see which strings are still needed."""
        return wasteful(len(self._rows), self._kept)

    def keep(self, numbers: Ints) -> Ints:
        """Only these strings, and constants; where each went."""
        kept = occurring(np.concatenate((np.arange(self._constants), numbers)))
        moved = np.zeros(max(len(self._rows), 1), np.int64)
        moved[kept] = np.arange(len(kept))
        self._rows.keep(kept)
        self._kept, self._ranks = len(kept), np.empty(0, np.int64)
        return moved

    def dump(self) -> dict[str, Ints]:
        """All strings, for a snapshot."""
        return self._rows.dump("strings")

    def load(self, sections: Mapping[str, Any]) -> None:
        """The strings of a snapshot."""
        constants = [self._rows.row(number) for number in range(self._constants)]
        self._rows.load("strings", sections)
        check.holds("strings", len(self) >= len(constants), "is shorter than it should be")
        begins = [self._rows.row(number) for number in range(len(constants))] == constants
        check.holds("strings", begins, "does not begin with the texts of the query")
        self.texts().validate(full=True)
        self._ranks = np.empty(0, np.int64)


CONFIGURATIONS, SETS, MEMBERS, STORED = range(4)
"""What is counted of interned rows: configurations, sets of them, the members of all sets together, stored values."""


class TableArrays(NamedTuple):
    """Interned rows, and the tables by which they are found again."""

    configurations: Array
    configuration_table: Array
    set_at: Array
    members: Array
    set_table: Array
    stored: Array
    stored_table: Array
    counts: Array


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
        self.build()

    @property
    def arrays(self) -> TableArrays:
        """As kernels want them."""
        return TableArrays(
            self.configurations,
            self.configuration_table,
            self.set_at,
            self.members,
            self.set_table,
            self.stored,
            self.stored_table,
            self.counts,
        )

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
        used, members = numbered_anew(self.members[places])
        self.configurations[: len(used)] = self.configurations[used]
        self.members[: len(members)] = members
        self.set_at[1 : len(sets) + 1] = np.cumsum(sizes)
        self.stored[: len(stored)] = self.stored[stored]
        moved_sets, moved_stored = np.zeros(len(self.set_at), np.int64), np.zeros(len(self.stored), np.int64)
        moved_sets[sets], moved_stored[stored] = np.arange(len(sets)), np.arange(len(stored))
        self.counts[:] = len(used), len(sets), len(members), len(stored)
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
    def arrays(self) -> ValueSetArrays:
        """As kernels want them."""
        return ValueSetArrays(self.tuples, self.tuple_table, self.sets, self.items, self.sets_table, self.sizes)

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
        used, items = numbered_anew(self.items[places])
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
