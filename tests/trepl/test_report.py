"""Pages about programs over changes: what happened, what rules did when, and the words of rules."""

from pathlib import Path
from typing import Any

import pytest

import acelera as ac
from acelera import cdc
from acelera.errors import UsageError
from acelera.programs.report.page import data_of, page
from acelera.programs.report.run import Run

RULES = """
monitor update(stock) as tick, delete(stock) as gone, news; derived rise(id);
Rise: tick(X, X.price > X.old_price) -> rise(X.id), write('%s', X.id);
Again: tick(X, X.price > 11) -> rise(X.id);
Gone: (any, gone(X)) -> sql('delete from offers where id = ?', X.id);
"""
CHANGES = [
    {"ts": 3, "op": "d", "old": {"id": "a", "price": 12}, "new": None},
    {"ts": 1, "op": "i", "old": None, "new": {"id": "a", "price": 10}},
    {"ts": 2, "op": "u", "old": {"id": "a", "price": 10}, "new": {"id": "a", "price": 12}},
]
NEWS = [{"ts": 2, "text": "</script><b>"}]


def shown(events: int = 100, **options: Any) -> Run:
    sources = {"stock": cdc.changes(CHANGES, **options), "news": cdc.inserts(NEWS, **options)}
    return ac.trepl(RULES).findings(sources, {}, events)


def test_what_a_page_shows() -> None:
    run = shown()
    assert [(event.label, event.begin, event.derived, dict(event.fields)) for event in run.events] == [
        ("update(stock)", 2, False, {"id": "a", "price": 12, "old_id": "a", "old_price": 10}),
        ("news", 2, False, {"text": "</script><b>"}),
        ("rise", 2, True, {"stage": 1, "id": "a"}),
        ("Rise: write", 2, True, {"stage": 1, "arg1": "a", "message": "a"}),
        ("delete(stock)", 3, False, {"id": "a", "price": 12}),
        ("Gone: sql", 3, True, {"stage": 2, "arg1": "a", "command": "delete from offers where id = ?"}),
    ]
    assert {label: (count.base, count.derived) for label, count in run.counts.items()} == {
        "update(stock)": (1, 0), "news": (1, 0), "delete(stock)": (1, 0),
        "rise": (0, 1), "Rise: write": (0, 1), "Gone: sql": (0, 1),
    }  # fmt: skip
    assert not run.timestamps and data_of(run)["names"] == ["Rise", "Again", "Gone"]


def test_rules_are_told_by_their_numbers() -> None:
    run = shown()
    made = {event.label: [way.rule for way in event.made_from] for event in run.events if event.derived}
    assert made == {"rise": [0], "Rise: write": [0], "Gone: sql": [2]}
    assert [RULES[rule.start : rule.end].split(":")[0] for rule in run.rules] == ["Rise", "Again", "Gone"]


def test_the_first_are_shown_and_all_are_counted() -> None:
    run = shown(events=1)
    assert len(run.events) == 1 and run.counts["Gone: sql"].derived == 1
    with pytest.raises(UsageError, match="events=-1 is not a number of events to show"):
        shown(events=-1)


def test_times_that_are_timestamps() -> None:
    run = shown(time_unit="s")
    assert run.timestamps and run.zoned and run.events[0].begin == 2_000_000


def test_the_page_is_one_file_and_escapes_what_it_shows(tmp_path: Path) -> None:
    text = page(shown())
    assert "</script><b>" not in text and 'data-rule="2"' in text
    path = ac.trepl("monitor a; R: a(X) -> write(X.v);").report(
        {"a": cdc.inserts([{"ts": 1, "v": 2}])}, tmp_path / "pages" / "a.html"
    )
    assert path.read_text(encoding="utf-8").count("<html") == 1


def test_nothing_is_done_for_a_page() -> None:
    called: list[object] = []
    program = ac.trepl("monitor a; R: a(X) -> page(X.v);", {"page": lambda *given: called.append(given)})
    run = program.findings({"a": cdc.inserts([{"ts": 1, "v": 2}])}, {})
    assert run.counts["R: page"].derived == 1 and called == []
