"""What is made of the tuples of a group: an event with children, lists of children, and aggregates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    """A value, in which aggregates stand under names of their own."""

    value: Expression
    aggregates: tuple[tuple[str, Aggregated], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Collected(Node):
    """An instance for each different binding of its variables and of `keys`, sorted by some, descending or not."""

    item: Element
    keys: tuple[str, ...] = ()
    order: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class Element(Node):
    """A term: a label, and either a value or children."""

    label: str
    items: tuple[Element | Computed | Collected, ...] = ()


def free(element: Element) -> frozenset[str]:
    """The variables outside of lists and aggregates: tuples are grouped by them."""
    found: set[str] = set()
    for item in _below(element):
        if isinstance(item, Computed):
            found |= attributes_of(item.value) - {name for name, _ in item.aggregates}
    return frozenset(found)


def is_grouping(element: Element) -> bool:
    """Whether several tuples make one event."""
    return any(
        isinstance(item, Collected) or (isinstance(item, Computed) and item.aggregates) for item in _below(element)
    )


def _below(element: Element) -> Iterator[Element | Computed | Collected]:
    """All items, but those in lists."""
    todo: list[Element | Computed | Collected] = [element]
    while todo:
        item = todo.pop()
        yield item
        if isinstance(item, Element):
            todo.extend(reversed(item.items))
