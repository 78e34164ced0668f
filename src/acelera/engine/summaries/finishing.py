"""Components to values: what each total is, as an Arrow column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acelera.engine.nodes import components as op
from acelera.engine.nodes.components import FAILURE, SCALE, Columns, Components
from acelera.engine.registers.encoding import decimals
from acelera.engine.summaries.layout import Layout
from acelera.engine.summaries.recipes import BY_PLACE, Total, said
from acelera.engine.window import NANOSECONDS
from acelera.errors import AggregateError
from acelera.language.aggregates import OVERFLOW
from acelera.language.printer import print_operand
from acelera.language.types import Kind, Type

Ints = npt.NDArray[Any]
Texts = Callable[[Ints, Ints], Any]

COUNTED_OTHERWISE = "log2_count(*) tells how many matches there are, however many"
SUM_TOO_LARGE = "avg({inner}) does, and log2_count(*) tells how many matches there are, however many"
TIME_TOO_LONG = (
    "integer overflow: {what} does not fit into 64 bits of nanoseconds, which are some 292 years; summarize fewer "
    "matches (OVER …, WITHIN …, BY …), or a column of numbers"
)


def finished(layout: Layout, components: Components, texts: Texts) -> list[Any]:
    """A column for each total; `texts` gives those that have some numbers, NULL where a mask says so."""
    found = layout.shape.columns(components)
    if bool((found.flags >> FAILURE & 1).any()):
        raise AggregateError(OVERFLOW.message)
    return [_column(total, layout, found, texts) for total in layout.totals]


def _column(total: Total, layout: Layout, found: Columns, texts: Texts) -> Any:
    function, value = total.value.total.function.lower(), total.value
    if value.total.variable is None:
        if function == "log2_count":
            return pa.array(np.log2(found.real[:, 0]) + SCALE * found.exponent)
        return pa.array(_exact(found, 0, "count(*)"))
    nulled = np.zeros(len(found.flags), np.bool_)
    if total.flag is not None:
        nulled = (found.flags >> total.flag & 1).astype(np.bool_)
    if function == "count":
        return pa.array(_exact(found, total.at[0], f"count({value.total.variable})", nulled), mask=nulled)
    if function == "sum":
        return _sum(total, found, nulled)
    if function in ("avg", "variance", "stddev"):
        return _computed(function, total, found, nulled)
    assert value.given is not None
    if function == "range":
        return _range(total, layout, found, nulled)
    at = total.at[0]
    present = (found.flags >> layout.shape.best_flag[at] & 1).astype(np.bool_)
    if function in ("bool_and", "bool_or"):
        identity = function == "bool_and"
        numbers = np.where(present, _number(found.best[:, at], function == "bool_or"), identity)
        return pa.array(numbers.astype(np.bool_), mask=nulled)
    if function in BY_PLACE and not value.total.ignore_nulls:
        nulled = _misses(total, layout, found, present, last=function == "last")
    held = found.load[:, at] if layout.shape.best[at] == op.PLACE else found.best[:, at]
    turned = function in ("max", "last")
    return _value(held, nulled | ~present, turned, value.given, value.type.arrow, texts)


def _misses(total: Total, layout: Layout, found: Columns, present: Ints, last: bool) -> Ints:
    """Whether it is a NULL that stands first, or last; of several values at one place a NULL is the smallest."""
    at, missing = total.at
    some = (found.flags >> layout.shape.best_flag[missing] & 1).astype(np.bool_)
    known, unknown = found.best[:, at], found.best[:, missing]
    misses: Ints = some & (~present | (unknown < known) | ((unknown == known) & (not last)))
    return misses


def _value(held: Ints, missing: Ints, turned: bool, given: Type, kind: pa.DataType, texts: Texts) -> Any:
    """The values that best numbers stand for."""
    if given.kind is Kind.STRING:
        return texts(held, missing).cast(kind)
    if given.kind is Kind.FLOAT:
        return pa.array(_float(held, turned), mask=missing).cast(kind)
    numbers = _number(held, turned)
    if given.kind is Kind.DECIMAL:
        return decimals(numbers, missing, given.arrow.scale).cast(kind)
    if given.kind is Kind.BOOL:
        return pa.array(numbers.astype(np.bool_), mask=missing)
    if given.kind is Kind.DATE:
        return pa.array(numbers.astype(np.int32), mask=missing).cast(pa.date32()).cast(kind)
    return pa.array(numbers, mask=missing).cast(kind)


def _number(held: Ints, turned: bool) -> Ints:
    return ~held if turned else held


def _float(held: Ints, turned: bool) -> Ints:
    """The floats whose order keys these are."""
    nothing = held == np.iinfo(np.int64).min
    keys = ~held if turned else held
    bits = np.where(keys < 0, keys ^ np.int64(0x7FFFFFFFFFFFFFFF), keys)
    return np.where(nothing, np.nan, np.ascontiguousarray(bits).view(np.float64))


def _exact(found: Columns, at: int, what: str, unasked: Ints | None = None, remedy: str = COUNTED_OTHERWISE) -> Ints:
    """Integers from what they are modulo 2⁶⁴, and about; one that does not fit is an error if it is asked for."""
    fits = _fits(found, at)
    if not bool((fits if unasked is None else fits | unasked).all()):
        raise AggregateError(f"integer overflow: {what} does not fit into 64 bits; {remedy}")
    return np.ascontiguousarray(found.whole[:, at])


def _fits(found: Columns, at: int) -> Ints:
    """Whether integers fit into 64 bits."""
    inside: Ints = np.abs(found.near[:, at] - found.whole[:, at].astype(np.float64)) < 2.0**63
    return inside


def _sum(total: Total, found: Columns, nulled: Ints) -> Any:
    kind, at = total.value.type.arrow, total.at[0]
    if total.value.type.kind is Kind.FLOAT:
        with np.errstate(over="ignore"):
            return pa.array(np.ldexp(found.real[:, at], SCALE * found.exponent), mask=nulled)
    if total.value.type.kind is Kind.DURATION:
        numbers = np.ascontiguousarray(found.whole[:, at])
        return _duration(total, numbers, nulled, _fits(found, at))
    inner = print_operand(total.value.total.variable or "*", total.value.total.attribute)
    numbers = _exact(found, at, f"sum({inner})", nulled, SUM_TOO_LARGE.format(inner=inner))
    return pa.array(numbers, mask=nulled).cast(kind)


def _duration(total: Total, numbers: Ints, missing: Ints, fits: Ints) -> Any:
    """Durations from numbers, of which it is known which fit. They must fit as nanoseconds, whatever their unit is: so
    the language counts times.
    """
    kind = total.value.type.arrow
    tick = NANOSECONDS[kind.unit]
    fits = fits & (numbers >= -(2**63 // tick)) & (numbers <= (2**63 - 1) // tick)
    if not bool((missing | fits).all()):
        raise AggregateError(TIME_TOO_LONG.format(what=said(total.value)))
    return pa.array(numbers, mask=missing).cast(kind)


def _computed(function: str, total: Total, found: Columns, nulled: Ints) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        if function == "avg":
            number = found.real[:, total.at[1]]
            return pa.array(found.real[:, total.at[0]] / number, mask=nulled | (number == 0))
        number, squares = found.real[:, total.at[0]], found.real[:, total.at[0] + 1]
        alone = (number <= 1) & (found.exponent == 0)
        others = number - np.ldexp(1.0, -SCALE * found.exponent)
        variance = squares / others
        result = variance if function == "variance" else np.sqrt(variance)
    return pa.array(result, mask=nulled | alone)


def _range(total: Total, layout: Layout, found: Columns, nulled: Ints) -> Any:
    assert total.value.given is not None
    low, high = total.at
    missing = nulled | ~(found.flags >> layout.shape.best_flag[low] & 1).astype(np.bool_)
    if total.value.given.kind is Kind.FLOAT:
        with np.errstate(invalid="ignore"):  # between infinities it is NaN
            return pa.array(_float(found.best[:, high], True) - _float(found.best[:, low], False), mask=missing)
    first, last = found.best[:, low], ~found.best[:, high]
    extent = last - first
    if total.value.type.kind is Kind.DURATION:
        return _duration(total, extent, missing, extent >= 0)
    if bool(((extent < 0) & ~missing).any()):
        raise AggregateError(OVERFLOW.message)
    return pa.array(extent, mask=missing).cast(total.value.type.arrow)
