"""How far a run is, for people and for logs."""

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from acelera.cli import main
from acelera.cli import progress as module
from acelera.cli.progress import Progress


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    yield now


def test_the_line(clock: list[float]) -> None:
    progress = Progress()
    progress.begin("reading", 1000)
    clock[0] += 2
    progress.advance(200, 3)
    assert progress.line == "reading: 200 of 1,000 events, 3 matches, 100 a second, 2 s, 8 s left"
    progress.begin("looking at types")
    assert progress.line == "looking at types, 3 matches, 2 s"
    progress.begin("running", unit="tasks")
    progress.reach(1, 4)
    assert progress.line == "running: 1 of 4 tasks, 3 matches, 2 s"


def test_lines_come_every_few_seconds(clock: list[float], capsys: pytest.CaptureFixture[str]) -> None:
    lines = module._Lines()
    lines.begin("reading")
    for _ in range(20):
        clock[0] += 1
        lines.advance(10)
    assert capsys.readouterr().err.splitlines() == [
        f"reading: {done} events, 10 a second, {seconds} s"
        for done, seconds in [(50, 5), (100, 10), (150, 15), (200, 20)]
    ]


def test_the_live_line_is_drawn_and_goes_away() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    with module._Live(console) as live:
        live.begin("reading", 10)
        live.advance(4)
        console.print(live._drawn())
        live.say("batch 0: done")
    drawn = screen.getvalue()
    assert "reading: 4 of 10 events" in drawn and "batch 0: done" in drawn
    assert "\x1b[?25h" in drawn  # the cursor is shown again


def test_a_run_tells_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "EVERY", 0.0)
    Path("t.csv").write_text("n,type\n1,A\n2,B\n")
    Path("q.acel").write_text("SELECT start, end MATCH A ; B")
    given = ["run", "q.acel", "t.csv", "--order-by", "n", "--in-process"]
    told = [line for line in CliRunner().invoke(main, given).stderr.splitlines() if "compiling" not in line]
    assert told[0].startswith("looking at types")
    assert any(line.startswith("looking at the order: 2 of 2 events") for line in told)
    assert any(line.startswith("reading: 2 of 2 events, 1 match") for line in told)
    assert told[-1].startswith("2 events, 1 match, ")
    quiet = CliRunner().invoke(main, [*given, "--quiet"])
    assert quiet.exit_code == 0 and quiet.stderr == ""
    assert "start" in quiet.stdout


def test_it_never_tells_of_more_events_than_there_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where they are sorted first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "EVERY", 0.0)
    Path("t.csv").write_text("n,type\n2,A\n1,B\n3,B\n")
    for text in ("SELECT start, end MATCH A ; B", "SUMMARIZE count(*) AS n MATCH A AS a ; B BY a.n"):
        Path("q.acel").write_text(text)
        done = CliRunner().invoke(main, ["run", "q.acel", "t.csv", "--order-by", "n", "--in-process"])
        assert done.exit_code == 0, done.output
        told = re.findall(r"([\d,]+) of ([\d,]+) events", done.stderr)
        assert told and all(int(done) <= int(total) for done, total in told), done.stderr


def test_a_warning_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("n,v\na9,1\nb10,2\n")
    Path("q.acel").write_text("SELECT start, end FROM A MATCH A AS a ; A AS b")
    done = CliRunner().invoke(main, ["run", "q.acel", "t.csv", "--order-by", "n", "--in-process"])
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert done.exit_code == 0 and len(warnings) == 1, done.stderr
