"""Transactions that are tried again: when others are in the way, and when the connection is lost.

To try again is safe, even if it is not known whether a transaction was committed: each looks first what is done.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

from acelera.errors import AceleraError
from acelera.trepl.actions.action_errors import ActionError, LedgerConflictError
from acelera.trepl.actions.databases import Connection, Database, cursor_of, is_sqlite
from acelera.trepl.actions.parameters import for_sqlite
from acelera.trepl.actions.placeholders import statement

T = TypeVar("T")

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
"""Seconds between one try and the next: each time twice as many."""


class Transaction:
    """Commands with `?` for their parameters, within one transaction."""

    def __init__(self, connection: Connection, style: str) -> None:
        self._cursor = cursor_of(connection)
        self._style = style
        self._convert: Callable[[Any], Any] | None = for_sqlite if is_sqlite(connection) else None

    def do(self, text: str, values: Sequence[Any] = ()) -> list[Any]:
        """Do a command; if it gives rows, these."""
        said = statement(text, self._style)
        if values:
            self._cursor.execute(said.text, said.bound(self._converted(values)))
        else:
            self._cursor.execute(said.text)
        return list(self._cursor.fetchall()) if self._cursor.description else []

    def do_all(self, text: str, rows: Iterable[Sequence[Any]]) -> None:
        """Do a command for each of several rows of values."""
        said = statement(text, self._style)
        self._cursor.executemany(said.text, [said.bound(self._converted(row)) for row in rows])

    def _converted(self, values: Sequence[Any]) -> Sequence[Any]:
        return values if self._convert is None else [self._convert(value) for value in values]


class Transactions:
    """One transaction after the other over a connection, which is made when it is needed, and anew when it is lost."""

    def __init__(self, database: Database, attempts: int) -> None:
        self._database = database
        self._attempts = attempts
        self._connection: Connection | None = None

    def __enter__(self) -> Transactions:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_up()

    def run(self, work: Callable[[Transaction], T]) -> T:
        """What a piece of work gives, after what it did is committed; it may be run more than once."""
        for number in range(1, self._attempts + 1):
            try:
                return self._once(work)
            except AceleraError as error:
                if error.__cause__ is None or not transient(error.__cause__) or number == self._attempts:
                    raise
            except Exception as error:
                if not transient(error) or number == self._attempts:
                    raise ActionError(self._failure(error, number)) from error
            time.sleep(_pause(number))
        raise AssertionError("the last attempt returns or raises")

    def _once(self, work: Callable[[Transaction], T]) -> T:
        try:
            if self._connection is None:
                self._connection = self._database.connect()
            self._database.begin(self._connection)
            given = work(Transaction(self._connection, self._database.style_of(self._connection)))
            self._connection.commit()
        except BaseException:
            self._give_up()
            raise
        return given

    def _give_up(self) -> None:
        """Undo what is not committed, and let go of the connection, of which nobody knows in which state it is."""
        connection, self._connection = self._connection, None
        for end in ("rollback", "close"):
            with suppress(Exception):
                getattr(connection, end)()

    def _failure(self, error: Exception, attempts: int) -> str:
        times = f", {attempts} times" if attempts > 1 else ""
        return (
            f"the database {self._database.name} fails{times}: {type(error).__name__}: {error}\n  What was "
            "committed before stays done; do the same rows again when it can be used, and the rest will follow"
        )


def _pause(number: int) -> float:
    """Seconds to wait after so many attempts; not the same for two who stand in each other's way."""
    return min(_LONGEST_PAUSE, _SHORTEST_PAUSE * 2.0 ** (number - 1)) * random.uniform(0.5, 1.0)


# --- which failures pass --------------------------------------------------------------------------------------------

_PASSING_STATES = ("08", "40", "55P03", "57P01", "57P02", "57P03", "53300")
"""How codes of SQL begin for lost connections, conflicts of transactions, locks, and servers that restart."""
_BUSY = (5, 6)
"""What SQLite calls busy and locked."""
_PASSING_NUMBERS = (1205, 1213, 2006, 2013, 2055)
"""What MySQL calls timeouts of locks, deadlocks and lost connections."""


def transient(error: BaseException) -> bool:
    """Whether to try again may help: others were in the way, or the connection was lost."""
    error = getattr(error, "orig", None) or error  # which SQLAlchemy wraps
    if isinstance(error, LedgerConflictError | ConnectionError | TimeoutError):
        return True
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)  # since Python 3.11
        return code & 0xFF in _BUSY if code is not None else "locked" in str(error)
    state = getattr(error, "sqlstate", None) or getattr(error, "pgcode", None)
    if isinstance(state, str):
        return state.startswith(_PASSING_STATES)
    number = error.args[0] if error.args else None
    if isinstance(number, int):
        return number in _PASSING_NUMBERS
    return is_a(error, "OperationalError", "InterfaceError")  # without a code: the driver's own, of its connection


def is_a(error: BaseException, *names: str) -> bool:
    """Whether an error is of a class of DB-API, which each driver has of its own."""
    return any(kind.__name__ in names for kind in type(error).__mro__)
