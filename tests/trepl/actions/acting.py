"""Programs whose rules act, and tables of what they fired, without anything that matches."""

from __future__ import annotations

import datetime
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from acelera.language.ast import Literal
from acelera.language.types import from_arrow
from acelera.trepl import ast, resolved
from acelera.trepl.actions.action_rows import Place

START = datetime.datetime(2024, 1, 1)
INSERT = "insert into t (n, name) values (?, ?)"
CREATE = "create table t (n integer, name varchar(50))"


def program(*rules: Sequence[Any], partition: tuple[str, ...] = (), module: str = "Main") -> resolved.Program:
    """A program of one module with rules A, B, …, each a list of actions."""
    relation = resolved.Relation({name: from_arrow(pa.string()) for name in partition})
    universe = (resolved.EventType("insert", "orders"),)
    named = [
        resolved.Rule(chr(65 + number), ast.Any(), tuple(each), ((),) * len(each)) for number, each in enumerate(rules)
    ]
    made = resolved.Module(module, universe, partition, {}, tuple(named), ((0,),))
    return resolved.Program((made,), {"orders": relation}, from_arrow(pa.timestamp("us")))


def sql(text: str = INSERT, arguments: int = 2) -> resolved.Sql:
    return resolved.Sql(text, (Literal(0),) * arguments)


def call(name: str = "f") -> resolved.CallFunction:
    return resolved.CallFunction(name, (Literal(0),))


def write(form: str | None = None) -> resolved.Write:
    return resolved.Write(form, (Literal(0),))


def table(rows: Sequence[Sequence[Any]], key: Sequence[Any] | None = None) -> pa.Table:
    """What an action fired: for each row the second at which it did so, and its arguments."""
    seconds = [START + datetime.timedelta(seconds=row[0]) for row in rows]
    columns: dict[str, Any] = {} if key is None else {"#key.k": pa.array(key)}
    columns |= {
        "#stage": pa.array([row[0] for row in rows]),
        "#instant.0": pa.array(seconds),
        "#time": pa.array(seconds),
    }
    for number in range(1, len(rows[0])):
        columns[f"arg{number}"] = pa.array([row[number] for row in rows])
    return pa.table(columns)


def numbered(count: int, first: int = 0) -> pa.Table:
    """Rows with a number and a name, one a stage."""
    return table([(number, number, f"row {number}") for number in range(first, first + count)])


MAIN: Place = ("Main", "A", 0)


def sqlite_with(path: Path, *commands: str) -> Path:
    connection = sqlite3.connect(path)
    with connection:
        for command in commands:
            connection.execute(command)
    connection.close()
    return path


def content(path: Path, query: str = "select n, name from t order by rowid") -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(query).fetchall()
    connection.close()
    return found
