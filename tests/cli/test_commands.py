"""Documents tell the truth about the command line."""

from pathlib import Path

import pytest

from console import commands, documents, fits, run_commands


@pytest.mark.parametrize("path", documents(), ids=lambda path: path.name)
def test_commands_print_what_the_document_says(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("acelera.cli.progress.EVERY", 1e9)
    run_commands(path, tmp_path)


def test_the_command_line_is_documented_by_commands() -> None:
    assert "command-line.md" in [path.name for path in documents()]


def test_commands_are_found_with_their_lines() -> None:
    text = "A\n\n```console\n$ one\n1\n$ two\n```\n\n```console spark\n$ three\n```\n"
    assert [(each.line, each.text, each.expected) for each in commands(text)] == [(4, "one", "1"), (6, "two", "")]
    assert [each.text for each in commands(text, "spark")] == ["three"]


@pytest.mark.parametrize(
    ("printed", "expected", "holds"),
    [
        ("", "", True),
        ("a", "", False),
        ("8 events, 0.5 s", "8 events, … s", True),
        ("8 events, 0.5 s\nmore", "8 events, … s", False),
        ("9 events, 0.5 s", "8 events, … s", False),
        ("a\nb\nc", "a\n…\nc", True),
        ("a\nc", "a\n…\nc", True),
        ("a\nb", "a\n…\nc", False),
        ("a.b", "a.b", True),
        ("axb", "a.b", False),
    ],
)
def test_what_was_printed_is_compared(printed: str, expected: str, holds: bool) -> None:
    assert fits(printed, expected) is holds
