"""How the work of a summary is shared out: which task reads what, and whether what tasks find is merged."""

from __future__ import annotations

from dataclasses import dataclass

from acelera.engine.compiled_query import CompiledQuery
from acelera.engine.machines.reachable import Reachable, reachable_sets
from acelera.engine.summaries.object_partials import staying
from acelera.engine.summaries.stretches import MOST_SETS
from acelera.errors import UsageError
from acelera.language.result import MatchBound
from acelera.language.summary import Summarized

KEYS, WINDOWS, STARTS, STRETCHES, WHOLE = "keys", "windows", "starts", "stretches", "whole"
"""How a stream is cut: by keys; in slices of time between windows; in slices of time that overlap, of which each has
the matches that start in it; in stretches of which each finds out what it makes of whatever comes before it; not at
all.
"""

LONGEST = 2**60
"""Windows of so many microseconds, and longer ones, are as long as any stream."""


@dataclass(frozen=True)
class Shares:
    """How a stream is `cut`, by which `keys`, and whether groups are `merged` that several tasks have found parts of.

    `grouped` says that groups are told apart by something, so that several tasks can merge. What is merged may be found
    `by_value`; a total that is `staying` has states that cannot travel, so that nothing can be merged. If positions
    are `counted`, time cuts nothing. `reachable` are the sets of states that matches may come into a stretch in.
    """

    cut: str
    keys: tuple[str, ...] = ()
    merged: bool = False
    grouped: bool = True
    by_value: bool = False
    staying: str | None = None
    counted: bool = False
    reachable: Reachable | None = None

    def lines(self) -> list[str]:
        """The same in words."""
        match self.cut:
            case "keys":
                found = [f"split by {', '.join(self.keys)}: many keys a task"]
                if not self.merged:
                    found.append("BY has all that splits the stream: each group is complete in its task")
            case "windows":
                found = ["cut into slices of time between windows: each window is complete in the slice it starts in"]
            case "starts":
                found = ["cut into slices of time that overlap by WITHIN: each match counts in the slice it starts in"]
            case "stretches":
                entered = () if self.reachable is None else self.reachable.entered
                read = f"for all states in which matches may come into it ({len(entered)})"
                found = [
                    "cut into stretches that do not overlap: each is read once, "
                    f"{read if entered else 'since no match comes into it from before'}, and gives a matrix",
                    "the matrices are multiplied in the order of the stretches by one last task",
                ]
            case _ if self.staying is not None:
                found = [
                    f"one task reads the whole stream in order: states of {self.staying} are no data that could be "
                    "sent and merged, as numbers, texts and tuples of them are; PARTITION BY with all its attributes "
                    "in BY would split it"
                ]
            case _ if self.counted:
                found = ["one task reads the whole stream in order, since positions count: PARTITION BY would split it"]
            case _:
                found = ["one task reads the whole stream in order: PARTITION BY, WITHIN or OVER a time would split it"]
        totals = "states of totals, value by value," if self.by_value else "totals"
        if self.merged and self.grouped:
            found.append(f"what tasks find of a group is merged in a second step: {totals} travel, no matches")
        elif self.merged:
            found.append(f"what tasks find is merged by one last task: {totals} travel, no matches")
        return found

    def stream_lines(self, buckets: int) -> list[str]:
        """The same in words for a stream."""
        if self.keys:
            where = f"split by {', '.join(self.keys)}, in {buckets} buckets with a state each"
        elif self.merged:
            where = "one task reads the whole stream in order: all attributes of PARTITION BY in BY would split it"
        else:
            where = "one task reads the whole stream in order: PARTITION BY would split it"
        return [
            f"rows wait for the watermark; then {where}",
            "a row of the result is written once its window, or the moment in BY, is behind the watermark",
        ]


def is_apart(query: CompiledQuery) -> bool:
    """Whether every group belongs to one partition."""
    summary = query.checked.summary
    assert summary is not None
    return set(summary.partition_keys) >= {key.name for key in query.checked.clauses.partition_by}


def batch_shares(query: CompiledQuery, counts: bool) -> Shares:
    """How a frame that is all there is shared out; `counts` says that it matters how far events are apart."""
    summary, plan, clauses = query.checked.summary, query.plan, query.checked.clauses
    assert summary is not None
    grouped = bool(summary.keys) or summary.windows is not None
    partition_by = tuple(dict.fromkeys(key.name for key in clauses.partition_by))
    strategy = query.summarizing()
    by_value = isinstance(strategy.layout, str)
    stays = staying(summary) if by_value else None

    def merged(cut: str, keys: tuple[str, ...] = ()) -> Shares:
        return Shares(WHOLE, staying=stays) if stays is not None else Shares(cut, keys, True, grouped, by_value)

    if partition_by:
        return Shares(KEYS, partition_by, grouped=grouped) if is_apart(query) else merged(KEYS, partition_by)
    if plan.split_by and not counts and not summary.compares_positions:
        return merged(KEYS, tuple(plan.split_by))
    if counts:
        return Shares(WHOLE, counted=True)
    if strategy.spans is not None:
        return Shares(WINDOWS) if strategy.spans.length + strategy.spans.every < LONGEST else Shares(WHOLE)
    if clauses.within is not None:
        return merged(STARTS)
    alone = plan.split_by or plan.neighbours  # the first event of a stretch would not know the one before it
    chained = not (alone or isinstance(strategy.layout, str) or strategy.layout.carries)
    reachable = reachable_sets(plan, MOST_SETS) if chained else None
    return Shares(WHOLE) if reachable is None else Shares(STRETCHES, reachable=reachable)


def stream_shares(query: CompiledQuery) -> Shares:
    """How a growing frame is shared out; a summary of which nothing would ever be complete is refused."""
    summary, clauses = query.checked.summary, query.checked.clauses
    assert summary is not None
    apart = is_apart(query)
    _refuse_endless(summary, apart, [key.name for key in clauses.partition_by])
    keys = tuple(dict.fromkeys(key.name for key in clauses.partition_by)) if apart else ()
    return Shares(KEYS if keys else WHOLE, keys, not apart)


def _refuse_endless(summary: Summarized, apart: bool, partition_by: list[str]) -> None:
    windows, ends = summary.windows, {timed for end, timed in summary.bounds if end}
    if (windows is not None and windows.timed) or True in ends:
        return
    if windows is None and not ends:
        raise UsageError(
            "a stream has no end, so that the groups of this summary are never complete; add windows (OVER 1 HOUR), "
            "or BY end_time"
        )
    if not apart:
        missing = [name for name in partition_by if name not in summary.partition_keys]
        counted = "windows over events" if windows is not None else "groups by `end`"
        raise UsageError(
            f"{counted} count the events of each partition, so that in a stream they are complete only for each "
            f"partition; add {', '.join(missing)} to BY, or use windows of time"
        )


def time_column(query: CompiledQuery) -> str | None:
    """The column of the result up to which all is known once it is behind the watermark."""
    summary = query.checked.summary
    if summary is None:
        ends = query.checked.result.end_times  # Spark knows of one watermark
        return ends[0] if ends else None
    if summary.windows is not None and summary.windows.timed:
        return "window_end"
    return next((column.name for column in summary.keys if column.source == MatchBound(True, True)), None)
