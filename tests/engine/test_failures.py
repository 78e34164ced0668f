"""A push that fails leaves the session as it was, or closed: it never goes on with half of a batch."""

import contextlib
import datetime
import functools
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from tiers import thinned

EPOCH = datetime.datetime(2024, 1, 1)
SCHEMA = pa.schema(
    {"type": pa.string(), "v": pa.int64(), "d": pa.decimal128(20, 2), "k": pa.string(), "ts": pa.timestamp("us")}
)
QUERIES = [
    "SELECT start, end, a.v AS x, b.v AS y MATCH A AS a ; B AS b PARTITION BY k WITHIN 20 EVENTS",  # tables
    "SELECT start, end, a.k AS x MATCH A AS a ; B AS b FILTER a.k < b.k AND a.v <= b.v WITHIN 5 SECONDS",  # registers
    "SELECT start, end MATCH A AS a ; B AS b FILTER a.d * 2 <> b.d PARTITION BY k",  # by value
    "SELECT start, end, sum(x.v) AS s MATCH (A ; B) AS x FILTER x[same(k)] WITHIN 6 SECONDS",  # split
    "SELECT start, end, a.v AS x MATCH (A AS a ; B AS b) UNLESS (C ; C) WITHIN 6 SECONDS",  # guards
]


def batch(first: int, kinds: str) -> pa.Table:
    """An event a second."""
    rows = [
        {"type": kind, "v": at, "d": at % 3, "k": "xyz"[at % 3], "ts": EPOCH + datetime.timedelta(seconds=at)}
        for at, kind in enumerate(kinds, first)
    ]
    return pa.Table.from_pylist(rows, SCHEMA)


BATCHES = [batch(0, "ABCAB"), batch(5, "CABAC"), batch(10, "BBACB")]


query = functools.cache(ac.query)


def opened(text: str) -> Any:
    """A session that has read the first batch."""
    session = query(text).open(SCHEMA, order_by="ts")
    session.push(BATCHES[0])
    return session


def go_on(session: Any) -> list[Any]:
    """What the other batches give, with a snapshot between them."""
    found = session.push(BATCHES[1]).to_pylist()
    session.snapshot()
    return found + session.push(BATCHES[2]).to_pylist()


def as_it_was_or_closed(session: Any, expected: list[Any]) -> str:
    """Which of the two a session is after a failure; anything else fails the test."""
    try:
        found = go_on(session)
    except ac.UsageError as error:
        assert "open another session, or resume a snapshot" in str(error)
        with pytest.raises(ac.UsageError, match="open another session"):
            session.snapshot()
        return "closed"
    assert found == expected
    return "as it was"


# --- failures at every step ---------------------------------------------------------------------------------------


class Injected(BaseException):
    """Stands for what may come at any moment: Ctrl-C, no more memory."""


@contextlib.contextmanager
def failing_at(step: int) -> Iterator[None]:
    """Raise when so many functions of the engine have been entered or gone on."""
    left = step

    def trace(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        if frame.f_globals.get("__name__", "").startswith("acelera.engine"):
            left -= 1
            if left == 0:
                raise Injected

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)


def outcomes_at_every_step(text: str, fails: Callable[[Any], object]) -> set[str]:
    """Let something fail at each of its steps in turn, and see what the session is afterwards."""
    expected = go_on(opened(text))
    found, step = set(), 0
    while True:
        step += 1
        session = opened(text)
        try:
            with failing_at(step):
                fails(session)
        except Injected:
            found.add(as_it_was_or_closed(session, expected))
        else:
            return found  # it has no more steps than this


@pytest.mark.parametrize("text", thinned(QUERIES, 4))
def test_a_push_that_is_interrupted_anywhere(text: str) -> None:
    assert outcomes_at_every_step(text, lambda session: session.push(BATCHES[1])) == {"as it was", "closed"}


@pytest.mark.parametrize("text", thinned(QUERIES, 4))
def test_a_snapshot_that_is_interrupted_anywhere(text: str) -> None:
    assert outcomes_at_every_step(text, lambda session: session.snapshot()) == {"as it was", "closed"}


@pytest.mark.parametrize("text", QUERIES)
def test_forgetting_that_is_interrupted_anywhere(text: str) -> None:
    assert "closed" in outcomes_at_every_step(text, lambda session: session.compact())


# --- failures of data ---------------------------------------------------------------------------------------------


def bad_text(*texts: bytes) -> Any:
    """An array of strings that nobody has looked at."""
    offsets = np.cumsum([0, *map(len, texts)], dtype=np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(texts), [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(texts))]
    )


def with_column(table: pa.Table, name: str, column: Any) -> pa.Table:
    return table.set_column(table.column_names.index(name), name, column)


ODD = bad_text(b"x", b"y", b"ok \xff\xfe", b"z", b"\xe9t\xe9")


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize(
    ("table", "says"),
    [
        (with_column(BATCHES[1], "type", ODD), "row 8: the column `type` of type string cannot be read: the bytes ff"),
        (
            with_column(BATCHES[1], "type", ODD.dictionary_encode()),
            "row 8: the column `type` of type dictionary.* cannot be read: the bytes ff are not UTF-8",
        ),
        (BATCHES[1].take([0, 2, 1]), "row 8 is out of order"),
        (BATCHES[0], "row 6 comes before the last row"),
        (BATCHES[1].take([0, 1, 1]), "rows 7 and 8 tie"),
        (with_column(BATCHES[1], "ts", pa.nulls(5, pa.timestamp("us"))), "row 6"),
        (with_column(BATCHES[1], "v", pa.array(["one"] * 5)), "the column `v` is string in this batch"),
    ],
)
def test_what_is_refused_leaves_no_trace(text: str, table: pa.Table, says: str) -> None:
    if "`v`" in says and "v" not in opened(text).incoming.columns:
        pytest.skip("nobody looks at the column")
    expected, session = go_on(opened(text)), opened(text)
    before = session.snapshot()
    with pytest.raises((ac.DataError, ac.SchemaError), match=says):
        session.push(table)
    assert session.snapshot() == before or "PARTITION" in text  # a key may be known that has no events
    assert as_it_was_or_closed(session, expected) == "as it was"


@pytest.mark.parametrize("method", ["engine", "automaton", "semantics"])
@pytest.mark.parametrize("name", ["type", "k"])
def test_all_methods_name_the_row_of_bad_text(method: str, name: str) -> None:
    table = with_column(BATCHES[1], name, ODD)
    with pytest.raises(ac.DataError, match=f"row 3: the column `{name}` of type string cannot be read: the bytes ff"):
        ac.query("SELECT start MATCH A FILTER A[k > 'a']").run(table, order_by="ts", method=method)


def test_rows_of_a_table_keep_their_numbers_when_it_is_sorted() -> None:
    table = with_column(BATCHES[1], "k", ODD).take([4, 3, 2, 1, 0])
    with pytest.raises(ac.DataError, match="row 1: the column `k`"):
        ac.query("SELECT a.k MATCH A AS a").run(table.slice(0, 2), order_by="ts")


def overflowing() -> tuple[Any, pa.Table]:
    session = ac.query("SELECT start, sum(a.v) AS s MATCH A+ AS a").open(SCHEMA, order_by="ts")
    return session, with_column(batch(5, "AA"), "v", pa.array([2**62, 2**62]))


def overflowing_in_a_condition() -> tuple[Any, pa.Table]:
    text = "SELECT start MATCH (A+ AS a AGG m[s <- sum(a.v)]) FILTER m.s > 0"
    session = ac.query(text).open(SCHEMA, order_by="ts")
    return session, with_column(batch(5, "AA"), "v", pa.array([2**62, 2**62]))


def raising() -> tuple[Any, pa.Table]:
    ac.aggregate("sulk", lift=lambda value: 1 // (value - 6), combine=max, identity=0, returns="int")
    return ac.query("SELECT sulk(a.v) AS s MATCH A+ AS a").open(SCHEMA, order_by="ts"), batch(5, "AA")


@pytest.mark.parametrize("made", [overflowing, overflowing_in_a_condition, raising])
def test_an_aggregate_that_fails_closes_the_session(made: Callable[[], tuple[Any, pa.Table]]) -> None:
    session, table = made()
    with pytest.raises(ac.AggregateError):
        session.push(table)
    with pytest.raises(ac.UsageError, match=r"was not read to its end.*open another session, or resume a snapshot"):
        session.push(batch(9, "A"))


def test_a_reader_that_goes_away_closes_the_session() -> None:
    session = opened("MATCH A ; B")
    stream = session.stream(BATCHES[1])
    next(stream)
    stream.close()
    with pytest.raises(ac.UsageError, match="its matches were not all taken; open another session"):
        session.push(BATCHES[2])


def test_a_stream_that_nobody_reads_changes_nothing() -> None:
    session = opened(QUERIES[0])
    session.stream(BATCHES[2])
    assert as_it_was_or_closed(session, go_on(opened(QUERIES[0]))) == "as it was"
