"""Sessions: however a stream is cut into batches, and wherever it is taken up again, the matches are the same."""

import datetime
import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import acelera as ac
from acelera.language import ast
from strategies import cases, computing, sometimes_absences, unordered
from tiers import thinned

EPOCH = datetime.datetime(2024, 1, 1)


def shown(table: pa.Table) -> list[str]:
    return sorted(repr(unordered(row)) for row in table.to_pylist())


@st.composite
def timed_cases(draw: st.DrawFn) -> tuple[ac.Query, pa.Table]:
    """A query and a stream with up to 50 keys, with time, in order."""
    formula, table = draw(cases())
    size = table.num_rows
    keys = draw(st.lists(st.integers(0, draw(st.sampled_from([0, 1, 3, 49]))), min_size=size, max_size=size))
    steps = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
    times = [EPOCH + datetime.timedelta(seconds=int(second)) for second in np.cumsum(steps)]
    table = table.append_column("k", pa.array(keys, pa.int64()))
    table = table.append_column("ts", pa.array(times, pa.timestamp("us")))
    events = st.builds(ast.Within, st.integers(1, 6), st.just("events"))
    within = draw(st.none() | events | st.builds(ast.Within, st.integers(1, 9), st.just("seconds")))
    partition_by = draw(st.sampled_from([(), (ast.Key("k"),), (ast.Key("k"), ast.Key("s"))]))
    formula = draw(sometimes_absences(formula))
    tree = ast.Query(formula, partition_by=partition_by, within=within)
    tree = draw(computing(tree, timed=True)) if draw(st.booleans()) else tree
    try:  # what is compared with a match afterwards must be there in the end
        query = ac.query(tree)
        query.check(table.schema, order_by="ts")
    except ac.QueryCheckError:
        assume(False)
    return query, table


@pytest.mark.property
@given(case=timed_cases(), data=st.data())
def test_batches_and_snapshots_change_nothing(case: tuple[ac.Query, pa.Table], data: st.DataObject) -> None:
    query, table = case
    try:
        expected = query.run(table, order_by="ts", method="automaton")
    except ac.AggregateError:
        assume(False)
    assert shown(query.run(table, order_by="ts")) == shown(expected)
    cuts = sorted({0, table.num_rows, *data.draw(st.lists(st.integers(0, table.num_rows), max_size=4))})
    session = query.open(table.schema, order_by="ts")
    found = []
    for begin, end in itertools.pairwise(cuts):
        found.append(session.push(table.slice(begin, end - begin)))
        if data.draw(st.booleans()):
            session = query.resume(session.snapshot())
        if data.draw(st.booleans()):
            session.compact()
    found.append(session.finish())
    together = pa.concat_tables(found)
    assert shown(together) == shown(expected)


QUERIES = [
    "MATCH A ; B+ ; C WITHIN 20 EVENTS",  # tables
    "MATCH A AS a ; B AS b FILTER a.v < b.v WITHIN 20 EVENTS",  # registers
    "MATCH A AS a ; B AS b FILTER a.d <> b.d WITHIN 20 EVENTS",  # by value
    "MATCH (A ; C) UNLESS B WITHIN 20 EVENTS",
    "MATCH (A+ AS x AGG m[hi <- max(x.v)] PROJECT m) WITHIN 8 EVENTS",
    "SELECT sum(x.v) AS total MATCH (A ; B+ ; C) AS x PARTITION BY k WITHIN 10 SECONDS",
    "MATCH (A ; B) AS x FILTER x[same(s)] WITHIN 30 EVENTS",
    "MATCH START(A) ; C WITHIN 50 EVENTS",
]


def long_stream(size: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.cumsum(rng.integers(1, 3, size))
    return pa.table(
        {
            "type": rng.choice(["A", "B", "C", "D", "E"], size),
            "v": rng.integers(0, 50, size),
            "d": pa.array(rng.integers(0, 50, size)).cast(pa.decimal128(21, 2)),
            "s": rng.choice(["x", "y", "z"], size),
            "k": rng.integers(0, 7, size),
            "ts": pa.array(seconds * 1_000_000, pa.timestamp("us")),
        }
    )


@pytest.mark.parametrize("text", thinned(QUERIES, 2))
def test_memory_is_reclaimed_without_losing_matches(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows and nodes are forgotten again and again while a long stream is read."""
    table = long_stream(1_500)
    query = ac.query(text)
    expected = query.run(table, order_by="ts")
    session = query.open(table.schema, order_by="ts")
    found = []
    for begin in range(0, table.num_rows, 50):
        found.append(session.push(table.slice(begin, 50)))
        session.compact()
        assert session.matcher.store.rows < 400
        assert session.matcher.machine.arena.size < 20_000
    together = pa.concat_tables(found)
    assert shown(together) == shown(expected)
    places = [name for name in ("end_time", "start_time") if name in together.column_names]
    assert together.select(places).to_pylist() == expected.select(places).to_pylist()
    judged = query.run(table.slice(0, 400), order_by="ts", method="automaton")
    assert shown(query.run(table.slice(0, 400), order_by="ts")) == shown(judged)


@pytest.mark.parametrize("text", QUERIES)
def test_small_arenas_grow(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever runs full is emptied or enlarged, and nothing is lost."""
    from acelera.engine.nodes import arena, starts
    from acelera.engine.session import session

    table = long_stream(2_000)
    expected = ac.query(text).run(table, order_by="ts").to_pylist()
    monkeypatch.setattr(arena, "LISTED_MATCHES", 7)
    monkeypatch.setattr(arena, "LISTED_MARKS", 11)
    monkeypatch.setattr(session, "ROWS_AT_ONCE", 64)
    made = arena.Arena.__init__
    monkeypatch.setattr(arena.Arena, "__init__", lambda self: made(self, nodes=4, hits=2))
    monkeypatch.setattr(starts.NewestStarts.__init__, "__defaults__", (2,))
    found = ac.query(text).run(table, order_by="ts").to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    places = [(row["end_time"], row["start_time"]) for row in found if "end_time" in row]
    assert places == sorted(places)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT a.v AS x, b.v AS y MATCH A AS a ; B AS b PARTITION BY k WITHIN 5 SECONDS",
        "SELECT a.v AS x, b.v AS y MATCH A AS a ; B AS b FILTER a.v < b.v PARTITION BY k, s WITHIN 5 SECONDS",
        "SELECT a.v AS x, b.v AS y MATCH A AS a ; B AS b FILTER a.d + 1 < b.d PARTITION BY k WITHIN 5 SECONDS",
        "SELECT x.v MATCH (A ; B) AS x FILTER x[same(s)] PARTITION BY k WITHIN 5 SECONDS",
        "SELECT first(x.v) AS f, last(x.v) AS l MATCH (A ; B) AS x FILTER x[same(k)] WITHIN 5 SECONDS",
        "SELECT first(x.v) AS f MATCH (A ; B) AS x AGG m[l <- last(x.v)] FILTER m.l > 9 AND x[same(s)] PARTITION BY k WITHIN 5 SECONDS",
        "SELECT a.v AS x, b.v AS y MATCH (A AS a ; B AS b) UNLESS (C ; D) PARTITION BY k WITHIN 5 SECONDS",
        "SELECT a.v AS x MATCH A AS a ; ((B AS b ; C AS c) UNLESS A FILTER b.v < c.v) PARTITION BY k WITHIN 5 SECONDS",
        "SELECT a.v AS x MATCH (A AS a ; B AS b) UNLESS (C AS c ; D AS d FILTER c.d + 1 < d.d) PARTITION BY k WITHIN 5 SECONDS",
    ],
)
def test_idle_keys_are_forgotten_without_losing_matches(text: str) -> None:
    table = long_stream(1_000)
    query = ac.query(text)
    expected = query.run(table, order_by="ts")
    session, found = query.open(table.schema, order_by="ts"), []
    for begin in range(0, table.num_rows, 20):
        found.append(session.push(table.slice(begin, 20)))
        session.compact()
        if begin % 100 == 0:
            session = query.resume(session.snapshot())
        assert len(session.incoming.partitions.keys) <= 5
    assert shown(pa.concat_tables(found)) == shown(expected)


# --- what is refused ----------------------------------------------------------------------------------------------


def session_of(text: str = "MATCH A ; B", **options: Any) -> Any:
    return ac.query(text).open({"type": str, "v": int, "ts": datetime.datetime}, order_by="ts", **options)


def at(second: int, kind: str = "A") -> dict[str, Any]:
    return {"type": kind, "v": second, "ts": EPOCH + datetime.timedelta(seconds=second)}


def test_batches_must_be_in_order() -> None:
    session = session_of()
    session.push([at(5)])
    with pytest.raises(ac.DataError, match="row 2 comes before the last row of the batch before it"):
        session.push([at(4)])
    with pytest.raises(ac.DataError, match="row 3 is out of order: ts = 2024-01-01 00:00:06 after 2024-01-01 00:00:08"):
        session.push([at(8), at(6)])
    assert session.push([at(9, "B")]).num_rows == 1  # what was refused left no trace


def test_ties_across_batches() -> None:
    session = session_of()
    session.push([at(1), at(2)])
    with pytest.raises(ac.DataError, match="rows 2 and 3 tie"):
        session.push([at(2)])
    keyed = session_of("MATCH A ; B PARTITION BY v")
    keyed.push([at(1), {**at(1), "v": 7}])
    keyed.push([{**at(1), "v": 8}])
    with pytest.raises(ac.DataError, match=r"rows 2 and 4 tie.* within the partition v = 7"):
        keyed.push([{**at(1), "v": 7}])
    assert session_of(ties="keep").push([at(1), at(1, "B")]).num_rows == 1


def test_columns_must_be_those_of_the_schema() -> None:
    session = session_of("MATCH A AS x FILTER x.v > 1")
    with pytest.raises(ac.SchemaError, match="the batch has no column `v`"):
        session.push([{"type": "A", "ts": EPOCH}])
    with pytest.raises(ac.SchemaError, match="the column `v` is string in this batch, but int64 in the stream"):
        session.push([{**at(1), "v": "one"}])
    one = at(1)
    twice = pa.table([[one["type"]], [one["ts"]], [1], [2]], names=["type", "ts", "v", "v"])
    with pytest.raises(ac.SchemaError, match="the column `v` occurs twice"):
        session.push(twice)
    assert session.push([]).num_rows == 0


class Counted:
    """A table that counts how often it is asked for the names of all its columns."""

    def __init__(self, table: pa.Table) -> None:
        self.columns, self._names, self.asked = table.columns, table.column_names, 0

    @property
    def column_names(self) -> list[str]:
        self.asked += 1
        return self._names


def test_the_work_for_a_batch_does_not_grow_with_the_square_of_its_columns() -> None:
    wide = pa.table({"type": ["A"], **{f"c{number}": [number] for number in range(50)}})
    session, counted = ac.query("SELECT * MATCH A AS x").open(wide.schema), Counted(wide)
    assert session.conform(counted).equals(wide)  # type: ignore[arg-type]  # it looks at no more than that
    assert counted.asked == 1


def test_a_list_of_batches_is_a_source() -> None:
    query, rows = ac.query("SELECT start, end MATCH A ; B"), [{"type": kind} for kind in "AABB"]
    table = pa.Table.from_pylist(rows)
    for source in ([table.slice(0, 1), table.slice(1)], tuple(table.to_batches()), [rows[:2], rows[2:]]):
        assert query.stream(source).read_all().to_pylist() == query.run(rows).to_pylist()


def test_a_finished_session_reads_no_more() -> None:
    session = session_of()
    session.finish()
    with pytest.raises(ac.UsageError, match="this session is finished"):
        session.push([at(1)])


def test_matches_must_be_taken_before_going_on() -> None:
    session = session_of("MATCH A+ WITHIN 2 EVENTS")
    stream = session.stream([at(second) for second in range(5)])
    first = next(stream)
    with pytest.raises(ac.UsageError, match="have not all been taken"):
        session.push([at(9)])
    assert first.num_rows + sum(batch.num_rows for batch in stream) == 9  # five events, and four pairs
    assert session.push([at(9)]).num_rows == 2


def test_snapshots_belong_to_their_query() -> None:
    snapshot = session_of("MATCH A ; B").snapshot()
    with pytest.raises(ac.SnapshotError, match="belongs to another query"):
        ac.query("MATCH A ; C").resume(snapshot)
    with pytest.raises(ac.SnapshotError, match="another query"):
        ac.query("MATCH A ; B", bag_union="additive").resume(snapshot)
    with pytest.raises(ac.SnapshotError):
        ac.query("MATCH A ; B").resume(snapshot[:-1])
