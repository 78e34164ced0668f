"""What a summary shows: decided once, when a query is checked, for all that compute it.

A summary groups the matches of a query by window and keys, folds each group into *totals*, one for each different
aggregate that its items speak of, and computes its columns from them.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from acelera.language import ast
from acelera.language.aggregates import find_aggregate
from acelera.language.result import AttributeValues, Column, MatchBound, PartitionKey
from acelera.language.types import Type


def attributes_of(total: ast.Total) -> list[tuple[str, str]]:
    """The attributes that a total is over, or computed from, each with its variable."""
    if total.variable is None or total.attribute is None:
        return []
    return [(total.variable, name) for name in ast.plain_names(total.attribute)]


@dataclass(frozen=True)
class TotalValue:
    """An aggregate over all matches of a group.

    `name` is what expressions over totals call it. `given` is the type of the attribute, None if events or matches are
    counted; `type` that of the aggregate, UNKNOWN without a schema.
    """

    name: str
    total: ast.Total
    given: Type | None
    type: Type


@dataclass(frozen=True)
class ItemColumn:
    """A column that is computed from totals: an expression whose attributes are names of totals."""

    name: str
    expression: ast.Expression
    type: Type


@dataclass(frozen=True)
class Windows:
    """The windows of OVER, both numbers in nanoseconds if they are `timed`, in events otherwise.

    Those of time are [k·every, k·every + length) for all whole numbers k, counted from 1970-01-01 UTC (or the same wall
    clock, for times without a zone); those over events the positions k·every + 1 … k·every + length, from k = 0 on.
    """

    length: int
    every: int
    timed: bool


@dataclass(frozen=True)
class Summarized:
    """A summary that makes sense.

    `keys` are the columns of BY, each with a source of a match: a PartitionKey, a MatchBound that is timed or not, or
    AttributeValues of a variable that holds exactly one event. `having` is an expression whose attributes are names of
    columns of the result.
    """

    totals: tuple[TotalValue, ...]
    keys: tuple[Column, ...]
    items: tuple[ItemColumn, ...]
    windows: Windows | None = None
    window_type: pa.DataType | None = None
    having: ast.Expression | None = None

    @property
    def schema(self) -> pa.Schema:
        """The schema of the result: the window, the keys, the items. It asks for a query that knows its schema."""
        window = [] if self.windows is None else ["window_start", "window_end"]
        fields = [pa.field(name, self.window_type) for name in window]
        fields += [pa.field(column.name, column.type) for column in self.keys]
        return pa.schema([*fields, *(pa.field(item.name, item.type.arrow) for item in self.items)])

    @property
    def order(self) -> list[str]:
        """The columns that rows are ordered by: those of the window, then the keys."""
        window = [] if self.windows is None else ["window_start", "window_end"]
        return [*window, *(column.name for column in self.keys)]

    @property
    def bounds(self) -> set[tuple[bool, bool | None]]:
        """Of the bounds of a match that are keys, whether it is the end, and whether it is a time."""
        sources = [column.source for column in self.keys]
        return {(each.end, each.timed) for each in sources if isinstance(each, MatchBound)}

    @property
    def partition_keys(self) -> list[str]:
        """The attributes of PARTITION BY that are keys."""
        return [column.source.name for column in self.keys if isinstance(column.source, PartitionKey)]

    @property
    def event_keys(self) -> list[tuple[str, str]]:
        """The attributes of single events that are keys, each with its variable."""
        sources = [column.source for column in self.keys]
        return [(each.variable, each.attribute) for each in sources if isinstance(each, AttributeValues)]

    @property
    def looked_at(self) -> set[tuple[str, str]]:
        """The attributes of variables that totals and keys are about."""
        totals = [each.total for each in self.totals]
        return {each for total in totals for each in attributes_of(total)} | set(self.event_keys)

    @property
    def totals_apart(self) -> frozenset[ast.Total]:
        """The totals over attributes that are no keys."""
        totals = [each.total for each in self.totals if each.total.attribute is not None]
        return frozenset(each for each in totals if (each.variable, each.attribute) not in self.event_keys)

    @property
    def attributes(self) -> set[str]:
        """The attributes of events that are asked for; `time` and `position` among them."""
        given = {name for each in self.totals if each.total.attribute for name in ast.plain_names(each.total.attribute)}
        times = {"time"} if any(timed for _, timed in self.bounds) or (self.windows and self.windows.timed) else set()
        return given | times | set(self.partition_keys) | {attribute for _, attribute in self.event_keys}

    @property
    def compares_positions(self) -> bool:
        """Whether it matters which of several matches' events comes first."""
        functions = (find_aggregate(each.total.function) for each in self.totals)
        return any(function is not None and function.place is not None for function in functions)

    @property
    def shows_positions(self) -> bool:
        """Whether the number of a position matters."""
        counted = self.windows is not None and not self.windows.timed
        return counted or "position" in self.attributes or any(not timed for _, timed in self.bounds)
