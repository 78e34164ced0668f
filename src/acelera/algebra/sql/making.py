"""Events made of tuples, as SQL: groups, aggregates, lists and structs.

Tuples are grouped by all references and times, then by the variables outside of lists and aggregates. What ranges over
the bindings of a group is computed apart, from the different ones, and joined to its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from acelera.algebra import construction as made
from acelera.algebra import operators as op
from acelera.algebra.expressions import attributes_of
from acelera.algebra.names import reference, source, time
from acelera.algebra.sql.rendering import column, condition_of, named


class Lists(Protocol):
    """How an engine makes lists."""

    def listed(self, value: exp.Expr, order: Sequence[tuple[exp.Expr, bool]]) -> exp.Expr:
        """An aggregate: the values that are not NULL, in some order, then by themselves; NULL if there are none."""

    def together(self, lists: Sequence[exp.Expr]) -> exp.Expr:
        """Lists one after the other, of which some may be NULL; NULL if all are."""

    def single(self, value: exp.Expr) -> exp.Expr:
        """A list of one value; NULL if that is."""

    def struct(self, fields: Sequence[tuple[str, exp.Expr]]) -> exp.Expr:
        """A struct; NULL if all fields are."""


def derived(relation: op.Derive, operand: exp.Select, lists: Lists) -> exp.Select:
    """The events of a relation: begin, end, and a column for each child."""
    heading = relation.operand.heading
    begin, end = time(op.MERGED, "begin"), time(op.MERGED, "end")
    term = relation.head.term
    keys = [begin, end, *sorted(made.free(term))]
    if made.grouped(term):
        keys[2:2] = map(reference, sorted(heading.references))
    maker = _Maker(operand, heading, lists)
    groups, columns = maker.grouped(term, keys)
    shown = [column(begin), column(end), *(named(columns[child.label], child.label) for child in term.each)]
    return exp.select(*shown).distinct().from_(groups.subquery("g"))


class _Maker:
    def __init__(self, operand: exp.Select, heading: op.Heading, lists: Lists) -> None:
        self.operand, self.heading, self.lists = operand, heading, lists

    def grouped(self, term: made.Children, keys: Sequence[str]) -> tuple[exp.Select, dict[str, exp.Expr]]:
        """A row for each group, with all that its children need, and the children of it."""
        groups: exp.Select | None = None
        names: dict[made.Collected | made.Aggregated, str] = {}
        for number, part in enumerate(made.grouped(term)):
            names[part] = f"#{len(keys)}.{number}"
            ranges = self._listing if isinstance(part, made.Collected) else self._aggregate
            ranging = ranges(part, keys, names[part])  # type: ignore[arg-type]  # each gets its own kind
            groups = ranging if groups is None else self._beside(groups, ranging, keys, list(names.values()))
        if groups is None:
            groups = exp.select(*map(column, keys)).distinct().from_(self.operand.copy().subquery("t"))
        return groups, {child.label: self._child(child, names) for child in term.each}

    def _beside(self, groups: exp.Select, ranging: exp.Select, keys: Sequence[str], names: Sequence[str]) -> exp.Select:
        """Groups with one column more."""
        same = [exp.NullSafeEQ(this=column(key, "g"), expression=column(key, "r")) for key in keys]
        shown = [column(name, "g") for name in (*keys, *names[:-1])]
        query = exp.select(*shown, column(names[-1], "r")).from_(groups.subquery("g"))
        return query.join(ranging.subquery("r"), on=exp.and_(*same))

    def _bindings(self, names: frozenset[str], by_value: bool) -> list[str]:
        """The columns that tell bindings apart."""
        nodes = [] if by_value else [source(name) for name in sorted(names & self.heading.sources)]
        return [*sorted(names), *nodes]

    def _are_different(self, keys: Sequence[str], apart: Sequence[str]) -> bool:
        """Whether no two tuples agree in all of these columns: then there is nothing else in them, and nothing was
        dropped that would tell them apart.
        """
        known = {*keys, *apart}
        lacking = self.heading.data - known or self.heading.sources - {name for name in apart if source(name) in known}
        nodes = all(source(name) in known for name in apart if name in self.heading.data)
        return not lacking and nodes and {reference(each) for each in self.heading.references} <= known

    def _aggregate(self, part: made.Aggregated, keys: Sequence[str], name: str) -> exp.Select:
        apart = self._bindings(attributes_of(part.value) | set(part.keys), part.by_value)
        bindings = self.operand.copy()
        if not self._are_different(keys, apart):
            columns = list(dict.fromkeys([*keys, *apart]))
            bindings = exp.select(*map(column, columns)).distinct().from_(bindings.subquery("t"))
        value = exp.func(part.function, condition_of(part.value))
        grouping = exp.select(*map(column, keys), named(value, name)).from_(bindings.subquery("b"))
        return grouping.group_by(*map(column, keys))

    def _listing(self, part: made.Collected, keys: Sequence[str], name: str) -> exp.Select:
        inner = list(dict.fromkeys([*keys, *sorted(made.free(part.item)), *part.keys]))
        if isinstance(part.item, made.Children):
            instances, columns = self.grouped(part.item, inner)
            value = self.lists.struct([(child.label, columns[child.label]) for child in part.item.each])
        else:
            whole = made.Children((made.Child("#", (part.item,)),))
            instances, columns = self.grouped(whole, inner)
            value = columns["#"]
        order = [(column(name), descending) for name, descending in part.order]
        query = exp.select(*map(column, keys), named(self.lists.listed(value, order), name))
        return query.from_(instances.subquery("i")).group_by(*map(column, keys))

    def _child(self, child: made.Child, names: dict[made.Collected | made.Aggregated, str]) -> exp.Expr:
        if not child.repeated:
            (item,) = child.items
            assert not isinstance(item, made.Collected)
            return self._item(item, names)
        parts = [
            column(names[item]) if isinstance(item, made.Collected) else self.lists.single(self._item(item, names))
            for item in child.items
        ]
        return parts[0] if len(parts) == 1 else self.lists.together(parts)

    def _item(
        self, item: made.Computed | made.Children, names: dict[made.Collected | made.Aggregated, str]
    ) -> exp.Expr:
        if isinstance(item, made.Children):
            return self.lists.struct([(child.label, self._child(child, names)) for child in item.each])
        value = condition_of(item.value)
        aggregates = {name: column(names[aggregate]) for name, aggregate in item.aggregates}
        return value.transform(lambda node: aggregates.get(node.name, node) if isinstance(node, exp.Column) else node)
