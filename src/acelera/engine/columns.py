"""One-event predicates, evaluated for a whole batch at a time.

What Arrow computes exactly as the language means it runs there; anything else is evaluated value by value, by the
definition. Of TRUE, FALSE and NULL only TRUE counts in the end. So once NOT is pushed down to the comparisons, AND and
OR join masks of rows that are TRUE, and a comparison at their ends may say FALSE where it should say NULL. Below that,
as in `(a < b) IS NULL`, the three values are kept apart.

Predicates are compiled to steps for a stack rather than to nested functions: they may be nested as deeply as one likes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.tree import children
from acelera.language.types import Kind, Type
from acelera.tables import plain_values

Mask = npt.NDArray[np.bool_]
Names = tuple[str, ...]


class Columns(Protocol):
    """Arrow arrays, plain or chunked, by name."""

    def __getitem__(self, name: str, /) -> Any: ...


class UntranslatableError(Exception):
    """Arrow does not compute this as the language means it."""


class Batch(NamedTuple):
    """Arrow arrays by name, not chunked, all of one length."""

    columns: Mapping[str, Any]
    length: int


Step = tuple[Callable[..., Any], int]
"""An operation and how many results of earlier steps it takes; one that takes none is given the batch."""
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

_OPPOSITES = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "AND": "OR", "OR": "AND"}


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
    tests, todo = [], [_normal(predicate)]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Binary) and node.operator == "AND":
            todo += [node.right, node.left]
        else:
            tests.append(_test(node, types))
    return sorted(tests, key=lambda test: not test.by_column)


def _normal(predicate: ast.Expression) -> ast.Expression:
    """NOT pushed down as far as it goes. All of these are equivalences in three-valued logic."""

    def combine(
        node: ast.Expression, made: Sequence[tuple[ast.Expression, ast.Expression]]
    ) -> tuple[ast.Expression, ast.Expression]:
        """The node and its negation."""
        match node:
            case ast.Unary("NOT", _):
                return made[0][1], made[0][0]
            case ast.Binary(("AND" | "OR") as operator, _, _):
                (left, no_left), (right, no_right) = made
                return ast.Binary(operator, left, right), ast.Binary(_OPPOSITES[operator], no_left, no_right)
            case ast.Binary(operator, left, right) if operator in _OPPOSITES:
                return node, ast.Binary(_OPPOSITES[operator], left, right)
            case ast.IsNull() | ast.In() | ast.Between() | ast.Like():
                return node, replace(node, negated=not node.negated)
        return node, ast.Unary("NOT", node)

    return ast.fold(predicate, combine, _connected)[0]


def _connected(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """What AND, OR or NOT connects."""
    connects = isinstance(node, ast.Binary | ast.Unary) and node.operator in ("AND", "OR", "NOT")
    return children(node) if connects else ()


def _joined(node: ast.Expression) -> tuple[ast.Expression, ...]:
    """What AND or OR joins. A NOT that cannot be pushed down any further belongs to what it negates."""
    return () if isinstance(node, ast.Unary) else _connected(node)


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
    steps, by_value = _translated(node, types), _by_value(node, names, types)
    return (by_value, False) if steps is None else (_by_column(steps, by_value), True)


def _by_value(node: ast.Expression, names: Names, types: Mapping[str, Type]) -> Part:
    def operation(batch: Batch) -> Mask:
        values = [plain_values(_decoded(batch.columns[name]), types[name]) for name in names]
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
    bound = dict(zip(names, row, strict=True))
    return evaluate(node, lambda attribute: bound[attribute.name]) is True


def _by_column(steps: Sequence[Step], by_value: Part) -> Part:
    def operation(batch: Batch) -> Mask:
        try:
            return _mask(_run(steps, batch), batch.length)
        except (pa.ArrowException, UntranslatableError):  # an integer too large, letters that Arrow does not know, …
            return by_value(batch)

    return operation


def _on_distinct(name: str, steps: Sequence[Step]) -> Part:
    """A column that comes with a dictionary: each of its values is looked at once."""

    def on_distinct(batch: Batch) -> Mask:
        column, length = batch.columns[name], batch.length
        if not isinstance(column, pa.DictionaryArray) or len(column.dictionary) >= length:
            found: Mask = _run(steps, Batch({name: _decoded(column)}, length))
            return found
        values = pa.concat_arrays([column.dictionary, pa.nulls(1, column.dictionary.type)])
        truths = _run(steps, Batch({name: values}, len(values)))
        indices = column.indices.fill_null(0).to_numpy().astype(np.intp, copy=False)
        found = np.take(truths, indices)
        if column.indices.null_count:
            found[_mask(column.indices.is_null(), length)] = truths[-1]
        return found

    return on_distinct


def _decoded(column: Any) -> Any:
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


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


# --- expressions, as Arrow computes them --------------------------------------------------------------------------

_FLOAT, _INT = pa.float64(), pa.int64()
_UNKNOWN = pa.scalar(None, pa.bool_())
_COMPARISONS = {
    "=": pc.equal,
    "<>": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_COMPARABLE = frozenset(Kind) - {Kind.UNKNOWN, Kind.NULL, Kind.OPAQUE, Kind.FLOAT}
_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_FEW = 4
"""Up to so many comparisons are quicker than a hash table."""


class Form(NamedTuple):
    """What the values of an expression are. Timestamps and durations are integers in a unit of so many nanoseconds."""

    kind: Kind
    unit: int = 1


Operation = Callable[..., Any]


def _translated(root: ast.Expression, types: Mapping[str, Type]) -> list[Step] | None:
    """The steps to a predicate that is right about where it is TRUE, or None if Arrow cannot be asked for it."""
    steps: list[Step] = []

    def combine(node: ast.Expression, forms: Sequence[Form]) -> Form:
        form, operation = _operation(node, forms, types, exact=node is not root)
        steps.append((operation, len(forms)))
        return form

    try:
        return steps if ast.fold(root, combine).kind is Kind.BOOL else None
    except (UntranslatableError, UnicodeEncodeError):  # half of a surrogate pair is no text to Arrow
        return None


def _operation(
    node: ast.Expression, forms: Sequence[Form], types: Mapping[str, Type], exact: bool
) -> tuple[Form, Operation]:
    boolean = Form(Kind.BOOL)
    match node:
        case ast.Literal() | ast.Timestamp() | ast.Date() | ast.Interval():
            return _constant(node)
        case ast.Attribute(_, name):
            return _column(name, types[name])
        case ast.Unary("NOT", _):
            return _only(Kind.BOOL, forms), pc.invert
        case ast.Unary():
            return _negative(forms[0])
        case ast.Binary(("AND" | "OR") as operator, _, _):
            return _only(Kind.BOOL, forms), pc.and_kleene if operator == "AND" else pc.or_kleene
        case ast.Binary(operator, _, _) if operator in _COMPARISONS:
            return boolean, _comparison(operator, forms[0], forms[1], exact)
        case ast.Binary("||", _, _):
            return _only(Kind.STRING, forms), lambda one, two: pc.binary_join_element_wise(one, two, "")
        case ast.Binary(operator, _, _):
            return _arithmetic(operator, forms[0], forms[1])
        case ast.IsNull(_, negated):
            return boolean, pc.is_valid if negated else pc.is_null
        case ast.Between(_, _, _, negated):
            return boolean, _between(forms, negated, exact)
        case ast.In(_, items, negated):
            return boolean, _membership(items, forms, negated, exact)
        case ast.Like(_, pattern, negated):
            _only(Kind.STRING, forms)
            pattern.encode()  # so that what Arrow cannot take is found out here
            matches = _like(pattern)
            return boolean, (lambda text: pc.invert(matches(text))) if negated else matches
        case ast.Call(function, _):
            return _call(function, forms)
        case ast.Cast(_, "float") if forms[0].kind in (Kind.INT, Kind.FLOAT):
            return Form(Kind.FLOAT), _as_float
    raise UntranslatableError


def _only(kind: Kind, forms: Sequence[Form]) -> Form:
    if any(form.kind is not kind for form in forms):
        raise UntranslatableError
    return Form(kind)


# --- constants and columns ----------------------------------------------------------------------------------------


_LITERALS = {type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}


def _constant(node: ast.Expression) -> tuple[Form, Operation]:
    value = evaluate(node, lambda _: None)
    kind = _LITERALS.get(type(value))
    match node:
        case ast.Timestamp() | ast.Interval() if value is not None:
            # Not in nanoseconds if it need not be, so that columns of another unit are compared as they are.
            unit = next(unit for unit in _UNITS.values() if value % unit == 0)
            form = Form(Kind.TIMESTAMP if isinstance(node, ast.Timestamp) else Kind.DURATION, unit)
            scalar = _whole(int(value) // unit)
        case ast.Date() if value is not None:
            form, scalar = Form(Kind.DATE), _whole(value)
        case _ if kind is not None:
            form, scalar = Form(kind), _whole(value) if kind is Kind.INT else pa.scalar(value)
        case _:
            raise UntranslatableError
    return form, lambda _: scalar


def _whole(number: int) -> Any:
    """In as few bits as it needs, so that Arrow widens it to the column and not the column to it."""
    for kind in (pa.int8(), pa.int16(), pa.int32(), _INT):
        if -(2 ** (kind.bit_width - 1)) <= number < 2 ** (kind.bit_width - 1):
            return pa.scalar(number, kind)
    raise UntranslatableError


_WITH_NULLS = (pa.types.is_uint64, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_list, pa.types.is_struct)
"""Opaque columns of which Arrow knows what is NULL; there are others where this is a matter of their values."""


def _column(name: str, given: Type) -> tuple[Form, Operation]:
    match given.kind:
        case Kind.TIMESTAMP | Kind.DURATION:
            return Form(given.kind, _UNITS[given.arrow.unit]), lambda batch: _decoded(batch.columns[name]).cast(_INT)
        case Kind.DATE:
            return Form(given.kind), lambda batch: _decoded(batch.columns[name]).cast(pa.date32()).cast(pa.int32())
        case Kind.STRING if pa.types.is_string_view(given.arrow):
            return Form(given.kind), lambda batch: _decoded(batch.columns[name]).cast(pa.string())
        case Kind.UNKNOWN | Kind.OPAQUE if not any(test(given.arrow) for test in _WITH_NULLS):
            raise UntranslatableError
    return Form(given.kind), lambda batch: _decoded(batch.columns[name])


def _as_float(values: Any) -> Any:
    """A large integer is rounded to the next float, as Python does."""
    return values if values.type == _FLOAT else pc.cast(values, _FLOAT, safe=False)


def _as_int(values: Any) -> Any:
    return values if values.type == _INT else pc.cast(values, _INT)


def _in_one_unit(operation: Operation, one: Form, two: Form) -> Operation:
    unit = min(one.unit, two.unit)

    def scaled(values: Any, form: Form) -> Any:
        whole = _as_int(values)
        return whole if form.unit == unit else pc.multiply_checked(whole, form.unit // unit)

    return lambda a, b: operation(scaled(a, one), scaled(b, two))


# --- comparisons --------------------------------------------------------------------------------------------------


def _comparison(symbol: str, one: Form, two: Form, exact: bool) -> Operation:
    """A comparison; one that need not be exact may be FALSE where it should be NULL, but not TRUE."""
    kinds = {one.kind, two.kind}
    compare: Operation = _COMPARISONS[symbol]
    if Kind.NULL in kinds:
        return lambda *_: _UNKNOWN
    if kinds == {Kind.FLOAT} or kinds == {Kind.INT, Kind.FLOAT}:
        compare = _exact_floats(symbol) if exact else _different_floats if symbol == "<>" else compare
        return lambda a, b: compare(_as_float(a), _as_float(b))
    if not kinds <= _COMPARABLE or (len(kinds) > 1 and kinds != {Kind.INT, Kind.DECIMAL}):
        raise UntranslatableError
    return compare if one.unit == two.unit else _in_one_unit(compare, one, two)


def _exact_floats(symbol: str) -> Operation:
    """NaN compares as NULL."""
    compare = _COMPARISONS[symbol]
    return lambda a, b: pc.if_else(pc.or_(pc.is_nan(a), pc.is_nan(b)), _UNKNOWN, compare(a, b))


def _different_floats(one: Any, two: Any) -> Any:
    """Of the comparisons, only this one is TRUE for NaN in Arrow."""
    return pc.or_(pc.less(one, two), pc.greater(one, two))


def _between(forms: Sequence[Form], negated: bool, exact: bool) -> Operation:
    operand, low, high = forms
    if negated and not exact:
        below, above = _comparison("<", operand, low, exact), _comparison(">", operand, high, exact)
        return lambda value, a, b: pc.or_kleene(below(value, a), above(value, b))
    over, under = _comparison(">=", operand, low, exact), _comparison("<=", operand, high, exact)
    if negated:
        return lambda value, a, b: pc.invert(pc.and_kleene(over(value, a), under(value, b)))
    return lambda value, a, b: pc.and_kleene(over(value, a), under(value, b))


def _membership(items: Sequence[ast.Expression], forms: Sequence[Form], negated: bool, exact: bool) -> Operation:
    """IN: a hash table for many constants, a chain of comparisons otherwise."""
    kind = forms[0].kind
    constants = [item.value for item in items if isinstance(item, ast.Literal)]
    alike = kind in (Kind.INT, Kind.STRING) and all(form.kind is kind for form in forms)
    if alike and not exact and _FEW < len(items) == len(constants):
        return _lookup(pa.array(constants), negated)
    inverted = negated and exact
    symbol, join = ("<>", pc.and_kleene) if negated and not exact else ("=", pc.or_kleene)
    tests = [_comparison(symbol, forms[0], form, exact) for form in forms[1:]]

    def operation(value: Any, *others: Any) -> Any:
        found = reduce(join, (test(value, other) for test, other in zip(tests, others, strict=True)))
        return pc.invert(found) if inverted else found

    return operation


def _lookup(constants: Any, negated: bool) -> Operation:
    def operation(value: Any, *_: Any) -> Any:
        wanted = _as_int(value) if constants.type == _INT else value
        found = pc.is_in(wanted, value_set=constants.cast(wanted.type))
        return pc.and_(pc.invert(found), pc.is_valid(value)) if negated else found

    return operation


def _like(pattern: str) -> Operation:
    """LIKE, read as the definition reads it: Arrow's own differs on a backslash before an ordinary character."""
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    plain = "".join(part[-1] for part in parts if part not in wild)
    shape = re.sub("(.)\\1+", "\\1", "".join(part if part in wild else "x" for part in parts))
    match shape:
        case "" | "x":
            return lambda text: pc.equal(text, plain)
        case "%" | "x%":
            return lambda text: pc.starts_with(text, plain)
        case "%x":
            return lambda text: pc.ends_with(text, plain)
        case "%x%":
            return lambda text: pc.match_substring(text, plain)
    regex = "".join(wild.get(part, f"\\x{{{ord(part[-1]):x}}}") for part in parts)
    return lambda text: pc.match_substring_regex(text, f"(?s)\\A{regex}\\z")


# --- arithmetic and functions -------------------------------------------------------------------------------------


_SUMS = {
    frozenset({Kind.INT}): Kind.INT,
    frozenset({Kind.DURATION}): Kind.DURATION,
    frozenset({Kind.TIMESTAMP}): Kind.DURATION,
    frozenset({Kind.TIMESTAMP, Kind.DURATION}): Kind.TIMESTAMP,
}
_PRODUCTS = {frozenset({Kind.INT}): Kind.INT, frozenset({Kind.INT, Kind.DURATION}): Kind.DURATION}


def _negative(form: Form) -> tuple[Form, Operation]:
    if form.kind is Kind.FLOAT:
        return form, pc.negate
    if form.kind in (Kind.INT, Kind.DURATION):
        return form, lambda value: pc.negate_checked(_as_int(value))
    raise UntranslatableError


def _arithmetic(symbol: str, one: Form, two: Form) -> tuple[Form, Operation]:
    """What overflows is NULL; Arrow says so by an error, and the batch is then evaluated value by value."""
    kinds = {one.kind, two.kind}
    if kinds <= {Kind.INT, Kind.FLOAT} and (symbol == "/" or (Kind.FLOAT in kinds and symbol in _CHECKED)):
        floating = {"+": pc.add, "-": pc.subtract, "*": pc.multiply, "/": _divide}[symbol]
        return Form(Kind.FLOAT), lambda a, b: floating(_as_float(a), _as_float(b))
    kind = (_PRODUCTS if symbol == "*" else _SUMS).get(frozenset(kinds))
    if symbol not in _CHECKED or kind is None:
        raise UntranslatableError
    checked: Operation = _CHECKED[symbol]
    if symbol == "*":
        return Form(kind, max(one.unit, two.unit)), lambda a, b: checked(_as_int(a), _as_int(b))
    return Form(kind, min(one.unit, two.unit)), _in_one_unit(checked, one, two)


def _divide(one: Any, two: Any) -> Any:
    """Nothing divides by zero."""
    return pc.divide(one, pc.if_else(pc.equal(two, 0.0), pa.scalar(None, _FLOAT), two))


def _call(function: str, forms: Sequence[Form]) -> tuple[Form, Operation]:
    match function, [form.kind for form in forms]:
        case "length", [Kind.STRING]:
            return Form(Kind.INT), pc.utf8_length
        case "trim", [Kind.STRING]:
            return forms[0], lambda text: pc.utf8_trim(text, " ")
        case "lower", [Kind.STRING]:
            return forms[0], lambda text: pc.ascii_lower(_ascii(text))
        case "upper", [Kind.STRING]:
            return forms[0], lambda text: pc.ascii_upper(_ascii(text))
        case "abs", [Kind.FLOAT]:
            return forms[0], pc.abs
        case "abs", [Kind.INT | Kind.DURATION]:
            return forms[0], lambda value: pc.abs_checked(_as_int(value))
        case "coalesce", [(Kind.INT | Kind.FLOAT | Kind.STRING | Kind.BOOL) as kind, *_]:
            return _only(kind, forms), pc.coalesce
    raise UntranslatableError


def _ascii(text: Any) -> Any:
    """Other letters than these change their case in Python in ways that Arrow does not know, such as ß to SS."""
    if not pc.all(pc.string_is_ascii(text), min_count=0).as_py():
        raise UntranslatableError
    return text
