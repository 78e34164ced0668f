"""`acelera report --in-process`: the page that `Query.report` writes, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from acelera.cli import main
from acelera.report import in_process
from report.reading import data

QUERY = "SELECT a.price AS low MATCH SELL AS a ; SELL AS b FILTER a.price < b.price"
LINES = [
    "ts,type,name,price",
    "2024-01-02T09:00:00,SELL,ACME,100",
    "2024-01-02T09:00:02,SELL,INTL,102",
    "2024-01-02T09:00:01,BUY,ACME,101",
    "2024-01-02T09:00:03,SELL,ACME,101.5",
]

Report = Callable[..., Result]


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Report:
    """`acelera report q.acel … --order-by ts --in-process`, in a folder that holds a query and ticks."""
    monkeypatch.chdir(tmp_path)
    Path("q.acel").write_text(f"{QUERY} PARTITION BY name".replace("SELECT ", "SELECT name, "))
    put("ticks.csv", LINES)

    def report(*arguments: object, query: str = "q.acel", **options: Any) -> Result:
        given = ["report", query, *map(str, arguments), "--order-by", "ts", "--in-process"]
        return CliRunner().invoke(main, given, **options)

    return report


def put(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def test_the_page_is_that_of_the_query(report: Report) -> None:
    result = report("ticks.csv")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.startswith("4 events, 1 match, ") and result.stderr.endswith(" s; see report.html\n")
    page = data(Path("report.html"))
    rows = [dict(zip(LINES[0].split(","), line.split(","), strict=True)) for line in LINES[1:]]
    table = [
        {**row, "ts": f"{row['ts'].replace('T', ' ')}Z", "price": float(row["price"])}
        for row in sorted(rows, key=lambda row: row["ts"])
    ]
    assert page["events"]["time"] == [row["ts"] for row in table] and page["zoned"] is True
    assert [column["values"] for column in page["events"]["columns"]] == [
        [row[name] for row in table] for name in ("name", "price")
    ]
    assert [match["row"] for match in page["matches"]] == [["ACME", 100]] and page["keys"] == ["name"]


def test_options_are_those_of_a_run(report: Report) -> None:
    given = ["--partition-by", "name", "--format", "csv", "--type-column", "kind", "--quiet", "-o", "x/y/page.HTML"]
    put("ticks", [line.replace("type", "kind") for line in LINES])
    result = report("ticks", *given, query="-", input=QUERY)
    assert (result.exit_code, result.output) == (0, "")
    page = data(Path("x/y/page.HTML"))
    assert page["keys"] == ["name"] and page["columns"] == ["low"]
    assert report("ticks", "--format", "csv", "--event-type", "SELL").exit_code == 0
    assert data(Path("report.html"))["types"] == ["SELL"]


def test_an_input_for_each_event_type(report: Report) -> None:
    put("s.csv", ["ts,name,price", "2024-01-02T09:00:00,ACME,1", "2024-01-02T09:00:09,ACME,3"])
    put("b.csv", ["ts,volume", "2024-01-02T09:00:01,7"])
    assert report("SELL=s.csv", "BUY=b.csv", query="-", input=QUERY).exit_code == 0
    page = data(Path("report.html"))
    assert [page["types"][each] for each in page["events"]["type"]] == ["SELL", "BUY", "SELL"]
    assert {each["name"]: each["values"] for each in page["events"]["columns"]}["volume"] == [None, 7, None]
    wrong = report("SELL=s.csv", "BUY=b.csv", query="-", input="SELECT SELL.volume MATCH SELL ; BUY")
    assert wrong.exit_code == 1 and "volume" in wrong.stderr


def test_how_much_is_shown(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    put("many.csv", [LINES[0], *(f"2024-01-02T09:00:{n:02},SELL,ACME,{n}" for n in range(30))])
    assert report("many.csv", "--matches", 3, "--events", 10, "-o", "few.html").exit_code == 0
    page = data(Path("few.html"))
    assert (len(page["matches"]), len(page["events"]["x"]), page["counts"]["matches"]) == (3, 10, 435)
    monkeypatch.setattr(in_process, "COUNTED", 100)
    assert ", more than " in report("many.csv", "--matches", 3).stderr
    assert report("many.csv", "--matches", -1).exit_code == 2


def test_a_page_of_nothing(report: Report) -> None:
    put("none.csv", LINES[:1])
    result = report("none.csv", query="-", input="MATCH SELL")
    assert result.exit_code == 0 and result.stderr.startswith("0 events, 0 matches, ")
    assert data(Path("report.html"))["events"]["x"] == []


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["ticks.csv", "-o", "."], 2, "`.` is a folder; name the file of the report, such as `report.html`"),
        (["ticks.csv", "-o", "q.acel/page.html"], 2, "/q.acel` is not a folder"),
        (["ticks.csv", "-o", "ticks.csv"], 2, "`ticks.csv` must end with .html"),
        (["ticks.html", "--format", "csv", "-o", "ticks.html"], 2, "`ticks.html` is both input and output"),
        (["ticks.csv", "-o", "s3://bucket/page.html"], 2, "is not on this machine"),
        (["s3://bucket/ticks.csv"], 2, "leave out --in-process"),
        (["nothing.csv"], 2, "there is no file or folder `nothing.csv`"),
        (["ticks.csv", "again.csv"], 1, "error: rows 1 and 5 tie: "),
        (["ticks.csv", "--type-column", "kind"], 1, "error: "),
    ],
)
def test_what_is_refused(report: Report, arguments: list[str], code: int, says: str) -> None:
    put("ticks.html", LINES)
    put("again.csv", LINES)
    before = sorted(each.name for each in Path().iterdir())
    result = report(*arguments)
    assert (result.exit_code, result.stdout) == (code, "") and says in result.stderr, result.stderr
    assert "Traceback" not in result.stderr
    assert sorted(each.name for each in Path().iterdir()) == before
    assert Path("ticks.html").read_text() == Path("ticks.csv").read_text()


def test_spark_needs_an_order(report: Report) -> None:
    result = CliRunner().invoke(main, ["report", "q.acel", "ticks.csv"])
    assert result.exit_code == 2 and "--order-by" in result.stderr


def test_help_shows_an_example() -> None:
    shown = CliRunner().invoke(main, ["report", "--help"]).output
    assert "acelera report examples/swing.acel" in shown and "all rows are read into memory" in " ".join(shown.split())
