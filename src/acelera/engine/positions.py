"""What a query asks of positions: their numbers, how far apart they are, or only which comes first.

A session may forget the count of a key's events while none of its matches is open, and begin anew with the next one.
So the order of the events of a match stays, as do the distances between them; the number of a position does not.
"""

from __future__ import annotations

from acelera.engine.plan import Plan
from acelera.language import ast
from acelera.language.checker import Checked, Column


def absolute_positions_matter(checked: Checked, plan: Plan) -> bool:
    """Whether the number of a position matters, in the run or in the result, so that no key may ever be forgotten."""
    assert checked.schema is not None
    timed = checked.schema.time is not None
    return plan.uses_positions or any(_shows_positions(column, timed) for column in checked.columns)


def distances_matter(checked: Checked, plan: Plan) -> bool:
    """Whether it matters how many events stand between others, so that none of its key may be left out."""
    within = checked.clauses.within
    counted = within is not None and within.unit == "events"
    return counted or absolute_positions_matter(checked, plan)


def _shows_positions(column: Column, timed: bool) -> bool:
    match column.source:
        case ast.SelectBound(bound, _):
            return bound in ("start", "end")
        case ast.SelectVariable():
            return not timed
        case ast.SelectAttribute(_, attribute, _):
            return attribute == "position"
        case ast.SelectAggregation(aggregation, _):
            return aggregation.attribute == "position"
    return False
