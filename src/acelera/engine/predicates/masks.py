"""One-event predicates, evaluated for a whole batch at a time.

What Arrow computes exactly as the language means it runs there; anything else is evaluated value by value, by the
definition. Of TRUE, FALSE and NULL only TRUE counts in the end. In the core NOT stands below AND and OR, so these join
masks of rows that are TRUE, and a comparison at their ends may say FALSE where it should say NULL. Below that, as in
`(a < b) IS NULL`, the three values are kept apart.

Predicates are compiled to steps for a stack rather than to nested functions: they may be nested as deeply as one likes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.predicates.arrow_expressions import ARROW, Step, translated, translated_value
from acelera.engine.predicates.arrow_values import as_column, decoded
from acelera.language import ast
from acelera.language.aggregates import canonical
from acelera.language.evaluation import evaluate
from acelera.language.lowering import UnsupportedError, operation_of
from acelera.language.tree import children
from acelera.language.types import Type
from acelera.tables import leaves, plain_values

Mask = npt.NDArray[np.bool_]
Names = tuple[str, ...]


class Columns(Protocol):
    """Arrow arrays, plain or chunked, by name."""

    def __getitem__(self, name: str, /) -> Any: ...


class Batch(NamedTuple):
    """Arrow arrays by name, not chunked, all of one length."""

    columns: Mapping[str, Any]
    length: int


Part = Callable[[Batch], Mask]


def predicate_mask(predicate: ast.Expression, types: Mapping[str, Type]) -> Callable[[Columns, int], Mask]:
    """A function that gives, for each row of a batch, whether the predicate is TRUE."""
    tests = _conjuncts(predicate, types)
    names = {name for test in tests for name in test.names}

    def mask(columns: Columns, length: int) -> Mask:
        used = {name: columns[name] for name in names}
        if not any(isinstance(column, pa.ChunkedArray) for column in used.values()):
            return _all_hold(tests, Batch(used, length))
        batches = pa.table(used).to_batches()  # cut where any of the columns is cut, without a copy
        parts = [Batch(dict(zip(used, batch.columns, strict=True)), batch.num_rows) for batch in batches]
        return np.concatenate([np.zeros(0, np.bool_), *(_all_hold(tests, part) for part in parts)])

    return mask


def expression_values(expression: ast.Expression, types: Mapping[str, Type], batch: Batch, kind: pa.DataType) -> Any:
    """The values of an expression for the rows of a batch, by Arrow where it computes what the language means."""
    if isinstance(expression, ast.Attribute):
        return batch.columns[expression.name].cast(kind)
    try:
        form, steps = translated_value(ARROW.lowered(expression), types)
        found = _run(steps, batch)
        return as_column(pa.repeat(found, batch.length) if isinstance(found, pa.Scalar) else found, form, kind)
    except (pa.ArrowException, UnsupportedError):
        names = tuple(dict.fromkeys(node.name for node in ast.walk(expression) if isinstance(node, ast.Attribute)))
        columns = [plain_values(decoded(batch.columns[name]), types[name]) for name in names]
        rows = zip(*columns, strict=True) if names else [()] * batch.length
        found = [canonical(_value(expression, dict(zip(names, row, strict=True)))) for row in rows]
        return leaves(found, kind, "")


def _value(expression: ast.Expression, bound: Mapping[str, Any]) -> Any:
    return evaluate(expression, lambda attribute: bound[attribute.name])


def is_columnar(predicate: ast.Expression, types: Mapping[str, Type]) -> bool:
    """Whether Arrow evaluates all of a predicate."""
    return all(test.by_column for test in _conjuncts(predicate, types))


def _run(steps: Sequence[Step], batch: Batch) -> Any:
    stack: list[Any] = []
    for operation, count in steps:
        operands = stack[len(stack) - count :]
        del stack[len(stack) - count :]
        stack.append(operation(*operands) if count else operation(batch))
    return stack[0]


# --- AND, OR and NOT ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Test:
    """One of the predicates that must all hold."""

    names: Names
    steps: Sequence[Step]
    by_column: bool


def _all_hold(tests: Sequence[_Test], batch: Batch) -> Mask:
    """Where all tests are TRUE. Those that look at each value see only the rows that are left by the others."""
    found: Mask = np.ones(batch.length, np.bool_)
    for test in tests:
        if test.by_column or found.all():
            found = found & _run(test.steps, batch)
        else:
            rows = np.flatnonzero(found)
            left = {name: batch.columns[name].take(pa.array(rows)) for name in test.names}
            found[rows] = _run(test.steps, Batch(left, len(rows)))
    return found


def _conjuncts(predicate: ast.Expression, types: Mapping[str, Type]) -> list[_Test]:
    """The tests that a predicate consists of, those that Arrow takes first."""
    tests, todo = [], [ARROW.lowered(predicate)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Binary) and node.operator == "AND":
            todo += [node.right, node.left]
        else:
            tests.append(_test(node, types))
    return sorted(tests, key=lambda test: not test.by_column)


def _joined(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """What AND or OR joins."""
    return children(node) if operation_of(node) in ("AND", "OR") else ()


def _names_below(root: ast.Expression) -> dict[int, Names]:
    """The columns that each node speaks of."""
    found: dict[int, Names] = {}

    def combine(node: ast.Expression, made: Sequence[Names]) -> Names:
        own = (node.name,) if isinstance(node, ast.Attribute) else ()
        found[id(node)] = tuple(dict.fromkeys(own + tuple(name for names in made for name in names)))
        return found[id(node)]

    ast.fold(root, combine)
    return found


def _test(root: ast.Expression, types: Mapping[str, Type]) -> _Test:
    """AND and OR of masks. What speaks of one column only stays together, so that its distinct values will do."""
    names = _names_below(root)

    def below(node: ast.Expression) -> tuple[ast.Expression, ...]:
        return _joined(node) if len(names[id(node)]) > 1 else ()

    def leaf(node: ast.Expression) -> tuple[Part, bool]:
        return _leaf(node, names[id(node)], types)

    def part(node: ast.Expression) -> tuple[Part, bool]:
        if len(names[id(node)]) != 1:
            return leaf(node)
        steps, by_column = _compiled(node, _joined, leaf)
        return _on_distinct(names[id(node)][0], steps), by_column

    steps, by_column = _compiled(root, below, part)
    return _Test(names[id(root)], steps, by_column)


def _compiled(
    root: ast.Expression,
    below: Callable[[ast.Expression], tuple[ast.Expression, ...]],
    part: Callable[[ast.Expression], tuple[Part, bool]],
) -> tuple[list[Step], bool]:
    """The steps that join the masks of parts, and whether Arrow takes all of them."""
    steps: list[Step] = []

    def combine(node: ast.Expression, made: Sequence[bool]) -> bool:
        if made:
            assert isinstance(node, ast.Binary)
            steps.append((np.logical_and if node.operator == "AND" else np.logical_or, 2))
            return all(made)
        operation, by_column = part(node)
        steps.append((operation, 0))
        return by_column

    by_column = ast.fold(root, combine, below)
    return steps, by_column


# --- masks of parts -----------------------------------------------------------------------------------------------

_REMEMBERED = 65_536
"""How many combinations of values are remembered in a batch, so as not to be evaluated again."""


def _leaf(node: ast.Expression, names: Names, types: Mapping[str, Type]) -> tuple[Part, bool]:
    """Where a predicate without AND and OR is TRUE, and whether Arrow computes it."""
    if not names:
        truth = _truth(node, (), ())
        return lambda batch: np.full(batch.length, truth), True
    by_value = _by_value(node, names, types)
    try:
        return _by_column(translated(node, types), by_value), True
    except UnsupportedError:
        return by_value, False


def _by_value(node: ast.Expression, names: Names, types: Mapping[str, Type]) -> Part:
    def operation(batch: Batch) -> Mask:
        values = [plain_values(decoded(batch.columns[name]), types[name]) for name in names]
        found = np.empty(batch.length, np.bool_)
        known: dict[tuple[Any, ...], bool] = {}
        for index, row in enumerate(zip(*values, strict=True)):
            truth = known.get(row)  # a column has one type, so no 1 is taken for a 1.0 or TRUE
            if truth is None:
                truth = _truth(node, names, row)
                if len(known) < _REMEMBERED:
                    known[row] = truth
            found[index] = truth
        return found

    return operation


def _truth(node: ast.Expression, names: Names, row: tuple[Any, ...]) -> bool:
    return _value(node, dict(zip(names, row, strict=True))) is True


def _by_column(steps: Sequence[Step], by_value: Part) -> Part:
    def operation(batch: Batch) -> Mask:
        try:
            return _mask(_run(steps, batch), batch.length)
        except (pa.ArrowException, UnsupportedError):  # an integer too large, letters that Arrow does not know, …
            return by_value(batch)

    return operation


def _on_distinct(name: str, steps: Sequence[Step]) -> Part:
    """A column that comes with a dictionary: each of its values is looked at once."""

    def on_distinct(batch: Batch) -> Mask:
        column, length = batch.columns[name], batch.length
        if not isinstance(column, pa.DictionaryArray) or len(column.dictionary) >= length:
            found: Mask = _run(steps, Batch({name: decoded(column)}, length))
            return found
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        truths = _run(steps, Batch({name: values}, len(values)))
        indices = column.indices.fill_null(0).to_numpy().astype(np.intp, copy=False)
        found = np.take(truths, indices)
        if column.indices.null_count:
            found[_mask(column.indices.is_null(), length)] = truths[-1]
        return found

    return on_distinct


def _mask(found: Any, length: int) -> Mask:
    """Where an Arrow array, or a value that stands for all rows, is TRUE."""
    if isinstance(found, pa.Scalar) or not length:
        return np.full(length, isinstance(found, pa.Scalar) and found.as_py() is True)
    validity, values = found.buffers()
    mask = _bits(values, found.offset, length)
    return mask & _bits(validity, found.offset, length) if found.null_count else mask


def _bits(buffer: Any, offset: int, length: int) -> Mask:
    start, skipped = divmod(offset, 8)
    packed = np.frombuffer(buffer, np.uint8)[start:]
    return np.unpackbits(packed, count=skipped + length, bitorder="little")[skipped:].view(np.bool_)
