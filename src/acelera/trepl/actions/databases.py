"""Databases that commands are sent to: a file of SQLite, whatever SQLAlchemy knows, or a driver of one's own."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from acelera.errors import UsageError
from acelera.trepl.actions.action_errors import ActionError
from acelera.trepl.actions.placeholders import STYLES

Connection = Any
"""A connection of DB-API 2.0, whatever its driver."""

_WAIT = 5.0
"""Seconds that SQLite waits for another process that writes, before it is asked again."""


@dataclass(frozen=True)
class Database:
    """How to connect and to begin a transaction, and how parameters are written; `name` is for people.

    Without a style it is that of the module which the connection comes from. `file` is what holds it, if that is known.
    """

    name: str
    connect: Callable[[], Connection]
    style: str | None = None
    begin: Callable[[Connection], None] = lambda connection: begin_plainly(connection)
    file: str | None = None

    def refuse_absent(self) -> None:
        """SQLite makes a file that is not there, most likely since its name is misspelt."""
        if self.file is not None and not os.path.exists(self.file):
            raise ActionError(
                f"there is no file {self.file}, and no command makes tables in it; look whether the path of the "
                'database is right, make its tables before, or with sql("create table if not exists …")'
            )

    def style_of(self, connection: Connection) -> str:
        """How the driver of a connection writes parameters."""
        module = sys.modules.get(type(connection).__module__.partition(".")[0])
        style = self.style or getattr(module, "paramstyle", None)
        if style not in STYLES:
            raise UsageError(
                f"how {type(connection).__module__} writes parameters is not known; say it with paramstyle=…, one of "
                f"{', '.join(map(repr, STYLES))}"
            )
        return str(style)


def database(where: object, paramstyle: str | None = None) -> Database:
    """A database: the path of a file of SQLite, a URL or an engine of SQLAlchemy, or a function that gives connections.

    `paramstyle` says how the driver of such a function writes parameters, if its module does not.
    """
    if isinstance(where, Database):
        return where
    if paramstyle is not None and paramstyle not in STYLES:
        raise UsageError(f"paramstyle={paramstyle!r} is not known; it is one of {', '.join(map(repr, STYLES))}")
    if isinstance(where, str) and "://" in where:
        return _of_engine(_engine(where))
    if isinstance(where, str | os.PathLike):
        return _of_file(os.fspath(where))
    if hasattr(where, "raw_connection") and hasattr(where, "dialect"):
        return _of_engine(where)
    if not isinstance(where, type) and hasattr(where, "cursor") and hasattr(where, "commit"):
        raise UsageError(
            "a database cannot be a connection, since one that is lost is made anew; give a path, a URL, or a function "
            "that gives a connection"
        )
    if callable(where):
        return Database(getattr(where, "__qualname__", repr(where)), where, paramstyle)
    raise UsageError(
        f"a database cannot be {type(where).__name__}; give the path of a file of SQLite, a URL such as "
        "postgresql+psycopg://host/name, an engine of SQLAlchemy, or a function that gives a connection"
    )


def _of_file(path: str) -> Database:
    if path in ("", ":memory:"):
        raise UsageError(
            "a database in memory is gone as soon as its commands are done; give the path of a file, or a function "
            "that gives a connection"
        )

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(path, timeout=_WAIT, isolation_level=None)

    def begin(connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")  # others who would write wait here, and not halfway

    return Database(path, connect, "qmark", begin, path)


def _engine(url: str) -> Any:
    try:
        import sqlalchemy
    except ImportError:
        raise UsageError("a database by its URL needs SQLAlchemy: pip install 'sqlalchemy>=2.0,<3'") from None
    try:
        return sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    except (sqlalchemy.exc.ArgumentError, ImportError) as error:
        raise UsageError(f"the URL of the database cannot be used: {error}") from None


def _of_engine(engine: Any) -> Database:
    """An engine gives connections of its driver; what SQLAlchemy does besides is not needed."""
    name = engine.url.render_as_string(hide_password=True)
    if getattr(engine.dialect, "is_async", False):
        raise UsageError(f"{name} is asynchronous; give an engine of a driver that is not, such as psycopg")
    return Database(name, engine.raw_connection, engine.dialect.paramstyle)


def driven(connection: Connection) -> Connection:
    """The driver's own connection, where a pool stands before it."""
    return getattr(connection, "driver_connection", connection)


def begin_plainly(connection: Connection) -> None:
    """Begin a transaction: most drivers do so with the first command, others are told to."""
    begin = getattr(driven(connection), "begin", None)
    if callable(begin):
        begin()


def cursor_of(connection: Connection) -> Any:
    """What does the commands of a connection: a cursor, or the connection itself where a cursor is another connection.

    Commands of such a one, as DuckDB has them, would not belong to the transaction.
    """
    cursor = connection.cursor()
    return connection if type(cursor) is type(connection) else cursor


def is_sqlite(connection: Connection) -> bool:
    """Whether this is a connection of SQLite, which has few types."""
    return isinstance(driven(connection), sqlite3.Connection)
