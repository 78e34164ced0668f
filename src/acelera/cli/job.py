"""What `acelera run` was asked for, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from acelera.cli.inputs import Inputs
from acelera.cli.outputs import Output
from acelera.cli.progress import count
from acelera.language.ast import Key
from acelera.language.parser import parse_query
from acelera.query import Query, query


@dataclass(frozen=True)
class Job:
    """A query, what it reads and where its matches go; without an output, the first of them are shown."""

    query: Query
    inputs: Inputs
    output: Output | None
    order_by: tuple[str, ...]
    type_column: str
    event_type: str | None
    limit: int
    ties: str = "error"

    @property
    def options(self) -> dict[str, Any]:
        """How the stream is to be read, as `Query.run` takes it."""
        return {
            "order_by": list(self.order_by) or None,
            "type_column": self.type_column,
            "event_type": self.event_type,
        }


@dataclass(frozen=True)
class Outcome:
    """How many events were read and matches found, as far as that is known; rows to show, if they are not written."""

    events: int | None
    matches: int
    rows: Sequence[Mapping[str, Any]] | None = None
    more: bool = False

    def summary(self, seconds: float) -> str:
        """One line.

        >>> Outcome(12000, 34).summary(5.21)
        '12,000 events, 34 matches, 5.2 s'
        """
        if self.more:
            told = f"the first {count(self.matches, 'match')}, {seconds:.1f} s"
            return f"{told}; there are more: --limit shows more of them, -o writes all"
        told = f"{count(self.matches, 'match')}, {seconds:.1f} s"
        return told if self.events is None else f"{count(self.events, 'event')}, {told}"


def read_query(text: str, partition_by: Sequence[str]) -> Query:
    """The query of a text, with a PARTITION BY of the command line if it has none of its own."""
    if not partition_by:
        return query(text)
    tree = parse_query(text)
    own = [key.name for key in tree.partition_by]
    if own and set(own) != set(partition_by):
        raise click.UsageError(
            f"the query says PARTITION BY {', '.join(own)}, --partition-by says {', '.join(partition_by)}; "
            "leave out one of them"
        )
    if own:
        return query(text)
    return query(replace(tree, partition_by=tuple(Key(name) for name in partition_by)))
