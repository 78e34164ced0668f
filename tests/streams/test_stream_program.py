"""What a user holds in hand: programs of statements, checked, explained and run; and what is said of mistakes."""

from __future__ import annotations

import warnings
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import acelera as ac
from acelera.errors import AceleraError, DataError, QueryCheckError, SchemaError, SnapshotError, UsageError
from cases import read_yaml

START = datetime(2024, 1, 1)
TWO = """
STREAM up AS SELECT k, b.v MATCH A AS a ; A AS b FILTER a.v < b.v PARTITION BY k WITHIN 5 SECONDS;
STREAM after AS SELECT u.k, c.v MATCH up AS u ; C AS c;
"""
SCHEMA = {"type": str, "k": str, "v": int, "ts": "timestamp"}


def row(second: float, kind: str, k: str | None = None, v: int | None = None) -> dict[str, Any]:
    return {"ts": START + timedelta(seconds=second), "type": kind, "k": k, "v": v}


ROWS = [row(0, "A", "x", 1), row(1, "A", "y", 1), row(2, "A", "x", 2), row(3, "C", None, 7), row(4, "A", "y", 2)]


# --- mistakes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", read_yaml(Path(__file__).parent / "refused.yaml"), ids=lambda case: case["program"])
def test_what_is_said_of_programs(case: dict[str, Any]) -> None:
    with pytest.raises(AceleraError) as caught:
        ac.program(case["program"])
    for piece in case["says"]:
        assert piece in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("STREAM x AS SELECT a.v AS ts MATCH A AS a;", {"order_by": "ts"}, "cannot have a column `ts`"),
        ("STREAM x AS SELECT a.v AS time MATCH A AS a;", {"order_by": "ts"}, "cannot have a column `time`"),
        ("STREAM x AS SELECT a.v AS type MATCH A AS a;", {}, "line 1, column 20: the events of `x` cannot have a col"),
        ("STREAM x AS SELECT a.v AS position MATCH A AS a;", {}, "that is an event's position"),
        ("STREAM x AS SELECT a.v AS k MATCH A AS a;\nSTREAM y AS MATCH x ; A;", {}, "`k` is int64 in `x`, but string"),
        (
            "STREAM x AS MATCH A;\nSTREAM y AS MATCH x PARTITION BY k;",
            {},
            "line 2, column 34: the events of `x` have no",
        ),
        ("STREAM x AS SELECT a.v AS w MATCH A AS a;\nSTREAM y AS SELECT x.u MATCH x;", {}, "no attribute `u`"),
        ("STREAM x AS SELECT a.v AS w MATCH A AS a;\nSTREAM y AS SELECT A.w MATCH x ; A;", {}, "no attribute `w`"),
        ("STREAM x AS MATCH A WITHIN 5 SECONDS;", {}, "WITHIN 5 SECONDS needs a stream with time"),
        ("STREAM x AS SELECT a.v AS vs MATCH A+ AS a;\nSTREAM y AS MATCH x FILTER x.vs > 1;", {}, "line 2, column 28"),
    ],
)
def test_what_is_said_with_a_schema(text: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(QueryCheckError) as caught:
        ac.program(text).check(SCHEMA, **options)
    assert says in str(caught.value)


def test_all_mistakes_are_told_at_once() -> None:
    text = "STREAM x AS SELECT a.u MATCH A AS a;\nSTREAM y AS MATCH x;\nSTREAM z AS SELECT b.u MATCH B AS b;"
    with pytest.raises(QueryCheckError) as caught:
        ac.program(text).check(SCHEMA)
    assert [each.span and text[each.span.start : each.span.end] for each in caught.value.problems] == ["a.u", "b.u"]


def test_a_type_that_comes_in_cannot_be_made() -> None:
    with pytest.raises(QueryCheckError, match="events of the type `A` come in"):
        ac.program("STREAM A AS SELECT b.v MATCH B AS b;").check({"A": {"v": int}, "B": {"v": int}})


def test_what_is_no_program() -> None:
    with pytest.raises(UsageError, match="made of a text"):
        ac.program(3)  # type: ignore[arg-type]
    program = ac.program(TWO)
    with pytest.raises(UsageError, match="no option `time`"):
        program.run(ROWS, time="ts")
    with pytest.raises(UsageError, match="method"):
        program.run(ROWS, order_by="ts", method="automaton")
    with pytest.raises(UsageError, match="order_by=3"):
        program.run(ROWS, order_by=3)
    with pytest.raises(UsageError, match="late_events"):
        program.run(ROWS, order_by="ts", late_events="late")
    with pytest.raises(UsageError, match="checkpoint=… is for streaming DataFrames"):
        program.run(ROWS, order_by="ts", checkpoint="checkpoint")
    with pytest.raises(SchemaError, match="there is no column `kind`"):
        program.run(ROWS, order_by="ts", type_column="kind")


# --- tables -------------------------------------------------------------------------------------------------------


def expected() -> dict[str, list[dict[str, Any]]]:
    return {
        "up": [{"ts": ROWS[2]["ts"], "k": "x", "b_v": 2}, {"ts": ROWS[4]["ts"], "k": "y", "b_v": 2}],
        "after": [{"ts": ROWS[3]["ts"], "u_k": "x", "c_v": 7}],
    }


def listed(made: dict[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    return {name: table.to_pylist() for name, table in made.items()}


@pytest.mark.parametrize("method", ["engine", "semantics"])
def test_whatever_holds_events(method: str) -> None:
    program, options = ac.program(TWO), {"order_by": "ts", "method": method}
    assert listed(program.run(ROWS, **options)) == expected()
    assert listed(program.run(pd.DataFrame(ROWS[::-1]), **options)) == expected()
    assert listed(program.run(iter([ROWS[:2], ROWS[2:]]), **options)) == expected()
    apart = {
        kind: [{k: v for k, v in each.items() if k != "type"} for each in ROWS if each["type"] == kind] for kind in "AC"
    }
    assert listed(program.run(apart, **options)) == expected()
    with pytest.raises(UsageError, match="no order among them"):
        ac.program("STREAM x AS MATCH A;").run(apart)


def test_a_stream_of_one_type() -> None:
    text = "STREAM up AS SELECT b.v MATCH t AS a : t AS b FILTER a.v < b.v;\nSTREAM two AS SELECT t.v MATCH up : t;"
    for method in ("engine", "semantics"):
        made = ac.program(text).run([{"v": 1}, {"v": 2}, {"v": 0}], event_type="t", method=method)
        assert listed(made) == {"up": [{"b_v": 2}], "two": [{"t_v": 0}]}
        named = text.replace("SELECT b.v MATCH", "SELECT b.v FROM t MATCH")
        assert listed(ac.program(named).run([{"v": 1}, {"v": 2}, {"v": 0}], method=method)) == listed(made)


def test_misspelt_types_are_told() -> None:
    with pytest.warns(ac.AceleraWarning, match="no row is of type `a`; did you mean `A`?"):
        ac.program("STREAM x AS MATCH a;").run([{"type": "A"}])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ac.program("STREAM x AS MATCH A;\nSTREAM y AS MATCH x;").run([{"type": "A"}])


# --- sessions -----------------------------------------------------------------------------------------------------


def test_a_session_waits_for_the_end_of_a_moment() -> None:
    session = ac.program(TWO).open(SCHEMA, order_by="ts")
    assert session.push(ROWS[:3])["up"].num_rows == 1
    assert listed(session.push(ROWS[3:4])) == {"up": [], "after": []}
    assert session.kept() == {"up": 0, "after": 1}
    assert listed(session.push([], now=START + timedelta(seconds=3)))["after"] == expected()["after"]
    assert session.kept() == {"up": 0, "after": 0}
    with pytest.raises(DataError, match="comes too late"):
        session.push([row(3, "C")])


def test_what_a_session_refuses() -> None:
    program = ac.program(TWO)
    with pytest.raises(DataError, match="later than now"):
        program.open(SCHEMA, order_by="ts").push(ROWS, now=START)
    with pytest.raises(DataError, match="out of order"):
        program.open(SCHEMA, order_by="ts").push(ROWS[::-1])
    with pytest.raises(UsageError, match="now='x' is no timestamp"):
        program.open(SCHEMA, order_by="ts").push(ROWS, now="x")
    with pytest.raises(UsageError, match="the rows have none"):
        ac.program("STREAM x AS MATCH A;").open(SCHEMA).push(ROWS, now=START)
    session = program.open(SCHEMA, order_by="ts")
    session.finish()
    with pytest.raises(UsageError, match="finished"):
        session.push(ROWS)
    with pytest.raises(SnapshotError):
        program.resume(ac.program("STREAM x AS MATCH A;").open(SCHEMA).snapshot())


def test_rows_that_are_refused_leave_no_trace() -> None:
    session = ac.program(TWO).open(SCHEMA, order_by="ts")
    with pytest.raises(DataError, match="tie"):
        session.push([row(9, "A", "x", 1), row(9, "A", "y", 2)])
    assert listed(session.push(ROWS))["up"] == expected()["up"]
    with pytest.raises(DataError, match="tie"):
        session.push([row(4, "A", "z", 1)])
    assert listed(session.push([row(5, "A", "z", 1)])) == {"up": [], "after": []}


def test_a_batch_that_fails_within_ends_the_session() -> None:
    session = ac.program("STREAM x AS SELECT a.v MATCH A AS a;\nSTREAM y AS MATCH x;").open(SCHEMA, order_by="ts")
    with pytest.raises(DataError, match="tie"):
        session.push([row(0, "A", "x", 1), row(0, "A", "x", 2)])
    with pytest.raises(UsageError, match="not read to its end"):
        session.push(ROWS)


# --- words and pictures -------------------------------------------------------------------------------------------


def test_the_text_of_a_program_is_read_again() -> None:
    program = ac.program(TWO)
    assert ac.program(str(program)) == program
    assert repr(program) == "<acelera.Program makes up, after of A, C>"


def test_what_is_explained() -> None:
    told = ac.program(TWO).explain(SCHEMA, order_by="ts")
    assert "  up: reads what comes in\n  after: reads what comes in, and up\n" in told
    assert "stream after\n  variables\n    up: exactly one" in told
    assert "after: rows wait until a row of a later time has come" in told


def test_a_page_shows_what_events_were_made_of(tmp_path: Path) -> None:
    program = ac.program(TWO)
    run = program.findings(ROWS, {"order_by": "ts"})
    after = next(each for each in run.events if each.label == "after")
    made = {part.name: run.events[part.event].label for part in after.made_from[0].parts}
    assert made == {"u": "up", "c": "C"}
    assert run.counts["up"].derived == 2 and run.counts["A"].base == 4
    assert "STREAM" in program.report(ROWS, tmp_path / "page.html", order_by="ts").read_text(encoding="utf-8")
