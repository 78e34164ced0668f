"""What Spark says in words of its own: lists that are sorted, structs, names that differ in case alone."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp


def call(function: str, *arguments: exp.Expr) -> exp.Expr:
    """A function that has this name in Spark."""
    return exp.Anonymous(this=function, expressions=list(arguments))


class SparkLists:
    """See `making.Lists`."""

    def listed(self, value: exp.Expr, order: Sequence[tuple[exp.Expr, bool]]) -> exp.Expr:
        """Values that are not NULL, in order; NULL if there are none.

        Spark sorts structs field by field, what is NULL first; that is what is meant unless something is to descend.
        """
        keys = [(f"k{number}", key, descending) for number, (key, descending) in enumerate(order)]
        item = named_struct([*((name, key) for name, key, _ in keys), ("v", value)])
        there = exp.Case(ifs=[exp.If(this=value.copy().is_(exp.null()).not_(), true=item)])
        items = call("array_sort", call("collect_list", there), *_comparison([(name, desc) for name, _, desc in keys]))
        values = call("transform", items, _lambda(["x"], exp.Dot(this=_name("x"), expression=_name("v"))))
        return _unless_empty(values)

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other; NULL if all are."""
        return _unless_empty(call("concat", *(exp.func("coalesce", each, exp.array()) for each in lists)))

    def single(self, value: exp.Expr) -> exp.Expr:
        """A list of one value; NULL if that is."""
        return _unless_null([value], exp.array(value.copy()))

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        """A struct; NULL if all fields are."""
        return _unless_null([value for _, value in fields], named_struct(fields))


def named_struct(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A struct, of which all fields may be NULL."""
    return call("named_struct", *(part for name, value in fields for part in (exp.convert(name), value.copy())))


def _comparison(keys: Sequence[tuple[str, bool]]) -> list[exp.Expr]:
    """How two items are compared, if not field by field and ascending: the first key that differs decides."""
    if not any(descending for _, descending in keys):
        return []
    cases = []
    for name, descending in [*keys, ("v", False)]:
        left, right = (call("struct", exp.Dot(this=_name(side), expression=_name(name))) for side in ("x", "y"))
        first = exp.GT if descending else exp.LT
        last = exp.LT if descending else exp.GT
        cases.append(exp.If(this=first(this=left, expression=right), true=exp.Literal.number(-1)))
        cases.append(exp.If(this=last(this=left.copy(), expression=right.copy()), true=exp.Literal.number(1)))
    return [_lambda(["x", "y"], exp.Case(ifs=cases, default=exp.Literal.number(0)))]


def _lambda(names: Sequence[str], body: exp.Expr) -> exp.Expr:
    return exp.Lambda(this=body, expressions=[_name(each) for each in names])


def _name(name: str) -> exp.Identifier:
    return exp.to_identifier(name)


def _unless_empty(values: exp.Expr) -> exp.Expr:
    empty = exp.EQ(this=call("size", values), expression=exp.Literal.number(0))
    return exp.Case(ifs=[exp.If(this=empty, true=exp.null())], default=values.copy())


def _unless_null(values: Sequence[exp.Expr], otherwise: exp.Expr) -> exp.Expr:
    missing = exp.and_(*(value.copy().is_(exp.null()) for value in values))
    return exp.Case(ifs=[exp.If(this=missing, true=exp.null())], default=otherwise)


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
        return node

    return query.transform(said).sql("spark", copy=False)
