"""What is looked for in one event, by the columns of its label: resolved, so that no label has to be looked up again.

An event is a row. A column is a child, a column of a struct a child with children, a list a child for each of its
items; NULL is no child. The one child of a plain column is its value, which stands in a column without a name. Where a
query could mean several columns, there are several patterns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acelera.language.tree import Node

VALUE = ""
"""The column of the value in a child."""


@dataclass(frozen=True, eq=False, repr=False)
class Content(Node):
    """What a child or a value must be: `equal` to constants; with an `inner` pattern, if it has children.

    `binds` are variables that take it: the value of a plain column, the term of a struct.
    """

    equal: tuple[bool | int | float | str, ...] = ()
    binds: tuple[str, ...] = ()
    inner: Pattern | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Part(Node):
    """A child in a column, of which there are several if it is `repeated`. `place` is where the query asks for it.

    A part that is `optional` need not match; it is the only one of its column, which is not repeated.
    """

    column: str
    content: Content
    repeated: bool = False
    optional: bool = False
    place: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Pattern(Node):
    """Children that are `asked` for, all different; in this order if it is `ordered`, and no others if it is `total`.

    None of those that are left over may match what is `forbidden`, once all variables are known; and none could match
    what is `impossible`, given the variables of this pattern alone.
    """

    asked: tuple[Part, ...] = ()
    forbidden: tuple[Part, ...] = ()
    impossible: tuple[Part, ...] = ()
    total: bool = False
    ordered: bool = False


def contents(content: Content) -> Iterator[Content]:
    """What is asked for at all depths, but not what must not be there."""
    todo = [content]
    while todo:
        each = todo.pop()
        yield each
        if each.inner is not None:
            todo.extend(part.content for part in reversed(each.inner.asked))


def variables_of(content: Content) -> list[str]:
    """The variables that are bound, each once, in order of appearance."""
    return list(dict.fromkeys(name for each in contents(content) for name in each.binds))


def renamed_content(content: Content, names: dict[str, str]) -> Content:
    """The same with other variables."""
    inner = content.inner
    if inner is not None:
        asked, forbidden, impossible = (
            tuple(
                Part(each.column, renamed_content(each.content, names), each.repeated, each.optional, each.place)
                for each in parts
            )
            for parts in (inner.asked, inner.forbidden, inner.impossible)
        )
        inner = Pattern(asked, forbidden, impossible, inner.total, inner.ordered)
    return Content(content.equal, tuple(names.get(name, name) for name in content.binds), inner)
