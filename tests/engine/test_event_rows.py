"""`rows="events"`: a row for each event of a match, the same from engine and judges, whatever the cuts."""

from __future__ import annotations

import datetime
import itertools
from collections import defaultdict
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from engine.test_sessions import timed_cases
from strategies import KEEPS, checked_query, keyed_cases

JUDGES = ("automaton", "semantics")
ROWS = [
    {"type": "A", "v": 1, "u": "x"},
    {"type": "B", "v": 2, "u": "x"},
    {"type": "B", "v": 3, "u": "y"},
    {"type": "B", "v": 5, "u": "x"},
]


def by_match(table: pa.Table) -> list[str]:
    """The rows of each match; those of one match stand together, and events of one position in any order."""
    groups = [list(rows) for _, rows in itertools.groupby(table.to_pylist(), key=lambda row: row["match"])]
    assert len(groups) == len({rows[0]["match"] for rows in groups}), "the rows of a match stand together"
    return sorted(repr(sorted(map(repr, rows))) for rows in groups)


def outcome(query: ac.Query, table: pa.Table, method: str, **options: Any) -> Any:
    try:
        result = query.run(table, method=method, rows="events", **options)
    except (ac.AggregateError, ac.SchemaError, ac.UsageError) as error:
        return str(error)
    names = [name for name in ("end", "start") if name in result.column_names]
    places = [name for name in ("time", "position") if name in result.column_names]
    order = [key for key, _ in itertools.groupby(result.select([*names, "match"]).to_pylist())]
    for _, group in itertools.groupby(result.select(["match", *places]).to_pylist(), key=lambda row: row["match"]):
        within = [tuple(row[name] for name in places) for row in group]
        assert within == sorted(within), "the events of a match come in order"
    return result.schema, by_match(result), [[row[name] for name in names] for row in order]


@pytest.mark.property
@given(case=keyed_cases(), keep=KEEPS, ties=st.sampled_from(["error", "keep"]))
def test_engine_and_judges_agree(case: tuple[ast.Query, pa.Table], keep: ast.Keep | None, ties: str) -> None:
    tree, table = case
    query = checked_query(replace(tree, keep=keep), table, "once")
    expected = outcome(query, table, "semantics", ties=ties)
    assert outcome(query, table, "engine", ties=ties) == expected
    assert outcome(query, table, "automaton", ties=ties) == expected


@pytest.mark.property
@given(case=keyed_cases())
def test_there_are_the_events_that_matches_hold(case: tuple[ast.Query, pa.Table]) -> None:
    """As many ids as matches that hold an event, and as many rows as events in the lists of `*`."""
    tree, table = case
    query = checked_query(tree, table, "once")
    try:
        matches = query.run(table).to_pylist()
        events = query.run(table, rows="events").to_pylist()
    except (ac.AggregateError, ac.SchemaError, ac.UsageError):
        assume(False)
    held = [
        [(name, e["position"]) for name, bag in row.items() if isinstance(bag, list) for e in bag] for row in matches
    ]
    found = defaultdict(list)
    for row in events:
        found[row["match"]].append((row["variable"], row["position"]))
    assert sorted(map(sorted, filter(None, held))) == sorted(map(sorted, found.values()))


@pytest.mark.property
@given(case=timed_cases(), data=st.data())
def test_batches_and_snapshots_change_nothing(case: tuple[ac.Query, pa.Table], data: st.DataObject) -> None:
    query, table = case
    try:
        expected = query.run(table, order_by="ts", method="automaton", rows="events")
    except (ac.AggregateError, ac.SchemaError, ac.UsageError):
        assume(False)
    ties = data.draw(st.sampled_from(["error", "keep"]))
    if ties == "keep":
        expected = query.run(table, order_by="ts", method="automaton", rows="events", ties="keep")
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=4))})
    session = query.open(table.schema, order_by="ts", rows="events", ties=ties)
    found = [pa.Table.from_batches([], session.schema)]
    for begin, end in itertools.pairwise(cuts):
        found.append(session.push(table.slice(begin, end - begin)))
        if data.draw(st.booleans()):
            session = query.resume(session.snapshot())
        if data.draw(st.booleans()):
            session.compact()
    found.append(session.finish())
    assert by_match(pa.concat_tables(found)) == by_match(expected)
    if table.num_rows:
        streamed = query.stream(table, order_by="ts", rows="events", ties=ties).read_all()
        assert by_match(streamed) == by_match(expected)


@pytest.mark.parametrize("method", ["engine", *JUDGES])
def test_rows_by_hand(method: str) -> None:
    result = ac.query("MATCH A ; B+ PARTITION BY u").run(ROWS, rows="events", method=method)
    assert result.column_names == ["match", "start", "end", "u", "variable", "position", "type", "v"]
    rows = [tuple(row.values())[1:] for row in result.to_pylist()]
    assert rows[:2] == [(1, 2, "x", "A", 1, "A", 1), (1, 2, "x", "B", 2, "B", 2)]
    assert sorted(rows[2:]) == sorted(
        [
            (1, 3, "x", "A", 1, "A", 1),
            (1, 3, "x", "B", 3, "B", 5),
            (1, 3, "x", "A", 1, "A", 1),
            (1, 3, "x", "B", 2, "B", 2),
            (1, 3, "x", "B", 3, "B", 5),
        ]
    )
    assert len(set(result.column("match").to_pylist())) == 3
    assert all(len(each) == 32 for each in result.column("match").to_pylist())


@pytest.mark.parametrize("method", ["engine", *JUDGES])
def test_a_variable_lacks_what_others_have(method: str) -> None:
    """What AGG makes is a column, NULL in rows of other variables, and the other way round; positions come first."""
    text = "MATCH (A ; B+ AS b) AGG m[n <- count(b), top <- max(b.v)] PROJECT A(v), m"
    result = ac.query(text).run(ROWS[:2], rows="events", method=method)
    assert [tuple(row.values())[1:] for row in result.to_pylist()] == [
        (1, 2, "A", 1, 1, None, None),
        (1, 2, "m", 2, None, 1, 2),
    ]
    assert result.column_names[3:] == ["variable", "position", "v", "n", "top"]


@pytest.mark.parametrize("method", ["engine", *JUDGES])
def test_variables_that_select_names(method: str) -> None:
    """In the order of the formula; the id is that of the whole match, whatever is shown of it."""
    everything = ac.query("MATCH A ; B").run(ROWS, rows="events", method=method)
    shown = ac.query("SELECT max(B.v), end MATCH A ; B").run(ROWS, rows="events", method=method)
    assert set(shown.column("variable").to_pylist()) == {"B"}
    assert set(shown.column("match").to_pylist()) == set(everything.column("match").to_pylist())
    both = ac.query("SELECT B, A.v MATCH A ; B").run(ROWS, rows="events", method=method)
    assert both.equals(everything)


@pytest.mark.parametrize("method", ["engine", *JUDGES])
def test_a_match_without_events_of_what_is_shown_has_no_row(method: str) -> None:
    result = ac.query("SELECT C MATCH A ; (B OR C)").run(ROWS, rows="events", method=method)
    assert result.num_rows == 0
    with pytest.warns(ac.AceleraWarning, match="more matches than limit=1"):
        limited = ac.query("MATCH A ; B").run(ROWS, rows="events", method=method, limit=1)
    assert limited.column("variable").to_pylist() == ["A", "B"]


def test_equal_events_that_are_kept_in_order_make_matches_of_their_own() -> None:
    at = datetime.datetime(2024, 1, 1)
    table = pa.table({"type": ["A", "B", "B"], "t": pa.array([at, at, at], pa.timestamp("us"))})
    for method in ("engine", *JUDGES):
        result = ac.query("MATCH A ; B").run(table, order_by="t", ties="keep", rows="events", method=method)
        assert len(set(result.column("match").to_pylist())) == 2


def test_ids_do_not_depend_on_units_encodings_and_other_rows() -> None:
    """The same match in another table: coarser times, dictionaries, rows before it that do not matter."""
    at = [datetime.datetime(2024, 1, 1, 0, 0, second) for second in (5, 6)]
    columns: dict[str, list[Any]] = {
        "type": ["A", "B"],
        "s": ["é", None],
        "w": [-0.0, float("nan")],
        "ok": [True, None],
    }
    query = ac.query("MATCH A ; B PARTITION BY k")

    def ids(unit: str, encode: bool, before: int) -> list[str]:
        times = pa.array([datetime.datetime(2024, 1, 1)] * before + at, pa.timestamp(unit))
        values: dict[str, Any] = {"t": times, "k": pa.array([7] * (before + 2), pa.int32() if encode else pa.int64())}
        for name, cells in columns.items():
            column = pa.array([{"type": "C"}.get(name)] * before + cells, type=pa.array(cells).type)
            values[name] = column.dictionary_encode() if encode and name in ("s", "type") else column
        if not encode:
            values["w"] = pa.array([0.0] * before + [0.0, float("nan")])
        result = query.run(pa.table(values), order_by="t", rows="events")
        return list(dict.fromkeys(result.column("match").to_pylist()))

    assert ids("us", False, 0) == ids("ms", True, 0) == ids("ns", False, 1)


def test_every_type_counts() -> None:
    """A value of each type that can be told apart gives another id; the engine and the judges know the same."""
    samples: dict[str, tuple[Any, Any]] = {
        "i": (1, 2),
        "f": (0.5, 1.5),
        "d": (Decimal("1.50"), Decimal("-1.50")),
        "s": ("a", "b"),
        "ok": (True, False),
        "day": (datetime.date(2024, 1, 1), datetime.date(1969, 1, 1)),
        "took": (datetime.timedelta(seconds=1), datetime.timedelta(seconds=-1)),
        "since": (datetime.datetime(2024, 1, 1), datetime.datetime(1950, 1, 1)),
    }
    base = {"type": "A", **{name: values[0] for name, values in samples.items()}}
    tables = [
        [base],
        *([{**base, name: values[1]}] for name, values in samples.items()),
        *([{**base, name: None}] for name in samples),
    ]
    schema = pa.Table.from_pylist([base]).schema
    found = []
    for rows in tables:
        table = pa.Table.from_pylist(rows, schema)
        ids = [
            ac.query("MATCH A").run(table, rows="events", method=method).column("match")[0].as_py()
            for method in ("engine", *JUDGES)
        ]
        assert len(set(ids)) == 1
        found += ids[:1]
    assert len(set(found)) == 1 + 2 * len(samples)


@pytest.mark.parametrize(
    ("text", "rows", "told"),
    [
        ("SUMMARIZE count(*) MATCH A", ROWS, "a row of a summary stands for many"),
        ("SELECT start, end MATCH A", ROWS, "it names none; write SELECT"),
        ("MATCH A", [{"type": "A", "match": 1}], "events have an attribute `match`; rename"),
        ("MATCH A", [{"type": "A", "variable": 1}], "events have an attribute `variable`; rename"),
        ("MATCH A", [{"type": "A", "end": 1}], "events have an attribute `end`; rename"),
        ("MATCH A PARTITION BY `match`", [{"type": "A", "match": 1}], "PARTITION BY is called `match`"),
        (
            "MATCH A PARTITION BY g.k",
            [{"type": "A", "g_k": 5, "g": {"k": 1}}],
            "events have an attribute `g_k`; rename",
        ),
        ("MATCH A AGG m[u <- count(A)] PARTITION BY u", ROWS, "events have an attribute `u`; rename"),
        ("MATCH A AGG m[u <- count(A)]", ROWS, "`u` is string in `A` and int64 in `m`; rename"),
    ],
)
def test_what_cannot_be_rows(text: str, rows: list[dict[str, Any]], told: str) -> None:
    for method in ("engine", *JUDGES):
        with pytest.raises(ac.AceleraError, match=told):
            ac.query(text).run(rows, rows="events", method=method)
    with pytest.raises(ac.AceleraError, match=told):
        ac.query(text).check(pa.Table.from_pylist(rows).schema, rows="events")


def test_rows_of_something_else() -> None:
    query = ac.query("MATCH A")
    for run in (query.run, query.stream):
        with pytest.raises(ac.UsageError, match="rows='event' is not known; it is one of 'matches', 'events'"):
            run(ROWS, rows="event")
    with pytest.raises(ac.UsageError, match="rows=1 is not known"):
        query.open({"type": str}, rows=1)  # type: ignore[arg-type]


def test_a_snapshot_knows_its_rows() -> None:
    query = ac.query("MATCH A ; B")
    session = query.open({"type": str, "v": int}, rows="events")
    session.push([{"type": "A", "v": 1}])
    later = query.resume(session.snapshot()).push([{"type": "B", "v": 2}])
    whole = query.run([{"type": "A", "v": 1}, {"type": "B", "v": 2}], rows="events")
    assert later.equals(whole)
    with pytest.raises(ac.SnapshotError):
        ac.query("MATCH A ; C").resume(session.snapshot())


def test_a_limit_counts_matches_of_a_stream() -> None:
    with pytest.warns(ac.AceleraWarning, match="more matches than limit=2"):
        table = ac.query("MATCH A ; B+").stream(iter([ROWS[:2], ROWS[2:]]), rows="events", limit=2).read_all()
    assert len(set(table.column("match").to_pylist())) == 2


@pytest.mark.parametrize("rows", ["matches", "events"])
@pytest.mark.parametrize("method", ["engine", *JUDGES])
@pytest.mark.parametrize(
    "given",
    [
        pa.array([2**53 + 1, None], pa.int64()),
        pa.array([Decimal("84102635748191.1657"), None], pa.decimal128(18, 4)),
        pa.array([Decimal("0.3"), None], pa.decimal128(38, 20)),
    ],
)
def test_numbers_that_stand_where_floats_do(given: Any, method: str, rows: str) -> None:
    """`x` holds events whose `v` is as it was read, and others whose `v` is a float: each is the nearest float."""
    table = pa.table({"type": ["A", "B"], "v": given, "f": [None, 0.5]})
    query = ac.query("MATCH (A AS x) OR (B AGG x[v <- avg(B.f)])")
    found, expected = (query.run(table, rows=rows, method=each) for each in (method, "semantics"))
    assert found.schema == expected.schema
    told = found.to_pylist()
    assert told == expected.to_pylist()
    first = next(row for row in told if row.get("variable") == "x")["v"] if rows == "events" else told[0]["x"][0]["v"]
    assert first == float(given[0].as_py())


def test_keys_that_are_fields_of_structs() -> None:
    rows = [{"type": "A", "st": {"a": "x"}}, {"type": "A", "st": {"a": "y"}}]
    query = ac.query("SELECT A.type MATCH A PARTITION BY st.a")
    found = [query.run(rows, rows="events", method=method) for method in ("engine", *JUDGES)]
    assert all(each.equals(found[0]) for each in found)
    assert found[0].column("st_a").to_pylist() == ["x", "y"]
