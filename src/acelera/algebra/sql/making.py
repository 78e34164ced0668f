"""Events made of tuples, as SQL: groups, aggregates, lists and structs.

Tuples are grouped by all references and times, then by the variables outside of lists and aggregates. What ranges over
the bindings of a group is computed apart, from the different ones, and joined to its group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from acelera.algebra import construction as made
from acelera.algebra import operators as op
from acelera.algebra.expressions import attributes_of
from acelera.algebra.names import reference, source, time
from acelera.algebra.sql.types import conformed, in_order, typed
from acelera.algebra.sql.values import sql_value
from acelera.algebra.sql.words import column, first_of, named, struct, struct_field
from acelera.language.tree import walk

Order = Sequence[tuple[exp.Expr, bool]]
"""What is sorted by, each descending or not; what is missing comes before all that is there, or after if descending."""


class Lists(Protocol):
    """How an engine makes lists."""

    def listed(self, value: exp.Expr, order: Order) -> exp.Expr:
        """An aggregate: the values that are not NULL, in order; NULL if there are none."""

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other, of which some may be NULL; NULL if all are."""


def derived(relation: op.Derive, operand: exp.Select, lists: Lists) -> exp.Select:
    """The events of a relation: begin, end, and a column for each child."""
    heading = relation.operand.heading
    begin, end = time(op.MERGED, "begin"), time(op.MERGED, "end")
    term = relation.head.term
    keys = [begin, end, *sorted(made.free(term))]
    if made.grouped(term):
        keys[2:2] = map(reference, sorted(heading.references))
    several = sum(isinstance(each, op.Collect) for each in walk(relation.operand)) > 1
    groups, columns = _Maker(operand, heading, lists, several).grouped(term, keys, distinct=True)
    shown = [column(begin), column(end), *(named(columns[child.label], child.label) for child in term.each)]
    return exp.select(*shown).distinct().from_(groups.subquery("g"))


class _Maker:
    def __init__(self, operand: exp.Select, heading: op.Heading, lists: Lists, several: bool) -> None:
        self.operand, self.heading, self.lists = operand, heading, lists
        self.several_collected = several

    def grouped(
        self, term: made.Children, keys: Sequence[str], distinct: bool = False
    ) -> tuple[exp.Select, dict[str, exp.Expr]]:
        """A row for each group, with all that its children need, and the children of it.

        If the rows are made `distinct` later on, there may be several for a group.
        """
        groups: exp.Select | None = None
        names: dict[made.Collected | made.Aggregated, str] = {}
        for number, part in enumerate(dict.fromkeys(made.grouped(term))):
            names[part] = f"#{len(keys)}.{number}"
            ranging = (
                self._listing(part, keys, names[part])
                if isinstance(part, made.Collected)
                else self._aggregate(part, keys, names[part])
            )
            groups = ranging if groups is None else self._beside(groups, ranging, keys, list(names.values()))
        if groups is None:
            groups = exp.select(*map(column, keys)).from_(self.operand.copy().subquery("t"))
            groups = groups if distinct else groups.distinct()
        return groups, {child.label: self._child(child, names) for child in term.each}

    def _beside(self, groups: exp.Select, ranging: exp.Select, keys: Sequence[str], names: Sequence[str]) -> exp.Select:
        """Groups with one column more."""
        same = [exp.NullSafeEQ(this=column(key, "g"), expression=column(key, "r")) for key in keys]
        shown = [column(name, "g") for name in (*keys, *names[:-1])]
        query = exp.select(*shown, column(names[-1], "r")).from_(groups.subquery("g"))
        return query.join(ranging.subquery("r"), on=exp.and_(*same))

    # --- aggregates -----------------------------------------------------------------------------------------------

    def _aggregate(self, part: made.Aggregated, keys: Sequence[str], name: str) -> exp.Select:
        apart = self._bindings(attributes_of(part.value) | set(part.keys), part.by_value)
        bindings = self.operand.copy()
        if not self._are_different(keys, apart):
            columns = list(dict.fromkeys([*keys, *apart]))
            bindings = exp.select(*map(column, columns)).distinct().from_(bindings.subquery("t"))
        value = exp.func(part.function, sql_value(part.value))
        grouping = exp.select(*map(column, keys), named(value, name)).from_(bindings.subquery("b"))
        return grouping.group_by(*map(column, keys))

    def _bindings(self, names: frozenset[str], by_value: bool) -> list[str]:
        """The columns that tell bindings apart."""
        nodes = [] if by_value else [source(name) for name in sorted(names & self.heading.sources)]
        return [*sorted(names), *nodes]

    def _are_different(self, keys: Sequence[str], apart: Sequence[str]) -> bool:
        """Whether no two tuples agree in all of these columns: there is nothing else in them, and no events that were
        collected can be taken for each other.
        """
        known = {*keys, *apart}
        nodes = {source(name) for name in self.heading.sources}
        lacking = (self.heading.data | nodes | set(map(reference, self.heading.references))) - known
        return not lacking and bool(nodes) and not self.several_collected

    # --- lists ----------------------------------------------------------------------------------------------------

    def _listing(self, part: made.Collected, keys: Sequence[str], name: str) -> exp.Select:
        inner = list(dict.fromkeys([*keys, *sorted(made.free(part.item)), *part.keys]))
        if isinstance(part.item, made.Children):
            instances, columns = self.grouped(part.item, inner)
            fields = [(child.label, columns[child.label]) for child in part.item.each]
            value = _struct_unless_empty(fields)
        else:
            kind = part.item.kind
            instances, columns = self.grouped(made.Children((made.Child("#", (part.item,), kind),)), inner)
            value = columns["#"]
        instances, order = self._sorted_by(part, instances, inner)
        order += [(each, False) for each in _sort_keys(value, part.item)]
        query = exp.select(*map(column, keys), named(self.lists.listed(value, order), name))
        return query.from_(instances.subquery("i")).group_by(*map(column, keys))

    def _sorted_by(
        self, part: made.Collected, instances: exp.Select, keys: Sequence[str]
    ) -> tuple[exp.Select, list[tuple[exp.Expr, bool]]]:
        """What instances are sorted by; of a variable that is not the same in all of an instance, its first value."""
        order: list[tuple[exp.Expr, bool]] = []
        for number, (name, descending) in enumerate(part.order):
            if name in keys:
                order.append((column(name), descending))
                continue
            own = f"#first.{number}"
            first = _first_value(column(name), descending)
            grouping = exp.select(*map(column, keys), named(first, own)).from_(self.operand.copy().subquery("t"))
            extreme = grouping.group_by(*map(column, keys))
            same = [exp.NullSafeEQ(this=column(key, "i"), expression=column(key, "r")) for key in keys]
            query = exp.select("i.*", column(own, "r")).from_(instances.subquery("i"))
            instances = query.join(extreme.subquery("r"), on=exp.and_(*same))
            order.append((column(own), descending))
        return instances, order

    # --- children -------------------------------------------------------------------------------------------------

    def _child(self, child: made.Child, names: dict[made.Collected | made.Aggregated, str]) -> exp.Expr:
        if not child.items:
            return typed(exp.null(), pa.list_(child.kind) if child.repeated else child.kind)
        if not child.repeated:
            (item,) = child.items
            assert not isinstance(item, made.Collected)
            return self._item(item, names)
        parts = [
            column(names[item]) if isinstance(item, made.Collected) else _single(self._item(item, names))
            for item in child.items
        ]
        return parts[0] if len(parts) == 1 else self.lists.together(parts)

    def _item(
        self, item: made.Computed | made.Children, names: dict[made.Collected | made.Aggregated, str]
    ) -> exp.Expr:
        if isinstance(item, made.Children):
            return _struct_unless_empty([(child.label, self._child(child, names)) for child in item.each])
        value = sql_value(item.value)
        if item.held is not None:
            return conformed(value, item.held, item.kind)
        aggregates = {name: column(names[aggregate]) for name, aggregate in item.aggregates}
        filled = value.transform(lambda node: aggregates.get(node.name, node) if isinstance(node, exp.Column) else node)
        return typed(filled, item.kind)


def _first_value(value: exp.Expr, descending: bool) -> exp.Expr:
    """The least value, which is none if one is missing; or the greatest."""
    if descending:
        return exp.Max(this=value)
    all_there = exp.EQ(this=exp.Count(this=exp.Star()), expression=exp.Count(this=value.copy()))
    return first_of(all_there, exp.Min(this=value.copy()), exp.null())


def _sort_keys(value: exp.Expr, item: made.Computed | made.Children) -> Iterator[exp.Expr]:
    """Terms are sorted child by child; those that variables stand for in the order of the names of their children."""
    if isinstance(item, made.Computed):
        yield value.copy() if item.held is None else in_order(value.copy(), _by_name(item.kind))
        return
    for child in item.each:
        inner = struct_field(value.copy(), child.label)
        if not child.repeated and len(child.items) == 1 and isinstance(child.items[0], made.Children):
            yield from _sort_keys(inner, child.items[0])
        else:
            kind = _by_name(child.kind) if _is_held(child) else child.kind
            yield in_order(inner, pa.list_(kind) if child.repeated else kind)


def _is_held(child: made.Child) -> bool:
    """Whether its terms are all those of variables."""
    items = [each.item if isinstance(each, made.Collected) else each for each in child.items]
    return all(isinstance(each, made.Computed) and each.held is not None for each in items)


def _by_name(kind: pa.DataType) -> pa.DataType:
    """A type with all children in the order of their names."""
    if pa.types.is_list(kind):
        return pa.list_(_by_name(kind.value_type))
    if not pa.types.is_struct(kind):
        return kind
    fields = sorted(kind, key=lambda each: str(each.name))
    return pa.struct([pa.field(each.name, _by_name(each.type)) for each in fields])


def _single(value: exp.Expr) -> exp.Expr:
    """A list of one value; NULL if that is."""
    return first_of(value.copy().is_(exp.null()), exp.null(), exp.array(value))


def _struct_unless_empty(fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
    """A struct; NULL if all fields are."""
    missing = exp.and_(*(value.copy().is_(exp.null()) for _, value in fields))
    return first_of(missing, exp.null(), struct([(name, value.copy()) for name, value in fields]))
