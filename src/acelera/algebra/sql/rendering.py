"""Relations as SQL: one tree for all engines, written out in the words of each.

A relation becomes a SELECT with a column for each variable, `i.begin`, `i.end` and `i.ref` for the events of a tuple,
and `X.src` where it is known which node a value came from. What matches events and what makes them is different from
engine to engine, and written in `matching` and `making`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.expressions import Attribute, Constant, Expression, Operation
from acelera.algebra.intervals import TIMERS, Shift
from acelera.algebra.names import columns, reference, source, time
from acelera.language.tree import fold


class Words(Protocol):
    """What an engine says in words of its own."""

    def events(self, relation: op.Events) -> exp.Select:
        """The tuples of events that match a pattern."""

    def clock(self, relation: op.Clock) -> exp.Select:
        """The events of an absolute timer."""

    def stored(self, name: str, version: op.Version) -> exp.Expr:
        """A table, or what takes its place in this step."""

    def derived(self, relation: op.Derive, operand: exp.Select) -> exp.Select:
        """The events that are made of tuples."""


def rendered(relation: op.Relation, words: Words) -> exp.Select:
    """The SELECT of a relation."""
    return fold(relation, lambda node, inner: render(node, list(inner), words))


# --- columns --------------------------------------------------------------------------------------------------


def column(name: str, table: str | None = None) -> exp.Column:
    """A column, whatever its name is."""
    return exp.column(name, table=table, quoted=True)


def named(value: exp.Expr, name: str) -> exp.Expr:
    """A value as a column of a SELECT."""
    return exp.alias_(value, name, quoted=True)


# --- operators ----------------------------------------------------------------------------------------------------


def render(node: op.Relation, inner: Sequence[exp.Select], words: Words) -> exp.Select:
    """The SELECT of one operator over those of its operands."""
    match node:
        case op.Events():
            return words.events(node)
        case op.Clock():
            return words.clock(node)
        case op.Stored():
            return _stored(node, words)
        case op.Derive():
            return words.derived(node, inner[0])
        case op.Union():
            return _union(inner)
        case _:
            return _OPERATORS[type(node)](node, *inner)


def _stored(node: op.Stored, words: Words) -> exp.Select:
    new = dict(node.renamed)
    before = node.of.heading
    pairs = [(each, new.get(each, each)) for each in sorted(before.data)]
    pairs += [
        (time(each, end), time(new.get(each, each), end)) for each in sorted(before.times) for end in ("begin", "end")
    ]
    pairs += [(reference(each), reference(new.get(each, each))) for each in sorted(before.references)]
    pairs += [(source(each), source(new.get(each, each))) for each in sorted(before.sources)]
    return exp.select(*(named(column(old), now) for old, now in pairs)).from_(words.stored(node.name, node.version))


def _timer(node: op.Timer, operand: exp.Select) -> exp.Select:
    def at(shift: Shift) -> exp.Expr:
        anchor = column(time(node.anchor, shift.end))
        away = exp.Literal.number(node.duration)
        if shift.direction == 0 or node.duration == 0:
            return anchor
        return exp.Add(this=anchor, expression=away) if shift.direction > 0 else exp.Sub(this=anchor, expression=away)

    begin, end = map(at, TIMERS[node.kind])
    before = [column(name) for name in columns(node.operand.heading)]
    made = [named(begin, time(node.identifier, "begin")), named(end, time(node.identifier, "end"))]
    return exp.select(*before, *made).from_(operand.subquery("t")).where(begin.copy() <= end.copy())


def pairs(node: op.Join | op.Collect, left: exp.Select, right: exp.Select, more: Sequence[exp.Expr] = ()) -> exp.Select:
    """Two sides together, where they agree and the condition holds, or the window; `more` must hold, too."""
    one, two = node.left.heading, node.right.heading
    places = dict.fromkeys(columns(two), "r") | dict.fromkeys(columns(one), "l")
    conditions = [*_agreement(one, two), *more]
    if isinstance(node, op.Collect):
        conditions += _inside(node)
    elif node.condition is not None:
        conditions.append(condition_of(node.condition, places.__getitem__))
    query = exp.select(*(column(name, places[name]) for name in columns(node.heading))).from_(left.subquery("l"))
    if not conditions:
        return query.join(right.subquery("r"), join_type="cross")
    return query.join(right.subquery("r"), on=exp.and_(*conditions))


def _absent(node: op.Absent, left: exp.Select, right: exp.Select) -> exp.Select:
    conditions = [*_agreement(node.left.heading, node.right.heading), *_inside(node)]
    partner = exp.select(exp.Literal.number(1)).from_(right.subquery("r")).where(*conditions)
    shown = [column(name, "l") for name in columns(node.heading)]
    return exp.select(*shown).from_(left.subquery("l")).where(exp.Not(this=exp.Exists(this=partner)))


def _select(node: op.Select, operand: exp.Select) -> exp.Select:
    shown = [column(name) for name in columns(node.heading)]
    return exp.select(*shown).from_(operand.subquery("t")).where(condition_of(node.condition))


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


def _union(inner: Sequence[exp.Select]) -> exp.Select:
    together: exp.Query = inner[0]
    for each in inner[1:]:
        together = exp.union(together, each)
    return exp.select("*").from_(together.subquery("t"))


_OPERATORS: dict[type[op.Relation], Callable[..., exp.Select]] = {
    op.Timer: _timer,
    op.Join: pairs,
    op.Collect: pairs,
    op.Absent: _absent,
    op.Select: _select,
    op.Project: _project,
    op.Merge: _merge,
}


def _agreement(left: op.Heading, right: op.Heading) -> list[exp.Expr]:
    return [exp.EQ(this=column(name, "l"), expression=column(name, "r")) for name in sorted(left.data & right.data)]


def _inside(node: op.Collect | op.Absent) -> list[exp.Expr]:
    (inner,) = node.right.heading.times
    begin, end = column(time(node.window, "begin"), "l"), column(time(node.window, "end"), "l")
    return [
        exp.LTE(this=begin, expression=column(time(inner, "begin"), "r")),
        exp.LTE(this=column(time(inner, "end"), "r"), expression=end),
    ]


# --- conditions ---------------------------------------------------------------------------------------------------

_BINARY: dict[str, type[exp.Binary]] = {
    "+": exp.Add,
    "-": exp.Sub,
    "*": exp.Mul,
    "=": exp.EQ,
    "!=": exp.NEQ,
    "<": exp.LT,
    "<=": exp.LTE,
    ">": exp.GT,
    ">=": exp.GTE,
}


def condition_of(expression: Expression, place: Callable[[str], str | None] = lambda _: None) -> exp.Expr:
    """A value or a condition; `place` says which table a column is of."""
    return fold(expression, lambda node, inner: _value(node, list(inner), place))


def _value(node: Expression, inner: list[exp.Expr], place: Callable[[str], str | None]) -> exp.Expr:
    if isinstance(node, Attribute):
        return column(node.name, place(node.name))
    if isinstance(node, Constant):
        return exp.convert(node.value)
    assert isinstance(node, Operation)
    if node.operator in ("and", "or"):
        return (exp.and_ if node.operator == "and" else exp.or_)(*inner)
    if node.operator == "not":
        return exp.Not(this=exp.paren(inner[0]))
    if node.operator == "-" and len(inner) == 1:
        return exp.Neg(this=exp.paren(inner[0]))
    if node.operator == "/":
        top = exp.cast(exp.paren(inner[0]), "double")
        return exp.Div(
            this=top, expression=exp.func("nullif", inner[1], exp.Literal.number(0)), typed=False, safe=False
        )
    if node.operator in _BINARY:
        return exp.paren(_BINARY[node.operator](this=inner[0], expression=inner[1]))
    return exp.func(node.operator, *inner)
