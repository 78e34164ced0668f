"""A source: the changes of one relation, and what is known of them before they are read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from acelera.cdc.arrow_changes import normalize, refuse_ties
from acelera.cdc.layout import Layout, said
from acelera.cdc.rows import Held, Numbers, Rows, rows_of
from acelera.errors import UsageError
from acelera.language.types import Type, from_arrow
from acelera.spark.schemas import is_frame


class Preparation(Protocol):
    """What is done with rows before a layout fits them, such as to decode texts."""

    def arrow(self, rows: Rows) -> Rows:
        """Rows of a table, prepared."""

    def spark(self, frame: Any) -> Any:
        """A Spark frame, prepared."""


@dataclass(frozen=True, eq=False, repr=False)
class Source:
    """The changes of one relation. `inserts`, `changes`, `debezium` and `delta` make sources.

    >>> from acelera import cdc
    >>> ticks = [{"ts": 1, "id": "IBM", "price": 100.0}, {"ts": 2, "id": "IBM", "price": 101.5}]
    >>> source = cdc.inserts(ticks)
    >>> source
    Source(id: string, price: double)
    >>> source.normalized().to_pylist()[0]
    {'#kind': 0, '#instant.0': 1, '#time': 1, 'new.id': 'IBM', 'new.price': 100.0}
    """

    layout: Layout
    held: Held
    preparation: Preparation | None = None

    def __repr__(self) -> str:
        return f"Source({', '.join(f'{name}: {kind}' for name, kind in self.layout.attributes.items())})"

    @property
    def attributes(self) -> Mapping[str, Type]:
        """The attributes of the relation, and their types."""
        return {name: from_arrow(kind) for name, kind in self.layout.attributes.items()}

    @property
    def has_old(self) -> bool:
        """Whether updates tell what was there before."""
        return self.layout.has_old

    @property
    def timestamp(self) -> Type:
        """What times are: timestamps, or integers."""
        return from_arrow(self.layout.clock.kind.arrow)

    def instant(self, granularity: str) -> tuple[Type, ...]:
        """The types of what orders changes."""
        return tuple(map(from_arrow, self.layout.instant(granularity).values()))

    def schema(self, granularity: str = "timestamp") -> pa.Schema:
        """The columns of normalized changes."""
        return self.layout.schema(granularity)

    @property
    def is_spark(self) -> bool:
        """Whether the changes are in a Spark frame."""
        return self.held.frame is not None

    @property
    def is_streaming(self) -> bool:
        """Whether the changes are in a Spark frame that still grows."""
        return self.is_spark and bool(self.held.frame.isStreaming)

    def normalized(self, granularity: str = "timestamp") -> Any:
        """All changes, as a table, or as a Spark frame if they are in one.

        The columns are `#kind` (0 insert, 1 update, 2 delete), `#instant.0` and so on, `#time`, `new.A` for each
        attribute A, and `old.A` if changes can have old values.
        """
        if self.is_spark:
            return self._on_spark(self.held.frame, granularity)
        found = [self._changes(rows, granularity) for rows in self._read()]
        if not found:
            return self.schema(granularity).empty_table()
        table = pa.concat_tables(table for table, _ in found)
        numbers = found[0][1] if len(found) == 1 else np.concatenate([numbers for _, numbers in found])
        self._refuse_ties(table, numbers, granularity)
        return table

    def batches(self, granularity: str = "timestamp") -> Iterator[pa.Table]:
        """The changes, some at a time; operations of one instant are found if they are in the same batch."""
        if self.is_spark:
            raise UsageError("the changes of this source are in a Spark frame; ask for all of them with normalized()")
        for rows in self._read():
            yield self._normalize(rows, granularity)

    def normalize(self, batch: object, granularity: str = "timestamp", before: int = 0) -> Any:
        """The changes of further rows, which come as a table of any kind, or as a Spark frame.

        `before` says how many rows came before, so that errors tell their numbers.
        """
        if is_frame(batch):
            return self._on_spark(batch, granularity)
        return self._normalize(rows_of(self.held.prepared(batch), self.held.schema, before), granularity)

    def _normalize(self, rows: Rows, granularity: str) -> pa.Table:
        table, numbers = self._changes(rows, granularity)
        self._refuse_ties(table, numbers, granularity)
        return table

    def _read(self) -> Iterator[Rows]:
        if self.held.tables is None:
            raise UsageError(
                "this source was made from columns alone, so it has no rows: make it of a table, which may be empty, "
                "or give rows later, to a session or to normalize(…)"
            )
        before = 0
        for batch in self.held.tables():
            rows = rows_of(batch, self.held.schema, before)
            yield replace(rows, whole=self.held.whole, named=self.held.named)
            before += len(rows.numbers)

    def _changes(self, rows: Rows, granularity: str) -> tuple[pa.Table, Numbers]:
        return normalize(self.layout, self.preparation.arrow(rows) if self.preparation else rows, granularity)

    def _refuse_ties(self, table: pa.Table, numbers: Numbers, granularity: str) -> None:
        if granularity == "operation":
            refuse_ties(table, numbers, list(map(said, self.layout.instant(granularity))))

    def _on_spark(self, frame: Any, granularity: str) -> Any:
        from acelera.cdc.spark_changes import normalize_frame

        return normalize_frame(self.layout, self.preparation.spark(frame) if self.preparation else frame, granularity)
