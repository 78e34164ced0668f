"""What a summary of an endless stream keeps: what is open, however many keys and texts have come and gone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import acelera as ac
from acelera.engine.storage import growing
from acelera.engine.storage.snapshots import pack, unpack
from acelera.engine.summaries import adaptive_summarizer
from acelera.engine.summaries.adaptive_summarizer import AdaptiveSummarizer
from acelera.engine.summaries.component_summarizer import ComponentSummarizer
from acelera.engine.summaries.flat_summarizer import FlatSummarizer
from acelera.engine.summaries.lazy_summarizer import LazySummarizer
from acelera.engine.summaries.object_summarizer import ObjectSummarizer
from acelera.engine.summaries.summary_session import SummarySession
from tiers import slow

BATCH, SLACK = 1_000, 500
NEVER = 1 << 60

TEXTS = "count(*), max(b.s), min(a.s), first(a.s), last(b.s)"
CASES: list[tuple[type, str]] = [
    (ComponentSummarizer, f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b BY a.user OVER 10 SECONDS"),
    (ComponentSummarizer, "SUMMARIZE count(*), max(b.s) MATCH A AS a ; B AS b BY a.user, b.s OVER 2 SECONDS"),
    (
        ComponentSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b BY a.user OVER 10 SECONDS EVERY 5 SECONDS",
    ),
    (
        ComponentSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b FILTER a.s < b.s BY a.user OVER 2 SECONDS",
    ),
    (
        ComponentSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b PARTITION BY user BY user OVER 10 SECONDS",
    ),
    (
        AdaptiveSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b PARTITION BY user WITHIN 30 SECONDS BY user, end_time",
    ),
    (
        ComponentSummarizer,
        "SUMMARIZE count(*), max(b.s), first(b.s) MATCH B AS b PARTITION BY user BY user OVER 4 EVENTS",
    ),
    (
        LazySummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b WITHIN 3 SECONDS BY a.user OVER 10 SECONDS",
    ),
    (LazySummarizer, f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b BY start, b.user OVER 3 SECONDS"),
    (
        AdaptiveSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b PARTITION BY user WITHIN 3 SECONDS BY user OVER 10 SECONDS",
    ),
    (AdaptiveSummarizer, f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b WITHIN 3 SECONDS BY end_time"),
    (
        FlatSummarizer,
        f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b PARTITION BY user BY user OVER 10 SECONDS EVERY 2 SECONDS",
    ),
    (FlatSummarizer, f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b OVER 10 SECONDS EVERY 1 SECOND"),
    (FlatSummarizer, f"SUMMARIZE {TEXTS} MATCH A AS a ; B AS b OVER 40 EVENTS EVERY 10 EVENTS"),
]
BY_VALUE = [
    f"SUMMARIZE product(b.v), {TEXTS} MATCH A AS a ; B AS b BY a.user OVER 1 SECOND",
    "SUMMARIZE count(*), max(m.l) MATCH A ; B+ AS b AGG m[n <- max(b.s), l <- last(b.s)] BY m.n OVER 1 SECOND",
    f"SUMMARIZE product(b.v), {TEXTS} MATCH A AS a ; B AS b PARTITION BY user WITHIN 1 SECOND BY user, a.s OVER 3 SECONDS",
    "SUMMARIZE product(b.v), count(*) MATCH B AS b PARTITION BY user BY user, b.s OVER 4 EVENTS",
]


def ever_new(size: int) -> pa.Table:
    """Ten events a second; each user has eight of them, close together, and each text comes twice."""
    rng, numbers = np.random.default_rng(1), np.arange(size)
    users = numbers // 32 * 4 + numbers % 4
    return pa.table(
        {
            "type": np.where(rng.random(size) < 0.5, "A", "B"),
            "user": pa.array([f"user {number}" for number in users.tolist()]),
            "s": pa.array([f"{number % 7} {number}" for number in (numbers // 2).tolist()]),
            "v": rng.integers(-1, 2, size),
            "ts": pa.array(numbers * 100, pa.timestamp("ms")),
        }
    )


def kept(session: SummarySession) -> int:
    """How many values have numbers, and of how many partitions a position is known."""
    summarizer = session.summarizer
    return max(summarizer.numbers, len(summarizer._last_position), len(summarizer._clock.last))


def stays_small(kind: type, text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stream that is pushed piece by piece, and taken up again now and then, keeps as much late as early; the rows
    are those of a run that forgets nothing.
    """
    query, table = ac.query(text), ever_new(size)
    options: dict[str, Any] = {"order_by": "ts"}
    monkeypatch.setattr(growing, "SLACK", NEVER)
    expected = query.run(table, **options)
    monkeypatch.setattr(growing, "SLACK", SLACK)
    session, found, held, snapshots = query.open(table.schema, **options), [], [], []
    for number, at in enumerate(range(0, size, BATCH)):
        found.append(session.push(table.slice(at, BATCH)))
        assert isinstance(session, SummarySession) and type(session.summarizer) is kind
        held.append(kept(session))
        if number % 3 == 2:
            snapshots.append(len(session.snapshot()))
            session = query.resume(session.snapshot())
    found.append(session.finish())
    rows = pa.concat_tables(found)
    keys = [(name, "ascending") for name in rows.column_names if name not in query_items(query)]
    assert rows.sort_by(keys).equals(expected.sort_by(keys)) and expected.num_rows > size // 200
    assert max(held) <= SLACK + 8 * BATCH, "what a batch brings, what is open, and as much again"
    if "OVER 4 EVENTS" not in text:
        assert max(snapshots) <= 1.5 * max(snapshots[: len(snapshots) // 3])  # else each partition is counted for ever


def query_items(query: ac.Query) -> set[str]:
    summary = query.clauses.summary
    assert summary is not None
    names = query.check(ever_new(2).schema, order_by="ts").names
    return set(names[-len(summary.items) :])


@pytest.mark.parametrize(("kind", "text"), CASES)
def test_keys_and_texts_that_come_and_go_leave_nothing(kind: type, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stays_small(kind, text, 200_000, monkeypatch)


@pytest.mark.parametrize("text", [text for kind, text in CASES if kind is AdaptiveSummarizer])
def test_matrices_keep_no_more(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(adaptive_summarizer, "NODES_PER_EVENT", 0)
    monkeypatch.setattr(adaptive_summarizer, "AT_FIRST", 5_000)
    stays_small(AdaptiveSummarizer, text, 200_000, monkeypatch)


@pytest.mark.parametrize("size", [20_000, slow(200_000)])
@pytest.mark.parametrize("text", BY_VALUE)
def test_values_that_come_and_go_leave_nothing(text: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stays_small(ObjectSummarizer, text, size, monkeypatch)


OPEN_FOR_EVER = [
    "SUMMARIZE count(*) MATCH A AS a BY a.user",
    "SUMMARIZE min(b.least) AS least MATCH A ; B AS b WITHIN 1 SECOND BY start",
    "SUMMARIZE product(b.v) MATCH B AS b BY b.user",
]


@pytest.mark.parametrize("text", OPEN_FOR_EVER)
def test_what_stays_open_is_looked_at_now_and_then(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is shared out over what has come: it is done again when there is twice as much. The texts of the second
    query are all new, but its many groups refer to few of them.
    """
    monkeypatch.setattr(growing, "SLACK", SLACK)
    query, table = ac.query(text), ever_new(60_000)
    texts = [f"{number:06}" if number % 3 else "0" for number in range(table.num_rows)]
    table = table.append_column("least", pa.array(texts))
    session, looked = query.open(table.schema, order_by="ts"), 0
    assert isinstance(session, SummarySession)
    forget = session.summarizer.forget_numbers

    def watched() -> None:
        nonlocal looked
        looked += 1
        forget()

    monkeypatch.setattr(session.summarizer, "forget_numbers", watched)
    for at in range(0, table.num_rows, 200):
        session.push(table.slice(at, 200))
    assert 1 <= looked <= 12
    assert session.finish().num_rows > 3_000


@pytest.mark.parametrize(
    ("text", "emptied"),
    [
        ("SUMMARIZE count(*) MATCH A AS a ; B BY a.user", "part0"),
        ("SUMMARIZE product(B.v) MATCH A AS a ; B BY a.user", "part.made"),
        ("SUMMARIZE count(*) MATCH A ; B PARTITION BY user BY user", "end0"),
        ("SUMMARIZE min(a.s) AS s MATCH A AS a ; B", "text.strings"),
        ("SUMMARIZE min(a.s) AS s MATCH A AS a ; B WITHIN 9 SECONDS", "text.strings"),
        ("SUMMARIZE min(a.s) AS s MATCH A AS a ; B OVER 9 SECONDS EVERY 3 SECONDS", "text.strings"),
        ("SUMMARIZE count(*) MATCH A ; B PARTITION BY user BY user OVER 9 SECONDS EVERY 3 SECONDS", "end0"),
        ("SUMMARIZE count(*) MATCH A AS a ; B WITHIN 9 SECONDS BY a.user", "part0"),
    ],
)
def test_numbers_of_a_snapshot_stand_for_something(text: str, emptied: str) -> None:
    query, table = ac.query(text), ever_new(100)
    session = query.open(table.schema, order_by="ts")
    session.push(table)
    sections = unpack(session.snapshot(), query._fingerprint)
    query.resume(pack(query._fingerprint, sections))
    nothing: dict[str, Any] = {emptied: [[]]}
    if emptied != "part.made":
        nothing = {f"{emptied}.data": np.zeros(0, np.uint8), f"{emptied}.at": np.zeros(1, np.int64)}
    assert set(nothing) <= set(sections)
    with pytest.raises(ac.SnapshotError, match="refers to something that is not there"):
        query.resume(pack(query._fingerprint, {**sections, **nothing}))
