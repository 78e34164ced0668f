"""A process that acts, and one that kills it at random moments: in the end each row must be there exactly once.

`python killing.py DATABASE ROWS` is the process that acts: it does the rows from the first one, again and again.
"""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import acting

from acelera.trepl.actions.performing import Actions

SLOWNESS = 0.001
"""Seconds that a command takes at least, so that there are moments to be killed at."""
ROWS_A_KILL = 150

COMMANDS = (acting.CREATE, "create table total (n integer)", "insert into total values (0)")
"""What the database holds before."""


class Slow:
    """A connection whose commands take their time."""

    def __init__(self, connection: Any) -> None:
        self.driver_connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self.driver_connection, name)

    def cursor(self) -> SlowCursor:
        return SlowCursor(self.driver_connection.cursor())


class SlowCursor:
    def __init__(self, cursor: Any) -> None:
        self.cursor = cursor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.cursor, name)

    def execute(self, *given: Any) -> None:
        tell_once()
        time.sleep(SLOWNESS)
        self.cursor.execute(*given)


@cache
def tell_once() -> None:
    """The first command is about to be done."""
    print("ready", flush=True)


def connect(where: str) -> Any:
    """A file of SQLite, or a server of PostgreSQL."""
    if "host=" not in where:
        return Slow(sqlite3.connect(where))
    import psycopg

    return Slow(psycopg.connect(where))


def act(where: str, rows: int) -> None:
    """Insert rows, and add them up: the first would show what is missing, the second what is done twice."""
    both = acting.program([acting.sql(), acting.sql("update total set n = n + ?", 1)])
    table = acting.numbered(rows)
    style = "pyformat" if "host=" in where else "qmark"
    actions = Actions(both, "killed", database=lambda: connect(where), paramstyle=style, rows_at_once=7)
    done = actions.do({("Main", "A", 0): table, ("Main", "A", 1): table.drop_columns(["arg2"])})
    print(done.before, flush=True)


def start(where: str, rows: int) -> subprocess.Popen[str]:
    child = subprocess.Popen([sys.executable, __file__, where, str(rows)], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "ready\n"
    return child


def survive(where: str, kills: int, chance: random.Random) -> int:
    """Kill so many processes, and let the last one end. How many rows there are; those before it must have done some."""
    rows = kills * ROWS_A_KILL
    for _ in range(kills):
        child = start(where, rows)
        time.sleep(chance.uniform(0, ROWS_A_KILL * SLOWNESS))
        child.send_signal(signal.SIGKILL)
        child.communicate()
        assert child.returncode == -signal.SIGKILL, "it ended before it was killed"
    last = start(where, rows)
    told, _ = last.communicate()
    assert last.returncode == 0
    assert 0 < int(told) < 2 * rows, "no kill struck halfway"
    return rows


if __name__ == "__main__":
    act(sys.argv[1], int(sys.argv[2]))
