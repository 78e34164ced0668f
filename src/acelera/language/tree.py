"""What all syntax trees have in common: equality by structure, and walking without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import NoReturn, TypeVar

from acelera.errors import Span

_NAMES: dict[type, tuple[str, ...]] = {}
"""For each kind of node its fields, but the span."""


N = TypeVar("N", bound="Node")
T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """What all nodes have: a span, and equality by structure."""

    span: Span | None = field(default=None, kw_only=True)

    def parts(self) -> tuple[object, ...]:
        """The values of all fields but the span."""
        kind = type(self)
        if kind not in _NAMES:
            _NAMES[kind] = tuple(each.name for each in fields(self) if each.name != "span")
        return tuple([getattr(self, name) for name in _NAMES[kind]])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Node):
            return NotImplemented
        pairs: list[tuple[object, object]] = [(self, other)]
        while pairs:
            left, right = pairs.pop()
            if left is right:
                continue
            if type(left) is not type(right):  # so that 1, 1.0 and TRUE are different literals
                return False
            if isinstance(left, Node) and isinstance(right, Node):
                pairs.extend(zip(left.parts(), right.parts(), strict=True))
            elif isinstance(left, tuple) and isinstance(right, tuple):
                if len(left) != len(right):
                    return False
                pairs.extend(zip(left, right, strict=True))
            elif left != right:
                return False
        return True

    @cached_property
    def _hash(self) -> int:
        return hash(tuple(self._flat()))

    def __hash__(self) -> int:
        return self._hash  # trees are large, and compared often

    def __reduce__(self) -> tuple[object, ...]:
        return _built_up, (tuple(_taken_down(self)),)  # pickle recurses over what is nested, and over nothing else

    def _flat(self) -> Iterator[object]:
        todo: list[object] = [self]
        while todo:
            item = todo.pop()
            if isinstance(item, Node):
                yield type(item)
                todo.extend(item.parts())
            elif isinstance(item, tuple):
                yield len(item)
                todo.extend(item)
            else:
                yield item

    def __repr__(self) -> str:
        pieces: list[str] = []
        todo: list[object] = [self]
        while todo:
            item = todo.pop()
            if isinstance(item, _Text):
                pieces.append(item)
            elif isinstance(item, Node):
                pieces.append(type(item).__name__)
                todo.extend(reversed(_bracketed("(", item.parts(), ")")))
            elif isinstance(item, tuple):
                todo.extend(reversed(_bracketed("[", item, "]")))
            else:
                pieces.append(repr(item))
        return "".join(pieces)


def _taken_down(root: Node) -> list[object]:
    """A tree as one list: each node stands after its parts and its span, as its kind; each tuple after its items."""
    found: list[object] = []
    todo: list[object] = [root]
    while todo:
        item = todo.pop()
        if isinstance(item, Node):
            found.append(type(item))
            todo += [*item.parts(), item.span]
        elif type(item) is tuple:
            found += [tuple, len(item)]
            todo += item
        else:
            found.append(item)
    return found[::-1]


def _built_up(listed: Sequence[object]) -> object:
    """The tree of such a list."""
    made: list[object] = []
    for item in listed:
        if item is tuple:
            size = made.pop()
            assert isinstance(size, int)
            made.append(tuple(_last(made, size)))
        elif isinstance(item, type):
            *parts, span = _last(made, len(fields(item)))
            made.append(item(*parts, span=span))
        else:
            made.append(item)
    return made[0]


def _last(made: list[object], size: int) -> list[object]:
    """Take the last items away."""
    taken = made[len(made) - size :]
    del made[len(made) - size :]
    return taken


class _Text(str):
    """Punctuation of a repr, as against a string in the tree."""


def _bracketed(opening: str, items: Sequence[object], closing: str) -> list[object]:
    inner: list[object] = []
    for item in items:
        inner += [_Text(", "), item] if inner else [item]
    return [_Text(opening), *inner, _Text(closing)]


def children(node: N) -> tuple[N, ...]:
    """The direct sub-nodes of the same family: formulas of a formula, expressions of an expression."""
    family = node.family  # type: ignore[attr-defined]  # every node that is folded belongs to a family
    found: list[N] = []
    for part in node.parts():
        if isinstance(part, family):
            found.append(part)
        elif isinstance(part, tuple):
            found.extend(item for item in part if isinstance(item, family))
    return tuple(found)


def rebuilt(node: N, inner: Sequence[N]) -> N:
    """The same node over other sub-nodes of its family, left to right; the node itself if they are its own."""
    if all(left is right for left, right in zip(children(node), inner, strict=True)):
        return node
    family, rest = node.family, iter(inner)  # type: ignore[attr-defined]

    def other(part: object) -> object:
        if isinstance(part, tuple):
            return tuple(next(rest) if isinstance(item, family) else item for item in part)
        return next(rest) if isinstance(part, family) else part

    return type(node)(*(other(part) for part in node.parts()), span=node.span)


def fold(root: N, combine: Callable[[N, Sequence[T]], T], below: Callable[[N], Sequence[N]] = children) -> T:
    """Work bottom-up: `combine` gets a node and what was made of its children, left to right."""
    todo: list[tuple[N, int]] = [(root, -1)]
    made: list[T] = []
    while todo:
        node, count = todo.pop()
        if count < 0:
            inner = below(node)
            todo.append((node, len(inner)))
            todo.extend((child, -1) for child in reversed(inner))
        else:
            values = made[len(made) - count :]
            del made[len(made) - count :]
            made.append(combine(node, values))
    return made[0]


def walk(root: N) -> Iterator[N]:
    """The node and all nodes of its family below it, from the top, left to right."""
    todo = [root]
    while todo:
        node = todo.pop()
        yield node
        todo.extend(reversed(children(node)))


def nodes_of(root: Node) -> Iterator[Node]:
    """The node and all nodes below it, of whatever family, from the top, left to right."""
    todo: list[object] = [root]
    while todo:
        part = todo.pop()
        if isinstance(part, tuple):
            todo.extend(reversed(part))
        elif isinstance(part, Node):
            yield part
            todo.extend(reversed(part.parts()))


def assert_never(value: NoReturn) -> NoReturn:
    """After all cases of a match: mypy finds one that is missing. From Python 3.11 on, `typing` has it."""
    raise AssertionError(f"unknown {type(value).__name__}")
