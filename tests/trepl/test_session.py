"""Sessions: any cut into batches gives the same results, stages are whole, and nothing that fails leaves a trace."""

from __future__ import annotations

import os
import sqlite3
import warnings
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera import cdc
from acelera.errors import AceleraError, DataError, SchemaError, SnapshotError, UsageError
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.rule_session import RuleSession

PAIR = "monitor a, b; derived pair(v, w); Pair: (a(X), b(Y, Y.v >= X.v)) -> pair(X.v, Y.v); Any: any -> write('now');"
PROGRAMS = {
    "sequence": PAIR,
    "star": "monitor a partition by v; Run: * a(X) -> write(X.v, Count(X)); Early: [a(X), a(Y)] -> write(X.Timestamp);",
    "modules": """
        Begin Module One monitor a; derived d(v); R: (a(X), !a(Y, Y.v > X.v)) -> d(X.v); End Module
        Begin Module Two monitor d, b; S: (d(X), b(Y)) -> write(X.v, Y.v); T: first(b(Y)) -> write(Y.v); End Module
    """,
}
COLUMNS = {"ts": int, "n": int, "v": int}
Row = dict[str, Any]


def sources(**options: Any) -> dict[str, cdc.Source]:
    return {name: cdc.inserts(COLUMNS, **options) for name in "ab"}


def opened(text: str = PAIR, order_by: Any = None, **options: Any) -> RuleSession:
    return ac.trepl(text).open(sources(order_by=order_by), **options)


def row(ts: int, v: int = 0, n: int = 0) -> Row:
    return {"ts": ts, "n": n, "v": v}


def times(made: dict[str, pa.Table], output: str = "Any") -> list[int]:
    return made[output]["Timestamp"].to_pylist()


# --- when stages are closed -------------------------------------------------------------------------------------------


def test_the_newest_instant_waits() -> None:
    session = opened()
    assert times(session.push({"a": [row(1), row(2)], "b": [row(2), row(3)]})) == [1, 2]
    assert times(session.push({"a": [row(3)], "b": []})) == []
    assert session.kept()["changes of the newest instant"] == 2
    assert times(session.push({"b": [row(4)]})) == [3]
    assert times(session.finish()) == [4]


def test_a_stage_is_closed_by_a_later_instant_of_any_relation() -> None:
    session = opened()
    assert times(session.push({"a": [row(1)]})) == []
    assert times(session.push({"b": [row(2)]})) == [1]


def test_instants_between_may_still_come() -> None:
    session = opened()
    assert times(session.push({"a": [row(1), row(9)]})) == [1]
    assert times(session.push({"a": [row(5), row(3)]})) == [3, 5]
    assert times(session.finish()) == [9]


def test_now_closes_stages() -> None:
    session = opened()
    assert times(session.push({"a": [row(1), row(2)]}, now=2)) == [1, 2]
    assert times(session.push({}, now=5)) == []
    with pytest.raises(DataError, match=r"`a`: 2 of these changes come too late, such as one of 4: the stage of 5 is"):
        session.push({"a": [row(4), row(6), row(5)]})
    with pytest.raises(DataError, match="time does not go back: now=4, and the stage of 5 is closed"):
        session.push({}, now=4)
    assert times(session.push({"a": [row(6)]}, now=5)) == []
    assert times(session.push({}, now=6)) == [6]


def test_changes_of_closed_stages_are_refused_and_nothing_is_lost() -> None:
    session = opened()
    session.push({"a": [row(1, v=1), row(2, v=2)]})
    with pytest.raises(DataError, match="too late, such as one of 1: the stage of 1 is closed"):
        session.push({"b": [row(3, v=3)], "a": [row(1)]})
    made = session.push({"b": [row(3, v=3)]}, now=3)
    assert made["pair"].to_pylist() == [{"stage": 3, "Timestamp": 3, "v": 2, "w": 3}]


def test_now_is_a_time_of_the_kind_of_the_stream() -> None:
    program = ac.trepl("monitor a; R: a(X) -> write(X.v);")
    session = program.open({"a": cdc.inserts({"ts": "timestamptz", "v": int})})
    at = datetime(2024, 1, 1, tzinfo=timezone.utc)
    session.push({"a": [{"ts": at, "v": 1}]})
    with pytest.raises(UsageError, match="times of this stream have a time zone, and now="):
        session.push({}, now=datetime(2024, 1, 1))
    with pytest.raises(UsageError, match="is no datetime"):
        session.push({}, now=5)
    assert session.push({}, now=at)["R"].num_rows == 1


def test_now_of_several_columns() -> None:
    session = opened(order_by=["ts", "n"], granularity="transaction")
    assert times(session.push({"a": [row(1, n=1), row(1, n=2), row(1, n=1), row(2, n=0)]}, now=(1, 1))) == [1, 1]
    with pytest.raises(
        UsageError, match=r"now=5 is no instant of these changes, which are ordered by 2 \(int64, int64\)"
    ):
        session.push({}, now=5)
    with pytest.raises(DataError, match="such as one of 1, 2: the stage of 1, 2 is closed"):
        session.push({"b": [row(1, n=2)]})
    assert times(session.push({}, now=[2, 0])) == [2]


def test_operations_of_one_instant_are_found_when_they_come() -> None:
    session = opened(order_by="n", granularity="operation")
    session.push({"a": [row(1, n=1)]})
    with pytest.raises(DataError, match="two changes of `a` and `b` are of one instant, 1"):
        session.push({"b": [row(1, n=1)]})
    assert times(session.push({"b": [row(1, n=2)]})) == [1]


# --- what is pushed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ({"c": [row(1)]}, "no relation `c` comes in; there are a, b"),
        ([row(1)], "rows are pushed by relation, such as push({'reading': rows}), not list"),
        ({"a": cdc.inserts([row(2)])}, "`a` is a source; push its rows as they are: push({'a': rows})"),
        ({"a": [{"ts": 2, "n": 1}, {"ts": 3, "n": 1}]}, "`a`: there is no column `v` in these rows; where it is not"),
        ({"a": pa.table({"ts": [1], "n": [1]})}, "`a`: there is no column `v` in these rows"),
        ({"a": [{**row(2), "ts": None}]}, "`a`: row 2 has no time: `ts` is NULL"),
        ({"a": pa.table({"ts": ["x"], "n": [1], "v": [1]})}, "`a`: the column `ts` is string"),
    ],
)
def test_what_cannot_be_pushed(batch: object, message: str) -> None:
    session = opened()
    session.push({"a": [row(1)]})
    with pytest.raises(AceleraError) as caught:
        session.push(batch)
    assert str(caught.value).startswith(message)
    assert times(session.finish()) == [1]


def test_what_some_rows_lack_is_null() -> None:
    session = ac.trepl("monitor a; R: a(X) -> write(X.v);").open(sources())
    session.push({"a": []})
    session.push({"a": [{"ts": 1, "v": 5, "n": 0}, {"ts": 2}]})
    assert session.finish()["R"]["arg1"].to_pylist() == [None]


def test_changes_need_no_columns_for_values_that_they_do_not_have() -> None:
    source = cdc.changes({"ts": int, "op": str, "id": int, "old_v": int, "new_v": int})
    session = ac.trepl("monitor a; R: a(X) -> write(X.id, X.v);").open({"a": source})
    session.push({"a": [{"ts": 1, "op": "i", "id": 7, "new_v": 5}]})
    with pytest.raises(SchemaError, match="`a`: there is no column `new_v` in these rows"):
        session.push({"a": [{"ts": 2, "op": "i", "id": 7}]})
    assert session.finish()["R"]["message"].to_pylist() == ["7 5"]


def test_messages_need_not_have_both_rows() -> None:
    rows = pa.struct({"id": pa.int64(), "v": pa.int64()})
    columns = pa.schema({"op": pa.string(), "before": rows, "after": rows, "source": pa.struct({"ts_ms": pa.int64()})})
    session = ac.trepl("monitor delete(a) as d; R: d(X) -> write(X.id, X.v);").open({"a": cdc.debezium(columns)})
    session.push({"a": [{"op": "d", "before": {"id": 7}, "source": {"ts_ms": 1}}]})
    assert session.finish()["R"]["message"].to_pylist() == ["7 NULL"]


def test_rows_of_the_sources_of_a_session_are_warned_of() -> None:
    program, table = ac.trepl("monitor a; R: a(X) -> write(X.v);"), pa.table({"ts": [1], "v": [5]})
    with pytest.warns(ac.AceleraWarning, match="the rows of the source of `a` are not read by open; push them"):
        program.open({"a": cdc.inserts(table)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for columns in (table.slice(0, 0), table.schema, {"ts": int, "v": int}):
            program.open({"a": cdc.inserts(columns)})


def test_a_finished_session_takes_no_more() -> None:
    session = opened()
    session.finish()
    for call in (lambda: session.push({}), session.finish, session.snapshot):
        with pytest.raises(UsageError, match="this session is finished; open another one"):
            call()


def test_schemas() -> None:
    session = opened()
    assert session.schemas == ac.trepl(PAIR).check(sources())
    assert {name: table.schema for name, table in session.push({}).items()} == session.schemas


# --- snapshots --------------------------------------------------------------------------------------------------------


def test_a_snapshot_holds_what_waits() -> None:
    session = opened()
    session.push({"a": [row(1, v=1), row(2, v=2)]})
    again = ac.trepl(PAIR).resume(session.snapshot(), sources())
    with pytest.raises(DataError, match="the stage of 1 is closed"):
        again.push({"a": [row(1)]})
    with pytest.raises(DataError, match="`b`: row 1 has no time"):
        again.push({"b": [{"ts": None, "n": 1, "v": 1}]})
    with pytest.raises(DataError, match="`a`: row 3 has no time"):
        again.push({"a": [{"ts": None, "n": 1, "v": 1}]})
    expected = session.push({"b": [row(3, v=3)]}, now=3)
    assert again.push({"b": [row(3, v=3)]}, now=3) == expected and expected["pair"].num_rows == 1


def test_a_snapshot_holds_the_options() -> None:
    session = opened(order_by=["n"], granularity="transaction", zone="Asia/Tokyo")
    session.push({"a": [row(1, n=7)]})
    again = ac.trepl(PAIR).resume(session.snapshot(), sources(order_by=["n"]))
    assert times(again.push({"a": [row(0, n=8)]})) == [1]


def test_a_snapshot_of_another_program_or_of_other_sources() -> None:
    data = opened().snapshot()
    with pytest.raises(SnapshotError, match="belongs to another query"):
        ac.trepl(PROGRAMS["star"]).resume(data, sources())
    other = {"a": cdc.inserts({"ts": int, "n": int, "v": int, "w": int}), "b": cdc.inserts(COLUMNS)}
    with pytest.raises(SnapshotError, match="the source of `a` is not like the one that the snapshot was made with"):
        ac.trepl(PAIR).resume(data, other)
    with pytest.raises(SnapshotError, match="not a snapshot"):
        ac.trepl(PAIR).resume(b"else", sources())


# --- actions ----------------------------------------------------------------------------------------------------------


def test_what_an_action_fails_to_do_is_done_at_the_next_push(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    path.touch()
    program = ac.trepl("monitor a; R: a(X) -> insert into t(v) values (X.v);")
    session = program.open(sources(), database=path)
    with pytest.raises(ActionError, match="no such table"):
        session.push({"a": [row(1, v=5), row(2, v=6)]})
    with pytest.raises(SnapshotError, match=r"push\(\{\}\) tries it again"):
        session.snapshot()
    with sqlite3.connect(path) as connection:
        connection.execute("create table t(v int)")
    assert session.push({})["R"]["arg1"].to_pylist() == [5]
    again = program.resume(session.snapshot(), sources(), database=path)
    for each in (session, again):  # the second time there is nothing left to do
        assert each.finish()["R"]["arg1"].to_pylist() == [6]
    with sqlite3.connect(path) as connection:
        assert connection.execute("select v from t order by v").fetchall() == [(5,), (6,)]


def test_a_function_that_fails_is_called_again() -> None:
    calls: list[int] = []

    def page(called: Any, _: str) -> None:
        calls.append(called.arguments[0])
        if len(calls) == 1:
            raise RuntimeError("nobody answers")

    session = ac.trepl("monitor a; R: a(X) -> page(X.v);", {"page": page}).open(sources())
    session.push({"a": [row(1, v=5)]})
    with pytest.raises(ActionError, match="the function `page` fails: RuntimeError: nobody answers"):
        session.finish()
    assert session.finish()["R"].num_rows == 1 and calls == [5, 5]


# --- any cut ----------------------------------------------------------------------------------------------------------

CHANGES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 6), st.integers(0, 2)), max_size=14)


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "30")))
@pytest.mark.parametrize("method", ["engine", "semantics"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
@given(changes=CHANGES, data=st.data())
def test_any_cut_gives_what_a_run_gives(
    text: str, method: str, changes: list[tuple[str, int, int]], data: st.DataObject
) -> None:
    program = ac.trepl(text)
    tables = {name: [row(time, value) for of, time, value in changes if of == name] for name in "ab"}
    given = {name: cdc.inserts(pa.Table.from_pylist(rows, _SCHEMA)) for name, rows in tables.items()}
    expected = program.run(given, method="semantics")
    session, made = program.open(sources(), method=method), []
    left = sorted(changes, key=lambda each: each[1])
    while left:
        cut = data.draw(st.integers(1, len(left)), "rows of the next push")
        batch, left = data.draw(st.permutations(left[:cut]), "in which order"), left[cut:]
        made.append(session.push({name: [row(t, v) for of, t, v in batch if of == name] for name in "ab"}))
        if data.draw(st.booleans(), "go on from a snapshot"):
            session = program.resume(session.snapshot(), sources())
    made.append(session.finish())
    assert {name: pa.concat_tables(each[name] for each in made) for name in expected} == expected


_SCHEMA = pa.schema({"ts": pa.int64(), "n": pa.int64(), "v": pa.int64()})
