"""What several queries, or the rules of a program, find in one pass over a frame: one frame, and a part for each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from acelera.errors import UsageError, did_you_mean, listing
from acelera.spark.spark_expressions import quoted

QUERY, END_TIME = "query", "end_time"
"""The columns of the frame of several queries that tell whose a row is, and when its match ends."""


class ByName(Mapping[str, Any], ABC):
    """A frame for each of some outputs, by its name."""

    outputs: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        """The rows of one name."""
        if name not in self.outputs:
            raise UsageError(self.unknown(name))
        return self.part(name)

    @abstractmethod
    def part(self, name: str) -> Any:
        """The rows of one name that is known."""

    @abstractmethod
    def unknown(self, name: str) -> str:
        """What to say of a name that is not known."""

    def __contains__(self, name: object) -> bool:
        return name in self.outputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.outputs)

    def __len__(self) -> int:
        return len(self.outputs)

    def get(self, name: str, default: Any = None) -> Any:
        """The rows of one name, if it is known."""
        return self[name] if name in self.outputs else default


@dataclass(frozen=True)
class OutOfOne(ByName):
    """Frames that are made of one `frame` with a column that tells the name and a struct for each of them."""

    frame: Any
    outputs: Mapping[str, pa.Schema] = field(repr=False)


@dataclass(frozen=True)
class Results(OutOfOne):
    """What several queries find: a frame for each, with the columns that its `run` gives.

    `frame` has the rows of all of them: the name of the query in `query`, when the match ends in `end_time` (if the
    stream has time), and the row in a struct that is called like the query. To Spark each action is a computation of
    its own: what is done with `results["a"]` and then with `results["b"]` makes the pass twice, unless a batch was
    kept with `persist()` before; or write `frame` once.
    """

    ends: Mapping[str, str | None] = field(repr=False)
    passes: Mapping[str, Any] = field(repr=False)

    def part(self, name: str) -> Any:
        """The rows of one query, from the pass that it belongs to."""
        from pyspark.sql import functions

        own = self.passes[name].filter(functions.col(QUERY) == name)
        columns = []
        for column in self.outputs[name].names:
            inner = END_TIME if column == self.ends[name] else f"{quoted(name)}.{quoted(column)}"
            columns.append(functions.col(inner).alias(column))  # that of all queries has the watermark
        return own.select(*columns)

    def unknown(self, name: str) -> str:
        """There is no such query."""
        return f"there is no query `{name}`{did_you_mean(name, self.outputs)} (there is {listing(self.outputs)})"

    def persist(self) -> Results:
        """Keep what is found of a batch once it has been computed, so that each pass is made once; returns this."""
        for each in self._distinct_passes():
            each.persist()
        return self

    def unpersist(self) -> Results:
        """Keep it no longer; returns this."""
        for each in self._distinct_passes():
            each.unpersist()
        return self

    def _distinct_passes(self) -> list[Any]:
        return list({id(each): each for each in self.passes.values()}.values())
