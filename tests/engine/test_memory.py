"""What a session keeps: the sum of what is open, whatever came before."""

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.session import session
from acelera.engine.storage import growing
from tiers import thinned

EPOCH = datetime.datetime(2024, 1, 1)
SCHEMA = pa.schema({"type": pa.string(), "sid": pa.string(), "v": pa.int64(), "ts": pa.timestamp("us")})

COMING_AND_GOING = [
    "SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.sid = b.sid WITHIN 10 EVENTS",
    "SELECT a.v, b.v MATCH A AS a ; B AS b FILTER a.sid <= b.sid WITHIN 10 EVENTS",
    "SELECT a.v, b.v MATCH A+ AS a ; B AS b FILTER a.sid <> b.sid AND a.v + 3 <> b.v WITHIN 5 EVENTS",
    "SELECT n.m MATCH A AS a ; B AS b AGG n[m <- max(a.sid), l <- last(b.sid)] FILTER n.l <> 'id-3' WITHIN 5 EVENTS",
    "SELECT a.sid, b.v MATCH (A AS a ; B AS b FILTER a.sid = b.sid) UNLESS (C AS c FILTER c.sid = 'id-3') WITHIN 9 SECONDS",
    "SELECT x.v MATCH (A ; B) AS x FILTER x[same(sid)] WITHIN 10 EVENTS",
    "SELECT first(x.v) AS f, last(x.v) AS l MATCH (A ; B) AS x FILTER x[same(sid)] WITHIN 10 EVENTS",
    "SELECT first(x.v) AS f, x.v MATCH (A ; B) AS x FILTER x[same(sid)] PARTITION BY v WITHIN 9 SECONDS",
    "SELECT a.v MATCH A AS a ; B PARTITION BY sid WITHIN 3 SECONDS",
    "SELECT a.v MATCH A AS a : B PARTITION BY sid WITHIN 10 EVENTS",
    "SELECT a.v MATCH A AS a ; B FILTER a.v * 1.5 <> 0 PARTITION BY sid, v WITHIN 3 SECONDS",
]


def ever_new(batch: int, size: int = 40) -> pa.Table:
    """An A, then a B of each id, a second apart; each tenth id has only an A. `v` tells pairs of ids apart."""
    numbers = np.arange(batch * size, (batch + 1) * size)
    ids = numbers // 2
    kinds = np.where(numbers % 2 == 0, "A", np.where(ids % 10 == 0, "C", "B"))
    times = [EPOCH + datetime.timedelta(seconds=int(number)) for number in numbers]
    return pa.table(
        [pa.array(kinds), pa.array([f"id-{number}" for number in ids]), pa.array(ids // 2), pa.array(times)], SCHEMA
    )


def sizes(running: Any) -> list[int]:
    """How much a session holds of each kind of thing."""
    machine = running.matcher.machine
    strings = [len(machine.strings.texts())] if hasattr(machine, "strings") else []
    return [
        len(running.incoming.partitions.keys),
        len(running.incoming.partitions.partitions),
        len(running.incoming.partitions.counts),
        running.matcher.store.rows,
        *strings,
    ]


@pytest.mark.parametrize("text", thinned(COMING_AND_GOING, 2))
def test_values_that_come_and_go_leave_nothing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query, batches = ac.query(text), 30
    whole = pa.concat_tables([ever_new(number) for number in range(batches)])
    expected = query.run(whole, order_by="ts", method="automaton").to_pylist()
    assert query.run(whole, order_by="ts").to_pylist() == expected
    monkeypatch.setattr(growing, "SLACK", 20)
    running, found, held, snapshots = query.open(SCHEMA, order_by="ts"), [], [], []
    for number in range(batches):
        found += running.push(ever_new(number)).to_pylist()
        held.append(max(sizes(running)))
        if number % 7 == 6:
            snapshots.append(len(running.snapshot()))
            running = query.resume(running.snapshot())
    assert found == expected
    assert max(held) <= 160, "what one batch brings, what is open, and as much again"
    assert max(snapshots) <= 1.2 * min(snapshots)


def test_positions_that_are_shown_are_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "SLACK", 0)
    query = ac.query("SELECT start, end MATCH A ; B PARTITION BY sid WITHIN 3 SECONDS")
    table = pa.concat_tables([ever_new(number % 3).set_column(3, "ts", ever_new(number)["ts"]) for number in range(9)])
    running = query.open(SCHEMA, order_by="ts")
    found = [row for at in range(0, len(table), 40) for row in running.push(table.slice(at, 40)).to_pylist()]
    assert found == query.run(table, order_by="ts", method="automaton").to_pylist()
    assert {row["start"] for row in found} == {1, 3, 5}


@pytest.mark.parametrize("window", ["10 SECONDS", "100000 EVENTS"])
def test_state_is_the_sum_over_keys(window: str) -> None:
    """One key with many open matches among many with one: not as many for each."""
    query = ac.query(f"SELECT a.v MATCH A AS a ; B AS b FILTER a.v > b.v PARTITION BY sid WITHIN {window}")
    keys, wide = 2_000, 500
    ids = [f"k{min(number, keys)}" for number in range(keys + wide)]

    def events(ids: list[str], at: datetime.timedelta) -> pa.Table:
        times = [EPOCH + at + datetime.timedelta(microseconds=number) for number in range(len(ids))]
        return pa.table([pa.array(["A"] * len(ids)), pa.array(ids), pa.array(range(len(ids))), pa.array(times)], SCHEMA)

    running = query.open(SCHEMA, order_by="ts")
    running.push(events(ids, datetime.timedelta()))
    slots = running.matcher.machine.slots
    assert int(slots.count.max()) == wide
    assert len(slots.state) <= 8 * len(ids)
    assert len(running.snapshot()) <= 300 * len(ids)
    if window.endswith("SECONDS"):
        running.push(events(["k0"], datetime.timedelta(minutes=1)))
        assert len(running.snapshot()) <= 10_000
        assert len(slots.state) <= 100


def test_dictionaries_of_values_that_do_not_occur_are_no_keys() -> None:
    dictionary = pa.DictionaryArray.from_arrays(pa.array([3, None, 3], pa.int32()), pa.array(["x", None, "y", "z"]))
    table = pa.table({"type": ["A", "A", "B"], "k": dictionary})
    running = ac.query("SELECT start, end MATCH A ; B PARTITION BY k").open(table.schema)
    assert running.push(table).to_pylist() == [{"start": 1, "end": 2}]
    assert running.incoming.partitions.keys.values() == [("z",), (None,)]


@pytest.mark.parametrize(
    "kind",
    [
        "int8",
        "int64",
        "float",
        "double",
        "string",
        "large_string",
        "bool",
        "date32[day]",
        "timestamp[us]",
        "duration[s]",
    ],
)
def test_keys_of_all_kinds_come_back_as_they_were(kind: str) -> None:
    plain = pa.array([1, 0, None, 1, 0, None, 1], pa.int64())
    if kind in ("date32[day]",):
        plain = plain.cast(pa.int32())
    column = plain.cast(pa.type_for_alias(kind))
    table = pa.table({"type": ["A"] * 7, "k": column, "l": [1, 1, 1, 2, 2, 2, 1]})
    query = ac.query("SELECT start, end, l MATCH A ; A PARTITION BY k, l")
    running = query.open(table.schema)
    running.push(table.slice(0, 6))
    later = query.resume(running.snapshot())
    assert later.incoming.partitions.keys.values() == running.incoming.partitions.keys.values()
    assert len(later.incoming.partitions.keys) == 6
    assert later.push(table.slice(6)).to_pylist() == [{"start": 1, "end": 2, "l": 1}]


def test_zero_and_nan_are_one_key_each() -> None:
    values = pa.array([0.0, -0.0, float("nan"), -float("nan"), None, None])
    running = ac.query("SELECT start, end MATCH A ; A PARTITION BY k").open({"type": str, "k": float})
    assert running.push(pa.table({"type": ["A"] * 6, "k": values})).num_rows == 3
    assert len(running.incoming.partitions.keys) == 3


def test_batches_are_cut_where_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are forgotten within one push, too."""
    monkeypatch.setattr(session, "ROWS_AT_ONCE", 64)
    monkeypatch.setattr(growing, "SLACK", 20)
    query = ac.query("SELECT a.v MATCH A AS a ; B PARTITION BY sid WITHIN 3 SECONDS")
    running = query.open(SCHEMA, order_by="ts")
    running.push(ever_new(0, size=2_000))
    assert len(running.incoming.partitions.keys) <= 150
