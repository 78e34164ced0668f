"""Events that match, on Spark. Rows have no numbers there; what tells events apart is made of what they have:

- of an event that a rule is about, the columns that are looked at, and its times: events that agree in these give the
  same tuples, so that nobody can tell them apart;
- of one that is collected for aggregates, the whole row: equal values of different events are added up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.names import BEGIN, END, REFERENCE
from acelera.algebra.sql.matching import matched
from acelera.algebra.sql.spark_words import SparkNodes, named_struct, text_of_values
from acelera.algebra.sql.words import column, named


@dataclass(frozen=True)
class EventTables:
    """See `matching.Tables`: those of one relation. If it is `counted`, other rows are other events; rows that agree in
    what is looked at come `once`, if that matters.
    """

    relation: op.Events
    rows: Mapping[str, pa.StructType]
    counted: bool
    once: bool

    def row(self, label: str) -> pa.StructType:
        """The types of the children that are looked at."""
        looked_at = set[str]()
        for choice in self.relation.choices:
            if choice.label == label:
                looked_at |= _looked_at(choice, self.rows[label])
        return pa.struct([each for each in self.rows[label] if each.name in looked_at])

    def table(self, label: str) -> exp.Expr:
        """The events of a label."""
        kept = self.rows[label] if self.counted else self.row(label)
        rows = exp.select(*(column(each) for each in (*_names(kept), BEGIN, END))).from_(exp.table_(label, quoted=True))
        return self.told_apart(label, rows.distinct() if self.once or self.counted else rows)

    def told_apart(self, label: str, rows: exp.Select) -> exp.Expr:
        """Rows of a label, with what tells them apart: as a text, if it is compared with that of other labels."""
        kept = self.rows[label] if self.counted else self.row(label)
        values = [column(each) for each in (*_names(kept), BEGIN, END)]
        if self.relation.sources or len(self.relation.labels) > 1:
            told = text_of_values([exp.convert(label), *values])
        else:
            told = named_struct([(f"c{number}", value) for number, value in enumerate(values)])
        return exp.select("*", named(told, REFERENCE)).from_(rows.subquery("d")).subquery()

    def matched(self) -> exp.Select:
        """The tuples of the relation."""
        return matched(self.relation, self, SparkNodes())


def _names(row: pa.StructType) -> list[str]:
    return [each.name for each in row]


def _looked_at(choice: op.Choice, row: pa.StructType) -> set[str]:
    """The columns that a choice looks at."""
    inner = choice.content.inner
    if choice.content.binds or (inner is not None and inner.total):
        return set(_names(row))
    return set() if inner is None else {each.column for each in (*inner.asked, *inner.forbidden, *inner.impossible)}


@dataclass(frozen=True)
class Flat:
    """A relation that gives one tuple for a row at most: the attributes of the tuple, and when there is one."""

    values: dict[str, exp.Expr]
    matches: exp.Expr

    @classmethod
    def of(cls, tables: EventTables) -> Flat:
        """What a relation without loops says of a row `e`."""
        query = tables.matched()
        asked = query.args.get("where")
        values = {each.alias: each.this for each in query.selects}
        return cls(values, exp.true() if asked is None else asked.this)

    def said(self, value: exp.Expr) -> exp.Expr:
        """A value over the attributes of the tuple, as one over the row."""
        return value.transform(lambda node: self.values[node.name].copy() if isinstance(node, exp.Column) else node)
