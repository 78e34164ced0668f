"""Messages of Debezium for tests."""

from __future__ import annotations

import json
from typing import Any

ROME, OSLO = {"id": 1, "city": "Rome"}, {"id": 1, "city": "Oslo"}


def message(op: str, before: Any, after: Any, at: int = 1000, **more: Any) -> dict[str, Any]:
    """An envelope: a change of the table `customers` in transaction `t1`."""
    source = {"ts_ms": at, "table": "customers", "lsn": 5, **more.pop("source", {})}
    transaction = more.pop("transaction", {"id": "t1", "total_order": at, "data_collection_order": 1})
    return {
        "op": op,
        "before": before,
        "after": after,
        "source": source,
        "transaction": transaction,
        "ts_ms": at + 7,
        **more,
    }


MESSAGES = [
    message("r", None, ROME, 1000),
    message("c", None, ROME, 1000),
    message("u", ROME, OSLO, 2000),
    message("u", None, OSLO, 3000),
    message("d", OSLO, None, 4000),
]
CHANGES = [  # kind, milliseconds, id and city of new and old
    (0, 1000, (1, "Rome"), (None, None)),
    (0, 1000, (1, "Rome"), (None, None)),
    (1, 2000, (1, "Oslo"), (1, "Rome")),
    (1, 3000, (1, "Oslo"), (None, None)),
    (2, 4000, (None, None), (1, "Oslo")),
]

ROW_FIELDS = [
    {"type": "int32", "field": "id"},
    {"type": "string", "optional": True, "field": "city"},
]


def connect_schema(fields: list[dict[str, Any]]) -> dict[str, Any]:
    """The schema that stands beside the payload of a message."""
    row = {"type": "struct", "optional": True, "name": "Value", "fields": fields}
    source = {
        "type": "struct",
        "field": "source",
        "fields": [{"type": "int64", "field": "ts_ms"}, {"type": "int64", "field": "lsn"}],
    }
    return {
        "type": "struct",
        "name": "Envelope",
        "fields": [{**row, "field": "before"}, {**row, "field": "after"}, source, {"type": "string", "field": "op"}],
    }


def wrapped(messages: list[Any], fields: list[dict[str, Any]] | None = None) -> list[Any]:
    """Messages with their schema beside them."""
    schema = connect_schema(ROW_FIELDS if fields is None else fields)
    return [{"schema": schema, "payload": each} for each in messages]


def texts(messages: list[Any]) -> list[dict[str, Any]]:
    """Rows with messages as JSON; None is a tombstone."""
    return [{"value": None if each is None else json.dumps(each)} for each in messages]
