"""Aggregates by column are what the definition makes of each segment, value by value."""

import math
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.results.folds import fold
from acelera.language.aggregates import Aggregate, Failure, canonical, find_aggregate
from acelera.language.types import INT, NULL, Type, from_arrow
from acelera.tables import leaves, plain_values
from strategies import AGGREGATES

BUILTIN = [function for name in AGGREGATES if (function := find_aggregate(name)) and not function.user_defined]

SMALL = st.integers(-3, 3)
FLOATS = [0.0, -0.0, 1.5, -1.0, 0.1, 3.0, 1e308, -1e308, 5e-324, -5e-324, math.inf, -math.inf, math.nan]
# In seconds: what fits into 64 bits as nanoseconds, just about, hardly, and by no means.
SECONDS = [0, 1, -1, 9_223_372_036, -9_223_372_036, 9_223_372_037, 5_000_000_000, 10**12, -(10**12), 2**63 - 1]
COLUMNS: dict[str, list[tuple[pa.DataType, st.SearchStrategy[Any]]]] = {
    "integers": [
        (pa.int64(), SMALL | st.sampled_from([2**63 - 1, -(2**63), 2**62, -(2**62), 2**53 + 1, 3_037_000_500])),
        (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
        (pa.int8(), st.integers(-128, 127)),
        (pa.uint32(), st.sampled_from([0, 1, 2**32 - 1])),
    ],
    "floats": [
        (pa.float64(), st.sampled_from(FLOATS)),
        (pa.float64(), st.floats()),
        (pa.float64(), st.integers(-(10**6), 10**6).map(lambda value: value / 7)),  # of which every sum is rounded
        (pa.float32(), st.floats(width=32)),
        (pa.float16(), st.floats(width=16)),
    ],
    "times": [
        (pa.timestamp("us"), SMALL | st.integers(-(2**63), 2**63 - 1)),
        (pa.timestamp("s", "UTC"), st.sampled_from(SECONDS)),
        (pa.timestamp("ns"), SMALL | st.sampled_from([2**63 - 1, -(2**63)])),
        (pa.duration("s"), st.sampled_from(SECONDS)),
        (pa.duration("ms"), SMALL | st.sampled_from([9_223_372_036_854, 9_223_372_036_855, -5_000_000_000_000])),
        (pa.duration("ns"), SMALL | st.sampled_from([2**63 - 1, -(2**63)])),
        (pa.date32(), SMALL | st.sampled_from([2**31 - 1, -(2**31)])),
        (pa.date64(), SMALL.map(lambda days: days * 86_400_000)),
    ],
    "others": [
        (pa.bool_(), st.booleans()),
        (pa.string(), st.sampled_from(["", "a", "b", "ab", "é"])),
        (pa.large_string(), st.sampled_from(["a", "b"])),
        (pa.decimal128(10, 2), st.decimals(-9, 9, places=2)),
        (pa.decimal128(38, 0), st.sampled_from([Decimal(10**38 - 1), Decimal(1 - 10**38), Decimal(1)])),
        (pa.null(), st.none()),
    ],
}


class Case(NamedTuple):
    values: pa.Array
    given: Type
    positions: np.ndarray
    segments: np.ndarray
    count: int


@st.composite
def cases(draw: st.DrawFn, columns: list[tuple[pa.DataType, st.SearchStrategy[Any]]]) -> Case:
    """Values with NULLs here and there, some at equal positions, in segments of which some are empty."""
    kind, values = draw(st.sampled_from(columns))
    nullable = st.none() | values if draw(st.booleans()) else values
    step = st.tuples(st.sampled_from([0, 0, 0, 1, 2]), st.sampled_from([0, 1, 1]), nullable)
    steps = draw(st.lists(step, max_size=12))
    return _case(kind, [s for s, _, _ in steps], [p for _, p, _ in steps], [v for _, _, v in steps], draw(SMALL) % 3)


def _case(kind: pa.DataType, segments: list[int], positions: list[int], values: list[Any], more: int) -> Case:
    column = pa.array([None, *values], kind).slice(1)  # an array need not begin where its memory does
    placed = np.cumsum(np.array(segments, dtype=np.int64))
    count = (int(placed[-1]) + 1 if len(placed) else 0) + more
    return Case(column, from_arrow(kind), np.cumsum(np.array(positions, dtype=np.int64)), placed, count)


def by_definition(function: Aggregate, ignore_nulls: bool, case: Case, result: pa.DataType) -> pa.Array:
    plain, found = [canonical(value) for value in plain_values(case.values, case.given)], []  # as events hold them
    for segment in range(case.count):
        state = function.identity
        for index in np.flatnonzero(case.segments == segment):
            state = function.step(state, int(case.positions[index]), plain[index], ignore_nulls)
        found.append(function.value(state))
    for value in found:
        if isinstance(value, Failure):
            raise ac.AggregateError(value.message)
    return leaves(found, result, function.name)


def exact(array: pa.Array) -> list[Any]:
    """The values, of floats the bits: there is one NaN and one zero."""
    if pa.types.is_floating(array.type):
        return array.view({16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[array.type.bit_width]).to_pylist()
    plain = pa.types.is_temporal(array.type)  # Python has no dates after the year 9999
    return plain_values(array, from_arrow(array.type)) if plain else array.to_pylist()


def agree(function: Aggregate, ignore_nulls: bool, case: Case, result: pa.DataType) -> None:
    try:
        expected = by_definition(function, ignore_nulls, case, result)
    except ac.AceleraError as error:
        with pytest.raises(ac.AceleraError) as raised:
            fold(function, ignore_nulls, *case, result)
        assert (type(raised.value), str(raised.value)) == (type(error), str(error))
        return
    array = fold(function, ignore_nulls, *case, result)
    array.validate(full=True)
    assert array.type == result
    assert exact(array) == exact(expected)


@pytest.mark.property
@pytest.mark.parametrize("kinds", COLUMNS)
@given(st.data())
def test_folds_are_what_the_definition_says(kinds: str, data: st.DataObject) -> None:
    case = data.draw(cases(COLUMNS[kinds]))
    for function in BUILTIN:
        if (result := function.result(case.given)) is not None:
            agree(function, False, case, result.arrow)
            agree(function, True, case, result.arrow)


OTHER_RESULTS = [pa.float64(), pa.int8(), pa.float32(), pa.timestamp("ms"), pa.duration("ns"), pa.duration("s")]


@pytest.mark.property
@given(
    st.sampled_from([function for function in BUILTIN if function.name != "count"]),
    st.booleans(),
    cases(COLUMNS["integers"] + COLUMNS["times"]),
    st.sampled_from(OTHER_RESULTS),
)
def test_results_of_another_type(function: Aggregate, ignore_nulls: bool, case: Case, result: pa.DataType) -> None:
    if function.result(case.given) is not None:
        agree(function, ignore_nulls, case, result)


@pytest.mark.property
@given(st.booleans(), cases(COLUMNS["integers"][:1] + COLUMNS["floats"][:1]))
def test_functions_of_ones_own(ignore_nulls: bool, case: Case) -> None:
    ac.aggregate("geo", lift=math.log, combine=lambda a, b: a + b, identity=0.0, finish=math.exp, returns="float")
    ac.aggregate("latest", lift=lambda v: v, combine=lambda _, b: b, identity=0)
    ac.aggregate("wrong", lift=lambda v: v, combine=lambda _, b: b, identity=None, finish=str, returns="int")
    for name in ("geo", "latest", "wrong"):
        function = find_aggregate(name)
        assert function is not None
        result = function.result(case.given)
        assert result is not None
        agree(function, ignore_nulls, case, result.arrow)


def folded(
    name: str, values: list[Any], kind: pa.DataType, segments: list[int], ignore_nulls: bool = False
) -> pa.Array:
    function, described = find_aggregate(name), from_arrow(kind)
    assert function is not None
    result = function.result(described)
    assert result is not None
    positions, placed = np.arange(len(values)), np.array(segments, dtype=np.int64)
    return fold(
        function, ignore_nulls, pa.array(values, kind), described, positions, placed, max(segments) + 1, result.arrow
    )


def test_segments() -> None:
    assert folded("sum", [1, 2, 4, 8], pa.int64(), [0, 0, 2, 2]).to_pylist() == [3, 0, 12]
    assert folded("max", [1, 2, 4, 8], pa.int64(), [0, 0, 2, 2]).to_pylist() == [2, None, 8]
    assert folded("max", [1, None, 4, 8], pa.int64(), [0, 0, 1, 1]).to_pylist() == [None, 8]
    assert folded("max", [1, None, 4, 8], pa.int64(), [0, 0, 1, 1], ignore_nulls=True).to_pylist() == [1, 8]
    assert folded("last", ["a", "b", "c"], pa.string(), [0, 0, 2]).to_pylist() == ["b", None, "c"]


def test_events_are_counted() -> None:
    count = find_aggregate("count")
    assert count is not None
    segments = np.array([0, 0, 2])
    assert fold(count, False, None, None, segments, segments, 4, pa.int64()).to_pylist() == [2, 0, 1, 0]
    assert fold(count, False, pa.nulls(3), NULL, segments, segments, 3, INT.arrow).to_pylist() == [None, 0, None]


def test_values_that_are_only_carried_are_counted() -> None:
    values = [[1], None, [], [2]]
    assert folded("count", values, pa.list_(pa.int64()), [0, 1, 1, 2]).to_pylist() == [1, None, 1]
    assert folded("count", values, pa.list_(pa.int64()), [0, 1, 1, 2], ignore_nulls=True).to_pylist() == [1, 1, 1]


def test_only_the_final_value_must_fit() -> None:
    large = 2**63 - 1
    assert folded("sum", [large, large, -large, 7, 1], pa.int64(), [0, 0, 0, 1, 2]).to_pylist() == [large, 7, 1]
    assert folded("avg", [large, 1, -1], pa.int64(), [0, 0, 0]).to_pylist() == [large / 3]
    assert folded("product", [large, large, 0, 3], pa.int64(), [0, 0, 0, 1]).to_pylist() == [0, 3]
    for name in ("sum", "avg", "product", "range"):
        with pytest.raises(ac.AggregateError, match="overflow"):
            folded(name, [1, -large, -large, large], pa.int64(), [0, 1, 1, 1] if name == "range" else [0, 1, 1, 2])


def test_the_first_failure_is_reported() -> None:
    ac.aggregate("picky", lift=lambda v: {}[v], combine=max, identity=0)
    with pytest.raises(ac.AggregateError, match="KeyError: 5"):
        folded("picky", [None, 5, 6], pa.int64(), [0, 1, 2])


def test_functions_of_ones_own_see_one_zero() -> None:
    ac.aggregate("signs", lift=lambda v: math.copysign(1.0, v), combine=lambda a, b: a + b, identity=0.0)
    assert folded("signs", [-0.0, 0.0, -1.0], pa.float64(), [0, 0, 1]).to_pylist() == [2.0, -1.0]


def test_a_value_that_does_not_fit() -> None:
    ac.aggregate("texts", lift=str, combine=max, identity="")
    with pytest.raises(ac.AceleraError, match="returns="):
        folded("texts", [1], pa.int64(), [0])
