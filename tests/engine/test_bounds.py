"""Too many matches: a limit, a warning, and an error before memory runs out."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import acelera as ac
from acelera.engine.nodes.matches import LISTED_MATCHES
from acelera.engine.session import bounds
from acelera.engine.storage import growing

FORTY = [{"type": "A", "v": number} for number in range(40)]
"""With A+ they have 2^40 matches."""
EVERY_CHOICE = ac.query("SELECT start, end MATCH A+")


@pytest.fixture(autouse=True)
def _one_page_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MANY_MATCHES", LISTED_MATCHES // 2)


def told(caught: list[warnings.WarningMessage]) -> list[str]:
    assert all(each.category is ac.AceleraWarning for each in caught)
    return [str(each.message) for each in caught]


def test_a_limit_ends_the_listing() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = EVERY_CHOICE.run(FORTY, limit=5)
    assert told(caught) == ["there are more matches than limit=5; these are the first of them, by where they end"]
    assert caught[0].filename == __file__
    assert result.to_pylist() == [
        {"start": 1, "end": 1},
        {"start": 1, "end": 2},
        {"start": 2, "end": 2},
        {"start": 1, "end": 3},
        {"start": 1, "end": 3},
    ]


@pytest.mark.parametrize("method", ["engine", "automaton", "semantics"])
def test_a_limit_that_is_not_reached_says_nothing(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert EVERY_CHOICE.run(FORTY[:3], limit=7, method=method).num_rows == 7
    with pytest.warns(ac.AceleraWarning, match="more matches than limit=6"):
        assert EVERY_CHOICE.run(FORTY[:3], limit=6, method=method).num_rows == 6


@pytest.mark.property
@pytest.mark.filterwarnings("ignore::acelera.AceleraWarning")
@given(st.text("AB", max_size=9), st.integers(1, 60))
def test_they_are_the_first_by_where_they_end(letters: str, limit: int) -> None:
    rows = [{"type": letter} for letter in letters]
    query = ac.query("SELECT start, end MATCH A+ ; B")
    if not rows:
        return
    every, first = query.run(rows), query.run(rows, limit=limit)
    assert first.num_rows == min(limit, every.num_rows)
    assert first.column("end").to_pylist() == every.column("end").to_pylist()[:limit]
    streamed = query.stream(iter([rows[:4], rows[4:]]), limit=limit) if rows[4:] else query.stream(rows, limit=limit)
    assert streamed.read_all().column("end") == first.column("end")


def test_a_stream_is_not_read_on() -> None:
    read = []

    def source() -> Iterator[Any]:
        for number in range(100):
            read.append(number)
            yield FORTY[:1]

    with pytest.warns(ac.AceleraWarning, match="more matches than limit=2"):
        assert EVERY_CHOICE.stream(source(), limit=2).read_all().num_rows == 2
    assert len(read) < 5


@pytest.mark.parametrize("limit", [0, -1, 1.5, "3", True])
def test_a_limit_is_a_number(limit: Any) -> None:
    for use in (EVERY_CHOICE.run, EVERY_CHOICE.stream):
        with pytest.raises(ac.UsageError, match="is not a number of matches"):
            use(FORTY, limit=limit)


# --- without a limit ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::acelera.AceleraWarning")
def test_too_many_to_put_into_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "MOST_MATCHES", 3 * LISTED_MATCHES)
    with pytest.raises(ac.TooManyMatchesError) as caught:
        EVERY_CHOICE.run(FORTY)
    message = str(caught.value)
    assert "over 40 events, and no more than 393,216 are put into one table" in message
    assert all(remedy in message for remedy in ("limit=", "WITHIN", "q.stream", ":+"))
    with pytest.raises(ac.TooManyMatchesError):
        EVERY_CHOICE.open({"type": str}).push([{"type": "A"}] * 40)
    assert EVERY_CHOICE.run(FORTY, limit=4 * LISTED_MATCHES).num_rows == 4 * LISTED_MATCHES


@pytest.mark.filterwarnings("ignore::acelera.AceleraWarning")
@pytest.mark.parametrize("limit", [None, 10**9])
def test_a_result_larger_than_memory(limit: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "memory", lambda: 64 << 20)
    with pytest.raises(ac.TooManyMatchesError, match="the result would be larger than 32 MiB, half of memory"):
        ac.query("MATCH A+").run(FORTY, limit=limit)


@pytest.mark.filterwarnings("ignore::acelera.AceleraWarning")
def test_memory_that_runs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("acelera.engine.results.presenter.Presenter.present", full)
    with pytest.raises(ac.TooManyMatchesError, match=r"over 40 events, and memory has run out\. KEEP"):
        EVERY_CHOICE.run(FORTY)


DOUBLING = [{"type": "A", "v": 2**number} for number in range(40)]
"""Each combination of these has a sum of its own."""


@pytest.mark.parametrize(
    "text",
    [
        "SELECT start, end MATCH A+ AS a AGG m[t <- sum(a.v)] FILTER m.t = -1",
        "SUMMARIZE stddev(m.t) AS t MATCH A+ AS a AGG m[t <- sum(a.v)]",
        "SUMMARIZE count(*) MATCH A AS a ; A+ AS b BY a.v, end",
    ],
)
def test_what_is_remembered_does_not_fill_memory(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "memory", lambda: 1 << 21)
    events = DOUBLING if "sum" in text else [{"type": "A", "v": number} for number in range(30_000)]
    with pytest.raises(ac.TooManyMatchesError, match=r"too many partial matches, .* a quarter of memory\. WITHIN"):
        ac.query(text).run(events)


def test_memory_is_known() -> None:
    assert 1 << 26 < bounds.memory() <= 1 << 63


def test_far_more_matches_than_events_are_told_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        session = EVERY_CHOICE.open({"type": str, "v": int})
        for row in FORTY[:19]:
            session.push([row])
    assert session.matches == 2**19 - 1
    (message,) = told(caught)
    assert " matches so far, over 17 events; KEEP" in message
    with pytest.warns(ac.AceleraWarning, match="matches so far, over 19 events"):
        EVERY_CHOICE.run(FORTY[:19])
    with pytest.warns(ac.AceleraWarning, match="matches so far, over 19 events"):
        EVERY_CHOICE.stream(FORTY[:19]).read_all()


def test_many_matches_of_many_events_are_not() -> None:
    rows = [{"type": "AB"[number % 2]} for number in range(4 * LISTED_MATCHES)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ac.query("SELECT start MATCH A : B").run(rows).num_rows == 2 * LISTED_MATCHES


def test_a_window_that_holds_everything_is_doubted() -> None:
    """Times that were made of seconds as if these were microseconds lie within any window."""
    table = pa.table({"type": ["A"] * 1_500, "ts": pa.array(range(1_500), pa.timestamp("us"))})
    query = ac.query("SELECT start MATCH A ; A WITHIN 5 SECONDS")
    with pytest.warns(ac.AceleraWarning, match=r"all of them within one window: .* the unit in which `ts` was made"):
        assert query.run(table, order_by="ts").num_rows == 1_500 * 1_499 // 2
    in_seconds = table.set_column(1, "ts", pa.array(range(1_500), pa.timestamp("s")))
    assert query.run(in_seconds, order_by="ts").num_rows == 5 * 1_500 - 15
