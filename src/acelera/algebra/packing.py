"""Tables and what goes with them as bytes, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_STATE = b"state"


def packed(state: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> bytes:
    """One row for each table; what goes with them is in the schema."""
    names = pa.array(list(tables), pa.string())
    contents = pa.array([_to_bytes(each) for each in tables.values()], pa.large_binary())
    schema = pa.schema({"name": pa.string(), "content": pa.large_binary()}, {_STATE: json.dumps(state).encode()})
    return _to_bytes(pa.table([names, contents], schema=schema))


def unpacked(data: bytes) -> tuple[dict[str, Any], dict[str, pa.Table]]:
    """What was packed."""
    whole = _from_bytes(data)
    rows = zip(whole.column("name"), whole.column("content"), strict=True)
    tables = {name.as_py(): _from_bytes(content.as_buffer()) for name, content in rows}
    return json.loads(whole.schema.metadata[_STATE]), tables


def _to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _from_bytes(data: bytes | pa.Buffer) -> pa.Table:
    return pa.ipc.open_stream(data).read_all()
