"""What a summary is made of, for all that summarize: decided once for a compiled query (`summary_choice`)."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.reachable import Reachable
from acelera.engine.plan import Plan
from acelera.engine.summaries.grouping import Grouping
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.windows import Bounded, Spans
from acelera.language.checker import Checked
from acelera.language.schema import Schema
from acelera.language.summary import Summarized


@dataclass(frozen=True)
class SummaryPlan:
    """What partial matches of a summary carry, and what tells its groups apart.

    If there are no components for something, the layout is a text that says for what. Where events are matrices,
    `reachable` are the sets of states that these are over.
    """

    checked: Checked
    strategy: Strategy
    layout: Layout | str
    grouping: Grouping
    bounds: Bounded
    spans: Spans | None
    reachable: Reachable | None = None

    @property
    def plan(self) -> Plan:
        """What the automaton was taken apart to."""
        return self.strategy.plan

    @property
    def summary(self) -> Summarized:
        """What is asked for."""
        assert self.checked.summary is not None
        return self.checked.summary

    @property
    def schema(self) -> Schema:
        """That of the events."""
        assert self.checked.schema is not None
        return self.checked.schema

    @property
    def laid_out(self) -> Layout:
        """The layout, where there are components for everything."""
        assert not isinstance(self.layout, str)
        return self.layout

    @property
    def sets(self) -> tuple[frozenset[int], ...]:
        """The sets of states that matrices are over, where events are matrices."""
        assert self.reachable is not None
        return self.reachable.sets

    def operations(self) -> list[list[list[int]]]:
        """What each mark does."""
        parts = [*self.grouping.operations(self.plan), *([] for _ in self.plan.actions)]
        own = self.laid_out.operations
        return [[list(each) for each in (*one, *other)] for one, other in zip(parts, own, strict=True)]
