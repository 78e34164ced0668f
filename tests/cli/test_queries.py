"""The command line."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from click.testing import CliRunner, Result

from acelera.cli import main


def run(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=stdin)


@pytest.fixture
def query(tmp_path: Path) -> str:
    path = tmp_path / "q.acel"
    path.write_text("SELECT a.price, max(b.price) AS hi\nMATCH SELL AS a ; (SELL AS b)+ WITHIN 5 minutes\n")
    return str(path)


def schema(tmp_path: Path, described: object) -> str:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(described))
    return str(path)


def test_check_without_a_schema(query: str) -> None:
    result = run("check", query)
    assert result.exit_code == 0
    assert result.output == (
        f"{query}: ok\n\n"
        "SELECT a.price, max(b.price) AS hi\nMATCH SELL AS a ; (SELL AS b)+\nWITHIN 5 MINUTES\n\n"
        "variables:\n  SELL  at least one\n  a     exactly one\n  b     at least one\n"
    )


def test_check_with_a_schema(query: str, tmp_path: Path) -> None:
    described = schema(tmp_path, {"type": "string", "price": "int", "ts": "timestamp"})
    result = run("check", query, "--schema", described, "--order-by", "ts")
    assert result.exit_code == 0
    assert result.output.endswith("result:\n  a_price  int64\n  hi       int64\n")


def test_check_with_the_schema_of_a_parquet_file(query: str, tmp_path: Path) -> None:
    path = tmp_path / "ticks.parquet"
    pa.parquet.write_table(pa.table({"type": ["SELL"], "price": [1.0], "ts": pa.array([1], pa.timestamp("us"))}), path)
    result = run("check", query, "--schema", path, "--order-by", "ts")
    assert result.exit_code == 0
    assert "hi       double" in result.output


def test_check_from_standard_input() -> None:
    assert run("check", "-", stdin="MATCH A").exit_code == 0


@pytest.mark.parametrize(
    ("described", "options", "says"),
    [
        ({"type": "string", "prize": "int", "ts": "timestamp"}, ["--order-by", "ts"], "did you mean `prize`"),
        ({"type": "string", "price": "int", "ts": "timestamp"}, [], "WITHIN 5 MINUTES needs a stream with time"),
        ({"price": "int"}, ["--event-type", "BUY"], "no event type `SELL`"),
        ([1], [], "must hold an object"),
    ],
)
def test_check_refuses(query: str, tmp_path: Path, described: object, options: list[str], says: str) -> None:
    result = run("check", query, "--schema", schema(tmp_path, described), *options)
    assert result.exit_code == 1
    assert result.stdout == ""
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_check_shows_where(tmp_path: Path) -> None:
    result = run("check", "-", stdin="MATCH A ;")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: line 1, column 10: the query ends too early")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_bytes(b"\xff\xfe\x00")
    assert run("check", broken).exit_code == 1
    assert run("check", tmp_path / "missing").exit_code == 2
    fine = tmp_path / "fine"
    fine.write_text("MATCH A")
    assert run("check", fine, "--schema", broken).exit_code == 1
    broken.rename(tmp_path / "broken.parquet")
    result = run("check", fine, "--schema", tmp_path / "broken.parquet")
    assert result.exit_code == 1 and "not a parquet file" in result.stderr


def test_explain_and_draw(query: str, tmp_path: Path) -> None:
    explained = run("explain", query)
    assert explained.exit_code == 0
    assert "simplified: " in explained.output and "state: bounded by the window" in explained.output
    assert run("draw", query).output.startswith("digraph acea {")
    assert run("draw", query, "--format", "mermaid").output.startswith("flowchart LR")
    target = tmp_path / "picture.dot"
    assert run("draw", query, "-o", target).exit_code == 0
    assert target.read_text().startswith("digraph acea {")
    assert run("draw", "-", stdin="MATCH A ;").exit_code == 1


def test_demo(tmp_path: Path) -> None:
    result = run("demo", "--in-process", "-o", tmp_path / "demo")
    assert result.exit_code == 0
    found = [line.split(",")[0] for line in result.output.splitlines() if re.match("[0-9]+ matches", line)]
    assert found == ["36 matches", "830 matches", "126 matches"]
    made = [line.partition(",")[0] for line in result.output.splitlines() if re.match("[a-z_]+: [0-9]+ events", line)]
    assert made == ["fire: 33 events", "burnt_down: 2 events:", "avg_temp: 528 events"]
    assert "5 alerts in " in result.output and "│ stolen │       17 │    902 │" in result.output
    pages = sorted((tmp_path / "demo").glob("*.html"))
    assert [page.stem for page in pages] == ["1-sequence", "2-rise", "3-no-buyer", "fire", "shop"]
    assert all(page.resolve().as_uri() in result.output for page in pages)


def test_the_example_of_check() -> None:
    folder = Path(__file__).parents[2] / "examples"
    result = run("check", folder / "rise.acel", "--schema", folder / "stocks.json", "--order-by", "ts")
    assert result.exit_code == 0
    assert "prices      list<item: double>" in result.output


def test_explain_with_a_schema(query: str, tmp_path: Path) -> None:
    described = schema(tmp_path, {"type": "string", "price": "int", "ts": "timestamp"})
    result = run("explain", query, "--schema", described, "--order-by", "ts")
    assert result.exit_code == 0 and "\nengine\n" in result.output


def test_the_overview_names_commands_and_exit_codes() -> None:
    result = run("--help")
    assert result.exit_code == 0
    assert all(f"  {command} " in result.output for command in main.commands)
    assert all(f"  {code} " in result.output for code in (0, 1, 2, 3, 130))


@pytest.mark.parametrize("command", ["run", "check", "explain", "draw", "demo"])
def test_help_shows_an_example(command: str) -> None:
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"acelera {command}" in result.output.split("Example")[1]
