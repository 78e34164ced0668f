"""Programs at the command line: run, check, explain, draw and report over small files, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import acelera as ac
from acelera.cli import main
from acelera.cli.programs.program_outputs import file_stem
from report.reading import data

RULES = """
DETECT fire { area { var A } }
ON and { event s: smoke {{ area {{ var A }} }}, event t: temp {{ area {{ var A }}, value {{ var T }} }} }
   where { s before t, {s, t} within 1 min, var T > 40 }
END
DETECT high { area { var A }, all value { var T } }
ON and { event f: fire {{ area {{ var A }} }}, while f: collect temp {{ area {{ var A }}, value {{ var T }} }} }
END
"""
FIRE = RULES.partition("DETECT high")[0]
LINES = ["type,begin,end,area,value", "smoke,65,68,hall,", "temp,70,80,hall,41", "temp,60,63,hall,40", "door,1,2,,"]
DERIVED = [{"begin": 65, "end": 80, "area": "hall"}]

Acelera = Callable[..., Result]


@pytest.fixture
def acelera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acelera:
    """`acelera …`, in a folder that holds two programs and their events in seconds."""
    monkeypatch.chdir(tmp_path)
    Path("rules.xceq").write_text(RULES)
    Path("fire.XCEQ").write_text(FIRE)
    Path("q.acel").write_text("MATCH A")
    put("events.csv", LINES)
    put("temp.csv", ["begin,end,area,value", "70,80,hall,41"])
    put("smoke.csv", ["begin,end,area", "65,68,hall"])
    return lambda *given, **options: CliRunner().invoke(main, list(map(str, given)), **options)


def put(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def there() -> list[str]:
    return sorted(str(each) for each in Path().rglob("*"))


# --- run ----------------------------------------------------------------------------------------------------------


def test_without_an_output_the_first_events_of_each_label_are_shown(acelera: Acelera) -> None:
    result = acelera("run", "rules.xceq", "events.csv", "--time-unit", "s")
    assert result.exit_code == 0
    assert "fire: 1 event\n" in result.stdout and "│    65 │  80 │ hall │\n" in result.stdout
    assert "high: 1 event\n" in result.stdout
    assert result.stderr.startswith("4 events, 2 derived, ") and result.stderr.endswith(" s\n")


def test_a_folder_with_a_file_for_each_label(acelera: Acelera) -> None:
    result = acelera("run", "rules.xceq", "events.csv", "--time-unit", "s", "-o", "out/")
    assert result.exit_code == 0 and "│ fire  │      1 │ out/fire.parquet │" in result.stdout
    assert sorted(each.name for each in Path("out").iterdir()) == ["fire.parquet", "high.parquet"]
    assert pq.read_table("out/fire.parquet").to_pylist() == DERIVED
    assert pq.read_table("out/high.parquet").to_pylist() == [{**DERIVED[0], "value": [41]}]


def test_its_ending_tells_the_format(acelera: Acelera) -> None:
    assert acelera("run", "rules.xceq", "events.csv", "--time-unit", "s", "-o", "out.json", "--quiet").output == ""
    assert json.loads(Path("out.json/high.json").read_text()) == {**DERIVED[0], "value": [41]}
    assert acelera("run", "fire.XCEQ", "events.csv", "--time-unit", "s", "-o", "out.csv").exit_code == 0
    assert Path("out.csv/fire.csv").read_text() == "begin,end,area\n65,80,hall\n"
    before = there()
    result = acelera("run", "rules.xceq", "events.csv", "--time-unit", "s", "-o", "lists.csv")
    assert result.exit_code == 2 and "CSV cannot hold `value` (list<item: int64>)" in result.stderr
    assert there() == before


def test_results_are_replaced_if_asked_and_nothing_else(acelera: Acelera) -> None:
    given = ["run", "fire.XCEQ", "events.csv", "--time-unit", "s", "-o", "out"]
    assert acelera(*given).exit_code == 0
    assert "`out` is there already" in acelera(*given).stderr
    assert acelera(*given, "--overwrite").exit_code == 0
    Path("out/notes").write_text("mine")
    result = acelera(*given, "--overwrite")
    assert result.exit_code == 2 and "holds more than results" in result.stderr


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_for_each_label_in_any_format(acelera: Acelera, suffix: str) -> None:
    pq.write_table(pa.table({"begin": [65], "end": [68], "area": ["hall"]}), "smoke.parquet")
    result = acelera("run", "fire.XCEQ", "temp=temp.csv", f"smoke=smoke.{suffix}", "--time-unit", "s", "-o", "out")
    assert result.exit_code == 0 and result.stderr.startswith("2 events, 1 derived, ")
    assert pq.read_table("out/fire.parquet").to_pylist() == DERIVED


def test_a_text_without_rows_has_the_times_of_the_others(acelera: Acelera) -> None:
    put("smoke.csv", ["begin,end,area"])
    result = acelera("run", "fire.XCEQ", "smoke=smoke.csv", "temp=temp.csv", "--time-unit", "s")
    assert result.exit_code == 0 and result.stdout == "fire: 0 events\n"


def test_options_say_how_events_are_read(acelera: Acelera) -> None:
    put("other.csv", ["kind,at,area,value", "smoke,2024-01-01T10:00:00,a,", "temp,2024-01-01T10:00:59,a,50"])
    given = ["run", "fire.XCEQ", "other.csv", "--type-column", "kind", "--time", "at", "--method", "semantics"]
    result = acelera(*given, "--in-process")
    assert result.exit_code == 0 and "fire: 1 event\n" in result.stdout
    put("other.csv", ["type,b,e,area,value", "smoke,65,68,a,", "temp,70,80,a,50"])
    given = ["run", "fire.XCEQ", "other.csv", "--begin", "b", "--end", "e", "--time-unit", "s"]
    assert "fire: 1 event\n" in acelera(*given, "--longest", "temp=10s", "--longest", "smoke=3 sec").stdout
    long = acelera(*given, "--longest", "temp=9s")
    assert long.exit_code == 1 and "longer than --longest temp=9s says" in long.stderr


def test_a_limit(acelera: Acelera) -> None:
    put("many.csv", ["type,t,v", *(f"a,{number},{number}" for number in range(25))])
    Path("copy.xceq").write_text("DETECT b { v { var V } } ON a {{ v {{ var V }} }} END")
    shown = acelera("run", "copy.xceq", "many.csv", "--time", "t")
    assert "b: 25 events, the first 20\n" in shown.stdout and "│ 19 │" in shown.stdout and "│ 20 │" not in shown.stdout
    assert shown.stderr.endswith("; there are more: --limit shows more of them, -o writes all\n")
    written = acelera("run", "copy.xceq", "many.csv", "--time", "t", "--limit", 3, "-o", "out")
    assert written.stderr.endswith("; --limit leaves some out\n") and "│      3 │" in written.stdout
    assert pq.read_table("out/b.parquet").num_rows == 3


def test_a_label_that_no_row_has(acelera: Acelera) -> None:
    put("events.csv", [line.replace("smoke", "smokes") for line in LINES])
    result = acelera("run", "fire.XCEQ", "events.csv", "--time-unit", "s")
    assert result.exit_code == 0 and "no row is of type `smoke`; did you mean `smokes`?" in result.stderr
    named = acelera("run", "fire.XCEQ", "smokes=smoke.csv", "temp=temp.csv", "--time-unit", "s")
    assert named.exit_code == 0 and "did you mean `smokes`?" in named.stderr


def test_labels_may_hold_what_files_must_not() -> None:
    assert file_stem("../a") == "%2E.%2Fa" and file_stem("wärme-1") == "wärme-1"


# --- what can be said of it ---------------------------------------------------------------------------------------


def test_check(acelera: Acelera) -> None:
    result = acelera("check", "fire.XCEQ")
    assert result.exit_code == 0
    assert result.stdout == f"fire.XCEQ: ok\n\n{ac.xchangeeq(FIRE)}\n\ncomes in: smoke, temp\nis made: fire\n"
    told = "\n\ncomes in: smoke, temp\nfire:\n  begin  int64\n  end    int64\n  area   string\n"
    assert acelera("check", "fire.XCEQ", "events.csv", "--time-unit", "s").stdout.endswith(told)
    columns = {"begin": "int", "end": "int", "area": "string"}
    Path("schema.json").write_text(json.dumps({"smoke": columns, "temp": {**columns, "value": "float"}}))
    assert acelera("check", "fire.XCEQ", "--schema", "schema.json", "--time-unit", "s").stdout.endswith(told)


def test_explain(acelera: Acelera) -> None:
    assert acelera("explain", "rules.xceq").stdout.startswith("program\n  DETECT fire")
    told = acelera("explain", "rules.xceq", "events.csv", "--time-unit", "s").stdout
    assert "\nplan\n" in told and "longest=" not in told
    assert acelera("run", "rules.xceq", "events.csv", "--time-unit", "s", "--explain").stdout == told


@pytest.mark.parametrize(
    ("given", "begins"),
    [([], "digraph"), (["-o", "x.SVG"], "<svg"), (["-o", "x.mmd"], "flowchart"), (["--format", "svg"], "<svg")],
)
def test_draw(acelera: Acelera, given: list[str], begins: str) -> None:
    result = acelera("draw", "rules.xceq", *given)
    text = Path(given[1]).read_text() if given[:1] == ["-o"] else result.stdout
    assert result.exit_code == 0 and text.startswith(begins) and "fire" in text


@pytest.mark.parametrize("file", ["rules.xceq", "q.acel"])
def test_pictures_of_unknown_kinds_are_refused(acelera: Acelera, file: str) -> None:
    result = acelera("draw", file, "-o", "x.png")
    assert result.exit_code == 2 and "there are .dot, .gv, .mmd, .mermaid, .svg, and --format" in result.stderr
    assert not Path("x.png").exists()
    assert acelera("draw", file, "-o", "x.png", "--format", "svg").exit_code == 0


def test_a_program_that_is_taken_for_a_query(acelera: Acelera) -> None:
    Path("fire.txt").write_text(f"# rules\n{FIRE}")
    for command in (["run", "fire.txt", "events.csv", "--time", "begin"], ["draw", "fire.txt"]):
        result = acelera(*command)
        assert result.exit_code == 2
        assert "`fire.txt` holds a program; the names of such programs end with .xceq" in result.stderr


def test_report(acelera: Acelera) -> None:
    result = acelera("report", "rules.xceq", "events.csv", "--time-unit", "s", "-o", "pages/fire.html")
    assert result.exit_code == 0 and result.stdout == ""
    assert result.stderr.startswith("3 events, 2 derived, ") and result.stderr.endswith(" s; see pages/fire.html\n")
    page = data(Path("pages/fire.html"))
    assert {each["name"]: (each["base"], each["derived"]) for each in page["labels"]} == {
        "smoke": (1, 0), "temp": (2, 0), "fire": (0, 1), "high": (0, 1)
    }  # fmt: skip
    few = acelera("report", "rules.xceq", "events.csv", "--time-unit", "s", "--events", 2, "--quiet")
    assert few.output == "" and len(data(Path("report.html"))["events"]["label"]) == 2


# --- what is wrong ------------------------------------------------------------------------------------------------

WRONG: list[tuple[list[str], int, str]] = [
    (["run", "none.xceq", "events.csv"], 2, "none.xceq"),
    (["run", "fire.XCEQ", "none.csv"], 2, "there is no file or folder `none.csv`"),
    (["run", "fire.XCEQ", "s3://bucket/x.csv"], 2, "programs run here"),
    (["run", "fire.XCEQ", "keyed"], 2, "folders that are named key=value"),
    (["run", "fire.XCEQ", "temp=temp.csv", "smoke.csv"], 2, "name the event type of all, or of none"),
    (["run", "fire.XCEQ", "events.csv", "--order-by", "begin"], 2, "--order-by is for queries; "),
    (["run", "fire.XCEQ", "events.csv", "--event-type", "temp"], 2, "name the label of an input: LABEL=path"),
    (["run", "fire.XCEQ", "events.csv", "--ties", "keep"], 2, "--ties is for queries"),
    (["run", "fire.XCEQ", "events.csv", "--stream"], 2, "runs in this process; run it on Spark from Python"),
    (["report", "fire.XCEQ", "events.csv", "--matches", "3"], 2, "--matches is for queries"),
    (["report", "fire.XCEQ", "events.csv", "-o", "x.csv"], 2, "must end with .html"),
    (["report", "fire.XCEQ", "events.csv", "-o", "."], 2, "is a folder"),
    (["run", "q.acel", "events.csv", "--time", "t"], 2, "--time is for programs, which are files .xceq"),
    (["check", "q.acel", "events.csv"], 2, "INPUTs are for programs"),
    (["check", "fire.XCEQ", "events.csv", "--schema", "events.csv"], 2, "give one of them"),
    (["run", "fire.XCEQ", "events.csv", "--time", "t", "--end", "e"], 2, "--begin … and --end … for those that last"),
    (["run", "fire.XCEQ", "events.csv", "--begin", "begin"], 2, "--end … is missing"),
    (["run", "fire.XCEQ", "events.csv", "--longest", "5s"], 2, "is no label and time, such as temp=5s"),
    (["run", "fire.XCEQ", "events.csv", "--time", "tim"], 1, "no column `tim` that tells a time"),
    (["run", "fire.XCEQ", "events.csv", "--type-column", "x"], 1, "Name it with --type-column …"),
    (["run", "fire.XCEQ", "events.csv"], 1, "--time-unit"),
    (["run", "fire.XCEQ", "events.csv", "--time-unit", "s", "--longest", "tmp=5s"], 1, "did you mean `temp`?"),
    (["run", "fire.XCEQ", "events.csv", "--time-unit", "s", "--longest", "temp=5x"], 1, "--longest temp=…: "),
    (["run", "broken.xceq", "events.csv"], 1, "error: line 1, column "),
    (["draw", "broken.xceq"], 1, "error: line 1, column "),
    (["check", "any.xceq", "events.csv"], 1, "name the label of each input: LABEL=path"),
    (["check", "fire.XCEQ", "temp=smoke.csv", "smoke=smoke.csv"], 2, "among the inputs twice"),
    (["check", "fire.XCEQ", "temp=smoke.csv", "--time-unit", "s"], 1, "no child value in temp"),
]


@pytest.mark.parametrize(("given", "code", "says"), WRONG, ids=[" ".join(given) for given, _, _ in WRONG])
def test_mistakes(acelera: Acelera, given: list[str], code: int, says: str) -> None:
    Path("broken.xceq").write_text("DETECT b { v { var V } } ON a {{ }} END")
    Path("any.xceq").write_text("DETECT b { } ON * {{ }} END")
    Path("keyed/day=1").mkdir(parents=True)
    put("keyed/day=1/x.csv", LINES)
    result: Any = acelera(*given)
    assert (result.exit_code, result.stdout) == (code, "") and says in result.stderr
    assert isinstance(result.exception, SystemExit) and "Traceback" not in result.stderr


@pytest.mark.parametrize("command", ["run", "report", "check", "explain", "draw"])
def test_help_speaks_of_programs(acelera: Acelera, command: str) -> None:
    assert ".xceq" in acelera(command, "--help").output and "program" in acelera("--help").output
