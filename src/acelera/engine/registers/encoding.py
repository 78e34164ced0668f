"""Attributes as the numbers that registers hold, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.automata.terms import Attr, Sql
from acelera.engine.frames import Frame
from acelera.engine.predicates.letters import over_columns
from acelera.engine.registers.code import Input
from acelera.language import ast
from acelera.language.evaluation import constant, evaluate
from acelera.language.events import Value
from acelera.language.types import Kind

Ints = npt.NDArray[Any]


def input_column(given: Input, frame: Frame) -> Any:
    """An attribute, or an expression over attributes, evaluated once for each combination of their values."""
    if isinstance(given.term, Attr):
        return frame[given.term.name]
    assert isinstance(given.term, Sql)
    expression = over_columns(given.term)
    names = list(dict.fromkeys(node.name for node in ast.walk(expression) if isinstance(node, ast.Attribute)))
    known: dict[tuple[Value, ...], Value] = {}
    values = []
    for row in zip(*(frame.plain(name) for name in names), strict=True):
        if row not in known:
            bound = dict(zip(names, row, strict=True))
            known[row] = evaluate(expression, lambda node, bound=bound: bound[node.name])  # type: ignore[misc]
        values.append(known[row])
    kinds = {Kind.FLOAT: pa.float64(), Kind.STRING: pa.string(), Kind.BOOL: pa.bool_(), Kind.DATE: pa.int32()}
    return pa.array(values if names else [constant(expression)] * len(frame), kinds.get(given.kind, pa.int64()))


def scaled(column: Any) -> Ints:
    """Decimals that fit into 64 bits as integers of their scale."""
    column = column.cast(pa.decimal128(38, column.type.scale)).fill_null(0)
    halves = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)
    return halves[column.offset : column.offset + len(column), 0]


def decimals(values: Ints, missing: Ints, scale: int) -> Any:
    """The decimals that integers of a scale stand for."""
    halves = np.stack((values, values >> 63), axis=1)
    valid = pa.array(~missing).buffers()[1]
    return pa.Array.from_buffers(pa.decimal128(38, scale), len(values), [valid, pa.py_buffer(halves)])


def time_type(kind: pa.DataType, unit: str) -> pa.DataType:
    """The type of times like this in a unit."""
    return pa.duration(unit) if pa.types.is_duration(kind) else pa.timestamp(unit, kind.tz)
