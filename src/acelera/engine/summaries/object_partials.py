"""The same as `partials` value by value: states of totals travel as bytes, and are combined where they arrive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from acelera.engine.storage.snapshots import from_bytes, to_bytes
from acelera.engine.summaries.folding import fold_of
from acelera.engine.summaries.objects import Amount, ObjectTotals, finished_objects
from acelera.engine.summaries.partials import Merging
from acelera.engine.summaries.recipes import said
from acelera.engine.summaries.windows import Spans
from acelera.errors import AggregateError, SnapshotError
from acelera.language.summary import Summarized

Ints = npt.NDArray[Any]

STATE_FIELDS = [pa.field("states", pa.binary())]
"""The number of matches, and for each total its state."""


def staying(summary: Summarized) -> str | None:
    """A total whose states are no data that could travel, as far as the state of no values tells."""
    for total in summary.totals:
        fold = fold_of(total)
        try:
            to_bytes(None if fold is None else fold.identity)
        except SnapshotError:
            return said(total)
    return None


def unfinished_objects(summary: Summarized, amounts: Sequence[Amount]) -> list[Any]:
    """The columns of states."""
    return [pa.array([_packed(summary, amount) for amount in amounts], pa.binary())]


def _packed(summary: Summarized, amount: Amount) -> bytes:
    try:
        return to_bytes(amount)
    except SnapshotError:
        pass
    for total, state in zip(summary.totals, amount[1], strict=True):
        try:
            to_bytes(state)
        except SnapshotError:
            raise AggregateError(
                f"what tasks find of {said(total)} is merged, and a state of it is no data that could be sent: "
                f"{state!r}; make states of None, booleans, integers, floats, strings, bytes, decimals, and tuples and "
                "frozensets of these, or put all attributes of PARTITION BY into BY, so that nothing is merged"
            ) from None
    raise AssertionError("one of the states is at fault")


class MergingObjects(Merging):
    """What was found are states."""

    def __init__(self, summary: Summarized, spans: Spans | None) -> None:
        super().__init__(summary, STATE_FIELDS, spans)
        self._summary, self._folds = summary, [fold_of(total) for total in summary.totals]
        self._totals = ObjectTotals(self._folds, len(self.partial.group))

    def _add(self, numbers: Ints, states: Sequence[Any]) -> None:
        for key, packed in zip(numbers.tolist(), states[0].to_pylist(), strict=True):
            self._totals.add(tuple(key), from_bytes(packed))

    def _found(self) -> tuple[Ints, list[Any]]:
        return self._totals.keys, finished_objects(self._summary, self._folds, self._totals.amounts)
