"""The schemas of labels: which children an event has, and what is in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import pyarrow as pa

from acelera.errors import SchemaError
from acelera.language.schema import names_alike
from acelera.language.types import INT, NUMBERS, STRING, UNKNOWN, Kind, Type, from_arrow, unify


@dataclass(frozen=True)
class Child:
    """A child of a term: its label, the value or the children in it, and whether there may be several of it."""

    label: str
    content: Content
    repeated: bool = False


@dataclass(frozen=True)
class Shape:
    """The children of a term, in the order of the columns."""

    children: tuple[Child, ...] = ()

    def child(self, label: str) -> Child | None:
        """The child of this label, if there is one."""
        return next((each for each in self.children if each.label == label), None)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its children."""
        return tuple(each.label for each in self.children)


Content: TypeAlias = Type | Shape
Held: TypeAlias = Type | Child
"""What a variable holds: a value, or a whole term."""

Conflict: TypeAlias = Callable[[str, Content, Content], None]
"""What to do about a child of this label that is the one here, the other there."""

DATETIME = Shape(
    (
        Child("time", STRING),
        Child("date", STRING),
        Child("weekday", STRING),
        Child("day", INT),
        Child("month", INT),
        Child("timezone", STRING),
    )
)
"""What can be said of `timer:datetime`."""

TIMERS = {"timer:datetime": DATETIME, "timer:date": Shape(DATETIME.children[1:])}


def shapes_of(schemas: Mapping[str, pa.Schema]) -> dict[str, Shape]:
    """The children of each label, from Arrow schemas without the columns of time."""
    return {label: Shape(_children(f"{label}.", list(schema))) for label, schema in schemas.items()}


def _children(path: str, given: Sequence[pa.Field]) -> tuple[Child, ...]:
    both = names_alike([each.name for each in given])
    if both is not None:
        hint = "which most engines do not tell apart; rename one of them"
        raise SchemaError(f"`{path}{both[0]}` and `{path}{both[1]}` differ in case alone, {hint}")
    return tuple(_child(path, each) for each in given)


def _child(path: str, given: pa.Field) -> Child:
    """A scalar column is a child with a value, a struct one with children, an array repeated children."""
    kind, name = given.type, f"{path}{given.name}"
    if _is_list(kind):
        if _is_list(kind.value_type):
            raise SchemaError(f"`{name}` is an array of arrays, which are no children; put a struct between them")
        inner = _child(path, pa.field(given.name, kind.value_type))
        return replace(inner, repeated=True)
    if pa.types.is_map(kind):
        raise SchemaError(f"`{name}` is a map, which has no fixed children; make it an array of structs")
    if pa.types.is_struct(kind):
        return Child(given.name, Shape(_children(f"{name}.", [kind.field(place) for place in range(kind.num_fields)])))
    return Child(given.name, from_arrow(kind))


def _is_list(kind: pa.DataType) -> bool:
    tests = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(test(kind) for test in tests)


def arrow_schema(shape: Shape) -> pa.Schema:
    """The columns of such children."""
    return pa.schema([_field(each) for each in shape.children])


def _field(child: Child) -> pa.Field:
    kind = arrow_type(child.content)
    return pa.field(child.label, pa.list_(kind) if child.repeated else kind)


def arrow_type(held: Content | Held) -> pa.DataType:
    """The type of what is in a child, or of what a variable holds."""
    content = held.content if isinstance(held, Child) else held
    return content.arrow if isinstance(content, Type) else pa.struct([_field(each) for each in content.children])


def joined(left: Shape, right: Shape, conflict: Conflict) -> Shape:
    """The children of both: those of the left first; one that is repeated in either is repeated."""
    found = [_joined_child(each, right.child(each.label), conflict) for each in left.children]
    return Shape((*found, *(each for each in right.children if left.child(each.label) is None)))


def _joined_child(left: Child, right: Child | None, conflict: Conflict) -> Child:
    if right is None:
        return left
    content = joined_content(left.label, left.content, right.content, conflict)
    return Child(left.label, content, left.repeated or right.repeated)


def joined_content(label: str, left: Content, right: Content, conflict: Conflict) -> Content:
    """What holds both; if nothing does, the left one."""
    if isinstance(left, Shape) and isinstance(right, Shape):
        return joined(left, right, conflict)
    if isinstance(left, Type) and left.vague:
        return right
    if isinstance(right, Type) and right.vague:
        return left
    both = unify(left, right) if isinstance(left, Type) and isinstance(right, Type) else None
    if both is None:
        if left != right:
            conflict(label, left, right)
        return left
    return both


def comparable(left: Type, right: Type) -> bool:
    """Whether values of both can be equal."""
    numbers = left.kind in NUMBERS and right.kind in NUMBERS
    return left.vague or right.vague or numbers or unify(left, right) is not None


def said(held: Content | Held) -> str:
    """What it is, in words: a number, a string, a struct."""
    if not isinstance(held, Type):
        return "a struct" if isinstance(held, Shape) else "a whole term"
    if held.kind in NUMBERS:
        return "a number"
    if held.kind in (Kind.OPAQUE, *UNKNOWN_KINDS):
        return f"a value of type {held}"
    if held.kind is Kind.TIMESTAMP:
        return "a timestamp with a time zone" if held.zoned else "a timestamp"
    return f"a {held.kind.value}"


UNKNOWN_KINDS = (Kind.UNKNOWN, Kind.NULL)


def below(child: Child) -> Iterator[Held]:
    """A term, all terms below it, and their values."""
    todo: list[Held] = [child]
    while todo:
        each = todo.pop()
        yield each
        if isinstance(each, Child):
            inner = each.content
            todo += reversed(inner.children) if isinstance(inner, Shape) else [inner]


def is_unknown(held: Held) -> bool:
    """Whether nothing is known of what is in it."""
    return held == UNKNOWN or (isinstance(held, Child) and held.content == UNKNOWN)
