"""What summarizes value by value: partial matches carry Python objects."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events
from acelera.engine.machines.value_machine import ValueMachine
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage.renumbering import Reference
from acelera.engine.summaries.object_partials import unfinished_objects
from acelera.engine.summaries.objects import Amount, MadeKeys, Objects, ObjectTotals, finished_objects
from acelera.engine.summaries.summarizer import Summarizer
from acelera.engine.summaries.summary_plan import SummaryPlan

Ints = npt.NDArray[Any]


class ObjectSummarizer(Summarizer):
    """Partial matches carry the states of totals."""

    machine: ValueMachine
    totals: ObjectTotals

    def __init__(self, how: SummaryPlan, alphabet: Alphabet) -> None:
        super().__init__(how)
        parts = MadeKeys(self.grouping.parts, how.schema, self.summary.partition_keys, self.spans)
        self._parts = parts
        self.objects = Objects(self.summary, self.grouping, how.plan, parts.numbered)
        self.machine = ValueMachine(how.plan, alphabet, algebra=self.objects)
        self.totals = ObjectTotals(self.objects.folds, len(self.grouping.sources))

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        self.objects.parts, self.objects.places = parts, self._places
        sources = self.grouping.sources
        for _ in self.machine.read(events, keys):
            for value, row in self.objects.hits:
                if value.newest >= self.limit:  # where matches are cut off by their start, they are told apart by it
                    continue
                key = (int(ends[source, row]) if source >= 0 else value.parts[-1 - source] for source in sources)
                self.totals.add(tuple(key), (value.matches, value.states))
            self.objects.hits.clear()

    def _references(self, source: int) -> list[Reference]:
        """Where numbers from a source stand, partial matches included."""
        found = super()._references(source)
        if source < 0:
            part = -1 - source
            held = [value.parts[part] for value in self.machine.values()]
            found.append(Reference(np.array(held, np.int64), partial(self._put_part, part)))
        return found

    def _put_part(self, part: int, numbers: Ints) -> None:
        """Give partial matches other numbers of a part."""
        given = iter(numbers.tolist())
        self.machine.change_values(lambda value: value.with_part(part, next(given)))

    def _some(self, rows: Ints) -> list[Amount]:
        amounts = self.totals.amounts
        return [amounts[row] for row in rows.tolist()]

    def _merged(self, keys: Ints, rows: Ints) -> tuple[Ints, list[Amount]]:
        found = ObjectTotals(self.objects.folds, keys.shape[1])
        for key, amount in zip(keys.tolist(), self._some(rows), strict=True):
            found.add(tuple(key), amount)
        return found.keys, found.amounts

    def _finished(self, found: list[Amount]) -> list[Any]:
        if self.partial:
            return unfinished_objects(self.summary, found)
        return finished_objects(self.summary, self.objects.folds, found)
