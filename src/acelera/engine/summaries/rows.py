"""Groups and their totals as rows of the result."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.predicates.masks import Batch, expression_values, predicate_mask
from acelera.engine.storage.columns import in_ordinary_types, in_types_of, ordinary, picked
from acelera.engine.summaries.windows import Spans
from acelera.language.lowering import lower
from acelera.language.summary import Summarized
from acelera.language.types import from_arrow

Ints = npt.NDArray[Any]


class ResultRows:
    """What becomes of windows, keys and totals: columns that are computed from them, HAVING, and the order of rows."""

    def __init__(self, summary: Summarized, spans: Spans | None) -> None:
        self.summary, self.schema, self._spans = summary, summary.schema, spans
        self._types = {total.name: total.type for total in summary.totals}
        self._expressions = [lower(item.expression) for item in summary.items]
        self._having = None
        if summary.having is not None:
            types = {each.name: from_arrow(ordinary(each.type)) for each in self.schema}
            self._having = predicate_mask(lower(summary.having), types)

    def rows(self, windows: Ints | None, keys: list[Any], totals: list[Any]) -> pa.RecordBatch:
        """The rows of groups: the number of the window of each, a column for each key and each total."""
        columns: dict[str, Any] = {}
        if windows is not None:
            columns |= self._windows(windows)
        columns |= {
            column.name: each.cast(ordinary(column.type)) for column, each in zip(self.summary.keys, keys, strict=True)
        }
        length = len(totals[0]) if totals else 0
        known = {total.name: column for total, column in zip(self.summary.totals, totals, strict=True)}
        for item, expression in zip(self.summary.items, self._expressions, strict=True):
            kind = ordinary(item.type.arrow)
            columns[item.name] = expression_values(expression, self._types, Batch(known, length), kind)
        found = pa.table({name: columns[name] for name in self.schema.names})
        if self._having is not None:
            found = found.filter(pa.array(self._having({name: columns[name] for name in self.schema.names}, length)))
        return _one_batch(in_types_of(found, self.schema))

    def rows_in_order(self, windows: Ints | None, keys: list[Any], totals: list[Any]) -> pa.RecordBatch:
        """The same by window, then by keys."""
        rows = self.rows(windows, keys, totals)
        return _one_batch(self.in_order(pa.Table.from_batches([rows])))

    def _windows(self, windows: Ints) -> dict[str, Any]:
        assert self._spans is not None
        begin, end = self._spans.begin(windows), self._spans.end(windows)
        kind = self.summary.window_type
        ends = end if self._spans.timed else end - 1
        return {"window_start": pa.array(begin).cast(kind), "window_end": pa.array(ends).cast(kind)}

    def in_order(self, rows: pa.Table) -> pa.Table:
        """Rows by window, then by keys; NULL comes first and NaN last."""
        names = [name for name in self.schema.names if name not in {item.name for item in self.summary.items}]
        if not names or rows.num_rows < 2:
            return rows
        order: list[Any] = []
        for column in in_ordinary_types(rows.select(names)).columns:
            if pa.types.is_floating(column.type):
                nothing = pc.is_nan(column)
                order.append(pc.fill_null(nothing.cast(pa.int8()), -1))
                column = pc.if_else(nothing, pa.scalar(0.0, column.type), column)
            elif column.null_count:
                order.append(column.is_valid().cast(pa.int8()))
            order.append(column)
        table = pa.table(order, names=[str(number) for number in range(len(order))])
        indices = pc.sort_indices(table, sort_keys=[(name, "ascending") for name in table.column_names])
        return picked(rows, indices.to_numpy())


def _one_batch(rows: pa.Table) -> pa.RecordBatch:
    """All rows together."""
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)


def column_of_numbers(numbers: Ints, kind: pa.DataType) -> Any:
    """Places or times as a column."""
    return pa.array(np.ascontiguousarray(numbers)).cast(kind)
