"""Ctrl-C at many moments of a command: `python interrupting.py FOLDER MOMENTS ARGUMENT…` prints what went wrong.

Each run is a process of its own, in a copy of the folder, which sends the signal to itself at a certain call of a
function, in Python or in C. That these moments lie inside of the run is known from one that is left alone. A run that
is interrupted ends with one line and exit code 130, and each file is as it was, or as it is when all is done.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import acelera as ac
from acelera.cli import main


@dataclass(frozen=True)
class Outcome:
    """How a run ended, what it printed to standard error, how many calls were counted, and what its folder holds."""

    code: int
    told: str
    calls: int
    files: dict[str, bytes]


def outcome(folder: Path, arguments: list[str], moment: int | None) -> Outcome:
    """Run a command in a process of its own; it is interrupted at a moment, or not at all."""
    with tempfile.TemporaryDirectory() as logs, tempfile.TemporaryDirectory() as copied:
        copy, told, calls = Path(copied, "folder"), Path(logs, "told"), Path(logs, "calls")
        shutil.copytree(folder, copy)
        child = os.fork()
        if not child:
            _run(copy, arguments, moment, told, calls)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        found = {str(each.relative_to(copy)): each.read_bytes() for each in copy.rglob("*") if each.is_file()}
        return Outcome(code, told.read_text(), int(calls.read_text()) if calls.exists() else 0, found)


def _run(folder: Path, arguments: list[str], moment: int | None, told: Path, calls: Path) -> None:
    counted, code, raises = 0, 70, signal.getsignal(signal.SIGINT)

    def count(*_: object) -> None:
        nonlocal counted
        if counted or signal.getsignal(signal.SIGINT) is not raises:  # it has begun
            counted += 1
        if counted == moment:
            signal.raise_signal(signal.SIGINT)

    try:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT), 2)
        sys.argv = ["acelera", *arguments]
        sys.setprofile(count)
        main()
    except SystemExit as ended:
        sys.setprofile(None)
        calls.write_text(str(counted))
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def failures(folder: Path, moments: int, arguments: list[str]) -> Iterator[str]:
    """What goes wrong at so many moments, evenly spread over the run."""
    before = {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}
    outcome(folder, arguments, None)  # which compiles what it needs
    whole = outcome(folder, arguments, None)
    if whole.code or whole.files == before or whole.calls < moments:
        yield f"left alone, it ends with {whole}"
        return
    for number in range(moments):
        moment = 1 + (whole.calls - 1) * number // moments
        found = outcome(folder, arguments, moment)
        if (found.code, found.told) != (130, "interrupted\n"):
            yield f"call {moment} of {whole.calls}: exit code {found.code}, {found.told}"
        if not _as_before_or_whole(found.files, before, whole.files):
            yield f"call {moment} of {whole.calls}: it leaves {sorted(found.files)}"


def _as_before_or_whole(found: dict[str, bytes], before: dict[str, bytes], whole: dict[str, bytes]) -> bool:
    return before.keys() <= found.keys() and all(
        content in (before.get(name), whole.get(name)) for name, content in found.items()
    )


if __name__ == "__main__":
    ac.query("MATCH A AS a ; B AS b FILTER a.v < b.v").run([{"type": "A", "v": 1}, {"type": "B", "v": 2}])
    for failure in failures(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]):
        print(failure)
