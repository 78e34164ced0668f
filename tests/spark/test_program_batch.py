"""Rules on Spark, against the meaning of the programs that they were made of."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.algebra.rules import relation_of
from acelera.algebra.spark_batch import run_batch
from acelera.algebra.windows import Around, Cells, Happens, Measured, whole
from acelera.language.tree import walk
from acelera.programs.announcement import Asked, announce
from acelera.programs.options import how
from acelera.programs.spark_batch import run_frames
from acelera.spark.schemas import arrow_schema
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.engine import Compiled, compiled
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from tiers import slow
from xchangeeq.programs import SCHEMAS as KNOWN
from xchangeeq.programs import P
from xchangeeq.streams import events_in, rounded, timed

SECOND = 1_000_000
ToFrame = Callable[[pa.Table], Any]

READING = pa.schema({"k": pa.string(), "v": pa.int64(), "x": pa.float64(), "T": pa.string()})


def translated(text: str, schemas: Mapping[str, pa.Schema], points: bool = True) -> Compiled:
    return compiled(check(parse_program(text), schemas), SECOND, dict.fromkeys(schemas, 0) if points else None)


def run(tables: Mapping[str, pa.Table], program: Compiled, to_frame: ToFrame, relation: Any = whole) -> list[str]:
    """What is derived; that each event comes once is looked at, too."""
    frames = {label: to_frame(table) for label, table in tables.items()}
    found = run_batch(frames, program.rules, program.rows, program.checked.outputs, relation)
    came_out = {label: frame.toArrow() for label, frame in found.items()}
    events = events_in(came_out)
    assert len(events) == sum(table.num_rows for table in came_out.values())
    return rounded(events)


def run_edges(events: Any, program: Compiled, **options: Any) -> dict[str, Any]:
    """What is derived, as a user gets it."""
    columns = (
        {label: arrow_schema(frame) for label, frame in events.items()}
        if isinstance(events, dict)
        else arrow_schema(events)
    )
    asked = Asked(tuple(program.checked.base), tuple(program.checked.outputs))
    announced = announce(columns, how(options), asked)
    return run_frames(events, program.rules, program.rows, announced, program.checked.outputs)


def readings(seed: int, size: int, points: bool) -> dict[str, pa.Table]:
    """Events of two labels, of which some come twice, and some differ in a column that no rule looks at."""
    choose = random.Random(seed)
    rows: dict[str, list[dict[str, object]]] = {"a": [], "b": []}
    for _ in range(size):
        begin = choose.randrange(-20, 40)
        row = {
            "k": choose.choice(["r", "s", None]),
            "v": choose.choice([0, 1, 2, 3, None]),
            "x": choose.choice([0.5, 1.0, 2.5]),
            "T": choose.choice(["p", "q"]),
            "#begin": begin,
            "#end": begin if points else begin + choose.choice([0, 1, 3]),
        }
        rows[choose.choice("aab")] += [row] * choose.choice([1, 1, 2])
    return {label: pa.Table.from_pylist(those, timed(READING)) for label, those in rows.items()}


# --- program P ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        (False, ["avg_temp[10, 80] s 40.0", "burnt_down[70, 92] s", "fire[65, 80] a"]),
        slow(True, ["avg_temp[20, 80] s 40.5", "avg_temp[3, 63] s 40.0", "fire[68, 80] a"]),
    ],
)
def test_p_on_the_stream_of_page_22(points: bool, expected: list[str], to_frame: ToFrame) -> None:
    smoke = [{"area": "a", "begin": 65, "end": 68}]
    temp = [
        {"area": "a", "sensor": "s", "value": 40.0, "begin": 60, "end": 63},
        {"area": "a", "sensor": "s", "value": 41.0, "begin": 70, "end": 80},
    ]
    frames = {
        label: to_frame(
            pa.Table.from_pylist(rows, pa.schema([*KNOWN[label], ("begin", pa.int64()), ("end", pa.int64())]))
        )
        for label, rows in (("smoke", smoke), ("temp", temp))
    }
    program = translated(P, {label: KNOWN[label] for label in frames}, points)
    if points:
        frames = {label: frame.drop("begin") for label, frame in frames.items()}
    found = run_edges(frames, program, **({"time": "end"} if points else {}))
    shown = [
        f"{label}[{row['begin']}, {row['end']}] {' '.join(str(value) for value in list(row.asDict().values())[2:])}"
        for label, frame in found.items()
        for row in frame.collect()
    ]
    assert sorted(shown) == expected


# --- rules without a row for each pair ----------------------------------------------------------------------------

WINDOW = "event i: a {{ k {{ var K }} }}, event w: timer:from-end-backward [ event i, 5 sec ]"

CASES = {
    "aggregates around events of one label": (
        "DETECT d { k { var K }, n { count(all var V) }, s { sum(all var V) }, m { avg(all var X) }, h { max(all var V) } } "
        f"ON and {{ {WINDOW}, while w: collect a {{{{ k {{{{ var K }}}}, v {{{{ var V }}}}, x {{{{ var X }}}} }}}} }} END",
        Around,
    ),
    "aggregates of selected events, around selected events": (
        "DETECT d { k { var K }, v { var U }, s { sum(all var V) - 1 } } ON and { event i: a {{ k {{ var K }}, v {{ var U }} }}, "
        "event w: timer:shift-forward [ event i, 2 sec ], event u: timer:extend [ event w, 4 sec ], "
        'while u: collect a {{ k {{ var K }}, v {{ var V }}, T {{ "p" }} }} } where { var U > 1, var V > 0 } END',
        Around,
    ),
    "aggregates of another label": (
        f"DETECT d {{ k {{ var K }}, s {{ sum(all var V) }} }} ON and {{ {WINDOW}, while w: collect b {{{{ k {{{{ var K }}}}, v {{{{ var V }}}} }}}} }} END",
        Measured,
    ),
    "aggregates of all that happens": (
        "DETECT d { n { count(all var V) } } ON and { event i: a {{ v {{ 3 }} }}, event w: timer:from-end-backward [ event i, 5 sec ], "
        "while w: collect b {{ v {{ var V }} }} } END",
        Measured,
    ),
    "the least and the greatest value need not know events": (
        f"DETECT d {{ k {{ var K }}, s {{ min(all var V) }}, t {{ max(all var V) }} }} ON and {{ {WINDOW}, while w: collect b {{{{ k {{{{ var K }}}}, v {{{{ var V }}}} }}}} }} END",
        Measured,
    ),
    "two windows do not multiply each other": (
        f"DETECT d {{ k {{ var K }}, s {{ sum(all var V) }}, t {{ count(all var U) }}, all x {{ var X }} }} ON and {{ {WINDOW}, while w: collect a {{{{ k {{{{ var K }}}}, v {{{{ var V }}}} }}}}, "
        "while w: collect b {{ k {{ var K }}, v {{ var U }} }}, while w: collect b {{ k {{ var K }}, x {{ var X }} }} } END",
        Measured,
    ),
    "something happens": (
        f"DETECT d {{ k {{ var K }} }} ON and {{ {WINDOW}, while w: collect b {{{{ k {{{{ var K }}}}, v {{{{ var V }}}} }}}} }} END",
        Happens,
    ),
    "nothing happens": (
        f"DETECT d {{ k {{ var K }} }} ON and {{ {WINDOW}, while w: not b {{{{ k {{{{ var K }}}} }}}} }} END",
        Happens,
    ),
    "nothing else happens": (
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, event w: timer:from-end [ event i, 4 sec ], "
        "event o: timer:shorten-begin [ event w, 1 sec ], while o: not a {{ k {{ var K }} }} } where { var V > 1 } END",
        Around,
    ),
    "something else happens, which may have no value": (
        "DETECT d { k { var K }, s { sum(all var V) } } ON and { event i: a {{ k {{ var K }} }}, event w: timer:shift-forward [ event i, 3 sec ], "
        'while w: collect a {{ k {{ var K }}, optional v {{ var V }} }}, while w: collect a {{ k {{ var K }}, T {{ "q" }} }} } END',
        Around,
    ),
    "nothing at all happens": (
        "DETECT d { k { var K } } ON and { event i: a {{ k {{ var K }} }}, event w: timer:from-start [ event i, 2 sec ], while w: not b {{ v {{ 3 }} }} } END",
        Happens,
    ),
    "events that are near": (
        "DETECT d { k { var K }, v { var V } } ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, event j: b {{ k {{ var K }} }} } where { i before j, {i, j} within 6 sec } END",
        Cells,
    ),
    "events that meet": (
        "DETECT d { v { var V }, u { var U } } ON and { event i: a {{ v {{ var V }} }}, event j: b {{ v {{ var U }} }} } where { i meets j, {i, j} within 6 sec } END",
        Cells,
    ),
    "lists are sorted": (
        "DETECT d { k { var K }, all w { v { var V }, x { var X } } order by [ var V desc ], all t { var S } } "
        f"ON and {{ {WINDOW}, while w: collect b {{{{ k {{{{ var K }}}}, v {{{{ var V }}}}, x {{{{ var X }}}}, T {{{{ var S }}}} }}}} }} END",
        Cells,
    ),
    "clocks": (
        "DETECT d { k { var K }, n { count(all var V) } } ON and { event w: timer:periodic [ 7 sec ], while w: collect a {{ k {{ var K }}, v {{ var V }} }} } END",
        Cells,
    ),
    "names that differ in case alone": (
        "DETECT d { t { var v }, u { var V } } ON event i: a {{ v {{ var v }}, T {{ var V }} }} END",
        object,
    ),
    "rules over rules, and base events that are derived as well": (
        "DETECT b { k { var K }, v { var V } } ON event i: a {{ k {{ var K }}, v {{ var V }} }} END "
        "DETECT d { n { count(all var V) } } ON and { event i: b {{ v {{ 2 }} }}, event w: timer:from-end [ event i, 3 sec ], while w: collect b {{ v {{ var V }} }} } END",
        Around,
    ),
}


BOTH = ("aggregates around events of one label", "nothing else happens", "events that are near")
"""What is computed otherwise for intervals."""

QUICK = (
    *BOTH,
    "aggregates of another label",
    "something happens",
    "nothing happens",
    "lists are sorted",
    "names that differ in case alone",
    "rules over rules, and base events that are derived as well",
)
"""One of each kind; the others are like these."""


def kinds_of_events() -> list[Any]:
    found = []
    for kind, points, quick in (("points", True, QUICK), ("intervals", False, BOTH)):
        for name in CASES:
            marks = [] if name in quick else pytest.mark.slow
            found.append(pytest.param(name, points, id=f"{name}-{kind}", marks=marks))
    return found


@pytest.mark.parametrize(("name", "points"), kinds_of_events())
def test_what_is_computed_is_what_is_meant(name: str, points: bool, to_frame: ToFrame) -> None:
    text, operator = CASES[name]
    program = translated(text, {"a": READING, "b": READING}, points)
    tables = readings(len(name) + points, 60, points)
    if points and operator is not object and name != "rules over rules, and base events that are derived as well":
        assert any(isinstance(each, operator) for rule in program.rules for each in walk(whole(rule)))
    expected = rounded(derive(parse_program(text), events_in(tables), tick=SECOND))
    assert expected and run(tables, program, to_frame) == expected


@pytest.mark.parametrize(
    "name", ["nothing happens", slow("aggregates around events of one label"), slow("events that are near")]
)
def test_without_rewriting_it_is_the_same(name: str, to_frame: ToFrame) -> None:
    program = translated(CASES[name][0], {"a": READING, "b": READING})
    tables = readings(7, 60, True)
    assert run(tables, program, to_frame) == run(tables, program, to_frame, relation_of)


@pytest.mark.parametrize(
    "text",
    [
        "DETECT d { sum { sum(all var V) }, all n { var W } } ON c {{ item {{ n {{ var V }} }}, item {{ n {{ var W }}, without m {{ }} }} }} END",
        "DETECT d { n { var V }, t { var T } } ON c {{ item {{ n {{ var V }}, tag {{ var T }} }} }} END",
    ],
)
def test_terms_in_lists(text: str, to_frame: ToFrame) -> None:
    one, two = {"n": 1, "m": "x", "tag": ["p", None, "q"]}, {"n": 1, "m": None, "tag": []}
    items = [[one, two, None], [{"n": 2, "m": None, "tag": None}] * 2, [{"n": 3, "m": "{}", "tag": ["r"]}], None, []]
    schema = pa.schema({"item": pa.list_(pa.struct({"n": pa.int64(), "m": pa.string(), "tag": pa.list_(pa.string())}))})
    table = pa.table({"item": items, "#begin": range(5), "#end": range(5)}, timed(schema))
    expected = rounded(derive(parse_program(text), events_in({"c": table}), tick=SECOND))
    assert len(expected) > 1 and run({"c": table}, translated(text, {"c": schema}), to_frame) == expected


# --- edges --------------------------------------------------------------------------------------------------------

HOT = "DETECT hot { v { var V } } ON event i: a {{ v {{ var V }} }} where { var V > 1 } END"
NOON = datetime.datetime(2024, 3, 31, 12)


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.int32()])
def test_times_come_out_as_they_come_in(kind: pa.DataType, to_frame: ToFrame) -> None:
    times = [NOON + datetime.timedelta(microseconds=number) for number in range(3)] if kind != pa.int32() else [1, 2, 3]
    table = pa.table({"ts": pa.array(times, kind), "v": [1, 2, 3], "type": ["a", "a", "b"]})
    program = translated(HOT, {"a": pa.schema({"v": pa.int64()})})
    found = run_edges(to_frame(table), program, time="ts")["hot"]
    assert [found.schema[name].dataType for name in ("begin", "end")] == [
        found.sparkSession.createDataFrame([], "t timestamp, n timestamp_ntz, i bigint").schema[name].dataType
        for name in ["i" if kind == pa.int32() else "t" if kind.tz else "n"] * 2
    ]
    assert (
        found.toArrow().column("end").cast(pa.int64())[0].as_py() == pa.array(times, kind).cast(pa.int64())[1].as_py()
    )


@pytest.mark.parametrize(
    ("begin", "end", "message"),
    [
        (None, 1, "has no time: b is NULL"),
        (1, None, "has no time: e is NULL"),
        (2, 1, r"ends before it begins \(b > e\)"),
    ],
)
def test_rows_without_a_sound_time_are_refused(begin: Any, end: Any, message: str, to_frame: ToFrame) -> None:
    table = pa.table({"b": pa.array([begin], pa.int64()), "e": pa.array([end], pa.int64()), "v": [2]})
    program = translated(HOT, {"a": pa.schema({"v": pa.int64()})})
    frame = run_edges({"a": to_frame(table)}, program, begin="b", end="e")["hot"]
    with pytest.raises(Exception, match=f"an event of `a` {message}"):
        frame.collect()


def test_recursion_is_refused(to_frame: ToFrame) -> None:
    text = HOT + " DETECT a { v { var V } } ON event i: hot {{ v {{ var V }} }} END"
    program = translated(text, {"a": pa.schema({"v": pa.int64()})})
    table = pa.table({"#begin": [1], "#end": [1], "v": [2]})
    with pytest.raises(
        ac.UsageError, match=r"is recursive \(.*\), and Spark batch has no recursion: run the program in process"
    ):
        run_batch({"a": to_frame(table)}, program.rules, program.rows)


def test_all_pairs_are_warned_of(to_frame: ToFrame) -> None:
    text = "DETECT d { v { var V }, u { var U } } ON and { event i: a {{ v {{ var V }} }}, event j: a {{ v {{ var U }} }} } END"
    program = translated(text, {"a": pa.schema({"v": pa.int64()})})
    with pytest.warns(ac.AceleraWarning, match="d: i and j share no variable"):
        run_batch({"a": to_frame(pa.table({"#begin": [1], "#end": [1], "v": [2]}))}, program.rules, program.rows)


@pytest.mark.parametrize("apart", [True, False], ids=["a frame for each label", "one frame"])
def test_clocks_tick_while_anything_happens(apart: bool, to_frame: ToFrame) -> None:
    text = "DETECT r { n { count(all var V) } } ON and { event w: timer:periodic [ 10 sec ], while w: collect a {{ v {{ var V }} }} } END"
    table = pa.table({"type": ["a", "a", "x"], "t": [1, 12, 29], "v": [1, 2, 3]})
    frame = to_frame(table)
    events = {label: frame.filter(frame.type == label).drop("type") for label in ("a", "x")} if apart else frame
    found = run_edges(events, translated(text, {"a": pa.schema({"v": pa.int64()})}), time="t", time_unit="s")
    assert sorted((row["begin"], row["end"], row["n"]) for row in found["r"].collect()) == [(0, 9, 1), (10, 19, 1)]
