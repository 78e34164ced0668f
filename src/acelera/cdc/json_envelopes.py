"""Debezium's messages as JSON texts, which become structs."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from acelera.cdc.connect_schemas import Columns, Described, of_connect
from acelera.cdc.json_values import array_of, inferred, settled
from acelera.cdc.layout import as_list
from acelera.cdc.message_tables import refuse_tables
from acelera.cdc.rows import Rows
from acelera.errors import AceleraWarning, DataError, SchemaError, did_you_mean, listing, outside
from acelera.programs.columns import plain_column

Message = Mapping[str, Any]

SIDES = ("before", "after")


@dataclass(frozen=True)
class JsonEnvelopes:
    """Decodes a column of texts. `row` are the columns of old and new values, `around` what else is read, by path.

    With a `table`, messages about others are left out. If columns were `asked` for by name, those that no message has
    are warned of.
    """

    column: str
    row: Columns
    around: Columns
    table: str | None = None
    asked: bool = False

    @property
    def struct(self) -> pa.DataType:
        """The type of what texts become."""
        row = pa.struct([pa.field(name, settled(kind)) for name, kind in self.row.items()])
        rest = {
            name: _struct({inner: settled(kind) for inner, kind in kinds.items()}) for name, kinds in self._groups()
        }
        return _struct({"before": row, "after": row, **rest})

    def _groups(self) -> list[tuple[str, Columns]]:
        """What stands around rows: for each outer name the inner ones; under no name itself."""
        found: dict[str, Columns] = {}
        for path, kind in self.around.items():
            outer, _, inner = path.partition(".")
            found.setdefault(outer, {})[inner] = kind
        return list(found.items())

    # --- in process ---------------------------------------------------------------------------------------------------

    def arrow(self, rows: Rows) -> Rows:
        """Rows whose texts are decoded."""
        messages = [each and _message(each) for each in decoded(rows, self.column)]
        refuse_tables(tables_of(messages), self.table, rows.whole)
        if self.table is not None:
            kept = np.array([each is None or _table(each) == self.table for each in messages], np.bool_)
            rows, messages = rows.take(kept), [each for each, keep in zip(messages, kept, strict=True) if keep]
        if self.asked and rows.whole:
            self._warn_of_absent(messages)
        place = rows.table.column_names.index(self.column)
        table = rows.table.set_column(place, self.column, self._structs(messages, rows))
        return replace(rows, table=table)

    def _warn_of_absent(self, messages: Sequence[Message | None]) -> None:
        found = [row for each in messages for side in SIDES if isinstance(row := _part(each, side), dict)]
        absent = [name for name in self.row if not any(name in row for row in found)]
        if found and absent:
            there = list(dict.fromkeys(name for row in found for name in row))
            for name in absent:
                warnings.warn(
                    f"schema=… has the column `{name}`, which is in no message, so it is NULL"
                    f"{did_you_mean(name, there)} (columns: {listing(there)})",
                    AceleraWarning,
                    stacklevel=outside(),
                )

    def _structs(self, messages: Sequence[Message | None], rows: Rows) -> pa.Array:
        values = {name: _array([_part(each, name) for each in messages], self.row, name, rows) for name in SIDES}
        for name, kinds in self._groups():
            parts = [_part(each, name) for each in messages]
            alone = kinds.get("")
            values[name] = array_of(parts, alone, name, rows) if alone else _array(parts, kinds, name, rows)
        return _joined(values, [each is None for each in messages])

    # --- on Spark -----------------------------------------------------------------------------------------------------

    def spark(self, frame: Any) -> Any:
        """A frame whose texts are decoded."""
        from acelera.cdc.spark_json import decoded_frame

        return decoded_frame(frame, self.column, self.row, dict(self._groups()), self.table)


def _struct(kinds: Mapping[str, pa.DataType]) -> pa.DataType:
    """A struct; a single type without a name is that type."""
    return kinds[""] if "" in kinds else pa.struct([pa.field(name, kind) for name, kind in kinds.items()])


def decoded(rows: Rows, column: str) -> list[Message | None]:
    """What the texts of a column say, whatever stands around it; None for tombstones."""
    texts = plain_column(rows.raw((column,)), pa.binary())
    try:
        found = texts.cast(pa.string()).to_pylist()
    except pa.ArrowException:
        found = [_text(each, place, rows) for place, each in enumerate(texts.to_pylist())]
    return [_decoded(text, place, rows) for place, text in enumerate(found)]


def _text(written: bytes | None, place: int, rows: Rows) -> str | None:
    try:
        return None if written is None else written.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{rows.called(place)}: this is no text in UTF-8: {error.object[:60]!r}") from None


def _decoded(text: str | None, place: int, rows: Rows) -> Message | None:
    if text is None:
        return None
    try:
        found = json.loads(text)
    except ValueError as error:
        why = f"{error.msg}, at character {error.pos + 1}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise DataError(f"{rows.called(place)}: this is no JSON ({why}): {text[:60]}") from None
    inner = found.get("payload", found) if isinstance(found, dict) else found
    if not (inner is None or isinstance(inner, dict)):
        raise DataError(f"{rows.called(place)}: this is no message of Debezium: {text[:60]}")
    return found if inner is not None else None


def _message(decoded: Message) -> Message:
    """A message without the schema beside it."""
    found: Message = decoded.get("payload", decoded)
    return found


def _part(message: Message | None, name: str) -> Any:
    return None if message is None else message.get(name)


def _table(message: Message) -> Any:
    source = message.get("source")
    return source.get("table") if isinstance(source, dict) else None


def tables_of(messages: Iterable[Message | None]) -> set[Any]:
    """The tables that messages are of, None for those that do not tell."""
    found = (_table(each) for each in messages if each is not None)
    return {each if isinstance(each, str) else None for each in found}


def _array(values: Sequence[Any], kinds: Columns, name: str, rows: Rows) -> pa.Array:
    """Structs of these columns."""
    for place, value in enumerate(values):
        if not (value is None or isinstance(value, dict)):
            raise DataError(f"{rows.called(place)}: `{name}` is {value!r}, but it holds the values of columns")
    arrays = {
        each: array_of([_part(value, each) for value in values], kind, f"{name}.{each}", rows)
        for each, kind in kinds.items()
    }
    return _joined(arrays, [value is None for value in values])


def _joined(arrays: Mapping[str, pa.Array], lacking: list[bool]) -> pa.Array:
    mask = pa.array(lacking, pa.bool_())
    fields = [pa.field(name, each.type) for name, each in arrays.items()]
    return pa.StructArray.from_arrays(list(arrays.values()), fields=fields, mask=mask)


# --- types ------------------------------------------------------------------------------------------------------------

KNOWN: Columns = {
    "op": pa.string(),
    "ts_ms": pa.int64(),
    "ts_us": pa.int64(),
    "source.ts_ms": pa.int64(),
    "source.ts_us": pa.int64(),
    "source.table": pa.string(),
    "source.lsn": pa.int64(),
    "source.file": pa.string(),
    "source.pos": pa.int64(),
    "source.row": pa.int64(),
    "source.change_lsn": pa.string(),
    "source.commit_lsn": pa.string(),
    "source.event_serial_no": pa.int64(),
    "transaction.id": pa.string(),
    "transaction.total_order": pa.int64(),
    "transaction.data_collection_order": pa.int64(),
}
"""What stands around rows in messages of all databases that have it."""


def envelopes(column: str, known: Described, around: Iterable[str], table: str | None, asked: bool) -> JsonEnvelopes:
    """How to decode a column of texts of which these types are known; `around` is what is read beside rows.

    Types were `asked` for by a user, or told by messages.
    """
    types = {**known.around, **KNOWN}
    for name in around:
        if name not in types or pa.types.is_nested(types[name]):
            raise SchemaError(
                f"the type of `{name}` in messages is not known{did_you_mean(name, types)}; give the schema of a "
                f"message with schema=…, or name another column{as_list(name, 'order_by')}"
            )
    return JsonEnvelopes(column, known.row, {name: types[name] for name in around}, table, asked)


def found_out(rows: Rows, column: str, around: Iterable[str], table: str | None) -> Described:
    """What messages say of their types: as Kafka Connect, if the first one does, otherwise by their values."""
    outer = [each for each in decoded(rows, column) if each is not None]
    refuse_tables(tables_of(map(_message, outer)), table, whole=True)
    outer = [each for each in outer if table in (None, _table(_message(each)))]
    if outer and isinstance(outer[0].get("schema"), dict):
        return of_connect(outer[0]["schema"])
    messages = [_message(each) for each in outer]
    values: dict[str, list[Any]] = {}
    for row in (message.get(side) for message in messages for side in SIDES):
        for name, value in row.items() if isinstance(row, dict) else ():
            values.setdefault(name, []).append(value)
    found = {name: inferred(_at(messages, name), name) for name in around if name not in KNOWN}
    told = {name: kind for name, kind in found.items() if not pa.types.is_null(kind)}
    return Described({name: inferred(each, name) for name, each in values.items()}, told)


def _at(messages: Iterable[Message], path: str) -> list[Any]:
    """What stands at a path of each message."""
    outer, _, inner = path.partition(".")
    parts = [message.get(outer) for message in messages]
    return [each.get(inner) if isinstance(each, dict) else None for each in parts] if inner else parts
