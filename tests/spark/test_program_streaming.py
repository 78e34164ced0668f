"""Programs over streams: however rows arrive, what is derived is what the judge derives from all of them."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.programs.announcement import Announced
from acelera.programs.options import How
from acelera.programs.spark_streaming import Streamed, _spread, run_streaming
from acelera.programs.stream_task import ProgramTask
from acelera.programs.times import TimeKind
from acelera.xchangeeq.checker import check
from acelera.xchangeeq.on_spark import stream_task
from acelera.xchangeeq.parser import parse_program
from acelera.xchangeeq.semantics import derive
from acelera.xchangeeq.terms import Event, Term, events_of
from programs.judging import NOW
from spark.test_streaming import Files, late_events
from xchangeeq.building import ev
from xchangeeq.programs import P

SECOND = 1_000_000
BEGIN_OF_ALL = 1_600_000_000 * SECOND
SCHEMAS = {
    "smoke": pa.schema({"area": pa.string()}),
    "temp": pa.schema({"area": pa.string(), "sensor": pa.string(), "value": pa.float64()}),
}
TEXT = f"""{P[: P.rindex("DETECT")]}
DETECT minute {{ sensor {{ var S }}, n {{ count(all var V) }} }}
ON and {{ event w: timer:periodic [ 1 min ], while w: collect temp {{{{ sensor {{{{ var S }}}}, value {{{{ var V }}}} }}}} }} END
"""
FIRE_AND_HEAT = "DETECT".join(rule for rule in P.split("DETECT") if "burnt_down" not in rule)
"""Rules that are split by different keys."""

TIMES = pa.timestamp("us", "UTC")


def task_of(
    text: str, schemas: dict[str, pa.Schema], *, end: str, begin: str | None = None, type_column: str = "type"
) -> ProgramTask:
    """A program as a stream runs it."""
    checked = check(parse_program(text), schemas, text)
    longest = dict.fromkeys(schemas, 0.0 if begin is None else inf)
    stream = Announced(schemas, TimeKind(TIMES), How(begin or end, end, type_column), longest=longest)
    return stream_task(checked, stream, "nodes", text)


def rows(size: int, seed: int = 1) -> pa.Table:
    """Smoke and temperatures of two areas, in five minutes, each of which lasts for some seconds."""
    rng = np.random.default_rng(seed)
    ends = BEGIN_OF_ALL + rng.choice(300, size, replace=False) * SECOND
    smoke = rng.random(size) < 0.3
    return pa.table(
        {
            "kind": pa.array(np.where(smoke, "smoke", "temp")),
            "since": pa.array(ends - rng.integers(0, 4, size) * SECOND, TIMES),
            "until": pa.array(ends, TIMES),
            "area": pa.array(rng.choice(["r", "s"], size), mask=rng.random(size) < 0.05),
            "sensor": pa.array(rng.choice(["x", "y", "z"], size), mask=smoke),
            "value": pa.array(rng.choice([30.0, 41.0, 50.0], size), mask=smoke),
        }
    )


def arriving(table: pa.Table, seconds: int, seed: int = 2) -> pa.Table:
    """Rows as they arrive, each up to some seconds after its end."""
    delays = np.random.default_rng(seed).uniform(0, seconds * SECOND, table.num_rows)
    return table.take(pa.array(np.argsort(table.column("until").cast(pa.int64()).to_numpy() + delays)))


def last_rows(table: pa.Table, seconds: int) -> pa.Table:
    """A row of each label, so long after the beginning."""
    time = pa.array([BEGIN_OF_ALL + seconds * SECOND] * 2, TIMES)
    given = {"kind": pa.array(["smoke", "temp"]), "since": time, "until": time}
    return pa.table({each.name: given.get(each.name, pa.nulls(2, each.type)) for each in table.schema})


def expected(text: str, table: pa.Table, task: ProgramTask, now: int) -> set[Event]:
    """What the judge derives from rows by a time."""
    begin = task.begin or task.end
    both = (events_of(_of(table, task, label), label, begin=begin, end=task.end) for label in SCHEMAS)
    events = [each for some in both for each in some]
    return {each for each in derive(parse_program(text), [*events, Event(Term(NOW), now, now)]) if each.end <= now}


def _of(table: pa.Table, task: ProgramTask, label: str) -> pa.Table:
    times = dict.fromkeys([task.begin or task.end, task.end])
    own = table.filter(pa.array([each == label for each in table.column("kind").to_pylist()]))
    return own.select([*times, *SCHEMAS[label].names])


def found(frame: Any) -> list[Event]:
    micros = "unix_micros(begin) AS b", "unix_micros(end) AS e"
    rows = frame.selectExpr("*", *micros).toArrow().to_pylist()
    return [ev(row["type"], row["b"], row["e"], **row[row["type"]]) for row in rows]


def files_of(spark: Any, folder: Path, *tables: pa.Table) -> Files:
    files = Files(spark, folder)
    files.time = "until"
    for table in tables:
        files.put(table)
    return files


@pytest.mark.slow
def test_a_stream_derives_what_the_judge_does(spark: Any, tmp_path: Path) -> None:
    """Rows are out of order, and the stream is stopped, and goes on from its checkpoint; timers end without rows."""
    task = task_of(TEXT, SCHEMAS, begin="since", end="until", type_column="kind")
    table = rows(60)
    shuffled = arriving(table, 20)
    files = files_of(spark, tmp_path, shuffled.slice(0, 20), shuffled.slice(20, 20))

    def run() -> list[Any]:
        checkpoint = tmp_path / "checkpoint"  # which is not there at first
        return files.run(run_streaming(files.frame("20 seconds", 2), task, checkpoint=checkpoint).frame)

    progress = run()
    before = len(found(spark.read.parquet(files.sink)))
    other = ac.xchangeeq("DETECT hot { area { var A } } ON temp {{ area {{ var A }} }} END")
    with pytest.raises(ac.SnapshotError, match="the checkpoint belongs to another program"):
        options: dict[str, Any] = {"begin": "since", "end": "until", "type_column": "kind"}
        other.run(files.frame("20 seconds", 2), **options, checkpoint=tmp_path / "checkpoint")
    files.put(shuffled.slice(40))
    files.put(last_rows(table, 400))
    progress += run()
    events = found(spark.read.parquet(files.sink))
    wanted = expected(TEXT, table, task, BEGIN_OF_ALL + 380 * SECOND)
    assert {each.label for each in wanted} == set(task.outputs)
    assert 0 < before < len(wanted)
    assert set(events) == wanted
    assert len(events) == len(wanted)
    assert late_events(progress) == 0


def test_a_frame_for_each_label_and_late_rows(spark: Any, tmp_path: Path) -> None:
    task = task_of(FIRE_AND_HEAT, SCHEMAS, end="until")
    table = rows(40, seed=3)
    order = np.argsort(table.column("until").cast(pa.int64()).to_numpy())
    late = np.isin(order, np.random.default_rng(2).choice(order[:20], 6, replace=False))
    in_time, too_late = table.take(pa.array(order[~late])), table.take(pa.array(order[late]))
    at_last = pa.concat_tables([too_late, last_rows(table, 500)])
    files = files_of(spark, tmp_path, in_time, last_rows(table, 400), at_last)
    frame = files.frame(None, 1)
    frames = {
        label: frame.filter(frame.kind == label)
        .select("until", *SCHEMAS[label].names)
        .withWatermark("until", "9 seconds")
        for label in SCHEMAS
    }
    streamed = run_streaming(frames, task, late_events="too late")
    progress = files.run(streamed.frame)
    sink = spark.read.parquet(files.sink)
    wanted = expected(
        FIRE_AND_HEAT, pa.concat_tables([in_time, last_rows(table, 400)]), task, BEGIN_OF_ALL + 491 * SECOND
    )
    assert sorted(map(str, found(sink.filter("`too late` IS NULL").drop("too late")))) == sorted(map(str, wanted))
    kept = [row["too late"] for row in sink.filter("`too late` IS NOT NULL").toArrow().to_pylist()]
    shown = [(row["type"], row["end"], {k: v for k, v in row[row["type"]].items() if v is not None}) for row in kept]
    needed = [row for row in too_late.to_pylist() if row["kind"] == "temp" or row["area"] is not None]
    assert sorted(shown, key=str) == sorted(
        (
            (row["kind"], row["until"], {k: row[k] for k in SCHEMAS[row["kind"]].names if row[k] is not None})
            for row in needed
        ),
        key=str,
    )
    assert late_events(progress) == len(needed) > 0


BEFORE = """
DETECT before { sensor { var S } }
ON and { event w: timer:periodic [ 20 sec ], event t: temp {{ sensor {{ var S }} }} } where { w before t } END
"""


def test_a_clock_begins_with_the_first_row_of_any_label(spark: Any) -> None:
    task = task_of(BEFORE, SCHEMAS, end="until", type_column="kind")
    assert list(task.labels) == ["temp", "smoke"]  # a frame of which would be read, too
    frame = spark.createDataFrame([("smoke",), ("temp",), ("other",), (None,)], "type string")
    places = frame.select(_spread(task.components[0], 0, task).alias("place")).collect()
    assert [row.place for row in places] == [0, 0, 0, None]


# --- frames -------------------------------------------------------------------------------------------------------


@pytest.fixture
def empty(spark: Any, tmp_path: Path) -> Files:
    return files_of(spark, tmp_path, rows(2))


TASK = task_of(P, SCHEMAS, begin="since", end="until", type_column="kind")


def test_the_columns_of_a_result(empty: Files) -> None:
    streamed = run_streaming(empty.frame("1 minute"), TASK)
    assert streamed.frame.columns == ["type", "begin", "end", "fire", "burnt_down", "avg_temp"]
    assert streamed["avg_temp"].columns == ["begin", "end", "sensor", "value"]
    for frame in (streamed.frame, streamed["fire"]):
        assert [each.name for each in frame.schema if each.metadata] == ["end"]
    assert list(streamed) == ["fire", "burnt_down", "avg_temp"] and len(streamed) == 3
    assert [(label, frame.columns[:2]) for label, frame in streamed.items()] == [
        (label, ["begin", "end"]) for label in streamed
    ]
    assert "fire" in streamed and "fires" not in streamed and streamed.get("fires") is None
    with pytest.raises(ac.UsageError, match=r"no rule makes `fires`; did you mean `fire`\? \(it has fire, burnt_down"):
        streamed["fires"]


def test_one_label_of_a_result(spark: Any) -> None:
    schema = "type string, begin int, end int, fire struct<`a b`: string>, `too late` struct<type: string>"
    data = [("fire", 1, 2, ("r",), None), ("other", 1, 2, None, None), (None, None, None, None, ("fire",))]
    streamed = Streamed(spark.createDataFrame(data, schema), {"fire": pa.schema({"a b": pa.string()})})
    assert streamed["fire"].toArrow().to_pylist() == [{"begin": 1, "end": 2, "a b": "r"}]


def refusals(files: Files) -> dict[str, tuple[Callable[[], Any], str]]:
    frame, bare = files.frame("1 minute"), files.frame(None)
    naive = bare.selectExpr("* EXCEPT (since)", "CAST(since AS TIMESTAMP_NTZ) AS since").withWatermark(
        "until", "1 minute"
    )
    smoke = frame.filter("kind = 'smoke'")
    alike = task_of(
        "DETECT End { area { var A } } ON smoke {{ area {{ var A }} }} END", SCHEMAS, end="until", type_column="kind"
    )
    return {
        "watermark": (lambda: run_streaming(bare, TASK), r"there is no watermark on `until`.*Add one"),
        "begin": (lambda: run_streaming(naive, TASK), r"`since` is of type timestamp\[us\], but `until` is a time with a zone"),
        "column": (lambda: run_streaming(frame.drop("sensor"), TASK), r"there is no column `sensor` \(columns: kind, since"),
        "kind": (lambda: run_streaming(frame.drop("kind"), TASK), "there is no column `kind`"),
        "case": (lambda: run_streaming(frame.selectExpr("*", "area AS AREA"), TASK), "the program reads the column `area`, which Spark"),
        "mixture": (
            lambda: run_streaming({"smoke": smoke, "temp": files.spark.read.parquet(files.source)}, TASK),
            "the frame of smoke is a stream, that of temp is not",
        ),
        "each": (lambda: run_streaming({"smoke": smoke, "temp": bare}, TASK), "no watermark on `until` of the frame of temp"),
        "label": (lambda: run_streaming({"smokes": smoke}, TASK), "no columns are known of `smokes`; did you mean `smoke`"),
        "taken": (lambda: run_streaming(frame, alike), "the label `End` would be a column beside `end`"),
        "late": (lambda: run_streaming(frame, TASK, late_events="Fire"), "the result has a column of that name"),
    }  # fmt: skip


def test_what_is_refused(empty: Files) -> None:
    for name, (run, message) in refusals(empty).items():
        with pytest.raises(ac.AceleraError, match=message):
            run()
            pytest.fail(name)
