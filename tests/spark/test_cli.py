"""`acelera run` on Spark: the same as in process, errors of workers in a line, streams that go on."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from console import documents, run_commands

pytest.importorskip("pyspark")

from acelera.cli import main
from acelera.cli.group import LackingError
from acelera.cli.inputs import find_inputs
from acelera.cli.reading import Reading
from acelera.cli.sources import sources_of
from acelera.cli.spark import run_batch
from acelera.cli.spark import spark_session as sessions
from acelera.cli.spark.spark_bad_rows import without_bad
from acelera.cli.spark.spark_errors import told_in_short
from acelera.cli.spark.spark_files import frames_of
from acelera.spark.schemas import arrow_schema
from report.reading import data
from tiers import thinned

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def acelera(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """The command, run in a folder of its own with the Spark of the tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("acelera.cli.progress.EVERY", 1e9)
    return lambda *arguments: CliRunner().invoke(main, [str(each) for each in arguments])


def rows(path: Path | str) -> list[dict[str, Any]]:
    return sorted(pq.read_table(path).to_pylist(), key=repr)


def test_a_run_gives_what_it_gives_in_process(acelera: Callable[..., Result], tmp_path: Path) -> None:
    given = ["run", EXAMPLES / "rise.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", "-o"]
    result = acelera(*given, "there.parquet")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1].startswith("8 events, 14 matches, ")
    assert acelera(*given, "here.parquet", "--in-process").exit_code == 0
    assert rows("there.parquet") == rows("here.parquet")
    assert pq.read_table("there.parquet").schema.types == pq.read_table("here.parquet").schema.types
    assert sorted(each.name for each in tmp_path.iterdir()) == ["here.parquet", "there.parquet"]
    assert acelera(*given, "there.parquet").exit_code == 2
    assert acelera(*given, "there.parquet", "--overwrite", "--quiet").stderr == ""
    assert rows("there.parquet") == rows("here.parquet")


def test_a_run_without_output_shows_matches(acelera: Callable[..., Result]) -> None:
    given = ["run", EXAMPLES / "swing.acel", EXAMPLES / "ticks.csv", "--order-by", "ts"]
    shown = acelera(*given)
    assert shown.exit_code == 0
    assert shown.stdout.count("ACME") == 3
    assert "4 matches" in shown.stderr


@pytest.mark.slow
def test_little_input_need_not_start_a_spark(
    acelera: Callable[..., Result], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "few.csv").write_text("type,n\nA,1\nB,2\n", encoding="utf-8")
    (tmp_path / "pairs.acel").write_text("SELECT A.n MATCH A ; B", encoding="utf-8")
    given = ["run", "pairs.acel", "few.csv", "--order-by", "n"]
    hint = "15 bytes of input: with --in-process, no Spark need start, which takes many seconds"
    assert hint not in acelera(*given).stderr  # one is there
    monkeypatch.setattr(run_batch, "starts_here", lambda: True)
    assert hint in acelera(*given).stderr
    assert hint not in acelera(*given, "--in-process").stderr
    monkeypatch.setattr(run_batch, "LITTLE", 10)
    assert hint not in acelera(*given).stderr


def test_a_run_with_a_limit(acelera: Callable[..., Result]) -> None:
    given = ["run", EXAMPLES / "swing.acel", EXAMPLES / "ticks.csv", "--order-by", "ts"]
    few = acelera(*given, "--limit", "1")
    assert few.stdout.count("2024-01-02") == 1
    assert "the first 1 match, " in few.stderr and "8 events" not in few.stderr
    written = acelera(*given, "--limit", "1", "-o", "few.parquet")
    assert pq.read_table("few.parquet").num_rows == 1
    assert "the first 1 match, " in written.stderr and "there may be more" in written.stderr
    assert "8 events, 4 matches" in acelera(*given, "--limit", "5", "-o", "all.parquet").stderr


def test_events_are_counted_once_when_the_stream_is_cut_into_slices(acelera: Callable[..., Result]) -> None:
    """Such a run looks at the input twice, and rows near the ends of slices are read in two of them."""
    Path("q.acel").write_text("SELECT start_time, SELL.price MATCH SELL ; BUY WITHIN 1 MINUTE")
    result = acelera("run", "q.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", "-o", "there.parquet")
    assert (
        acelera(
            "run", "q.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", "--in-process", "-o", "here.parquet"
        ).exit_code
        == 0
    )
    assert rows("there.parquet") == rows("here.parquet")
    assert f"8 events, {len(rows('here.parquet'))} matches, " in result.stderr  # a slow run tells how far it is before


def test_an_input_for_each_event_type(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ts":"2024-01-02T09:00:00Z","v":1}\n{"ts":"2024-01-02T09:00:02Z","v":2}\n')
    (tmp_path / "b.json").write_text('{"ts":"2024-01-02T09:00:01Z","w":"x"}\n')
    (tmp_path / "q.acel").write_text("SELECT start_time, A.v, B.w MATCH A ; B")
    given = ["run", "q.acel", "A=a.json", "B=b.json", "--order-by", "ts", "-o"]
    assert acelera(*given, "there.json").exit_code == 0
    assert acelera(*given, "here.json", "--in-process").exit_code == 0
    written = [line for part in Path("there.json").glob("part-*") for line in part.read_text().splitlines()]
    assert written == Path("here.json").read_text().splitlines()
    assert json.loads(written[0]) == {"start_time": "2024-01-02T09:00:00.000000Z", "A_v": 1, "B_w": "x"}


COLUMNS = {
    "whole": "1,-20,,0",
    "large": "123456789012345678,1,2,3",
    "too_large": "1234567890123456789,1,2,3",
    "codes": "007,008,1,2",
    "fraction": "1.5,2,-.5,1e3",
    "odd": "NaN,Infinity,1,-Infinity",
    "truth": "true,FALSE,,True",
    "mixed": "true,1,0,false",
    "day": "2024-01-02,2024-01-03,,2023-12-31",
    "moment": "2024-01-02T09:00:00,2024-01-02 09:00,2024-01-02T09:00:00.25+01:00,2024-01-02T09:00:00Z",
    "days_and_moments": "2024-01-02,2024-01-02T09:00:00,,2024-01-02",
    "clock": "09:00,10:00,11:00,12:00",
    "text": 'a,"x",,2024',
    "nothing": ",,,",
}


def test_columns_of_text_have_the_types_and_values_that_they_have_in_process(spark: Any, tmp_path: Path) -> None:
    columns = {name: values.replace('"', "").split(",") for name, values in COLUMNS.items()}
    lines = [list(columns), *zip(*columns.values(), strict=True)]
    (tmp_path / "t.csv").write_text("".join(",".join(line) + "\n" for line in lines))
    json_rows = [
        {name: value for name, value in zip(columns, row, strict=True) if value}
        | {"n": 1, "f": 1.5 if number else 1, "b": True, "l": [1, 2], "s": {"t": "2024-01-02T09:00:00"}}
        for number, row in enumerate(lines[1:])
    ]
    (tmp_path / "t.json").write_text("".join(json.dumps(row) + "\n" for row in json_rows))
    with sessions.with_options(spark, sessions.OPTIONS):
        for name in ("t.csv", "t.json"):
            inputs = find_inputs([str(tmp_path / name)], None)
            frame = without_bad(frames_of(spark, inputs, [])[None], Reading())
            (source,) = sources_of(inputs, [], lambda _: None)
            there = {each.name: each.type for each in arrow_schema(frame)}
            here = {each.name: each.type for each in source.schema}
            assert {k: v for k, v in there.items() if k != "s"} == {k: v for k, v in here.items() if k != "s"}
            found, table = frame.toArrow(), pa.Table.from_batches(source.batches())
            for column in here:
                assert str(found.column(column).to_pylist()) == str(table.column(column).to_pylist()), column
    assert str(here["moment"]) == "timestamp[us, tz=UTC]" and str(here["s"]) == "struct<t: string>"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    thinned(
        [
            ("ties.csv", "ts,type\n2024-01-02T09:00:00,A\n2024-01-02T09:00:00,A\n", "error: two rows "),
            ("late.csv", "ts,type\n2024-01-02T09:00:00,A\n,A\n", "error: a row "),
            (
                "broken.json",
                '{"ts":"2024-01-02T09:00:00","type":"A"}\n{"ts":\n',
                "error: {folder}/broken.json, no JSON with",
            ),
            ("broken.parquet", "nothing", "error: Spark: "),
            ("columns.csv", "ts,type\n2024-01-02T09:00:00\n", "error: {folder}/columns.csv, values for other than 2"),
            ("day.csv", "ts,type\n2024-13-02T09:00:00,A\n", "error: {folder}/day.csv, column ts: '2024-13-02T"),
        ],
        3,
    ),
)
def test_what_workers_find_wrong_is_told_in_a_line(
    acelera: Callable[..., Result], tmp_path: Path, name: str, content: str, says: str
) -> None:
    (tmp_path / name).write_text(content)
    (tmp_path / "q.acel").write_text("SELECT start_time MATCH A WITHIN 1 MINUTE")
    result = acelera("run", "q.acel", name, "--order-by", "ts", "-o", "out.parquet")
    assert result.exit_code == 1
    assert result.stderr.startswith(says.replace("{folder}", str(tmp_path)))
    assert "Traceback" not in result.stderr and result.stderr.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted(["q.acel", name])


def test_times_in_a_wrong_unit_and_arrays(acelera: Callable[..., Result], tmp_path: Path) -> None:
    given = ["run", "q.acel", "--order-by", "ts", "--time-format", "epoch", "-o", "out.parquet"]
    (tmp_path / "q.acel").write_text("SELECT start_time FROM A MATCH A")
    (tmp_path / "x.json").write_text('{"ts": 0}\n{"ts": 1533123640000}\n')
    (tmp_path / "x.csv").write_text("ts\n0\n1533123640000\n")
    for name in ("x.json", "x.csv"):
        says = f"error: {tmp_path}/{name}, column ts: '1533123640000' as epoch is in the year 50552; is it epoch-ms?"
        assert acelera(*given, name).stderr.startswith(says)
    (tmp_path / "x.json").write_text('[{"ts": 0}]\n')
    assert "`x.json` is a JSON array; JSON lines are wanted" in acelera(*given, "x.json").stderr
    (tmp_path / "x.csv").write_text("ts\n0\n1,2\n")
    told = acelera(*given, "x.csv").stderr
    assert "values for other than 1 columns" in told and told.endswith(
        "is it --delimiter? --bad-rows skip leaves such rows out\n"
    )


def test_debug_shows_all(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ts,type\n2024-01-02T09:00:00,A\n2024-01-02T09:00:00,A\n")
    (tmp_path / "q.acel").write_text("SELECT start_time MATCH A")
    result = acelera("run", "q.acel", "t.csv", "--order-by", "ts", "--debug")
    assert result.exit_code == 1 and "Traceback" in result.stderr


@pytest.mark.slow
def test_a_report_shows_what_it_shows_in_process(acelera: Callable[..., Result], tmp_path: Path) -> None:
    given = ["report", EXAMPLES / "swing.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", "--matches", 3]
    result = acelera(*given)
    assert (result.exit_code, result.stdout) == (0, "")
    assert "8 events, 4 matches, " in result.stderr and result.stderr.endswith(" s; see report.html\n")
    assert acelera(*given, "--in-process", "-o", "pages/here.html").exit_code == 0
    assert data(Path("report.html")) == data(Path("pages/here.html"))
    (tmp_path / "ties.csv").write_text("ts,type,name,price\n" + "2024-01-02T09:00:00,SELL,ACME,1\n" * 2)
    summary = ["report", EXAMPLES / "rises.acel", *given[2:]]
    assert "8 events, 2 rows, " in acelera(*summary, "-o", "there.html").stderr
    assert acelera(*summary, "-o", "here.html", "--in-process").exit_code == 0
    assert Path("there.html").read_text() == Path("here.html").read_text()
    ties = acelera("report", EXAMPLES / "swing.acel", "ties.csv", "--order-by", "ts", "-o", "ties.html")
    assert ties.exit_code == 1 and ties.stderr.startswith("error: two rows ") and not Path("ties.html").exists()


def test_a_summary_gives_what_it_gives_in_process(acelera: Callable[..., Result]) -> None:
    given = [EXAMPLES / "rises.acel", EXAMPLES / "ticks.csv", "--order-by", "ts"]
    shown = acelera("run", *given)
    assert shown.exit_code == 0, shown.stderr
    assert shown.stdout == acelera("run", *given, "--in-process").stdout and "8 events, 2 rows, " in shown.stderr
    assert acelera("run", *given, "-o", "there.parquet").stderr.splitlines()[-1].startswith("8 events, 2 rows, ")
    assert acelera("run", *given, "-o", "here.parquet", "--in-process").exit_code == 0
    assert rows("there.parquet") == rows("here.parquet")


@pytest.mark.slow
def test_rows_of_a_summary_come_as_files_come(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = (EXAMPLES / "ticks.csv").read_text().splitlines()
    put(tmp_path / "in" / "1.csv", lines, 1)
    first = acelera("run", EXAMPLES / "rises.acel", *STREAM)
    assert first.exit_code == 0, first.stderr
    assert first.stderr.splitlines()[-1].startswith("8 events, 0 rows, ")  # the window is open
    put(tmp_path / "in" / "2.csv", [lines[0], "2024-01-02T12:00:00,BUY,ACME,1.0,1"], 2)
    second = acelera("run", EXAMPLES / "rises.acel", *STREAM)
    assert second.stderr.splitlines()[-1].startswith("1 event, 2 rows, "), second.stderr
    found = [row for part in Path("out").glob("*.parquet") for row in rows(part)]
    assert sorted((row["name"], row["rises"]) for row in found) == [("ACME", 3), ("INTL", 1)]


def test_explain_says_what_runs_where(acelera: Callable[..., Result]) -> None:
    result = acelera("run", EXAMPLES / "rise.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", "--explain")
    assert result.exit_code == 0
    assert "split by name: many keys a task" in result.stdout


STREAM = [*"in --stream --once --order-by ts --checkpoint state -o out --watermark".split(), "1 minute"]


def test_a_stream_goes_on_from_its_checkpoint(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    given = ["run", EXAMPLES / "swing.acel", *STREAM]
    lines = (EXAMPLES / "ticks.csv").read_text().splitlines()
    put(tmp_path / "in" / "1.csv", lines[:5], 1)
    first = acelera(*given)
    assert first.exit_code == 0, first.stderr
    assert first.stderr.splitlines()[0] == "batch 0: 4 events, 0 matches, 0 late, no watermark yet"
    other = acelera("run", EXAMPLES / "rise.acel", *STREAM)  # before it starts: no rows have come
    assert other.exit_code == 1
    assert other.stderr.startswith("error: the checkpoint belongs to another query")
    assert other.stderr.endswith("go on with the query that it was made by\n")
    put(tmp_path / "in" / "2.csv", [*lines[:1], *lines[5:], "2024-01-02T12:00:00,BUY,ACME,1.0,1"], 2)
    put(tmp_path / "in" / "3.csv", [*lines[:2]], 3)
    second = acelera(*given)
    assert second.exit_code == 0, second.stderr
    assert (
        acelera(
            "run",
            EXAMPLES / "swing.acel",
            EXAMPLES / "ticks.csv",
            "--order-by",
            "ts",
            "--in-process",
            "-o",
            "all.parquet",
        ).exit_code
        == 0
    )
    found = [row for part in Path("out").glob("*.parquet") for row in rows(part)]
    assert sorted(found, key=repr) == rows("all.parquet")
    assert "watermark 2024-01-02T11:59:00" in second.stderr


def lines_of(path: str) -> list[bytes]:
    """The lines of CSV in a file, or in those of a folder, in any order; the names of columns once."""
    files = sorted(Path(path).glob("part-*")) if Path(path).is_dir() else [Path(path)]
    parts = [file.read_bytes().splitlines() for file in files]
    assert len({part[0] for part in parts}) == 1
    return [parts[0][0], *sorted(line for part in parts for line in part[1:])]


AIS = """# Timestamp;Name;Lat;SOG;d;n
31/12/2024 00:00:00;"a ""b""; c";55,1;12,3;2024-01-31;7
31/12/2024 00:00:10;grün;55,2;0,0;;100000000
31/12/2024 00:00:20;Unknown;;3,5;2024-01-31;
31/12/2024 00:00:30;x;Unknown;1,5;2024-01-31;1
31/12/2024 00:00:40;#x;55,4;1e21;2024-02-30;1
31/12/2024 00:00:50;;55,5
31/12/2024 00:01:00;"";-0,5;NaN;2024-01-31;1
"""
SHIPS = "SELECT a.name, a.ts, a.sog AS fast, b.sog, b.lat, a.lat > 55 AS far, a.d, a.n FROM A MATCH A AS a : A AS b"


def test_messy_files_are_read_as_in_process(acelera: Callable[..., Result], tmp_path: Path) -> None:
    """In batches and in a stream, with the same lines of CSV; bad rows are named, or left out and counted."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b+c.csv").write_bytes(AIS.encode("cp1252"))
    (tmp_path / "q.acel").write_text(SHIPS.replace("a.ts", "a.time AS ts") + " WITHIN 1 HOUR")
    Path("types.json").write_text('{"sog": "float", "lat": "float", "d": "date"}')
    given = [
        "run",
        "q.acel",
        "in",
        "--schema",
        "types.json",
        "--delimiter",
        ";",
        "--decimal",
        ",",
        "--encoding",
        "cp1252",
    ]
    given += ["--rename", "# Timestamp=ts", "--rename", "Name=name", "--rename", "Lat=lat", "--rename", "SOG=sog"]
    given += ["--order-by", "ts", "--time-format", "%d/%m/%Y %H:%M:%S"]
    refused = acelera(*given, "-o", "refused.csv")
    says = f"error: {tmp_path}/in/a b+c.csv, values for other than 6 columns, in the line: 31/12/2024 00:00:50;;55,5"
    assert refused.exit_code == 1 and refused.stderr.startswith(says)
    given += ["--bad-rows", "skip"]
    for name, where in (("here.csv", ["--in-process"]), ("there.csv", [])):
        result = acelera(*given, "-o", name, *where)
        assert result.exit_code == 0 and "4 events, 3 matches, 3 bad rows skipped, " in result.stderr, result.stderr
    assert lines_of("here.csv") == lines_of("there.csv")
    stream = ["--stream", "--once", "--checkpoint", "state", "--watermark", "0 seconds", "-o", "found.csv"]
    started = acelera(*given, *stream)
    assert started.exit_code == 0 and "4 events, 3 matches, 3 bad rows skipped, " in started.stderr, started.stderr
    assert lines_of("found.csv") == lines_of("here.csv")
    kept = json.loads((tmp_path / "state" / "acelera" / "columns.json").read_text())["types"]
    assert kept["n"] == "int64" and kept["ts"] == "timestamp[us, tz=UTC]"
    later = "\n".join([AIS.splitlines()[0], "31/12/2024 01:00:00;x;1,5;1,5;;1.5", ""])
    (tmp_path / "in" / "later.csv").write_text(later)
    again = acelera(*[each for each in given if each not in ("--bad-rows", "skip")], *stream)
    assert again.exit_code == 1 and f"{tmp_path}/in/later.csv, column n: '1.5' is no int64" in again.stderr


ODD = {
    "quotes.csv": b'n,v\n1,"3"""\n2,"""big"\n3,"a ""b"", c"\n4,d"e"f\n5,\n6,""\n7,\0\n   \n8,x\0y\n',
    "endless.csv": b'n,v\n1,a\n2,"""big\n',
    "index.csv": b",n,v\n0,1,2\n",
    "alike.csv": b"n,v,w,W\n1,2,3,4\n",
    "mark.csv": b"\xef\xbb\xbfn,v\n1,\xc3\xbc\n",
    "zones.csv": b"n,v\n1,2024-01-31T10:00Z\n2,2024-01-31 10:00+01:00\n3,2024-01-31T10:00:00-18:00\n",
    "far.csv": b"n,v\n1,2024-01-31T10:00Z\n2,2024-01-31 10:00+18:01\n",
    "large.json": b'{"n":1,"v":18446744073709551615}\n{"n":2,"v":18446744073709551614}\n',
    "zones.json": b'{"n":1,"v":"2024-01-31T10:00Z"}\n \t\n{"n":2,"v":"2024-01-31"}\n',
    "lines.json": b"\n".join(
        [
            *(
                b'{"n":1,"v":1}',
                b'{"n":2,"v":2}{"n":3,"v":3}',
                b'{"n":4}garbage',
                b'{"n":5},',
                b"{'n':6}",
                b'[{"n":7}]',
            ),
            *(b"null", b'{"n":8,', b'"v":8}', b'{"n":9,"w":"gr\xfcn"}', b'{"n":10}', b""),
        ]
    ),
}


def test_odd_files_are_read_as_in_process(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "q.acel").write_text("SELECT p.v AS v FROM P MATCH P AS p")
    for name, content in ODD.items():
        (tmp_path / name).write_bytes(content)
        encoding = ["--encoding", "utf-8-sig"] if name == "mark.csv" else []
        given = ["run", "q.acel", name, "--order-by", "n", "--overwrite", *encoding, "-o"]
        there, here = acelera(*given, "there.csv"), acelera(*given, "here.csv", "--in-process")
        assert there.exit_code == here.exit_code == (name in ("endless.csv", "lines.json")), (name, there.stderr)
        if there.exit_code == 0:
            assert lines_of("there.csv") == lines_of("here.csv"), name
    lines = ["run", "q.acel", "lines.json", "--order-by", "n", "--overwrite", "-o", "x.csv"]
    for where in ([], ["--in-process"]):
        assert "2 events, 2 matches, 9 bad rows skipped" in acelera(*lines, "--bad-rows", "skip", *where).stderr
    assert "/lines.json, no JSON with values for 2 columns, in the line: " in acelera(*lines).stderr
    told = acelera("run", "q.acel", "endless.csv", "--order-by", "n").stderr
    assert "/endless.csv, a quote that never ends, or a text behind it, in the line: 2," in told


def test_columns_of_one_of_several_event_types(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("n,V\n1,5\n")
    (tmp_path / "b.csv").write_text("n,w\n2,7\n")
    (tmp_path / "q.acel").write_text("SELECT A.v AS v, B.w AS w FROM S MATCH A ; B")
    given = ["run", "q.acel", "A=a.csv", "B=b.csv", "--order-by", "n", "-o", "x.csv", "--rename"]
    assert acelera(*given, "V=v").exit_code == 0
    assert lines_of("x.csv") == [b"v,w", b"5,7"]
    assert (
        "there is no column `Vv` in any of the inputs; did you mean `V`?"
        in acelera(*given, "Vv=v", "--overwrite").stderr
    )


def test_lines_of_json_in_a_stream(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    at = '{"ts":"2024-01-01T00:00:0'
    put(tmp_path / "in" / "1.json", [f'{at}1Z","v":null}}', f'{at}2","v":null}}{{"ts":3}}', f"{at}"], 1)
    (tmp_path / "q.acel").write_text("SELECT p.v AS v FROM P MATCH P AS p")
    given = ["run", "q.acel", *STREAM[:-2], "--watermark", "0 seconds", "--bad-rows", "skip"]
    assert "1 event, 1 match, 2 bad rows skipped" in acelera(*given).stderr
    put(tmp_path / "in" / "2.json", [f'{at}3Z","v":"x"}}', "null"], 2)
    assert "1 event, 1 match, 1 bad row skipped" in acelera(*given).stderr


@pytest.mark.parametrize("delimiter", thinned(["\\", "|", "space", "^"], 4))
def test_signs_between_values(acelera: Callable[..., Result], tmp_path: Path, delimiter: str) -> None:
    sign = delimiter.replace("space", " ")
    (tmp_path / "x.csv").write_text(f'1{sign}"a{sign}b"\n2{sign}"c""d"\n')
    (tmp_path / "q.acel").write_text("SELECT p.v AS v FROM P MATCH P AS p")
    given = ["run", "q.acel", "x.csv", "--columns", "n,v", "--delimiter", delimiter, "--order-by", "n", "-o", "o.csv"]
    assert acelera(*given).exit_code == 0
    assert lines_of("o.csv") == [b"v", b'"c""d"', f"a{sign}b".encode()]


def test_folders_named_by_a_key_are_columns(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "q.acel").write_text("SELECT p.v AS v, p.k AS k FROM P MATCH P AS p")
    for key, n in (("1", 1), ("2", 2)):
        for kind, content in (("csv", f"n,v\n{n},x\n"), ("json", f'{{"n":{n},"v":"x"}}\n')):
            (tmp_path / kind / f"k={key}").mkdir(parents=True)
            (tmp_path / kind / f"k={key}" / f"a.{kind}").write_text(content)
    for kind in ("csv", "json"):
        assert acelera("run", "q.acel", kind, "--order-by", "n", "-o", f"out.{kind}.csv").exit_code == 0
        assert lines_of(f"out.{kind}.csv") == [b"v,k", b"x,1", b"x,2"]


def test_decimals_of_json_are_not_rounded(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"n":1,"v":1.25}\n{"n":2,"v":12.5}\n{"n":3,"v":123.5}\n{"n":4}\n{"n":5,"v":-3}\n')
    (tmp_path / "types.json").write_text('{"n": "int", "v": "decimal(3, 1)"}')
    (tmp_path / "q.acel").write_text("SELECT p.n AS n, p.v AS v FROM P MATCH P AS p")
    given = ["run", "q.acel", "x.json", "--order-by", "n", "--schema", "types.json", "-o"]
    for name, where in (("there.csv", []), ("here.csv", ["--in-process"])):
        assert acelera(*given, f"refused_{name}", *where).exit_code == 1
        assert "3 events, 3 matches, 2 bad rows skipped" in acelera(*given, name, "--bad-rows", "skip", *where).stderr
    assert lines_of("there.csv") == lines_of("here.csv") == [b"n,v", b"2,12.5", b"4,", b"5,-3.0"]


def test_names_of_columns_are_those_of_all_files(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "q.acel").write_text("SELECT p.v AS v FROM P MATCH P AS p")
    for name, content in (("a.csv", "n,v\n1,2\n"), ("b.csv", "v,n\n1,2\n"), ("c.csv", "n,v,v\n1,2,3\n")):
        (tmp_path / name).write_text(content)
    told = acelera("run", "q.acel", "a.csv", "b.csv", "--order-by", "n").stderr
    assert "error: the columns of `b.csv` (v, n) are not those of `a.csv` (n, v)\n" in told
    assert (
        "error: the column `v` occurs twice in `c.csv`" in acelera("run", "q.acel", "c.csv", "--order-by", "n").stderr
    )


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_event_types_that_are_not_needed(acelera: Callable[..., Result], tmp_path: Path, kind: str) -> None:
    """Their rows are counted, the bad ones too, though Spark need not read them."""
    files = {
        "csv": ("n,v\n1,2\n", "n,v\n5,2\n6\n", "n,w\n"),
        "json": ('{"n":1,"v":2}\n', '{"n":5,"v":2}\n{"n":6\n'),
    }
    names = "ABC"[: len(files[kind])]
    for name, content in zip(names, files[kind], strict=True):
        (tmp_path / f"{name}.{kind}").write_text(content)
    (tmp_path / "q.acel").write_text("SELECT A.v AS v FROM S MATCH A")
    given = ["run", "q.acel", *(f"{name}={name}.{kind}" for name in names), "--order-by", "n", "--overwrite"]
    for where in ([], ["--in-process"]):
        skipping = acelera(*given, "--bad-rows", "skip", "-o", "x.csv", *where)
        assert "1 row skipped: " in skipping.stderr and "2 events, 1 match, 1 bad row skipped" in skipping.stderr
        assert acelera(*given, "-o", "x.csv", *where).exit_code == 1


def put(path: Path, lines: list[str], when: int) -> None:
    path.write_text("\n".join(lines) + "\n")
    os.utime(path, (when, when))


@pytest.mark.slow
@pytest.mark.parametrize("path", documents("spark"), ids=lambda path: path.name)
def test_commands_print_what_the_document_says(acelera: Callable[..., Result], path: Path, tmp_path: Path) -> None:
    run_commands(path, tmp_path, "spark")


@pytest.mark.slow
def test_the_demo_finds_what_it_finds_in_process(acelera: Callable[..., Result]) -> None:
    there = acelera("demo", "--events", 20_000, "-o", "there")
    here = acelera("demo", "--events", 20_000, "-o", "here", "--in-process")
    assert (there.exit_code, here.exit_code) == (0, 0)
    assert found(there.stdout) == found(here.stdout)
    assert "split by name: many keys a task" in there.stdout
    for name in ("1-sequence.html", "2-rise.html", "3-no-buyer.html"):
        assert Path("there", name).stat().st_size == pytest.approx(Path("here", name).stat().st_size, rel=0.1)


def found(output: str) -> list[str]:
    """The lines that tell how many matches there are."""
    return [line for line in output.splitlines() if " matches" in line and line[0].isdigit()]


@pytest.mark.parametrize("output", thinned(["out.parquet", None], 2))
def test_nothing_found_is_no_mistake(acelera: Callable[..., Result], tmp_path: Path, output: str | None) -> None:
    """Spark finds out that nothing can come out, and forgets what it has seen."""
    (tmp_path / "q.acel").write_text("SELECT start_time MATCH NONE_SUCH")
    target = [] if output is None else ["-o", output]
    result = acelera("run", "q.acel", EXAMPLES / "ticks.csv", "--order-by", "ts", *target)
    assert (result.exit_code, result.stderr.splitlines()[-1].split(", ")[:2]) == (0, ["8 events", "0 matches"])


@pytest.mark.slow
def test_names_of_files_that_are_patterns_elsewhere(acelera: Callable[..., Result], tmp_path: Path) -> None:
    for name in ("day 1.csv", "d[1]{a}.csv", "50%.csv", "in put/1.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((EXAMPLES / "ticks.csv").read_bytes())
        result = acelera("run", EXAMPLES / "rise.acel", name, "--order-by", "ts", "-o", f"{name} out.parquet")
        assert (result.exit_code, result.stderr.splitlines()[-1][:20]) == (0, "8 events, 14 matches"), result.stderr
        assert pq.read_table(tmp_path / f"{name} out.parquet").num_rows == 14


def test_what_pandas_writes_by_default(acelera: Callable[..., Result], tmp_path: Path) -> None:
    times = pa.array([1, 2], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"ts": times, "type": ["A", "B"]}), tmp_path / "t.parquet")
    (tmp_path / "q.acel").write_text("SELECT start_time MATCH A ; B")
    result = acelera("run", "q.acel", "t.parquet", "--order-by", "ts")
    assert result.exit_code == 1
    assert "no times in nanoseconds" in result.stderr and "--in-process" in result.stderr
    assert acelera("run", "q.acel", "t.parquet", "--order-by", "ts", "--in-process").exit_code == 0


@pytest.mark.slow
def test_texts_are_read_and_written_as_they_are(acelera: Callable[..., Result], tmp_path: Path) -> None:
    first, second = '2024-01-01T00:00:00.123456Z,A,"",1,', "2024-01-01T00:00:01.5Z,A,,nan,"
    (tmp_path / "t.csv").write_text(f'ts,type,v,f,none\n{first}\n{second}\n2024-01-01T00:00:02Z,A," x ",inf,\n')
    (tmp_path / "q.acel").write_text("SELECT a.time AS t, a.v AS v, a.f AS f MATCH A AS a FILTER a.none IS NULL")
    (tmp_path / "without_f.acel").write_text("SELECT a.time AS t, a.v AS v MATCH A AS a FILTER a.none IS NULL")
    for query, name in (("q.acel", "o.csv"), ("without_f.acel", "o.json")):
        for folder, where in (("there", []), ("here", ["--in-process"])):
            (tmp_path / folder).mkdir(exist_ok=True)
            result = acelera("run", query, "t.csv", "--order-by", "ts", "-o", f"{folder}/{name}", *where)
            assert result.exit_code == 0, result.stderr
        there, here = (values(tmp_path / folder / name) for folder in ("there", "here"))
        assert there == here
        assert "123456" in here[0] and "' x '" in here[2] and "'v': ''" in here[0] and "'v': None" in here[1]


def values(path: Path) -> list[str]:
    """The rows of a result, which is a file or a folder of files."""
    files = sorted(path.glob("part-*")) if path.is_dir() else [path]
    sources = [each for file in files for each in sources_of(find_inputs([str(file)], None), [], lambda _: None)]
    rows = pa.concat_tables([pa.Table.from_batches(each.batches(), each.schema) for each in sources]).to_pylist()
    return sorted(map(str, rows))


def test_a_day_on_which_nothing_happened(acelera: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("ts,type,temp\n")
    (tmp_path / "q.acel").write_text(
        "SELECT r.temp AS temp, start_time MATCH Reading AS r FILTER r.temp > 20 WITHIN 1 MINUTE"
    )
    for where in ([], ["--in-process"]):
        result = acelera("run", "q.acel", "t.csv", "--order-by", "ts", "-o", f"out{len(where)}.parquet", *where)
        assert (result.exit_code, result.stderr.splitlines()[-1].split(", ")[:2]) == (0, ["0 events", "0 matches"]), (
            result.stderr
        )


STARTING = """
import signal
from pathlib import Path
from acelera.cli.spark import processes

launch = processes._Recorded.__init__

def launched(self, *given, **options):
    launch(self, *given, **options)
    Path("launched").write_text(str(self.pid))
    signal.raise_signal(signal.SIGINT)

processes._Recorded.__init__ = launched
"""
WRITTEN = """
import os, signal, threading
from pathlib import Path
from acelera.cli.spark import run_batch as batch
from acelera.cli.spark import processes

launch = processes._Recorded.__init__

def launched(self, *given, **options):
    launch(self, *given, **options)
    Path("launched").write_text(str(self.pid))

def stuck(*_):
    Path("seen").write_text(" ".join(each.name for each in Path().glob(".out.*.partial/part-*")))
    os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(300)

processes._Recorded.__init__, batch._rows = launched, stuck
"""


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("moment", thinned([STARTING, WRITTEN], 2), ids=["while Spark starts", "before all is done"])
def test_ctrl_c_leaves_neither_files_nor_processes(moment: str, tmp_path: Path) -> None:
    program = f"{moment}\nfrom acelera.cli import main\nmain()"
    query, ticks = EXAMPLES / "swing.acel", EXAMPLES / "ticks.csv"
    given = ["run", str(query), str(ticks), "--order-by", "ts", "--quiet", "-o", "out"]
    done = subprocess.run(
        [sys.executable, "-c", program, *given], capture_output=True, text=True, check=False, timeout=600, cwd=tmp_path
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
    left = {each.name: each.read_text() for each in tmp_path.iterdir()}
    assert left.pop("launched").isdigit()
    if moment == WRITTEN:
        assert left.pop("seen").startswith("part-")
    assert left == {}
    group = int((tmp_path / "launched").read_text())
    for _ in range(300):  # a JVM that was told to end takes a moment
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("processes of Spark are still there")


def test_a_full_disk_is_the_fault_of_the_machine() -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(LackingError, match="Spark: No space left on device"), told_in_short():
        raise PySparkException("Job aborted: java.io.IOException: No space left on device\n\tat org.apache")
