"""Expressions, as Arrow computes them where it computes what the language means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from acelera.language import ast
from acelera.language.evaluation import evaluate
from acelera.language.like import parts_of
from acelera.language.types import Kind, Type


class UntranslatableError(Exception):
    """Arrow does not compute this as the language means it."""


Step = tuple[Callable[..., Any], int]
"""An operation and how many results of earlier steps it takes; one that takes none is given the batch."""

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


def decoded(column: Any) -> Any:
    """A column without its dictionary."""
    return column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column


class Form(NamedTuple):
    """What the values of an expression are. Timestamps and durations are integers in a unit of so many nanoseconds."""

    kind: Kind
    unit: int = 1


Operation = Callable[..., Any]


def translated(root: ast.Expression, types: Mapping[str, Type]) -> list[Step] | None:
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
            return Form(given.kind, _UNITS[given.arrow.unit]), lambda batch: decoded(batch.columns[name]).cast(_INT)
        case Kind.DATE:
            return Form(given.kind), lambda batch: decoded(batch.columns[name]).cast(pa.date32()).cast(pa.int32())
        case Kind.STRING if pa.types.is_string_view(given.arrow):
            return Form(given.kind), lambda batch: decoded(batch.columns[name]).cast(pa.string())
        case Kind.UNKNOWN | Kind.OPAQUE if not any(test(given.arrow) for test in _WITH_NULLS):
            raise UntranslatableError
    return Form(given.kind), lambda batch: decoded(batch.columns[name])


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
    parts = parts_of(pattern)
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
