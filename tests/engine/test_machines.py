"""Which machine runs a query, and that each kind of value is remembered as it is."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.machines.register_machine import RegisterMachine
from acelera.engine.machines.table_machine import TableMachine
from acelera.engine.machines.value_machine import ValueMachine
from acelera.engine.registers import opcodes
from acelera.engine.registers.aggregate_steps import Cells, fold_value

FORMULAS = [
    "A AS a ; B AS b FILTER a.d < b.d",
    "A AS a ; B+ AS b FILTER a.d <> b.d",
    "(A;B+) AS x FILTER x[increasing(d)]",
    "A ; B+ AS b ; C AGG m[h<-max(b.d), l<-min(b.d), f<-first(b.d), z<-last(b.d)] FILTER m.h > m.l",
    "A ; B+ AS b ; C AGG m[h<-max(b.ts), l<-min(b.ts), r<-range(b.ts)] FILTER m.h > m.l AND m.r > INTERVAL 3 SECONDS",
    "A AS a ; B AS b FILTER b.ts - a.ts > INTERVAL 5 SECONDS",
    "A AS a ; B AS b FILTER a.day < b.day",
    "A AS a ; B AS b FILTER a.dur + a.dur < b.dur",
    "A ; B+ AS b ; C AGG m[h<-sum(b.dur)] FILTER m.h > INTERVAL 3 MILLISECONDS",
    "A ; B+ AS b ; C AGG m[h<-sum(b.v), p<-product(b.v), a<-avg(b.v), r<-range(b.v),v<-variance(b.v)] FILTER m.h > 3 AND m.a > 1",
    "A ; B+ AS b ; C AGG m[h<-sum(b.v IGNORE NULLS), a<-avg(b.w), r<-range(b.w),v<-variance(b.w),q<-product(b.w)] FILTER m.h > 3 AND m.a > 0.2",
    "A ; B+ AS b ; C AGG m[t<-bool_and(b.ok), u<-bool_or(b.ok)] FILTER m.u = TRUE",
    "A ; B+ AS b ; C AGG m[t<-max(b.s), u<-first(b.s)] FILTER m.t > 'x' AND m.u <> 'y'",
    "A AS a ; B AS b FILTER a.s || b.s = 'xy'",
    "A AS a ; B AS b FILTER lower(a.s) = b.s",
    "A AS a; B AS b FILTER a.v % 2 = b.v % 2",
    "A AS a; B AS b FILTER abs(a.v - b.v) > 2",
    "A AS a; B AS b FILTER a.v / b.v > 1",
    "A AS a; B AS b FILTER coalesce(a.v, b.v) > 2",
    "A AS a; B AS b FILTER a.v IN (b.v, 1)",
    "A AS a; B AS b FILTER a.v BETWEEN b.v - 1 AND b.v + 1",
    "A AS a; B AS b FILTER NOT (a.v > b.v)",
    "A AS a; B AS b FILTER a.f4 < b.w",
    "A AS a ; B AS b FILTER a.i8 = b.i8",
    "(A ; B ; C) AS x FILTER x[same(ok)]",
    "(A AS a ; B AS b) FILTER a.ok = b.ok",
    "A AS a ; B AS b ; C AS c FILTER a.v + b.v = c.v AND a.s <> b.s",
    "A ; (B AS b UNLESS C) ; A",
    "((A ; B+ AS b) UNLESS (C AS c ; C AS e FILTER c.v < e.v)) ; A",
    "A+ AS a ; B+ AS b FILTER a.v * b.v > 2",
    "A AS a ; B AS b FILTER sqrt(a.v) < b.w + 1",
    "A AS a ; B AS b FILTER b.position - a.position > 2",
    "(A ; B) AS x FILTER x[same(s, ok)]",
]


def stream(size: int = 80) -> pa.Table:
    """Values of every kind, NULLs among them."""
    rng = np.random.default_rng(3)
    cents = rng.integers(0, 30, size).tolist()
    return pa.table(
        {
            "type": rng.choice(["A", "B", "C"], size),
            "v": pa.array([None if number == 0 else number for number in rng.integers(0, 5, size).tolist()]),
            "w": rng.uniform(0, 1, size),
            "s": rng.choice(["x", "y", "zz"], size),
            "d": pa.array([None if c % 7 == 0 else Decimal(c - 5) / 100 for c in cents], pa.decimal128(9, 2)),
            "ok": rng.choice([True, False], size),
            "day": pa.array(rng.integers(0, 9, size).astype(np.int32)).cast(pa.date32()),
            "ts": pa.array(np.cumsum(rng.integers(1, 5, size)) * 1000, pa.timestamp("ms")),
            "dur": pa.array(rng.integers(0, 9, size) * 1000, pa.duration("us")),
            "i8": pa.array(rng.integers(0, 9, size), pa.int8()),
            "f4": pa.array(rng.uniform(0, 2, size).astype(np.float32)),
        }
    )


@pytest.mark.parametrize("within", ["7 EVENTS", "9 SECONDS"])
@pytest.mark.parametrize("formula", FORMULAS)
def test_what_is_remembered_is_right(formula: str, within: str) -> None:
    query = ac.query(f"MATCH {formula} WITHIN {within}")
    table = stream()
    expected, found = (query.run(table, order_by="ts", method=method) for method in ("automaton", "engine"))
    assert found.schema == expected.schema
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


@pytest.mark.parametrize(
    ("formula", "machine"),
    [
        ("A ; B+ ; C", TableMachine),
        ("START(A) : NEXT(B) FILTER A.position = 1", TableMachine),
        ("STRICT(A ALL B)", TableMachine),
        ("A ; B+ AS b AGG m[hi <- max(b.v), n <- count(b), t <- stddev(b.w)]", TableMachine),  # only shown
        ("(A ; B) AS x FILTER x[same(s)]", TableMachine),  # a key
        ("(A : B) AS x FILTER x[same(s)]", RegisterMachine),  # what stands next to what is not seen within a key
        ("A ; B+ AS b AGG m[n <- count(b)] FILTER m.n > 2", RegisterMachine),
        ("A+ AS a AGG m[hi <- max(a.v)] PROJECT m", RegisterMachine),  # what is shown does not tell what was aggregated
        ("A AS a ; B+ AS b FILTER a.s <> b.s", RegisterMachine),
        ("A UNLESS B", RegisterMachine),
        ("A AS a ; B AS b FILTER a.s || b.s = 'xy'", ValueMachine),
        ("A ; B+ AS b AGG m[n <- sum(b.d)] FILTER m.n > 2", ValueMachine),
        ("(A AGG m[n <- count(A)]) OR (A AGG m[n <- max(A.v)])", ValueMachine),  # both may be the same
    ],
)
def test_the_quickest_machine_is_taken(formula: str, machine: type) -> None:
    assert type(ac.query(f"MATCH {formula}").open(stream().schema).matcher.machine) is machine


def test_own_aggregates_run_whether_shown_or_filtered() -> None:
    ac.aggregate("longest", lift=len, combine=max, identity=0, returns="int")
    table = pa.table({"type": ["A", "A", "A"], "s": ["a", "ccc", "bb"]})
    shown = ac.query("MATCH A:+ AS x AGG m[n <- longest(x.s)]")
    filtered = ac.query("MATCH A:+ AS x AGG m[n <- longest(x.s)] FILTER m.n > 2")
    for query in (shown, filtered):
        assert query.run(table).to_pylist() == query.run(table, method="semantics").to_pylist()
    assert "the aggregate function longest is Python" in filtered.explain(table.schema)


def test_a_builtin_aggregate_without_instructions_runs_value_by_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opcodes, "AGGREGATES", opcodes.AGGREGATES[:-1])
    table = pa.table({"type": ["A", "A", "A"], "v": [1, 3, 2]})
    query = ac.query("MATCH A:+ AS x AGG m[n <- last(x.v)] FILTER m.n > 1")
    assert query.run(table).to_pylist() == query.run(table, method="semantics").to_pylist()
    assert "there is no instruction for the aggregate function last" in query.explain(table.schema)


def test_aggregates_have_the_numbers_of_their_names() -> None:
    assert [getattr(opcodes, name.upper()) for name in opcodes.AGGREGATES] == list(range(len(opcodes.AGGREGATES)))


def test_an_unknown_aggregate_fails_and_writes_nothing_else() -> None:
    row = np.array([opcodes.VALUE, 7, 8], np.int64)
    fold = getattr(fold_value, "py_func", fold_value)
    fold(len(opcodes.AGGREGATES) * opcodes.FLAVOURS, Cells(row, row.view(np.float64)), 0, 1, 1.0, row)
    assert row.tolist() == [opcodes.FAILED, 7, 8]


def test_runs_that_a_projection_merges_are_not_listed() -> None:
    """Up to 2^98 runs for a pair of start and end, and at most ten matches."""
    table = pa.table({"type": ["A"] * 400, "v": np.random.default_rng(1).integers(0, 10, 400)})
    query = ac.query("MATCH (A+ AS x AGG m[hi <- max(x.v)] PROJECT m) WITHIN 100 EVENTS")
    found = query.run(table)
    pairs = found.group_by(["start", "end"]).aggregate([([], "count_all")])
    assert found.num_rows > 10_000 and max(pairs["count_all"].to_pylist()) <= 10


def test_an_overflow_is_an_error_where_it_is_looked_at() -> None:
    table = pa.table({"type": ["A", "A", "B"], "v": [2**62, 2**62, 1]})
    for text in ("MATCH A+ AS a ; B AGG m[s <- sum(a.v)]", "MATCH A+ AS a ; B AGG m[s <- sum(a.v)] FILTER m.s > 0"):
        with pytest.raises(ac.AggregateError, match="integer overflow"):
            ac.query(text).run(table)
        assert ac.query(text).run(table.slice(1)).num_rows == 1


def test_aggregates_of_nothing() -> None:
    """The parts that would have given values can never match."""
    table = stream(12)
    for function in ("bool_and(A.ok)", "sum(A.v)", "min(A.s)", "avg(A.w)", "count(A)", "first(A.day)", "sum(A.d)"):
        query = ac.query(f"MATCH (B OR (A ; (A AND B))):+ AGG x[y <- {function}]")
        expected = query.run(table, method="automaton")
        assert query.run(table).to_pylist() == expected.to_pylist()
        assert query.run(table).schema == expected.schema


def test_products_that_leave_64_bits() -> None:
    """In conditions they are NULL, in aggregates an error."""
    top = 2**63 - 1
    pairs = [(10**10, 10**10), (top, 2), (-top - 1, -1), (-top - 1, 1), (3, -3074457345618258603), (2**32, -(2**31))]
    for one, two in pairs:
        table = pa.table({"type": ["A", "B"], "v": [one, two]})
        compared = ac.query("MATCH A AS a ; B AS b FILTER a.v * b.v <> 7")
        assert compared.run(table).num_rows == compared.run(table, method="automaton").num_rows, (one, two)
        folded = ac.query("SELECT m.x MATCH (A ; B) AS a AGG m[x <- product(a.v)] FILTER m.x <> 7")
        if -top - 1 <= one * two <= top:
            assert folded.run(table).to_pylist() == [{"m_x": one * two}]
        else:
            with pytest.raises(ac.AggregateError, match="integer overflow"):
                folded.run(table)


def test_windows_at_the_edges_of_time() -> None:
    lowest = -(2**63) + 1
    times = pa.array([lowest, 10**18, 10**18 + 10**15, 10**18 + 2 * 10**15], pa.timestamp("ns"))
    table = pa.table({"type": ["A", "B", "A", "B"], "ts": times})
    query = ac.query("SELECT start, end MATCH A ; B WITHIN 1 SECONDS")
    assert query.run(table, order_by="ts").num_rows == 0
    wide = ac.query("SELECT start, end MATCH A ; B WITHIN 80000 DAYS")
    apart = pa.table({"type": ["A", "B"], "ts": pa.array(["1820-01-01", "2020-01-01"]).cast(pa.timestamp("ns"))})
    session = wide.open(apart.schema, order_by="ts")
    assert session.push(apart.slice(0, 1)).num_rows + session.push(apart.slice(1)).num_rows == 1


def test_unusual_types_of_columns() -> None:
    """Arrow can do little with some of its types; they come out as they went in."""
    small = np.array([2, 1, 2], np.float16)
    columns = {
        "view": pa.array(["x", "y", "x"]).cast(pa.string_view()),
        "half": pa.array(small),
        "dec": pa.array([Decimal(2), Decimal(1), Decimal(2)], pa.decimal64(9, 2)),
    }
    table = pa.table({"type": ["A", "B", "B"], "n": [3, 2, 1], **columns})
    for text in ("MATCH B ; A", "MATCH B ; A PARTITION BY dec", "MATCH (B ; A) AS x FILTER x[same(view)]"):
        query = ac.query(text)
        expected = query.run(table, order_by="n", method="automaton")
        assert query.run(table, order_by="n").to_pylist() == expected.to_pylist()
        assert query.run(table, order_by="n").schema == expected.schema


def test_a_page_in_which_a_variable_holds_nothing() -> None:
    table = pa.table({"type": ["A"], "f": [1.0], "du": pa.array([1], pa.duration("s"))})
    query = ac.query("MATCH A OR (B AGG n[f <- last(B.du)])")
    assert query.run(table).to_pylist() == query.run(table, method="automaton").to_pylist()


def test_dictionary_columns_and_views() -> None:
    plain = stream()
    dictionary = plain.set_column(0, "type", plain["type"].dictionary_encode())
    dictionary = dictionary.set_column(3, "s", plain["s"].dictionary_encode())
    for text in (
        "MATCH A AS a ; B AS b FILTER a.s < b.s WITHIN 5 EVENTS",
        "MATCH A ; B FILTER B.s = 'x' PARTITION BY s WITHIN 5 EVENTS",
        "SELECT max(b.s) AS top, b.s MATCH A ; B+ AS b WITHIN 4 EVENTS",
    ):
        assert ac.query(text).run(dictionary).to_pylist() == ac.query(text).run(plain).to_pylist()
