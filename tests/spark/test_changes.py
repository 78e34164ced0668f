"""Changes from Spark frames: the same as from tables in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from acelera import cdc
from acelera.demo import shop
from acelera.errors import SchemaError, UsageError
from cdc.messages import MESSAGES, OSLO, ROME, connect_schema, message, texts, wrapped
from cdc.test_debezium import ROW, TYPED
from cdc.test_delta import feed
from cdc.test_sources import FLAT, NESTED
from tiers import thinned

ToFrame = Callable[[pa.Table], Any]
Make = Callable[[Any], cdc.Source]

TABLES: dict[str, tuple[Any, Make]] = {
    "inserts": (
        pa.table({"ts": pa.array([1, 2], pa.timestamp("us", "UTC")), "a.b": ["x", None], "v": [1, 2]}),
        lambda data: cdc.inserts(data, order_by="v"),
    ),
    "inserts without a zone": (
        pa.table({"ts": pa.array([1, 2], pa.timestamp("us")), "v": [1, 2]}),
        lambda data: cdc.inserts(data, order_by="v"),
    ),
    "days": (
        pa.table({"ts": pa.array([1, 2], pa.date32()), "v": [1, 2]}),
        lambda data: cdc.inserts(data, order_by="v"),
    ),
    "structs": (NESTED, lambda data: cdc.changes(data, order_by=["tx", "ts"], time_unit="s")),
    "prefixes": (FLAT, lambda data: cdc.changes(data, order_by=["ts", "tx"])),
    "no old values": (
        [{"ts": n, "op": op, "v": n} for n, op in enumerate("iud")],
        lambda data: cdc.changes(data, old=None, new=None, order_by="ts"),
    ),
    "messages": (
        [{"payload": each} for each in MESSAGES[1:]],
        lambda data: cdc.debezium(data, table="customers"),
    ),
    "snapshots": (MESSAGES, lambda data: cdc.debezium(data, snapshot="skip")),
    "texts": (
        texts([message("c", None, {"id": "x"}, source={"table": "orders"}), *MESSAGES[1:], None]),
        lambda data: cdc.debezium(data, schema={"id": int, "city": str}, table="customers", tombstones="skip"),
    ),
    "texts with a schema": (
        texts([*wrapped(MESSAGES[1:]), {"schema": None, "payload": None}, None]),
        lambda data: cdc.debezium(data, tombstones="skip"),
    ),
    "texts with times": (texts(wrapped([message("c", None, ROW)], TYPED)), cdc.debezium),
    "texts with types": (
        texts(
            [
                message(
                    "u", {"at": 5, "p": "1.5"}, {"at": "1970-01-01T00:00:00.006", "p": 2, "d": 3, "day": "2024-01-01"}
                )
            ]
        ),
        lambda data: cdc.debezium(
            data, schema={"at": pa.timestamp("ms"), "p": "decimal(5, 2)", "d": "date", "day": "date"}
        ),
    ),
    "feed": (
        feed(
            ("i", 1, "x", 1), ("a", 2, None, 3), ("b", 2, None, 2), ("b", 2, "x", 1), ("a", 2, "x", 4), ("d", 3, "x", 4)
        ),
        lambda data: cdc.delta(data, key="k", order_by=["_commit_version", "v"]),
    ),
}


def rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


@pytest.mark.parametrize("name", thinned(TABLES, 3))
def test_frames_tell_what_tables_tell(name: str, to_frame: ToFrame) -> None:
    data, make = TABLES[name]
    table = data if isinstance(data, pa.Table) else pa.Table.from_pylist(data)
    inside, source = make(table), make(to_frame(table))
    assert source.is_spark and not source.is_streaming
    assert (source.has_old, list(source.attributes)) == (inside.has_old, list(inside.attributes))
    for granularity in ("timestamp", "operation"):
        found = source.normalized(granularity).toArrow()
        assert found.schema.names == source.schema(granularity).names
        assert [each.type for each in found.schema] == [each.type for each in source.schema(granularity)]
        assert rows(found) == rows(inside.normalized(granularity))


@pytest.mark.parametrize(
    ("data", "make", "message_"),
    thinned(
        [
            ([{"ts": 1, "v": 1}, {"ts": None, "v": 2}], cdc.inserts, "has no time: ts is NULL"),
            (
                [{"ts": 1, "tx": 1}, {"ts": 2, "tx": None}],
                lambda data: cdc.inserts(data, order_by="tx"),
                "has no instant: tx is NULL",
            ),
            (
                [{"ts": 1, "op": "x", "old_v": 1, "new_v": 2}],
                cdc.changes,
                'x, which is no kind of change; it is one of i, insert, u, update, d, delete: {"ts":1',
            ),
            ([*NESTED, {**NESTED[0], "op": None}], cdc.changes, "has no kind of change: op is NULL"),
            ([*NESTED, {**NESTED[3], "old": None}], cdc.changes, "is a delete, but has no old values: `old` is NULL"),
            ([*MESSAGES, message("t", None, None)], cdc.debezium, "pass truncate='skip'"),
            ([{"payload": each} for each in (*MESSAGES, None)], cdc.debezium, "is a tombstone"),
            (
                [*MESSAGES, message("c", None, None)],
                cdc.debezium,
                "is an insert, but has no new values: `after` is NULL",
            ),
            (
                texts([*MESSAGES, message("d", None, None)]),
                lambda data: cdc.debezium(data, schema={"id": int, "city": str}),
                "is a delete, but has no old values: `value.before` is NULL",
            ),
            (
                texts([message("c", None, {"id": "x"})]),
                lambda data: cdc.debezium(data, schema={"id": int}),
                "a message has a value that does not fit its type; the columns of its table are id int64: "
                '{"op": "c", "before": null, "after": {"id": "x"}',
            ),
            (
                [{"value": "{"}],
                lambda data: cdc.debezium(data, schema={"id": int}, tombstones="skip"),
                "a message is no JSON: {",
            ),
            (
                [{"value": "3"}],
                lambda data: cdc.debezium(data, schema={"id": int}, tombstones="skip"),
                "does not fit",
            ),
            *(
                (
                    texts([message("c", None, {"v": 1}), message("c", None, {"v": value})]),
                    lambda data, kind=kind: cdc.debezium(data, schema={"v": kind}),
                    words,
                )
                for value, kind, words in [
                    ("x", pa.decimal128(5, 2), "The value 'x' of the type"),
                    ("x", pa.date32(), "The value 'x' of the type"),
                    (7.5, pa.int64(), "a value that does not fit its type; the columns of its table are v int64: "),
                    ("x", pa.timestamp("us", "UTC"), "The value 'x' of the type"),
                    ("99999999999999999999", pa.timestamp("us"), "The value '99999999999999999999' of the type"),
                ]
            ),
            (
                texts([{"id": 3}]),
                lambda data: cdc.debezium(data, schema={"id": int}, tombstones="skip"),
                "no kind of change",
            ),
            (
                feed(("b", 2, "x", 1)),
                lambda data: cdc.delta(data, key="k"),
                'images before and 0 after updates of {"_commit_version":2,"k":"x"}',
            ),
            (
                feed(*[("b", 2, "x", 1), ("a", 2, "x", 1)] * 2),
                lambda data: cdc.delta(data, key="k"),
                "2 images before and 2 after",
            ),
        ],
        4,
    ),
)
def test_rows_that_are_refused(data: Any, make: Make, message_: str, to_frame: ToFrame) -> None:
    table = data if isinstance(data, pa.Table) else pa.Table.from_pylist(data)
    source = make(to_frame(table))
    with pytest.raises(Exception) as caught:
        source.normalized("transaction" if "no instant" in message_ else "timestamp").toArrow()
    assert message_ in str(caught.value)


@pytest.mark.slow
def test_operations_have_instants_of_their_own(to_frame: ToFrame) -> None:
    source = cdc.changes(to_frame(pa.Table.from_pylist(NESTED)), order_by="tx")
    with pytest.raises(Exception, match="is of the same instant as another"):
        source.normalized("operation").toArrow()


@pytest.mark.slow
def test_streams(spark: Any, tmp_path: Path) -> None:
    table = pa.Table.from_pylist(texts(MESSAGES))
    pq.write_table(table, tmp_path / "messages.parquet")
    stream = spark.readStream.schema("value string").parquet(str(tmp_path))
    with pytest.raises(SchemaError, match="a stream of JSON texts is not read"):
        cdc.debezium(stream)
    source = cdc.debezium(
        stream, schema=connect_schema([{"type": "int64", "field": "id"}, {"type": "string", "field": "city"}])
    )
    assert source.is_streaming
    found = (
        source.normalized("transaction")
        .writeStream.format("memory")
        .queryName("changes")
        .trigger(availableNow=True)
        .start()
    )
    found.awaitTermination()
    assert rows(spark.table("changes").toArrow()) == rows(cdc.debezium(table).normalized("transaction"))
    with pytest.raises(UsageError, match="images of an update are two rows"):
        cdc.delta(
            spark.readStream.schema(
                "k int, _change_type string, _commit_version long, _commit_timestamp timestamp"
            ).parquet(str(tmp_path)),
            key="k",
        )


def test_texts_that_do_not_tell_their_types(to_frame: ToFrame) -> None:
    with pytest.raises(SchemaError, match=r"on Spark, JSON texts without a schema beside the payload .* with schema=…"):
        cdc.debezium(to_frame(pa.Table.from_pylist(texts(MESSAGES))))


def test_micro_batches(to_frame: ToFrame) -> None:
    """A source from columns alone takes frames, too."""
    table = pa.Table.from_pylist([message("u", ROME, OSLO)])
    source = cdc.debezium(table.schema)
    assert rows(source.normalize(to_frame(table)).toArrow()) == rows(source.normalize(table))


def test_plans_of_messages_stay_small(spark: Any) -> None:
    """What is read of texts stands in many columns; a check that stood in each of them made tasks too large to send."""
    frame = spark.read.text(str(shop.PATH))
    plans = [
        each.normalized("timestamp")._jdf.queryExecution().optimizedPlan() for each in shop.sources(frame).values()
    ]
    assert sum(len(plan.toString()) for plan in plans) < 1_000_000
