"""What summarizes with numbers: totals are rows of components, and so is what partial matches carry."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events, KernelMachine
from acelera.engine.nodes.components import Components, Kinds
from acelera.engine.nodes.vector_arena import VectorArena, components_in
from acelera.engine.nodes.vectors import Given
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage import validation as check
from acelera.engine.storage.renumbering import Reference, renumber
from acelera.engine.storage.snapshots import Section, with_prefix, without_prefix
from acelera.engine.summaries.finishing import finished
from acelera.engine.summaries.partials import text_references, unfinished
from acelera.engine.summaries.summarizer import Summarizer
from acelera.engine.summaries.summary_columns import KeyColumns, ValueColumns
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.summaries.totals import Totals

Ints = npt.NDArray[Any]


class ByComponents(Summarizer):
    """Totals are numbers."""

    totals: Totals

    def __init__(self, how: SummaryPlan) -> None:
        super().__init__(how)
        self.layout = how.laid_out
        self.totals = Totals(self.layout.shape, list(self.grouping.sources))
        self._values = ValueColumns(self.layout.columns)
        self._parts = KeyColumns(self.grouping.parts, how.schema, self.summary.partition_keys, self.spans)

    @property
    @abstractmethod
    def kinds(self) -> Kinds:
        """What kernels ask of components."""

    def _with_ranks(self, kinds: Kinds) -> Kinds:
        """With the order of texts, which changes with those that come and go."""
        return kinds._replace(ranks=self._values.texts.ranks) if self._values.has_texts else kinds

    def _some(self, rows: Ints) -> Components:
        return components_in(self.totals.components.cells[rows])

    def _merged(self, keys: Ints, rows: Ints) -> tuple[Ints, Components]:
        found = Totals(self.layout.shape, [0] * keys.shape[1])
        found.add(self.kinds, keys, self.totals.components, rows)
        return found.keys, found.components

    def _finished(self, found: Components) -> list[Any]:
        made = unfinished if self.partial else finished
        return made(self.layout, found, self._values.texts_at)

    def texts_at(self, numbers: Ints, missing: Ints) -> Any:
        """The texts that have some numbers."""
        return self._values.texts_at(numbers, missing)

    def _given(self, events: Events, parts: Ints, stored: Ints) -> Given:
        """What operations read of events."""
        return self._values.read(events.frame, self._places, parts, stored)

    @property
    def numbers(self) -> int:
        """Texts have numbers as well."""
        return super().numbers + len(self._values.texts)

    def _renumber(self) -> int:
        """Number texts anew as well."""
        looked_at, texts = super()._renumber(), self._values.texts
        if len(texts):
            references = self._texts()
            renumber(len(texts), references, texts.keep)
            looked_at += sum(len(each.numbers) for each in references)
        return looked_at

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand."""
        return text_references(self.layout, self.totals.components, np.arange(len(self.totals)))

    def check_numbers(self) -> None:
        """Whether texts are there as well."""
        super().check_numbers()
        for each in self._texts():
            check.in_range("text", each.numbers, 0, len(self._values.texts))

    def dump(self) -> dict[str, Section]:
        """The texts as well."""
        return {**super().dump(), **with_prefix("text.", self._values.texts.dump())}

    def load(self, sections: Mapping[str, Any], now: Any) -> None:
        """The texts as well."""
        self._values.texts.load(without_prefix("text.", sections))
        super().load(sections, now)


class ComponentSummarizer(ByComponents):
    """Partial matches carry numbers."""

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        super().__init__(how)
        period, first = (0, 0) if how.spans is None else (how.spans.every, how.spans.first)
        self.arena = VectorArena(self.layout.shape, how.operations(), self.grouping.begin_part(), period, first)
        self.machine: KernelMachine = how.strategy.machine_with(alphabet, self.arena)

    @property
    def kinds(self) -> Kinds:
        """What kernels ask of components."""
        return self._with_ranks(self.arena.kinds)

    def partial_matches(self, keys: int) -> int:
        """How many partial matches are held; those of a key that can go on in the same ways are one."""
        return len(self.machine.open_matches()[0])

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        self.arena.given = self._given(events, parts, self.arena.given.stored)
        self.arena.kinds = self.kinds
        for _ in self.machine.read(events, keys):
            self.totals.fold(self.arena, ends)

    def _references(self, source: int) -> list[Reference]:
        """Where numbers from a source stand, partial matches included."""
        found = super()._references(source)
        return [*found, self.arena.groups.reference(-1 - source)] if source < 0 else found

    def _texts(self) -> list[Reference]:
        """Where numbers of texts stand, partial matches included."""
        rows = np.arange(self.arena.size)
        return [*super()._texts(), *text_references(self.layout, self.arena.components, rows)]
