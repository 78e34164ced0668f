"""Kernels are compiled when that is asked for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from acelera.cli import main
from acelera.cli import warm as command


def test_it_says_how_many_were_compiled_and_where(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "compiled_kernels", lambda since=0.0: (tmp_path, 7 if since else 9))
    asked: list[bool] = []
    monkeypatch.setattr(command, "warm", lambda: asked.append(True))
    result = CliRunner().invoke(main, ["warm"])
    assert result.exit_code == 0 and asked == [True]
    assert result.output == f"7 compiled, 9 kernels in {tmp_path}, 0 s\n"


def test_without_a_place_for_them_it_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "compiled_kernels", lambda: None)
    result = CliRunner().invoke(main, ["warm"])
    assert result.exit_code == 3
    assert "name a folder with NUMBA_CACHE_DIR" in result.output
