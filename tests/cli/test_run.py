"""`acelera run --in-process`: what goes in, what comes out, and what is refused."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from acelera.cli import main
from acelera.cli.spark.spark_session import PACKAGES
from documents import ROOT

QUERY = "SELECT start_time, a.price AS low, b.price AS high MATCH SELL AS a ; SELL AS b FILTER a.price < b.price"
LINES = [
    "ts,type,name,price",
    "2024-01-02T09:00:00,SELL,ACME,100",
    "2024-01-02T09:00:01,BUY,ACME,101",
    "2024-01-02T09:00:02,SELL,INTL,102",
    "2024-01-02T09:00:03,SELL,ACME,101.5",
]
PAIRS = [(100, 102), (100, 101.5)]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`acelera run q.acel … --in-process`, in a folder that holds a query and ticks."""
    monkeypatch.chdir(tmp_path)
    Path("q.acel").write_text(QUERY)
    put("ticks.csv", LINES)

    def run(*arguments: object, query: str = "q.acel", **options: Any) -> Result:
        given = ["run", query, *map(str, arguments), "--in-process"]
        return CliRunner().invoke(main, given, **options)

    return run


def put(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def found(path: str) -> list[tuple[float, float]]:
    return [(row["low"], row["high"]) for row in pq.read_table(path).to_pylist()]


def only(*names: str) -> bool:
    """Whether the folder holds these files alone."""
    return sorted(each.name for each in Path().iterdir()) == sorted(["q.acel", *names])


def test_rows_of_events(run: Run) -> None:
    """A file that holds no lists; a limit counts matches."""
    whole = run("ticks.csv", "--order-by", "ts", "--rows", "events", "-o", "events.csv")
    assert whole.exit_code == 0, whole.stderr
    assert "4 events, 2 matches" in whole.stderr
    events = pyarrow.csv.read_csv("events.csv")
    assert events.column_names == ["match", "start_time", "end_time", "variable", "time", "type", "name", "price"]
    assert [tuple(row.values()) for row in events.select(["variable", "price"]).to_pylist()] == [
        ("a", 100), ("b", 102), ("a", 100), ("b", 101.5)
    ]  # fmt: skip
    first = run("ticks.csv", "--order-by", "ts", "--rows", "events", "--limit", "1", "-o", "first.csv")
    assert "the first 1 match" in first.stderr
    assert pyarrow.csv.read_csv("first.csv").to_pylist() == events.slice(0, 2).to_pylist()
    shown = run("ticks.csv", "--order-by", "ts", "--rows", "events", "--limit", "1")
    assert "INTL" in shown.stdout and "101.5" not in shown.stdout
    Path("s.acel").write_text("SUMMARIZE count(*) MATCH SELL")
    refused = run("ticks.csv", "--rows", "events", query="s.acel")
    assert refused.exit_code == 1 and "a row of a summary stands for many" in refused.stderr


def test_a_time_up_to_which_files_are_complete(run: Run) -> None:
    """What must not follow is known of the last match when that time has passed; a time without a zone is in UTC."""
    Path("u.acel").write_text("MATCH SELL UNLESS BUY FOR 1500 MILLISECONDS")
    assert "0 matches" in run("ticks.csv", "--order-by", "ts", query="u.acel").stderr
    there = run("ticks.csv", "--order-by", "ts", "--until", "2024-01-02 09:00:05", query="u.acel")
    assert there.exit_code == 0 and "4 events, 2 matches" in there.stderr
    zoned = run("ticks.csv", "--order-by", "ts", "--until", "2024-01-02T10:00:04+01:00", query="u.acel")
    assert "4 events, 1 match" in zoned.stderr
    for until, said in [("soon", "until='soon' is no time"), ("2024-01-02 09:00", "lies before the last event")]:
        refused = run("ticks.csv", "--order-by", "ts", "--until", until, query="u.acel")
        assert refused.exit_code == 1 and said in refused.stderr
        assert "Traceback" not in refused.stderr
    needless = run("ticks.csv", "--order-by", "ts", "--until", "2024-01-02", "--stream", query="u.acel")
    assert needless.exit_code == 2 and "--until is not for --stream" in needless.stderr


# --- summaries ----------------------------------------------------------------------------------------------------

SUMMARY = "SUMMARIZE count(*) AS n, avg(b.price) AS mean MATCH SELL AS a ; SELL AS b BY a.name"


def test_rows_of_a_summary_are_shown_and_written(run: Run) -> None:
    Path("s.acel").write_text(SUMMARY)
    result = run("ticks.csv", "--order-by", "ts", query="s.acel")
    assert result.exit_code == 0 and "│ ACME   │ 2 │ 101.75 │" in result.stdout
    assert result.stderr.startswith("4 events, 2 rows, ")
    expected = [{"a_name": "ACME", "n": 2, "mean": 101.75}, {"a_name": "INTL", "n": 1, "mean": 101.5}]
    for name in ("o.csv", "o.json", "o.parquet"):
        assert run("ticks.csv", "--order-by", "ts", "-o", name, query="s.acel").exit_code == 0
    assert pq.read_table("o.parquet").to_pylist() == expected
    assert pa.csv.read_csv("o.csv").to_pylist() == expected
    assert [json.loads(line) for line in Path("o.json").read_text().splitlines()] == expected


def test_durations_have_no_form_in_csv(run: Run) -> None:
    Path("s.acel").write_text("SUMMARIZE range(SELL.time) AS took MATCH SELL")
    result = run("ticks.csv", "--order-by", "ts", "-o", "o.csv", query="s.acel")
    assert result.exit_code == 2
    assert "leave them out: it has no form for durations" in " ".join(result.stderr.split())


def test_rows_of_a_summary_are_limited_in_their_order(run: Run) -> None:
    Path("s.acel").write_text("SUMMARIZE count(*) MATCH SELL AS a ; ANY BY a.price, end")
    result = run("ticks.csv", "--order-by", "ts", "--limit", 3, "-o", "o.parquet", query="s.acel")
    assert (
        result.stderr.startswith("the first 3 rows, ") and "there are more, which --limit leaves out" in result.stderr
    )
    assert [row["end"] for row in pq.read_table("o.parquet").to_pylist()] == [2, 3, 4]


def test_a_summary_is_written_also_if_its_windows_are_open_at_the_end(run: Run) -> None:
    Path("s.acel").write_text("SUMMARIZE count(*) MATCH SELL OVER 2 SECONDS")
    assert run("ticks.csv", "--order-by", "ts", "-o", "o.parquet", query="s.acel").exit_code == 0
    assert pq.read_table("o.parquet").column("count").to_pylist() == [1, 2]


# --- what goes in -------------------------------------------------------------------------------------------------


def test_every_format_gives_the_same(run: Run) -> None:
    table = pa.csv.read_csv("ticks.csv")
    at = table.column("ts").cast(pa.timestamp("us", "UTC"))
    pq.write_table(table.set_column(0, "ts", at), "ticks.parquet")
    rows = [dict(zip(LINES[0].split(","), line.split(","), strict=True)) for line in LINES[1:]]
    texts = [json.dumps({**row, "price": float(row["price"])}) for row in rows]
    put("ticks.json", texts)
    put("ticks.jsonl", [*texts[:2], "", *texts[2:]])
    Path("ticks.csv.gz").write_bytes(gzip.compress(Path("ticks.csv").read_bytes()))
    Path("ticks.json.gz").write_bytes(gzip.compress(Path("ticks.json").read_bytes()))
    Path("plain").write_bytes(Path("ticks.csv").read_bytes())
    inputs = ["ticks.csv", "ticks.parquet", "ticks.json", "ticks.jsonl", "ticks.csv.gz", "ticks.json.gz"]
    written = []
    for name in inputs:
        assert run(name, "--order-by", "ts", "-o", f"{name}.out.parquet").exit_code == 0, name
        written.append(pq.read_table(f"{name}.out.parquet"))
    assert run("plain", "--format", "csv", "--order-by", "ts", "-o", "plain.parquet").exit_code == 0
    written.append(pq.read_table("plain.parquet"))
    assert found("plain.parquet") == PAIRS
    assert all(each == written[0] for each in written)
    assert str(written[0].schema.field("start_time").type) == "timestamp[us, tz=UTC]"


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
def test_files_are_one_stream_whatever_their_order(run: Run, order: list[int]) -> None:
    Path("ticks").mkdir()
    put("ticks/a.csv", [LINES[0], *LINES[1:3]])
    put("ticks/b.csv", [LINES[0], *LINES[3:]])
    put("ticks/c.csv", [LINES[0]])
    put("ticks/_SUCCESS", [])
    given = [["ticks/a.csv", "ticks/b.csv", "ticks/c.csv"][index] for index in order]
    assert run(*given, "--order-by", "ts", "-o", "x.parquet").exit_code == 0
    assert run("ticks", "--order-by", "ts", "-o", "y.parquet").exit_code == 0
    assert found("x.parquet") == found("y.parquet") == PAIRS


def test_rows_are_read_piece_by_piece_if_in_order_and_sorted_if_not(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from acelera.cli import local

    sorts: list[int] = []
    real = local.sorted_indices
    monkeypatch.setattr(local, "sorted_indices", lambda columns: sorts.append(len(columns[0])) or real(columns))
    assert run("ticks.csv", "--order-by", "ts", "-o", "x.parquet").exit_code == 0
    assert sorts == []
    put("mixed.csv", [LINES[0], *LINES[:0:-1]])
    assert run("mixed.csv", "--order-by", "ts", "-o", "y.parquet").exit_code == 0
    put("one.csv", [LINES[0], LINES[1], LINES[4]])
    put("two.csv", [LINES[0], LINES[2], LINES[3]])
    assert run("one.csv", "two.csv", "--order-by", "ts", "-o", "z.parquet").exit_code == 0
    assert sorts == [4, 4]
    assert found("x.parquet") == found("y.parquet") == found("z.parquet") == PAIRS


@pytest.mark.parametrize("times", [(1.5, 2.5), (2.5, 1.5)])
@pytest.mark.parametrize("files", [1, 2])
def test_the_order_may_be_that_of_a_field(run: Run, times: tuple[float, float], files: int) -> None:
    lines = [json.dumps({"n": n, "type": "A", "m": {"t": at}}) for n, at in enumerate(times)]
    put("0.json", lines if files == 1 else lines[:1])
    put("1.json", lines[1:])
    put("q.acel", ["SELECT a.n AS n MATCH A AS a"])
    result = run(*["0.json", "1.json"][:files], "--order-by", "m.t", "-o", "x.csv", query="q.acel")
    assert result.exit_code == 0, result.output
    assert Path("x.csv").read_text() == ("n\n0\n1\n" if times[0] < times[1] else "n\n1\n0\n")


def test_an_event_type_without_the_order_column(run: Run) -> None:
    put("a.csv", ["n,v", "1,2"])
    put("b.csv", ["w", "3"])
    put("q.acel", ["SELECT A.v AS v MATCH A"])
    told = run("A=a.csv", "B=b.csv", "--order-by", "n", query="q.acel")
    assert told.exit_code == 1 and "row 2 has NULL in the order column `n`" in told.stderr


def test_types_are_those_of_all_values(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A column that begins with integers may go on with fractions, far beyond the first block."""
    for module in ("csv_files", "json_files"):
        monkeypatch.setattr(f"acelera.cli.{module}.BYTES_AT_ONCE", 64)
    put("long.csv", ["n,type,price", *(f"{n},SELL,1" for n in range(200)), "200,SELL,1.5"])
    put("long.json", [json.dumps({"n": n, "type": "SELL", "price": 1 if n < 200 else 1.5}) for n in range(201)])
    for name in ("long.csv", "long.json"):
        result = run(
            name, "--order-by", "n", "-o", f"{name}.parquet", query="-", input=QUERY.replace("start_time", "a.n")
        )
        assert result.exit_code == 0, result.stderr
        assert found(f"{name}.parquet") == [(1, 1.5)] * 200


def test_an_input_for_each_event_type(run: Run) -> None:
    put("a.csv", ["ts,v", "2024-01-02T09:00:00,1", "2024-01-02T09:00:02,2"])
    put("b.csv", ["ts,w", "2024-01-02T09:00:01,x", "2024-01-02T09:00:03,y"])
    query = "SELECT A.v AS low, B.w AS high MATCH A ; B"
    assert run("A=a.csv", "B=b.csv", "--order-by", "ts", "-o", "x.parquet", query="-", input=query).exit_code == 0
    assert found("x.parquet") == [(1, "x"), (1, "y"), (2, "y")]
    misspelt = run("A=a.csv", "B=b.csv", "--order-by", "ts", query="-", input="MATCH A ; C")
    assert misspelt.exit_code == 1 and "no event type `C`" in misspelt.stderr


def test_the_order_may_be_that_of_the_rows(run: Run) -> None:
    result = run("ticks.csv", query="-", input="SELECT start, end MATCH SELL : SELL")
    assert result.exit_code == 0 and "4 events, 1 match, " in result.stderr


def test_a_table_of_one_type(run: Run) -> None:
    put("sales.csv", ["n,price", "1,5", "2,6"])
    query = "SELECT a.price AS low, b.price AS high MATCH SELL AS a ; SELL AS b"
    given = ["sales.csv", "--order-by", "n", "--event-type", "SELL", "-o", "x.parquet"]
    assert run(*given, query="-", input=query).exit_code == 0
    assert found("x.parquet") == [(5, 6)]


def test_partition_by(run: Run) -> None:
    query = "SELECT name, a.price AS low, b.price AS high MATCH SELL AS a ; SELL AS b"
    given = ["ticks.csv", "--order-by", "ts", "--partition-by", "name", "-o"]
    assert run(*given, "x.parquet", query="-", input=query).exit_code == 0
    assert found("x.parquet") == [(100, 101.5)]
    assert run(*given, "y.parquet", query="-", input=f"{query} PARTITION BY name").exit_code == 0
    other = run(*given, "z.parquet", query="-", input=f"{query.replace('name, ', '')} PARTITION BY type")
    assert other.exit_code == 2
    assert "the query says PARTITION BY type, --partition-by says name" in other.stderr


def test_columns_are_named_in_one_option_or_several(run: Run) -> None:
    put("ties.csv", ["type,k,n", "A,2,1", "A,1,2", "B,2,2"])
    query = "SELECT a.k AS k MATCH A AS a : B"
    for order, key in ((["k,n"], 2), (["k", "n"], 2), (["n,k"], 1), (["n", "k"], 1)):
        given = [part for name in order for part in ("--order-by", name)]
        assert run("ties.csv", *given, "-o", "x.csv", "--overwrite", query="-", input=query).exit_code == 0
        assert Path("x.csv").read_text().split() == ["k", str(key)]


# --- what comes out -----------------------------------------------------------------------------------------------


def test_every_format_of_output(run: Run) -> None:
    for name in ("x.parquet", "x.csv", "x.json", "folder"):
        result = run("ticks.csv", "--order-by", "ts", "-o", name)
        assert (result.exit_code, result.stdout) == (0, ""), name
    assert found("x.parquet") == found("folder/part-0.parquet") == PAIRS
    assert Path("x.csv").read_text() == (
        "start_time,low,high\n2024-01-02T09:00:00.000000Z,100.0,102.0\n2024-01-02T09:00:00.000000Z,100.0,101.5\n"
    )
    assert Path("x.json").read_text() == (
        '{"start_time":"2024-01-02T09:00:00.000000Z","low":100.0,"high":102.0}\n'
        '{"start_time":"2024-01-02T09:00:00.000000Z","low":100.0,"high":101.5}\n'
    )
    again = run("x.csv", "x.json", query="-", input="MATCH ANY")
    assert again.exit_code == 2 and "several formats, csv (`x.csv`) and json (`x.json`)" in again.stderr


def test_json_holds_lists_and_structs(run: Run) -> None:
    query = "SELECT * MATCH SELL AS a WITHIN 1 SECOND"
    assert run("ticks.csv", "--order-by", "ts", "-o", "x.json", query="-", input=query).exit_code == 0
    first = json.loads(Path("x.json").read_text().splitlines()[0])
    assert first["a"] == [{"time": "2024-01-02T09:00:00.000000Z", "type": "SELL", "name": "ACME", "price": 100.0}]


def test_output_that_is_there_is_replaced_only_if_asked_for(run: Run) -> None:
    given = ["ticks.csv", "--order-by", "ts", "-o"]
    for name in ("x.json", "folder"):
        assert run(*given, name).exit_code == 0
        again = run(*given, name)
        assert again.exit_code == 2 and "is there already" in again.stderr
        assert run(*given, name, "--overwrite").exit_code == 0
    assert only("ticks.csv", "x.json", "folder")
    Path("folder/mine.txt").write_text("precious")
    refused = run(*given, "folder", "--overwrite")
    assert refused.exit_code == 2 and "holds more than results" in refused.stderr
    assert Path("folder/mine.txt").exists()


def test_no_matches_are_no_error(run: Run) -> None:
    result = run("ticks.csv", "--order-by", "ts", query="-", input="MATCH NOTHING")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "4 events, 0 matches, " in result.stderr
    assert (
        run("ticks.csv", "--order-by", "ts", "-o", "x.parquet", query="-", input="SELECT start MATCH NO").exit_code == 0
    )
    assert pq.read_table("x.parquet").column_names == ["start"]


def test_types_that_are_nearly_those_of_rows_are_told(run: Run) -> None:
    result = run("ticks.csv", "--order-by", "ts", query="-", input="MATCH SEL")
    assert result.exit_code == 0
    assert "warning: no row is of type `SEL`; did you mean `SELL`?\n" in result.stderr


def test_the_first_matches_are_shown(run: Run) -> None:
    shown = run("ticks.csv", "--order-by", "ts")
    assert shown.exit_code == 0
    assert "│ 2024-01-02 09:00:00 │ 100.00 │ 102.00 │" in shown.stdout
    few = run("ticks.csv", "--order-by", "ts", "--limit", "1")
    assert few.stdout.count("2024-01-02") == 1
    assert "the first 1 match, " in few.stderr and "there are more" in few.stderr
    assert "there are more" not in run("ticks.csv", "--order-by", "ts", "--limit", "2").stderr


def test_only_the_first_matches_are_written(run: Run) -> None:
    few = run("ticks.csv", "--order-by", "ts", "--limit", "1", "-o", "few.parquet")
    assert few.exit_code == 0
    assert found("few.parquet") == PAIRS[:1]
    assert "the first 1 match, " in few.stderr and "there are more, which --limit leaves out" in few.stderr
    every = run("ticks.csv", "--order-by", "ts", "--limit", "2", "-o", "all.parquet")
    assert found("all.parquet") == PAIRS and "there are more" not in every.stderr


def test_matches_without_end_are_not_all_listed(run: Run) -> None:
    put("many.csv", ["type,n", *(f"A,{number}" for number in range(60))])
    few = run(
        "many.csv",
        "--order-by",
        "n",
        "--limit",
        "3",
        "-o",
        "few.parquet",
        query="-",
        input="SELECT start, end MATCH A+",
    )
    assert few.exit_code == 0 and "there are more" in few.stderr
    assert pq.read_table("few.parquet").num_rows == 3


def test_failure_leaves_nothing_behind(run: Run) -> None:
    put("ties.csv", [*LINES, LINES[-1]])
    for name in ("x.parquet", "x.csv", "x.json", "folder"):
        result = run("ties.csv", "--order-by", "ts", "-o", name)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: rows 4 and 5 tie") and "--order-by" in result.stderr
    assert only("ticks.csv", "ties.csv")


def test_failure_keeps_what_was_there(run: Run) -> None:
    put("ties.csv", [*LINES, LINES[-1]])
    put("x.json", ["old"])
    assert run("ties.csv", "--order-by", "ts", "-o", "x.json", "--overwrite").exit_code == 1
    assert Path("x.json").read_text() == "old\n"


def test_interruption_leaves_nothing_behind(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("acelera.cli.outputs._write", interrupt)
    result = run("ticks.csv", "--order-by", "ts", "-o", "x.parquet")
    assert (result.exit_code, result.stderr) == (130, "interrupted\n")
    assert only("ticks.csv")


def test_explain_does_not_run(run: Run) -> None:
    result = run("ticks.csv", "--order-by", "ts", "-o", "x.parquet", "--explain")
    assert result.exit_code == 0
    assert "\nengine\n" in result.stdout and result.stderr == ""
    assert only("ticks.csv")


# --- what is refused ----------------------------------------------------------------------------------------------

CASES: list[tuple[str, list[str], int, str]] = [
    ("a missing file", ["nowhere.csv"], 2, "there is no file or folder `nowhere.csv`"),
    ("a missing file of a type", ["SELL=nowhere.csv"], 2, "there is no file or folder `nowhere.csv`"),
    ("an empty folder", ["empty"], 2, "the folder `empty` holds no files"),
    ("a folder of folders", ["nested"], 2, "holds the folder `inner`"),
    ("key=value folders", ["keyed"], 2, "leave out --in-process"),
    ("mixed formats", ["ticks.csv", "broken.json"], 2, "several formats"),
    ("an unknown format", ["q.acel"], 2, "say it with --format"),
    ("the same file twice", ["ticks.csv", "./ticks.csv"], 2, "twice"),
    ("some inputs with a name", ["SELL=ticks.csv", "broken.csv"], 2, "`broken.csv` is not"),
    ("elsewhere", ["s3://there/ticks.csv"], 2, "is not on this machine"),
    ("a broken parquet file", ["broken.parquet"], 1, "error: `broken.parquet` cannot be read"),
    ("a broken JSON file", ["broken.json"], 1, "error: broken.json, line 2 is no JSON"),
    ("a broken CSV file", ["broken.csv"], 1, "error: broken.csv, line 3: 3 values for 2 columns"),
    ("an empty CSV file", ["empty.csv"], 1, "error: `empty.csv` cannot be read: Empty CSV file"),
    (
        "a wrong time",
        ["months.csv", "-q", "MATCH ANY", "--order-by", "ts"],
        1,
        "error: months.csv, line 2, column ts: '2024-13-02T09:00:00' is no timestamp",
    ),
    ("a column twice", ["twice.csv"], 1, "error: the column `ts` occurs twice in `twice.csv`"),
    ("other columns", ["ticks.csv", "months.csv"], 1, "error: the columns of `months.csv`"),
    (
        "no such order",
        ["ticks.csv", "--order-by", "prize"],
        1,
        "error: --order-by: there is no column `prize`; did you mean",
    ),
    ("no type column", ["ticks.csv", "--type-column", "kind"], 1, "with --type-column …, or"),
    ("a mistake in the query", ["ticks.csv", "--order-by", "ts", "-q", "MATCH"], 1, "error: line 1, column 6"),
    ("an unknown attribute", ["ticks.csv", "-q", "MATCH SELL FILTER SELL.prize > 1"], 1, "did you mean `price`?"),
    ("lists in CSV", ["ticks.csv", "-q", "SELECT x.price MATCH SELL+ AS x", "-o", "x.csv"], 2, "`x_price` (list<"),
    ("structs in CSV", ["ticks.csv", "-q", "SELECT x MATCH SELL AS x", "-o", "x.csv"], 2, ".parquet or .json file, or"),
    ("an unknown output", ["ticks.csv", "-o", "x.txt"], 2, "must end with .parquet, .csv or .json"),
    (
        "standard output",
        ["ticks.csv", "-o", "-"],
        2,
        "results are written to files; without -o, the first of them are shown",
    ),
    ("no folder for the output", ["ticks.csv", "-o", "no/x.csv"], 2, "there is no folder `no`"),
    ("output over input", ["ticks.csv", "-o", "ticks.csv", "--overwrite"], 2, "both input and output"),
    ("output inside input", ["some", "-o", "some/x.parquet"], 2, "inside the input `some`"),
    ("input inside output", ["some/t.csv", "-o", "some", "--overwrite"], 2, "inside the output `some`"),
    ("a limit of none", ["ticks.csv", "--limit", "0"], 2, "--limit"),
    ("a checkpoint without a stream", ["ticks.csv", "--checkpoint", "c"], 2, "--checkpoint is for --stream"),
    ("a stream in process", ["some", "--stream", "--order-by", "ts"], 2, "--in-process is not for --stream"),
]


@pytest.mark.parametrize(("arguments", "code", "says"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused(run: Run, arguments: list[str], code: int, says: str) -> None:
    for folder in ("empty", "some", "nested/inner", "keyed/k=1"):
        Path(folder).mkdir(parents=True)
    put("some/t.csv", LINES)
    put("keyed/k=1/t.csv", LINES)
    put("broken.parquet", ["nothing"])
    put("broken.json", ['{"type": "SELL"}', '{"type": '])
    put("broken.csv", ["type,price", "SELL,1", "SELL,1,2"])
    Path("empty.csv").write_text("")
    put("months.csv", ["ts,type", "2024-13-02T09:00:00,SELL"])
    put("twice.csv", ["ts,type,ts", "1,SELL,2"])
    text = None
    if "-q" in arguments:
        at = arguments.index("-q")
        text, arguments = arguments[at + 1], [*arguments[:at], *arguments[at + 2 :]]
    result = run(*arguments, query="-" if text else "q.acel", input=text)
    assert result.exit_code == code, result.stderr
    assert says in " ".join(result.stderr.split())
    assert result.stdout == "" and "Traceback" not in result.stderr
    assert not list(Path().glob("**/*.partial"))


STREAMS: list[tuple[str, list[str], str]] = [
    ("no checkpoint", ["in", "-o", "out"], "needs --checkpoint"),
    ("no output", ["in", "--checkpoint", "c"], "needs -o OUT"),
    ("two inputs", ["in", "ticks.csv", "--checkpoint", "c", "-o", "out"], "watches one folder"),
    ("a file", ["ticks.csv", "--checkpoint", "c", "-o", "out"], "`ticks.csv` is a file"),
    ("replacing", ["in", "--checkpoint", "c", "-o", "out", "--overwrite"], "--overwrite is not for --stream"),
    ("a strange watermark", ["in", "--checkpoint", "c", "-o", "out", "--watermark", "soon"], "such as '10 minutes'"),
    ("a checkpoint in the input", ["in", "--checkpoint", "in/c", "-o", "out"], "must be a folder of its own"),
    ("matches of another stream", ["in", "--checkpoint", "c", "-o", "old"], "no checkpoint `c` to go on from"),
    ("no order", ["in", "--checkpoint", "c", "-o", "out", "--order-by="], "say it with --order-by"),
]


@pytest.mark.parametrize(("arguments", "says"), [case[1:] for case in STREAMS], ids=[case[0] for case in STREAMS])
def test_refused_streams(run: Run, arguments: list[str], says: str) -> None:
    for folder in ("in", "old"):
        Path(folder).mkdir()
    put("in/1.csv", LINES)
    put("old/part-0.parquet", [""])
    order = [] if "--order-by=" in arguments else ["--order-by", "ts"]
    result = CliRunner().invoke(main, ["run", "q.acel", "--stream", *order, *arguments])
    assert result.exit_code == 2, result.stderr
    assert says in " ".join(result.stderr.split())


# --- without Spark ------------------------------------------------------------------------------------------------


def test_without_pyspark(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    result = CliRunner().invoke(main, ["run", "q.acel", "ticks.csv", "--order-by", "ts"])
    assert result.exit_code == 3
    assert "pip install 'pyspark>=4.0,<4.4'" in result.stderr and "--in-process" in result.stderr
    extra = re.search(r"^spark = \[.*?^\]", (ROOT / "pyproject.toml").read_text(), re.DOTALL | re.MULTILINE)
    assert extra is not None and re.findall(r'"(.*?)"', extra[0]) == re.findall(r"'(.*?)'", PACKAGES)


def test_without_java(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv("SPARK_REMOTE", raising=False)
    result = CliRunner().invoke(main, ["run", "q.acel", "ticks.csv", "--order-by", "ts"])
    assert result.exit_code == 3
    assert "Java 17" in result.stderr and "--in-process" in result.stderr
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    result = CliRunner().invoke(main, ["run", "q.acel", "ticks.csv", "--order-by", "ts"])
    assert result.exit_code == 3 and "JAVA_HOME is /nowhere" in result.stderr


def test_on_spark_the_order_is_asked_for(run: Run) -> None:
    result = CliRunner().invoke(main, ["run", "q.acel", "ticks.csv"])
    assert result.exit_code == 2 and "say it with --order-by" in result.stderr


# --- ties ---------------------------------------------------------------------------------------------------------


def test_ties_are_kept_if_asked_for(run: Run) -> None:
    put("t.csv", ["ts,type", "2024-01-02T09:00:00,A", "2024-01-02T09:00:00,B"])
    put("q.acel", ["SELECT start, end MATCH A ; B"])
    refused = run("t.csv", "--order-by", "ts", query="q.acel")
    assert refused.exit_code == 1
    assert "or --ties keep to keep the order of arrival" in refused.stderr
    kept = run("t.csv", "--order-by", "ts", "--ties", "keep", query="q.acel")
    assert kept.exit_code == 0 and "1 match" in kept.stderr
    elsewhere = CliRunner().invoke(main, ["run", "q.acel", "t.csv", "--order-by", "ts", "--ties", "keep"])
    assert elsewhere.exit_code == 2 and "--ties keep is for --in-process" in elsewhere.stderr


@pytest.mark.parametrize("names", [("x.csv", "y.csv"), ("y.csv", "x.csv")])
def test_ties_of_several_files_keep_the_order_of_the_files(run: Run, names: tuple[str, str]) -> None:
    put("x.csv", ["n,v", "5,1", "9,2"])
    put("y.csv", ["n,v", "1,3", "5,4"])
    put("q.acel", ["SELECT p.v AS v FROM P MATCH P AS p"])
    assert run(*names, "--order-by", "n", "--ties", "keep", "-o", "o.csv", query="q.acel").exit_code == 0
    assert Path("o.csv").read_text().split() == ["v", "3", *(["1", "4"] if names[0] == "x.csv" else ["4", "1"]), "2"]


def test_far_more_matches_than_events_are_warned_of(run: Run) -> None:
    put("t.csv", ["type", *["A"] * 1_500])
    put("q.acel", ["SELECT start MATCH A ; A"])
    found = run("t.csv", "-o", "x.csv", query="q.acel")
    assert found.exit_code == 0 and "1,500 events, 1,124,250 matches" in found.stderr
    assert "matches so far, over 1,500 events; KEEP" in found.stderr and "--limit makes" in found.stderr


def test_ties_are_put_in_order_and_counted(run: Run) -> None:
    at = "2024-01-02T09:00:00"
    put("t.csv", ["ts,type,n", f"{at},B,1", f"{at},A,2", f"{at},A,2", f"{at},A,1"])
    put("q.acel", ["SELECT A.n AS a, B.n AS b MATCH A ; B"])
    ordered = run("t.csv", "--order-by", "ts", "--ties", "any", query="q.acel")  # by n, then by type
    assert ordered.exit_code == 0 and "4 events, 1 match, 3 tied, " in ordered.stderr
    dropped = run("t.csv", "--order-by", "ts", "--ties", "drop", query="q.acel")
    assert dropped.exit_code == 0 and "4 events, 1 match, 2 tied, 1 dropped, " in dropped.stderr


def test_columns_without_a_value_can_be_compared_with_anything(run: Run) -> None:
    put("t.csv", ["ts,type,temp", "2024-01-02T09:00:00,A,", "2024-01-02T09:00:01,A,"])
    for filter in ("x.temp > 20", "x.temp = 'hot'", "x.temp IS NULL"):
        put("q.acel", [f"SELECT start MATCH A AS x FILTER {filter}"])
        result = run("t.csv", "--order-by", "ts", query="q.acel")
        assert result.exit_code == 0, result.stderr
        assert ("2 matches" if "NULL" in filter else "0 matches") in result.stderr


def test_a_file_without_rows(run: Run) -> None:
    put("t.csv", ["ts,type,temp"])
    put("q.acel", ["SELECT start_time MATCH A AS x FILTER x.temp > 20 WITHIN 1 MINUTE"])
    result = run("t.csv", "--order-by", "ts", query="q.acel")
    assert result.exit_code == 0 and "0 events, 0 matches" in result.stderr, result.stderr
