"""Aggregates of many bags at once: the values of all bags in one column, cut into segments.

Numbers, booleans and times are folded by compiled loops, each of which does what the definition does, step by step
and in the same order. What such a loop might get wrong (64 bits that overflow, values at one position) it leaves to
the definition, as are all other types and functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acelera.engine.jit import compiled
from acelera.engine.storage.columns import output_column
from acelera.language.aggregates import DISTINCT, INT64, Aggregate, canonical
from acelera.language.events import seen
from acelera.language.types import BOOL, INT, Kind, Type, from_arrow
from acelera.tables import leaves, plain_values

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[Any]
"""Floats as float64, all else as int64: truth as 0 and 1, times in the unit of their column."""


def fold(
    function: Aggregate,
    ignore_nulls: bool,
    values: pa.Array[Any] | None,
    given: Type | None,
    positions: Integers,
    segments: Integers,
    count: int,
    result: pa.DataType,
) -> pa.Array[Any]:
    """The aggregate of each of the segments 0 … count - 1, as an array of the type `result`.

    The i-th value belongs to the event at `positions[i]` and to the segment `segments[i]`. Segments are sorted, as are
    the positions within a segment; a segment may be empty. `values` is None for what counts events and looks at none
    of their attributes. An aggregate that fails is an error, even if others do not.
    """
    if values is None:
        return as_result(result, pa.array(_counts(segments, count)), function.name)
    assert given is not None, "values have a type"
    entries = _Entries(values, given, positions, segments, count)
    column = _by_column(function, ignore_nulls, entries)
    if column is None:
        return leaves(_by_definition(function, ignore_nulls, entries), result, function.name)
    return as_result(result, column, function.name)


@dataclass(frozen=True)
class _Entries:
    """Values with the positions of their events and the segments they belong to."""

    values: pa.Array[Any]
    given: Type
    positions: Integers
    segments: Integers
    count: int

    @cached_property
    def numbers(self) -> Numbers:
        """The values as numbers; there must be no NULL among them."""
        return numbers_of(self.values, self.given)

    @cached_property
    def sizes(self) -> Integers:
        """The number of values of each segment."""
        return _counts(self.segments, self.count)

    def where(self, kept: Mask) -> _Entries:
        """Those of the entries that are kept."""
        values = self.values.filter(pa.array(kept))
        return _Entries(values, self.given, self.positions[kept], self.segments[kept], self.count)

    def of(self, chosen: Mask) -> _Entries:
        """The entries of the chosen segments, which are numbered anew."""
        entries = self.where(chosen[self.segments])
        numbers = np.cumsum(chosen) - 1
        return _Entries(
            entries.values, self.given, entries.positions, numbers[entries.segments], int(np.count_nonzero(chosen))
        )


def numbers_of(values: pa.Array[Any], given: Type) -> Numbers:
    """Values, none of which is NULL, as numbers."""
    match given.kind:
        case Kind.TIMESTAMP | Kind.DURATION:
            values = values.cast(pa.int64())
        case Kind.DATE:
            values = values.cast(pa.date32()).cast(pa.int32())
    width = np.float64 if given.kind is Kind.FLOAT else np.int64
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=width)


def as_result(result: pa.DataType, column: pa.Array[Any], name: str) -> pa.Array[Any]:
    """The column with another type, converted as the values of a result are."""
    return column if column.type == result else leaves(plain_values(column, from_arrow(column.type)), result, name)


def selected(values: pa.Array[Any], indices: Integers, absent: Mask, given: Type) -> pa.Array[Any]:
    """Some of the values; zeros and NaN as aggregates give them."""
    taken = values.take(pa.array(indices, mask=absent))
    if given.kind is not Kind.FLOAT:
        return taken
    missing = taken.is_null().to_numpy(zero_copy_only=False)
    numbers = np.array(taken.fill_null(0.0).to_numpy(zero_copy_only=False), dtype=np.float64)
    return column_of_numbers(numbers, missing, given)


def _counts(segments: Integers, count: int) -> Integers:
    counts = np.zeros(count, dtype=np.int64)
    _count(fixed(segments), counts)
    return counts


def _by_definition(function: Aggregate, ignore_nulls: bool, entries: _Entries) -> list[Any]:
    """The values of the segments as the definition has them, each folded in order of position."""
    states = [function.identity] * entries.count
    plain = map(canonical, plain_values(entries.values, entries.given))  # as events hold them
    for position, segment, value in zip(entries.positions.tolist(), entries.segments.tolist(), plain, strict=True):
        states[segment] = function.step(states[segment], position, value, ignore_nulls)
    return [seen(function.value(state)) for state in states]


# --- by column ----------------------------------------------------------------------------------------------------


class _Folded(NamedTuple):
    """A number for each segment: those that are `absent` have none, those that are in `doubt` may be wrong."""

    numbers: Numbers
    absent: Mask | None = None
    doubt: Mask | None = None


def _by_column(function: Aggregate, ignore_nulls: bool, entries: _Entries) -> pa.Array[Any] | None:
    """The aggregates of the segments, or None if only the definition knows them."""
    if function.user_defined:
        return None
    try:
        if function.place is not None:
            return _taken(function, function.place, ignore_nulls, entries)
        if function.name == DISTINCT:
            return _different(entries)
        if function.name == "count":
            entries = _presence(entries)
        if entries.given.kind in _NUMERIC and function.name in _OPERATIONS:
            return _by_number(function, ignore_nulls, entries)
        if function.name in ("min", "max") and entries.given.kind in RANKED:
            return _by_rank(function, ignore_nulls, entries)
    except pa.ArrowNotImplementedError:  # a type that this version of Arrow can only carry
        pass
    return None


def _by_number(function: Aggregate, ignore_nulls: bool, entries: _Entries) -> pa.Array[Any]:
    natural = function.result(entries.given)
    assert natural is not None, "the checker refuses what a function cannot take"
    known, nulled = _without_nulls(entries, ignore_nulls)
    numbers, absent, doubt = _OPERATIONS[function.name](known)
    if not function.selects:
        doubt = _either(doubt, _too_long(numbers, natural))
    if doubt is not None and doubt.any():
        numbers[doubt] = _unscaled(_by_definition(function, ignore_nulls, entries.of(doubt)), natural)
    return column_of_numbers(numbers, _either(absent, nulled), natural)


def _by_rank(function: Aggregate, ignore_nulls: bool, entries: _Entries) -> pa.Array[Any]:
    """The smallest or largest of values that are no numbers, by where they stand among all of them."""
    known, nulled = _without_nulls(entries, ignore_nulls)
    ranks, values = ranked(known.values)
    among = _Entries(pa.array(ranks), INT, known.positions, known.segments, known.count)
    found, absent, _ = _OPERATIONS[function.name](among)
    return values.take(pa.array(found, mask=_either(absent, nulled)))


def ranked(values: pa.Array[Any]) -> tuple[Integers, pa.Array[Any]]:
    """For each value, none of which is NULL, its place among the different ones; and these, in order."""
    encoded = values.dictionary_encode()
    order = pc.array_sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), np.int64)
    ranks[order.to_numpy()] = np.arange(len(order))
    return ranks[encoded.indices.to_numpy()], encoded.dictionary.take(order)


def _different(entries: _Entries) -> pa.Array[Any]:
    """How many different values there are in each segment, NULL not counted."""
    known, _ = _without_nulls(entries, True)
    values = output_column(known.values)
    codes = values.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    pairs = np.unique(known.segments * np.int64(len(codes) + 1) + codes)
    return pa.array(np.bincount(pairs // (len(codes) + 1), minlength=known.count).astype(np.int64))


def _presence(entries: _Entries) -> _Entries:
    """TRUE for each value, whatever its type, but NULL where it is NULL."""
    values = pc.if_else(entries.values.is_valid(), True, pa.scalar(None, pa.bool_()))
    return _Entries(values, BOOL, entries.positions, entries.segments, entries.count)


def _without_nulls(entries: _Entries, ignore_nulls: bool) -> tuple[_Entries, Mask | None]:
    """The entries that are not NULL, and which segments are NULL for having one that is not ignored."""
    if entries.values.null_count == 0:
        return entries, None
    valid = entries.values.is_valid().to_numpy(zero_copy_only=False)
    nulled = None
    if not ignore_nulls:
        nulled = np.zeros(entries.count, dtype=np.bool_)
        nulled[entries.segments[~valid]] = True
    return entries.where(valid), nulled


def _either(left: Mask | None, right: Mask | None) -> Mask | None:
    return left if right is None else right if left is None else left | right


def _too_long(numbers: Numbers, natural: Type) -> Mask | None:
    """Which durations do not fit into 64 bits as nanoseconds."""
    factor = _scale(natural)
    return None if factor == 1 else (numbers > INT64[-1] // factor) | (numbers < -(-INT64[0] // factor))


def _scale(natural: Type) -> int:
    """How much of a plain value makes 1 in the unit of the type."""
    if natural.kind not in (Kind.TIMESTAMP, Kind.DURATION):
        return 1
    return int(np.timedelta64(1, natural.arrow.unit) // np.timedelta64(1, "ns"))


def _unscaled(values: list[Any], natural: Type) -> Numbers:
    """Plain values as numbers; what stands for NULL does not matter."""
    known = [0 if value is None else value for value in values]
    if natural.kind is Kind.FLOAT:
        return np.array(known, dtype=np.float64)
    factor = _scale(natural)
    return np.array([int(value) // factor for value in known], dtype=np.int64)


def column_of_numbers(numbers: Numbers, absent: Mask | None, natural: Type) -> pa.Array[Any]:
    """Numbers as values of their type."""
    arrow = natural.arrow
    mask = absent if absent is not None and absent.any() else None
    match natural.kind:
        case Kind.FLOAT:
            _canonicalise(numbers)
            return pa.array(numbers.astype(arrow.to_pandas_dtype(), copy=False), arrow, mask=mask)
        case Kind.TIMESTAMP | Kind.DURATION:
            return pa.array(numbers, pa.int64(), mask=mask).cast(arrow)
        case Kind.DATE:
            return pa.array(numbers.astype(np.int32), pa.int32(), mask=mask).cast(pa.date32()).cast(arrow)
    return pa.array(numbers.astype(arrow.to_pandas_dtype(), copy=False), arrow, mask=mask)


# --- the built-in functions ---------------------------------------------------------------------------------------


def fixed(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same, not to be written: numba compiles a loop once more for arrays that may be."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _total(entries: _Entries, product: bool = False) -> _Folded:
    values, segments = fixed(entries.numbers), fixed(entries.segments)
    totals = np.full(entries.count, int(product), dtype=values.dtype)
    if entries.given.kind is Kind.FLOAT:
        _total_floats(product, values, segments, totals)
        return _Folded(totals)
    doubt = np.zeros(entries.count, dtype=np.bool_)
    _total_integers(product, values, segments, totals, doubt)
    return _Folded(totals, doubt=doubt)


def _mean(entries: _Entries) -> _Folded:
    total = _total(entries)
    absent = entries.sizes == 0
    return _Folded(total.numbers / np.maximum(entries.sizes, 1), absent, total.doubt)


def _extreme(entries: _Entries, largest: bool, default: int = 0) -> Numbers:
    values = fixed(entries.numbers)
    found = np.full(entries.count, default, dtype=values.dtype)
    _select(largest, values, fixed(entries.segments), found)
    return found


def _extent(entries: _Entries) -> _Folded:
    with np.errstate(over="ignore", invalid="ignore"):  # infinity - infinity is NaN
        extents = _extreme(entries, largest=True) - _extreme(entries, largest=False)
    return _Folded(extents, entries.sizes == 0, extents < 0)  # no extent is negative, unless 64 bits are too few


def _variance(entries: _Entries) -> _Folded:
    values = fixed(entries.numbers.astype(np.float64, copy=False))
    variances = np.zeros(entries.count)
    _spread(values, fixed(entries.segments), variances)
    return _Folded(variances, entries.sizes < 2)


def _deviation(entries: _Entries) -> _Folded:
    variances, absent, _ = _variance(entries)
    return _Folded(np.sqrt(variances), absent)


def _taken(function: Aggregate, place: int, ignore_nulls: bool, entries: _Entries) -> pa.Array[Any]:
    """The values with this place in their segments, of whatever type; the definition compares those at one position."""
    known = _without_nulls(entries, ignore_nulls)[0] if ignore_nulls else entries
    indices, tied = _with_place(known, place)
    values = known.values
    if tied.any():
        compared = leaves(_by_definition(function, ignore_nulls, entries.of(tied)), values.type, function.name)
        indices[tied] = len(values) + np.arange(len(compared))
        values = pa.concat_arrays([values, compared])
    return selected(values, indices, indices < 0, entries.given)


def _with_place(entries: _Entries, place: int) -> tuple[Integers, Mask]:
    """Which entry has this place in each segment, -1 if none has; and whether another one has the same position."""
    ends = np.cumsum(entries.sizes)
    indices = ends + place if place < 0 else ends - entries.sizes + place - 1
    indices[entries.sizes < abs(place)] = -1
    neighbours = np.zeros(len(entries.positions) + 1, np.bool_)  # whether an entry is at the position of the one before
    same = (entries.positions[1:] == entries.positions[:-1]) & (entries.segments[1:] == entries.segments[:-1])
    neighbours[1:-1] = same
    return indices, (indices >= 0) & (neighbours[indices] | neighbours[indices + 1])


RANKED = frozenset({Kind.STRING, Kind.DECIMAL})
_NUMERIC = frozenset({Kind.INT, Kind.FLOAT, Kind.BOOL, Kind.TIMESTAMP, Kind.DURATION, Kind.DATE})
_OPERATIONS: dict[str, Callable[[_Entries], _Folded]] = {
    "count": lambda entries: _Folded(entries.sizes),
    "sum": _total,
    "product": lambda entries: _total(entries, product=True),
    "min": lambda entries: _Folded(_extreme(entries, largest=False), entries.sizes == 0),
    "max": lambda entries: _Folded(_extreme(entries, largest=True), entries.sizes == 0),
    "bool_and": lambda entries: _Folded(_extreme(entries, largest=False, default=1)),
    "bool_or": lambda entries: _Folded(_extreme(entries, largest=True, default=0)),
    "avg": _mean,
    "range": _extent,
    "variance": _variance,
    "stddev": _deviation,
}


# --- compiled loops -----------------------------------------------------------------------------------------------
# All go over the entries from left to right, and leave untouched what is said of an empty segment.


_LOWEST, _HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@compiled
def _count(segments: Integers, counts: Integers) -> None:
    for segment in segments:
        counts[segment] += 1


@compiled
def _total_integers(product: bool, values: Integers, segments: Integers, totals: Integers, doubt: Mask) -> None:
    """Sums or products; in doubt where one on the way does not, or hardly, fit into 64 bits."""
    for index in range(len(values)):
        segment, value = segments[index], values[index]
        total = totals[segment]
        if product:
            totals[segment] = total * value
            if abs(float(total) * float(value)) >= 2.0**62:
                doubt[segment] = True
        else:
            totals[segment] = total + value
            if (value > 0 and total > _HIGHEST - value) or (value < 0 and total < _LOWEST - value):
                doubt[segment] = True


@compiled
def _total_floats(product: bool, values: Floats, segments: Integers, totals: Floats) -> None:
    for index in range(len(values)):
        segment = segments[index]
        totals[segment] = totals[segment] * values[index] if product else totals[segment] + values[index]


@compiled
def _select(largest: bool, values: Numbers, segments: Integers, found: Numbers) -> None:
    """The largest or the smallest; NaN wins, and nothing wins against it."""
    current = -1
    for index in range(len(values)):
        segment, value = segments[index], values[index]
        best = found[segment]
        better = (segment != current) | (value != value) | (value > best if largest else value < best)
        found[segment] = value if better else best
        current = segment


@compiled
def _spread(values: Floats, segments: Integers, variances: Floats) -> None:
    """Variances of the segments with more than one value, by merging each value into (size, mean, squares)."""
    current, size, mean, squares = -1, 0, 0.0, 0.0
    for index in range(len(values)):
        segment, value = segments[index], values[index]
        if segment != current:
            current, size, mean, squares = segment, 1, value, 0.0
            continue
        delta, before = value - mean, size
        size += 1
        mean += delta / size
        squares += delta * delta * before / size
        variances[segment] = squares / before


@compiled
def _canonicalise(numbers: Floats) -> None:
    """One NaN and one zero."""
    for index in range(len(numbers)):
        number = numbers[index]
        numbers[index] = np.nan if number != number else number + 0.0
