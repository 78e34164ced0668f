"""Far more matches than events: what workers say, and what ends them. None of this needs a Spark."""

import tempfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import acelera as ac
from acelera.cli.spark.spark_session import _Heard
from acelera.spark import floods
from acelera.spark.floods import MARK, MOST_PER_EVENT, most_per_event, watched_rows

TABLE = pa.table({"type": ["A"] * 1_500})
PAIRS = ac.query("SELECT start MATCH A ; A")


@pytest.fixture(autouse=True)
def _nothing_said_before() -> Iterator[None]:
    floods._said.clear()
    yield
    floods._said.clear()


def rows(most: float | None = None) -> int:
    session = PAIRS.open(TABLE.schema)
    return sum(batch.num_rows for batch in watched_rows(session, session.pages(TABLE), most))


def test_a_worker_says_it_once(capfd: pytest.CaptureFixture[str]) -> None:
    assert rows() == rows() == 1_500 * 1_499 // 2
    said = capfd.readouterr().err
    assert said.count(MARK) == 1 and "matches so far, over 1,500 events; KEEP" in said
    assert all(remedy in said for remedy in ("SUMMARIZE", "WITHIN", "limit=…"))


def test_a_run_ends_that_is_told_to() -> None:
    with pytest.raises(ac.TooManyMatchesError, match=f"in one task, and {MOST_PER_EVENT} is 100"):
        rows(100.0)
    assert rows(1_000.0)


@pytest.mark.parametrize(("said", "most"), [(None, None), ("1000", 1000.0), ("0", None), ("many", None)])
def test_the_setting(said: str | None, most: float | None) -> None:
    frame: Any = SimpleNamespace(sparkSession=SimpleNamespace(conf={MOST_PER_EVENT: said} if said else {}))
    if said is not None and most is None:
        with pytest.raises(ac.UsageError, match="is no number of matches"):
            most_per_event(frame)
    else:
        assert most_per_event(frame) == most


def test_the_command_line_hears_workers() -> None:
    heard = _Heard()
    assert heard.warnings() == []
    with tempfile.TemporaryFile() as log:
        log.write(b"starting\n")
        heard.listen_to(log)
        assert heard.warnings() == []
        log.write(f"24/01/01 WARN\n{MARK}many\n{MARK}ha".encode())
        log.flush()
        assert heard.warnings() == ["many"]
        log.write(b"lf\nelse\n")
        log.flush()
        assert heard.warnings() == ["half"]
