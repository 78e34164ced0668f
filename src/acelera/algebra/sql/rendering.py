"""Relations as SQL: one tree for all engines, written out in the words of each.

A relation becomes a SELECT with a column for each variable, `i.begin`, `i.end` and `i.ref` for the events of a tuple,
and `X.src` where it is known which node a value came from. What matches events and what makes them is written in
`matching` and `making`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.intervals import TIMERS, Shift
from acelera.algebra.names import columns, reference, source, time
from acelera.algebra.sql.matching import Nodes
from acelera.algebra.sql.values import sql_value
from acelera.algebra.sql.windowing import happens, measured
from acelera.algebra.sql.words import column, named
from acelera.algebra.windows import Happens, Measured
from acelera.language.tree import fold


class Words(Protocol):
    """What an engine says in words of its own."""

    @property
    def nodes(self) -> Nodes:
        """How nodes of events are told apart."""

    def events(self, relation: op.Events) -> exp.Select:
        """The tuples of events that match a pattern."""

    def clock(self, relation: op.Clock) -> exp.Select:
        """The events of an absolute timer."""

    def stored(self, relation: op.Stored) -> exp.Select:
        """All columns of a table, or of what takes its place in this step."""

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        """The events that are made of tuples."""


def rendered(relation: op.Relation, words: Words) -> exp.Select:
    """The SELECT of a relation."""
    return fold(relation, lambda node, inner: render(node, list(inner), words), operands)


def operands(node: op.Relation) -> tuple[op.Relation, ...]:
    """What is stored need not be computed again."""
    if isinstance(node, op.Stored):
        return ()
    found: list[op.Relation] = []
    for part in node.parts():
        found += [each for each in (part if isinstance(part, tuple) else (part,)) if isinstance(each, op.Relation)]
    return tuple(found)


def render(node: op.Relation, inner: Sequence[exp.Select], words: Words) -> exp.Select:
    """The SELECT of one operator over those of its operands."""
    match node:
        case op.Events():
            return words.events(node)
        case op.Clock():
            return words.clock(node)
        case op.Stored():
            return _stored(node, words)
        case op.Timer():
            return _timer(node, *inner)
        case op.Join():
            return _join(node, inner[0], inner[1], words.nodes)
        case op.Collect():
            return _collect(node, inner[0], inner[1], words.nodes)
        case op.Absent():
            return _absent(node, *inner)
        case op.Select():
            return _select(node, *inner)
        case op.Project():
            return _project(node, *inner)
        case op.Merge():
            return _merge(node, *inner)
        case op.Derive():
            return words.derived(node, inner[0])
        case op.Parts():
            return _together(inner, distinct=False)
        case op.Union():
            return _together(inner, distinct=True)
        case Happens():
            return happens(node, inner)
        case Measured():
            return measured(node, inner)
    raise AssertionError(f"unknown operator {type(node).__name__}")


def _stored(node: op.Stored, words: Words) -> exp.Select:
    new = dict(node.renamed)
    before = node.of.heading
    pairs = [(each, new.get(each, each)) for each in sorted(before.data)]
    pairs += [
        (time(each, end), time(new.get(each, each), end)) for each in sorted(before.times) for end in ("begin", "end")
    ]
    pairs += [(reference(each), reference(new.get(each, each))) for each in sorted(before.references)]
    pairs += [(source(each), source(new.get(each, each))) for each in sorted(before.sources)]
    old = {now: named(column(each), now) for each, now in pairs}
    return words.stored(node).select(*(old[name] for name in columns(node.heading)), append=False)


def _timer(node: op.Timer, operand: exp.Select) -> exp.Select:
    def at(shift: Shift) -> exp.Expr:
        anchor = column(time(node.anchor, shift.end))
        away = exp.Literal.number(node.duration)
        if shift.direction == 0 or node.duration == 0:
            return anchor
        return exp.Add(this=anchor, expression=away) if shift.direction > 0 else exp.Sub(this=anchor, expression=away)

    begin, end = map(at, TIMERS[node.kind])
    made = {time(node.identifier, "begin"): begin, time(node.identifier, "end"): end}
    shown = [named(made[name], name) if name in made else column(name) for name in columns(node.heading)]
    return exp.select(*shown).from_(operand.subquery("t")).where(begin.copy() <= end.copy())


def _join(node: op.Join, left: exp.Select, right: exp.Select, nodes: Nodes) -> exp.Select:
    conditions = _agreement(node.left.heading, node.right.heading)
    if node.condition is not None:
        places = _places(node.left.heading, node.right.heading)
        conditions.append(sql_value(node.condition, places.__getitem__))
    return _joined(node, left, right, conditions, nodes)


def _collect(node: op.Collect, left: exp.Select, right: exp.Select, nodes: Nodes) -> exp.Select:
    one, two = node.left.heading, node.right.heading
    if two.data <= one.data and not two.sources:  # it is enough that there is one
        return exp.select(*_of_left(node)).from_(left.subquery("l")).where(exp.Exists(this=_partners(node, right)))
    return _joined(node, left, right, [*_agreement(one, two), *_inside(node)], nodes)


def _places(left: op.Heading, right: op.Heading) -> dict[str, str]:
    """Which side a column is taken from."""
    return dict.fromkeys(columns(right), "r") | dict.fromkeys(columns(left), "l")


def _joined(
    node: op.Join | op.Collect, left: exp.Select, right: exp.Select, conditions: list[exp.Expr], nodes: Nodes
) -> exp.Select:
    one, two = node.left.heading, node.right.heading
    places = _places(one, two)
    both = {source(name) for name in one.sources & two.sources}
    shown = [
        named(nodes.set_of([column(name, "l"), column(name, "r")]), name)
        if name in both
        else column(name, places[name])
        for name in columns(node.heading)
    ]
    query = exp.select(*shown).from_(left.subquery("l"))
    if not conditions:
        return query.join(right.subquery("r"), join_type="cross")
    return query.join(right.subquery("r"), on=exp.and_(*conditions))


def _absent(node: op.Absent, left: exp.Select, right: exp.Select) -> exp.Select:
    alone = exp.Not(this=exp.Exists(this=_partners(node, right)))
    return exp.select(*_of_left(node)).from_(left.subquery("l")).where(alone)


def _of_left(node: op.Collect | op.Absent) -> list[exp.Column]:
    return [column(name, "l") for name in columns(node.heading)]


def _partners(node: op.Collect | op.Absent, right: exp.Select) -> exp.Select:
    """What agrees with a tuple of the left side and happens in its window."""
    conditions = [*_agreement(node.left.heading, node.right.heading), *_inside(node)]
    return exp.select(exp.Literal.number(1)).from_(right.subquery("r")).where(*conditions)


def _select(node: op.Select, operand: exp.Select) -> exp.Select:
    shown = [column(name) for name in columns(node.heading)]
    return exp.select(*shown).from_(operand.subquery("t")).where(sql_value(node.condition))


def _project(node: op.Project, operand: exp.Select) -> exp.Select:
    shown = [column(name) for name in columns(node.heading)]
    return exp.select(*shown).distinct().from_(operand.subquery("t"))


def _merge(node: op.Merge, operand: exp.Select) -> exp.Select:
    before = node.operand.heading
    begins, ends = ([column(time(each, end)) for each in sorted(before.times)] for end in ("begin", "end"))
    made = {time(op.MERGED, "begin"): _extreme(exp.Least, begins), time(op.MERGED, "end"): _extreme(exp.Greatest, ends)}
    shown = [named(made[name], name) if name in made else column(name) for name in columns(node.heading)]
    return exp.select(*shown).from_(operand.subquery("t"))


def _extreme(function: type[exp.Func], values: list[exp.Column]) -> exp.Expr:
    return values[0] if len(values) == 1 else function(this=values[0], expressions=values[1:], ignore_nulls=True)


def _together(inner: Sequence[exp.Select], distinct: bool) -> exp.Select:
    together: exp.Query = inner[0]
    for each in inner[1:]:
        together = exp.union(together, each, distinct=distinct)
    return exp.select("*").from_(together.subquery("t"))


def _agreement(left: op.Heading, right: op.Heading) -> list[exp.Expr]:
    return [exp.EQ(this=column(name, "l"), expression=column(name, "r")) for name in sorted(left.data & right.data)]


def _inside(node: op.Collect | op.Absent) -> list[exp.Expr]:
    (inner,) = node.right.heading.times
    begin, end = column(time(node.window, "begin"), "l"), column(time(node.window, "end"), "l")
    return [
        exp.LTE(this=begin, expression=column(time(inner, "begin"), "r")),
        exp.LTE(this=column(time(inner, "end"), "r"), expression=end),
    ]
