"""How a summary runs, and why: decided once for a compiled query, and told by `explain`."""

from __future__ import annotations

from acelera.engine.machines.choice import Strategy
from acelera.engine.machines.reachable import Reachable, reachable_sets
from acelera.engine.predicates.letters import Alphabet
from acelera.engine.summaries.adaptive_summarizer import AdaptiveSummarizer
from acelera.engine.summaries.component_summarizer import ComponentSummarizer
from acelera.engine.summaries.flat_summarizer import MOST_SETS, FlatSummarizer
from acelera.engine.summaries.grouping import ATTRIBUTE, PANE, POSITION, TIME, Grouping, Known, grouping_of
from acelera.engine.summaries.inner_folds import carried, fold_of
from acelera.engine.summaries.layout import Layout, layout_of
from acelera.engine.summaries.lazy_summarizer import LazySummarizer
from acelera.engine.summaries.matrices import Chaining
from acelera.engine.summaries.object_partials import STATE_FIELDS, MergingObjects
from acelera.engine.summaries.object_summarizer import ObjectSummarizer
from acelera.engine.summaries.partials import Merging, MergingComponents, PartialRows, component_fields
from acelera.engine.summaries.recipes import said
from acelera.engine.summaries.summarizer import Summarizer
from acelera.engine.summaries.summary_plan import SummaryPlan
from acelera.engine.summaries.windows import bounds_of, spans_of
from acelera.language.checker import Checked
from acelera.language.lowering import UnsupportedError


class SummaryStrategy(SummaryPlan):
    """How the plan of a summary runs."""

    @property
    def lazy(self) -> bool:
        """Whether matches are told apart by where they start, so that nodes are looked at only where matches end."""
        return not isinstance(self.layout, str) and _is_lazy(self.checked, self.grouping)

    def summarizer(self, alphabet: Alphabet) -> Summarizer:
        """What summarizes."""
        return self._kind()(self, alphabet)

    def _kind(self) -> type[ObjectSummarizer | FlatSummarizer | LazySummarizer | ComponentSummarizer]:
        if isinstance(self.layout, str):
            return ObjectSummarizer
        if self.reachable is not None:
            return FlatSummarizer if self.checked.clauses.within is None else AdaptiveSummarizer
        return LazySummarizer if self.lazy else ComponentSummarizer

    def partial_rows(self) -> PartialRows:
        """How groups are given where others have found some of the same."""
        states = STATE_FIELDS if isinstance(self.layout, str) else component_fields(self.layout)
        return PartialRows(self.summary, states)

    def merging(self) -> Merging:
        """What merges them."""
        if isinstance(self.layout, str):
            return MergingObjects(self.summary, self.spans)
        return MergingComponents(self.summary, self.layout, self.spans)

    def chaining(self) -> Chaining:
        """What multiplies what was found of stretches."""
        return Chaining(self.summary, self.laid_out)

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
        if isinstance(self.layout, str):
            return []
        folded = [each for each in self.summary.totals if fold_of(each, self.plan) is not None]
        lines = []
        for best, how in ((False, "added event by event"), (True, "the best of all partial matches is carried along")):
            names = [said(each) for each in folded if carried(each) == best]
            lines += [f"{', '.join(names)}: {how}, without a register"] if names else []
        return lines

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
    layout = _layout(checked, strategy, grouping, backwards=_is_lazy(checked, grouping))
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
    if isinstance(layout, str) or layout.carries or reachable is None or 0 in reachable.entered:
        return None
    return layout, grouping, reachable


def _is_lazy(checked: Checked, grouping: Grouping) -> bool:
    """Whether matches are told apart by where they start, if they have components; see `SummaryStrategy.lazy`."""
    apart = any(part.what in (POSITION, TIME) for part in grouping.parts)
    return (apart or checked.clauses.within is not None) and grouping.row_at is None


def _layout(checked: Checked, strategy: Strategy, grouping: Grouping, backwards: bool = False) -> Layout | str:
    """The components that a summary needs; what for if there are none for something."""
    assert checked.summary is not None and checked.schema is not None
    if strategy.refused is not None:
        return strategy.refused
    try:
        grouping.refuse_made_keys(strategy.plan)
        parts = len(grouping.parts)
        return layout_of(checked.summary, strategy.plan, strategy.code, checked.schema, parts, backwards)
    except UnsupportedError as error:
        return str(error)
