"""Debezium's messages: an envelope with the row before a change and the row after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path as FilePath

import pyarrow as pa

from acelera.cdc.connect_schemas import described
from acelera.cdc.json_envelopes import JsonEnvelopes, envelopes, found_out
from acelera.cdc.layout import (
    DELETE,
    INSERT,
    SKIPPED,
    UPDATE,
    Layout,
    Operations,
    Path,
    Side,
    attributes_of,
    clock,
    demand,
    fields_at,
    find,
    made_alike,
    ordering,
    orders_of,
    type_at,
)
from acelera.cdc.message_dicts import of_one_table, roots
from acelera.cdc.message_files import messages_in
from acelera.cdc.rows import Held, held, rows_of
from acelera.cdc.source import Source
from acelera.errors import SchemaError, UsageError, listing
from acelera.programs.columns import plain
from acelera.tables import to_arrow

_CHOICES = {"snapshot": ("insert", "skip"), "truncate": ("error", "skip"), "tombstones": ("error", "skip")}
_ORDERS = {"transaction": ("transaction.id",), "operation": ("transaction.id", "transaction.total_order")}
"""What orders changes of one time."""
_TABLE = "source.table"
_UNITS = {"ts_ms": "ms", "ts_us": "us"}
_LACKING = (
    "these messages have no `transaction` that names transactions; have Debezium tell it "
    "(provide.transaction.metadata), or name other columns"
)


def debezium(
    data: object,
    snapshot: str = "insert",
    truncate: str = "error",
    tombstones: str = "error",
    time: str = "source.ts_ms",
    order_by: str | Sequence[str] | None = None,
    table: str | None = None,
    schema: object = None,
    value: str = "value",
) -> Source:
    """A source from messages of Debezium, with or without a schema beside the payload.

    data
        Messages as columns (`before`, `after`, `op`, `source` …), or as JSON texts in a column: a table of any kind
        that queries take, a Spark frame, columns alone, or the name of a file, packed or not, with a message a line.
    snapshot
        Rows that were there when Debezium began to read (`r`) are `"insert"`s, or one can `"skip"` them.
    truncate, tombstones
        That a table was emptied (`t`), and messages without a value, are an `"error"`, or one can `"skip"` them.
    time
        When a change happened.
    order_by
        What orders changes: `source.ts_ms` and `transaction.id` for transactions, and `transaction.total_order` for
        single operations, if nothing else is said. Columns beside the messages, such as `offset`, can be named, too.
    table
        The table whose changes these are; it must be said where messages are of several.
    schema
        The types of the table's columns, for JSON: a mapping of columns to types, a pyarrow schema, or the schema of a
        message. Without it they are those that the first message tells, or, in this process, those of the values.
    value
        The column of JSON texts.

    >>> from acelera import cdc
    >>> message = '{"op": "u", "before": {"id": 1, "city": "Rome"}, "after": {"id": 1, "city": "Oslo"}, '
    >>> message += '"source": {"ts_ms": 0}}'
    >>> cdc.debezium([{"value": message}]).normalized().select(["#kind", "new.city", "old.city"]).to_pylist()
    [{'#kind': 1, 'new.city': 'Oslo', 'old.city': 'Rome'}]
    """
    asked = {"snapshot": snapshot, "truncate": truncate, "tombstones": tombstones}
    for option, choice in asked.items():
        if choice not in _CHOICES[option]:
            known = ", ".join(map(repr, _CHOICES[option]))
            raise UsageError(f"{option}={choice!r} is not known; it is one of {known}")
    given = data if isinstance(data, Held) else _given(data, value, table, schema)
    root = _root(given.schema, value)
    if root is not None:
        if schema is not None:
            raise UsageError("schema=… is for messages as JSON texts; here the columns tell their types themselves")
        sides = [(*root, name) for name in ("before", "after")]
        columns = given.schema if given.frame is not None else made_alike(given.schema, *sides)
        found = Messages(columns, root, time, order_by, table)
        return Source(found.layout(asked), given)
    beside = [name for name in given.schema.names if name != value]
    given, decoding = _decoding(given, value, _around(time, order_by, beside), table, schema)
    place = given.schema.names.index(value)
    found = Messages(given.schema.set(place, pa.field(value, decoding.struct)), (value,), time, order_by, None)
    return Source(found.layout(asked), given, decoding)


def _given(data: object, value: str, table: str | None, schema: object) -> Held:
    """What holds messages; in those of dicts, only the table has columns."""
    if isinstance(data, str | FilePath):
        return messages_in([data], value, needed=schema is None)
    found = held(of_one_table(data, table, value))
    names = found.schema.names
    return replace(found, prepared=lambda batch: of_one_table(batch, table, value, names))


def _root(schema: pa.Schema, value: str) -> Path | None:
    """Where messages stand as columns; None if they are JSON texts."""
    for root in roots(value):
        fields = fields_at(schema, root)
        if "op" in fields and ("before" in fields or "after" in fields):
            return root
    kind = plain(schema.field(value).type) if value in schema.names else None
    if kind in (pa.string(), pa.binary()):
        return None
    raise SchemaError(
        f"these are no messages of Debezium: their columns ({listing(schema.names)}) are neither `op`, `before` and "
        f"`after`, nor a column `{value}` of JSON texts. Name that with value=…; or did you mean cdc.changes, or "
        "cdc.inserts?"
    )


@dataclass(frozen=True)
class Messages:
    """Messages as columns, where they stand, and what a user says of them."""

    schema: pa.Schema
    root: Path
    time: str
    order_by: str | Sequence[str] | None
    table: str | None

    def layout(self, asked: dict[str, str]) -> Layout:
        """Where the parts of changes stand."""
        roots = (self.root, ())
        when = demand(self.schema, self.time, "tells when a change happened", "Name it with time=…", roots)
        sides = {name: fields_at(self.schema, (*self.root, name)) for name in ("after", "before")}
        if not any(sides.values()):
            raise SchemaError("neither `before` nor `after` has columns, so those of the table are not known")
        paths = {side: {name: (*self.root, side, name) for name in fields} for side, fields in sides.items()}
        integer = pa.types.is_integer(type_at(self.schema, when))
        return Layout(
            attributes_of(list(sides.values())),
            new=Side(paths["after"], (INSERT, UPDATE), self._row("after"), (INSERT, UPDATE)),
            old=Side(
                paths["before"], (UPDATE, DELETE) if sides["before"] else (DELETE,), self._row("before"), (DELETE,)
            ),
            clock=clock(self.schema, when, _UNITS.get(when[-1]) if integer else None),
            orders=orders_of(self.schema, self.order_by, roots) or self._orders(),
            lacking=_LACKING,
            operations=self._operations(asked),
            tables=self._tables(),
            table=self.table,
        )

    def _row(self, side: str) -> Path | None:
        """Where the old or the new row stands."""
        return find(self.schema, side, self.root)

    def _orders(self) -> dict[str, dict[Path, pa.DataType]]:
        """The instants of transactions and operations, as far as messages tell them."""
        found = {}
        for granularity, names in _ORDERS.items():
            if all(find(self.schema, name, self.root) for name in names):
                found[granularity] = ordering(self.schema, [self.time, *names], (self.root, ()))
        return found

    def _operations(self, asked: dict[str, str]) -> Operations:
        kinds = {"c": INSERT, "u": UPDATE, "d": DELETE, "r": INSERT if asked["snapshot"] == "insert" else SKIPPED}
        refused = {"t": "which says that the table was emptied; pass truncate='skip' to leave that out"}
        if asked["truncate"] == "skip":
            kinds, refused = {**kinds, "t": SKIPPED}, {}
        fields = fields_at(self.schema, self.root)
        sides = tuple((*self.root, name) for name in ("before", "after") if name in fields)
        return Operations(
            (*self.root, "op"),
            kinds,
            refused,
            values=(self.root,) if self.root else sides,
            tombstones=SKIPPED if asked["tombstones"] == "skip" else None,
        )

    def _tables(self) -> Path | None:
        """Where messages tell their table; if nobody asks for one, they need not."""
        if self.table is not None:
            return demand(self.schema, _TABLE, "names the table of a change", "Leave table=… out", (self.root,))
        path = find(self.schema, _TABLE, self.root)
        return path if path is not None and type_at(self.schema, path) == pa.string() else None


# --- JSON -------------------------------------------------------------------------------------------------------------


def _around(time: str, order_by: str | Sequence[str] | None, beside: Sequence[str]) -> list[str]:
    """What is read of messages beside rows."""
    orders = _ORDERS["operation"] if order_by is None else [order_by] if isinstance(order_by, str) else order_by
    return [name for name in dict.fromkeys(("op", time, *orders)) if name not in beside]


def _decoding(
    given: Held, value: str, around: Sequence[str], table: str | None, schema: object
) -> tuple[Held, JsonEnvelopes]:
    """How texts are decoded. To find out what is in them, those in this process are all read."""
    if schema is not None:
        return given, envelopes(value, described(schema), around, table, asked=True)
    if given.frame is not None:
        from acelera.cdc.spark_json import told_types

        return given, envelopes(value, told_types(given.frame, value, table), around, table, asked=False)
    if given.tables is None:
        raise SchemaError("from a column of JSON texts alone nothing is known of the table; give schema=…")
    given = given if given.whole else held(pa.concat_tables(map(to_arrow, given.tables())))
    assert given.tables is not None
    rows = replace(rows_of(next(given.tables()), given.schema), named=given.named)
    return given, envelopes(value, found_out(rows, value, around, table), around, table, asked=False)
