"""Heads: the children that a rule makes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from acelera.language.types import UNKNOWN
from acelera.programs.problems import Notes
from acelera.xchangeeq import ast
from acelera.xchangeeq.operands import aggregates_in, type_of
from acelera.xchangeeq.printer import label as written
from acelera.xchangeeq.printer import nodes_below, print_node
from acelera.xchangeeq.schemas import Child, Content, Held, Shape, joined_content, said

TIMES = ("begin", "end")
"""The first columns of every output."""


def head_shape(head: ast.Construct, variables: Mapping[str, Held], notes: Notes) -> Shape:
    """The children of what a rule makes."""
    for aggregate in aggregates_in(head):
        if any(each is not aggregate for each in aggregates_in(aggregate)):
            notes.wrong("an aggregate of an aggregate needs a rule of its own", aggregate.span)
    content = _content(head, variables, notes, root=True)
    shape = content if isinstance(content, Shape) else Shape()
    for child in head.children:
        inner = child.what if isinstance(child, ast.All) else child
        if isinstance(inner, ast.Construct) and inner.label in TIMES:
            notes.wrong(f"`{inner.label}` is a column of time in every output", inner.span, "choose another label")
    return shape


def _content(node: ast.Construct, variables: Mapping[str, Held], notes: Notes, root: bool = False) -> Content:
    """What is in a term that is made: a value, or children."""
    if not node.children and not root:
        notes.wrong(f"{node.label} would be empty, which is no column", node.span, f"write {node.label} {{ true }}")
        return UNKNOWN
    children: list[Child] = []
    values: list[tuple[ast.Node, Held]] = []
    for child in node.children:
        what = child.what if isinstance(child, ast.All) else child
        repeated = isinstance(child, ast.All)
        if isinstance(what, ast.Construct):
            children.append(Child(what.label, _content(what, variables, notes), repeated))
            continue
        held = type_of(what, variables, notes)
        if isinstance(held, Child):
            children.append(replace(held, repeated=repeated))
        else:
            values.append((child, held))
    if not values:
        return Shape(_gathered(children, node, notes))
    return _value(node, values, bool(children), notes, root)


def _value(node: ast.Construct, values: list[tuple[ast.Node, Held]], mixed: bool, notes: Notes, root: bool) -> Content:
    """A term with values in it: it must have one, and nothing else."""
    first, held = values[0]
    if root:
        hint = f"give it a label: {written(node.label)} {{ v {{ {print_node(first)} }} }}"
        notes.wrong(f"a value stands in {node.label} without a label", first.span, hint)
    elif isinstance(first, ast.All):
        inner = f"all {written(node.label)} {{ {print_node(first.what)} }}"
        notes.wrong(f"{node.label} would have several values, which is no column", first.span, f"write {inner}")
    elif len(values) > 1:
        hint = f"repeat the child: {written(node.label)} {{ … }}, {written(node.label)} {{ … }}"
        notes.wrong(f"{node.label} would have several values, which is no column", values[1][0].span, hint)
    elif mixed:
        notes.wrong(f"{node.label} would have a value beside children", first.span, "give the value a label")
    assert not isinstance(held, Child)
    return held


def _gathered(children: Iterable[Child], node: ast.Construct, notes: Notes) -> tuple[Child, ...]:
    """Children of one label are one child that is repeated."""
    found: dict[str, Child] = {}

    def conflict(label: str, one: Content, other: Content) -> None:
        notes.wrong(f"{node.label} has {label} as {said(one)} and as {said(other)}", node.span)

    for each in children:
        if each.label in found:
            content = joined_content(each.label, found[each.label].content, each.content, conflict)
            found[each.label] = Child(each.label, content, True)
        else:
            found[each.label] = each
    return tuple(found.values())


def variables_in(node: ast.Node) -> list[ast.Variable]:
    """All variables that an expression, a head or a condition uses."""
    found: list[ast.Variable] = []
    todo = [node]
    while todo:
        each = todo.pop()
        found += [each] if isinstance(each, ast.Variable) else []
        todo.extend(reversed(nodes_below(each)))
    return found


def is_grouping(head: ast.Construct) -> bool:
    """Whether a head has `all` or an aggregate."""
    todo: list[ast.Node] = [head]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.All):
            return True
        todo.extend(nodes_below(each))
    return False


def computed(head: ast.Construct) -> ast.Expression | None:
    """The first expression of a head that makes new values."""
    todo: list[ast.Node] = [head]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Arithmetic | ast.Negative | ast.Call):
            return each
        todo.extend(reversed(nodes_below(each)))
    return None
