"""What the attributes of a relation are called."""

from __future__ import annotations

from acelera.algebra.operators import Heading

BEGIN, END, REFERENCE = "#begin", "#end", "#ref"
"""The columns of an event beside its children."""


def time(identifier: str, end: str) -> str:
    """A time; that of what is merged has no identifier."""
    return f"{identifier}.{end}" if identifier else f"#{end}"


def reference(identifier: str) -> str:
    """What tells which event it is."""
    return f"{identifier}.ref" if identifier else REFERENCE


def source(variable: str) -> str:
    """What tells which node a value came from."""
    return f"{variable}.src"


def columns(heading: Heading) -> list[str]:
    """All attributes of a relation, in a fixed order."""
    times = [time(each, end) for each in sorted(heading.times) for end in ("begin", "end")]
    return [
        *sorted(heading.data),
        *times,
        *map(reference, sorted(heading.references)),
        *map(source, sorted(heading.sources)),
    ]
