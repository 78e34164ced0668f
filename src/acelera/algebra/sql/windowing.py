"""What happens in windows, as SQL, where both sides are put into one table and sorted.

Windows and events stand one below the other, by time within what they share: what an engine keeps while it goes through
that table is what a join would look for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from acelera.algebra.names import columns, time
from acelera.algebra.sql.values import sql_value
from acelera.algebra.sql.words import column, named
from acelera.algebra.windows import Happens, Measure, Measured

AT, FROM, CELL, HIT = "#at", "#from", "#cell", "#hit"


def happens(node: Happens, inner: Sequence[exp.Select]) -> exp.Select:
    """Of all events that end before a window does, the one that begins last must begin in it."""
    (event,) = node.right.heading.times
    begin = time(event, "begin")
    together = _side_by_side(node, inner, {begin: column(begin)}, node.cell)
    latest = _over(exp.Max(this=column(begin)), _shared(node, node.cell), AT, (None, 0))
    known = exp.select("*", named(latest, HIT)).from_(together.subquery("t"))
    there = exp.func("coalesce", exp.GTE(this=column(HIT), expression=column(FROM)), exp.false())
    shown = map(column, columns(node.heading))
    return (
        exp.select(*shown)
        .from_(known.subquery("t"))
        .where(column(FROM).is_(exp.null()).not_(), there if node.expected else exp.Not(this=there))
    )


def measured(node: Measured, inner: Sequence[exp.Select]) -> exp.Select:
    """Aggregates over the events that end in the last stretch of time."""
    cell = None if node.left.heading.data & node.right.heading.data else max(node.reach, 1)
    values = {input_of(each): sql_value(each.value) for each in node.measures} | {HIT: exp.Literal.number(1)}
    together = _side_by_side(node, inner, values, cell)
    measures = measures_over(node.measures, _shared(node, cell), AT, (-node.reach, 0))
    known = exp.select("*", *measures).from_(together.subquery("t"))
    shown = map(column, columns(node.heading))
    return (
        exp.select(*shown).from_(known.subquery("t")).where(column(FROM).is_(exp.null()).not_(), is_hit(node.measures))
    )


def _side_by_side(
    node: Happens | Measured, inner: Sequence[exp.Select], values: Mapping[str, exp.Expr], cell: int | None
) -> exp.Select:
    """Windows and what may happen in them, one below the other, at the time of their ends; each has what it has."""
    left, right = inner
    (event,) = node.right.heading.times
    shared = node.left.heading.data & node.right.heading.data
    windows = [
        *map(column, columns(node.left.heading)),
        named(column(time(node.window, "end")), AT),
        named(column(time(node.window, "begin")), FROM),
        *(named(exp.null(), name) for name in values),
    ]
    events = [
        *(column(name) if name in shared else named(exp.null(), name) for name in columns(node.left.heading)),
        named(column(time(event, "end")), AT),
        named(exp.null(), FROM),
        *(named(value, name) for name, value in values.items()),
    ]
    if cell is not None:
        own = cell_of(column(time(event, "end")), cell)
        windows.append(named(cell_of(column(time(node.window, "end")), cell), CELL))
        events.append(named(exp.Explode(this=exp.array(own, own.copy() + 1)), CELL))
    above = exp.select(*windows).from_(left.subquery("l"))
    below = exp.select(*events).from_(right.subquery("r"))
    if shared:
        below = below.where(*(column(name).is_(exp.null()).not_() for name in sorted(shared)))
    return exp.select("*").from_(exp.union(above, below, distinct=False).subquery("u"))


def _shared(node: Happens | Measured, cell: int | None) -> list[str]:
    return sorted(node.left.heading.data & node.right.heading.data) + ([] if cell is None else [CELL])


def input_of(measure: Measure) -> str:
    """The column of what a measure is made of."""
    return f"#of {measure.name}"


Frame = tuple[int | None, int]
"""From so many ticks after a row to so many; None: from the first row on."""


def measures_over(measures: Sequence[Measure], keys: Sequence[str], order: str, frame: Frame) -> list[exp.Expr]:
    """Measures over rows with the same keys in a frame; and how many, if measures do not tell whether there are any."""
    found = []
    for each in measures:
        value = exp.func(each.function, column(input_of(each)))
        found.append(named(_over(value, keys, order, frame), each.name))
    if not any(map(_tells, measures)):
        found.append(named(_over(exp.Count(this=column(HIT)), keys, order, frame), _HITS))
    return found


_HITS = "#hits"


def _tells(measure: Measure) -> bool:
    """Whether the value of a measure says if there was an event at all."""
    return measure.function != "count" and measure.certain


def is_hit(measures: Sequence[Measure]) -> exp.Expr:
    """Whether there was anything to measure."""
    telling = next(filter(_tells, measures), None)
    if telling is not None:
        return column(telling.name).is_(exp.null()).not_()
    return exp.GT(this=column(_HITS), expression=exp.Literal.number(0))


def _over(value: exp.Expr, keys: Sequence[str], order: str, frame: Frame) -> exp.Expr:
    """A value over the rows with the same keys that lie in a frame."""
    (start, start_side), (end, end_side) = map(_bound, frame)
    spec = exp.WindowSpec(kind="RANGE", start=start, start_side=start_side, end=end, end_side=end_side)
    ordered = exp.Order(expressions=[exp.Ordered(this=column(order), nulls_first=True)])
    return exp.Window(this=value, partition_by=list(map(column, keys)), order=ordered, spec=spec)


def _bound(ticks: int | None) -> tuple[str | exp.Expr, str | None]:
    if ticks is None:
        return "UNBOUNDED", "PRECEDING"
    if ticks == 0:
        return "CURRENT ROW", None
    return exp.Literal.number(abs(ticks)), "PRECEDING" if ticks < 0 else "FOLLOWING"


def cell_of(value: exp.Expr, size: int) -> exp.Expr:
    """The number of the stretch of time, one of equal ones, that a time lies in."""
    return value if size == 1 else exp.IntDiv(this=value, expression=exp.Literal.number(size))
