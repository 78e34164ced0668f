"""What the machine refuses: a line that says so, an exit code, and nothing half-written."""

import errno
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import acelera as ac
from acelera.cli import main
from acelera.cli.sources import sources_of
from tiers import slow

FULL, FORBIDDEN = os.strerror(errno.ENOSPC), os.strerror(errno.EACCES)
QUERY = "SELECT start, a.v AS low MATCH A AS a ; A AS b WITHIN 3 EVENTS"
EVENTS = "type,v\n" + "".join(f"A,{number}\n" for number in range(50))


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.acel").write_text(QUERY)
    Path("events.csv").write_text(EVENTS)


def there() -> list[str]:
    return sorted(str(each) for each in Path().rglob("*"))


LIMITED = """
import resource, sys
from acelera.cli import main
from acelera.cli.sources import sources_of
main(["check", "q.acel"], standalone_mode=False)
resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))
main(sys.argv[1:])
"""
"""A program that can write files of so many bytes only, after all is read that it needs."""


SLOW = re.compile(r"^acelera: compiling its kernels|, \d+ s$")
"""What is said of work that takes long, as any may where the machine has much to do."""


def limited(*arguments: str, most: int = 16) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-c", LIMITED.format(most=most), *arguments]
    done = subprocess.run(given, capture_output=True, text=True, check=False, timeout=120)
    lines = done.stderr.splitlines(keepends=True)
    done.stderr = "".join(line for line in lines if not SLOW.search(line))
    return done


@pytest.mark.parametrize("name", ["x.parquet", slow("x.csv"), slow("x.json"), slow("folder")])
def test_no_room_for_matches(name: str) -> None:
    before = there()
    done = limited("run", "q.acel", "events.csv", "--in-process", "-o", name)
    assert (done.returncode, done.stderr) == (3, f"error: `{name}` cannot be written: File too large\n")
    assert there() == before


def test_no_room_for_a_page_or_a_picture() -> None:
    Path("report.html").write_text("the page of yesterday")
    Path("q.dot").write_text("the picture of yesterday")
    before = there()
    page = limited("report", "q.acel", "events.csv", "--in-process")
    assert (page.returncode, page.stderr) == (
        3,
        "error: the report cannot be written to `report.html`: File too large\n",
    )
    picture = limited("draw", "q.acel", "-o", "q.dot")
    assert (picture.returncode, picture.stderr) == (3, "error: `q.dot` cannot be written: File too large\n")
    assert there() == before
    assert Path("report.html").read_text() == "the page of yesterday"
    assert Path("q.dot").read_text() == "the picture of yesterday"


def test_no_room_for_the_demo() -> None:
    done = limited("demo", "--in-process", "--events", "100")
    assert done.returncode == 3
    assert done.stderr == "error: `acelera-demo/ticks.parquet` cannot be written: File too large\n"
    done = limited("demo", "--in-process", "--events", "100", most=20_000)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: the report cannot be written to `acelera-demo/")
    assert [each.name for each in Path("acelera-demo").iterdir()] == ["ticks.parquet"]


needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        slow(["check", "q.acel"]),
        slow(["explain", "q.acel"]),
        slow(["draw", "q.acel"]),
        ["run", "q.acel", "events.csv", "--in-process", "--quiet"],
        slow(["demo", "--in-process", "--events", "100"]),
    ],
    ids=lambda arguments: arguments[0],
)
def test_standard_output_is_full(arguments: list[str]) -> None:
    program = [sys.executable, "-c", "from acelera.cli import main; main()", *arguments]
    with open("/dev/full", "w") as full:
        done = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (3, f"error: {FULL}\n")


@needs_full
def test_a_device_is_written_to_as_it_is() -> None:
    device = os.stat("/dev/full").st_rdev
    done = CliRunner().invoke(main, ["draw", "q.acel", "-o", "/dev/full"])
    assert (done.exit_code, done.stderr) == (3, f"error: `/dev/full` cannot be written: {FULL}\n")
    with pytest.raises(ac.UsageError, match=f"the report cannot be written to `/dev/full`: {FULL}"):
        ac.query(QUERY).report([{"type": "A", "v": 1}], "/dev/full")
    done = CliRunner().invoke(main, ["run", "q.acel", "events.csv", "--in-process", "-o", "/dev/full", "--overwrite"])
    assert done.exit_code == 2 and "`/dev/full` is neither a file nor a folder" in done.stderr
    assert os.stat("/dev/full").st_rdev == device


def test_a_memory_that_is_full(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr("acelera.cli.local.sources_of", refuse)
    done = CliRunner().invoke(main, ["run", "q.acel", "events.csv", "--in-process"])
    assert (done.exit_code, done.output) == (3, "error: there is not enough memory\n")


# --- what is forbidden --------------------------------------------------------------------------------------------


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that nothing can be written into, whoever asks."""
    folder, access = Path("closed").absolute(), os.access
    folder.mkdir()
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and access(path, mode))
    return folder


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run", "q.acel", "nothing.csv", "--in-process", "-o", "closed/x.csv"], "there is no file or folder"),
        (["run", "q.acel", "events.csv", "--in-process", "-o", "closed/x.csv"], "`closed` cannot be written to"),
        (["report", "q.acel", "events.csv", "--in-process", "-o", "closed/x.html"], "closed` cannot be written to"),
        (["report", "q.acel", "events.csv", "--in-process", "-o", "closed/deep/x.html"], "closed` cannot be written"),
        (["draw", "q.acel", "-o", "closed/x.dot"], "`closed` cannot be written to"),
        (["draw", "q.acel", "-o", "nowhere/x.dot"], "there is no folder `nowhere` to write into"),
        (["draw", "q.acel", "-o", "closed"], "`closed` is a folder"),
    ],
)
def test_folders_that_cannot_be_written_to(arguments: list[str], says: str) -> None:
    before = there()
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2 and says in done.stderr, done.stderr
    assert there() == before


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, owner: object, name: str) -> Iterator[None]:
    def refuse(*_: object, **__: object) -> Any:
        raise PermissionError(errno.EACCES, FORBIDDEN)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, refuse)
        yield


def test_what_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("folder").mkdir()
    Path("schema.json").write_text('{"type": "string", "v": "int"}')
    with failing(monkeypatch, Path, "iterdir"):
        done = CliRunner().invoke(main, ["run", "q.acel", "folder", "--in-process"])
    assert done.exit_code == 2 and f"the folder `folder` cannot be read: {FORBIDDEN}" in done.stderr
    with failing(monkeypatch, Path, "read_text"):
        done = CliRunner().invoke(main, ["check", "q.acel", "--schema", "schema.json"])
    assert (done.exit_code, done.stderr) == (1, f"error: schema.json cannot be read: {FORBIDDEN}\n")
    with failing(monkeypatch, ac.cli.csv_files.pyarrow.csv, "open_csv"):
        done = CliRunner().invoke(main, ["run", "q.acel", "events.csv", "--in-process"])
    assert done.exit_code == 1 and done.stderr.startswith("error: `events.csv` cannot be read: ")
    assert done.stderr.count("\n") == 1


# --- several at once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.parquet", "x.csv", "x.json", "folder"])
def test_another_run_was_faster(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing was there when both began; `tests/test_files.py` lets several end at the same moment."""
    given = ["run", "q.acel", "events.csv", "--in-process", "-o", name]

    def overtaken(*arguments: Any) -> Any:
        patch.undo()
        assert CliRunner().invoke(main, given).exit_code == 0
        return sources_of(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("acelera.cli.local.sources_of", overtaken)
        done = CliRunner().invoke(main, given)
    assert ac.cli.local.sources_of is sources_of
    assert done.exit_code == 2, done.output
    assert f"`{name}` came to be there meanwhile; name another, or replace it with --overwrite" in done.stderr
