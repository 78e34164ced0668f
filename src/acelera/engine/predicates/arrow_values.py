"""What Arrow computes with: the forms that values have there, constants, columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from acelera.language import ast
from acelera.language.evaluation import constant
from acelera.language.lowering import UnsupportedError
from acelera.language.types import Kind, Type

Operation = Callable[..., Any]

FLOAT, INT = pa.float64(), pa.int64()
LACKING = "Arrow does not compute this as the language means it"

_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}


class Form(NamedTuple):
    """What the values of an expression are. Timestamps and durations are integers in a unit of so many nanoseconds."""

    kind: Kind
    unit: int = 1


BOOLEAN = Form(Kind.BOOL)


class Asked(NamedTuple):
    """What Arrow is asked for: an operation, the forms of its operands, and the types of columns.

    What need not be `exact` may be FALSE where it should be NULL.
    """

    node: ast.Expression
    forms: Sequence[Form]
    types: Mapping[str, Type]
    exact: bool


How = Callable[[Asked], tuple[Form, Operation]]


def of(*known: tuple[tuple[Kind, ...], Kind, Operation]) -> How:
    """What is said for operands of these kinds, each with the kind of its result; times stay in their unit."""
    results = {kinds: (kind, operation) for kinds, kind, operation in known}

    def how(asked: Asked) -> tuple[Form, Operation]:
        found = results.get(tuple(form.kind for form in asked.forms))
        if found is None:
            raise UnsupportedError(LACKING)
        kind, operation = found
        return Form(kind, asked.forms[0].unit if kind is asked.forms[0].kind else 1), operation

    return how


# --- constants and columns ----------------------------------------------------------------------------------------


_LITERALS = {type(None): Kind.NULL, bool: Kind.BOOL, int: Kind.INT, float: Kind.FLOAT, str: Kind.STRING}


def literal(asked: Asked) -> tuple[Form, Operation]:
    """A constant."""
    assert isinstance(asked.node, ast.Literal)
    value = asked.node.value
    kind = _LITERALS.get(type(value))
    if kind is None:
        raise UnsupportedError(LACKING)
    return _constant(Form(kind), whole(value) if type(value) is int else pa.scalar(value))


def date(asked: Asked) -> tuple[Form, Operation]:
    """A constant day, as its number."""
    return _constant(Form(Kind.DATE), whole(_known(asked.node)))


def timestamp(asked: Asked) -> tuple[Form, Operation]:
    """A constant time."""
    return _moment(Kind.TIMESTAMP, _known(asked.node))


def interval(asked: Asked) -> tuple[Form, Operation]:
    """A constant duration."""
    return _moment(Kind.DURATION, _known(asked.node))


def _known(node: ast.Expression) -> int:
    value = constant(node)
    if value is None:
        raise UnsupportedError("this is no time")
    return int(value)


def _moment(kind: Kind, nanoseconds: int) -> tuple[Form, Operation]:
    """Not in nanoseconds if it need not be, so that columns of another unit are compared as they are."""
    unit = next(unit for unit in _UNITS.values() if nanoseconds % unit == 0)
    return _constant(Form(kind, unit), whole(nanoseconds // unit))


def _constant(form: Form, scalar: Any) -> tuple[Form, Operation]:
    return form, lambda _: scalar


def whole(number: int) -> Any:
    """In as few bits as it needs, so that Arrow widens it to the column and not the column to it."""
    for kind in (pa.int8(), pa.int16(), pa.int32(), INT):
        if -(2 ** (kind.bit_width - 1)) <= number < 2 ** (kind.bit_width - 1):
            return pa.scalar(number, kind)
    raise UnsupportedError("a number of more than 64 bits")


_WITH_NULLS = (pa.types.is_uint64, pa.types.is_binary, pa.types.is_large_binary, pa.types.is_list, pa.types.is_struct)
"""Opaque columns of which Arrow knows what is NULL; there are others where this is a matter of their values."""


def column(asked: Asked) -> tuple[Form, Operation]:
    """A column; times and days as integers."""
    assert isinstance(asked.node, ast.Attribute)
    name = asked.node.name
    given = asked.types[name]
    match given.kind:
        case Kind.TIMESTAMP | Kind.DURATION:
            return Form(given.kind, _UNITS[given.arrow.unit]), lambda batch: decoded(batch.columns[name]).cast(INT)
        case Kind.DATE:
            return Form(given.kind), lambda batch: decoded(batch.columns[name]).cast(pa.date32()).cast(pa.int32())
        case Kind.STRING if pa.types.is_string_view(given.arrow):
            return Form(given.kind), lambda batch: decoded(batch.columns[name]).cast(pa.string())
        case Kind.UNKNOWN | Kind.OPAQUE if not any(test(given.arrow) for test in _WITH_NULLS):
            raise UnsupportedError(f"values of type {given}")
    return Form(given.kind), lambda batch: decoded(batch.columns[name])


def decoded(values: Any) -> Any:
    """A column without its dictionary."""
    return values.dictionary_decode() if isinstance(values, pa.DictionaryArray) else values


# --- from one form to another -------------------------------------------------------------------------------------


def as_float(values: Any) -> Any:
    """A large integer is rounded to the next float, as Python does."""
    return values if values.type == FLOAT else pc.cast(values, FLOAT, safe=False)


def as_int(values: Any) -> Any:
    """Integers of 64 bits."""
    return values if values.type == INT else pc.cast(values, INT)


def in_one_unit(operation: Operation, left: Form, right: Form) -> Operation:
    """An operation on integers, or on times, which are brought to the finer of their units."""
    unit = min(left.unit, right.unit)

    def scaled(values: Any, form: Form) -> Any:
        integers = as_int(values)
        return integers if form.unit == unit else pc.multiply_checked(integers, form.unit // unit)

    return lambda a, b: operation(scaled(a, left), scaled(b, right))


def as_column(values: Any, form: Form, kind: pa.DataType) -> Any:
    """Values of a form as a column of a type; times and days are integers, and times in a unit of their own. A zero has
    no sign there.
    """
    if form.kind is Kind.FLOAT:
        return pc.add(as_float(values), 0.0).cast(kind)
    if form.kind is Kind.DATE:
        return values.cast(pa.int32()).cast(pa.date32()).cast(kind)
    if form.kind not in (Kind.TIMESTAMP, Kind.DURATION):
        return values.cast(kind)
    target = _UNITS[kind.unit]
    if form.unit % target:
        raise UnsupportedError(LACKING)
    return pc.multiply_checked(as_int(values), form.unit // target).cast(kind)
