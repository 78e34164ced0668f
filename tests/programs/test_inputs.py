"""Events from whatever holds them."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from acelera.algebra.names import BEGIN, END
from acelera.errors import AceleraError, DataError, SchemaError, UsageError
from acelera.programs.announcement import Announced, Asked, announce, columns_of, labels_in
from acelera.programs.inputs import Due, Given, read
from acelera.programs.options import how
from acelera.tables import to_arrow

ASKED = Asked(("temp", "smoke"), ("fire",))
ROWS = [
    {"type": "temp", "b": 4, "e": 6, "area": "x", "value": 40},
    {"type": "noise", "b": 0, "e": 9, "area": "y", "value": None},
    {"type": "smoke", "b": 1, "e": 1, "area": "x", "value": None},
    {"type": "temp", "b": 2, "e": 3, "area": None, "value": 41},
]
TABLE = pa.Table.from_pylist(ROWS)


def announced(schemas: Any, asked: Asked = ASKED, **options: Any) -> Announced:
    return announce(columns_of(schemas), how(options or {"begin": "b", "end": "e"}), asked)


def events(given: Given) -> dict[str, list[dict[str, Any]]]:
    return {label: table.to_pylist() for label, table in given.tables.items()}


EXPECTED = {
    "temp": [
        {"area": "x", "value": 40, BEGIN: 4, END: 6},
        {"area": None, "value": 41, BEGIN: 2, END: 3},
    ],
    "smoke": [{"area": "x", "value": None, BEGIN: 1, END: 1}],
}

FORMS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(),
    "dicts": lambda: ROWS,
    "pandas": lambda: pd.DataFrame(ROWS).astype({"value": "Int64"}),
    "polars": lambda: pl.DataFrame(ROWS),
    "dictionaries": lambda: TABLE.set_column(0, "type", TABLE["type"].dictionary_encode()).set_column(
        3, "area", TABLE["area"].dictionary_encode()
    ),
    "views": lambda: TABLE.set_column(0, "type", TABLE["type"].cast(pa.string_view())),
}


@pytest.mark.parametrize("form", FORMS)
def test_one_table(form: str) -> None:
    given = read(announced(TABLE), FORMS[form]())
    assert events(given) == EXPECTED
    assert (given.first, given.last, given.rows) == (1, 9, {"": 4})


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_known_from_any_table(form: str) -> None:
    expected = pa.schema({"area": pa.string(), "value": pa.int64()})
    assert announced(FORMS[form]()).labels == {"temp": expected, "smoke": expected}


def test_a_table_for_each_label() -> None:
    tables = {
        label: TABLE.filter(pa.compute.field("type") == label).drop("type") for label in ("temp", "smoke", "noise")
    }
    stream = announced(tables)
    assert events(read(stream, tables)) == EXPECTED
    assert read(stream, tables).rows == {"temp": 2, "smoke": 1, "noise": 1}
    assert read(stream, tables).last == 9
    assert read(stream, {"smoke": tables["smoke"]}).tables.keys() == {"smoke"}


def test_columns_described_by_types() -> None:
    stream = announced(
        {"temp": {"b": int, "e": int, "area": str}, "smoke": pa.schema({"b": pa.int8(), "e": pa.int8()})}
    )
    assert stream.labels == {"temp": pa.schema({"area": pa.string()}), "smoke": pa.schema([])}
    given = read(stream, [{"type": "smoke", "b": 1, "e": 2}, {"type": "temp", "b": 1, "e": 2, "area": "x"}])
    assert events(given) == {"smoke": [{BEGIN: 1, END: 2}], "temp": [{"area": "x", BEGIN: 1, END: 2}]}


def test_data_may_be_called_as_times_are() -> None:
    table = pa.table({"type": ["temp"], "t": [5], "begin": ["x"], "end": ["y"], "ref": [0]})
    given = read(announced(table, time="t"), table)
    assert events(given) == {"temp": [{"begin": "x", "end": "y", "ref": 0, BEGIN: 5, END: 5}]}


@pytest.mark.parametrize("empty", [[], {}, TABLE.slice(0, 0), {"temp": []}])
def test_nothing_comes(empty: Any) -> None:
    given = read(announced(TABLE), empty)
    assert (given.first, given.last) == (None, None)
    assert not any(table.num_rows for table in given.tables.values())


def test_rows_are_counted_on() -> None:
    stream = announced(TABLE)
    first = read(stream, TABLE)
    broken = TABLE.set_column(2, "e", pa.array([6, 9, 1, None]))
    with pytest.raises(DataError, match="row 8 has no time"):
        read(stream, broken, before=first.rows)


# --- what is refused ----------------------------------------------------------------------------------------------


def changed(row: int, **cells: Any) -> list[dict[str, Any]]:
    return [{**each, **cells} if number == row else each for number, each in enumerate(ROWS, 1)]


@pytest.mark.parametrize(
    ("data", "error", "says"),
    [
        (changed(2, e=None), DataError, "row 2 has no time: `e` is NULL"),
        (changed(3, type=None), DataError, "row 3 has no label: `type` is NULL"),
        (changed(4, b=5), DataError, "row 4 ends before it begins: `b` is 5, `e` is 3"),
        ({"smoke": [{"b": 1, "e": 1}, {"b": 2, "e": 1}]}, DataError, "row 2 of `smoke` ends before it begins"),
        (changed(1, type="fire"), DataError, "row 1 is of the label `fire`, which rules make"),
        (TABLE.drop("e"), SchemaError, "there is no column `e` in this table"),
        (TABLE.drop("area"), SchemaError, "there is no column `area` in this table"),
        (TABLE.drop("type"), SchemaError, "there is no column `type` in this table"),
        (changed(1, aera="x"), UsageError, "row 1 has `aera`, but the events of `temp` were announced without; did you mean `area`?"),
        (TABLE.set_column(4, "value", pa.array(["a", "b", "c", "d"])), SchemaError, "the column `value` is string in this table, but int64"),
        (TABLE.set_column(0, "type", pa.array([1, 2, 3, 4])), SchemaError, "the column `type` is int64, but labels are texts"),
        (pa.table([TABLE["type"], TABLE["b"], TABLE["b"]], ["type", "b", "b"]), SchemaError, "the column `b` occurs twice"),
        (5, UsageError, "cannot read events from int"),
    ],
)  # fmt: skip
def test_tables_that_are_refused(data: Any, error: type[AceleraError], says: str) -> None:
    with pytest.raises(error) as caught:
        read(announced(TABLE), data)
    assert says in str(caught.value)


def test_a_label_that_was_not_announced() -> None:
    stream = announced({"temp": {"b": int, "e": int}, "noise": {"b": int, "e": int}})
    with pytest.raises(SchemaError, match=r"the label `tmep` was not announced; did you mean `temp`\?"):
        read(stream, {"tmep": [{"b": 1, "e": 1}]})


def test_a_dict_need_not_have_all() -> None:
    given = read(announced(TABLE), [{"type": "temp", "b": 1, "e": 2}, {"type": "noise", "b": 1, "e": 1, "other": 5}])
    assert events(given) == {"temp": [{"area": None, "value": None, BEGIN: 1, END: 2}]}


def test_text_that_is_no_text() -> None:
    table = pa.table({"type": ["temp"], "t": [1], "area": pa.array([b"\xff"]).cast(pa.binary()).view(pa.string())})
    with pytest.raises(DataError, match="row 1: the column `area` of type string cannot be read"):
        read(announced(table, time="t"), table)


def test_late_rows_and_rows_of_the_future() -> None:
    stream = announced(TABLE)
    with pytest.raises(DataError) as caught:
        read(stream, TABLE, Due(3))
    assert str(caught.value) == (
        "row 3 comes too late: it ends at 1, and the stream has come to 3; rows that end at the same time must come in one "
        "push, as what follows from them is told then"
    )
    with pytest.raises(DataError, match="row 2 ends at 9, after now=8; push it when it has ended, or leave now out"):
        read(stream, TABLE, Due(by=8))


def test_events_that_last_too_long() -> None:
    stream = Announced(
        announced(TABLE).labels, announced(TABLE).kind, how({"begin": "b", "end": "e", "longest": {"temp": "1 sec"}}), longest={"temp": 1}
    )  # fmt: skip
    with pytest.raises(DataError) as caught:
        read(stream, TABLE)
    assert "row 1 lasts from 4 to 6, longer than longest={'temp': '1 sec'} says" in str(caught.value)


@pytest.mark.parametrize(
    ("schemas", "says"),
    [
        (pa.schema({"b": pa.int64(), "e": pa.int64()}), "there is no column `type` that tells the label of an event"),
        ({"temp": {"b": int}}, "there is no column `e` that tells a time of `temp` (columns: b)"),
        ({"temp": {"b": int, "e": "timestamp"}}, "the column `b` of `temp` is int64 and the column `e` of `temp` is timestamp[us]"),
        ({"temp": {"b": int, "e": int, "#end": int}}, "a column cannot be called `#end`"),
        ({1: {"b": int}}, "1 is no label"),
        ({"temp": 5}, "the columns of `temp` cannot be read from int"),
        ({"temp": {"b": float, "e": float}}, "the column `b` of `temp` is double, which is no time"),
    ],
)  # fmt: skip
def test_columns_that_are_refused(schemas: Any, says: str) -> None:
    with pytest.raises(SchemaError) as caught:
        announced(schemas)
    assert says in str(caught.value)


# --- labels that columns do not tell ------------------------------------------------------------------------------


def test_what_is_made_may_come_in_too() -> None:
    rows = to_arrow([*ROWS, {"type": "fire", "b": 1, "e": 2, "area": "x"}])
    told = how({"begin": "b", "end": "e"})
    stream = announce(rows.schema, told, ASKED, labels_in(rows, told, ASKED))
    assert stream.labels["fire"] == pa.schema({"area": pa.string()})
    assert events(read(stream, rows))["fire"] == [{"area": "x", BEGIN: 1, END: 2}]


def test_any_label_needs_to_know_all() -> None:
    every = Asked((), ("any",), every=True)
    with pytest.raises(SchemaError, match="a rule asks for events of any label, so all labels must be known"):
        announced(TABLE, every)
    told = how({"begin": "b", "end": "e"})
    assert list(announce(TABLE.schema, told, every, labels_in(TABLE, told, every)).labels) == ["temp", "noise", "smoke"]
    assert list(announced({"temp": TABLE, "noise": TABLE}, every).labels) == ["temp", "noise"]
