"""What a query asks of positions: their numbers, how far apart they are, or only which comes first.

A session may forget the count of a key's events while none of its matches is open, and begin anew with the next one.
So the order of the events of a match stays, as do the distances between them; the number of a position does not.
"""

from __future__ import annotations

from acelera.engine.plan import Plan
from acelera.language.checker import Checked


def absolute_positions_matter(checked: Checked, plan: Plan) -> bool:
    """Whether the number of a position matters, in the run or in the result."""
    summarized = checked.summary is not None and checked.summary.shows_positions
    return summarized or plan.uses_positions or checked.result.shows_positions is not False


def distances_matter(checked: Checked, plan: Plan) -> bool:
    """Whether it matters how many events stand between others, so that none of its key may be left out."""
    within = checked.clauses.within
    counted = within is not None and within.unit == "events"
    return counted or absolute_positions_matter(checked, plan)
