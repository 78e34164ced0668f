"""Types of columns in SQL, and values brought from one type to another."""

from __future__ import annotations

from itertools import count

import pyarrow as pa
from sqlglot import exp

from acelera.algebra.sql.words import first_of, present_items, struct, struct_field, transformed, without_nulls

_PLAIN = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "TEXT",
    pa.large_string(): "TEXT",
    pa.binary(): "VARBINARY",
    pa.date32(): "DATE",
}


def sql_type(kind: pa.DataType) -> exp.DataType | None:
    """A type as SQL writes it; None for one that values are not cast to."""
    if kind in _PLAIN:
        return exp.DataType.build(_PLAIN[kind])
    if pa.types.is_decimal(kind):
        return exp.DataType.build(f"DECIMAL({kind.precision}, {kind.scale})")
    if pa.types.is_timestamp(kind) and kind.unit == "us":
        return exp.DataType.build("TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ", dialect="duckdb")
    if pa.types.is_list(kind):
        inner = sql_type(kind.value_type)
        return None if inner is None else exp.DataType(this=exp.DType.ARRAY, expressions=[inner], nested=True)
    if pa.types.is_struct(kind):
        fields = [(each.name, sql_type(each.type)) for each in kind]
        if any(inner is None for _, inner in fields):
            return None
        named = [exp.ColumnDef(this=exp.to_identifier(name, quoted=True), kind=inner) for name, inner in fields]
        return exp.DataType(this=exp.DType.STRUCT, expressions=named, nested=True)
    return None


def typed(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A value cast to a type, if SQL knows it."""
    wanted = sql_type(kind)
    return value if wanted is None else exp.Cast(this=value, to=wanted)


_numbers = count(1)


def conformed(value: exp.Expr, kind: pa.DataType, wanted: pa.DataType) -> exp.Expr:
    """A value of one type as one of another that has at least its fields."""
    if kind == wanted:
        return value
    if pa.types.is_list(wanted):
        if not pa.types.is_list(kind):
            item = conformed(value.copy(), kind, wanted.value_type)
            return first_of(value.is_(exp.null()), exp.null(), exp.array(item))
        name = f"_c{next(_numbers)}"
        return transformed(value, name, conformed(exp.column(name), kind.value_type, wanted.value_type))
    if pa.types.is_struct(wanted) and pa.types.is_struct(kind):
        own = {each.name: each.type for each in kind}
        pairs = [
            (
                each.name,
                conformed(struct_field(value.copy(), each.name), own[each.name], each.type)
                if each.name in own
                else typed(exp.null(), each.type),
            )
            for each in wanted
        ]
        return first_of(value.copy().is_(exp.null()), exp.null(), struct(pairs))
    return typed(value, wanted)


def normalized(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A value in which no list has gaps, and none is empty: what is missing is no child."""
    if not _has_lists(kind):
        return value
    if pa.types.is_list(kind):
        name = f"_c{next(_numbers)}"
        if _has_lists(kind.value_type):
            value = transformed(value, name, normalized(exp.column(name), kind.value_type))
        there = without_nulls(value)
        return first_of(present_items(value.copy()) > 0, there, exp.null())
    pairs = [(each.name, normalized(struct_field(value.copy(), each.name), each.type)) for each in kind]
    return first_of(value.copy().is_(exp.null()), exp.null(), struct(pairs))


def in_order(value: exp.Expr, kind: pa.DataType) -> exp.Expr:
    """A value to sort by: of structs field by field as in the type, one that is missing before one that is there."""
    if pa.types.is_list(kind) and _has_structs(kind):
        name = f"_c{next(_numbers)}"
        return transformed(value, name, in_order(exp.column(name), kind.value_type))
    if not pa.types.is_struct(kind):
        return value
    pairs = []
    for each in kind:
        inner = struct_field(value.copy(), each.name)
        there = exp.array(in_order(inner.copy(), each.type))
        pairs.append((each.name, first_of(inner.is_(exp.null()), exp.array(), there)))
    return first_of(value.copy().is_(exp.null()), exp.null(), struct(pairs))


def _has_structs(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind.value_type if pa.types.is_list(kind) else kind))


def _has_lists(kind: pa.DataType) -> bool:
    if pa.types.is_struct(kind):
        return any(_has_lists(each.type) for each in kind)
    return bool(pa.types.is_list(kind))
