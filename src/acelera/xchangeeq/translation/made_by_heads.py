"""Heads as what is made of tuples."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from acelera.algebra.construction import Aggregated, Child, Children, Collected, Computed, Head
from acelera.algebra.expressions import Attribute, Expression, Operation
from acelera.xchangeeq import ast
from acelera.xchangeeq.schemas import Child as ChildShape
from acelera.xchangeeq.schemas import Held, Shape, arrow_type
from acelera.xchangeeq.translation.values import value

Item = Computed | Children


def head_of(head: ast.Construct, shape: Shape, variables: Mapping[str, Held], by_value: bool) -> Head:
    """What a rule makes, with all children of its label; `by_value` says that aggregates do not look at nodes."""
    return Head(head.label, _Maker(variables, by_value).children(head, shape))


class _Maker:
    def __init__(self, variables: Mapping[str, Held], by_value: bool) -> None:
        self.variables, self.by_value = variables, by_value

    def children(self, node: ast.Construct, shape: Shape) -> Children:
        """One child for each label, those too that only other rules make."""
        items: dict[str, list[Item | Collected]] = {child.label: [] for child in shape.children}
        for child in node.children:
            what = child.what if isinstance(child, ast.All) else child
            label = self._label(what)
            known = shape.child(label)
            assert known is not None
            items[label].append(
                self._collected(child, known) if isinstance(child, ast.All) else self._item(what, known)
            )
        return Children(
            tuple(
                Child(each.label, tuple(items[each.label]), arrow_type(each.content), each.repeated)
                for each in shape.children
            )
        )

    def _label(self, what: ast.Construct | ast.Expression) -> str:
        if isinstance(what, ast.Construct):
            return what.label
        assert isinstance(what, ast.Variable)
        held = self.variables[what.name]
        assert isinstance(held, ChildShape)
        return held.label

    def _item(self, what: ast.Construct | ast.Expression, child: ChildShape) -> Item:
        if isinstance(what, ast.Variable):
            return Computed(value(what), arrow_type(child.content), held=arrow_type(self.variables[what.name]))
        assert isinstance(what, ast.Construct)
        if isinstance(child.content, Shape):
            return self.children(what, child.content)
        (inner,) = what.children
        assert isinstance(inner, ast.Expression)
        return self._computed(inner, arrow_type(child.content))

    def _collected(self, every: ast.All, child: ChildShape) -> Collected:
        keys = tuple(each.name for each in every.group_by)
        order = tuple((each.variable.name, each.descending) for each in every.order_by)
        return Collected(self._item(every.what, child), keys, order)

    def _computed(self, expression: ast.Expression, kind: pa.DataType) -> Computed:
        aggregates: list[tuple[str, Aggregated]] = []

        def aggregated(node: ast.Aggregate) -> Expression:
            name = f"#{len(aggregates)}"
            aggregates.append((name, self._aggregated(node)))
            return Attribute(name)

        return Computed(value(expression, aggregated), kind, tuple(aggregates))

    def _aggregated(self, node: ast.Aggregate) -> Aggregated:
        keys = tuple(each.name for each in node.over.group_by)
        what = node.over.what
        if isinstance(what, ast.Expression):
            return Aggregated(node.function, value(what), keys, self.by_value)
        return Aggregated(node.function, Operation("present", _leaves(what)), keys, self.by_value)


def _leaves(what: ast.Construct) -> tuple[Expression, ...]:
    """The values in a term, at all depths."""
    found: list[Expression] = []
    todo: list[ast.Construct] = [what]
    while todo:
        for child in todo.pop().children:
            inner = child.what if isinstance(child, ast.All) else child
            if isinstance(inner, ast.Construct):
                todo.append(inner)
            else:
                found.append(value(inner))
    return tuple(found)
