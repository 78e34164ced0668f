"""How a summary runs, and why: decided once for a compiled query, and told by `explain`."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.reachable import Reachable, reachable_sets
from acelera.engine.plan import Plan
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.summaries.adaptive_summarizer import AdaptiveSummarizer
from acelera.engine.summaries.flat_summarizer import MOST_SETS, FlatSummarizer
from acelera.engine.summaries.grouping import ATTRIBUTE, PANE, POSITION, TIME, Grouping, Known, grouping_of
from acelera.engine.summaries.layout import Layout, fold_of, layout_of, said
from acelera.engine.summaries.lazy_summarizer import LazySummarizer
from acelera.engine.summaries.matrices import Chaining
from acelera.engine.summaries.object_partials import STATE_FIELDS, MergingObjects
from acelera.engine.summaries.object_summarizer import ObjectSummarizer
from acelera.engine.summaries.partials import Merging, MergingComponents, PartialRows, component_fields
from acelera.engine.summaries.summarizer import ComponentSummarizer, Summarizer
from acelera.engine.summaries.windows import Bounded, Spans, bounds_of, spans_of
from acelera.language.checker import Checked
from acelera.language.lowering import UnsupportedError


@dataclass(frozen=True)
class SummaryStrategy:
    """How the plan of a summary runs: what partial matches carry, and what tells its groups apart.

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
    def lazy(self) -> bool:
        """Whether matches are told apart by where they start, so that nodes are looked at only where matches end."""
        apart = any(part.what in (POSITION, TIME) for part in self.grouping.parts)
        bounded = self.checked.clauses.within is not None
        return (apart or bounded) and not isinstance(self.layout, str) and self.grouping.row_at is None

    def summarizer(self, alphabet: Alphabet) -> Summarizer:
        """What summarizes."""
        if isinstance(self.layout, str):
            return ObjectSummarizer(self.checked, self.plan, alphabet, self.grouping, self.spans)
        if self.reachable is not None and self.checked.clauses.within is not None:
            return AdaptiveSummarizer(
                self.checked, self.strategy, alphabet, self.layout, self.grouping, self.spans, self.reachable
            )
        if self.reachable is not None:
            return FlatSummarizer(
                self.checked, self.plan, alphabet, self.layout, self.grouping, self.spans, self.reachable
            )
        if self.lazy:
            return LazySummarizer(self.checked, self.strategy, alphabet, self.layout, self.grouping, self.spans)
        return ComponentSummarizer(self.checked, self.strategy, alphabet, self.layout, self.grouping, self.spans)

    def partial_rows(self) -> PartialRows:
        """How groups are given where others have found some of the same."""
        assert self.checked.summary is not None
        states = STATE_FIELDS if isinstance(self.layout, str) else component_fields(self.layout)
        return PartialRows(self.checked.summary, states)

    def merging(self) -> Merging:
        """What merges them."""
        assert self.checked.summary is not None
        if isinstance(self.layout, str):
            return MergingObjects(self.checked.summary, self.spans)
        return MergingComponents(self.checked.summary, self.layout, self.spans)

    def chaining(self) -> Chaining:
        """What multiplies what was found of stretches."""
        assert self.checked.summary is not None and not isinstance(self.layout, str)
        return Chaining(self.checked.summary, self.layout)

    def lines(self) -> list[str]:
        """What was decided, and what that means, in words."""
        machine, *others = self.strategy.lines()
        if isinstance(self.layout, str):
            machine = f"value by value in Python, which is slow: {self.layout}"
        elif self.strategy.code is None:
            machine = "by tables: constant work for each event and each group of partial matches"
        listed = "matches are counted and added as they grow, none is listed, however many there are"
        return [machine, listed, *self._apart(), *self._made(), *others]

    def _made(self) -> list[str]:
        """What becomes of totals over what AGG makes."""
        assert self.checked.summary is not None
        totals = self.checked.summary.totals
        added = [said(each) for each in totals if fold_of(each, self.plan) is not None]
        return [f"{', '.join(added)}: added event by event, without a register"] if added else []

    def _apart(self) -> list[str]:
        """Why partial matches are followed apart, and what that costs."""
        starts = {POSITION: "start", TIME: "start_time"}
        by = [f"BY {starts[column.what]}" for column in self._keys() if column.what in starts]
        if self.checked.clauses.within is not None:
            by = ["WITHIN", *by]
        lines = []
        if self.reachable is not None:
            what = "WITHIN" if by else "OVER … EVERY"
            matrices = f"{what} by products of matrices over {len(self.reachable.sets)} sets of states"
            matrices = f"once matches are many, {matrices}" if by else matrices
            lines.append(f"{matrices}: work for each event is the same, however wide the window")
        elif by:
            asked = " and ".join(by)
            lines.append(f"apart by start, which {asked} asks for: work for each event grows with the starts in reach")
        elif any(part.what == PANE for part in self.grouping.parts):
            lines.append("apart by where in a window they start, since windows overlap: work grows with length / EVERY")
        keys = [f"{part.variable}.{part.attribute}" for part in self.grouping.parts if part.what == ATTRIBUTE]
        if keys:
            lines.append(f"apart by {', '.join(keys)}: work for each event grows with the number of different values")
        return lines

    def _keys(self) -> list[Known]:
        """The keys of BY that are known before a match ends."""
        sources = [self.grouping.sources[at] for at in self.grouping.key_at]
        return [self.grouping.parts[-1 - source] for source in dict.fromkeys(sources) if source < 0]


def summary_strategy(checked: Checked, strategy: Strategy, by_row: bool = False) -> SummaryStrategy:
    """The quickest way to run a summary; `by_row` if a stretch of the stream is read alone."""
    summary, schema = checked.summary, checked.schema
    assert summary is not None and schema is not None
    spans = spans_of(summary.windows, schema)
    bounds, in_one_unit = bounds_of(checked.clauses.within, spans, schema)
    by_start, by_pane = checked.clauses.within is not None, spans is not None and (spans.overlap or not in_one_unit)
    flat = None if by_row else _flat(checked, strategy, by_start, by_pane, in_one_unit)
    if flat is not None:
        return SummaryStrategy(checked, strategy, flat[0], flat[1], bounds, spans, flat[2])
    grouping = grouping_of(summary, False, by_pane, by_row)  # nodes tell matches apart by where they start
    layout = _layout(checked, strategy, grouping)
    if isinstance(layout, str):
        grouping = grouping_of(summary, by_start, by_pane, by_row)
    return SummaryStrategy(checked, strategy, layout, grouping, bounds, spans)


def _flat(
    checked: Checked, strategy: Strategy, by_start: bool, by_pane: bool, in_one_unit: bool
) -> tuple[Layout, Grouping, Reachable] | None:
    """How matrices do it, where a window would cost something without them, and they can.

    They cannot follow matches by where they start, nor tell in which of several windows a match ends that is also asked
    for by its end.
    """
    assert checked.summary is not None
    if not (by_start or by_pane) or (by_start and by_pane) or not in_one_unit:
        return None
    grouping = grouping_of(checked.summary, by_start=False, by_pane=False)
    if grouping.parts or (by_pane and any(known.what in (POSITION, TIME) for known in grouping.ends)):
        return None
    layout, reachable = _layout(checked, strategy, grouping), reachable_sets(strategy.plan, MOST_SETS)
    if isinstance(layout, str) or reachable is None or 0 in reachable.entered:
        return None
    return layout, grouping, reachable


def _layout(checked: Checked, strategy: Strategy, grouping: Grouping) -> Layout | str:
    """The components that a summary needs; what for if there are none for something."""
    assert checked.summary is not None and checked.schema is not None
    if strategy.refused is not None:
        return strategy.refused
    try:
        grouping.refuse_made_keys(strategy.plan)
        return layout_of(checked.summary, strategy.plan, strategy.code, checked.schema, len(grouping.parts))
    except UnsupportedError as error:
        return str(error)
