"""Batches of some thousand rows become few large ones, in which nothing is lost."""

import pyarrow as pa
import pytest

from acelera.spark import arrow_batches
from acelera.spark.arrow_batches import gathered


def batch(*values: int) -> pa.RecordBatch:
    return pa.record_batch(
        {"c0": pa.array(values, pa.int64()), "c1": pa.array([f"text {value}" for value in values], pa.string())}
    )


def test_batches_are_gathered_until_they_have_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_batches, "ROWS_AT_ONCE", 4)
    found = list(gathered(iter([batch(1, 2), batch(3), batch(4, 5, 6), batch(), batch(7)]), ["v", "s"]))
    assert [each.column("v").to_pylist() for each in found] == [[1, 2, 3, 4, 5, 6], [7]]
    assert [each.column("s")[0].as_py() for each in found] == ["text 1", "text 7"]


def test_a_few_large_rows_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_batches, "MOST_BYTES", 1)
    assert [each.num_rows for each in gathered(iter([batch(1), batch(2, 3)]), ["v", "s"])] == [1, 2]


def test_batches_are_taken_only_when_they_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_batches, "ROWS_AT_ONCE", 2)
    coming = iter([batch(1, 2), batch(3, 4)])
    assert next(gathered(coming, ["v", "s"])).num_rows == 2
    assert next(coming).column("c0").to_pylist() == [3, 4]


def test_nothing_is_made_of_nothing() -> None:
    assert list(gathered(iter([]), ["v", "s"])) == []
