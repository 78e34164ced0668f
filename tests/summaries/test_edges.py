"""What happens at the edges of SUMMARIZE, each worked out by hand."""

import datetime
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from summaries.test_cases import METHODS

BIG = 2**62


@pytest.fixture(params=METHODS)
def method(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def events(**columns: Any) -> pa.Table:
    """Events of type A, unless a type is given."""
    size = len(next(iter(columns.values())))
    return pa.table({"type": ["A"] * size, **columns})


def rows(query: str, table: Any, method: str, bag_union: Any = "once", **options: Any) -> list[tuple[Any, ...]]:
    result = ac.query(query, bag_union=bag_union).run(table, method=method, **options)
    return [tuple(row.values()) for row in result.to_pylist()]


def starts(query: str, times: list[int], kind: pa.DataType, method: str) -> list[tuple[int, int, int]]:
    """Where windows start and end, as numbers, and what they count."""
    table = events(ts=pa.array(times, pa.int64()).cast(kind))
    result = ac.query(f"SUMMARIZE count(*) AS n {query}").run(table, order_by="ts", method=method)
    columns = [result.column(name).cast(pa.int64()).to_pylist() for name in ("window_start", "window_end", "n")]
    return list(zip(*columns, strict=True))


# --- types --------------------------------------------------------------------------------------------------------

TEXTS = ["x", "y", None, "z", "x", "y"]
NUMBERS = [1.5, None, 2.5, 1.5, 0.0, 2.5]
ODD = {
    "views": pa.array(TEXTS, pa.string_view()),
    "large": pa.array(TEXTS, pa.large_string()),
    "a dictionary": pa.array(TEXTS).dictionary_encode(),
    "a dictionary of views": pa.DictionaryArray.from_arrays(
        [0, 1, None, 2, 0, 1], pa.array(["x", "y", "z"], pa.string_view())
    ),
    "runs": pa.RunEndEncodedArray.from_arrays([1, 2, 3, 4, 5, 6], TEXTS),
    "half floats": pa.array(
        np.array([1.5, 0, 2.5, 1.5, 0.0, 2.5], np.float16), mask=np.array([v is None for v in NUMBERS])
    ),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize(
    ("query", "condition"),
    [
        ("SUMMARIZE count(*) AS n, max(b.k) AS m MATCH A AS a ; B AS b BY a.k", "a_k"),
        ("SUMMARIZE count(*) AS n, first(b.k) AS m MATCH A AS a ; B AS b WITHIN 3 EVENTS BY b.k, end", "b_k"),
        ("SUMMARIZE count(*) AS n, max(m.t) AS m MATCH A AS a ; B+ AS b AGG m[t <- min(b.k)] BY a.k", "a_k"),
        ("SUMMARIZE count(*) AS n, last(b.k) AS m MATCH (A OR B) AS b PARTITION BY k BY k", "k"),
    ],
)
def test_types_that_arrow_can_do_little_with(kind: str, query: str, condition: str, method: str) -> None:
    plain = pa.array(NUMBERS, pa.float32()) if kind == "half floats" else pa.array(TEXTS)
    one, other = (pa.table({"type": ["A", "B"] * 3, "k": column}) for column in (ODD[kind], plain))
    limit = "0.5" if kind == "half floats" else "'a'"
    for text in (query, f"{query} HAVING {condition} > {limit} OR m IS NULL"):
        found = rows(text, one, method)
        assert found == rows(text, other, method)
        assert found


# --- windows ------------------------------------------------------------------------------------------------------


def test_windows_before_1970(method: str) -> None:
    found = starts("MATCH A OVER 10 SECONDS", [-11, -10, -1, 0, 9], pa.timestamp("s"), method)
    assert found == [(-20, -10, 1), (-10, 0, 2), (0, 10, 2)]


def test_windows_that_overlap_before_1970(method: str) -> None:
    # A pair -4, 3 is within [-5, 5) alone; -10 … 0 and 0 … 10 hold one event each.
    found = starts("MATCH (A AS x)+ OVER 10 SECONDS EVERY 5 SECONDS", [-4, 3], pa.timestamp("s"), method)
    assert found == [(-10, 0, 1), (-5, 5, 3), (0, 10, 1)]


@pytest.mark.parametrize("time", [2**63 - 1, 1 - 2**63])
def test_windows_that_have_no_time_are_refused(time: int, method: str) -> None:
    with pytest.raises(ac.AceleraError, match=r"timestamp\[us\], which reaches farther"):
        starts("MATCH A OVER 1 HOURS", [time], pa.timestamp("ns"), method)
    assert starts("MATCH A OVER 1 HOURS", [time // 1000], pa.timestamp("us"), method)


def test_windows_of_centuries(method: str) -> None:
    day, late = 86_400 * 10**9, 1_700_000_000 * 10**9
    found = starts("MATCH A OVER 60000 DAYS EVERY 30000 DAYS", [late], pa.timestamp("ns"), method)
    assert found == [(-30000 * day, 30000 * day, 1), (0, 60000 * day, 1)]


def test_windows_are_exact_to_the_nanosecond(method: str) -> None:
    second = 10**9
    late = 1_700_000_000 * second
    times = [-1, 0, late - 1, late, late + second - 1, late + second]
    found = starts("MATCH A OVER 1 SECOND", times, pa.timestamp("ns"), method)
    assert [(start // second, n) for start, _, n in found] == [
        (-1, 1),
        (0, 1),
        (1_699_999_999, 1),
        (1_700_000_000, 2),
        (1_700_000_001, 1),
    ]


def test_windows_with_gaps(method: str) -> None:
    # Windows of 2 every 5: -5 … -3, 0 … 2, 5 … 7. What lies between them counts nowhere.
    found = starts("MATCH A OVER 2 SECONDS EVERY 5 SECONDS", [-4, -3, 0, 1, 2, 4, 5], pa.timestamp("s"), method)
    assert found == [(-5, -3, 1), (0, 2, 2), (5, 7, 1)]


def test_windows_that_do_not_fit_one_another(method: str) -> None:
    # Windows of 3 every 2, of half-open seconds: 4 is in 2 … 5 and 4 … 7, 3 only in 2 … 5.
    found = starts("MATCH A OVER 3 SECONDS EVERY 2 SECONDS", [3, 4], pa.timestamp("s"), method)
    assert found == [(2, 5, 2), (4, 7, 1)]


def test_windows_of_times_with_a_zone_are_counted_from_utc(method: str) -> None:
    hours = [22, 23, 24, 25]  # 23:00 UTC is midnight in Berlin
    found = starts("MATCH A OVER 1 DAY", [hour * 3600 for hour in hours], pa.timestamp("s", "Europe/Berlin"), method)
    assert found == [(0, 86400, 2), (86400, 2 * 86400, 2)]


def test_windows_of_events_count_within_a_partition(method: str) -> None:
    table = events(k=[1, 2, 1, 1, 2, 1], v=[1, 2, 4, 8, 16, 32])
    query = "SUMMARIZE sum(A.v) AS total MATCH A : A PARTITION BY k BY k OVER 2 EVENTS EVERY 1 EVENT"
    # k = 1 holds 1, 4, 8, 32, k = 2 holds 2, 16; window 3 … 4 has no second event of k = 2.
    assert rows(query, table, method) == [(1, 2, 1, 5), (1, 2, 2, 18), (2, 3, 1, 12), (3, 4, 1, 40)]


def test_windows_of_events_that_are_not_full(method: str) -> None:
    table = events(v=[1, 2, 4, 8, 16])
    assert rows("SUMMARIZE sum(A.v) AS total MATCH A OVER 2 EVENTS", table, method) == [
        (1, 2, 3),
        (3, 4, 12),
        (5, 6, 16),
    ]
    gaps = "SUMMARIZE sum(A.v) AS total MATCH A OVER 1 EVENT EVERY 2 EVENTS"
    assert rows(gaps, table, method) == [(1, 1, 1), (3, 3, 4), (5, 5, 16)]


def test_a_match_is_in_a_window_with_all_of_its_interval(method: str) -> None:
    # NEXT(B) starts where it begins to look: 1–3 and 2–3, not only at 3.
    table = pa.table({"type": ["A", "A", "B"]})
    query = "SUMMARIZE count(*) MATCH NEXT(B) OVER 2 EVENTS EVERY 1 EVENT"
    assert rows(query, table, method) == [(2, 3, 2), (3, 4, 1)]


# --- totals -------------------------------------------------------------------------------------------------------


def test_sums_that_do_not_fit_are_errors(method: str) -> None:
    table = events(v=[BIG, BIG])
    with pytest.raises(ac.AggregateError, match="overflow"):
        rows("SUMMARIZE sum(A.v) AS s MATCH A", table, method)
    with pytest.raises(ac.AggregateError, match="overflow"):
        rows("SUMMARIZE product(A.v) AS s MATCH A", table, method)


TICKS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


@pytest.mark.parametrize("unit", TICKS)
@pytest.mark.parametrize("item", ["sum(A.gap)", "sum(m.s)", "range(A.gap)", "range(A.at)"])
def test_times_are_counted_in_nanoseconds(item: str, unit: str, method: str) -> None:
    """What is summed up of times, or their range, must fit into 64 bits of nanoseconds, in whichever unit they are."""
    query = f"SUMMARIZE {item} AS s MATCH A AGG m[s <- sum(A.gap)]"
    longest = (2**63 - 1) // TICKS[unit]
    for total in (longest, longest + 1):
        low, high = (-(total // 2), total - total // 2) if "range" in item else (total // 2, total - total // 2)
        table = events(gap=pa.array([low, high], pa.duration(unit)), at=pa.array([low, high], pa.timestamp(unit)))
        if total == longest:
            result = ac.query(query).run(table, method=method)
            assert result.column("s").cast(pa.int64()).to_pylist() == [longest]
            continue
        with pytest.raises(ac.AggregateError, match="overflow"):
            rows(query, table, method)


def test_the_shortest_duration_fits(method: str) -> None:
    for unit, tick in TICKS.items():
        least = -(2**63 // tick)
        table = events(gap=pa.array([least // 2, least - least // 2], pa.duration(unit)))
        result = ac.query("SUMMARIZE sum(A.gap) AS s MATCH A").run(table, method=method)
        assert result.column("s").cast(pa.int64()).to_pylist() == [least]
        with pytest.raises(ac.AggregateError, match="overflow"):
            rows("SUMMARIZE sum(A.gap) AS s MATCH A", events(gap=pa.array([least, -1], pa.duration(unit))), method)


def test_a_sum_of_durations_on_its_way_may_be_longer(method: str) -> None:
    long = 2**62 // 10**9
    table = events(gap=pa.array([long, long, long, -long, -long], pa.duration("s")))
    result = ac.query("SUMMARIZE sum(A.gap) AS s MATCH A").run(table, method=method)
    assert result.column("s").cast(pa.int64()).to_pylist() == [long]


def test_only_the_sum_of_all_must_fit(method: str) -> None:
    assert rows("SUMMARIZE sum(A.v) AS s MATCH A", events(v=[BIG, BIG, -BIG, -5]), method) == [(BIG - 5,)]
    assert rows("SUMMARIZE product(A.v) AS s MATCH A", events(v=[BIG, BIG, 0]), method) == [(0,)]


def test_a_row_that_is_not_shown_can_fail_too(method: str) -> None:
    with pytest.raises(ac.AggregateError, match="overflow"):
        rows("SUMMARIZE sum(A.v) AS s, count(*) AS n MATCH A HAVING n > 5", events(v=[BIG, BIG]), method)


def test_averages_never_overflow(method: str) -> None:
    assert rows("SUMMARIZE avg(A.v) AS mean MATCH A", events(v=[BIG, BIG, BIG]), method) == [(float(BIG),)]


def test_an_event_counts_once_for_each_match(method: str) -> None:
    # E+ over three events: each of them is in four of the seven matches.
    table = events(v=[1, 2, 4])
    items = "count(*), log2_count(*), count(x), sum(x.v), min(x.v), avg(x.v), count(x.v), variance(x.v)"
    assert rows(f"SUMMARIZE {items} MATCH (A AS x)+", table, method) == [
        (7, math.log2(7), 12, 28, 1, 28 / 12, 12, pytest.approx((4 * 21 - 28**2 / 12) / 11))
    ]


def test_what_a_projection_merges_is_counted_once(method: str) -> None:
    # ANY is 2 or 3, or 3 or 4, … but is not kept: one match for each end.
    table = pa.table({"type": ["A", "C", "C", "B", "B"]})
    assert rows("SUMMARIZE count(*) MATCH A ; ANY ; B PROJECT A", table, method) == [(2,)]
    assert rows("SUMMARIZE count(*) MATCH A ; ANY ; B", table, method) == [(5,)]


@pytest.mark.parametrize(("bag_union", "expected"), [("once", (3, 4, 22)), ("additive", (3, 6, 33))])
def test_bags_count_as_often_as_they_hold(bag_union: str, expected: tuple[int, ...], method: str) -> None:
    # Both sides are the first event, both the second, or one each. Additively, a bag then holds an event twice.
    query = "SUMMARIZE count(*), count(x), sum(x.v) MATCH (A AS x) ALL (A AS x)"
    assert rows(query, events(v=[1, 10]), method, bag_union) == [expected]


def test_nulls(method: str) -> None:
    table = events(v=[1, None, 5])
    items = "sum(x.v), sum(x.v IGNORE NULLS) AS s, count(x.v), count(x.v IGNORE NULLS) AS n, count(x)"
    assert rows(f"SUMMARIZE {items} MATCH A AS x", table, method) == [(None, 6, None, 2, 3)]


def test_no_values(method: str) -> None:
    table = pa.table({"type": ["A", "B"], "v": [1, 2]})
    items = "count(*), count(B), sum(B.v), min(B.v), avg(B.v), first(B.v), log2_count(*)"
    query = f"SUMMARIZE {items} MATCH A OR (A ; B) HAVING count = 1"
    assert rows(query, table.slice(0, 1), method) == [(1, 0, 0, None, None, None, 0.0)]
    assert rows(query, table, method) == []


def test_first_and_last_by_position(method: str) -> None:
    table = pa.table({"type": ["A", "A", "B", "A"], "k": [1, 2, 1, 1], "v": [7, 3, 9, 5]})
    query = "SUMMARIZE first(A.v), last(A.v), last(ANY.v) MATCH A OR ANY PARTITION BY k BY k"
    assert rows(query, table, method) == [(1, 7, 5, 5), (2, 3, 3, 3)]


def test_matches_that_end_together_are_compared_by_value(method: str) -> None:
    # 1; 4; 1 and 4: sums of 1 at the first position, of 4 and 5 at the second.
    query = "SUMMARIZE first(m.s), last(m.s) MATCH (A AS x)+ AGG m[s <- sum(x.v)]"
    assert rows(query, events(v=[1, 4]), method) == [(1, 5)]
    assert rows(f"{query} BY end", events(v=[1, 4]), method) == [(1, 1, 1), (2, 4, 5)]


def test_aggregates_of_aggregates(method: str) -> None:
    query = (
        "SUMMARIZE max(m.s), min(m.s), avg(m.s), sum(m.n), count(m) MATCH (A AS x)+ AGG m[s <- sum(x.v), n <- count(x)]"
    )
    assert rows(query, events(v=[1, 2, 4]), method) == [(7, 1, 4.0, 12, 7)]


def test_an_aggregate_that_failed_is_an_error_only_where_it_is_looked_at(method: str) -> None:
    table = events(v=[BIG, BIG, 1])
    pattern = "MATCH (A AS x)+ AGG m[s <- sum(x.v), n <- count(x)]"
    assert rows(f"SUMMARIZE count(*), max(m.n), count(m) {pattern}", table, method) == [(7, 3, 7)]
    for item in ("max(m.s)", "count(m.s)", "coalesce(1, sum(m.s)) AS a"):
        with pytest.raises(ac.AggregateError, match="overflow"):
            rows(f"SUMMARIZE {item} {pattern}", table, method)
    with pytest.raises(ac.AggregateError, match="overflow"):
        rows(f"SUMMARIZE count(*) {pattern} BY m.s", table, method)
    # The matches with both large values are in no window of one event.
    alone = f"SUMMARIZE max(m.s) AS a {pattern} OVER 1 EVENT"
    assert rows(alone, table, method) == [(1, 1, BIG), (2, 2, BIG), (3, 3, 1)]


def test_a_function_of_ones_own(method: str) -> None:
    ac.aggregate("longest", lift=len, combine=max, identity=0, returns="int")
    table = events(word=["to", "count", None])
    query = "SUMMARIZE Longest(A.word IGNORE NULLS) AS n, 2 * longest(A.word) AS m MATCH A"
    assert rows(query, table, method) == [(5, None)]
    ac.aggregate("broken", lift=lambda value: 1 // 0, combine=max, identity=0, returns="int")
    with pytest.raises(ac.AggregateError, match="`broken` failed: ZeroDivisionError"):
        rows("SUMMARIZE broken(A.word) AS n MATCH A", table, method)


# --- groups -------------------------------------------------------------------------------------------------------


def test_partitions_are_merged_without_keys(method: str) -> None:
    table = pa.table({"type": ["A", "A", "B", "B"], "k": [1, 2, 1, 2], "v": [1, 2, 4, 8]})
    query = "SUMMARIZE count(*), sum(A.v) + sum(B.v) AS total MATCH A : B PARTITION BY k"
    assert rows(query, table, method) == [(2, 15)]


def test_equal_matches_of_different_partitions_are_different(method: str) -> None:
    assert rows("SUMMARIZE count(*) MATCH A PARTITION BY k", events(k=[1, 2, 2, None]), method) == [(4,)]


def test_null_nan_and_zero_are_keys(method: str) -> None:
    table = events(w=[math.nan, 1.0, None, -0.0, 0.0, math.nan, None, -1.0])
    by_partition = "SUMMARIZE count(*) MATCH A PARTITION BY w BY w"
    for query in (by_partition, "SUMMARIZE count(*) MATCH A BY A.w"):
        found = rows(query, table, method)
        assert found[:4] == [(None, 2), (-1.0, 1), (0.0, 2), (1.0, 1)]
        assert math.isnan(found[4][0]) and found[4][1] == 2 and len(found) == 5


def test_rows_are_ordered_by_window_and_keys(method: str) -> None:
    table = events(s=["b", None, "a", "B"], ok=[True, False, None, False])
    query = "SUMMARIZE count(*) MATCH A BY A.ok, A.s OVER 2 EVENTS"
    assert rows(query, table, method) == [
        (1, 2, False, None, 1),
        (1, 2, True, "b", 1),
        (3, 4, None, "a", 1),
        (3, 4, False, "B", 1),
    ]


def test_a_row_for_each_moment_at_which_matches_end(method: str) -> None:
    moments = [datetime.datetime(2024, 1, 1, 10, minute) for minute in (0, 1, 1, 5)]
    table = events(ts=moments, k=[1, 1, 2, 2])
    query = "SUMMARIZE count(*) MATCH (A AS x)+ PARTITION BY k BY end_time"
    assert rows(query, table, method, order_by="ts") == [(moments[0], 1), (moments[1], 3), (moments[3], 2)]


def test_bounds_are_keys(method: str) -> None:
    query = "SUMMARIZE count(*) AS n MATCH (A AS x)+ BY start, end HAVING n > 1"
    assert rows(query, events(v=[1, 2, 3, 4]), method) == [(1, 3, 2), (1, 4, 4), (2, 4, 2)]


def test_an_aggregate_of_a_match_is_a_key(method: str) -> None:
    # Of three events there are 3, 3 and 1 choices of one, two, three.
    query = "SUMMARIZE count(*), sum(x.v) MATCH (A AS x)+ AGG m[n <- count(x)] BY m.n AS length"
    assert rows(query, events(v=[1, 2, 4]), method) == [(1, 3, 7), (2, 3, 14), (3, 1, 7)]


def test_conditions_on_rows_are_those_of_sql(method: str) -> None:
    table = events(k=[1, 2, 2, None], w=[math.nan, 1.0, 2.0, None])
    query = "SUMMARIZE count(*) AS n, sum(A.w) AS s MATCH A BY A.k AS k"
    assert rows(f"{query} HAVING s > 0", table, method) == [(2, 2, 3.0)]  # NaN compares as NULL
    assert rows(f"{query} HAVING NOT s > 5", table, method) == [(2, 2, 3.0)]
    assert rows(f"{query} HAVING k IS NULL OR n / 0 = 1", table, method) == [(None, 1, None)]


def test_nothing_gives_no_row(method: str) -> None:
    table = events(v=[1, 2])
    result = ac.query("SUMMARIZE count(*), avg(B.v) AS mean MATCH B").run(table, method=method)
    assert result.num_rows == 0
    assert result.schema == pa.schema({"count": pa.int64(), "mean": pa.float64()})
    assert rows("SUMMARIZE count(*) MATCH A", table.slice(0, 0), method) == []


def test_items_are_computed_from_totals(method: str) -> None:
    table = events(v=[1, 2, None])
    items = "count(*) * 2 AS a, sum(A.v IGNORE NULLS) / count(*) AS b, count(*) / 0 AS c, sum(A.v) IS NULL AS d"
    assert rows(f"SUMMARIZE {items} MATCH A", table, method) == [(6, 1.0, None, True)]


def test_types_of_columns(method: str) -> None:
    table = pa.table(
        {
            "type": ["A", "A"],
            "i": pa.array([1, 2], pa.int16()),
            "f": pa.array([0.5, 0.25], pa.float32()),
            "d": pa.array([1, 2], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(9, 2)),
            "gap": pa.array([1, 2], pa.duration("ms")),
            "ts": pa.array([5, 9], pa.int64()).cast(pa.timestamp("us", "UTC")),
        }
    )
    items = "sum(A.i), min(A.i), max(A.f), sum(A.d), sum(A.gap), range(A.ts), max(A.time), min(A.type), max(A.position)"
    result = ac.query(f"SUMMARIZE {items} MATCH A BY A.i OVER 1 SECOND").run(table, order_by="ts", method=method)
    assert [str(field.type) for field in result.schema] == [
        "timestamp[us, tz=UTC]",
        "timestamp[us, tz=UTC]",
        "int16",
        "int64",
        "int16",
        "float",
        "decimal128(38, 2)",
        "duration[ms]",
        "duration[us]",
        "timestamp[us, tz=UTC]",
        "string",
        "int64",
    ]
    assert result.num_rows == 2
