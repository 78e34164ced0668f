"""What is looked for in one event, by the columns of its label: resolved, so that no label has to be looked up again.

An event is a row. A column is a child, a column of a struct a child with children, a list a child for each of its
items; NULL is no child. Where a query could mean several columns, there are several patterns, of which one must match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from acelera.language.tree import Node


@dataclass(frozen=True, eq=False, repr=False)
class Content(Node):
    """What a child must be: `equal` to constants, if it is a value; with an `inner` pattern, if it has children.

    `binds` are variables that take its value, `whole` those that take the child itself, label and all.
    """

    equal: tuple[bool | int | float | str, ...] = ()
    binds: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    inner: Pattern | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Part(Node):
    """A child in a column, of which there are several if it is `repeated`; parts match different children.

    A part is `forbidden` if none of the children that are left over may match, `optional` if it need not match.
    """

    column: str
    content: Content
    repeated: bool = False
    forbidden: bool = False
    optional: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Pattern(Node):
    """The children that must be there; no others if it is `total`, in this order if it is `ordered`."""

    asked: tuple[Part, ...] = ()
    total: bool = False
    ordered: bool = False


def contents(pattern: Pattern) -> Iterator[tuple[Part, Content]]:
    """All parts at all depths, with what they ask for."""
    todo = [pattern]
    while todo:
        for part in todo.pop().asked:
            yield part, part.content
            if part.content.inner is not None:
                todo.append(part.content.inner)


def is_flat(pattern: Pattern) -> bool:
    """Whether a pattern looks at plain columns only, so that a row matches in one way or not at all."""
    return all(part.content.inner is None and not part.repeated and not part.content.whole for part in pattern.asked)


def variables_of(pattern: Pattern) -> list[str]:
    """The variables that are bound, each once, in order of appearance."""
    bound = (name for _, content in contents(pattern) for name in (*content.binds, *content.whole))
    return list(dict.fromkeys(bound))
