"""The data of a page are exact: its matches and their events are those of the definition."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera import Acea, Move
from acelera.language.types import from_arrow
from acelera.report import in_process
from acelera.report.buckets import width_of
from acelera.report.findings import Match as Shown
from acelera.report.findings import places_shown
from report.reading import bags, data, event_at, judged

EPOCH = datetime.datetime(2024, 1, 1, 12)


def stream(size: int, seed: int = 1) -> list[dict[str, Any]]:
    drawn = random.Random(seed)
    return [
        {"type": drawn.choice(["A", "B", "C", None]), "k": drawn.choice(["x", "y", None]), "v": drawn.randrange(5)}
        for _ in range(size)
    ]


QUERIES = [
    "SELECT a.v, b.v MATCH A AS a ; B AS b WITHIN 4 EVENTS",
    "MATCH A ; B+ WITHIN 5 EVENTS",
    "SELECT max(x.v) AS top MATCH (A : B:+) AS x",
    "SELECT start MATCH A ; B PARTITION BY k WITHIN 3 EVENTS",
    "SELECT k, m.n MATCH (A AS a)+ AGG m[n <- count(a), s <- sum(a.v)] FILTER m.n > 1 PARTITION BY k WITHIN 6 EVENTS",
    "SELECT x.v MATCH ((A ; B) AGG m[v <- sum(A.v)]) AS x WITHIN 4 EVENTS",
    "SELECT x.v MATCH ((A ; B AGG m[v <- max(B.v)]) ; C) AS x WITHIN 6 EVENTS",
    "SELECT start MATCH (A AS a ; B) PROJECT a WITHIN 4 EVENTS",
    "SELECT start MATCH ANY : ANY AS x FILTER x[v > 2]",
    "SELECT v_ MATCH A AS v_ UNLESS B",
    "SELECT `report_0`.v AS report_1, `report_0`.type AS Report_2 MATCH A AS report_0",
    "SELECT A.v MATCH A ; D",
    "SELECT k.v MATCH A AS k PARTITION BY v",
]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_events_of_matches_are_those_of_the_definition(text: str, seed: int, tmp_path: Path) -> None:
    query, rows = ac.query(text), stream(30, seed)
    page = data(query.report(rows, tmp_path / "page.html"))
    whole = query.with_select(ac.query("MATCH A").ast.select)
    assert bags(page) == judged(whole, rows, "semantics")
    expected = query.run(rows)
    assert page["columns"] == expected.column_names
    plain = [list(row.values()) for row in expected.to_pylist()]
    assert sorted(map(repr, (match["row"] for match in page["matches"]))) == sorted(map(repr, plain))
    assert page["counts"] == {"events": 30, "matches": expected.num_rows, "counted": True}
    assert [event_at(page, event) for event in range(30)] == [
        (place, sorted((name, value) for name, value in row.items() if value is not None))
        for place, row in enumerate(rows, 1)
    ]


@pytest.mark.parametrize("kind", ["A", "AGG m", "the automaton"])
def test_a_made_event_is_told_by_how_it_came_about(kind: str, tmp_path: Path) -> None:
    """Not by its name, which an event type may have as well, nor by its attributes."""
    query = ac.query(f"MATCH (`{kind}` AGG m[v <- max(`{kind}`.v)]) AS x")
    path = query.report([{"v": 1}, {"v": 2}], tmp_path / "page.html", event_type=kind)
    page = data(path)
    assert {each["name"]: each["made"] for each in page["variables"]} == {kind: "none", "m": "all", "x": "some"}
    held, made = ([match[part] for match in page["matches"]] for part in ("held", "made"))
    assert held == [[[0, [0]], [2, [0]]], [[0, [1]], [2, [1]]]]
    assert made == [[[1, 0, {"v": 1}], [2, 0, {"v": 1}]], [[1, 1, {"v": 2}], [2, 1, {"v": 2}]]]


def test_events_are_shown_whole_where_attributes_were_projected_away(tmp_path: Path) -> None:
    rows = stream(30)
    page, whole = (
        data(
            ac.query(f"SELECT start MATCH (A AS a ; B) PROJECT {kept} WITHIN 4 EVENTS").report(
                rows, tmp_path / "page.html"
            )
        )
        for kept in ("a(v)", "a")
    )
    assert page == whole and page["matches"]


def test_rows_are_paired_with_their_own_matches(tmp_path: Path) -> None:
    """All matches have the same start and end; only their events tell which row belongs to which."""
    query = ac.query("SELECT b.v MATCH START(A) ; B AS b ; C")
    rows = [{"type": kind, "v": v} for kind, v in zip("ABBBC", (0, 30, 10, 20, 0), strict=True)]
    page = data(query.report(rows, tmp_path / "page.html"))
    assert [variable["name"] for variable in page["variables"]] == ["A", "B", "b", "C"]
    found = {match["row"][0]: dict(map(tuple, match["held"]))[2] for match in page["matches"]}
    assert found == {30: [1], 10: [2], 20: [3]}


TOTALS = Acea.of(
    initial="begin",
    finals="go",
    moves=[
        Move("begin", "go", when="type = 'A'", assign={"t": "v"}, marks={"out": ["event", {"total": "t"}]}),
        Move("go", "go", when="v > 0", assign={"t": "t + v"}, marks={"out": {"total": "t"}, "seen": "event"}),
    ],
)


@pytest.mark.parametrize("options", [{}, {"partition_by": ["k"]}, {"within": "3 events"}])
def test_automata_written_by_hand(options: dict[str, Any], tmp_path: Path) -> None:
    query, rows = ac.query(TOTALS, **options), stream(25)
    page = data(query.report(rows, tmp_path / "page.html"))
    assert bags(page) == judged(query, rows, "automaton") and page["matches"]
    assert [variable["made"] for variable in page["variables"]] == ["some", "none"]


# --- time, order, tables of all kinds -----------------------------------------------------------------------------


def timed(size: int) -> pa.Table:
    rows = stream(size)
    at = [EPOCH + datetime.timedelta(seconds=10 * place) for place in range(size)]
    return pa.Table.from_pylist([{**row, "ts": moment} for row, moment in zip(rows, at, strict=True)])


def test_time_and_order(tmp_path: Path) -> None:
    table = timed(20)
    query = ac.query("SELECT start_time MATCH A ; B PARTITION BY k WITHIN 1 MINUTE")
    page = data(query.report(table, tmp_path / "one.html", order_by="ts"))
    mixed = table.take(pa.array(random.Random(3).sample(range(20), 20)))
    assert data(query.report(mixed, tmp_path / "two.html", order_by="ts")) == page
    assert page["timed"] and page["events"]["x"] == [10_000 * place for place in range(20)]
    assert page["origin"] == 1_704_110_400_000
    assert page["events"]["time"][:2] == ["2024-01-01 12:00:00", "2024-01-01 12:00:10"]
    assert [column["name"] for column in page["events"]["columns"]] == ["k", "v"]
    starts = [page["events"]["time"][match["start"]] for match in page["matches"]]
    assert starts == [match["row"][0] for match in page["matches"]] and starts


def test_times_as_fine_and_as_far_as_arrow_has_them(tmp_path: Path) -> None:
    for kind, ticks, texts in [
        (pa.timestamp("ns"), [1, 2], ["1970-01-01 00:00:00.000000001", "1970-01-01 00:00:00.000000002"]),
        (pa.timestamp("s", "Asia/Tokyo"), [-1, 10**12], ["1969-12-31 23:59:59Z", "1000000000000 s since 1970Z"]),
    ]:
        table = pa.table({"type": ["A", "B"], "ts": pa.array(ticks, pa.int64()).cast(kind)})
        page = data(ac.query("MATCH A ; B").report(table, tmp_path / "page.html", order_by="ts"))
        assert page["events"]["time"] == texts and len(page["matches"]) == 1
        assert sum(page["buckets"]["events"]) == 2


def test_a_column_called_position(tmp_path: Path) -> None:
    table = pa.table({"type": list("ABAB"), "position": [10, 20, 30, 40]})
    page = data(ac.query("SELECT B.position MATCH A : B").report(table, tmp_path / "page.html", order_by="position"))
    assert [(match["row"], match["start"], match["end"]) for match in page["matches"]] == [([20], 0, 1), ([40], 2, 3)]
    tied = pa.table({"type": list("AB"), "position": [1, 1], "n": [1, 2]})
    with pytest.raises(ac.UsageError, match="rename the column `position`"):
        ac.query("MATCH A : B").report(tied, tmp_path / "page.html", order_by=["position", "n"])


def test_tables_of_other_libraries(tmp_path: Path) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    query, rows = ac.query("MATCH A ; B WITHIN 3 EVENTS"), [{"type": kind, "v": 1} for kind in "ABCAB"]
    pages = [
        query.report(each, tmp_path / "page.html").read_text(encoding="utf-8")
        for each in (rows, pa.Table.from_pylist(rows), pandas.DataFrame(rows), polars.DataFrame(rows))
    ]
    assert len(set(pages)) == 1


def test_one_type_and_ties(tmp_path: Path) -> None:
    heart = pa.table({"ts": pa.array([1, 1, 2], pa.timestamp("s")), "rate": [60, 70, 80]})
    query = ac.query("SELECT a.rate MATCH Rate AS a : Rate AS b")
    with pytest.raises(ac.DataError, match="rows 1 and 2"):
        query.report(heart, tmp_path / "page.html", order_by="ts", event_type="Rate")
    page = data(query.report(heart, tmp_path / "page.html", order_by="ts", event_type="Rate", ties="keep"))
    assert page["types"] == ["Rate"] and [match["row"] for match in page["matches"]] == [[60], [70]]


def test_values_of_all_kinds(tmp_path: Path) -> None:
    table = pa.table(
        {
            "type": pa.array(["A"]).dictionary_encode(),
            "big": [2**60],
            "nan": [float("nan")],
            "list": pa.array([[{"at": 5}]], pa.list_(pa.struct([("at", pa.timestamp("ns"))]))),
            "gap": pa.array([None], pa.list_(pa.int64())),
            "bytes": [b"\x00\xff"],
            "decimal": pa.array([1], pa.decimal128(5, 2)),
            "day": pa.array([datetime.date(2024, 2, 29)]),
            "long": pa.array([-1_500_000], pa.duration("us")),
            "text": ["é\u2028" + "x" * 5000],
        }
    )
    page = data(ac.query("MATCH A").report(table, tmp_path / "page.html"))
    found = {column["name"]: column["values"][0] for column in page["events"]["columns"]}
    assert found == {
        "big": str(2**60),
        "nan": "nan",
        "list": [{"at": "1970-01-01 00:00:00.000000005"}],
        "gap": None,
        "bytes": "0x00ff",
        "decimal": "1.00",
        "day": "2024-02-29",
        "long": "-1.5 s",
        "text": "é\u2028" + "x" * 1998 + "…",
    }


# --- limits -------------------------------------------------------------------------------------------------------


def test_no_events_and_no_matches(tmp_path: Path) -> None:
    page = data(ac.query("MATCH A").report(pa.table({"type": pa.array([], pa.string())}), tmp_path / "page.html"))
    assert page["counts"] == {"events": 0, "matches": 0, "counted": True}
    assert page["events"]["x"] == [] and page["matches"] == [] and page["buckets"]["events"] == []


def test_the_first_matches_are_shown_and_all_are_counted(tmp_path: Path) -> None:
    rows = [{"type": "A"}] * 100
    page = data(ac.query("SELECT start, end MATCH A : A").report(rows, tmp_path / "page.html", matches=5, events=20))
    assert [match["row"] for match in page["matches"]] == [[n, n + 1] for n in range(1, 6)]
    assert page["events"]["place"] == list(range(1, 21))
    assert page["counts"] == {"events": 100, "matches": 99, "counted": True}
    assert sum(page["buckets"]["events"]) == 100 and sum(page["buckets"]["matches"]) == 99


def test_counting_stops_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 events have 2 ** 40 - 1 matches: no one can wait for all."""
    monkeypatch.setattr(in_process, "COUNTED", 1000)
    page = data(ac.query("MATCH A+").report([{"type": "A"}] * 40, tmp_path / "page.html", matches=10))
    assert len(page["matches"]) == 10 and page["counts"] == {"events": 40, "matches": 1000, "counted": False}
    assert sum(page["buckets"]["matches"]) == 1000


def test_matches_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    query, rows = ac.query("SELECT end MATCH START(A:+)"), [{"type": "A"}] * 50
    page = data(query.report(rows, tmp_path / "page.html", events=7))
    assert [match["row"] for match in page["matches"]] == [[n] for n in range(1, 8)]
    assert page["counts"]["matches"] == 50 and len(page["events"]["place"]) == 7
    assert data(query.report(rows, tmp_path / "page.html", events=0))["matches"] == []
    assert data(query.report(rows, tmp_path / "page.html", matches=0))["counts"]["matches"] == 50


def test_long_lists_are_cut_in_rows(tmp_path: Path) -> None:
    rows = [{"type": "A", "v": n} for n in range(150)] + [{"type": "B", "v": 0}]
    page = data(ac.query("SELECT A.v MATCH START(A:+) : B").report(rows, tmp_path / "page.html"))
    assert page["matches"][0]["row"] == [[*range(100), "… 50 more"]] and len(page["matches"][0]["held"][0][1]) == 150


def places(*held: int, total: int, events: int) -> list[int]:
    return places_shown([Shown((), held[0], held[-1], {"x": held})], total, events).tolist()


def test_events_around_matches() -> None:
    assert places(5, total=100, events=1) == [5]
    assert places(5, total=100, events=4) == [3, 4, 5, 6]
    assert places(0, total=100, events=4) == [0, 1, 2, 3]
    assert places_shown([], 5, 3).tolist() == [0, 1, 2]


def test_events_around_matches_are_the_nearest() -> None:
    drawn = random.Random(5)
    for _ in range(300):
        total = drawn.randrange(1, 40)
        held = sorted(drawn.sample(range(total), drawn.randrange(1, min(total, 6) + 1)))
        events = drawn.randrange(len(held), 45)
        found = places(*held, total=total, events=events)
        assert len(found) == min(total, events) == len(set(found)) and set(held) <= set(found)

        def away(place: int, held: list[int] = held) -> int:
            return min(abs(place - each) for each in held)

        left = set(range(total)) - set(found)
        assert not left or max(map(away, found)) <= min(map(away, left))


@pytest.mark.parametrize("limits", [{"matches": -1}, {"events": 1.5}, {"matches": True}])
def test_odd_limits_are_refused(limits: Any, tmp_path: Path) -> None:
    with pytest.raises(ac.UsageError, match="is not a number of"):
        ac.query("MATCH A").report([{"type": "A"}], tmp_path / "page.html", **limits)


# --- counts -------------------------------------------------------------------------------------------------------


def test_counts_over_time(tmp_path: Path) -> None:
    table = timed(200)
    query = ac.query("SELECT end_time MATCH A : B")
    page = data(query.report(table, tmp_path / "page.html", order_by="ts", matches=3, events=20))
    width = page["buckets"]["width"]
    assert width == 60_000 and len(page["buckets"]["events"]) == 34 and page["buckets"]["start"] <= 0
    begin = page["origin"] + page["buckets"]["start"]
    for kind, times in (("events", table["ts"]), ("matches", query.run(table, order_by="ts")["end_time"])):
        moments = np.array(times.cast(pa.timestamp("ms")).cast(pa.int64()).to_pylist())
        counted = np.bincount((moments - begin) // width, minlength=34)
        assert page["buckets"][kind] == counted.tolist()


def test_round_widths() -> None:
    time = from_arrow(pa.timestamp("us"))
    assert width_of(0, 59, None) == 1 and width_of(0, 60, None) == 2 and width_of(0, 10**6, None) == 20_000
    assert width_of(0, 3_600_000_000, time) == 120_000_000
    assert width_of(5, 5, time) == 1
    assert width_of(-(10**15), 10**18, from_arrow(pa.timestamp("s"))) % (364 * 86_400) == 0


def test_pages_are_the_same_each_time(tmp_path: Path) -> None:
    query, rows = ac.query("MATCH (A ALL B) WITHIN 6 EVENTS"), stream(60)
    one, two = (query.report(rows, tmp_path / name).read_bytes() for name in ("one.html", "two.html"))
    assert one == two


def test_misspelt_types_are_told(tmp_path: Path) -> None:
    with pytest.warns(ac.AceleraWarning, match="did you mean `SELL`"):
        ac.query("MATCH SEL").report([{"type": "SELL"}], tmp_path / "page.html")
