"""What DuckDB says in words of its own: lists that are sorted, nodes told apart."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acelera.algebra.sql.making import Order


class DuckLists:
    """See `making.Lists`."""

    def listed(self, value: exp.Expr, order: Order) -> exp.Expr:
        """Values that are not NULL, in order; NULL if there are none."""
        sorted_by = [exp.Ordered(this=each, desc=descending, nulls_first=not descending) for each, descending in order]
        ordered = exp.Order(this=value, expressions=sorted_by)
        condition = exp.Where(this=exp.Not(this=value.copy().is_(exp.null())))
        return exp.Filter(this=exp.ArrayAgg(this=ordered, nulls_excluded=True), expression=condition)

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other; NULL if all are."""
        present = [exp.func("coalesce", each, exp.array()) for each in lists]
        whole = present[0]
        for each in present[1:]:
            whole = exp.Anonymous(this="list_concat", expressions=[whole, each])
        return exp.func("nullif", whole, exp.array())


class DuckNodes:
    """See `matching.Nodes`."""

    def node(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """A text of an event and of places in it."""
        texts = [exp.cast(each.copy(), "text") for each in parts]
        return exp.Anonymous(this="concat_ws", expressions=[exp.convert("/"), *texts])

    def set_of(self, nodes: Sequence[exp.Expr]) -> exp.Expr:
        """A text of several nodes, whatever their order."""
        texts = [exp.cast(each, "text") for each in nodes]
        made: exp.Expr = exp.Anonymous(this="concat_ws", expressions=[exp.convert("|"), *texts])
        made = exp.Anonymous(this="string_split", expressions=[made, exp.convert("|")])
        for function in ("list_distinct", "list_sort"):
            made = exp.Anonymous(this=function, expressions=[made])
        return exp.Anonymous(this="array_to_string", expressions=[made, exp.convert("|")])
