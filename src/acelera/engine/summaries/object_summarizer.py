"""What summarizes value by value: partial matches carry Python objects."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from acelera.engine.machines.machine import Events
from acelera.engine.machines.value_machine import ValueMachine
from acelera.engine.plan import Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.storage.renumbering import Reference
from acelera.engine.summaries.folding import Fold, counted
from acelera.engine.summaries.grouping import Grouping
from acelera.engine.summaries.objects import Amount, MadeKeys, Objects, ObjectTotals
from acelera.engine.summaries.summarizer import Summarizer
from acelera.engine.summaries.windows import Spans
from acelera.language.checker import Checked
from acelera.language.events import Value, seen
from acelera.language.summary import TotalValue
from acelera.tables import leaves

Ints = npt.NDArray[Any]


class ObjectSummarizer(Summarizer):
    """Partial matches carry the states of totals."""

    machine: ValueMachine
    totals: ObjectTotals

    def __init__(
        self, checked: Checked, plan: Plan, alphabet: Alphabet, grouping: Grouping, spans: Spans | None
    ) -> None:
        super().__init__(checked, grouping, spans)
        parts = MadeKeys(grouping.parts, checked.schema, self.summary.partition_keys, spans)
        self._parts = parts
        self.objects = Objects(self.summary, grouping, plan, parts.numbered)
        self.machine = ValueMachine(plan, alphabet, algebra=self.objects)
        self.totals = ObjectTotals(self.objects.folds, len(grouping.sources))

    def _fold(self, events: Events, keys: int, parts: Ints, ends: Ints) -> None:
        self.objects.parts, self.objects.places = parts, self._places
        sources = self.grouping.sources
        for _ in self.machine.read(events, keys):
            for value, row in self.objects.hits:
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
        return [
            _column(total, [_value(total, fold, count, states[at]) for count, states in found])
            for at, (total, fold) in enumerate(zip(self.summary.totals, self.objects.folds, strict=True))
        ]


def _value(total: TotalValue, fold: Fold | None, count: int, state: Any) -> Value:
    """The value of a total; one that failed is an error."""
    if fold is not None:
        return seen(fold.value(state))
    return math.log2(count) if total.total.function == "log2_count" else seen(counted(count))


def _column(total: TotalValue, values: list[Value]) -> Any:
    node = total.total
    return leaves(values, total.type.arrow, f"{node.function}({node.variable}.{node.attribute})")
