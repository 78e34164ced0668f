"""Checks the items of SELECT, and finds out which columns they make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from acelera.language import ast
from acelera.language.expressions import FUNCTIONS, type_of
from acelera.language.fields import as_column_name
from acelera.language.printer import name as written
from acelera.language.printer import print_expression
from acelera.language.result import (
    AggregateValue,
    AttributeValues,
    Column,
    EventStructs,
    ExpressionValue,
    MatchBound,
    PartitionKey,
    name_of_aggregate,
)
from acelera.language.schema import Schema
from acelera.language.scope import Scope
from acelera.language.tree import assert_never, rebuilt
from acelera.language.types import INT, NUMBERS, UNKNOWN, Kind, from_arrow
from acelera.language.variables import ONE, Bindings, Variable


class ItemChecker:
    """What the items of SELECT are called, where they come from, and their types; what is wrong is reported."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def columns(self, clauses: ast.Clauses, bindings: Bindings) -> tuple[Column, ...]:
        """The columns of all items, no two of which may have one name."""
        columns: list[Column] = []
        for item in clauses.select:
            fresh = self.star(clauses, bindings) if isinstance(item, ast.Star) else [self.item(item, clauses, bindings)]
            for column in fresh:
                if any(column.name == other.name for other in columns) and (
                    self.scope.schema or not isinstance(item, ast.Star)
                ):
                    hint = "name one of them otherwise: SELECT … AS name"
                    if isinstance(item, ast.Star) and any(column.name == each.name for each in columns[:2]):
                        hint = f"a match shows its {column.name}, too: write SELECT `{column.name}` AS name, …"
                    self.scope.wrong(f"two columns of the result are called `{column.name}`", item.span, hint)
                columns.append(column)
        return tuple(columns)

    def star(self, clauses: ast.Clauses, bindings: Bindings) -> Iterable[Column]:
        """The columns of `*`."""
        timed = None if self.scope.schema is None else self.scope.schema.time is not None
        for bound in ("start_time", "end_time") if timed else ("start", "end"):
            yield replace(self.bound(ast.SelectBound(bound)), source=MatchBound(bound.startswith("end"), timed))
        for name in dict.fromkeys(key.name for key in clauses.partition_by):
            yield self.key(name)
        for name in bindings.bound():
            struct = self.struct(bindings.get(name))
            listed = None if struct is None else pa.list_(struct)
            yield Column(name, EventStructs(name, self.fields(bindings.get(name))), False, listed)

    def key(self, name: str, alias: str | None = None) -> Column:
        """An attribute of PARTITION BY."""
        schema = self.scope.schema
        kind = None if schema is None else schema.columns.get(name)
        shown = name if schema is None else schema.shown(name)
        return Column(alias or shown, PartitionKey(name), True, None if kind is None else kind.arrow)

    def item(self, item: ast.SelectColumn, clauses: ast.Clauses, bindings: Bindings) -> Column:
        """The column of one item."""
        kind: pa.DataType | None
        item = key_of(item, clauses.partition_by, bindings)
        match item:
            case ast.SelectBound():
                return self.bound(item)
            case ast.SelectVariable(variable, alias):
                if any(variable == key.name for key in clauses.partition_by):
                    if variable in bindings.variables:
                        self.scope.wrong(
                            f"`{variable}` is a variable and an attribute of PARTITION BY",
                            item.span,
                            "rename the variable",
                        )
                    return self.key(variable, alias)
                held = self.scope.variable(variable, bindings, item.span, to_the_left=False)
                single = held.bounds == ONE
                source = EventStructs(variable, self.fields(held))
                return Column(alias or variable, source, single, _listed(self.struct(held), single))
            case ast.SelectAttribute(variable, attribute, alias):
                held = self.scope.variable(variable, bindings, item.span, to_the_left=False, with_attribute=True)
                found = self.scope.attribute(held, variable, attribute, item.span)
                single = held.bounds == ONE
                kind = None if self.scope.schema is None else _listed(found.arrow, single)
                name = alias or as_column_name(variable, attribute)
                return Column(name, AttributeValues(variable, attribute), single, kind)
            case ast.SelectAggregation(aggregation, alias):
                given, found = self.scope.aggregation(aggregation, bindings, to_the_left=False)
                name = alias or name_of_aggregate(aggregation) or self.no_name(aggregation)
                kind = None if self.scope.schema is None else found.arrow
                return Column(name, AggregateValue(aggregation, given), True, kind)
            case ast.SelectExpression(expression, alias):
                calls = [node for node in ast.walk(expression) if isinstance(node, ast.Call)]
                unknown = next((node for node in calls if node.function not in FUNCTIONS), None)
                if unknown is None:
                    return self.expression(expression, alias or self.no_name(expression), clauses, bindings)
                self.scope.no_aggregate(unknown.function, unknown.span)
                return Column(alias or unknown.function, ExpressionValue(expression, ()), True)
            case _:
                return assert_never(item)

    def no_name(self, expression: ast.Expression) -> str:
        """Report an item that has no name of its own."""
        shown = print_expression(expression)
        self.scope.wrong(
            "this item needs a name", expression.span, f"write {shown if len(shown) <= 40 else '…'} AS name"
        )
        return shown

    def expression(self, expression: ast.Expression, name: str, clauses: ast.Clauses, bindings: Bindings) -> Column:
        """The column of an item that computes with others, each of which has one value in each match."""
        parts: dict[ast.Expression, Column] = {}

        def part(node: ast.Expression) -> ast.Expression:
            if node not in parts:
                item = self.part_of_item(node, f"c{len(parts)}", clauses, bindings)
                parts[node] = self.item(item, clauses, bindings)
                if not parts[node].single and isinstance(item, ast.SelectAttribute):
                    self.refuse_list(node, item, bindings)
            return ast.Attribute(None, parts[node].name, span=node.span)

        def combine(node: ast.Expression, made: Sequence[ast.Expression]) -> ast.Expression:
            inner = isinstance(node, ast.Attribute | ast.Aggregation | ast.Bound)
            return part(node) if inner else rebuilt(node, made)

        before = len(self.scope.problems)
        read = ast.fold(expression, combine)
        if not parts:
            hint = "it computes with what a match has: b.price - a.price, max(x.price) / count(x), end - start"
            self.scope.wrong("this item speaks of no match: it is the same for each", expression.span, hint)
        if len(self.scope.problems) > before:
            return Column(name, ExpressionValue(read, tuple(parts.values())), True)
        types = {each.name: UNKNOWN if each.type is None else from_arrow(each.type) for each in parts.values()}
        found = type_of(read, lambda attribute: types[attribute.name], self.scope.problems.append)
        kind = None if self.scope.schema is None else found.arrow
        return Column(name, ExpressionValue(read, tuple(parts.values())), True, kind)

    def part_of_item(
        self, node: ast.Expression, alias: str, clauses: ast.Clauses, bindings: Bindings
    ) -> ast.SelectColumn:
        """What an item computes with, as an item of its own."""
        match node:
            case ast.Attribute(str() as held, name):
                return ast.SelectAttribute(held, name, alias, span=node.span)
            case ast.Attribute(None, name):
                if name in bindings.variables and all(name != key.name for key in clauses.partition_by):
                    hint = f"write {written(name)}.price for an attribute of its event, or max({written(name)}.price)"
                    self.scope.wrong(f"`{name}` is no value to compute with", node.span, hint)
                return ast.SelectVariable(name, alias, span=node.span)
            case ast.Bound(name):
                return ast.SelectBound(name, alias, span=node.span)
        assert isinstance(node, ast.Aggregation)
        return ast.SelectAggregation(node, alias, span=node.span)

    def refuse_list(self, node: ast.Expression, item: ast.SelectAttribute, bindings: Bindings) -> None:
        """Several values cannot be computed with as one."""
        bounds, held, shown = bindings.get(item.variable).bounds, written(item.variable), print_expression(node)
        if not bounds.high:
            return
        kind = bindings.get(item.variable).attributes.get(item.attribute, UNKNOWN).kind
        first = "first" if item.attribute in ("type", "time") or kind not in (NUMBERS | {Kind.UNKNOWN}) else "sum"
        why, hint = f"{held} can hold several events", f"aggregate it: {first}({shown}), max({shown}) or last({shown})"
        if bounds.high == 1:
            why, hint = f"{held} may be empty", f"aggregate it: max({shown}) is NULL where {held} is empty"
        self.scope.wrong(f"{shown} is a list, since {why}", node.span, hint)

    def bound(self, item: ast.SelectBound) -> Column:
        """Where a match starts or ends."""
        timed = item.bound.endswith("time")
        found = self.scope.time(item.span, f"`{item.bound}`") if timed else INT
        source = MatchBound(item.bound.startswith("end"), timed)
        return Column(item.alias or item.bound, source, True, None if self.scope.schema is None else found.arrow)

    def fields(self, held: Variable) -> tuple[str, ...]:
        """The fields of an event struct; none are known without a schema."""
        return () if self.scope.schema is None else event_fields(held, self.scope.schema)

    def struct(self, held: Variable) -> pa.StructType | None:
        """The type of an event that is shown."""
        if self.scope.schema is None:
            return None
        return pa.struct([pa.field(name, self.field_type(held, name)) for name in self.fields(held)])

    def field_type(self, held: Variable, name: str) -> pa.DataType:
        """The type of one of its fields."""
        assert self.scope.schema is not None
        if name in held.attributes:
            return held.attributes[name].arrow
        return self.scope.schema.time.arrow if name == "time" and self.scope.schema.time is not None else pa.int64()


def event_fields(held: Variable, schema: Schema) -> tuple[str, ...]:
    """The fields of an event that is shown: its time or position, then its attributes.

    The column that gives the time is not repeated after `time`.
    """
    first, hidden = ("time", schema.order_by[0]) if schema.time is not None else ("position", "position")
    return (first, *(name for name in held.attributes if name not in (first, hidden, *schema.fields)))


Item = TypeVar("Item", bound=ast.SelectColumn)


def key_of(item: Item, partition_by: Sequence[ast.Key], bindings: Bindings) -> Item | ast.SelectVariable:
    """The item as an attribute of PARTITION BY, if it is a field that stands there: `device.id`."""
    if not isinstance(item, ast.SelectAttribute) or item.variable in bindings.variables:
        return item
    name = f"{item.variable}.{item.attribute}"
    is_key = any(name == key.name for key in partition_by)
    return ast.SelectVariable(name, item.alias, span=item.span) if is_key else item


def _listed(kind: pa.DataType | None, single: bool) -> pa.DataType | None:
    return kind if single or kind is None else pa.list_(kind)
