"""What the columns of a result show: decided once, when a query is checked, for all that compute them.

`SELECT x.price` says what a user wants to see. A column says what must be computed for it: of which variable, which
attribute, whether one value or a list, and of which type.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from acelera.language import ast
from acelera.language.fields import as_column_name
from acelera.language.tree import assert_never
from acelera.language.types import Type


@dataclass(frozen=True)
class PartitionKey:
    """The value of a partition attribute."""

    name: str


@dataclass(frozen=True)
class MatchBound:
    """Where a match starts or ends: its time, or its position.

    `timed` is None as long as it is not known whether the stream has time: then `*` shows one or the other.
    """

    end: bool
    timed: bool | None


@dataclass(frozen=True)
class EventStructs:
    """Whole events of a variable, with these fields; none are known without a schema."""

    variable: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class AttributeValues:
    """An attribute of a variable's events."""

    variable: str
    attribute: str


@dataclass(frozen=True)
class AggregateValue:
    """An aggregate over a variable's events, and the type of what it is given; None if it counts events."""

    aggregation: ast.Aggregation
    given: Type | None


@dataclass(frozen=True)
class Column:
    """A column of the result: its name, what it shows, and its type if the schema is known.

    `single`: one event, or one value, rather than a list.
    """

    name: str
    source: Source
    single: bool
    type: pa.DataType | None = None


@dataclass(frozen=True)
class ExpressionValue:
    """What is computed from other columns, each of one value, by an expression whose attributes are their names."""

    expression: ast.Expression
    parts: tuple[Column, ...]


Source = PartitionKey | MatchBound | EventStructs | AttributeValues | AggregateValue | ExpressionValue


@dataclass(frozen=True)
class EventRows:
    """Rows of the events of matches, in place of rows of matches.

    The `bounds` of a match and its `keys` are columns of every row; `variables` are those whose events are rows, and
    `attributes` the columns for what their events have. A match is told by the fields of the events of `all_variables`,
    and by what orders them: the columns `order_by`, and the number of the position if they are `numbered`.
    """

    bounds: tuple[Column, Column]
    keys: tuple[Column, ...]
    variables: tuple[str, ...]
    attributes: tuple[tuple[str, pa.DataType], ...]
    all_variables: Mapping[str, Mapping[str, Type]]
    order_by: tuple[str, ...]
    numbered: bool

    @property
    def schema(self) -> pa.Schema:
        """The schema of the table."""
        first = [pa.field(MATCH, pa.string()), *(pa.field(each.name, each.type) for each in (*self.bounds, *self.keys))]
        return pa.schema([*first, pa.field(VARIABLE, pa.string()), *(pa.field(*each) for each in self.attributes)])


MATCH, VARIABLE = "match", "variable"
"""The columns of rows of events that tell the match and the variable."""


@dataclass(frozen=True)
class Result:
    """The columns of a result, and what is asked for by any of them."""

    columns: tuple[Column, ...]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the table; asks for a query that was checked against a schema."""
        return pa.schema([pa.field(column.name, column.type) for column in self.columns if column.type is not None])

    @property
    def sources(self) -> list[Source]:
        """What columns show; of what is computed, what it is computed from."""
        return [source for column in self.columns for source in _sources(column.source)]

    @property
    def listed_variables(self) -> set[str]:
        """The variables whose events are shown."""
        return {each.variable for each in self.sources if isinstance(each, EventStructs | AttributeValues)}

    @property
    def aggregates(self) -> list[AggregateValue]:
        """What is aggregated."""
        return [each for each in self.sources if isinstance(each, AggregateValue)]

    @property
    def variables(self) -> set[str]:
        """The variables whose events are shown or aggregated."""
        return self.listed_variables | {each.aggregation.variable for each in self.aggregates}

    @property
    def named_attributes(self) -> list[tuple[str, str]]:
        """The attributes that a user has named, each with its variable."""
        values = [(each.variable, each.attribute) for each in self.sources if isinstance(each, AttributeValues)]
        given = [(each.aggregation.variable, each.aggregation.attribute) for each in self.aggregates]
        named = [(held, name) for held, given_name in given if given_name for name in ast.plain_names(given_name)]
        return [*values, *named]

    @property
    def attributes(self) -> set[str]:
        """The attributes of events that are shown or aggregated; `time` and `position` among them."""
        return {name for source in self.sources for name in _attributes(source)}

    @property
    def shows_positions(self) -> bool | None:
        """Whether the number of a position is shown; None if it is unless the stream has time, which is not known."""
        found = [_shows_positions(source) for source in self.sources]
        return True if True in found else None if None in found else False

    @property
    def end_times(self) -> list[str]:
        """The names of the columns that tell when a match ends."""
        return [column.name for column in self.columns if column.source == MatchBound(end=True, timed=True)]


def name_of_aggregate(node: ast.Aggregation | ast.Total) -> str | None:
    """What the column of an aggregate is called without AS; of what is computed nothing can be said in short."""
    if isinstance(node.attribute, ast.Computed):
        return None
    function = node.function.replace(" -", " last ").replace(" ", "_")
    return as_column_name(function, node.variable, node.attribute)


def _sources(source: Source) -> Iterator[Source]:
    if not isinstance(source, ExpressionValue):
        yield source
        return
    for part in source.parts:
        yield from _sources(part.source)


def _attributes(source: Source) -> Iterator[str]:
    match source:
        case PartitionKey(name) | AttributeValues(_, name):
            yield name
        case MatchBound(_, timed):
            yield "time" if timed else "position"
        case EventStructs(_, fields):
            yield from fields
        case AggregateValue(aggregation, _):
            if aggregation.attribute is not None:
                yield from ast.plain_names(aggregation.attribute)
        case ExpressionValue():
            yield from (name for each in _sources(source) for name in _attributes(each))
        case _:
            assert_never(source)


def _shows_positions(source: Source) -> bool | None:
    undecided = (isinstance(source, MatchBound) and source.timed is None) or (
        isinstance(source, EventStructs) and not source.fields
    )
    return None if undecided else "position" in _attributes(source)
