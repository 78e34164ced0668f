"""Changes from messages of Debezium, as columns and as JSON texts."""

from __future__ import annotations

import datetime
import decimal
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from acelera import cdc
from acelera.errors import AceleraError, AceleraWarning, DataError, SchemaError, UsageError
from cdc.messages import CHANGES, MESSAGES, OSLO, ROME, connect_schema, message, texts, wrapped

SCHEMA = {"id": "int", "city": "string"}


def told(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Kind of changes, their time in milliseconds, then new values, then old ones."""
    times = table["#time"].cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()
    return [
        (row["#kind"], time, *(tuple(row[f"{side}.{name}"] for name in names) for side in ("new", "old")))
        for row, time in zip(table.to_pylist(), times, strict=True)
    ]


FORMS: dict[str, Callable[[], Any]] = {
    "columns": lambda: MESSAGES,
    "columns in a payload": lambda: [{"payload": each} for each in MESSAGES],
    "columns in a value": lambda: [{"value": {"payload": each}} for each in MESSAGES],
    "texts": lambda: texts(MESSAGES),
    "texts of payloads": lambda: texts([{"payload": each} for each in MESSAGES]),
    "texts with a schema": lambda: texts(wrapped(MESSAGES)),
    "bytes": lambda: pa.table({"value": pa.array([each["value"].encode() for each in texts(MESSAGES)], pa.binary())}),
    "several tables of texts": lambda: iter([texts(MESSAGES[:2]), texts(MESSAGES[2:])]),
}


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_tell_the_same(form: str) -> None:
    source = cdc.debezium(FORMS[form]())
    assert source.has_old and list(source.attributes) == ["id", "city"]
    assert source.timestamp.arrow == pa.timestamp("us", "UTC")
    assert told(source.normalized(), "id", "city") == CHANGES
    assert source.normalized().schema == source.schema()


def test_a_file_of_messages(tmp_path: Path) -> None:
    path = tmp_path / "customers.jsonl"
    path.write_text("\n".join(each["value"] for each in texts(MESSAGES)) + "\n\n")
    assert told(cdc.debezium(path).normalized(), "id", "city") == CHANGES
    path.write_text("\ufeff \n" + path.read_text().replace("\n", "\r\n \r\n"))
    assert told(cdc.debezium(str(path)).normalized(), "id", "city") == CHANGES
    packed = tmp_path / "customers.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert told(cdc.debezium(packed).normalized(), "id", "city") == CHANGES
    with pytest.raises(UsageError, match="No such file"):
        cdc.debezium("nowhere.jsonl")


LINE = json.dumps(message("c", None, ROME))


@pytest.mark.parametrize(
    ("content", "message_"),
    [
        (f"{LINE}\n\n{LINE}x\n", f"m.jsonl, line 3: this is no JSON (Extra data, at character {len(LINE) + 1}): {{"),
        (f"{LINE}\n\n3\n", "m.jsonl, line 3: this is no message of Debezium: 3"),
        (f"{LINE}\n\nnull", "m.jsonl, line 3 is a tombstone"),
        (f"{LINE}\n\n{json.dumps(message('x', None, ROME))}", "m.jsonl, line 3: `value.op` is 'x'"),
        (f"{LINE}\n\n".encode() + b'{"\xe4"', "m.jsonl, line 3: this is no text in UTF-8: b'{\"\\xe4\"'"),
        (
            json.dumps([json.loads(LINE)], indent=1),
            "m.jsonl has to have one message a line; this looks like a JSON array",
        ),
        (b"PAR1....", "m.jsonl is not JSON lines; read it with pyarrow and pass the table"),
        (LINE.encode("utf-16"), "m.jsonl is not JSON lines"),
        ("\n", "m.jsonl, so the columns of the table are not known; give schema=…"),
    ],
)
def test_files_that_are_refused(content: str | bytes, message_: str, tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(AceleraError) as caught:
        cdc.debezium(path).normalized()
    assert message_ in str(caught.value)


def test_a_file_without_messages_whose_columns_are_known(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.touch()
    assert cdc.debezium(path, schema=SCHEMA).normalized().num_rows == 0


def test_columns_that_no_message_has() -> None:
    source = cdc.debezium(texts([*MESSAGES, None]), schema={**SCHEMA, "cty": str}, tombstones="skip")
    words = (
        "schema=… has the column `cty`, which is in no message, so it is NULL; did you mean `city`? (columns: id, city)"
    )
    with pytest.warns(AceleraWarning) as caught:
        assert source.normalized()["new.cty"].null_count == len(MESSAGES)
    assert [str(each.message) for each in caught] == [words]


@pytest.mark.filterwarnings("error")
def test_columns_that_a_message_may_still_have() -> None:
    known = {**SCHEMA, "zip": int}
    cdc.debezium({"value": str}, schema=known).normalize(texts(MESSAGES))
    cdc.debezium(texts([message("t", None, None)]), schema=known, truncate="skip").normalized()
    cdc.debezium(texts([*MESSAGES, message("c", None, {"zip": 1})]), schema=known).normalized()


def test_what_is_skipped() -> None:
    for rows in (texts([*MESSAGES, message("t", None, None), None]), [*MESSAGES, message("t", None, None), {}, None]):
        source = cdc.debezium(rows, snapshot="skip", truncate="skip", tombstones="skip")
        assert told(source.normalized(), "id", "city") == CHANGES[1:]


def test_instants() -> None:
    found = cdc.debezium(MESSAGES).normalized("transaction").select(["#instant.0", "#instant.1"])
    assert found["#instant.0"].type == pa.timestamp("us", "UTC")
    assert found["#instant.1"].to_pylist() == ["t1"] * 5
    found = cdc.debezium(MESSAGES, snapshot="skip").normalized("operation")
    assert found["#instant.2"].to_pylist() == [1000, 2000, 3000, 4000]


@pytest.mark.parametrize("rows", [MESSAGES, texts(MESSAGES)], ids=["columns", "texts"])
def test_other_orders(rows: list[dict[str, Any]]) -> None:
    rows = [{"offset": place, **row} for place, row in enumerate(rows)]
    source = cdc.debezium(rows, order_by=["source.lsn", "offset"])
    found = source.normalized("operation")
    assert list(zip(found["#instant.0"].to_pylist(), found["#instant.1"].to_pylist(), strict=True)) == [
        (5, n) for n in range(5)
    ]
    assert cdc.debezium(rows, time="ts_ms").normalized()["#time"].cast(pa.int64())[0].as_py() == 1_007_000


@pytest.mark.parametrize(
    "form",
    [list, texts, wrapped, lambda rows: [{"value": {"payload": each}} for each in rows]],
    ids=["dicts", "texts", "payloads", "payloads in a value"],
)
def test_one_table_of_several(form: Callable[[Any], Any]) -> None:
    others = [message("c", None, {"id": "x", "total": 1.5}, source={"table": "orders"})]
    source = cdc.debezium(form([*others, *MESSAGES]), table="customers")
    assert list(source.attributes) == ["id", "city"]
    assert told(source.normalized(), "id", "city") == CHANGES
    with pytest.raises(DataError, match=r"row 2.*'x'"):
        cdc.debezium(form([*others, message("x", None, ROME)]), table="customers").normalized()


OTHERS = [message("c", None, {"id": 1, "city": "Rome"}, source={"table": "orders"})]


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: cdc.debezium(rows).normalized(),
        lambda rows: cdc.debezium([{"payload": each} for each in rows]).normalized(),
        lambda rows: cdc.debezium(texts(rows)),
        lambda rows: cdc.debezium(texts(rows), schema=SCHEMA).normalized(),
        lambda rows: cdc.debezium({"value": str}, schema=SCHEMA).normalize(texts(rows)),
    ],
    ids=["columns", "columns in a payload", "texts", "texts of known types", "texts that come later"],
)
def test_several_tables_are_no_source(make: Callable[[Any], Any]) -> None:
    make(MESSAGES)
    with pytest.raises(UsageError, match=r"of several tables \(customers, orders\), .* name it with table=…"):
        make([*MESSAGES, *OTHERS])


@pytest.mark.parametrize(
    "make",
    [
        lambda rows, **options: cdc.debezium(rows, **options).normalized(),
        lambda rows, **options: cdc.debezium(texts([*rows, None]), tombstones="skip", **options).normalized(),
        lambda rows, **options: cdc.debezium(texts(rows), schema=SCHEMA, **options).normalized(),
    ],
    ids=["columns", "texts", "texts of known types"],
)
def test_a_table_that_no_message_is_of(make: Callable[..., Any]) -> None:
    assert make([*MESSAGES, *OTHERS], table="orders").num_rows == 1
    with pytest.raises(UsageError) as caught:
        make([*MESSAGES, *OTHERS], table="custmers")
    assert str(caught.value) == (
        "no message is of the table `custmers`; did you mean `customers`? (tables: customers, orders)"
    )
    with pytest.raises(UsageError, match=r"no message has `source.table`; leave table=… out"):
        make([message("c", None, ROME, source={"table": None})], table="orders")


def test_messages_of_the_table_may_come_later() -> None:
    found = cdc.debezium({"value": str}, schema=SCHEMA, table="customers").normalize(texts(OTHERS))
    assert found.num_rows == 0
    parts = iter([texts(OTHERS), texts(MESSAGES)])
    assert cdc.debezium(parts, schema=SCHEMA, table="customers").normalized().num_rows == len(MESSAGES)
    tombstones = pa.table({"value": pa.array([None], pa.string())})
    source = cdc.debezium(tombstones, schema=SCHEMA, table="customers", tombstones="skip")
    assert source.normalized().num_rows == 0


@pytest.mark.parametrize("form", [list, texts, wrapped], ids=["columns", "texts", "columns beside a schema"])
@pytest.mark.parametrize(
    ("lacking", "message_"),
    [
        (message("c", None, None), "row 6 is an insert, but has no new values: `"),
        (message("r", ROME, None), "row 6 is an insert, but has no new values: `"),
        (message("u", ROME, None), "row 6 is an update, but has no new values: `"),
        (message("d", None, OSLO), "row 6 is a delete, but has no old values: `"),
    ],
)
def test_changes_without_their_row(form: Callable[[Any], Any], lacking: dict[str, Any], message_: str) -> None:
    with pytest.raises(DataError) as caught:
        cdc.debezium(form([*MESSAGES, lacking])).normalized()
    assert message_ in str(caught.value)


def test_deletes_where_nothing_is_told_of_old_rows() -> None:
    rows = [{name: value for name, value in each.items() if name != "before"} for each in MESSAGES]
    assert cdc.debezium(rows[:4]).normalized().num_rows == 4
    with pytest.raises(DataError, match="row 5 is a delete, but has no old values, for which there is no column"):
        cdc.debezium(rows).normalized()


def test_messages_need_not_tell_their_table() -> None:
    for rows in (
        [{**each, "source": {"ts_ms": 1, "table": 7}} for each in MESSAGES],
        [*MESSAGES, message("c", None, ROME, source={"table": None})],
    ):
        assert cdc.debezium(rows).normalized().num_rows == cdc.debezium(texts(rows)).normalized().num_rows == len(rows)


def test_rows_keep_their_numbers() -> None:
    rows = texts([message("c", None, {"id": "x"}, source={"table": "orders"}), message("x", None, ROME)])
    with pytest.raises(DataError, match=r"row 2: `value.op` is 'x'"):
        cdc.debezium(rows, table="customers").normalized()


ROW = {
    "day": 19723,
    "ms": 1704067200000,
    "us": 1704067200000001,
    "zoned": "2024-01-01T02:00:00+02:00",
    "price": "12.30",
    "tags": ["a"],
    "raw": "AQ==",
}
TYPED = [
    {"type": "int32", "name": "io.debezium.time.Date", "field": "day"},
    {"type": "int64", "name": "io.debezium.time.Timestamp", "field": "ms"},
    {"type": "int64", "name": "io.debezium.time.MicroTimestamp", "field": "us"},
    {"type": "string", "name": "io.debezium.time.ZonedTimestamp", "field": "zoned"},
    {"type": "string", "field": "price"},
    {"type": "array", "items": {"type": "string"}, "field": "tags"},
    {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "field": "raw"},
]
READ = {
    "day": datetime.date(2024, 1, 1),
    "ms": datetime.datetime(2024, 1, 1),
    "us": datetime.datetime(2024, 1, 1, 0, 0, 0, 1),
    "zoned": datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc),
    "price": "12.30",
    "tags": ["a"],
    "raw": "AQ==",
}


def test_times_are_those_of_the_schema_in_the_message() -> None:
    rows = texts(wrapped([message("c", None, ROW)], TYPED))
    for source in (
        cdc.debezium(rows),
        cdc.debezium(rows, schema=connect_schema(TYPED)),
        cdc.debezium(rows, schema=json.dumps(connect_schema(TYPED))),
    ):
        found = source.normalized().to_pylist()[0]
        assert {name: found[f"new.{name}"] for name in ROW} == READ


def test_types_that_are_given() -> None:
    types = {"id": "int", "price": "decimal(10, 2)", "at": pa.timestamp("ms"), "day": "date", "city": str}
    row = {"id": 1, "price": "12.30", "at": 1000, "day": "2024-01-01", "city": {"name": "Rome"}, "other": 1}
    source = cdc.debezium({"value": str}, schema=types)
    assert [str(each) for each in source.attributes.values()] == [
        "int64",
        "decimal128(10, 2)",
        "timestamp[us]",
        "date32[day]",
        "string",
    ]
    found = source.normalize(texts([message("c", None, row)])).to_pylist()[0]
    assert found["new.price"] == decimal.Decimal("12.30")
    assert found["new.at"] == datetime.datetime(1970, 1, 1, 0, 0, 1)
    assert found["new.day"] == datetime.date(2024, 1, 1)
    assert found["new.city"] == '{"name":"Rome"}'
    with pytest.raises(DataError, match=r"row 2: `after.id` is 'x', which cannot be read as int64"):
        source.normalize(texts([message("c", None, row), message("c", None, {"id": "x"})]))


@pytest.mark.parametrize(
    ("kind", "value", "message_"),
    [
        (int, 7.5, "`after.v` is 7.5, which cannot be read as int64: it has a fraction"),
        ("date", -1.5, "`after.v` is -1.5, which cannot be read as date32[day]: it has a fraction"),
        (pa.timestamp("ms"), 1000.5, "`after.v` is 1000.5, which cannot be read as timestamp[ms]: it has a fraction"),
        (pa.list_(pa.int64()), [1, 7.5], "`after.v` is [1, 7.5], which cannot be read as list"),
        (pa.struct([("a", pa.int64())]), {"a": 7.5}, "`after.v` is {'a': 7.5}, which cannot be read as struct"),
    ],
)
def test_fractions_are_not_cut_off(kind: Any, value: Any, message_: str) -> None:
    source = cdc.debezium({"value": str}, schema={"v": kind})
    with pytest.raises(DataError) as caught:
        source.normalize(texts([message("c", None, {"v": None}), message("c", None, {"v": value})]))
    assert f"row 2: {message_}" in str(caught.value)


def test_whole_numbers_may_be_written_as_fractions() -> None:
    found = cdc.debezium({"value": str}, schema={"v": int}).normalize(texts([message("c", None, {"v": 7.0})]))
    assert found["new.v"].to_pylist() == [7]


def test_times_have_no_fractions() -> None:
    with pytest.raises(DataError, match=r"row 1: `source.ts_ms` is 1000.5, which cannot be read as int64"):
        cdc.debezium(texts([message("c", None, ROME, source={"ts_ms": 1000.5})])).normalized()


def test_batches_of_messages() -> None:
    source = cdc.debezium(pa.Table.from_pylist(MESSAGES).schema)
    found = [source.normalize([each], before=place) for place, each in enumerate(MESSAGES)]
    assert told(pa.concat_tables(found), "id", "city") == CHANGES


@pytest.mark.parametrize("form", [list, wrapped], ids=["dicts", "payloads"])
def test_batches_of_dicts(form: Callable[[Any], Any]) -> None:
    """Tombstones, and messages of other tables with other types, may be among them."""
    source = cdc.debezium(pa.Table.from_pylist(form(MESSAGES)).schema, table="customers", tombstones="skip")
    others = [message("c", None, {"id": "x"}, source={"table": "orders"})]
    found = [source.normalize(batch) for batch in ([None], [*form([*others, *MESSAGES]), None], form(others))]
    assert [each.num_rows for each in found] == [0, len(MESSAGES), 0]
    assert told(found[1], "id", "city") == CHANGES


@pytest.mark.parametrize(
    ("make", "error", "message_"),
    [
        (
            lambda: cdc.debezium(MESSAGES, snapshot="maybe"),
            UsageError,
            "snapshot='maybe' is not known; it is one of 'insert', 'skip'",
        ),
        (lambda: cdc.debezium(MESSAGES, schema=SCHEMA), UsageError, "schema=… is for messages as JSON texts"),
        (
            lambda: cdc.debezium([{"v": 1}]),
            SchemaError,
            "these are no messages of Debezium: their columns (v) are neither `op`, `before` and `after`",
        ),
        (
            lambda: cdc.debezium([{"ts": 1, "op": "i", "old_v": 1, "new_v": 1}]),
            SchemaError,
            "or did you mean cdc.changes",
        ),
        (
            lambda: cdc.debezium([{"op": "c", "before": None, "after": {"v": 1}}]),
            SchemaError,
            "that tells when a change happened (columns: op, before, after, before.v, after.v). Name it with time=…",
        ),
        (lambda: cdc.debezium({"value": str}), SchemaError, "give schema=…"),
        (
            lambda: cdc.debezium(MESSAGES, time="source.ts"),
            SchemaError,
            "no column `source.ts` that tells when a change happened",
        ),
        (
            lambda: cdc.debezium(texts(MESSAGES), order_by="source.lsm"),
            SchemaError,
            "`source.lsm` in messages is not known; did you mean `source.lsn`",
        ),
        (
            lambda: cdc.debezium([{"value": "{"}]),
            DataError,
            "row 1: this is no JSON (Expecting property name enclosed in double quotes, at",
        ),
        (lambda: cdc.debezium([{"value": "3"}]), DataError, "row 1: this is no message of Debezium: 3"),
        (
            lambda: cdc.debezium(texts([message("c", None, {"v": 1}), message("c", None, {"v": "x"})])),
            DataError,
            "`v` are not of one type",
        ),
        (
            lambda: cdc.debezium([{**each, "op": each["op"]} for each in [message("c", None, None)]]),
            SchemaError,
            "neither `before` nor `after` has columns",
        ),
        (
            lambda: cdc.debezium([message("u", {"v": 3}, {"v": "4"})]),
            SchemaError,
            "`v` is string among new values, but int64 among old ones",
        ),
        (
            lambda: cdc.debezium([*MESSAGES, message("t", None, None)]).normalized(),
            DataError,
            "row 6: `op` is 't', which says that the table was emptied; pass truncate='skip'",
        ),
        (
            lambda: cdc.debezium(texts([*MESSAGES, message("m", None, None)])).normalized(),
            DataError,
            "row 6: `value.op` is 'm', which is no kind of change",
        ),
        (
            lambda: cdc.debezium(texts([*MESSAGES, None])).normalized(),
            DataError,
            "row 6 is a tombstone, which tells of no change; pass tombstones='skip'",
        ),
        (
            lambda: cdc.debezium(texts([*MESSAGES, {"id": 3}]), tombstones="skip").normalized(),
            DataError,
            "row 6 has no kind of change",
        ),
        (
            lambda: cdc.debezium([message("u", ROME, OSLO, source={"ts_ms": None}), *MESSAGES]).normalized(),
            DataError,
            "row 1 has no time: `source.ts_ms` is NULL",
        ),
        (
            lambda: cdc.debezium([message("u", ROME, OSLO, transaction=None)]).normalized("transaction"),
            UsageError,
            "provide.transaction.metadata",
        ),
        (
            lambda: cdc.debezium([message("u", ROME, OSLO, transaction=None), *MESSAGES]).normalized("transaction"),
            DataError,
            "row 1 has no instant: `transaction.id` is NULL",
        ),
    ],
)
def test_refused(make: Callable[[], Any], error: type[AceleraError], message_: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message_ in str(caught.value)
