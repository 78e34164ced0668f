"""What `acelera run` or `acelera report` was asked for, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import click

from acelera.cli.arguments import listed, read_text
from acelera.cli.inputs import Inputs, find_inputs
from acelera.cli.outputs import Output
from acelera.cli.progress import count, told_beside
from acelera.cli.reading import Reading, reading_of
from acelera.language.ast import Key
from acelera.language.parser import parse_query
from acelera.query import Query, query


@dataclass(frozen=True)
class Job:
    """A query, what it reads and where its matches go; without an output, the first of them are shown."""

    query: Query
    inputs: Inputs
    order_by: tuple[str, ...]
    type_column: str
    event_type: str | None
    output: Output | None = None
    limit: int | None = None
    ties: str = "error"
    rows: str = "matches"
    until: str | None = None
    reading: Reading = field(default_factory=Reading)

    @property
    def shown(self) -> int:
        """How many matches are shown, if they are not written."""
        return self.limit or 20

    @property
    def what(self) -> str:
        """What is counted: matches, or rows of a summary."""
        return "match" if self.query.clauses.summary is None else "row"

    @property
    def what_on_spark(self) -> str:
        """The same on Spark, which counts rows of a result: of a match there may be several."""
        return self.what if self.rows == "matches" else "row"

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
    """How many events were read and matches found, as far as that is known; rows to show, if they are not written.

    If matches were not `counted` to the end, there are more of them. `more`: a limit left some out; None if that is not
    known. `what` each of them is: a row, if matches are summarized. `skipped` bad rows were left out; `beside` has
    further counts. Both are told if there are any.
    """

    events: int | None
    matches: int
    rows: Sequence[Mapping[str, Any]] | None = None
    more: bool | None = False
    counted: bool = True
    what: str = "match"
    skipped: int = 0
    beside: Mapping[str, int] = field(default_factory=dict)

    def summary(self, seconds: float) -> str:
        """One line.

        >>> Outcome(12000, 34).summary(5.21)
        '12,000 events, 34 matches, 5.2 s'
        >>> Outcome(12000, 34, beside={"tied": 3, "dropped": 0}).summary(5.21)
        '12,000 events, 34 matches, 3 tied, 5.2 s'
        """
        left_out = [f"{count(self.skipped, 'bad row')} skipped"] if self.skipped else []
        took = ", ".join([*told_beside(self.beside), *left_out, f"{seconds:.1f} s"])
        if self.more is None or self.more:
            told = f"the first {count(self.matches, self.what)}, {took}"
            if self.rows is None:
                return f"{told}; there {'are' if self.more else 'may be'} more, which --limit leaves out"
            return f"{told}; there are more: --limit shows more of them, -o writes all"
        told = f"{'' if self.counted else 'more than '}{count(self.matches, self.what)}, {took}"
        return told if self.events is None else f"{count(self.events, 'event')}, {told}"


def job_of(given: Mapping[str, Any]) -> Job:
    """What the options that all commands share ask for."""
    if not given["in_process"] and not listed(given["order_by"]):
        raise click.UsageError("on Spark rows have no order of their own; say it with --order-by")
    if given["ties"] == "keep" and not given["in_process"]:
        raise click.UsageError(
            "on Spark rows have no order of arrival; --ties keep is for --in-process, --ties any orders by all columns"
        )
    inputs, order_by = find_inputs(given["arguments"], given["kind"]), listed(given["order_by"])
    far = [each.path for each in inputs.parts if each.remote]
    if given["in_process"] and far:
        raise click.UsageError(f"`{far[0]}` is not on this machine; leave out --in-process")
    reading = replace(reading_of(given, [inputs.format]), several=len(inputs.by_type) > 1)
    return Job(
        query=read_query(read_text(given["file"]), listed(given["partition_by"])),
        inputs=inputs,
        order_by=tuple(order_by),
        type_column=given["type_column"],
        event_type=given["event_type"],
        ties=given["ties"],
        reading=reading.ordered_by(order_by[:1]),
    )


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
