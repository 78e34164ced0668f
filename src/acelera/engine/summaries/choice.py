"""How a summary runs, and why: decided once for a compiled query, and told by `explain`."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.engine.machines.choice import Strategy
from acelera.engine.plan import Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.summaries.grouping import Grouping, grouping_of
from acelera.engine.summaries.layout import Layout, layout_of
from acelera.engine.summaries.matrices import Chaining
from acelera.engine.summaries.partials import Merging, PartialRows, component_fields
from acelera.engine.summaries.summarizer import Summarizer
from acelera.engine.summaries.windows import Bounded, Spans, bounds_of, spans_of
from acelera.language.checker import Checked


@dataclass(frozen=True)
class SummaryStrategy:
    """How the plan of a summary runs: what partial matches carry, and what tells its groups apart."""

    checked: Checked
    strategy: Strategy
    layout: Layout
    grouping: Grouping
    bounds: Bounded
    spans: Spans | None

    @property
    def plan(self) -> Plan:
        """What the automaton was taken apart to."""
        return self.strategy.plan

    def summarizer(self, alphabet: Alphabet) -> Summarizer:
        """What summarizes."""
        return Summarizer(self.checked, self.strategy, alphabet, self.layout, self.grouping, self.spans)

    def partial_rows(self) -> PartialRows:
        """How groups are given where others have found some of the same."""
        assert self.checked.summary is not None
        return PartialRows(self.checked.summary, component_fields(self.layout))

    def merging(self) -> Merging:
        """What merges them."""
        assert self.checked.summary is not None
        return Merging(self.checked.summary, self.layout, self.spans)

    def chaining(self) -> Chaining:
        """What multiplies what was found of stretches."""
        assert self.checked.summary is not None
        return Chaining(self.checked.summary, self.layout)

    def lines(self) -> list[str]:
        """What was decided, and what that means, in words."""
        return self.strategy.lines()


def summary_strategy(checked: Checked, strategy: Strategy, by_row: bool = False) -> SummaryStrategy:
    """The quickest way to run a summary; `by_row` if a stretch of the stream is read alone."""
    summary, schema, plan = checked.summary, checked.schema, strategy.plan
    assert summary is not None and schema is not None
    spans = spans_of(summary.windows, schema)
    bounds, in_one_unit = bounds_of(checked.clauses.within, spans, schema)
    by_pane = spans is not None and (spans.overlap or not in_one_unit)
    grouping = grouping_of(summary, checked.clauses.within is not None, by_pane, by_row)
    grouping.refuse_made_keys(plan)
    layout = layout_of(summary, plan, strategy.code, schema, len(grouping.parts))
    return SummaryStrategy(checked, strategy, layout, grouping, bounds, spans)
