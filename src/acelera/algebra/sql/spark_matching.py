"""Events that match a pattern, on Spark: what looks at plain columns only is a filter.

Rows have no numbers on Spark. What tells events apart is made of what they have:

- of an event that a rule is about, the columns that its patterns look at, and its times: events that agree in these
  give the same tuples, so that nobody can tell them apart;
- of one that is collected, the whole row, since equal values of different events are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.names import columns, reference, source, time
from acelera.algebra.patterns import Content, Pattern, is_flat
from acelera.algebra.sql.rendering import column, named
from acelera.algebra.sql.spark_words import named_struct

BEGIN, END = "#begin", "#end"
"""The times of events, in the tables of labels."""


@dataclass(frozen=True)
class Flat:
    """A pattern over plain columns: the value of each attribute of the tuple, and when there is one."""

    values: dict[str, exp.Expr]
    conditions: list[exp.Expr]

    @property
    def matches(self) -> exp.Expr:
        """Whether a row matches."""
        return exp.and_(*(each.copy() for each in self.conditions)) if self.conditions else exp.true()


def is_plain(pattern: Pattern) -> bool:
    """Whether a pattern only asks for plain columns that must be there."""
    asked = pattern.asked
    return (
        is_flat(pattern)
        and not (pattern.total or pattern.ordered)
        and not any(part.optional or part.forbidden for part in asked)
        and len({part.column for part in asked}) == len(asked)
    )


def flat(relation: op.Events, pattern: Pattern, row: pa.DataType, collected: bool) -> Flat:
    """What a plain pattern says of a row `e`."""
    kinds = {each.name: each.type for each in row}
    values: dict[str, exp.Expr] = {}
    conditions: list[exp.Expr] = []
    for part in pattern.asked:
        value = wide(column(part.column, "e"), kinds[part.column])
        conditions += [
            column(part.column, "e").is_(exp.null()).not_(),
            *_equal(part.content, value, kinds[part.column]),
        ]
        for name in part.content.binds:
            if name in values:
                conditions.append(exp.EQ(this=values[name].copy(), expression=value.copy()))
            values.setdefault(name, value)
    values[time(relation.identifier, "begin")] = column(BEGIN, "e")
    values[time(relation.identifier, "end")] = column(END, "e")
    told = told_apart(relation, row, collected)
    values[reference(relation.identifier)] = told
    number = exp.Literal.number(relation.patterns.index(pattern))
    for name in relation.sources:
        values[source(name)] = named_struct([("event", told), ("pattern", number)])
    return Flat(values, conditions)


def matched_plainly(relation: op.Events, row: pa.DataType, table: exp.Expr, collected: bool, once: bool) -> exp.Select:
    """The tuples of a relation whose patterns are plain; each `once` if it matters."""
    found = []
    for pattern in relation.patterns:
        one = flat(relation, pattern, row, collected)
        query = exp.select(*(named(one.values[name].copy(), name) for name in columns(relation.heading)))
        query = query.from_(exp.alias_(table.copy(), "e", table=True)).where(one.matches)
        found.append(query.distinct() if once else query)
    if len(found) == 1:
        return found[0]
    return exp.select("*").from_(exp.union(*found, distinct=once).subquery("a"))


def told_apart(relation: op.Events, row: pa.DataType, collected: bool) -> exp.Expr:
    """What tells an event from others, as far as it matters."""
    looked_at = {part.column for pattern in relation.patterns for part in pattern.asked}
    whole = collected or any(pattern.total for pattern in relation.patterns)
    names = [each.name for each in row if whole or each.name in looked_at]
    return named_struct([(f"c{number}", column(name, "e")) for number, name in enumerate([*names, BEGIN, END])])


def wide(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A number as one of 64 bits, in which rules compute."""
    if pa.types.is_integer(kind) and kind.bit_width < 64:
        return exp.cast(value, "bigint")
    if pa.types.is_floating(kind) and kind.bit_width < 64:
        return exp.cast(value, "double")
    return value


def _equal(content: Content, value: exp.Expr, kind: pa.DataType) -> Sequence[exp.Expr]:
    return [
        exp.EQ(this=value.copy(), expression=exp.convert(constant)) if _comparable(constant, kind) else exp.false()
        for constant in content.equal
    ]


def _comparable(constant: bool | int | float | str, kind: pa.DataType) -> bool:
    """Whether a constant can be equal to values of a type at all; Spark would make one into the other."""
    types = pa.types
    if isinstance(constant, bool):
        return bool(types.is_boolean(kind))
    if isinstance(constant, str):
        return bool(types.is_string(kind) or types.is_large_string(kind))
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))
