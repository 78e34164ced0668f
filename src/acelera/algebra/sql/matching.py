"""Events that match a pattern, as SQL: columns looked at, lists taken apart, each item with its place.

A part of a pattern that may match several items of a list is joined to the row, once for each item; two parts take
different items. What is forbidden is looked for among the items that no part has taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import operators as op
from acelera.algebra.names import columns, reference, source, time
from acelera.algebra.patterns import Content, Part, Pattern, variables_of
from acelera.algebra.sql.rendering import column, named

FALSE, TRUE = exp.false(), exp.true()


class Items(Protocol):
    """How an engine takes lists and structs apart."""

    def items(self, values: exp.Expr) -> exp.Select:
        """The items of a list as `v`, with their places as `p`."""

    def field(self, value: exp.Expr, name: str) -> exp.Expr:
        """A field of a struct."""

    def present(self, values: exp.Expr) -> exp.Expr:
        """How many items of a list are not NULL; 0 if there is no list."""

    def node(self, parts: Sequence[exp.Expr]) -> exp.Expr:
        """A value that tells nodes apart."""


def matched(relation: op.Events, table: exp.Expr, row: pa.DataType, items: Items) -> exp.Select:
    """The tuples of a relation over the events of a table, whose columns are the fields of `row`."""
    found = [_matched(relation, pattern, table.copy(), row, items) for pattern in relation.patterns]
    together: exp.Query = found[0]
    for each in found[1:]:
        together = exp.union(together, each)
    if len(found) == 1:
        return found[0]
    return exp.select("*").from_(together.subquery("a"))


def _matched(relation: op.Events, pattern: Pattern, table: exp.Expr, row: pa.DataType, items: Items) -> exp.Select:
    matching = _Matching(items)
    fields = {each.name: (column(each.name, "e"), each.type) for each in row}
    matching.take(pattern, fields, ())
    values: dict[str, exp.Expr] = {
        time(relation.identifier, "begin"): column("begin", "e"),
        time(relation.identifier, "end"): column("end", "e"),
        reference(relation.identifier): column("ref", "e"),
    }
    for name in variables_of(pattern):
        value, node = matching.bound[name]
        values |= {name: value, source(name): items.node([column("ref", "e"), *node])}
    query = exp.select(*(named(values[name], name) for name in columns(relation.heading))).distinct()
    query = query.from_(exp.alias_(table, "e", table=True))
    for join in matching.joins:
        query = query.join(
            exp.Lateral(this=join.items.subquery(), alias=exp.TableAlias(this=exp.to_identifier(join.name))),
            join_type="left" if join.optional else "cross",
            on=TRUE.copy() if join.optional else None,
        )
    return query.where(*matching.conditions) if matching.conditions else query


@dataclass
class _Joined:
    name: str
    items: exp.Select
    optional: bool


@dataclass
class _Matching:
    """What has been asked so far: joins with items, conditions, and where each variable stands, with its node."""

    engine: Items
    joins: list[_Joined] = field(default_factory=list)
    conditions: list[exp.Expr] = field(default_factory=list)
    bound: dict[str, tuple[exp.Expr, Sequence[exp.Expr]]] = field(default_factory=dict)
    depth: int = 0

    def take(
        self, pattern: Pattern, fields: Mapping[str, tuple[exp.Expr, pa.DataType]], node: Sequence[exp.Expr]
    ) -> None:
        """Match the parts of a pattern with the children of a term."""
        taken: dict[str, list[exp.Expr]] = {}
        before: tuple[int, exp.Expr] | None = None
        places = {name: number for number, name in enumerate(fields)}
        for part in (each for each in pattern.asked if not each.forbidden and not each.optional):
            place = self._required(part, fields, taken, node)
            if pattern.ordered and before is not None:
                self._after(before, (places[part.column], place))
            before = (places[part.column], place)
        for part in (each for each in pattern.asked if each.optional):
            self._optional(part, fields, taken, node)
        for part in (each for each in pattern.asked if each.forbidden):
            self._forbidden(part, fields, taken)
        if pattern.total:
            self.conditions += [self._used_up(name, *fields[name], taken.get(name, ())) for name in fields]

    def _after(self, before: tuple[int, exp.Expr], now: tuple[int, exp.Expr]) -> None:
        if before[0] == now[0]:
            self.conditions.append(exp.LT(this=before[1].copy(), expression=now[1].copy()))
        elif before[0] > now[0]:
            self.conditions.append(FALSE.copy())

    def _required(
        self,
        part: Part,
        fields: Mapping[str, tuple[exp.Expr, pa.DataType]],
        taken: dict[str, list[exp.Expr]],
        node: Sequence[exp.Expr],
    ) -> exp.Expr:
        value, kind = fields[part.column]
        place: exp.Expr = exp.Literal.number(1)
        others = taken.setdefault(part.column, [])
        if part.repeated:
            name = self._unnested(value, optional=False)
            value, kind, place = column("v", name), kind.value_type, column("p", name)
            self.conditions += [exp.NEQ(this=place.copy(), expression=each.copy()) for each in others]
        elif others:
            self.conditions.append(FALSE.copy())
        others.append(place)
        self.conditions.append(_exists(value))
        self._content(part.content, value, kind, [*node, exp.convert(part.column), place])
        return place

    def _unnested(self, values: exp.Expr, optional: bool) -> str:
        name = f"u{len(self.joins) + self.depth}"
        self.joins.append(_Joined(name, self.engine.items(values.copy()), optional))
        return name

    def _content(self, content: Content, value: exp.Expr, kind: pa.DataType, node: Sequence[exp.Expr]) -> None:
        for constant in content.equal:
            same = _comparable(constant, kind)
            self.conditions.append(value.copy().eq(exp.convert(constant)) if same else FALSE.copy())
        for name in (*content.binds, *content.whole):
            if name in self.bound:
                self.conditions.append(exp.EQ(this=self.bound[name][0].copy(), expression=value.copy()))
            else:
                self.bound[name] = (value.copy(), node)
        if content.inner is not None:
            inner = {each.name: (self.engine.field(value.copy(), each.name), each.type) for each in kind}
            self.take(content.inner, inner, node)

    def _optional(
        self,
        part: Part,
        fields: Mapping[str, tuple[exp.Expr, pa.DataType]],
        taken: dict[str, list[exp.Expr]],
        node: Sequence[exp.Expr],
    ) -> None:
        """What matches if it can: a subquery of its own, of which nothing may come."""
        value, kind = fields[part.column]
        others = taken.setdefault(part.column, [])
        inner = _Matching(self.engine, bound=dict(self.bound), depth=10 * (len(self.joins) + self.depth + 1))
        once = Part(part.column, part.content, part.repeated)
        place = inner._required(once, {part.column: (value, kind)}, {part.column: list(others)}, node)
        new = [name for name in inner.bound if name not in self.bound]
        shown = [named(inner.bound[name][0], name) for name in new] + [named(place.copy(), "#p")]
        name = f"o{len(self.joins) + self.depth}"
        self.joins.append(_Joined(name, inner._select(shown), optional=True))
        for each in new:
            self.bound[each] = (column(each, name), [*node, exp.convert(part.column), column("#p", name)])
        others.append(exp.func("coalesce", column("#p", name), exp.Literal.number(-1)))

    def _forbidden(
        self, part: Part, fields: Mapping[str, tuple[exp.Expr, pa.DataType]], taken: dict[str, list[exp.Expr]]
    ) -> None:
        others = taken.get(part.column, [])
        inner = _Matching(self.engine, bound=dict(self.bound), depth=10 * (len(self.joins) + self.depth + 1))
        inner._required(
            Part(part.column, part.content, part.repeated),
            {part.column: fields[part.column]},
            {part.column: list(others)},
            (),
        )
        found = inner._select([exp.Literal.number(1)])
        self.conditions.append(exp.Not(this=exp.Exists(this=found)))

    def _select(self, shown: Sequence[exp.Expr]) -> exp.Select:
        """A subquery of all that was asked."""
        query = exp.select(*shown)
        if not self.joins:
            query = query.from_(exp.select(named(exp.Literal.number(1), "one")).subquery("one"))
        for number, join in enumerate(self.joins):
            if number == 0 and not join.optional:
                query = query.from_(join.items.subquery(join.name))
                continue
            if number == 0:
                query = query.from_(exp.select(named(exp.Literal.number(1), "one")).subquery("one"))
            lateral = exp.Lateral(this=join.items.subquery(), alias=exp.TableAlias(this=exp.to_identifier(join.name)))
            query = query.join(
                lateral, join_type="left" if join.optional else "cross", on=TRUE.copy() if join.optional else None
            )
        return query.where(*self.conditions) if self.conditions else query

    def _used_up(self, name: str, value: exp.Expr, kind: pa.DataType, taken: Sequence[exp.Expr]) -> exp.Expr:
        """Whether no child of a column is left over."""
        if pa.types.is_list(kind):
            used: exp.Expr = exp.Literal.number(0)
            for place in taken:
                used = exp.Add(
                    this=used,
                    expression=exp.Case(
                        ifs=[exp.If(this=place.copy() < 0, true=exp.Literal.number(0))], default=exp.Literal.number(1)
                    ),
                )
            return exp.EQ(this=self.engine.present(value.copy()), expression=used)
        if not taken:
            return value.copy().is_(exp.null())
        return exp.or_(value.copy().is_(exp.null()), *(place.copy() > 0 for place in taken))


def _exists(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=value.copy().is_(exp.null()))


def _comparable(constant: bool | int | float | str, kind: pa.DataType) -> bool:
    """Whether a constant can be equal to values of a type at all."""
    if isinstance(constant, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(constant, str):
        return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
