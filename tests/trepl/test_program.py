"""What a user holds in hand: programs over changes, checked, explained and run."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import (
    AceleraError,
    AggregateError,
    DataError,
    QueryCheckError,
    SchemaError,
    TooManyMatchesError,
    UsageError,
)
from acelera.trepl.actions.action_errors import ActionError
from trepl.programs import TEN

METHODS = ("engine", "semantics")
RISE = """
monitor update(stock) as tick partition by id; derived rise(id, by);
Rise: (tick(X), tick(Y, Y.price > X.price)) -> rise(Y.id, Y.price - X.price), write("%s rose to %d", Y.id, Y.price);
"""
TICKS = [("a", 1, 10), ("b", 1, 5), ("a", 2, 12), ("b", 3, 4), ("a", 4, 11), ("b", 5, 9)]


def ticks(rows: list[tuple[str, int, int]], kind: Any = list) -> cdc.Source:
    found = [{"ts": time, "op": "u", "id": name, "price": price} for name, time, price in rows]
    return cdc.changes(found if kind is list else kind(found), old=None, new=None)


def inserts(*rows: tuple[int, Any], **options: Any) -> cdc.Source:
    return cdc.inserts([{"ts": time, "v": value} for time, value in rows], **options)


# --- outputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_table_for_each_event_and_for_each_action(method: str) -> None:
    program = ac.trepl(RISE)
    made = program.run({"stock": ticks(TICKS)}, method=method)
    assert tuple(made) == program.outputs == ("rise", "Rise", "Rise.2")
    assert made["rise"].to_pylist() == [
        {"stage": 2, "Timestamp": 2, "id": "a", "by": 2},
        {"stage": 3, "Timestamp": 5, "id": "b", "by": 5},
    ]
    first = {"module": "Main", "id": "a", "stage": 2, "Timestamp": 2, "arg1": "a"}
    assert made["Rise"].to_pylist()[0] == {**first, "arg2": 2}
    assert made["Rise.2"].to_pylist()[0] == {**first, "arg2": 12, "message": "a rose to 12"}
    assert {name: table.schema for name, table in made.items()} == program.check({"stock": ticks(TICKS)})


def test_rows_are_ordered_by_instant_then_by_key_and_arguments() -> None:
    program = ac.trepl("monitor a partition by k; R: a(X) -> write(X.v);")
    rows = [(2, "y", 1), (1, "z", 3), (2, "x", 2), (1, "z", 1), (2, "x", None), (1, "z", 2)]
    source = cdc.inserts([{"ts": time, "k": key, "v": value} for time, key, value in rows])
    found = program.run({"a": source})["R"]
    assert [tuple(row[name] for name in ("Timestamp", "k", "stage", "arg1")) for row in found.to_pylist()] == [
        (1, "z", 1, 1), (1, "z", 1, 2), (1, "z", 1, 3), (2, "x", 1, 2), (2, "x", 1, None), (2, "y", 1, 1),
    ]  # fmt: skip


@pytest.mark.parametrize("method", METHODS)
def test_a_key_of_numbers_of_different_types(method: str) -> None:
    program = ac.trepl("monitor a, b partition by v; R: (a(X), b(Y)) -> write(Y.v);")
    given = {"a": inserts((1, 1), (1, 2)), "b": inserts((2, 1.5), (3, 2.0))}
    assert [(row["v"], row["arg1"]) for row in program.run(given, method=method)["R"].to_pylist()] == [(2.0, 2.0)]


def test_an_event_that_two_rules_derive_is_there_once() -> None:
    text = "monitor a; derived d(v); R: a(X) -> d(X.v); S: a(X, X.v > 1) -> d(X.v), d(X.v * 1.0);"
    made = ac.trepl(text).run({"a": inserts((1, 1), (2, 2))})
    assert made["d"].to_pylist() == [{"stage": 1, "Timestamp": 1, "v": 1.0}, {"stage": 2, "Timestamp": 2, "v": 2.0}]
    assert made["S"]["arg1"].to_pylist() == [2] and made["S.2"]["arg1"].to_pylist() == [2.0]


def test_modules_that_feed_each_other() -> None:
    program = ac.trepl(TEN["an aggregate of one's own by derived events"])
    assert program.relations == ("reading",)
    assert program.outputs == ("score", "alarm", "Init", "Hot", "Cold", "Tell", "Many")
    readings = [{"ts": time, "sensor": "s", "value": 90} for time in range(15)]
    found = program.run({"reading": cdc.inserts(readings)})["Many"].to_pylist()
    assert [(row["module"], row["stage"], row["message"]) for row in found] == [("Ops", 10, "10 instants, now s")]


def test_values_that_cannot_be_compared_go_through() -> None:
    source = cdc.inserts([{"ts": 1, "v": [1, 2]}, {"ts": 2, "v": None}])
    made = ac.trepl("monitor a; derived d(v); R: a(X) -> d(X.v);").run({"a": source})
    assert made["d"]["v"].to_pylist() == [[1, 2], None]


def test_values_that_cannot_be_compared_are_no_keys() -> None:
    source = cdc.inserts([{"ts": 1, "v": [1, 2]}])
    with pytest.raises(QueryCheckError, match=r"partition by v: values of type list<.*> cannot be told apart"):
        ac.trepl("monitor a partition by v; R: a(X) -> write(X.v);").check({"a": source})


def test_nothing_happens() -> None:
    program = ac.trepl(RISE)
    made = program.run({"stock": ticks(TICKS[:1])})
    assert all(table.num_rows == 0 for table in made.values())
    assert {name: table.schema for name, table in made.items()} == program.check({"stock": ticks(TICKS)})


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        (
            "monitor a; derived R(v); R: a(X) -> R(X.v);",
            "the rule R of Main and the derived event R would give one table of the name R",
            "give one of them another name",
        ),
        (
            "Begin Module A monitor a; R: a(X) -> write(X.v); End Module Begin Module B monitor a; R: a -> write('b'); End Module",
            "the rule R of B and the rule R of A would give one table of the name R",
            "give one of them another name",
        ),
        (
            "monitor a; derived d(stage); R: a(X) -> d(X.v);",
            "the derived event d would have the column stage twice",
            "give it another name",
        ),
        (
            "monitor a; derived d(timestamp); R: a(X) -> d(X.v);",
            "the derived event d would have the column Timestamp and timestamp twice",
            "give it another name",
        ),
        (
            "monitor a partition by module; R: a(X) -> write(X.v);",
            "the rule R of Main would have the column module twice",
            "rename the column in the source",
        ),
    ],
)
def test_names_that_would_occur_twice(text: str, message: str, hint: str) -> None:
    with pytest.raises(QueryCheckError) as caught:
        ac.trepl(text)
    problem = caught.value.problems[0]
    assert (problem.message, problem.hint) == (message, hint) and problem.span is not None


# --- what comes in ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [list, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame])
def test_tables_of_any_kind(kind: Any) -> None:
    found = ac.trepl(RISE).run({"stock": ticks(TICKS, kind)})
    assert found["rise"]["by"].to_pylist() == [2, 5]


def test_the_column_of_times_is_the_timestamp() -> None:
    with pytest.raises(AceleraError, match=r"it tells when a changes, which is X\.Timestamp here"):
        ac.trepl("monitor a; R: a(X) -> write(X.ts);").run({"a": inserts((1, 2))})


def test_other_relations_may_be_there() -> None:
    made = ac.trepl(RISE).run({"stock": ticks(TICKS), "other": inserts((1, 1), time_unit="s")})
    assert made["rise"].num_rows == 2


def test_a_relation_without_a_source() -> None:
    with pytest.raises(QueryCheckError, match=r"no source gives the changes of stock; did you mean `stocks`\?"):
        ac.trepl(RISE).run({"stocks": ticks(TICKS)})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"stock": [{"ts": 1, "id": "a"}]},
            "`stock` is list, which does not tell what happened to its rows; make a source",
        ),
        ([{"ts": 1}], "sources are a mapping of relations"),
        ({"stock": {"id": str, "price": float}}, "`stock` is dict, which does not tell what happened"),
    ],
)
def test_what_is_no_source(given: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ac.trepl(RISE).run(given)


def test_a_source_of_columns_alone_has_no_rows_to_run() -> None:
    source = cdc.inserts({"ts": int, "v": int})
    with pytest.raises(UsageError, match="`a`: this source was made from columns alone"):
        ac.trepl("monitor a; R: a(X) -> write(X.v);").run({"a": source})


def test_sources_agree_on_times() -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.v, Y.v);")
    with pytest.raises(
        SchemaError, match="times of one program are of one kind, but `ts` of `a` gives int64 and `ts` of `b`"
    ):
        program.run({"a": inserts((1, 1)), "b": inserts((2, 2), time_unit="s")})


def at(zone: str | None, *moments: int) -> cdc.Source:
    return cdc.inserts(pa.table({"ts": pa.array(moments, pa.timestamp("s", zone)), "v": moments}))


def test_times_without_a_zone_beside_moments() -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.v, Y.v);")
    for given in ({"a": at("UTC", 1), "b": at(None, 2)}, {"a": at(None, 1), "b": at("UTC", 2)}):
        with pytest.raises(SchemaError) as caught:
            program.run(given)
        assert 'df["ts"].dt.tz_localize("UTC") in pandas, pc.assume_timezone(table["ts"], "UTC")' in str(caught.value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("granularity", ["timestamp", "transaction"])
def test_moments_of_different_zones(method: str, granularity: str) -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.v, Y.v); S: b(X) -> write(X.Hour);")
    given = {
        name: cdc.inserts(pa.table({"ts": pa.array(times, pa.timestamp("s", zone)), "v": times}), order_by="ts")
        for name, zone, times in [("a", "Europe/Berlin", [10, 30]), ("b", "Asia/Tokyo", [20, 7200])]
    }
    found = program.run(given, granularity=granularity, method=method)
    assert found["R"]["message"].to_pylist() == ["10 20", "30 7200"]
    assert found["R"]["Timestamp"].type == pa.timestamp("us", "UTC")
    assert found["R"]["Timestamp"].cast(pa.int64()).to_pylist() == [20_000_000, 7_200_000_000]
    assert found["S"]["arg1"].to_pylist() == [0, 2]


def test_sources_agree_on_what_orders_changes() -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.v, Y.v);")
    given = {"a": inserts((1, 1), order_by="v"), "b": inserts((2, 2), order_by=["v", "ts"])}
    with pytest.raises(SchemaError, match=r"'transaction' it is \(int64\) in `a` and \(int64, int64\) in `b`"):
        program.run(given, granularity="transaction")
    with pytest.raises(UsageError, match=r"`b`: granularity='transaction' needs order_by=…"):
        program.run({**given, "b": inserts((2, 2))}, granularity="transaction")
    texts = {"a": inserts((1, "x"), order_by="v"), "b": inserts((2, 2), order_by="v")}
    with pytest.raises(SchemaError, match=r"it is \(string\) in `a` and \(int64\) in `b`"):
        program.run(texts, granularity="operation")


def test_instants_of_different_widths() -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.n, Y.n);")
    tables = {"a": pa.table({"ts": [5], "n": pa.array([1], pa.int16())}), "b": pa.table({"ts": [4], "n": [2]})}
    given = {name: cdc.inserts(table, order_by="n") for name, table in tables.items()}
    found = program.run(given, granularity="transaction")["R"]
    assert found["message"].to_pylist() == ["1 2"] and found["Timestamp"].to_pylist() == [4]


def test_operations_of_different_relations_are_told_apart() -> None:
    program = ac.trepl("monitor a, b; R: (a(X), b(Y)) -> write(X.v, Y.v);")
    given = {"a": inserts((1, 7), order_by="v"), "b": inserts((1, 7), order_by="v")}
    with pytest.raises(
        DataError, match="two changes of `a` and `b` are of one instant, 7, but with granularity='operation'"
    ):
        program.run(given, granularity="operation")
    assert program.run(given, granularity="transaction")["R"].num_rows == 0


def test_a_bad_row_is_told_with_its_relation() -> None:
    with pytest.raises(DataError, match="`a`: row 2 has no time: `ts` is NULL"):
        ac.trepl("monitor a; R: a(X) -> write(X.v);").run({"a": inserts((1, 1), (None, 2))})  # type: ignore[arg-type]


def test_transactions() -> None:
    text = "monitor a; R: (a(X), a(Y)) -> write(X.v, Y.v);"
    source = cdc.inserts([{"ts": 1, "tx": 1, "v": 1}, {"ts": 1, "tx": 2, "v": 2}], order_by="tx")
    assert ac.trepl(text).run({"a": source})["R"].num_rows == 0
    found = ac.trepl(text).run({"a": source}, granularity="transaction")["R"]
    assert found["message"].to_pylist() == ["1 2"]


def test_parts_of_time_in_a_zone() -> None:
    late = datetime(2024, 1, 31, 23, 30, tzinfo=timezone.utc)
    source = cdc.inserts(pa.table({"ts": pa.array([late], pa.timestamp("us", "UTC")), "v": [1]}))
    program = ac.trepl("monitor a; R: a(X, X.Day = 1) -> write(X.Month);")
    assert program.run({"a": source})["R"].num_rows == 0
    assert program.run({"a": source}, zone="Europe/Berlin")["R"]["arg1"].to_pylist() == [2]
    with pytest.raises(UsageError, match="zone='Europe/Bonn' is not known"):
        program.run({"a": source}, zone="Europe/Bonn")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"granularity": "row"},
            "granularity='row' is not known; it is one of 'timestamp', 'transaction', 'operation'",
        ),
        ({"method": "guess"}, "method='guess' is not known; it is one of 'engine', 'semantics'"),
        ({"max_tuples": 0}, "max_tuples=0 is no number from 1 on"),
        ({"zones": "UTC"}, "there is no option `zones`; did you mean `zone`?"),
        ({"databse": "x.db"}, "there is no option `databse`; did you mean `database`?"),
        ({"x": 1}, "there is no option `x`; there are database, granularity, zone, method, max_tuples"),
        ({"zone": 5}, "zone=5 is no name of a time zone"),
    ],
)
def test_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ac.trepl(RISE).run({"stock": ticks(TICKS)}, **options)
    assert str(caught.value).startswith(message)


# --- what is done -----------------------------------------------------------------------------------------------------

VOUCHER = """
monitor a; Tell: a(X, X.v > 1) -> insert into vouchers(v, at) values (X.v, X.Timestamp);
"""


def vouchers(path: Path) -> Path:
    with sqlite3.connect(path) as connection:
        connection.execute("create table vouchers(v int, at int)")
    return path


def test_commands_are_only_told_without_a_database(tmp_path: Path) -> None:
    made = ac.trepl(VOUCHER).run({"a": inserts((1, 1), (2, 2))})
    assert made["Tell"].to_pylist() == [
        {"module": "Main", "stage": 2, "Timestamp": 2, "arg1": 2, "arg2": 2,
         "command": "insert into vouchers(v, at) values (?, ?)"},
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [str, Path])
def test_commands_are_done_once(tmp_path: Path, kind: type) -> None:
    path, program = vouchers(tmp_path / "shop.db"), ac.trepl(VOUCHER)
    for source in (inserts((1, 1), (2, 2)), inserts((1, 1), (2, 2), (3, 3))):
        made = program.run({"a": source}, database=kind(path))
    assert made["Tell"]["arg1"].to_pylist() == [2, 3]
    with sqlite3.connect(path) as connection:
        assert connection.execute("select v, at from vouchers order by v").fetchall() == [(2, 2), (3, 3)]


def done_in(path: Path) -> list[int]:
    with sqlite3.connect(path) as connection:
        return [value for (value,) in connection.execute("select v from vouchers order by rowid")]


ANOTHER_RULE = VOUCHER + "Other: a(X, X.v > 100) -> write(X.v);"
SPELT_OTHERWISE = VOUCHER.replace(" -> ", "\n  -- not the first\n  -> ")
ANOTHER_GOAL = VOUCHER.replace("X.v > 1", "X.v >= 2")
ANOTHER_UNIVERSE = VOUCHER.replace("monitor a", "monitor a, b")
ANOTHER_RULE_NAME = VOUCHER.replace("Tell", "Say")


@pytest.mark.parametrize(
    ("edited", "name", "times"),
    [
        (ANOTHER_RULE, None, 1),
        (SPELT_OTHERWISE, None, 1),
        (ANOTHER_GOAL, None, 2),
        (ANOTHER_UNIVERSE, None, 2),
        (ANOTHER_RULE_NAME, None, 2),
        (ANOTHER_RULE, "shop", 1),
        (ANOTHER_GOAL, "shop", 1),
        (ANOTHER_UNIVERSE, "shop", 1),
        (ANOTHER_RULE_NAME, "shop", 2),
    ],
)
def test_an_edit_does_again_what_its_rule_did(tmp_path: Path, edited: str, name: str | None, times: int) -> None:
    path, sources = vouchers(tmp_path / "shop.db"), {"a": inserts((1, 2)), "b": inserts((9, 9))}
    for text in (VOUCHER, edited):
        ac.trepl(text, name=name).run(sources, database=path)
    assert done_in(path) == [2] * times


def test_programs_of_two_names_do_the_same_twice(tmp_path: Path) -> None:
    path = vouchers(tmp_path / "shop.db")
    for name in ("shop", "store", "shop"):
        ac.trepl(VOUCHER, name=name).run({"a": inserts((1, 2))}, database=path)
    assert done_in(path) == [2, 2]
    assert ac.trepl(VOUCHER, name="shop") != ac.trepl(VOUCHER, name="store")


def test_the_identity_of_a_row_stays() -> None:
    """If this fails, all that was ever done without a name would be done again."""
    found: list[str] = []
    functions = {"page": lambda row, identity: found.append(identity)}
    text = "monitor ins(a) as i partition by v; R: (i(X), * i(Y, Count(Y) < 3)) -> page(X.v, 'it''s');"
    ac.trepl(text, functions).run({"a": inserts((1, 7), (2, 7))})
    assert found == ["a00d500724cbe43a4217c5b60dfdf42b383d57d7335afc47446d10cb81b5e645"]


@pytest.mark.parametrize("name", ["", 5])
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(UsageError, match=f"name={name!r} is no name for a program, such as 'shop alerts'"):
        ac.trepl(VOUCHER, name=name)


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    (tmp_path / "empty.db").touch()
    with pytest.raises(ActionError, match="rule `Tell` of module `Main`, stage 1 at 1: the database refuses a command"):
        ac.trepl(VOUCHER).run({"a": inserts((1, 2))}, database=tmp_path / "empty.db")


@pytest.mark.parametrize("plainly", [False, True])
def test_what_goes_wrong_at_a_stage_is_told_with_its_place(plainly: bool) -> None:
    more = ", X.k || First(X.k) <> ''" if plainly else ""
    rows = [{"ts": at, "k": key, "v": 2**62} for at, key in [(1, "p"), (2, "q"), (3, "q"), (4, "p"), (5, "q")]]
    sources = {"a": cdc.inserts(rows)}
    total = ac.trepl(f"monitor a partition by k; R: (* a(X){more}) -> write(Sum(X.v));")
    assert ("plain values" in total.explain(sources)) is plainly
    with pytest.raises(AggregateError, match=r"^module `Main`, stage 2 at 3, k = q: integer overflow: an aggregate"):
        total.run(sources)
    each = ac.trepl(f"monitor a; R: (*: a(X){more}) -> write(Count(X));")
    with pytest.raises(TooManyMatchesError, match=r"^module `Main`, stage 4 at 4: more than 3 instances are open"):
        each.run(sources, max_tuples=3)


def test_functions_are_called() -> None:
    called: list[tuple[Any, ...]] = []
    functions = {"page": lambda row, identity: called.append((row.rule, row.stage, row.arguments, len(identity)))}
    program = ac.trepl("monitor a; Wake: a(X) -> page(X.v, 'now'), write(X.v);", functions)
    made = program.run({"a": inserts((2, 8), (1, 7))})
    assert called == [("Wake", 1, (7, "now"), 64), ("Wake", 2, (8, "now"), 64)]
    assert made["Wake"]["arg1"].to_pylist() == [7, 8] and made["Wake.2"]["message"].to_pylist() == ["7", "8"]


def test_functions_are_called_while_commands_are_only_told() -> None:
    called: list[int] = []
    program = ac.trepl(
        "monitor a; R: a(X) -> page(X.v), sql('delete from t where v = ?', X.v);",
        {"page": lambda row, _: called.append(row.arguments[0])},
    )
    made = program.run({"a": inserts((1, 7))})
    assert called == [7] and made["R.2"]["command"].to_pylist() == ["delete from t where v = ?"]


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"write": print}, "write is an action of the language; use another name"),
        ({"page": 5}, "functions={'page': …} is int, which cannot be called"),
        ([print], "by which rules call them: functions={'page': page}, not list"),
        (print, "by which rules call them: functions={'page': page}, not builtin_function_or_method"),
        ({5: print}, "by which rules call them: functions={'page': page}"),
    ],
)
def test_what_is_no_function(functions: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        ac.trepl("monitor a; R: a(X) -> page(X.v);", functions)


def test_a_function_that_nobody_registered() -> None:
    with pytest.raises(QueryCheckError, match=r"no action pages; did you mean `page`\?"):
        ac.trepl("monitor a; R: a(X) -> pages(X.v);", {"page": print}).check({"a": {"v": int}})


# --- what can be said of it -------------------------------------------------------------------------------------------


def test_check_takes_attributes_alone() -> None:
    program = ac.trepl("monitor a; R: a(X) -> write(X.v + 1);")
    for given in ({"v": "int"}, pa.schema({"v": pa.int64()}), cdc.inserts({"ts": "timestamptz", "v": int})):
        schema = program.check({"a": given})["R"]
        assert schema.field("arg1").type == pa.int64() and schema.field("Timestamp").type == pa.timestamp("us", "UTC")
    with pytest.raises(SchemaError, match="`a`: 'number' is not a type"):
        program.check({"a": {"v": "number"}})


def test_all_mistakes_at_once() -> None:
    text = "monitor a; R: a(X, X.w > 1) -> write(X.u);"
    with pytest.raises(QueryCheckError) as caught:
        ac.trepl(text).check({"a": {"v": int}})
    assert [caught.value.text[slice(*problem.span)] for problem in caught.value.problems if problem.span] == [
        "X.w",
        "X.u",
    ]


def test_warnings_come_once_and_point_at_the_caller() -> None:
    with pytest.warns(ac.AceleraWarning, match="nothing is monitored") as caught:
        program = ac.trepl("R: a(X) -> write(X.v);")
        program.check({"a": {"v": int}})
    assert [each.filename for each in caught] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.check({"a": {"v": int}})
        program.run({"a": inserts((1, 1))})


def test_explain() -> None:
    program = ac.trepl(TEN["an aggregate of one's own by derived events"])
    assert program.explain() == "program\n" + "\n".join(f"  {line}" for line in str(program).splitlines())
    told = program.explain({"reading": {"sensor": str, "value": float}})
    assert "module Watch\n  stages: insert(reading), update(reading); a history for each sensor\n" in told
    assert "  stratum 1: Init, Hot, Cold\n  stratum 2: Tell\n" in told
    assert "  derives score(sensor string, hot int64, cold int64)\n" in told
    assert "module Ops\n  stages: alarm; one history\n" in told


def test_sources_that_no_rule_monitors_are_warned_of() -> None:
    program, source = ac.trepl("monitor stock; R: stock(X) -> write(X.v);"), inserts((1, 2))
    with pytest.warns(ac.AceleraWarning, match="no rule monitors `stocks`, .* not looked at; did you mean `stock`"):
        program.run({"stock": source, "stocks": source})
    with pytest.warns(ac.AceleraWarning, match="no rule monitors `zzz`, .* not looked at; monitored are stock"):
        program.run({"stock": source, "zzz": source})


@pytest.mark.parametrize(
    ("goal", "line"),
    [
        (
            "[changed(C), update(orders(O), O.id = C.id)]",
            "waits after changed(C) for ever, each different one once (C.id); it grows, unless the next goal asks for "
            "`O.Timestamp - C.Timestamp <= INTERVAL …`",
        ),
        (
            "[(changed(C), orders), orders(O, O.id = C.id)]",
            "waits after orders for ever, each different one once (C.id); it grows, unless the next goal asks for "
            "`O.Timestamp - C.Timestamp <= INTERVAL …`",
        ),
        (
            "[(changed(C), * !changed), orders, C.id > 1]",
            "waits after changed for ever, each different one once (C.id); it grows, unless the next goal binds a "
            "variable, and asks how much later its Timestamp is",
        ),
        ("[changed(C), orders(O)]", "remembers for ever that it waits after changed(C), once"),
        ("prior(changed(C), orders(O))", "remembers for ever that it waits after an earlier event, once"),
    ],
)
def test_explain_speaks_with_the_names_of_the_rule(goal: str, line: str) -> None:
    program = ac.trepl(f"monitor update(customers) as changed, orders; R: {goal} -> write('now');")
    told = program.explain({name: {"id": int} for name in ("customers", "orders")})
    assert f"\n  R: {line}" in told


def test_explain_tells_what_has_no_instruction() -> None:
    program = ac.trepl("monitor a partition by k; R: * a(X, X.k || First(X.k) <> 'ab') -> write(1);")
    told = program.explain({"a": {"k": str}})
    assert "registers, on plain values, which is slow (there is no instruction)\n" in told


def test_explain_tells_warnings() -> None:
    with pytest.warns(ac.AceleraWarning):
        told = ac.trepl("R: a(X) -> write(X.v);").explain({"a": {"v": int}})
    assert "warnings\n  line 1, column 1: nothing is monitored" in told


def test_draw() -> None:
    mermaid = ac.trepl(TEN["an aggregate of one's own by derived events"]).draw().mermaid
    assert '("reading")' in mermaid and '["Many: write"]' in mermaid and '-.->|"negation"|' in mermaid
    picture = ac.trepl(TEN["one transaction"]).draw()
    assert '("update(account)")' in picture.mermaid and '["Unbalanced: sql"]' in picture.mermaid
    assert "rule Unbalanced makes Unbalanced: sql from update(account)" in picture.svg()


def test_programs_are_equal_if_they_mean_the_same() -> None:
    assert ac.trepl(RISE) == ac.trepl(str(ac.trepl(RISE))) != ac.trepl(VOUCHER)
    assert len({ac.trepl(RISE), ac.trepl(str(ac.trepl(RISE)))}) == 1


@pytest.mark.parametrize("text", list(TEN.values()), ids=list(TEN))
def test_the_text_tells_the_language(text: str) -> None:
    assert ac.program(text) == ac.trepl(text)


def test_a_program_is_a_text() -> None:
    for make in (ac.trepl, ac.program):
        with pytest.raises(UsageError, match="a program is made of a text, not of int"):
            make(5)  # type: ignore[arg-type]


def test_mistakes_in_the_text_are_told_with_their_place() -> None:
    with pytest.raises(AceleraError, match="line 2, column"):
        ac.trepl("monitor a;\nR: a(X) -> ;")


def test_the_package_is_imported_without_programs() -> None:
    code = "import acelera, sys; print([n for n in sys.modules if n.startswith('acelera.trepl.') or 'cdc' in n])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "[]\n"


@pytest.mark.parametrize("method", ["engine", "semantics"])
@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ("A: t(X, X.v = 3) -> d(X.v); B: t(X, X.v = 4) -> d(X.f); C: d(D) -> write(D.v);", ["3.0", "2.5"]),
        ("A: t(X, X.v = 3) -> d(X.v); B: t(X, X.v = 4) -> d(X.f); C: d(D, D.v > 2.6) -> write(D.v);", ["3.0"]),
        ("A: t(X, X.v = 3) -> d(NULL); B: t(X, X.v = 4) -> d(X.f); C: d(D) -> write(D.v);", ["NULL", "2.5"]),
        (
            "A: first(t(X)) -> d(X.v); B: (d(S), t(X)) -> d(0.5 * S.v + 0.5 * X.v); C: d(D) -> write(D.v);",
            ["3.0", "3.5"],
        ),
    ],
)
def test_numbers_of_different_types_in_one_event(rules: str, expected: list[str], method: str) -> None:
    rows = [{"ts": 1, "v": 3, "f": 1.5}, {"ts": 2, "v": 4, "f": 2.5}]
    program = ac.trepl(f"monitor t; derived d(v); {rules}")
    found = program.run({"t": ac.cdc.inserts(rows, time="ts")}, method=method)
    assert found["C"]["message"].to_pylist() == expected
