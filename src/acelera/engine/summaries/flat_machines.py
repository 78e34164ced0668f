"""Machines for windows whose width costs nothing: an event is a matrix over the sets of a table (`transfers`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.jit import announce
from acelera.engine.machines.advance import EventArrays
from acelera.engine.machines.machine import Events
from acelera.engine.machines.reachable import Letters
from acelera.engine.machines.transition_table import TransitionTable
from acelera.engine.nodes.components import Components, Kinds
from acelera.engine.nodes.vector_arena import flat_operations, grown_components, load_rows, no_events
from acelera.engine.nodes.vectors import Given
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.growing import grown, widened
from acelera.engine.storage.renumbering import Reference, in_column
from acelera.engine.storage.snapshots import Section
from acelera.engine.summaries import panes, sliding
from acelera.engine.summaries.lines import Lines
from acelera.engine.summaries.partials import text_references
from acelera.engine.summaries.recipes import TEXT
from acelera.engine.summaries.sliding import DONE, TABLE
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.summaries.totals import Into, Totals
from acelera.engine.summaries.transfers import Algebra
from acelera.engine.ticks import FAR_PAST

Ints = npt.NDArray[Any]

NO_EVENTS = EventArrays.of(*(np.zeros(0, np.int64) for _ in range(5)))


class FlatMachine(ABC):
    """What both machines have: a table whose sets are known, lines of items, the backs of keys."""

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        self._alphabet, self.letters = alphabet, Letters()
        self.table = TransitionTable(how.plan, self.letters)
        for states in how.sets:
            self.table.set_number(states)
        layout = self._layout = how.laid_out
        self.sets, self.width, self.shape = len(how.sets), len(how.sets) + 1, layout.shape
        self._operations = flat_operations(layout.operations)
        self.lines = Lines()
        self.front = self.shape.components(self.lines.items * self.width)
        self.back = self.shape.components(self.lines.matrices * self.sets * self.width)
        self.active = np.zeros((self.lines.matrices, self.sets), np.bool_)
        self.work = self.shape.components(self.sets * (self.width + 1) + 2)
        self._asked = np.zeros(2, np.int64)

    def read(
        self, events: Events, keys: int, kinds: Kinds, given: Given, totals: Totals, ends: Ints, first: int = 0
    ) -> None:
        """Read events of so many keys, and add the matches that they end, or whose windows do, to totals.

        Their rows are numbered from `first` on.
        """
        letters, rows = self.own_letters(events.letters), events.rows - first
        arrays = EventArrays.of(letters, events.keys, rows, events.ticks, events.floors)
        self.read_arrays(arrays, keys, kinds, given, totals, ends)

    def own_letters(self, letters: Ints) -> Ints:
        """Letters by numbers that stay what they are when a stream is taken up again."""
        numbers = [self.letters.number(tests) for tests in self._alphabet.holding]
        return np.array(numbers or [0], np.int32)[letters]

    def read_arrays(
        self, events: EventArrays, keys: int, kinds: Kinds, given: Given, totals: Totals, ends: Ints
    ) -> None:
        """The same for events whose letters have their own numbers."""
        self.table.make_room()
        self._make_room(keys)
        algebra, at = Algebra(kinds, *self._operations), 0
        while True:
            at, reason = self._advance(events, at, algebra, given, totals.into(ends))
            if reason == DONE:
                return
            if reason == TABLE:
                self.table.fill(int(self._asked[0]), int(self._asked[1]))
            else:
                self._enlarge(totals)

    @abstractmethod
    def _advance(self, events: EventArrays, at: int, algebra: Algebra, given: Given, into: Into) -> tuple[int, int]: ...

    def _make_room(self, keys: int) -> None:
        self.lines.make_room(keys)

    def _enlarge(self, totals: Totals) -> None:
        """More room for what there was none for."""
        totals.make_room()
        items, matrices = self.lines.enlarge()
        if items:
            self._more_items()
        if matrices:
            self._more_matrices()

    def _more_items(self) -> None:
        self.front = grown_components(self.front, self.lines.items * self.width)

    def _more_matrices(self) -> None:
        self.back = grown_components(self.back, self.lines.matrices * self.sets * self.width)
        self.active = grown(self.active, self.lines.matrices)

    @abstractmethod
    def compact(self, floor: int) -> None:
        """Forget what can no longer match."""

    def busy_keys(self, keys: int) -> Ints:
        """Those of so many keys that hold something."""
        return self.lines.busy(keys)

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        self.lines.keep(keys)

    def texts(self) -> list[Reference]:
        """Where numbers of texts stand."""
        size, (_, front) = self.sets * self.width, self.lines.held()
        return [
            *text_references(self._layout, self.front, _blocks(front, self.width)),
            *text_references(self._layout, self.back, _blocks(self.lines.matrices_held(), size)),
        ]

    # --- snapshots ------------------------------------------------------------------------------------------------

    def _arrays(self) -> dict[str, Ints]:
        """What a snapshot holds beside lines and the table, by name."""
        return {"front": self.front.cells, "back": self.back.cells, "active": self.active}

    def dump(self) -> dict[str, Section]:
        """All that a snapshot must hold."""
        arrays = {name: np.ascontiguousarray(array).reshape(-1) for name, array in self._arrays().items()}
        return {**self.lines.dump(), **arrays, "known_letters": [sorted(tests) for tests in self.letters.holding]}

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        self.lines.load(sections)
        for tests in sections["known_letters"]:
            check.whole("known_letters", *tests)
            self.letters.number(frozenset(tests))
        self.table.make_room()
        for letter in range(len(self.letters.holding)):  # items may ask for any of them
            for number in range(self.sets):
                self.table.fill(number, letter)
        self._make_room(len(self.lines.arrays.head))
        self._more_items()
        self._more_matrices()
        for name, array in self._arrays().items():
            load_rows(sections, name, array, len(array))


class SlidingMachine(FlatMachine):
    """WITHIN: an event is an item."""

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        announce(sliding.slide)
        super().__init__(how, alphabet)
        self._columns = len(how.laid_out.columns)
        self.limit = np.full(1, np.iinfo(np.int64).max)
        self._letters = np.zeros(self.lines.items, np.int64)
        self._positions = np.zeros(self.lines.items, np.int64)
        self._whole = np.zeros((self._columns, self.lines.items), np.int64)
        self._missing = np.zeros((self._columns, self.lines.items), np.bool_)

    def _given(self) -> Given:
        none = np.zeros((0, 1), np.int64)
        parts = np.zeros((0, 0), np.int64)
        real = self._whole.view(np.float64)
        return Given(self._whole, real, self._missing, parts, self._positions, none, none.view(np.float64))

    def _window(self) -> sliding.Window:
        line = self.lines.arrays
        given = self._given()
        return sliding.Window(line, self.front, self.back, self.active, self._letters, given, self.limit, self.work)

    def _advance(self, events: EventArrays, at: int, algebra: Algebra, given: Given, into: Into) -> tuple[int, int]:
        step = self.table.step()
        return sliding.slide(events, at, step, self.sets, algebra, given, self._window(), into, self._asked)

    def _more_items(self) -> None:
        super()._more_items()
        items = self.lines.items
        self._letters, self._positions = grown(self._letters, items), grown(self._positions, items)
        self._whole = widened(self._whole, items)
        self._missing = widened(self._missing, items)

    def begin_with(self, kinds: Kinds, keys: int, key: Ints, start: Ints, sets: Ints, components: Components) -> None:
        """Begin with partial matches of so many keys: the key of each, when it starts, and the set that it is in."""
        self.lines = Lines(max(len(key), self.lines.items), max(len(np.unique(key)), self.lines.matrices))
        self._make_room(keys)
        self._more_items()
        self._more_matrices()
        order = np.lexsort((start, key))
        sliding.begin_with(kinds, self.sets, self._window(), order, key, start, sets, components)

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        super().load(sections)
        check.in_range("letters", self._letters, 0, max(len(self.letters.holding), 1))

    def compact(self, floor: int) -> None:
        """Forget what has left the window of all keys."""
        if floor > FAR_PAST:
            sliding.drop_expired(self.lines.arrays, floor)

    def texts(self) -> list[Reference]:
        """Where numbers of texts stand, what items remember included."""
        items, _ = self.lines.held()
        columns = [number for number, given in enumerate(self._layout.columns) if given.form == TEXT]
        known = [in_column(self._whole.T, items[~self._missing[column, items]], column) for column in columns]
        return [*super().texts(), *known]

    def _arrays(self) -> dict[str, Ints]:
        return {
            **super()._arrays(),
            "letters": self._letters,
            "item_positions": self._positions,
            "item_whole": self._whole,
            "item_missing": self._missing,
        }


class PaneMachine(FlatMachine):
    """Windows that overlap: a pane is an item."""

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        announce(panes.read_panes)
        super().__init__(how, alphabet)
        assert how.spans is not None
        spans, grouping = how.spans, how.grouping
        self._spans, window_at = spans, grouping.window_at[0]
        lowest = FAR_PAST // 2 if spans.timed else 0
        self._shape = np.array([spans.length // spans.pane, spans.every // spans.pane, lowest, window_at], np.int64)
        self._matrices = self.shape.components(self.lines.items * self.sets * self.width)
        self._current = self.shape.components(self.lines.matrices * self.sets * self.width)
        self._entered = np.zeros((self.lines.matrices, self.sets), np.bool_)
        self._pane, self._following = np.zeros(1, np.int64), np.zeros(1, np.int64)
        self._group = np.zeros((1, len(grouping.sources)), np.int64)
        self._until = np.zeros(0, np.int64)

    def _window(self) -> panes.PaneWindow:
        return panes.PaneWindow(
            self.lines.arrays,
            self.front,
            self._matrices,
            self.back,
            self._current,
            self.active,
            self._entered,
            self._pane,
            self._following,
            self._group,
            self._shape,
            self.work,
        )

    def _advance(self, events: EventArrays, at: int, algebra: Algebra, given: Given, into: Into) -> tuple[int, int]:
        step = self.table.step()
        events = EventArrays.of(*events[:3], self._spans.panes(events.ticks), events.floors)
        window = self._window()
        return panes.read_panes(events, at, step, self.sets, algebra, given, window, into, self._asked, self._until)

    def close(self, kinds: Kinds, totals: Totals, until: Ints) -> None:
        """Give the windows of each key that end before a pane."""
        self._until = until
        self.read_arrays(NO_EVENTS, len(until), kinds, no_events(), totals, np.zeros((1, 0), np.int64))
        self._until = until[:0]

    @property
    def next_ends(self) -> Ints:
        """The panes before which the next windows end, of keys that hold something."""
        busy = self.lines.busy(len(self.lines.arrays.head))
        found: Ints = self._following[busy] * self._shape[1] + self._shape[0]
        return found

    @property
    def keys(self) -> Ints:
        """For each key the numbers of the groups of its windows."""
        return self._group[: len(self.lines.arrays.head)]

    def _make_room(self, keys: int) -> None:
        super()._make_room(keys)
        size = len(self.lines.arrays.head)
        if size > len(self._pane):
            self._pane, self._following = grown(self._pane, size), grown(self._following, size)
            self._group = grown(self._group, size)

    def _more_items(self) -> None:
        super()._more_items()
        self._matrices = grown_components(self._matrices, self.lines.items * self.sets * self.width)

    def _more_matrices(self) -> None:
        super()._more_matrices()
        self._current = grown_components(self._current, self.lines.matrices * self.sets * self.width)
        self._entered = grown(self._entered, self.lines.matrices)

    def keep_keys(self, keys: Ints) -> None:
        """Forget all other keys; these are numbered anew, in order."""
        super().keep_keys(keys)
        self._pane, self._following, self._group = self._pane[keys], self._following[keys], self._group[keys]

    def load(self, sections: Mapping[str, Any]) -> None:
        """Go on from a snapshot."""
        super().load(sections)
        length, every, lowest, _ = self._shape.tolist()
        busy = self.lines.busy(len(self.lines.arrays.head))
        first = np.maximum((self._pane[busy] - length) // every + 1, lowest)
        check.holds("following", bool((self._following[busy] == first).all()), "is not the window that comes next")

    def compact(self, floor: int) -> None:
        """Panes are given up when their windows are given."""

    def reference(self, at: int) -> Reference:
        """The numbers of the groups of keys that hold something, at a place."""
        return in_column(self._group, self.lines.busy(len(self.lines.arrays.head)), at)

    def texts(self) -> list[Reference]:
        """Where numbers of texts stand, the matrices of panes included."""
        size, (items, _) = self.sets * self.width, self.lines.held()
        return [
            *super().texts(),
            *text_references(self._layout, self._matrices, _blocks(items, size)),
            *text_references(self._layout, self._current, _blocks(self.lines.matrices_held(), size)),
        ]

    def _arrays(self) -> dict[str, Ints]:
        return {
            **super()._arrays(),
            "pane_matrices": self._matrices.cells,
            "pane_current": self._current.cells,
            "entered": self._entered,
            "pane": self._pane,
            "following": self._following,
            "group": self._group,
        }


def _blocks(numbers: Ints, size: int) -> Ints:
    """All rows of blocks that have some numbers and are of one size."""
    found: Ints = (numbers[:, None] * size + np.arange(size)).reshape(-1)
    return found
