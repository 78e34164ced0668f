"""What is told about micro-batches, from what Spark tells."""

from types import SimpleNamespace
from typing import Any

import pytest

from acelera.cli.progress import Progress
from acelera.cli.spark.run_stream import MATCHES, _Totals


class Said(Progress):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        self.lines.append(line)


def batch(number: int, events: int, metrics: dict[str, Any], watermark: str = "1970-01-01T00:00:00.000Z") -> Any:
    return SimpleNamespace(
        batchId=number,
        numInputRows=events,
        durationMs={"addBatch": 1},
        observedMetrics=metrics,
        eventTime={"watermark": watermark},
    )


def told(*batches: Any) -> tuple[list[str], str]:
    said = Said()
    totals = _Totals(said)
    for size in range(len(batches) + 1):  # Spark tells of all of them again and again
        totals.read(SimpleNamespace(recentProgress=batches[:size]))
    return said.lines, totals.summary().rpartition(", ")[0]


def metrics(matches: int, late: int | None) -> dict[str, Any]:
    return {MATCHES: SimpleNamespace(rows=matches), "acelera-12345678": SimpleNamespace(late_events=late)}


@pytest.mark.parametrize("late", [0, 2])
def test_each_batch_is_told_once_and_all_are_summed_up(late: int) -> None:
    idle = batch(1, 0, {})
    idle.durationMs = {"latestOffset": 1}
    lines, summary = told(batch(0, 1000, metrics(1, None)), idle, batch(1, 5, metrics(2, late), "2024-01-02T09:00:00Z"))
    assert lines == [
        "batch 0: 1,000 events, 1 match, 0 late, no watermark yet",
        f"batch 1: 5 events, 2 matches, {late} late, watermark 2024-01-02T09:00:00Z",
    ]
    assert summary == "1,005 events, 3 matches" + (", 2 late events" if late else "")


def test_what_spark_does_not_count_is_left_out() -> None:
    lines, summary = told(batch(0, 7, {MATCHES: SimpleNamespace(), "acelera-12345678": SimpleNamespace()}))
    assert (lines, summary) == (["batch 0: 7 events, no watermark yet"], "7 events")


def test_what_ties_and_far_too_many_matches() -> None:
    counts = SimpleNamespace(late_events=0, tied=3, dropped=2)
    lines, summary = told(
        batch(0, 1000, {MATCHES: SimpleNamespace(rows=900_000), "acelera-12345678": counts}),
        batch(1, 1000, {MATCHES: SimpleNamespace(rows=900_000), "acelera-12345678": counts}),
        batch(2, 1000, {MATCHES: SimpleNamespace(rows=900_000), "acelera-12345678": counts}),
    )
    assert lines[0] == "batch 0: 1,000 events, 900,000 matches, 0 late, 3 tied, 2 dropped, no watermark yet"
    (warning,) = (line for line in lines if line.startswith("warning: "))
    assert "1,800,000 matches so far, over 2,000 events; KEEP" in warning and "--limit makes" in warning
    assert summary == "3,000 events, 2,700,000 matches, 9 tied, 6 dropped"
