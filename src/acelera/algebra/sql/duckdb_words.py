"""What DuckDB says in words of its own: lists and structs."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


class DuckLists:
    """See `making.Lists`."""

    def listed(self, value: exp.Expr, order: Sequence[tuple[exp.Expr, bool]]) -> exp.Expr:
        """Values that are not NULL, in order; NULL if there are none."""
        sorted_by = [exp.Ordered(this=each, desc=descending, nulls_first=False) for each, descending in order]
        sorted_by.append(exp.Ordered(this=value.copy(), desc=False, nulls_first=False))
        ordered = exp.Order(this=value, expressions=sorted_by)
        condition = exp.Where(this=value.copy().is_(exp.null()).not_())
        return exp.Filter(this=exp.ArrayAgg(this=ordered, nulls_excluded=True), expression=condition)

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other; NULL if all are."""
        present = [exp.func("coalesce", each, exp.array()) for each in lists]
        whole = present[0]
        for each in present[1:]:
            whole = exp.Anonymous(this="list_concat", expressions=[whole, each])
        return exp.func("nullif", whole, exp.array())

    def single(self, value: exp.Expr) -> exp.Expr:
        """A list of one value; NULL if that is."""
        return _unless_null([value], exp.array(value.copy()))

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        """A struct; NULL if all fields are."""
        pairs = [
            exp.PropertyEQ(this=exp.to_identifier(name, quoted=True), expression=value.copy()) for name, value in fields
        ]
        return _unless_null([value for _, value in fields], exp.Struct(expressions=pairs))


def _unless_null(values: Sequence[exp.Expr], otherwise: exp.Expr) -> exp.Expr:
    missing = exp.and_(*(value.copy().is_(exp.null()) for value in values))
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=otherwise)


class DuckItems:
    """See `matching.Items`."""

    def items(self, values: exp.Expr) -> exp.Select:
        """The items of a list as `v`, with their places as `p`."""
        item = exp.Anonymous(this="unnest", expressions=[values])
        place = exp.Anonymous(this="generate_subscripts", expressions=[values.copy(), exp.Literal.number(1)])
        return exp.select(exp.alias_(item, "v"), exp.alias_(place, "p"))

    def field(self, value: exp.Expr, name: str) -> exp.Expr:
        """A field of a struct."""
        return exp.Anonymous(this="struct_extract", expressions=[value, exp.convert(name)])

    def present(self, values: exp.Expr) -> exp.Expr:
        """How many items of a list are not NULL; 0 if there is no list."""
        counted = exp.Anonymous(this="list_aggregate", expressions=[values, exp.convert("count")])
        return exp.func("coalesce", counted, exp.Literal.number(0))

    def node(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """A value that tells nodes apart."""
        texts = [exp.func("coalesce", exp.cast(each.copy(), "text"), exp.convert("")) for each in parts]
        return exp.Anonymous(this="concat_ws", expressions=[exp.convert("/"), *texts])
