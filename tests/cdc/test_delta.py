"""Changes from the change data feed of Delta tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from acelera import cdc
from acelera.errors import AceleraError, DataError, SchemaError, UsageError

KINDS = {"i": "insert", "d": "delete", "b": "update_preimage", "a": "update_postimage"}


def feed(*rows: tuple[str, int, Any, Any]) -> pa.Table:
    """Rows of kind, version, key and value."""
    kinds, versions, keys, values = zip(*rows, strict=True)
    return pa.table(
        {
            "k": pa.array(keys),
            "v": pa.array(values),
            "_change_type": [KINDS.get(each, each) for each in kinds],
            "_commit_version": pa.array(versions, pa.int64()),
            "_commit_timestamp": pa.array([each * 1000 for each in versions], pa.timestamp("ms")),
        }
    )


def told(table: pa.Table) -> list[tuple[Any, ...]]:
    """Kind, version, then key and value of new and old."""
    names = ("#kind", "#instant.0", "new.k", "new.v", "old.k", "old.v")
    return list(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_images_are_paired_by_version_and_key() -> None:
    rows = [
        ("i", 1, "x", 1),
        ("b", 2, "x", 1),
        ("b", 2, "y", 5),
        ("a", 2, "y", 6),
        ("a", 2, "x", 2),
        ("a", 3, "x", 3),
        ("b", 3, "x", 2),
        ("d", 3, "y", 6),
        ("b", 4, None, 8),
        ("a", 4, None, 9),
    ]
    source = cdc.delta(feed(*rows), key=["k"])
    assert source.has_old and list(source.attributes) == ["k", "v"]
    assert told(source.normalized("transaction")) == [
        (0, 1, "x", 1, None, None),
        (1, 2, "y", 6, "y", 5),
        (1, 2, "x", 2, "x", 1),
        (1, 3, "x", 3, "x", 2),
        (2, 3, None, None, "y", 6),
        (1, 4, None, 9, None, 8),
    ]
    assert source.normalized()["#instant.0"].type == source.timestamp.arrow == pa.timestamp("us")


def test_feeds_without_updates_and_without_rows() -> None:
    table = feed(("i", 1, "x", 1), ("d", 2, "x", 1))
    source = cdc.delta(table, key="k")
    assert told(source.normalized("transaction")) == [(0, 1, "x", 1, None, None), (2, 2, None, None, "x", 1)]
    assert source.normalize(table.slice(0, 0)).schema == source.schema()
    assert source.normalize([]).num_rows == 0


def test_operations_need_an_order() -> None:
    table = feed(("i", 1, "x", 1), ("b", 1, "y", 2), ("a", 1, "y", 3))
    assert cdc.delta(table, key="k", order_by=["_commit_version", "v"]).normalized("operation").num_rows == 2
    with pytest.raises(
        UsageError, match="granularity='operation' needs order_by=…: the columns that tell the operations"
    ):
        cdc.delta(table, key="k").normalized("operation")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("b", 2, "x", 1)], "version 2 has 1 image before and 0 after of updates of the row with k = x"),
        ([("b", 2, "x", 1), ("a", 3, "x", 2)], "version 2 has 1 image before and 0 after"),
        (
            [("b", 2, "x", 1), ("a", 2, "y", 2)],
            "version 2 has 1 image before and 0 after of updates of the row with k = x",
        ),
        (
            [("b", 2, "x", 1), ("a", 2, "x", 2)] * 2,
            "version 2 has 2 images before and 2 after of updates of the row with k = x",
        ),
        ([("i", 1, "x", 1), ("upsert", 1, "y", 1)], "row 2: `_change_type` is 'upsert', which is no kind of change"),
    ],
)
def test_rows_that_are_refused(rows: list[tuple[str, int, Any, Any]], message: str) -> None:
    with pytest.raises(DataError) as caught:
        cdc.delta(feed(*rows), key="k").normalized()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("table", "key", "error", "message"),
    [
        (feed(("i", 1, "x", 1)), "key", SchemaError, "no column `key` that is part of the key"),
        (feed(("i", 1, "x", 1)), [], UsageError, "key=[] is no list of columns"),
        (feed(("i", 1, "x", [1])), "v", SchemaError, "cannot tell rows apart"),
        (
            feed(("i", 1, "x", 1)).drop_columns("_commit_version"),
            "k",
            SchemaError,
            "no column `_commit_version` that numbers commits",
        ),
    ],
)
def test_refused(table: pa.Table, key: Any, error: type[AceleraError], message: str) -> None:
    with pytest.raises(error) as caught:
        cdc.delta(table, key=key)
    assert message in str(caught.value)
