"""Connections that are lost at a certain step: before it is taken, or after it is, so that nobody hears of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class LostError(Exception):
    """Called as drivers call it, and so tried again."""


OperationalError = type("OperationalError", (LostError,), {})


class BrokenError(LostError):
    """Nothing that a driver would say, and so not tried again."""


class Faults:
    """A connection factory that counts steps: connections, statements and commits. The steps of `at` fail.

    With `after`, a step is taken before it fails.
    """

    def __init__(
        self,
        connect: Callable[[], Any],
        at: Sequence[int] = (),
        after: bool = False,
        error: type[Exception] = BrokenError,
    ) -> None:
        self._connect, self._at, self._after, self._error = connect, at, after, error
        self.steps = 0

    def __call__(self) -> Any:
        return self.step(lambda: Connection(self, self._connect()), lambda: None)

    def step(self, take: Callable[[], Any], lose: Callable[[], None]) -> Any:
        """Take a step, or fail; what is lost is not used again."""
        self.steps += 1
        fails = self.steps in self._at
        taken = take() if self._after or not fails else None
        if fails:
            lose()
            raise self._error(f"lost at step {self.steps}")
        return taken


class Connection:
    def __init__(self, faults: Faults, connection: Any) -> None:
        self.faults, self.driver_connection = faults, connection

    def cursor(self) -> Cursor:
        return Cursor(self, self.driver_connection.cursor())

    def commit(self) -> None:
        self.faults.step(self.driver_connection.commit, self.driver_connection.close)

    def rollback(self) -> None:
        self.driver_connection.rollback()

    def close(self) -> None:
        self.driver_connection.close()


class Cursor:
    def __init__(self, connection: Connection, cursor: Any) -> None:
        self._connection, self._cursor = connection, cursor

    def execute(self, *given: Any) -> None:
        self._connection.faults.step(lambda: self._cursor.execute(*given), self._connection.close)

    def executemany(self, *given: Any) -> None:
        self._connection.faults.step(lambda: self._cursor.executemany(*given), self._connection.close)

    def fetchall(self) -> Any:
        return self._cursor.fetchall()

    @property
    def description(self) -> Any:
        return self._cursor.description
