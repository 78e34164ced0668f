"""Commands in documents: each ```console block is run, and what it prints compared with what the document says.

A block holds commands, each after `$ `, and what they print. Commands run in a copy of the folder examples, in the
order in which they stand; those of acelera in this process, others by a shell. In what is printed, `…` stands for
anything in a line, and for any lines where it stands alone. `echo $?` is the exit code of the command before.
Words after `console` mark a block: ```console spark is run where there is a Spark.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner

from acelera.cli import main

ROOT = Path(__file__).parents[1]

_BLOCK = re.compile(r"^```console *(?P<marks>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Command:
    """A command of a document, the line it stands in, and what it should print."""

    line: int
    text: str
    expected: str


def documents(mark: str = "") -> list[Path]:
    """The documents that hold commands with a mark."""
    found = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
    return [path for path in found if any(commands(path.read_text(encoding="utf-8"), mark))]


def commands(text: str, mark: str = "") -> Iterator[Command]:
    """The commands of all blocks with a mark; by default of those with none."""
    for block in _BLOCK.finditer(text):
        if block["marks"].strip() != mark:
            continue
        first = text.count("\n", 0, block.start("body")) + 1
        lines = block["body"].splitlines()
        starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
        assert starts[:1] == [0], f"line {first}: a block begins with a command"
        for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
            yield Command(first + start, lines[start].removeprefix("$ "), "\n".join(lines[start + 1 : end]))


def run_commands(path: Path, folder: Path, mark: str = "") -> None:
    """Run the commands of a document, in a copy of the examples that is the current folder."""
    shutil.copytree(ROOT / "examples", folder, dirs_exist_ok=True)
    code = 0
    for command in commands(path.read_text(encoding="utf-8"), mark):
        if command.text == "echo $?":
            printed = str(code)
        else:
            code, printed = _run(command.text, folder)
        said = f"{path.name}, line {command.line}: {command.text}\nprinted, with exit code {code}:\n{printed}"
        assert fits(printed, command.expected), said


def _run(text: str, folder: Path) -> tuple[int, str]:
    words = shlex.split(text)
    if words[0] == "acelera":
        result = CliRunner().invoke(main, words[1:], prog_name="acelera")
        code, printed = result.exit_code, result.output
    else:
        done = subprocess.run(text, shell=True, cwd=folder, capture_output=True, text=True, check=False)
        code, printed = done.returncode, done.stdout + done.stderr
    lines = [line.rstrip() for line in printed.splitlines()]
    return code, "\n".join(line for line in lines if not line.startswith("acelera: compiling its kernels"))


def fits(printed: str, expected: str) -> bool:
    """Whether a text is what was expected, `…` standing for anything."""
    lines = []
    for line in expected.strip("\n").splitlines():
        if line.strip() == "…":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(".*?".join(re.escape(piece) for piece in line.rstrip().split("…")) + r"\n")
    return re.fullmatch("".join(lines), printed.strip("\n") + "\n" if printed.strip("\n") else "") is not None
