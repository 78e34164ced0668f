"""Programs over changes at the command line: run, check, explain, draw and report over small files, and what is wrong."""

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import acelera as ac
from acelera.cli import main
from acelera.demo import shop
from report.reading import data

RULES = """
monitor update(stock) as tick partition by id; derived rise(id, by);
Rise: (tick(X), tick(Y, Y.price > X.price)) -> rise(Y.id, Y.price - X.price), write("%s rose to %d", Y.id, Y.price);
"""
LINES = ["ts,op,id,old_price,new_price", "1,u,a,9,10", "2,u,a,10,12", "2,u,b,7,8", "3,i,c,,1", "4,u,b,8,9"]
RISES = [{"stage": 2, "Timestamp": 2, "id": "a", "by": 2}, {"stage": 2, "Timestamp": 4, "id": "b", "by": 1}]
UNPAID = """
monitor ins(orders) as o; Big: o(X, X.total > 200) -> insert into big(order_id, total) values (X.order_id, X.total);
"""

Acelera = Callable[..., Result]


@pytest.fixture
def acelera(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Acelera:
    """`acelera …`, in a folder that holds two programs and their changes."""
    monkeypatch.chdir(tmp_path)
    Path("rules.trepl").write_text(RULES)
    Path("big.TREPL").write_text(UNPAID)
    Path("q.acel").write_text("MATCH A")
    Path("fire.xceq").write_text("DETECT b { } ON a {{ }} END")
    put("stock.csv", LINES)
    return lambda *given, **options: CliRunner().invoke(main, list(map(str, given)), **options)


def put(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def there() -> list[str]:
    return sorted(str(each) for each in Path().rglob("*"))


# --- run --------------------------------------------------------------------------------------------------------------


def test_without_an_output_the_first_rows_are_shown(acelera: Acelera) -> None:
    result = acelera("run", "rules.trepl", "--source", "stock=stock.csv")
    assert result.exit_code == 0
    assert "rise: 2 rows\n" in result.stdout and "Rise.2: 2 rows\n" in result.stdout
    assert "a rose to 12" in result.stdout
    assert result.stderr.startswith("5 changes, 6 rows, ") and result.stderr.endswith(" s\n")


def test_a_folder_with_a_file_for_each_output(acelera: Acelera) -> None:
    result = acelera("run", "rules.trepl", "--source", "stock=changes:stock.csv", "-o", "out")
    assert result.exit_code == 0 and "│ Rise   │    2 │ out/Rise~2.parquet │" in result.stdout
    assert sorted(each.name for each in Path("out").iterdir()) == ["Rise.2.parquet", "Rise~2.parquet", "rise.parquet"]
    assert pq.read_table("out/rise.parquet").to_pylist() == RISES
    again = ["run", "rules.trepl", "--source", "stock=stock.csv", "-o", "out"]
    assert "`out` is there already" in acelera(*again).stderr
    assert acelera(*again, "--overwrite", "--quiet").output == ""


def test_its_ending_tells_the_format(acelera: Acelera) -> None:
    assert acelera("run", "rules.trepl", "--source", "stock=stock.csv", "-o", "out.json", "--limit", 1).exit_code == 0
    assert json.loads(Path("out.json/rise.json").read_text()) == RISES[0]
    assert acelera("run", "rules.trepl", "--source", "stock=stock.csv", "-o", "out.csv").exit_code == 0
    assert Path("out.csv/rise.csv").read_text().splitlines()[1] == "2,2,a,2"


def test_options_of_sources(acelera: Acelera) -> None:
    put("other.csv", ["at,kind,id,price,was,tx", "1,u,a,10,9,1", "1,u,a,12,10,2"])
    source = "stock=changes:other.csv,time=at,op=kind,old=,new=,order_by=at+tx"
    result = acelera("run", "rules.trepl", "--source", source, "--granularity", "transaction", "-o", "out")
    assert result.exit_code == 0
    assert pq.read_table("out/rise.parquet").to_pylist() == [{"stage": 2, "Timestamp": 1, "id": "a", "by": 2}]
    assert acelera("run", "rules.trepl", "--source", source, "--method", "semantics").stdout.startswith(
        "rise: 0 rows\n"
    )


@pytest.mark.parametrize("written", ["", "debezium:"])
@pytest.mark.parametrize("packed", [False, True])
def test_messages_of_debezium(acelera: Acelera, written: str, packed: bool) -> None:
    path = Path("shop.json.gz" if packed else "shop.jsonl")
    path.write_bytes(gzip.compress(shop.PATH.read_bytes()) if packed else shop.PATH.read_bytes())
    given = ["run", "big.TREPL", "--source", f"orders={written}{path},table=orders"]
    result = acelera(*given, "-o", "out.json")
    rows = [json.loads(line) for line in Path("out.json/Big.json").read_text().splitlines()]
    assert result.exit_code == 0 and rows and all(row["arg2"] > 200 for row in rows)
    assert f"{len(rows)} commands of SQL not done" in result.stderr


def test_commands_are_done_in_a_database(acelera: Acelera) -> None:
    with sqlite3.connect("shop.db") as connection:
        connection.execute("create table big(order_id int, total real)")
    put("orders.csv", ["ts,order_id,total", "1,1,100.5", "2,2,200.5"])
    for _ in range(2):
        result = acelera("run", "big.TREPL", "--source", "orders=orders.csv", "--database", "shop.db", "--quiet")
        assert result.exit_code == 0 and "not done" not in result.stderr
    with sqlite3.connect("shop.db") as connection:
        assert connection.execute("select * from big").fetchall() == [(2, 200.5)]


def test_a_change_data_feed(acelera: Acelera) -> None:
    images = [("update_preimage", 10), ("update_postimage", 12)]
    rows = [
        {"id": "a", "price": price, "_change_type": kind, "_commit_version": 1 + version, "_commit_timestamp": version}
        for version in range(2)
        for kind, price in [(kind, price + 10 * version) for kind, price in images]
    ]
    pq.write_table(pa.Table.from_pylist(rows), "feed.parquet")
    result = acelera("run", "rules.trepl", "--source", "stock=feed.parquet,key=id", "-o", "out")
    assert result.exit_code == 0 and pq.read_table("out/rise.parquet")["by"].to_pylist() == [10]
    lacking = acelera("run", "rules.trepl", "--source", "stock=feed.parquet")
    assert lacking.exit_code == 2 and "a change data feed needs the key of its table: …,key=id" in lacking.stderr


def test_a_zone(acelera: Acelera) -> None:
    Path("day.trepl").write_text("monitor a; R: a(X) -> write(X.Day);")
    put("a.csv", ["ts", "2024-01-31T23:30:00Z"])
    result = acelera("run", "day.trepl", "--source", "a=a.csv", "--zone", "Europe/Berlin", "-o", "out.json")
    assert result.exit_code == 0 and json.loads(Path("out.json/R.json").read_text())["arg1"] == 1


# --- what can be said of it -------------------------------------------------------------------------------------------


def test_a_source_that_no_rule_monitors_is_warned_of(acelera: Acelera) -> None:
    result = acelera("run", "rules.trepl", "--source", "stock=stock.csv", "--source", "stok=stock.csv")
    assert result.exit_code == 0
    assert "warning: no rule monitors `stok`, so its changes are not looked at; did you mean `stock`?" in result.stderr


def test_check(acelera: Acelera) -> None:
    result = acelera("check", "rules.trepl")
    told = f"rules.trepl: ok\n\n{ac.trepl(RULES)}\n\ncomes in: stock\n"
    so_far = told.replace(": ok\n", ": ok so far: attributes are checked with --source or --schema\n", 1)
    assert result.exit_code == 0 and result.stdout == f"{so_far}is made: rise, Rise, Rise.2\n"
    columns = "rise:\n  stage      int64\n  Timestamp  int64\n  id         string\n  by         int64\nRise:\n"
    assert acelera("check", "rules.trepl", "--source", "stock=stock.csv").stdout.startswith(told + columns)
    Path("schema.json").write_text(json.dumps({"stock": {"id": "string", "price": "float"}}))
    assert "  by         double\n" in acelera("check", "rules.trepl", "--schema", "schema.json").stdout


def test_explain(acelera: Acelera) -> None:
    assert acelera("explain", "rules.trepl").stdout.startswith("program\n  monitor update(stock) as tick")
    told = acelera("explain", "rules.trepl", "--source", "stock=stock.csv").stdout
    assert "\nmodule Main\n  stages: update(stock); a history for each id\n" in told
    assert acelera("run", "rules.trepl", "--source", "stock=stock.csv", "--explain").stdout == told


@pytest.mark.parametrize(
    ("given", "begins"), [([], "digraph"), (["-o", "x.svg"], "<svg"), (["-o", "x.mmd"], "flowchart")]
)
def test_draw(acelera: Acelera, given: list[str], begins: str) -> None:
    result = acelera("draw", "rules.trepl", *given)
    text = Path(given[1]).read_text() if given else result.stdout
    assert result.exit_code == 0 and text.startswith(begins) and "rise" in text and "Rise: write" in text


def test_report(acelera: Acelera) -> None:
    result = acelera("report", "rules.trepl", "--source", "stock=stock.csv", "-o", "pages/rise.html")
    assert result.exit_code == 0 and result.stderr.endswith(" s; see pages/rise.html\n")
    page = data(Path("pages/rise.html"))
    assert {each["name"]: (each["base"], each["derived"]) for each in page["labels"]} == {
        "update(stock)": (4, 0), "rise": (0, 2), "Rise: write": (0, 2)
    }  # fmt: skip
    assert page["names"] == ["Rise"] and page["events"]["fields"][0] == {
        "price": 10,
        "id": "a",
        "old_price": 9,
        "old_id": "a",
    }
    few = acelera("report", "rules.trepl", "--source", "stock=stock.csv", "--events", 2, "--quiet")
    assert few.output == "" and len(data(Path("report.html"))["events"]["label"]) == 2


# --- what is wrong ----------------------------------------------------------------------------------------------------

RUN = ["run", "rules.trepl"]
WRONG: list[tuple[list[str], int, str]] = [
    (RUN, 2, "whose changes are to be read is said with --source"),
    ([*RUN, "stock.csv"], 2, "`stock.csv`: changes are named with --source"),
    ([*RUN, "--source", "stock"], 2, "--source 'stock' is no relation and file, such as orders=orders.csv"),
    ([*RUN, "--source", "stock=none.csv"], 2, "there is no file or folder `none.csv`"),
    ([*RUN, "--source", "stock=stock.csv,tim=at"], 2, "tim=… is no option of a source; did you mean `time`?"),
    ([*RUN, "--source", "stock=inserts:stock.csv,op=at"], 2, "op=… is no option of inserts; there are time, order_by"),
    (
        [*RUN, "--source", "stock=other.csv,op=kind"],
        2,
        "op=… is no option of inserts, which the columns of `other.csv` look like; if they are changes, write --source "
        "stock=changes:other.csv,op=…",
    ),
    ([*RUN, "--source", "stock=change:stock.csv"], 2, "no kind of source `change`; did you mean `changes:stock.csv`?"),
    (
        [*RUN, "--source", "stock=stock.csv,order_by=ts,id,time=ts"],
        2,
        "order_by=ts,id: several columns are written order_by=ts+id",
    ),
    ([*RUN, "--source", "stock=debezium:m.jsonl"], 1, "`stock`: m.jsonl, line 3: this is no JSON (Expecting value, at"),
    ([*RUN, "--source", "stock=debezium:no.jsonl"], 1, "`stock`: there is no message in no.jsonl"),
    ([*RUN, "--source", "stock=s3://x/y.csv"], 2, "programs run here"),
    ([*RUN, "--source", "stock=stock.csv", "--source", "stock=q.csv"], 2, "there is no file or folder `q.csv`"),
    ([*RUN, "--source", "stock=stock.csv", "--source", "stock=stock.csv"], 2, "--source stock=… is there twice"),
    ([*RUN, "--source", "stock=stock.csv", "--order-by", "ts"], 2, "--source orders=orders.csv,order_by=tx"),
    ([*RUN, "--source", "stock=stock.csv", "--time", "ts"], 2, "--source orders=orders.csv,time=at"),
    ([*RUN, "--source", "stock=stock.csv", "--stream"], 2, "run it on Spark from Python"),
    ([*RUN, "--source", "stock=stock.csv", "--granularity", "row"], 2, "'row' is not one of"),
    (
        [*RUN, "--source", "stock=stock.csv", "--granularity", "operation"],
        1,
        "--granularity operation needs order_by=…",
    ),
    ([*RUN, "--source", "stock=stock.csv,time=at"], 1, "`stock`: there is no column `at` that tells when"),
    ([*RUN, "--source", "stok=stock.csv"], 1, "no source gives the changes of stock"),
    ([*RUN, "--source", "stock=stock.csv", "--zone", "Mars"], 1, "--zone Mars is not known"),
    (["run", "q.acel", "x.csv", "--source", "a=b"], 2, "--source is for programs over changes, which are files .trepl"),
    (["run", "fire.xceq", "x.csv", "--zone", "UTC"], 2, "--zone is for programs over changes, which are files .trepl"),
    (["run", "q.acel"], 2, "Missing argument 'INPUT...'"),
    (["run", "fire.xceq"], 2, "Missing argument 'INPUT...'"),
    (["run", "rules.txt", "x.csv"], 2, "`rules.txt` holds a program; the names of such programs end with .trepl"),
    (["draw", "broken.trepl"], 1, "error: line 1, column "),
    (["check", "rules.trepl", "--source", "stock=stock.csv", "--schema", "stock.csv"], 2, "give one of them"),
]


@pytest.mark.parametrize(("given", "code", "says"), WRONG, ids=[" ".join(given) for given, _, _ in WRONG])
def test_mistakes(acelera: Acelera, given: list[str], code: int, says: str) -> None:
    Path("broken.trepl").write_text("monitor a; R: a(X) => write(X.v);")
    Path("rules.txt").write_text(f"-- rules\n{RULES}")
    put("other.csv", ["ts,kind,id,old_price,new_price", "1,u,a,9,10"])
    put("m.jsonl", ["", "{}", "x"])
    put("no.jsonl", [])
    before = there()
    result: Any = acelera(*given)
    assert (result.exit_code, result.stdout) == (code, "") and says in result.stderr
    assert isinstance(result.exception, SystemExit) and "Traceback" not in result.stderr
    assert there() == before


@pytest.mark.parametrize("command", ["run", "report", "check", "explain", "draw"])
def test_help_speaks_of_programs_over_changes(acelera: Acelera, command: str) -> None:
    assert ".trepl" in acelera(command, "--help").output and ".trepl" in acelera("--help").output
