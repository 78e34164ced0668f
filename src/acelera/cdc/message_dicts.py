"""Debezium's messages as dicts, which tell more than the table that is made of them: which columns each of them has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from acelera.cdc.json_envelopes import SIDES, tables_of
from acelera.cdc.layout import Path
from acelera.cdc.message_tables import refuse_tables

Row = Mapping[str, Any]


def roots(value: str) -> tuple[Path, ...]:
    """Where messages may stand in rows."""
    return (), ("payload",), (value,), (value, "payload")


def of_one_table(rows: object, table: str | None, value: str, columns: Sequence[str] | None = None) -> object:
    """Dicts in which messages of other tables have no columns, so that these are not taken for those of the table.

    None is a message without a value. What is no list is as it was. Where `columns` are known, others have come before.
    """
    if not isinstance(rows, list | tuple):
        return rows
    rows = [dict.fromkeys(columns or ()) if row is None else row for row in rows]
    if table is None:
        return rows
    found = [_message(row, value) for row in rows]
    refuse_tables(tables_of(message for _, message in found), table, whole=columns is None)
    return [
        row if message is None or tables_of([message]) == {table} else _without_columns(row, root)
        for row, (root, message) in zip(rows, found, strict=True)
    ]


def _message(row: object, value: str) -> tuple[Path, Row | None]:
    """Where the message of a row stands, and the message; None if there is none."""
    for root in roots(value):
        found = row
        for name in root:
            found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping) and "op" in found:
            return root, found
    return (), None


def _without_columns(row: Row, root: Path) -> Row:
    if not root:
        return {**row, **dict.fromkeys(SIDES)}
    return {**row, root[0]: _without_columns(row[root[0]], root[1:])}
