"""Tables of new rows, and tables of changes with the old row and the new one side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from acelera.cdc.layout import (
    CODES,
    DELETE,
    INSERT,
    UPDATE,
    Layout,
    Operations,
    Path,
    Side,
    attributes_of,
    clock,
    demand,
    fields_at,
    made_alike,
    orders_of,
    said,
)
from acelera.cdc.rows import held
from acelera.cdc.source import Source
from acelera.errors import SchemaError, did_you_mean, listing

_TIME = ("tells when a change happened", "Name it with time=…")
_WITHOUT = {"new": "all columns are values of the new row", "old": "there are no old values"}
_LACKING = "the columns that name and order transactions, or tell all operations apart"


def inserts(
    data: object, time: str = "ts", order_by: str | Sequence[str] | None = None, time_unit: str | None = None
) -> Source:
    """A source whose rows are each an insert: a table that only grows.

    data
        A table of any kind that queries take, a Spark frame, or columns alone: a schema, or a mapping of columns to
        types, for rows that come later.
    time
        The column that tells when a row was inserted: timestamps, dates or integers. All others are attributes.
    order_by
        The columns that name and order transactions, or tell operations apart; they stay attributes.
    time_unit
        What 1 is, if times are integers: `"us"`, `"ms"`, `"s"`, `"min"`, `"h"` or `"d"`. They are timestamps then.

    >>> from acelera import cdc
    >>> source = cdc.inserts([{"at": 90, "sensor": "s", "value": 20.5}], time="at", time_unit="s")
    >>> print(source.normalized()["#time"][0])
    1970-01-01 00:01:30+00:00
    """
    given = held(data)
    path = demand(given.schema, time, *_TIME)
    plain = _beside(given.schema, {path[0]})
    layout = Layout(
        attributes_of([plain]),
        new=Side({name: (name,) for name in plain}, (INSERT,)),
        old=None,
        clock=clock(given.schema, path, time_unit),
        orders=orders_of(given.schema, order_by),
        lacking=_LACKING,
    )
    return Source(layout, given)


def changes(
    data: object,
    op: str = "op",
    old: str | None = "old",
    new: str | None = "new",
    time: str = "ts",
    order_by: str | Sequence[str] | None = None,
    time_unit: str | None = None,
) -> Source:
    """A source whose rows are each a change: its kind, the old row and the new one.

    data, time, order_by, time_unit
        As those of `inserts`.
    op
        The column that tells the kind of change: `i`, `u`, `d`, or `insert`, `update`, `delete`, in any case.
    old, new
        A column of structs, or what the names of columns begin with, such as `old_` and `new_`. Columns beside them
        are attributes, too, the same before and after. Without old values, `old=None`, a deleted row stands among the
        new ones; if all columns are values of the new row, it is `new=None`, too.

    >>> from acelera import cdc
    >>> rows = [{"ts": 1, "op": "update", "id": "IBM", "old_price": 100, "new_price": 101}]
    >>> cdc.changes(rows).normalized().drop_columns(["#instant.0", "#time"]).to_pylist()
    [{'#kind': 1, 'new.price': 101, 'new.id': 'IBM', 'old.price': 100, 'old.id': 'IBM'}]
    """
    given = held(data)
    schema = given.schema
    if given.frame is None and old is not None and new is not None:
        schema = made_alike(schema, (old,), (new,))
    path = demand(schema, time, *_TIME)
    kind = demand(schema, op, "tells the kind of a change", "Name it with op=…")
    newer, older = (
        {} if each is None else _values(schema, each, option) for each, option in ((new, "new"), (old, "old"))
    )
    apart = {path[0], kind[0], old, new, *(place[0] for side in (newer, older) for place in side.values())}
    beside = _beside(schema, apart)
    _refuse_doubled(beside, {**newer, **older})
    plain: dict[str, Path] = {name: (name,) for name in beside}
    told = (UPDATE, DELETE) if older else (DELETE,)
    layout = Layout(
        attributes_of([*(_types(schema, side) for side in (newer, older)), beside]),
        new=Side({**newer, **plain}, (INSERT, UPDATE), *_demanded(schema, new, (INSERT, UPDATE))),
        old=Side({**(older or newer), **plain}, told, *_demanded(schema, old if older else new, (DELETE,))),
        clock=clock(schema, path, time_unit),
        orders=orders_of(schema, order_by),
        lacking=_LACKING,
        operations=Operations(kind, CODES, any_case=True),
    )
    return Source(layout, given)


def _beside(schema: pa.Schema, apart: set[str | None]) -> dict[str, pa.DataType]:
    """The columns that are attributes themselves."""
    return {name: kind for name, kind in fields_at(schema).items() if name not in apart}


def _values(schema: pa.Schema, name: str, option: str) -> dict[str, Path]:
    """Where the old or the new values stand: in a struct, or in columns whose names begin alike."""
    columns = fields_at(schema)
    if name in columns:
        return _fields(schema, name, option)
    prefix = f"{name}_" if name[-1:].isalnum() else name
    found: dict[str, Path] = {each.removeprefix(prefix): (each,) for each in columns if each.startswith(prefix)}
    if name and found:
        return found
    near = did_you_mean(name, columns) or f" (columns: {listing(columns)})."
    raise SchemaError(
        f"there is no column `{name}` of structs, and none whose name begins with `{prefix}`, for the {option} values"
        f"{near} Name them with {option}=…, or say {option}=None if {_WITHOUT[option]}"
    )


def _fields(schema: pa.Schema, name: str, option: str) -> dict[str, Path]:
    kind = fields_at(schema)[name]
    if not (pa.types.is_struct(kind) or pa.types.is_null(kind)):
        raise SchemaError(
            f"the column `{name}` is {kind}, but the {option} values are a struct, or columns whose names begin alike; "
            f"name them with {option}=…"
        )
    return {field: (name, field) for field in fields_at(schema, (name,))}


def _demanded(schema: pa.Schema, name: str | None, kinds: tuple[int, ...]) -> tuple[Path | None, tuple[int, ...]]:
    """The struct of a side, and the kinds of changes that must have it; columns that tell it may be NULL."""
    return (None, ()) if name is None or name not in fields_at(schema) else ((name,), kinds)


def _types(schema: pa.Schema, side: dict[str, Path]) -> dict[str, pa.DataType]:
    return {name: fields_at(schema, path[:-1])[path[-1]] for name, path in side.items()}


def _refuse_doubled(beside: dict[str, pa.DataType], sides: dict[str, Path]) -> None:
    for name in beside:
        if name in sides:
            other = said(sides[name])
            raise SchemaError(
                f"the attribute `{name}` stands in a column of its own and in `{other}`; drop one of them"
            )
