"""What Spark says in words of its own: lists that are sorted, nodes told apart, names that differ in case alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from acelera.algebra.sql.making import Order
from acelera.algebra.sql.words import without_nulls


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function that has this name in Spark."""
    return exp.Anonymous(this=function, expressions=list(arguments))


class SparkLists:
    """See `making.Lists`."""

    def listed(self, value: exp.Expr, order: Order) -> exp.Expr:
        """Values that are not NULL, in order; NULL if there are none.

        Spark sorts structs field by field, what is NULL first; that is what is meant unless something is to descend.
        """
        keys = [(f"k{number}", key, descending) for number, (key, descending) in enumerate(order)]
        item = named_struct([*((name, key) for name, key, _ in keys), ("v", value)])
        there = exp.Case(ifs=[exp.If(this=exp.Not(this=value.copy().is_(exp.null())), true=item)])
        items = call("array_sort", call("collect_list", there), *_comparison([(name, desc) for name, _, desc in keys]))
        return _unless_empty(call("transform", items, _lambda(["_x"], _field("_x", "v"))))

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other; NULL if all are."""
        return _unless_empty(call("concat", *(exp.func("coalesce", each, exp.array()) for each in lists)))


def named_struct(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A struct, of which all fields may be NULL."""
    return call("named_struct", *(part for name, value in fields for part in (exp.convert(name), value.copy())))


def _comparison(keys: Sequence[tuple[str, bool]]) -> list[exp.Expr]:
    """How two items are compared, if not field by field and ascending: the first key that differs decides."""
    if not any(descending for _, descending in keys):
        return []
    cases = []
    for name, descending in keys:
        left, right = (call("struct", _field(side, name)) for side in ("_x", "_y"))
        before, after = (exp.GT, exp.LT) if descending else (exp.LT, exp.GT)
        cases.append(exp.If(this=before(this=left, expression=right), true=exp.Literal.number(-1)))
        cases.append(exp.If(this=after(this=left.copy(), expression=right.copy()), true=exp.Literal.number(1)))
    return [_lambda(["_x", "_y"], exp.Case(ifs=cases, default=exp.Literal.number(0)))]


def _lambda(names: Sequence[str], body: exp.Expr) -> exp.Expr:
    return exp.Lambda(this=body, expressions=[exp.to_identifier(each) for each in names])


def _field(item: str, name: str) -> exp.Expr:
    return exp.Dot(this=exp.to_identifier(item), expression=exp.to_identifier(name))


def _unless_empty(values: exp.Expr) -> exp.Expr:
    empty = exp.EQ(this=call("array_size", values), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=empty, true=exp.null())], default=values.copy())


# --- nodes --------------------------------------------------------------------------------------------------------

_BETWEEN = "\x01"
"""Stands between the nodes of a set; in JSON, it is written otherwise."""

_EXACTLY = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


def text_of_values(values: Sequence[exp.Expr]) -> exp.Expr:
    """A text that is another for other values."""
    options = call("map", *(exp.convert(part) for pair in _EXACTLY.items() for part in pair))
    return call("to_json", named_struct([(f"c{number}", value) for number, value in enumerate(values)]), options)


class SparkNodes:
    """See `matching.Nodes`."""

    def node(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """A text of an event and of places in it."""
        return text_of_values(parts)

    def set_of(self, nodes: Sequence[exp.Expr]) -> exp.Expr:
        """A text of several nodes, whatever their order."""
        between = exp.convert(_BETWEEN)
        listed = call("split", call("concat_ws", between, *nodes), between.copy())
        return call("array_join", call("array_sort", call("array_distinct", listed)), between.copy())


# --- names --------------------------------------------------------------------------------------------------------

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_")


def plain(name: str) -> str:
    """A name that Spark does not mix up with another: to Spark, `T` and `t` are one.

    >>> plain("value"), plain("T"), plain("s.end")
    ('value', '-54-', 's-2e-end')
    """
    return "".join(letter if letter in _PLAIN else f"-{ord(letter):x}-" for letter in name)


def text_for_spark(query: exp.Expr, tables: Sequence[str]) -> str:
    """The text of a query for `SparkSession.sql`, which finds frames by names in braces: `{t0}` is the first table.

    Columns have plain names. Other braces are doubled, since they are no tables.
    """
    numbers = {name: f"{{t{number}}}" for number, name in enumerate(tables)}

    def said(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Identifier) and isinstance(node.parent, exp.Table):
            return exp.to_identifier(numbers[node.name], quoted=True)
        if isinstance(node, exp.Identifier) and node.args.get("quoted"):
            return exp.to_identifier(plain(node.name), quoted=True)
        if isinstance(node, exp.Literal) and node.is_string:
            return exp.Literal.string(node.this.replace("{", "{{").replace("}", "}}"))
        if isinstance(node, exp.ArraySize):  # SIZE says -1 of NULL, if it is told to
            return call("array_size", node.this.transform(said))
        if isinstance(node, exp.Flatten):  # which says NULL of all lists if one is
            return call("flatten", without_nulls(node.this.transform(said)))
        return node

    return query.transform(said).sql("spark", copy=False)
