"""What a rule asks of windows, planned in two ways: by joins, and by sorting."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.algebra.construction import Aggregated
from acelera.algebra.expressions import Expression, all_of, attributes_of
from acelera.algebra.operators import Absent, Collect, Derive, Events, Merge, Relation, Select, Stored
from acelera.algebra.rules import Rule
from acelera.algebra.windows import aggregated, happening, measures_of, with_measures


@dataclass(frozen=True)
class Crossing:
    """What tuples meet in a join: a point, and those of its variables that both sides have."""

    point: str
    shared: tuple[str, ...]


def crossing(left: Relation, right: Stored) -> Crossing:
    """What the tuples of the left side meet on the right side."""
    own = {new: old for old, new in right.renamed}
    return Crossing(right.name, tuple(own.get(name, name) for name in sorted(left.heading.data & right.heading.data)))


def selected(relation: Relation, asked: list[Expression]) -> tuple[Relation, list[Expression]]:
    """A relation of which is asked what can be, and what is left to ask."""
    now = [each for each in asked if attributes_of(each) <= relation.heading.attributes]
    condition = all_of(now)
    rest = [each for each in asked if each not in now]
    return (relation if condition is None else Select(relation, condition)), rest


class WindowPlan:
    """What becomes of the tuples of a rule as more and more is asked of their windows.

    `made` joins them with what happens there. Where the same can be had by sorting, that is kept beside it, unless the
    rule is recursive: rounds are small.
    """

    def __init__(self, rule: Rule, made: Relation, recursive: bool) -> None:
        self.rule, self.made = rule, made
        self.crossings: list[Crossing] = []
        self._sorted: Relation | None = None if recursive else made
        self._measured: dict[Aggregated, str] = {}

    def collect(self, window: str, events: Events, right: Stored) -> None:
        """What happens in a window is put together with it."""
        self.crossings.append(crossing(self.made, right))
        self.made = Collect(self.made, window, right)
        if self._sorted is None:
            return
        found = measures_of(self.rule, window, events)
        if found is None:
            self._sorted = Collect(self._sorted, window, right)
        else:
            self._measured |= {part: each.name for part, each in found}
            measures = [each for _, each in found]
            self._sorted = aggregated(self.rule.network, self._sorted, window, right, measures)

    def refuse(self, window: str, right: Stored) -> None:
        """Nothing of this happens in a window."""
        self.crossings.append(crossing(self.made, right))
        self.made = Absent(self.made, window, right)
        if self._sorted is not None:
            self._sorted = happening(self.rule.network, self._sorted, window, right, expected=False)

    def select(self, asked: list[Expression]) -> list[Expression]:
        """Ask what can be asked now; what is left."""
        self.made, rest = selected(self.made, asked)
        if self._sorted is not None:
            self._sorted, _ = selected(self._sorted, [each for each in asked if each not in rest])
        return rest

    def in_bulk(self) -> Derive | None:
        """What is derived, by sorting; None if there is nothing to sort."""
        if self._sorted is None or self._sorted == self.made:
            return None
        return Derive(Merge(self._sorted), with_measures(self.rule.head, self._measured))
