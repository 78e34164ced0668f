"""What tells the groups of a summary apart, and when each of its numbers is known.

A group is a few numbers. One that is known where a match ends (for attributes of PARTITION BY, its end, its window) is
looked up there. One that is known before (its start, an attribute of one of its events) is a *part* of what partial
matches carry, and those with different parts are followed apart. So are those that start elsewhere if WITHIN must tell
them apart, and those that start in another pane if windows overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from acelera.automata.terms import Attr
from acelera.engine.nodes import components as op
from acelera.engine.plan import Plan, marks_of
from acelera.language.lowering import UnsupportedError
from acelera.language.result import AttributeValues, MatchBound, PartitionKey
from acelera.language.summary import Summarized

POSITION, TIME, PANE, WINDOW, PARTITION, ATTRIBUTE = "position", "time", "pane", "window", "partition", "attribute"
ROW = "row"
"""With what a match came into a stretch of the stream that is read alone, 0 if it begins there; see `stretches`."""


class Known(NamedTuple):
    """Something that is known of an event: where it stands, or the value of an attribute, as the key of a variable."""

    what: str
    variable: str = ""
    attribute: str = ""


@dataclass(frozen=True)
class Grouping:
    """The numbers of a group.

    `parts` are those that partial matches carry, `ends` those that are looked up where a match ends. `sources` tell
    for each number of a group which of them it is: see `Totals`. `key_at` is where among them each key of BY stands,
    and `window_at` where the window does, or the panes where a match starts and ends, and `row_at` where the row does,
    if a stretch of the stream is read alone.
    """

    parts: tuple[Known, ...]
    ends: tuple[Known, ...]
    sources: tuple[int, ...]
    key_at: tuple[int, ...]
    window_at: tuple[int, ...]
    row_at: int | None = None

    def begin_part(self) -> list[int]:
        """For each part the column that a match takes it from where it begins, or -1."""
        return [-1 if part.what == ATTRIBUTE else number for number, part in enumerate(self.parts)]

    def operations(self, plan: Plan) -> list[list[tuple[int, ...]]]:
        """What each action does to parts."""
        return [
            [
                (op.PART, number, number, -1, -1, 0, 0)
                for number, part in enumerate(self.parts)
                if part.what == ATTRIBUTE and marks_of(action, part.variable)
            ]
            for action in plan.actions
        ]

    def refuse_made_keys(self, plan: Plan) -> None:
        """A key that is no attribute of an event of the stream is known only to registers."""
        for part in self.parts:
            for action in plan.actions:
                for mark in marks_of(action, part.variable) if part.what == ATTRIBUTE else ():
                    if mark.attribute(part.attribute) != Attr(part.attribute):
                        raise UnsupportedError(f"the key {part.variable}.{part.attribute} is made while the query runs")


def grouping_of(summary: Summarized, by_start: bool, by_pane: bool, by_row: bool = False) -> Grouping:
    """How groups are told apart; if matches are to be followed by start, by the pane where they start, or by row."""
    parts: dict[Known, int] = {}
    ends: dict[Known, int] = {}
    sources: dict[int, int] = {}

    def at_the_end(what: str) -> int:
        return sources.setdefault(ends.setdefault(Known(what), len(ends)), len(sources))

    def before(known: Known) -> int:
        return sources.setdefault(-1 - parts.setdefault(known, len(parts)), len(sources))

    keys = []
    for column in summary.keys:
        match column.source:
            case MatchBound(True, timed):
                keys.append(at_the_end(TIME if timed else POSITION))
            case MatchBound(False, timed):
                keys.append(before(Known(TIME if timed else POSITION)))
            case AttributeValues(variable, attribute):
                keys.append(before(Known(ATTRIBUTE, variable, attribute)))
            case PartitionKey():
                keys.append(at_the_end(PARTITION))
    window: tuple[int, ...] = ()
    if by_pane:
        window = (before(Known(PANE)), at_the_end(PANE))
    elif summary.windows is not None:
        window = (at_the_end(WINDOW),)
    if by_start:
        parts.setdefault(Known(POSITION), len(parts))
    row = before(Known(ROW)) if by_row else None
    return Grouping(tuple(parts), tuple(ends), tuple(sources), tuple(keys), window, row)
