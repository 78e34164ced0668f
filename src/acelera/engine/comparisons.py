"""Tests that compare one column with constants: however many there are, a value is looked up among them by halves.

The constants cut the values of a column into stretches, in each of which the same tests hold.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.automata.terms import Attr, Const, Sql, Term
from acelera.engine.frames import column_of
from acelera.engine.predicates.arrow_expressions import ARROW
from acelera.engine.predicates.arrow_values import decoded
from acelera.engine.predicates.letters import over_columns
from acelera.language import ast
from acelera.language.lowering import UnsupportedError
from acelera.language.schema import Schema
from acelera.language.types import Kind

_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_HOLDS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_EXACT = 2**53
"""From here on, an integer need not be a float."""


@dataclass(frozen=True)
class Comparison:
    """A test that compares a column with a constant, or for equality with several; NULL and NaN satisfy none."""

    column: str
    operator: str
    constants: tuple[Any, ...]

    @property
    def constant(self) -> Any:
        """The only constant, where a test does not ask for equality."""
        (only,) = self.constants
        return only

    def holds(self, stretch: int, places: Mapping[Any, int]) -> bool:
        """Whether the values of a stretch satisfy it; constants have these places."""
        return any(_HOLDS[self.operator](stretch, places[constant]) for constant in self.constants)


def comparison_of(test: Term, schema: Schema) -> Comparison | None:
    """What a test compares, if it is a column with a constant: of texts, integers or floats, whose order is the same
    wherever they are compared.
    """
    if not isinstance(test, Sql) or not all(isinstance(term, Attr | Const) for _, term in test.leaves):
        return None
    try:
        return _compared(ARROW.lowered(over_columns(test)), schema)
    except UnsupportedError:
        return None


def _compared(node: ast.Expression, schema: Schema) -> Comparison | None:
    if isinstance(node, ast.Binary) and node.operator == "OR":
        return _one_of(node, schema)
    if not isinstance(node, ast.Binary) or node.operator not in _MIRRORED:
        return None
    left, right, sign = node.left, node.right, node.operator
    if isinstance(left, ast.Literal):
        left, right, sign = right, left, _MIRRORED[sign]
    if not isinstance(left, ast.Attribute) or not isinstance(right, ast.Literal):
        return None
    column, constant = column_of(left.name, schema), right.value
    if column is None or not _is_plain(constant, schema.columns[column].kind):
        return None
    return Comparison(column, sign, (constant,))


def _one_of(node: ast.Binary, schema: Schema) -> Comparison | None:
    """Several values of one column."""
    ways, todo = list[Comparison | None](), [node.right, node.left]
    while todo:
        way = todo.pop()
        if isinstance(way, ast.Binary) and way.operator == "OR":
            todo += [way.right, way.left]
        else:
            ways.append(_compared(way, schema))
    first, found = ways[0], dict[Any, None]()
    for each in ways:
        if first is None or each is None or each.operator != "=" or each.column != first.column:
            return None
        found |= dict.fromkeys(each.constants)
    return None if first is None else Comparison(first.column, "=", tuple(found))


def _is_plain(constant: object, kind: Kind) -> bool:
    if kind is Kind.STRING:
        return type(constant) is str
    if kind is Kind.INT:
        return type(constant) is int and abs(constant) < 2**63
    if kind is Kind.FLOAT:
        exact = type(constant) is int and abs(constant) < _EXACT
        return exact or (type(constant) is float and constant == constant)
    return False


def is_number(kind: pa.DataType) -> bool:
    """Whether numpy compares all numbers of a type as they are."""
    return pa.types.is_floating(kind) or (pa.types.is_integer(kind) and not pa.types.is_uint64(kind))


@dataclass(frozen=True)
class Stretches:
    """The constants of tests of one column, in order, and the bits of the tests that hold: for each stretch of values
    before, at, and behind a constant.
    """

    constants: tuple[Any, ...]
    bits: tuple[int, ...]

    @classmethod
    def of(cls, asked: Sequence[tuple[int, Comparison]]) -> Stretches:
        """The stretches of some tests, each with the bit that it sets."""
        constants = sorted({constant for _, each in asked for constant in each.constants})
        places = {constant: 2 * number + 1 for number, constant in enumerate(constants)}
        bits = tuple(
            sum(1 << bit for bit, each in asked if each.holds(stretch, places))
            for stretch in range(2 * len(constants) + 1)
        )
        return cls(tuple(constants), bits)

    def read(self, column: pa.Array[Any]) -> npt.NDArray[np.int64]:
        """The bits of the values of a column of numbers."""
        column = decoded(column)
        kind = np.float64 if pa.types.is_floating(column.type) else np.int64
        values = np.asarray(column.fill_null(0).to_numpy(zero_copy_only=False), kind)
        constants = np.array(self.constants, kind)
        places = np.searchsorted(constants, values)
        equal = constants[np.minimum(places, len(constants) - 1)] == values
        found = np.array(self.bits, np.int64)[2 * places + equal]
        unknown = pc.is_null(column, nan_is_null=kind is np.float64)
        if column.null_count or kind is np.float64:
            found[unknown.to_numpy(zero_copy_only=False)] = 0
        return np.asarray(found)
