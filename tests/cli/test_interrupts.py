"""Ctrl-C at any moment: one line, exit code 130, and nothing half-done."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from acelera.cli.interrupts import TerminatedError, end_on_interrupt, interrupts_raised
from tiers import slow

QUERY = "SELECT start, a.v AS low, max(b.v) AS top MATCH A AS a ; B+ AS b FILTER b[increasing(v)] WITHIN 6 EVENTS"


@pytest.mark.parametrize(
    ("arguments", "moments"),
    [
        (["run", "q.acel", "events.csv", "--in-process", "-o", "x.parquet"], 20),
        slow(["run", "q.acel", "events.csv", "--in-process", "-o", "x.csv"], 5),
        slow(["run", "q.acel", "events.csv", "--in-process", "-o", "x.json"], 5),
        slow(["run", "q.acel", "events.csv", "--in-process", "-o", "old", "--overwrite"], 5),
        slow(["report", "q.acel", "events.csv", "--in-process", "-o", "page.html"], 10),
        slow(["demo", "--in-process", "--events", "500"], 5),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, list) else "",
)
def test_ctrl_c_at_many_moments(arguments: list[str], moments: int, tmp_path: Path) -> None:
    (tmp_path / "q.acel").write_text(QUERY)
    lines = [f"{'ABAB'[number % 4]},{number * 7 % 11}" for number in range(200)]
    (tmp_path / "events.csv").write_text("\n".join(["type,v", *lines, ""]))
    (tmp_path / "page.html").write_text("the page of yesterday")
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "part-0.parquet").write_text("the matches of yesterday")
    script = Path(__file__).with_name("interrupting.py")
    given = [sys.executable, str(script), str(tmp_path), str(moments), *arguments]
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


TERMINATED = """
import os, pathlib, signal, sys
from acelera.cli import local, main

def terminated(*_):
    assert any(each.name.endswith(".partial") for each in pathlib.Path().iterdir())
    os.kill(os.getpid(), signal.SIGTERM)
    yield

local._found = terminated
main()
"""


def test_sigterm_leaves_nothing_half_done(tmp_path: Path) -> None:
    (tmp_path / "q.acel").write_text(QUERY)
    (tmp_path / "events.csv").write_text("type,v\nA,1\nB,2\n")
    given = [sys.executable, "-c", TERMINATED, "run", "q.acel", "events.csv", "--in-process", "-o"]
    for name in ("x.parquet", "folder"):
        done = subprocess.run([*given, name], capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (143, "terminated\n")
        assert sorted(each.name for each in tmp_path.iterdir()) == ["events.csv", "q.acel"]


def test_a_process_that_ignores_interrupts_goes_on_doing_so() -> None:
    before, at_terminating = signal.signal(signal.SIGINT, signal.SIG_IGN), signal.getsignal(signal.SIGTERM)
    try:
        end_on_interrupt()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        with interrupts_raised():
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, at_terminating)


def test_where_spark_is_waited_for_it_is_an_exception() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    at_terminating = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        end_on_interrupt()
        ends = signal.getsignal(signal.SIGINT)
        with interrupts_raised(), pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is ends is not signal.default_int_handler
        with interrupts_raised(), pytest.raises(TerminatedError):
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is ends
    finally:
        signal.signal(signal.SIGINT, before)
        signal.signal(signal.SIGTERM, at_terminating)
