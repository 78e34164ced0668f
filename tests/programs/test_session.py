"""Sessions: any cut into batches gives the same events, and nothing that fails leaves a trace."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import acelera as ac
from acelera.algebra.names import END
from acelera.errors import AceleraError, DataError, SnapshotError, UsageError
from acelera.programs import running
from acelera.programs.inputs import Given
from acelera.programs.session import ProgramSession
from xchangeeq.doubles import JudgingEngine

JOIN = """
DETECT pair { k { var K }, v { var V } }
ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }}, v {{ var V }} }} } where { i before j, {i, j} within 4 sec } END
"""
PROGRAMS = {
    "join": JOIN,
    "timers": """
        DETECT late { k { var K } }
        ON and { event i: a {{ k {{ var K }} }}, event w: timer:shift-forward [ event i, 3 sec ],
                 while w: not b {{ k {{ var K }} }} } END
        DETECT far { } ON and { event i: late {{ }}, event w: timer:from-end [ event i, 20 sec ] } END
    """,
    "clock": """
        DETECT minute { n { count(all var V) } }
        ON and { event w: timer:periodic [ 5 sec ], while w: collect b {{ v {{ var V }} }} } END
        DETECT tick { } ON event w: timer:datetime {{ time {{ "00:00:07" }} }} END
    """,
    "what comes in is not made": "DETECT a { k { var K } } ON b {{ k {{ var K }} }} END",
    "anything": """
        DETECT any { k { var X } } ON and { event i: * {{ k {{ var X }} }}, event j: b {{ }} } where { i before j, {i, j} within 4 sec } END
    """,
}
SCHEMA = {"begin": int, "end": int, "k": str, "v": int}
SCHEMAS = dict.fromkeys(("a", "b", "noise"), SCHEMA)


@pytest.fixture(autouse=True)
def judging(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acelera.xchangeeq.engine", JudgingEngine)  # type: ignore[arg-type]  # a double


def opened(text: str = JOIN, schemas: Any = None, **options: Any) -> ProgramSession:
    return ac.xchangeeq(text).open(SCHEMAS if schemas is None else schemas, **{"time_unit": "s", **options})


def rows(*written: str) -> list[dict[str, Any]]:
    """Events as `a 1 3 x 5`: label, begin, end, k, v."""
    found = []
    for label, begin, end, *data in (each.split() for each in written):
        cells = dict(zip(("k", "v"), data, strict=False))
        found.append(
            {"type": label, "begin": int(begin), "end": int(end), "k": cells.get("k"), "v": int(cells.get("v", 0))}
        )
    return found


def listed(made: dict[str, pa.Table]) -> dict[str, list[dict[str, Any]]]:
    return {label: table.to_pylist() for label, table in made.items() if table.num_rows}


# --- any cut ------------------------------------------------------------------------------------------------------


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    found = []
    for _ in range(draw(st.integers(1, 8))):
        begin, length = draw(st.integers(0, 12)), draw(st.integers(0, 3))
        label, key = draw(st.sampled_from(["a", "b", "b", "noise"])), draw(st.sampled_from(["x", "y", None]))
        found.append({"type": label, "begin": begin, "end": begin + length, "k": key, "v": draw(st.integers(0, 1))})
    return found


def cut(events: list[dict[str, Any]], ends: set[int]) -> Iterator[tuple[list[dict[str, Any]], int]]:
    """Batches of events that end by these times, and what time it is then."""
    before = -1
    for now in sorted(ends | {max(each["end"] for each in events)}):
        yield [each for each in events if before < each["end"] <= now], now
        before = now


def together(parts: list[dict[str, pa.Table]]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for part in parts:
        for label, table in part.items():
            found.setdefault(label, []).extend(table.to_pylist())
    return {label: sorted(each, key=repr) for label, each in found.items()}


@pytest.mark.property
@pytest.mark.parametrize("name", PROGRAMS)
@settings(max_examples=max(1, settings().max_examples // 5))  # for each program
@given(events=streams(), ends=st.sets(st.integers(0, 14), max_size=4), kept=st.integers(0, 4))
def test_any_cut_gives_the_same(name: str, events: list[dict[str, Any]], ends: set[int], kept: int) -> None:
    p = ac.xchangeeq(PROGRAMS[name])
    table = pa.Table.from_pylist(events, pa.schema({"type": pa.string(), "begin": pa.int64(), "end": pa.int64(), "k": pa.string(), "v": pa.int64()}))  # fmt: skip
    meaning = p.run({label: table.filter(pa.compute.field("type") == label).drop("type") for label in SCHEMAS}, time_unit="s", method="semantics")  # fmt: skip
    ends = {each for each in ends if each < max(row["end"] for row in events)}
    session, parts = p.open(SCHEMAS, time_unit="s"), []
    for number, (batch, now) in enumerate(cut(events, ends)):
        if number == kept:
            session = p.resume(session.snapshot())
        parts.append(session.push(batch, now))
    parts.append(session.finish())
    assert together(parts) == together([meaning])


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_a_table_is_taken_in_pieces_in_order(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ROWS_AT_ONCE", at_once)
    events = rows("b 9 9 x 1", "a 5 5 x", "b 6 9 x 2", "noise 0 0", "a 8 8 x", "b 5 6 x 3", "noise 30 30")
    p = ac.xchangeeq(JOIN)
    expected = p.run(events, time_unit="s", method="semantics")
    assert p.run(events, time_unit="s") == expected
    assert expected["pair"].num_rows == 3


@pytest.mark.parametrize("size", [1, 2, 3, 10])
def test_a_reader_is_read_in_pieces(size: int) -> None:
    table = pa.Table.from_pylist(
        rows("noise 0 0", "a 1 2 x", "a 1 2 y", "b 3 4 x", "b 4 4 y 1", "b 4 4 x 2", "noise 9 9", "noise 9 9")
    )
    p = ac.xchangeeq(JOIN)
    expected = p.run(table, time_unit="s", method="semantics")
    assert expected["pair"].num_rows == 3
    reader = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=size))
    assert p.run(reader, time_unit="s") == expected
    assert p.run(iter([table.slice(at, size) for at in range(0, len(table), size)]), time_unit="s") == expected


def test_pieces_that_are_out_of_order() -> None:
    p = ac.xchangeeq(JOIN)
    pieces = [rows("a 1 2 x", "a 3 3 x"), rows("b 3 3 x"), rows("b 4 4 x", "b 2 2 x")]
    with pytest.raises(DataError) as caught:
        p.run(iter(pieces), time_unit="s")
    assert "row 5 comes too late: it ends at 2, and the stream has come to 2; what is read piece by piece" in str(
        caught.value
    )


def test_pieces_cover_all() -> None:
    tables = {"a": pa.table({END: [5, 1, 3, 3]}), "b": pa.table({END: [2, 9]})}
    found = [
        ({label: each.column(END).to_pylist() for label, each in piece.tables.items()}, now)
        for piece, now in running.pieces(Given(tables, 1, 10), 2)
    ]
    assert found == [
        ({"a": [1], "b": [2]}, 2),
        ({"a": [3, 3], "b": []}, 3),
        ({"a": [5], "b": [9]}, 9),
        ({"a": [], "b": []}, 10),
    ]


# --- what sessions do ---------------------------------------------------------------------------------------------


def test_batches_may_be_tables_for_each_label_or_one() -> None:
    session = opened()
    assert listed(session.push({"a": [{"begin": 1, "end": 1, "k": "x"}]})) == {}
    assert listed(session.push(rows("b 2 2 x 7"))) == {"pair": [{"begin": 1, "end": 2, "k": "x", "v": 7}]}
    assert session.kept() == {"events": 2}


def test_results_are_sorted_and_have_their_columns() -> None:
    session = opened()
    made = session.push(rows("b 5 5 x 1", "b 3 4 x 9", "b 3 4 x 2", "a 1 1 x", "a 0 2 x"))
    assert [(each["begin"], each["end"], each["v"]) for each in made["pair"].to_pylist()] == [
        (0, 4, 2), (0, 4, 9), (1, 4, 2), (1, 4, 9), (1, 5, 1)
    ]  # fmt: skip
    expected = pa.schema({"begin": pa.int64(), "end": pa.int64(), "k": pa.string(), "v": pa.int64()})
    assert session.schemas == {"pair": expected}
    assert session.push([])["pair"] == expected.empty_table()


def test_time_moves_on_without_events() -> None:
    session = opened(PROGRAMS["timers"])
    assert listed(session.push(rows("a 1 1 x"))) == {}
    assert listed(session.push([], now=3)) == {}
    assert listed(session.push([], now=4)) == {"late": [{"begin": 1, "end": 4, "k": "x"}]}
    assert listed(session.push(rows("noise 5 5"), now=23)) == {}
    assert listed(session.finish()) == {"far": [{"begin": 1, "end": 24}]}


def test_the_clock_goes_from_the_first_event_to_the_last() -> None:
    session = opened("DETECT tick { } ON event w: timer:periodic [ 5 sec ] END", {"noise": {"t": int}}, time="t")
    assert listed(session.push([], now=6)) == {}
    assert listed(session.push({"noise": [{"t": 9}, {"t": 13}]})) == {"tick": [{"begin": 5, "end": 9}]}
    assert listed(session.push([], now=21)) == {}
    assert listed(session.push({"noise": [{"t": 22}]})) == {
        "tick": [{"begin": 10, "end": 14}, {"begin": 15, "end": 19}]
    }
    assert listed(session.finish()) == {}


def test_timestamps_come_back() -> None:
    zone = pa.timestamp("ms", "Europe/Berlin")
    session = opened(schemas={"type": str, "t": zone, "k": str, "v": int}, time="t", time_unit=None)
    moments = [datetime.fromisoformat(f"2024-07-01T12:00:0{second}+00:00") for second in (1, 3)]
    made = session.push([{"type": "a", "t": moments[0], "k": "x"}, {"type": "b", "t": moments[1], "k": "x", "v": 1}])[
        "pair"
    ]
    assert made.schema.field("end").type == pa.timestamp("us", "Europe/Berlin")
    assert [made["begin"][0].as_py(), made["end"][0].as_py()] == moments
    assert listed(session.push([], now=moments[1])) == {}
    with pytest.raises(
        DataError, match="it ends at 2024-07-01 14:00:03\\+02:00, and the stream has come to 2024-07-01 14:00:03"
    ):
        session.push([{"type": "a", "t": moments[1]}])


# --- what is refused, and what it leaves behind -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("batch", "now", "error", "says"),
    [
        (rows("b 5 6 x", "b 1 5 x"), None, DataError, "row 3 comes too late: it ends at 5, and the stream has come to 5"),
        (rows("b 5 6 x"), 5, DataError, "row 2 ends at 6, after now=5"),
        ([], 4, DataError, "time does not go back: now=4, and the stream has come to 5"),
        ([], "later", UsageError, "now='later' is no integer"),
        ([{"type": "b", "begin": 6}], None, AceleraError, "there is no column `end`"),
        ({"c": rows("c 1 2")}, None, AceleraError, "the label `c` was not announced"),
    ],
)  # fmt: skip
def test_a_batch_that_is_refused_leaves_no_trace(batch: Any, now: Any, error: type[Exception], says: str) -> None:
    session = opened()
    session.push(rows("a 5 5 x"))
    before = session.snapshot()
    with pytest.raises(error) as caught:
        session.push(batch, now)
    assert says in str(caught.value)
    assert session.snapshot() == before
    assert listed(session.push(rows("b 6 6 x 1"))) == {"pair": [{"begin": 5, "end": 6, "k": "x", "v": 1}]}


def test_a_step_that_fails_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened()
    session.push(rows("a 5 5 x"))
    before = session.snapshot()
    with monkeypatch.context() as broken, pytest.raises(RuntimeError):
        broken.setattr(JudgingEngine.opened, "step", lambda *_: (_ for _ in ()).throw(RuntimeError("no memory")))
        session.push(rows("b 6 6 x 1"))
    assert session.snapshot() == before
    assert listed(session.push(rows("b 6 6 x 1"))) == {"pair": [{"begin": 5, "end": 6, "k": "x", "v": 1}]}


def test_a_finished_session_takes_nothing() -> None:
    session = opened()
    session.finish()
    for again in (lambda: session.push([]), session.finish, session.snapshot):
        with pytest.raises(UsageError, match="this session is finished; open another one"):
            again()


# --- snapshots ----------------------------------------------------------------------------------------------------


def test_a_resumed_session_knows_its_stream() -> None:
    p = ac.xchangeeq(JOIN)
    session = p.open(SCHEMAS, time_unit="s", longest={"a": "1 sec"})
    session.push(rows("a 5 5 x", "noise 1 6"))
    resumed = p.resume(session.snapshot())
    assert resumed.announced == session.announced
    with pytest.raises(DataError, match="row 3 comes too late: it ends at 6, and the stream has come to 6"):
        resumed.push(rows("b 6 6 x 1"))
    with pytest.raises(DataError, match=r"row 3 lasts from 5 to 7, longer than longest=\{'a': '1 sec'\} says"):
        resumed.push(rows("a 5 7 x 1"))
    assert listed(resumed.push(rows("b 7 7 x 1"))) == {"pair": [{"begin": 5, "end": 7, "k": "x", "v": 1}]}


def test_snapshots_of_others_and_damaged_ones() -> None:
    p, data = ac.xchangeeq(JOIN), opened().snapshot()
    for other in (ac.xchangeeq(JOIN, aggregates="set"), ac.xchangeeq(PROGRAMS["timers"])):
        with pytest.raises(SnapshotError, match="belongs to another"):
            other.resume(data)
    with pytest.raises(SnapshotError, match="belongs to another"):
        p.resume(ac.query("MATCH A").open({"type": str}).snapshot())
    with pytest.raises(SnapshotError, match="these bytes are not a snapshot"):
        p.resume(b"something else")
    for broken in (data[:-1], data[:200] + b"?" + data[201:]):
        with pytest.raises(SnapshotError, match=r"cut short|damaged"):
            p.resume(broken)
