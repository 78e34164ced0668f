"""What rules say is done, in order, each row once."""

from __future__ import annotations

import datetime
import os
import random
import sqlite3
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tiers
from acelera.errors import UsageError
from acelera.language.events import Moment
from acelera.language.types import from_arrow
from acelera.trepl import resolved
from acelera.trepl.actions import transactions
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.actions.action_rows import ActionRow, from_frame
from acelera.trepl.actions.performing import Actions, Done
from acelera.trepl.history import Fired
from trepl.actions.acting import CREATE, MAIN, START, call, content, numbered, program, sql, sqlite_with, table, write
from trepl.actions.failing import BrokenError, Faults, LostError, OperationalError
from trepl.actions.killing import COMMANDS, survive

LEDGER = "select module, rule, action, stage from trepl_done order by stage"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sqlite_with(tmp_path / "test.db", CREATE)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "_SHORTEST_PAUSE", 0.0)


def expected(count: int) -> list[tuple[int, str]]:
    return [(number, f"row {number}") for number in range(count)]


# --- commands -------------------------------------------------------------------------------------------------------


def test_commands_are_done_once_and_noted(path: Path) -> None:
    actions = Actions(program([sql()]), "p", database=path)
    assert actions.do({MAIN: numbered(3)}) == Done(3, 0)
    assert actions.do({MAIN: numbered(5)}) == Done(2, 3)
    assert content(path) == expected(5)
    assert content(path, LEDGER) == [("Main", "A", 0, stage) for stage in range(5)]


def test_another_name_is_another_program(path: Path) -> None:
    for name in ("p", "q", "p"):
        Actions(program([sql()]), name, database=path).do({MAIN: numbered(2)})
    assert content(path) == [*expected(2), *expected(2)]


@pytest.mark.parametrize("rows_at_once", [1, 2, 500])
def test_commands_come_in_order(path: Path, rows_at_once: int) -> None:
    """By instant, then rule by rule as the program has them, action by action, by arguments with NULL last."""
    rules = program([sql(), sql()], [sql()])
    tables = {
        ("Main", "B", 0): table([(2, 1, "B0 2"), (1, 1, "B0 1")]),
        ("Main", "A", 1): table([(1, 1, "A1 1"), (2, 0, "A1 2")]),
        ("Main", "A", 0): table([(2, None, "A0 2c"), (2, 10, "A0 2b"), (2, 9, "A0 2a"), (3, 1, "A0 3")]),
    }
    Actions(rules, "p", database=path, rows_at_once=rows_at_once).do(tables)
    names = [name for _, name in content(path)]
    assert names == ["A1 1", "B0 1", "A0 2a", "A0 2b", "A0 2c", "A1 2", "B0 2", "A0 3"]


def test_each_key_is_done_by_itself(path: Path) -> None:
    keyed = program([sql(), sql()], partition=("k",))
    tables = {
        ("Main", "A", 0): table([(1, 1, "A0"), (1, 1, "A0"), (1, 1, "A0")], key=["b", None, "a"]),
        ("Main", "A", 1): table([(1, 1, "A1")], key=["a"]),
    }
    done: list[ActionRow] = []
    Actions(keyed, "p", database=path).do(tables)
    assert [name for _, name in content(path)] == ["A0", "A1", "A0", "A0"]
    caller = Actions(program([call()], partition=("k",)), "p", functions={"f": lambda row, _: done.append(row)})
    caller.do({MAIN: tables[("Main", "A", 0)]})
    assert [row.key for row in done] == [{"k": "a"}, {"k": "b"}, {"k": None}]


def test_modules_meet_at_their_instants(path: Path) -> None:
    one, other = program([sql()], module="One").modules[0], program([sql()], module="Other").modules[0]
    both = resolved.Program((one, other), {}, program([sql()]).timestamp)
    coarse = table([(1, 1, "One 1"), (3, 1, "One 3")])
    fine = table([(1, 1, "Other 1"), (2, 1, "Other 2")])
    fine = fine.set_column(
        fine.column_names.index("#instant.0"), "#instant.0", fine.column("#instant.0").cast(pa.timestamp("ns"))
    )
    Actions(both, "p", database=path).do({("Other", "A", 0): fine, ("One", "A", 0): coarse})
    assert [name for _, name in content(path)] == ["One 1", "Other 1", "Other 2", "One 3"]


def test_equal_rows_are_one(path: Path) -> None:
    assert Actions(program([sql()]), "p", database=path).do({MAIN: table([(1, 1, "a"), (1, 1, "a")])}) == Done(1, 0)
    assert content(path) == [(1, "a")]


def test_parameters_are_bound_never_written(path: Path) -> None:
    evil = "'); drop table t; --"
    Actions(program([sql()]), "p", database=path).do({MAIN: table([(1, 1, evil)])})
    assert content(path) == [(1, evil)]


def test_values_of_sqlite(path: Path) -> None:
    moment = datetime.datetime(1996, 8, 21, 9, 13, 27, 500_000)
    values: list[Any] = [
        moment,
        moment.replace(tzinfo=datetime.timezone.utc),
        moment.date(),
        datetime.timedelta(hours=9),
        Decimal("1.50"),
        True,
        None,
        2.5,
    ]
    columns = ", ".join(f"c{number}" for number in range(len(values)))
    sqlite_with(path, f"create table v ({columns})")
    command = sql(f"insert into v values ({', '.join('?' * len(values))})", len(values))
    Actions(program([command]), "p", database=path).do({MAIN: table([(1, *values)])})
    shown = "1996-08-21 09:13:27.5"
    assert content(path, "select * from v") == [(shown, shown, "1996-08-21", "09:00:00", "1.50", 1, None, 2.5)]


def test_a_derived_event_is_not_done(path: Path) -> None:
    rules = program([resolved.Derive("d", ()), sql()])
    tables = {("Main", "A", 0): numbered(2), ("Main", "A", 1): numbered(1)}
    assert Actions(rules, "p", database=path).do(tables) == Done(1, 0)


def test_a_command_that_gives_rows(path: Path) -> None:
    rules = program([sql("select n from t where n = ?", 1), sql()])
    tables = {("Main", "A", 0): table([(1, 1)]), ("Main", "A", 1): numbered(2)}
    assert Actions(rules, "p", database=path).do(tables) == Done(3, 0)


def test_nothing_to_do_needs_no_database(tmp_path: Path) -> None:
    assert Actions(program([sql()]), "p", database=tmp_path / "no" / "where").do({MAIN: numbered(1).slice(1)}) == Done(
        0, 0
    )


# --- functions and messages -----------------------------------------------------------------------------------------


def test_functions_get_the_row_and_its_identity() -> None:
    got: list[tuple[ActionRow, str]] = []
    actions = Actions(program([call()]), "p", functions={"f": lambda *given: got.append(given)})
    for _ in range(2):
        assert actions.do({MAIN: table([(7, "x")])}) == Done(1, 0)
    row, identity = got[0]
    assert (row.module, row.rule, row.stage, row.arguments, row.identity) == ("Main", "A", 7, ("x",), identity)
    assert row.instant == (row.timestamp,) == (START + datetime.timedelta(seconds=7),)
    assert len(identity) == 64 and got[1] == got[0]


def test_beside_a_database_functions_are_noted(path: Path) -> None:
    got: list[Any] = []
    actions = Actions(program([call()]), "p", database=path, functions={"f": lambda row, _: got.append(row.arguments)})
    assert [actions.do({MAIN: table([(1, "a"), (2, "b")])}) for _ in range(2)] == [Done(2, 0), Done(0, 2)]
    assert got == [("a",), ("b",)]


def test_commands_before_a_function_are_committed_when_it_is_called(path: Path) -> None:
    seen: list[int] = []
    rules = program([sql(), call()])
    actions = Actions(rules, "p", database=path, functions={"f": lambda row, _: seen.append(len(content(path)))})
    actions.do({("Main", "A", 0): numbered(4), ("Main", "A", 1): table([(1, "x"), (2, "y")])})
    assert seen == [2, 3]


def test_a_function_that_fails(path: Path) -> None:
    got: list[str] = []

    def fail(row: ActionRow, _: str) -> None:
        got.append(row.arguments[0])
        if row.arguments == ("b",) and len(got) < 3:
            raise ValueError("no")

    actions = Actions(program([call()]), "p", database=path, functions={"f": fail})
    rows = {MAIN: table([(1, "a"), (2, "b"), (3, "c")])}
    with pytest.raises(ActionError) as caught:
        actions.do(rows)
    assert str(caught.value).startswith(
        "rule `A` of module `Main`, stage 2 at 2024-01-01 00:00:02: the function `f` fails: ValueError: no\n  with ('b',)\n"
    )
    assert actions.do(rows) == Done(2, 1)
    assert got == ["a", "b", "b", "c"]


def test_messages_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    actions = Actions(program([write("%s\n")], [write()]), "p")
    actions.do({("Main", "A", 0): table([(1, "a"), (2, "b")]), ("Main", "B", 0): table([(1, 2.5)])})
    assert capsys.readouterr().out == "a\n2.5\nb\n"


# --- other forms of rows --------------------------------------------------------------------------------------------


def test_a_frame_of_all_actions(path: Path) -> None:
    def structs(rows: pa.Table, before: int, after: int) -> pa.Array[Any]:
        kind = pa.struct(list(rows.schema))
        return pa.array([None] * before + rows.to_pylist() + [None] * after, kind)

    first, second = numbered(2), table([(1, "x")])
    frame = pa.table({"module": ["Main"] * 3, "Main.A.0": structs(first, 0, 1), "Main.B.0": structs(second, 2, 0)})
    rules = program([sql()], [call()])
    tables = from_frame(rules, frame)
    assert {place: each.to_pylist() for place, each in tables.items()} == {
        ("Main", "A", 0): first.to_pylist(),
        ("Main", "B", 0): second.to_pylist(),
    }
    got: list[str] = []

    class Frame:
        def toArrow(self) -> pa.Table:  # noqa: N802  # so Spark calls it
            return frame

    actions = Actions(rules, "p", database=path, functions={"f": lambda row, _: got.append(row.arguments[0])})
    for number in (0, 0, 1):
        actions.do_batch(Frame(), number)
    assert (content(path), got) == (expected(2), ["x"])


def test_what_the_meaning_fires_is_the_same_row(path: Path) -> None:
    plain = program([sql()], partition=("k",))
    types = (from_arrow(pa.int64()), from_arrow(pa.string()))
    rule = resolved.Rule("A", plain.modules[0].rules[0].goal, plain.modules[0].rules[0].actions, (types,))
    module = resolved.Module("Main", plain.modules[0].universe, ("k",), {}, (rule,), ((0,),))
    typed = resolved.Program((module,), plain.relations, plain.timestamp)
    moment = Moment(int((START - datetime.datetime(1970, 1, 1)).total_seconds() + 1) * 10**9)
    fired = [Fired("Main", ("x",), "A", 0, 1, moment, moment, (1, "a"))]
    actions = Actions(typed, "p", database=path)
    assert actions.do_fired(fired) == Done(1, 0)
    assert actions.do({MAIN: table([(1, 1, "a")], key=["x"])}) == Done(0, 1)


# --- what goes wrong ------------------------------------------------------------------------------------------------


def test_a_command_that_the_database_refuses(path: Path) -> None:
    sqlite_with(path, "create unique index u on t (n)", "insert into t values (3, 'taken')")
    actions = Actions(program([sql()]), "p", database=path, rows_at_once=2)
    with pytest.raises(ActionError) as caught:
        actions.do({MAIN: numbered(6)})
    assert str(caught.value) == (
        "rule `A` of module `Main`, stage 3 at 2024-01-01 00:00:03: the database refuses a command: "
        "IntegrityError: UNIQUE constraint failed: t.n\n"
        "  insert into t (n, name) values (?, ?)\n"
        "  with (3, 'row 3')\n"
        "  Its transaction, which holds up to 2 commands, is undone: all of them are done at the next try. What "
        "transactions before it did stays done, and is not done again"
    )
    assert content(path) == [(3, "taken"), *expected(2)]
    sqlite_with(path, "delete from t where name = 'taken'")
    assert actions.do({MAIN: numbered(6)}) == Done(4, 2)
    assert content(path) == expected(6)


def test_a_key_is_named_in_errors(path: Path) -> None:
    actions = Actions(program([sql("insert into missing values (?)", 1)], partition=("k",)), "p", database=path)
    with pytest.raises(ActionError, match=r"stage 1 at 2024-01-01 00:00:01, k = 'x': .*no such table: missing"):
        actions.do({MAIN: table([(1, 1)], key=["x"])})


USAGE: list[tuple[dict[str, Any], str]] = [
    ({"rules": [sql()]}, "rule `A` of module `Main` has a command of SQL; say with database=… where to do it"),
    ({"rules": [sql(arguments=1)], "database": "x.db"}, r"has 2 `\?`, but 1 arguments"),
    (
        {"rules": [call("sand")], "functions": {"send": print}},
        "calls `sand`, which is not among .*; did you mean `send`",
    ),
    ({"rules": [sql()], "database": ":memory:"}, "a database in memory is gone"),
    ({"rules": [sql()], "database": 7}, "a database cannot be int; give the path"),
    (
        {"rules": [sql()], "database": sqlite3.connect(":memory:")},
        "give a path, a URL, or a function that gives a connection",
    ),
    ({"rules": [sql()], "database": print, "paramstyle": "dollar"}, "paramstyle='dollar' is not known"),
    ({"rules": [sql()], "database": "x.db", "attempts": 0}, "at least 1"),
]


@pytest.mark.parametrize(("given", "message"), USAGE, ids=[message[:30] for _, message in USAGE])
def test_mistakes_are_told_before_anything_is_done(given: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Actions(program(given.pop("rules")), "p", **given)


def test_an_action_that_is_not_in_the_program(path: Path) -> None:
    with pytest.raises(UsageError, match=r"no action `Main.Aa.0`; did you mean `Main.A.0`\?"):
        Actions(program([sql()]), "p", database=path).do({("Main", "Aa", 0): numbered(1)})


def test_a_connection_that_commits_by_itself_is_refused(path: Path) -> None:
    actions = Actions(program([sql()]), "p", database=lambda: sqlite3.connect(path, isolation_level=None))
    with pytest.raises(UsageError, match=r"undoes nothing, .*: give connections with autocommit off"):
        actions.do({MAIN: numbered(1)})


def test_a_database_that_cannot_be_opened(tmp_path: Path) -> None:
    actions = Actions(program([sql("create table t (n)", 0)]), "p", database=tmp_path / "no" / "where.db")
    with pytest.raises(ActionError, match=r"where.db fails: OperationalError: unable to open database file"):
        actions.do({MAIN: numbered(1)})


def test_a_file_that_is_not_there_is_not_made_for_commands_that_need_tables(tmp_path: Path) -> None:
    actions = Actions(program([sql()]), "p", database=tmp_path / "typo.db")
    with pytest.raises(ActionError, match=r"there is no file .*typo.db, and no command makes tables in it; look"):
        actions.do({MAIN: numbered(1)})
    assert not (tmp_path / "typo.db").exists()
    sqlite_with(tmp_path / "typo.db", CREATE)
    assert actions.do({MAIN: numbered(1)}) == Done(1, 0)


@pytest.mark.parametrize("rules", [[sql("create table t as select ? as n, ? as name")], [call()]])
def test_a_file_may_be_made_by_what_rules_do(tmp_path: Path, rules: list[Any]) -> None:
    functions = {"f": lambda row, identity: None}
    actions = Actions(program(rules), "p", database=tmp_path / "new.db", functions=functions)
    assert actions.do({MAIN: numbered(1)}) == Done(1, 0)
    assert (tmp_path / "new.db").exists()


def test_what_is_left_to_the_database_is_told_if_it_refuses_it(path: Path) -> None:
    actions = Actions(program([sql("insert into t (n) values (Z.id)", 0)]), "p", database=path)
    with pytest.raises(ActionError, match=r"no such column: Z.id\n.*\n  Z.id in it is left to the database: no param"):
        actions.do({MAIN: numbered(1)})


def test_a_locked_database_is_waited_for_and_then_given_up(path: Path) -> None:
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    actions = Actions(program([sql()]), "p", database=lambda: sqlite3.connect(path, timeout=0), attempts=3)
    with pytest.raises(ActionError, match=r"fails, 3 times: OperationalError: database is locked"):
        actions.do({MAIN: numbered(1)})
    other.execute("ROLLBACK")
    other.close()
    assert actions.do({MAIN: numbered(1)}) == Done(1, 0)


# --- lost connections, kills, several at once -----------------------------------------------------------------------


def acts(connect: Callable[[], Any]) -> tuple[Actions, dict[Any, pa.Table], list[Any]]:
    """A program that inserts, adds up and calls, and its rows."""
    rules = program([sql(), sql("update total set n = n + ?", 1)], [call()])
    called: list[Any] = []
    functions = {"f": lambda row, _: called.append(row.arguments[0])}
    actions = Actions(rules, "p", database=connect, functions=functions, rows_at_once=3, paramstyle="qmark")
    rows = numbered(4)
    tables = {
        ("Main", "A", 0): rows,
        ("Main", "A", 1): rows.drop_columns(["arg2"]),
        ("Main", "B", 0): table([(1, "x"), (3, "y")]),
    }
    return actions, tables, called


def steps_of(tmp_path: Path) -> int:
    """How many steps there are if none fails."""
    path = sqlite_with(tmp_path / "whole.db", *COMMANDS)
    faults = Faults(lambda: sqlite3.connect(path))
    actions, tables, _ = acts(faults)
    assert actions.do(tables) == Done(10, 0)
    return faults.steps


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("error", [BrokenError, OperationalError], ids=["raised", "tried again"])
def test_a_connection_lost_at_any_step(tmp_path: Path, error: type[Exception], after: bool) -> None:
    steps = steps_of(tmp_path)
    assert steps > 30
    for step in range(1, steps + 1):
        path = sqlite_with(tmp_path / f"{step}.db", *COMMANDS)
        faults = Faults(lambda path=path: unsynchronized(path), [step], after, error)
        actions, tables, called = acts(faults)
        try:
            actions.do(tables)
        except ActionError as failure:
            assert error is BrokenError and isinstance(failure.__cause__, LostError)
        actions.do(tables)
        assert actions.do(tables) == Done(0, 10)
        assert (content(path), content(path, "select n from total")) == (expected(4), [(6,)])
        assert list(dict.fromkeys(called)) == ["x", "y"]


def test_a_connection_that_is_lost_again_and_again(path: Path) -> None:
    faults = Faults(lambda: sqlite3.connect(path), range(1, 1000), error=OperationalError)
    with pytest.raises(ActionError, match="fails, 10 times: OperationalError: lost at step"):
        Actions(program([sql()]), "p", database=faults, paramstyle="qmark").do({MAIN: numbered(1)})


def test_a_commit_that_nobody_hears_of(path: Path) -> None:
    """The last step: when it is tried again, the ledger tells that all is done."""
    counting = Faults(lambda: sqlite3.connect(path))
    Actions(program([sql()]), "p", database=counting, paramstyle="qmark").do({MAIN: numbered(2)})
    again = sqlite_with(path.parent / "again.db", CREATE)
    faults = Faults(lambda: sqlite3.connect(again), [counting.steps], after=True, error=OperationalError)
    done = Actions(program([sql()]), "p", database=faults, paramstyle="qmark").do({MAIN: numbered(2)})
    assert (done, content(again)) == (Done(0, 2), expected(2))


@pytest.mark.property
@settings(max_examples=int(os.environ.get("ACELERA_EXAMPLES", "25")))
@given(
    st.lists(st.tuples(st.integers(0, 11), st.integers(1, 12)), max_size=5),
    st.sets(st.integers(1, 80), max_size=4),
    st.booleans(),
    st.sampled_from([BrokenError, OperationalError]),
    st.integers(1, 5),
)
def test_batches_that_come_again_and_fail(
    batches: list[tuple[int, int]], faults: set[int], after: bool, error: type[Exception], rows_at_once: int
) -> None:
    """Whatever comes how often, in which pieces, and is lost at which steps."""
    with tempfile.TemporaryDirectory() as folder:
        path = sqlite_with(Path(folder, "test.db"), *COMMANDS)
        lossy = Faults(lambda: unsynchronized(path), sorted(faults), after, error)
        rules = program([sql(), sql("update total set n = n + ?", 1)])
        actions = Actions(rules, "p", database=lossy, paramstyle="qmark", rows_at_once=rows_at_once)
        for first, count in batches:
            with suppress(ActionError):
                actions.do(inserted_and_added(numbered(count, first)))
        while faults and lossy.steps <= max(faults):
            with suppress(ActionError):
                actions.do(inserted_and_added(numbered(24)))
        actions.do(inserted_and_added(numbered(24)))
        assert sorted(content(path)) == expected(24)
        assert content(path, "select n from total") == [(276,)]


def unsynchronized(path: Path) -> sqlite3.Connection:
    """A connection that does not wait for the disk: no test pulls the plug."""
    connection = sqlite3.connect(path)
    connection.execute("pragma synchronous = off")
    return connection


def inserted_and_added(rows: pa.Table) -> dict[Any, pa.Table]:
    return {("Main", "A", 0): rows, ("Main", "A", 1): rows.drop_columns(["arg2"])}


def test_several_at_once(path: Path) -> None:
    actions = Actions(program([sql()]), "p", database=path, rows_at_once=3)
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda _: actions.do({MAIN: numbered(40)}), range(4)))
    assert sum(each.now for each in done) == 40
    assert content(path) == expected(40)


@pytest.mark.parametrize("kills", [tiers.slow(3), tiers.slow(20)])
def test_a_process_that_is_killed(tmp_path: Path, kills: int) -> None:
    path = sqlite_with(tmp_path / "killed.db", *COMMANDS)
    rows = survive(str(path), kills, random.Random(kills))
    assert content(path) == expected(rows)
    assert content(path, "select n from total") == [(rows * (rows - 1) // 2,)]
