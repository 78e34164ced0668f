"""The change data feed of a Delta table, in which an update is two rows: the image before it and the one after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import (
    DELETE,
    GRANULARITIES,
    INSERT,
    UPDATE,
    Layout,
    Operations,
    Side,
    as_list,
    attributes_of,
    clock,
    demand,
    fields_at,
    ordering,
    orders_of,
    type_at,
)
from acelera.cdc.rows import Numbers, Rows, held
from acelera.cdc.source import Source
from acelera.errors import DataError, SchemaError, UsageError
from acelera.language.types import ORDERED, Kind, from_arrow
from acelera.programs.columns import plain

TYPE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
BEFORE, AFTER = "update_preimage", "update_postimage"
KINDS = {"insert": INSERT, "delete": DELETE, AFTER: UPDATE}

_OLD = "#old."
_REMEDY = "; name a key that no two rows of the table share with key=…, and give all rows of a version at once"


def delta(data: object, key: str | Sequence[str], order_by: str | Sequence[str] | None = None) -> Source:
    """A source from the change data feed of a Delta table: inserts, deletes, and updates in pairs of images.

    data
        What `table_changes` or `readChangeFeed` gives: a table of any kind that queries take, or a Spark frame that is
        all there. All columns but `_change_type`, `_commit_version` and `_commit_timestamp` are attributes.
    key
        The columns that tell the rows of the table apart: the images of one update are those of one version and key.
    order_by
        What orders changes instead: a transaction is a version otherwise, and single operations have no order.

    >>> from acelera import cdc
    >>> commit = {"_commit_version": 7, "_commit_timestamp": 1}
    >>> rows = [
    ...     {"id": "IBM", "price": 101, "_change_type": "update_postimage", **commit},
    ...     {"id": "IBM", "price": 100, "_change_type": "update_preimage", **commit},
    ... ]
    >>> cdc.delta(rows, key="id").normalized("transaction").to_pylist()
    [{'#kind': 1, '#instant.0': 7, '#time': 1, 'new.id': 'IBM', 'new.price': 101, 'old.id': 'IBM', 'old.price': 100}]
    """
    given = held(data)
    if given.frame is not None and given.frame.isStreaming:
        raise UsageError(
            "the images of an update are two rows of the change data feed, which a stream cannot put together without "
            "waiting; run the program on each micro-batch with foreachBatch, or on a frame that is all there"
        )
    schema = given.schema
    purposes = {TYPE: "tells the kind of a change", VERSION: "numbers commits", TIMESTAMP: "tells when it happened"}
    for name, purpose in purposes.items():
        demand(schema, name, purpose, "Read the table with its change data feed")
    attributes = attributes_of([{name: kind for name, kind in fields_at(schema).items() if name not in purposes}])
    names = _key(schema, key)
    version = dict.fromkeys(GRANULARITIES[1:2], ordering(schema, VERSION))
    layout = Layout(
        attributes,
        new=Side({name: (name,) for name in attributes}, (INSERT, UPDATE)),
        old=Side({name: (_OLD + name,) for name in attributes}, (UPDATE, DELETE)),
        clock=clock(schema, (TIMESTAMP,), None),
        orders=orders_of(schema, order_by) or version,
        lacking="the columns that tell the operations of a version apart",
        operations=Operations((TYPE,), KINDS),
    )
    return Source(layout, given, Pairing(names, tuple(attributes)))


def _key(schema: pa.Schema, key: object) -> dict[str, pa.DataType]:
    listed = [key] if isinstance(key, str) else key
    if not isinstance(listed, Sequence) or not listed:
        raise UsageError(f"key={key!r} is no list of columns; name those that tell the rows of the table apart")
    hint = f"Name the key with key=…{as_list(key, 'key')}"
    paths = [demand(schema, each, "is part of the key", hint) for each in listed]
    found = {path[0]: type_at(schema, path[:1]) for path in paths}
    for name, kind in found.items():
        if from_arrow(kind).kind not in ORDERED | {Kind.BOOL, Kind.NULL}:
            raise SchemaError(f"the column `{name}` is {kind}, which cannot tell rows apart; name others with key=…")
    return found


@dataclass(frozen=True)
class Pairing:
    """Puts the images of updates together: each row gets columns with what was there before it."""

    key: dict[str, pa.DataType]
    attributes: tuple[str, ...]

    def arrow(self, rows: Rows) -> Rows:
        """The rows without the images before updates."""
        kinds = rows.column((TYPE,), pa.string())
        befores, afters = (
            np.flatnonzero(pc.equal(kinds, each).fill_null(False).to_numpy()) for each in (BEFORE, AFTER)
        )
        told = np.arange(len(rows.numbers))
        befores, afters = self._paired(rows, befores, afters)
        told[afters] = befores
        table = rows.table
        for name in self.attributes:
            table = table.append_column(_OLD + name, rows.raw((name,)).take(pa.array(told)))
        kept = np.ones(len(told), np.bool_)
        kept[befores] = False
        return Rows(table, rows.numbers, rows.loose).take(kept)

    def _paired(self, rows: Rows, befores: Numbers, afters: Numbers) -> tuple[Numbers, Numbers]:
        """The images before updates, and in the same order those after them."""
        columns = {VERSION: rows.column((VERSION,), plain(rows.raw((VERSION,)).type))}
        columns |= {name: rows.column((name,), kind) for name, kind in self.key.items()}
        keys = pa.table(columns)
        befores, afters = (_sorted(keys, places) for places in (befores, afters))
        own = keys.take(pa.array(befores))
        if own.equals(keys.take(pa.array(afters))) and own.group_by(own.column_names).aggregate([]).num_rows == len(
            own
        ):
            return befores, afters
        counts = [Counter(map(tuple, _values(keys, places))) for places in (befores, afters)]
        for version, *key in sorted({*counts[0], *counts[1]}, key=repr):
            before, after = (each[(version, *key)] for each in counts)
            if (before, after) != (1, 1):
                named = ", ".join(f"{name} = {value}" for name, value in zip(self.key, key, strict=True))
                raise DataError(
                    f"version {version} has {_images(before, after)} of updates of the row with {named}, which are no "
                    f"pair{_REMEDY}"
                )
        raise DataError("the images of updates cannot be told apart by their key: it is NaN somewhere; name another")

    def spark(self, frame: Any) -> Any:
        """The rows of a frame without the images before updates."""
        from pyspark.sql import Window, functions

        from acelera.cdc.spark_changes import column_at

        kind = column_at((TYPE,))
        alike = Window.partitionBy(
            column_at((VERSION,)), *(column_at((name,)) for name in self.key), kind.isin(BEFORE, AFTER)
        )
        values = functions.struct(*(column_at((name,)).alias(name) for name in self.attributes))
        counts = [functions.count(functions.when(kind == each, 1)).over(alike) for each in (BEFORE, AFTER)]
        images = functions.first(functions.when(kind == BEFORE, values), ignorenulls=True).over(alike)
        frame = frame.withColumns({"#before": images, "#befores": counts[0], "#afters": counts[1]})
        bad = kind.isin(BEFORE, AFTER) & ((column_at(("#befores",)) != 1) | (column_at(("#afters",)) != 1))
        kept = functions.when(bad, self._refusal().cast("boolean")).otherwise(~kind.eqNullSafe(BEFORE))
        olds = {
            _OLD + name: functions.when(kind == AFTER, column_at(("#before", name))).otherwise(column_at((name,)))
            for name in self.attributes
        }
        return frame.filter(kept).withColumns(olds).drop("#before", "#befores", "#afters")

    def _refusal(self) -> Any:
        from pyspark.sql import functions

        from acelera.cdc.spark_changes import column_at

        names = [VERSION, *self.key]
        row = functions.to_json(functions.struct(*(column_at((name,)).alias(name) for name in names)))
        counts = [column_at((name,)) for name in ("#befores", "#afters")]
        problem = functions.format_string("%d images before and %d after updates of ", *counts)
        return functions.raise_error(functions.concat(problem, row, functions.lit(f", which are no pair{_REMEDY}")))


def _sorted(keys: pa.Table, places: Numbers) -> Numbers:
    own = keys.take(pa.array(places))
    order = pc.sort_indices(own, [(name, "ascending") for name in own.column_names])
    found: Numbers = places[order.to_numpy()]
    return found


def _values(keys: pa.Table, places: Numbers) -> list[tuple[Any, ...]]:
    rows = keys.take(pa.array(places)).to_pylist()
    return [tuple(row.values()) for row in rows]


def _images(before: int, after: int) -> str:
    return f"{before} image{'s' * (before != 1)} before and {after} after"
