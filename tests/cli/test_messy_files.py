"""Files as they are found: other names, times, delimiters and encodings, and rows that cannot be read."""

import gzip
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from acelera.cli import main

Run = Callable[..., Result]

AIS = """# Timestamp,Type of mobile,MMSI,Latitude,Status,SOG
31/12/2024 00:00:00,Class A,219000001,55.1,Under way,12.3
31/12/2024 00:00:10,Class A,219000001,55.2,"Unknown ""value"",",0.0
31/12/2024 00:00:20,Class B,219000001,Unknown,"a line
and another",
31/12/2024 00:00:30,Class A,219000001,55.4,,3.5
"""
SHIPS = "SELECT a.sog AS fast, b.sog AS slow, b.lat AS lat FROM Ais MATCH Ais AS a ; Ais AS b FILTER a.sog > b.sog"
OF_AIS = [
    *("--rename", "# Timestamp=ts", "--rename", "SOG=sog", "--rename", "Latitude=lat"),
    *("--order-by", "ts", "--time-format", "%d/%m/%Y %H:%M:%S"),
]
LOG = """127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326
127.0.0.1 - frank [10/Oct/2000:13:55:37 -0700] "GET /b.gif HTTP/1.0" 404 -
"""
STEPS = "Zeit;Größe;Wert\n31.12.2024 10:00;groß;1,5\n31.12.2024 10:01;klein;2,25\n"
ALL = "SELECT * FROM P MATCH P AS p"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`acelera run` in process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(text: str, *given: str) -> Result:
        return CliRunner().invoke(main, ["run", "-", *given, "--in-process"], input=text)

    return run


def rows(run: Run, *given: str) -> list[dict[str, Any]]:
    """All rows that are read."""
    result = run("SELECT p FROM P MATCH P AS p", *given, "-o", "out.parquet", "--overwrite")
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = [each["p"] for each in pq.read_table("out.parquet").to_pylist()]
    return [{name: value for name, value in each.items() if name != "position"} for each in found]


def kinds() -> dict[str, str]:
    """The types of the columns that were read."""
    fields = pq.read_schema("out.parquet").field("p").type
    return {field.name: str(field.type) for field in fields if field.name != "position"}


def put(name: str, text: str, encoding: str = "utf-8") -> None:
    Path(name).write_bytes(text.encode(encoding))


def schema(**types: str) -> list[str]:
    Path("schema.json").write_text(json.dumps(types))
    return ["--schema", "schema.json"]


# --- how files are written --------------------------------------------------------------------------------------------


def test_positions_of_ships(run: Run) -> None:
    put("ais.csv", AIS)
    result = run(SHIPS, "ais.csv", *OF_AIS, "--null", "Unknown", "-o", "x.csv")
    assert result.exit_code == 0, result.output
    assert Path("x.csv").read_text() == "fast,slow,lat\n12.3,0.0,55.2\n12.3,3.5,55.4\n"


def test_a_log_of_a_web_server(run: Run) -> None:
    put("access.log", LOG)
    columns = "ip,ident,user,ts,zone,request,status,bytes"
    found = rows(
        run, "access.log", "--format", "csv", "--delimiter", "space", "--columns", columns, "--null", "-",
        "--order-by", "ts", "--time-format", "[%d/%b/%Y:%H:%M:%S",
    )  # fmt: skip
    assert [(each["request"], each["status"], each["bytes"]) for each in found] == [
        ("GET /a.gif HTTP/1.0", 200, 2326),
        ("GET /b.gif HTTP/1.0", 404, None),
    ]
    assert str(found[0]["time"]) == "2000-10-10 13:55:36+00:00"


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8", "utf-8-sig"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_process_log(run: Run, encoding: str, packed: bool) -> None:
    name = "steps.csv.gz" if packed else "steps.csv"
    content = STEPS.encode(encoding)
    Path(name).write_bytes(gzip.compress(content) if packed else content)
    given = ["--delimiter", ";", "--decimal", ",", "--order-by", "Zeit", "--time-format", "%d.%m.%Y %H:%M"]
    found = rows(run, name, *given, "--encoding", encoding)
    assert [(each["Größe"], each["Wert"]) for each in found] == [("groß", 1.5), ("klein", 2.25)]


def test_an_encoding_that_is_not_that_of_the_file(run: Run) -> None:
    put("steps.csv", STEPS, "latin-1")
    told = run(ALL, "steps.csv", "--delimiter", ";").stderr
    assert told.startswith("error: `steps.csv` has bytes that are not utf-8") and "--encoding latin-1" in told
    put("steps.csv", "a,b\n1,x\n2,gr\xfcn\n3,y\n", "latin-1")
    told = run(ALL, "steps.csv").stderr
    assert "steps.csv, line 3, column b: b'gr\\xfcn' has bytes that are not of the encoding" in told
    assert [each["a"] for each in rows(run, "steps.csv", "--bad-rows", "skip")] == [1, 3]
    put("steps.csv", "a,b\n1,x\n2,\x81\n", "latin-1")
    assert "line 3, column b" in run(ALL, "steps.csv", "--encoding", "cp1252").stderr
    assert run(ALL, "steps.csv", "--encoding", "utf-16").exit_code == 1


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "utf-16"])
def test_many_signs_beyond_ascii(run: Run, monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    """However many bytes the signs take, blocks are of one size, and hold whole lines."""
    monkeypatch.setattr("acelera.cli.csv_files.BYTES_AT_ONCE", 1000)
    monkeypatch.setattr("acelera.cli.csv_bytes.BYTES_AT_ONCE", 1000)
    texts = ["gr\xfcn" + "\xe4" * (number % 200) for number in range(2000)]
    put("x.csv", "n,s\n" + "".join(f"{number},{text}\n" for number, text in enumerate(texts)), encoding)
    found = rows(run, "x.csv", "--encoding", encoding)
    assert [(each["n"], each["s"]) for each in found] == list(enumerate(texts))


def test_columns_without_a_name_and_lines_of_blanks(run: Run) -> None:
    put("x.csv", ",n,v\n0,1,2\n  \n \t\n1,3,4\n")
    assert rows(run, "x.csv") == [{"_c0": 0, "n": 1, "v": 2}, {"_c0": 1, "n": 3, "v": 4}]
    assert "2 events, 2 matches" in run("SELECT P.v AS v FROM S MATCH P", "P=x.csv", "--order-by", "n").stderr
    put("x.csv", "n,v\n0,1\n  \n3\n")
    assert run(ALL, "x.csv").stderr.startswith("error: x.csv, line 4: 1 value for 2 columns")


def test_zones_that_there_are(run: Run) -> None:
    """As far from UTC as Java knows them."""
    put("x.csv", "a,b\n2024-01-31T10:00Z,2024-01-31T10:00-18:00\n2024-01-31T10:00+18:00,2024-01-31T10:00+18:01\n")
    assert [str(each["a"]) for each in rows(run, "x.csv")] == ["2024-01-31 10:00:00+00:00", "2024-01-30 16:00:00+00:00"]
    assert kinds() == {"a": "timestamp[us, tz=UTC]", "b": "string"}
    told = run(ALL, "x.csv", "--time-format", "b=%Y-%m-%dT%H:%M%z").stderr
    assert "line 3, column b: '2024-01-31T10:00+18:01' is no time in the format" in told


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_order_columns_without_a_value(run: Run, kind: str) -> None:
    """They have the type that they have in other event types, and are times if none has a value there."""
    put("a.csv", "n,v\n1,2\n")
    put("b.csv", "n,w\n")
    put("a.json", '{"n": 1, "v": 2}\n')
    put("b.json", "")
    given = [f"A=a.{kind}", f"B=b.{kind}", "--order-by", "n"]
    assert "1 event, 1 match" in run("SELECT A.v AS v FROM S MATCH A", *given).stderr
    put("x.csv", "n,v\n")
    assert run("SELECT start_time FROM S MATCH S WITHIN 1 MINUTE", "x.csv", "--order-by", "n").exit_code == 0


def test_columns_of_one_of_several_event_types(run: Run) -> None:
    """What an option names is a column of one of them at least."""
    put("a.csv", "n,V,at\n1,5,31/12/2024\n")
    put("b.csv", "n,w\n2,7\n")
    query = "SELECT A.v AS v, A.at AS at, B.w AS w FROM S MATCH A ; B"
    inputs = ["A=a.csv", "B=b.csv", "--order-by", "n", "-o", "x.csv", "--overwrite"]
    assert run(query, *inputs, "--rename", "V=v", "--time-format", "at=%d/%m/%Y", *schema(v="float")).exit_code == 0
    assert Path("x.csv").read_text() == "v,at,w\n5.0,2024-12-31T00:00:00.000000Z,7\n"
    for given, says in (
        (["--rename", "Vv=v"], "--rename Vv=…: there is no column `Vv` in any of the inputs; did you mean `V`?"),
        (["--time-format", "att=epoch"], "--time-format att=…: there is no column `att` in any of the inputs; did you"),
        (schema(vv="float"), "--schema: there is no column `vv` in any of the inputs"),
    ):
        told = run(query, *inputs, *given)
        assert told.exit_code == 1 and f"error: {says}" in told.stderr, told.stderr


def test_texts_that_are_null(run: Run) -> None:
    put("x.csv", 'n,v,w\n1,NA,"NA"\n2,-,\n3,4,""\n')
    given = ["x.csv", "--null", "NA", "--null", "-"]
    assert rows(run, *given) == [
        {"n": 1, "v": None, "w": None}, {"n": 2, "v": None, "w": None}, {"n": 3, "v": 4, "w": ""}
    ]  # fmt: skip
    put("x.json", '{"n": 1, "v": "NA"}\n{"n": 2, "v": "2024-01-31"}\n')
    assert [str(each["v"]) for each in rows(run, "x.json", "--null", "NA")] == ["None", "2024-01-31"]


# --- types and times --------------------------------------------------------------------------------------------------


def test_a_schema_says_types_and_the_others_are_guessed(run: Run) -> None:
    put("x.csv", "code,n,at,d,m\n007,1,2024-01-31 10:00,2024-01-31,1.50\n8,2,2024-01-31T10:00:01Z,2024-01-31,2\n")
    given = schema(code="string", at="timestamptz", m="decimal(5, 2)")
    found = rows(run, "x.csv", *given)
    assert [(each["code"], each["n"], str(each["m"])) for each in found] == [("007", 1, "1.50"), ("8", 2, "2.00")]
    assert kinds() == {
        "code": "string", "n": "int64", "at": "timestamp[us, tz=UTC]", "d": "date32[day]", "m": "decimal128(5, 2)"
    }  # fmt: skip
    told = run(ALL, "x.csv", *schema(cod="string")).stderr
    assert "--schema: there is no column `cod` in `x.csv`; did you mean `code`?" in told
    assert "text cannot be read as duration" in run(ALL, "x.csv", *schema(n="duration")).stderr


def test_a_schema_is_that_of_each_event_type(run: Run) -> None:
    put("a.csv", "n,v\n1,5\n3,6\n")
    put("b.csv", "n,w\n2,7\n")
    Path("schema.json").write_text(json.dumps({"A": {"n": "int", "v": "float"}, "B": {"n": "int", "w": "string"}}))
    given = ["A=a.csv", "B=b.csv", "--order-by", "n", "--schema", "schema.json", "-o", "x.csv"]
    assert run("SELECT A.v AS v, B.w AS w MATCH A ; B", *given).exit_code == 0
    assert Path("x.csv").read_text() == "v,w\n5.0,7\n"


def test_a_parquet_file_may_be_the_schema(run: Run) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.float32())}), "types.parquet")
    put("x.csv", "a,b\n1,2\n")
    assert rows(run, "x.csv", "--schema", "types.parquet") == [{"a": 1, "b": 2.0}]
    assert kinds() == {"a": "int32", "b": "float"}


def test_a_schema_of_json(run: Run) -> None:
    put("x.json", '{"t": "2024-01-31T10:00:00Z", "v": 1, "other": 3}\n{"t": "2024-01-31T10:00:01Z", "v": 2.5}\n')
    found = rows(run, "x.json", *schema(t="timestamptz", v="float"))
    assert [(str(each["t"]), each["v"]) for each in found] == [
        ("2024-01-31 10:00:00+00:00", 1.0), ("2024-01-31 10:00:01+00:00", 2.5)
    ]  # fmt: skip


FORMATS = [
    ("%d/%m/%Y %H:%M:%S", "31/12/2024 01:02:03", "2024-12-31 01:02:03+00:00"),
    ("%d/%m/%Y %H:%M:%S", "1/2/2024 1:2:3", "2024-02-01 01:02:03+00:00"),
    ("%d/%b/%Y:%H:%M:%S %z", "10/Oct/2000:13:55:36 -0700", "2000-10-10 20:55:36+00:00"),
    ("%a, %d %b %Y %T %Z", "Tue, 10 oct 2000 13:55:36 GMT", "2000-10-10 13:55:36+00:00"),
    ("%B %d, %y %I:%M %p", "March 3, 24 12:05 AM", "2024-03-03 00:05:00+00:00"),
    ("%m/%d/%y %I:%M %p", "12/31/69 12:05 pm", "1969-12-31 12:05:00+00:00"),
    ("%m/%d/%y %I:%M %p", "12/31/68 1:05 pm", "2068-12-31 13:05:00+00:00"),
    ("%F %T.%f", "2024-01-31 01:02:03.5", "2024-01-31 01:02:03.500000+00:00"),
    ("%Y%m%d", "20240131", "2024-01-31 00:00:00+00:00"),
    ("epoch", "1704067200", "2024-01-01 00:00:00+00:00"),
    ("epoch", "-0.5", "1969-12-31 23:59:59.500000+00:00"),
    ("epoch-ms", "1704067200123", "2024-01-01 00:00:00.123000+00:00"),
    ("epoch-us", "1704067200123456", "2024-01-01 00:00:00.123456+00:00"),
    ("epoch-ns", "1704067200123456789", "2024-01-01 00:00:00.123456+00:00"),
]
WRONG = [
    ("%d/%m/%Y", "31/02/2024"),
    ("%d/%m/%Y", "2024-01-01"),
    ("%d/%m/%Y %H:%M", "01/01/2024 24:00"),
    ("%d/%m/%Y %I:%M %p", "01/01/2024 13:00 am"),
    ("%d %b %Y", "1 Okt 2024"),
    ("epoch-us", "1.5"),
]


@pytest.mark.parametrize(("written", "text", "at"), FORMATS)
def test_formats_of_times(run: Run, written: str, text: str, at: str) -> None:
    put("x.csv", f'n;ts\n1;"{text}"\n2;\n')
    assert [str(each["ts"]) for each in rows(run, "x.csv", "--delimiter", ";", "--time-format", f"ts={written}")] == [
        at, "None"
    ]  # fmt: skip


@pytest.mark.parametrize(("written", "text"), WRONG)
def test_what_is_no_time(run: Run, written: str, text: str) -> None:
    put("x.csv", f"n;ts\n1;{text}\n")
    told = run(ALL, "x.csv", "--delimiter", ";", "--time-format", f"ts={written}").stderr
    assert told.startswith(f"error: x.csv, line 2, column ts: '{text}' is no time in the format {written}; ")


def test_times_that_are_numbers(run: Run) -> None:
    pq.write_table(pa.table({"ts": [1704067200123, 1704067201000], "v": [1, 2]}), "x.parquet")
    put("x.json", '{"ts": 1704067200.123, "v": 1}\n{"ts": 1704067201, "v": 2}\n')
    window = "SELECT p.ts AS ts FROM P MATCH P AS p : P AS q WITHIN 1 SECOND"
    for name, written in (("x.parquet", "epoch-ms"), ("x.json", "epoch")):
        result = run(window, name, "--order-by", "ts", "--time-format", written, "-o", "y.csv", "--overwrite")
        assert result.exit_code == 0, result.output
        assert Path("y.csv").read_text() == "ts\n2024-01-01T00:00:00.123000Z\n"
    put("x.json", '{"ts": 1.704067200123456e18}\n{"ts": 1e21}\n')
    found = rows(run, "x.json", "--time-format", "ts=epoch-ns", "--bad-rows", "skip")
    assert [str(each["ts"]) for each in found] == ["2024-01-01 00:00:00.123456+00:00"]
    told = run(ALL, "x.parquet", "--time-format", "ts=%Y").stderr
    assert "names no month" in told
    told = run(ALL, "x.parquet", "--time-format", "ts=%Y-%m-%d").stderr
    assert "the column `ts` is of type int64, and numbers are times only as epoch" in told


@pytest.mark.parametrize("name", ["x.csv", "x.json", "x.parquet"])
def test_a_wrong_unit_of_times(run: Run, name: str) -> None:
    """Years that no calendar here has are refused where they are read, and another unit is proposed."""
    for at, written, told in (
        (1533123640000, "epoch", "is in the year 50552; is it epoch-ms?"),
        (1533123640000000, "epoch", "is in the year 48584724; is it epoch-us?"),
        (-62135596800001, "epoch-ms", "is in the year 0, and there are those from 1 to 9999"),
    ):
        put("x.csv", f"n,ts\n1,0\n2,{at}\n")
        put("x.json", f'{{"n": 1, "ts": 0}}\n{{"n": 2, "ts": {at}}}\n')
        pq.write_table(pa.table({"n": [1, 2], "ts": [0, at]}), "x.parquet")
        result = run(ALL, name, "--time-format", f"ts={written}")
        assert result.exit_code == 1
        assert f"column ts: '{at}' as {written} {told}" in result.stderr
    put("x.json", '{"ts": 99999999999999999999}\n{"ts": 999999999999999999999}\n')
    assert (
        "is in the year 33658, and there are those from 1" in run(ALL, "x.json", "--time-format", "ts=epoch-ns").stderr
    )
    found = rows(run, "x.json", "--time-format", "ts=epoch-ns", "--bad-rows", "skip")
    assert [str(each["ts"]) for each in found] == ["5138-11-16 09:46:40+00:00"]
    put("x.json", '{"ts": 253402300799.5}\n{"ts": 253402300800.0}\n')
    found = rows(run, "x.json", "--time-format", "ts=epoch", "--bad-rows", "skip")
    assert [str(each["ts"]) for each in found] == ["9999-12-31 23:59:59.500000+00:00"]
    put("x.csv", "a,b\n0001-01-01,9999-12-31T23:00:00Z\n0000-12-31,2024-01-01\n2024-01-01,9999-12-31T23:00:00-05:00\n")
    assert len(rows(run, "x.csv", "--bad-rows", "skip")) == 1


REFUSED = [
    (["--time-format", "%d/%m"], "names no year"),
    (["--time-format", "%Y-%j"], "has %j, which is not known here"),
    (["--time-format", "%Y-%m-%d %I:%M"], "%I, and %p, am or pm, go together"),
    (["--time-format", "%d/%m/%Y"], "is for the order column, and there is none"),
    (["--time-format", "soon"], "names no part of a time"),
    (["--time-format", "x=epoch"], "--time-format x=…: there is no column `x`"),
    (["--rename", "a"], "is no pair of names"),
    (["--rename", "z=b"], "there is no column `z`"),
    (["--rename", "a=b"], "the column `b` occurs twice"),
    (["--delimiter", ";;"], "is no sign that can stand between values"),
    (["--decimal", ","], "are the same sign"),
    (["--encoding", "klingon"], "is not known"),
    (["--encoding", "rot13"], "is none of text"),
    (["--columns", "a,,c"], "--columns 'a,,c': each column needs a name, also one that is not used"),
]


@pytest.mark.parametrize(("given", "says"), REFUSED)
def test_refused(run: Run, given: list[str], says: str) -> None:
    put("x.csv", "a,b\n1,2\n")
    result = run(ALL, "x.csv", *given)
    assert result.exit_code in (1, 2) and says in result.stderr


def test_parquet_has_types(run: Run) -> None:
    pq.write_table(pa.table({"a b": [1]}), "x.parquet")
    assert rows(run, "x.parquet", "--rename", "a b=a")[0] == {"a": 1}
    for given in (schema(a="int"), ["--null", "-"], ["--delimiter", ";"], ["--bad-rows", "skip"]):
        result = run(ALL, "x.parquet", *given)
        assert result.exit_code == 2 and f"{given[0]} is for " in result.stderr


# --- rows that cannot be read -----------------------------------------------------------------------------------------


def test_a_bad_cell_is_named_or_left_out(run: Run) -> None:
    put("ais.csv", AIS)
    given = ["ais.csv", *OF_AIS, *schema(lat="float", sog="float")]
    told = run(SHIPS, *given)
    assert told.exit_code == 1
    assert told.stderr.startswith("error: ais.csv, line 4, column lat: 'Unknown' is no double; --bad-rows skip ")
    told = run(SHIPS, *given, "--bad-rows", "skip", "-o", "x.csv")
    assert told.stderr.splitlines()[0] == "1 row skipped: ais.csv, line 4, column lat: 'Unknown' is no double"
    assert told.stderr.splitlines()[1].startswith("3 events, 2 matches, 1 bad row skipped, ")
    assert Path("x.csv").read_text() == "fast,slow,lat\n12.3,0.0,55.2\n12.3,3.5,55.4\n"


BAD = [
    ("a,b\n1,2\n3\n5,6\n", "x.csv, line 3: 1 value for 2 columns", [(1, 2), (5, 6)]),
    ('a,b\n1,"2"\n\n"3",4,5\n5,6\n', "x.csv, line 4: 3 values for 2 columns", [(1, 2), (5, 6)]),
    ("a,b\n1,2\n99999999999999999999,4\n", "x.csv, line 3, column a: '99999999999999999999' is no int64", [(1, 2)]),
]


@pytest.mark.parametrize(("text", "says", "kept"), BAD)
def test_bad_rows(run: Run, text: str, says: str, kept: list[tuple[int, int]]) -> None:
    put("x.csv", text)
    for given in (schema(a="int", b="int"), []):
        if "99" not in text or given:
            told = run(ALL, "x.csv", *given)
            assert told.exit_code == 1 and told.stderr.startswith(f"error: {says};")
            found = rows(run, "x.csv", "--bad-rows", "skip", *given)
            assert [(each["a"], each["b"]) for each in found] == kept


def test_files_of_bad_rows_alone(run: Run) -> None:
    put("x.csv", "ts,v\nx,1\n2024-01-01T00:00:00Z,2\n")
    put("y.csv", "ts,v\n2024-01-02T00:00:00,3\n")
    given = [*schema(ts="timestamp"), "--order-by", "ts", "--bad-rows", "skip"]
    told = run(ALL, "x.csv", *given)
    wrong = "column ts: 'x' is no timestamp without a zone (timestamp[us, tz=UTC] has one)"
    assert told.stderr.startswith(f"2 rows skipped; the first: x.csv, line 2, {wrong}\nwarning: 2 of 2 rows ")
    both = run(ALL, "x.csv", "y.csv", *given)
    assert "1 event, 1 match, 2 bad rows skipped, " in both.stderr


@pytest.mark.parametrize(("name", "text"), [("x.csv", "a,b\n1,2,3\n4\n"), ("x.json", '{"a"\n4\n')])
def test_files_in_which_no_row_can_be_read(run: Run, name: str, text: str) -> None:
    """That there is none is no reason to say nothing."""
    put(name, text)
    put("y" + name, "a,b\n5,6\n" if name == "x.csv" else '{"a": 5}\n')
    told = run(ALL, name, "--bad-rows", "skip").stderr
    assert told.startswith(f"2 rows skipped; the first: {name}, line ") and "0 events, 0 matches, 2 bad rows" in told
    assert "1 event, 1 match, 2 bad rows skipped, " in run(ALL, name, "y" + name, "--bad-rows", "skip").stderr
    put("q.xceq", "DETECT copy { n { var N } } ON event q: Q {{ n {{ var N }} }} END")
    put("q.csv", "time,n\n2024-01-31T10:00:00,1\n")
    put("p.csv", "time,n\n1,2,3\n4\n")
    program = ["q.xceq", "Q=q.csv", "P=p.csv", "--time", "time", "--bad-rows", "skip"]
    told = CliRunner().invoke(main, ["run", *program]).stderr
    assert told.startswith("2 rows skipped; the first: p.csv, line 2: 3 values for 2 columns"), told


def test_texts_among_numbers(run: Run) -> None:
    put("x.csv", "v\n1\nNA\n")
    told = run("SELECT p.v FROM P MATCH P AS p FILTER p.v > 0", "x.csv")
    assert told.exit_code == 1 and "a column of CSV is text if one of its values is no number; --null NA" in told.stderr
    assert run("SELECT p.v FROM P MATCH P AS p FILTER p.v > 0", "x.csv", "--null", "NA").exit_code == 0


@pytest.mark.parametrize(
    "text", ['a,b\n1,2\n3,"4\n5,6\n', 'a,b\n1,2\n3,"4', 'a,b\n1,2\n"3,4\n5,6\n', 'a,b\n1,2\n3,"4""\n']
)
@pytest.mark.parametrize("bad", ["error", "skip"])
def test_quotes_that_never_end(run: Run, text: str, bad: str) -> None:
    """Whatever follows them would be one value, so it is not skipped either."""
    put("x.csv", text)
    told = run(ALL, "x.csv", "--bad-rows", bad)
    assert told.exit_code == 1 and told.stderr.startswith("error: x.csv, line 3: a quote that never ends")


def test_the_first_bad_row_is_told(run: Run) -> None:
    """Whatever is wrong with it, and whether many others are bad, too."""
    lines = [f"{number},2024-01-31" for number in range(100)]
    put("x.csv", "\n".join(["n,d", *lines, "1,2,3", *lines, "1,1990-02-30", *lines, "1", ""]))
    told = run(ALL, "x.csv", "--bad-rows", "skip", "-o", "y.parquet").stderr
    assert told.splitlines()[0] == "3 rows skipped; the first: x.csv, line 102: 3 values for 2 columns"
    assert "warning" not in told
    told = run(ALL, "x.csv").stderr
    assert "line 102: 3 values for 2 columns; is it --delimiter? --bad-rows skip leaves such rows out" in told
    assert "--null" not in told
    put("x.csv", "\n".join(["n,d", *lines[:20], "1,1990-02-30", "1,1990-02-30", *["1"] * 2, ""]))
    told = run(ALL, "x.csv", "--bad-rows", "skip", "-o", "y.parquet", "--overwrite").stderr
    assert told.splitlines()[0] == "4 rows skipped; the first: x.csv, line 22, column d: '1990-02-30' is no date"
    assert "warning: 4 of 24 rows were skipped; is --encoding, --delimiter or a format wrong?" in told


def test_an_unknown_delimiter_and_encoding(tmp_path: Path) -> None:
    """In a process of its own: what is raised where nobody can catch it would be printed there."""
    Path(tmp_path, "steps.csv").write_bytes((STEPS + "31.12.2024 10:02;gr\xfcn, blau;3\n").encode("latin-1"))
    Path(tmp_path, "q.acel").write_text(ALL)
    given = [sys.executable, "-c", "from acelera.cli import main; main()", "run", "q.acel", "steps.csv", "--in-process"]
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
    warning, error = done.stderr.splitlines()
    assert warning.startswith("warning: `steps.csv` has but one column, ") and warning.endswith(
        "; is it --delimiter ';'?"
    )
    assert error.startswith("error: `steps.csv` has bytes that are not utf-8") and "--encoding latin-1" in error


def test_bytes_of_another_encoding_in_rows_of_other_length(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    put("x.csv", "a,b\n1,x\n2,gr\xfcn,3\n4,gr\xfcn\n", "latin-1")
    assert [each["a"] for each in rows(run, "x.csv", "--bad-rows", "skip")] == [1]
    assert "line 3: 3 values for 2 columns" in run(ALL, "x.csv").stderr
    put("x.csv", "a,b\n1,x\n4,gr\xfcn\n", "latin-1")
    told = run(ALL, "x.csv").stderr
    assert "line 3, column b: b'gr\\xfcn' has bytes that are not of the encoding; say what it is written in, as" in told
    assert "ignored" not in capfd.readouterr().err


@pytest.mark.parametrize("length", [200, 1_000, 100_000])
def test_long_values(run: Run, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    """A row may be longer than what is read at once, and a quote that never ends may stand in the last line."""
    monkeypatch.setattr("acelera.cli.csv_files.BYTES_AT_ONCE", 1000)
    long = "y" * length
    lines = [f"{number},x" for number in range(300)]
    for at in (0, 200, 300):
        put("x.csv", "\n".join(["n,s", *lines[:at], f"{at},{long}", "4,5,6", *lines[at:]]))
        found = rows(run, "x.csv", "--bad-rows", "skip")
        assert [len(each["s"]) for each in found] == [1] * at + [length] + [1] * (300 - at)
        assert f"line {at + 3}: 3 values for 2 columns" in run(ALL, "x.csv").stderr
        put("x.csv", "\n".join(["n,s", *lines[:at], f'{at},"{long}', *lines[at:]]))
        told = run(ALL, "x.csv").stderr
        assert told.startswith(f"error: x.csv, line {at + 2}: a quote that never ends"), told


def test_quotes_that_end(run: Run) -> None:
    put("x.csv", 'a,b\n1,"2 ""x"""\n3,"4\n5"\n')
    assert [each["b"] for each in rows(run, "x.csv")] == ['2 "x"', "4\n5"]


@pytest.mark.parametrize(
    ("last", "value"),
    [('"x\ny"', "x\ny"), ('""', ""), ('"he said ""no"""', 'he said "no"'), ('"x\r\ny"', "x\r\ny"), ("x\0y", "x\0y")],
)
def test_the_last_line_needs_no_end(run: Run, last: str, value: str) -> None:
    put("x.csv", f"a,b\n0,z\n1,{last}")
    assert [each["b"] for each in rows(run, "x.csv")] == ["z", value]
    put("x.csv", f"a,b\n0,z\n1,{last},3")
    assert run(ALL, "x.csv").stderr.startswith("error: x.csv, line 3: 3 values for 2 columns")
    assert [each["a"] for each in rows(run, "x.csv", "--bad-rows", "skip")] == [0]


def test_bad_lines_of_json(run: Run) -> None:
    put("x.json", '{"a": 1, "b": 2}\n\n{"a": 2, "b": "x"}\n{"a": 3, "b": 4}\n{"a":\n[1]\n')
    given = ["x.json", *schema(a="int", b="int")]
    told = run(ALL, *given)
    assert told.exit_code == 1 and told.stderr.startswith('error: x.json, line 3, column b: "x" is no int64;')
    result = run("SELECT p.a AS a FROM P MATCH P AS p", *given, "--bad-rows", "skip", "-o", "x.csv")
    assert "2 events, 2 matches, 3 bad rows skipped" in result.stderr
    assert Path("x.csv").read_text() == "a\n1\n3\n"
    put("x.json", '{"a": 1, "b": "2024-01-31"}\n{"a": 3, "b": "2024-02-30"}\n')
    told = run(ALL, "x.json")
    assert told.stderr.startswith("error: x.json, line 2, column b: '2024-02-30' is no date;")
    assert len(rows(run, "x.json", "--bad-rows", "skip")) == 1


def test_numbers_of_json_beyond_64_bits(run: Run) -> None:
    """They are decimals, so that those that differ are not equal; with fractions among them, all are doubles."""
    for numbers, kind in (
        (["18446744073709551615", "18446744073709551614", "1"], "decimal128(20, 0)"),
        (["-9223372036854775809", "1" + "0" * 30], "decimal128(38, 0)"),
        (["100000000000000000000", "1.5"], "double"),
        (["100000000000000000000", "1e+20"], "double"),
        (["9223372036854775807"], "int64"),
    ):
        put("x.json", "".join(f'{{"id": {each}, "s": {{"l": [{each}]}}}}\n' for each in numbers))
        found = rows(run, "x.json")
        assert kinds() == {"id": kind, "s": f"struct<l: list<element: {kind}>>"}
        assert [each["id"] for each in found] == [float(each) if kind == "double" else int(each) for each in numbers]
    put("x.json", '{"n":1,"type":"A","id":18446744073709551615}\n{"n":2,"type":"B","id":18446744073709551614}\n')
    query = "SELECT a.id AS a, b.id AS b FROM P MATCH A AS a ; B AS b FILTER a.id = b.id"
    assert "2 events, 0 matches" in run(query, "x.json", "--order-by", "n").stderr


NO_OBJECTS = [
    ('{"a": 5}{"a": 6}', "is no JSON (Extra data at sign 9)"),
    ('{"a": 5}garbage', "is no JSON (Extra data at sign 9)"),
    ('{"a": 5},', "is no JSON (Extra data at sign 9)"),
    ('{"a":\n{"b": 1}}', "is no JSON (Expecting value at sign 6)"),
    ("{'a': 5}", "is no JSON (Expecting property name enclosed in double quotes at sign 2)"),
    ('[{"a": 5}]', "is no object of JSON"),
    ("null", "is no object of JSON"),
    ('{"a": 5, "b": "gr\udcfcn"}', "has bytes that are not UTF-8"),
]


@pytest.mark.parametrize(("text", "says"), NO_OBJECTS)
def test_a_line_of_json_is_one_object(run: Run, text: str, says: str) -> None:
    """Whatever else it is, or holds beside one, is a bad row, whether a schema says the types or they are guessed."""
    Path("x.json").write_bytes(
        f'{{"a": 1, "b": "x"}}\n \n{{"a": 2}}\n{text}\n{{"a": 3}}\n'.encode(errors="surrogateescape")
    )
    for given in ([], schema(a="int", b="string")):
        told = run(ALL, "x.json", *given)
        assert told.exit_code == 1 and told.stderr.startswith(f"error: x.json, line 4 {says}: "), told.stderr
        assert [each["a"] for each in rows(run, "x.json", "--bad-rows", "skip", *given)] == [1, 2, 3]


def test_values_of_several_types_in_json(run: Run) -> None:
    put("x.json", '{"s": {"a": 1}}\n\n{"s": {"a": 2}}\n{"s": {"a": "x"}}\n{"s": {"a": 3}}\n')
    says = "error: x.json, line 4, column s.a: string here, number before; all values of a column must be of one type\n"
    assert run(ALL, "x.json").stderr == says
    put("x.json", '{"a": 1}\n{"a": "n/a"}\n')
    told = run(ALL, "x.json", *schema(a="int"), "--null", "n/a").stderr
    assert told == 'error: x.json, line 2, column a: "n/a" is no int64; --bad-rows skip leaves such rows out\n'


def test_arrays_of_json(run: Run) -> None:
    for text in ('[{"a": 1}, {"a": 2}]\n', '[\n  {"a": 1},\n  {"a": 2}\n]\n', "\ufeff [ ]"):
        put("x.json", text)
        for given in ([], schema(a="int"), ["--bad-rows", "skip"]):
            told = run(ALL, "x.json", *given)
            assert told.exit_code == 1
            assert told.stderr == (
                "error: `x.json` is a JSON array; JSON lines are wanted, an object on each line: "
                "jq -c '.[]' x.json > lines.json makes them\n"
            )


def test_a_schema_with_a_single_struct(run: Run) -> None:
    put("x.json", '{"properties": {"mag": 2}}\n{"properties": {"mag": 1.5}}\n')
    Path("schema.json").write_text('{"properties": {"mag": "float"}}')
    given = ["x.json", "--schema", "schema.json", "--event-type", "Q", "-o", "x.csv", "--overwrite"]
    result = run("SELECT q.properties.mag AS mag FROM S MATCH Q AS q", *given)
    assert result.exit_code == 0, result.output
    assert Path("x.csv").read_text() == "mag\n2.0\n1.5\n"
    put("x.json", '{"n": 1, "type": "Q", "properties": {"mag": 2}}\n')
    Path("schema.json").write_text('{"n": "int", "type": "string", "properties": {"mag": "float"}}')
    result = run("SELECT q.properties.mag AS mag FROM S MATCH Q AS q", *given[:3], *given[5:])
    assert result.exit_code == 0, result.output


def test_names_of_columns_that_are_names_of_options(run: Run) -> None:
    put("x.json", '{"n": 1}\n')
    for name in ("properties.time", "time", "begin", "order_by"):
        told = run(ALL, "x.json", "--rename", f"{name}=ts").stderr
        assert told.startswith(f"error: --rename {name}=…: there is no column `{name}` in `x.json`"), told
        told = run(ALL, "x.json", "--time-format", f"{name}=epoch").stderr
        assert told.startswith(f"error: --time-format {name}=…: there is no column `{name}` in `x.json`"), told


def test_options_are_for_columns_and_not_for_fields(run: Run) -> None:
    put("x.json", '{"n": 1, "m": {"at": 5}}\n')
    for option, value in (("--rename", "m.at=at"), ("--time-format", "m.at=epoch")):
        told = run(ALL, "x.json", option, value).stderr
        said = f"error: {option} m.at=…: `m.at` is a field of the column `m`; the option is for whole columns\n"
        assert told == said


def test_bad_rows_are_found_beyond_the_first_block(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("csv_files", "json_files"):
        monkeypatch.setattr(f"acelera.cli.{module}.BYTES_AT_ONCE", 64)
    put("x.csv", "n,v\n" + "".join(f'{n},"a\nb"\n' if n % 7 == 3 else f"{n},v\n" for n in range(200)) + "n,v\n")
    put("x.json", "".join(f'{{"n": {n}, "v": "a"}}\n' for n in range(200)) + '{"n": "n"}\n')
    for name, line in (("x.csv", 202 + 29), ("x.json", 201)):
        told = run(ALL, name, *schema(n="int", v="string"), "-o", "y.parquet")
        assert told.stderr.startswith(f"error: {name}, line {line}, column n: "), told.stderr
        assert len(rows(run, name, *schema(n="int", v="string"), "--bad-rows", "skip")) == 200


def test_a_program_reads_messy_files_too(run: Run, tmp_path: Path) -> None:
    put("rise.acelp", "STREAM rise AS SELECT a.v AS low, b.v AS high FROM P MATCH P AS a : P AS b FILTER a.v < b.v;")
    put("x.csv", "at;v\n31/12/2024;1,5\n1/1/2025;2,5\n2/1/2025;x\n")
    given = ["x.csv", "--order-by", "ts", "--rename", "at=ts", "--time-format", "%d/%m/%Y", "--delimiter", ";"]
    given += ["--decimal", ",", *schema(v="float"), "--bad-rows", "skip", "--event-type", "P"]
    result = CliRunner().invoke(main, ["run", "rise.acelp", *given, "-o", "out.csv"])
    assert result.exit_code == 0, result.output
    assert "2 events, 1 derived, 1 bad row skipped, " in result.stderr
    assert Path("out.csv/rise.csv").read_text() == "ts,low,high\n2025-01-01T00:00:00.000000Z,1.5,2.5\n"
    page = CliRunner().invoke(main, ["report", "rise.acelp", *given, "-o", "x.html"])
    assert page.exit_code == 0, page.output
    told = CliRunner().invoke(main, ["check", "rise.acelp", *[each for each in given if "schema" not in each]])
    assert told.exit_code in (0, 1)


# --- results ----------------------------------------------------------------------------------------------------------


def test_what_csv_holds(run: Run) -> None:
    texts = ["a", "", None, " b ", "#c", 'd"e', "f,g", "h\ni", "NULL"]
    floats = [1e21, 100.0, float("nan"), -1e-7, None, float("-inf"), 0.1, 1e16, 5.0]
    pq.write_table(pa.table({"t": texts, "f": floats, "b": [True, None, False] * 3}), "x.parquet")
    assert run("SELECT p.t, p.f, p.b, p.t AS u FROM P MATCH P AS p", "x.parquet", "-o", "x.csv").exit_code == 0
    assert Path("x.csv").read_text() == (
        'p_t,p_f,p_b,u\na,1e+21,true,a\n"",100.0,,""\n,NaN,false,\n b ,-1e-7,true, b \n"#c",,,#c\n'
        '"d""e",-Infinity,false,"d""e"\n"f,g",0.1,true,"f,g"\n"h\ni",1e+16,,"h\ni"\nNULL,5.0,false,NULL\n'
    )


def test_null_alone_in_a_row_of_csv(run: Run) -> None:
    put("v.csv", "n,v\n1,x\n2,\n3,y\n")
    assert run("SELECT p.v AS v FROM P MATCH P AS p", "v.csv", "-o", "o.csv").exit_code == 0
    assert Path("o.csv").read_text() == 'v\nx\n""\ny\n'
    assert [each["v"] for each in rows(run, "o.csv")] == ["x", "", "y"]
