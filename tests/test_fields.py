"""Fields of structs, where cases and random queries do not look: schemas, batches, sessions, programs, reports."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

import acelera as ac
from acelera.cli import main
from acelera.language.schema import schema_of
from acelera.testing import Tester

PLACES: list[dict[str, Any]] = [
    {"type": "A", "device": {"id": 1}, "geo": {"lat": 60.0, "lon": 10.0}},
    {"type": "B", "device": {"id": 1}, "geo": {"lat": 70.0, "lon": None}},
    {"type": "A", "device": {"id": 2}, "geo": None},
    {"type": "B", "device": {"id": 2}, "geo": {"lat": 50.0, "lon": 1.0}},
]
SCHEMA = {"type": str, "device": {"id": int}, "geo": {"lat": float, "lon": float}}


@pytest.mark.parametrize(
    "described",
    [
        SCHEMA,
        {
            "A": {"geo": {"lat": "float", "lon": float}, "device": {"id": "int"}},
            "B": {"geo": {"lat": float, "lon": float}},
        },
        {"type": str, "geo": pa.struct([("lat", pa.float64())]), "device": pa.struct([("id", pa.int64())])},
        pa.Table.from_pylist(PLACES).schema,
        pa.Table.from_pylist(PLACES),
    ],
)
def test_schemas_with_structs(described: object) -> None:
    q = ac.query("SELECT a.geo.lat, max(a.device.id) MATCH A AS a FILTER a.geo.lat > 1")
    assert q.check(described) == pa.schema([("a_geo_lat", pa.float64()), ("max_a_device_id", pa.int64())])


def test_a_mapping_of_mappings_is_one_of_event_types_unless_there_is_one_type() -> None:
    described = {"geo": {"lat": float}}
    assert schema_of(described).event_types == {"geo": ("type", "lat")}
    assert ac.query("SELECT a.geo.lat MATCH Ship AS a").check(described, event_type="Ship").names == ["a_geo_lat"]
    with pytest.raises(ac.SchemaError, match="1 is not a name; fields are named by strings"):
        schema_of({"type": str, "geo": {1: float}})


def test_an_event_type_has_the_fields_of_its_columns() -> None:
    q = ac.query("MATCH A ; B FILTER B.device.id = 1")
    with pytest.raises(ac.QueryCheckError, match=r"no attribute `device\.id` in B"):
        q.check({"A": {"device": {"id": int}}, "B": {"geo": {"lat": float}}})


def test_whole_events_are_shown_without_columns_for_fields() -> None:
    q = ac.query("SELECT a MATCH A AS a FILTER a.geo.lat > 1")
    assert q.run(PLACES).to_pylist() == [{"a": {"position": 1, **PLACES[0]}}]
    shown = ac.query("MATCH A AS a FILTER a.geo.lat > 1 PARTITION BY device.id").run(PLACES, rows="events")
    assert shown.column_names == ["match", "start", "end", "device_id", "variable", "position", "type", "device", "geo"]


def test_ids_of_matches_do_not_depend_on_which_fields_are_asked_for() -> None:
    ids = [
        ac.query(f"MATCH A AS a FILTER {condition}").run(PLACES, rows="events").column("match").to_pylist()
        for condition in ("a.position = 1", "a.geo.lat > 1")
    ]
    assert ids[0] == ids[1]


def test_only_the_fields_are_kept_and_snapshots_know_structs() -> None:
    q = ac.query("SELECT a.geo.lat, b.geo.lat MATCH A AS a ; B AS b PARTITION BY device.id")
    session = q.open(SCHEMA)
    assert session.incoming.columns == ["type", "device.id", "geo.lat"]
    found = session.push(PLACES[:1]).to_pylist()
    session = q.resume(session.snapshot())
    found += session.push(pa.Table.from_pylist(PLACES[1:])).to_pylist() + session.finish().to_pylist()
    assert (
        found
        == q.run(PLACES).to_pylist()
        == [
            {"a_geo_lat": 60.0, "b_geo_lat": 70.0},
            {"a_geo_lat": None, "b_geo_lat": 50.0},
        ]
    )


def test_a_batch_that_lacks_a_field() -> None:
    session = ac.query("SELECT a.geo.lat MATCH A AS a FILTER a.geo.lat > 1").open(SCHEMA)
    with pytest.raises(
        ac.SchemaError, match=r"the column `geo` is struct<lon: double> in this batch, and has no `geo.lat`"
    ):
        session.push([{"type": "A", "geo": {"lon": 1.0}}])
    with pytest.raises(ac.SchemaError, match="the batch has no column `geo`"):
        session.push([{"type": "A"}])
    assert session.push([{"type": "A", "geo": None}]).num_rows == 0


def test_what_must_not_follow_is_compared_with_a_field_of_a_struct_that_is_kept() -> None:
    rows = [{**row, "ts": datetime.datetime(2024, 1, 1, 0, 0, at)} for at, row in enumerate(PLACES)]
    q = ac.query(
        "SELECT x.geo.lat MATCH A AS x UNLESS (B AS y FILTER y.geo.lat > x.geo.lat) FOR 1 SECOND PROJECT x(geo)"
    )
    for method in ("engine", "automaton", "semantics"):
        assert q.run(rows, order_by="ts", method=method).to_pylist() == [{"x_geo_lat": None}]


def test_automata_ask_for_fields() -> None:
    automaton = ac.Acea.of("p", "q", [ac.Move("p", "q", when="geo.lat > 55", marks={"x": "event"})])
    q = ac.query(automaton, partition_by=["device.id"])
    assert q.run(PLACES).column("device_id").to_pylist() == [1, 1]


def test_built_in_python() -> None:
    built = (
        ac.E("A").as_("a").filter(ac.V("a")["geo.lat"] > 55, ac.V("a").each(ac.A("geo.lon") < ac.prev(ac.A("geo.lon"))))
    )
    q = ac.query(built.agg("m", hi=("max", "a", "geo.lat")).query("a.geo.lat", "device.id", partition_by="device.id"))
    text = "SELECT a.geo.lat, device.id MATCH A AS a FILTER a.geo.lat > 55 AND a[geo.lon < prev(geo.lon)]"
    assert q == ac.query(f"{text} AGG m[hi <- max(a.geo.lat)] PARTITION BY device.id")
    assert "FILTER a[geo.lat > 55] AND a[geo.lon < prev(geo.lon)]" in str(q)


def test_the_tester_pushes_structs() -> None:
    tester = Tester("SELECT a.geo.lat MATCH A AS a : B FILTER a.geo.lat IS NULL PARTITION BY device.id", schema=SCHEMA)
    (match,) = tester.push(PLACES)
    assert (match.key, match.row) == (2, {"a_geo_lat": None})
    assert len(Tester("MATCH A AS a FILTER a.geo.lat IS NULL").push("A B")) == 1


def test_a_report_shows_them(tmp_path: Path) -> None:
    q = ac.query("SELECT a.geo.lat MATCH A AS a ; B PARTITION BY device.id")
    assert "60.0" in q.report(PLACES, tmp_path / "page.html").read_text(encoding="utf-8")


def test_statements_see_fields_of_what_others_have_made() -> None:
    rows = [{**row, "ts": datetime.datetime(2024, 1, 1, 0, 0, at)} for at, row in enumerate(PLACES)]
    program = ac.program("""
        STREAM ab AS SELECT device.id, b.geo AS place MATCH A AS a ; B AS b FILTER b.geo.lat > 1 PARTITION BY device.id;
        STREAM two AS SELECT x.place.lat AS one, y.place.lat AS other MATCH ab AS x ; ab AS y;
    """)
    for method in ("engine", "semantics"):
        (row,) = program.run(rows, order_by="ts", method=method)["two"].to_pylist()
        assert (row["one"], row["other"]) == (70.0, 50.0)


def test_json_at_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("places.jsonl").write_text("".join(json.dumps(row) + "\n" for row in PLACES))
    Path("q.acel").write_text(
        "SELECT device.id, b.geo.lat MATCH A ; B AS b FILTER b[geo.lat > 55] PARTITION BY device.id"
    )
    Path("schema.json").write_text('{"type": "string", "device": {"id": "int"}, "geo": {"lat": "float"}}')
    done = CliRunner().invoke(main, ["run", "q.acel", "places.jsonl", "--in-process", "-o", "found.csv"])
    assert done.exit_code == 0, done.output
    assert Path("found.csv").read_text().splitlines()[1:] == ["1,70.0"]
    done = CliRunner().invoke(main, ["check", "q.acel", "--schema", "schema.json"])
    assert done.exit_code == 0 and "b_geo_lat  double" in done.output
