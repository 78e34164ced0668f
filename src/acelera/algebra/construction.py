"""What is made of the tuples of a group: an event with children, lists of children, and aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from acelera.algebra.expressions import Expression, attributes_of
from acelera.language.tree import Node


@dataclass(frozen=True, eq=False, repr=False)
class Aggregated(Node):
    """An aggregate of a value over the different bindings of its variables and of `keys`.

    A binding is a value and the node that it came from, or the value alone if it is `by_value`.
    """

    function: str
    value: Expression
    keys: tuple[str, ...] = ()
    by_value: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Computed(Node):
    """A value of a type, in which aggregates stand under names of their own.

    `held` is the type of a variable that is put in as it is, a term with all its children.
    """

    value: Expression
    kind: pa.DataType
    aggregates: tuple[tuple[str, Aggregated], ...] = ()
    held: pa.DataType | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Children(Node):
    """A term with children, one for each label."""

    each: tuple[Child, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Collected(Node):
    """An instance for each different binding of its variables and of `keys`, sorted by some, descending or not."""

    item: Computed | Children
    keys: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Child(Node):
    """The children with a label, in a column of a type: a list if it is `repeated`, in which what is collected stands
    item by item. There may be none, if only other rules make such children.
    """

    label: str
    items: tuple[Computed | Children | Collected, ...]
    kind: pa.DataType
    repeated: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Head(Node):
    """An event."""

    label: str
    term: Children


Item = Computed | Children | Collected


def free(item: Item) -> frozenset[str]:
    """The variables outside of lists and aggregates: tuples are grouped by them."""
    found: set[str] = set()
    for part in _outside_lists(item):
        if isinstance(part, Computed):
            found |= attributes_of(part.value) - {name for name, _ in part.aggregates}
    return frozenset(found)


def grouped(item: Item) -> list[Collected | Aggregated]:
    """The lists and aggregates of an item, but not those in other lists."""
    found: list[Collected | Aggregated] = []
    for part in _outside_lists(item):
        if isinstance(part, Collected):
            found.append(part)
        elif isinstance(part, Computed):
            found.extend(aggregate for _, aggregate in part.aggregates)
    return found


def _outside_lists(item: Item) -> Iterator[Item]:
    todo: list[Item] = [item]
    while todo:
        part = todo.pop()
        yield part
        if isinstance(part, Children):
            todo.extend(inner for child in reversed(part.each) for inner in reversed(child.items))


def aggregated_variables(head: Head) -> frozenset[str]:
    """The variables of aggregates, of which it matters which nodes they came from."""
    found: set[str] = set()
    todo: list[Item] = [head.term]
    while todo:
        for part in grouped(todo.pop()):
            if isinstance(part, Collected):
                todo.append(part.item)
            else:
                found |= attributes_of(part.value) | set(part.keys)
    return frozenset(found)
