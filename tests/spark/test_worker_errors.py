"""What users read of what a worker raises; that Spark shows it so is tested with ties, in test_inputs.py."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator

import pytest

from acelera.errors import AggregateError, DataError
from acelera.spark.worker_errors import told_in_short


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is hidden here is shown again afterwards."""
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")


@told_in_short
def tied(before: int) -> Iterator[int]:
    yield before
    try:
        raise KeyError("what it came from")
    except KeyError:
        raise DataError("rows tie") from None


@told_in_short
def of_a_user() -> Iterator[int]:
    yield 1
    try:
        raise ZeroDivisionError
    except ZeroDivisionError as error:
        raise AggregateError("a function of your own") from error


def test_the_message_of_an_error_stands_alone() -> None:
    rows = tied(before=7)
    assert next(rows) == 7 and not os.environ["SPARK_HIDE_TRACEBACK"]
    with pytest.raises(DataError) as raised:
        next(rows)
    assert os.environ["SPARK_HIDE_TRACEBACK"]
    lines = traceback.format_exception(raised.value)
    assert lines[-1] == "acelera.errors.DataError: rows tie\n" and not any("KeyError" in each for each in lines)


def test_what_a_function_of_the_user_raised_is_shown() -> None:
    with pytest.raises(AggregateError) as raised:
        list(of_a_user())
    assert not os.environ["SPARK_HIDE_TRACEBACK"]
    assert "ZeroDivisionError" in "".join(traceback.format_exception(raised.value))
