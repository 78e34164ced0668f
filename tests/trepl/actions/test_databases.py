"""Databases that are not a file of SQLite: by SQLAlchemy, by a driver of one's own. PostgreSQL has a page of its own."""

from __future__ import annotations

import datetime
import sqlite3
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from acelera.errors import DataError, UsageError
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.actions.databases import database
from acelera.trepl.actions.parameters import python_values
from acelera.trepl.actions.performing import Actions, Done
from acelera.trepl.actions.transactions import transient
from trepl.actions.acting import CREATE, MAIN, content, numbered, program, sql, sqlite_with, table

NOON = datetime.datetime(2024, 1, 1, 12)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return sqlite_with(tmp_path / "test.db", CREATE)


def twice(where: Any, **options: Any) -> list[Done]:
    actions = Actions(program([sql()]), "p", database=where, **options)
    return [actions.do({MAIN: numbered(count)}) for count in (3, 5)]


def test_by_a_url_and_by_an_engine(path: Path) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    assert twice(f"sqlite:///{path}") == [Done(3, 0), Done(2, 3)]
    assert twice(sqlalchemy.create_engine(f"sqlite:///{path}")) == [Done(0, 3), Done(0, 5)]
    assert [number for number, _ in content(path)] == [0, 1, 2, 3, 4]


def test_urls_that_cannot_be_used() -> None:
    pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    for url in ("nobody://host/name", "postgresql+nothing://host/name", "sqlite+aiosqlite:///x"):
        with pytest.raises(UsageError, match=r"cannot be used|asynchronous"):
            database(url)


def test_a_password_is_not_shown() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
    engine = sqlalchemy.create_engine("sqlite:///x.db")
    engine.url = sqlalchemy.make_url("postgresql://me:secret@host/name")
    assert database(engine).name == "postgresql://me:***@host/name"


def test_without_sqlalchemy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(UsageError, match=r"needs SQLAlchemy: pip install 'sqlalchemy>=2.0,<3'"):
        database("postgresql://host/name")


def test_by_a_function(path: Path) -> None:
    assert twice(lambda: sqlite3.connect(path)) == [Done(3, 0), Done(2, 3)]
    for style in ("qmark", "named", "numeric"):
        name = f"by {style}"
        Actions(program([sql()]), name, database=lambda: sqlite3.connect(path), paramstyle=style).do(
            {MAIN: numbered(1)}
        )
    assert [number for number, _ in content(path)] == [0, 1, 2, 3, 4, 0, 0, 0]


def test_by_a_driver_that_is_told_to_begin(tmp_path: Path) -> None:
    where = str(tmp_path / "duck.db")
    with duckdb.connect(where) as connection:
        connection.execute("create table t (n integer, name varchar unique, moment timestamp, price decimal(10, 2))")
    command = sql("insert into t values (?, ?, ?, ?)", 4)
    actions = Actions(program([command]), "p", database=lambda: duckdb.connect(where))
    rows = {MAIN: table([(1, 1, "a", NOON, Decimal("1.50"))])}
    assert [actions.do(rows) for _ in range(2)] == [Done(1, 0), Done(0, 1)]
    with duckdb.connect(where) as connection:
        assert connection.execute("select * from t").fetchall() == [(1, "a", NOON, Decimal("1.50"))]
    with pytest.raises(ActionError, match=r"stage 3 at .*ConstraintException"):
        actions.do({MAIN: table([(2, 2, "b", NOON, None), (3, 3, "a", NOON, None)])})
    with duckdb.connect(where) as connection:
        counts = connection.execute("select (select count(*) from t), (select count(*) from trepl_done)").fetchall()
        assert counts == [(1, 1)], "all of the transaction is undone"


def test_a_driver_that_does_not_say_how_it_writes_parameters() -> None:
    class Connection:
        cursor = rollback = close = commit = lambda self: None

    with pytest.raises(UsageError, match="say it with paramstyle=…, one of 'qmark'"):
        twice(Connection)


def test_values_of_python() -> None:
    zoned = NOON.replace(tzinfo=datetime.timezone.utc)
    cases: list[tuple[Any, Any]] = [
        (pa.array([NOON]), NOON),
        (pa.array([NOON], pa.timestamp("s", "Europe/Paris")), zoned),
        (pa.array([1_999], pa.timestamp("ns")), datetime.datetime(1970, 1, 1, microsecond=1)),
        (pa.array([NOON.date()], pa.date64()), NOON.date()),
        (pa.array([datetime.timedelta(seconds=-1)]), datetime.timedelta(seconds=-1)),
        (pa.array([Decimal("1.50")]), Decimal("1.50")),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.array([7], pa.int8()), 7),
        (pa.array([b"a"]), b"a"),
        (pa.array([None]), None),
    ]
    for values, expected in cases:
        (found,) = python_values(pa.chunked_array([values]))
        assert found == expected and type(found) is type(expected)
    assert python_values(pa.chunked_array([pa.array([NOON], pa.timestamp("s", "UTC"))]))[0].tzinfo is not None
    with pytest.raises(DataError, match="before the year 1 or after 9999"):
        python_values(pa.chunked_array([pa.array([10**15], pa.timestamp("s"))]))


def error(name: str, *args: Any, **attributes: Any) -> Exception:
    made: Exception = type(name, (Exception,), attributes)(*args)
    return made


TRANSIENT = [
    (error("Error", sqlstate="40001"), True),
    (error("Error", sqlstate="40P01"), True),
    (error("Error", pgcode="08006"), True),
    (error("OperationalError", sqlstate="57P01"), True),
    (error("OperationalError", sqlstate="42P01"), False),
    (error("IntegrityError", sqlstate="23505"), False),
    (error("OperationalError", "server closed the connection"), True),
    (error("InterfaceError", "connection already closed"), True),
    (error("OperationalError", 1213, "deadlock"), True),
    (error("OperationalError", 1146, "no such table"), False),
    (error("DBAPIError", orig=error("Error", sqlstate="40001")), True),
    (error("ProgrammingError", "syntax"), False),
    (ConnectionResetError(), True),
    (ValueError(), False),
]


@pytest.mark.parametrize(("failure", "passes"), TRANSIENT, ids=[repr(each) for each, _ in TRANSIENT])
def test_failures_that_pass(failure: Exception, passes: bool) -> None:
    assert transient(failure) is passes


def test_failures_of_sqlite(path: Path) -> None:
    one, other = (sqlite3.connect(path, timeout=0, isolation_level=None) for _ in range(2))
    one.execute("BEGIN IMMEDIATE")
    for command, passes in (("BEGIN IMMEDIATE", True), ("select * from missing", False)):
        with pytest.raises(sqlite3.OperationalError) as caught:
            other.execute(command)
        assert transient(caught.value) is passes
    one.close()
    other.close()
