"""What a user holds in hand: programs, checked, explained and run."""

from __future__ import annotations

import subprocess
import sys
import warnings
from datetime import date, datetime
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import acelera as ac
from acelera.errors import AceleraError, DataError, QueryCheckError, SchemaError, UsageError
from acelera.tables import to_arrow
from acelera.xchangeeq.durations import parse_duration, ticks
from acelera.xchangeeq.printer import print_program
from xchangeeq.doubles import JudgingEngine
from xchangeeq.programs import P


@pytest.fixture
def judging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acelera.xchangeeq.engine", JudgingEngine)  # type: ignore[arg-type]  # a double


# --- program P and the stream of the paper ------------------------------------------------------------------------

STREAM = [
    {"type": "smoke", "b": 65, "e": 68, "area": "a"},
    {"type": "temp", "b": 60, "e": 63, "area": "a", "sensor": "s", "value": 40.0},
    {"type": "temp", "b": 70, "e": 80, "area": "a", "sensor": "s", "value": 41.0},
]
INTERVALS = {"begin": "b", "end": "e"}


def listed(made: dict[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    return {label: table.to_pylist() for label, table in made.items() if table.num_rows}


def test_the_stream_of_the_paper() -> None:
    made = ac.xchangeeq(P).run(STREAM, **INTERVALS, time_unit="s", method="semantics")
    assert listed(made) == {
        "fire": [{"begin": 65, "end": 80, "area": "a"}],
        "burnt_down": [{"begin": 70, "end": 92, "sensor": "s"}],
        "avg_temp": [{"begin": 10, "end": 80, "sensor": "s", "value": 40.0}],
    }


def test_the_stream_of_the_paper_as_points() -> None:
    made = ac.xchangeeq(P).run(STREAM, time="e", time_unit="s", method="semantics")
    assert listed(made) == {
        "fire": [{"begin": 68, "end": 80, "area": "a"}],
        "avg_temp": [
            {"begin": 3, "end": 63, "sensor": "s", "value": 40.0},
            {"begin": 20, "end": 80, "sensor": "s", "value": 40.5},
        ],
    }
    assert made["burnt_down"].schema == pa.schema({"begin": pa.int64(), "end": pa.int64(), "sensor": pa.string()})


def test_the_stream_of_the_paper_in_timestamps() -> None:
    at = [{**row, "b": datetime(2024, 1, 1, 0, row["b"] // 60, row["b"] % 60), "e": datetime(2024, 1, 1, 0, row["e"] // 60, row["e"] % 60)} for row in STREAM]  # fmt: skip
    made = ac.xchangeeq(P).run(at, **INTERVALS, method="semantics")
    assert made["burnt_down"].to_pylist() == [
        {"begin": datetime(2024, 1, 1, 0, 1, 10), "end": datetime(2024, 1, 1, 0, 1, 32), "sensor": "s"}
    ]


def by_label(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["type"], []).append({name: cell for name, cell in row.items() if name != "type"})
    return found


@pytest.mark.parametrize(
    "tables",
    [
        STREAM,
        to_arrow(STREAM),
        pd.DataFrame(STREAM),
        pl.DataFrame(STREAM),
        by_label(STREAM),
        {label: pl.DataFrame(rows) for label, rows in by_label(STREAM).items()},
    ],
    ids=["dicts", "arrow", "pandas", "polars", "labels", "frames by label"],
)
@pytest.mark.parametrize("method", ["engine", "semantics"])
def test_events_come_from_anything(tables: Any, method: str, judging: None) -> None:
    p = ac.xchangeeq(P)
    expected = p.run(STREAM, **INTERVALS, time_unit="s", method="semantics")
    assert p.run(tables, **INTERVALS, time_unit="s", method=method) == expected


# --- check --------------------------------------------------------------------------------------------------------

TIMED = {"t": pa.int64()}


def test_the_columns_of_outputs() -> None:
    p = ac.xchangeeq(
        """DETECT d { v { avg(all var V) }, all item { n { var N } }, k { x { var K } } }
        ON a {{ v {{ var V }}, n {{ var N }}, k {{ var K }} }} END"""
    )
    found = p.check(
        {"a": {"b": "timestamp[ns, tz=UTC]", "e": "timestamp[s, tz=UTC]", "v": int, "n": str, "k": bool}}, **INTERVALS
    )
    moment = pa.timestamp("us", "UTC")
    assert found == {
        "d": pa.schema(
            {
                "begin": moment,
                "end": moment,
                "v": pa.float64(),
                "item": pa.list_(pa.struct({"n": pa.string()})),
                "k": pa.struct({"x": pa.bool_()}),
            }
        )
    }


@pytest.mark.parametrize(
    "schemas",
    [
        {"type": str, "t": int, "v": int},
        pa.schema({"type": pa.string(), "t": pa.int64(), "v": pa.int64()}),
        pa.table({"type": ["a"], "t": [1], "v": [1]}),
        [{"type": "a", "t": 1, "v": 1}],
        {"a": {"t": int, "v": int}},
        {"a": pa.table({"t": [1], "v": [1]})},
    ],
)
def test_schemas_in_any_form(schemas: Any) -> None:
    p = ac.xchangeeq("DETECT b { v { var V } } ON a {{ v {{ var V }} }} END")
    assert p.check(schemas, time="t") == {"b": pa.schema({"begin": pa.int64(), "end": pa.int64(), "v": pa.int64()})}


def test_mistakes_are_told_with_their_places() -> None:
    p = ac.xchangeeq("DETECT b { v { var V } } ON a {{ prise {{ var V }} }} END")
    with pytest.raises(QueryCheckError, match=r"line 1, column 34: no child prise in a; did you mean `price`\?"):
        p.check({"a": {"t": int, "price": int}}, time="t")


@pytest.mark.parametrize("child", ["begin", "end"])
def test_children_cannot_be_called_as_times(child: str) -> None:
    with pytest.raises(QueryCheckError) as caught:
        ac.xchangeeq(f"DETECT d {{ v {{ 1 }}, {child} {{ 2 }} }} ON a {{{{ }}}} END")
    assert f"line 1, column 21: d cannot have a child {child}: that is a column of its time" in str(caught.value)


def test_warnings_come_once() -> None:
    p = ac.xchangeeq("DETECT d { } ON and { event i: a {{ }}, event j: aa {{ }} } where { {i, j} within 1 sec } END")
    with pytest.warns(ac.AceleraWarning, match="no row and no head has the label aa; did you mean `a`?"):
        p.check({"a": {"t": int}}, time="t", time_unit="s")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        p.check({"a": {"t": int}}, time="t", time_unit="s")


# --- units --------------------------------------------------------------------------------------------------------

WAITS = "DETECT d { } ON and { event i: a {{ }}, event w: timer:from-end [ event i, 12 sec ] } END"
AT_SIX = 'DETECT d { } ON event w: timer:datetime {{ time {{ "18:30" }} }} END'


@pytest.mark.parametrize(
    ("text", "unit", "says"),
    [
        (WAITS, None, "times are integers, so it must be known what 1 is to tell how long 12 sec (line 1) is; say time_unit='s'"),
        (WAITS, "min", "column 76: 12 sec is no whole number of min, which is the unit of the times; give the times in s"),
        (WAITS.replace("12 sec", "1.5 min"), "min", "1.5 min is no whole number of min, which is the unit of the times; give the times in s"),
        (WAITS.replace("12 sec", "0.0001 ms"), "us", "make it a whole number of microseconds"),
        (AT_SIX, None, "times are integers"),
        (AT_SIX, "h", 'time {{ "18:30" }} is no whole number of h, which is the unit of the times; give the times in min'),
        (AT_SIX.replace("18:30", "18:00").replace('}} }}', '}}, timezone {{ "Asia/Kolkata" }} }}'), "h", "give the times in s"),
        ("DETECT d { } ON timer:date {{ }} END", None, "times are integers"),
        ("DETECT d { } ON and { event i: a {{ }}, event j: a {{ }} } where { {i, j} within 500 ms } END", "s", "500 ms is no whole number of s"),
        ("DETECT d { } ON event w: timer:periodic [ 90 min ] END", "h", "90 min is no whole number of h, which is the unit of the times; give the times in min"),
    ],
)  # fmt: skip
def test_lengths_that_integers_cannot_tell(text: str, unit: str | None, says: str) -> None:
    with pytest.raises(AceleraError) as caught:
        ac.xchangeeq(text).check({"a": TIMED}, time="t", time_unit=unit)
    assert says in str(caught.value)


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_units(unit: str) -> None:
    made = ac.xchangeeq(WAITS).run({"a": [{"t": 1}]}, time="t", time_unit=unit, method="semantics")
    expected = {"us": 12_000_001, "ms": 12_001, "s": 13}[unit]
    assert made["d"].to_pylist() == [{"begin": 1, "end": expected}]


def test_no_length_needs_no_unit() -> None:
    p = ac.xchangeeq("DETECT d { } ON and { event i: a {{ }}, event j: a {{ }} } where { i before j } END")
    assert p.run({"a": [{"t": 1}, {"t": 4}]}, time="t", method="semantics")["d"].to_pylist() == [{"begin": 1, "end": 4}]


def test_dates_become_timestamps() -> None:
    made = ac.xchangeeq(WAITS).run({"a": [{"t": date(2024, 1, 1)}]}, time="t", method="semantics")
    assert made["d"].to_pylist() == [{"begin": datetime(2024, 1, 1), "end": datetime(2024, 1, 1, 0, 0, 12)}]


def test_durations() -> None:
    assert ticks(parse_duration("1 hour 30min .5 s"), 1_000) == 5_400_500
    for text in ("", "5", "sec", "5 apples", "5 sec,", "-5 sec"):
        with pytest.raises(UsageError, match="is no duration; write '5 sec' or '1 min 30 sec'"):
            parse_duration(text)


# --- options ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"tiem": "t"}, UsageError, "there is no option `tiem`; did you mean `time`?"),
        ({"time": "t", "method": "magic"}, UsageError, "method='magic' is not known; it is one of 'engine', 'semantics'"),
        ({**INTERVALS, "longest": {"tmp": "5 sec"}}, UsageError, "no rule asks for events of this label"),
        ({**INTERVALS, "longest": {"b": "5 sec"}}, UsageError, "longest={'b': …}: no rule asks for events of this label"),
        ({**INTERVALS, "longest": {"a": "5 apples"}}, UsageError, "longest={'a': …}: '5 apples' is no duration"),
        ({**INTERVALS, "longest": {"a": "5 sec"}}, UsageError, "longest={'a': '5 sec'} needs to know what 1 is"),
        ({**INTERVALS, "longest": {"a": "5 sec"}, "time_unit": "min"}, UsageError, "5 sec is no whole number of min"),
        ({}, SchemaError, "there is no column `begin` that tells a time of `a`"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense(options: dict[str, Any], error: type[Exception], says: str) -> None:
    p = ac.xchangeeq("DETECT d { } ON a {{ }} END")
    with pytest.raises(error) as caught:
        p.run({"a": [{"t": 1, "b": 1, "e": 2}], "b": [{"t": 1, "b": 1, "e": 2}]}, **options)
    assert says in str(caught.value)


def test_what_an_engine_is_told(judging: None) -> None:
    p = ac.xchangeeq("DETECT d { } ON and { a {{ }}, b {{ }} } END", aggregates="set")
    schemas = {label: {"b": int, "e": int} for label in ("a", "b", "c")}
    engine = p.open(schemas, **INTERVALS, time_unit="s", longest={"a": "5 sec"})._engine
    assert (engine.tick, engine.longest, engine.aggregates) == (1_000_000, {"a": 5, "b": float("inf")}, "set")
    points = p.open({label: {"t": "timestamp"} for label in ("a", "b", "d")}, time="t")._engine
    assert (points.tick, points.longest) == (1, {"a": 0, "b": 0, "d": 0})


@pytest.mark.parametrize("text", [5, None])
def test_a_program_is_a_text(text: Any) -> None:
    with pytest.raises(UsageError, match="a program is made of a text, not of"):
        ac.xchangeeq(text)


def test_aggregates() -> None:
    text = "DETECT d { n { count(all var V) } } ON and { event e: end {{ }}, event w: timer:extend-begin [ event e, 9 sec ], while w: collect a {{ v {{ var V }} }} } END"
    events = {"a": [{"t": 1, "v": 5}, {"t": 2, "v": 5}], "end": [{"t": 3}]}
    for aggregates, expected in (("nodes", 2), ("set", 1)):
        made = ac.xchangeeq(text, aggregates=aggregates).run(events, time="t", time_unit="s", method="semantics")
        assert made["d"]["n"].to_pylist() == [expected]
    with pytest.raises(UsageError, match="aggregates='bags' is not known; it is one of 'nodes', 'set'"):
        ac.xchangeeq(text, aggregates="bags")


# --- what comes in, and what is made ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["engine", "semantics"])
def test_what_comes_in_is_not_made_again(method: str, judging: None) -> None:
    p = ac.xchangeeq(
        "DETECT b { v { var V } } ON a {{ v {{ var V }} }} END DETECT c { v { var V } } ON b {{ v {{ var V }} }} END"
    )
    rows = [{"type": label, "t": 1, "v": value} for label, value in (("a", 1), ("a", 2), ("b", 1), ("b", 3))]
    assert listed(p.run(rows, time="t", method=method)) == {
        "b": [{"begin": 1, "end": 1, "v": 2}],
        "c": [{"begin": 1, "end": 1, "v": value} for value in (1, 2, 3)],
    }


@pytest.mark.parametrize("method", ["engine", "semantics"])
def test_the_clock_sees_events_that_no_rule_asks_for(method: str, judging: None) -> None:
    p = ac.xchangeeq("DETECT tick { } ON event w: timer:periodic [ 5 sec ] END")
    rows = [{"type": "noise", "t": each} for each in (4, 7, 14)]
    expected = [{"begin": begin, "end": begin + 4} for begin in (0, 5, 10)]
    assert p.run(rows, time="t", time_unit="s", method=method)["tick"].to_pylist() == expected


@pytest.mark.parametrize("method", ["engine", "semantics"])
def test_nested_results(method: str, judging: None) -> None:
    p = ac.xchangeeq(
        """DETECT d { all item { sku { var S }, n { var N } } order by [ var S ], id { var I }, note { var X } }
        ON a {{ id {{ var I }}, item {{ sku {{ var S }}, optional n {{ var N }} }}, optional note {{ var X }} }} END"""
    )
    kinds = pa.schema({"t": pa.int64(), "id": pa.int8(), "item": pa.list_(pa.struct({"sku": pa.string(), "n": pa.float32()})), "note": pa.string()})  # fmt: skip
    rows = [{"t": 1, "id": 7, "item": [{"sku": "y", "n": 2.5}, {"sku": "x", "n": None}], "note": None}]
    made = p.run({"a": pa.Table.from_pylist(rows, kinds)}, time="t", method=method)["d"]
    assert made.to_pylist() == [
        {"begin": 1, "end": 1, "item": [{"sku": "x", "n": None}, {"sku": "y", "n": 2.5}], "id": 7, "note": None}
    ]
    assert made.schema.field("id").type == pa.int8()


def test_no_rows_at_all(judging: None) -> None:
    p = ac.xchangeeq("DETECT b { v { var V } } ON a {{ v {{ var V }} }} END")
    table = pa.schema({"type": pa.string(), "t": pa.int64(), "v": pa.string()}).empty_table()
    for method in ("engine", "semantics"):
        made = p.run(table, time="t", method=method)["b"]
        assert (made.num_rows, made.schema.names) == (0, ["begin", "end", "v"])


# --- what it is ---------------------------------------------------------------------------------------------------


def test_what_a_program_is() -> None:
    p = ac.xchangeeq(P)
    assert repr(p) == "<acelera.Program makes fire, burnt_down, avg_temp of smoke, temp>"
    assert (p.labels, p.outputs) == (("smoke", "temp"), ("fire", "burnt_down", "avg_temp"))
    assert str(p) == print_program(p.ast)
    assert ac.xchangeeq(str(p)) == p != ac.xchangeeq(P, aggregates="set")
    assert hash(ac.xchangeeq(str(p))) == hash(p)
    assert repr(ac.xchangeeq(AT_SIX)) == "<acelera.Program makes d of the clock>"
    assert repr(ac.xchangeeq("DETECT d { } ON * {{ }} END")) == "<acelera.Program makes d of any event>"


def test_explain(judging: None) -> None:
    text = "DETECT b { } ON and { a {{ }}, while i: not c {{ }}, event i: a {{ }} } END\nDETECT c { } ON or { a {{ }}, d {{ }} } END"
    p = ac.xchangeeq(text)
    rules = """
strata
  1: c
  2: b

rules
  DETECT b { } ON and { event _1: a {{ }}, event i: a {{ }}, while i: not c {{ }} } END
  DETECT c { } ON event _1: a {{ }} END
  DETECT c { } ON event _1: d {{ }} END
"""
    assert rules.rstrip() in p.explain()
    explained = p.explain({"a": TIMED, "d": TIMED}, time="t")
    assert "\n\nplan\n  a tick is 1 µs\n  longest: {'a': 0, 'd': 0}\n\nwarnings\n  line 1, column " in explained


def test_a_label_that_is_no_text() -> None:
    table = pa.table({"type": pa.array([b"a", b"\xff"]).view(pa.string()), "t": [1, 2]})
    with pytest.raises(DataError, match="row 2: the column `type` of type string cannot be read"):
        ac.xchangeeq("DETECT b { } ON a {{ }} END").run(table, time="t")


# --- slips that would go unnoticed --------------------------------------------------------------------------------

ROWS = [{"type": "temp", "t": 1, "sensor": "s"}, {"type": "smoke", "t": 2, "sensor": None}]


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("tmep", "no row is of type `tmep`; did you mean `temp`\\?"),
        ("zzzz", "no row is of type `zzzz`; there are `smoke`"),
    ],
)
def test_labels_that_no_row_has(label: str, message: str) -> None:
    program = ac.xchangeeq(f"DETECT h {{ s {{ var S }} }} ON {label} {{{{ sensor {{{{ var S }}}} }}}} END")
    with pytest.warns(ac.AceleraWarning, match=message) as told:
        program.run(ROWS, time="t")
    assert told[0].filename == __file__


@pytest.mark.parametrize("row", [{"s": 5, "n": 1}, {"s": "5", "n": "1"}, {"s": "5", "n": True}, {"s": "5", "n": 1.5}])
def test_values_of_another_kind(row: dict[str, Any]) -> None:
    program = ac.xchangeeq("DETECT h { s { var S }, n { var N } } ON a {{ s {{ var S }}, n {{ var N }} }} END")
    session = program.open({"a": {"t": int, "s": str, "n": int}}, time="t")
    with pytest.raises(SchemaError, match=r"in this table, but (string|int64) in the stream"):
        session.push({"a": [{"t": 1, **row}]})
    assert session.push({"a": [{"t": 1, "s": "5", "n": 1}]})["h"].num_rows == 1


SEALS = """DETECT u { c { var C } } ON and { event m: move {{ c {{ var C }} }},
    event w: timer:from-start-backward [event m, 12 hours], while w: not seal {{ c {{ var C }} }} } END"""
LASTING = {"b": int, "e": int, "c": str}


def test_what_is_kept_for_ever_matters_to_streams() -> None:
    program = ac.xchangeeq(SEALS)
    times = {"begin": "b", "end": "e", "time_unit": "s"}
    with pytest.warns(ac.AceleraWarning, match="seal is kept for ever: nothing bounds"):
        program.check({"move": LASTING, "seal": LASTING}, **times)
    bounded = {"move": "1 hour", "seal": "1 min"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ac.AceleraWarning)
        ac.xchangeeq(SEALS).check({"move": LASTING, "seal": LASTING}, longest=bounded, **times)
        ac.xchangeeq(SEALS).run({"move": [{"b": 1, "e": 2, "c": "x"}], "seal": [{"b": 1, "e": 1, "c": "x"}]}, **times)


def test_snapshots_hold_what_still_matters() -> None:
    text = "DETECT r { } ON and { event i: a {{ }}, event j: b {{ }} } where { i before j, {i, j} within 5 s } END"
    session = ac.xchangeeq(text).open({"a": {"t": int}, "b": {"t": int}}, time="t", time_unit="s")
    session.push({"a": [{"t": each} for each in range(1000)]})
    large = len(session.snapshot())
    session.push({}, now=2000)
    assert sum(session.kept().values()) == 1000  # few rows are not looked through
    assert len(session.snapshot()) < large


# --- one name for a function and a package ------------------------------------------------------------------------

ORDERS = [
    "import acelera as ac; import acelera.xchangeeq.ast as ast",
    "import acelera.xchangeeq.ast; import acelera as ac; ast = acelera.xchangeeq.ast",
]


def test_programs_are_imported_when_they_are_asked_for() -> None:
    script = (
        "import acelera, sys; print([each for each in ('duckdb', 'acelera.xchangeeq.parser') if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_function_and_the_package_go_together() -> None:
    checks = "; p = ac.xchangeeq('DETECT b { } ON a {{ }} END'); assert isinstance(p.ast, ast.Program); print(p)"
    for order in ORDERS:
        done = subprocess.run([sys.executable, "-c", order + checks], capture_output=True, text=True, check=False)
        assert done.stdout == "DETECT b { } ON a {{ }} END\n", f"{order}: {done.stderr}"
