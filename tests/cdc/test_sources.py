"""Changes from tables of all kinds: what they become, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from acelera import cdc
from acelera.errors import AceleraError, DataError, SchemaError, UsageError
from acelera.language.types import Kind

UTC = datetime.timezone.utc
TICKS = [{"ts": 2, "id": "IBM", "price": 100}, {"ts": 1, "id": "SUN", "price": None}]
NESTED = [
    {"ts": 1, "op": "i", "old": None, "new": {"id": 1, "city": "Rome"}, "tx": 7},
    {"ts": 2, "op": "U", "old": {"id": 1, "city": "Rome"}, "new": {"id": 1, "city": "Oslo"}, "tx": 7},
    {"ts": 2, "op": "update", "old": None, "new": {"id": 2, "city": "Bern"}, "tx": 8},
    {"ts": 3, "op": "DELETE", "old": {"id": 1, "city": "Oslo"}, "new": None, "tx": 9},
]
FLAT = [
    {
        **{name: row[name] for name in ("ts", "op", "tx")},
        **{f"{side}_{name}": (row[side] or {}).get(name) for side in ("old", "new") for name in ("id", "city")},
    }
    for row in NESTED
]
MIXED = [{"ts": at, "v": 1} for at in (pd.Timestamp("2024-01-01"), None, "2024-01-02")]
CHANGES = [  # kind, time, then id, city and tx of new and old
    (0, 1, (1, "Rome", 7), (None, None, None)),
    (1, 2, (1, "Oslo", 7), (1, "Rome", 7)),
    (1, 2, (2, "Bern", 8), (None, None, 8)),
    (2, 3, (None, None, None), (1, "Oslo", 9)),
]


def told(table: pa.Table, *names: str) -> list[tuple[Any, ...]]:
    """Kind and time of changes, then their new values, then the old ones."""
    return [
        (row["#kind"], row["#time"], *(tuple(row[f"{side}.{name}"] for name in names) for side in ("new", "old")))
        for row in table.to_pylist()
    ]


# --- what comes out ---------------------------------------------------------------------------------------------------

FORMS: dict[str, Callable[[], Any]] = {
    "dicts": lambda: TICKS,
    "table": lambda: pa.Table.from_pylist(TICKS),
    "batch": lambda: pa.Table.from_pylist(TICKS).to_batches()[0],
    "reader": lambda: pa.Table.from_pylist(TICKS).to_reader(),
    "dataset": lambda: ds.dataset(pa.Table.from_pylist(TICKS)),
    "iterator": lambda: iter([TICKS[:1], TICKS[1:]]),
    "pandas": lambda: pd.DataFrame(TICKS).astype({"price": "Int64"}),
    "polars": lambda: pl.DataFrame(TICKS),
    "dictionaries": lambda: pa.table(
        {
            **{name: pa.Table.from_pylist(TICKS)[name] for name in ("ts", "price")},
            "id": pa.array(["IBM", "SUN"]).dictionary_encode(),
        }
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_each_row_is_an_insert(form: str) -> None:
    source = cdc.inserts(FORMS[form]())
    assert {name: each.kind for name, each in source.attributes.items()} == {"id": Kind.STRING, "price": Kind.INT}
    assert not source.has_old and not source.is_spark and source.timestamp.kind is Kind.INT
    found = source.normalized()
    assert set(found.column_names) == {"#kind", "#instant.0", "#time", "new.id", "new.price"}
    assert sorted(
        zip(*(found[name].to_pylist() for name in ("#time", "#instant.0", "#kind", "new.id")), strict=True)
    ) == [
        (1, 1, 0, "SUN"),
        (2, 2, 0, "IBM"),
    ]


@pytest.mark.parametrize("rows", [NESTED, FLAT], ids=["structs", "prefixes"])
def test_old_and_new_values_side_by_side(rows: list[dict[str, Any]]) -> None:
    source = cdc.changes(rows)
    assert source.has_old
    assert told(source.normalized(), "id", "city", "tx") == CHANGES
    assert source.normalized().schema == source.schema()


def test_prefixes_of_other_names() -> None:
    rows = [{"at": 1, "kind": "u", "before.id": 1, "after.id": 2}]
    source = cdc.changes(rows, op="kind", old="before.", new="after.", time="at")
    assert told(source.normalized(), "id") == [(1, 1, (2,), (1,))]


def test_an_insert_has_no_old_values_and_a_delete_no_new_ones() -> None:
    rows = [{"ts": 1, "op": op, "old_v": 1, "new_v": 2} for op in "iud"]
    assert told(cdc.changes(rows).normalized(), "v") == [
        (0, 1, (2,), (None,)),
        (1, 1, (2,), (1,)),
        (2, 1, (None,), (1,)),
    ]


def test_changes_without_old_values() -> None:
    rows = [{"ts": 1, "op": op, "v": value} for value, op in enumerate("iud")]
    source = cdc.changes(rows, old=None, new=None)
    assert not source.has_old
    assert told(source.normalized(), "v") == [(0, 1, (0,), (None,)), (1, 1, (1,), (None,)), (2, 1, (None,), (2,))]


def test_a_side_that_is_always_null() -> None:
    rows = [{"ts": 1, "op": "i", "old": None, "new": {"v": 1}}]
    source = cdc.changes(rows)
    assert list(source.attributes) == ["v"]
    assert told(source.normalized(), "v") == [(0, 1, (1,), (None,))]
    later = source.normalize([{"ts": 2, "op": "u", "old": {"v": 1}, "new": {"v": 2}}])
    assert told(later, "v") == [(1, 2, (2,), (1,))]


@pytest.mark.parametrize(
    ("granularity", "order_by", "expected"),
    [
        ("timestamp", None, [(1,), (2,), (2,), (3,)]),
        ("transaction", "tx", [(7,), (7,), (8,), (9,)]),
        ("transaction", ["ts", "tx"], [(1, 7), (2, 7), (2, 8), (3, 9)]),
        ("operation", ["tx", "ts"], [(7, 1), (7, 2), (8, 2), (9, 3)]),
    ],
)
def test_instants(granularity: str, order_by: Any, expected: list[tuple[int, ...]]) -> None:
    source = cdc.changes(NESTED, order_by=order_by)
    table = source.normalized(granularity)
    instants = [name for name in table.column_names if name.startswith("#instant.")]
    assert list(zip(*(table[name].to_pylist() for name in instants), strict=True)) == expected
    assert len(source.instant(granularity)) == len(instants)
    assert set(source.attributes) == {"id", "city", "tx"}


@pytest.mark.parametrize(
    ("column", "unit", "expected"),
    [
        (pa.array([1], pa.uint8()), None, 1),
        (pa.array([90]), "s", datetime.datetime(1970, 1, 1, 0, 1, 30, tzinfo=UTC)),
        (pa.array([-1]), "ms", datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, tzinfo=UTC)),
        (pa.array([1], pa.timestamp("s")), None, datetime.datetime(1970, 1, 1, 0, 0, 1)),
        (pa.array([1000], pa.timestamp("ns", "UTC")), None, datetime.datetime(1970, 1, 1, 0, 0, 0, 1, tzinfo=UTC)),
        (pa.array([1], pa.date32()), None, datetime.datetime(1970, 1, 2)),
    ],
)
def test_times(column: pa.Array[Any], unit: str | None, expected: object) -> None:
    source = cdc.inserts(pa.table({"ts": column, "v": [1]}), time_unit=unit)
    assert source.normalized()["#time"].to_pylist() == [expected]
    assert source.schema().field("#time").type == source.timestamp.arrow


def test_times_keep_their_zone() -> None:
    source = cdc.inserts(pa.table({"ts": pa.array([1], pa.timestamp("ms", "Asia/Tokyo")), "v": [1]}))
    assert source.timestamp.arrow == pa.timestamp("us", "Asia/Tokyo")


# --- rows that come later ---------------------------------------------------------------------------------------------


def test_batches_are_normalized_one_by_one() -> None:
    source = cdc.changes(pa.Table.from_pylist(NESTED).schema)
    found = [
        source.normalize(NESTED[:1]),
        source.normalize([]),
        source.normalize(pa.Table.from_pylist(NESTED[1:]), before=1),
    ]
    assert [each.num_rows for each in found] == [1, 0, 3]
    assert told(pa.concat_tables(found), "id", "city", "tx") == CHANGES
    with pytest.raises(DataError, match=r"row 12: `op` is 'x'"):
        source.normalize([{**NESTED[0]}, {**NESTED[0], "op": "x"}], before=10)


def test_dicts_may_lack_what_is_null() -> None:
    source = cdc.inserts({"ts": int, "id": str, "price": float})
    assert source.normalize([{"ts": 1, "id": "IBM"}]).to_pylist()[0]["new.price"] is None
    with pytest.raises(SchemaError, match="no column `price`"):
        source.normalize(pa.table({"ts": [1], "id": ["IBM"], "prize": [1.0]}))


def test_batches_are_of_the_types_that_were_announced() -> None:
    source = cdc.inserts({"ts": int, "price": float})
    assert source.normalize([{"ts": 1, "price": 1}]).schema == source.schema()
    with pytest.raises(SchemaError, match="`price` is string in these rows, but double before"):
        source.normalize([{"ts": 1, "price": "x"}])
    with pytest.raises(SchemaError, match="`ts` is timestamp"):
        source.normalize([{"ts": datetime.datetime(2024, 1, 1), "price": 1}])


def test_times_of_later_rows_are_of_the_same_kind() -> None:
    source = cdc.inserts({"ts": pa.timestamp("us", "UTC"), "v": int})
    moment = datetime.datetime(2024, 1, 1, tzinfo=UTC)
    assert source.normalize([{"ts": moment, "v": 1}])["#time"].to_pylist() == [moment]
    with pytest.raises(SchemaError, match=r"`ts` is timestamp\[us\] in these rows, but timestamp\[us, tz=UTC\] before"):
        source.normalize([{"ts": moment.replace(tzinfo=None), "v": 1}])
    with pytest.raises(UsageError, match="these rows have `w`, which is new"):
        source.normalize([{"ts": moment, "w": 1}])


def test_batches_of_a_table() -> None:
    table = pa.Table.from_pylist(NESTED)
    batches = list(cdc.changes(iter([table.slice(0, 2), table.slice(2)])).batches())
    assert [each.num_rows for each in batches] == [2, 2]
    assert told(pa.concat_tables(batches), "id", "city", "tx") == CHANGES


def test_what_can_be_read_once_says_so() -> None:
    source = cdc.inserts(pa.Table.from_pylist(TICKS).to_reader())
    source.normalized()
    with pytest.raises(UsageError, match="only once"):
        source.normalized()
    with pytest.raises(UsageError, match="columns alone"):
        cdc.inserts({"ts": int, "v": int}).normalized()


# --- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: cdc.inserts(TICKS, time="tss"),
            SchemaError,
            "no column `tss` that tells when a change happened; did you mean `ts`? (columns: ts, id, price). Name it with",
        ),
        (lambda: cdc.inserts(TICKS, time="id"), SchemaError, "`id` is string, which is no time"),
        (
            lambda: cdc.inserts(pd.DataFrame({"ts": [1, None], "v": [1, 2]})),
            SchemaError,
            "`ts` is double, which is no time; times are timestamps, dates or integers: cast it. In pandas, a missing "
            "time makes integers doubles",
        ),
        (
            lambda: cdc.inserts(pd.DataFrame(MIXED)),
            DataError,
            "the values of `ts` are not of one type, but Timestamp and",
        ),
        (lambda: cdc.inserts(MIXED), DataError, "the values of `ts` are not of one type, but Timestamp and str; make"),
        (lambda: cdc.inserts(TICKS, time_unit="years"), UsageError, "time_unit='years' is not known"),
        (
            lambda: cdc.inserts(TICKS, order_by="seq"),
            SchemaError,
            "no column `seq` that orders changes (columns: ts, id, price). Name others with order_by=…",
        ),
        (
            lambda: cdc.inserts(TICKS, order_by="ts, price"),
            SchemaError,
            "Name others with order_by=…; several columns are a list: order_by=['ts', 'price']",
        ),
        (lambda: cdc.inserts(TICKS, order_by=[]), UsageError, "no list of columns"),
        (lambda: cdc.inserts(TICKS, order_by=[3]), UsageError, "3 is no name of a column"),
        (lambda: cdc.inserts([{"ts": 1, "v": [1]}], order_by="v"), SchemaError, "has no order"),
        (lambda: cdc.inserts([{"ts": 1, "v": 1, "V": 2}]), SchemaError, "`v` and `V` differ in case alone"),
        (lambda: cdc.inserts({"orders": TICKS}), UsageError, "a source is of one relation"),
        (
            lambda: cdc.changes([{"id": 1, **row} for row in FLAT], op="kind"),
            SchemaError,
            "no column `kind` that tells the kind of a change (columns: id, ts, op, tx, ",
        ),
        (lambda: cdc.changes(NESTED, old="before"), SchemaError, "or say old=None if there are no old values"),
        (
            lambda: cdc.changes([{"ts": 1, "op": "i", "v": 1}]),
            SchemaError,
            "Name them with new=…, or say new=None if all columns are values of the new row",
        ),
        (lambda: cdc.changes(NESTED, old="tx"), SchemaError, "`tx` is int64, but the old values are a struct"),
        (
            lambda: cdc.changes([{"ts": 1, "op": "u", "v": 1, "old_v": 1, "new_v": 2}]),
            SchemaError,
            "`v` stands in a column of its own and in `",
        ),
        (
            lambda: cdc.changes([{"ts": 1, "op": "u", "old_v": "x", "new_v": 2}]),
            SchemaError,
            "`v` is int64 among new values, but string among old ones",
        ),
        (
            lambda: cdc.changes(NESTED).normalized("transaction"),
            UsageError,
            "granularity='transaction' needs order_by=…",
        ),
        (
            lambda: cdc.changes(NESTED).normalized("stage"),
            UsageError,
            "it is one of 'timestamp', 'transaction', 'operation'",
        ),
    ],
)
def test_refused(make: Callable[[], Any], error: type[AceleraError], message: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([{"ts": 1}, {"ts": None}], {}, "row 2 has no time: `ts` is NULL"),
        ([{"ts": 1, "tx": 1}, {"ts": 2, "tx": None}], {"order_by": "tx"}, "row 2 has no instant: `tx` is NULL"),
        ([{"ts": 2**60}], {"time_unit": "s"}, "row 1: `ts` is 1152921504606846976, which is too large"),
        ([{"op": None}], {}, "row 1 has no kind of change: `op` is NULL"),
        ([{"op": "upsert"}], {}, "row 1: `op` is 'upsert', which is no kind of change; it is one of i, insert, u,"),
    ],
)
def test_rows_that_are_refused(rows: list[dict[str, Any]], options: dict[str, Any], message: str) -> None:
    whole = [{"ts": 1, "op": "i", "old_v": 1, "new_v": 1, **row} for row in rows]
    source = cdc.changes([{"tx": 1, **row} for row in whole], **options)
    with pytest.raises(DataError) as caught:
        source.normalized("transaction" if "order_by" in options else "timestamp")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ({"op": "i", "old": NESTED[0]["new"]}, {}, "row 5 is an insert, but has no new values: `new` is NULL"),
        ({"op": "u", "old": NESTED[0]["new"]}, {}, "row 5 is an update, but has no new values: `new` is NULL"),
        ({"op": "d", "new": NESTED[0]["new"]}, {}, "row 5 is a delete, but has no old values: `old` is NULL"),
        ({"op": "d"}, {"old": None}, "row 1 is a delete, but has no old values: `new` is NULL"),
    ],
)
def test_structs_that_a_change_demands(row: dict[str, Any], options: dict[str, Any], message: str) -> None:
    whole = {"ts": 4, "tx": 9, "old": None, "new": None, **row}
    rows = [whole] if options else [*NESTED, whole]
    columns = pa.Table.from_pylist(NESTED).schema
    source = cdc.changes(pa.Table.from_pylist(rows, columns).drop_columns(["old"] if options else []), **options)
    with pytest.raises(DataError) as caught:
        source.normalized()
    assert message in str(caught.value)


def test_columns_of_a_side_may_all_be_null() -> None:
    rows = [{"ts": 1, "op": op, "old_v": None, "new_v": None} for op in "iud"]
    assert told(cdc.changes(rows).normalized(), "v") == [(kind, 1, (None,), (None,)) for kind in range(3)]


def test_operations_have_instants_of_their_own() -> None:
    source = cdc.changes(NESTED, order_by=["tx"])
    with pytest.raises(DataError, match=r"rows 1 and 2 are of one instant: both have tx = 7.*Add a column to order_by"):
        source.normalized("operation")
    parts = cdc.changes(iter([NESTED[:1], NESTED[1:]]), order_by=["tx"])
    with pytest.raises(DataError, match="rows 1 and 2"):
        parts.normalized("operation")
