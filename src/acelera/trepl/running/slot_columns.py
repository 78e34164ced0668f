"""What machines read of events, computed for whole tables: attributes, times and their parts, and expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from acelera.cdc.layout import KIND, NEW, OLD, TIME
from acelera.cdc.time_parts import part
from acelera.engine.predicates.masks import predicate_mask
from acelera.language import ast
from acelera.language.ast import Expression
from acelera.language.evaluation import evaluate
from acelera.language.expressions import FUNCTIONS
from acelera.language.tree import children, fold, rebuilt, walk
from acelera.language.types import Type, from_arrow
from acelera.tables import leaves, plain_values
from acelera.trepl.resolved import Field, Part, Stamp
from acelera.trepl.running.ordering import fitting
from acelera.trepl.time_functions import Functions
from acelera.trepl.translation.typing import HOLDS

DELETE = 2

Column = Any
"""An Arrow array, in one piece."""


class SlotColumns:
    """The columns of a table of events, and what is computed of them."""

    def __init__(self, table: pa.Table, zone: str, functions: Functions) -> None:
        self._table, self._zone, self._functions = table, zone, functions
        self._known: dict[Expression, Column] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def column(self, expression: Expression, kind: Type) -> Column:
        """The values of an expression over events."""
        if expression not in self._known:
            self._known[expression] = self._computed(expression, kind)
        return self._known[expression]

    def attribute(self, name: str) -> Column:
        """An attribute of the row as it is now; of a deleted one, as it was."""
        new = self._plain(NEW + name)
        if KIND not in self._table.column_names or OLD + name not in self._table.column_names:
            return new
        deleted = pc.equal(self._plain(KIND), DELETE)
        return pc.if_else(deleted, self._plain(OLD + name), new) if pc.any(deleted).as_py() else new

    def _plain(self, name: str) -> Column:
        column = self._table.column(name).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column

    def _computed(self, expression: Expression, kind: Type) -> Column:
        match expression:
            case Field(_, side, attribute):
                name = (NEW if side == "new" else OLD) + attribute
                known = name in self._table.column_names
                return self._plain(name) if known else pa.nulls(len(self), kind.arrow)
            case Stamp():
                return self._plain(TIME)
            case Part(_, name, moved) if moved is None or isinstance(moved, ast.Literal):
                by = 0 if moved is None else moved.value
                assert isinstance(by, int)
                return part(self._plain(TIME), name, self._zone, by)
        return self._of_terms(expression, kind)

    def _of_terms(self, expression: Expression, kind: Type) -> Column:
        """An expression over terms: a condition by Arrow as far as it can, all else value by value."""
        terms: dict[Expression, str] = {}

        def combine(node: Expression, inner: Sequence[Expression]) -> Expression:
            if isinstance(node, Field | Stamp | Part):
                return ast.Attribute(None, terms.setdefault(node, str(len(terms))))
            return rebuilt(node, inner)

        made = fold(expression, combine, lambda node: () if isinstance(node, Field | Stamp | Part) else children(node))
        columns = {name: self.column(term, _UNKNOWN) for term, name in terms.items()}
        types = {name: from_arrow(column.type) for name, column in columns.items()}
        if isinstance(made, ast.Call) and made.function == HOLDS:
            (condition,) = made.arguments
            if all(node.function in FUNCTIONS for node in walk(condition) if isinstance(node, ast.Call)):
                return pa.array(predicate_mask(condition, types)(columns, len(self)))
        return _by_value(made, columns, len(self), kind, self._functions)


_UNKNOWN = from_arrow(pa.null())


def computed(expression: Expression, columns: Sequence[Column], rows: int, kind: Type, functions: Functions) -> Column:
    """An expression over columns, which are called by their numbers."""
    if isinstance(expression, ast.Attribute):
        return fitting(columns[int(expression.name)], kind.arrow)
    return _by_value(expression, {str(number): each for number, each in enumerate(columns)}, rows, kind, functions)


def _by_value(
    expression: Expression, columns: Mapping[str, Column], rows: int, kind: Type, functions: Functions
) -> Column:
    """Once for each combination of values."""
    names = {node.name for node in walk(expression) if isinstance(node, ast.Attribute)}
    used = {name: plain_values(columns[name], from_arrow(columns[name].type)) for name in sorted(names)}
    known: dict[tuple[Any, ...], Any] = {}
    values = []
    for row in zip(*used.values(), strict=True) if used else [()] * rows:
        if row not in known:
            bound = dict(zip(used, row, strict=True))
            known[row] = evaluate(expression, lambda node, bound=bound: bound[node.name], functions)  # type: ignore[misc]
        values.append(known[row])
    return leaves(values, kind.arrow, "an argument")


def stage_columns(times: Column, zone: str, functions: Functions) -> SlotColumns:
    """What is computed of the times of stages alone."""
    return SlotColumns(pa.table({TIME: times}), zone, functions)
